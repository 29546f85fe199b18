"""The JSON Schema of a tree, from the same tables that validate it."""

from __future__ import annotations

from typing import Any

import msgspec

from hudkit.compose.props import rule_of
from hudkit.compose.vocabulary import EVERY, TAGS, fits

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def tree_schema() -> dict[str, Any]:
    """A JSON Schema (2020-12) of trees as `read_json` takes them.

    What it cannot say: that keys are unique among siblings, and how large and deep a tree may be.
    """
    return {
        "$schema": DRAFT,
        "title": "An element tree",
        **_node(list(TAGS), text=False),
        "$defs": {"element": {"allOf": [_when(tag) for tag in TAGS]}, **{tag: _element(tag) for tag in TAGS}},
    }


def _when(tag: str) -> dict[str, Any]:
    """A tag chooses its schema, so that checking a tree takes one schema a node."""
    chosen = {"type": "object", "properties": {"tag": {"const": tag}}, "required": ["tag"]}
    return {"if": chosen, "then": {"$ref": f"#/$defs/{tag}"}}


def _element(tag: str) -> dict[str, Any]:
    spec = TAGS[tag]
    names = (*spec.props, *EVERY)
    return {
        "type": "object",
        "description": spec.doc,
        "properties": {
            "tag": {"const": tag},
            "props": {
                "type": "object",
                "properties": {name: _value(tag, name) for name in dict.fromkeys(names)},
                "additionalProperties": False,
            },
            "children": _children(tag),
        },
        "required": ["tag"],
        "additionalProperties": False,
    }


def _value(tag: str, name: str) -> dict[str, Any]:
    rule = rule_of(tag, name)
    return {"anyOf": [msgspec.json.schema(rule.type), {"type": "null"}], "description": rule.doc}


def _children(tag: str) -> dict[str, Any]:
    allowed = [below for below in TAGS if fits(tag, below)]
    text = fits(tag, None)
    return {"type": "array", "items": _node(allowed, text)} if allowed or text else {"type": "array", "maxItems": 0}


def _node(tags: list[str], text: bool) -> dict[str, Any]:
    """An element with one of these tags; or text, where it may stand."""
    if not tags:
        return {"type": "string"}
    said = {"properties": {"tag": {"enum": tags}}, "required": ["tag"], "$ref": "#/$defs/element"}
    return {"type": ["string", "object"] if text else "object", **said}
