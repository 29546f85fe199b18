"""Element trees to Markdown, block by block and item by item, each remembered by its content.

The bytes are those of `write(to_mdast(element))`; what did not change since the last frame costs a look-up. A frame
is rendered many times with one item more or less, while `fit` searches: so the caches are small functions on parts of
a tree, and every part is looked up by its content.
"""

from __future__ import annotations

from functools import lru_cache

from hudkit.compose import Element, ElementCache, Node
from hudkit.compose.formats.markdown.writer import MARKERS, BlockPosition, write, write_block, write_blocks
from hudkit.compose.formats.mdast import first_number
from hudkit.compose.formats.mdast_tree import (
    Block,
    block_to_mdast,
    flatten_blocks,
    item_to_mdast,
    list_items,
    to_mdast,
)

_SECTIONS = frozenset({"document", "section", "fragment"})


def render(element: Element) -> str:
    """Return the Markdown of an element: blocks that each begin with no space and end in one line feed.

    Any flow element, and a bare item or row, which are one line each. Costs of blocks add up: a document is its
    blocks, joined with one line feed. Raises `TreeError` for a tag that is not in the vocabulary.
    """
    if element.tag == "document" and all(map(_stands_apart, element.children)):
        return "\n".join(filter(None, [_whole(child) for child in element.children if isinstance(child, Element)]))
    if element.tag in _SECTIONS:
        return "\n".join(write_blocks(_blocks(element, 1), _is_ordered, _render_block))
    if element.tag == "item":
        return _bullet(element)
    if element.tag == "list":
        return _render_list(element, "")
    return _render_alone(element)


def _stands_apart(child: Node) -> bool:
    """Return whether a part of a document cannot run into its neighbours: a section with a title, or a paragraph.

    Only two lists that touch change each other, by their markers.
    """
    if isinstance(child, str):
        return False
    return child.tag in _PARAGRAPHS or (child.tag == "section" and bool(str(child.get("title", "")).strip()))


_PARAGRAPHS = frozenset({"text", "paragraph", "more"})


def _render_whole(child: Element) -> str:
    return "\n".join(write_blocks(_blocks(Element("document", (), (child,)), 1), _is_ordered, _render_block))


_whole: ElementCache[str] = ElementCache(_render_whole, 2048)


@lru_cache(maxsize=1024)
def _render_alone(element: Element) -> str:
    return write(to_mdast(element))


def _blocks(element: Element, level: int) -> list[tuple[Block, int]]:
    """Return what `flatten_blocks` does, with the blocks of each section remembered."""
    if element.tag == "section":
        return list(_section_blocks(element, level))
    blocks: list[tuple[Block, int]] = []
    loose: list[Node] = []
    for child in element.children:
        if isinstance(child, Element) and child.tag == "section":
            if loose:
                blocks.extend(flatten_blocks(loose, level))
                loose.clear()
            blocks.extend(_section_blocks(child, level))
        else:
            loose.append(child)
    blocks.extend(flatten_blocks(loose, level))
    return blocks


@lru_cache(maxsize=1024)
def _section_blocks(section: Element, level: int) -> tuple[tuple[Block, int], ...]:
    return tuple(flatten_blocks((section,), level))


def _is_ordered(entry: tuple[Block, int]) -> bool | None:
    block = entry[0]
    return bool(block.get("ordered", False)) if isinstance(block, Element) and block.tag == "list" else None


def _render_block(entry: tuple[Block, int], marker: str) -> str:
    return _block_text(entry[0], entry[1], marker)


@lru_cache(maxsize=4096)
def _block_text(block: Block, level: int, marker: str) -> str:
    if isinstance(block, Element) and block.tag == "list":
        return _render_list(block, marker)
    return write_block(block_to_mdast(block, level), BlockPosition(marker))


def _render_list(element: Element, marker: str) -> str:
    """Return the items of a list, which is tight: each is a line of its own."""
    items = list_items(element)
    if not element.get("ordered", False):
        if marker in ("", MARKERS[False][0]):
            return "".join([_bullet(item) if isinstance(item, Element) else _item(item, marker) for item in items])
        return "".join([_item(item, marker) for item in items])
    marker = marker or MARKERS[True][0]
    start = first_number(int(element.get("start", 1)), len(items))
    return "".join([_item(item, f"{start + n}{marker}") for n, item in enumerate(items)])


@lru_cache(maxsize=8192)
def _item(item: Node, marker: str) -> str:
    return write_block(item_to_mdast(item), BlockPosition(marker))


# Most items of a frame are bullets: one argument, and so the cheaper cache.
_bullet: ElementCache[str] = ElementCache(lambda item: _item(item, MARKERS[False][0]))
