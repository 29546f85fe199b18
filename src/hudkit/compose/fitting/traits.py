"""What a fit has to know of an element before it looks inside: its traits, its breaks, how it stands alone."""

from __future__ import annotations

from functools import lru_cache

from hudkit.compose.nodes import Element, Prop

PRUNABLE = 1
"""Something below it may be left out, or cut, by itself."""

SPECIAL = 2
"""It, or something below it, has to be resolved: a structural tag, or a prop of a budget beside `priority`."""

BREAK = 4
"""A break is below it."""

STRUCTURAL_TAGS = frozenset({"first", "choice", "default", "reserve", "break"})
"""Tags that speak to `fit` alone; no tree that it returns has one."""

ALTERNATIVE_TAGS = frozenset({"first", "choice"})
"""Tags of which one child is shown."""

FLEXIBLE_PROPS = frozenset({"truncate", "step"})
"""Props of elements that take what room there is at their turn."""

_FIT_PROPS = frozenset(
    {"limit", "isolate", "keep", "truncate", "step", "basis", "grow", "expand", "reserve", "scope", "priority"}
)

# Both caches hold the elements of the last few trees of a process. An entry is some 100 bytes and its element, which
# is alive anyway while its tree is; 65,536 is three trees of the largest size that is accepted from outside.
_MAX_TRAITS = 1 << 16
_MAX_SHELLS = 1 << 14


@lru_cache(maxsize=_MAX_TRAITS)
def traits(node: Element) -> int:
    """Find the traits of an element; return them as bits.

    An `atomic` or `isolate` one is not prunable: what is inside is settled before it takes part.
    """
    bits = 0
    if node.tag in STRUCTURAL_TAGS:
        bits = SPECIAL
        if node.tag == "break":
            bits |= BREAK
        elif node.tag in ALTERNATIVE_TAGS:
            bits |= PRUNABLE
    is_whole = False
    for name, value in node.props:
        if name in _FIT_PROPS:
            if name != "priority":
                bits |= SPECIAL
            if name in FLEXIBLE_PROPS:
                bits |= PRUNABLE
            elif name == "isolate" and value:
                is_whole = True
        elif name == "atomic" and value:
            is_whole = True
    for child in node.children:
        if type(child) is str:
            continue
        assert isinstance(child, Element)
        props = child.props
        # Props are sorted by name, so these two are the whole of what most items of a list have. They are looked at
        # here, because a call for each of a thousand items is what a fit of a list would cost most.
        if (
            len(props) == 2
            and props[0][0] == "key"
            and props[1][0] == "priority"
            and child.tag not in STRUCTURAL_TAGS
        ):
            bits |= PRUNABLE
            for grandchild in child.children:
                if type(grandchild) is not str:
                    bits |= traits(child)
                    break
            continue
        if props or child.children or child.tag in STRUCTURAL_TAGS:
            bits |= traits(child)
            if not bits & PRUNABLE and child.get("priority") is not None:
                bits |= PRUNABLE
    return bits & ~PRUNABLE if is_whole else bits


def standalone(parent: Element, child: Element) -> Element:
    """Return the form in which a child is measured by itself.

    In a list or a table it cannot stand bare: there it is the only child of one. Elsewhere it is the child as it is.
    """
    return _shell(parent.tag, parent.props, child) if parent.tag in ("list", "table") else child


@lru_cache(maxsize=_MAX_SHELLS)
def _shell(tag: str, props: tuple[tuple[str, Prop], ...], child: Element) -> Element:
    # Cached so that equal items give the same object, by which their cost is remembered.
    return Element(tag, props, (child,))


def token_amount(value: object, budget: int) -> int:
    """Return the tokens that a `reserve` says: `12` is twelve, `/4` is the fourth part of the budget."""
    text = str(value)
    return budget // max(1, int(text[1:])) if text.startswith("/") else int(text)
