"""Rendering: every component of a tree is replaced by what it renders to, purely, under the context of its place."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from hudkit.compose.builder import flatten
from hudkit.compose.components import Component, RenderContext
from hudkit.compose.nodes import Element, Give, Node, Pending, Use
from hudkit.compose.validation import MAX_DEPTH, check_keys
from hudkit.compose.vocabulary import check_element
from hudkit.errors import HudkitError, TreeError

Trail = tuple[str, ...]
"""Where a component stands: the steps from the root, each a tag with its position among siblings, or with its key."""


class _PrepareRequest(msgspec.Struct, frozen=True):
    """A component that has to prepare: which, with what, and where."""

    component: Any
    use: Use
    context: RenderContext
    trail: Trail


class PreparedResults(msgspec.Struct, frozen=True):
    """What the components of a tree have prepared, by trail; with it the tree renders any number of times alike."""

    results: Mapping[Trail, Any] = {}


NOTHING_PREPARED = PreparedResults()
_BARE = RenderContext()


def render(
    tree: Element, context: RenderContext | None = None, prepared: PreparedResults = NOTHING_PREPARED
) -> Element:
    """The tree with every component rendered; a tree without any is returned as it is.

    Pure: it never awaits, reads nothing but its arguments, and a component gets its context as an argument. Raises
    `TreeError` where a component fails or breaks the vocabulary, naming the way to it; and where one has a `prepare`
    that has not run. `details["trail"]` is the way.
    """
    return _single_root(
        _Renderer(prepared.results, None).nodes(tree, context or _BARE, (_trail_step(tree, 0),)), tree
    )


def _prepare_requests(
    node: Node, context: RenderContext, trail: Trail, results: Mapping[Trail, Any]
) -> tuple[_PrepareRequest, ...]:
    """The components below that have to prepare and have no result yet, as far as can be seen without theirs."""
    found: list[_PrepareRequest] = []
    _Renderer(results, found).nodes(node, context, trail)
    return tuple(found)


def _trail_step(node: Node, position: int) -> str:
    """One step of a trail: `list[2]`, or `Feed#news` for a component with a key."""
    if isinstance(node, str):
        return f"text[{position}]"
    key = node.get("key") if isinstance(node, Pending) else None
    return f"{node.tag}[{position}]" if key is None else f"{node.tag}#{key}"


def _trail_words(trail: Trail) -> str:
    """A trail in words."""
    return " > ".join(trail)


def _call(use: Use, context: RenderContext, prepared: Any, trail: Trail) -> Element:
    """What one use renders to; whatever goes wrong in it is a `TreeError` that names the way to it."""
    source: Component[...] = use.source
    try:
        return source.apply(use, context, prepared)
    except HudkitError as error:
        raise _with_trail(error, trail) from error
    except Exception as error:
        raise TreeError(
            f"component {source.name} failed with {type(error).__name__}: {error}, at {_trail_words(trail)}",
            hint="A render is a pure function of its props, its context and what it prepared",
            trail=trail,
        ) from error


class _Renderer:
    """One pass over a tree. With `found`, what has to prepare is collected and left out; without, it is an error."""

    def __init__(self, results: Mapping[Trail, Any], found: list[_PrepareRequest] | None) -> None:
        self._results = results
        self._found = found

    def nodes(self, node: Node, context: RenderContext, trail: Trail) -> tuple[Node, ...]:
        if isinstance(node, str):
            return (node,)
        if len(trail) > MAX_DEPTH:
            raise TreeError(
                f"the tree is deeper than {MAX_DEPTH} levels, "
                f"at {_trail_words(trail[:2])} … {_trail_words(trail[-3:])}",
                hint="Does a component use itself without an end?",
                trail=trail,
            )
        if not isinstance(node, Pending):
            return (self._element(node, context, trail),)
        if isinstance(node, Use):
            made = self._use(node, context, trail)
            return () if made is None else self.nodes(made, context, (*trail, _trail_step(made, 0)))
        if isinstance(node, Give):
            context = context.giving(node.source, node.values["value"])
        return self._children(node, context, trail)

    def _use(self, use: Use, context: RenderContext, trail: Trail) -> Element | None:
        source: Component[...] = use.source
        if source.prepare is None:
            return _call(use, context, None, trail)
        if trail in self._results:
            return _call(use, context, self._results[trail], trail)
        if self._found is None:
            raise TreeError(
                f"component {source.name} has to prepare first, at {_trail_words(trail)}",
                hint="Await hudkit.compose.prepare(tree), and give its result to render",
                trail=trail,
            )
        self._found.append(_PrepareRequest(source, use, context, trail))
        return None

    def _children(self, node: Element, context: RenderContext, trail: Trail) -> tuple[Node, ...]:
        try:
            check_keys(node.tag, (child for child in node.children if isinstance(child, Pending)))
        except TreeError as error:
            raise _with_trail(error, trail) from None
        made: list[Node] = []
        for n, child in enumerate(node.children):
            if isinstance(child, str) or _is_leaf(child):
                made.append(child)
            else:
                made.extend(self.nodes(child, context, (*trail, _trail_step(child, n))))
        return tuple(made)

    def _element(self, node: Element, context: RenderContext, trail: Trail) -> Element:
        made = node.with_children(self._children(node, context, trail))
        if made is node:
            return node
        flat = made.with_children(flatten(made.children))
        try:
            check_element(flat.tag, dict(flat.props), flat.children)
        except TreeError as error:
            raise _with_trail(error, trail) from None
        return flat


def _is_leaf(node: Element) -> bool:
    """An element with nothing but text below: the same after rendering."""
    return not isinstance(node, Pending) and not any(isinstance(child, Element) for child in node.children)


def _single_root(nodes: tuple[Node, ...], tree: Element) -> Element:
    if isinstance(tree, Pending):
        nodes = flatten(nodes)
    if len(nodes) == 1 and isinstance(nodes[0], Element):
        return nodes[0]
    return Element("fragment", (), nodes)


def _with_trail(error: HudkitError, trail: Trail) -> HudkitError:
    """The error with the way to it, once; the innermost way is the one that is kept."""
    if "trail" in error.details:
        return error
    return type(error)(
        f"{error.message}, at {_trail_words(trail)}", hint=error.hint, **{**error.details, "trail": trail}
    )


class PrepareError(TreeError):
    """A component could not prepare: `details` has its `trail`, and `failed`, the trails of all that could not."""

    code = "prepare"


async def prepare(
    tree: Element, context: RenderContext | None = None, *, timeout: float | None = None
) -> PreparedResults:
    """What the components of a tree need before they can be rendered.

    All of them run at once; those that only appear in what another one renders to start as soon as that one is there.
    Each may take its component's `timeout`, or `timeout` seconds where that is given. All are let to their end; then,
    where any failed, the first in document order is raised as `PrepareError` with its own error as cause. A component
    that cannot be rendered is the `TreeError` that `render` would raise. Runs on anyio; tested under asyncio.
    """
    # Not at the top: an event loop is loaded by those who await, and nobody else.
    from anyio import create_task_group, move_on_after

    results: dict[Trail, Any] = {}
    order: dict[Trail, tuple[int, ...]] = {}
    failures: dict[Trail, TreeError] = {}

    async def run(ask: _PrepareRequest) -> None:
        limit = ask.component.timeout if timeout is None else timeout
        try:
            with move_on_after(limit) as scope:
                waiting = ask.component.prepare(MappingProxyType(dict(ask.use.values)), ask.context)
                if not inspect.isawaitable(waiting):
                    raise TypeError(f"prepare returned {type(waiting).__name__}, and not an awaitable")
                results[ask.trail] = await waiting
            if ask.trail not in results:
                assert scope.cancelled_caught
                failures[ask.trail] = _prepare_error(
                    ask, f"took longer than {limit:g} s", "Give it more time, or less to do"
                )
                return
        except Exception as error:
            said = f"failed with {type(error).__name__}: {error}" if str(error) else f"failed: {type(error).__name__}"
            failures[ask.trail] = _prepare_error(ask, said, "Its cause has the details")
            failures[ask.trail].__cause__ = error
            return
        try:
            below = _call(ask.use, ask.context, results[ask.trail], ask.trail)
            start(
                _prepare_requests(below, ask.context, (*ask.trail, _trail_step(below, 0)), results), order[ask.trail]
            )
        except TreeError as error:
            failures[ask.trail] = error

    def start(found: tuple[_PrepareRequest, ...], above: tuple[int, ...]) -> None:
        for n, ask in enumerate(found):
            order[ask.trail] = (*above, n)
            group.start_soon(run, ask)

    first = _prepare_requests(tree, context or RenderContext(), (_trail_step(tree, 0),), results)
    if first:
        async with create_task_group() as group:
            start(first, ())
    if failures:
        failed = sorted(failures, key=order.__getitem__)
        raise _with_all_failures(failures[failed[0]], tuple(failed))
    return PreparedResults(results)


def _prepare_error(ask: _PrepareRequest, said: str, hint: str) -> PrepareError:
    return PrepareError(
        f"the prepare of component {ask.component.name} {said}, at {_trail_words(ask.trail)}",
        hint=hint,
        trail=ask.trail,
    )


def _with_all_failures(error: TreeError, failed: tuple[Trail, ...]) -> TreeError:
    whole = type(error)(error.message, hint=error.hint, **{**error.details, "failed": failed})
    whole.__cause__ = error.__cause__
    return whole
