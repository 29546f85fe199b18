"""One recorded session of Claude Code or Codex explained: what its compactions dropped and what the HUD would have
kept, what broke the prefix of its requests, what it cost.

The file is read once for its calls, which needs few of its fields, and once more for what was said if it has a
compaction. The messages of a session become events, as they do while a host runs, and those a state; what was true
when a compaction began is looked for in what the host left in the window. A message that a rewind took back is not
heard. Of the HUD one frame is composed at each compaction: the first that the model would have been sent behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path, PurePosixPath

import msgspec

from hudkit.api import Hud
from hudkit.cli.replays.player import ReplayClock, anchor, role
from hudkit.cli.replays.survival import live_items, names_item, plain_words, seen_words
from hudkit.context.caching import RecordedBreak, find_recorded_break
from hudkit.context.caching.recorded_breaks import policy_of
from hudkit.errors import BudgetError, HudkitError
from hudkit.hud import TokenCounter
from hudkit.ingest import KnownFacts, derive_facts
from hudkit.ingest.host_tools import neutral_call
from hudkit.ingest.tool_calls import finished_call, relative_path
from hudkit.sections.state import HudState
from hudkit.tokens import Prices, known_prices, window_of
from hudkit.transcripts import Message, SessionRow, ToolPart
from hudkit.transcripts.history_segments import HistorySegment, read_segments
from hudkit.transcripts.prompt_window import prompt_blocks
from hudkit.transcripts.recorded_calls import CallReader, ReadCounts, TranscriptCall

MAX_LISTED = 50
"""Items, breaks or repeated calls that a report lists by name; the counts have all."""

MAX_ITEM = 200
"""Characters of an item in a report."""

HOUR_WRITE_FACTOR = 2.0
"""The price of a token that the cache keeps for an hour, as a multiple of an input token's."""


class DroppedItem(msgspec.Struct, frozen=True):
    """Something that was live when a compaction began and that the host did not leave in the window.

    `kept`: the HUD would still have it; `shown`: the first frame behind the compaction shows it (`None`: no call
    followed).
    """

    kind: str
    text: str
    surviving: bool = msgspec.field(name="kept")
    shown: bool | None = None


class KindSums(msgspec.Struct):
    """Live items of one kind when a compaction began, or several: how many, how many of them the host left in the
    window, and of the others, which it dropped, how many the HUD would have kept, and shown with the next call."""

    kind: str
    items: int = 0
    in_window: int = 0
    dropped: int = 0
    surviving: int = msgspec.field(name="kept", default=0)
    shown: int = 0

    def add(self, other: KindSums) -> None:
        """Add another sum of the same kind."""
        self.items += other.items
        self.in_window += other.in_window
        self.dropped += other.dropped
        self.surviving += other.surviving
        self.shown += other.shown


class CauseSums(msgspec.Struct):
    """Breaks of one cause: how many, the tokens that were processed again, and what they cost."""

    cause: str
    breaks: int = 0
    again: int = 0
    usd: float = 0.0

    def add(self, other: CauseSums) -> None:
        """Add another sum of the same cause."""
        self.breaks += other.breaks
        self.again += other.again
        self.usd += other.usd


class ExplainedCompaction(msgspec.Struct, frozen=True):
    """One compaction of a session, `after_calls` calls into it; tokens are the host's, `None` where it tells none.

    `kinds` has what was live by kind: how much of it stands in what the host left, its summary or messages that it
    kept, and how much of the rest the HUD would have kept; `dropped` lists at most 50 of that rest. `repeated` names
    what the agent read or ran once more afterwards. `summary_tokens` is 0 where the summary is not readable.
    """

    trigger: str
    time: int
    after_calls: int
    before_tokens: int | None
    after_tokens: int | None
    dropped_messages: int
    kept_messages: int
    summary_tokens: int
    kinds: tuple[KindSums, ...]
    dropped: tuple[DroppedItem, ...]
    repeated: tuple[str, ...] = ()
    repeats: int = 0

    @property
    def dropped_items(self) -> int:
        """Return how many live items the host did not leave in the window."""
        return sum(kind.dropped for kind in self.kinds)


