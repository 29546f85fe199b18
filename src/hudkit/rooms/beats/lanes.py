"""Due agents by model: those that a model's quota holds up wait here, in the order in which they came due."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hudkit.rooms.beats.admission import UNLIMITED, Admission, Quota
from hudkit.rooms.scheduling import Claim

ANY = "*"
"""Stands for every model that has no quota of its own."""

GUESS = 5_000
"""Tokens of a HUD before one was composed."""


class Lane:
    """One model: who waits for it, and what it may be asked."""

    def __init__(self, quota: Quota) -> None:
        self.admission = Admission(quota)
        self.waiting: deque[Claim] = deque()
        self.guess = GUESS

    def wait(self, passed: float) -> float:
        """Seconds until the next request, infinite where nobody waits or another one has to be answered first."""
        return self.admission.wait(passed, self.guess) if self.waiting else float("inf")


class Lanes:
    """All of them; `quotas` by model, `ANY` for those that are not named. Without one, a model is only asked so much
    at once."""

    def __init__(self, quotas: Mapping[str, Quota]) -> None:
        self._quotas = quotas
        self._lanes: dict[str, Lane] = {}

    def of(self, model: str) -> Lane:
        """The lane of a model."""
        found = self._lanes.get(model)
        if found is None:
            found = self._lanes[model] = Lane(self._quotas.get(model, self._quotas.get(ANY, UNLIMITED)))
        return found

    def open(self, passed: float) -> list[tuple[str, Lane]]:
        """Lanes in which somebody waits and can be asked now."""
        return [(model, lane) for model, lane in self._lanes.items() if lane.wait(passed) <= 0]

    def wait(self, passed: float) -> float:
        """Seconds until one is open; infinite where none will be by itself."""
        return min((lane.wait(passed) for lane in self._lanes.values()), default=float("inf"))

    @property
    def waiting(self) -> int:
        """How many agents wait."""
        return sum(len(lane.waiting) for lane in self._lanes.values())

    def emptied(self) -> list[Claim]:
        """All who wait; they wait no more."""
        found = [claim for lane in self._lanes.values() for claim in lane.waiting]
        for lane in self._lanes.values():
            lane.waiting.clear()
        return found

    def without(self, agent: int) -> list[Claim]:
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
