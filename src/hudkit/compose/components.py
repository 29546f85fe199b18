"""Define components: named pure functions from props to a tree, some with a step before that may await.

A component reads what is above it in the tree only through its context, a value that travels as an argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, update_wrapper
from types import MappingProxyType
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_type_hints, overload

from hudkit.compose.builder import ElementBuilder, flatten, fragment, h
from hudkit.compose.nodes import ComponentUse, ContextValue, Element, Node
from hudkit.errors import TreeError

_T = TypeVar("_T")

_NO_DEFAULT: Any = object()


class ContextKey(Generic[_T]):
    """The name of a value that a subtree is given: `THEME = ContextKey("Theme", "plain")`.

    Keys are told apart by identity, so two modules may use one name. Without a default, reading it where nothing
    above gives it is a `TreeError`.
    """

    __slots__ = ("default", "name")

    def __init__(self, name: str, default: _T = _NO_DEFAULT) -> None:
        self.name = name
        self.default = default

    def give(self, value: _T, *children: Any) -> ContextValue:
        """Return the children, in which the value is read under this key: the nearest one above counts."""
        tag = self.name[:1].upper() + self.name[1:]  # capitalised, so that it is never a tag of the vocabulary
        return ContextValue(self, tag, {"value": value}, flatten(children))

    def __repr__(self) -> str:
        return f"<context key {self.name}>"


class RenderContext:
    """The values that a place in a tree is given from above.

    Immutable: each subtree has its own, and no render sees another's.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[ContextKey[Any], Any] = MappingProxyType({})) -> None:
        self._values = dict(values)

    def __getitem__(self, key: ContextKey[_T]) -> _T:
        value = self._values.get(key, key.default)
        if value is _NO_DEFAULT:
            raise TreeError(
                f"nothing above gives {key.name!r}", hint="Give the key a default, or give it a value above"
            )
        return cast(_T, value)

    def with_value(self, key: ContextKey[_T], value: _T) -> RenderContext:
        """Return the same with one more value."""
        return RenderContext({**self._values, key: value})


_P = ParamSpec("_P")

Prepare = Callable[[Mapping[str, Any], RenderContext], Awaitable[Any]]
"""The async step before a render: `await prepare(props, context)`; what it returns is the render's `prepared`."""

PREPARE_TIMEOUT_S = 5.0
"""Seconds that one `prepare` may take where nothing else is said: a slow network call, and not a hanging one."""

SUPPLIED_PARAMETERS = ("children", "context", "prepared")
"""Parameters that are not props: a component that names one is given its children, its context, what it prepared."""


class Component(Generic[_P]):
    """A pure function from props to a tree.

    Called, it renders at once. `use` puts it into a tree to be rendered by `render`, where parameters named
    `children` (a tuple of nodes), `context` (a `Context`) and `prepared` are supplied. `timeout` is in seconds.
    """

    def __init__(
        self,
        render: Callable[_P, Element | ElementBuilder | None],
        prepare: Prepare | None = None,
        timeout: float = PREPARE_TIMEOUT_S,
        name: str | None = None,
    ) -> None:
        self.render = render
        self.prepare = prepare
        self.timeout = timeout
        self.name = name or render.__name__
        update_wrapper(cast(Any, self), render)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Element:
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
        """Return the parameters of the function, by name."""
        return inspect.signature(self.render).parameters

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """Return the annotations of the parameters; none where they cannot be resolved."""
        try:
            return get_type_hints(self.render)
        except (NameError, AttributeError, TypeError):  # a name that is imported for type checkers alone
            return {}

    @cached_property
    def prop_names(self) -> tuple[str, ...]:
        """Return the names of its props."""
        by_keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return tuple(
            name
            for name, parameter in self.parameters.items()
            if name not in SUPPLIED_PARAMETERS and parameter.kind in by_keyword
        )

    def use(self, *children: Any, **props: Any) -> ComponentUse:
        """Return this component with its props, to be rendered later.

        Raises `TreeError` where the props are not its own.

        `key` is no prop: it names this use among its siblings, in errors and in what was prepared.
        """
        nodes = flatten(children)
        self.check(props, nodes)
        return ComponentUse(self, self.name, props, nodes)

    def check(self, props: Mapping[str, Any], children: tuple[Node, ...]) -> None:
        """Raise `TreeError` where props are missing or not its own, or children are given to one that takes none."""
        for name in props:
            self.check_name(name)
        for name in self.prop_names:
            if name not in props and self.parameters[name].default is inspect.Parameter.empty:
                raise TreeError(
                    f"<{self.name}> needs the prop {name!r}", hint=f"It takes: {', '.join(self.prop_names)}"
                )
        if children and "children" not in self.parameters:
            raise TreeError(f"<{self.name}> takes no children", hint="Its function has no parameter `children`")

    def check_name(self, name: str) -> None:
        """Raise `TreeError` where there is no prop of that name."""
        kinds = {parameter.kind for parameter in self.parameters.values()}
        any_name = inspect.Parameter.VAR_KEYWORD in kinds
        if name not in self.prop_names and name != "key" and (not any_name or name in SUPPLIED_PARAMETERS):
            hint = f"It takes: {', '.join(self.prop_names)}" if self.prop_names else "It takes none"
            raise TreeError(f"<{self.name}> takes no prop {name!r}", hint=hint)

    def apply(self, use: ComponentUse, context: RenderContext, prepared: Any) -> Element:
        """Return what a use of this component renders to."""
        supplied = {"children": use.children, "context": context, "prepared": prepared}
        arguments = dict(use.values)
        if "key" not in self.parameters:  # then it only names this use among its siblings
            arguments.pop("key", None)
        arguments.update((name, value) for name, value in supplied.items() if name in self.parameters)
        return cast(Any, self)(**arguments)  # type: ignore[no-any-return]


@overload
def component(render: Callable[_P, Element | ElementBuilder | None], /) -> Component[_P]: ...
@overload
def component(
    *, prepare: Prepare, timeout: float = PREPARE_TIMEOUT_S
) -> Callable[[Callable[_P, Element | ElementBuilder | None]], Component[_P]]: ...
def component(render: Any = None, /, *, prepare: Prepare | None = None, timeout: float = PREPARE_TIMEOUT_S) -> Any:
    """Return a component made of a pure function; one that returns `None` shows nothing.

    With `prepare`, an async function from (props, context), the function gets its result as `prepared`.
    """
    if render is not None:
        return Component(render)
    return lambda function: Component(function, prepare, timeout)


@component
def Show(when: object = True, unless: object = False, children: tuple[Node, ...] = ()) -> Element:
    """Return its children where `when` is true and `unless` is not (as Python sees them); nothing otherwise."""
    return h.fragment[children] if when and not unless else fragment()
