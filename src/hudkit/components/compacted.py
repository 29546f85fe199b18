"""What the last compaction's summary said, shortened (000: 500 characters, 200 from red)."""

from __future__ import annotations

from hudkit.components.section import PRIORITIES, Row, Section, View
from hudkit.document import Density, Element, component, h, shorten
from hudkit.projections.compacted import Compacted as CompactedState

LENGTHS = {Density.FULL: 500, Density.COMPACT: 500, Density.MINIMAL: 200}


@component
def Compacted(compacted: CompactedState, view: View) -> Element | None:
    if not compacted.summary:
        return None
    text = shorten(" ".join(compacted.summary.split()), LENGTHS[view.density])
    rank = PRIORITIES["compacted"]
    if view.density is Density.FULL:
        return h.section(title="Earlier Context", level=2, key="compacted", priority=rank)[h.text[text]]
    return h.text(key="compacted", priority=rank)["Earlier: ", text]


def rows(compacted: CompactedState) -> tuple[Row, ...]:
    return (Row("summary", shorten(" ".join(compacted.summary.split()), 200)),) if compacted.summary else ()


SECTION = Section("compacted", "Earlier Context", "earlier context", ("compacted",), Compacted, rows, pace="never")
