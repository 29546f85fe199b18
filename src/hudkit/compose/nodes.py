"""The element tree: frozen, hashable nodes, each with a content hash by which bytes and counts are memoised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Generic, Protocol, TypeVar, Union

from hudkit.errors import TreeError

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
        put = object.__setattr__
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
        """The value of prop `name`."""
        for key, value in self.props:
            if key == name:
                return value
        return default

    @property
    def digest(self) -> bytes:
        """16 bytes that stand for the content, the same in every process."""
        if self._digest is None:
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
        """The same element with other children (itself where they are the same objects)."""
        if len(children) == len(self.children) and all(a is b for a, b in zip(children, self.children, strict=True)):
            return self
        return Element(self.tag, self.props, children)

    def with_props(self, **props: Prop) -> Element:
        """The same element with some props set; `None` takes a prop away."""
        merged = {**dict(self.props), **props}
        return Element(self.tag, freeze(merged), self.children)

    def walk(self) -> Iterator[tuple[tuple[int, ...], Node]]:
        """Every node below and this one, in document order, with its path of child positions."""
        stack: list[tuple[tuple[int, ...], Node]] = [((), self)]
        while stack:
            path, node = stack.pop()
            yield path, node
            if isinstance(node, Element):
                stack.extend((((*path, n)), node.children[n]) for n in range(len(node.children) - 1, -1, -1))


def freeze(props: Mapping[str, Prop]) -> tuple[tuple[str, Prop], ...]:
    """Props in one order, without those that are `None`."""
    return tuple(sorted((name, value) for name, value in props.items() if value is not None))


def text_of(node: Node) -> str:
    """All text below a node, in order, as it was given."""
    if isinstance(node, str):
        return node
    return "".join(child for _, child in node.walk() if isinstance(child, str))


def locate(root: Element, path: tuple[int, ...]) -> Node:
    """The node at a path; raises `TreeError` where there is none."""
    node: Node = root
    for place in path:
        if isinstance(node, str) or place >= len(node.children):
            raise TreeError(f"no node at path {path}", path=path)
        node = node.children[place]
    return node


class Named(Protocol):
    """What a `Use` has to know of its component."""

    @property
    def name(self) -> str: ...


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
            and self.source is other.source
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
        """The value given for `name`."""
        return self.values.get(name, default)

    @property
    def digest(self) -> bytes:
        raise TreeError(f"<{self.tag}> is not rendered", hint="Call hudkit.compose.render first")

    def with_children(self, children: tuple[Node, ...]) -> Pending:
        """The same with other children."""
        return type(self)(self.source, self.tag, self.values, children)

    def with_props(self, **props: Any) -> Pending:
        """The same with some values set; `None` takes one away."""
        merged = {name: value for name, value in {**self.values, **props}.items() if value is not None}
        return type(self)(self.source, self.tag, merged, self.children)


class Use(Pending):
    """A component with its props, rendered later: where its context and what it prepared are known."""

    __slots__ = ()


class Give(Pending):
    """A value for everything below: `values["value"]`, under the key that is its `source`."""

    __slots__ = ()


V = TypeVar("V")


class ElementCache(Generic[V]):
    """`memo(element)` is `make(element)`, made once for equal elements; beyond `limit` entries it starts anew.

    Faster than `functools.lru_cache` where most elements are the same objects as the last time.
    """

    __slots__ = ("_entries", "_limit", "_make")

    def __init__(self, make: Callable[[Element], V], limit: int = 8192) -> None:
        self._make = make
        self._limit = limit
        self._entries: dict[int, tuple[Element, V]] = {}

    def __call__(self, element: Element) -> V:
        known = self._entries.get(element.content_hash)
        if known is not None and (known[0] is element or known[0] == element):
            return known[1]
        made = self._make(element)
        if len(self._entries) >= self._limit:
            self._entries.clear()
        self._entries[element.content_hash] = (element, made)
        return made
