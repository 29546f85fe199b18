r"""A line of parts to a line of Markdown: a character of a text is escaped where, and only where, a reader needs it.

The parts are put together to one line, with a mode for each character: markup, text, text in a label, or a marker of
emphasis. Then three questions are asked of the characters that are text:

1. Is it white space that readers trim, or a line feed that would end the block? It becomes a reference (`&#32;`).
2. Does it begin something that a pattern of the table of unsafe patterns describes? It gets a backslash.
3. Is it in a run of `*`, `_`, `~` or backticks that could pair with another? Of the runs those are escaped that cost
   least.

For example, `1. a [b](c) * d_e` at the start of a paragraph becomes `1\. a [b\](c) * d_e`: the full stop would begin
a list; the closing bracket is followed by a round one, with an opening bracket before it; the asterisk stands between
spaces and the underscore within a word, so that no reader takes either for a marker. In a heading the full stop stays
as it is.

Sources: CommonMark 0.31.2, GFM 0.29 with the readings of cmark-gfm, micromark and markdown-it.

**Markers of strong, emphasised and struck stretches** are chosen so that every parser pairs them as meant. A run of
`*`, `_` or `~` opens or closes a stretch by the characters beside it (CommonMark 6.2: left- and right-flanking).
Parsers disagree on some characters: symbols count as punctuation since CommonMark 0.31 but not in GFM, some parsers
see halves of astral characters, and "Unicode whitespace" has three readings. Such a character has several classes
here; `_may_open` and `_may_close` ask whether any reading lets a run open or close, `_must_open` and `_must_close`
whether every reading does. Text is escaped by the first pair, markers are placed by the second.

`_resolve_markers` decides the markers of a line in rounds:

1. choose for each stretch a marker that touches no other of its kind, and is not that of a stretch around it;
2. write as references the spaces just within markers, and letters just outside that would keep them from opening or
   closing. For example, the emphasis `a` right after the word `x` can be `x*a*`, never `x_a_`; a stretch `(a)` before
   `b` is `*(a)*&#98;`;
3. where a stretch still does not hold, give something up and begin again: join two stretches of a kind that touch,
   else drop the markers of the innermost last stretch. What Markdown cannot say loses its markers and keeps its text.

Each round has a stretch less, so it ends. Most lines take one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from itertools import pairwise, product
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from hudkit.compose.formats.markdown.inline import BLANK, LineBuilder, LineContext, LinePart
from hudkit.lazy import lazy_pattern

_MARKERS = {"emphasis": "*_", "strong": "*_", "delete": "~"}
_WIDTH = {"emphasis": 1, "strong": 2, "delete": 2}

# Characters that readers do not take as numeric references.
_UNCODABLE = lazy_pattern("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef]")


class _Stretch(msgspec.Struct):
    """Where a stretch opens and closes among the parts, and its marker; no marker: it is dropped.

    `outer` are the numbers of the stretches around it.
    """

    opens: int
    closes: int
    marker: str = ""
    outer: tuple[int, ...] = ()


def _resolve_markers(line: LineBuilder) -> list[LinePart]:
    """Return the parts of a line with every marker decided.

    Characters beside a marker are set to be written as references where it needs that.
    """
    parts = [replace(part) for part in line.parts]
    while True:
        stretches = _find_stretches(parts)
        for pair, stretch in stretches.items():
            stretch.marker = _choose_marker(line.marks[pair], stretch, stretches, parts)
        parts_before = parts
        parts = [replace(part) for part in parts]
        dropped = {pair for pair, stretch in stretches.items() if not stretch.marker}
        if not dropped:
            for pair, stretch in stretches.items():
                _encode_neighbours(stretch, parts)
                width = _WIDTH[line.marks[pair]]
                parts[stretch.opens].value = parts[stretch.closes].value = stretch.marker * width
            # Where one is within its like, it can go and loses nothing.
            if not _within_their_like(stretches, line):
                # Again: a letter encoded for one may keep another from closing.
                for stretch in stretches.values():
                    _encode_neighbours(stretch, parts)
            dropped = {pair for pair, stretch in stretches.items() if not _holds(stretch, stretches, parts)}
        if not dropped:
            return parts
        joined = _join_touching(parts_before, line)
        if joined is not None:
            parts = joined
            continue
        # One at a time, the innermost last one first: what is left may stand once it is gone. And before all others
        # one within its like, which loses nothing.
        gone = max(_within_their_like(stretches, line) or dropped)
        parts = [part for part in parts_before if part.kind in ("text", "raw") or part.pair != gone]


def _within_their_like(stretches: dict[int, _Stretch], line: LineBuilder) -> set[int]:
    return {
        pair
        for pair, stretch in stretches.items()
        if line.marks[pair] in {line.marks[outer] for outer in stretch.outer}
    }


def _join_touching(parts: list[LinePart], line: LineBuilder) -> list[LinePart] | None:
    """Return the parts with the first two stretches of a kind that touch as one; `None` where none touch."""
    for position, (part, following) in enumerate(pairwise(parts)):
        if part.kind == "close" and following.kind == "open" and line.marks[part.pair] == line.marks[following.pair]:
            left = [*parts[:position], *parts[position + 2 :]]
            return [replace(other, pair=part.pair) if other.pair == following.pair else other for other in left]
    return None


def _find_stretches(parts: list[LinePart]) -> dict[int, _Stretch]:
    stretches: dict[int, _Stretch] = {}
    open_now: list[int] = []
    for position, part in enumerate(parts):
        if part.kind == "open":
            stretches[part.pair] = _Stretch(position, -1, outer=tuple(open_now))
            open_now.append(part.pair)
        elif part.kind == "close":
            stretches[part.pair].closes = position
            open_now.pop()
    return stretches


def _choose_marker(mark: str, stretch: _Stretch, stretches: dict[int, _Stretch], parts: list[LinePart]) -> str:
    """Return the first marker that holds without encoding, touches none of its like and is not the one around it.

    Without one that holds, the first that touches none of its like; empty where there is none.
    """
    # Two runs of one marker that touch are one run to every parser.
    taken = set()
    for beside in (parts[stretch.opens - 1] if stretch.opens else None, _part_at(parts, stretch.closes + 1)):
        if beside is not None and beside.pair in stretches and beside.kind in ("open", "close"):
            taken.add(stretches[beside.pair].marker)
    outer = {stretches[pair].marker for pair in stretch.outer}
    free = [marker for marker in _MARKERS[mark] if marker not in taken]
    # There is no other marker for struck text.
    if mark == "delete":
        return "".join(marker for marker in free if marker not in outer)
    free.sort(key=lambda marker: marker in outer)
    sides = _characters_beside(stretch, parts)
    for marker in free:
        if marker not in outer and _must_open(marker, *sides[0]) and _must_close(marker, *sides[1]):
            return marker
    return free[0] if free else ""


def _characters_beside(stretch: _Stretch, parts: list[LinePart]) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the characters before and after the opening marker, and before and after the closing one."""
    before, after = _part_at(parts, stretch.opens - 1), _part_at(parts, stretch.closes + 1)
    return (
        (" " if before is None else before.last(), parts[stretch.opens + 1].first()),
        (parts[stretch.closes - 1].last(), " " if after is None else after.first()),
    )


