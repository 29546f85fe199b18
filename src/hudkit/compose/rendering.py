"""Render a tree: every component is replaced by what it renders to, purely, under the context of its place.

`render` is pure and never awaits. What has to be fetched first is fetched by `prepare`, and handed to `render` as a
value; with that value the tree renders any number of times to the same tree.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from hudkit.compose.builder import flatten
from hudkit.compose.components import Component, RenderContext
from hudkit.compose.nodes import ComponentUse, ContextValue, Element, Node, Pending
from hudkit.compose.validation import MAX_DEPTH, check_keys
from hudkit.compose.vocabulary import check_element
from hudkit.errors import HudkitError, TreeError

Trail = tuple[str, ...]
"""Where a component stands: the steps from the root, each a tag with its position among siblings, or with its key."""


class _PrepareRequest(msgspec.Struct, frozen=True):
    """A component that has to prepare: which, with what, and where."""

    component: Component[...]
    use: ComponentUse
    context: RenderContext
    trail: Trail


class PreparedResults(msgspec.Struct, frozen=True):
    """What the components of a tree have prepared, by trail; with it the tree renders any number of times alike."""

    results: Mapping[Trail, Any] = {}


_NOTHING_PREPARED = PreparedResults()
_EMPTY_CONTEXT = RenderContext()


def render(
    tree: Element, context: RenderContext | None = None, prepared: PreparedResults = _NOTHING_PREPARED
) -> Element:
    """Return the tree with every component rendered; a tree without any is returned as it is.

    Pure: it never awaits, reads nothing but its arguments, and a component gets its context as an argument. Raises
    `TreeError` where a component fails or breaks the vocabulary, naming the way to it; and where one has a `prepare`
    that has not run. `details["trail"]` is the way.
    """
    nodes = _Renderer(prepared.results, None).render(tree, context or _EMPTY_CONTEXT, (_trail_step(tree, 0),))
    if isinstance(tree, Pending):
        nodes = flatten(nodes)
    if len(nodes) == 1 and isinstance(nodes[0], Element):
        return nodes[0]
    return Element("fragment", (), nodes)


class _Renderer:
    """One pass over a tree.

    With `requests`, what has to prepare and has no result is collected there and left out; without, it is an error.
    """

    def __init__(self, results: Mapping[Trail, Any], requests: list[_PrepareRequest] | None) -> None:
        self._results = results
        self._requests = requests

    def render(self, node: Node, context: RenderContext, trail: Trail) -> tuple[Node, ...]:
        """Return the nodes that stand for `node` after rendering: none, one, or several."""
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
        if isinstance(node, ComponentUse):
            result = self._component(node, context, trail)
            if result is None:
                return ()
            # A component may render to other components: they are rendered in its place.
            return self.render(result, context, (*trail, _trail_step(result, 0)))
        if isinstance(node, ContextValue):
            context = context.with_value(node.source, node.values["value"])
        return self._children(node, context, trail)

    def _component(self, use: ComponentUse, context: RenderContext, trail: Trail) -> Element | None:
        source: Component[...] = use.source
        if source.prepare is None:
            return _apply(use, context, None, trail)
        if trail in self._results:
            return _apply(use, context, self._results[trail], trail)
        if self._requests is None:
            raise TreeError(
                f"component {source.name} has to prepare first, at {_trail_words(trail)}",
                hint="Await hudkit.compose.prepare(tree), and give its result to render",
                trail=trail,
            )
        self._requests.append(_PrepareRequest(source, use, context, trail))
        return None

    def _children(self, node: Element, context: RenderContext, trail: Trail) -> tuple[Node, ...]:
        # Two components with one key would have one trail, and so one prepared result for both.
        try:
            check_keys(node.tag, (child for child in node.children if isinstance(child, Pending)))
        except TreeError as error:
            raise _with_trail(error, trail) from None
        children: list[Node] = []
        for position, child in enumerate(node.children):
            if isinstance(child, str) or _is_leaf(child):
                children.append(child)
            else:
                children.extend(self.render(child, context, (*trail, _trail_step(child, position))))
        return tuple(children)

    def _element(self, node: Element, context: RenderContext, trail: Trail) -> Element:
        rendered = node.with_children(self._children(node, context, trail))
        if rendered is node:
            return node
        flat = rendered.with_children(flatten(rendered.children))
        # What a component became is checked here, in its place: before, nobody knew what it would be.
        try:
            check_element(flat.tag, dict(flat.props), flat.children)
        except TreeError as error:
            raise _with_trail(error, trail) from None
        return flat


def _is_leaf(node: Element) -> bool:
    """Return whether an element has nothing but text below: then it is the same after rendering."""
    return not isinstance(node, Pending) and not any(isinstance(child, Element) for child in node.children)


def _apply(use: ComponentUse, context: RenderContext, prepared: Any, trail: Trail) -> Element:
    """Return what one use renders to; whatever goes wrong in it is a `TreeError` that names the way to it."""
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


def _trail_step(node: Node, position: int) -> str:
    """Return one step of a trail: `list[2]`, or `Feed#news` for a component with a key."""
    if isinstance(node, str):
        return f"text[{position}]"
    key = node.get("key") if isinstance(node, Pending) else None
    return f"{node.tag}[{position}]" if key is None else f"{node.tag}#{key}"


def _trail_words(trail: Trail) -> str:
    return " > ".join(trail)


def _with_trail(error: HudkitError, trail: Trail) -> HudkitError:
    """Return the error with the way to it, once: the innermost way is the one that stays."""
    if "trail" in error.details:
        return error
    message = f"{error.message}, at {_trail_words(trail)}"
    return type(error)(message, hint=error.hint, **{**error.details, "trail": trail})


# The step before rendering, which may await.


class PrepareError(TreeError):
    """A component could not prepare: `details` has its `trail`, and `failed`, the trails of all that could not."""

    code = "prepare"


async def prepare(
    tree: Element, context: RenderContext | None = None, *, timeout: float | None = None
) -> PreparedResults:
    """Run every `prepare` of a tree; return what its components need before they can be rendered.

    All of them run at once; those that only appear in what another one renders to start as soon as that one is there.
    Each may take its component's `timeout`, or `timeout` seconds where that is given. All are let to their end; then,
    where any failed, the first in document order is raised as `PrepareError` with its own error as cause. A component
    that cannot be rendered is the `TreeError` that `render` would raise. Runs on anyio; tested under asyncio.
    """
    preparation = _Preparation(timeout)
    requests = preparation.requests_below(tree, context or _EMPTY_CONTEXT, (_trail_step(tree, 0),))
    if requests:
        await preparation.run_all(requests)
    if preparation.failures:
        raise preparation.first_failure()
    return PreparedResults(preparation.results)


class _Preparation:
    """The prepares of one tree: their results and failures by trail, and where each stands in the document."""

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._positions: dict[Trail, tuple[int, ...]] = {}
        self._tasks: Any = None
        self.results: dict[Trail, Any] = {}
        self.failures: dict[Trail, TreeError] = {}

    def requests_below(self, node: Node, context: RenderContext, trail: Trail) -> list[_PrepareRequest]:
        """Return the components that have to prepare and have no result yet, as far as can be seen without theirs."""
        requests: list[_PrepareRequest] = []
        _Renderer(self.results, requests).render(node, context, trail)
        return requests

    async def run_all(self, requests: list[_PrepareRequest]) -> None:
        """Run these prepares, and those that appear in what they render to, until the last has ended."""
        # Not at the top: an event loop is loaded by those who await, and nobody else.
        from anyio import create_task_group

        async with create_task_group() as self._tasks:
            self._start(requests, ())

    def _start(self, requests: list[_PrepareRequest], above: tuple[int, ...]) -> None:
        for position, request in enumerate(requests):
            # Whoever ends first, failures are told in the order of the document.
            self._positions[request.trail] = (*above, position)
            self._tasks.start_soon(self._run, request)

    async def _run(self, request: _PrepareRequest) -> None:
        trail = request.trail
        try:
            failure = await self._prepare(request)
        # One failure does not stop the others: the caller learns of all of them at once.
        except Exception as error:
            kind = type(error).__name__
            problem = f"failed with {kind}: {error}" if str(error) else f"failed: {kind}"
            failure = _prepare_error(request, problem, "Its cause has the details")
            failure.__cause__ = error
        if failure is not None:
            self.failures[trail] = failure
            return
        try:
            below = _apply(request.use, request.context, self.results[trail], trail)
            requests = self.requests_below(below, request.context, (*trail, _trail_step(below, 0)))
            self._start(requests, self._positions[trail])
        except TreeError as error:
            self.failures[trail] = error

    async def _prepare(self, request: _PrepareRequest) -> PrepareError | None:
        """Run one prepare and note its result; return the failure where it takes too long."""
        from anyio import move_on_after

        function = request.component.prepare
        assert function is not None
        limit = request.component.timeout if self._timeout is None else self._timeout
        with move_on_after(limit):
            waiting = function(MappingProxyType(dict(request.use.values)), request.context)
            if not inspect.isawaitable(waiting):
                raise TypeError(f"prepare returned {type(waiting).__name__}, and not an awaitable")
            self.results[request.trail] = await waiting
        if request.trail in self.results:
            return None
        return _prepare_error(request, f"took longer than {limit:g} s", "Give it more time, or less to do")

    def first_failure(self) -> TreeError:
        """Return the first failure in document order, with the trails of all of them in its details."""
        failed = sorted(self.failures, key=self._positions.__getitem__)
        first = self.failures[failed[0]]
        error = type(first)(first.message, hint=first.hint, **{**first.details, "failed": tuple(failed)})
        error.__cause__ = first.__cause__
        return error


def _prepare_error(request: _PrepareRequest, problem: str, hint: str) -> PrepareError:
    return PrepareError(
        f"the prepare of component {request.component.name} {problem}, at {_trail_words(request.trail)}",
        hint=hint,
        trail=request.trail,
    )
