"""The parser's tokens of blocks to nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token

from hudkit.compose.formats.markdown.read_phrasing import spans
from hudkit.compose.formats.mdast import (
    Align,
    Cell,
    CodeBlock,
    Flow,
    FootnoteDefinition,
    Heading,
    HtmlBlock,
    List,
    ListItem,
    Paragraph,
    Phrasing,
    Quote,
    Row,
    Table,
    ThematicBreak,
)

_TASK = re.compile(r"\[([ xX])\][ \t\n]")
_ALIGN: dict[str, Align] = {"left": "left", "center": "center", "right": "right"}


def blocks(tokens: Sequence[Token], gfm: bool) -> tuple[Flow, ...]:
    """The nodes of a sequence of whole blocks."""
    found: list[Flow] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.nesting == 1:
            end = _closing(tokens, place)
            found.append(_BRANCHES[token.type](token, tokens[place + 1 : end], gfm))
            place = end + 1
        else:
            found.append(_LEAVES[token.type](token))
            place += 1
    return tuple(found)


def _closing(tokens: Sequence[Token], place: int) -> int:
    depth = 0
    for n in range(place, len(tokens)):
        depth += tokens[n].nesting
        if depth == 0:
            return n
    return len(tokens)


def _split(tokens: Sequence[Token]) -> list[tuple[Token, Sequence[Token]]]:
    """The containers in a sequence, each with what is in it."""
    found = []
    place = 0
    while place < len(tokens):
        end = _closing(tokens, place)
        found.append((tokens[place], tokens[place + 1 : end]))
        place = end + 1
    return found


def _content(inner: Sequence[Token], gfm: bool) -> tuple[Phrasing, ...]:
    return spans(inner[0].children or [], gfm) if inner else ()


def _paragraph(_token: Token, inner: Sequence[Token], gfm: bool) -> Paragraph:
    return Paragraph(_content(inner, gfm))


def _heading(token: Token, inner: Sequence[Token], gfm: bool) -> Heading:
    return Heading(int(token.tag[1:]), _content(inner, gfm))


def _quote(_token: Token, inner: Sequence[Token], gfm: bool) -> Quote:
    return Quote(blocks(inner, gfm))


def _list(token: Token, inner: Sequence[Token], gfm: bool) -> List:
    level = token.level + 2
    spread = any(one.type == "paragraph_open" and one.level == level and not one.hidden for one in inner)
    ordered = token.type == "ordered_list_open"
    items = tuple(_item(body, gfm) for _, body in _split(inner))
    return List(items, ordered, int(token.attrGet("start") or 1) if token.attrGet("start") != 0 else 0, spread)


def _item(inner: Sequence[Token], gfm: bool) -> ListItem:
    checked = None
    if gfm and len(inner) > 1 and inner[0].type == "paragraph_open":
        match = _TASK.match(inner[1].content)
        children = inner[1].children or []
        if match and children and children[0].type == "text":
            checked = match.group(1) != " "
            children[0].content = children[0].content[len(match.group()) :]
            if children[0].content == "" and len(children) > 1 and children[1].type == "softbreak":
                del children[1]
    return ListItem(blocks(inner, gfm), checked)


def _footnote(token: Token, inner: Sequence[Token], gfm: bool) -> FootnoteDefinition:
    return FootnoteDefinition(token.info, blocks(inner, gfm))


def _table(_token: Token, inner: Sequence[Token], gfm: bool) -> Table:
    rows: list[Row] = []
    align: list[Align] = []
    for _, section in _split(inner):
        for _, body in _split(section):
            cells = _split(body)
            if not rows:
                align = [
                    _ALIGN.get(str(cell.attrGet("style") or "").removeprefix("text-align:"), "") for cell, _ in cells
                ]
            rows.append(Row(tuple(Cell(_content(cell, gfm)) for _, cell in cells)))
    return Table(tuple(rows), tuple(align))


def _code(token: Token) -> CodeBlock:
    value = token.content
    return CodeBlock(value[:-1] if value.strip("\n") else value, unescapeAll(token.info.strip()))


def _html(token: Token) -> HtmlBlock:
    return HtmlBlock(token.content)


def _rule(_token: Token) -> ThematicBreak:
    return ThematicBreak()


_BRANCHES: dict[str, Callable[[Token, Sequence[Token], bool], Any]] = {
    "blockquote_open": _quote,
    "bullet_list_open": _list,
    "footnote_open": _footnote,
    "heading_open": _heading,
    "ordered_list_open": _list,
    "paragraph_open": _paragraph,
    "table_open": _table,
}
_LEAVES: dict[str, Callable[[Token], Any]] = {
    "code_block": _code,
    "fence": _code,
    "hr": _rule,
    "html_block": _html,
}
