"""Choose, in the order of importance, what is in: the state of a plan at one budget."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from hudkit.compose.fit.mend import mark, mend
from hudkit.compose.fit.parts import Box, Fallback, Flexible, Level, Unit
from hudkit.compose.fit.plan import Plan
from hudkit.compose.nodes import Element

Undo = tuple[Unit, object, int, list[tuple[Box, int]], bool]
"""A node that was put in, what stood there before, its cost, that in each limited box, and whether nothing did."""


class Choice:
    """What is in at a budget. `spent` is the sum of the costs of the parts, `short` the least number of tokens more
    at which another decision would be made, `steps` the number of decisions (for tests that count work)."""

    def __init__(self, plan: Plan, budget: int, *, backfill: bool = True, slow: bool = False) -> None:
        self.plan = plan
        self.budget = budget
        self.backfill = backfill
        self.slow = slow
        self.accepted: list[Unit] = []
        self.spent = plan.required
        self.short = 0
        self.steps = 0

    def reset(self) -> None:
        """Nothing is in but what is required."""
        for box in self.plan.boxes:
            box.reset()
        if self.plan.simple and self.backfill:
            for unit in self.plan.units:
                unit.taken = False
        else:
            for node in self.plan.nodes:
                node.reset()
        self.accepted = []
        self.spent = self.plan.required
        self.short = 0

    def run(self) -> None:
        """Take nodes in order of importance while they fit, then fill what was held back for markers."""
        self.reset()
        if self.plan.simple and not self.slow and not self.plan.growers:
            self._run_simple()
        else:
            left = self._pass(self.plan.ranked)
            while left and self.backfill and self.plan.released:
                again = self._pass(left)
                if len(again) == len(left):
                    break
                left = again
        mend(self.plan, self.budget)

    def refill(self, tokens: int) -> bool:
        """The whole was found to cost `tokens`: take what that leaves room for; false where nothing is."""
        self.spent = tokens
        before = len(self.accepted)
        self._pass([unit for unit in self.plan.ranked if not unit.present])
        mend(self.plan, self.budget)
        return len(self.accepted) > before

    def _pass(self, units: list[Unit]) -> list[Unit]:
        left: list[Unit] = []
        for n, unit in enumerate(units):
            if not self.take(unit):
                left.append(unit)
                if not self.backfill:
                    label = unit.label
                    for behind in units[n + 1 :]:
                        behind.why = f"stands behind {label}, which does not fit into {self.budget}"
                    return [*left, *units[n + 1 :]]
        return left

    def _run_simple(self) -> None:
        """The same for nodes of which each costs what it costs: as many as fit, then the next that does."""
        plan = self.plan
        ranked, costs = plan.ranked, plan.costs
        if plan.pending:
            self._run_pending()
            return
        sums = list(accumulate(costs))
        end = bisect_right(sums, self.budget - self.spent)
        taken = ranked[:end]
        room = self.budget - self.spent - (sums[end - 1] if end else 0)
        if end < len(ranked) and self.backfill:
            least = list(accumulate(reversed(costs), min))
            least.reverse()
            place = end
            while place < len(costs) and least[place] <= room:
                self.steps += 1
                if costs[place] <= room:
                    room -= costs[place]
                    taken.append(ranked[place])
                place += 1
        elif end < len(ranked):
            for behind in ranked[end + 1 :]:
                behind.why = f"stands behind {ranked[end].label}, which does not fit into {self.budget}"
        for unit in taken:
            unit.taken = True
        self.steps += len(taken)
        self.accepted = taken
        self.spent = self.budget - room

    def _run_pending(self) -> None:
        """The same where of most nodes only the least that they cost is known: few have to be measured."""
        ranked, costs = self.plan.ranked, self.plan.costs
        room = self.budget - self.spent
        least = list(accumulate(reversed(costs), min))
        least.reverse()
        for place, unit in enumerate(ranked):
            if least[place] > room:
                break
            if costs[place] <= room and unit.pending is not None:
                costs[place] = unit.known()
            if costs[place] <= room:
                unit.taken = True
                self.accepted.append(unit)
                room -= costs[place]
            elif not self.backfill:
                for behind in ranked[place + 1 :]:
                    behind.why = f"stands behind {unit.label}, which does not fit into {self.budget}"
                break
        self.steps += len(ranked)
        self.spent = self.budget - room

    def take(self, unit: Unit) -> bool:
        """Take a node, with all that is tied to it, if it fits."""
        undo: list[Undo] = []
        for one in self.plan.ties.closure(unit) if unit.ties else (unit,):
            if not self.enter(one, undo):
                if one is not unit:
                    unit.why = (
                        unit.barred or f"is tied to {one.label}, and together they do not fit into {self.budget}"
                    )
                while undo:
                    self.leave(undo.pop())
                return False
        self.accepted += [one for one, *_ in undo]
        return True

    def enter(self, unit: Unit, undo: list[Undo], check: bool = True) -> bool:
        """Put one node in, if it fits; with `check=False` in any case."""
        self.steps += 1
        if unit.present and not isinstance(unit, Flexible):
            return True
        if unit.barred:
            return False
        fresh = not (isinstance(unit, Flexible) and unit.smallest is not None)
        before: object = None
        if isinstance(unit, Flexible):
            before = unit.now
            filled = unit.fill(self._room(unit, fresh))
            if filled is None:
                self._note(1, None)
                return False
            if filled[1] < unit.cost:
                self._note(1, None)
            total = filled[1] - unit.least
        elif isinstance(unit, Level):
            before = unit.options.chosen
            fresh = unit.options.chosen is None
            total = unit.cost - (unit.options.chosen.cost if unit.options.chosen is not None else 0)
        else:
            total = unit.known()
        changes: list[tuple[Box, int]] = []
        box = unit.box.up
        while box is not None:
            if box.barred:
                unit.why = box.barred
                return False
            if fresh:
                total += self._opening(box)
                if box.left == 1 and not isinstance(unit, Fallback):
                    total -= box.reserve
            if box.limit is not None:
                if check and box.spent + total > box.limit:
                    self._note(box.spent + total - box.limit, box)
                    unit.why = f"costs {total} tokens, and {box.name or '/'} has a limit of {box.limit}"
                    return False
                changes.append((box, total))
            box = box.parent.up if box.parent is not None else None
        if check and self.spent + total > self.budget:
            self._note(self.spent + total - self.budget, None)
            unit.why = unit.barred
            return False
        for box, amount in changes:
            box.spent += amount
        self.spent += total
        mark(unit, True, fresh)
        if isinstance(unit, Flexible):
            assert filled is not None
            unit.now, _, unit.lost = filled
        elif isinstance(unit, Level):
            unit.options.chosen = unit
        undo.append((unit, before, total, changes, fresh))
        return True

    @staticmethod
    def _opening(box: Box) -> int:
        """What it takes for a box to be there."""
        if box.open:
            return 0
        return box.cost - (box.fallback.cost if box.fallback is not None and box.fallback.taken else 0)

    def _room(self, unit: Flexible, fresh: bool) -> int:
        """Tokens that a flexible node may cost."""
        total = -unit.least
        room = self.budget - self.spent
        box = unit.box.up
        while box is not None:
            if fresh:
                total += self._opening(box) - (box.reserve if box.left == 1 else 0)
            if box.limit is not None:
                room = min(room, box.limit - box.spent)
            box = box.parent.up if box.parent is not None else None
        return room - total

    def _note(self, missing: int, box: Box | None) -> None:
        if box is None and (not self.short or missing < self.short):
            self.short = missing

    def leave(self, undo: Undo) -> None:
        """Take back what `enter` did; the last first."""
        unit, before, total, changes, fresh = undo
        self.spent -= total
        for box, amount in changes:
            box.spent -= amount
        mark(unit, False, fresh)
        if isinstance(unit, Level):
            unit.options.chosen = before if isinstance(before, Level) else None
        elif isinstance(unit, Flexible):
            unit.now, unit.lost = before if isinstance(before, Element) else None, ()

    def keep(self, units: list[Unit]) -> None:
        """Of what was taken, only these stay."""
        fills = {unit: (unit.now, unit.lost) for unit in units if isinstance(unit, Flexible)}
        short = self.short
        self.reset()
        undo: list[Undo] = []
        for unit in units:
            if isinstance(unit, Flexible):
                unit.now, unit.lost = fills[unit]
                mark(unit, True, unit.smallest is None)
            else:
                self.enter(unit, undo, check=False)
        self.accepted, self.short = units, short
        mend(self.plan, self.budget)
