"""Due agents by model: those that a model's quota holds up wait in its queue, in the order in which they came due.

The quota is a sliding window: in no span of a minute are there more requests or tokens than it allows. Each admitted
request stands in a list with its time and its tokens, and leaves it a minute later; how long the next one has to wait
is read off that list. For example, with 1,000 tokens a minute and requests of 400 (answer included) at 0 s and 10 s:
a third one at
20 s would make 1,200, so it waits for the first to leave, until 60 s. Tokens of an answer are not known before it is
   there;
until then 500 are expected. Times are seconds of the clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from hudkit.rooms.scheduler.protocol import JobClaim

ANY_MODEL = "*"
"""Stands for every model that has no quota of its own."""

_MINUTE = 60.0
_EXPECTED_ANSWER_TOKENS = 500
_INITIAL_HUD_TOKENS = 5_000
"""Tokens of a HUD before one was composed."""


class ModelQuota(msgspec.Struct, frozen=True):
    """What a model's server allows, of which 0 is no limit; `tokens` are those of requests and answers, a minute."""

    requests: int = 0
    tokens: int = 0
    at_once: int = 64


UNLIMITED = ModelQuota()


class Reservation(msgspec.Struct):
    """A request that was admitted: when, and the tokens that are counted for it."""

    time: float
    tokens: float


class _RateLimiter:
    """The requests of the last minute to one model."""

    def __init__(self, quota: ModelQuota, expected: int = _EXPECTED_ANSWER_TOKENS) -> None:
        """`expected`: the tokens that are counted for an answer before it is there."""
        self.quota = quota
        self.at_once = 0
        self._expected = expected
        self._closed_until = 0.0
        self._admitted: deque[Reservation] = deque()
        self._tokens = 0.0

    def acquire(self, now: float, tokens: int) -> Reservation | None:
        """Admit a request of so many tokens; return what to `release` when it is answered, `None` where it must
        wait."""
        if self.wait_seconds(now, tokens) > 0:
            return None
        reservation = Reservation(now, float(tokens + self._expected))
        self._admitted.append(reservation)
        self._tokens += reservation.tokens
        self.at_once += 1
        return reservation

    def release(self, reservation: Reservation, now: float, tokens: int, rest: float | None = None) -> None:
        """End a request: `tokens` it really took, and the seconds for which the server wants to be left alone."""
        self.at_once -= 1
        if tokens:
            if reservation.time > now - _MINUTE:  # else it left the window, and its tokens with it
                self._tokens += tokens - reservation.tokens
            reservation.tokens = float(tokens)
        # The server knows better than the quota.
        if rest:
            self._closed_until = max(self._closed_until, now + rest)

    def wait_seconds(self, now: float, tokens: int) -> float:
        """Return the seconds until such a request could be admitted; infinite where one must be answered first."""
        while self._admitted and self._admitted[0].time <= now - _MINUTE:
            self._tokens -= self._admitted.popleft().tokens
        quota, until = self.quota, self._closed_until
        if quota.at_once and self.at_once >= quota.at_once:
            return float("inf")
        if quota.requests and len(self._admitted) >= quota.requests:
            until = max(until, self._admitted[len(self._admitted) - quota.requests].time + _MINUTE)
        if quota.tokens and self._admitted:  # with none before it, one that is larger than the quota goes alone
            excess = self._tokens + tokens + self._expected - quota.tokens
            for reservation in self._admitted:
                if excess <= 0:
                    break
                until = max(until, reservation.time + _MINUTE)
                excess -= reservation.tokens
        return max(0.0, until - now)


class ModelQueue:
    """One model: who waits for it, and what it may be asked."""

    def __init__(self, quota: ModelQuota) -> None:
        """`quota`: that of the model."""
        self.limiter = _RateLimiter(quota)
        self.waiting: deque[JobClaim] = deque()
        self.expected_tokens = _INITIAL_HUD_TOKENS
        """Of the next request: as many as the HUD before it had."""

    def wait_seconds(self, now: float) -> float:
        """Return the seconds until the next request; infinite where nobody waits or another one has to be answered
        first."""
        return self.limiter.wait_seconds(now, self.expected_tokens) if self.waiting else float("inf")


class ModelQueues:
    """The queues of all models; `quotas` by model, `ANY_MODEL` for those that are not named.

    Without a quota, a model is only asked so much at once.
    """

    def __init__(self, quotas: Mapping[str, ModelQuota]) -> None:
        """`quotas`: see the class."""
        self._quotas = quotas
        self._queues: dict[str, ModelQueue] = {}

    def of(self, model: str) -> ModelQueue:
        """Return the queue of a model."""
        queue = self._queues.get(model)
        if queue is None:
            quota = self._quotas.get(model, self._quotas.get(ANY_MODEL, UNLIMITED))
            queue = self._queues[model] = ModelQueue(quota)
        return queue

    def ready(self, now: float) -> list[tuple[str, ModelQueue]]:
        """Return the queues, by model, in which somebody waits and can be asked now."""
        return [(model, queue) for model, queue in self._queues.items() if queue.wait_seconds(now) <= 0]

    def wait_seconds(self, now: float) -> float:
        """Return the seconds until one is ready; infinite where none will be by itself."""
        return min((queue.wait_seconds(now) for queue in self._queues.values()), default=float("inf"))

    @property
    def waiting(self) -> int:
        """Return how many agents wait."""
        return sum(len(queue.waiting) for queue in self._queues.values())

    def clear(self) -> list[JobClaim]:
        """Empty all queues, and return who waited."""
        claims = [claim for queue in self._queues.values() for claim in queue.waiting]
        for queue in self._queues.values():
            queue.waiting.clear()
        return claims

    def remove(self, agent: int) -> list[JobClaim]:
        """Take an agent out of all queues, and return its claims."""
        claims = [claim for queue in self._queues.values() for claim in queue.waiting if claim.job == agent]
        if claims:
            for queue in self._queues.values():
                queue.waiting = deque(claim for claim in queue.waiting if claim.job != agent)
        return claims

    @contextmanager
    def restored_on_error(self) -> Iterator[None]:
        """Yield to a block; where it raises, restore the queues: its transaction has not happened."""
        before = {model: tuple(queue.waiting) for model, queue in self._queues.items()}
        try:
            yield
        except BaseException:
            for model, queue in self._queues.items():
                queue.waiting = deque(before.get(model, ()))
            raise
