"""A line being composed, and what each inline node adds to it.

The nodes of a heading, a paragraph or a cell are not written one by one: whether an asterisk in a text needs an
escape, and which marker an emphasis gets, depends on what stands beside it. So each node adds parts to a
`LineBuilder`: text apart from markup, and markers that are still open. Once the line is whole, `escaping` decides
the markers and the escapes.

`Text("2 * 3")` and `Emphasis((Text("now"),))` become

    text "2 * 3"   open 0   text "now"   close 0

and, in the end, `2 * 3*now*`: the first asterisk stands between spaces, where it can neither open nor close.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from hudkit.compose.formats.mdast import (
    BareUrl,
    Break,
    Delete,
    Emphasis,
    FootnoteReference,
    Image,
    InlineCode,
    InlineHtml,
    Link,
    Phrasing,
    Strong,
    Text,
)
from hudkit.compose.formats.urls import is_refused, normalize_url
from hudkit.lazy import lazy_pattern

Mark = Literal["emphasis", "strong", "delete"]

BLANK = "\x0b\x1c\x1d\x1e\x1f\x85"
"""Characters that some readers take for white space and that no reference stands for: left out beside markers and at
the edges of lines."""

_UNWRITABLE = lazy_pattern("[\x00\ud800-\udfff]")


class LineContext(msgspec.Struct, frozen=True):
    """Where the content of a block stands: which unsafe patterns count there.

    `block` chooses the rules, `breaks` says that line feeds may be written as such, and `first` whose first block
    this is (a task marker is one only at the start of an item, an alert only at the start of a quote). `footnotes`
    are the labels that the document defines: without any no text can be a reference to one.
    """

    block: Literal["paragraph", "heading", "cell"]
    breaks: bool = True
    first: Literal["", "item", "quote", "note"] = ""
    footnotes: frozenset[str] = frozenset()


class LinePart(msgspec.Struct):
    """A part of a line.

    `text` is data and may be escaped; `raw` is markup, written as it is; `open` and `close` wait for a marker.
    `label` says that a text is in the label of a link or an image; `pair` is the number of the stretch that a marker
    opens or closes. `head` and `tail` say that the first or last character of a text is to be written as a character
    reference.
    """

    kind: Literal["text", "raw", "open", "close"]
    value: str
    label: bool = False
    pair: int = -1
    head: bool = False
    tail: bool = False

    def first(self) -> str:
        """Return the character that its output begins with; an undecided marker counts as an asterisk."""
        return "&" if self.head else self.value[:1] or "*"

    def last(self) -> str:
        """Return the character that its output ends with; an undecided marker counts as an asterisk."""
        return ";" if self.tail else self.value[-1:] or "*"


class LineBuilder(msgspec.Struct):
    """What inline nodes are written to.

    `marks` are the kinds of the stretches by their numbers. `open_labels` is how many labels of links or images are
    open, `open_links` how many links. `last_code` is the code span written last: the number of parts after it, and
    its value.
    """

    context: LineContext
    parts: list[LinePart] = []
    marks: list[Mark] = []
    open_labels: int = 0
    open_links: int = 0
    last_code: tuple[int, str] | None = None

    def add_text(self, value: str) -> None:
        """Add data. What no document can hold becomes the replacement character."""
        if value:
            value = replace_unwritable(value)
            last = self.parts[-1] if self.parts else None
            # Texts that touch are one part: what is unsafe may begin in one node and end in the next.
            if last is not None and last.kind == "text" and last.label == (self.open_labels > 0):
                last.value += value
            else:
                self.parts.append(LinePart("text", value, self.open_labels > 0))

    def add_markup(self, value: str) -> None:
        """Add what is written as it is."""
        if value:
            self.parts.append(LinePart("raw", value))

    def open(self, mark: Mark) -> int:
        """Begin a strong, emphasised or struck stretch; return its number, which is for `close`."""
        last = self.parts[-1] if self.parts else None
        # `~~a~~~~b~~` reads as nothing that was meant, and there is no second marker: the one just closed goes on.
        if mark == "delete" and last is not None and last.kind == "close" and self.marks[last.pair] == mark:
            return self.parts.pop().pair
        self.marks.append(mark)
        self.parts.append(LinePart("open", "", pair=len(self.marks) - 1))
        return len(self.marks) - 1

    def close(self, pair: int) -> None:
        """End the stretch; one that holds nothing is taken back."""
        begin = next(n for n in range(len(self.parts) - 1, -1, -1) if self.parts[n].pair == pair) + 1
        # No reference stands for these, and beside white space a marker neither opens nor closes.
        if begin < len(self.parts) and self.parts[begin].kind == "text":
            self.parts[begin].value = self.parts[begin].value.lstrip(BLANK)
        if self.parts[-1].kind == "text":
            self.parts[-1].value = self.parts[-1].value.rstrip(BLANK)
        self.parts[begin:] = [part for part in self.parts[begin:] if part.value or part.kind != "text"]
        if len(self.parts) == begin:
            self.parts.pop()
        else:
            self.parts.append(LinePart("close", "", pair=pair))


def add_nodes(nodes: Iterable[Phrasing], line: LineBuilder) -> None:
    """Add inline nodes to a line that is being composed."""
    for node in nodes:
        _WRITERS[type(node)](node, line)


def _add_text(node: Text, line: LineBuilder) -> None:
    # What of it needs an escape is decided when the line is whole.
    line.add_text(node.value)


def _add_bare_url(node: BareUrl, line: LineBuilder) -> None:
    # `urls` has settled that it needs no escape; in one a reader would take the backslash for a part of the URL.
    line.add_markup(node.value)


def _add_break(_node: Break, line: LineBuilder) -> None:
    """Add a backslash at the end of the line; a space where the block is one line."""
    if line.context.breaks:
        line.add_markup("\\\n")
    else:
        line.add_text(" ")


def _stretch(mark: Mark) -> Callable[[Strong | Emphasis | Delete, LineBuilder], None]:
    def add_stretch(node: Strong | Emphasis | Delete, line: LineBuilder) -> None:
        pair = line.open(mark)
        add_nodes(node.children, line)
        line.close(pair)

    return add_stretch


_TICKS = lazy_pattern(r"`+")
_LINE_END = lazy_pattern(r"\r\n?|\n")


def _add_code(node: InlineCode, line: LineBuilder) -> None:
    """Add a code span between the shortest run of backticks that is not in it."""
    value = replace_unwritable(_LINE_END.sub(" ", node.value))
    if not value:
        return
    if line.last_code is not None and line.last_code[0] == len(line.parts):
        # Two spans cannot touch, their fences would be one: they become one span.
        line.parts.pop()
        value = line.last_code[1] + value
    # GFM takes `\|` in a cell for a bar, in code too: there is no spelling for a backslash before one.
    if line.context.block == "cell" and "\\|" in value:
        line.add_text(value)
        return
    runs = {len(run) for run in _TICKS.findall(value)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    bare = value[0] != "`" and value[-1] != "`"
    # Readers take one space from each end where both have one, unless there is nothing but spaces.
    stripped = value[0] == " " and value[-1] == " " and value.strip(" ")
    pad = "" if bare and not stripped else " "
    line.add_markup(f"{fence}{pad}{_in_cell(value, line)}{pad}{fence}")
    line.last_code = (len(line.parts), value)


def _add_html(node: InlineHtml, line: LineBuilder) -> None:
    """Add raw HTML as it is; on one line where the block is one."""
    value = node.value if line.context.breaks else node.value.replace("\n", " ")
    line.add_markup(_in_cell(value, line))


_ABSOLUTE = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[!#-;=?-\[\]_a-z~]*")


def _add_link(node: Link, line: LineBuilder) -> None:
    """Add a link, in angle brackets where the text is the destination.

    A link in a link is its words, and so is one with a refused destination, with that behind them.
    """
    if line.open_links:
        add_nodes(node.children, line)
        return
    if is_refused(node.href):
        add_nodes(node.children, line)
        line.add_text(f" ({node.href})")
        return
    if _is_its_text(node):
        line.add_markup(f"<{_in_cell(node.href, line)}>")
        return
    line.add_markup("[")
    line.open_labels += 1
    line.open_links += 1
    add_nodes(node.children, line)
    line.open_labels -= 1
    line.open_links -= 1
    line.add_markup(f"]({_target(node.href, node.title, line)})")


def _is_its_text(node: Link) -> bool:
    """Return whether the text is the destination, also once a reader has normalised it."""
    if node.title is not None or node.children != (Text(node.href),):
        return False
    return bool(_ABSOLUTE.fullmatch(node.href)) and normalize_url(node.href) == node.href


def _add_image(node: Image, line: LineBuilder) -> None:
    """Add an image; its description is text, whatever it contains. A refused source is text."""
    if is_refused(node.src):
        line.add_text(f"{node.alt} ({node.src})")
        return
    line.add_markup("![")
    line.open_labels += 1
    line.add_text(node.alt)
    line.open_labels -= 1
    line.add_markup(f"]({_target(node.src, node.title, line)})")


def _add_footnote(node: FootnoteReference, line: LineBuilder) -> None:
    """Add the call of a footnote; text where the document does not define it, as it would be read."""
    spelled = f"[^{footnote_label(node.label)}]"
    if matching_label(node.label) in line.context.footnotes:
        line.add_markup(spelled)
    else:
        line.add_text(spelled)


_WRITERS: dict[type, Callable[[Any, LineBuilder], None]] = {
    BareUrl: _add_bare_url,
    Break: _add_break,
    Delete: _stretch("delete"),
    Emphasis: _stretch("emphasis"),
    FootnoteReference: _add_footnote,
    Image: _add_image,
    InlineCode: _add_code,
    InlineHtml: _add_html,
    Link: _add_link,
    Strong: _stretch("strong"),
    Text: _add_text,
}

_REFERENCE = lazy_pattern(
    r"\\(?=[!-/:-@\[-`{-~]|\Z)|&(?=#\d{1,7};|#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)"
)
_NOT_IN_LABEL = lazy_pattern(r"[\s\x00-\x1f\x7f-\x9f\[\]\\`<>|&*~]")
_LONGEST_LABEL = 300
"""Characters of a label that are written: readers take up to 999, and each may need three."""


def replace_unwritable(text: str) -> str:
    """Return the text with U+FFFD for NUL and lone surrogates, which no Markdown document can hold."""
    return _UNWRITABLE.sub("\ufffd", text)


def escape_references(text: str) -> str:
    r"""Return the text of a destination, a title or a fence's info, in which only `\` and `&` can be markup.

    `a\_b &amp; c` is `a\\_b \&amp; c`.
    """
    return _REFERENCE.sub(lambda match: "\\" + match.group(), replace_unwritable(text))


def footnote_label(text: str) -> str:
    """Return the label of a footnote as it is written, never empty.

    What a reader would not take into one is percent-encoded: `my note` is `my%20note`.
    """
    label = replace_unwritable(text)[:_LONGEST_LABEL]
    return _NOT_IN_LABEL.sub(lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode()), label) or "%"


def matching_label(text: str) -> str:
    """Return the label of a footnote as readers compare it, once it is written: without regard to case."""
    from markdown_it.common.utils import normalizeReference  # the whole parser comes with it: not for a frame

    return normalizeReference(footnote_label(text))


def _target(href: str, title: str | None, line: LineBuilder) -> str:
    """Return what stands in the brackets of a link: its destination, and its title in quotes."""
    if not href and title is None:
        return ""
    return _in_cell(_destination(href) + _title(title), line)


def _destination(href: str) -> str:
    href = normalize_url(href)
    plain = escape_references(href)
    if not href:
        return "<>"
    return plain if _is_balanced(href) else re.sub(r"[()]", r"\\\g<0>", plain)


def _is_balanced(href: str) -> bool:
    """Return whether round brackets may stand as they are; 3 levels, because some readers take no more."""
    depth = 0
    for char in href:
        depth += (char == "(") - (char == ")")
        if depth < 0 or depth > 3:
            return False
    return depth == 0


def _title(text: str | None) -> str:
    if text is None:
        return ""
    # Two line feeds in a title would end the paragraph.
    lines = escape_references(text).replace("\r", "&#13;").replace("\n", "&#10;")
    return ' "' + lines.replace('"', '\\"') + '"'


def _in_cell(markup: str, line: LineBuilder) -> str:
    """Return markup as it is written in this line: in a cell every bar is escaped, in code and URLs too."""
    return markup.replace("|", "\\|") if line.context.block == "cell" else markup
