"""The nodes of a tree: frozen, hashable elements, each with a content hash by which bytes and counts are remembered.

`Element` is a node of the vocabulary. `Pending` is one that is not rendered yet: the use of a component, or a value
given to a subtree. `ElementCache` remembers what was made of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, Union

from hudkit.errors import TreeError
from hudkit.lazy import blake2b

Node = Union["Element", str]
"""A child of an element: another element, or text (which is data, whatever it contains)."""

Prop = str | int | float | bool | None
"""The value of a prop."""


class Element:
    """A node with a tag of the vocabulary, props, and children.

    Equality and hash are by content; the hash (`content_hash`, good within one process) is computed once. Make
    elements with `h`, which validates them.
    """

    __slots__ = ("_digest", "children", "content_hash", "props", "tag")

    tag: str
    props: tuple[tuple[str, Prop], ...]
    children: tuple[Node, ...]
    content_hash: int
    _digest: bytes | None

    def __init__(self, tag: str, props: tuple[tuple[str, Prop], ...], children: tuple[Node, ...]) -> None:
        put = object.__setattr__  # the class's own refuses, because elements are frozen
        put(self, "tag", tag)
        put(self, "props", props)
        put(self, "children", children)
        put(self, "content_hash", hash((tag, props, children)))
        put(self, "_digest", None)

    def __setattr__(self, name: str, value: object) -> None:
        raise TypeError(f"elements are frozen: cannot set {name} of <{self.tag}>")

    def __delattr__(self, name: str) -> None:
        raise TypeError(f"elements are frozen: cannot delete {name} of <{self.tag}>")

    def __hash__(self) -> int:
        return self.content_hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        # The hashes first: they differ for all but equal elements, and then no tree is walked.
        return (
            isinstance(other, Element)
            and self.content_hash == other.content_hash
            and self.tag == other.tag
            and self.props == other.props
            and self.children == other.children
        )

    def __repr__(self) -> str:
        props = "".join(f" {name}={value!r}" for name, value in self.props)
        inner = "".join(repr(child) if isinstance(child, Element) else child for child in self.children)
        return f"<{self.tag}{props}>{inner}</{self.tag}>" if inner else f"<{self.tag}{props} />"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Element, (self.tag, self.props, self.children))

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of prop `name`, `default` where it has none."""
        for key, value in self.props:
            if key == name:
                return value
        return default

    @property
    def digest(self) -> bytes:
        """Return 16 bytes that stand for the content, the same in every process."""
        if self._digest is None:
            # Not `content_hash`: Python salts the hashes of strings anew in each process.
            state = blake2b(digest_size=16)
            state.update(repr((self.tag, self.props)).encode("utf-8", "backslashreplace"))
            for child in self.children:
                if isinstance(child, str):
                    state.update(b"t" + blake2b(child.encode("utf-8", "backslashreplace")).digest())
                else:
                    state.update(b"e" + child.digest)
            object.__setattr__(self, "_digest", state.digest())
        assert self._digest is not None
        return self._digest

    def with_children(self, children: tuple[Node, ...]) -> Element:
        """Return the same element with other children (itself where they are the same objects)."""
        same_length = len(children) == len(self.children)
        if same_length and all(a is b for a, b in zip(children, self.children, strict=True)):
            return self
        return Element(self.tag, self.props, children)

    def with_props(self, **props: Prop) -> Element:
        """Return the same element with some props set; `None` takes a prop away."""
        merged = {**dict(self.props), **props}
        return Element(self.tag, freeze(merged), self.children)

    def walk(self) -> Iterator[tuple[tuple[int, ...], Node]]:
        """Yield this node and every one below, in document order, each with its path of child positions."""
        # A stack instead of recursion: a tree may be deeper than Python's own limit of calls.
        stack: list[tuple[tuple[int, ...], Node]] = [((), self)]
        while stack:
            path, node = stack.pop()
            yield path, node
            if isinstance(node, Element):
                last = len(node.children) - 1
                stack.extend(((*path, position), node.children[position]) for position in range(last, -1, -1))


