"""The parser's tokens of a line to nodes."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it.token import Token

from hudkit.compose.formats.markdown.literal_links import literal_links, open_brackets
from hudkit.compose.formats.mdast import (
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

_STRETCHES: dict[str, type[Strong] | type[Emphasis] | type[Delete]] = {
    "strong_open": Strong,
    "em_open": Emphasis,
    "s_open": Delete,
}


def spans(tokens: Sequence[Token], gfm: bool) -> tuple[Phrasing, ...]:
    """The nodes of a line; a soft line break is a line feed in a text, and texts do not touch."""
    return _join(_spans(tokens, gfm, False, True))


def _spans(tokens: Sequence[Token], gfm: bool, linked: bool, outermost: bool) -> list[Phrasing]:
    found: list[Phrasing] = []
    place = 0
    brackets = 0
    while place < len(tokens):
        token = tokens[place]
        if token.nesting == 1:
            end = place
            depth = 0
            while True:
                depth += tokens[end].nesting
                if depth == 0:
                    break
                end += 1
            inner = tokens[place + 1 : end]
            if token.type == "link_open":
                children = _join(_spans(inner, gfm, True, False))
                found.append(Link(str(token.attrGet("href") or ""), children, _title(token)))
            else:
                found.append(_STRETCHES[token.type](_join(_spans(inner, gfm, linked, False))))
            place = end + 1
            continue
        if token.type == "text" and not linked and (gfm or "http" in token.content):
            before = _edge(tokens[place - 1] if place else None)
            after = tokens[place + 1].type if place + 1 < len(tokens) else ""
            last = after == "softbreak" or (outermost and not after)
            found.extend(literal_links(token.content, before, last, brackets, gfm))
            brackets = open_brackets(token.content, brackets)
        else:
            found.append(_leaf(token))
        place += 1
    return found


def _edge(before: Token | None) -> str:
    """The character before a text, as far as it matters to literal links: a space at the start of a line."""
    if before is None or before.type in ("softbreak", "hardbreak"):
        return " "
    return before.content[-1:] or before.markup[-1:] or "."


def _leaf(token: Token) -> Phrasing:
    match token.type:
        case "text" | "text_special":
            return Text(token.content)
        case "softbreak":
            return Text("\n")
        case "hardbreak":
            return Break()
        case "code_inline":
            return InlineCode(token.content)
        case "html_inline":
            return InlineHtml(token.content)
        case "footnote_call":
            return FootnoteReference(token.info)
        case _:
            alt = "".join(_alt(child) for child in token.children or [])
            return Image(str(token.attrGet("src") or ""), alt, _title(token))


def _alt(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type == "image":
        return "".join(_alt(child) for child in token.children or [])
    return token.content if token.type in ("text", "text_special", "code_inline", "html_inline") else ""


def _title(token: Token) -> str | None:
    found = token.attrGet("title")
    return None if found is None else str(found)


def _join(nodes: list[Phrasing]) -> tuple[Phrasing, ...]:
    joined: list[Phrasing] = []
    pending: list[str] = []
    for node in nodes:
        if isinstance(node, Text):
            pending.append(node.value)
            continue
        if pending:
            joined.append(Text("".join(pending)))
            pending.clear()
        joined.append(node)
    if pending:
        joined.append(Text("".join(pending)))
    return tuple(node for node in joined if not isinstance(node, Text) or node.value)
