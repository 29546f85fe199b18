"""GFM's links in plain text: `www.`, `http://`, `https://`, `ftp://` and addresses.

Source: GFM 0.29, "Autolinks (extension)".
"""

from __future__ import annotations

import re

from markdown_it.common.normalize_url import normalizeLink

from hudkit.compose.formats import urls
from hudkit.compose.formats.mdast import BareUrl, Link, Phrasing, Text

_CANDIDATE = re.compile(r"(?:https?|ftp)://|www\.|(?<![A-Za-z0-9._+-])[A-Za-z0-9._+-]+@", re.IGNORECASE)
_URL = re.compile(r"(?P<lead>(?:https?|ftp)://|www\.)(?P<rest>[^\s<]+)", re.IGNORECASE)
_ADDRESS = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)++(?<=[A-Za-z])")
_DOMAIN = re.compile(r"(?!-)[^\s!-,/:-@\[-^`{-~]+")
_TRAILING = re.compile(r"(?:[]?!.,:*_~'\"]|&[A-Za-z0-9]+;)\Z")


def literal_links(text: str, before: str, last: bool, brackets: int, gfm: bool) -> list[Phrasing]:
    """A text parted into texts and links, bare ones where they can be written as they stand.

    `before` is the character before it, a space at the start of a line; `last` says that it ends the block;
    `brackets` is how many square ones are open before it: in one there is no literal link, as it may be the text of
    another. There, and without `gfm`, a URL that the writer would leave as it stands is bare all the same.
    """
    found: list[Phrasing] = []
    done = 0
    place = 0
    while match := _CANDIDATE.search(text, place):
        start = match.start()
        before_it = text[start - 1] if start else before
        link = None
        if gfm and not open_brackets(text[:start], brackets):
            link = _url(text, start, before_it) or _address(text, start, before_it)
        value = link[1] if link else urls.bare_at(text, start, last)
        if not value:
            place = start + 1
            continue
        if start > done:
            found.append(Text(text[done:start]))
        place = done = start + len(value)
        if link and not urls.bare(value, text, done, last):
            found.append(Link(link[0], (Text(value),)))
        else:
            found.append(BareUrl(value))
    if done < len(text):
        found.append(Text(text[done:]))
    return found


def open_brackets(text: str, brackets: int = 0) -> int:
    """How many square brackets are open after a text, of `brackets` that were before it."""
    if "[" in text or brackets:
        for char in text:
            brackets += (char == "[") - (char == "]" and brackets > 0)
    return brackets


def _url(text: str, start: int, before: str) -> tuple[str, str] | None:
    """Where the URL that begins here leads, and its characters."""
    match = _URL.match(text, start)
    if match is None:
        return None
    lead, rest = match["lead"], match["rest"]
    www = lead[0] in "wW"
    if (www and not (before.isspace() or before in "*_~(")) or (not www and before.isascii() and before.isalpha()):
        return None
    domain = _DOMAIN.match(rest)
    if domain is None or not _valid_domain(("www." if www else "") + domain.group(), www):
        return None
    whole = lead + _trim(rest)
    if len(whole) <= len(lead):
        return None
    return normalizeLink(urls.target(whole)), whole


def _valid_domain(domain: str, dotted: bool) -> bool:
    parts = domain.rstrip(".").split(".")
    return (len(parts) > 1 or not dotted) and all(parts) and not any("_" in part for part in parts[-2:])


def _trim(rest: str) -> str:
    """Without the punctuation, references and closing brackets at the end that are not part of a link."""
    while rest:
        if rest[-1] == ")" and rest.count(")") > rest.count("("):
            rest = rest[:-1]
        elif trailing := _TRAILING.search(rest):
            rest = rest[: trailing.start()]
        else:
            break
    return rest


def _address(text: str, start: int, before: str) -> tuple[str, str] | None:
    match = _ADDRESS.match(text, start)
    if match is None or before == "/" or before.isalnum():
        return None
    return urls.target(match.group()), match.group()
