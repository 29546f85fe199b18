"""One recorded session through the HUD, call by call, into its report."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import msgspec

from hudkit.cli.replays.costs import CostMeter, Tariff, sum_sessions, tariffs
from hudkit.cli.replays.player import TranscriptPlayer, Turn
from hudkit.cli.replays.report import (
    SCHEMA,
    BandTokens,
    EpochReport,
    FrameShown,
    Reconstruction,
    Report,
    SessionReport,
    SkippedRecord,
    Spread,
)
from hudkit.cli.replays.requests import ANCHORED, NO_HUD, RequestWriter
from hudkit.cli.replays.survival import compare_compaction as compaction_report
from hudkit.compose import Band
from hudkit.context.caching import CacheRequest, find_divergence
from hudkit.errors import ConfigError
from hudkit.hud import TokenCounter
from hudkit.hud.frame import Frame
from hudkit.tokens import shared_counter as exact_counter
from hudkit.tokens import window_of
from hudkit.transcripts import LlmCall, Message, SessionRow, Transcript

BANDS = (Band.UNKNOWN, Band.GREEN, Band.YELLOW, Band.RED, Band.CRITICAL)


class Options(msgspec.Struct, frozen=True):
    """`window` and `budget` are in tokens (`None`: known from the model, and 2 % of the window); `price_as` names a
    model whose prices to use; `frames` keeps the text of every frame."""

    window: int | None = None
    budget: int | None = None
    price_as: str = ""
    frames: bool = False


Progress = Callable[[int, int, str], None]
"""Told after each call: messages read, messages of this session, the session's title."""


