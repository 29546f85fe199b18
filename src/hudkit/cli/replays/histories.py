"""Histories of many sessions: explained a file at a time by a few processes, and summed up.

Nothing is held but the sums, the sessions that lost most, and the few files that are read at the moment: ten thousand
sessions need no more memory than ten.
"""

from __future__ import annotations

import heapq
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import msgspec

from hudkit.cli.replays.history import (
    CauseSums,
    HistoryOptions,
    KindSums,
    SessionHistory,
    SkippedLines,
    TokenSums,
    explain_session,
)
from hudkit.cli.replays.known_histories import HistoryFolder
from hudkit.errors import TranscriptError
from hudkit.tokens import shared_counter
from hudkit.transcripts.jsonl_transcript import JsonlTranscript
from hudkit.transcripts.transcript_follower import dialect_of

MOST_SESSIONS = 5
"""Sessions that a report tells of one by one, where there are more."""

_MAX_WORKERS = 4
_FILES_AHEAD = 8
"""Files for each process that are given out before the first of them is done."""

_ENOUGH_BYTES = 8 * 1024 * 1024
"""Bytes below which a process of its own takes longer to start than to read."""


# -- sessions, one by one ----------------------------------------------------------------------------------------


class UnreadableFile(msgspec.Struct, frozen=True):
    """A file that could not be read at all, and why."""

    file: str
    reason: str


class _FileResult(msgspec.Struct, frozen=True):
    """What a process says of a file: its session, why there is none, or nothing, where it holds no session."""

    session: SessionHistory | None = None
    unreadable: UnreadableFile | None = None


Progress = Callable[[int, int, str], None]


def explain_files(
    history: HistoryFolder, options: HistoryOptions, progress: Progress | None = None, *, workers: int | None = None
) -> Iterator[SessionHistory | UnreadableFile]:
    """Yield the sessions of a history explained, in the order of its files; what holds no session is left out.

    `workers` is the number of processes (default: as many as there are processors, at most four).
    """
    results = _results(history, options, workers)
    for number, result in enumerate(results, 1):
        if progress is not None:
            progress(number, len(history.files), result.session.title if result.session else "")
        if result.session is not None:
            yield result.session
        elif result.unreadable is not None:
            yield result.unreadable


def _results(history: HistoryFolder, options: HistoryOptions, workers: int | None) -> Iterator[_FileResult]:
    wanted = workers or min(os.cpu_count() or 1, _MAX_WORKERS)
    if wanted < 2 or len(history.files) < wanted or not _is_much(history.files):
        yield from (_explain_file(history.host, file, options) for file in history.files)
        return
    # Not forked: the bar on the terminal is drawn by a thread.
    with ProcessPoolExecutor(wanted, mp_context=get_context("spawn")) as pool:
        waiting: deque[Future[bytes]] = deque()
        for file in history.files:
            waiting.append(pool.submit(_encoded_result, history.host, str(file), options))
            if len(waiting) >= wanted * _FILES_AHEAD:
                yield _DECODER.decode(waiting.popleft().result())
        while waiting:
            yield _DECODER.decode(waiting.popleft().result())


def _is_much(files: Sequence[Path]) -> bool:
    size = 0
    for file in files:
        with suppress(OSError):
            size += file.stat().st_size
        if size > _ENOUGH_BYTES:
            return True
    return False


_DECODER = msgspec.msgpack.Decoder(_FileResult)


def _encoded_result(host: str, file: str, options: HistoryOptions) -> bytes:
    return msgspec.msgpack.encode(_explain_file(host, Path(file), options))


def _explain_file(host: str, file: Path, options: HistoryOptions) -> _FileResult:
    try:
        rows = JsonlTranscript.open(file, dialect_of(host)[0]).sessions()
        if not rows:
            return _FileResult()
        return _FileResult(explain_session(rows[0], file, shared_counter(), options))
    except (OSError, TranscriptError) as error:
        return _FileResult(unreadable=UnreadableFile(str(file), str(error)[:300]))
    except Exception as error:  # one strange file must not end the reading of ten thousand
        return _FileResult(unreadable=UnreadableFile(str(file), f"{type(error).__name__}: {error}"[:300]))


# -- sums --------------------------------------------------------------------------------------------------------


class HistorySummary(msgspec.Struct, frozen=True, kw_only=True):
    """A history summed up; times are Unix ms. `host_usd` sums what the host itself says of `host_usd_sessions`."""

    host: str
    root: str
    files: int
    sessions: int
    subagents: int
    started: int
    ended: int
    calls: int
    prompts: int
    total: TokenSums
    models: dict[str, TokenSums]
    host_usd: float
    host_usd_sessions: int
    compacted_sessions: int
    compactions: int
    automatic: int
    dropped_messages: int
    kinds: tuple[KindSums, ...]
    repeats: int
    causes: tuple[CauseSums, ...]
    lines: int
    bytes: int
    skipped: SkippedLines
    unreadable: tuple[UnreadableFile, ...]
    unreadable_files: int
    failed_sessions: int


