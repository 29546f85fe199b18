r"""Nodes to Markdown that reads back as the same nodes, with as few escapes as that takes.

A block is written as lines that each end in a line feed; its container sets what it needs before them (a marker and
an indent, `> `), and knows where blocks must be kept apart. What stands in a line is the matter of `inline`,
`attention` and `escaping`.

    Root((Heading(1, (Text("Plan"),)), List((item("read"), item("write")))))

is `# Plan\n\n- read\n- write\n`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Literal, TypeVar

import msgspec

from hudkit.compose.formats.markdown.escaping import escape_line
from hudkit.compose.formats.markdown.inline import (
    BLANK,
    LineBuilder,
    LineContext,
    add_nodes,
    escape_references,
    footnote_label,
    matching_label,
    replace_unwritable,
)
from hudkit.compose.formats.mdast import (
    Break,
    Cell,
    CodeBlock,
    Delete,
    Emphasis,
    Flow,
    FootnoteDefinition,
    Heading,
    HtmlBlock,
    InlineCode,
    List,
    ListItem,
    Mdast,
    Paragraph,
    Phrasing,
    Quote,
    Root,
    Row,
    Strong,
    Table,
    Text,
    ThematicBreak,
    first_number,
)
from hudkit.lazy import lazy_pattern

T = TypeVar("T")


def write(node: Mdast) -> str:
    """Return Markdown for a node.

    A block ends with exactly one line feed and begins with no space (raw HTML keeps its own indent); blocks of a
    document have one blank line between. A node of a line, or a cell, is written as a paragraph of its own. Text
    reads back as the same text with CommonMark and with GFM parsers, whatever it contains, but that NUL and lone
    surrogates become U+FFFD, and that a line break in inline code becomes a space.
    """
    if isinstance(node, Cell):
        return write_block(Paragraph(node.children), BlockPosition())
    if isinstance(node, Phrasing):
        return write_block(Paragraph((node,)), BlockPosition())
    return write_block(node, BlockPosition(footnotes=_defined_footnotes(node)))


class BlockPosition(msgspec.Struct, frozen=True):
    """Where a block stands.

    `marker` is that of a list or (with its number) of an item, whose blocks blank lines part if it is `loose`;
    `first` says that the block is the first one of an item, a quote or a footnote; `footnotes` are the labels that
    the document defines.
    """

    marker: str = ""
    loose: bool = False
    first: Literal["", "item", "quote", "note"] = ""
    footnotes: frozenset[str] = frozenset()


def write_block(node: Flow, position: BlockPosition) -> str:
    """Return the lines of a block, each with a line feed at its end; empty where it says nothing."""
    return _WRITERS[type(node)](node, position)


MARKERS = {False: ("-", "+"), True: (".", ")")}
"""The marker of a list (of its items; of its numbers), and the one for a list right after another of its kind.

