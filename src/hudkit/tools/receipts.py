"""What answers say of a compaction's receipt: how it came about, what it freed."""

from __future__ import annotations

from collections.abc import Mapping

from hudkit.context.compaction.receipts import CoveredRange, Receipt, count_items, read_receipts
from hudkit.hud import SessionCore
from hudkit.tools.lines import called
from hudkit.tools.telling import ident, own_id
from hudkit.transcripts.transcript import Message, PatchPart, ToolPart

TRIGGERS = {
    "agent": "by the agent",
    "manual": "by a person",
    "auto": "automatic",
    "overflow": "after an overflow",
    "host": "by the host",
    "": "not told",
}
"""How a compaction came about, in words."""

_EDITS = ("edit", "write", "multiedit")


def figures(one: Receipt) -> str:
    """The window in use before and after; what is an estimate is marked with `~`."""
    if one.reported_before is not None and one.reported_after is not None:
        before, after = f"{one.reported_before:,}", f"{one.reported_after:,}"
    elif one.before is not None and one.after is not None:
        before, after = f"~{one.before.total:,}", f"~{one.after.total:,}"
    else:
        before = f"{one.reported_before:,}" if one.reported_before is not None else "?"
        after = f"{one.reported_after:,}" if one.reported_after is not None else "?"
    return f"{before} -> {after}" + (f" of {one.limit:,}" if one.limit else "")


def verdict(one: Receipt, frees: float) -> str:
    """What was freed, and whether that is enough."""
    if one.freed is None:
        return "not known yet"
    share = f" ({one.freed_percent:.0f} %)" if one.freed_percent is not None else ""
    too_little = ", too little" if one.enough(frees) is False else ""
    return f"{'~' if one.estimated else ''}{one.freed:,}{share}{too_little}"


def changed_by(message: Message) -> tuple[str, ...]:
    """The files that a message changed."""
    found: list[str] = []
    for part in message.parts:
        if isinstance(part, PatchPart):
            found += part.files
        elif isinstance(part, ToolPart) and part.tool in _EDITS and part.input.get("filePath"):
            found.append(str(part.input["filePath"]))
    return tuple(found)


def receipts_of(session: SessionCore, id: str) -> Mapping[str, Receipt]:
    """The receipts of this session, by the message that has the summary; of another one, none."""
    if id != own_id(session):
        return {}
    return {one.message: one for one in read_receipts(session.events(), session.state_at) if one.message}


def receipt_lines(one: Receipt, seen: CoveredRange | None, session: SessionCore) -> tuple[str, ...]:
    """What an answer says of a receipt beside the summary."""
    frees = session.settings.compaction.min_freed_percent
    how = TRIGGERS.get(one.trigger, one.trigger) + (", taken back by the host" if one.undone else "")
    lines = [
        f"- {how}; tokens {figures(one)}; freed {verdict(one, frees)}",
        f"- live items of the HUD before and after: {count_items(one.holds) or 'none'}",
    ]
    if seen is not None and seen.dropped:
        ends = f"{ident(seen.dropped[0].id)} to {ident(seen.dropped[-1].id)}"
        outputs = ", ".join(f"{called(tool)} {count}" for tool, count in seen.outputs)
        lines.append(f"- dropped {len(seen.dropped)} messages, {ends}{f'; outputs: {outputs}' if outputs else ''}")
        lines.append(f"- kept {len(seen.kept)} messages; the dropped ones are read by `messages` and `message`")
    return tuple(lines)