def _part_at(parts: list[LinePart], position: int) -> LinePart | None:
    return parts[position] if 0 <= position < len(parts) else None


def _encode_neighbours(stretch: _Stretch, parts: list[LinePart]) -> None:
    """Set spaces within the markers, and letters that keep them from opening or closing, to be references."""
    opening, closing = parts[stretch.opens + 1], parts[stretch.closes - 1]
    if _SPACE in _classes(opening.first()):
        _set_reference(opening, head=True)
    if _SPACE in _classes(closing.last()):
        _set_reference(closing, head=False)
    (before, first), (last, after) = _characters_beside(stretch, parts)
    if not _must_open(stretch.marker, before, first):
        _set_reference(_part_at(parts, stretch.opens - 1), head=False)
    if not _must_close(stretch.marker, last, after):
        _set_reference(_part_at(parts, stretch.closes + 1), head=True)


def _set_reference(part: LinePart | None, *, head: bool) -> None:
    if part is None or part.kind != "text" or _UNCODABLE.match(part.value[0 if head else -1]):
        return
    # A text of one character has that at both ends.
    single = len(part.value) == 1
    part.head = part.head or head or single
    part.tail = part.tail or not head or single


def _holds(stretch: _Stretch, stretches: dict[int, _Stretch], parts: list[LinePart]) -> bool:
    """Return whether every parser opens and closes the stretch where it is meant."""
    (before, first), (last, after) = _characters_beside(stretch, parts)
    if not (_must_open(stretch.marker, before, first) and _must_close(stretch.marker, last, after)):
        return False
    # The marker of a stretch around it, that may close here, would close that one.
    inside_like = any(stretches[pair].marker == stretch.marker for pair in stretch.outer)
    return not (inside_like and _may_close(stretch.marker, before, first))


