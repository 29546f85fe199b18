"""The operation on the window: how much of it is in use, by what, how fast it fills, and how sure that is."""

from __future__ import annotations

from typing import Any

import msgspec

from hudkit.hud import SessionCore
from hudkit.hud.window_usage import WindowUsage, window_usage
from hudkit.tools.lines import called
from hudkit.tools.operation import Answer, reading
from hudkit.tools.telling import InSession, meant, own_id, past_of, table

MOST_PARTS = 12
"""Parts of a table; the smaller ones are added up."""

HALF = 50
"""Per cent in use from which it is said what makes room: below it, a compaction is refused (features, E4)."""


@reading("context", InSession)
def context(session: SessionCore, args: InSession) -> Answer:
    """Tell how much of the window is in use and what fills it, or how much another session had in use.

    The total is as last reported; its parts are estimated, and so is what was added since.
    """
    id = meant(session, args) if args.session or args.sessionId else own_id(session)
    if id != own_id(session):
        return _elsewhere(session, id)
    found = window_usage(session.state, session.settings)
    lines = [_headline(found)]
    if found.now is not None:
        lines.append(f"- the request now under way: {_about(found)}; its usage is not reported yet")
    lines += [f"- {line}" for line in (_pace(found), _learned(found)) if line]
    readings = session.state.window.readings
    if len(readings) > 1:
        lines.append(f"- last reports: {', '.join(f'{one.used_tokens:,}' for one in readings)}")
    if session.state.compacted.count:
        lines.append(f"- compactions so far: {session.state.compacted.count}")
    if found.shares:
        lines += ["", *table(("part", "tokens", "of the window"), _rows(found))]
    if (found.usage.percent or 0) >= HALF:
        lines.append("\n`hud_compact` makes room when this turn ends; files read in parts take less of it.")
    return Answer("\n".join(lines), facts(id, found) | {"compactions": session.state.compacted.count})


def facts(id: str, found: WindowUsage) -> dict[str, Any]:
    """What fills a window, as plain values; `percent` of parts are of the whole window."""
    usage, trend = found.usage, found.trend
    limit = usage.limit_tokens
    shares = [{**msgspec.to_builtins(one), "percent": round(100 * one.tokens / limit, 1)} for one in found.shares]
    return {
        "session": id,
        "model": found.model,
        "used": usage.used_tokens,
        "limit": limit,
        "limit_source": usage.source,
        "usable": usage.usable,
        "percent": None if usage.percent is None else round(usage.percent, 1),
        "band": usage.band.value,
        "parts": shares,
        "parts_of": None if not shares else "reported" if usage.used_tokens is not None else "estimated",
        "trend": msgspec.to_builtins(trend) if trend else None,
        "calls_until_overflow": found.overflow,
        "estimate": {"tokens": found.now, "doubt": _share(found.doubt)} if found.now is not None else None,
        "calibration": {"reports": found.reports, "error": _share(found.error)},
    }


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _headline(found: WindowUsage) -> str:
    usage = found.usage
    size = f"{usage.limit_tokens:,} tokens{' (assumed)' if usage.source == 'assumed' else ''}"
    if usage.used_tokens is None:
        return f"Usage is unknown until the next report; the window has {size}."
    return f"{round(usage.percent or 0, 1):g} % in use: {usage.used_tokens:,} of {size} ({usage.band.value})."


def _about(found: WindowUsage) -> str:
    doubt = f", ±{_percent(found.doubt)} %" if found.doubt is not None else ""
    return f"about {found.now:,} tokens (estimated{doubt})"


def _percent(share: float) -> str:
    return f"{max(0.1, 100 * share):.1f}" if share < 0.1 else f"{100 * share:.0f}"


def _pace(found: WindowUsage) -> str:
    trend = found.trend
    if trend is None:
        return ""
    words = f"{trend.pace}, {trend.rate:+,.0f} tokens a call"
    if trend.calls_left is not None and trend.band is not None:
        words += f", about {_calls(trend.calls_left)} until {trend.band.value}"
    if found.overflow is not None:
        end = "the host compacts" if found.usage.usable is not None else "the window is full"
        words += f", {_calls(found.overflow)} until {end}"
    return words


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def _learned(found: WindowUsage) -> str:
    if found.error is None:
        return "parts are estimated; no report of this model was compared yet" if found.shares else ""
    reports = "1 report" if found.reports == 1 else f"{found.reports} reports"
    return f"estimates of this model were off by {_percent(found.error)} % (median; {reports})"


def _rows(found: WindowUsage) -> list[tuple[str, str, str]]:
    limit = found.usage.limit_tokens
    kept, rest = found.shares[:MOST_PARTS], found.shares[MOST_PARTS:]
    rows = [(one.part + ("" if one.exact else " ~"), one.tokens) for one in kept]
    rows += [(f"{len(rest)} smaller parts ~", sum(one.tokens for one in rest))] if rest else []
    used = sum(one.tokens for one in found.shares)
    if found.reserve:
        rows.append(("kept free for an answer", min(found.reserve, max(0, limit - used))))
    rows.append(("free", max(0, limit - found.reserve - used)))
    return [(name, f"{tokens:,}", f"{100 * tokens / limit:.1f} %") for name, tokens in rows]


def _elsewhere(session: SessionCore, id: str) -> Answer:
    transcript, row = past_of(session).find(id)
    used = [m.usage.used for m in transcript.messages(id) if m.usage is not None and m.usage.used and not m.summary]
    data = {"session": id, "used": used[-1] if used else None, "most": max(used, default=0), "model": row.model}
    if not used:
        return Answer(f"{called(id)} has reported no usage.", data)
    text = f"{called(id)} had {used[-1]:,} tokens in use at its last response, {max(used):,} at most ({row.model})."
    return Answer(text, data)
