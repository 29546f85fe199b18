"""`hudkit show --window`: what fills the window of a session, in bars for a person or as facts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from hudkit.api import HudSession
from hudkit.compose import visible
from hudkit.hud.window_usage import WindowUsage, window_usage
from hudkit.sections.state import HudState
from hudkit.tools.window_usage import window_facts

WIDTH = 40
"""Characters of the longest bar."""
NAMES = 28
"""Characters of a part's name."""


def facts_of(session: HudSession, state: HudState) -> Mapping[str, object]:
    """The facts of `--json`."""
    return window_facts(session.id, window_usage(state, session.settings))


def lines_of(session: HudSession, state: HudState) -> Iterator[str]:
    """The window as lines: what is in use, a bar for each part, and what else is known."""
    usage = window_usage(state, session.settings)
    yield from _head(session.id, usage)
    limit = usage.usage.limit_tokens
    used = sum(share.tokens for share in usage.shares)
    rows = [(share.part + ("" if share.exact else " ~"), share.tokens) for share in usage.shares]
    if rows:
        reserve = min(usage.reserve, max(0, limit - used))
        rows += [("kept free for an answer", reserve)] if reserve else []
        rows.append(("free", max(0, limit - reserve - used)))
        yield ""
    most = max((tokens for _, tokens in rows), default=0)
    for name, tokens in rows:
        bar = _bar(tokens, most)
        yield f"{visible(name)[:NAMES]:<{NAMES}} {tokens:>9,} {100 * tokens / limit:>5.1f} %{bar}"
    if rows:
        yield "\n~ estimated; the parts add up to what was reported, or to the estimate where that is unknown"


def _head(name: str, window: WindowUsage) -> Iterator[str]:
    usage = window.usage
    size = f"{usage.limit_tokens:,} tokens{' (assumed)' if usage.source == 'assumed' else ''}"
    if usage.used_tokens is None:
        yield f"{visible(name)}: usage is unknown until the next report; the window has {size}"
    else:
        share = f"{usage.percent or 0:.1f} % in use, {usage.used_tokens:,} of {size}"
        yield f"{visible(name)}: {share}, {usage.band.value}"
    if window.now is not None:
        doubt = f", ±{100 * window.doubt:.1f} %" if window.doubt is not None else ""
        yield f"request under way: about {window.now:,} tokens (estimated{doubt})"
    if window.trend is not None:
        more = "" if window.overflow is None else f"; {window.overflow} calls until there is no room"
        yield f"trend: {window.trend.pace}, {window.trend.rate:+,.0f} tokens a call{more}"
    if window.error is not None:
        model = f" {visible(window.model)}" if window.model else ""
        yield f"calibration: estimates for{model} were off by {100 * window.error:.1f} % ({window.reports} reports)"


def _bar(tokens: int, most: int) -> str:
    """A bar on a terminal; text that is piped or dumb has none."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    if plain or not most:
        return ""
    return "  " + "█" * max(1 if tokens else 0, round(WIDTH * tokens / most))
