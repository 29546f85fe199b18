"""Times for the messages of a host that dates none: when each was first seen, as the session's log keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from msgspec.structs import replace

from hudkit.api import Session
from hudkit.log import Draft, Origin
from hudkit.log.payloads import TranscriptSeen


def entry_key(*words: str) -> str:
    """Sixteen hex digits that a message is known by: of its id, or of its role and content where it has none."""
    return blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class FirstSeenTimes:
    """What was seen in one session. A message keeps its time through restarts and compactions."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._times: dict[str, int] = {}
        self._unsaid: list[str] = []
        self._seq = 0
        self._latest = 0

    def dates(self, keys: Sequence[str], now: int) -> list[int]:
        """When each was first seen (Unix ms); one that was not seen yet is later than all that were."""
        self._catch_up()
        fresh = [key for key in dict.fromkeys(keys) if key not in self._times]
        for key in fresh:
            self._latest = max(self._latest + 1, now)
            self._times[key] = self._latest
        self._unsaid += fresh
        return [self._times[key] for key in keys]

    def drafts(self) -> tuple[Draft, ...]:
        """What is to be appended so that the times are kept."""
        runs: list[list[str]] = []
        for key in self._unsaid:
            if runs and self._times[key] == self._times[runs[-1][-1]] + 1:
                runs[-1].append(key)
            else:
                runs.append([key])
        turn = self._session.state.window.calls
        payloads = [TranscriptSeen(tuple(run)) for run in runs]
        made = self._session.drafts(payloads, Origin.HOST, turn)
        return tuple(replace(draft, timestamp=self._times[run[0]]) for draft, run in zip(made, runs, strict=True))

    def settle(self) -> None:
        """The drafts are in the log now."""
        self._unsaid.clear()

    def _catch_up(self) -> None:
        """Take up what the log has, by this process or another; the time of the first who told counts."""
        if self._session.log.last_seq(self._session.id) <= self._seq:
            return
        for event in self._session.events(after=self._seq):
            self._seq = event.seq
            if isinstance(event.payload, TranscriptSeen):
                for n, key in enumerate(event.payload.keys):
                    self._times.setdefault(key, event.timestamp + n)
                    self._latest = max(self._latest, event.timestamp + n)
