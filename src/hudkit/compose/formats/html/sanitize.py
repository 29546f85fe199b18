"""What HTML is let through: an allow-list of the elements that the vocabulary has words for, and of their attributes.

An element that is not in `ALLOWED` is gone, its children stay; of those in `DROPPED` the children go too, because
they are no text of the document. There is no `style`, no `class`, no `id`, no event handler, no `src`. Everything
that is written passes here, and everything that is read.

`<p onclick="x()">see <a href="javascript:x()">this</a><script>x()</script></p>` becomes `<p>see this</p>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from hudkit.compose.formats.html.hast import Hast, HtmlElement, HtmlRoot, HtmlText
from hudkit.errors import FormatError

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

_ALIASES: Mapping[str, str] = {
    "b": "strong",
    **dict.fromkeys(("i", "cite", "dfn", "var"), "em"),
    **dict.fromkeys(("s", "strike"), "del"),
    **dict.fromkeys(("kbd", "samp", "tt"), "code"),
    **dict.fromkeys(("dir", "menu"), "ul"),
    **dict.fromkeys(("address", "article", "aside", "center", "dd", "details", "dialog", "dl", "dt"), "div"),
    **dict.fromkeys(("fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup"), "div"),
    **dict.fromkeys(("legend", "main", "nav", "search", "section", "summary"), "div"),
    "caption": "div",
    "listing": "pre",
    "tfoot": "tbody",
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
    """Return the URL as a browser takes it, `None` where its scheme is not in `SCHEMES`.

    Controls and spaces at its ends and line breaks in it are not there (WHATWG URL). Whatever stands before a colon
    in the first segment counts as a scheme (RFC 3986, 4.2).
    """
    cleaned = _BREAKS.sub("", url.strip(_EDGES))
    scheme = _SCHEME.match(cleaned)
    if not cleaned or (scheme and scheme[1].lower() not in SCHEMES):
        return None
    return cleaned


def _any_text(value: str) -> str | None:
    return value


def _number(value: str) -> str | None:
    return value if re.fullmatch(r"[0-9]{1,9}", value) else None


def _side(value: str) -> str | None:
    return value.lower() if value.lower() in ("left", "center", "right") else None


def _truth(value: str) -> str | None:
    return value if value in ("true", "false") else None


_VALUES: Mapping[str, Callable[[str], str | None]] = {
    "align": _side,
    "data-checked": _truth,
    "data-lang": _any_text,
    "href": safe_url,
    "start": _number,
    "title": _any_text,
}
"""What may stand in each attribute: the value that is written, `None` where the attribute is left out."""

DEEPEST = 100
"""Levels of elements; deeper documents are refused."""


def sanitize(root: HtmlRoot) -> HtmlRoot:
    """Return the document with allowed elements and attributes only, and no link within a link.

    A link that may not be followed is its words; an image is its description. Raises `FormatError` where elements are
    nested too deeply.
    """
    return HtmlRoot(tuple(_allowed(root.children, frozenset(), 1)))


def too_deep() -> FormatError:
    """Return the error of a document of too many levels."""
    return FormatError("html: elements are nested too deeply", hint=f"At most {DEEPEST} levels", format="html")


def _allowed(nodes: Iterable[Hast], inside: frozenset[str], depth: int) -> Iterator[Hast]:
    if depth > DEEPEST:
        raise too_deep()
    for node in nodes:
        if isinstance(node, HtmlText):
            yield node
            continue
        tag = _ALIASES.get(node.tag, node.tag)
        # What a page does not show is no text of the document.
        if tag in DROPPED or node.get("hidden") is not None:
            continue
        if tag == "img":
            yield HtmlText(node.get("alt") or "")
            continue
        attributes = tuple(_attributes(tag, node)) if tag in ALLOWED else ()
        # HTML has no link in a link: browsers would end the first one there.
        if tag not in ALLOWED or (tag == "a" and ("a" in inside or "href" not in dict(attributes))):
            yield from _allowed(node.children, inside, depth + 1)
        else:
            children = tuple(_allowed(node.children, inside | {tag}, depth + 1))
            yield HtmlElement(tag, attributes, () if tag in ("br", "hr") else children)


def _attributes(tag: str, element: HtmlElement) -> Iterator[tuple[str, str]]:
    for name in sorted(ALLOWED[tag]):
        value = element.get(name)
        if value is not None and (allowed := _VALUES[name](value)) is not None:
            yield name, allowed