def freeze(props: Mapping[str, Prop]) -> tuple[tuple[str, Prop], ...]:
    """Return props sorted by name, without those that are `None`."""
    return tuple(sorted((name, value) for name, value in props.items() if value is not None))


def text_of(node: Node) -> str:
    """Return all text below a node, in order, as it was given."""
    if isinstance(node, str):
        return node
    return "".join(child for _, child in node.walk() if isinstance(child, str))


def locate(root: Element, path: tuple[int, ...]) -> Node:
    """Return the node at a path of child positions; raises `TreeError` where there is none."""
    node: Node = root
    for position in path:
        if isinstance(node, str) or position >= len(node.children):
            raise TreeError(f"no node at path {path}", path=path)
        node = node.children[position]
    return node


class Pending(Element):
    """An element that `render` replaces. Its tag is capitalised, so that it is never one of the vocabulary's.

    It may stand wherever an element may; what it becomes is checked in its place. It has no `digest`: what it will
    say is not known yet.
    """

    __slots__ = ("source", "values")

    source: Any
    values: Mapping[str, Any]

    def __init__(self, source: Any, tag: str, values: Mapping[str, Any], children: tuple[Node, ...]) -> None:
        super().__init__(tag, (), children)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "values", dict(values))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Pending)
            and type(other) is type(self)
            and self.source is other.source  # by identity: two components with one name are two
            and self.values == other.values
            and self.children == other.children
        )

    __hash__ = Element.__hash__

    def __repr__(self) -> str:
        names = "".join(f" {name}={value!r}" for name, value in self.values.items())
        return f"<{self.tag}{names} />"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.source, self.tag, self.values, self.children))

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value given for `name`, `default` where there is none."""
        return self.values.get(name, default)

    @property
    def digest(self) -> bytes:
        """Raise `TreeError`: there is no digest before rendering."""
        # What it will say is not known yet, so nothing that is remembered by digest may take it for known.
        raise TreeError(f"<{self.tag}> is not rendered", hint="Call hudkit.compose.render first")

    def with_children(self, children: tuple[Node, ...]) -> Pending:
        """Return the same with other children."""
        return type(self)(self.source, self.tag, self.values, children)

    def with_props(self, **props: Any) -> Pending:
        """Return the same with some values set; `None` takes one away."""
        merged = {name: value for name, value in {**self.values, **props}.items() if value is not None}
        return type(self)(self.source, self.tag, merged, self.children)


class ComponentUse(Pending):
    """A component with its props, rendered later: where its context and what it prepared are known."""

    __slots__ = ()


class ContextValue(Pending):
    """A value for everything below: `values["value"]`, under the key that is its `source`."""

    __slots__ = ()


_V = TypeVar("_V")


class ElementCache(Generic[_V]):
    """A function of elements that remembers its results: `cache(element)` is `make(element)`, made once for equal
    ones.

    Beyond `limit` entries it starts anew.

    Faster than `functools.lru_cache` where most elements are the same objects as the last time.
    """

    __slots__ = ("_entries", "_limit", "_make")

    def __init__(self, make: Callable[[Element], _V], limit: int = 8192) -> None:
        self._make = make
        self._limit = limit
        self._entries: dict[int, tuple[Element, _V]] = {}

    def __call__(self, element: Element) -> _V:
        entry = self._entries.get(element.content_hash)
        # By hash first and then by content: two elements may share a hash, and identity settles most cases.
        if entry is not None and (entry[0] is element or entry[0] == element):
            return entry[1]
        value = self._make(element)
        # Starting anew is cheaper than keeping order: what is still used comes back with the next tree.
        if len(self._entries) >= self._limit:
            self._entries.clear()
        self._entries[element.content_hash] = (element, value)
        return value
