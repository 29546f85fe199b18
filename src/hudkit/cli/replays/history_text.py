"""Histories in words and tables, for people: at most 98 columns, no colour of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hudkit.cli.replays.histories import HistorySummary
from hudkit.cli.replays.history import ExplainedCompaction, SessionHistory, SkippedLines
from hudkit.cli.replays.known_histories import HOST_NAMES
from hudkit.cli.replays.report_text import TerminalStyle, report_width, wrapped
from hudkit.compose import shorten, visible
from hudkit.context.caching import RecordedBreak
from hudkit.context.caching.cache_text import count_text, dollar_text

CAUSES = {
    "model": "another model",
    "idle": "no call for longer than the cache keeps",
    "compaction": "a compaction",
    "tools": "other tools",
    "system": "another system prompt",
    "message": "a message changed or gone",
    "settings": "other settings of the request",
    "unseen": "nothing that is recorded",
}
"""Causes of breaks, in words."""

_MOST_NAMES = 8
_KINDS = {"constraints": "rules", "open errors": "open errors"}

NOTE_HISTORY = (
    "Live is what the messages had told when a compaction began: task, rules, decisions, open todos and errors, "
    "edited files. It was dropped if its first words stand neither in the host's summary nor in a message that the "
    "host kept; a summary in other words counts as dropped. Costs are the host's own usage at list prices, no bill."
)


def history_lines(
    summary: HistorySummary, sessions: Sequence[SessionHistory], ink: TerminalStyle, *, all_sessions: bool
) -> Iterator[str]:
    """Yield the lines of a history: its sums, then sessions; `all_sessions` says that they are not just some."""
    yield from _head(summary, ink)
    if summary.compactions:
        yield ""
        yield from _compaction_sums(summary, ink)
    if summary.causes:
        yield ""
        yield from _cause_sums(summary, ink)
    if sessions:
        yield ""
        is_single = summary.sessions + summary.subagents == 1
        yield ink.head("The session" if is_single else "Its sessions" if all_sessions else "Sessions that lost most")
        for session in sessions:
            yield ""
            yield from session_lines(session, ink)
    yield ""
    yield from _passed_over(summary)
    yield from wrapped(NOTE_HISTORY)
    if not all_sessions and sessions:
        yield from wrapped("`--session ID` explains one of them whole, `--json` has all of them.")


def _head(summary: HistorySummary, ink: TerminalStyle) -> Iterator[str]:
    subagents = f" and {summary.subagents:,} of sub-agents" if summary.subagents else ""
    days = f", {_day(summary.started)} to {_day(summary.ended)}" if summary.started else ""
    sessions = count_text(summary.sessions, "session")
    yield ink.head(f"{HOST_NAMES.get(summary.host, summary.host)}: {sessions}{subagents}{days}")
    yield visible(_short_path(summary.root))
    total = summary.total
    sent = total.fresh + total.read + total.written
    read = f", {100 * total.read / sent:.1f} % of them read from the cache" if sent else ""
    yield from wrapped(
        f"{count_text(summary.calls, 'model call')}, {count_text(summary.prompts, 'prompt')}; "
        f"{sent:,} tokens sent{read}, {total.output:,} answered"
    )
    yield from wrapped(_cost_text(summary))


def _cost_text(summary: HistorySummary) -> str:
    total = summary.total
    models = [
        f"{visible(model)} {dollar_text(sums.usd)}" for model, sums in list(summary.models.items())[:4] if sums.usd
    ]
    text = f"{dollar_text(total.usd)} at list prices" + (f" ({', '.join(models)})" if len(models) > 1 else "")
    if total.unpriced:
        text += f"; no price is known for {count_text(int(total.unpriced), 'call')}"
    if summary.host_usd_sessions:
        text += f". The host's own count is {dollar_text(summary.host_usd)}, with summaries and titles"
    return text


def _compaction_sums(summary: HistorySummary, ink: TerminalStyle) -> Iterator[str]:
    compactions = count_text(summary.compactions, "compaction")
    sessions = count_text(summary.compacted_sessions, "session")
    yield ink.head("What compactions dropped")
    yield from wrapped(
        f"{compactions} in {sessions}, {summary.automatic:,} of them automatic; "
        f"{count_text(summary.dropped_messages, 'message')} left the window",
        "  ",
    )
    yield f"  {'':<16}{'live':>8}{'dropped':>10}   {'the HUD keeps':>13}{'shows at once':>16}"
    for kind in summary.kinds:
        name = _KINDS.get(kind.kind, kind.kind)
        yield f"  {name:<16}{kind.items:>8,}{kind.dropped:>10,}   {kind.surviving:>13,}{kind.shown:>16,}"
    if summary.repeats:
        yield from wrapped(
            f"Afterwards the agent read or ran again what it had read or run before: {_times(summary.repeats)}.", "  "
        )


def _cause_sums(summary: HistorySummary, ink: TerminalStyle) -> Iterator[str]:
    yield ink.head("What broke the prefix cache")
    yield f"  {'':<42}{'times':>8}{'tokens again':>16}{'cost':>12}"
    for cause in summary.causes:
        name = CAUSES.get(cause.cause, cause.cause)
        yield f"  {name:<42}{cause.breaks:>8,}{cause.again:>16,}{dollar_text(cause.usd):>12}"


def session_lines(session: SessionHistory, ink: TerminalStyle) -> Iterator[str]:
    """Yield the lines of one session."""
    yield ink.head(visible(shorten(session.title or session.id, report_width())))
    started_by = f", started by {visible(session.parent_id)}" if session.parent_id else ""
    yield f"  {visible(session.id)}{started_by}"
    own = f" (the host's own count: {dollar_text(session.host_usd)})" if session.host_usd is not None else ""
    model = next(iter(session.models), "") or "model unknown"
    yield from wrapped(
        f"{_day(session.started)}, {visible(model)}: {count_text(session.calls, 'call')}, "
        f"{count_text(session.prompts, 'prompt')}, {count_text(len(session.compactions), 'compaction')}, "
        f"{dollar_text(session.total.usd)}{own}",
        "  ",
    )
    if session.failed:
        yield from wrapped(f"Its compactions could not be explained: {visible(session.failed)}", "  ")
    for compaction in session.compactions:
        yield from _compaction_lines(compaction)
    for broken in session.breaks[:_MOST_NAMES]:
        yield from _break_lines(broken)
    breaks = sum(cause.breaks for cause in session.causes)
    if breaks > _MOST_NAMES:
        yield f"  and {breaks - _MOST_NAMES:,} more breaks of the prefix"
    if session.skipped.total:
        yield from wrapped(_skipped_text(session.skipped), "  ")


def _compaction_lines(compaction: ExplainedCompaction) -> Iterator[str]:
    how = "automatic" if compaction.trigger == "auto" else "asked for"
    before, after = compaction.before_tokens, compaction.after_tokens
    tokens = f", {before:,} → {after:,} tokens" if before and after else ""
    messages = (
        f"{count_text(compaction.dropped_messages, 'message')} left the window, {compaction.kept_messages:,} stayed"
    )
    yield from wrapped(f"compaction after call {compaction.after_calls} ({how}{tokens}): {messages}", "  ", "    ")
    by_kind: dict[str, list[str]] = {}
    for item in compaction.dropped:
        by_kind.setdefault(_KINDS.get(item.kind, item.kind), []).append(visible(item.text))
    for kind, texts in by_kind.items():
        names = "; ".join(shorten(" ".join(text.split()), 80) for text in texts[:_MOST_NAMES])
        more = f" and {len(texts) - _MOST_NAMES:,} more" if len(texts) > _MOST_NAMES else ""
        yield from wrapped(f"dropped {kind}: {names}{more}", "    ", "      ")
    if compaction.dropped_items:
        yield from wrapped(_hud_text(compaction), "    ", "      ")
    else:
        yield "    nothing that was live was dropped"
    if compaction.repeats:
        names = "; ".join(shorten(visible(name), 60) for name in compaction.repeated[:_MOST_NAMES])
        yield from wrapped(f"done again afterwards, {_times(compaction.repeats)}: {names}", "    ", "      ")


def _hud_text(compaction: ExplainedCompaction) -> str:
    dropped = compaction.dropped_items
    surviving = sum(kind.surviving for kind in compaction.kinds)
    shown = sum(kind.shown for kind in compaction.kinds)
    share = "all of it" if surviving == dropped else f"{surviving:,} of the {dropped:,}"
    if all(item.shown is None for item in compaction.dropped):
        return f"the HUD would have kept {share}; no call followed"
    at_once = "all" if shown == surviving else f"{shown:,} of it"
    return f"the HUD would have kept {share}, and shown {at_once} with the next call"


def _break_lines(broken: RecordedBreak) -> Iterator[str]:
    detail = f" ({visible(broken.detail)})" if broken.detail else ""
    cost = f", {dollar_text(broken.usd)}" if broken.usd is not None else ""
    yield from wrapped(
        f"the prefix broke at call {broken.call}: {CAUSES[broken.cause]}{detail}; about {broken.again:,} tokens "
        f"processed again{cost}",
        "  ",
        "    ",
    )


def _passed_over(summary: HistorySummary) -> Iterator[str]:
    if summary.skipped.total:
        yield from wrapped(f"{_skipped_text(summary.skipped)}; the rest was read.")
    for unreadable in summary.unreadable:
        yield from wrapped(
            f"{visible(_short_path(unreadable.file))} was not read: {visible(unreadable.reason)}", "", "  "
        )
    if summary.unreadable_files > len(summary.unreadable):
        yield f"and {summary.unreadable_files - len(summary.unreadable):,} more files"
    if summary.failed_sessions:
        yield f"The compactions of {count_text(summary.failed_sessions, 'session')} could not be explained."


def _skipped_text(skipped: SkippedLines) -> str:
    parts = []
    if skipped.broken:
        parts.append(f"{skipped.broken:,} broken")
    if skipped.half_written:
        parts.append(f"{skipped.half_written:,} half written")
    unknown = sum(skipped.unknown.values())
    if unknown:
        names = ", ".join(visible(name)[:40] for name in list(skipped.unknown)[:4])
        parts.append(f"{unknown:,} of unknown kinds ({names})")
    return f"{count_text(skipped.total, 'line')} passed over: {', '.join(parts)}"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _day(timestamp: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).strftime("%Y-%m-%d") if timestamp else "no time"
    except (ValueError, OverflowError, OSError):
        return f"{timestamp} ms"


def _short_path(path: str) -> str:
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path.startswith(home + "/") else path
