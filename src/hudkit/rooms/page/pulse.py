"""How a world has been going: its last beats, how late they were, and what its agents answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import msgspec

from hudkit.rooms import world_events as e
from hudkit.rooms.world_log import WorldLog

DEPTH = 4_000
"""Events that are looked back on."""
MINUTE = 60_000


class Answer(msgspec.Struct):
    """A beat of an agent's, and what came of it."""

    number: int
    at: int
    late: int
    """Milliseconds after it was due."""
    tokens: int
    seq: int
    digest: str
    text: str = ""
    error: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    over: bool = False


class Pulse:
    """The last beats of a world, up to event `upto` or as they come. Not for several threads."""

    def __init__(self, world_log: WorldLog, upto: int | None = None) -> None:
        self._world_log = world_log
        self._seq = 0
        self.beats: deque[Answer] = deque(maxlen=1_000)
        self._of: dict[int, deque[Answer]] = {}
        self.follow(upto)

    def follow(self, upto: int | None = None) -> None:
        """Take in what happened since; of very much, only the end."""
        last = self._world_log.world.seq if upto is None else upto
        after = max(self._seq, last - DEPTH)
        if after < last:
            self._seq = last
            for event, what in self._world_log.events(after, last):
                if isinstance(what, e.BeatBegun):
                    self._began(event.seq, what)
                elif isinstance(what, e.ReplyReceived):
                    self._replied(what)
                elif isinstance(what, e.BeatFinished) and (found := self._find(what.agent, what.number)):
                    found.over = True

    def of(self, agent: int) -> list[Answer]:
        """An agent's last beats, oldest first."""
        return list(self._of.get(agent, ()))

    def per_minute(self, now: int) -> int:
        """Beats that began in the minute before `now` (Unix ms)."""
        return sum(1 for one in self.beats if now - MINUTE < one.at <= now)

    def lateness(self, now: int) -> float:
        """Seconds that 99 of 100 beats of the minute before `now` were late at most."""
        late = sorted(one.late for one in self.beats if now - MINUTE < one.at <= now)
        return late[min(len(late) - 1, len(late) * 99 // 100)] / 1000 if late else 0.0

    def series(self, now: int, step: int = 10_000, count: int = 60) -> tuple[list[int], list[int], list[float]]:
        """Times (Unix s), beats a minute and largest lateness in seconds, for the last `count` spans of `step` ms."""
        end = now - now % step + step
        begin = end - count * step
        beats, late = [0] * count, [0.0] * count
        for one in self.beats:
            if begin <= one.at < end:
                at = (one.at - begin) // step
                beats[at] += 1
                late[at] = max(late[at], one.late / 1000)
        scale = MINUTE // step
        return [(begin + n * step) // 1000 for n in range(count)], [n * scale for n in beats], late

    def _began(self, seq: int, what: e.BeatBegun) -> None:
        made = Answer(what.number, what.composed_at, max(0, what.composed_at - what.due), what.tokens, seq, what.hud)
        self.beats.append(made)
        self._of.setdefault(what.agent, deque(maxlen=60)).append(made)

    def _replied(self, what: e.ReplyReceived) -> None:
        if found := self._find(what.agent, what.number):
            found.text, found.error = what.text, what.error
            found.input_tokens, found.output_tokens = what.input_tokens, what.output_tokens
            found.cost, found.seconds = what.cost, what.seconds

    def _find(self, agent: int, number: int) -> Answer | None:
        beats: Iterable[Answer] = reversed(self._of.get(agent, ()))
        return next((one for one in beats if one.number == number), None)
