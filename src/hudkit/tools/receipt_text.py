"""What answers say of a compaction's receipt: how it came about, what it freed."""

from __future__ import annotations

from collections.abc import Mapping

from hudkit.context.compaction.receipts import CoveredRange, Receipt, count_items, read_receipts
from hudkit.hud import SessionCore
from hudkit.tools.answer_text import id_text
from hudkit.tools.transcript_text import host_session_id, id_cell
from hudkit.transcripts.transcript import Message, PatchPart, ToolPart

TRIGGER_WORDS = {
    "agent": "by the agent",
    "manual": "by a person",
    "auto": "automatic",
    "overflow": "after an overflow",
    "host": "by the host",
    "": "not told",
}
"""How a compaction came about, in words."""

_EDIT_TOOLS = ("edit", "write", "multiedit")


def token_figures(receipt: Receipt) -> str:
    """Return the window in use before and after; what is an estimate is marked with `~`."""
    if receipt.reported_before is not None and receipt.reported_after is not None:
        before, after = f"{receipt.reported_before:,}", f"{receipt.reported_after:,}"
    elif receipt.before is not None and receipt.after is not None:
        before, after = f"~{receipt.before.total:,}", f"~{receipt.after.total:,}"
    else:
        before = f"{receipt.reported_before:,}" if receipt.reported_before is not None else "?"
        after = f"{receipt.reported_after:,}" if receipt.reported_after is not None else "?"
    return f"{before} -> {after}" + (f" of {receipt.limit:,}" if receipt.limit else "")


def freed_text(receipt: Receipt, frees: float) -> str:
    """Return what was freed, and whether that is enough."""
    if receipt.freed is None:
        return "not known yet"
    share = f" ({receipt.freed_percent:.0f} %)" if receipt.freed_percent is not None else ""
    too_little = ", too little" if receipt.enough(frees) is False else ""
    return f"{'~' if receipt.estimated else ''}{receipt.freed:,}{share}{too_little}"


def changed_files(message: Message) -> tuple[str, ...]:
    """Return the files that a message changed."""
    files: list[str] = []
    for part in message.parts:
        if isinstance(part, PatchPart):
            files += part.files
        elif isinstance(part, ToolPart) and part.tool in _EDIT_TOOLS and part.input.get("filePath"):
            files.append(str(part.input["filePath"]))
    return tuple(files)


def receipts_of(session: SessionCore, id: str) -> Mapping[str, Receipt]:
    """Return the receipts of this session, by the message that has the summary; of another one, none."""
    if id != host_session_id(session):
        return {}
    return {
        receipt.message: receipt for receipt in read_receipts(session.events(), session.state_at) if receipt.message
    }


def receipt_lines(receipt: Receipt, seen: CoveredRange | None, session: SessionCore) -> tuple[str, ...]:
    """Return the lines that an answer says of a receipt beside the summary."""
    frees = session.settings.compaction.min_freed_percent
    how = TRIGGER_WORDS.get(receipt.trigger, receipt.trigger) + (", taken back by the host" if receipt.undone else "")
    lines = [
        f"- {how}; tokens {token_figures(receipt)}; freed {freed_text(receipt, frees)}",
        f"- live items of the HUD before and after: {count_items(receipt.holds) or 'none'}",
    ]
    if seen is not None and seen.dropped:
        ends = f"{id_cell(seen.dropped[0].id)} to {id_cell(seen.dropped[-1].id)}"
        outputs = ", ".join(f"{id_text(tool)} {count}" for tool, count in seen.outputs)
        lines.append(f"- dropped {len(seen.dropped)} messages, {ends}{f'; outputs: {outputs}' if outputs else ''}")
        lines.append(f"- kept {len(seen.kept)} messages; the dropped ones are read by `messages` and `message`")
    return tuple(lines)
