"""Sessions for the comparison of pruning policies: what is said, what tools bring, when, and what is needed again.

The sessions are drawn once from a seed, before any policy sees them. What is needed again (`needs`) are outputs of
earlier calls: a policy that took one away has to let the agent fetch it again.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


class Step(NamedTuple):
    """A call: when it is made (Unix ms), the user's words before it (0: none), the words of its answer, what the
    tools it calls bring (all in tokens), and the number of an earlier output that it needs (-1: none)."""

    at: int
    asked: int
    said: int
    outputs: tuple[int, ...]
    needs: int = -1


Shape = Callable[[Random], list[Step]]


def _draw(
    random: Random,
    calls: int,
    sizes: Callable[[Random], tuple[int, ...]],
    turn: int = 8,
    pause: Callable[[Random], int] = lambda _: 60 * SECOND,
    look_back: float = 0.3,
    said: tuple[int, int] = (60, 300),
) -> list[Step]:
    """Turns of `turn` calls; `pause` is what lies before each turn but the first. Each call needs an earlier output
    with the chance `look_back`: one at least n outputs back with the chance 1/n, half of the time the last one."""
    at, steps, brought = 0, [], 0
    for n in range(calls):
        first = n % turn == 0
        at += pause(random) if first and n else random.randint(5, 25) * SECOND
        last = n % turn == turn - 1
        needs = -1
        if brought and random.random() < look_back:
            needs = max(0, brought - int(random.paretovariate(1.0)))
        outputs = () if last else sizes(random)
        steps.append(Step(at, random.randint(30, 250) if first else 0, random.randint(*said), outputs, needs))
        brought += len(outputs)
    return steps


def _reads(random: Random) -> tuple[int, ...]:
    return (random.choice((300, 800, 1_500, 3_000, 6_000)),)


def _big(random: Random) -> tuple[int, ...]:
    return (random.choice((1_000, 4_000, 8_000, 12_000)),)


def _small(random: Random) -> tuple[int, ...]:
    return tuple(random.randint(60, 500) for _ in range(random.randint(1, 4)))


def _lumpy(random: Random) -> tuple[int, ...]:
    return (random.choice((100, 150, 200, 250, 9_000)),)


def _coffee(random: Random) -> int:
    return random.choice((1, 2, 7, 12)) * MINUTE


def _lunch(random: Random) -> int:
    return random.choice((2 * MINUTE, 4 * MINUTE, 70 * MINUTE, 3 * HOUR))


def _talk(random: Random) -> tuple[int, ...]:
    return (random.randint(50, 400),) if random.random() < 0.4 else ()


SHAPES: dict[str, Shape] = {
    "short chat, 40 calls": lambda r: _draw(r, 40, _talk, turn=2, pause=lambda _: 90 * SECOND),
    "short task, 40 calls": lambda r: _draw(r, 40, _reads),
    "task, 120 calls": lambda r: _draw(r, 120, _reads),
    "big reads, 120 calls": lambda r: _draw(r, 120, _big, turn=12),
    "big reads, 300 calls": lambda r: _draw(r, 300, _big, turn=12),
    "small outputs, 400 calls": lambda r: _draw(r, 400, _small, turn=20),
    "pauses of minutes, 160 calls": lambda r: _draw(r, 160, _reads, pause=_coffee),
    "pauses of hours, 200 calls": lambda r: _draw(r, 200, _reads, turn=12, pause=_lunch),
    "long words, 150 calls": lambda r: _draw(r, 150, _lumpy, said=(300, 900), pause=_coffee),
    "looks back a lot, 200 calls": lambda r: _draw(r, 200, _reads, look_back=0.6),
    "round the threshold, 240 calls": lambda r: _draw(r, 240, _lumpy, turn=6),
}