class TokenSums(msgspec.Struct, frozen=True):
    """Tokens of several calls as the host reported them, and what they cost at list prices.

    `unpriced` calls are of models without a list price, and are missing in `usd`.
    """

    calls: int = 0
    fresh: int = 0
    read: int = 0
    written: int = 0
    output: int = 0
    usd: float = 0.0
    unpriced: int = 0

    def plus(self, other: TokenSums) -> TokenSums:
        """Return both together."""
        return TokenSums(
            self.calls + other.calls,
            self.fresh + other.fresh,
            self.read + other.read,
            self.written + other.written,
            self.output + other.output,
            self.usd + other.usd,
            self.unpriced + other.unpriced,
        )


class SkippedLines(msgspec.Struct, frozen=True):
    """Lines that were passed over: broken JSON, a last line that is half written, and records of unknown kinds."""

    broken: int = 0
    half_written: int = 0
    unknown: dict[str, int] = {}

    @property
    def total(self) -> int:
        """Return how many there are."""
        return self.broken + self.half_written + sum(self.unknown.values())


class SessionHistory(msgspec.Struct, frozen=True):
    """One session explained. `calls` are model calls, `prompts` what the user said; times are Unix ms.

    `models` has the tokens by model; `host_usd` is what the host itself counted (`None`: it does not tell), its
    requests for summaries and titles included, which it does not record. `causes` sums up all breaks of the prefix,
    `breaks` lists at most 50 of them.
    """

    host: str
    id: str
    file: str
    title: str
    parent_id: str
    directory: str
    started: int
    ended: int
    window_tokens: int
    calls: int
    prompts: int
    total: TokenSums
    models: dict[str, TokenSums]
    host_usd: float | None
    compactions: tuple[ExplainedCompaction, ...]
    causes: tuple[CauseSums, ...]
    breaks: tuple[RecordedBreak, ...]
    lines: int
    bytes: int
    skipped: SkippedLines
    failed: str = ""
    """Why the session could not be explained whole; nothing where it was."""


class HistoryOptions(msgspec.Struct, frozen=True):
    """`window` and `budget` are in tokens (`None`: known from the model, and 2 % of the window)."""

    window: int | None = None
    budget: int | None = None


def explain_session(
    row: SessionRow, path: Path, counter: TokenCounter, options: HistoryOptions | None = None
) -> SessionHistory:
    """Explain the session of a file of Claude Code or Codex.

    Raises `OSError` where the file cannot be read; what is wrong with its contents is named in what is returned.
    """
    options = options or HistoryOptions()
    reader = CallReader(row.host, path)
    costs = _CallCosts()
    for call in reader.calls():
        costs.take(call)
    window = window_of(costs.model or row.model, host=options.window or reader.window).limit_tokens
    compactions: tuple[ExplainedCompaction, ...] = ()
    failed = ""
    if reader.compactions:
        try:
            compactions = tuple(_compactions(row, path, counter, window, options))
        except (HudkitError, ValueError, ArithmeticError) as error:
            failed = str(error)[:300]
    return SessionHistory(
        host=row.host,
        id=row.id,
        file=str(path),
        title=row.title,
        parent_id=row.parent_id,
        directory=row.directory,
        started=reader.first,
        ended=reader.last,
        window_tokens=window,
        calls=costs.number,
        prompts=reader.prompts,
        total=costs.total(),
        models=costs.models,
        host_usd=reader.host_usd,
        compactions=compactions,
        causes=tuple(costs.causes.values()),
        breaks=tuple(costs.breaks),
        lines=reader.counts.lines,
        bytes=reader.counts.bytes,
        skipped=_skipped(reader.counts),
        failed=failed,
    )


def _skipped(counts: ReadCounts) -> SkippedLines:
    return SkippedLines(counts.broken, counts.half_written, dict(counts.unknown.most_common()))


# -- calls and breaks --------------------------------------------------------------------------------------------


