"""Fit a document of sections: which items are shown, in which form, and whether a section is a list or one line.

The idea: facts first, looks last. A section can be written as a list under a heading or, cheaper, as one line; an
item has one text or several, each longer than the one before. All that can be done to the document is a *move*: show
an item in its shortest form, write an item or a block in a longer form, turn a line into a list. Every move has a
priority and costs what it adds, so that one walk over all moves, the greatest priority first, is the whole fit:
whatever fits is done, whatever does not is passed over. The moves that show something come before those that write
it at greater length, and these before those that only make it look better.

What is not shown is counted where it belongs: in the section (`+5: notes.list`), or, where nothing of a section is
shown, in a line of counts (`4 decisions | 6 notes: hud snapshot`). Opening a section therefore takes its entry out of
the counts and brings its head and its marker; the last item of a section takes the marker away.

Costs are those of the parts, measured once each and added up. The sum is hardly ever less than the whole, and by a
token or two more, so the whole is measured in the end: what it leaves is filled, and of what seems a token too much
each is tried once.

An example, with room for 30 tokens beside the task: rules a (6 tokens) and b (7), decisions c (12) and d (9). The
counts cost 9 (`2 rules | 2 decisions: hud snapshot`). Showing a brings the head (4) and a marker (6) for b, and takes
the entry (3) away: 22. Showing b takes the marker away: 23. c would cost 12, its head 4 and its marker 6, less the
counts (6): too much, and so would d: passed over, and counted. The line of rules becomes a list for 4 more: 27.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from hudkit.compose.fitting.result import Measure, Omission
from hudkit.compose.nodes import Element, Node
from hudkit.compose.visible_text import LINE_SEPARATOR
from hudkit.errors import BudgetError

Layout = Literal["line", "list"]
"""How a section is written: `Notes (2): a · b`, or a heading with a list."""

NO_ROOM = "there was no room for it"
"""How the reason begins of what was left out for want of room."""

_NEAR = 2
"""Tokens by which the sum of the parts can be more than the whole: a move that seems so much too dear is tried."""

_MAX_TRIES = 12
"""Moves that are tried so in one fit: each try writes and counts the whole document."""


class ItemForm(msgspec.Struct, frozen=True):
    """One way to write an item: its nodes, and the element that it is in a list; its costs in a line and in a list;
    and the priority with which it has its turn."""

    priority: float
    nodes: tuple[Node, ...]
    element: Element
    line_cost: int
    list_cost: int


class ItemForms(msgspec.Struct, frozen=True):
    """An item: its whole text, and its forms, the shortest first.

    Without forms it is never shown, for `reason`, and would cost `cost` tokens.
    """

    key: str
    text: str
    forms: tuple[ItemForm, ...]
    reason: str = ""
    cost: int = 0


class SectionForms(msgspec.Struct, frozen=True):
    """A section of items.

    - `title`: its head, with its number of items; `see`: the call that shows them.
    - `priority`: with which it becomes a list; `layouts`: the ways to write it, the cheaper one first.
    - `line_head`, `list_head`: tokens of the head; `line_marker`, `list_marker`: of the line that counts the rest.
    - `noun`: what the line of counts calls one of them.
    - `numbered`: the list is; what is shown with gaps says its place.
    - `always`: its shortest forms may use the ceiling, and nothing else takes their room.
    - `favoured`: its items may use what is given for favoured ones, where that is more than the budget.
    - `counted`: the line of counts names it; `marked`: where something of it is shown, it says how much is not.
    """

    key: str
    title: str
    priority: float
    items: tuple[ItemForms, ...]
    layouts: tuple[Layout, ...]
    see: str
    noun: str
    line_head: int
    list_head: int
    line_marker: int
    list_marker: int
    numbered: bool = False
    always: bool = False
    favoured: bool = False
    counted: bool = True
    marked: bool = True


class BlockForm(msgspec.Struct, frozen=True):
    """One way to write a block: its elements, its cost, and the priority with which it has its turn; whether it says
    all that there is to say."""

    priority: float
    elements: tuple[Element, ...]
    cost: int
    is_whole: bool = True


class BlockForms(msgspec.Struct, frozen=True):
    """Something that is no list of items; its forms, the shortest first.

    A `required` one is always there; one without a `text` is no loss where it is not written in full. Forms of a
    priority from `beyond` on may use the ceiling.
    """

    key: str
    text: str
    forms: tuple[BlockForm, ...]
    required: bool = False
    beyond: float | None = None


Part = SectionForms | BlockForms


class SectionFit(msgspec.Struct, frozen=True):
    """A fitted document: its tree, text and tokens, what was left out, and how it was written.

    `shown` and `hidden` count items; `is_full` says that every section is a list and every text is whole.
    """

    tree: Element
    text: str
    tokens: int
    omitted: tuple[Omission, ...]
    shown: int
    hidden: int
    is_full: bool


class SectionMeasures(msgspec.Struct, frozen=True):
    """How a document is written and counted: `render` and `count` for the whole, `measure` for a part."""

    render: Callable[[Element], str]
    count: Callable[[str], int]
    measure: Measure


class _Shown:
    """What is shown of a section: by item the place of its form (-1: none), the layout, and how many there are."""

    __slots__ = ("chosen", "count", "layout", "part", "place")

    def __init__(self, part: SectionForms, place: int) -> None:
        self.part = part
        self.place = place
        self.chosen = [-1] * len(part.items)
        self.count = 0
        self.layout: Layout = part.layouts[0]

    @property
    def hidden(self) -> int:
        return len(self.chosen) - self.count

    def head(self) -> int:
        return self.part.line_head if self.layout == "line" else self.part.list_head

    def marker(self) -> int:
        if not self.part.marked:
            return 0
        return self.part.line_marker if self.layout == "line" else self.part.list_marker

    def cost_of(self, item: int, form: int) -> int:
        chosen = self.part.items[item].forms[form]
        return chosen.line_cost if self.layout == "line" else chosen.list_cost


_Move = tuple[float, int, int, int]
"""Less its priority, the place of its part, of its item (-1: the layout, or a block), and of the form."""

_LAYOUT = -1

_COUNTS_HEAD = Element("text", (), ("100 constraints | : hud snapshot",))
"""At least what the counts can be shorter by when one section is shown."""


class _Document:
    """A document while it is fitted: what is shown of each part, and the sum of the costs."""

    def __init__(self, parts: Sequence[Part], measures: SectionMeasures) -> None:
        self.parts = parts
        self.measures = measures
        self.shown: dict[int, _Shown] = {}
        self.blocks: dict[int, int] = {}
        self.with_counts = True
        self.used = 0
        self.released = measures.measure(_COUNTS_HEAD)
        self._openings: dict[int, int] = {}
        for place, part in enumerate(parts):
            if isinstance(part, SectionForms):
                self.shown[place] = _Shown(part, place)
            else:
                self.blocks[place] = 0 if part.required else -1
                self.used += part.forms[0].cost if part.required else 0

    # -- the line of counts

    def counts_element(self) -> Element | None:
        """Return the line that counts the sections of which nothing is shown, or `None`."""
        if not self.with_counts:
            return None
        others = 0
        words = []
        for place, part in enumerate(self.parts):
            if isinstance(part, SectionForms):
                number = 0 if self.shown[place].count else len(part.items)
                if not part.counted:
                    others += number
                elif number:
                    words.append(f"{number} {part.noun}{'s' if number != 1 else ''}")
            elif self.blocks[place] < 0:
                others += 1
        if others:
            words.append(f"{others} more" if words else f"{others} item{'s' if others != 1 else ''} not shown")
        return Element("text", (("key", "counts"),), (" | ".join(words), ": hud snapshot")) if words else None

    def counts_cost(self) -> int:
        """Return the tokens of the line of counts."""
        line = self.counts_element()
        return self.measures.measure(line) if line is not None else 0

    # -- moves

    def cost_of(self, move: _Move) -> int:
        """Return the tokens that a move adds."""
        _, place, item, form = move
        part = self.parts[place]
        if isinstance(part, BlockForms):
            current = self.blocks[place]
            if current >= 0:
                return part.forms[form].cost - part.forms[current].cost
            return part.forms[form].cost + self._uncounted(move)
        shown = self.shown[place]
        if item == _LAYOUT:
            return self._list_cost(shown) - self._line_cost(shown)
        current = shown.chosen[item]
        if current >= 0:
            return shown.cost_of(item, form) - shown.cost_of(item, current)
        cost = shown.cost_of(item, form)
        if not shown.count:
            cost += shown.head() + self._uncounted(move)
            if len(shown.chosen) > 1:
                cost += shown.marker()
        elif shown.hidden == 1:
            cost -= shown.marker()
        return cost

    def _uncounted(self, move: _Move) -> int:
        """Return the tokens (less than none) by which the counts are shorter when a part is shown."""
        place = move[1]
        if not self.with_counts:
            return 0
        if place not in self._openings:
            before = self.counts_cost()
            self._set(place, 1)
            self._openings[place] = self.counts_cost() - before
            self._set(place, 0)
        return self._openings[place]

    def _set(self, place: int, value: int) -> None:
        """Let a part pass for shown, or for not shown, while the counts are asked for."""
        if place in self.shown:
            self.shown[place].count = value
        else:
            self.blocks[place] = value - 1

    def _list_cost(self, shown: _Shown) -> int:
        part = shown.part
        costs = [part.items[n].forms[form].list_cost for n, form in enumerate(shown.chosen) if form >= 0]
        return part.list_head + sum(costs) + (part.list_marker if shown.hidden else 0)

    def _line_cost(self, shown: _Shown) -> int:
        part = shown.part
        costs = [part.items[n].forms[form].line_cost for n, form in enumerate(shown.chosen) if form >= 0]
        return part.line_head + sum(costs) + (part.line_marker if shown.hidden else 0)

    def is_done(self, move: _Move) -> bool:
        """Return whether what a move would do is done, or something better is."""
        _, place, item, form = move
        if place in self.blocks:
            return self.blocks[place] >= form
        shown = self.shown[place]
        return shown.layout == "list" if item == _LAYOUT else shown.chosen[item] >= form

    def is_open(self, move: _Move) -> bool:
        """Return whether a move can be applied: a longer form needs a shorter one that is there, a layout an item."""
        _, place, item, form = move
        if place in self.blocks:
            return form == 0 or self.blocks[place] >= 0
        shown = self.shown[place]
        if item == _LAYOUT:
            return shown.count > 0
        return form == 0 or shown.chosen[item] >= 0

    def least_cost(self, move: _Move) -> int:
        """Return less than what a move adds, fast: what showing an item costs beside its head and markers."""
        _, place, item, form = move
        shown = self.shown.get(place)
        if shown is None or item == _LAYOUT or shown.chosen[item] >= 0 or shown.hidden == 1:
            return 0
        return shown.cost_of(item, form) - (0 if shown.count else self.released)

    def apply(self, move: _Move) -> int:
        """Make a move; return what was there before, for `take_back`."""
        _, place, item, form = move
        if place in self.blocks:
            self._openings.clear()
            before, self.blocks[place] = self.blocks[place], form
            return before
        shown = self.shown[place]
        if item == _LAYOUT:
            shown.layout = "list"
            return 0
        if not shown.count:  # the counts are others then, and so is what they release
            self._openings.clear()
        before, shown.chosen[item] = shown.chosen[item], form
        shown.count += before < 0
        return before

    def take_back(self, move: _Move, before: int) -> None:
        """Take back a move that was the last one made to its item."""
        _, place, item, _ = move
        self._openings.clear()
        if place in self.blocks:
            self.blocks[place] = before
            return
        shown = self.shown[place]
        if item == _LAYOUT:
            shown.layout = "line"
            return
        shown.chosen[item] = before
        shown.count -= before < 0

    # -- the document

    def tree(self) -> Element:
        """Return the document as it is now."""
        children: list[Element] = []
        for place, part in enumerate(self.parts):
            if isinstance(part, BlockForms):
                form = self.blocks[place]
                children += part.forms[form].elements if form >= 0 else ()
            elif self.shown[place].count:
                children.append(_section(self.shown[place]))
        counts = self.counts_element()
        return Element("document", (), (*children, counts) if counts is not None else tuple(children))

    def measured(self) -> tuple[Element, str, int]:
        """Return the document, its text and its tokens."""
        tree = self.tree()
        text = self.measures.render(tree)
        return tree, text, self.measures.count(text)


def _section(shown: _Shown) -> Element:
    part = shown.part
    chosen = [(n, part.items[n].forms[form]) for n, form in enumerate(shown.chosen) if form >= 0]
    if shown.layout == "list":
        items = [(n, form.element) for n, form in chosen]
        return list_element(
            part.key, part.title, part.priority, items, shown.hidden, part.see, numbered=part.numbered
        )
    hidden = shown.hidden if part.marked else 0
    return line_element(part.key, part.title, [form.nodes for _, form in chosen], hidden, part.see)


def line_element(key: str, title: str, items: Sequence[tuple[Node, ...]], hidden: int, see: str) -> Element:
    """Return a section as one line."""
    pieces: list[Node] = [f"{title}: "]
    for place, nodes in enumerate(items):
        pieces += (LINE_SEPARATOR, *nodes) if place else nodes
    if hidden:
        pieces.append(f"{LINE_SEPARATOR if items else ''}{line_marker(hidden, see)}")
    return Element("text", (("key", key),), tuple(pieces))


def line_marker(hidden: int, see: str) -> str:
    """Return the words that count what a line does not show: `+5: notes.list`."""
    return f"+{hidden}: {see}" if see else f"+{hidden}"


def list_marker(hidden: int, see: str) -> Element:
    """Return the element that counts what a list does not show."""
    return Element("more", (("hidden", hidden), ("noun", "more"), ("see", see)), ())


def list_element(
    key: str,
    title: str,
    priority: float,
    chosen: Sequence[tuple[int, Element]],
    hidden: int,
    see: str,
    *,
    numbered: bool = False,
) -> Element:
    """Return a section as a heading with a list of the chosen items, each with its place among all items."""
    more = (list_marker(hidden, see),) if hidden else ()
    props = (("key", key), ("level", 2), ("priority", priority), ("title", title))
    elements = tuple([element for _, element in chosen])
    if not numbered:
        return Element("section", props, (Element("list", (), (*elements, *more)),))
    first = chosen[0][0] if chosen else 0
    if [n for n, _ in chosen] == list(range(first, first + len(chosen))):
        ordered = Element("list", (("ordered", True), ("start", first + 1)), elements)
        return Element("section", props, (ordered, *more))
    # Numbers with gaps are no numbers of a list: each item tells its own.
    labelled = [Element("item", item.props, (*item.children, f" (no. {n + 1})")) for n, item in chosen]
    return Element("section", props, (Element("list", (), (*labelled, *more)),))


def fit_sections(
    parts: Sequence[Part],
    measures: SectionMeasures,
    budget: int,
    ceiling: int | None = None,
    for_favoured: int = 0,
) -> SectionFit:
    """Return the document that shows the most of `parts` within `budget`, in the order of their priorities.

    The line of counts and the sections that are `always` there may use the `ceiling` (default: the budget), as long
    as it holds all of them; items of sections that are `favoured` may use `for_favoured`. Raises `BudgetError` where
    the required parts alone cost more than the ceiling.
    """
    fit = _SectionFitter(parts, measures, budget, max(budget, ceiling or 0), for_favoured)
    return fit.run()


class _SectionFitter:
    """One fit: the walk over the moves, and what the final bytes change in it."""

    def __init__(
        self, parts: Sequence[Part], measures: SectionMeasures, budget: int, ceiling: int, for_favoured: int
    ) -> None:
        self.parts = parts
        self.budget = budget
        self.ceiling = ceiling
        self.for_favoured = max(budget, for_favoured)
        self.document = _Document(parts, measures)
        self.moves = sorted([move for place, part in enumerate(parts) for move in _moves(part, place)])
        self.held = 0
        self.tries = _MAX_TRIES
        self.limit = budget

    def run(self) -> SectionFit:
        """Return the fitted document."""
        document = self.document
        self._require()
        applied: list[tuple[_Move, int]] = []
        waiting = self._walk(self.moves, applied)
        tree, text, tokens = self._measured_within(applied)
        # What the whole costs less than its parts is room that is left: two rounds fill it, a third never did.
        for _ in range(2):
            number = len(applied)
            document.used = tokens
            waiting = self._walk(waiting, applied)
            if len(applied) == number:
                break
            tree, text, tokens = self._measured_within(applied)
        if tokens > self.ceiling:
            raise self._too_small(tokens)
        return self._result(tree, text, tokens)

    def _require(self) -> None:
        """Take what must be there, the counts where there is room for them, and hold room for what always is."""
        document = self.document
        if document.used > self.ceiling:
            # The sum says that nothing fits: the final bytes have the last word.
            document.with_counts = False
            document.used = document.measured()[2]
            if document.used > self.ceiling:
                raise self._too_small(document.used)
        counts = document.counts_cost()
        document.with_counts = document.with_counts and document.used + counts <= self.ceiling
        document.used += counts if document.with_counts else 0
        self.limit = max(self.budget, document.used)
        cost = self._cost_together([move for move in self.moves if self._is_always(move)])
        if document.used + cost <= self.ceiling:
            self.held = cost

    def _measured_within(self, applied: list[tuple[_Move, int]]) -> tuple[Element, str, int]:
        """Return the document, its text and its tokens; where the parts add up to more than their sum, which is rare,
        the least important moves are taken back, the counts last."""
        document = self.document
        tree, text, tokens = document.measured()
        while tokens > self.limit and (applied or document.with_counts):
            if applied:
                document.take_back(*applied.pop())
            else:
                document.with_counts = False
            tree, text, tokens = document.measured()
        return tree, text, tokens

    def _cost_together(self, moves: Sequence[_Move]) -> int:
        """Return what moves add that are made one after the other; none of them is."""
        cost, applied = 0, []
        for move in moves:
            cost += self.document.cost_of(move)
            applied.append((move, self.document.apply(move)))
        for move, before in reversed(applied):
            self.document.take_back(move, before)
        return cost

    def _is_always(self, move: _Move) -> bool:
        part = self.parts[move[1]]
        return isinstance(part, SectionForms) and part.always and move[2] >= 0 and move[3] == 0

    def _walk(self, moves: list[_Move], applied: list[tuple[_Move, int]]) -> list[_Move]:
        """Make each move that fits, in order; return those that were passed over."""
        document = self.document
        waiting: list[_Move] = []
        for move in moves:
            if document.is_done(move):
                continue
            if not document.is_open(move) or document.used + document.least_cost(move) > self.ceiling + _NEAR:
                waiting.append(move)
                continue
            cost = document.cost_of(move)
            is_always = self._is_always(move)
            limit = self.ceiling if is_always else self._limit_of(move)
            over = document.used + cost - limit
            if over > 0 and not (over <= _NEAR and self._fits_exactly(move, limit)):
                waiting.append(move)
                continue
            applied.append((move, document.apply(move)))
            document.used += cost
            if is_always:
                self.held = max(0, self.held - cost)
            if document.used > self.budget:
                self.limit = max(self.limit, document.used)
        return waiting

    def _limit_of(self, move: _Move) -> int:
        """Return the most that the whole may cost with a move that is not always made."""
        part = self.parts[move[1]]
        beyond = part.beyond if isinstance(part, BlockForms) else None
        free = self.ceiling - self.held
        if isinstance(part, SectionForms) and part.favoured and move[2] != _LAYOUT and move[0] < 0:
            return min(self.for_favoured, free)
        return free if beyond is not None and -move[0] >= beyond else min(self.budget, free)

    def _fits_exactly(self, move: _Move, limit: int) -> bool:
        """Return whether a move fits on the final bytes; what the whole costs is known then."""
        if self.tries <= 0 or move[2] == _LAYOUT:
            return False
        self.tries -= 1
        document = self.document
        before = document.apply(move)
        tokens = document.measured()[2]
        document.take_back(move, before)
        if tokens > limit:
            return False
        document.used = tokens - document.cost_of(move)
        return True

    def _too_small(self, need: int) -> BudgetError:
        required = [part for part in self.parts if isinstance(part, BlockForms) and part.required]
        largest = max(required, key=lambda part: part.forms[0].cost)
        return BudgetError(
            f"what must be shown needs {need} tokens and the budget is {self.ceiling}; "
            f"most of it is /{largest.key} ({largest.forms[0].cost})",
            hint=f"Give a budget of at least {need}",
            path=f"/{largest.key}",
            need=need,
            limit=self.ceiling,
            tree=self.document.tree(),
        )

    def _result(self, tree: Element, text: str, tokens: int) -> SectionFit:
        document = self.document
        omitted: list[Omission] = []
        shown = hidden = 0
        is_full = True
        usual = f"{NO_ROOM} within {self.budget} tokens"
        for place, part in enumerate(self.parts):
            if isinstance(part, BlockForms):
                current = document.blocks[place]
                if current < len(part.forms) - 1:
                    is_full = False
                if part.text and (current < 0 or not part.forms[current].is_whole):
                    omitted.append(_omitted_block(part, current, usual))
                continue
            state = document.shown[place]
            shown += state.count
            hidden += state.hidden
            is_full = is_full and (not state.count or state.layout == "list")
            for item, form in zip(part.items, state.chosen, strict=True):
                if form < 0:
                    cost = item.forms[0].list_cost if item.forms else item.cost
                    omitted.append(Omission(f"/{part.key}/{item.key}", item.text, cost, item.reason or usual))
                elif form < len(item.forms) - 1:
                    is_full = False
                    lacking = item.forms[-1].list_cost - item.forms[form].list_cost
                    reason = f"a part of it is shown: {usual}"
                    omitted.append(Omission(f"/{part.key}/{item.key}/whole", item.text, lacking, reason))
        return SectionFit(tree, text, tokens, tuple(omitted), shown, hidden, is_full and not omitted)


def _omitted_block(part: BlockForms, current: int, reason: str) -> Omission:
    last = part.forms[-1].cost
    if current < 0:
        return Omission(f"/{part.key}", part.text, part.forms[0].cost, reason)
    return Omission(
        f"/{part.key}/whole", part.text, last - part.forms[current].cost, f"a shorter form is shown: {reason}"
    )


def _moves(part: Part, place: int) -> list[_Move]:
    """Return the moves of a part."""
    if isinstance(part, BlockForms):
        first = 1 if part.required else 0
        return [(-form.priority, place, n, n) for n, form in enumerate(part.forms) if n >= first]
    moves: list[_Move] = [
        (-form.priority, place, n, position)
        for n, item in enumerate(part.items)
        for position, form in enumerate(item.forms)
    ]
    if len(part.layouts) > 1:
        moves.append((-part.priority, place, _LAYOUT, 0))
    return moves
