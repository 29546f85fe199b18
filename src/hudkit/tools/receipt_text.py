"""What answers say of a compaction's receipt: how it came about, what it freed."""

from __future__ import annotations

from hudkit.context.compaction.receipts import Receipt
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


def changed_files(message: Message) -> tuple[str, ...]:
    """Return the files that a message changed."""
    files: list[str] = []
    for part in message.parts:
        if isinstance(part, PatchPart):
            files += part.files
        elif isinstance(part, ToolPart) and part.tool in _EDIT_TOOLS and part.input.get("filePath"):
            files.append(str(part.input["filePath"]))
    return tuple(files)


def freed_text(receipt: Receipt, frees: float) -> str:
    """Return what was freed, and whether that is enough."""
    if receipt.freed is None:
        return "not known yet"
    share = f" ({receipt.freed_percent:.0f} %)" if receipt.freed_percent is not None else ""
    too_little = ", too little" if receipt.enough(frees) is False else ""
    return f"{'~' if receipt.estimated else ''}{receipt.freed:,}{share}{too_little}"
