"""What a Markdown document says, as frozen nodes in the manner of mdast; how it is spelled is the writer's matter."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Align: TypeAlias = Literal["", "left", "center", "right"]
"""How a column of a table is set; empty: not said."""


class Text(msgspec.Struct, frozen=True):
    """Characters, whatever they are; a line feed in a paragraph is a soft line break."""

    value: str


class Strong(msgspec.Struct, frozen=True):
    """Of importance."""

    children: tuple[Phrasing, ...]


class Emphasis(msgspec.Struct, frozen=True):
    """Stressed."""

    children: tuple[Phrasing, ...]


class Delete(msgspec.Struct, frozen=True):
    """No longer so (GFM strikethrough)."""

    children: tuple[Phrasing, ...]


class InlineCode(msgspec.Struct, frozen=True):
    """A literal within a line; Markdown knows no line break in it, so one is written as a space."""

    value: str


class BareUrl(msgspec.Struct, frozen=True):
    """A URL or an address written as it stands, so that it can be copied: text to CommonMark, a link of the same
    words to GFM.

    `value` holds only characters that are no markup, and so does what follows it up to a space; `formats.urls` says
    which, for the tree and for the parser.
    """

    value: str


class InlineHtml(msgspec.Struct, frozen=True):
    """A raw tag, comment or the like within a line; written as it is."""

    value: str


class Link(msgspec.Struct, frozen=True):
    """A link; its reference, where it had one, is resolved."""

    href: str
    children: tuple[Phrasing, ...]
    title: str | None = None


class Image(msgspec.Struct, frozen=True):
    """An image; `alt` is its description as plain text."""

    src: str
    alt: str = ""
    title: str | None = None


class Break(msgspec.Struct, frozen=True):
    """A hard line break."""


class FootnoteReference(msgspec.Struct, frozen=True):
    """The place of a footnote; without a definition of its `label` in the document it reads back as text."""

    label: str


Phrasing: TypeAlias = (
    Text | Strong | Emphasis | Delete | InlineCode | BareUrl | InlineHtml | Link | Image | Break | FootnoteReference
)
"""What stands within a line."""


class Paragraph(msgspec.Struct, frozen=True):
    """A paragraph."""

    children: tuple[Phrasing, ...]


class Heading(msgspec.Struct, frozen=True):
    """A heading of depth 1 to 6."""

    depth: int
    children: tuple[Phrasing, ...]


class CodeBlock(msgspec.Struct, frozen=True):
    """Preformatted text. `info` is what follows the fence, its first word the language.

    `value` has no line feed after its last line, unless it has line feeds only: then each is one empty line.
    """

    value: str
    info: str = ""


class HtmlBlock(msgspec.Struct, frozen=True):
    """Raw HTML on lines of its own; written as it is."""

    value: str


class ThematicBreak(msgspec.Struct, frozen=True):
    """A break between topics."""


class ListItem(msgspec.Struct, frozen=True):
    """An item; `checked` is that of a GFM task, `None` where it is not one."""

    children: tuple[Flow, ...]
    checked: bool | None = None


class List(msgspec.Struct, frozen=True):
    """Items; `spread` says that blank lines part them (a loose list)."""

    children: tuple[ListItem, ...]
    ordered: bool = False
    start: int = 1
    spread: bool = False


class Quote(msgspec.Struct, frozen=True):
    """Somebody else's blocks."""

    children: tuple[Flow, ...]


class Cell(msgspec.Struct, frozen=True):
    """A cell of a table."""

    children: tuple[Phrasing, ...]


class Row(msgspec.Struct, frozen=True):
    """A row of a table."""

    children: tuple[Cell, ...]


class Table(msgspec.Struct, frozen=True):
    """A GFM table; the first row is its head, `align` is by column."""

    children: tuple[Row, ...]
    align: tuple[Align, ...] = ()


class FootnoteDefinition(msgspec.Struct, frozen=True):
    """What a footnote says (GFM); of several with one `label`, in whatever case, the first one counts."""

    label: str
    children: tuple[Flow, ...]


class Root(msgspec.Struct, frozen=True):
    """A document."""

    children: tuple[Flow, ...]


Flow: TypeAlias = (
    Paragraph
    | Heading
    | CodeBlock
    | HtmlBlock
    | ThematicBreak
    | List
    | Quote
    | Table
    | FootnoteDefinition
    | Row
    | ListItem
    | Root
)
"""What stands one below the other. `Row`, `ListItem` and `Root` may be written alone; the parser puts them only
where they belong."""

Mdast: TypeAlias = Flow | Phrasing | Cell
"""Any node."""


def text_of(node: Mdast) -> str:
    """Return all text below a node, line breaks as line feeds."""
    if isinstance(node, Text | BareUrl | InlineCode | CodeBlock):
        return node.value
    if isinstance(node, Break):
        return "\n"
    if isinstance(node, Image):
        return node.alt
    if isinstance(node, InlineHtml | HtmlBlock | ThematicBreak | FootnoteReference):
        return ""
    return "".join(text_of(child) for child in node.children)


_LARGEST_NUMBER = 999_999_999
"""The largest number of an item that CommonMark reads."""


def first_number(start: int, count: int) -> int:
    """Return the number of the first of `count` items, moved where a reader would not take all of their numbers.

    `first_number(-2, 3)` is 0, `first_number(999_999_999, 3)` is 999,999,996.
    """
    return max(min(start, _LARGEST_NUMBER - count), 0)


def footnote_as_blocks(node: FootnoteDefinition) -> tuple[Flow, ...]:
    """Return what a footnote says as blocks that begin with `[^label]: `, for targets that have no footnotes."""
    label, first = Text(f"[^{node.label}]: "), node.children[:1]
    if first and isinstance(first[0], Paragraph):
        return (Paragraph((label, *first[0].children)), *node.children[1:])
    return (Paragraph((label,)), *node.children)
