"""URLs: which may be followed, how readers of Markdown spell them, and which are written in a text as they stand.

A URL in a text is written as it stands (a bare URL, which can be copied) where no reader cuts or changes it. A GFM
reader takes all characters up to a space for a part of a literal link, a backslash too. So nothing that the writer
might escape may stand in the URL, nor after it before the next space: `https://a.b/c_d).` is bare, `https://a.b/*c*`
is text with escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hudkit.lazy import lazy_pattern

# A sign counts as a part of the URL only where a letter or a digit follows: full stops and the like end a sentence.
_WITHIN = r"[./%?=#:@,+-](?=[A-Za-z0-9])|&(?=[A-Za-z0-9])(?![A-Za-z0-9#]*;)|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])"
_REST = rf"(?:[A-Za-z0-9]|{_WITHIN})*+/?+"
# What may follow, word by word: each is looked through once, however long it is.
_AFTER = r"(?!:/)(?=(?:[A-Za-z]++(?!:/)(?!(?<=[Ww]{3})\.)|[0-9?!.,:;'\")\]/=+%#$^-])*+(?:[ \t\n]{end}))"
_URL = rf"(?<![A-Za-z0-9])https?://[A-Za-z0-9]{_REST}{_AFTER}"
_INNER, _LAST = (lazy_pattern(_URL.replace("{end}", end)) for end in ("", r"|\Z"))
_BEHIND = {last: lazy_pattern(_AFTER.replace("{end}", r"|\Z" if last else "")) for last in (False, True)}
_VALUE = lazy_pattern(
    r"(?:[^\W_]|[./%?=#:@,+;$^{}()'\"!-]|&(?![A-Za-z0-9#]+;)|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9]))+", re.UNICODE
)

_REFUSED = lazy_pattern(r"\s*(?:javascript|vbscript|file|data)\s*:", re.IGNORECASE)
_IMAGE_DATA = lazy_pattern(r"data:image/(?:gif|png|jpeg|webp);", re.IGNORECASE)
_UNWRITABLE = lazy_pattern("[\x00\ud800-\udfff]")


def bare_urls(text: str, last: bool) -> Iterator[tuple[int, int]]:
    """Yield start and end of each URL that can be written as it stands; `last`: the line ends with the text."""
    for match in (_LAST if last else _INNER).finditer(text):
        yield match.span()


def bare_url_at(text: str, start: int, last: bool) -> str:
    """Return the URL that begins at `start` and can be written as it stands; empty where there is none."""
    match = (_LAST if last else _INNER).match(text, start)
    return match.group() if match else ""


def is_bare(value: str, text: str, end: int, last: bool) -> bool:
    """Return whether a link that a GFM reader found, up to `end` of the text, can be written as it stands."""
    return _VALUE.fullmatch(value) is not None and _BEHIND[last].match(text, end) is not None


def literal_target(value: str) -> str:
    """Return what a GFM reader links a literal URL or an address to: `http://www.a.b` for `www.a.b`."""
    if "://" in value[:8]:
        return value
    return ("http://" if value[:4].lower() == "www." else "mailto:") + value


def is_refused(href: str) -> bool:
    """Return whether readers may not take this as a destination, because its scheme runs code or reads files."""
    return bool(_REFUSED.match(href)) and not _IMAGE_DATA.match(href)


def normalize_url(href: str) -> str:
    """Return a destination as a reader gives it: what a URL cannot hold is percent-encoded."""
    from markdown_it.common.normalize_url import normalizeLink  # the whole parser comes with it: not for a frame

    return normalizeLink(_UNWRITABLE.sub("\ufffd", href))
