"""Due agents by model: those that a model's quota holds up wait here, in the order in which they came due."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from hudkit.rooms.scheduler.protocol import JobClaim

MINUTE = 60.0


class ModelQuota(msgspec.Struct, frozen=True):
    """What a model's server allows, of which 0 is no limit; `tokens` are those of requests and answers, a minute."""

    requests: int = 0
    tokens: int = 0
    at_once: int = 64


UNLIMITED = ModelQuota()


class RateLimiter:
    """The requests of the last minute to one model. In no span of a minute are there more than its quota allows.

    Tokens of an answer are not known before it is there; until then, `expected` are counted for it.
    """

    def __init__(self, quota: ModelQuota, expected: int = 500) -> None:
        self.quota = quota
        self.at_once = 0
        self._expected = expected
        self._closed_until = 0.0
        self._taken: deque[list[float]] = deque()  # time and tokens of each
        self._tokens = 0.0

    def admit(self, now: float, tokens: int) -> list[float] | None:
        """Take a request of so many tokens; the entry to `settle` when it is answered, `None` where it must wait."""
        if self.wait(now, tokens) > 0:
            return None
        entry = [now, float(tokens + self._expected)]
        self._taken.append(entry)
        self._tokens += entry[1]
        self.at_once += 1
        return entry

    def settle(self, entry: list[float], now: float, tokens: int, rest: float | None = None) -> None:
        """A request is answered: what it really took, and the seconds for which the server wants to be left alone."""
        self.at_once -= 1
        if tokens:
            if entry[0] > now - MINUTE:
                self._tokens += tokens - entry[1]
            entry[1] = float(tokens)
        if rest:
            self._closed_until = max(self._closed_until, now + rest)

    def wait(self, now: float, tokens: int) -> float:
        """Seconds until such a request could be admitted; infinite where one must be answered first."""
        while self._taken and self._taken[0][0] <= now - MINUTE:
            self._tokens -= self._taken.popleft()[1]
        quota, until = self.quota, self._closed_until
        if quota.at_once and self.at_once >= quota.at_once:
            return float("inf")
        if quota.requests and len(self._taken) >= quota.requests:
            until = max(until, self._taken[len(self._taken) - quota.requests][0] + MINUTE)
        if quota.tokens and self._taken:  # one that is larger than the quota goes alone
            over = self._tokens + tokens + self._expected - quota.tokens
            for at, taken in self._taken:
                if over <= 0:
                    break
                until = max(until, at + MINUTE)
                over -= taken
        return max(0.0, until - now)


ANY_MODEL = "*"
"""Stands for every model that has no quota of its own."""

INITIAL_HUD_TOKENS = 5_000
"""Tokens of a HUD before one was composed."""


class ModelQueue:
    """One model: who waits for it, and what it may be asked."""

    def __init__(self, quota: ModelQuota) -> None:
        self.admission = RateLimiter(quota)
        self.waiting: deque[JobClaim] = deque()
        self.guess = INITIAL_HUD_TOKENS

    def wait(self, passed: float) -> float:
        """Seconds until the next request, infinite where nobody waits or another one has to be answered first."""
        return self.admission.wait(passed, self.guess) if self.waiting else float("inf")


class ModelQueues:
    """All of them; `quotas` by model, `ANY` for those that are not named. Without one, a model is only asked so much
    at once."""

    def __init__(self, quotas: Mapping[str, ModelQuota]) -> None:
        self._quotas = quotas
        self._lanes: dict[str, ModelQueue] = {}

    def of(self, model: str) -> ModelQueue:
        """The lane of a model."""
        found = self._lanes.get(model)
        if found is None:
            found = self._lanes[model] = ModelQueue(self._quotas.get(model, self._quotas.get(ANY_MODEL, UNLIMITED)))
        return found

    def open(self, passed: float) -> list[tuple[str, ModelQueue]]:
        """Lanes in which somebody waits and can be asked now."""
        return [(model, lane) for model, lane in self._lanes.items() if lane.wait(passed) <= 0]

    def wait(self, passed: float) -> float:
        """Seconds until one is open; infinite where none will be by itself."""
        return min((lane.wait(passed) for lane in self._lanes.values()), default=float("inf"))

    @property
    def waiting(self) -> int:
        """How many agents wait."""
        return sum(len(lane.waiting) for lane in self._lanes.values())

    def emptied(self) -> list[JobClaim]:
        """All who wait; they wait no more."""
        found = [claim for lane in self._lanes.values() for claim in lane.waiting]
        for lane in self._lanes.values():
            lane.waiting.clear()
        return found

    def without(self, agent: int) -> list[JobClaim]:
        """The claims of an agent, which wait no more."""
        found = [claim for lane in self._lanes.values() for claim in lane.waiting if claim.job == agent]
        for lane in self._lanes.values() if found else ():
            lane.waiting = deque(claim for claim in lane.waiting if claim.job != agent)
        return found

    @contextmanager
    def or_as_before(self) -> Iterator[None]:
        """Who waits is as it was where the block raises."""
        before = {model: tuple(lane.waiting) for model, lane in self._lanes.items()}
        try:
            yield
        except BaseException:
            for model, lane in self._lanes.items():
                lane.waiting = deque(before.get(model, ()))
            raise
