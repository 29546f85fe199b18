"""Group commit: callers on many threads, one writer thread, one durable commit for whatever waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread

from hudkit.errors import StoreError
from hudkit.log import Batch, Event, EventDraft, EventLog, Finding, Snapshot

MAX_GROUP_BATCHES = 256
"""Most batches in one commit."""

_AppendResult = tuple[Event, ...]


class GroupCommit:
    """An `EventLog` in front of another: appends of concurrent callers share a commit.

    A call is answered when its events are durable, never before. While one commit is under way the next group
    gathers, so nothing waits for a timer. `close` carries out what was accepted, then closes the log behind.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._queue: SimpleQueue[tuple[Batch, Future[_AppendResult]] | None] = SimpleQueue()
        self._lock = Lock()
        self._closed = False
        self._thread = Thread(target=self._run, name="hudkit-writer", daemon=True)
        self._thread.start()

    def submit(self, batch: Batch) -> Future[_AppendResult]:
        """Queue a batch; the future is done when it is durable, or holds the `StoreError` that refused it."""
        future: Future[_AppendResult] = Future()
        with self._lock:
            if self._closed:
                raise StoreError("the log is closed", hint="Open it again")
            self._queue.put((batch, future))
        return future

    def append(
        self, session_id: str, drafts: Sequence[EventDraft], *, expected: int | None = None
    ) -> tuple[Event, ...]:
        """Append all or none and wait until it is durable; see `EventLog.append`."""
        return self.submit(Batch(session_id, tuple(drafts), expected)).result()

    def append_many(self, batches: Sequence[Batch]) -> list[tuple[Event, ...] | StoreError]:
        """Append several batches, together with whatever else waits; see `EventLog.append_many`."""
        futures = [self.submit(batch) for batch in batches]
        return [_append_result(future) for future in futures]

    def read(self, session_id: str, *, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """See `EventLog.read`."""
        return self._log.read(session_id, after=after, upto=upto)

    def last_seq(self, session_id: str) -> int:
        """See `EventLog.last_seq`; what is queued does not count yet."""
        return self._log.last_seq(session_id)

    def sessions(self) -> tuple[str, ...]:
        """See `EventLog.sessions`."""
        return self._log.sessions()

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """See `EventLog.put_snapshot`."""
        self._log.put_snapshot(snapshot)

    def get_snapshot(self, session_id: str, version: str, *, upto: int | None = None) -> Snapshot | None:
        """See `EventLog.get_snapshot`."""
        return self._log.get_snapshot(session_id, version, upto=upto)

    def verify(self) -> Iterator[Finding]:
        """See `EventLog.verify`."""
        return self._log.verify()

    def close(self) -> None:
        """Carry out what was accepted, then close the log behind; closing twice is harmless."""
        with self._lock:
            first, self._closed = not self._closed, True
            if first:
                self._queue.put(None)
        self._thread.join()
        self._log.close()

    def _run(self) -> None:
        while True:
            group: list[tuple[Batch, Future[_AppendResult]]] = []
            item = self._queue.get()
            while item is not None:
                group.append(item)
                if len(group) == MAX_GROUP_BATCHES or self._queue.empty():
                    break
                item = self._queue.get()
            group = [pair for pair in group if pair[1].set_running_or_notify_cancel()]
            if group:
                self._commit(group)
            if item is None:
                return

    def _commit(self, group: Sequence[tuple[Batch, Future[_AppendResult]]]) -> None:
        try:
            answers: Sequence[_AppendResult | StoreError] = self._log.append_many([batch for batch, _ in group])
        except Exception as error:
            for _, future in group:
                future.set_exception(error)
            return
        for (_, future), answer in zip(group, answers, strict=True):
            if isinstance(answer, StoreError):
                future.set_exception(answer)
            else:
                future.set_result(answer)


def _append_result(future: Future[_AppendResult]) -> _AppendResult | StoreError:
    try:
        return future.result()
    except StoreError as error:
        return error
