"""An agent's own memory: a tree of plain data that is read and written by dot paths. Pure: each change gives a new
tree.

Trees are never changed in place, because the renderer caches what it wrote for a tree by the tree's identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hudkit.errors import OperationError

MAX_DEPTH = 12
_MAX_PATH_CHARACTERS = 200


def set_at(tree: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the tree with `value` at `path`; what stood in the way there gives way.

    For example, `set_at({"mood": "calm"}, "mood.today", 1)` gives `{"mood": {"today": 1}}`.
    """
    first, *rest = _split_path(path)
    inner = tree.get(first)
    # A value in the way gives way here; `check_writable` refuses before that where something would be lost.
    below = inner if isinstance(inner, Mapping) else {}
    return {**tree, first: set_at(below, ".".join(rest), value) if rest else value}


def delete_at(tree: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the tree without `path`, and without branches that are empty then.

    Raises `OperationError` where nothing is at `path`.
    """
    first, *rest = _split_path(path)
    if first not in tree or (rest and not isinstance(tree[first], Mapping)):
        raise OperationError(f"there is nothing at {path!r}", hint="`self.knowledge` shows what there is")
    without = {name: value for name, value in tree.items() if name != first}
    if not rest:
        return without
    # Empty branches go with their last leaf: they would cost tokens in every HUD.
    inner = delete_at(tree[first], ".".join(rest))
    if not inner:
        return without
    return {name: inner if name == first else value for name, value in tree.items()}


def append_at(tree: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the tree with `value` at the end of the list at `path`; a single value there becomes the first of a
    list."""
    present = value_at(tree, path)
    if present is None:
        items = []
    elif isinstance(present, list | tuple):
        items = list(present)
    else:
        items = [present]
    return set_at(tree, path, [*items, value])


def value_at(tree: Mapping[str, Any], path: str) -> Any:
    """Return what is at a path; `None` where nothing is."""
    here: Any = tree
    for name in _split_path(path):
        if not isinstance(here, Mapping) or name not in here:
            return None
        here = here[name]
    return here


def check_writable(tree: Mapping[str, Any], path: str, *, appending: bool = False) -> None:
    """Raise `OperationError` where writing at `path` would lose what the agent did not name.

    That is a list on the way there, or, when a value is to be appended, a branch that is there.
    """
    names = _split_path(path)
    here: Any = tree
    for number, name in enumerate(names, 1):
        if not isinstance(here, Mapping) or name not in here:
            return
        here, so_far = here[name], ".".join(names[:number])
        # A path cannot name an item of a list, so the whole list would give way to a branch.
        if isinstance(here, list | tuple) and number < len(names):
            raise OperationError(f"{so_far!r} is a list", hint="Append to it, or set all of it")
    if appending and isinstance(here, Mapping):
        raise OperationError(f"{path!r} is a branch, no list", hint=f"Set {path}.(name), or append to a list in it")


def knowledge_json(tree: Mapping[str, Any]) -> str:
    """Return the JSON of a memory: its tokens are what `memory_used` counts."""
    return msgspec.json.encode(tree).decode()


def _split_path(path: str) -> tuple[str, ...]:
    """Return the names of a dot path.

    Raises `OperationError` for an empty, a long or a deep path, or an empty name in it.
    """
    names = tuple(path.split(".")) if path else ()
    empty = not names or any(not name.strip() for name in names)
    if empty or len(path) > _MAX_PATH_CHARACTERS or len(names) > MAX_DEPTH:
        raise OperationError(
            f"{path[:80]!r} is no path",
            hint=f"Names with dots between, such as people.Bob.trust: {MAX_DEPTH} at most,"
            f" {_MAX_PATH_CHARACTERS} characters",
        )
    return names