_SPACE, _PUNCTUATION, _OTHER = "s", "p", "o"
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SOME_SPACE = frozenset("\x0b\x1c\x1d\x1e\x1f\x85\u180e\u2028\u2029\ufeff")


@lru_cache(maxsize=4096)
def _classes(char: str) -> str:
    """Return the classes that parsers may give a character; an edge of the line is given as a space.

    `"s"` for a space, `"p"` for a full stop, `"o"` for a letter, `"po"` for `€`: a symbol, which is punctuation to
    some parsers only.
    """
    if char in _ASCII_PUNCTUATION:
        return _PUNCTUATION
    if char in " \t\n\r\f":
        return _SPACE
    if char.isascii() and char.isalnum():
        return _OTHER
    category = unicodedata.category(char)
    if category[0] == "L" or category[0] == "N":
        return _OTHER
    if category == "Zs":
        return _SPACE
    if category[0] == "P" and ord(char) < 0x10000:
        return _PUNCTUATION
    if category[0] in "PS":
        return _PUNCTUATION + _OTHER
    return _SPACE + _OTHER if char in _SOME_SPACE else _OTHER


@lru_cache(maxsize=4096)
def _readings(before: str, after: str) -> tuple[tuple[bool, bool, str, str], ...]:
    """Return for every reading of two classes: left-flanking, right-flanking, the class before, the class after."""
    readings = []
    for left, right in product(before, after):
        opens = right != _SPACE and (right != _PUNCTUATION or left != _OTHER)
        closes = left != _SPACE and (left != _PUNCTUATION or right != _OTHER)
        readings.append((opens, closes, left, right))
    return tuple(readings)


def _opens(marker: str, reading: tuple[bool, bool, str, str]) -> bool:
    opens, closes, left, _ = reading
    # An underscore within a word is a letter of it: `snake_case_name`.
    return opens and (marker != "_" or not closes or left == _PUNCTUATION)


def _closes(marker: str, reading: tuple[bool, bool, str, str]) -> bool:
    opens, closes, _, right = reading
    return closes and (marker != "_" or not opens or right == _PUNCTUATION)


def _may_open(marker: str, before: str, after: str) -> bool:
    """Return whether some parser may take a run of `marker` between these two characters as an opening one."""
    return any(_opens(marker, reading) for reading in _readings(_classes(before), _classes(after)))


def _may_close(marker: str, before: str, after: str) -> bool:
    """Return whether some parser may take a run of `marker` between these two characters as a closing one."""
    return any(_closes(marker, reading) for reading in _readings(_classes(before), _classes(after)))


def _must_open(marker: str, before: str, after: str) -> bool:
    return all(_opens(marker, reading) for reading in _readings(_classes(before), _classes(after)))


def _must_close(marker: str, before: str, after: str) -> bool:
    return all(_closes(marker, reading) for reading in _readings(_classes(before), _classes(after)))


_PLAIN = lazy_pattern(
    r"[A-Za-z](?:[A-Za-z0-9 ,;/()'\"%=?{}$^>+.-]|#(?=[A-Za-z0-9])|:(?!/)|(?<=[A-Za-z0-9])_+(?=[A-Za-z0-9]))*"
)
"""Text of which no character is unsafe anywhere: most of what is ever written."""

_EDGE = lazy_pattern(r"\A\ufeff|^[^\S\n]+|[^\S\n]+$", re.MULTILINE)

