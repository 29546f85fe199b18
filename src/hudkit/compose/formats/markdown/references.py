"""What is neither text nor a span: destinations, titles, fence infos, labels of footnotes; how each is spelled."""

from __future__ import annotations

import re

from markdown_it.common.normalize_url import normalizeLink
from markdown_it.common.utils import normalizeReference

_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~]|\Z)|&(?=#\d{1,7};|#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)")
_UNSPEAKABLE = re.compile("[\x00\ud800-\udfff]")
_NOT_IN_LABEL = re.compile(r"[\s\x00-\x1f\x7f-\x9f\[\]\\`<>|&*~]")
_REFUSED = re.compile(r"\s*(?:javascript|vbscript|file|data)\s*:", re.IGNORECASE)
LONGEST = 300
"""Characters of a label that are written: readers take up to 999, and each may need three."""
_IMAGE_DATA = re.compile(r"data:image/(?:gif|png|jpeg|webp);", re.IGNORECASE)


def quoted(text: str) -> str:
    """With what would be an escape or a character reference escaped."""
    return _ESCAPE.sub(lambda match: "\\" + match.group(), _UNSPEAKABLE.sub("\ufffd", text))


def refused(href: str) -> bool:
    """Readers may not take this as a destination (its scheme runs code or reads files)."""
    return bool(_REFUSED.match(href)) and not _IMAGE_DATA.match(href)


def destination(href: str) -> str:
    """A link destination, with what a URL cannot hold percent-encoded as readers do it."""
    href = normalized(href)
    plain = quoted(href)
    if not href:
        return "<>"
    return plain if _balanced(href) else re.sub(r"[()]", r"\\\g<0>", plain)


def normalized(href: str) -> str:
    """A destination as a reader gives it."""
    return normalizeLink(_UNSPEAKABLE.sub("\ufffd", href))


def _balanced(href: str) -> bool:
    depth = 0
    for char in href:
        depth += (char == "(") - (char == ")")
        if depth < 0 or depth > 3:
            return False
    return depth == 0


def title(text: str | None) -> str:
    """A space and a title in quotes, or nothing."""
    if text is None:
        return ""
    lines = quoted(text).replace("\r", "&#13;").replace("\n", "&#10;")
    return ' "' + lines.replace('"', '\\"') + '"'


def label(text: str) -> str:
    """The label of a footnote: what a reader would not take into one is percent-encoded, and never nothing."""
    found = _UNSPEAKABLE.sub("\ufffd", text)[:LONGEST]
    return _NOT_IN_LABEL.sub(lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode()), found) or "%"


def matched(text: str) -> str:
    """The label of a footnote as readers compare it, once it is written."""
    return normalizeReference(label(text))
