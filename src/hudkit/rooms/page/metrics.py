"""How a world has been going: its last beats, how late they were, and what its agents answered."""

from __future__ import annotations

from collections import deque

import msgspec

from hudkit.rooms import world_events as e
from hudkit.rooms.world_log import WorldLog

_LOOK_BACK = 4_000
"""Events that are read of a world that was played before: the first page does not wait for all of a long log."""
_BEATS = 1_000
"""Beats that are remembered in all."""
_BEATS_PER_AGENT = 60
_MINUTE = 60_000


class BeatRecord(msgspec.Struct):
    """One beat of an agent, and what came of it. `composed_at` is Unix ms, `late` the ms after it was due."""

    number: int
    composed_at: int
    late: int
    tokens: int
    """Of its HUD."""
    seq: int
    digest: str
    closing: int
    text: str = ""
    error: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    finished: bool = False


class BeatMetrics:
    """The last beats of a world, up to event `upto` or as they come. Not for several threads."""

    def __init__(self, world_log: WorldLog, upto: int | None = None) -> None:
        self._world_log = world_log
        self._seq = 0
        self._beats: deque[BeatRecord] = deque(maxlen=_BEATS)
        self._by_agent: dict[int, deque[BeatRecord]] = {}
        self.follow(upto)

    def follow(self, upto: int | None = None) -> None:
        """Take in what happened since the last call; of very much, only the end."""
        last = self._world_log.world.seq if upto is None else upto
        after = max(self._seq, last - _LOOK_BACK)
        if after < last:
            self._seq = last
            for event, payload in self._world_log.events(after, last):
                if isinstance(payload, e.BeatBegun):
                    self._begin(event.seq, payload)
                elif isinstance(payload, e.ReplyReceived):
                    self._reply(payload)
                elif isinstance(payload, e.BeatFinished) and (beat := self._find(payload.agent, payload.number)):
                    beat.finished = True

    def beats_of(self, agent: int) -> list[BeatRecord]:
        """Return an agent's last beats, oldest first."""
        return list(self._by_agent.get(agent, ()))

    def per_minute(self, now: int) -> int:
        """Return how many beats began in the minute before `now` (Unix ms)."""
        return len(self._last_minute(now))

    def lateness(self, now: int) -> float:
        """Return the seconds that 99 of 100 beats of the minute before `now` were late at most."""
        late = sorted(beat.late for beat in self._last_minute(now))
        return late[min(len(late) - 1, len(late) * 99 // 100)] / 1000 if late else 0.0

    def series(self, now: int, step: int = 10_000, count: int = 60) -> tuple[list[int], list[int], list[float]]:
        """Return times (Unix s), beats a minute and largest lateness in seconds, for the last `count` spans of `step`
        ms. Spans begin at whole multiples of `step`, so that a span's figures do not change while time goes on."""
        end = now - now % step + step
        begin = end - count * step
        counts, lateness = [0] * count, [0.0] * count
        for beat in self._beats:
            if begin <= beat.composed_at < end:
                span = (beat.composed_at - begin) // step
                counts[span] += 1
                lateness[span] = max(lateness[span], beat.late / 1000)
        per_minute = [beats * (_MINUTE // step) for beats in counts]
        return [(begin + span * step) // 1000 for span in range(count)], per_minute, lateness

    def _last_minute(self, now: int) -> list[BeatRecord]:
        return [beat for beat in self._beats if now - _MINUTE < beat.composed_at <= now]

    def _begin(self, seq: int, begun: e.BeatBegun) -> None:
        late = max(0, begun.composed_at - begun.due)
        beat = BeatRecord(begun.number, begun.composed_at, late, begun.tokens, seq, begun.hud, begun.closing)
        self._beats.append(beat)
        self._by_agent.setdefault(begun.agent, deque(maxlen=_BEATS_PER_AGENT)).append(beat)

    def _reply(self, reply: e.ReplyReceived) -> None:
        if beat := self._find(reply.agent, reply.number):
            beat.text, beat.error = reply.text, reply.error
            beat.input_tokens, beat.output_tokens = reply.input_tokens, reply.output_tokens
            beat.cost, beat.seconds = reply.cost, reply.seconds

    def _find(self, agent: int, number: int) -> BeatRecord | None:
        # From the newest: a reply is to the last beat, or to one shortly before.
        beats = reversed(self._by_agent.get(agent, deque()))
        return next((beat for beat in beats if beat.number == number), None)
