"""What linked sessions share with this one, and what this one reports to its parent."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import ShareReport, ShareSync
from hudkit.sections.items import Item, Items, add, mark


class Report(Item, frozen=True, omit_defaults=True):
    text: str = ""

    @property
    def words(self) -> str:
        return self.text


class Reports(Items[Report], frozen=True, omit_defaults=True):
    """Results for the parent, in the order in which they were told."""


class Shared(msgspec.Struct, frozen=True, omit_defaults=True):
    """`sources` hold what each linked session shares, as it was last told."""

    sources: tuple[ShareSync, ...] = ()
    reports: Reports = Reports()

    def of(self, session_id: str) -> ShareSync | None:
        """What the session with this id shares."""
        return next((one for one in self.sources if one.session_id == session_id), None)


HANDLES = (ShareSync, ShareReport)


def reduce(shared: Shared, event: Event) -> Shared:
    match event.payload:
        case ShareSync(session_id=id) as told:
            known = shared.of(id)
            sources = tuple(told if one is known else one for one in shared.sources)
            return msgspec.structs.replace(shared, sources=sources if known else (*sources, told))
        case ShareReport(text=text):
            return msgspec.structs.replace(shared, reports=add(shared.reports, "r", Report("", mark(event), text)))
    return shared