class _Walk:
    """What is noted on the way through a session's calls."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.errors: list[float] = []
        self.again: dict[int, int] = {}
        self._before: CacheRequest | None = None

    def note(self, turn: Turn, requests: Sequence[CacheRequest]) -> None:
        usage = turn.call.message.usage
        if usage is not None and usage.prompt:
            self.errors.append(100 * (requests[NO_HUD].tokens - usage.prompt) / usage.prompt)
        if self.turns and self._before is not None and self.turns[-1].anchored.epoch != turn.anchored.epoch:
            broken = find_divergence(self._before, requests[ANCHORED])
            self.again[turn.anchored.epoch] = broken.again if broken else 0
        self._before = requests[ANCHORED]
        self.turns.append(msgspec.structs.replace(turn, call=LlmCall(turn.call.message, (), ())))


def _session_report(
    row: SessionRow,
    messages: tuple[Message, ...],
    options: Options,
    counter: TokenCounter,
    priced: Sequence[Tariff],
    progress: Progress | None = None,
) -> SessionReport:
    """Replay one session. Raises `BudgetError` where not even the smallest frame fits."""
    player = TranscriptPlayer(row, counter, window=options.window, budget=options.budget)
    scribe = RequestWriter(counter, messages)
    meter = CostMeter(priced)
    walk = _Walk()
    heard = 0
    for turn in player.turns(messages):
        requests = scribe.requests(turn)
        meter.take(requests)
        walk.note(turn, requests)
        heard += len(turn.call.fresh)
        if progress is not None:
            progress(heard, len(messages), row.title)
    turns = walk.turns
    model = row.model or next((m.model for m in messages if m.model), "")
    window = window_of(model, host=options.window)
    return SessionReport(
        id=row.id,
        title=row.title,
        parent_id=row.parent_id,
        model=model,
        window_tokens=window.limit_tokens,
        window_source="given" if window.source == "host" else window.source,
        counter=counter.name,
        messages=len(messages),
        turns=len(turns),
        user_turns=sum(message.role == "user" for message in messages) - player.compactions,
        compactions=player.compactions,
        events=dict(sorted(player.events.items())),
        bands=_bands(turns),
        epochs=_epochs(player, turns, walk.again),
        deltas=len({(turn.anchored.epoch, delta.id) for turn in turns for delta in turn.anchored.deltas}),
        left_out=sum(bool(turn.anchored.omitted) for turn in turns),
        costs=meter.read(),
        reconstruction=_reconstruction(walk.errors, scribe.system_tokens),
        compacted=tuple(
            compaction_report(
                compaction, _after(turns, compaction.turns), counter.count(compaction.after.compacted.summary)
            )
            for compaction in player.compacted
        ),
        frames=tuple(_shown(turn) for turn in turns) if options.frames else (),
    )


def _after(turns: Sequence[Turn], before: int) -> Frame | None:
    return turns[before].anchored if before < len(turns) else None


def _bands(turns: Sequence[Turn]) -> tuple[BandTokens, ...]:
    rows = []
    for band in BANDS:
        alike = [turn for turn in turns if turn.anchored.band is band]
        if alike:
            anchored = _spread([turn.anchored.tokens for turn in alike])
            rows.append(BandTokens(band.value, len(alike), anchored, _spread([turn.system.tokens for turn in alike])))
    return tuple(rows)


def _spread(values: Sequence[int]) -> Spread:
    return Spread(min(values), round(median(values)), max(values))


def _epochs(player: TranscriptPlayer, turns: Sequence[Turn], again: Mapping[int, int]) -> tuple[EpochReport, ...]:
    calls = Tally(turn.anchored.epoch for turn in turns)
    first = {turn.anchored.epoch: turn.number for turn in reversed(turns)}
    deltas = {turn.anchored.epoch: len(turn.anchored.deltas) for turn in turns}
    return tuple(
        EpochReport(
            reason=base.reason,
            from_turn=first[base.epoch],
            calls=calls[base.epoch],
            deltas=deltas[base.epoch],
            base_tokens=base.tokens,
            density=base.density,
            left_out=len(base.omitted),
            again=again.get(base.epoch, 0),
        )
        for base in player.epochs()
    )


def _reconstruction(errors: Sequence[float], system_tokens: int) -> Reconstruction | None:
    if not errors:
        return None
    worst = sorted(errors, key=_size)[-1]
    return Reconstruction(len(errors), system_tokens, round(median(errors), 2), round(worst, 2))


def _size(number: float) -> float:
    return abs(number)


def _shown(turn: Turn) -> FrameShown:
    frame, system = turn.anchored, turn.system
    return FrameShown(
        turn=turn.number,
        band=frame.band.value,
        used_tokens=turn.used,
        density=frame.density.value,
        epoch=frame.epoch,
        tokens=frame.tokens,
        base=frame.base,
        deltas=tuple(delta.text for delta in frame.deltas),
        tail=frame.tail,
        news=bool(frame.deltas) and frame.deltas[-1].anchor == turn.last,
        left_out=len(frame.omitted),
        system_density=system.density.value,
        system_tokens=system.tokens,
        system_text=system.text,
    )


def replay(
    transcript: Transcript,
    options: Options | None = None,
    *,
    session: str | None = None,
    counter: TokenCounter | None = None,
    progress: Progress | None = None,
) -> Report:
    """Replay every session, or the one whose id is or contains `session`, and return the report.

    Two runs return equal reports. Raises `ConfigError` for an unknown session or model, `BudgetError` where a frame
    cannot fit, `TranscriptError` where the transcript cannot be read.
    """
    options = options or Options()
    counter = counter or exact_counter()
    priced = tariffs(options.price_as)
    rows = transcript.sessions()
    if session is not None:
        rows = (_pick(rows, session),)
    sessions = tuple(
        _session_report(row, tuple(transcript.messages(row.id)), options, counter, priced, progress) for row in rows
    )
    skipped = tuple(SkippedRecord(record.table, record.id, record.reason) for record in transcript.skipped)
    return Report(SCHEMA, sessions, sum_sessions(report.costs for report in sessions), skipped)


def _pick(rows: Sequence[SessionRow], asked: str) -> SessionRow:
    exact = [row for row in rows if row.id == asked]
    alike = exact or [row for row in rows if asked in row.id]
    if len(alike) == 1:
        return alike[0]
    some = ", ".join(row.id for row in (alike or rows)[:8])
    raise ConfigError(f"{len(alike) or 'no'} sessions match {asked!r}", hint=f"Sessions: {some}")
