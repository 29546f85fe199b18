"""Rendering: every component of a tree is replaced by what it renders to, purely, under the context of its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hudkit.compose.build import flatten
from hudkit.compose.component import Component
from hudkit.compose.context import Context
from hudkit.compose.nodes import Element, Node
from hudkit.compose.outside import DEEPEST, check_keys
from hudkit.compose.pending import Give, Pending, Use
from hudkit.compose.vocabulary import check
from hudkit.errors import HudkitError, TreeError

Trail = tuple[str, ...]
"""Where a component stands: the steps from the root, each a tag with its position among siblings, or with its key."""


class Ask(msgspec.Struct, frozen=True):
    """A component that has to prepare: which, with what, and where."""

    component: Any
    use: Use
    context: Context
    trail: Trail


class Prepared(msgspec.Struct, frozen=True):
    """What the components of a tree have prepared, by trail; with it the tree renders any number of times alike."""

    results: Mapping[Trail, Any] = {}


NOTHING_PREPARED = Prepared()
_BARE = Context()


def render(tree: Element, context: Context | None = None, prepared: Prepared = NOTHING_PREPARED) -> Element:
    """The tree with every component rendered; a tree without any is returned as it is.

    Pure: it never awaits, reads nothing but its arguments, and a component gets its context as an argument. Raises
    `TreeError` where a component fails or breaks the vocabulary, naming the way to it; and where one has a `prepare`
    that has not run. `details["trail"]` is the way.
    """
    return _whole(_Walk(prepared.results, None).nodes(tree, context or _BARE, (step(tree, 0),)), tree)


def asks(node: Node, context: Context, trail: Trail, results: Mapping[Trail, Any]) -> tuple[Ask, ...]:
    """The components below that have to prepare and have no result yet, as far as can be seen without theirs."""
    found: list[Ask] = []
    _Walk(results, found).nodes(node, context, trail)
    return tuple(found)


def step(node: Node, position: int) -> str:
    """One step of a trail: `list[2]`, or `Feed#news` for a component with a key."""
    if isinstance(node, str):
        return f"text[{position}]"
    key = node.get("key") if isinstance(node, Pending) else None
    return f"{node.tag}[{position}]" if key is None else f"{node.tag}#{key}"


def named(trail: Trail) -> str:
    """A trail in words."""
    return " > ".join(trail)


def call(use: Use, context: Context, prepared: Any, trail: Trail) -> Element:
    """What one use renders to; whatever goes wrong in it is a `TreeError` that names the way to it."""
    source: Component[...] = use.source
    try:
        return source.apply(use, context, prepared)
    except HudkitError as error:
        raise _at(error, trail) from error
    except Exception as error:
        raise TreeError(
            f"component {source.name} failed with {type(error).__name__}: {error}, at {named(trail)}",
            hint="A render is a pure function of its props, its context and what it prepared",
            trail=trail,
        ) from error


class _Walk:
    """One pass over a tree. With `found`, what has to prepare is collected and left out; without, it is an error."""

    def __init__(self, results: Mapping[Trail, Any], found: list[Ask] | None) -> None:
        self._results = results
        self._found = found

    def nodes(self, node: Node, context: Context, trail: Trail) -> tuple[Node, ...]:
        if isinstance(node, str):
            return (node,)
        if len(trail) > DEEPEST:
            raise TreeError(
                f"the tree is deeper than {DEEPEST} levels, at {named(trail[:2])} … {named(trail[-3:])}",
                hint="Does a component use itself without an end?",
                trail=trail,
            )
        if not isinstance(node, Pending):
            return (self._element(node, context, trail),)
        if isinstance(node, Use):
            made = self._use(node, context, trail)
            return () if made is None else self.nodes(made, context, (*trail, step(made, 0)))
        if isinstance(node, Give):
            context = context.giving(node.source, node.values["value"])
        return self._children(node, context, trail)

    def _use(self, use: Use, context: Context, trail: Trail) -> Element | None:
        source: Component[...] = use.source
        if source.prepare is None:
            return call(use, context, None, trail)
        if trail in self._results:
            return call(use, context, self._results[trail], trail)
        if self._found is None:
            raise TreeError(
                f"component {source.name} has to prepare first, at {named(trail)}",
                hint="Await hudkit.compose.prepare(tree), and give its result to render",
                trail=trail,
            )
        self._found.append(Ask(source, use, context, trail))
        return None

    def _children(self, node: Element, context: Context, trail: Trail) -> tuple[Node, ...]:
        try:
            check_keys(node.tag, (child for child in node.children if isinstance(child, Pending)))
        except TreeError as error:
            raise _at(error, trail) from None
        made: list[Node] = []
        for n, child in enumerate(node.children):
            if isinstance(child, str) or _leaf(child):
                made.append(child)
            else:
                made.extend(self.nodes(child, context, (*trail, step(child, n))))
        return tuple(made)

    def _element(self, node: Element, context: Context, trail: Trail) -> Element:
        made = node.with_children(self._children(node, context, trail))
        if made is node:
            return node
        flat = made.with_children(flatten(made.children))
        try:
            check(flat.tag, dict(flat.props), flat.children)
        except TreeError as error:
            raise _at(error, trail) from None
        return flat


def _leaf(node: Element) -> bool:
    """An element with nothing but text below: the same after rendering."""
    return not isinstance(node, Pending) and not any(isinstance(child, Element) for child in node.children)


def _whole(nodes: tuple[Node, ...], tree: Element) -> Element:
    if isinstance(tree, Pending):
        nodes = flatten(nodes)
    if len(nodes) == 1 and isinstance(nodes[0], Element):
        return nodes[0]
    return Element("fragment", (), nodes)


def _at(error: HudkitError, trail: Trail) -> HudkitError:
    """The error with the way to it, once; the innermost way is the one that is kept."""
    if "trail" in error.details:
        return error
    return type(error)(f"{error.message}, at {named(trail)}", hint=error.hint, **{**error.details, "trail": trail})
