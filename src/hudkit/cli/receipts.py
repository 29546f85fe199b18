"""How receipts of compactions are written: as a list, in full, as a difference, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hudkit.compose import shorten, visible
from hudkit.context.compaction.receipts import CoveredRange, Receipt, RequestEstimate, count_items
from hudkit.tools.answer_text import indented_block
from hudkit.tools.receipt_text import TRIGGER_WORDS, changed_files, freed_text, token_figures
from hudkit.tools.transcript_text import message_words, utc_minute
from hudkit.transcripts import Message, PatchPart, ToolPart

LINE = 100
"""Characters of a message in a list."""


# -- as plain values -------------------------------------------------------------------------------------------


def facts(receipt: Receipt, seen: CoveredRange | None, frees: float) -> dict[str, Any]:
    """One receipt, without its summary."""
    values: dict[str, Any] = {
        "number": receipt.number,
        "seq": receipt.seq,
        "at": receipt.time,
        "trigger": receipt.trigger,
        "model": receipt.model,
        "limit": receipt.limit,
        "reported_before": receipt.reported_before,
        "reported_after": receipt.reported_after,
        "lasted_ms": receipt.lasted,
        "freed": receipt.freed,
        "freed_is_estimated": receipt.estimated,
        "freed_percent": receipt.freed_percent,
        "enough": receipt.enough(frees),
        "before": _parts(receipt.before),
        "after": _parts(receipt.after),
        "held": receipt.held,
        "lost": receipt.lost,
        "revived": receipt.revived,
        "files_closed": receipt.closed,
        "summary_tokens": receipt.summary_tokens,
        "summary_by": receipt.by or "model",
        "undone": receipt.undone or None,
    }
    if seen is not None:
        values["dropped"], values["kept"] = (_ids(messages) for messages in (seen.dropped, seen.remaining))
        values["dropped_outputs"] = dict(seen.outputs)
    return values


def _parts(estimate: RequestEstimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {
        "messages": estimate.messages,
        "system": estimate.system,
        "tools": estimate.tools,
        "hud": estimate.hud,
        "words": estimate.words,
        "outputs": dict(estimate.outputs),
        "total": estimate.total,
    }


def _ids(messages: Sequence[Message]) -> dict[str, Any]:
    if not messages:
        return {"count": 0, "first": None, "last": None}
    return {"count": len(messages), "first": messages[0].id, "last": messages[-1].id}


# -- as text ---------------------------------------------------------------------------------------------------


def listing(name: str, receipts: Sequence[Receipt], frees: float) -> str:
    """One line each."""
    if not receipts:
        return f"{visible(name)}: no compactions"
    lines = [f"{visible(name)}: {len(receipts)} compaction{'' if len(receipts) == 1 else 's'}", ""]
    head = ("N", "at (UTC)", "how", "tokens", "messages", "live items", "freed")
    rows = [_row(receipt, frees) for receipt in receipts]
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    lines += (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    )
    return "\n".join(lines)


def _row(receipt: Receipt, frees: float) -> tuple[str, ...]:
    messages = f"{receipt.before.messages} -> {receipt.after.messages}" if receipt.before and receipt.after else "?"
    held = sum(map(len, receipt.held.values()))
    holds = sum(map(len, receipt.holds.values()))
    state = " (undone)" if receipt.undone else ""
    items = str(held) if held == holds else f"{held} -> {holds}"
    return (
        str(receipt.number),
        utc_minute(receipt.time),
        TRIGGER_WORDS.get(receipt.trigger, receipt.trigger) + state,
        token_figures(receipt),
        messages,
        items,
        freed_text(receipt, frees),
    )


def whole(id: str, receipt: Receipt, seen: CoveredRange | None, frees: float) -> str:
    """A receipt in full."""
    lasted = f", {receipt.lasted / 1000:.1f} s" if receipt.lasted is not None else ""
    how = TRIGGER_WORDS.get(receipt.trigger, receipt.trigger)
    lines = [f"Compaction {receipt.number} of {visible(id)}, {utc_minute(receipt.time)} UTC, {how}{lasted}"]
    if receipt.undone:
        lines.append(f"The host took it back (event {receipt.undone}).")
    lines += [
        f"Window in use: {token_figures(receipt)}; freed: {freed_text(receipt, frees)}",
        "",
        *_table(receipt),
        "",
    ]
    if seen is not None:
        lines += [_said("dropped", seen.dropped), *_outputs(seen), _said("kept", seen.remaining)]
    else:
        lines.append("messages: the host's transcript does not tell which were dropped")
    lines += [
        *_items(receipt),
        *_back(id, receipt, seen),
        "",
        _summary(receipt),
        "",
        indented_block(receipt.summary) if receipt.summary else "-",
    ]
    return "\n".join(lines)


def _table(receipt: Receipt) -> Iterator[str]:
    if receipt.before is None or receipt.after is None:
        yield "By part: not told by the host."
        return
    rows = [
        (name, getattr(receipt.before, name), getattr(receipt.after, name))
        for name in ("system", "tools", "hud", "words")
    ]
    before, after = dict(receipt.before.outputs), dict(receipt.after.outputs)
    rows += [(f"output of {visible(tool)}", before.get(tool, 0), after.get(tool, 0)) for tool in before | after]
    rows.append(("all", receipt.before.total, receipt.after.total))
    yield f"{'tokens, estimated':<28} {'before':>9} {'after':>9} {'freed':>9}"
    for name, old, new in rows:
        yield f"{shorten(name, 28):<28} {old:>9,} {new:>9,} {old - new:>9,}"
    yield f"{'messages':<28} {receipt.before.messages:>9,} {receipt.after.messages:>9,}"


def _said(verb: str, messages: Sequence[Message]) -> str:
    if not messages:
        return f"{verb}: no messages"
    ends = f"{visible(messages[0].id)} to {visible(messages[-1].id)}"
    return f"{verb}: {len(messages)} message{'' if len(messages) == 1 else 's'} ({ends})"


def _outputs(seen: CoveredRange) -> tuple[str, ...]:
    outputs = ", ".join(f"{visible(tool)} {count}" for tool, count in seen.outputs)
    return (f"dropped outputs: {outputs}",) if outputs else ()


def _items(receipt: Receipt) -> Iterator[str]:
    yield (
        f"HUD: {count_items(receipt.held) or 'nothing'}; all of it is live after, too" if not receipt.lost else "HUD:"
    )
    for section, text in receipt.lost:
        yield f"- LOST from {section}: {shorten(visible(text), LINE)}"
    for section, text in receipt.revived:
        yield f"- BACK in {section}: {shorten(visible(text), LINE)}"
    if receipt.closed:
        yield f"files that left the view: {visible(', '.join(receipt.closed))}"


def _back(id: str, receipt: Receipt, seen: CoveredRange | None) -> Iterator[str]:
    yield f"found again by: hudkit memory messages {visible(id)}; hudkit memory search WORDS --session {visible(id)}"
    if seen is not None and not receipt.undone:
        yield f"taken back by: hudkit compactions undo {receipt.number} --session {visible(id)}"


def _summary(receipt: Receipt) -> str:
    by = f"from the log, because the model's {visible(receipt.why)}" if receipt.by == "static" else "by the model"
    return f"Summary ({by}, about {receipt.summary_tokens:,} tokens):"


def diff(receipt: Receipt, seen: CoveredRange | None) -> str:
    """What the model had before and has after, a line a message: `-` left, `+` came, blank stayed."""
    lines = [f"Compaction {receipt.number}: {token_figures(receipt)}", ""]
    if seen is None:
        lines.append("The host's transcript does not tell the messages.")
    else:
        lines += [f"- {_line(message)}" for message in seen.dropped]
    lines += [f"+ summary: {_short(' '.join(receipt.summary.split()) or '-')}"]
    lines += [f"  {_line(message)}" for message in seen.remaining] if seen is not None else []
    lines += ["", "HUD"]
    gone, back = set(receipt.lost), set(receipt.revived)
    for section, items in receipt.held.items():
        lines += [f"{'-' if (section, text) in gone else ' '} {section}: {_short(text)}" for text in items]
    lines += [f"+ {section}: {_short(text)}" for section, text in receipt.revived if (section, text) in back]
    lines += [f"- files: {_short(path)} (left the view)" for path in receipt.closed]
    return "\n".join(lines)


def _line(message: Message) -> str:
    calls = [part.tool for part in message.parts if isinstance(part, ToolPart)]
    words = " ".join(message_words(message).split())
    called = f"[{', '.join(calls)}] " if calls else ""
    who = "summary" if message.summary else message.role
    return f"{visible(message.id)} {visible(who)}: {_short(called + words or '-')}"


def _short(text: str) -> str:
    return shorten(visible(text), LINE)


# -- undo ------------------------------------------------------------------------------------------------------


def plan(
    id: str, receipt: Receipt, seen: CoveredRange, message_id: str, *, turn: bool, fork: bool, server: str
) -> str:
    """What taking a compaction back will do."""
    files = sorted({path for message in seen.since for path in changed_files(message)})
    again = receipt.trigger in ("auto", "overflow") and not turn
    lines = [f"Compaction {receipt.number} of {visible(id)}: its {len(seen.dropped)} dropped messages come back."]
    if fork:
        lines.append("A copy of the session is made that ends before it; this session stays as it is.")
    else:
        lines.append(f"The {len(seen.since)} messages since then leave the session with the next prompt; until then,")
        lines.append("OpenCode's `unrevert` (`/redo`) shows them again. What the HUD recorded since stays.")
        if any(isinstance(part, PatchPart) for message in seen.since for part in message.parts) or files:
            some = visible(", ".join(files[:5]))
            lines.append(f"OpenCode also puts back the files that were changed since: {some or 'see its diff'}.")
    if turn:
        lines.append(f"The turn that filled the window (from {visible(message_id)} on) is taken back with it.")
    if again:
        lines.append("The window was full: OpenCode compacts again at the next prompt, unless `compaction.auto` is")
        lines.append("false in its configuration, or `--turn` takes the turn that filled it back, too.")
    lines.append(f"Nothing was done. With --yes, OpenCode at {visible(server)} is asked to.")
    return "\n".join(lines)


def by_hand(id: str, message_id: str, directory: str, *, fork: bool) -> str:
    """What a person can do where no server answers."""
    address = f"http://127.0.0.1:4096/session/{visible(id)}/{'fork' if fork else 'revert'}"
    body = f'{{"messageID": "{visible(message_id)}"}}'
    return "\n".join(
        (
            "By hand:",
            f"  cd {visible(directory or 'PROJECT')} && opencode serve --port 4096",
            f"  curl -X POST {address} -H 'content-type: application/json' -d '{body}'",
        )
    )


def undone(id: str, other: str, receipt: Receipt, server: str) -> str:
    """What was done."""
    if other:
        before = f"from before compaction {receipt.number}"
        return f"The session {visible(other)} goes on {before}; {visible(id)} is unchanged."
    back = f"curl -X POST {visible(server)}/session/{visible(id)}/unrevert"
    return f"Compaction {receipt.number} is taken back with the next prompt. To undo this before that: {back}"
