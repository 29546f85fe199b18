"""Components: named pure functions from props to a tree, some with a step before that may await."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, update_wrapper
from types import MappingProxyType
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_type_hints, overload

from hudkit.compose.builder import ElementBuilder, flatten, fragment, h
from hudkit.compose.nodes import Element, Give, Node, Use
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


class RenderContext:
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

    def giving(self, key: ContextKey[T], value: T) -> RenderContext:
        """The same, with one more value."""
        return RenderContext({**self._values, key: value})


P = ParamSpec("P")

Prepare = Callable[[Mapping[str, Any], RenderContext], Awaitable[Any]]
"""The async step before a render: `await prepare(props, context)`; what it returns is the render's `prepared`."""

PREPARE_TIMEOUT_S = 5.0
"""Seconds that one `prepare` may take where nothing else is said."""

SUPPLIED_PARAMETERS = ("children", "context", "prepared")
"""Parameters that are not props: a component that names one is given its children, its context, what it prepared."""


class Component(Generic[P]):
    """A pure function from props to a tree.

    Called, it renders at once. `use` puts it into a tree to be rendered by `render`, where parameters named
    `children` (a tuple of nodes), `context` (a `Context`) and `prepared` are supplied. `timeout` is in seconds.
    """

    def __init__(
        self,
        render: Callable[P, Element | ElementBuilder | None],
        prepare: Prepare | None = None,
        timeout: float = PREPARE_TIMEOUT_S,
        name: str | None = None,
    ) -> None:
        self.render = render
        self.prepare = prepare
        self.timeout = timeout
        self.name = name or render.__name__
        update_wrapper(cast(Any, self), render)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Element:
        tree: object = self.render(*args, **kwargs)
        if tree is None:
            return fragment()
        if isinstance(tree, ElementBuilder):
            return tree.element()
        if not isinstance(tree, Element):
            raise TreeError(f"component {self.name} returned {type(tree).__name__}", hint="It must return an element")
        return tree

    def __repr__(self) -> str:
        return f"<component {self.name}>"

    def __reduce__(self) -> str:
        return self.render.__qualname__  # by name, as a function is

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the function, by name."""
        return inspect.signature(self.render).parameters

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """The annotations of the parameters; none where they cannot be resolved."""
        try:
            return get_type_hints(self.render)
        except (NameError, AttributeError, TypeError):
            return {}

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """The names of its props."""
        return tuple(
            name
            for name, one in self.parameters.items()
            if name not in SUPPLIED_PARAMETERS and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        )

    def use(self, *children: Any, **props: Any) -> Use:
        """This component with its props, to be rendered later; raises `TreeError` where the props are not its own.

        `key` is no prop: it names this use among its siblings, in errors and in what was prepared.
        """
        nodes = flatten(children)
        self.admit(props, nodes)
        return Use(self, self.name, props, nodes)

    def admit(self, props: Mapping[str, Any], children: tuple[Node, ...]) -> None:
        """Raise `TreeError` where props are missing or not its own, or children are given to one that takes none."""
        for name in props:
            self.admit_name(name)
        for name in self.takes:
            if name not in props and self.parameters[name].default is inspect.Parameter.empty:
                raise TreeError(f"<{self.name}> needs the prop {name!r}", hint=f"It takes: {', '.join(self.takes)}")
        if children and "children" not in self.parameters:
            raise TreeError(f"<{self.name}> takes no children", hint="Its function has no parameter `children`")

    def admit_name(self, name: str) -> None:
        """Raise `TreeError` where there is no prop of that name."""
        any_name = any(one.kind is one.VAR_KEYWORD for one in self.parameters.values())
        if name not in self.takes and name != "key" and (not any_name or name in SUPPLIED_PARAMETERS):
            hint = f"It takes: {', '.join(self.takes)}" if self.takes else "It takes none"
            raise TreeError(f"<{self.name}> takes no prop {name!r}", hint=hint)

    def apply(self, use: Use, context: RenderContext, prepared: Any) -> Element:
        """What a use of this component renders to."""
        supplied = {"children": use.children, "context": context, "prepared": prepared}
        given = {name: value for name, value in use.values.items() if name != "key" or "key" in self.parameters}
        given.update((name, value) for name, value in supplied.items() if name in self.parameters)
        return cast(Any, self)(**given)  # type: ignore[no-any-return]


@overload
def component(render: Callable[P, Element | ElementBuilder | None], /) -> Component[P]: ...
@overload
def component(
    *, prepare: Prepare, timeout: float = PREPARE_TIMEOUT_S
) -> Callable[[Callable[P, Element | ElementBuilder | None]], Component[P]]: ...
def component(render: Any = None, /, *, prepare: Prepare | None = None, timeout: float = PREPARE_TIMEOUT_S) -> Any:
    """Make a component of a pure function; one that returns `None` shows nothing.

    With `prepare`, an async function from (props, context), the function gets its result as `prepared`.
    """
    if render is not None:
        return Component(render)
    return lambda made: Component(made, prepare, timeout)


@component
def Show(when: object = True, unless: object = False, children: tuple[Node, ...] = ()) -> Element:
    """Its children where `when` is true and `unless` is not (as Python sees them); nothing otherwise."""
    return h.fragment[children] if when and not unless else fragment()
