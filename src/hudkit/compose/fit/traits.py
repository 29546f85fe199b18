"""What fitting has to know of an element before it looks inside."""

from __future__ import annotations

from functools import lru_cache

from hudkit.compose.nodes import Element, Prop

PRUNABLE = 1
"""Something below it may be left out, or cut, by itself."""

SPECIAL = 2
"""It, or something below it, has to be resolved: a structural tag, or a prop of a budget beside `priority`."""

BREAK = 4
"""A break is below it."""

STRUCTURAL = frozenset({"first", "choice", "default", "reserve", "break"})
"""Tags that speak to `fit` alone; no tree that it returns has one."""

PROPS = frozenset(
    {"limit", "isolate", "keep", "truncate", "step", "basis", "grow", "expand", "reserve", "scope", "priority"}
)
OPTIONS = frozenset({"first", "choice"})
FLEXIBLE = frozenset({"truncate", "step"})
SIZED = frozenset({"grow", "basis", "expand"})


@lru_cache(maxsize=1 << 16)
def traits(node: Element) -> int:
    """The traits of an element, as bits.

    An `atomic` or `isolate` one is not prunable: what is inside is settled before it takes part.
    """
    if node.tag in STRUCTURAL:
        found = SPECIAL | (BREAK if node.tag == "break" else PRUNABLE if node.tag in OPTIONS else 0)
    else:
        found = 0
    whole = False
    for name, value in node.props:
        if name in PROPS:
            if name != "priority":
                found |= SPECIAL
            if name in FLEXIBLE:
                found |= PRUNABLE
            elif name == "isolate" and value:
                whole = True
        elif name == "atomic" and value:
            whole = True
    for child in node.children:
        if type(child) is str:
            continue
        assert isinstance(child, Element)
        props = child.props
        if len(props) == 2 and props[0][0] == "key" and props[1][0] == "priority" and child.tag not in STRUCTURAL:
            found |= PRUNABLE  # an item as most are: looked at here, it costs no call
            for one in child.children:
                if type(one) is not str:
                    found |= traits(child)
                    break
            continue
        if props or child.children or child.tag in STRUCTURAL:
            found |= traits(child)
            if not found & PRUNABLE and child.get("priority") is not None:
                found |= PRUNABLE
    return found & ~PRUNABLE if whole else found


def alone(parent: Element, child: Element) -> Element:
    """A child as the only one of its container where it cannot stand bare, and as it is elsewhere."""
    return _shell(parent.tag, parent.props, child) if parent.tag in ("list", "table") else child


@lru_cache(maxsize=1 << 14)
def _shell(tag: str, props: tuple[tuple[str, Prop], ...], child: Element) -> Element:
    return Element(tag, props, (child,))


def amount(value: object, budget: int) -> int:
    """Tokens that a `reserve` says: a number, or `/4`, the fourth part of the budget."""
    text = str(value)
    return budget // max(1, int(text[1:])) if text.startswith("/") else int(text)