class HistorySums:
    """Sums up sessions, and keeps those that lost most."""

    def __init__(self, history: HistoryFolder, most: int = MOST_SESSIONS) -> None:
        self._history = history
        self._most = most
        self._worst: list[tuple[tuple[int, float, int], int, SessionHistory]] = []
        self._count: Counter[str] = Counter()
        self._models: dict[str, TokenSums] = {}
        self._kinds: dict[str, KindSums] = {}
        self._causes: dict[str, CauseSums] = {}
        self._unknown: Counter[str] = Counter()
        self._unreadable: list[UnreadableFile] = []
        self._host_usd = 0.0
        self._started = self._ended = 0

    def take(self, session: SessionHistory | UnreadableFile) -> None:
        """Take up the next session, or file that could not be read."""
        count = self._count
        if isinstance(session, UnreadableFile):
            count["unreadable"] += 1
            if len(self._unreadable) < MOST_SESSIONS:
                self._unreadable.append(session)
            return
        count["subagents" if session.parent_id else "sessions"] += 1
        for name in ("calls", "prompts", "lines", "bytes"):
            count[name] += getattr(session, name)
        count["failed"] += bool(session.failed)
        for model, sums in session.models.items():
            self._models[model] = self._models.get(model, TokenSums()).plus(sums)
        if session.host_usd is not None:
            self._host_usd += session.host_usd
            count["host_usd"] += 1
        self._started = min(filter(None, (self._started, session.started)), default=0)
        self._ended = max(self._ended, session.ended)
        count["broken"] += session.skipped.broken
        count["half_written"] += session.skipped.half_written
        self._unknown.update(session.skipped.unknown)
        self._take_compactions(session)
        self._take_breaks(session)
        self._rank(session)

    def worst(self) -> tuple[SessionHistory, ...]:
        """Return the sessions of which most was dropped, and then whose breaks cost most; the worst first."""
        return tuple(session for *_, session in sorted(self._worst, key=lambda entry: entry[:2], reverse=True))

    def summary(self) -> HistorySummary:
        """Return the sums."""
        count = self._count
        total = TokenSums()
        for sums in self._models.values():
            total = total.plus(sums)
        return HistorySummary(
            host=self._history.host,
            root=str(self._history.root),
            files=len(self._history.files),
            sessions=count["sessions"],
            subagents=count["subagents"],
            started=self._started,
            ended=self._ended,
            calls=count["calls"],
            prompts=count["prompts"],
            total=total,
            models=dict(sorted(self._models.items(), key=lambda item: -item[1].calls)),
            host_usd=self._host_usd,
            host_usd_sessions=count["host_usd"],
            compacted_sessions=count["compacted"],
            compactions=count["compactions"],
            automatic=count["automatic"],
            dropped_messages=count["dropped_messages"],
            kinds=tuple(self._kinds.values()),
            repeats=count["repeats"],
            causes=tuple(sorted(self._causes.values(), key=lambda cause: -cause.again)),
            lines=count["lines"],
            bytes=count["bytes"],
            skipped=SkippedLines(count["broken"], count["half_written"], dict(self._unknown.most_common())),
            unreadable=tuple(self._unreadable),
            unreadable_files=count["unreadable"],
            failed_sessions=count["failed"],
        )

    def _take_compactions(self, session: SessionHistory) -> None:
        count = self._count
        count["compacted"] += bool(session.compactions)
        count["compactions"] += len(session.compactions)
        for compaction in session.compactions:
            count["automatic"] += compaction.trigger == "auto"
            count["dropped_messages"] += compaction.dropped_messages
            count["repeats"] += compaction.repeats
            for kind in compaction.kinds:
                self._kinds.setdefault(kind.kind, KindSums(kind.kind)).add(kind)

    def _take_breaks(self, session: SessionHistory) -> None:
        for cause in session.causes:
            self._causes.setdefault(cause.cause, CauseSums(cause.cause)).add(cause)

    def _rank(self, session: SessionHistory) -> None:
        dropped = sum(compaction.dropped_items for compaction in session.compactions)
        key = (dropped, sum(cause.usd for cause in session.causes), sum(cause.again for cause in session.causes))
        if not any(key):
            return
        # The number keeps sessions that are equal from being compared themselves, the earlier one first.
        entry = (key, -self._count["sessions"] - self._count["subagents"], session)
        if len(self._worst) < self._most:
            heapq.heappush(self._worst, entry)
        else:
            heapq.heappushpop(self._worst, entry)
