"""Plan a fit: what of a tree is required, and which of its nodes may be left out, in their order of importance.

The idea: a tree is read once, before any budget is spent. Each element becomes one of three things. What has to be
there is added to its container's cost. What stays or goes by itself becomes a candidate with a rank and a cost. A
container that holds candidates is there when one of them is, and opening it costs what it costs without them. After
that a fit at any budget is a walk over one sorted list of candidates.

An example, one token a word: a document with the text "fix it", a section "Notes" with an item of priority 2 "a b c"
and one of priority 1 "d", and a text of priority 3 "e f". The plan has

    required   2 tokens   "fix it"
    container  1 token    "Notes", there when one of its items is
    ranked     "e f" (priority 3, 2 tokens), "a b c" (2, 3 tokens), "d" (1, 1 token)

With 6 tokens: 4 are left after what is required; "e f" takes 2; "a b c" would take 3 and the heading 1, which is too
much; "d" takes 1 and the heading 1. So "fix it", "e f" and "Notes: d" are in.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import msgspec

from hudkit.compose.fitting.atomic import FitMeasures, cost_within, path_name, resolve_atomic
from hudkit.compose.fitting.candidates import (
    BEFORE_ALL,
    Alternative,
    AlternativeGroup,
    Container,
    FallbackCandidate,
    Fill,
    FitCandidate,
    FlexibleCandidate,
    GrowingElement,
    Rank,
    is_always_present,
    is_inside,
)
from hudkit.compose.fitting.result import Omission
from hudkit.compose.fitting.traits import (
    ALTERNATIVE_TAGS,
    BREAK,
    FLEXIBLE_PROPS,
    PRUNABLE,
    SPECIAL,
    standalone,
    token_amount,
    traits,
)
from hudkit.compose.fitting.truncation import marker_alone, truncate
from hudkit.compose.nodes import Element, Node, text_of
from hudkit.errors import BudgetError, TreeError


class _PriorityScope(msgspec.Struct, frozen=True):
    """What a node has from those above it.

    - `rank_prefix`: the ranks of the local scopes that it is in; `is_local`: whether a container makes one more.
    - `inherited_rank`: the rank of a choice that has no priority of its own.
    - `ties`: the names of the `keep` elements that it is in.
    - `to_break`: what is left of the path to the last break; `()`: it is before the break, `None`: behind it.
    """

    rank_prefix: Rank = ()
    is_local: bool = False
    inherited_rank: float = BEFORE_ALL
    ties: tuple[str, ...] = ()
    to_break: tuple[int, ...] | None = None


class _KeepTies:
    """The elements of each `keep`, which are in together or not at all."""

    def __init__(self) -> None:
        self.members: dict[str, list[Container | FitCandidate]] = {}
        self._ranked: Sequence[FitCandidate] = ()
        self._leaders: dict[str, list[FitCandidate]] = {}

    def join(self, tie: str, member: Container | FitCandidate) -> None:
        """Add one more element to a tie."""
        self.members.setdefault(tie, []).append(member)

    def complete(self, candidates: Sequence[FitCandidate], ranked: Sequence[FitCandidate]) -> None:
        """Note that all are known: one that is always there takes no part in its tie, nor does what is in it."""
        self._ranked = ranked
        for tie, members in self.members.items():
            free = [member for member in members if not _is_fixed_member(member)]
            if len(free) == len(members):
                continue
            self.members[tie] = free
            for candidate in candidates:
                if tie in candidate.ties and not any(_is_member(candidate, member) for member in free):
                    candidate.ties = tuple(name for name in candidate.ties if name != tie)
        for candidate in candidates if self.members else ():
            if isinstance(candidate, Alternative) and candidate.group.minimum is not None:
                candidate.ties = ()

    def _tie_leaders(self, tie: str) -> list[FitCandidate]:
        """Return the most important candidate of each element of a tie."""
        leaders = self._leaders.get(tie)
        if leaders is None:
            by_member: dict[int, FitCandidate] = {}
            members = self.members.get(tie, [])
            for candidate in self._ranked:
                if tie in candidate.ties:
                    for member in members:
                        if _is_member(candidate, member):
                            by_member.setdefault(id(member), candidate)
            leaders = self._leaders[tie] = list(by_member.values())
        return leaders

    def closure(self, candidate: FitCandidate) -> list[FitCandidate]:
        """Return a candidate, the first of every element that is tied to it, and of those tied to these."""
        together, seen = [candidate], {candidate}
        waiting = list(candidate.ties)
        followed: set[str] = set()
        while waiting:
            tie = waiting.pop()
            if tie in followed:
                continue
            followed.add(tie)
            for leader in self._tie_leaders(tie):
                if leader not in seen:
                    seen.add(leader)
                    together.append(leader)
                    waiting += leader.ties
        return together


def _is_fixed_member(member: Container | FitCandidate) -> bool:
    return isinstance(member, Container) and is_always_present(member)


def _is_member(candidate: FitCandidate, member: Container | FitCandidate) -> bool:
    return member is candidate or (isinstance(member, Container) and is_inside(candidate, member))


def _ties_of(node: Element) -> tuple[str, ...]:
    """Return the ties of a node that stays or goes whole, and of what is in it."""
    if not traits(node) & SPECIAL:
        return ()
    names = [element.get("keep") for _, element in node.walk() if isinstance(element, Element)]
    return tuple(dict.fromkeys(name for name in names if name is not None))


class FitPlan:
    """The containers and candidates of a tree; `ranked` has the candidates, the most important first.

    - `required_cost`: tokens of what must be there, `reserved` of them for nothing that is written.
    - `largest`: path and cost of the largest required part, for the error where the budget is too small.
    - `decisions`: candidates, groups of alternatives and growing elements, in document order.
    - `may_release`: taking a candidate can free tokens, of a marker or of a fallback.
    - `is_simple`: each candidate costs what it costs, whatever else is in; the fit is then one pass over prefix sums.
    """

    def __init__(self, tree: Element, measures: FitMeasures) -> None:
        self.tree = tree
        self.measures = measures
        self.containers: list[Container] = []
        self.decisions: list[FitCandidate | AlternativeGroup | GrowingElement] = []
        self.candidates: list[FitCandidate] = []
        self.growing: list[GrowingElement] = []
        self.ties = _KeepTies()
        self.largest = ("", 0)
        self.reserved = 0
        self._order = 0
        self.traits = traits(tree)
        to_break = _last_break(tree) if self.traits & BREAK else None
        self.root, self.required_cost = self._add_container(tree, None, "", tree, _PriorityScope(to_break=to_break))
        self.ranked = sorted(self.candidates, key=attrgetter("rank"))
        self.ties.complete(self.candidates, self.ranked)
        self._link_containers()
        self.may_release = any(map(_can_free_tokens, self.containers))
        self.limited = [container for container in self.containers if container.limit is not None]
        self.ordered = [container for container in self.containers if container.ordered]
        self.is_all_whole = all(type(decision) is FitCandidate for decision in self.decisions)
        self.is_simple = self.is_all_whole and not any(map(_depends_on_others, self.candidates))
        # With a floor, costs are lower bounds at first. Only the simple pass works with bounds; for others all are
        # measured.
        self.costs_are_bounds = self.is_simple and measures.floor is not None
        if measures.floor is not None and not self.is_simple:
            for candidate in self.candidates:
                candidate.exact_cost()
        self.costs = [candidate.cost for candidate in self.ranked]

    def _link_containers(self) -> None:
        # Parents come before their children, so a parent's own link is there when it is needed.
        for container in self.containers:
            if _has_figures(container):
                container.next_tracked = container
            elif container.parent is not None:
                container.next_tracked = container.parent.next_tracked
            container.initial_missing = container.missing

    def _add_container(
        self, node: Element, parent: Container | None, path: str, host: Element, scope: _PriorityScope
    ) -> tuple[Container, int]:
        """Add a container and all below it; return it, and the cost of what is required at and below it.

        `host` is the element in which its parts stand: for a `<default>`, which is not written, the one around it.
        """
        priority = node.get("priority") if parent is not None else None
        before_break = scope.to_break is not None
        required = parent is None or before_break or (parent.required and priority is None)
        container = Container(node, parent, path, required)
        container.limit = node.get("limit")
        self.containers.append(container)
        scope = self._scope_within(node, container, priority, scope)
        if node.tag == "default":
            container.transparent = True
            container.required = False
        else:
            host = node
            texts = tuple([child for child in node.children if type(child) is str])
            container.cost = self.measures.measure(node.with_children(texts))
        children = node.children[:-1] if container.transparent else node.children
        required_below = 0
        for position, child in enumerate(children):
            if isinstance(child, str):
                container.parts.append(child)
            elif child.tag == "more":
                container.marker = child
                container.parts.append(child)
            else:
                required_below += self._add_child(child, container, host, scope, position)
        if container.transparent:
            required_below += self._add_fallback(container, node, host, scope)
        if container.marker is not None:
            self._reserve_marker(container, container.marker, host)
        total = (container.cost if container.required else 0) + required_below
        container.initial_used = total if container.required else 0
        return container, total

    def _reserve_marker(self, container: Container, marker: Element, host: Element) -> None:
        # Measured with the largest number that it can show, so that it is never dearer than what is held back.
        hidden = int(marker.get("hidden", 0))
        longest = marker.with_props(hidden=hidden + container.missing)
        cost = self.measures.measure(standalone(host, longest))
        container.marker_reserve = 0 if hidden else cost
        container.cost += cost

    def _scope_within(
        self, node: Element, container: Container, priority: float | None, scope: _PriorityScope
    ) -> _PriorityScope:
        """Return what the children of a container have from it."""
        setting, tie = node.get("scope"), node.get("keep")
        if setting is None and tie is None and priority is None and scope.to_break is None:
            return scope
        if setting not in (None, "local", "across"):
            raise TreeError(f"scope={setting!r} at {container.path or '/'}", hint="It is local or across")
        is_local = scope.is_local if setting is None else setting == "local"
        prefix, ties, inherited = scope.rank_prefix, scope.ties, scope.inherited_rank
        if priority is not None:
            inherited = -float(priority)
            if is_local:
                # A block of its own: nothing from outside can have a rank between those of its nodes.
                self._order += 1
                prefix, inherited = (*prefix, -float(priority), self._order), BEFORE_ALL
        if tie is not None:
            ties = (*ties, tie)
            self.ties.join(tie, container)
        return _PriorityScope(prefix, is_local, inherited, ties, scope.to_break)

    # Each of these adds a child to its container, and returns the tokens of what is required of it.

    def _add_child(
        self, child: Element, container: Container, host: Element, scope: _PriorityScope, position: int
    ) -> int:
        if scope.to_break is not None:
            scope = msgspec.structs.replace(scope, to_break=_path_below(scope.to_break, position))
        bits = traits(child)
        if bits:
            return self._add_special(child, bits, container, host, scope)
        if child.get("priority") is None or scope.to_break == ():
            return self._add_required(child, container, host)
        self._add_candidate(child, container, host, scope)
        return 0

    def _add_special(
        self, child: Element, bits: int, container: Container, host: Element, scope: _PriorityScope
    ) -> int:
        path = f"{container.path}/{path_name(child)}"
        if child.tag == "break":
            container.parts.append(child)
            return 0
        if child.tag == "reserve":
            return self._add_reserve(child, container, scope)
        # Before the last break bytes must not change from call to call: no room has a say there.
        if scope.to_break == ():
            if child.tag in ALTERNATIVE_TAGS or child.tag == "default":
                return self._add_resolved(child, path, container, host)
            return self._add_required(resolve_atomic(child, self.measures, path), container, host)
        # The order matters: an atomic choice is whole first, a growing one grows, whatever else it says.
        if child.get("isolate", False) or child.get("atomic", False):
            return self._add_whole(child, path, container, host, scope)
        if child.get("grow", 0) > 0 or child.get("expand", False):
            return self._add_growing(child, path, container, host)
        if child.tag in ALTERNATIVE_TAGS:
            return self._add_alternatives(child, path, container, host, scope)
        if not FLEXIBLE_PROPS.isdisjoint([name for name, _ in child.props]):
            return self._add_flexible(child, path, container, host, scope)
        if child.tag == "default" and child.get("priority") is not None:
            child = _with_priority_below(child)
            bits = traits(child)
        if child.tag == "default" and not bits & PRUNABLE:
            return self._add_resolved(child, path, container, host)
        holds_candidates = bits & PRUNABLE or (container.required and child.get("priority") is None)
        if holds_candidates and any(isinstance(grandchild, Element) for grandchild in child.children):
            inner, required_cost = self._add_container(child, container, path, host, scope)
            container.parts.append(inner)
            container.missing += inner.missing
            return required_cost
        return self._add_whole(child, path, container, host, scope)

    def _add_resolved(self, child: Element, path: str, container: Container, host: Element) -> int:
        """What a structural tag stands for where nothing is left out."""
        resolved = resolve_atomic(Element("fragment", (), (child,)), self.measures, path)
        for node in resolved.children:
            element = node if isinstance(node, Element) else Element("fragment", (), (node,))
            self._add_required(element, container, host)
        return 0

    def _add_whole(
        self, child: Element, path: str, container: Container, host: Element, scope: _PriorityScope
    ) -> int:
        """A node that stays or goes whole; with a priority, one that breaks a limit in it is never in."""
        has_priority = child.get("priority") is not None
        try:
            resolved = resolve_atomic(child, self.measures, path)
        except BudgetError as error:
            if has_priority:
                self._add_candidate(child, container, host, scope).exclusion = error.message
            elif container.required:
                raise
            else:
                container.exclusion = error.message
            return 0
        if not has_priority:
            return self._add_required(resolved, container, host)
        self._add_candidate(resolved, container, host, scope)
        return 0

    def _add_required(self, child: Element, container: Container, host: Element) -> int:
        # Part of its container's own cost, which is returned with the container: 0 here.
        cost = self.measures.measure(standalone(host, child))
        container.cost += cost
        container.parts.append(child)
        if container.required and cost > self.largest[1]:
            self.largest = (f"{container.path}/{path_name(child)}", cost)
        return 0

    def _rank(self, child: Element, scope: _PriorityScope) -> Rank:
        # The running number breaks ties in document order, and makes every rank unique.
        priority = child.get("priority")
        self._order += 1
        own = scope.inherited_rank if priority is None else -float(priority)
        return (*scope.rank_prefix, own, self._order)

    def _add_candidate(
        self, child: Element, container: Container, host: Element, scope: _PriorityScope
    ) -> FitCandidate:
        ties = scope.ties
        if ties or traits(child) & SPECIAL:
            ties = (*ties, *_ties_of(child))
        measures = self.measures
        cost = (measures.floor or measures.measure)(standalone(host, child))
        candidate = FitCandidate(child, container, cost, self._rank(child, scope), ties)
        if measures.floor is not None:
            candidate.exact_measure = measures.measure
        for tie in ties[len(scope.ties) :]:
            self.ties.join(tie, candidate)
        return self._register(candidate, container)

    def _register(self, candidate: FitCandidate, container: Container) -> FitCandidate:
        self.candidates.append(candidate)
        self.decisions.append(candidate)
        container.parts.append(candidate)
        container.missing += 1
        return candidate

    def _add_reserve(self, child: Element, container: Container, scope: _PriorityScope) -> int:
        tokens = token_amount(child.get("tokens", 0), self.measures.budget)
        if child.get("priority") is not None:
            self._register(FitCandidate(child, container, tokens, self._rank(child, scope)), container)
            return 0
        if container.required:
            self.reserved += tokens
            return tokens
        container.cost += tokens
        return 0

    def _add_growing(self, child: Element, path: str, container: Container, host: Element) -> int:
        """A node that is made of what is left: only what it reserves is held back for it."""
        reserve = token_amount(child.get("reserve", 0), self.measures.budget)
        growing = GrowingElement(child, path, float(child.get("grow", 0)), float(child.get("basis", 1)), reserve)
        if child.get("expand", False):
            initial = self.measures.initial_forms.get(path)
            growing.initial = initial
            growing.reserve = cost_within(host, initial, self.measures) if initial is not None else 0
        self.growing.append(growing)
        self.decisions.append(growing)
        container.parts.append(growing)
        growing.reset()
        return growing.reserve

    def _add_alternatives(
        self, child: Element, path: str, container: Container, host: Element, scope: _PriorityScope
    ) -> int:
        """Alternatives; one that costs no less than one before it is never used, and its rank counts for that one."""
        group = AlternativeGroup(path, child.tag)
        priority = child.get("priority")
        inherited = scope.inherited_rank if priority is None else -float(priority)
        inner_scope = _PriorityScope(scope.rank_prefix, scope.is_local, inherited)
        ties = (*scope.ties, *_ties_of(child))
        for position, node in enumerate(child.children):
            element = Element("fragment", (), (node,)) if isinstance(node, str) else node
            rank = self._rank(element, inner_scope)
            try:
                resolved = resolve_atomic(element, self.measures, path)
            except BudgetError:
                continue  # one that breaks a limit in it is no alternative
            alternative = Alternative(resolved, container, cost_within(host, resolved, self.measures), rank, ties)
            alternative.group, alternative.position = group, position
            # Preferred and no dearer: whenever this one would fit, that one does.
            cheaper = [other for other in group.alternatives if other.cost <= alternative.cost]
            if cheaper:
                cheaper[0].rank = min(cheaper[0].rank, rank)
            else:
                group.alternatives.append(alternative)
        if (tie := child.get("keep")) is not None and group.alternatives:
            self.ties.join(tie, group.alternatives[-1])
        own_rank = len(scope.rank_prefix)  # where in a rank the node's own part stands
        always_one = any(alternative.rank[own_rank] == BEFORE_ALL for alternative in group.alternatives)
        if container.required and always_one:
            group.minimum = group.alternatives[-1]
        else:
            container.missing += 1
        self.candidates += group.alternatives
        self.decisions.append(group)
        container.parts.append(group)
        group.reset()
        return group.minimum.cost if group.minimum else 0

    def _add_flexible(
        self, child: Element, path: str, container: Container, host: Element, scope: _PriorityScope
    ) -> int:
        candidate = FlexibleCandidate(child, container, 0, self._rank(child, scope), (*scope.ties, *_ties_of(child)))
        required = container.required and candidate.rank[len(scope.rank_prefix)] == BEFORE_ALL
        if child.get("step") is not None:
            _set_up_steps(candidate, required, host, self.measures, path)
        else:
            _set_up_text(candidate, required, host, self.measures, path)
        for tie in _ties_of(child):
            self.ties.join(tie, candidate)
        self._register(candidate, container)
        container.missing -= required
        candidate.reset()
        if not required:
            return 0
        if candidate.minimum_cost > self.largest[1]:
            self.largest = (path, candidate.minimum_cost)
        return candidate.minimum_cost

    def _add_fallback(self, container: Container, node: Element, host: Element, scope: _PriorityScope) -> int:
        """What stands in for a default: there from the start, where it has no priority and its parent stays."""
        parent = container.parent
        assert parent is not None
        last = node.children[-1] if node.children else ""
        resolved = resolve_atomic(
            last if isinstance(last, Element) else Element("fragment", (), (last,)), self.measures, container.path
        )
        required_parts = [part for part in container.parts if isinstance(part, Element)]
        # Something of the others is always shown, so the fallback never is.
        if any(text_of(part).strip() for part in required_parts):
            container.required = parent.required
            return 0
        cost = cost_within(host, resolved, self.measures)
        fallback = FallbackCandidate(resolved, parent, cost, self._rank(resolved, scope))
        fallback.replaces = container
        container.fallback = fallback
        container.fallback_required = parent.required and fallback.rank[len(scope.rank_prefix)] == BEFORE_ALL
        if container.fallback_required:
            return cost
        self.candidates.append(fallback)
        return 0


def _with_priority_below(node: Element) -> Element:
    """Return a `<default>`, which is not written itself, with its priority on each of its children without one."""
    priority = node.get("priority")
    children = [
        child.with_props(priority=priority) if isinstance(child, Element) and child.get("priority") is None else child
        for child in node.children
    ]
    return node.with_children(tuple(children))


def _has_figures(container: Container) -> bool:
    """Return whether a container keeps figures that change when a candidate below it comes in."""
    return (
        not container.required or container.marker_reserve > 0 or container.limit is not None or container.transparent
    )


def _can_free_tokens(container: Container) -> bool:
    return container.marker_reserve > 0 or container.fallback is not None


def _depends_on_others(candidate: FitCandidate) -> bool:
    """Return whether what a candidate costs, or whether it may be in, depends on what else is in."""
    return candidate.container.next_tracked is not None or bool(candidate.ties) or bool(candidate.exclusion)


# Flexible candidates: one long text that is cut, and history that goes in steps.


def _set_up_text(
    candidate: FlexibleCandidate, required: bool, host: Element, measures: FitMeasures, path: str
) -> None:
    """Give a node with a long text its way to fill room, its whole cost, and its smallest form."""
    limit = candidate.element.get("limit")
    # The limit is for the cut text: resolved with it, a text over the limit would be cut here already.
    element = resolve_atomic(candidate.element.with_props(limit=None), measures, path).with_props(limit=limit)
    whole_cost = candidate.cost = cost_within(host, element, measures)
    whole_text = text_of(element)

    def measure(node: Element) -> int:
        return cost_within(host, node, measures)

    def fill(room: int) -> tuple[Element, int, tuple[Omission, ...]] | None:
        room = room if limit is None else min(room, limit)
        if whole_cost <= room:
            return element, whole_cost, ()
        cut = truncate(element, room, measure)
        if cut is None:
            return None
        cost = measure(cut)
        cut_characters = len(whole_text) - len(text_of(cut))
        reason = f"{cut_characters} characters were cut, to {cost} tokens"
        return cut, cost, (Omission(path, whole_text, whole_cost - cost, reason),)

    smallest = marker_alone(element)
    if limit is not None and whole_cost > limit and (marker_cost := measure(smallest)) > limit:
        raise TreeError(
            f"the marker at {path} costs {marker_cost} tokens, and its limit is {limit}",
            hint="Give a shorter marker, or a larger limit",
        )
    _set_forms(candidate, required, fill, smallest, host, measures)


def _set_up_steps(
    candidate: FlexibleCandidate, required: bool, host: Element, measures: FitMeasures, path: str
) -> None:
    """Give a node whose oldest children go its way to fill room: what is over goes, rounded up to whole steps.

    So the first bytes stay the same for many calls in a row. With steps of 100 tokens and 230 over, 300 tokens of the
    oldest children go, and the next 70 tokens of history are added without a change before them.
    """
    step = candidate.element.get("step")
    if step <= 0:
        raise TreeError(f"step={step} at {path}", hint="A step is a number of tokens, at least 1")
    limit = candidate.element.get("limit")
    children: list[Node] = []
    for child in candidate.element.children:
        if isinstance(child, Element):
            child = resolve_atomic(child, measures, f"{path}/{path_name(child)}")
        children.append(child)
    texts = tuple(child for child in children if isinstance(child, str))
    empty = candidate.element.with_children(texts)
    empty_cost = cost_within(host, empty, measures)
    costs = [_child_cost(candidate.element, child, measures) for child in children]
    droppable = len(children) - len(texts)
    whole_cost = candidate.cost = empty_cost + sum(costs)

    def fill(room: int) -> tuple[Element, int, tuple[Omission, ...]] | None:
        room = room if limit is None else min(room, limit)
        if empty_cost > room:
            return None
        over = max(0, whole_cost - room)
        quota = -(-over // step) * step
        remaining: list[Node] = []
        dropped: list[Omission] = []
        dropped_tokens = 0
        for child, cost in zip(children, costs, strict=True):
            if isinstance(child, Element) and dropped_tokens < quota:
                dropped_tokens += cost
                reason = f"the oldest go first, in steps of {step} tokens, to {room}"
                dropped.append(Omission(f"{path}/{path_name(child)}", text_of(child), cost, reason))
            else:
                remaining.append(child)
        if dropped and len(dropped) == droppable and not required:
            return None
        element = candidate.element.with_children(tuple(remaining))
        return element, whole_cost - dropped_tokens, tuple(dropped)

    _set_forms(candidate, required, fill, empty, host, measures)


def _child_cost(parent: Element, child: Node, measures: FitMeasures) -> int:
    return measures.measure(standalone(parent, child)) if isinstance(child, Element) else 0


def _set_forms(
    candidate: FlexibleCandidate, required: bool, fill: Fill, minimum: Element, host: Element, measures: FitMeasures
) -> None:
    candidate.fill = fill
    candidate.minimum = minimum if required else None
    candidate.minimum_cost = cost_within(host, minimum, measures) if required else 0
    candidate.reset()


# Breaks. A path to the last one is carried down while a plan is made, so that each node knows on which side it is.


def _path_below(path: tuple[int, ...], position: int) -> tuple[int, ...] | None:
    """Return what is left of the path to the last break, seen from the child at `position`.

    `()`: the whole child is before the break. `None`: it is behind it.
    """
    if not path or position < path[0]:
        return ()
    if position > path[0]:
        return None
    return path[1:] or None


def _last_break(tree: Element) -> tuple[int, ...]:
    """Return the path of the last break, `()` where there is none."""
    for position in range(len(tree.children) - 1, -1, -1):
        child = tree.children[position]
        if isinstance(child, Element):
            if child.tag == "break":
                return (position,)
            if traits(child) & BREAK:
                return (position, *_last_break(child))
    return ()
