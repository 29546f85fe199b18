"""Copies of hooks' structs that are checked while they are made: every field has the type that its struct says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec

from hudkit.agent.hooks.points import Messages
from hudkit.agent.hooks.threads import PluginFault
from hudkit.compose.visible_text import shorten

MOST_DEPTH = 64

_packed = msgspec.msgpack.Encoder().encode
QUICKLY: dict[type, Callable[[bytes], Any]] = {kind: msgspec.msgpack.Decoder(kind).decode for kind in (Messages,)}
"""Types of plain data whose values can be large: packed and unpacked, which copies them deeply and checks them."""

Value = TypeVar("Value")
Check: TypeAlias = Callable[[Any, int], Any]
"""Copies a value at a depth; raises `_Wrong`."""


class _Wrong(Exception):
    def __init__(self, said: str, *path: str) -> None:
        super().__init__(said)
        self.said = said
        self.path = path

    def below(self, step: str) -> _Wrong:
        return _Wrong(self.said, step, *self.path)


def fitting(value: Value, kind: Any) -> Value:
    """A deep copy of `value`, made while checking that it is of the type `kind` all through.

    Raises `PluginFault` (`lied`) that names the first place that is not.
    """
    if kind in QUICKLY:
        try:
            return QUICKLY[kind](_packed(value))  # type: ignore[no-any-return]
        except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError, AttributeError):
            pass  # a value that cannot be packed, or a wrong one: found below, with its place
    try:
        copied: Value = _check(kind)(value, 0)
    except _Wrong as wrong:
        raise PluginFault("lied", f"output{''.join(wrong.path)} {wrong.said}") from None
    return copied


@cache
def _check(kind: Any) -> Check:
    """The check of one type, made once. Known: what the structs of `points` are made of."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if kind is Any:
        return _plain
    if origin in (Union, UnionType):
        return _one_of(kind, tuple(map(_check, inner)))
    if origin is Literal:
        return _literal(inner)
    if origin is list or origin is tuple:
        return _items(origin, _check(inner[0]))
    if origin is dict:
        return _entries(_check(inner[1]))
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return _fields(origin)
    if origin is float:
        return _number
    return _exactly(kind, origin) if origin in (str, int, bool, NoneType) else _callable


def _exactly(kind: Any, wanted: type) -> Check:
    def check(value: Any, depth: int) -> Any:  # noqa: ARG001 (all checks are called alike)
        if type(value) is not wanted:
            raise _Wrong(f"must be {kind.__name__}, it is {type(value).__name__}")
        return value

    return check


def _number(value: Any, depth: int) -> Any:  # noqa: ARG001
    if type(value) not in (float, int):
        raise _Wrong(f"must be a number, it is {type(value).__name__}")
    return float(value)


def _callable(value: Any, depth: int) -> Any:  # noqa: ARG001
    if not callable(value):
        raise _Wrong(f"must be a function, it is {type(value).__name__}")
    return value


def _literal(words: tuple[Any, ...]) -> Check:
    def check(value: Any, depth: int) -> Any:  # noqa: ARG001
        if type(value) is not str or value not in words:
            raise _Wrong(f"must be one of {', '.join(words)}")
        return value

    return check


def _one_of(kind: Any, checks: tuple[Check, ...]) -> Check:
    def check(value: Any, depth: int) -> Any:
        for one in checks:
            try:
                return one(value, depth)
            except _Wrong:
                continue
        raise _Wrong(f"must be {kind}, it is {type(value).__name__}")

    return check


def _items(kind: Any, check_one: Check) -> Check:
    def check(value: Any, depth: int) -> Any:
        if type(value) is not kind:
            raise _Wrong(f"must be a {kind.__name__}, it is {type(value).__name__}")
        deeper = _below(depth)
        copied = []
        try:
            for one in tuple(value):
                copied.append(check_one(one, deeper))  # noqa: PERF401 (its length is the place of a fault)
        except _Wrong as wrong:
            raise wrong.below(f"[{len(copied)}]") from None
        return copied if kind is list else kind(copied)

    return check


def _entries(check_one: Check) -> Check:
    def check(value: Any, depth: int) -> Any:
        if type(value) is not dict:
            raise _Wrong(f"must be an object, it is {type(value).__name__}")
        deeper = _below(depth)
        copied = {}
        key: Any = ""
        try:
            for key, one in tuple(value.items()):
                if type(key) is not str:
                    raise _Wrong("must have text for its name")
                copied[key] = check_one(one, deeper)
        except _Wrong as wrong:
            raise wrong.below(f"[{shorten(repr(key), 40)}]") from None
        return copied

    return check


def _fields(kind: type[msgspec.Struct]) -> Check:
    steps: list[tuple[str, Check]] = []  # filled at the first use: a struct may hold itself

    def check(value: Any, depth: int) -> Any:
        if type(value) is not kind:
            raise _Wrong(f"must be a {kind.__name__}, it is {type(value).__name__}")
        if not steps:
            steps.extend((field.name, _check(field.type)) for field in msgspec.structs.fields(kind))
        deeper = _below(depth)
        name = ""
        try:
            copied = []
            for name, one in steps:
                copied.append(one(getattr(value, name), deeper))
        except _Wrong as wrong:
            raise wrong.below(f".{name}") from None
        except AttributeError:
            raise _Wrong(f"has no {name} any more") from None
        return kind(*copied)

    return check


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is bool or kind is int or kind is NoneType or kind is float:
        return value
    if kind is dict or kind is list:
        return _check(dict[str, Any] if kind is dict else list[Any])(value, depth)
    if kind is tuple:
        return _check(tuple[Any, ...])(value, depth)
    raise _Wrong(f"must be plain data, it is {kind.__name__}")


def _below(depth: int) -> int:
    if depth >= MOST_DEPTH:
        raise _Wrong(f"is nested more than {MOST_DEPTH} deep")
    return depth + 1
