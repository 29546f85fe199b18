"""What is neither text nor a span: link destinations, titles and fence infos, and how each is spelled."""

from __future__ import annotations

import re

from markdown_it.common.normalize_url import normalizeLink

_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~]|\Z)|&(?=#\d{1,7};|#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)")
_UNSPEAKABLE = re.compile("[\x00\ud800-\udfff]")
_REFUSED = re.compile(r"\s*(?:javascript|vbscript|file|data)\s*:", re.IGNORECASE)
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
