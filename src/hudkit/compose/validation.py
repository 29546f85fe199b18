"""Validate trees that come from outside: what is checked of them, and how large they may be."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from hudkit.compose.nodes import Element, Node
from hudkit.compose.visible_text import shorten, visible
from hudkit.compose.vocabulary import check_element, check_prop
from hudkit.errors import ConfigError, TreeError

MAX_DEPTH = 128
"""No limit may allow more levels: readers and writers of trees call themselves once a level."""


class TreeLimits(msgspec.Struct, frozen=True):
    """How large a tree from outside may be: levels below the root, elements and texts, characters read."""

    depth: int = 64
    nodes: int = 20_000
    chars: int = 1_000_000

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= MAX_DEPTH or self.nodes < 1 or self.chars < 1:
            raise ConfigError(
                f"limits out of range: {self}", hint=f"depth is 1 to {MAX_DEPTH}, the others at least 1"
            )


DEFAULT_LIMITS = TreeLimits()
"""Far above what a model's window holds, and small enough to be checked in a fraction of a second."""

MAX_MESSAGE_CHARS = 160
"""The most characters of a message that repeats what came from outside."""

_MAX_TAG_CHARS = 40
"""The most characters of a tag that a message repeats."""


def check_size(chars: int, limits: TreeLimits) -> None:
    """Raise `TreeError` where a text is longer than is read."""
    if chars > limits.chars:
        raise TreeError(f"the text has {chars} characters", hint=f"At most {limits.chars} are read")


def _check_node(element: Element) -> None:
    """Raise `TreeError` where one element breaks the vocabulary, a value its rule, or two children have one key."""
    props = dict(element.props)
    # Names first, without values: a wrong name is the better message, and `check_prop` knows only right ones.
    check_element(element.tag, dict.fromkeys(props), ())
    for name, value in element.props:
        check_prop(element.tag, name, value)
    check_element(element.tag, props, element.children)
    check_keys(element.tag, element.children)


def check_keys(tag: str, children: Iterable[Node], seen: set[object] | None = None) -> None:
    """Raise `TreeError` where two siblings have one key; `seen` has those of siblings before, and is added to."""
    if seen is None:
        seen = set()
    for child in children:
        if isinstance(child, Element) and (key := child.get("key")) is not None:
            if key in seen:
                raise TreeError(
                    f"two children of <{tag}> have the key {key!r}", hint="Keys are unique among siblings"
                )
            seen.add(key)


def validate(root: Element, limits: TreeLimits = DEFAULT_LIMITS) -> None:
    """Check every element of a tree that came from outside.

    Raises `TreeError` for the first in document order that breaks a rule; `details["path"]` is its path of child
    positions, and the message says it in tags.
    """
    stack: list[tuple[tuple[int, ...], Node]] = [((), root)]
    count = 0
    while stack:
        path, node = stack.pop()
        count += 1
        if count > limits.nodes or len(path) > limits.depth:
            excess = f"{limits.nodes} nodes" if count > limits.nodes else f"{limits.depth} levels"
            raise TreeError(f"the tree has more than {excess}", hint="Split it", path=path)
        if isinstance(node, str):
            continue
        try:
            _check_node(node)
        except TreeError as error:
            raise _with_place(error, root, path) from None
        last = len(node.children) - 1
        stack.extend(((*path, position), node.children[position]) for position in range(last, -1, -1))


def _with_place(error: TreeError, root: Element, path: tuple[int, ...]) -> TreeError:
    """Return the same error with its place: `at document > list > item[2]`."""
    message = f"{shorten(visible(error.message), MAX_MESSAGE_CHARS)}, at {_path_in_tags(root, path)}"
    return TreeError(message, hint=error.hint, **{**error.details, "path": path})


def _path_in_tags(root: Element, path: tuple[int, ...]) -> str:
    """Return a path in tags, each with its position among its siblings, from 0: `document > list[0] > item[2]`."""
    # Even tags are from outside here: shown, and no longer than a tag can be.
    names = [_shown_tag(root)]
    node: Node = root
    for position in path:
        node = node.children[position] if isinstance(node, Element) else node
        name = _shown_tag(node) if isinstance(node, Element) else "text"
        names.append(f"{name}[{position}]")
    return " > ".join(names)


def _shown_tag(element: Element) -> str:
    return shorten(visible(element.tag), _MAX_TAG_CHARS)
