"""From syntax to elements: names are looked up, components are found, and every part is checked where it stands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, ParamSpec, TypeVar, cast

import msgspec

from hudkit.compose.builder import flatten
from hudkit.compose.components import Component, ContextKey, Show
from hudkit.compose.jsx.grammar import Attribute, ChildSyntax, ElementSyntax, Literal, NameLookup, TextRun, parse
from hudkit.compose.jsx.scanner import Scanner
from hudkit.compose.nodes import ContextValue, Element, Node, freeze
from hudkit.compose.rendering import render
from hudkit.compose.validation import DEFAULT_LIMITS, TreeLimits, check_keys
from hudkit.compose.vocabulary import TAGS, check_element, check_prop, shown_value
from hudkit.errors import TreeError

_MAX_NAMES_LISTED = 12
"""How many names an error lists."""


def _field_names(value: object) -> tuple[str, ...]:
    """Return the names that are found in a value: string keys of a mapping, declared fields of anything else.

    Structs, dataclasses and named tuples declare fields. No other attribute is found, because reading one could run
    code of the program, and no private one.
    """
    if isinstance(value, Mapping):
        return tuple(name for name in value if isinstance(name, str))
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
    elif is_dataclass(value) and not isinstance(value, type):
        names = tuple(value.__dataclass_fields__)
    elif isinstance(value, tuple) and hasattr(type(value), "_fields"):
        names = tuple(cast(Any, value)._fields)
    else:
        return ()
    return tuple(name for name in names if not name.startswith("_"))


def _look_up(names: tuple[str, ...], values: Mapping[str, Any]) -> Any:
    """Return the value of a dotted name; raises `TreeError` that says what there is."""
    value: Any = values
    for depth, name in enumerate(names):
        available = _field_names(value)
        if name not in available:
            problem = f"{'.'.join(names[:depth])!r} has no {name!r}" if depth else f"there is no value {name!r}"
            raise TreeError(problem, hint=f"There is: {_listed(available)}" if available else "It has no fields")
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value


def _listed(names: Collection[str]) -> str:
    ellipsis = ", …" if len(names) > _MAX_NAMES_LISTED else ""
    return ", ".join(sorted(names)[:_MAX_NAMES_LISTED]) + ellipsis


def _spread_props(value: object, name: str) -> dict[str, Any]:
    """Return the props that `{...name}` spreads."""
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise TreeError(f"{name!r} cannot be spread", hint="It must be a mapping from names to values")


def _enum_value(value: Any) -> Any:
    """Return the value of a member of an enumeration, anything else as it is."""
    return value.value if isinstance(value, Enum) else value


def _check_annotation(source: Component[...], name: str, value: Any) -> Any:
    """Return a scalar as the annotation of a component's parameter wants it: text becomes a member of an enumeration.

    Raises `TreeError` where it is not of that type. What is no scalar, and what has no annotation that can be
    checked, is left as it is: it was given by the program, not by the text.
    """
    if not isinstance(value, str | int | float | bool | None):
        return value
    hint = source.hints.get(name, Any)
    try:
        return msgspec.convert(_enum_value(value), hint, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter: a lone surrogate meets fixed words
        advice = str(error)
        if isinstance(hint, type) and issubclass(hint, Enum):
            advice = f"It must be one of: {', '.join(str(member.value) for member in hint)}"
        raise TreeError(f"prop {name!r} of <{source.name}> is {shown_value(value)}", hint=advice) from None
    except TypeError:  # an annotation that msgspec cannot check
        return value


_P = ParamSpec("_P")
_T = TypeVar("_T")

_Source = Component[...] | ContextKey[Any] | Callable[..., Any]
"""What a capitalised tag may stand for: a component, a plain function, or a context key (`<Theme value="dark">`)."""

_BUILT_IN: Mapping[str, _Source] = {"Show": Show}
"""The components that every text has; one of the same name that is given counts instead."""

_IN_LINE = frozenset({"phrasing", "text"})


def jsx(text: str, components: Mapping[str, _Source] | None = None, /, **names: Any) -> Element:
    """Return the tree that a JSX text says, rendered: `jsx("<Tasks list={open} />", {"Tasks": Tasks}, open=tasks)`.

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
    """Return the tree that a JSX text says, its components not yet rendered. Raises `TreeError` for a wrong text."""
    scanner = Scanner(text)
    return _TreeBuilder(scanner, {**_BUILT_IN, **(components or {})}, names or {}).element(
        parse(scanner, limits), "any"
    )


