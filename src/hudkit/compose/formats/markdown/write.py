"""Nodes to Markdown that reads back as the same nodes, with as few escapes as that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from hudkit.compose.formats.markdown.blocks import code as code_block
from hudkit.compose.formats.markdown.blocks import footnote, heading, item, list, paragraph, quote, root, rule, table
from hudkit.compose.formats.markdown.blocks import html as html_block
from hudkit.compose.formats.markdown.draft import Draft, Shape
from hudkit.compose.formats.markdown.line import compose
from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.markdown.references import matched
from hudkit.compose.formats.markdown.spans import code, html, link, stretch, text
from hudkit.compose.formats.markdown.spans import footnote as footnote_call
from hudkit.compose.formats.mdast import (
    BareUrl,
    Break,
    Cell,
    CodeBlock,
    Delete,
    Emphasis,
    Flow,
    FootnoteDefinition,
    FootnoteReference,
    Heading,
    HtmlBlock,
    Image,
    InlineCode,
    InlineHtml,
    Link,
    List,
    ListItem,
    Mdast,
    Paragraph,
    Phrasing,
    Quote,
    Root,
    Row,
    Strong,
    Table,
    Text,
    ThematicBreak,
)

_FLOW: dict[type, Callable[[Any, Place, Pen], str]] = {
    CodeBlock: code_block.code,
    FootnoteDefinition: footnote.definition,
    Heading: heading.heading,
    HtmlBlock: html_block.html,
    List: list.list_,
    ListItem: item.item,
    Paragraph: paragraph.paragraph,
    Quote: quote.quote,
    Root: root.root,
    Row: table.row,
    Table: table.table,
    ThematicBreak: rule.rule,
}
_SPANS: dict[type, Callable[[Any, Draft, Pen], None]] = {
    BareUrl: text.bare_url,
    Break: text.hard_break,
    Delete: stretch.delete,
    Emphasis: stretch.emphasis,
    FootnoteReference: footnote_call.reference,
    Image: link.image,
    InlineCode: code.code,
    InlineHtml: html.html,
    Link: link.link,
    Strong: stretch.strong,
    Text: text.text,
}


def flow(node: Flow, place: Place) -> str:
    """A block where it stands."""
    return _FLOW[type(node)](node, place, PEN)


def line(children: tuple[Phrasing, ...], shape: Shape) -> str:
    """The content of one block."""
    draft = Draft(shape)
    span(children, draft)
    return compose(draft)


def span(children: Iterable[Phrasing], draft: Draft) -> None:
    """Add nodes to a line that is being composed."""
    for child in children:
        _SPANS[type(child)](child, draft, PEN)


PEN = Pen(flow, line, span)


def _noted(labels: frozenset[str]) -> Pen:
    """The pen for a document that defines footnotes: in any other one no text can be a reference to one."""

    def noted_flow(node: Flow, place: Place) -> str:
        return _FLOW[type(node)](node, place, pen)

    def noted_line(children: tuple[Phrasing, ...], shape: Shape) -> str:
        return line(children, replace(shape, notes=labels))

    pen = Pen(noted_flow, noted_line, span)
    return pen


_HOLDING = frozenset({FootnoteDefinition, List, ListItem, Quote, Root})


def _notes(node: Flow) -> frozenset[str]:
    """The labels of the footnotes that are defined, as readers compare them."""
    found = []
    waiting: Any = [node]
    while waiting:
        one = waiting.pop()
        if type(one) in _HOLDING:
            waiting.extend(one.children)
            if type(one) is FootnoteDefinition:
                found.append(matched(one.label))
    return frozenset(found)


def write(node: Mdast) -> str:
    """Markdown for a node.

    A block ends with exactly one line feed and begins with no space (raw HTML keeps its own indent); blocks of a
    document have one blank line between. A node of a line, or a cell, is written as a paragraph of its own. Text
    reads back as the same text with CommonMark and with GFM parsers, whatever it contains, but that NUL and lone
    surrogates become U+FFFD, and that a line break in inline code becomes a space.
    """
    if isinstance(node, Cell):
        return flow(Paragraph(node.children), Place())
    if type(node) in _SPANS:
        return flow(Paragraph((node,)), Place())  # type: ignore[arg-type]
    block: Flow = node  # type: ignore[assignment]
    labels = _notes(block)
    return (_noted(labels) if labels else PEN).flow(block, Place())
