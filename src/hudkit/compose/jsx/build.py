"""From syntax to elements: names are looked up, components are found, and every part is checked where it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from hudkit.compose.build import flatten
from hudkit.compose.component import Component, Show
from hudkit.compose.context import ContextKey
from hudkit.compose.jsx.grammar import Attribute, Literal, Look, Part, Tagged, Words, parse
from hudkit.compose.jsx.names import SHOWN, annotated, look, plain, props_of
from hudkit.compose.jsx.scan import Scanner
from hudkit.compose.nodes import Element, Node, freeze
from hudkit.compose.outside import LIMITS, Limits, check_keys
from hudkit.compose.pending import Give
from hudkit.compose.props import check_value
from hudkit.compose.render import render
from hudkit.compose.vocabulary import TAGS, check
from hudkit.errors import TreeError

P = ParamSpec("P")
T = TypeVar("T")

Source = Component[...] | ContextKey[Any] | Callable[..., Any]
"""What a capitalised tag may stand for: a component, a plain function, or a context key (`<Theme value="dark">`)."""

BUILT_IN: Mapping[str, Source] = {"Show": Show}
"""The components that every text has; one of the same name that is given counts instead."""

_IN_LINE = frozenset({"phrasing", "text"})


def jsx(text: str, components: Mapping[str, Source] | None = None, /, **names: Any) -> Element:
    """The tree that a JSX text says, rendered: `jsx("<Tasks list={open} />", {"Tasks": Tasks}, open=tasks)`.

    Raises `TreeError`, with line and column in `details` where the text is wrong; also where a component has to
    prepare first: then `read_jsx`, `await prepare`, `render`.
    """
    return render(read_jsx(text, components, names))


def read_jsx(
    text: str,
    components: Mapping[str, Source] | None = None,
    names: Mapping[str, Any] | None = None,
    limits: Limits = LIMITS,
) -> Element:
    """The tree that a JSX text says, its components not yet rendered. No text makes it raise but `TreeError`."""
    scanner = Scanner(text)
    return _Build(scanner, {**BUILT_IN, **(components or {})}, names or {}).element(parse(scanner, limits), "any")


class _Build:
    def __init__(self, scanner: Scanner, components: Mapping[str, Source], names: Mapping[str, Any]) -> None:
        self._scan = scanner
        self._components = dict(components)
        self._names = names

    def element(self, tagged: Tagged, holds: str) -> Element:
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
                props[prop] = self._here(attribute.at, _prop, name, prop, plain(value))
        return Element(name, freeze(props), self._children(tagged, name, inner))

    def _component(self, tagged: Tagged) -> Element:
        found = self._components.get(tagged.name)
        if found is None:
            known = sorted(self._components)
            listed = ", ".join(known[:SHOWN]) + (", …" if len(known) > SHOWN else "")
            self._scan.fail(f"there is no component <{tagged.name}>", f"There are: {listed}", tagged.at)
        if not isinstance(found, Component | ContextKey):
            found = self._components[tagged.name] = Component(found, name=tagged.name)
        source = found
        children = self._children(tagged, tagged.name, "phrasing")
        props: dict[str, Any] = {}
        for attribute in tagged.attributes:
            for prop, value in self._given(attribute).items():
                if prop == "key":
                    self._here(attribute.at, check_value, tagged.name, "key", value)
                elif isinstance(source, Component):
                    self._here(attribute.at, source.admit_name, prop)
                    value = self._here(attribute.at, annotated, source, prop, value)
                props[prop] = value
        if isinstance(source, Component):
            return self._here(tagged.at, source.use, *children, **props)
        if set(props) != {"value"}:
            self._scan.fail(f"<{tagged.name}> gives a value", f"Write <{tagged.name} value={{…}}>", tagged.at)
        return Give(source, tagged.name, props, children)

    def _children(self, tagged: Tagged, name: str, holds: str) -> tuple[Node, ...]:
        children: list[Node] = []
        keys: set[object] = set()
        for part in tagged.children:
            made = self._nodes(part, holds)
            if name in TAGS:
                self._here(part.at, check, name, {}, made)
            self._here(part.at, check_keys, name, made, keys)
            children.extend(made)
        return tuple(children)

    def _given(self, attribute: Attribute) -> dict[str, Any]:
        value = self._value(attribute.value)
        if attribute.name:
            return {attribute.name: value}
        assert isinstance(attribute.value, Look)
        return self._here(attribute.at, props_of, value, ".".join(attribute.value.names))

    def _value(self, part: Literal | Look) -> Any:
        return part.value if isinstance(part, Literal) else self._here(part.at, look, part.names, self._names)

    def _nodes(self, part: Part, holds: str) -> tuple[Node, ...]:
        if isinstance(part, Words):
            blank = holds not in _IN_LINE and holds != "any" and not part.text.strip(" \t")
            return () if blank else (part.text,)
        if isinstance(part, Tagged):
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


def _prop(tag: str, name: str, value: Any) -> Any:
    check(tag, {name: None}, ())
    if value is not None:
        check_value(tag, name, value)
    check(tag, {name: value}, ())
    return value
