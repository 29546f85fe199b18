"""How receipts of compactions are written: as a list, in full, as a difference, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

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
    told: dict[str, Any] = {
        name: msgspec.to_builtins(getattr(receipt, name))
        for name in ("number", "seq", "at", "trigger", "model", "limit", "reported_before", "reported_after")
    }
    told |= {
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
        told["dropped"], told["kept"] = (_ids(one) for one in (seen.dropped, seen.kept))
        told["dropped_outputs"] = dict(seen.outputs)
    return told


def _parts(one: RequestEstimate | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "messages": one.messages,
        "system": one.system,
        "tools": one.tools,
        "hud": one.hud,
        "words": one.words,
        "outputs": dict(one.outputs),
        "total": one.total,
    }


def _ids(messages: Sequence[Message]) -> dict[str, Any]:
    if not messages:
        return {"count": 0, "first": None, "last": None}
    return {"count": len(messages), "first": messages[0].id, "last": messages[-1].id}


# -- as text ---------------------------------------------------------------------------------------------------


def listing(name: str, found: Sequence[Receipt], frees: float) -> str:
    """One line each."""
    if not found:
        return f"{visible(name)}: no compactions"
    lines = [f"{visible(name)}: {len(found)} compaction{'' if len(found) == 1 else 's'}", ""]
    head = ("N", "at (UTC)", "how", "tokens", "messages", "live items", "freed")
    rows = [_row(one, frees) for one in found]
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    lines += (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    )
    return "\n".join(lines)


def _row(one: Receipt, frees: float) -> tuple[str, ...]:
    messages = f"{one.before.messages} -> {one.after.messages}" if one.before and one.after else "?"
    held = sum(map(len, one.held.values()))
    holds = sum(map(len, one.holds.values()))
    state = " (undone)" if one.undone else ""
    items = str(held) if held == holds else f"{held} -> {holds}"
    return (
        str(one.number),
        utc_minute(one.at),
        TRIGGER_WORDS.get(one.trigger, one.trigger) + state,
        token_figures(one),
        messages,
        items,
        freed_text(one, frees),
    )


def whole(id: str, one: Receipt, seen: CoveredRange | None, frees: float) -> str:
    """A receipt in full."""
    lasted = f", {one.lasted / 1000:.1f} s" if one.lasted is not None else ""
    how = TRIGGER_WORDS.get(one.trigger, one.trigger)
    lines = [f"Compaction {one.number} of {visible(id)}, {utc_minute(one.at)} UTC, {how}{lasted}"]
    if one.undone:
        lines.append(f"The host took it back (event {one.undone}).")
    lines += [f"Window in use: {token_figures(one)}; freed: {freed_text(one, frees)}", "", *_table(one), ""]
    if seen is not None:
        lines += [_said("dropped", seen.dropped), *_outputs(seen), _said("kept", seen.kept)]
    else:
        lines.append("messages: the host's transcript does not tell which were dropped")
    lines += [
        *_items(one),
        *_back(id, one, seen),
        "",
        _summary(one),
        "",
        indented_block(one.summary) if one.summary else "-",
    ]
    return "\n".join(lines)


def _table(one: Receipt) -> Iterator[str]:
    if one.before is None or one.after is None:
        yield "By part: not told by the host."
        return
    rows = [
        (name, getattr(one.before, name), getattr(one.after, name)) for name in ("system", "tools", "hud", "words")
    ]
    before, after = dict(one.before.outputs), dict(one.after.outputs)
    rows += [(f"output of {visible(tool)}", before.get(tool, 0), after.get(tool, 0)) for tool in before | after]
    rows.append(("all", one.before.total, one.after.total))
    yield f"{'tokens, estimated':<28} {'before':>9} {'after':>9} {'freed':>9}"
    for name, old, new in rows:
        yield f"{shorten(name, 28):<28} {old:>9,} {new:>9,} {old - new:>9,}"
    yield f"{'messages':<28} {one.before.messages:>9,} {one.after.messages:>9,}"


def _said(verb: str, messages: Sequence[Message]) -> str:
    if not messages:
        return f"{verb}: no messages"
    ends = f"{visible(messages[0].id)} to {visible(messages[-1].id)}"
    return f"{verb}: {len(messages)} message{'' if len(messages) == 1 else 's'} ({ends})"


def _outputs(seen: CoveredRange) -> tuple[str, ...]:
    told = ", ".join(f"{visible(tool)} {count}" for tool, count in seen.outputs)
    return (f"dropped outputs: {told}",) if told else ()


def _items(one: Receipt) -> Iterator[str]:
    yield f"HUD: {count_items(one.held) or 'nothing'}; all of it is live after, too" if not one.lost else "HUD:"
    for section, text in one.lost:
        yield f"- LOST from {section}: {shorten(visible(text), LINE)}"
    for section, text in one.revived:
        yield f"- BACK in {section}: {shorten(visible(text), LINE)}"
    if one.closed:
        yield f"files that left the view: {visible(', '.join(one.closed))}"


def _back(id: str, one: Receipt, seen: CoveredRange | None) -> Iterator[str]:
    yield f"found again by: hudkit memory messages {visible(id)}; hudkit memory search WORDS --session {visible(id)}"
    if seen is not None and not one.undone:
        yield f"taken back by: hudkit compactions undo {one.number} --session {visible(id)}"


def _summary(one: Receipt) -> str:
    by = f"from the log, because the model's {visible(one.why)}" if one.by == "static" else "by the model"
    return f"Summary ({by}, about {one.summary_tokens:,} tokens):"


def diff(one: Receipt, seen: CoveredRange | None) -> str:
    """What the model had before and has after, a line a message: `-` left, `+` came, blank stayed."""
    lines = [f"Compaction {one.number}: {token_figures(one)}", ""]
    if seen is None:
        lines.append("The host's transcript does not tell the messages.")
    else:
        lines += [f"- {_line(message)}" for message in seen.dropped]
    lines += [f"+ summary: {_short(' '.join(one.summary.split()) or '-')}"]
    lines += [f"  {_line(message)}" for message in seen.kept] if seen is not None else []
    lines += ["", "HUD"]
    gone, back = set(one.lost), set(one.revived)
    for section, items in one.held.items():
        lines += [f"{'-' if (section, text) in gone else ' '} {section}: {_short(text)}" for text in items]
    lines += [f"+ {section}: {_short(text)}" for section, text in one.revived if (section, text) in back]
    lines += [f"- files: {_short(path)} (left the view)" for path in one.closed]
    return "\n".join(lines)


def _line(message: Message) -> str:
    calls = [part.tool for part in message.parts if isinstance(part, ToolPart)]
    said = " ".join(message_words(message).split())
    called = f"[{', '.join(calls)}] " if calls else ""
    who = "summary" if message.summary else message.role
    return f"{visible(message.id)} {visible(who)}: {_short(called + said or '-')}"


def _short(text: str) -> str:
    return shorten(visible(text), LINE)


# -- undo ------------------------------------------------------------------------------------------------------


def plan(id: str, one: Receipt, seen: CoveredRange, at: str, *, turn: bool, fork: bool, server: str) -> str:
    """What taking a compaction back will do."""
    files = sorted({path for message in seen.since for path in changed_files(message)})
    again = one.trigger in ("auto", "overflow") and not turn
    lines = [f"Compaction {one.number} of {visible(id)}: its {len(seen.dropped)} dropped messages come back."]
    if fork:
        lines.append("A copy of the session is made that ends before it; this session stays as it is.")
    else:
        lines.append(f"The {len(seen.since)} messages since then leave the session with the next prompt; until then,")
        lines.append("OpenCode's `unrevert` (`/redo`) shows them again. What the HUD recorded since stays.")
        if any(isinstance(part, PatchPart) for message in seen.since for part in message.parts) or files:
            some = visible(", ".join(files[:5]))
            lines.append(f"OpenCode also puts back the files that were changed since: {some or 'see its diff'}.")
    if turn:
        lines.append(f"The turn that filled the window (from {visible(at)} on) is taken back with it.")
    if again:
        lines.append("The window was full: OpenCode compacts again at the next prompt, unless `compaction.auto` is")
        lines.append("false in its configuration, or `--turn` takes the turn that filled it back, too.")
    lines.append(f"Nothing was done. With --yes, OpenCode at {visible(server)} is asked to.")
    return "\n".join(lines)


def by_hand(id: str, at: str, directory: str, *, fork: bool) -> str:
    """What a person can do where no server answers."""
    address = f"http://127.0.0.1:4096/session/{visible(id)}/{'fork' if fork else 'revert'}"
    body = f'{{"messageID": "{visible(at)}"}}'
    return "\n".join(
        (
            "By hand:",
            f"  cd {visible(directory or 'PROJECT')} && opencode serve --port 4096",
            f"  curl -X POST {address} -H 'content-type: application/json' -d '{body}'",
        )
    )


def undone(id: str, other: str, one: Receipt, server: str) -> str:
    """What was done."""
    if other:
        return (
            f"The session {visible(other)} goes on from before compaction {one.number}; {visible(id)} is unchanged."
        )
    back = f"curl -X POST {visible(server)}/session/{visible(id)}/unrevert"
    return f"Compaction {one.number} is taken back with the next prompt. To undo this before that: {back}"
