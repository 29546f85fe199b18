"""Texts that keep their bytes in Markdown: what would need escapes becomes a code span.

A reader that copies `src/__init\\_\\_.py` copies a path that is not there. So a text of which a character would be
escaped is written as code, in which nothing is. What needs no escape stays as it is, and costs nothing.

A sentence has only its names in spans (``keep `__init__.py` empty``). A command or a statement is one span from its
first character to its last, so that it can be copied in one piece: whatever is not plainly a sentence with names in
it is taken for one. Spans that a text has itself are left as they are. A text of several lines is one line, with a
mark where each of them ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from hudkit.compose import Element, Node, visible
from hudkit.compose.formats.markdown.escaping import escape_line, is_plain, may_pair
from hudkit.compose.formats.markdown.inline import LineBuilder, LineContext, add_nodes
from hudkit.compose.formats.mdast_tree import tree_to_inline
from hudkit.lazy import lazy_pattern

LINE_END = " ↵ "
"""What stands where a line of a text of several lines ends."""

_MAX_SPANS = 4
"""Names of a sentence that get a span each; with more of them the sentence is one."""

_WORD = lazy_pattern(r"\S+")

_PLAIN_WORD = lazy_pattern(r"[(\"']?[^\W_](?:[^\W_]|['’/._-]+(?=[^\W_]))*%?[)\"'.,;:!?]*|[–—…]")
_NAME = lazy_pattern(r"(?P<before>[(\"']?)(?P<name>[\w.$~@%+*\\/:\[\]#…-]*[\w*/\]])(?P<after>[)\"'.,;:!?]*)")
_END_OF_EMPHASIS = lazy_pattern(r"[^\W\d_]+[*_]+")

_CODE_WORD = lazy_pattern(
    "async|await|awk|bash|bun|cargo|chmod|chown|const|cp|curl|def|docker|echo|elif|env|fn|func|gcc|git|grep|impl|java|"
    "jq|kubectl|lambda|ls|mkdir|mv|node|npm|npx|perl|pip|pnpm|psql|pytest|python3?|rg|rm|rsync|ruff|ruby|scp|sed|ssh|"
    "sudo|tar|terraform|uvx?|wc|wget|xargs|yarn"
)
"""Words of commands and of statements: a text with one of them is copied as a whole."""

_FIRST_CODE_WORD = lazy_pattern(
    "cat|cd|class|cut|date|del|diff|export|find|for|from|function|gh|go|head|if|import|let|make|pub|raise|return|sort|"
    "struct|tail|tee|test|touch|tr|type|var|while|with|yield"
)
"""Such words that are English, too: where they come first, or behind a word that says so."""

_BEFORE_CODE = lazy_pattern("(?i:run|runs|use|try|call|exec|via)|.*:")


@lru_cache(maxsize=8192)
def verbatim(text: str, *, first: bool = True, alone: bool = True) -> tuple[Node, ...]:
    """Return a text as the nodes of one line that are written without escapes: strings, and code where it takes that.

    `first` says that the text begins its block, `alone` that nothing else of its line could hold a marker that pairs
    with one of this text. White space at its ends and empty lines are left out.

    `verbatim("keep __init__.py empty")` is `("keep ", h.code["__init__.py"], " empty")`.
    """
    if is_plain(text):
        return (text,)
    # Other white space is shown: only what ends lines is taken away.
    lines = [line.rstrip(" ") for line in text.replace("\r\n", "\n").strip(" \n").split("\n")]
    lines = [line for line in lines if visible(line).strip()]
    if len(lines) <= 1:
        return _line_nodes("".join(lines) or text, first, alone)
    nodes: list[Node] = []
    is_fenced = False
    has_fences = sum(map(_is_fence, lines)) % 2 == 0
    for line in lines:
        if has_fences and _is_fence(line):
            is_fenced = not is_fenced
            continue
        if nodes:
            nodes.append(LINE_END)
        nodes += (_code(line),) if is_fenced else _line_nodes(line, first and not nodes, False)
    return tuple(nodes)


def _is_fence(line: str) -> bool:
    return line.lstrip().startswith("```")


def _line_nodes(line: str, first: bool, alone: bool) -> tuple[Node, ...]:
    if _stays_itself(line, first, alone):
        return (line,)
    nodes = _with_own_spans(line, first) if "`" in line else _with_names(line, first)
    return nodes or (_code(line),)


def _code(text: str) -> Element:
    return Element("code", (), (text,))


def _stays_itself(text: str, first: bool, alone: bool) -> bool:
    """Return whether a text is written without an escape."""
    if is_plain(text):
        return True
    before = "" if first else "x "
    line = LineBuilder(LineContext("paragraph", first="item"))
    add_nodes(tree_to_inline((before + text,)), line)
    # Asked first: composing the line joins and encodes its parts.
    pairs = not alone and any(part.kind == "text" and may_pair(part.value) for part in line.parts)
    return not pairs and escape_line(line) == visible(before + text).strip()


def _with_own_spans(line: str, first: bool) -> tuple[Node, ...]:
    """Return a line with the code spans that it has itself; empty where they would not be its bytes."""
    if "``" in line or line.count("`") % 2:
        return ()
    nodes: list[Node] = []
    for n, piece in enumerate(line.split("`")):
        if n % 2:
            # Readers take a space from each end.
            if piece.startswith(" ") or piece.endswith(" ") or visible(piece) != piece:
                return ()
            nodes.append(_code(piece))
        elif _stays_itself(f"x{piece}x", False, False):
            nodes.append(piece)
        else:
            named = _with_names(piece, first and not n)
            if not named:
                return ()
            nodes += named
    begins_block = first and isinstance(nodes[0], str) and not _stays_itself(nodes[0] or "x", True, False)
    return () if begins_block else tuple(node for node in nodes if node)


def _with_names(line: str, first: bool) -> tuple[Node, ...]:
    """Return a sentence with its names in spans; empty where the line is none."""
    nodes: list[Node] = []
    end = 0
    before = "run"
    for match in _WORD.finditer(line):
        word = match.group()
        may_begin = _BEFORE_CODE.fullmatch(before) and _FIRST_CODE_WORD.fullmatch(word)
        if may_begin or _CODE_WORD.fullmatch(word):
            return ()
        before = word
        if _stays_itself(word, first and not match.start(), False):
            if not _PLAIN_WORD.fullmatch(word):
                return ()
            continue
        name = _NAME.fullmatch(word)
        is_next = end and match.start() - end <= 1  # two in a row are code
        if name is None or is_next or _END_OF_EMPHASIS.fullmatch(name["name"]):
            return ()
        nodes += [line[end : match.start()] + name["before"], _code(name["name"])]
        end = match.start() + name.end("name")
    nodes.append(line[end:])
    spans = len(nodes) // 2
    return _without_empty(nodes) if 1 <= spans <= _MAX_SPANS and len(_WORD.findall(line)) > 2 * spans else ()


def _without_empty(nodes: Sequence[Node]) -> tuple[Node, ...]:
    return tuple([node for node in nodes if node != ""])
