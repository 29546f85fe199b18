"""Operations on what compaction left: the summary of the last one, in full."""

from __future__ import annotations

from hudkit.hud import SessionCore
from hudkit.sections.state import HudState
from hudkit.tools.lines import block
from hudkit.tools.operation import Answer, Row, plain, reading, section
from hudkit.tools.task import Nothing


@section("compacted", "Compacted context", also=("compactedContext",), clears=True)
def rows(state: HudState) -> tuple[Row, ...]:
    compacted = state.compacted
    if not compacted.summary:
        return ()
    return (Row("summary", compacted.summary, (), compacted, compacted.mark.seq),)


@reading("compacted.get", Nothing)
def get(session: SessionCore, _: Nothing) -> Answer:
    """Read the summary of the last compaction in full."""
    compacted = session.state.compacted
    times = f"Compacted {compacted.count} time{'' if compacted.count == 1 else 's'}."
    text = (
        f"{times} The summary:\n\n{block(compacted.summary)}"
        if compacted.summary
        else f"{times} There is no summary."
    )
    return Answer(text, {"compacted": plain(compacted)})