`*` is left out, so that `***` is always a thematic break.
"""


def write_blocks(
    blocks: Iterable[T],
    ordered: Callable[[T], bool | None],
    write_one: Callable[[T, str], str],
    avoid: str = "",
) -> list[str]:
    """Return the texts of blocks in order, without those that are empty; lists that touch get different markers.

    `ordered` tells whether a block is an ordered list, a bullet list or (`None`) no list; `write_one` gets the
    marker. The first one does not get the marker `avoid`: it is that of the list in whose item it stands first.
    """
    texts: list[str] = []
    last: bool | None = None
    marker = avoid
    if avoid:
        last = avoid in MARKERS[True]
    for block in blocks:
        kind = ordered(block)
        if kind is None:
            text = write_one(block, "")
            chosen = ""
        else:
            first, second = MARKERS[kind]
            # Two lists of a kind with one marker would be one list to a reader.
            chosen = second if kind == last and marker == first else first
            text = write_one(block, chosen)
        # A block that writes nothing keeps no lists apart.
        if text:
            texts.append(text)
            last, marker = kind, chosen
    return texts


def _defined_footnotes(node: Flow) -> frozenset[str]:
    """Return the labels of the footnotes that are defined below a node, as readers compare them."""
    labels = []
    waiting: Any = [node]
    while waiting:
        block = waiting.pop()
        if type(block) in _HOLDING_BLOCKS:
            waiting.extend(block.children)
            if type(block) is FootnoteDefinition:
                labels.append(matching_label(block.label))
    return frozenset(labels)


_HOLDING_BLOCKS = frozenset({FootnoteDefinition, List, ListItem, Quote, Root})


def _write_line(nodes: tuple[Phrasing, ...], context: LineContext) -> str:
    line = LineBuilder(context)
    add_nodes(nodes, line)
    return escape_line(line)


def _write_children(
    nodes: tuple[Flow, ...],
    position: BlockPosition,
    first: Literal["", "item", "quote", "note"] = "",
    avoid: str = "",
) -> list[str]:
    """Return the texts of the blocks in a container; `first` is what the first of them is told of its position."""
    first_node = nodes[0] if nodes else None

    def write_child(child: Flow, marker: str) -> str:
        own = first if child is first_node else ""
        return write_block(child, BlockPosition(marker, first=own, footnotes=position.footnotes))

    return write_blocks(nodes, _is_ordered, write_child, avoid)


def _is_ordered(node: Flow) -> bool | None:
    return node.ordered if isinstance(node, List) else None


def _indent(text: str, first: str, others: str) -> str:
    """Return lines with `first` before the first and `others` before the rest; blank lines stay blank."""
    lines = text[:-1].split("\n")
    below = "".join(f"{others}{line}\n" if line else "\n" for line in lines[1:])
    return f"{first}{lines[0]}\n{below}"


def _write_root(node: Root, position: BlockPosition) -> str:
    return "\n".join(_write_children(node.children, position))


def _write_paragraph(node: Paragraph, position: BlockPosition) -> str:
    context = LineContext("paragraph", first=position.first, footnotes=position.footnotes)
    line = _write_line(node.children, context)
    return f"{line}\n" if line else ""


_HARD_BREAK = lazy_pattern(r"(?<!\\)(?:\\\\)*\\\n")


def _write_heading(node: Heading, position: BlockPosition) -> str:
    """Return one line after number signs; two lines or more over an underline where there is a hard break."""
    if _is_underlined(node):
        context = LineContext("paragraph", first=position.first, footnotes=position.footnotes)
        line = _write_line(node.children, context)
        # The break may have been at an edge, where it is left out.
        if _HARD_BREAK.search(line):
            return f"{line}\n{'===' if node.depth == 1 else '---'}\n"
    line = _write_line(node.children, LineContext("heading", breaks=False, footnotes=position.footnotes))
    return f"{'#' * min(max(node.depth, 1), 6)} {line}".rstrip(" ") + "\n"


_FENCES = {"`": re.compile(r"`{3,}"), "~": re.compile(r"~{3,}")}
_LINE_END = lazy_pattern(r"\r\n?")


def _write_code(node: CodeBlock, _position: BlockPosition) -> str:
    """Return the text in a fence longer than any in it; of tildes where the info has a backtick."""
    value = replace_unwritable(_LINE_END.sub("\n", node.value))
    info = escape_references(" ".join(node.info.split()))
    sign = "~" if "`" in info else "`"
    fence = sign * max((len(run) + 1 for run in _FENCES[sign].findall(value)), default=3)
    body = value if not value.strip("\n") else value + "\n"
    # An info that begins with the sign would make the fence longer.
    gap = " " if info.startswith(sign) else ""
    return f"{fence}{gap}{info}\n{body}{fence}\n"


def _write_html(node: HtmlBlock, position: BlockPosition) -> str:
    value = node.value.strip("\n")
    # There its indent would be taken for that of the block, and move the other lines.
    if position.first in ("item", "note"):
        value = value.lstrip(" ")
    return f"{value}\n" if value else ""


def _write_rule(_node: ThematicBreak, _position: BlockPosition) -> str:
    # Hyphens could underline a heading, or open front matter.
    return "***\n"


def _write_quote(node: Quote, position: BlockPosition) -> str:
    text = "\n".join(_write_children(node.children, position, "quote"))
    if not text:
        return ">\n"
    return "".join(f"> {line}\n" if line else ">\n" for line in text[:-1].split("\n"))


def _write_list(node: List, position: BlockPosition) -> str:
    """Return its items; a blank line between them if it is loose, or if the blocks of an item need one."""
    marker = position.marker or MARKERS[node.ordered][0]
    # A reader takes a list for loose as a whole: one blank line parts all of its items.
    apart = _is_loose(node)
    start = first_number(node.start, len(node.children))
    texts = [
        _write_item(
            item,
            BlockPosition(f"{start + n}{marker}" if node.ordered else marker, apart, footnotes=position.footnotes),
        )
        for n, item in enumerate(node.children)
    ]
    return ("\n" if apart else "").join(texts)


def _write_item(node: ListItem, position: BlockPosition) -> str:
    """Return its blocks after the marker and below it; written alone, it is an item of a tight bullet list."""
    marker = position.marker or "-"
    first = node.children[0] if node.children else None
    task = node.checked is not None and isinstance(first, Paragraph) and not _is_empty(first)
    # After a task's box nothing can be taken for a box.
    children = _write_children(node.children, position, "" if task else "item", avoid=marker[-1])
    text = ("\n" if position.loose else "").join(children)
    if task and text:
        text = f"[{'x' if node.checked else ' '}] {text}"
    if not text:
        return f"{marker}\n"
    return _indent(text, f"{marker} ", " " * (len(marker) + 1))


_FOOTNOTE_INDENT = "    "


def _write_footnote(node: FootnoteDefinition, position: BlockPosition) -> str:
    text = "\n".join(_write_children(node.children, position, "note"))
    begin = f"[^{footnote_label(node.label)}]:"
    return _indent(text, f"{begin} ", _FOOTNOTE_INDENT) if text else f"{begin}\n"


_DASHES = {"": "---", "left": ":--", "center": ":-:", "right": "--:"}


def _write_table(node: Table, position: BlockPosition) -> str:
    """Return the head, a line of dashes, and the other rows."""
    columns = max((len(row.children) for row in node.children), default=0)
    if not columns:
        return ""
    # All as wide as the widest: readers drop cells beyond those of the head.
    padded = (Row(row.children + (Cell(()),) * (columns - len(row.children))) for row in node.children)
    head, *rows = (_write_row(row, position) for row in padded)
    align = (*node.align, *("" for _ in range(columns)))[:columns]
    dashes = "| " + " | ".join(_DASHES[side] for side in align) + " |\n"
    return head + dashes + "".join(rows)


def _write_row(node: Row, position: BlockPosition) -> str:
    if not node.children:
        return "|  |\n"
    context = LineContext("cell", breaks=False, footnotes=position.footnotes)
    return "| " + " | ".join(_write_line(cell.children, context) for cell in node.children) + " |\n"


_WRITERS: dict[type, Callable[[Any, BlockPosition], str]] = {
    CodeBlock: _write_code,
    FootnoteDefinition: _write_footnote,
    Heading: _write_heading,
    HtmlBlock: _write_html,
    List: _write_list,
    ListItem: _write_item,
    Paragraph: _write_paragraph,
    Quote: _write_quote,
    Root: _write_root,
    Row: _write_row,
    Table: _write_table,
    ThematicBreak: _write_rule,
}


def _is_empty(node: Flow | Phrasing) -> bool:
    """Return whether a node writes nothing: a paragraph, a stretch, a list or a table without content."""
    if isinstance(node, Text):
        return not node.value.strip(BLANK)
    if isinstance(node, InlineCode):
        return not node.value
    if isinstance(node, Paragraph | Strong | Emphasis | Delete):
        # A line break at the end of a line is left out.
        return all(isinstance(child, Break) or _is_empty(child) for child in node.children)
    if isinstance(node, HtmlBlock):
        return not node.value.strip("\n")
    if isinstance(node, List):
        return not node.children
    if isinstance(node, Table):
        return not any(row.children for row in node.children)
    return False


def _ends_open(node: Flow) -> bool:
    """Return whether a line of text right below would go on with this block's last paragraph."""
    if isinstance(node, Paragraph):
        return True
    if isinstance(node, List):
        return not node.children or not node.children[-1].children or _ends_open(node.children[-1].children[-1])
    if isinstance(node, Quote):
        return not node.children or _ends_open(node.children[-1])
    return not isinstance(node, Heading | CodeBlock | ThematicBreak)


