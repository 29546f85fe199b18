"""The core vocabulary: which tags there are, what props they take and what may stand in them.

It knows nothing of HTML. `flow` elements stand one below the other, `phrasing` elements within a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from hudkit.compose.nodes import Node, Prop
from hudkit.compose.pending import Pending
from hudkit.errors import TreeError

Content = Literal["flow", "phrasing", "items", "text", "none", "any", "rows", "cells"]


class Tag(msgspec.Struct, frozen=True):
    """What an element with this tag is: where it may stand, what it may hold, which props it takes."""

    role: Literal["flow", "phrasing", "item", "row", "cell", "any"]
    holds: Content
    props: dict[str, type | tuple[type, ...]]
    doc: str


EVERY: dict[str, type | tuple[type, ...]] = {
    "key": str,
    "priority": (int, float),
    "atomic": bool,
    "scope": str,
    "limit": int,
    "isolate": bool,
    "keep": str,
    "truncate": str,
    "marker": str,
    "step": int,
    "basis": (int, float),
    "grow": (int, float),
    "expand": bool,
    "reserve": (int, str),
    "density": str,
}
"""Props of every element: `key` names it in traces; all others speak to `fit` alone, and say nothing in a text.

One with a `priority` may be left out (higher is kept longer, none is always kept); an `atomic` one stays or goes
whole. `scope` (`local` or `across`) says with whom priorities below compare; `limit` is its most tokens; `isolate`
fits it alone in its limit; elements of one `keep` are there together or not at all; `truncate` (`start`, `middle`,
`end`) cuts its longest text, with `marker` for what is cut; `step` drops its oldest children that many tokens at a
time; `basis`, `grow`, `expand` and `reserve` share what is left; `density` names an alternative. The rules:
`hudkit.compose.fit`.
"""

TAGS: Mapping[str, Tag] = {
    "document": Tag("flow", "flow", {}, "The root."),
    "fragment": Tag("any", "any", {}, "Its children stand in its place."),
    "first": Tag("any", "any", {}, "Alternatives: `fit` keeps the first that fits, each of them whole."),
    "choice": Tag("any", "any", {}, "Alternatives by `density`, the fullest first: `fit` keeps the first that fits."),
    "default": Tag(
        "any", "any", {}, "Its last child stands in when nothing of the others is kept, or says anything."
    ),
    "reserve": Tag("any", "none", {"tokens": (int, str)}, "Tokens held back (`/4`: of the budget); says nothing."),
    "break": Tag("any", "none", {}, "The end of a stable prefix: nothing before the last one is left out."),
    "section": Tag("flow", "flow", {"title": str, "level": int}, "A heading (level 1 to 6) and what is below it."),
    "paragraph": Tag("flow", "phrasing", {}, "A paragraph."),
    "text": Tag("flow", "phrasing", {}, "A line of text: a short paragraph."),
    "list": Tag("flow", "items", {"ordered": bool, "start": int}, "A list, tight."),
    "item": Tag("item", "phrasing", {"checked": bool}, "An item, one line: `checked` says if a task is done."),
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

HOLDS: Mapping[str, str] = {
    "flow": "blocks, such as <paragraph>, <list>, <section>",
    "phrasing": "text and what stands in a line: <strong>, <emphasis>, <strike>, <code>, <link>",
    "items": "<item>",
    "rows": "<row>",
    "cells": "<cell>",
    "any": "whatever may stand in its place",
    "text": "text alone",
    "none": "nothing",
}
"""What each kind of content is, in words."""

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
_TEXT = frozenset({"phrasing", "text", "any"})


def fits(tag: str, below: str | None) -> bool:
    """Whether an element with the tag `below`, or text where it is `None`, may stand in one with `tag`."""
    holds = TAGS[tag].holds
    return holds in _TEXT if below is None else TAGS[below].role in _FITS[holds]


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
    roles = _FITS[spec.holds]
    for child in children:
        if isinstance(child, str):
            if spec.holds not in _TEXT:
                raise TreeError(
                    f"text {child[:40]!r} stands bare in <{tag}>",
                    hint="Put it into an element that holds text",
                )
        elif (below := TAGS.get(child.tag)) is None:
            if not isinstance(child, Pending):  # what it renders to is checked in its place
                raise TreeError(f"there is no element <{child.tag}>", hint=f"The vocabulary has: {', '.join(TAGS)}")
        elif below.role not in roles:
            raise TreeError(f"<{child.tag}> cannot stand in <{tag}>", hint=f"<{tag}> holds {HOLDS[spec.holds]}")


def _named(allowed: type | tuple[type, ...]) -> str:
    kinds = allowed if isinstance(allowed, tuple) else (allowed,)
    return " or ".join(kind.__name__ for kind in kinds)
