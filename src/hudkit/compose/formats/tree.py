"""The element tree to mdast: what each element of the vocabulary says in a document.

Every text is data: hidden and control characters become visible escapes, so that a line stays one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hudkit.compose import Element, Node, text_of, visible
from hudkit.compose.formats import mdast
from hudkit.compose.formats.mdast import Align, Flow, Mdast
from hudkit.compose.formats.phrases import SPANS, STANDS_FOR, silent, spans, spread

DEEPEST = 6
_ALIGN: dict[str, Align] = {"l": "left", "c": "center", "r": "right", "-": ""}


def to_mdast(element: Element, level: int = 1) -> Mdast:
    """The node that says what an element says; `level` is that of the headings of sections without their own.

    Documents, sections and fragments become a `Root` (headings are not nested in mdast), a bare item a list of one, a
    row a row, phrasing elements a node of a line. Raises `TreeError` for a tag that is not in the vocabulary.
    """
    tag = element.tag
    if tag in SPANS:
        found = spans((element,))
        return found[0] if len(found) == 1 else mdast.Paragraph(found)
    if tag == "item":
        return mdast.List((item_of(element),))
    if tag == "row":
        return _row(element)
    if tag == "cell":
        return mdast.Cell(spans(element.children))
    found_blocks = tuple(block_of(one, depth) for one, depth in blocks((element,), level))
    if tag in _CONTAINERS or tag in STANDS_FOR or len(found_blocks) != 1:
        return mdast.Root(found_blocks)
    return found_blocks[0]


Block = Element | str
"""A block that is no container of sections: an element, or the title of a section."""


def blocks(nodes: Iterable[Node], level: int) -> list[tuple[Block, int]]:
    """The blocks of documents, sections and fragments, in order, each with the level of its headings.

    A title is a string. Nodes that may only stand in a line, a list or a table are gathered into one.
    """
    found: list[tuple[Block, int]] = []
    loose: list[Node] = []
    _sort(nodes, level, found, loose)
    _gather(loose, found, level)
    return found


def _sort(nodes: Iterable[Node], level: int, found: list[tuple[Block, int]], loose: list[Node]) -> None:
    for node in nodes:
        if isinstance(node, Element) and node.tag in _CONTAINERS:
            _gather(loose, found, level)
            if node.tag == "section":
                own = node.get("level", level)
                if title := visible(str(node.get("title", ""))).strip():
                    found.append((title, own))
                found.extend(blocks(node.children, own + 1))
            else:
                found.extend(blocks(node.children, level))
        elif silent(node):
            continue
        elif isinstance(node, Element) and (node.tag in _BLOCKS or (node.tag == "more" and not loose)):
            _gather(loose, found, level)
            found.append((node, level))
        elif isinstance(node, Element) and node.tag in STANDS_FOR:
            _sort(STANDS_FOR[node.tag](node), level, found, loose)
        else:
            loose.append(node)


_CONTAINERS = frozenset({"document", "section", "fragment"})


def _gather(loose: list[Node], found: list[tuple[Block, int]], level: int) -> None:
    """Bare items, rows, cells and spans, as a list, a table or a paragraph."""
    if loose:
        tags = {node.tag for node in loose if isinstance(node, Element)}
        if "cell" in tags and not tags & {"item", "row"}:
            loose[:] = [Element("row", (), tuple(loose))]
            tags = {"row"}
        tag = "list" if "item" in tags else "table" if "row" in tags else "paragraph"
        found.append((Element(tag, (), tuple(loose)), level))
        loose.clear()


def block_of(block: Block, level: int) -> Flow:
    """The node of one block."""
    if isinstance(block, str):
        return mdast.Heading(min(max(level, 1), DEEPEST), (mdast.Text(block),))
    return _BLOCKS[block.tag](block, level)


def _paragraph(element: Element, _level: int) -> mdast.Paragraph:
    return mdast.Paragraph(spans(element.children))


def items(element: Element) -> tuple[Node, ...]:
    """The items of a list."""
    return tuple([node for node in spread(element.children) if not silent(node)])


def item_of(node: Node) -> mdast.ListItem:
    """The node of one item; what is no item stands in one."""
    children: tuple[Node, ...] = (node,)
    checked = None
    if isinstance(node, Element) and node.tag == "item":
        children, checked = node.children, node.get("checked")
    found = spans(children)
    return mdast.ListItem((mdast.Paragraph(found),) if found else (), checked)


def _list(element: Element, _level: int) -> mdast.List:
    found = tuple(item_of(child) for child in items(element))
    return mdast.List(found, bool(element.get("ordered", False)), int(element.get("start", 1)))


def _quote(element: Element, level: int) -> mdast.Quote:
    return mdast.Quote(tuple(block_of(one, depth) for one, depth in blocks(element.children, level)))


def _pre(element: Element, _level: int) -> mdast.CodeBlock:
    value = visible(text_of(element), breaks=True).removesuffix("\n")
    return mdast.CodeBlock(value, visible(str(element.get("lang", ""))))


def _rule(_element: Element, _level: int) -> mdast.ThematicBreak:
    return mdast.ThematicBreak()


def _table(element: Element, _level: int) -> mdast.Table:
    align = tuple(_ALIGN.get(letter, "") for letter in str(element.get("align", "")))
    return mdast.Table(tuple(_row(child) for child in spread(element.children)), align)


def _row(node: Node) -> mdast.Row:
    cells = spread(node.children) if isinstance(node, Element) and node.tag == "row" else (node,)
    return mdast.Row(
        tuple(
            mdast.Cell(spans(cell.children if isinstance(cell, Element) and cell.tag == "cell" else (cell,)))
            for cell in cells
        )
    )


_BLOCKS: dict[str, Callable[[Element, int], Flow]] = {
    "list": _list,
    "more": lambda element, _: mdast.Paragraph(spans((element,))),
    "paragraph": _paragraph,
    "pre": _pre,
    "quote": _quote,
    "rule": _rule,
    "table": _table,
    "text": _paragraph,
}
