"""Read and write trees as JSON, and describe them by a JSON Schema.

A node is text, or `{"tag": "text", "props": {"key": "a"}, "children": ["…", {…}]}`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from hudkit.compose.nodes import Element, Node, Prop, freeze
from hudkit.compose.validation import DEFAULT_LIMITS, TreeLimits, check_size, validate
from hudkit.compose.vocabulary import COMMON_PROPS, TAGS, may_contain, prop_rule
from hudkit.errors import TreeError


class _JsonElement(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An element as JSON has it: props and children may be absent; a prop that is null is none."""

    tag: str
    props: dict[str, str | int | float | bool | None] = {}
    children: list[_JsonElement | str] = []


_DECODER = msgspec.json.Decoder(_JsonElement)
_ENCODER = msgspec.json.Encoder()


def write_json(tree: Element, limits: TreeLimits = DEFAULT_LIMITS) -> bytes:
    """Return JSON (UTF-8) that `read_json` reads as an equal tree.

    Raises `TreeError` for a tree that `read_json` would refuse. That includes lone surrogates in text or props: JSON
    has no form of them on which readers agree (RFC 8259, 8.2). JSX text has one.
    """
    validate(tree, limits)
    try:
        return _ENCODER.encode(_to_json(tree))
    except UnicodeEncodeError as error:
        raise _surrogate_error(error) from None


def read_json(data: bytes | str, limits: TreeLimits = DEFAULT_LIMITS) -> Element:
    """Return the tree that JSON says. Raises `TreeError` for any data that is not a tree, and nothing else."""
    check_size(len(data), limits)  # before it is decoded: a text that is too long costs nothing
    try:
        plain = _DECODER.decode(data)
    except RecursionError:  # the decoder's own limit, above any of ours
        raise TreeError(f"the tree has more than {limits.depth} levels", hint="Split it") from None
    except UnicodeEncodeError as error:
        raise _surrogate_error(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TreeError(
            f"this is no tree: {error}", hint='A node is text, or {"tag": …, "props": {…}, "children": […]}'
        ) from None
    tree = _from_json(plain, limits, 0)
    validate(tree, limits)
    return tree


# By recursion, which the limit of depth keeps far from Python's own.


def _to_json(element: Element) -> _JsonElement:
    return _JsonElement(
        element.tag,
        dict(element.props),
        [child if isinstance(child, str) else _to_json(child) for child in element.children],
    )


def _from_json(plain: _JsonElement, limits: TreeLimits, depth: int) -> Element:
    if depth > limits.depth:
        raise TreeError(f"the tree has more than {limits.depth} levels", hint="Split it")
    props: dict[str, Prop] = dict(plain.props)
    children: list[Node] = [
        child if isinstance(child, str) else _from_json(child, limits, depth + 1) for child in plain.children
    ]
    return Element(plain.tag, freeze(props), tuple(children))


def _surrogate_error(error: UnicodeEncodeError) -> TreeError:
    return TreeError(
        f"a lone surrogate, {error.object[error.start : error.start + 1]!r}, cannot be JSON",
        hint="Write the tree as JSX text, or make the text visible() first",
    )


_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def tree_schema() -> dict[str, Any]:
    """Return a JSON Schema (2020-12) of trees as `read_json` takes them.

    What it cannot say: that keys are unique among siblings, and how large and deep a tree may be.
    """
    return {
        "$schema": _DRAFT,
        "title": "An element tree",
        **_node_schema(list(TAGS), text=False),
        "$defs": {
            "element": {"allOf": [_tag_case(tag) for tag in TAGS]},
            **{tag: _element_schema(tag) for tag in TAGS},
        },
    }


def _tag_case(tag: str) -> dict[str, Any]:
    """Return the case of one tag. A tag chooses its schema, so that checking a tree takes one schema a node."""
    chosen = {"type": "object", "properties": {"tag": {"const": tag}}, "required": ["tag"]}
    return {"if": chosen, "then": {"$ref": f"#/$defs/{tag}"}}


def _element_schema(tag: str) -> dict[str, Any]:
    spec = TAGS[tag]
    names = (*spec.props, *COMMON_PROPS)
    return {
        "type": "object",
        "description": spec.doc,
        "properties": {
            "tag": {"const": tag},
            "props": {
                "type": "object",
                "properties": {name: _prop_schema(tag, name) for name in dict.fromkeys(names)},
                "additionalProperties": False,
            },
            "children": _children_schema(tag),
        },
        "required": ["tag"],
        "additionalProperties": False,
    }


def _prop_schema(tag: str, name: str) -> dict[str, Any]:
    rule = prop_rule(tag, name)
    return {"anyOf": [msgspec.json.schema(rule.type), {"type": "null"}], "description": rule.doc}


def _children_schema(tag: str) -> dict[str, Any]:
    allowed = [below for below in TAGS if may_contain(tag, below)]
    text = may_contain(tag, None)
    return (
        {"type": "array", "items": _node_schema(allowed, text)}
        if allowed or text
        else {"type": "array", "maxItems": 0}
    )


def _node_schema(tags: list[str], text: bool) -> dict[str, Any]:
    """Return the schema of an element with one of these tags; or text, where it may stand."""
    if not tags:
        return {"type": "string"}
    element = {"properties": {"tag": {"enum": tags}}, "required": ["tag"], "$ref": "#/$defs/element"}
    return {"type": ["string", "object"] if text else "object", **element}
