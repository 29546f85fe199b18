"""Blockers: what keeps the agent from going on."""

from __future__ import annotations

from hudkit.log.event import Event
from hudkit.log.payloads import BlockerAdd, BlockerRemove, SectionClear, SectionReplace
from hudkit.sections.items import Item, Items, add, cleared, drop, mark, replace_texts


class Blocker(Item, frozen=True, omit_defaults=True):
    description: str = ""

    @property
    def words(self) -> str:
        return self.description


class Blockers(Items[Blocker], frozen=True, omit_defaults=True):
    """Open blockers in the order in which they were met; one that is removed is over."""


HANDLES = (BlockerAdd, BlockerRemove, SectionReplace, SectionClear)


def reduce(blockers: Blockers, event: Event) -> Blockers:
    match event.payload:
        case BlockerAdd(description=description, id=id):
            return add(blockers, "b", Blocker(id, mark(event), description))
        case BlockerRemove(id=id):
            return drop(blockers, id)
        case SectionReplace(section="blockers", values=values):
            return replace_texts(blockers, "b", values, lambda text: Blocker("", mark(event), text))
        case SectionClear(section="blockers" | ""):
            return cleared(blockers)
    return blockers
