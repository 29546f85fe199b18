"""The element tree to mdast: what each element of the vocabulary says in a document.

Every text is data: hidden and control characters become visible escapes, so that a line stays one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from hudkit.document import TAGS, Element, Node, text_of, visible
from hudkit.errors import TreeError
from hudkit.formats import mdast
from hudkit.formats.mdast import Align, Flow, Mdast, Phrasing

DEEPEST = 6
_ALIGN: dict[str, Align] = {"l": "left", "c": "center", "r": "right", "-": ""}


def to_mdast(element: Element, level: int = 1) -> Mdast:
    """The node that says what an element says; `level` is that of the headings of sections without their own.

    Documents, sections and fragments become a `Root` (headings are not nested in mdast), a bare item a list of one, a
    row a row, phrasing elements a node of a line. Raises `TreeError` for a tag that is not in the vocabulary.
    """
    tag = element.tag
    if tag in _SPANS:
        found = spans((element,))
        return found[0] if len(found) == 1 else mdast.Paragraph(found)
    if tag == "item":
        return mdast.List((item_of(element),))
    if tag == "row":
        return _row(element)
    if tag == "cell":
        return mdast.Cell(spans(element.children))
    found_blocks = tuple(block_of(one, depth) for one, depth in blocks((element,), level))
    if tag in ("document", "section", "fragment") or len(found_blocks) != 1:
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
        else:
            loose.append(node)
    _gather(loose, found, level)
    return found


_CONTAINERS = frozenset({"document", "section", "fragment"})


def _gather(loose: list[Node], found: list[tuple[Block, int]], level: int) -> None:
    """Bare items, rows, cells and spans, as a list, a table or a paragraph."""
    if loose:
        tags = {node.tag for node in loose if isinstance(node, Element)}
        tag = "list" if "item" in tags else "table" if "row" in tags else "row" if "cell" in tags else "paragraph"
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
    return tuple([node for node in _spread(element.children) if not silent(node)])


def silent(node: Node) -> bool:
    """Whether a node is a marker that has nothing to say."""
    return not isinstance(node, str) and node.tag == "more" and node.get("hidden", 0) <= 0


def item_of(node: Node) -> mdast.ListItem:
    """The node of one item; what is no item stands in one."""
    children = node.children if isinstance(node, Element) and node.tag == "item" else (node,)
    found = spans(children)
    return mdast.ListItem((mdast.Paragraph(found),) if found else ())


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
    return mdast.Table(tuple(_row(child) for child in _spread(element.children)), align)


def _row(node: Node) -> mdast.Row:
    cells = _spread(node.children) if isinstance(node, Element) and node.tag == "row" else (node,)
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
    "row": lambda element, _: _row(element),
    "rule": _rule,
    "table": _table,
    "text": _paragraph,
}


def _spread(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Nodes with fragments replaced by what is in them."""
    if not any(isinstance(node, Element) and node.tag == "fragment" for node in nodes):
        return tuple(nodes)
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Element) and node.tag == "fragment":
            found.extend(_spread(node.children))
        else:
            found.append(node)
    return tuple(found)


def spans(nodes: Sequence[Node]) -> tuple[Phrasing, ...]:
    """The nodes of a line, without white space at its ends."""
    found = _spans(nodes)
    while found and isinstance(found[0], mdast.Text):
        value = found[0].value.lstrip()
        if value:
            found[0] = mdast.Text(value)
            break
        del found[0]
    while found and isinstance(found[-1], mdast.Text):
        value = found[-1].value.rstrip()
        if value:
            found[-1] = mdast.Text(value)
            break
        del found[-1]
    return tuple(_with_urls(found))


_URL = re.compile(
    r"(?<![A-Za-z0-9])https?://[A-Za-z0-9]"
    r"(?:[A-Za-z0-9]|[./%?=#:@,+-](?=[A-Za-z0-9])|&(?=[A-Za-z0-9])(?![A-Za-z0-9#]*;)|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9]))*/?"
)
"""The part of a URL in which no character is markup: it is written as it stands, so that a reader can copy it."""


def _with_urls(nodes: list[Phrasing]) -> Iterator[Phrasing]:
    for node in nodes:
        if not isinstance(node, mdast.Text) or "://" not in node.value:
            yield node
            continue
        end = 0
        for match in _URL.finditer(node.value):
            if match.start() > end:
                yield mdast.Text(node.value[end : match.start()])
            yield mdast.BareUrl(match.group())
            end = match.end()
        if end < len(node.value):
            yield mdast.Text(node.value[end:])


def _spans(nodes: Iterable[Node]) -> list[Phrasing]:
    found: list[Phrasing] = []
    for node in nodes:
        for one in [mdast.Text(visible(node))] if isinstance(node, str) else _element(node):
            last = found[-1] if found else None
            if isinstance(one, mdast.Text) and isinstance(last, mdast.Text):
                found[-1] = mdast.Text(last.value + one.value)
            elif not isinstance(one, mdast.Text) or one.value:
                found.append(one)
    return found


def _element(element: Element) -> list[Phrasing]:
    write = _SPANS.get(element.tag)
    if write is None:
        if element.tag in TAGS:
            return _spans(element.children)
        raise TreeError(f"there is no element <{element.tag}>", hint=f"The vocabulary has: {', '.join(TAGS)}")
    return write(element)


def _around(make: Callable[[tuple[Phrasing, ...]], Phrasing]) -> Callable[[Element], list[Phrasing]]:
    """A stretch; white space at its ends stands outside, where Markdown can say it."""

    def stretch(element: Element) -> list[Phrasing]:
        inner = _spans(element.children)
        before, after = _edge(inner, 0), _edge(inner, -1)
        return [*before, make(tuple(inner)), *after] if inner else [*before, *after]

    return stretch


def _edge(inner: list[Phrasing], place: int) -> list[Phrasing]:
    """Take the white space at one end of a line's nodes away from it."""
    if not inner:
        return []
    text = inner[place]
    if not isinstance(text, mdast.Text):
        return []
    kept = text.value.lstrip() if place == 0 else text.value.rstrip()
    if kept == text.value:
        return []
    if kept:
        inner[place] = mdast.Text(kept)
    else:
        del inner[place]
    return [mdast.Text(" ")]


def _code(element: Element) -> list[Phrasing]:
    value = visible(text_of(element))
    return [mdast.InlineCode(value)] if value else []


def _link(element: Element) -> list[Phrasing]:
    href = visible(str(element.get("href", "")))
    if not href:
        return _spans(element.children)
    found = _around(lambda children: mdast.Link(href, children))(element)
    return found or [mdast.Link(href, (mdast.Text(href),))]


def _not_shown(element: Element) -> str:
    """`+3 older: decisions.list`."""
    noun, see = (visible(str(element.get(name, ""))).strip() for name in ("noun", "see"))
    return f"+{element.get('hidden', 0)} {noun or 'more'}" + (f": {see}" if see else "")


_SPANS: dict[str, Callable[[Element], list[Phrasing]]] = {
    "code": _code,
    "emphasis": _around(mdast.Emphasis),
    "link": _link,
    "more": lambda element: [] if silent(element) else [mdast.Text(_not_shown(element))],
    "strike": _around(mdast.Delete),
    "strong": _around(mdast.Strong),
}
