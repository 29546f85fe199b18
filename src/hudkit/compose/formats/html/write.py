"""hast to HTML text: nothing is written but what the schema allows, and every character of a text is a text's."""

from __future__ import annotations

import re

from hudkit.compose.formats.html.hast import Element, Hast, Root, Text
from hudkit.compose.formats.html.sanitize import sanitize
from hudkit.compose.formats.html.schema import HEADINGS

_VOID = frozenset({"br", "hr"})
_BLOCKS = frozenset({*HEADINGS, "p", "div", "blockquote", "hr", "ul", "ol", "li", "pre"}) | frozenset(
    {"table", "thead", "tbody", "tr", "th", "td"}
)
_END = "\n"
"""The end of a line that the writer adds; a text after it that begins with one has it already."""

_SPELLED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "`": "&#96;"}
_TEXT = re.compile("[&<>\r\x00\ud800-\udfff]")
_VALUE = re.compile('[&<>"\r`\x00\ud800-\udfff]')


def write(root: Root) -> str:
    """HTML, each block on a line of its own, sanitised; what it reads as is written the same again.

    Raises `FormatError` where elements are nested too deeply.
    """
    parts: list[str] = []
    for node in sanitize(root).children:
        _write(node, parts, lines=True)
    return "".join(parts)


def _write(node: Hast, parts: list[str], lines: bool) -> None:
    """Append the text of a node; with `lines`, blocks begin and end lines, which is not so in preformatted text."""
    if isinstance(node, Text):
        value = _TEXT.sub(_spelled, node.value)
        parts.append(value.removeprefix("\n") if lines and parts[-1:] == [_END] else value)
        return
    attributes = "".join(f' {name}="{_VALUE.sub(_spelled, value)}"' for name, value in node.attributes)
    parts.append(f"<{node.tag}{attributes}>{_skipped(node)}")
    if node.tag not in _VOID:
        if lines and node.children and _is_block(node.children[0]):
            parts.append(_END)
        for child in node.children:
            _write(child, parts, lines and node.tag != "pre")
        parts.append(f"</{node.tag}>")
    if lines and _is_block(node):
        parts.append(_END)


def _is_block(node: Hast) -> bool:
    return isinstance(node, Element) and node.tag in _BLOCKS


def _skipped(node: Element) -> str:
    """The line feed after `<pre>` that readers skip, where the text has one of its own (HTML, 13.1.2.5)."""
    first = node.children[0] if node.tag == "pre" and node.children else None
    return "\n" if isinstance(first, Text) and first.value.startswith("\n") else ""


def _spelled(match: re.Match[str]) -> str:
    return _SPELLED.get(match.group(), "\ufffd")
