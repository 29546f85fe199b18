"""The element tree to mdast: what each element of the vocabulary says in a document.

Every text is data: hidden and control characters become visible escapes, so that a line stays one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from hudkit.compose import TAGS, Element, Node, text_of, visible
from hudkit.compose.formats import mdast
from hudkit.compose.formats.mdast import Align, Flow, Mdast, Phrasing
from hudkit.compose.formats.urls import bare_urls
from hudkit.errors import TreeError

_DEEPEST_HEADING = 6
_ALIGN: dict[str, Align] = {"l": "left", "c": "center", "r": "right", "-": ""}


def to_mdast(element: Element, level: int = 1) -> Mdast:
    """Return the node that says what an element says; `level` is that of the headings of sections without their own.

    Documents, sections and fragments become a `Root` (headings are not nested in mdast), a bare item a list of one, a
    row a row, phrasing elements a node of a line. Raises `TreeError` for a tag that is not in the vocabulary.
    """
    tag = element.tag
    if tag in _INLINE:
        inline = tree_to_inline((element,))
        return inline[0] if len(inline) == 1 else mdast.Paragraph(inline)
    if tag == "item":
        return mdast.List((item_to_mdast(element),))
    if tag == "row":
        return _row(element)
    if tag == "cell":
        return mdast.Cell(tree_to_inline(element.children))
    blocks = tuple(block_to_mdast(block, depth) for block, depth in flatten_blocks((element,), level))
    if tag in _CONTAINERS or tag in _STANDS_FOR or len(blocks) != 1:
        return mdast.Root(blocks)
    return blocks[0]


_STANDS_FOR: Mapping[str, Callable[[Element], tuple[Node, ...]]] = {
    "fragment": lambda element: element.children,
    "first": lambda element: element.children[:1],
    "choice": lambda element: element.children[:1],
    "default": lambda element: element.children[:-1] or element.children,
    "break": lambda _: (),
    "reserve": lambda _: (),
}
"""Elements that are not written themselves, and the nodes that are in their place: what speaks to `fit` alone, in a
tree that was not fitted, says its first alternative."""


def _resolve(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return nodes with those in the place of elements that are not written themselves."""
    # Nearly all trees have none of them: a look without a list.
    for node in nodes:
        if isinstance(node, Element) and node.tag in _STANDS_FOR:
            break
    else:
        return tuple(nodes)
    resolved: list[Node] = []
    for node in nodes:
        if isinstance(node, Element) and node.tag in _STANDS_FOR:
            resolved.extend(_resolve(_STANDS_FOR[node.tag](node)))
        else:
            resolved.append(node)
    return tuple(resolved)


def _is_silent(node: Node) -> bool:
    """Return whether a node is a marker that has nothing to say: a `more` that hides nothing."""
    return not isinstance(node, str) and node.tag == "more" and node.get("hidden", 0) <= 0


Block = Element | str
"""A block that is no container of sections: an element, or the title of a section."""

_CONTAINERS = frozenset({"document", "section", "fragment"})


def flatten_blocks(nodes: Iterable[Node], level: int) -> list[tuple[Block, int]]:
    """Return the blocks of documents, sections and fragments, in order, each with the level of its headings.

    A title is a string. Nodes that may only stand in a line, a list or a table are gathered into one.
    """
    blocks: list[tuple[Block, int]] = []
    loose: list[Node] = []
    _sort(nodes, level, blocks, loose)
    _gather(loose, blocks, level)
    return blocks


def _sort(nodes: Iterable[Node], level: int, blocks: list[tuple[Block, int]], loose: list[Node]) -> None:
    for node in nodes:
        if isinstance(node, Element) and node.tag in _CONTAINERS:
            _gather(loose, blocks, level)
            if node.tag == "section":
                own = node.get("level", level)
                if title := visible(str(node.get("title", ""))).strip():
                    blocks.append((title, own))
                blocks.extend(flatten_blocks(node.children, own + 1))
            else:
                blocks.extend(flatten_blocks(node.children, level))
        elif _is_silent(node):
            continue
        # A `more` after words is a part of their line.
        elif isinstance(node, Element) and (node.tag in _BLOCKS or (node.tag == "more" and not loose)):
            _gather(loose, blocks, level)
            blocks.append((node, level))
        elif isinstance(node, Element) and node.tag in _STANDS_FOR:
            _sort(_STANDS_FOR[node.tag](node), level, blocks, loose)
        else:
            loose.append(node)


