"""Resolve what stays or goes whole: its alternatives, its isolates, its own limits.

Within a node that stays or goes whole a fit has nothing to decide. So everything that asks for a decision is resolved
at once: of alternatives the preferred one, of a default what it stands in for, unless that says nothing.

An example: a whole item with `first["all of it", "short"]` and `default["", "none"]` becomes an item with the texts
"all of it" and "none". An isolate with a limit of 20 is fitted to 20 tokens, whatever the budget is, so that its
bytes never depend on what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from hudkit.compose.fitting.result import FitResult, Grow, Measure
from hudkit.compose.fitting.traits import ALTERNATIVE_TAGS, SPECIAL, STRUCTURAL_TAGS, standalone, traits
from hudkit.compose.fitting.truncation import truncate
from hudkit.compose.nodes import Element, Node, text_of
from hudkit.errors import BudgetError, TreeError


class FitMeasures(msgspec.Struct, frozen=True):
    """What a plan is made with.

    - `measure`: tokens of a part, remembered; `final`: tokens of the whole tree, which is asked anew.
    - `floor`: never more than `measure`, and cheap; `None` where the caller has none.
    - `fit`: fits a tree by itself in a limit.
    - `budget`: tokens for the whole tree.
    - `grow`: the functions of what is made of an offer, by key.
    - `initial_forms`: the first forms of what expands, by path.
    - `isolates`: where isolates that were fitted are noted, with their paths.
    """

    measure: Measure
    final: Measure
    floor: Measure | None
    fit: Callable[[Element, int], FitResult]
    budget: int
    grow: Mapping[str, Grow]
    initial_forms: Mapping[str, Element]
    isolates: list[tuple[str, FitResult]]


def resolve_atomic(node: Element, measures: FitMeasures, path: str) -> Element:
    """Return the element as it is where nothing in it is left out.

    It has its first alternatives, its defaults only where there is nothing else to say, and its isolates fitted.
    Raises `BudgetError` where a limit in it is too small.
    """
    if not traits(node) & SPECIAL:
        return node
    if node.tag in STRUCTURAL_TAGS and node.tag != "break":
        shown = _resolve_children((node,), measures, path)
        if len(shown) == 1 and isinstance(shown[0], Element):
            return shown[0]
        return Element("fragment", (), tuple(shown))
    if node.get("isolate", False):
        return _fit_isolated(node, measures, path)
    resolved = node.with_children(tuple(_resolve_children(node.children, measures, path)))
    limit = node.get("limit")
    if limit is None:
        return resolved
    need = measures.measure(resolved)
    if need <= limit:
        return resolved
    cut = truncate(resolved, limit, measures.measure) if node.get("truncate") else None
    if cut is None:
        raise _limit_error(path, need, limit, node)
    return cut


def _resolve_children(children: tuple[Node, ...], measures: FitMeasures, path: str) -> list[Node]:
    resolved: list[Node] = []
    for child in children:
        if isinstance(child, str):
            resolved.append(child)
        elif child.tag in ALTERNATIVE_TAGS:
            resolved += _resolve_children(child.children[:1], measures, path)
        elif child.tag == "default":
            shown = _resolve_children(child.children[:-1], measures, path)
            if not any(text_of(node).strip() for node in shown):
                shown = _resolve_children(child.children[-1:], measures, path)
            resolved += shown
        elif child.tag != "reserve":
            resolved.append(resolve_atomic(child, measures, f"{path}/{path_name(child)}"))
    return resolved


def _fit_isolated(node: Element, measures: FitMeasures, path: str) -> Element:
    """Return a node fitted alone in its own limit: nothing outside of it has a say in its bytes."""
    limit = node.get("limit")
    if limit is None:
        raise TreeError(f"{path} is isolated and has no limit", hint="Give it limit=N, in tokens")
    try:
        fitted = measures.fit(node, limit)
    except BudgetError as error:
        need, inner_limit = error.details.get("need"), error.details.get("limit")
        assert isinstance(need, int) and isinstance(inner_limit, int)
        # A limit further in has its own path, below this one.
        inner_path = "" if inner_limit == limit else str(error.details.get("path", "")).rstrip("/")
        raise _limit_error(f"{path}{inner_path}", need, inner_limit, node) from error
    measures.isolates.append((path, fitted))
    return fitted.tree


def cost_within(host: Element, node: Element, measures: FitMeasures) -> int:
    """Return the tokens of a node where it stands, in `host`."""
    return measures.measure(standalone(host, node))


def path_name(node: Element) -> str:
    """Return what a path calls an element: its key, else its title, else its tag."""
    return str(node.get("key") or node.get("title") or node.tag)


def _limit_error(path: str, need: int, limit: int, tree: Element) -> BudgetError:
    return BudgetError(
        f"{path or '/'} needs {need} tokens and its limit is {limit}",
        hint=f"Give it a limit of at least {need}, or give what is in it priorities, so that it may be left out",
        path=path or "/",
        need=need,
        limit=limit,
        tree=tree,
    )