_RAW, _TEXT, _LABEL, _MARKER = range(4)
"""Modes: what a character of a line is. Markup, text, text in a label, a marker of emphasis or the like."""


def escape_line(line: LineBuilder) -> str:
    """Return the line, without a line feed at its end; empty where there is nothing to show."""
    parts = line.parts
    if not parts:
        return ""
    if len(parts) == 1 and parts[0].kind == "text" and not parts[0].label and is_plain(parts[0].value):
        return parts[0].value
    if line.marks:
        parts = _resolve_markers(line)
    text, modes = _assemble(parts)
    text, modes = _encode_edges(text, modes, line.context)
    if not text:
        return ""
    escaped = _match_unsafe(text, modes, line.context)
    _escape_runs(text, modes, escaped)
    if not escaped:
        return text
    cuts = (0, *sorted(escaped), len(text))
    return "\\".join([text[start:end] for start, end in pairwise(cuts)])


def is_plain(text: str) -> bool:
    """Return whether no character of a text needs an escape, wherever it stands; one with rare ones is none, too."""
    return _PLAIN.fullmatch(text) is not None and text[-1] not in " #" and "www." not in text.lower()


def _assemble(parts: list[LinePart]) -> tuple[str, bytearray]:
    """Return the text of the parts, and the mode of each of its characters."""
    pieces: list[str] = []
    modes = bytearray()

    def put(piece: str, mode: int) -> None:
        pieces.append(piece)
        modes.extend(bytes((mode,)) * len(piece))

    for part in parts:
        if part.kind == "text":
            text = part.value
            inner = text[part.head : len(text) - (part.tail and len(text) > 1)]
            if part.head:
                put(f"&#{ord(text[0])};", _RAW)
            if not (part.head and len(text) == 1):
                put(inner, _LABEL if part.label else _TEXT)
            if part.tail and len(text) > 1:
                put(f"&#{ord(text[-1])};", _RAW)
        else:
            if part.value[0] == "`" and pieces and pieces[-1][-1] == "`" and modes[-1] == _RAW:
                # Code spans that touch once markers between them are dropped: their fences would be one.
                put(" ", _RAW)
            put(part.value, _RAW if part.kind == "raw" else _MARKER)
    return "".join(pieces), modes


def _encode_edges(text: str, modes: bytearray, context: LineContext) -> tuple[str, bytearray]:
    """Return the line with references for what cannot be written, or would be trimmed, at the edges of its lines."""
    # A hard break at the end of a block is a backslash to its reader.
    while modes and modes[-1] == _RAW and text.endswith("\\\n"):
        text, modes = text[:-2], modes[:-2]
    dropped = {
        position: ""
        for match in _EDGE.finditer(text)
        for position in range(*match.span())
        if modes[position] != _RAW and text[position] in BLANK
    }
    text, modes = _edit(text, modes, dropped)
    if "\n" not in text and "\r" not in text and not _EDGE.search(text):
        return text, modes
    last = len(text) - 1
    edits: dict[int, str] = {}
    for position, char in enumerate(text):
        if char == "\n":
            # A soft line break: neither at an edge, nor a blank line, which would end the paragraph.
            alone = 0 < position < last and text[position - 1] != "\n" and text[position + 1] != "\n"
            if not (context.breaks and alone):
                edits[position] = "&#10;"
        elif char == "\r":
            edits[position] = "&#13;"
    for match in _EDGE.finditer(text):
        start, end = match.span()
        if start == 0 or text[start - 1] == "\n":
            edits[start] = f"&#{ord(text[start])};"
        if end > last or text[end] == "\n":
            edits[end - 1] = f"&#{ord(text[end - 1])};"
    return _edit(text, modes, {position: edit for position, edit in edits.items() if modes[position] != _RAW})


def _edit(text: str, modes: bytearray, edits: dict[int, str]) -> tuple[str, bytearray]:
    """Return the line with other characters at some positions; what is put there is markup."""
    if not edits:
        return text, modes
    pieces: list[str] = []
    changed = bytearray()
    for position, char in enumerate(text):
        piece = edits.get(position, char)
        pieces.append(piece)
        changed.extend(bytes((_RAW if position in edits else modes[position],)) * len(piece))
    return "".join(pieces), changed


