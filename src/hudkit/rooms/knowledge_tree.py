"""An agent's own memory: a tree of plain data, read and written by dot paths. Pure: each change gives a new tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hudkit.errors import OperationError

MOST_DEPTH = 12
MOST_PATH = 200


def split_path(path: str) -> tuple[str, ...]:
    """The names of a dot path. Raises `OperationError` for an empty, a long or a deep one, or an empty name in it."""
    names = tuple(path.split(".")) if path else ()
    if not names or any(not name.strip() for name in names) or len(path) > MOST_PATH or len(names) > MOST_DEPTH:
        raise OperationError(
            f"{path[:80]!r} is no path",
            hint=f"Names with dots between, such as people.Bob.trust: {MOST_DEPTH} at most, {MOST_PATH} characters",
        )
    return names


def set_at(tree: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The tree with `value` at `path`; what stood in the way there gives way."""
    first, *rest = split_path(path)
    inner = tree.get(first)
    below = inner if isinstance(inner, Mapping) else {}
    return {**tree, first: set_at(below, ".".join(rest), value) if rest else value}


def delete_at(tree: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The tree without `path`, and without branches that are empty then. Raises `OperationError` where it is not
    there."""
    first, *rest = split_path(path)
    if first not in tree or (rest and not isinstance(tree[first], Mapping)):
        raise OperationError(f"there is nothing at {path!r}", hint="`self.knowledge` shows what there is")
    left = {name: value for name, value in tree.items() if name != first}
    if not rest:
        return left
    inner = delete_at(tree[first], ".".join(rest))
    return {name: inner if name == first else value for name, value in tree.items()} if inner else left


def append_at(tree: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The tree with `value` at the end of the list at `path`; a single value there becomes the first of a list."""
    here = value_at(tree, path)
    known = [] if here is None else list(here) if isinstance(here, list | tuple) else [here]
    return set_at(tree, path, [*known, value])


def value_at(tree: Mapping[str, Any], path: str) -> Any:
    """What is at a path; `None` where nothing is."""
    here: Any = tree
    for name in split_path(path):
        if not isinstance(here, Mapping) or name not in here:
            return None
        here = here[name]
    return here


def check_writable(tree: Mapping[str, Any], path: str, *, appending: bool = False) -> None:
    """Raise `OperationError` where writing at `path` would lose what was not named: a list on the way there, or, when
    a value is to be appended, a branch that is there."""
    names = split_path(path)
    here: Any = tree
    for number, name in enumerate(names, 1):
        if not isinstance(here, Mapping) or name not in here:
            return
        here, so_far = here[name], ".".join(names[:number])
        if isinstance(here, list | tuple) and number < len(names):
            raise OperationError(f"{so_far!r} is a list", hint="Append to it, or set all of it")
    if appending and isinstance(here, Mapping):
        raise OperationError(f"{path!r} is a branch, no list", hint=f"Set {path}.(name), or append to a list in it")


def knowledge_json(tree: Mapping[str, Any]) -> str:
    """The JSON of a memory: its tokens are what `memory_used` counts."""
    return msgspec.json.encode(tree).decode()
