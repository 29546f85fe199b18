"""A report in words and tables, for people: at most 98 columns, no colour of its own."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hudkit.cli.styles import output_columns
from hudkit.compose import visible
from hudkit.context.caching.cache_text import CACHE_RULES, EPOCH_REASONS

if TYPE_CHECKING:  # who only takes its words, as `show --cache`, does not pay for playing a history
    from hudkit.cli.replays.costs import Costs
    from hudkit.cli.replays.report import FrameShown, Report, SessionReport, Spread
    from hudkit.cli.replays.survival import CompactionReport

WIDTH = 98

TRIGGERS = {"auto": "automatic", "manual": "asked for", "overflow": "the window had overflowed"}
NOTE_COSTS = (
    "tokens sent: all of the requests; processed: those that no cache gave back. Costs are simulated from the "
    "transcript with list prices, answers included; they are not a bill. Calls that write a summary are left out of "
    "every figure."
)
NOTE_PLACES = (
    "anchored: a base in the system prompt that stays as it is for an epoch, and changes as small blocks (deltas), "
    "each behind the message that was the last when it was first sent. in system: all of it in the system prompt, "
    "anew for each call."
)


class TerminalStyle:
    """Headings stand out where the output is a terminal that may be coloured; elsewhere text is only text."""

    def __init__(self, on: bool = False) -> None:
        self._on = on

    def head(self, text: str) -> str:
        """Return a heading: bold where the output is coloured."""
        return f"\x1b[1m{text}\x1b[0m" if self._on else text

    def dim(self, text: str) -> str:
        """Return text of less weight: dim where the output is coloured."""
        return f"\x1b[2m{text}\x1b[0m" if self._on else text


def report_width() -> int:
    """Return the columns of a report: 98, or the terminal's where that is narrower."""
    return min(WIDTH, output_columns(WIDTH))


def wrapped(text: str, indent: str = "", hanging: str | None = None) -> list[str]:
    """Wrap a paragraph at the report's width, or the terminal's where that is less, and return its lines.

    `indent` begins the first line, `hanging` the others (default: the same).
    """
    after = indent if hanging is None else hanging
    width = report_width()
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
    )


def report_lines(report: Report, ink: TerminalStyle) -> Iterator[str]:
    """Yield the lines of the whole report."""
    for session in report.sessions:
        yield from _session_lines(session, ink)
        yield ""
    if len(report.sessions) > 1:
        yield ink.head(f"All {len(report.sessions)} sessions")
        yield from cost_lines(report.costs)
        yield ""
    if report.skipped:
        yield ink.head(f"{len(report.skipped)} records could not be read and are missing above")
        for record in report.skipped[:5]:
            yield f"  {visible(record.table)} {visible(record.id)}: {visible(record.reason)}"[:WIDTH]
        yield ""
    yield from wrapped(NOTE_COSTS)
    yield from wrapped(NOTE_PLACES)


def _session_lines(session: SessionReport, ink: TerminalStyle) -> Iterator[str]:
    """One session: what was shown, what it would have cost, what was kept."""
    yield ink.head(visible(session.title or session.id)[:WIDTH])
    yield f"{visible(session.id)}" + (f", started by {visible(session.parent_id)}" if session.parent_id else "")
    calls = _many(session.turns, "model call")
    yield f"{calls}, {_many(session.user_turns, 'user message')}, {_many(session.compactions, 'compaction')}"
    yield f"window: {session.window_tokens:,} tokens, {_source(session)}"
    if not session.turns:
        return
    yield ""
    yield from _band_lines(session)
    yield ""
    yield from cost_lines(session.costs)
    yield ""
    yield from _epoch_lines(session)
    for compaction in session.compacted:
        yield ""
        yield from _compaction_lines(compaction)
    yield ""
    counts = ", ".join(f"{name} {count}" for name, count in session.events.items())
    yield from wrapped(f"events derived: {counts}", "  ", "    ")
    rebuilt = session.reconstruction
    if rebuilt:
        yield from wrapped(
            f"requests rebuilt from the transcript: {rebuilt.median_percent:+.1f}% of the reported tokens in the "
            f"middle, {rebuilt.worst_percent:+.1f}% at worst",
            "  ",
            "    ",
        )


def _band_lines(session: SessionReport) -> Iterator[str]:
    """HUD tokens by band."""
    columns = "  least  median    most"
    yield f"  {'HUD tokens':<24}{'  anchored':<26}  in system"
    yield f"  {'band':<10}{'calls':>8}      {columns:<26}{columns}"
    for band in session.bands:
        yield f"  {band.band:<10}{band.calls:>8}      {_spread(band.anchored):<26}{_spread(band.system)}"
    if session.left_out:
        yield f"  parts of the HUD were left out for want of budget in {_many(session.left_out, 'call')}"


