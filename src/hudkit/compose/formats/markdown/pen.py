"""What the writers of nodes get: where a block stands, and how to write nodes within without knowing their kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from hudkit.compose.formats.markdown.draft import Draft, Shape
from hudkit.compose.formats.mdast import Flow, Phrasing


@dataclass(frozen=True, slots=True)
class Place:
    """`marker` is that of a list or (with its number) of an item, whose blocks blank lines part if it is `loose`;
    `first` says that the block is the first one of an item, a quote or a footnote."""

    marker: str = ""
    loose: bool = False
    first: Literal["", "item", "quote", "note"] = ""


@dataclass(frozen=True, slots=True)
class Pen:
    """`flow` writes a block (lines that each end in a line feed, or nothing), `line` the content of one block, `span`
    adds nodes to a line that is being composed."""

    flow: Callable[[Flow, Place], str]
    line: Callable[[tuple[Phrasing, ...], Shape], str]
    span: Callable[[Iterable[Phrasing], Draft], None]
