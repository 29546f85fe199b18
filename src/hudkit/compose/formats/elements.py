"""The way back: mdast to the element tree, always in normal form.

A tree in normal form is what `from_mdast(to_mdast(tree))` gives; it says the same, and reading its Markdown gives it
again. In it
- only what is written is left: fragments, structure for `fit` (its first alternative stands in), nested documents,
  props of `fit`, keys, empty paragraphs, quotes, tables, stretches and titles are gone; a `text` is a `paragraph`, a
  `more` its words, an element that stood where it may not is in one where it may;
- a section holds all that follows up to the next heading of its level or above, and has a `level` only where that
  is not one more than that of the section around it; headings are at most six deep;
- a line has no white space at its ends, nor has a stretch (strong, emphasis, strike, link); texts, codes and
  stretches of one kind do not touch, and none is in one of its own kind;
- the rows of a table are equally long, `align` has a letter for each column or is not there; destinations are written
  as URLs are, `lang` has single spaces, numbers of items are those that Markdown has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hudkit.compose import Element, Node, freeze, visible
from hudkit.compose.formats import mdast
from hudkit.compose.formats.mdast import Align, Flow, Mdast
from hudkit.compose.formats.words import line
from hudkit.compose.nodes import Prop

LARGEST = 999_999_999
"""The largest number of an item that CommonMark reads."""

_LETTERS: dict[Align, str] = {"": "-", "left": "l", "center": "c", "right": "r"}


def from_mdast(node: Mdast, level: int = 1) -> Element:
    """The tree, in normal form, that says what a node says; `level` is that of a section without its own.

    A `Root` becomes a document, a cell or a row one, any other node the element that it is, or a fragment where it
    is none or several. What the vocabulary has no word for keeps its words: an image is a link to it, raw HTML is
    code, a hard line break a space, a footnote its text after `[^label]: `; the lists in an item come after it, and
    its other blocks are one line with it.
    """
    match node:
        case mdast.Root():
            return _element("document", {}, flow(node.children, level))
        case mdast.Row():
            return _element("row", {}, [_cell(cell) for cell in node.children])
        case mdast.Cell():
            return _cell(node)
    block: Any = node
    if type(node) not in _BLOCKS and not isinstance(node, mdast.Heading):
        block = mdast.Paragraph((block,))
    found = flow((block,), level)
    only = found[0] if len(found) == 1 else None
    return only if isinstance(only, Element) else _element("fragment", {}, found)


def _element(tag: str, props: dict[str, Prop], children: Sequence[Node]) -> Element:
    return Element(tag, freeze(props), tuple(children))


def flow(nodes: Sequence[Flow], level: int) -> list[Node]:
    """Blocks, those after a heading in a section."""
    return _body(nodes, 0, 0, level)[0]


def _body(nodes: Sequence[Flow], place: int, outer: int, level: int) -> tuple[list[Node], int]:
    """The blocks from `place` to the next heading of depth `outer` or above, and the place of that."""
    found: list[Node] = []
    while place < len(nodes):
        node = nodes[place]
        if not isinstance(node, mdast.Heading):
            found.extend(_BLOCKS[type(node)](node, level))
            place += 1
            continue
        title = visible(mdast.text_of(node).replace("\n", " ")).strip()
        if not title:
            place += 1
            continue
        depth = min(max(node.depth, 1), 6)
        if depth <= outer:
            break
        inner, place = _body(nodes, place + 1, depth, depth + 1)
        own = None if depth == level else depth
        found.append(_element("section", {"title": title, "level": own}, inner))
    return found, place


def _paragraph(node: mdast.Paragraph, _level: int) -> list[Node]:
    children = line(node.children)
    return [_element("paragraph", {}, children)] if children else []


def _code(node: mdast.CodeBlock, _level: int) -> list[Node]:
    value = visible(node.value, breaks=True)
    # the tree does not count a line feed at the end
    value += "\n" if value.endswith("\n") else ""
    lang = visible(" ".join(node.info.split())) or None
    return [_element("pre", {"lang": lang}, [value] if value else [])]


def _list(node: mdast.List, _level: int) -> list[Node]:
    items = [item for child in node.children for item in _items(child)]
    if not items:
        return []
    start = max(min(node.start, LARGEST - len(items)), 0) if node.ordered else 1
    props: dict[str, Prop] = {"ordered": node.ordered or None, "start": start if start != 1 else None}
    return [_element("list", props, items)]


def _items(node: mdast.ListItem) -> Iterator[Element]:
    """The item as one line, and the items of the lists in it."""
    lists = [child for child in node.children if isinstance(child, mdast.List)]
    words = line(tuple(_inline([child for child in node.children if not isinstance(child, mdast.List)])))
    if words or not lists:
        yield _element("item", {"checked": node.checked if words else None}, words)
    for one in lists:
        for item in one.children:
            yield from _items(item)


def _inline(nodes: Sequence[Any]) -> Iterator[mdast.Phrasing]:
    """What blocks say, in one line."""
    for node in nodes:
        yield mdast.Text(" ")
        match node:
            case mdast.Paragraph() | mdast.Heading() | mdast.Cell():
                yield from node.children
            case mdast.CodeBlock() | mdast.HtmlBlock():
                yield mdast.InlineCode(node.value)
            case mdast.ThematicBreak():
                pass
            case _:
                yield from _inline(node.children)


def _quote(node: mdast.Quote, level: int) -> list[Node]:
    children = flow(node.children, level)
    return [_element("quote", {}, children)] if children else []


def _table(node: mdast.Table, _level: int) -> list[Node]:
    columns = max((len(row.children) for row in node.children), default=0)
    if not columns:
        return []
    letters = "".join(_LETTERS[one] for one in node.align)[:columns].ljust(columns, "-")
    empty = (mdast.Cell(()),) * columns
    rows = [_element("row", {}, [_cell(cell) for cell in (row.children + empty)[:columns]]) for row in node.children]
    return [_element("table", {"align": letters if letters.strip("-") else None}, rows)]


def _cell(node: mdast.Cell) -> Element:
    return _element("cell", {}, line(node.children, cell=True))


def _footnote(node: mdast.FootnoteDefinition, level: int) -> list[Node]:
    label = mdast.Text(f"[^{node.label}]: ")
    first, rest = node.children[:1], node.children[1:]
    if first and isinstance(first[0], mdast.Paragraph):
        return flow((mdast.Paragraph((label, *first[0].children)), *rest), level)
    return flow((mdast.Paragraph((label,)), *node.children), level)


_BLOCKS: dict[type, Callable[[Any, int], list[Node]]] = {
    mdast.CodeBlock: _code,
    mdast.FootnoteDefinition: _footnote,
    mdast.HtmlBlock: lambda node, level: _code(mdast.CodeBlock(node.value.strip("\n"), "html"), level),
    mdast.List: _list,
    mdast.ListItem: lambda node, level: _list(mdast.List((node,)), level),
    mdast.Paragraph: _paragraph,
    mdast.Quote: _quote,
    mdast.Root: lambda node, level: flow(node.children, level),
    mdast.Row: lambda node, level: _table(mdast.Table((node,)), level),
    mdast.Table: _table,
    mdast.ThematicBreak: lambda _, __: [_element("rule", {}, ())],
}
