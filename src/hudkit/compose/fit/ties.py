"""Elements that are in together or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from hudkit.compose.fit.parts import Box, Level, Unit, always, under
from hudkit.compose.fit.traits import SPECIAL, traits
from hudkit.compose.nodes import Element


class Ties:
    """The elements of each tie, by the name that their `keep` gives."""

    def __init__(self) -> None:
        self.members: dict[str, list[Box | Unit]] = {}
        self.ranked: Sequence[Unit] = ()
        self._tops: dict[str, list[Unit]] = {}

    def join(self, tie: str, member: Box | Unit) -> None:
        """One more element of a tie."""
        self.members.setdefault(tie, []).append(member)

    def close(self, units: Sequence[Unit], ranked: Sequence[Unit]) -> None:
        """All are known: one that is always there takes no part in its tie, nor does what is in it."""
        self.ranked = ranked
        for tie, members in self.members.items():
            free = [one for one in members if not (isinstance(one, Box) and always(one))]
            if len(free) == len(members):
                continue
            self.members[tie] = free
            for unit in units:
                if tie in unit.ties and not any(_holds(one, unit) for one in free):
                    unit.ties = tuple([one for one in unit.ties if one != tie])
        for unit in units if self.members else ():
            if isinstance(unit, Level) and unit.options.forced is not None:
                unit.ties = ()

    def tops(self, tie: str) -> list[Unit]:
        """The most important node of each element of a tie."""
        found = self._tops.get(tie)
        if found is None:
            best: dict[int, Unit] = {}
            members = self.members.get(tie, [])
            for unit in self.ranked:
                if tie in unit.ties:
                    for member in members:
                        if _holds(member, unit):
                            best.setdefault(id(member), unit)
            found = self._tops[tie] = list(best.values())
        return found

    def closure(self, unit: Unit) -> list[Unit]:
        """A node, and the first of every element that is tied to it, and of those that are tied to these."""
        found, seen, waiting = [unit], {unit}, list(unit.ties)
        known: set[str] = set()
        while waiting:
            tie = waiting.pop()
            if tie in known:
                continue
            known.add(tie)
            for one in self.tops(tie):
                if one not in seen:
                    seen.add(one)
                    found.append(one)
                    waiting += one.ties
        return found


def _holds(member: Box | Unit, unit: Unit) -> bool:
    return member is unit or (isinstance(member, Box) and under(unit, member))


def ties_of(node: Element) -> tuple[str, ...]:
    """The ties of a node that stays or goes whole, and of what is in it."""
    if not traits(node) & SPECIAL:
        return ()
    own = [one.get("keep") for _, one in node.walk() if isinstance(one, Element)]
    return tuple(dict.fromkeys(tie for tie in own if tie is not None))
