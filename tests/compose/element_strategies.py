"""Hypothesis: every tree of the core vocabulary, drawn from the tables themselves."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec.inspect as inspect
from hypothesis import strategies as st

from hudkit.compose import TAGS, Element, Node, freeze
from hudkit.compose.vocabulary import COMMON_PROPS, may_contain, prop_rule
from strategies import hostile

any_text = st.one_of(
    hostile,
    st.text(max_size=20),
    st.text(st.characters(exclude_categories=()), max_size=8),
    st.text(alphabet="<>{}&;/\"'\\\n\r\t  ab\x00\ud83d\ude00\u2028\xa0", max_size=12),
    st.sampled_from(["&amp;", "{name}", "{/* c */}", "<text>", "&#10;", '{"x"}', "\\n", "\\u{1F600}", "&nbsp;"]),
)


def values(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a type with bounds, as a rule has it."""
    if isinstance(kind, inspect.UnionType):
        return st.one_of(*(values(one) for one in kind.types))
    if isinstance(kind, inspect.LiteralType):
        return st.sampled_from(kind.values)
    if isinstance(kind, inspect.BoolType):
        return st.booleans()
    if isinstance(kind, inspect.IntType):
        return st.integers(kind.ge, kind.le)
    if isinstance(kind, inspect.FloatType):
        return st.floats(kind.ge, kind.le)
    assert isinstance(kind, inspect.StrType)
    return st.from_regex(f"{kind.pattern[:-1]}\\Z") if kind.pattern else any_text


VALUES = {
    (tag, name): values(inspect.type_info(prop_rule(tag, name).type))
    for tag, spec in TAGS.items()
    for name in (*spec.props, *COMMON_PROPS)
}


@st.composite
def elements(draw: st.DrawFn, tag: str | None = None, depth: int = 3) -> Element:
    """A valid tree with this root, or any."""
    tag = tag or draw(st.sampled_from(sorted(TAGS)))
    names = draw(st.lists(st.sampled_from((*TAGS[tag].props, *COMMON_PROPS)), max_size=3, unique=True))
    props = {name: draw(VALUES[tag, name]) for name in names}
    return Element(tag, freeze(props), tuple(_unique(draw(children(tag, depth - 1)))))


@lru_cache
def children(parent: str, depth: int) -> st.SearchStrategy[list[Node]]:
    """What may stand in a parent."""
    found: list[st.SearchStrategy[Node]] = [any_text] if may_contain(parent, None) else []
    below = [tag for tag in TAGS if may_contain(parent, tag)]
    if below and depth > 0:
        found.append(st.sampled_from(below).flatmap(lambda tag: elements(tag, depth)))
    return st.lists(st.one_of(*found), max_size=4) if found else st.just([])


def _unique(children: list[Node]) -> list[Node]:
    """The children, of those with one key the first."""
    seen: set[object] = set()
    kept = []
    for child in children:
        key = child.get("key") if isinstance(child, Element) else None
        if key is None or key not in seen:
            kept.append(child)
        seen.add(key)
    return kept