class _CallCosts:
    """What the calls of a session cost, and what broke their prefix."""

    def __init__(self) -> None:
        self.models: dict[str, TokenSums] = {}
        self.breaks: list[RecordedBreak] = []
        self.causes: dict[str, CauseSums] = {}
        self.number = 0
        self.model = ""
        self._before: dict[str, TranscriptCall] = {}

    def take(self, call: TranscriptCall) -> None:
        """Take up the next call."""
        self.number += 1
        self.model = call.model or self.model
        prices = known_prices(call.model)
        spent = call_tokens(call, prices)
        self.models[call.model] = self.models.get(call.model, TokenSums()).plus(spent)
        # Requests for another purpose have a prefix of their own.
        source = call.request.source if call.request is not None else ""
        before = self._before.get(source)
        self._before[source] = call
        broken = find_recorded_break(before, call, self.number) if before is not None else None
        if broken is not None:
            self._note(broken, call, prices)

    def total(self) -> TokenSums:
        """Return the sums over all models."""
        total = TokenSums()
        for sums in self.models.values():
            total = total.plus(sums)
        return total

    def _note(self, broken: RecordedBreak, call: TranscriptCall, prices: Prices | None) -> None:
        if prices is not None:
            anew = prices.cache_write if policy_of(call).explicit else prices.input
            usd = broken.again * max(0.0, anew - prices.cached_read) / 1_000_000
            broken = msgspec.structs.replace(broken, usd=round(usd, 6))
        self.causes.setdefault(broken.cause, CauseSums(broken.cause)).add(
            CauseSums(broken.cause, 1, broken.again, broken.usd or 0.0)
        )
        if len(self.breaks) < MAX_LISTED:
            self.breaks.append(broken)


def call_tokens(call: TranscriptCall, prices: Prices | None) -> TokenSums:
    """Return the tokens of one call and what they cost at these prices (`None`: none are known)."""
    usage = call.usage
    output = max(usage.output, usage.used - usage.prompt)
    sums = TokenSums(1, usage.input, usage.cache_read, usage.cache_write, output, 0.0, int(prices is None))
    if prices is None:
        return sums
    hour = min(call.hour_tokens, usage.cache_write)
    usd = usage.input * prices.input + usage.cache_read * prices.cached_read + output * prices.output
    usd += (usage.cache_write - hour) * prices.cache_write + hour * HOUR_WRITE_FACTOR * prices.input
    return msgspec.structs.replace(sums, usd=usd / 1_000_000)


# -- compactions -------------------------------------------------------------------------------------------------


def _compactions(
    row: SessionRow, path: Path, counter: TokenCounter, window: int, options: HistoryOptions
) -> Iterator[ExplainedCompaction]:
    follower = _StateFollower(row, counter, window, options.budget)
    for segment in read_segments(row, path):
        yield from follower.take(segment)
    yield from follower.end()