_Scope = Literal[
    "any", "block", "continued", "paragraph", "heading", "cell", "label", "item", "quote", "markup", "noted", "call"
]


class _Unsafe(NamedTuple):
    r"""A row of the table of patterns that a reader would take for markup, and where each counts.

    `pattern` marks the character to escape: its group `at`, or its first one. `char` is one that every match has; a
    line without it is not searched. A pattern may cover more than the construct (an escape too many costs a token,
    one too few breaks the document), never less.

    Scopes: `any` place; the start of the `block`, of a `continued` line, of any line of a `paragraph`; in a `heading`
    or `cell`; in the `label` of a link or image; at the start of an `item` or `quote`; before `markup` (the next
    character is not text); in a document with footnotes (`noted`), and there right after the `call` of one (the
    character before is not text). With `earlier`, that character must stand somewhere before.

    The row of ordered lists is `.`, `paragraph`, `^\d{1,9}(?P<at>\.)(?=[ \t]|$)`: a line that begins `12. ` is an
    item, and its full stop is what gets the backslash; `12.5` is none, and neither is `12. ` in a cell.
    """

    char: str
    scope: _Scope
    pattern: re.Pattern[str]
    earlier: str = ""


_ATTRIBUTE = r"""\s+[A-Za-z_:][\w:.-]*(?:\s*=\s*(?:[^ \t\n"'=<>`]+|'[^']*'|"[^"]*"))?"""
_INLINE_HTML = rf"""
    [A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})*\s*/?>          # an open tag
    | /[A-Za-z][A-Za-z0-9-]*\s*>                          # a closing tag
    | (?:!--|!\[CDATA\[|![A-Za-z]|\?)[\s\S]*>             # a comment, CDATA, a declaration, an instruction
    | [A-Za-z][A-Za-z0-9+.-]{{1,31}}:[^<>\x00-\x20]*>     # a link in angle brackets
    | [^ \t\n<>@]+@[A-Za-z0-9][A-Za-z0-9.-]*>                # an address in angle brackets
"""
_TITLE_CANNOT_FOLLOW = r"""[ \t]*[^\s<>()\\&"'`]+[ \t]+[^\s"'()]"""


def _rule(char: str, scope: _Scope, pattern: str, earlier: str = "", flags: int = re.ASCII) -> _Unsafe:
    return _Unsafe(char, scope, lazy_pattern(pattern, re.MULTILINE | flags), earlier)


