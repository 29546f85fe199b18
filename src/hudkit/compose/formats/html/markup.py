"""HTML text: written from hast, and parsed to hast as browsers read it (WHATWG HTML), by `justhtml`.

Nothing is written or read but what `sanitize` allows, and every character of a text is a text's. What is written
reads as what is written the same again.
"""

from __future__ import annotations

import re
from typing import Any

from hudkit.compose.formats.html.hast import Hast, HtmlElement, HtmlRoot, HtmlText
from hudkit.compose.formats.html.sanitize import DEEPEST, DROPPED, HEADINGS, sanitize, too_deep

_VOID = frozenset({"br", "hr"})
_BLOCKS = frozenset({*HEADINGS, "p", "div", "blockquote", "hr", "ul", "ol", "li", "pre"}) | frozenset(
    {"table", "thead", "tbody", "tr", "th", "td"}
)
_END = "\n"
"""The end of a line that the writer adds; a text after it that begins with one has it already."""

# Old browsers take a backtick for a quote; a carriage return would be read as a line feed.
_SPELLED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "`": "&#96;"}
_TEXT = re.compile("[&<>\r\x00\ud800-\udfff]")
_VALUE = re.compile('[&<>"\r`\x00\ud800-\udfff]')


def write(root: HtmlRoot) -> str:
    """Return HTML, each block on a line of its own, sanitised.

    Raises `FormatError` where elements are nested too deeply.
    """
    parts: list[str] = []
    for node in sanitize(root).children:
        _write(node, parts, lines=True)
    return "".join(parts)


def _write(node: Hast, parts: list[str], lines: bool) -> None:
    """Append the text of a node; with `lines`, blocks begin and end lines, which is not so in preformatted text."""
    if isinstance(node, HtmlText):
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
    return isinstance(node, HtmlElement) and node.tag in _BLOCKS


def _skipped(node: HtmlElement) -> str:
    """Return the line feed after `<pre>` that readers skip, where the text has one of its own (HTML, 13.1.2.5)."""
    first = node.children[0] if node.tag == "pre" and node.children else None
    return "\n" if isinstance(first, HtmlText) and first.value.startswith("\n") else ""


def _spelled(match: re.Match[str]) -> str:
    return _SPELLED.get(match.group(), "\ufffd")


def parse(text: str) -> HtmlRoot:
    """Return the nodes of a document or a part of one, sanitised.

    Any text is HTML to its reader; raises `FormatError` only where elements are nested too deeply.
    """
    # Imported at the first use: writing HTML does without it.
    from justhtml import JustHTML

    root: Any = JustHTML(text, fragment=True, sanitize=False, scripting_enabled=False).root
    return sanitize(HtmlRoot(_nodes(root, 1)))


def _nodes(parent: Any, depth: int) -> tuple[Hast, ...]:
    if depth > DEEPEST:
        raise too_deep()
    nodes: list[Hast] = []
    for node in parent.children or ():
        name = node.name
        if name == "#text":
            nodes.append(HtmlText(node.data or ""))
        # Others that begin so are comments and doctypes.
        elif not name.startswith(("#", "!")) and name not in DROPPED:
            attributes = tuple((key, value or "") for key, value in node.attrs.items())
            nodes.append(HtmlElement(name, attributes, _nodes(node, depth + 1)))
    return tuple(nodes)
