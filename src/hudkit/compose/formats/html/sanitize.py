"""Letting through what the schema allows: hast to hast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hudkit.compose.formats.html.hast import Element, Hast, Root, Text
from hudkit.compose.formats.html.schema import ALIASES, ALLOWED, DROPPED, VALUES
from hudkit.errors import FormatError

DEEPEST = 100
"""Levels of elements; deeper documents are refused."""


def sanitize(root: Root) -> Root:
    """The document with allowed elements and attributes only, and no link within a link.

    A link that may not be followed is its words; an image is its description. Raises `FormatError` where elements are
    nested too deeply.
    """
    return Root(tuple(_allowed(root.children, frozenset(), 1)))


def too_deep() -> FormatError:
    """The error of a document of too many levels."""
    return FormatError("html: elements are nested too deeply", hint=f"At most {DEEPEST} levels", format="html")


def _allowed(nodes: Iterable[Hast], inside: frozenset[str], depth: int) -> Iterator[Hast]:
    if depth > DEEPEST:
        raise too_deep()
    for node in nodes:
        if isinstance(node, Text):
            yield node
            continue
        tag = ALIASES.get(node.tag, node.tag)
        if tag in DROPPED or node.get("hidden") is not None:
            continue
        if tag == "img":
            yield Text(node.get("alt") or "")
            continue
        attributes = tuple(_attributes(tag, node)) if tag in ALLOWED else ()
        if tag not in ALLOWED or (tag == "a" and ("a" in inside or "href" not in dict(attributes))):
            yield from _allowed(node.children, inside, depth + 1)
        else:
            children = tuple(_allowed(node.children, inside | {tag}, depth + 1))
            yield Element(tag, attributes, () if tag in ("br", "hr") else children)


def _attributes(tag: str, element: Element) -> Iterator[tuple[str, str]]:
    for name in sorted(ALLOWED[tag]):
        value = element.get(name)
        if value is not None and (allowed := VALUES[name](value)) is not None:
            yield name, allowed
