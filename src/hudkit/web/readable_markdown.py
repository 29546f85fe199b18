"""A document of ours, or of an agent, as people read it: its markdown as elements of a page."""

from __future__ import annotations

from hudkit.compose.formats.html import to_hast
from hudkit.compose.formats.html.hast import HtmlElement, HtmlText
from hudkit.compose.formats.markdown import parse
from hudkit.web.elements import is_page_tag

_HEADINGS = {"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h5", "h5": "h5", "h6": "h5"}
"""A page has headings of its own above those of a document."""


def readable_markdown(text: str) -> list[HtmlElement | HtmlText]:
    """Return a markdown text as elements. Links would be what somebody wrote: they stay words."""
    return list(map(_unlinked, to_hast(parse(text)).children))


def _unlinked(node: HtmlElement | HtmlText) -> HtmlElement | HtmlText:
    if isinstance(node, HtmlText):
        return node
    tag = _HEADINGS.get(node.tag, node.tag)
    if tag == "a" or not is_page_tag(tag):
        tag = "span"
    return HtmlElement(tag, (), tuple(map(_unlinked, node.children)))
