"""What a day came to in a host."""

from __future__ import annotations

import msgspec


class Difference(msgspec.Struct, frozen=True):
    """Something that is not as the day says: in which step, seen where, and what."""

    step: str
    where: str
    what: str


class StepResult(msgspec.Struct, frozen=True):
    """A step that was done, or is missing in the host, and how many comparisons were made."""

    title: str
    done: bool
    compared: int = 0


class DayResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a day came to in a host."""

    host: str
    title: str
    steps: tuple[StepResult, ...]
    differences: tuple[Difference, ...]
    named: int
    """Calls and commands that some text named, and that were carried out."""
    known: int
    items: int
    cost: float = 0.0
    """What the day's requests cost as a multiple of the same requests without the HUD, as hudkit estimates it in its
    receipt; 0: there is none."""


class DayCost(msgspec.Struct, frozen=True):
    """What the work of a day costs with the HUD ÷ without it, measured in two days of so many calls of the model."""

    times: float
    calls: int
