"""Build trees in Python: `h.list(ordered=True)[h.item["…"], …]`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hudkit.compose.nodes import Element, Node, Prop, freeze
from hudkit.compose.vocabulary import check_element
from hudkit.errors import TreeError

Child = Node | None | bool | int | float | Iterable[Any]
"""What may be given as a child: `None`, `True` and `False` are left out (so `cond and h.x[…]` works), numbers become
text, iterables and fragments are spread."""


class ElementBuilder:
    """A tag with its props, waiting for children: `h.section(title="Notes")[…]`."""

    __slots__ = ("props", "tag")

    def __init__(self, tag: str, props: dict[str, Prop]) -> None:
        self.tag = tag
        self.props = props

    def __call__(self, **props: Prop) -> ElementBuilder:
        return ElementBuilder(self.tag, {**self.props, **props})

    def __getitem__(self, children: Child | tuple[Child, ...]) -> Element:
        return _make_element(self.tag, self.props, flatten(children))

    def __repr__(self) -> str:
        return repr(self.element())

    def element(self) -> Element:
        """Return the element without children."""
        return _make_element(self.tag, self.props, ())


class _ElementFactory:
    """`h.tag(**props)[children]`, or `h(tag, props, *children)`."""

    def __getattr__(self, tag: str) -> ElementBuilder:
        # Python and its tools ask any object for such names; no tag begins so.
        if tag.startswith("_"):
            raise AttributeError(tag)
        return ElementBuilder(tag.rstrip("_"), {})  # `h.break_`: a keyword of Python takes an underscore

    def __call__(self, tag: str, props: dict[str, Prop] | None = None, *children: Child) -> Element:
        return ElementBuilder(tag, dict(props or {}))[children]


h = _ElementFactory()
"""The factory of elements."""


def fragment(*children: Child) -> Element:
    """Return a fragment: several nodes where one is expected, which stand in its place."""
    return h.fragment[children]


def flatten(children: Any) -> tuple[Node, ...]:
    """Return children as nodes: what is left out is gone, numbers are text, iterables and fragments are spread."""
    flat: list[Node] = []
    _spread(children, flat)
    return tuple(flat)


def _make_element(tag: str, props: dict[str, Prop], children: tuple[Node, ...]) -> Element:
    check_element(tag, props, children)
    return Element(tag, freeze(props), children)


def _spread(child: Any, out: list[Node]) -> None:
    if isinstance(child, str):
        out.append(child)
    elif isinstance(child, Element):
        if child.tag == "fragment" and not child.props:
            out.extend(child.children)
        else:
            out.append(child)
    elif child is None or isinstance(child, bool):  # before numbers: a bool is an int
        return
    elif isinstance(child, ElementBuilder):
        out.append(child.element())
    elif isinstance(child, int | float):
        out.append(str(child))
    elif isinstance(child, Iterable):
        for grandchild in child:
            _spread(grandchild, out)
    else:
        raise TreeError(
            f"{type(child).__name__} cannot be a child",
            hint="Children are text, elements and iterables of them",
        )
