"""The report of the bundled day as a story for somebody who has never seen a HUD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from hudkit.cli.replays.costs import Costs
from hudkit.cli.replays.report import FrameShown, Report, SessionReport
from hudkit.cli.replays.report_text import TerminalStyle, cost_lines, layer_lines, report_width, wrapped
from hudkit.cli.replays.requests import ANCHORED, IN_SYSTEM
from hudkit.cli.replays.survival import CompactionReport

LONGEST = 26
"""Lines of the frame that is shown first."""


def story_lines(report: Report, ink: TerminalStyle, commands: Sequence[tuple[str, str]] = ()) -> Iterator[str]:
    """Yield the lines of the whole story; needs a report with frames.

    `commands` are what to try next, each with what it does.
    """
    day = max(report.sessions, key=lambda session: session.turns)
    yield ink.head("hudkit: a heads-up display for LLM agents, on a recorded day of work")
    yield from _opening(report, day)
    yield ""
    yield from _calm(day, ink)
    yield ""
    yield from _pressed(day, ink)
    yield ""
    yield from _compacted(day, ink)
    yield ""
    yield from _costs(report, day, ink)
    yield ""
    yield ink.head("What this does not show")
    yield from _caveats(day)
    yield ""
    yield ink.head("Next")
    for command, words in commands:
        line = f"  {command:<60}  {words}"
        yield line if len(line) <= report_width() else f"  {command}\n    {words}"


def calm_frame(frames: Sequence[FrameShown]) -> FrameShown:
    """Return a frame of the green band: the first with the most lines that is not long.

    One with changes is taken, if there is one.
    """
    green = [frame for frame in frames if frame.band == "green"] or list(frames)
    short = [frame for frame in green if _lines(frame) <= LONGEST]
    return max(short, key=lambda frame: (bool(frame.deltas), _lines(frame))) if short else min(green, key=_lines)


def _lines(frame: FrameShown) -> int:
    return sum(text.count("\n") + 1 for text in (frame.base, *frame.deltas, frame.tail))


def fullest_frame(frames: Sequence[FrameShown]) -> FrameShown:
    """Return, of the fullest band that was reached, the first frame with the fewest tokens."""
    for band in ("critical", "red", "yellow"):
        in_band = [frame for frame in frames if frame.band == band]
        if in_band:
            return min(in_band, key=lambda frame: frame.tokens)
    return max(frames, key=lambda frame: frame.used_tokens or 0)


def _opening(report: Report, day: SessionReport) -> Iterator[str]:
    yield from wrapped(
        "An agent works in a conversation that fills up, until it is compacted: replaced by a summary. hudkit keeps "
        "what must outlive that (task, todos, open errors, files, decisions) in a log of its own, and puts a short "
        "picture of it, a frame, into every call of the model."
    )
    turns = sum(session.turns for session in report.sessions)
    compactions = sum(session.compactions for session in report.sessions)
    yield from wrapped(
        f"Replayed just now: {len(report.sessions)} sessions of a coding agent as OpenCode recorded them (invented "
        f"project, real recording): {turns} model calls, {compactions} compactions, a window of "
        f"{day.window_tokens:,} tokens. The agent knew of no HUD; all below is derived from what was recorded."
    )


def _calm(day: SessionReport, ink: TerminalStyle) -> Iterator[str]:
    frame = calm_frame(day.frames)
    yield ink.head(
        f"1. A calm moment: call {frame.turn} of {day.turns}, {_fill(frame, day)} of the window in use. "
        f"The frame, {frame.tokens} tokens:"
    )
    yield from layer_lines(frame, ink)
    yield from wrapped(
        f"The first block was written at call {day.epochs[frame.epoch - 1].from_turn}; what changed since follows in "
        "blocks that stay where they were first sent. Text without the tag is not the HUD's, whatever it claims."
    )


def _pressed(day: SessionReport, ink: TerminalStyle) -> Iterator[str]:
    frame = fullest_frame(day.frames)
    epoch = day.epochs[frame.epoch - 1]
    yield ink.head(
        f"2. Under pressure: call {frame.turn}, {_fill(frame, day)} in use ({frame.band}). "
        f"The frame, {frame.tokens} tokens:"
    )
    yield from layer_lines(frame, ink, most=1)
    yield from wrapped(
        f"The fuller the window, the smaller a new base: this one has {epoch.base_tokens} tokens, in which as many "
        f"items are shown as fit; where the others are is named. It is as written at call {epoch.from_turn}: a byte "
        "changed there would make the provider work through all of the conversation behind it again."
    )


def _compacted(day: SessionReport, ink: TerminalStyle) -> Iterator[str]:
    yield ink.head(f"3. What the {_number(len(day.compacted))} compactions did")
    yield (
        f"  {'live items, before → after':<28}{'':<2}"
        + "".join(f"{f'after call {compaction.after_turns}':<26}" for compaction in day.compacted).rstrip()
    )
    kinds = dict.fromkeys(held.kind for compaction in day.compacted for held in compaction.held)
    for kind in kinds:
        yield f"  {kind:<30}" + "".join(f"{_moved(compaction, kind):<26}" for compaction in day.compacted).rstrip()
    yield (
        f"  {'window in use, tokens':<30}"
        + "".join(f"{_fell(compaction, day):<26}" for compaction in day.compacted).rstrip()
    )
    yield from wrapped(" ".join(_kept(day.compacted)))


def _kept(compacted: Sequence[CompactionReport]) -> Iterator[str]:
    lost = sum(len(compaction.lost) for compaction in compacted)
    yield f"{lost} items were lost." if lost else "Nothing was lost."
    again = _twice(compacted)
    if again:
        yield f'The todo "{again}", say, was open before the first and is in the frame after the last.'
    if any(compaction.not_shown for compaction in compacted):
        yield "Items that are not shown are counted in the frame, and one tool call away."


def _costs(report: Report, day: SessionReport, ink: TerminalStyle) -> Iterator[str]:
    yield ink.head(f"4. What it costs: all {len(report.sessions)} sessions, with a provider's prefix cache")
    yield from cost_lines(report.costs)
    first = report.costs[0].variants
    changed = sum(earlier.system_text != two.system_text for earlier, two in pairwise(day.frames))
    yield from wrapped(
        f"in system: the whole frame in the system prompt, anew for each call. It changes with {changed} of "
        f"{day.turns - 1} calls of the long session, and all that is behind it is new to the cache each time: "
        f"× {first[IN_SYSTEM].times_dollars:.2f}.",
        "  ",
        "    ",
    )
    yield from wrapped(
        f"anchored: as shown above; what was sent stays as it is: × {first[ANCHORED].times_dollars:.2f}. "
        f"{_rebased(day)}",
        "  ",
        "    ",
    )


def _rebased(day: SessionReport) -> str:
    """When bases were written anew, and how much of the price were those in mid-conversation."""
    idle = sum(epoch.reason == "idle" for epoch in day.epochs)
    free = (
        f"{_number(idle).capitalize()} times a turn began after ten quiet minutes: the cache had expired anyway, so "
        "a new base cost nothing. "
        if idle
        else ""
    )
    outgrown = [epoch for epoch in day.epochs if epoch.reason == "budget"]
    if not outgrown:
        return free
    again = sum(epoch.again for epoch in outgrown)
    share = ", most of what it adds" if again * 2 > _extra(day.costs[0]) else ""
    times = "Once" if len(outgrown) == 1 else f"{_number(len(outgrown)).capitalize()} times"
    return free + (
        f"{times} the blocks outgrew the HUD's budget and a new base was written: {again:,} tokens "
        f"processed again{share}."
    )


def _extra(costs: Costs) -> int:
    return costs.variants[ANCHORED].processed - costs.variants[0].processed


def _caveats(day: SessionReport) -> Iterator[str]:
    rebuilt = day.reconstruction
    off = f" (median {rebuilt.median_percent:+.1f}% off in tokens)" if rebuilt else ""
    money = (
        f"A bill: requests are rebuilt from the recording{off}, caches simulated by their published rules, prices "
        "are list prices, and calls that write a summary are left out."
    )
    tools = (
        "What agents record themselves: this one had no hud tools. Rules and decisions (derived) were read from "
        "plain words, which finds most, not all. The task shown is the session's first message."
    )
    good = "That the agent works better for it: a recording cannot tell."
    for text in (money, tools, good):
        yield from wrapped(text, "  - ", "    ")


def _fill(frame: FrameShown, day: SessionReport) -> str:
    return "an unknown part" if frame.used_tokens is None else f"{frame.used_tokens / day.window_tokens:.0%}"


def _moved(compaction: CompactionReport, kind: str) -> str:
    held = next((held for held in compaction.held if held.kind == kind), None)
    if held is None:
        return "-"
    shown = "" if held.shown in (None, held.surviving) else f" ({held.shown} shown)"
    return f"{len(held.items)} → {held.surviving}{shown}"


def _fell(compaction: CompactionReport, day: SessionReport) -> str:
    """Tokens in use before a compaction, and at the first report after it."""
    later = (frame.used_tokens for frame in day.frames[compaction.after_turns :] if frame.used_tokens is not None)
    return f"{compaction.used_tokens or 0:,} → {next(later, 0):,}"


def _twice(compacted: Sequence[CompactionReport]) -> str:
    """A todo that was open at the first and at the last compaction, and was shown after the last."""
    if len(compacted) < 2:
        return ""
    first, last = (
        {text for held in compaction.held if held.kind == "open todos" for text in held.items}
        for compaction in (compacted[0], compacted[-1])
    )
    both = sorted(first & last - {*compacted[-1].lost, *compacted[-1].not_shown})
    return both[0] if both else ""


def _number(count: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    return words[count] if count < len(words) else str(count)