def _gather(loose: list[Node], blocks: list[tuple[Block, int]], level: int) -> None:
    """Add bare items, rows, cells and inline nodes, as a list, a table or a paragraph."""
    if loose:
        tags = {node.tag for node in loose if isinstance(node, Element)}
        if "cell" in tags and not tags & {"item", "row"}:
            loose[:] = [Element("row", (), tuple(loose))]
            tags = {"row"}
        tag = "list" if "item" in tags else "table" if "row" in tags else "paragraph"
        blocks.append((Element(tag, (), tuple(loose)), level))
        loose.clear()


def block_to_mdast(block: Block, level: int) -> Flow:
    """Return the node of one block: a heading for a title, which is at most six deep."""
    if isinstance(block, str):
        return mdast.Heading(min(max(level, 1), _DEEPEST_HEADING), (mdast.Text(block),))
    return _BLOCKS[block.tag](block, level)


def _paragraph(element: Element, _level: int) -> mdast.Paragraph:
    return mdast.Paragraph(tree_to_inline(element.children))


def list_items(element: Element) -> tuple[Node, ...]:
    """Return the items of a list; what is no item stands in one."""
    return tuple([node for node in _resolve(element.children) if not _is_silent(node)])


def item_to_mdast(node: Node) -> mdast.ListItem:
    """Return the node of one item; what is no item stands in one."""
    children: tuple[Node, ...] = (node,)
    checked = None
    if isinstance(node, Element) and node.tag == "item":
        children, checked = node.children, node.get("checked")
    inline = tree_to_inline(children)
    return mdast.ListItem((mdast.Paragraph(inline),) if inline else (), checked)


def _list(element: Element, _level: int) -> mdast.List:
    items = tuple(item_to_mdast(child) for child in list_items(element))
    return mdast.List(items, bool(element.get("ordered", False)), int(element.get("start", 1)))


def _quote(element: Element, level: int) -> mdast.Quote:
    blocks = flatten_blocks(element.children, level)
    return mdast.Quote(tuple(block_to_mdast(block, depth) for block, depth in blocks))


def _pre(element: Element, _level: int) -> mdast.CodeBlock:
    # The fence ends the last line.
    value = visible(text_of(element), breaks=True).removesuffix("\n")
    return mdast.CodeBlock(value, visible(str(element.get("lang", ""))))


def _table(element: Element, _level: int) -> mdast.Table:
    align = tuple(_ALIGN.get(letter, "") for letter in str(element.get("align", "")))
    return mdast.Table(tuple(_row(child) for child in _resolve(element.children)), align)


def _row(node: Node) -> mdast.Row:
    cells = _resolve(node.children) if isinstance(node, Element) and node.tag == "row" else (node,)
    return mdast.Row(
        tuple(
            mdast.Cell(tree_to_inline(cell.children if isinstance(cell, Element) and cell.tag == "cell" else (cell,)))
            for cell in cells
        )
    )


_BLOCKS: dict[str, Callable[[Element, int], Flow]] = {
    "list": _list,
    "more": lambda element, _: mdast.Paragraph(tree_to_inline((element,))),
    "paragraph": _paragraph,
    "pre": _pre,
    "quote": _quote,
    "rule": lambda _, __: mdast.ThematicBreak(),
    "table": _table,
    "text": _paragraph,
}


def tree_to_inline(nodes: Sequence[Node]) -> tuple[Phrasing, ...]:
    """Return the nodes of a line, without white space at its ends; URLs that can be copied are bare.

    `("see ", h.code["a"], " ")` gives `(Text("see "), InlineCode("a"))`. Raises `TreeError` for a tag that is not in
    the vocabulary.
    """
    inline = _inline(nodes)
    while inline and isinstance(inline[0], mdast.Text):
        value = inline[0].value.lstrip()
        if value:
            inline[0] = mdast.Text(value)
            break
        del inline[0]
    while inline and isinstance(inline[-1], mdast.Text):
        value = inline[-1].value.rstrip()
        if value:
            inline[-1] = mdast.Text(value)
            break
        del inline[-1]
    return tuple(_with_bare_urls(inline))


