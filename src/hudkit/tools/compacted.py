"""Operations on what compaction left: the summary of the last one, in full."""

from __future__ import annotations

from hudkit.hud import SessionCore
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import indented_block
from hudkit.tools.operation import AnswerRow, EmptyArguments, OperationResult, plain_values, reading, section_listing


@section_listing("compacted", "Compacted context", also=("compactedContext",), clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    compacted = state.compacted
    if not compacted.summary:
        return ()
    return (AnswerRow("summary", compacted.summary, (), compacted, compacted.mark.seq),)


@reading("compacted.get", EmptyArguments)
def _get(session: SessionCore, _: EmptyArguments) -> OperationResult:
    """Read the summary of the last compaction in full."""
    compacted = session.state.compacted
    times = f"Compacted {compacted.count} time{'' if compacted.count == 1 else 's'}."
    text = (
        f"{times} The summary:\n\n{indented_block(compacted.summary)}"
        if compacted.summary
        else f"{times} There is no summary."
    )
    return OperationResult(text, {"compacted": plain_values(compacted)})