def cost_lines(costs: Sequence[Costs]) -> Iterator[str]:
    """Yield the variants under the first cache as a table, the others as a line each."""
    if not costs:
        return
    first, *others = costs
    cell = 14 if report_width() == WIDTH else 12
    heads = ("tokens sent", "processed", "from cache", "dollars")
    yield f"  {'input':<12}{''.join(f'{head:>{cell}}' for head in heads)}{'× no HUD':>{cell - 2}}"
    for variant in first.variants:
        yield (
            f"  {variant.variant:<12}{variant.input_tokens:>{cell},}{variant.processed:>{cell},}"
            f"{variant.hit_ratio:>{cell}.0%}{_dollars(variant.dollars):>{cell}}{variant.times_dollars:>{cell - 2}.2f}"
        )
    yield f"  ({CACHE_RULES.get(first.cache, first.cache)}; prices of {first.model}, {first.source})"
    for cost in others:
        ratios = ", ".join(f"{variant.variant} × {variant.times_dollars:.2f}" for variant in cost.variants[1:])
        dollars = _dollars(cost.variants[0].dollars)
        yield f"  {CACHE_RULES.get(cost.cache, cost.cache)}, {cost.model}: no HUD {dollars}, {ratios}"


def _compaction_lines(compaction: CompactionReport) -> Iterator[str]:
    """What was live before a compaction, and where it was after it."""
    used = f" at {compaction.used_tokens:,} tokens" if compaction.used_tokens else ""
    how = TRIGGERS.get(compaction.trigger, compaction.trigger or "unknown why")
    yield f"  compaction after call {compaction.after_turns} ({how}{used})"
    yield f"    {'':<16}{'before':>8}{'after':>8}   in the next frame"
    for held in compaction.held:
        shown = "no call followed" if held.shown is None else str(held.shown)
        yield f"    {held.kind:<16}{len(held.items):>8}{held.surviving:>8}   {shown}"
    for text in compaction.lost:
        yield f"    LOST: {visible(text)}"[:WIDTH]
    if compaction.not_shown:
        names = ", ".join(visible(text)[:40] for text in compaction.not_shown[:4])
        more = f" and {len(compaction.not_shown) - 4} more" if len(compaction.not_shown) > 4 else ""
        yield from wrapped(f"counted but not shown: {names}{more}", "    ", "      ")


def frame_lines(session: SessionReport, frame: FrameShown, ink: TerminalStyle) -> Iterator[str]:
    """Yield the lines of one frame as the agent would have seen it."""
    used = "usage unknown" if frame.used_tokens is None else f"{frame.used_tokens:,} tokens used"
    yield ink.head(
        f"call {frame.turn} of {session.turns}: {used}, {frame.band}; {frame.tokens} HUD tokens, "
        f"epoch {frame.epoch}, {_many(len(frame.deltas), 'delta')}"
    )
    yield from layer_lines(frame, ink)
    yield ""


def layer_lines(frame: FrameShown, ink: TerminalStyle, *, most: int | None = None) -> Iterator[str]:
    """Yield the layers of a frame, each under the place where it stands; of the deltas only the last `most`."""
    yield ink.dim("  in the system prompt:")
    yield from boxed(frame.base)
    hidden = 0 if most is None else max(len(frame.deltas) - most, 0)
    if hidden:
        yield ink.dim(f"  behind earlier messages: {_many(hidden, 'block')} like the next, not printed here")
    for number, text in enumerate(frame.deltas[hidden:], start=hidden + 1):
        new = frame.news and number == len(frame.deltas)
        yield ink.dim("  behind the last message, new:" if new else "  behind an earlier message:")
        yield from boxed(text)
    if frame.tail:
        yield ink.dim("  behind the last message, for this call only:")
        yield from boxed(frame.tail)


def boxed(text: str) -> Iterator[str]:
    """Yield the lines of a text as it is, with a bar at their left; longer lines are wrapped."""
    for line in text.rstrip("\n").split("\n"):
        hanging = "  " if line.startswith("- ") else ""
        pieces = textwrap.wrap(
            line, report_width() - 4, subsequent_indent=hanging, break_on_hyphens=False, drop_whitespace=True
        )
        for piece in pieces or [""]:
            yield f"  │ {piece}".rstrip()


def _epoch_lines(session: SessionReport) -> Iterator[str]:
    yield "  bases of the anchored HUD; what lies behind a new one is sent again"
    yield f"  {'from call':<10}{'calls':>7}{'deltas':>8}{'tokens':>8}{'again':>8}   {'density':<9} begun because"
    for epoch in session.epochs:
        yield (
            f"  {epoch.from_turn:<10}{epoch.calls:>7}{epoch.deltas:>8}{epoch.base_tokens:>8}{epoch.again:>8,}   "
            f"{epoch.density:<9} {EPOCH_REASONS.get(epoch.reason, epoch.reason)}"
        )


def _source(session: SessionReport) -> str:
    match session.window_source:
        case "given":
            return "as given"
        case "assumed":
            model = f"the model {visible(session.model)} is not known" if session.model else "no model is recorded"
            return f"ASSUMED: {model}; give the right one with --window"
        case _:
            return f"that of {visible(session.model)}"


def _spread(spread: Spread) -> str:
    return f"{spread.least:>7}  {spread.median:>6}  {spread.most:>6}"


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
