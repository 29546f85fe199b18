"""`hudkit compactions`: what each compaction of a session dropped and kept, and how to undo one."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hudkit.cli import complain
from hudkit.cli.common import SCHEMA, as_json, existing_log, open_read_only, pick
from hudkit.cli.styles import COMPACTION_STYLES, print_lines
from hudkit.compose import shorten, visible
from hudkit.context.compaction.receipts import (
    CoveredRange,
    Receipt,
    RequestEstimate,
    count_items,
    covered_range,
    read_receipts,
)
from hudkit.errors import ConfigError, HostError, HudkitError
from hudkit.paths import index_path
from hudkit.tools.answer_text import indented_block
from hudkit.tools.receipt_text import TRIGGER_WORDS, changed_files, freed_text, token_figures
from hudkit.tools.transcript_text import host_session_id, message_words, utc_minute
from hudkit.transcripts import Message, PatchPart, TextPart, ToolPart

if TYPE_CHECKING:
    from hudkit.api import HudSession


_UNDONE_BY_HOST = ("", "opencode")
"""Hosts that can take a compaction back; older logs do not say which host it was: then it was OpenCode."""


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    with open_read_only(args.db, "compactions") as hud:
        session = hud.session(pick(hud.log, args.session))
        receipts = read_receipts(session.events(), session.state_at)
        frees = hud.settings.compaction.min_freed_percent
        if args.action == "list":
            facts = {
                "session": session.id,
                "compactions": [_receipt_facts(receipt, None, frees) for receipt in receipts],
            }
            if args.json:
                print(as_json({"schema": SCHEMA, **facts}))
            else:
                _print(_listing(session.id, receipts, frees))
            return 0
        receipt = _chosen(receipts, args.number)
        messages = _messages(session, args)
        seen = covered_range(receipt, messages)
        if args.action == "undo":
            return _undo(session, receipt, seen, messages, args)
        if args.json:
            facts = _receipt_facts(receipt, seen, frees) | {"session": session.id, "summary": receipt.summary}
            print(as_json({"schema": SCHEMA, **facts}))
        elif args.action == "diff":
            _print(_diff(receipt, seen))
        else:
            back = "\n".join(_ways_back(session, receipt, seen, readable=bool(messages)))
            _print(_receipt_text(host_session_id(session), receipt, seen, frees, back))
        return 0


def _print(text: str) -> None:
    print_lines((text,), COMPACTION_STYLES)


def _chosen(receipts: tuple[Receipt, ...], number: int | None) -> Receipt:
    """The one that is meant; the last, where none is named. Raises `ConfigError`."""
    if not receipts:
        raise ConfigError("this session was not compacted", hint="Name another with --session")
    if number is not None and not 1 <= number <= len(receipts):
        raise ConfigError(f"there is no compaction {number}", hint=f"They are 1 to {len(receipts)}")
    return receipts[number - 1] if number is not None else receipts[-1]


def _messages(session: HudSession, args: argparse.Namespace) -> tuple[Message, ...]:
    """The host's messages of a session; none where they cannot be read, which is said."""
    from hudkit.agent.session_transcript import session_sources
    from hudkit.transcripts.search import open_past_sessions

    if args.opencode is not None and not args.opencode.exists():
        raise ConfigError(f"there is nothing at {args.opencode}", hint="Name OpenCode's database, or leave it out")
    log = existing_log(args.db)
    past = open_past_sessions(index_path(log), opencode=args.opencode, also=session_sources(log))
    try:
        return tuple(past.messages(host_session_id(session)))
    except HudkitError as error:
        complain("compactions", f"the messages cannot be read: {error}")
        return ()
    finally:
        past.close()


def _undo(
    session: HudSession,
    receipt: Receipt,
    seen: CoveredRange | None,
    messages: tuple[Message, ...],
    args: argparse.Namespace,
) -> int:
    from hudkit.hosts.opencode.revert_client import check_session as answers
    from hudkit.hosts.opencode.revert_client import fork_session, revert_session

    id = host_session_id(session)
    if session.state.session.host not in _UNDONE_BY_HOST:
        raise ConfigError("only OpenCode can take a compaction back", hint="`memory messages` reads what it dropped")
    if receipt.undone or seen is None:
        why = "was undone already" if receipt.undone else "is not in OpenCode's messages (any more)"
        raise ConfigError(f"compaction {receipt.number} {why}", hint="`hudkit compactions` lists them")
    message_id = _turn(receipt, messages) if args.turn else receipt.marker
    planned = _plan(id, receipt, seen, message_id, turn=args.turn, fork=args.fork, server=args.server)
    if not args.yes:
        facts = {"session": id, "number": receipt.number, "message": message_id, "done": False}
        print(as_json({"schema": SCHEMA, **facts, "plan": planned}) if args.json else planned)
        return 0
    try:
        answers(args.server, id)
        other = fork_session(args.server, id, message_id) if args.fork else ""
        if not args.fork:
            revert_session(args.server, id, message_id)
    except HostError:
        if not args.json:
            print(_by_hand(id, message_id, session.state.session.directory, fork=args.fork))
        raise
    done = {"session": other or id, "number": receipt.number, "message": message_id, "done": True}
    print(as_json({"schema": SCHEMA, **done}) if args.json else _undone(id, other, receipt, args.server))
    return 0