_UNSAFE: tuple[_Unsafe, ...] = (
    _rule("\\", "any", r"\\(?=[!-/:-@\[-`{-~\n])"),
    _rule("&", "any", r"&(?=\#\d{1,7};|\#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)"),
    _rule("<", "any", rf"<(?={_INLINE_HTML})", flags=re.VERBOSE),
    _rule("]", "any", rf"\](?=\()(?!\({_TITLE_CANNOT_FOLLOW})", earlier="["),
    _rule("!", "markup", r"!(?=\[)"),
    _rule("[", "label", r"\["),
    _rule("]", "label", r"\]"),
    _rule("|", "cell", r"\|"),
    # GFM finds links in plain text.
    _rule(
        ":",
        "any",
        r"(?<![A-Za-z])(?:https?|ftp)(?P<at>:)//(?=[^ \t\n\f!-/:-@\[-`{-~])",
        flags=re.ASCII | re.IGNORECASE,
    ),
    _rule(".", "any", r"(?<![A-Za-z0-9])www(?P<at>\.)", flags=re.ASCII | re.IGNORECASE),
    _rule("@", "any", r"(?<=[A-Za-z0-9_.+-])@(?=[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]*[A-Za-z])"),
    # Lines that are blocks of their own.
    _rule("#", "paragraph", r"^\#{1,6}(?=[ \t]|$)"),
    _rule(">", "paragraph", r"^>"),
    _rule("-", "paragraph", r"^-(?=[ \t]|$)"),
    _rule("-", "paragraph", r"^-(?=[- \t]*$)"),
    _rule("+", "paragraph", r"^\+(?=[ \t]|$)"),
    _rule("*", "paragraph", r"^\*(?=[ \t]|$)"),
    _rule("*", "paragraph", r"^\*(?=[ \t]*\*[ \t]*\*[* \t]*$)"),
    _rule("_", "paragraph", r"^_(?=[ \t]*_[ \t]*_[_ \t]*$)"),
    _rule(".", "paragraph", r"^\d{1,9}(?P<at>\.)(?=[ \t]|$)"),
    _rule(")", "paragraph", r"^\d{1,9}(?P<at>\))(?=[ \t]|$)"),
    _rule("`", "paragraph", r"^`(?=``)"),
    _rule("~", "paragraph", r"^~(?=~~)"),
    _rule("<", "paragraph", r"^<(?=/?[A-Za-z][A-Za-z0-9-]*(?:[^!-~]|>|/>|$)|!--|\?|![A-Za-z\[])"),
    _rule("[", "paragraph", r"^\[(?=\^[^\n]*\]:)"),
    # Lines that change what is above them: setext headings, the second row of a table.
    _rule("=", "continued", r"(?<=\n)=(?==*[ \t]*$)"),
    _rule("-", "continued", r"(?<=\n)[|:-](?=[-:| \t]*$)"),
    # The start of a block: definitions, tasks, alerts.
    _rule("[", "block", r"\A\[(?=[\s\S]*\]:(?![ \t]*[^\s<]\S*[ \t]+[^\s\"'(]))"),
    _rule("[", "item", r"\A\[(?=[ \txX\n]\](?:\s|\Z))"),
    _rule("[", "quote", r"\A\[(?=![A-Za-z]+\])"),
    # Calls of footnotes: text that looks like one, and what would make a link or a definition of a real one.
    _rule("[", "noted", r"\[(?=\^[^\s\[\]]+\])"),
    _rule("(", "call", r"(?<=\])\("),
    _rule(":", "call", r"^\[\^[^\n\]]+\](?P<at>:)"),
    # Number signs at the end of a heading close it.
    _rule("#", "heading", r"(?:\A|(?<=[ \t]))\#(?=\#*\Z)"),
)


@cache
def _rules_for(block: str, first: str, footnotes: bool) -> tuple[_Unsafe, ...]:
    """Return the rules that count in a block of this kind.

    `first` says that it stands first in an item, in a quote, or in neither; `footnotes`, that its document has some.
    """
    scopes = {"any", "markup", "label", block, first}
    if block == "paragraph":
        scopes |= {"block", "continued"}
    if footnotes:
        scopes |= {"noted", "call"}
    return tuple(rule for rule in _UNSAFE if rule.scope in scopes)


def _match_unsafe(text: str, modes: bytearray, context: LineContext) -> set[int]:
    """Return the positions of the characters that begin an unsafe pattern and are text."""
    escaped: set[int] = set()
    for char, scope, pattern, earlier in _rules_for(context.block, context.first, bool(context.footnotes)):
        # Most rules are passed over by this look in C.
        if char not in text:
            continue
        for match in pattern.finditer(text):
            position = match.start("at") if pattern.groups else match.start()
            mode = modes[position]
            if mode in (_RAW, _MARKER):
                continue
            if scope == "label" and mode != _LABEL:
                continue
            if scope == "markup" and modes[position + 1] != _RAW:
                continue
            if scope == "call" and modes[position - 1] != _RAW:
                continue
            if earlier and text.find(earlier, 0, position) < 0:
                continue
            escaped.add(position)
    return escaped


_RUNS = {"*": lazy_pattern(r"\*+"), "_": lazy_pattern(r"_+"), "~": lazy_pattern(r"~+"), "`": lazy_pattern(r"`+")}


_HALF = lazy_pattern(r"`|\]\(|<[A-Za-z/!?]")
"""Halves of what might be whole with a text beside it: code, a link, a tag."""


def may_pair(text: str) -> bool:
    """Return whether something in a text could pair with a character of another one in its line."""
    if _HALF.search(text):
        return True
    for marker in "*_~":
        for match in _RUNS[marker].finditer(text):
            before, after = text[: match.start()][-1:] or " ", text[match.end() :][:1] or " "
            if _may_open(marker, before, after) or _may_close(marker, before, after):
                return True
    return False


