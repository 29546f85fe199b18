"""hast to mdast: what an HTML document says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from hudkit.compose.formats import mdast
from hudkit.compose.formats.html.hast import Hast, HtmlElement, HtmlRoot, HtmlText, text_of
from hudkit.compose.formats.html.sanitize import HEADINGS
from hudkit.compose.formats.mdast import Align, Flow, Phrasing

_BREAK = re.compile(r"(?<![ \t\f])[ \t\f]*+[\n\r][ \t\f\n\r]*|[\t\f]+")
_SIDES: dict[str | None, Align] = {"left": "left", "center": "center", "right": "right"}


def from_hast(root: HtmlRoot) -> mdast.Root:
    """Return the document that sanitised nodes say.

    A line break of the source, with the white space around it, is a space; other spaces are kept. What stands loose
    between blocks is a paragraph, a block within a line is a part of that line.
    """
    return mdast.Root(tuple(_flow(root.children)))


def _flow(nodes: Iterable[Hast]) -> Iterator[Flow]:
    loose: list[Hast] = []
    for node in nodes:
        if isinstance(node, HtmlElement) and node.tag in _BLOCKS:
            yield from _paragraph(loose)
            loose = []
            yield from _BLOCKS[node.tag](node)
        else:
            loose.append(node)
    yield from _paragraph(loose)


def _paragraph(nodes: Sequence[Hast]) -> Iterator[mdast.Paragraph]:
    if any(isinstance(node, HtmlElement) or node.value.strip() for node in nodes):
        yield mdast.Paragraph(tuple(_line(nodes)))


def _line(nodes: Iterable[Hast]) -> Iterator[Phrasing]:
    for node in nodes:
        if isinstance(node, HtmlText):
            yield mdast.Text(_BREAK.sub(" ", node.value))
        elif node.tag in _INLINE:
            yield _INLINE[node.tag](node)
        else:
            # A block within a line: its words are told apart from those around it.
            yield mdast.Text(" ")
            yield from _line(node.children)
            yield mdast.Text(" ")


def _code(element: HtmlElement) -> mdast.InlineCode:
    return mdast.InlineCode(_BREAK.sub(" ", text_of(element)))


def _link(element: HtmlElement) -> mdast.Link:
    return mdast.Link(element.get("href") or "", tuple(_line(element.children)), element.get("title"))


def _heading(element: HtmlElement) -> Iterator[Flow]:
    yield mdast.Heading(HEADINGS.index(element.tag) + 1, tuple(_line(element.children)))


def _pre(element: HtmlElement) -> Iterator[Flow]:
    value = "".join(map(text_of, element.children)).removesuffix("\n")
    yield mdast.CodeBlock(value, element.get("data-lang") or "")


def _list(element: HtmlElement) -> Iterator[Flow]:
    items: list[mdast.ListItem] = []
    for child in element.children:
        if isinstance(child, HtmlElement) and child.tag == "li":
            items.append(_item(child))
        # Browsers show what stands beside the items among them.
        elif isinstance(child, HtmlElement) or child.value.strip():
            items.append(mdast.ListItem(tuple(_flow((child,)))))
    yield mdast.List(tuple(items), element.tag == "ol", int(element.get("start") or 1))


def _item(element: HtmlElement) -> mdast.ListItem:
    checked = {"true": True, "false": False}.get(element.get("data-checked") or "")
    return mdast.ListItem(tuple(_flow(element.children)), checked)


def _table(element: HtmlElement) -> Iterator[Flow]:
    around, rows = _rows(element.children)
    yield from _flow(around)
    if rows:
        converted = (
            mdast.Row(tuple(mdast.Cell(tuple(_line(cell.children))) for cell in _cells(row))) for row in rows
        )
        yield mdast.Table(tuple(converted), tuple(map(_side, zip_longest(*map(_cells, rows)))))


def _side(column: Sequence[HtmlElement | None]) -> Align:
    """Return how a column is set: as its first cell that says it."""
    return next((_SIDES[cell.get("align")] for cell in column if cell and cell.get("align") in _SIDES), "")


def _rows(nodes: Iterable[Hast]) -> tuple[list[Hast], list[HtmlElement]]:
    """Return what stands beside the rows of a table (its caption), and the rows."""
    around: list[Hast] = []
    rows: list[HtmlElement] = []
    for node in nodes:
        if isinstance(node, HtmlElement) and node.tag == "tr":
            rows.append(node)
        elif isinstance(node, HtmlElement) and node.tag in ("thead", "tbody"):
            rows.extend(_rows(node.children)[1])
        else:
            around.append(node)
    return around, rows


def _cells(row: HtmlElement) -> list[HtmlElement]:
    return [cell for cell in row.children if isinstance(cell, HtmlElement) and cell.tag in ("td", "th")]


def _within(element: HtmlElement) -> Iterator[Flow]:
    return _flow(element.children)


_BLOCKS: dict[str, Callable[[HtmlElement], Iterator[Flow]]] = {
    **dict.fromkeys(HEADINGS, _heading),
    **dict.fromkeys(("div", "thead", "tbody", "tr", "td", "th"), _within),
    "blockquote": lambda element: iter((mdast.Quote(tuple(_flow(element.children))),)),
    "hr": lambda _: iter((mdast.ThematicBreak(),)),
    "li": lambda element: iter((_item(element),)),
    "ol": _list,
    "p": lambda element: iter((mdast.Paragraph(tuple(_line(element.children))),)),
    "pre": _pre,
    "table": _table,
    "ul": _list,
}

_INLINE: dict[str, Callable[[HtmlElement], Phrasing]] = {
    "a": _link,
    "br": lambda _: mdast.Break(),
    "code": _code,
    "del": lambda element: mdast.Delete(tuple(_line(element.children))),
    "em": lambda element: mdast.Emphasis(tuple(_line(element.children))),
    "pre": lambda element: mdast.InlineCode(_BREAK.sub(" ", text_of(element).strip("\n"))),
    "strong": lambda element: mdast.Strong(tuple(_line(element.children))),
}
