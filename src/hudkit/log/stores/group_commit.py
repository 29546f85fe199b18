"""Group commit: callers on many threads, one writer thread, one durable commit for whatever waits.

A durable commit costs one sync of the disk, whatever its size. So while one commit is under way, the batches that
arrive queue up, and the next commit takes all of them:

    caller A: submit a1 ......... answered        commit 1: a1
    caller B:    submit b1 .............. answered    commit 2: b1, c1, a2
    caller C:      submit c1 ............ answered

Nothing waits for a timer: a lone caller pays for its own commit and nothing more. A batch that cannot be appended
(a sequence conflict, say) is answered with its error, and the rest of its group is committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread

from hudkit.errors import StoreError
from hudkit.log import Batch, Event, EventDraft, EventLog, Finding, SessionHead, Snapshot

MAX_GROUP_BATCHES = 256
"""Most batches in one commit: a commit of more would make the first of them wait noticeably for the last."""

_AppendResult = tuple[Event, ...]


class GroupCommit:
    """An `EventLog` in front of another: appends of concurrent callers share a commit.

    A call is answered when its events are durable, never before. `close` carries out what was accepted, then closes
    the log behind.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._queue: SimpleQueue[tuple[Batch, Future[_AppendResult]] | None] = SimpleQueue()
        self._lock = Lock()
        self._closed = False
        self._thread = Thread(target=self._run, name="hudkit-writer", daemon=True)
        self._thread.start()

    def submit(self, batch: Batch) -> Future[_AppendResult]:
        """Queue a batch.

        Return a future that is done when it is durable, or holds the `StoreError` that refused it.
        """
        future: Future[_AppendResult] = Future()
        with self._lock:
            if self._closed:
                raise StoreError("the log is closed", hint="Open it again")
            self._queue.put((batch, future))
        return future

    def append(
        self, session_id: str, drafts: Sequence[EventDraft], *, expected: int | None = None
    ) -> tuple[Event, ...]:
        """Append all or none, wait until it is durable, and return the events; see `EventLog.append`."""
        return self.submit(Batch(session_id, tuple(drafts), expected)).result()

    def append_many(self, batches: Sequence[Batch]) -> list[tuple[Event, ...] | StoreError]:
        """Append several batches, together with whatever else waits; return an answer for each, in order.

        See `EventLog.append_many`.
        """
        futures = [self.submit(batch) for batch in batches]
        return [_append_result(future) for future in futures]

    def append_together(self, batches: Sequence[Batch]) -> list[tuple[Event, ...]]:
        """Append all of several batches or none, in a commit of their own; see `EventLog.append_together`."""
        return self._log.append_together(batches)

    def read(
        self, session_id: str, *, after: int = 0, upto: int | None = None, past_damage: bool = False
    ) -> Iterator[Event]:
        """Return the events; see `EventLog.read`."""
        return self._log.read(session_id, after=after, upto=upto, past_damage=past_damage)

    def last_seq(self, session_id: str) -> int:
        """Return the session's last sequence number; what is queued does not count yet. See `EventLog.last_seq`."""
        return self._log.last_seq(session_id)

    def event_ids(self, session_id: str, *, upto: int) -> list[str]:
        """Return the ids of the events; see `EventLog.event_ids`."""
        return self._log.event_ids(session_id, upto=upto)

    def last_seq_of(self, session_id: str, types: Collection[str], *, upto: int) -> int:
        """Return the number of the last event of one of these types; see `EventLog.last_seq_of`."""
        return self._log.last_seq_of(session_id, types, upto=upto)

    def sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions; see `EventLog.sessions`."""
        return self._log.sessions()

    def heads(self) -> tuple[SessionHead, ...]:
        """Return the last event of every session; see `EventLog.heads`."""
        return self._log.heads()

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """See `EventLog.put_snapshot`."""
        self._log.put_snapshot(snapshot)

    def get_snapshot(self, session_id: str, version: str, *, upto: int | None = None) -> Snapshot | None:
        """Return the newest snapshot that is no later than `upto`; see `EventLog.get_snapshot`."""
        return self._log.get_snapshot(session_id, version, upto=upto)

    def verify(self) -> Iterator[Finding]:
        """Return what is damaged; see `EventLog.verify`."""
        return self._log.verify()

    def recorded_findings(self) -> tuple[Finding, ...]:
        """Return what was found wrong before; see `EventLog.recorded_findings`."""
        return self._log.recorded_findings()

    def close(self) -> None:
        """Carry out what was accepted, then close the log behind; closing twice is harmless."""
        with self._lock:
            first, self._closed = not self._closed, True
            # The mark of the end goes behind everything that was accepted, and is queued once.
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
            # A caller may have given up on its future: its batch is then not appended.
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
