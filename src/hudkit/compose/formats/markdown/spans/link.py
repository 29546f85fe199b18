"""Links and images."""

from __future__ import annotations

import re

from hudkit.compose.formats.markdown.draft import Draft
from hudkit.compose.formats.markdown.pen import Pen
from hudkit.compose.formats.markdown.references import destination, normalized, refused, title
from hudkit.compose.formats.mdast import Image, Link, Text

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[!#-;=?-\[\]_a-z~]*")


def link(node: Link, draft: Draft, pen: Pen) -> None:
    """In angle brackets where the text is the destination. Links do not nest; a refused destination is text."""
    if draft.links:
        pen.span(node.children, draft)
        return
    if refused(node.href):
        pen.span(node.children, draft)
        draft.text(f" ({node.href})")
        return
    if _is_its_text(node):
        draft.raw(f"<{_in_cell(node.href, draft)}>")
        return
    draft.raw("[")
    draft.label += 1
    draft.links += 1
    pen.span(node.children, draft)
    draft.label -= 1
    draft.links -= 1
    draft.raw(f"]({_target(node.href, node.title, draft)})")


def _is_its_text(node: Link) -> bool:
    """The text is the destination, also once a reader has normalised it."""
    if node.title is not None or node.children != (Text(node.href),):
        return False
    return bool(_ABSOLUTE.fullmatch(node.href)) and normalized(node.href) == node.href


def image(node: Image, draft: Draft, _pen: Pen) -> None:
    """Its description is text, whatever it contains; a refused source is text."""
    if refused(node.src):
        draft.text(f"{node.alt} ({node.src})")
        return
    draft.raw("![")
    draft.label += 1
    draft.text(node.alt)
    draft.label -= 1
    draft.raw(f"]({_target(node.src, node.title, draft)})")


def _target(href: str, text: str | None, draft: Draft) -> str:
    if not href and text is None:
        return ""
    return _in_cell(destination(href) + title(text), draft)


def _in_cell(raw: str, draft: Draft) -> str:
    return raw.replace("|", "\\|") if draft.shape.block == "cell" else raw