def _turn(receipt: Receipt, messages: tuple[Message, ...]) -> str:
    """The user's message that began the turn in which the compaction came. Raises `ConfigError`."""
    place = next((n for n, message in enumerate(messages) if message.id == receipt.marker), 0)
    for message in reversed(messages[:place]):
        if message.role == "user" and any(
            isinstance(part, TextPart) and not part.synthetic for part in message.parts
        ):
            return message.id
    raise ConfigError("there is no user message before this compaction", hint="Leave out --turn")


_MAX_LINE_CHARACTERS = 100
"""Characters of a message in a list."""


# -- receipts as plain values ----------------------------------------------------------------------------------


def _receipt_facts(receipt: Receipt, seen: CoveredRange | None, frees: float) -> dict[str, Any]:
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


# -- receipts as text ------------------------------------------------------------------------------------------


def _listing(name: str, receipts: Sequence[Receipt], frees: float) -> str:
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


def _receipt_text(id: str, receipt: Receipt, seen: CoveredRange | None, frees: float, back: str) -> str:
    """A receipt in full; `back` says how what it dropped is found again."""
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
        back,
        "",
        _summary(receipt),
        "",
        indented_block(receipt.summary) if receipt.summary else "-",
    ]
    return "\n".join(lines)


def _table(receipt: Receipt) -> Iterator[str]:
    if receipt.before is None or receipt.after is None:
        yield "By part: not reported by the host."
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
        yield f"- LOST from {section}: {shorten(visible(text), _MAX_LINE_CHARACTERS)}"
    for section, text in receipt.revived:
        yield f"- BACK in {section}: {shorten(visible(text), _MAX_LINE_CHARACTERS)}"
    if receipt.closed:
        yield f"files that left the view: {visible(', '.join(receipt.closed))}"


def _ways_back(session: HudSession, receipt: Receipt, seen: CoveredRange | None, *, readable: bool) -> Iterator[str]:
    """Say how what a compaction dropped is had again: only what works for this session."""
    quoted_id, host = shlex.quote(visible(host_session_id(session))), session.state.session.host
    if readable:
        yield f"found again by: hudkit memory messages {quoted_id}; hudkit memory search WORDS --session {quoted_id}"
    else:
        yield "found again by: nothing, the messages of this session cannot be read here"
    if seen is not None and not receipt.undone and host in _UNDONE_BY_HOST:
        yield f"undone by: hudkit compactions undo {receipt.number} --session {quoted_id}"


def _summary(receipt: Receipt) -> str:
    by = f"from the log, because the model's {visible(receipt.why)}" if receipt.by == "static" else "by the model"
    return f"Summary ({by}, about {receipt.summary_tokens:,} tokens):"


def _diff(receipt: Receipt, seen: CoveredRange | None) -> str:
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
    return shorten(visible(text), _MAX_LINE_CHARACTERS)


# -- what undoing does, and did --------------------------------------------------------------------------------


def _plan(
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
        lines.append(f"The turn that filled the window (from {visible(message_id)} on) is undone with it.")
    if again:
        lines.append("The window was full: OpenCode compacts again at the next prompt, unless `compaction.auto` is")
        lines.append("false in its configuration, or `--turn` takes the turn that filled it back, too.")
    lines.append(f"Nothing was done. With --yes, OpenCode at {visible(server)} is asked to.")
    return "\n".join(lines)


def _by_hand(id: str, message_id: str, directory: str, *, fork: bool) -> str:
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


def _undone(id: str, other: str, receipt: Receipt, server: str) -> str:
    """What was done."""
    if other:
        before = f"from before compaction {receipt.number}"
        return f"The session {visible(other)} goes on {before}; {visible(id)} is unchanged."
    back = f"curl -X POST {visible(server)}/session/{visible(id)}/unrevert"
    return f"Compaction {receipt.number} is undone with the next prompt. To keep it after all: {back}"