class _MarkerRun(NamedTuple):
    """A run of one marker in a text: where it is, and whether some parser may open or close a stretch with it."""

    start: int
    end: int
    opens: bool
    closes: bool


def _escape_runs(text: str, modes: bytearray, escaped: set[int]) -> None:
    """Add to `escaped` the positions in runs that might pair; those already in it are taken as escaped."""
    for marker in "*_~":
        if marker in text:
            _escape_markers(marker, text, modes, escaped)
    if "`" in text:
        _escape_backticks(text, modes, escaped)


def _escape_markers(marker: str, text: str, modes: bytearray, escaped: set[int]) -> None:
    """Leave no run of text that opens before one that closes.

    Beside markers of the line itself, every run of text that does either is escaped.
    """
    runs: list[_MarkerRun] = []
    has_marker = False
    for match in _RUNS[marker].finditer(text):
        start, end = match.span()
        while start < end and start in escaped:
            start += 1
        if start == end or modes[start] == _RAW:
            continue
        positions = [position for position in range(start, end) if modes[position] != _MARKER]
        if len(positions) < end - start:
            # Text that touches a marker would join its run.
            has_marker = True
            escaped.update(positions)
            continue
        before = text[start - 1] if start else " "
        after = text[end] if end < len(text) else " "
        opens, closes = _may_open(marker, before, after), _may_close(marker, before, after)
        if "~" in (before, after):
            # cmark-gfm looks past tildes for the neighbours of a run.
            opens = closes = True
        if marker == "~" and _MARKER in (modes[max(start - 1, 0)], modes[min(end, len(text) - 1)]):
            escaped.update(range(start, end))
        elif opens or closes:
            runs.append(_MarkerRun(start, end, opens, closes))
    if has_marker:
        for run in runs:
            escaped.update(range(run.start, run.end))
    elif len(runs) > 1:
        _escape_cheapest(runs, escaped)


def _escape_cheapest(runs: list[_MarkerRun], escaped: set[int]) -> None:
    """Escape the fewest characters after which no run that opens stands before one that closes.

    There is then a run `n` that divides the line: none before it opens, none after it closes. So for each `n` the
    cost is the lengths of the runs before it that open and of those after it that close; it is worked out from that
    of `n - 1`, and the first of the cheapest is taken.

    In `**kwargs and *args*` the runs `**` and `*` open, and the last `*` closes. Costs by `n` are 1 (the last one),
    3 and 3: only the last asterisk is escaped.
    """
    cost = sum(run.end - run.start for run in runs[1:] if run.closes)
    lowest, divider = cost, 0
    for n in range(1, len(runs)):
        before, run = runs[n - 1], runs[n]
        if before.opens:
            cost += before.end - before.start
        if run.closes:
            cost -= run.end - run.start
        if cost < lowest:
            lowest, divider = cost, n
    for n, run in enumerate(runs):
        if (n < divider and run.opens) or (n > divider and run.closes):
            escaped.update(range(run.start, run.end))


def _escape_backticks(text: str, modes: bytearray, escaped: set[int]) -> None:
    """From the end: a run of text stays as it is if no run of its length follows it.

    An escape does not hide a backtick from a code span that is open, so it is the opening run that is escaped: of
    "`a` b" the first, and the second pairs with nothing.
    """
    following: set[int] = set()
    for match in reversed(list(_RUNS["`"].finditer(text))):
        start, end = match.span()
        length = end - start
        positions = [position for position in range(start, end) if modes[position] != _RAW]
        if not positions:
            following.add(length)
        elif len(positions) < length:
            raw = length - len(positions)
            escaped.update(positions)
            following |= {1, raw, raw + 1}
        elif start in escaped:
            # Escaped as a fence: the rest of the run opens, the whole of it closes.
            if length - 1 in following:
                escaped.update(positions)
                following.add(1)
            else:
                following |= {length, length - 1}
        elif length in following:
            escaped.update(positions)
            following.add(1)
        else:
            following.add(length)
