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

`h.document[h.section(title="Plan")[h.text["a ", h.strong["b "]], h.fragment[h.text["c"]]]]` is in normal form
`h.document[h.section(title="Plan")[h.paragraph["a ", h.strong["b"]], h.paragraph["c"]]]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hudkit.compose import Element, Node, freeze, visible
from hudkit.compose.formats import mdast
from hudkit.compose.formats.mdast import Align, Flow, Mdast, Phrasing, first_number, footnote_as_blocks
from hudkit.compose.formats.urls import is_refused, literal_target, normalize_url
from hudkit.compose.nodes import Prop

_LETTERS: dict[Align, str] = {"": "-", "left": "l", "center": "c", "right": "r"}


def from_mdast(node: Mdast, level: int = 1) -> Element:
    """Return the tree, in normal form, that says what a node says; `level` is that of a section without its own.

    A `Root` becomes a document, a cell or a row one, any other node the element that it is, or a fragment where it
    is none or several. What the vocabulary has no word for keeps its words: an image is a link to it, raw HTML is
    code, a hard line break a space, a footnote its text after `[^label]: `; the lists in an item come after it, and
    its other blocks are one line with it.
    """
    match node:
        case mdast.Root():
            return _element("document", {}, _flow(node.children, level))
        case mdast.Row():
            return _element("row", {}, [_cell(cell) for cell in node.children])
        case mdast.Cell():
            return _cell(node)
    block: Any = node
    if type(node) not in _BLOCKS and not isinstance(node, mdast.Heading):
        block = mdast.Paragraph((block,))
    nodes = _flow((block,), level)
    only = nodes[0] if len(nodes) == 1 else None
    return only if isinstance(only, Element) else _element("fragment", {}, nodes)


def _element(tag: str, props: dict[str, Prop], children: Sequence[Node]) -> Element:
    return Element(tag, freeze(props), tuple(children))


def _flow(nodes: Sequence[Flow], level: int) -> list[Node]:
    """Return the elements of blocks, those after a heading in a section."""
    return _section_body(nodes, 0, 0, level)[0]


def _section_body(nodes: Sequence[Flow], position: int, outer: int, level: int) -> tuple[list[Node], int]:
    """Return the blocks from `position` to the next heading of depth `outer` or above, and the position of that."""
    body: list[Node] = []
    while position < len(nodes):
        node = nodes[position]
        if not isinstance(node, mdast.Heading):
            body.extend(_BLOCKS[type(node)](node, level))
            position += 1
            continue
        title = visible(mdast.text_of(node).replace("\n", " ")).strip()
        # A heading without words is no section: what follows stays where it is.
        if not title:
            position += 1
            continue
        depth = min(max(node.depth, 1), 6)
        if depth <= outer:
            break
        inner, position = _section_body(nodes, position + 1, depth, depth + 1)
        own = None if depth == level else depth
        body.append(_element("section", {"title": title, "level": own}, inner))
    return body, position


def _paragraph(node: mdast.Paragraph, _level: int) -> list[Node]:
    children = inline_to_tree(node.children)
    return [_element("paragraph", {}, children)] if children else []


def _code(node: mdast.CodeBlock, _level: int) -> list[Node]:
    value = visible(node.value, breaks=True)
    # The tree does not count a line feed at the end.
    value += "\n" if value.endswith("\n") else ""
    lang = visible(" ".join(node.info.split())) or None
    return [_element("pre", {"lang": lang}, [value] if value else [])]


def _list(node: mdast.List, _level: int) -> list[Node]:
    items = [item for child in node.children for item in _items(child)]
    if not items:
        return []
    start = first_number(node.start, len(items)) if node.ordered else 1
    props: dict[str, Prop] = {"ordered": node.ordered or None, "start": start if start != 1 else None}
    return [_element("list", props, items)]


def _items(node: mdast.ListItem) -> Iterator[Element]:
    """Yield the item as one line, and the items of the lists in it."""
    lists = [child for child in node.children if isinstance(child, mdast.List)]
    others = [child for child in node.children if not isinstance(child, mdast.List)]
    children = inline_to_tree(tuple(_as_one_line(others)))
    if children or not lists:
        yield _element("item", {"checked": node.checked if children else None}, children)
    for inner in lists:
        for item in inner.children:
            yield from _items(item)


def _as_one_line(nodes: Sequence[Any]) -> Iterator[Phrasing]:
    """Yield what blocks say, in one line."""
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
                yield from _as_one_line(node.children)


def _quote(node: mdast.Quote, level: int) -> list[Node]:
    children = _flow(node.children, level)
    return [_element("quote", {}, children)] if children else []


def _table(node: mdast.Table, _level: int) -> list[Node]:
    columns = max((len(row.children) for row in node.children), default=0)
    if not columns:
        return []
    letters = "".join(_LETTERS[side] for side in node.align)[:columns].ljust(columns, "-")
    empty = (mdast.Cell(()),) * columns
    rows = [_element("row", {}, [_cell(cell) for cell in (row.children + empty)[:columns]]) for row in node.children]
    return [_element("table", {"align": letters if letters.strip("-") else None}, rows)]


def _cell(node: mdast.Cell) -> Element:
    return _element("cell", {}, inline_to_tree(node.children, cell=True))


_BLOCKS: dict[type, Callable[[Any, int], list[Node]]] = {
    mdast.CodeBlock: _code,
    mdast.FootnoteDefinition: lambda node, level: _flow(footnote_as_blocks(node), level),
    mdast.HtmlBlock: lambda node, level: _code(mdast.CodeBlock(node.value.strip("\n"), "html"), level),
    mdast.List: _list,
    mdast.ListItem: lambda node, level: _list(mdast.List((node,)), level),
    mdast.Paragraph: _paragraph,
    mdast.Quote: _quote,
    mdast.Root: lambda node, level: _flow(node.children, level),
    mdast.Row: lambda node, level: _table(mdast.Table((node,)), level),
    mdast.Table: _table,
    mdast.ThematicBreak: lambda _, __: [_element("rule", {}, ())],
}

_STRETCHES: dict[type, str] = {mdast.Strong: "strong", mdast.Emphasis: "emphasis", mdast.Delete: "strike"}
_JOINED = frozenset({"strong", "emphasis", "strike", "code"})


def inline_to_tree(nodes: Sequence[Phrasing], *, cell: bool = False) -> list[Node]:
    """Return the content of a block, without white space at its ends.

    In a `cell` some code has no spelling, and is text: that with a backslash before a bar.
    """
    return _trim(_join(_inline(nodes, frozenset(), cell)))[1]


def _inline(nodes: Sequence[Phrasing], inside: frozenset[str], cell: bool) -> Iterator[Node]:
    """Yield texts and elements; a stretch within one of its kind adds nothing. `inside` are the tags around."""
    for node in nodes:
        match node:
            case mdast.Text():
                yield visible(node.value.replace("\n", " "))
            case mdast.BareUrl():
                yield from _bare_url(node.value, inside, cell)
            case mdast.InlineCode() | mdast.InlineHtml():
                value = visible(node.value.replace("\n", " "))
                # In a cell GFM takes a backslash before a bar away, in code too.
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


def _bare_url(value: str, inside: frozenset[str], cell: bool) -> Iterator[Node]:
    """Yield a URL as text where it is told from other text again; else as a link."""
    if value.startswith(("http://", "https://")):
        yield value
    else:
        yield from _link(literal_target(value), (mdast.Text(value),), inside, cell)


def _link(href: str, children: Sequence[Phrasing], inside: frozenset[str], cell: bool) -> Iterator[Node]:
    href = visible(href)
    if "link" in inside:
        yield from _inline(children, inside, cell)
    elif is_refused(href):
        yield from _inline(children, inside, cell)
        yield f" ({href})"
    elif href:
        props = (("href", normalize_url(href)),)
        # A link without words is its destination.
        nodes = list(_stretch("link", props, children, inside, cell))
        yield from nodes if any(map(_says_something, nodes)) else [Element("link", props, (href,))]
    else:
        yield from _inline(children, inside, cell)


def _says_something(node: Node) -> bool:
    return bool(node.strip()) if isinstance(node, str) else True


def _stretch(
    tag: str, props: tuple[tuple[str, str], ...], nodes: Sequence[Phrasing], inside: frozenset[str], cell: bool
) -> Iterator[Node]:
    children = _inline(nodes, inside | {tag}, cell)
    if tag in inside:
        yield from children
        return
    before, inner, after = _trim(_join(children))
    yield before
    if inner:
        yield Element(tag, props, tuple(inner))
    yield after


def _join(nodes: Iterator[Node]) -> list[Node]:
    """Return nodes with what touches its like made one, and without what is empty."""
    joined: list[Node] = []
    for node in nodes:
        last = joined[-1] if joined else ""
        if not node or (isinstance(node, Element) and not node.children):
            continue
        if isinstance(node, str) and isinstance(last, str):
            joined[-1:] = [last + node]
        elif isinstance(node, Element) and isinstance(last, Element) and node.tag == last.tag and node.tag in _JOINED:
            joined[-1] = last.with_children(tuple(_join(iter((*last.children, *node.children)))))
        else:
            joined.append(node)
    return joined


def _trim(nodes: list[Node]) -> tuple[str, list[Node], str]:
    """Return nodes without white space at their ends, and the spaces that were there."""
    before = after = ""
    if nodes and isinstance(nodes[0], str):
        text = nodes[0].lstrip()
        before = " " if text != nodes[0] else ""
        nodes = [text, *nodes[1:]] if text else nodes[1:]
    if nodes and isinstance(nodes[-1], str):
        text = nodes[-1].rstrip()
        after = " " if text != nodes[-1] else ""
        nodes = [*nodes[:-1], text] if text else nodes[:-1]
    return before, nodes, after
