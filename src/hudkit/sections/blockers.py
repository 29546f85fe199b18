"""Blockers: what keeps the agent from going on; they are named at every density."""

from __future__ import annotations

from collections.abc import Iterator

from hudkit.log.event import Event
from hudkit.log.payloads import BlockerAdd, BlockerRemove, SectionClear, SectionReplace
from hudkit.sections.items import (
    ItemList,
    SectionItem,
    add_item,
    clear_items,
    mark_of,
    remove_item,
    replace_texts,
)
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem, origin_label


class Blocker(SectionItem, frozen=True, omit_defaults=True):
    """Something that is in the way."""

    description: str = ""

    @property
    def words(self) -> str:
        """Return what is in the way."""
        return self.description


class BlockersState(ItemList[Blocker], frozen=True, omit_defaults=True):
    """Open blockers in the order in which they were met; one that is removed is over."""


def _reduce(blockers: BlockersState, event: Event) -> BlockersState:
    match event.payload:
        case BlockerAdd(description=description, id=id):
            return add_item(blockers, "b", Blocker(id, mark_of(event), description))
        case BlockerRemove(id=id):
            return remove_item(blockers, id)
        case SectionReplace(section="blockers", values=values):
            return replace_texts(blockers, "b", values, lambda text: Blocker("", mark_of(event), text))
        case SectionClear(section="blockers" | ""):
            return clear_items(blockers)
    return blockers


def _items(blockers: BlockersState) -> Iterator[ShownItem]:
    for item in blockers.items:
        yield ShownItem(item.id, item.description, label=origin_label(item.mark.origin))


def _rows(blockers: BlockersState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(item.id, item.description + origin_label(item.mark.origin)) for item in blockers.items)


LOGIC = SectionLogic(
    handles=(BlockerAdd, BlockerRemove, SectionReplace, SectionClear), reduce=_reduce, items=_items, rows=_rows
)
