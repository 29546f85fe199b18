"""Times for the messages of a host that dates none: when each was first seen, as the session's log has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from hudkit.log import Event
from hudkit.log.payloads import TranscriptSeen


def entry_key(*words: str) -> str:
    """Return 16 hex digits that a message is known by: of its id, or of its role and content where it has none."""
    return blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def version_key(id: str, text: str) -> str:
    """Return 16 hex digits for a message that may be edited under its id: its versions share the first 11 of them."""
    return entry_key(id)[:_ID_DIGITS] + entry_key(id, text)[: 16 - _ID_DIGITS]


_ID_DIGITS = 11
"""Hex digits of the id: another message that began alike would be taken back for a version. Versions are few."""


class FirstSeenTimes:
    """When the messages of one session were first seen, by key. A message keeps its time through restarts.

    It knows no log: `observe` takes events of the session, `unrecorded` gives what is to be appended.

    For example, on a new session at time 5,000, `of(["a", "b"], 5_000)` is `[5000, 5001]`; the times differ, because
    messages are ordered by them. `unrecorded()` then is one payload with both keys at 5,000: each further key of a
    payload is a millisecond later. When the clock was set back, `of(["c"], 1_000)` is `[5002]`.
    """

    def __init__(self) -> None:
        self.seq = 0
        """The last event that was observed."""
        self._times: dict[str, int] = {}
        self._unrecorded: list[str] = []
        self._latest = 0

    def observe(self, events: Iterable[Event]) -> None:
        """Take up the session's events after `seq`; where two processes saw a message, the first time counts."""
        for event in events:
            self.seq = event.seq
            if isinstance(event.payload, TranscriptSeen):
                for offset, key in enumerate(event.payload.keys):
                    self._times.setdefault(key, event.timestamp + offset)
                    self._latest = max(self._latest, event.timestamp + offset)

    def of(self, keys: Sequence[str], now: int) -> list[int]:
        """Return when each was first seen (Unix ms); one that was not seen yet is later than all that were."""
        new = [key for key in dict.fromkeys(keys) if key not in self._times]
        for key in new:
            self._latest = max(self._latest + 1, now)
            self._times[key] = self._latest
        self._unrecorded += new
        return [self._times[key] for key in keys]

    def other_versions(self, key: str) -> list[int]:
        """Return when the other versions of a message were first seen, the oldest first; of a `version_key`."""
        begins = key[:_ID_DIGITS]
        return sorted(time for other, time in self._times.items() if other != key and other.startswith(begins))

    def unrecorded(self) -> tuple[tuple[TranscriptSeen, int], ...]:
        """Return the payloads that are to be appended so that the times are kept, each with its timestamp."""
        runs: list[list[str]] = []
        for key in self._unrecorded:
            if runs and self._times[key] == self._times[runs[-1][-1]] + 1:
                runs[-1].append(key)
            else:
                runs.append([key])
        return tuple((TranscriptSeen(tuple(run)), self._times[run[0]]) for run in runs)

    def settle(self) -> None:
        """Note that what was unrecorded is in the log now."""
        self._unrecorded.clear()