def _with_bare_urls(nodes: list[Phrasing]) -> Iterator[Phrasing]:
    final = len(nodes) - 1
    for position, node in enumerate(nodes):
        if not isinstance(node, mdast.Text) or "://" not in node.value:
            yield node
            continue
        end = 0
        for start, stop in bare_urls(node.value, position == final):
            if start > end:
                yield mdast.Text(node.value[end:start])
            yield mdast.BareUrl(node.value[start:stop])
            end = stop
        if end < len(node.value):
            yield mdast.Text(node.value[end:])


def _inline(nodes: Iterable[Node]) -> list[Phrasing]:
    """Return the nodes of a line as they stand; texts that touch are one."""
    inline: list[Phrasing] = []
    for node in nodes:
        for part in [mdast.Text(visible(node))] if isinstance(node, str) else _inline_element(node):
            last = inline[-1] if inline else None
            if isinstance(part, mdast.Text) and isinstance(last, mdast.Text):
                inline[-1] = mdast.Text(last.value + part.value)
            elif not isinstance(part, mdast.Text) or part.value:
                inline.append(part)
    return inline


def _inline_element(element: Element) -> list[Phrasing]:
    convert = _INLINE.get(element.tag)
    if convert is None:
        if element.tag in _STANDS_FOR:
            return _inline(_STANDS_FOR[element.tag](element))
        # A block where only a line may stand: its words.
        if element.tag in TAGS:
            return _inline(element.children)
        raise TreeError(f"there is no element <{element.tag}>", hint=f"The vocabulary has: {', '.join(TAGS)}")
    return convert(element)


def _around(make: Callable[[tuple[Phrasing, ...]], Phrasing]) -> Callable[[Element], list[Phrasing]]:
    """Return what makes a stretch; white space at its ends stands outside, where Markdown can say it."""

    def stretch(element: Element) -> list[Phrasing]:
        inner = _inline(element.children)
        before, after = _take_edge(inner, 0), _take_edge(inner, -1)
        return [*before, make(tuple(inner)), *after] if inner else [*before, *after]

    return stretch


def _take_edge(inner: list[Phrasing], position: int) -> list[Phrasing]:
    """Take the white space at one end of a line's nodes away from it, and return it."""
    if not inner:
        return []
    text = inner[position]
    if not isinstance(text, mdast.Text):
        return []
    stripped = text.value.lstrip() if position == 0 else text.value.rstrip()
    if stripped == text.value:
        return []
    if stripped:
        inner[position] = mdast.Text(stripped)
    else:
        del inner[position]
    return [mdast.Text(" ")]


def _code(element: Element) -> list[Phrasing]:
    value = visible(text_of(element))
    return [mdast.InlineCode(value)] if value else []


def _link(element: Element) -> list[Phrasing]:
    href = visible(str(element.get("href", "")))
    if not href:
        return _inline(element.children)
    stretch = _around(lambda children: mdast.Link(href, children))(element)
    # A link without words could not be followed by a reader.
    return stretch or [mdast.Link(href, (mdast.Text(href),))]


def _more(element: Element) -> list[Phrasing]:
    """`+3 older: decisions.list`."""
    if _is_silent(element):
        return []
    noun, see = (visible(str(element.get(name, ""))).strip() for name in ("noun", "see"))
    return [mdast.Text(f"+{element.get('hidden', 0)} {noun or 'more'}" + (f": {see}" if see else ""))]


_INLINE: dict[str, Callable[[Element], list[Phrasing]]] = {
    "code": _code,
    "emphasis": _around(mdast.Emphasis),
    "link": _link,
    "more": _more,
    "strike": _around(mdast.Delete),
    "strong": _around(mdast.Strong),
}
