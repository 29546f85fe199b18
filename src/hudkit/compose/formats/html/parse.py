"""HTML text to hast, as browsers read it (WHATWG HTML), by `justhtml`; only what the schema allows."""

from __future__ import annotations

from typing import Any

from hudkit.compose.formats.html.hast import Element, Hast, Root, Text
from hudkit.compose.formats.html.sanitize import DEEPEST, sanitize, too_deep
from hudkit.compose.formats.html.schema import DROPPED
from hudkit.errors import ConfigError


def parse(text: str) -> Root:
    """The nodes of a document or a part of one, sanitised.

    Any text is HTML to its reader; raises `FormatError` only where elements are nested too deeply, `ConfigError`
    without the library.
    """
    try:
        from justhtml import JustHTML
    except ImportError:
        raise ConfigError("reading HTML needs the package justhtml", hint='pip install "hudkit[formats]"') from None
    root: Any = JustHTML(text, fragment=True, sanitize=False, scripting_enabled=False).root
    return sanitize(Root(_nodes(root, 1)))


def _nodes(parent: Any, depth: int) -> tuple[Hast, ...]:
    if depth > DEEPEST:
        raise too_deep()
    found: list[Hast] = []
    for node in parent.children or ():
        name = node.name
        if name == "#text":
            found.append(Text(node.data or ""))
        elif not name.startswith(("#", "!")) and name not in DROPPED:
            attributes = tuple((key, value or "") for key, value in node.attrs.items())
            found.append(Element(name, attributes, _nodes(node, depth + 1)))
    return tuple(found)
