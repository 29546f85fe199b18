"""Which HTML is let through: an allow-list of the elements that the vocabulary has words for, and of their
attributes.

An element that is not in it is gone, its children stay; of those in `DROPPED` the children go too, because they are
no text of the document. There is no `style`, no `class`, no `id`, no event handler, no `src`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

ALLOWED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(HEADINGS, frozenset[str]()),
    **dict.fromkeys(("p", "div", "blockquote", "hr", "br", "ul"), frozenset[str]()),
    **dict.fromkeys(("table", "thead", "tbody", "tr"), frozenset[str]()),
    **dict.fromkeys(("strong", "em", "del", "code"), frozenset[str]()),
    "ol": frozenset({"start"}),
    "li": frozenset({"data-checked"}),
    "pre": frozenset({"data-lang"}),
    "th": frozenset({"align"}),
    "td": frozenset({"align"}),
    "a": frozenset({"href", "title"}),
}
"""Elements, each with its attributes."""

ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("b",), "strong"),
    **dict.fromkeys(("i", "cite", "dfn", "var"), "em"),
    **dict.fromkeys(("s", "strike"), "del"),
    **dict.fromkeys(("kbd", "samp", "tt"), "code"),
    **dict.fromkeys(("dir", "menu"), "ul"),
    **dict.fromkeys(("address", "article", "aside", "center", "dd", "details", "dialog", "dl", "dt"), "div"),
    **dict.fromkeys(("fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup"), "div"),
    **dict.fromkeys(("legend", "main", "nav", "search", "section", "summary"), "div"),
    **dict.fromkeys(("caption",), "div"),
    **dict.fromkeys(("listing",), "pre"),
    **dict.fromkeys(("tfoot",), "tbody"),
}
"""Elements that say the same as one of the list."""

DROPPED = frozenset(
    {"applet", "audio", "canvas", "datalist", "embed", "frame", "frameset", "head", "iframe", "math", "noembed"}
    | {"noframes", "noscript", "object", "option", "plaintext", "script", "select", "style", "svg", "template"}
    | {"textarea", "title", "video", "xmp"}
)
"""Elements that go with all that is in them: code, other documents and vocabularies, what a page does not show."""

SCHEMES = frozenset({"http", "https", "mailto"})
"""Schemes of links; a link without a scheme is relative, and let through."""

_EDGES = "".join(map(chr, range(0x21)))
_BREAKS = re.compile(r"[\t\n\r]")
_SCHEME = re.compile(r"([^/?#]*?):")


def safe_url(url: str) -> str | None:
    """The URL as a browser takes it, `None` where its scheme is not in `SCHEMES`.

    Controls and spaces at its ends and line breaks in it are not there (WHATWG URL). Whatever stands before a colon
    in the first segment counts as a scheme (RFC 3986, 4.2).
    """
    taken = _BREAKS.sub("", url.strip(_EDGES))
    scheme = _SCHEME.match(taken)
    if not taken or (scheme and scheme[1].lower() not in SCHEMES):
        return None
    return taken


def _any_text(value: str) -> str | None:
    return value


def _number(value: str) -> str | None:
    return value if re.fullmatch(r"[0-9]{1,9}", value) else None


def _side(value: str) -> str | None:
    return value.lower() if value.lower() in ("left", "center", "right") else None


def _truth(value: str) -> str | None:
    return value if value in ("true", "false") else None


VALUES: Mapping[str, Callable[[str], str | None]] = {
    "align": _side,
    "data-checked": _truth,
    "data-lang": _any_text,
    "href": safe_url,
    "start": _number,
    "title": _any_text,
}
"""What may stand in each attribute: the value that is written, `None` where the attribute is left out."""
