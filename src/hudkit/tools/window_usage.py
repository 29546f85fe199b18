"""The operation on the window: how much of it is in use, by what, how fast it fills, and how sure that is."""

from __future__ import annotations

from hudkit.hud import SessionCore
from hudkit.hud.window_usage import WindowUsage, window_facts, window_usage
from hudkit.tokens.model_facts import UNCERTAIN_WINDOWS
from hudkit.tools.answer_text import id_text
from hudkit.tools.operation import OperationResult, reading
from hudkit.tools.transcript_text import (
    SessionArguments,
    host_session_id,
    markdown_table,
    resolve_session_id,
    transcripts_of,
)

_MAX_PARTS = 12
"""Parts of a table; the smaller ones are added up."""

_ADVICE_FROM_PERCENT = 50
"""Per cent in use from which it is said what makes room: below it, a compaction is refused (features, E4)."""


@reading("context", SessionArguments)
def _context(session: SessionCore, args: SessionArguments) -> OperationResult:
    """Tell how much of the window is in use and what fills it, or how much another session had in use.

    The total is as last reported; its parts are estimated, and so is what was added since.
    """
    id = resolve_session_id(session, args) if args.session or args.sessionId else host_session_id(session)
    if id != host_session_id(session):
        return _elsewhere(session, id)
    window = window_usage(session.state, session.settings)
    # What was reported comes first, what is estimated after it, and marked: a reader may stop anywhere.
    lines = [_headline(window)]
    if window.now is not None:
        lines.append(f"- the request now under way: {_about(window)}; its usage is not reported yet")
    lines += [f"- {line}" for line in (_pace(window), _learned(window)) if line]
    readings = session.state.window.readings
    # One report is the headline already.
    if len(readings) > 1:
        lines.append(f"- last reports: {', '.join(f'{reading.used_tokens:,}' for reading in readings)}")
    if session.state.compacted.count:
        lines.append(f"- compactions so far: {session.state.compacted.count}")
    if window.shares:
        lines += ["", *markdown_table(("part", "tokens", "of the window"), _rows(window))]
    if window.budget:
        rows = [
            (row.part + ("" if row.exact else " ~"), f"{row.tokens:,}", f"{row.ceiling:,}") for row in window.budget
        ]
        lines += ["", "What is older leaves a full window:", "", *markdown_table(("part", "tokens", "at most"), rows)]
    if (window.usage.percent or 0) >= _ADVICE_FROM_PERCENT:
        lines.append("\n`hud_compact` makes room when this turn ends; files read in parts take less of it.")
    return OperationResult(
        "\n".join(lines), window_facts(id, window) | {"compactions": session.state.compacted.count}
    )


def _headline(window: WindowUsage) -> str:
    usage = window.usage
    size = f"{usage.limit_tokens:,} tokens{f' ({usage.source})' if usage.source in UNCERTAIN_WINDOWS else ''}"
    if usage.used_tokens is None:
        return f"Usage is unknown until the next report; the window has {size}."
    return f"{round(usage.percent or 0, 1):g} % in use: {usage.used_tokens:,} of {size} ({usage.band.value})."


def _about(window: WindowUsage) -> str:
    doubt = f", ±{_percent(window.doubt)} %" if window.doubt is not None else ""
    return f"about {window.now:,} tokens (estimated{doubt})"


def _percent(share: float) -> str:
    return f"{max(0.1, 100 * share):.1f}" if share < 0.1 else f"{100 * share:.0f}"


def _pace(window: WindowUsage) -> str:
    trend = window.trend
    if trend is None:
        return ""
    words = f"{trend.pace}, {trend.rate:+,.0f} tokens a call"
    if trend.calls_left is not None and trend.band is not None:
        words += f", about {_calls(trend.calls_left)} until {trend.band.value}"
    if window.overflow is not None:
        # Only of a host that compacts is it known what part of the window is usable.
        end = "the host compacts" if window.usage.usable is not None else "the window is full"
        words += f", {_calls(window.overflow)} until {end}"
    return words


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def _learned(window: WindowUsage) -> str:
    if window.error is None:
        return "parts are estimated; no report of this model was compared yet" if window.shares else ""
    reports = "1 report" if window.reports == 1 else f"{window.reports} reports"
    return f"estimates of this model were off by {_percent(window.error)} % (median; {reports})"


def _rows(window: WindowUsage) -> list[tuple[str, str, str]]:
    limit = window.usage.limit_tokens
    largest, rest = window.shares[:_MAX_PARTS], window.shares[_MAX_PARTS:]
    rows = [(share.part + ("" if share.exact else " ~"), share.tokens) for share in largest]
    rows += [(f"{len(rest)} smaller parts ~", sum(share.tokens for share in rest))] if rest else []
    used = sum(share.tokens for share in window.shares)
    if window.reserve:
        rows.append(("kept free for an answer", min(window.reserve, max(0, limit - used))))
    rows.append(("free", max(0, limit - window.reserve - used)))
    return [(name, f"{tokens:,}", f"{100 * tokens / limit:.1f} %") for name, tokens in rows]


def _elsewhere(session: SessionCore, id: str) -> OperationResult:
    transcript, row = transcripts_of(session).find(id)
    # A summary's own call has another request than the conversation: it says nothing of how full that was.
    used = [m.usage.used for m in transcript.messages(id) if m.usage is not None and m.usage.used and not m.summary]
    data = {"session": id, "used": used[-1] if used else None, "most": max(used, default=0), "model": row.model}
    if not used:
        return OperationResult(f"{id_text(id)} has reported no usage.", data)
    text = f"{id_text(id)} had {used[-1]:,} tokens in use at its last response, {max(used):,} at most ({row.model})."
    return OperationResult(text, data)