class _StateFollower:
    """Follows the state of a session through its segments, from one compaction to the next."""

    def __init__(self, row: SessionRow, counter: TokenCounter, window: int, budget: int | None) -> None:
        self._row = row
        self._counter = counter
        self._window = window
        self._budget = budget
        self._known = KnownFacts()
        self._clock = ReplayClock(row.id)
        hud = Hud.in_memory(clock=self._clock.clock, ids=self._clock.ids, counter=counter)
        self._session = hud.session("recorded")
        self._texts: dict[str, str] = {}
        self._done: set[str] = set()
        self._calls = 0
        self._open: ExplainedCompaction | None = None
        self._repeated: dict[str, int] = {}

    def take(self, segment: HistorySegment) -> Iterator[ExplainedCompaction]:
        """Hear the messages up to a compaction or the end; yield the compaction before it, which is whole now."""
        for message in segment.messages:
            self._hear(message)
            self._texts[message.id] = _text_of(message)
            self._calls += message.role == "assistant" and not message.summary
            self._note_work(message)
        if segment.summary is None:
            return
        yield from self.end()
        before = self._session.state
        for own in filter(None, (segment.marker, segment.summary)):
            self._hear(own)
        self._open = self._compaction(segment, before)
        self._texts = {id: text for id, text in self._texts.items() if id in segment.remaining}

    def end(self) -> Iterator[ExplainedCompaction]:
        """Yield the last compaction with what was done again behind it."""
        if self._open is not None:
            names = tuple(sorted(self._repeated, key=lambda name: -self._repeated[name])[:MAX_LISTED])
            yield msgspec.structs.replace(self._open, repeated=names, repeats=sum(self._repeated.values()))
        self._open, self._repeated = None, {}

    def _hear(self, message: Message) -> None:
        self._known, facts = derive_facts(self._row, message, self._known, limit_tokens=self._window)
        # In one batch where they have one origin and time: each write of the log costs more than a fact.
        for (self._clock.at, origin), together in groupby(
            facts, lambda fact: (fact.timestamp or message.created, fact.origin)
        ):
            self._session.append(*(fact.payload for fact in together), origin=origin)

    def _note_work(self, message: Message) -> None:
        for part in message.parts:
            name = _work_name(self._row, part) if isinstance(part, ToolPart) else ""
            if not name:
                continue
            # A file that is edited is another one: reading it again is no repetition.
            if name.startswith("edit "):
                self._done.discard(f"read {name.removeprefix('edit ')}")
            elif self._open is not None and name in self._done:
                self._repeated[name] = self._repeated.get(name, 0) + 1
            self._done.add(name)

    def _compaction(self, segment: HistorySegment, before: HudState) -> ExplainedCompaction:
        after = live_items(self._session.state)
        frame = self._first_frame(segment)
        kept_texts = (self._texts[id] for id in segment.remaining if id in self._texts)
        left = plain_words("\n".join([*segment.texts, *kept_texts]))
        kinds: list[KindSums] = []
        dropped: list[DroppedItem] = []
        for kind, items in live_items(before).items():
            sums = KindSums(kind, len(items))
            for text in items:
                if names_item(_searched(kind, text), left):
                    sums.in_window += 1
                    continue
                item = DroppedItem(
                    kind=kind,
                    text=text[:MAX_ITEM],
                    surviving=text in after.get(kind, ()),
                    shown=names_item(text, frame) if segment.has_call else None,
                )
                sums.add(KindSums(kind, 0, 0, 1, item.surviving, bool(item.shown)))
                if len(dropped) < MAX_LISTED:
                    dropped.append(item)
            kinds.append(sums)
        remaining = sum(id in self._texts for id in segment.remaining)
        return ExplainedCompaction(
            trigger=segment.trigger,
            time=segment.time,
            after_calls=self._calls,
            before_tokens=segment.before_tokens,
            after_tokens=segment.after_tokens,
            dropped_messages=max(len(self._texts) - remaining, 0),
            kept_messages=remaining,
            summary_tokens=self._counter.count(segment.texts[0]) if segment.texts else 0,
            kinds=tuple(kinds),
            dropped=tuple(dropped),
        )

    def _first_frame(self, segment: HistorySegment) -> str:
        """The words of the frame that the first call behind the compaction would have had."""
        messages = [message for message in (segment.marker, segment.summary) if message is not None]
        places = [(anchor(message), role(message)) for message in messages]
        try:
            frame = self._session.frame(
                limit_tokens=self._window, budget=self._budget, placement="anchored", transcript=places
            )
        except BudgetError:
            return ""
        return seen_words(frame)


def _text_of(message: Message) -> str:
    return "\n".join(block.text for block in prompt_blocks(message))


def _searched(kind: str, text: str) -> str:
    """The words by which an item is looked for in what the host left: a file may be named without its folder."""
    return PurePosixPath(text).name if kind == "edited files" else text


def _work_name(row: SessionRow, part: ToolPart) -> str:
    """What a finished call did, by a name that is the same when it is done again; nothing where it is neither."""
    call = finished_call(neutral_call(row.host, part))
    if not part.done:
        return ""
    if call.kind == "read" and call.path:
        return f"read {relative_path(call.path, row.directory)}"
    if call.kind in ("write", "edit") and call.path:
        return f"edit {relative_path(call.path, row.directory)}"
    if call.kind == "shell" and call.command:
        return f"run {' '.join(call.command.split())[:MAX_ITEM]}"
    return ""
