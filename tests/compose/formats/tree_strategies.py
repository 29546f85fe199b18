"""Trees over the whole vocabulary, at random: any element in any place where the vocabulary lets it stand."""

from __future__ import annotations

from typing import Any

from hostile import PIECES
from hypothesis import strategies as st

from hudkit.compose import TAGS, Element, Node, freeze

text = st.one_of(
    st.sampled_from(["a", "x y", "see https://a.b/c?d=e.", "www.a.b", "a@b.cd", "+3 older", "[x] a", "f(*args)"]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join),
    st.text(max_size=12),
)
_HREFS = st.sampled_from(
    ["/u", "https://a.b/c", "a b", "/ü?q=(x)", "javascript:x", "", "<>", "http://ü.de/%20", "#a|b"]
)
_PROPS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "section": st.fixed_dictionaries({}, optional={"title": text, "level": st.integers(-1, 8)}),
    "list": st.fixed_dictionaries({}, optional={"ordered": st.booleans(), "start": st.integers(-1, 10**9 + 1)}),
    "item": st.fixed_dictionaries({}, optional={"checked": st.booleans()}),
    "more": st.fixed_dictionaries({"hidden": st.integers(0, 3)}, optional={"noun": text, "see": text}),
    "pre": st.fixed_dictionaries({}, optional={"lang": text}),
    "table": st.fixed_dictionaries({}, optional={"align": st.text("lcr-", max_size=4)}),
    "link": st.fixed_dictionaries({}, optional={"href": _HREFS}),
    "reserve": st.just({"tokens": 5}),
}
_EVERY = st.one_of(st.just({}), st.just({"priority": 2, "key": "k"}))
_HOLDS: dict[str, frozenset[str]] = {
    "flow": frozenset({"flow", "any"}),
    "phrasing": frozenset({"phrasing", "any"}),
    "items": frozenset({"item", "any"}),
    "rows": frozenset({"row", "any"}),
    "cells": frozenset({"cell", "any"}),
    "any": frozenset({"flow", "phrasing", "item", "row", "cell", "any"}),
}


def element(tag: str, depth: int) -> st.SearchStrategy[Element]:
    """Elements of one tag, at most `depth` levels below them."""
    content: st.SearchStrategy[list[Node]] = children(TAGS[tag].holds, depth)
    props = st.builds(lambda one, every: one | every, _PROPS.get(tag, st.just({})), _EVERY)
    return st.builds(lambda p, c: Element(tag, freeze(p), tuple(c)), props, content)


def children(holds: str, depth: int) -> st.SearchStrategy[list[Node]]:
    """What may stand in an element that holds this."""
    some: list[st.SearchStrategy[Any]] = []
    if holds in ("phrasing", "text"):
        some += [text, text]
    if depth > 0:
        fitting = [tag for tag, spec in TAGS.items() if spec.role in _HOLDS.get(holds, ())]
        some += [st.sampled_from(fitting).flatmap(lambda tag: element(tag, depth - 1))] if fitting else []
    return st.lists(st.one_of(some), max_size=4) if some else st.just([])


documents = element("document", 5)
"""Documents of any shape."""
