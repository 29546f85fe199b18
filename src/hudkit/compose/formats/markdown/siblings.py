"""How blocks stand one below the other: what keeps lists apart, and what needs a blank line between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TypeVar

from hudkit.compose.formats.markdown.draft import BLANK
from hudkit.compose.formats.mdast import (
    Break,
    CodeBlock,
    Delete,
    Emphasis,
    Flow,
    Heading,
    HtmlBlock,
    InlineCode,
    List,
    ListItem,
    Paragraph,
    Phrasing,
    Quote,
    Strong,
    Table,
    Text,
    ThematicBreak,
)

T = TypeVar("T")

MARKERS = {False: ("-", "+"), True: (".", ")")}
"""The marker of a list (of its items; of its numbers), and the one for a list right after another of its kind.

`*` is left out, so that `***` is always a thematic break.
"""


def stack(
    blocks: Iterable[T],
    ordered: Callable[[T], bool | None],
    write: Callable[[T, str], str],
    avoid: str = "",
) -> list[str]:
    """Blocks written in order, without those that are empty.

    `ordered` tells whether a block is an ordered list, a bullet list or (`None`) no list; `write` gets the marker.
    The first one does not get the marker `avoid`: it is that of the list in whose item it stands first.
    """
    texts: list[str] = []
    last: bool | None = None
    marker = avoid
    if avoid:
        last = avoid in MARKERS[True]
    for block in blocks:
        kind = ordered(block)
        if kind is None:
            text = write(block, "")
            chosen = ""
        else:
            first, second = MARKERS[kind]
            chosen = second if kind == last and marker == first else first
            text = write(block, chosen)
        if text:
            texts.append(text)
            last, marker = kind, chosen
    return texts


def ordered(node: Flow) -> bool | None:
    """Whether a block is an ordered list, a bullet list, or no list."""
    return node.ordered if isinstance(node, List) else None


def empty(node: Flow | Phrasing) -> bool:
    """A node that writes nothing: a paragraph, a stretch, a list or a table without content."""
    if isinstance(node, Text):
        return not node.value.strip(BLANK)
    if isinstance(node, InlineCode):
        return not node.value
    if isinstance(node, Paragraph | Strong | Emphasis | Delete):
        # a line break at the end of a line is left out
        return all(isinstance(child, Break) or empty(child) for child in node.children)
    if isinstance(node, HtmlBlock):
        return not node.value.strip("\n")
    if isinstance(node, List):
        return not node.children
    if isinstance(node, Table):
        return not any(row.children for row in node.children)
    return False


def ends_open(node: Flow) -> bool:
    """A line of text right below would go on with this block's last paragraph."""
    if isinstance(node, Paragraph):
        return True
    if isinstance(node, List):
        return not node.children or not node.children[-1].children or ends_open(node.children[-1].children[-1])
    if isinstance(node, Quote):
        return not node.children or ends_open(node.children[-1])
    return not isinstance(node, Heading | CodeBlock | ThematicBreak)


def underlined(node: Heading) -> bool:
    """A heading that is written over a line of `=` or `-`, because it holds a hard line break."""
    return node.depth < 3 and _broken(node.children)


def _broken(nodes: Iterable[Phrasing]) -> bool:
    return any(isinstance(node, Break) or _broken(getattr(node, "children", ())) for node in nodes)


def interrupts(node: Flow) -> bool:
    """A block that begins right below a paragraph: it needs no blank line."""
    if isinstance(node, List):
        return _filled(node.children) and (not node.ordered or node.start == 1)
    if isinstance(node, Heading):
        return not underlined(node)
    return isinstance(node, CodeBlock | Quote | ThematicBreak)


def _filled(items: tuple[ListItem, ...]) -> bool:
    return bool(items) and not all(empty(child) for child in items[0].children)


def joinable(above: Flow, below: Flow) -> bool:
    """Two blocks may stand in a tight list item without a blank line between."""
    if isinstance(above, Heading | CodeBlock | ThematicBreak):
        return True
    if isinstance(above, Quote) and isinstance(below, Quote):
        return False
    if isinstance(above, Paragraph | List | Quote):
        return interrupts(below) or (not ends_open(above) and isinstance(below, Paragraph))
    return False


def loose(node: List) -> bool:
    """Whether blank lines part the items: they are to, and it shows, or the blocks of an item need one."""
    items = [[child for child in item.children if not empty(child)] for item in node.children]
    if any(not joinable(above, below) for item in items for above, below in pairwise(item)):
        return True
    shows = len(items) > 1 or any(len(item) > 1 for item in items)
    return node.spread and shows and any(isinstance(child, Paragraph) for item in items for child in item)