class _TreeBuilder:
    """One walk over syntax; what is wrong is raised as an error at its place in the text."""

    def __init__(self, scanner: Scanner, components: Mapping[str, _Source], names: Mapping[str, Any]) -> None:
        self._scan = scanner
        self._components = dict(components)
        self._names = names

    def element(self, syntax: ElementSyntax, holds: str) -> Element:
        """Return the element of a tag.

        `holds` is what the place it stands in may hold; so may its own children where it is transparent.
        """
        tag = syntax.name or "fragment"
        if tag[:1].isupper():
            return self._component(syntax)
        spec = TAGS.get(tag)
        if spec is None:
            listed = ", ".join((*TAGS, *self._components))
            self._scan.fail(f"there is no element <{tag}>", f"There are: {listed}", syntax.offset)
        inner = holds if spec.holds == "any" else spec.holds
        props: dict[str, Any] = {}
        for attribute in syntax.attributes:
            for prop, value in self._attribute_props(attribute).items():
                props[prop] = self._located(attribute.offset, _checked_prop, tag, prop, _enum_value(value))
        return Element(tag, freeze(props), self._children(syntax, tag, inner))

    def _component(self, syntax: ElementSyntax) -> Element:
        source = self._component_source(syntax)
        # What it renders to is not known yet, so white space is kept as in a line: its place may be one.
        children = self._children(syntax, syntax.name, "phrasing")
        props: dict[str, Any] = {}
        for attribute in syntax.attributes:
            for prop, value in self._attribute_props(attribute).items():
                if prop == "key":
                    self._located(attribute.offset, check_prop, syntax.name, "key", value)
                elif isinstance(source, Component):
                    self._located(attribute.offset, source.check_name, prop)
                    value = self._located(attribute.offset, _check_annotation, source, prop, value)
                props[prop] = value
        if isinstance(source, Component):
            return self._located(syntax.offset, source.use, *children, **props)
        if set(props) != {"value"}:
            self._scan.fail(f"<{syntax.name}> gives a value", f"Write <{syntax.name} value={{…}}>", syntax.offset)
        return ContextValue(source, syntax.name, props, children)

    def _component_source(self, syntax: ElementSyntax) -> Component[...] | ContextKey[Any]:
        source = self._components.get(syntax.name)
        if source is None:
            names = _listed(self._components)
            self._scan.fail(f"there is no component <{syntax.name}>", f"There are: {names}", syntax.offset)
        if not isinstance(source, Component | ContextKey):
            # Made once and noted: two uses of one function are uses of one component.
            source = self._components[syntax.name] = Component(source, name=syntax.name)
        return source

    def _children(self, syntax: ElementSyntax, name: str, holds: str) -> tuple[Node, ...]:
        children: list[Node] = []
        keys: set[object] = set()
        for part in syntax.children:
            nodes = self._nodes(part, holds)
            # Child by child, so that an error names the place of the child and not that of the whole element.
            if name in TAGS:
                self._located(part.offset, check_element, name, {}, nodes)
            self._located(part.offset, check_keys, name, nodes, keys)
            children.extend(nodes)
        return tuple(children)

    def _attribute_props(self, attribute: Attribute) -> dict[str, Any]:
        value = self._value(attribute.value)
        if attribute.name:
            return {attribute.name: value}
        assert isinstance(attribute.value, NameLookup)
        return self._located(attribute.offset, _spread_props, value, ".".join(attribute.value.names))

    def _value(self, part: Literal | NameLookup) -> Any:
        if isinstance(part, Literal):
            return part.value
        return self._located(part.offset, _look_up, part.names, self._names)

    def _nodes(self, part: ChildSyntax, holds: str) -> tuple[Node, ...]:
        if isinstance(part, TextRun):
            # Between elements that hold no text, blanks are only the layout of the source.
            is_layout = holds not in _IN_LINE and holds != "any" and not part.text.strip(" \t")
            return () if is_layout else (part.text,)
        if isinstance(part, ElementSyntax):
            element = self.element(part, holds)
            return (element,) if part.name else element.children
        if isinstance(part, Literal) and isinstance(part.value, str):
            return (part.value,)
        return self._located(part.offset, flatten, self._value(part))

    def _located(self, offset: int, act: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return the result of `act`; what it refuses is an error at a place in the text."""
        try:
            return act(*args, **kwargs)
        except TreeError as error:
            if "line" in error.details:  # from further in, where the place is known better
                raise
            raise self._scan.error(error.message, error.hint, offset) from error


def _checked_prop(tag: str, name: str, value: Any) -> Any:
    # The name, then the value by its rule, whose message is the better one, then its type.
    check_element(tag, {name: None}, ())
    if value is not None:
        check_prop(tag, name, value)
    check_element(tag, {name: value}, ())
    return value
