"""Convert between the element tree and mdast, both ways.

`to_mdast` says what each element of the vocabulary means in a document. Every text is data: hidden and control
characters become visible escapes, so that a line stays one line.

`from_mdast` gives a tree in normal form, which is what `from_mdast(to_mdast(tree))` gives too: it says the same, and
reading its Markdown gives it again. In normal form
- only what is written is left: fragments, structure for `fit` (its first alternative stands in), nested documents,
  props of `fit`, keys, empty paragraphs, quotes, tables, stretches and titles are gone; a `text` is a `paragraph`, a
  `more` its words, an element that stood where it may not is in one where it may;
- a section holds all that follows up to the next heading of its level or above, and has a `level` only where that
  is not one more than that of the section around it; headings are at most six deep;
- a line has no white space at its ends, nor has a stretch (strong, emphasis, strike, link); texts, codes and
  stretches of one kind do not touch, and none is in one of its own kind;
- the rows of a table are equally long, `align` has a letter for each column or is not there; destinations are written
  as URLs are, `lang` has single spaces, numbers of items are those that Markdown has.

For example, `h.document[h.section(title="Plan")[h.text["a ", h.strong["b "]], h.fragment[h.text["c"]]]]` has the
normal form `h.document[h.section(title="Plan")[h.paragraph["a ", h.strong["b"]], h.paragraph["c"]]]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from hudkit.compose import TAGS, Element, Node, freeze, text_of, visible
from hudkit.compose.formats import mdast
from hudkit.compose.formats.mdast import Align, Flow, Mdast, Phrasing, first_number, footnote_as_blocks
from hudkit.compose.formats.urls import bare_urls, is_refused, literal_target, normalize_url
from hudkit.compose.nodes import Prop
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
    if type(node) not in _BLOCK_ELEMENTS and not isinstance(node, mdast.Heading):
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
            body.extend(_BLOCK_ELEMENTS[type(node)](node, level))
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


def _paragraph_element(node: mdast.Paragraph, _level: int) -> list[Node]:
    children = _inline_to_tree(node.children)
    return [_element("paragraph", {}, children)] if children else []


def _code_element(node: mdast.CodeBlock, _level: int) -> list[Node]:
    value = visible(node.value, breaks=True)
    # The tree does not count a line feed at the end.
    value += "\n" if value.endswith("\n") else ""
    lang = visible(" ".join(node.info.split())) or None
    return [_element("pre", {"lang": lang}, [value] if value else [])]


def _list_element(node: mdast.List, _level: int) -> list[Node]:
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
    children = _inline_to_tree(tuple(_as_one_line(others)))
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


def _quote_element(node: mdast.Quote, level: int) -> list[Node]:
    children = _flow(node.children, level)
    return [_element("quote", {}, children)] if children else []


def _table_element(node: mdast.Table, _level: int) -> list[Node]:
    columns = max((len(row.children) for row in node.children), default=0)
    if not columns:
        return []
    letters = "".join(_LETTERS[side] for side in node.align)[:columns].ljust(columns, "-")
    empty = (mdast.Cell(()),) * columns
    rows = [_element("row", {}, [_cell(cell) for cell in (row.children + empty)[:columns]]) for row in node.children]
    return [_element("table", {"align": letters if letters.strip("-") else None}, rows)]


def _cell(node: mdast.Cell) -> Element:
    return _element("cell", {}, _inline_to_tree(node.children, cell=True))


_BLOCK_ELEMENTS: dict[type, Callable[[Any, int], list[Node]]] = {
    mdast.CodeBlock: _code_element,
    mdast.FootnoteDefinition: lambda node, level: _flow(footnote_as_blocks(node), level),
    mdast.HtmlBlock: lambda node, level: _code_element(mdast.CodeBlock(node.value.strip("\n"), "html"), level),
    mdast.List: _list_element,
    mdast.ListItem: lambda node, level: _list_element(mdast.List((node,)), level),
    mdast.Paragraph: _paragraph_element,
    mdast.Quote: _quote_element,
    mdast.Root: lambda node, level: _flow(node.children, level),
    mdast.Row: lambda node, level: _table_element(mdast.Table((node,)), level),
    mdast.Table: _table_element,
    mdast.ThematicBreak: lambda _, __: [_element("rule", {}, ())],
}

_STRETCHES: dict[type, str] = {mdast.Strong: "strong", mdast.Emphasis: "emphasis", mdast.Delete: "strike"}
_JOINED = frozenset({"strong", "emphasis", "strike", "code"})


def _inline_to_tree(nodes: Sequence[Phrasing], *, cell: bool = False) -> list[Node]:
    """Return the content of a block, without white space at its ends.

    In a `cell` some code has no spelling, and is text: that with a backslash before a bar.
    """
    return _trim(_join(_inline_nodes(nodes, frozenset(), cell)))[1]


def _inline_nodes(nodes: Sequence[Phrasing], inside: frozenset[str], cell: bool) -> Iterator[Node]:
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
                yield from _link_nodes(node.href, node.children, inside, cell)
            case mdast.Image():
                yield from _link_nodes(node.src, (mdast.Text(node.alt),), inside, cell)
            case _:
                yield from _stretch(_STRETCHES[type(node)], (), node.children, inside, cell)


def _bare_url(value: str, inside: frozenset[str], cell: bool) -> Iterator[Node]:
    """Yield a URL as text where it is told from other text again; else as a link."""
    if value.startswith(("http://", "https://")):
        yield value
    else:
        yield from _link_nodes(literal_target(value), (mdast.Text(value),), inside, cell)


def _link_nodes(href: str, children: Sequence[Phrasing], inside: frozenset[str], cell: bool) -> Iterator[Node]:
    href = visible(href)
    if "link" in inside:
        yield from _inline_nodes(children, inside, cell)
    elif is_refused(href):
        yield from _inline_nodes(children, inside, cell)
        yield f" ({href})"
    elif href:
        props = (("href", normalize_url(href)),)
        # A link without words is its destination.
        nodes = list(_stretch("link", props, children, inside, cell))
        yield from nodes if any(map(_says_something, nodes)) else [Element("link", props, (href,))]
    else:
        yield from _inline_nodes(children, inside, cell)


def _says_something(node: Node) -> bool:
    return bool(node.strip()) if isinstance(node, str) else True


def _stretch(
    tag: str, props: tuple[tuple[str, str], ...], nodes: Sequence[Phrasing], inside: frozenset[str], cell: bool
) -> Iterator[Node]:
    children = _inline_nodes(nodes, inside | {tag}, cell)
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
