"""The step before rendering that may await: every `prepare` of a tree, concurrently, each with its time limit."""

from __future__ import annotations

import inspect
from types import MappingProxyType
from typing import Any

from hudkit.compose.context import Context
from hudkit.compose.nodes import Element
from hudkit.compose.render import Ask, Prepared, Trail, asks, call, named, step
from hudkit.errors import TreeError


class PrepareError(TreeError):
    """A component could not prepare: `details` has its `trail`, and `failed`, the trails of all that could not."""

    code = "prepare"


async def prepare(tree: Element, context: Context | None = None, *, timeout: float | None = None) -> Prepared:
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

    async def run(ask: Ask) -> None:
        limit = ask.component.timeout if timeout is None else timeout
        try:
            with move_on_after(limit) as scope:
                waiting = ask.component.prepare(MappingProxyType(dict(ask.use.values)), ask.context)
                if not inspect.isawaitable(waiting):
                    raise TypeError(f"prepare returned {type(waiting).__name__}, and not an awaitable")
                results[ask.trail] = await waiting
            if ask.trail not in results:
                assert scope.cancelled_caught
                failures[ask.trail] = _failure(
                    ask, f"took longer than {limit:g} s", "Give it more time, or less to do"
                )
                return
        except Exception as error:
            said = f"failed with {type(error).__name__}: {error}" if str(error) else f"failed: {type(error).__name__}"
            failures[ask.trail] = _failure(ask, said, "Its cause has the details")
            failures[ask.trail].__cause__ = error
            return
        try:
            below = call(ask.use, ask.context, results[ask.trail], ask.trail)
            start(asks(below, ask.context, (*ask.trail, step(below, 0)), results), order[ask.trail])
        except TreeError as error:
            failures[ask.trail] = error

    def start(found: tuple[Ask, ...], above: tuple[int, ...]) -> None:
        for n, ask in enumerate(found):
            order[ask.trail] = (*above, n)
            group.start_soon(run, ask)

    first = asks(tree, context or Context(), (step(tree, 0),), results)
    if first:
        async with create_task_group() as group:
            start(first, ())
    if failures:
        failed = sorted(failures, key=order.__getitem__)
        raise _all(failures[failed[0]], tuple(failed))
    return Prepared(results)


def _failure(ask: Ask, said: str, hint: str) -> PrepareError:
    return PrepareError(
        f"the prepare of component {ask.component.name} {said}, at {named(ask.trail)}", hint=hint, trail=ask.trail
    )


def _all(error: TreeError, failed: tuple[Trail, ...]) -> TreeError:
    whole = type(error)(error.message, hint=error.hint, **{**error.details, "failed": failed})
    whole.__cause__ = error.__cause__
    return whole
