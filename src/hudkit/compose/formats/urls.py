"""Which URLs and addresses in a text are written as they stand: those that no reader of Markdown cuts or changes.

A GFM reader takes all characters up to a space for a part of a literal link, a backslash too. So nothing that the
writer might escape may stand in the URL, nor after it before the next space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WITHIN = r"[./%?=#:@,+-](?=[A-Za-z0-9])|&(?=[A-Za-z0-9])(?![A-Za-z0-9#]*;)|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])"
_REST = rf"(?:[A-Za-z0-9]|{_WITHIN})*+/?+"
_AFTER = r"(?!:/)(?=(?:(?!(?i:www\.)|[A-Za-z]+:/)[A-Za-z0-9?!.,:;'\")\]/=+%#$^-])*(?:[ \t\n]{end}))"
_URL = rf"(?<![A-Za-z0-9])https?://[A-Za-z0-9]{_REST}{_AFTER}"
_INNER, _LAST = (re.compile(_URL.replace("{end}", end)) for end in ("", r"|\Z"))
_BEHIND = {last: re.compile(_AFTER.replace("{end}", r"|\Z" if last else "")) for last in (False, True)}
_VALUE = re.compile(
    r"(?:[^\W_]|[./%?=#:@,+;$^{}()'\"!-]|&(?![A-Za-z0-9#]+;)|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9]))+", re.UNICODE
)


def bare_urls(text: str, last: bool) -> Iterator[tuple[int, int]]:
    """Where the URLs are that can be written as they stand; `last`: the line ends with the text."""
    for match in (_LAST if last else _INNER).finditer(text):
        yield match.span()


def bare_at(text: str, start: int, last: bool) -> str:
    """The URL that begins at `start` and can be written as it stands; empty where there is none."""
    match = (_LAST if last else _INNER).match(text, start)
    return match.group() if match else ""


def bare(value: str, text: str, end: int, last: bool) -> bool:
    """Whether a link that a GFM reader found, up to `end` of the text, can be written as it stands."""
    return _VALUE.fullmatch(value) is not None and _BEHIND[last].match(text, end) is not None


def target(value: str) -> str:
    """What a GFM reader links a literal URL or an address to."""
    if "://" in value[:8]:
        return value
    return ("http://" if value[:4].lower() == "www." else "mailto:") + value
