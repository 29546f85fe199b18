"""Transforms: element trees to nodes of a target and back, by rules that are matched by schema.

A rule says which elements it takes by a msgspec struct: its tag is the element's tag, its fields are props with their
types, so `Literal[True]` takes one value only; props that it does not name do not matter. The first rule that fits is
used. On the way back a rule takes the target's nodes of its `kind`. docs/adding-a-format.md has an example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar, get_args

import msgspec

from hudkit.compose import TAGS, Element, Node, freeze
from hudkit.compose.vocabulary import COMMON_PROPS
from hudkit.errors import FormatError

T = TypeVar("T")

_HINT = "markdown"
"""The prop by which an element of a tag that is not in the vocabulary says as what it is written."""


class Shape(msgspec.Struct, frozen=True, tag_field="tag"):
    """What a rule takes: a subclass says `tag="section"`, and its fields are props.

    A struct that is no `Shape`, and so has no tag, takes elements of every tag.
    """


Within = Callable[[Sequence[Node]], list[T]]
"""The nodes of the target for children."""


class Rule(msgspec.Struct, Generic[T], frozen=True):
    """`schema` is a `Shape`, a union of them, or a struct without a tag.

    `to(shape, element, within)` gives what an element is in the target; `within` transforms its children.
    `back(node, within)` gives the elements and texts of a node of `kind`; `within` transforms nodes below it.
    """

    schema: Any
    to: Callable[[Any, Element, Within[T]], Iterable[T]]
    kind: type | None = None
    back: Callable[[Any, Callable[[Sequence[T]], list[Node]]], Iterable[Node]] | None = None


class Transform(Generic[T]):
    """Rules in the order in which they are tried, and `text`, which makes a node of a text between elements."""

    def __init__(self, name: str, rules: Sequence[Rule[T]], text: Callable[[str], T]) -> None:
        self.name = name
        self.rules = tuple(rules)
        self._text = text
        self._by_tag: dict[str, list[Rule[T]]] = {}

    def with_rules(self, *rules: Rule[T]) -> Transform[T]:
        """Return the same transform with some rules tried before its own."""
        return Transform(self.name, (*rules, *self.rules), self._text)

    def to(self, nodes: Sequence[Node]) -> list[T]:
        """Return the target's nodes; raises `FormatError` where no rule takes an element."""
        return [target for node in nodes for target in self._to(node)]

    def back(self, nodes: Sequence[T]) -> list[Node]:
        """Return elements and texts; raises `FormatError` where no rule takes a node of the target."""
        return [element for node in nodes for element in self._back(node)]

    def _to(self, node: Node) -> Iterable[T]:
        if isinstance(node, str):
            return (self._text(node),)
        for rule in self._candidates(node.tag):
            shape = _fits(rule.schema, node)
            if shape is not None:
                return rule.to(shape, node, self.to)
        hinted_element = _by_hint(node)
        if hinted_element is node:
            hint = f"Give a rule for it, or its elements a prop {_HINT!r} with a tag of the vocabulary"
            raise FormatError(f"{self.name}: no rule takes <{node.tag}>", hint=hint, format=self.name, path=node.tag)
        return self._to(hinted_element)

    def _back(self, node: T) -> Iterable[Node]:
        for rule in self.rules:
            if rule.back is not None and rule.kind is not None and isinstance(node, rule.kind):
                return rule.back(node, self.back)
        kind = type(node).__name__
        raise FormatError(f"{self.name}: no rule takes a {kind}", hint="Give a rule with its kind", format=self.name)

    def _candidates(self, tag: str) -> list[Rule[T]]:
        if tag not in self._by_tag:
            self._by_tag[tag] = [rule for rule in self.rules if not (tags := _tags(rule.schema)) or tag in tags]
        return self._by_tag[tag]


def _tags(schema: Any) -> set[str]:
    """Return the tags that a schema takes; none where it takes every one."""
    tags = (struct.__struct_config__.tag for struct in get_args(schema) or (schema,))
    return {tag for tag in tags if isinstance(tag, str)}


def _fits(schema: Any, element: Element) -> Any:
    """Return the props of an element as its schema has them, `None` where they do not fit."""
    try:
        return msgspec.convert({**dict(element.props), "tag": element.tag}, schema)
    except msgspec.ValidationError:
        return None


def _by_hint(element: Element) -> Element:
    """Return an element of a tag that is not in the vocabulary as its hint says it; any other as it is.

    Only props that the tag of the hint takes are kept.
    """
    tag = element.get(_HINT)
    if element.tag in TAGS or tag not in TAGS:
        return element
    takes = {**COMMON_PROPS, **TAGS[tag].props}
    props = {name: value for name, value in element.props if name in takes and isinstance(value, takes[name])}
    return Element(tag, freeze(props), element.children)


def hinted(element: Element) -> Element:
    """Return the tree with every element of a tag that is not in the vocabulary as its hint says it."""
    children = tuple(child if isinstance(child, str) else hinted(child) for child in element.children)
    return _by_hint(element.with_children(children))
