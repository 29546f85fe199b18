"""The core vocabulary: which tags there are, what props they take and what may stand in them.

It knows nothing of HTML. `flow` elements stand one below the other, `phrasing` elements within a line. Two tables say
everything: `TAGS` which element takes which props and holds what, `PROPS` what the value of each prop may be. The
checks, the JSON Schema and the reference page all read them. One name of a prop means one thing, on every element.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hudkit.compose.nodes import Node, Pending, Prop
from hudkit.errors import TreeError

Content = Literal["flow", "phrasing", "items", "text", "none", "any", "rows", "cells"]


class Tag(msgspec.Struct, frozen=True):
    """The rule of a tag: where its elements may stand (`role`), what they may hold, which props they take."""

    role: Literal["flow", "phrasing", "item", "row", "cell", "any"]
    holds: Content
    props: dict[str, type | tuple[type, ...]]
    doc: str


COMMON_PROPS: dict[str, type | tuple[type, ...]] = {
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
`hudkit.compose.fitting`.
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

CONTENT_WORDS: Mapping[str, str] = {
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

_ROLES_HELD: Mapping[str, frozenset[str]] = {
    "flow": frozenset({"flow", "any"}),
    "phrasing": frozenset({"phrasing", "any"}),
    "items": frozenset({"item", "any"}),
    "rows": frozenset({"row", "any"}),
    "cells": frozenset({"cell", "any"}),
    "any": frozenset({"flow", "phrasing", "item", "row", "cell", "any"}),
    "text": frozenset(),
    "none": frozenset(),
}
_HOLDS_TEXT = frozenset({"phrasing", "text", "any"})


def may_contain(tag: str, below: str | None) -> bool:
    """Return whether an element with the tag `below`, or text where it is `None`, may stand in one with `tag`."""
    holds = TAGS[tag].holds
    if below is None:
        return holds in _HOLDS_TEXT
    return TAGS[below].role in _ROLES_HELD[holds]


def check_element(tag: str, props: Mapping[str, Prop], children: tuple[Node, ...]) -> None:
    """Raise `TreeError` where an element breaks the vocabulary; it names the place and what would be right.

    This runs for every element that is made. It looks at types alone; `check_prop` looks at the values of what comes
    from outside.
    """
    spec = TAGS.get(tag)
    if spec is None:
        raise TreeError(f"there is no element <{tag}>", hint=f"The vocabulary has: {', '.join(TAGS)}")
    for name, value in props.items():
        allowed = spec.props.get(name) or COMMON_PROPS.get(name)
        if allowed is None:
            names = ", ".join((*spec.props, *COMMON_PROPS))
            raise TreeError(f"<{tag}> takes no prop {name!r}", hint=f"It takes: {names}")
        # A bool is an int to Python, and no number to anybody else.
        is_right = isinstance(value, allowed) and (allowed is bool or not isinstance(value, bool))
        if value is not None and not is_right:
            raise TreeError(
                f"prop {name!r} of <{tag}> is {value!r}", hint=f"It must be of type {_type_names(allowed)}"
            )
    roles = _ROLES_HELD[spec.holds]
    for child in children:
        if isinstance(child, str):
            if spec.holds not in _HOLDS_TEXT:
                raise TreeError(
                    f"text {child[:40]!r} stands bare in <{tag}>",
                    hint="Put it into an element that holds text",
                )
        elif (below := TAGS.get(child.tag)) is None:
            if not isinstance(child, Pending):  # what it renders to is checked in its place
                raise TreeError(f"there is no element <{child.tag}>", hint=f"The vocabulary has: {', '.join(TAGS)}")
        elif below.role not in roles:
            raise TreeError(
                f"<{child.tag}> cannot stand in <{tag}>", hint=f"<{tag}> holds {CONTENT_WORDS[spec.holds]}"
            )


def _type_names(allowed: type | tuple[type, ...]) -> str:
    kinds = allowed if isinstance(allowed, tuple) else (allowed,)
    return " or ".join(kind.__name__ for kind in kinds)


# The values of props.

MAX_SAFE_INTEGER = 2**53
"""The largest whole number that every reader of JSON keeps exactly (RFC 7493)."""

MAX_PROP_CHARS = 4096
"""The most characters of a prop of text."""

_MAX_VALUE_CHARS = 60
"""The most characters of a value that an error shows."""

_MAX_UNQUOTED_CHARS = 40
"""The longest value that somebody may have quoted by mistake: numbers and words are shorter."""

_Line = Annotated[str, Meta(max_length=MAX_PROP_CHARS)]
_Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
_Share = _Count | Annotated[float, Meta(ge=0, le=MAX_SAFE_INTEGER)]
# `$` also matches before a line break at the end, in Python and in JSON Schema: the look-ahead refuses that one.
_Amount = _Count | Annotated[str, Meta(pattern="^(/[1-9][0-9]{0,8}|[0-9]{1,9})(?!\\n)$")]


class _PropRule(msgspec.Struct, frozen=True):
    """The rule of a prop: the type of its values (with bounds), the same in words, and what they say."""

    type: Any
    words: str
    doc: str


PROPS: Mapping[str, _PropRule] = {
    "title": _PropRule(_Line, "text", "The words of the heading."),
    "level": _PropRule(
        Annotated[int, Meta(ge=1, le=6)], "1 to 6", "The level of the heading; without it, by nesting."
    ),
    "ordered": _PropRule(bool, "true or false", "Numbered."),
    "start": _PropRule(Annotated[int, Meta(ge=0, le=999_999_999)], "0 to 999999999", "The first number."),
    "checked": _PropRule(bool, "true or false", "A task: done, or not; without it, no task."),
    "hidden": _PropRule(_Count, "a whole number from 0", "How many are not shown."),
    "see": _PropRule(_Line, "text", "Where the rest is."),
    "noun": _PropRule(_Line, "text", "What they are."),
    "lang": _PropRule(_Line, "text", "The language of the text."),
    "align": _PropRule(
        Annotated[str, Meta(pattern="^[lcr-]*(?!\\n)$", max_length=1024)], "letters l, c, r, -", "One per column."
    ),
    "href": _PropRule(_Line, "text", "Where the link leads."),
    "tokens": _PropRule(_Amount, "tokens, or a share such as /4", "How much is held back."),
    "key": _PropRule(_Line, "text", "A name among siblings; no two of them have the same."),
    "priority": _PropRule(
        Annotated[int, Meta(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
        | Annotated[float, Meta(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)],
        "a number",
        "May be left out; higher is kept longer.",
    ),
    "atomic": _PropRule(bool, "true or false", "Stays whole or goes whole."),
    "scope": _PropRule(Literal["local", "across"], "local or across", "With whom priorities below compare."),
    "limit": _PropRule(_Count, "a whole number from 0", "Its most tokens."),
    "isolate": _PropRule(bool, "true or false", "Fitted alone, in its own limit."),
    "keep": _PropRule(_Line, "text", "Elements with one name are there together or not at all."),
    "truncate": _PropRule(
        Literal["start", "middle", "end"], "start, middle or end", "Where its longest text is cut."
    ),
    "marker": _PropRule(_Line, "text", "What stands for the part that is cut."),
    "step": _PropRule(_Count, "a whole number from 0", "Its oldest children go that many tokens at a time."),
    "basis": _PropRule(_Share, "a number from 0", "Its part in sharing what its parent is offered."),
    "grow": _PropRule(_Share, "a number from 0", "Its part in sharing what is left, after the others."),
    "expand": _PropRule(bool, "true or false", "Fills what is left."),
    "reserve": _PropRule(_Amount, "tokens, or a share such as /4", "Held back for it while others are fitted."),
    "density": _PropRule(
        Literal["full", "compact", "minimal"], "full, compact or minimal", "Which alternative of a choice it is."
    ),
}


def prop_rule(tag: str, name: str) -> _PropRule:
    """Return the rule of a prop that an element takes; one that the table lacks has the type of the vocabulary."""
    if name in PROPS:
        return PROPS[name]
    spec = TAGS.get(tag)
    kind = (spec.props.get(name) if spec else None) or COMMON_PROPS[name]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return _PropRule(reduce(or_, kinds), _type_names(kind), "")


def check_prop(tag: str, name: str, value: Prop) -> None:
    """Raise `TreeError` where a value is outside the rule of its prop; nothing is converted."""
    rule = prop_rule(tag, name)
    is_finite = not isinstance(value, float) or math.isfinite(value)  # JSON has no other numbers
    try:
        if is_finite:
            msgspec.convert(value, rule.type, strict=True)
            return
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter where a lone surrogate meets fixed words
        pass
    hint = f"It must be {rule.words}"
    if isinstance(value, str) and _right_without_quotes(value, rule):
        hint += "; in quotes it is text"
    raise TreeError(f"prop {name!r} of <{tag}> is {shown_value(value)}", hint=hint)


def shown_value(value: object) -> str:
    """Return a value as an error shows it: its `repr`, at most 60 characters of it."""
    shown = repr(value)
    return shown if len(shown) <= _MAX_VALUE_CHARS else f"{shown[: _MAX_VALUE_CHARS - 1]}…"


def _right_without_quotes(value: str, rule: _PropRule) -> bool:
    """Return whether text would be right without its quotes."""
    try:
        msgspec.json.decode(value[:_MAX_UNQUOTED_CHARS], type=rule.type)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True
