"""The way back within a line: phrasing nodes to texts and phrasing elements in normal form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hudkit.compose import Element, Node, visible
from hudkit.compose.formats import mdast
from hudkit.compose.formats.markdown.references import normalized, refused
from hudkit.compose.formats.mdast import Phrasing
from hudkit.compose.formats.urls import target

_STRETCHES: dict[type, str] = {mdast.Strong: "strong", mdast.Emphasis: "emphasis", mdast.Delete: "strike"}
_MERGED = frozenset({"strong", "emphasis", "strike", "code"})


def line(nodes: Sequence[Phrasing], *, cell: bool = False) -> list[Node]:
    """The content of a block, without white space at its ends; a `cell` has no spelling for some code."""
    return _trimmed(_joined(_words(nodes, frozenset(), cell)))[1]


def _words(nodes: Sequence[Phrasing], inside: frozenset[str], cell: bool) -> Iterator[Node]:
    """Texts and elements; a stretch within one of its kind adds nothing."""
    for node in nodes:
        match node:
            case mdast.Text():
                yield visible(node.value.replace("\n", " "))
            case mdast.BareUrl():
                yield from _bare(node.value, inside, cell)
            case mdast.InlineCode() | mdast.InlineHtml():
                value = visible(node.value.replace("\n", " "))
                yield value if cell and "\\|" in value else Element("code", (), (value,) if value else ())
            case mdast.Break():
                yield " "
            case mdast.FootnoteReference():
                yield visible(f"[^{node.label}]")
            case mdast.Link():
                yield from _link(node.href, node.children, inside, cell)
            case mdast.Image():
                yield from _link(node.src, (mdast.Text(node.alt),), inside, cell)
            case _:
                yield from _stretch(_STRETCHES[type(node)], (), node.children, inside, cell)


def _bare(value: str, inside: frozenset[str], cell: bool) -> Iterator[Node]:
    """A URL that is text in the tree too, where it is told from other text again; else a link."""
    if value.startswith(("http://", "https://")):
        yield value
    else:
        yield from _link(target(value), (mdast.Text(value),), inside, cell)


def _link(href: str, children: Sequence[Phrasing], inside: frozenset[str], cell: bool) -> Iterator[Node]:
    href = visible(href)
    if "link" in inside:
        yield from _words(children, inside, cell)
    elif refused(href):
        yield from _words(children, inside, cell)
        yield f" ({href})"
    elif href:
        props = (("href", normalized(href)),)
        found = list(_stretch("link", props, children, inside, cell))
        yield from found if any(map(_says, found)) else [Element("link", props, (href,))]
    else:
        yield from _words(children, inside, cell)


def _says(node: Node) -> bool:
    return bool(node.strip()) if isinstance(node, str) else True


def _stretch(
    tag: str, props: tuple[tuple[str, str], ...], nodes: Sequence[Phrasing], inside: frozenset[str], cell: bool
) -> Iterator[Node]:
    words = _words(nodes, inside | {tag}, cell)
    if tag in inside:
        yield from words
        return
    before, inner, after = _trimmed(_joined(words))
    yield before
    if inner:
        yield Element(tag, props, tuple(inner))
    yield after


def _joined(nodes: Iterator[Node]) -> list[Node]:
    """With what touches its like made one, and without what is empty."""
    found: list[Node] = []
    for node in nodes:
        last = found[-1] if found else ""
        if not node or (isinstance(node, Element) and not node.children):
            continue
        if isinstance(node, str) and isinstance(last, str):
            found[-1:] = [last + node]
        elif isinstance(node, Element) and isinstance(last, Element) and node.tag == last.tag and node.tag in _MERGED:
            found[-1] = last.with_children(tuple(_joined(iter((*last.children, *node.children)))))
        else:
            found.append(node)
    return found


def _trimmed(nodes: list[Node]) -> tuple[str, list[Node], str]:
    """Nodes without white space at their ends, and the space that was there."""
    before = after = ""
    if nodes and isinstance(nodes[0], str):
        kept = nodes[0].lstrip()
        before = " " if kept != nodes[0] else ""
        nodes = [kept, *nodes[1:]] if kept else nodes[1:]
    if nodes and isinstance(nodes[-1], str):
        kept = nodes[-1].rstrip()
        after = " " if kept != nodes[-1] else ""
        nodes = [*nodes[:-1], kept] if kept else nodes[:-1]
    return before, nodes, after
