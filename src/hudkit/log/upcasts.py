"""Old payloads to new ones: one pure step per type and version, applied when an event is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Upcast = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTS: dict[tuple[str, int], Upcast] = {}
"""`(type, v)` to the step that makes a payload of version `v + 1` of it. Empty while every type is at version 1."""


def upcast(
    type_: str, v: int, body: dict[str, Any], to: int, steps: Mapping[tuple[str, int], Upcast] = UPCASTS
) -> dict[str, Any] | None:
    """Bring `body` from version `v` to version `to`; `None` where a step is missing."""
    while v < to:
        step = steps.get((type_, v))
        if step is None:
            return None
        body, v = step(body), v + 1
    return body
