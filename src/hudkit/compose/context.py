"""Context values: what a subtree is given, and what the components in it read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

from hudkit.compose.build import flatten
from hudkit.compose.pending import Give
from hudkit.errors import TreeError

T = TypeVar("T")

_NOTHING: Any = object()


class ContextKey(Generic[T]):
    """The name of a value that a subtree is given: `THEME = ContextKey("Theme", "plain")`.

    Keys are told apart by identity, so two rooms may use one name. Without a default, reading it where nothing above
    gives it is a `TreeError`.
    """

    __slots__ = ("default", "name")

    def __init__(self, name: str, default: T = _NOTHING) -> None:
        self.name = name
        self.default = default

    def give(self, value: T, *children: Any) -> Give:
        """The children, in which the value is read under this key: the nearest one above counts."""
        return Give(self, self.name[:1].upper() + self.name[1:], {"value": value}, flatten(children))

    def __repr__(self) -> str:
        return f"<context key {self.name}>"


class Context:
    """What a place in a tree was given from above. Immutable: each subtree has its own, no render sees another's."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[ContextKey[Any], Any] = MappingProxyType({})) -> None:
        self._values = dict(values)

    def __getitem__(self, key: ContextKey[T]) -> T:
        value = self._values.get(key, key.default)
        if value is _NOTHING:
            raise TreeError(
                f"nothing above gives {key.name!r}", hint="Give the key a default, or give it a value above"
            )
        return cast(T, value)

    def giving(self, key: ContextKey[T], value: T) -> Context:
        """The same, with one more value."""
        return Context({**self._values, key: value})
