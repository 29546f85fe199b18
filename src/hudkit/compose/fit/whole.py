"""What stays or goes whole, settled: its alternatives, its isolates, its own limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from hudkit.compose.fit.cut import truncated
from hudkit.compose.fit.result import Fitted, Grow, Measure
from hudkit.compose.fit.traits import OPTIONS, SPECIAL, STRUCTURAL, alone, traits
from hudkit.compose.nodes import Element, Node, text_of
from hudkit.errors import BudgetError, TreeError


class Kit(msgspec.Struct, frozen=True):
    """What a plan is made with: `measure` of parts, and of the `final` tree; `floor`, never more than it; `fit` of a
    tree by itself; the whole budget; what grows by key; the first forms of what expands, by path; where fitted
    isolates are noted."""

    measure: Measure
    final: Measure
    floor: Measure | None
    fit: Callable[[Element, int], Fitted]
    budget: int
    grow: Mapping[str, Grow]
    first: Mapping[str, Element]
    isolates: list[tuple[str, Fitted]]


def whole(node: Element, kit: Kit, label: str) -> Element:
    """The element as it is where nothing in it is left out: the first alternatives, the defaults where there is
    something to say, isolates fitted. Raises `BudgetError` where a limit in it is too small."""
    if not traits(node) & SPECIAL:
        return node
    if node.tag in STRUCTURAL and node.tag != "break":
        said = _settled((node,), kit, label)
        return said[0] if len(said) == 1 and isinstance(said[0], Element) else Element("fragment", (), tuple(said))
    if node.get("isolate", False):
        return isolated(node, kit, label)
    found = node.with_children(tuple(_settled(node.children, kit, label)))
    limit = node.get("limit")
    if limit is not None and (need := kit.measure(found)) > limit:
        cut = truncated(found, limit, kit.measure) if node.get("truncate") else None
        if cut is None:
            raise too_small(label, need, limit, node)
        return cut
    return found


def _settled(children: tuple[Node, ...], kit: Kit, label: str) -> list[Node]:
    found: list[Node] = []
    for child in children:
        if isinstance(child, str):
            found.append(child)
        elif child.tag in OPTIONS:
            found += _settled(child.children[:1], kit, label)
        elif child.tag == "default":
            said = _settled(child.children[:-1], kit, label)
            found += said if any(text_of(one).strip() for one in said) else _settled(child.children[-1:], kit, label)
        elif child.tag != "reserve":
            found.append(whole(child, kit, f"{label}/{named(child)}"))
    return found


def isolated(node: Element, kit: Kit, label: str) -> Element:
    """A node fitted alone in its own limit: nothing outside of it has a say in its bytes."""
    limit = node.get("limit")
    if limit is None:
        raise TreeError(f"{label} is isolated and has no limit", hint="Give it limit=N, in tokens")
    try:
        fitted = kit.fit(node, limit)
    except BudgetError as error:
        need, least = error.details.get("need"), error.details.get("limit")
        path = label if least == limit else f"{label}{str(error.details.get('path', '')).rstrip('/')}"
        assert isinstance(need, int) and isinstance(least, int)
        raise too_small(path, need, least, node) from error
    kit.isolates.append((label, fitted))
    return fitted.tree


def cost_of(host: Element, node: Element, kit: Kit) -> int:
    """Tokens of a node where it stands."""
    return kit.measure(alone(host, node))


def named(node: Element) -> str:
    """What a path calls an element."""
    return str(node.get("key") or node.get("title") or node.tag)


def too_small(path: str, need: int, limit: int, tree: Element) -> BudgetError:
    """What stands at `path` needs more than its own limit."""
    return BudgetError(
        f"{path or '/'} needs {need} tokens and its limit is {limit}",
        hint=f"Give it a limit of at least {need}, or give what is in it priorities, so that it may be left out",
        path=path or "/",
        need=need,
        limit=limit,
        tree=tree,
    )
