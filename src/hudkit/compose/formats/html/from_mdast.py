"""mdast to hast: how each node of a document is said in HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from hudkit.compose.formats import mdast
from hudkit.compose.formats.html.hast import Hast, HtmlElement, HtmlRoot, HtmlText
from hudkit.compose.formats.html.sanitize import safe_url
from hudkit.compose.formats.mdast import Flow, Phrasing


def to_hast(node: mdast.Mdast) -> HtmlRoot:
    """Return the document that says what a node says.

    A link that may not be followed is its words with the URL behind them; raw HTML is code; a footnote stands where
    its definition does.
    """
    if isinstance(node, mdast.Cell):
        return HtmlRoot(_line(node.children))
    if isinstance(node, Phrasing):
        return HtmlRoot(_line((node,)))
    return HtmlRoot(_flow((node,)))


def _flow(nodes: Iterable[Flow]) -> tuple[Hast, ...]:
    return tuple(child for node in nodes for child in _BLOCKS[type(node)](node))


def _line(nodes: Iterable[Phrasing]) -> tuple[Hast, ...]:
    return tuple(child for node in nodes for child in _INLINE[type(node)](node))


def _around(tag: str) -> Callable[[Any], Sequence[Hast]]:
    return lambda node: (HtmlElement(tag, (), _line(node.children)),)


def _code_of(value: str) -> HtmlElement:
    return HtmlElement("code", (), (HtmlText(value),) if value else ())


def _link(node: mdast.Link) -> Sequence[Hast]:
    href = safe_url(node.href)
    words = _line(_unlinked(node.children) if href else node.children)
    # It may not be followed, but people see where it led.
    if href is None:
        return (*words, *([HtmlText(f" ({node.href})")] if node.href else ()))
    title = (("title", node.title),) if node.title is not None else ()
    return (HtmlElement("a", (("href", href), *title), words),)


def _unlinked(nodes: Iterable[Phrasing]) -> Iterator[Phrasing]:
    """Yield the words of a link: HTML has no link in a link, so one within it is words too."""
    for node in nodes:
        if isinstance(node, mdast.Link):
            yield from _unlinked(node.children)
        elif isinstance(node, mdast.Image):
            yield mdast.Text(node.alt)
        elif isinstance(node, mdast.Strong | mdast.Emphasis | mdast.Delete):
            yield replace(node, children=tuple(_unlinked(node.children)))
        else:
            yield node


def _heading(node: mdast.Heading) -> Sequence[Hast]:
    return (HtmlElement(f"h{min(max(node.depth, 1), 6)}", (), _line(node.children)),)


def _pre(node: mdast.CodeBlock) -> Sequence[Hast]:
    lang = (("data-lang", node.info),) if node.info else ()
    return (HtmlElement("pre", lang, (_code_of(node.value + "\n"),)),)


def _list(node: mdast.List) -> Sequence[Hast]:
    start = (("start", str(node.start)),) if node.ordered and node.start != 1 else ()
    items = tuple(_item(item, node.spread) for item in node.children)
    return (HtmlElement("ol" if node.ordered else "ul", start, items),)


def _item(node: mdast.ListItem, spread: bool) -> HtmlElement:
    checked = () if node.checked is None else (("data-checked", str(node.checked).lower()),)
    # In a tight list an item is its words, without a paragraph.
    only = node.children[0] if len(node.children) == 1 else None
    if isinstance(only, mdast.Paragraph) and not spread:
        return HtmlElement("li", checked, _line(only.children))
    return HtmlElement("li", checked, _flow(node.children))


def _table(node: mdast.Table) -> Sequence[Hast]:
    rows = [_row(row, node.align, "td" if n else "th") for n, row in enumerate(node.children)]
    parts = (("thead", tuple(rows[:1])), ("tbody", tuple(rows[1:])))
    return (HtmlElement("table", (), tuple(HtmlElement(tag, (), part) for tag, part in parts if part)),)


def _row(row: mdast.Row, align: tuple[mdast.Align, ...], tag: str) -> HtmlElement:
    sides = (*align, *[""] * len(row.children))
    cells = (
        HtmlElement(tag, (("align", side),) if side else (), _line(cell.children))
        for cell, side in zip(row.children, sides, strict=False)
    )
    return HtmlElement("tr", (), tuple(cells))


_BLOCKS: dict[type, Callable[[Any], Sequence[Hast]]] = {
    mdast.CodeBlock: _pre,
    mdast.FootnoteDefinition: lambda node: _flow(mdast.footnote_as_blocks(node)),
    mdast.Heading: _heading,
    mdast.HtmlBlock: lambda node: _pre(mdast.CodeBlock(node.value.strip("\n"), "html")),
    mdast.List: _list,
    mdast.ListItem: lambda node: _list(mdast.List((node,))),
    mdast.Paragraph: _around("p"),
    mdast.Quote: lambda node: (HtmlElement("blockquote", (), _flow(node.children)),),
    mdast.Root: lambda node: _flow(node.children),
    mdast.Row: lambda node: _table(mdast.Table((node,))),
    mdast.Table: _table,
    mdast.ThematicBreak: lambda _: (HtmlElement("hr"),),
}

_INLINE: dict[type, Callable[[Any], Sequence[Hast]]] = {
    mdast.BareUrl: lambda node: (HtmlText(node.value),),
    mdast.Break: lambda _: (HtmlElement("br"),),
    mdast.Delete: _around("del"),
    mdast.Emphasis: _around("em"),
    mdast.FootnoteReference: lambda node: (HtmlText(f"[^{node.label}]"),),
    mdast.Image: lambda node: _link(mdast.Link(node.src, (mdast.Text(node.alt),), node.title)),
    mdast.InlineCode: lambda node: (_code_of(node.value),),
    mdast.InlineHtml: lambda node: (_code_of(node.value),),
    mdast.Link: _link,
    mdast.Strong: _around("strong"),
    mdast.Text: lambda node: (HtmlText(node.value),),
}
