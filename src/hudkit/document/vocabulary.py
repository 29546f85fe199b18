"""The core vocabulary: which tags there are, what props they take and what may stand in them.

It knows nothing of HTML. `flow` elements stand one below the other, `phrasing` elements within a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from hudkit.document.nodes import Element, Node, Prop
from hudkit.errors import TreeError

Content = Literal["flow", "phrasing", "items", "text", "none", "any", "rows", "cells"]


class Tag(msgspec.Struct, frozen=True):
    """What an element with this tag is: where it may stand, what it may hold, which props it takes."""

    role: Literal["flow", "phrasing", "item", "row", "cell", "any"]
    holds: Content
    props: dict[str, type | tuple[type, ...]]
    doc: str


EVERY: dict[str, type | tuple[type, ...]] = {"key": str, "priority": (int, float), "atomic": bool}
"""Props of every element: `key` names it in traces; one with a `priority` may be left out by `fit` (higher is kept
longer, none is always kept); an `atomic` one stays or goes whole."""

TAGS: Mapping[str, Tag] = {
    "document": Tag("flow", "flow", {}, "The root."),
    "fragment": Tag("any", "any", {}, "Its children stand in its place."),
    "section": Tag("flow", "flow", {"title": str, "level": int}, "A heading (level 1 to 6) and what is below it."),
    "paragraph": Tag("flow", "phrasing", {}, "A paragraph."),
    "text": Tag("flow", "phrasing", {}, "A line of text: a short paragraph."),
    "list": Tag("flow", "items", {"ordered": bool, "start": int}, "A list, tight."),
    "item": Tag("item", "phrasing", {}, "One item of a list: one line, whatever it holds."),
    "more": Tag(
        "any",
        "none",
        {"hidden": int, "see": str, "noun": str},
        "Says how many are not shown; nothing while none is.",
    ),
    "quote": Tag("flow", "flow", {}, "Somebody else's words."),
    "pre": Tag("flow", "text", {"lang": str}, "Preformatted text, its line breaks kept."),
    "rule": Tag("flow", "none", {}, "A break between topics."),
    "table": Tag(
        "flow",
        "rows",
        {"align": str},
        "Rows of cells; the first row is the head. `align` has a letter a column: l, c, r or -.",
    ),
    "row": Tag("row", "cells", {}, "A row of a table."),
    "cell": Tag("cell", "phrasing", {}, "A cell of a row."),
    "strong": Tag("phrasing", "phrasing", {}, "Of importance."),
    "emphasis": Tag("phrasing", "phrasing", {}, "Stressed."),
    "strike": Tag("phrasing", "phrasing", {}, "No longer so: done, or withdrawn."),
    "code": Tag("phrasing", "text", {}, "A short literal."),
    "link": Tag("phrasing", "phrasing", {"href": str}, "A link."),
}

_FITS: Mapping[str, frozenset[str]] = {
    "flow": frozenset({"flow", "any"}),
    "phrasing": frozenset({"phrasing", "any"}),
    "items": frozenset({"item", "any"}),
    "rows": frozenset({"row", "any"}),
    "cells": frozenset({"cell", "any"}),
    "any": frozenset({"flow", "phrasing", "item", "row", "cell", "any"}),
    "text": frozenset(),
    "none": frozenset(),
}


def check(tag: str, props: Mapping[str, Prop], children: tuple[Node, ...]) -> None:
    """Raise `TreeError` where an element breaks the vocabulary; it names the place and what would be right."""
    spec = TAGS.get(tag)
    if spec is None:
        raise TreeError(f"there is no element <{tag}>", hint=f"The vocabulary has: {', '.join(TAGS)}")
    for name, value in props.items():
        allowed = spec.props.get(name) or EVERY.get(name)
        if allowed is None:
            names = ", ".join((*spec.props, *EVERY))
            raise TreeError(f"<{tag}> takes no prop {name!r}", hint=f"It takes: {names}")
        if value is not None and (
            not isinstance(value, allowed) or (isinstance(value, bool) and allowed is not bool)
        ):
            raise TreeError(f"prop {name!r} of <{tag}> is {value!r}", hint=f"It must be of type {_named(allowed)}")
    fits = _FITS[spec.holds]
    for child in children:
        if isinstance(child, str):
            if spec.holds not in ("phrasing", "text", "any"):
                raise TreeError(
                    f"text {child[:40]!r} stands bare in <{tag}>",
                    hint="Put it into an element that holds text",
                )
        elif TAGS[child.tag].role not in fits:
            raise TreeError(f"<{child.tag}> cannot stand in <{tag}>", hint=f"<{tag}> holds {spec.holds}")


def _named(allowed: type | tuple[type, ...]) -> str:
    kinds = allowed if isinstance(allowed, tuple) else (allowed,)
    return " or ".join(kind.__name__ for kind in kinds)


def validate(root: Element) -> None:
    """`check` every element of a tree that came from outside."""
    for _, node in root.walk():
        if isinstance(node, Element):
            check(node.tag, dict(node.props), node.children)
