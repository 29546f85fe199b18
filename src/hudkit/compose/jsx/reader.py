"""From syntax to elements: names are looked up, components are found, and every part is checked where it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, ParamSpec, TypeVar, cast

import msgspec

from hudkit.compose.builder import flatten
from hudkit.compose.components import Component, ContextKey, Show
from hudkit.compose.jsx.grammar import Attribute, ChildSyntax, ElementSyntax, Literal, NameLookup, TextRun, parse
from hudkit.compose.jsx.scanner import Scanner
from hudkit.compose.nodes import Element, Give, Node, freeze
from hudkit.compose.rendering import render
from hudkit.compose.validation import DEFAULT_LIMITS, TreeLimits, check_keys
from hudkit.compose.vocabulary import TAGS, check_element, check_prop
from hudkit.errors import TreeError

_MAX_NAMES_LISTED = 12
"""How many names an error lists."""


def _field_names(value: object) -> tuple[str, ...]:
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


def _look_up(names: tuple[str, ...], given: Mapping[str, Any]) -> Any:
    """The value of a dotted name; raises `TreeError` that says what there is."""
    value: Any = given
    for n, name in enumerate(names):
        there = _field_names(value)
        if name not in there:
            where = f"{'.'.join(names[:n])!r} has no {name!r}" if n else f"there is no value {name!r}"
            listed = ", ".join(sorted(there)[:_MAX_NAMES_LISTED]) + (", …" if len(there) > _MAX_NAMES_LISTED else "")
            raise TreeError(where, hint=f"There is: {listed}" if there else "It has no fields")
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value


def _spread_props(value: object, name: str) -> dict[str, Any]:
    """The props that `{...name}` spreads."""
    if isinstance(value, Mapping):
        strange = [key for key in value if not isinstance(key, str)]
        if not strange:
            return dict(value)
    raise TreeError(f"{name!r} cannot be spread", hint="It must be a mapping from names to values")


def _enum_value(value: Any) -> Any:
    """A member of an enumeration as its value, anything else as it is."""
    return value.value if isinstance(value, Enum) else value


def _check_annotation(source: Component[...], name: str, value: Any) -> Any:
    """A scalar as the annotation of a component's parameter wants it: text becomes a member of an enumeration.

    Raises `TreeError` where it is not of that type. What is no scalar, and what has no annotation that can be
    checked, is left as it is: it was given by the program, not by the text.
    """
    if not isinstance(value, str | int | float | bool | None):
        return value
    hint = source.hints.get(name, Any)
    try:
        return msgspec.convert(_enum_value(value), hint, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter: a lone surrogate meets fixed words
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:59]}…"
        words = f"It must be one of: {', '.join(str(one.value) for one in hint)}" if _is_enum(hint) else str(error)
        raise TreeError(f"prop {name!r} of <{source.name}> is {shown}", hint=words) from None
    except TypeError:
        return value


def _is_enum(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, Enum)


P = ParamSpec("P")
T = TypeVar("T")

_Source = Component[...] | ContextKey[Any] | Callable[..., Any]
"""What a capitalised tag may stand for: a component, a plain function, or a context key (`<Theme value="dark">`)."""

_BUILT_IN: Mapping[str, _Source] = {"Show": Show}
"""The components that every text has; one of the same name that is given counts instead."""

_IN_LINE = frozenset({"phrasing", "text"})


def jsx(text: str, components: Mapping[str, _Source] | None = None, /, **names: Any) -> Element:
    """The tree that a JSX text says, rendered: `jsx("<Tasks list={open} />", {"Tasks": Tasks}, open=tasks)`.

    Raises `TreeError`, with line and column in `details` where the text is wrong; also where a component has to
    prepare first: then `read_jsx`, `await prepare`, `render`.
    """
    return render(read_jsx(text, components, names))


def read_jsx(
    text: str,
    components: Mapping[str, _Source] | None = None,
    names: Mapping[str, Any] | None = None,
    limits: TreeLimits = DEFAULT_LIMITS,
) -> Element:
    """The tree that a JSX text says, its components not yet rendered. No text makes it raise but `TreeError`."""
    scanner = Scanner(text)
    return _TreeBuilder(scanner, {**_BUILT_IN, **(components or {})}, names or {}).element(
        parse(scanner, limits), "any"
    )


class _TreeBuilder:
    def __init__(self, scanner: Scanner, components: Mapping[str, _Source], names: Mapping[str, Any]) -> None:
        self._scan = scanner
        self._components = dict(components)
        self._names = names

    def element(self, tagged: ElementSyntax, holds: str) -> Element:
        """The element of a tag; `holds` is what the place it stands in may hold, which its own children may too where
        it is transparent."""
        name = tagged.name or "fragment"
        if name[:1].isupper():
            return self._component(tagged)
        spec = TAGS.get(name)
        if spec is None:
            listed = ", ".join((*TAGS, *self._components))
            self._scan.fail(f"there is no element <{name}>", f"There are: {listed}", tagged.at)
        inner = holds if spec.holds == "any" else spec.holds
        props: dict[str, Any] = {}
        for attribute in tagged.attributes:
            for prop, value in self._given(attribute).items():
                props[prop] = self._here(attribute.at, _checked_prop, name, prop, _enum_value(value))
        return Element(name, freeze(props), self._children(tagged, name, inner))

    def _component(self, tagged: ElementSyntax) -> Element:
        found = self._components.get(tagged.name)
        if found is None:
            known = sorted(self._components)
            listed = ", ".join(known[:_MAX_NAMES_LISTED]) + (", …" if len(known) > _MAX_NAMES_LISTED else "")
            self._scan.fail(f"there is no component <{tagged.name}>", f"There are: {listed}", tagged.at)
        if not isinstance(found, Component | ContextKey):
            found = self._components[tagged.name] = Component(found, name=tagged.name)
        source = found
        children = self._children(tagged, tagged.name, "phrasing")
        props: dict[str, Any] = {}
        for attribute in tagged.attributes:
            for prop, value in self._given(attribute).items():
                if prop == "key":
                    self._here(attribute.at, check_prop, tagged.name, "key", value)
                elif isinstance(source, Component):
                    self._here(attribute.at, source.admit_name, prop)
                    value = self._here(attribute.at, _check_annotation, source, prop, value)
                props[prop] = value
        if isinstance(source, Component):
            return self._here(tagged.at, source.use, *children, **props)
        if set(props) != {"value"}:
            self._scan.fail(f"<{tagged.name}> gives a value", f"Write <{tagged.name} value={{…}}>", tagged.at)
        return Give(source, tagged.name, props, children)

    def _children(self, tagged: ElementSyntax, name: str, holds: str) -> tuple[Node, ...]:
        children: list[Node] = []
        keys: set[object] = set()
        for part in tagged.children:
            made = self._nodes(part, holds)
            if name in TAGS:
                self._here(part.at, check_element, name, {}, made)
            self._here(part.at, check_keys, name, made, keys)
            children.extend(made)
        return tuple(children)

    def _given(self, attribute: Attribute) -> dict[str, Any]:
        value = self._value(attribute.value)
        if attribute.name:
            return {attribute.name: value}
        assert isinstance(attribute.value, NameLookup)
        return self._here(attribute.at, _spread_props, value, ".".join(attribute.value.names))

    def _value(self, part: Literal | NameLookup) -> Any:
        return part.value if isinstance(part, Literal) else self._here(part.at, _look_up, part.names, self._names)

    def _nodes(self, part: ChildSyntax, holds: str) -> tuple[Node, ...]:
        if isinstance(part, TextRun):
            blank = holds not in _IN_LINE and holds != "any" and not part.text.strip(" \t")
            return () if blank else (part.text,)
        if isinstance(part, ElementSyntax):
            made = self.element(part, holds)
            return (made,) if part.name else made.children
        if isinstance(part, Literal) and isinstance(part.value, str):
            return (part.value,)
        return self._here(part.at, flatten, self._value(part))

    def _here(self, at: int, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `act`; what it refuses is an error at a place in the text."""
        try:
            return act(*args, **kwargs)
        except TreeError as error:
            if "line" in error.details:
                raise
            raise self._scan.error(error.message, error.hint, at) from error


def _checked_prop(tag: str, name: str, value: Any) -> Any:
    check_element(tag, {name: None}, ())
    if value is not None:
        check_prop(tag, name, value)
    check_element(tag, {name: value}, ())
    return value
