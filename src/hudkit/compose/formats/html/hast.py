"""What an HTML document says, as frozen nodes in the manner of hast."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class HtmlText(msgspec.Struct, frozen=True):
    """Characters, whatever they are."""

    value: str


class HtmlElement(msgspec.Struct, frozen=True):
    """An element; attributes are pairs of name and value, in order."""

    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple[Hast, ...] = ()

    def get(self, name: str) -> str | None:
        """Return the value of an attribute, `None` where there is none."""
        return next((value for key, value in self.attributes if key == name), None)


class HtmlRoot(msgspec.Struct, frozen=True):
    """A document, or a part of one."""

    children: tuple[Hast, ...] = ()


Hast: TypeAlias = HtmlText | HtmlElement
"""A node below the root. Comments, doctypes and processing instructions are not kept."""


def text_of(node: Hast) -> str:
    """Return all text below a node; `<br>` is a line feed."""
    if isinstance(node, HtmlText):
        return node.value
    if node.tag == "br":
        return "\n"
    return "".join(map(text_of, node.children))
