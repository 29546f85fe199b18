"""Trees as JSON: `{"tag": "text", "props": {"key": "a"}, "children": ["…", {…}]}`, typed both ways."""

from __future__ import annotations

import msgspec

from hudkit.compose.nodes import Element, Node, Prop, freeze
from hudkit.compose.outside import LIMITS, Limits, check_size, validate
from hudkit.errors import TreeError


class Plain(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An element as JSON has it: props and children may be absent; a prop that is null is none."""

    tag: str
    props: dict[str, str | int | float | bool | None] = {}
    children: list[Plain | str] = []


_DECODER = msgspec.json.Decoder(Plain)
_ENCODER = msgspec.json.Encoder()


def write_json(tree: Element, limits: Limits = LIMITS) -> bytes:
    """JSON (UTF-8) that `read_json` reads as an equal tree.

    Raises `TreeError` for a tree that `read_json` would refuse. That includes lone surrogates in text or props: JSON
    has no form of them on which readers agree (RFC 8259, 8.2). JSX text has one.
    """
    validate(tree, limits)
    try:
        return _ENCODER.encode(_plain(tree))
    except UnicodeEncodeError as error:
        raise _surrogate(error) from None


def read_json(data: bytes | str, limits: Limits = LIMITS) -> Element:
    """The tree that JSON says. No data makes it raise but `TreeError`."""
    check_size(len(data), limits)
    try:
        plain = _DECODER.decode(data)
    except RecursionError:
        raise TreeError(f"the tree has more than {limits.depth} levels", hint="Split it") from None
    except UnicodeEncodeError as error:
        raise _surrogate(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TreeError(
            f"this is no tree: {error}", hint='A node is text, or {"tag": …, "props": {…}, "children": […]}'
        ) from None
    tree = _element(plain, limits, 0)
    validate(tree, limits)
    return tree


def _plain(element: Element) -> Plain:
    return Plain(
        element.tag,
        dict(element.props),
        [child if isinstance(child, str) else _plain(child) for child in element.children],
    )


def _element(plain: Plain, limits: Limits, depth: int) -> Element:
    if depth > limits.depth:
        raise TreeError(f"the tree has more than {limits.depth} levels", hint="Split it")
    props: dict[str, Prop] = dict(plain.props)
    children: list[Node] = [
        child if isinstance(child, str) else _element(child, limits, depth + 1) for child in plain.children
    ]
    return Element(plain.tag, freeze(props), tuple(children))


def _surrogate(error: UnicodeEncodeError) -> TreeError:
    return TreeError(
        f"a lone surrogate, {error.object[error.start : error.start + 1]!r}, cannot be JSON",
        hint="Write the tree as JSX text, or make the text visible() first",
    )
