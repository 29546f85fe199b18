"""Element trees to Markdown, block by block and item by item, each remembered by its content.

The bytes are those of `write(to_mdast(element))`; what did not change since the last frame costs a look-up.
"""

from __future__ import annotations

from functools import lru_cache

from hudkit.compose import Element, ElementCache, Node
from hudkit.compose.formats.markdown.blocks.list import LARGEST
from hudkit.compose.formats.markdown.pen import Place
from hudkit.compose.formats.markdown.siblings import MARKERS, stack
from hudkit.compose.formats.markdown.write import flow, write
from hudkit.compose.formats.tree import Block, block_of, blocks, item_of, items, to_mdast

_SECTIONS = frozenset({"document", "section", "fragment"})


def render(element: Element) -> str:
    """The Markdown of an element: blocks that each begin with no space and end in one line feed.

    Any flow element, and a bare item or row, which are one line each. Costs of blocks add up: a document is its
    blocks, joined with one line feed.
    """
    if element.tag == "document" and all(map(_apart, element.children)):
        return "\n".join(filter(None, [_whole(child) for child in element.children if isinstance(child, Element)]))
    if element.tag in _SECTIONS:
        return "\n".join(stack(_blocks(element, 1), _ordered, _block))
    if element.tag == "item":
        return _bullet(element)
    if element.tag == "list":
        return _list(element, "")
    return _alone(element)


def _apart(child: Node) -> bool:
    """Whether a part of a document cannot run into its neighbours: it begins with a heading, or is a paragraph."""
    if isinstance(child, str):
        return False
    return child.tag in _PARAGRAPHS or (child.tag == "section" and bool(str(child.get("title", "")).strip()))


_PARAGRAPHS = frozenset({"text", "paragraph", "more"})


def _write_whole(child: Element) -> str:
    return "\n".join(stack(_blocks(Element("document", (), (child,)), 1), _ordered, _block))


_whole: ElementCache[str] = ElementCache(_write_whole, 2048)


@lru_cache(maxsize=1024)
def _alone(element: Element) -> str:
    return write(to_mdast(element))


def _blocks(element: Element, level: int) -> list[tuple[Block, int]]:
    """As `tree.blocks`, with those of each section remembered."""
    if element.tag == "section":
        return list(_section(element, level))
    found: list[tuple[Block, int]] = []
    loose: list[Node] = []
    for child in element.children:
        if isinstance(child, Element) and child.tag == "section":
            if loose:
                found.extend(blocks(loose, level))
                loose.clear()
            found.extend(_section(child, level))
        else:
            loose.append(child)
    found.extend(blocks(loose, level))
    return found


@lru_cache(maxsize=1024)
def _section(section: Element, level: int) -> tuple[tuple[Block, int], ...]:
    return tuple(blocks((section,), level))


def _ordered(block: tuple[Block, int]) -> bool | None:
    one = block[0]
    return bool(one.get("ordered", False)) if isinstance(one, Element) and one.tag == "list" else None


def _block(block: tuple[Block, int], marker: str) -> str:
    return _text(block[0], block[1], marker)


@lru_cache(maxsize=4096)
def _text(block: Block, level: int, marker: str) -> str:
    if isinstance(block, Element) and block.tag == "list":
        return _list(block, marker)
    return flow(block_of(block, level), Place(marker))


def _list(element: Element, marker: str) -> str:
    """The items of a list, which is tight: each is a line of its own."""
    found = items(element)
    if not element.get("ordered", False):
        if marker in ("", MARKERS[False][0]):
            return "".join([_bullet(item) if isinstance(item, Element) else _item(item, marker) for item in found])
        return "".join([_item(item, marker) for item in found])
    marker = marker or MARKERS[True][0]
    start = max(min(int(element.get("start", 1)), LARGEST - len(found)), 0)
    return "".join([_item(item, f"{start + n}{marker}") for n, item in enumerate(found)])


@lru_cache(maxsize=8192)
def _item(item: Node, marker: str) -> str:
    return flow(item_of(item), Place(marker))


_bullet: ElementCache[str] = ElementCache(lambda item: _item(item, MARKERS[False][0]))
