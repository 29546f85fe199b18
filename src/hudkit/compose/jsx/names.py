"""Values by name: what `{task.summary}` finds, and how a value is checked against a component's annotation.

Only keys of mappings and declared fields are found. No attribute that could run code is read, and no private one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, cast

import msgspec

from hudkit.compose.component import Component
from hudkit.errors import TreeError

SHOWN = 12
"""How many names an error lists."""


def fields(value: object) -> tuple[str, ...]:
    """The names that are found in a value: string keys of a mapping, fields of a Struct, dataclass or named tuple."""
    if isinstance(value, Mapping):
        return tuple(name for name in value if isinstance(name, str))
    if isinstance(value, msgspec.Struct):
        found = value.__struct_fields__
    elif is_dataclass(value) and not isinstance(value, type):
        found = tuple(value.__dataclass_fields__)
    elif isinstance(value, tuple) and hasattr(type(value), "_fields"):
        found = tuple(cast(Any, value)._fields)
    else:
        return ()
    return tuple(name for name in found if not name.startswith("_"))


def look(names: tuple[str, ...], given: Mapping[str, Any]) -> Any:
    """The value of a dotted name; raises `TreeError` that says what there is."""
    value: Any = given
    for n, name in enumerate(names):
        there = fields(value)
        if name not in there:
            where = f"{'.'.join(names[:n])!r} has no {name!r}" if n else f"there is no value {name!r}"
            listed = ", ".join(sorted(there)[:SHOWN]) + (", …" if len(there) > SHOWN else "")
            raise TreeError(where, hint=f"There is: {listed}" if there else "It has no fields")
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value


def props_of(value: object, name: str) -> dict[str, Any]:
    """The props that `{...name}` spreads."""
    if isinstance(value, Mapping):
        strange = [key for key in value if not isinstance(key, str)]
        if not strange:
            return dict(value)
    raise TreeError(f"{name!r} cannot be spread", hint="It must be a mapping from names to values")


def plain(value: Any) -> Any:
    """A member of an enumeration as its value, anything else as it is."""
    return value.value if isinstance(value, Enum) else value


def annotated(source: Component[...], name: str, value: Any) -> Any:
    """A scalar as the annotation of a component's parameter wants it: text becomes a member of an enumeration.

    Raises `TreeError` where it is not of that type. What is no scalar, and what has no annotation that can be
    checked, is left as it is: it was given by the program, not by the text.
    """
    if not isinstance(value, str | int | float | bool | None):
        return value
    hint = source.hints.get(name, Any)
    try:
        return msgspec.convert(plain(value), hint, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter: a lone surrogate meets fixed words
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:59]}…"
        words = f"It must be one of: {', '.join(str(one.value) for one in hint)}" if _is_enum(hint) else str(error)
        raise TreeError(f"prop {name!r} of <{source.name}> is {shown}", hint=words) from None
    except TypeError:
        return value


def _is_enum(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, Enum)
