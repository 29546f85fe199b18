"""What the value of each prop may be, and what it means: the schemas that validate, document and describe trees.

`vocabulary` says which element takes which props; this table says what they hold. One name means one thing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hudkit.compose.nodes import Prop
from hudkit.compose.vocabulary import EVERY, TAGS
from hudkit.errors import TreeError

LARGEST = 2**53
"""The largest whole number that every reader of JSON keeps exactly (RFC 7493)."""

LINE = 4096
"""The most characters of a prop of text."""

Line = Annotated[str, Meta(max_length=LINE)]
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Share = Count | Annotated[float, Meta(ge=0, le=LARGEST)]
Amount = Count | Annotated[str, Meta(pattern="^(/[1-9][0-9]{0,8}|[0-9]{1,9})(?!\\n)$")]


class Rule(msgspec.Struct, frozen=True):
    """The values of a prop: their type (with bounds), those types in words, and what they say."""

    type: Any
    words: str
    doc: str


PROPS: Mapping[str, Rule] = {
    "title": Rule(Line, "text", "The words of the heading."),
    "level": Rule(Annotated[int, Meta(ge=1, le=6)], "1 to 6", "The level of the heading; without it, by nesting."),
    "ordered": Rule(bool, "true or false", "Numbered."),
    "start": Rule(Annotated[int, Meta(ge=0, le=999_999_999)], "0 to 999999999", "The first number."),
    "checked": Rule(bool, "true or false", "A task: done, or not; without it, no task."),
    "hidden": Rule(Count, "a whole number from 0", "How many are not shown."),
    "see": Rule(Line, "text", "Where the rest is."),
    "noun": Rule(Line, "text", "What they are."),
    "lang": Rule(Line, "text", "The language of the text."),
    "align": Rule(
        Annotated[str, Meta(pattern="^[lcr-]*(?!\\n)$", max_length=1024)], "letters l, c, r, -", "One per column."
    ),
    "href": Rule(Line, "text", "Where the link leads."),
    "tokens": Rule(Amount, "tokens, or a share such as /4", "How much is held back."),
    "key": Rule(Line, "text", "A name among siblings; no two of them have the same."),
    "priority": Rule(
        Annotated[int, Meta(ge=-LARGEST, le=LARGEST)] | Annotated[float, Meta(ge=-LARGEST, le=LARGEST)],
        "a number",
        "May be left out; higher is kept longer.",
    ),
    "atomic": Rule(bool, "true or false", "Stays whole or goes whole."),
    "scope": Rule(Literal["local", "across"], "local or across", "With whom priorities below compare."),
    "limit": Rule(Count, "a whole number from 0", "Its most tokens."),
    "isolate": Rule(bool, "true or false", "Fitted alone, in its own limit."),
    "keep": Rule(Line, "text", "Elements with one name are there together or not at all."),
    "truncate": Rule(Literal["start", "middle", "end"], "start, middle or end", "Where its longest text is cut."),
    "marker": Rule(Line, "text", "What stands for the part that is cut."),
    "step": Rule(Count, "a whole number from 0", "Its oldest children go that many tokens at a time."),
    "basis": Rule(Share, "a number from 0", "Its part in sharing what its parent is offered."),
    "grow": Rule(Share, "a number from 0", "Its part in sharing what is left, after the others."),
    "expand": Rule(bool, "true or false", "Fills what is left."),
    "reserve": Rule(Amount, "tokens, or a share such as /4", "Held back for it while others are fitted."),
    "density": Rule(
        Literal["full", "compact", "minimal"], "full, compact or minimal", "Which alternative of a choice it is."
    ),
}


def rule_of(tag: str, name: str) -> Rule:
    """The rule of a prop that an element takes; a prop without one in the table has the type of the vocabulary."""
    if name in PROPS:
        return PROPS[name]
    spec = TAGS.get(tag)
    kind = (spec.props.get(name) if spec else None) or EVERY[name]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return Rule(reduce(or_, kinds), " or ".join(one.__name__ for one in kinds), "")


def check_value(tag: str, name: str, value: Prop) -> None:
    """Raise `TreeError` where a value is outside the rule of its prop; nothing is converted."""
    rule = rule_of(tag, name)
    finite = not isinstance(value, float) or math.isfinite(value)
    try:
        if finite:
            msgspec.convert(value, rule.type, strict=True)
            return
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter where a lone surrogate meets fixed words
        pass
    shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:59]}…"
    quoted = "; in quotes it is text" if isinstance(value, str) and _unquoted(value, rule) else ""
    raise TreeError(f"prop {name!r} of <{tag}> is {shown}", hint=f"It must be {rule.words}{quoted}")


def _unquoted(value: str, rule: Rule) -> bool:
    """Whether text would be right without its quotes."""
    try:
        msgspec.json.decode(value[:40], type=rule.type)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True
