"""`hudkit show --window`: what fills the window of a session, how fast it fills, how far off estimates were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.styles import HUD_STYLES, on_terminal, print_lines, put_lines
from hudkit.compose import visible
from hudkit.hud.window_usage import WindowUsage, budget_lines, window_facts, window_usage
from hudkit.tokens.model_facts import UNCERTAIN_WINDOWS

if TYPE_CHECKING:
    from rich.text import Text

    from hudkit.api import HudSession

_BAR_CELLS = 40
"""Cells of the bar of the whole window, on a terminal."""

_ABOUT_PARTS = "~ estimated; the parts add up to what was reported, or to the estimate where that is unknown"
_PART_WIDTH = 28
"""Characters of a part's name."""


def print_window(session: HudSession, seq: int, name: str, *, json: bool) -> None:
    """Print the window of a session as of an event. `name` is how people call the session."""
    usage = window_usage(session.state_at(seq), session.settings)
    if json:
        print(as_json({"schema": SCHEMA, **window_facts(session.id, usage)}))
    elif on_terminal():
        print_lines(_window_head(name, usage), HUD_STYLES)
        put_lines(lambda columns: _bars(usage, columns))
    else:
        print_lines(_window_lines(session.id, usage))


def _bars(usage: WindowUsage, columns: int) -> Iterator[Text]:
    """What is in use as one bar in the colour of its band, and what fills the window, a bar for each part."""
    from rich.text import Text

    from hudkit.agent.terminal.screen import wrap_text
    from hudkit.agent.terminal.window_bar import part_lines, window_text

    rows = list(part_lines(usage, columns))
    if usage.usage.used_tokens is not None:
        yield window_text(usage.usage, cells=_BAR_CELLS)
    if rows:
        yield Text()
        yield from rows
        yield Text()
        yield from wrap_text(_ABOUT_PARTS, columns, style="dim")
    if usage.budget:
        yield Text()
        yield from (Text(line) for line in budget_lines(usage))


def _window_lines(name: str, usage: WindowUsage) -> Iterator[str]:
    """The window as lines: what is in use, its parts, and what else is known."""
    yield from _window_head(name, usage)
    limit = usage.usage.limit_tokens
    used = sum(share.tokens for share in usage.shares)
    rows = [(share.part + ("" if share.exact else " ~"), share.tokens) for share in usage.shares]
    if rows:
        reserve = min(usage.reserve, max(0, limit - used))
        rows += [("kept free for an answer", reserve)] if reserve else []
        rows.append(("free", max(0, limit - reserve - used)))
        yield ""
    for name, tokens in rows:
        yield f"{visible(name)[:_PART_WIDTH]:<{_PART_WIDTH}} {tokens:>9,} {100 * tokens / limit:>5.1f} %"
    if rows:
        yield f"\n{_ABOUT_PARTS}"
    if usage.budget:
        yield ""
        yield from budget_lines(usage)


def _window_head(name: str, window: WindowUsage) -> Iterator[str]:
    usage = window.usage
    size = f"{usage.limit_tokens:,} tokens{f' ({usage.source})' if usage.source in UNCERTAIN_WINDOWS else ''}"
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