def _is_underlined(node: Heading) -> bool:
    """Return whether a heading is written over a line of `=` or `-`: it holds a hard line break."""
    return node.depth < 3 and _has_break(node.children)


def _has_break(nodes: Iterable[Phrasing]) -> bool:
    return any(isinstance(node, Break) or _has_break(getattr(node, "children", ())) for node in nodes)


def _interrupts(node: Flow) -> bool:
    """Return whether a block begins right below a paragraph: it needs no blank line."""
    if isinstance(node, List):
        # CommonMark: only an item that is not empty, and only a list from 1, interrupts a paragraph.
        begins = bool(node.children) and not all(_is_empty(child) for child in node.children[0].children)
        return begins and (not node.ordered or node.start == 1)
    if isinstance(node, Heading):
        return not _is_underlined(node)
    return isinstance(node, CodeBlock | Quote | ThematicBreak)


def _may_touch(above: Flow, below: Flow) -> bool:
    """Return whether two blocks may stand in a tight list item without a blank line between."""
    if isinstance(above, Heading | CodeBlock | ThematicBreak):
        return True
    # They would be one quote.
    if isinstance(above, Quote) and isinstance(below, Quote):
        return False
    if isinstance(above, Paragraph | List | Quote):
        return _interrupts(below) or (not _ends_open(above) and isinstance(below, Paragraph))
    return False


def _is_loose(node: List) -> bool:
    """Return whether blank lines part the items: they are to, and it shows, or the blocks of an item need one."""
    items = [[child for child in item.children if not _is_empty(child)] for item in node.children]
    if any(not _may_touch(above, below) for item in items for above, below in pairwise(item)):
        return True
    shows = len(items) > 1 or any(len(item) > 1 for item in items)
    return node.spread and shows and any(isinstance(child, Paragraph) for item in items for child in item)
