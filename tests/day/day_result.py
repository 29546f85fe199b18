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
    """What the day's requests cost as a multiple of the same day without the HUD; 0: it was not measured."""
