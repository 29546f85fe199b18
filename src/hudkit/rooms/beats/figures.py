"""How a world runs: beats, those that were skipped or lost, and how late they were."""

from __future__ import annotations

from collections import deque

import msgspec

KEPT = 10_000
MINUTE = 60.0


class Figures(msgspec.Struct, frozen=True):
    """Since the runner was made; `late_*` are seconds of the world's time, of the last 10,000 beats. `waiting` are
    due, and held up by a model's quota."""

    beats: int = 0
    skipped: int = 0
    failed: int = 0
    fenced: int = 0
    lost: int = 0
    per_minute: int = 0
    thinking: int = 0
    waiting: int = 0
    late_median: float = 0.0
    late_99: float = 0.0
    late_most: float = 0.0


class Tally:
    """Counts as it goes."""

    def __init__(self) -> None:
        self.beats = self.skipped = self.failed = self.fenced = self.lost = 0
        self._late: deque[int] = deque(maxlen=KEPT)
        self._times: deque[float] = deque()

    def beat(self, passed: float, late: int) -> None:
        """A beat began, so many ms after it was due."""
        self.beats += 1
        self._late.append(max(0, late))
        self._times.append(passed)
        self._recent(passed)

    def mark(self) -> tuple[int, ...]:
        """Where it stands; see `back_to`."""
        return self.beats, self.skipped, self.failed, self.fenced, self.lost

    def back_to(self, mark: tuple[int, ...]) -> None:
        """Forget what was counted since: the commit of it failed."""
        for _ in range(min(self.beats - mark[0], len(self._late), len(self._times))):
            self._late.pop()
            self._times.pop()
        self.beats, self.skipped, self.failed, self.fenced, self.lost = mark

    def figures(self, passed: float, thinking: int, waiting: int) -> Figures:
        late = sorted(self._late) or [0]
        return Figures(
            self.beats,
            self.skipped,
            self.failed,
            self.fenced,
            self.lost,
            self._recent(passed),
            thinking,
            waiting,
            late[len(late) // 2] / 1000,
            late[len(late) * 99 // 100] / 1000,
            late[-1] / 1000,
        )

    def _recent(self, passed: float) -> int:
        while self._times and self._times[0] <= passed - MINUTE:
            self._times.popleft()
        return len(self._times)
