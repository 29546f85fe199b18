"""The window in use as a bar: in the line below the prompt, in `/context`, and on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from rich.text import Text

from hudkit.agent.terminal.screen import clip
from hudkit.compose import Band
from hudkit.hud.window_usage import WindowUsage
from hudkit.sections.document_builder import short_token_count
from hudkit.tokens import Usage
from hudkit.tokens.model_facts import UNCERTAIN_WINDOWS
from hudkit.tokens.usage import FORECAST_CALLS

BAND_STYLES = {
    Band.UNKNOWN: "dim",
    Band.GREEN: "green",
    Band.YELLOW: "yellow",
    Band.RED: "red",
    Band.CRITICAL: "bold red",
}
"""How a band of the window looks."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
_PART_CELLS = 28
"""Cells of the name of a part of the window."""

_FIGURE_CELLS = 20
"""Cells of a part's tokens and per cent, with what is between them."""

_LEAST_BAR, _MOST_BAR = 8, 40


def bar(share: float, cells: int, style: str) -> Text:
    """Return a bar of so many cells, of which `share` (0 to 1) is filled, to an eighth of a cell."""
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    # what is in use at all can be seen
    eighths = max(1, eighths) if share > 0 else 0
    filled, rest = divmod(eighths, 8)
    full = "█" * filled + (_EIGHTHS[rest] if rest else "")
    return Text.assemble((full, style), ("░" * (cells - len(full)), "dim"))


def window_figures(used: int | None, limit: int, source: str) -> str:
    """Return the window in use as `used/limit per cent`; what is not known, or assumed, is said to be."""
    size = short_token_count(limit) + (f" {source}" if source in UNCERTAIN_WINDOWS else "")
    if used is None:
        return f"unknown/{size}"
    return f"{short_token_count(used)}/{size} {used * 100 / limit:.0f}%"


def window_text(usage: Usage, cells: int = 8) -> Text:
    """Return the window in use with a bar in the colour of its band; without the bar while the usage is unknown."""
    figures = window_figures(usage.used_tokens, usage.limit_tokens, usage.source)
    if usage.used_tokens is None:
        return Text(f"window {figures}")
    style = BAND_STYLES[usage.band]
    return Text.assemble("window ", bar(usage.used_tokens / usage.limit_tokens, cells, style), " ", (figures, style))


def forecast_text(usage: WindowUsage, used: int | None) -> str:
    """Return when there will be no room, with `used` tokens in use now; empty where too little is known to say so."""
    if used is None or usage.trend is None or usage.trend.rate <= 0:
        return ""
    # only of a host that compacts is it known what part of the window is usable
    usable = usage.usage.usable
    left = (usage.usage.limit_tokens if usable is None else usable) - used
    calls = max(1, ceil(left / usage.trend.rate))
    if calls > FORECAST_CALLS:
        return ""
    end = "the window is full" if usable is None else "a compaction"
    return f"about {calls} {'call' if calls == 1 else 'calls'} until {end}"


def part_lines(usage: WindowUsage, columns: int) -> Iterator[Text]:
    """Yield what fills the window, a bar for each part; nothing where no part is known.

    Bars are shares of the largest part. Parts with `~` are estimates.
    """
    limit = usage.usage.limit_tokens
    rows = [(part.part + ("" if part.exact else " ~"), part.tokens, "cyan") for part in usage.shares]
    if not rows:
        return
    in_use = sum(part.tokens for part in usage.shares)
    reserve = min(usage.reserve, max(0, limit - in_use))
    rows += [("kept free for an answer", reserve, "yellow")] if reserve else []
    rows.append(("free", max(0, limit - reserve - in_use), "dim"))
    largest = max(tokens for _, tokens, _ in rows)
    cells = min(_MOST_BAR, columns - _PART_CELLS - _FIGURE_CELLS)
    for name, tokens, style in rows:
        figures = f"{clip(name, _PART_CELLS):<{_PART_CELLS}} {tokens:>9,} {100 * tokens / limit:>5.1f} %"
        drawn = _solid_bar(tokens / largest, cells, style) if largest and cells >= _LEAST_BAR else Text()
        yield Text.assemble(figures, "  " if drawn else "", drawn)


def _solid_bar(share: float, cells: int, style: str) -> Text:
    """A bar without its empty part: the ends of several are compared."""
    return Text("█" * max(1 if share else 0, round(cells * share)), style)
