"""Breaks between layers: what is before the last one, and where they are in what was fitted."""

from __future__ import annotations

from hudkit.compose.fit.traits import BREAK, traits
from hudkit.compose.nodes import Element, Node


def way_on(way: tuple[int, ...], place: int) -> tuple[int, ...] | None:
    """The rest of the way to the last break from a child; `()`: the child is before it, `None`: behind it."""
    if not way or place < way[0]:
        return ()
    return way[1:] or None if place == way[0] else None


def last_break(tree: Element) -> tuple[int, ...]:
    """The path of the last break."""
    for place in range(len(tree.children) - 1, -1, -1):
        child = tree.children[place]
        if isinstance(child, Element):
            if child.tag == "break":
                return (place,)
            if traits(child) & BREAK:
                return (place, *last_break(child))
    return ()


def without_breaks(tree: Element, found: int) -> tuple[Element, tuple[tuple[int, ...], ...]]:
    """A tree without its breaks, and where they were; one with nothing before it, or since the last one, is none."""
    if not found & BREAK:
        return tree, ()
    places: list[tuple[int, ...]] = []

    def strip(node: Element, path: tuple[int, ...]) -> Element:
        children: list[Node] = []
        for child in node.children:
            if isinstance(child, str):
                children.append(child)
            elif child.tag == "break":
                places.append((*path, len(children)))
            elif traits(child) & BREAK:
                children.append(strip(child, (*path, len(children))))
            else:
                children.append(child)
        return node.with_children(tuple(children))

    bare = strip(tree, ())
    kept = [place for n, place in enumerate(places) if any(place) and place not in places[:n]]
    return bare, tuple(kept)
