"""Elements that stand for something not yet rendered: the use of a component, and a value given to a subtree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from hudkit.compose.nodes import Element, Node
from hudkit.errors import TreeError


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
