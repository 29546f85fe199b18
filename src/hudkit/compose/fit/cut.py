"""Cut one long text to a number of tokens, its marker included, and never within a character as a reader sees it."""

from __future__ import annotations

from unicodedata import category, combining

from hudkit.compose.fit.result import Measure
from hudkit.compose.nodes import Element, text_of
from hudkit.errors import TreeError

MARKER = "…"
PLACES = ("start", "middle", "end")


def truncated(element: Element, limit: int, measure: Measure) -> Element | None:
    """The element with its longest text cut so that it costs at most `limit`; `None` where not even the marker fits.

    `truncate` says where text is taken away. About `log2` of the text's length calls of `measure`.
    """
    if measure(element) <= limit:
        return element
    where = element.get("truncate", "end")
    if where not in PLACES:
        raise TreeError(f"truncate={where!r}", hint=f"It must be one of {', '.join(PLACES)}")
    path = _longest(element)
    if path is None:
        return None
    text = _at(element, path)
    marker = str(element.get("marker", MARKER))

    def tried(size: int) -> Element:
        return _replace(element, path, kept(text, size, str(where), marker))

    least = tried(0)
    if measure(least) > limit:
        return None
    low, high, best = 0, len(text), least
    while high - low > 1:
        middle = (low + high) // 2
        found = tried(middle)
        if measure(found) <= limit:
            low, best = middle, found
        else:
            high = middle
    return best


def smallest(element: Element) -> Element:
    """The element with its longest text cut to the marker alone."""
    path = _longest(element)
    return element if path is None else _replace(element, path, str(element.get("marker", MARKER)))


def kept(text: str, size: int, where: str, marker: str = MARKER) -> str:
    """At most `size` code points of `text`, with the marker where the others were."""
    if size >= len(text):
        return text
    if where == "start":
        return marker + text[_after(text, len(text) - size) :]
    if where == "middle":
        return text[: _before(text, (size + 1) // 2)] + marker + text[_after(text, len(text) - size // 2) :]
    return text[: _before(text, size)] + marker


def _before(text: str, place: int) -> int:
    while not boundary(text, place):
        place -= 1
    return place


def _after(text: str, place: int) -> int:
    while not boundary(text, place):
        place += 1
    return place


def boundary(text: str, place: int) -> bool:
    """Whether a reader sees the character before `place` and the one at it as two.

    Covers combining marks, joiners and what they join, variation selectors, skin tones, tags, flags (regional
    indicators in pairs), Hangul syllables in parts, CR LF, and surrogate pairs. Source: Unicode annex 29, rules GB3
    to GB13, but that a joiner joins whatever stands on its sides.
    """
    if place <= 0 or place >= len(text):
        return True
    last, next_ = text[place - 1], text[place]
    if last < "\u0300" and next_ < "\u0300":
        return not (last == "\r" and next_ == "\n")
    if combining(next_) or category(next_) in ("Mn", "Me", "Mc") or next_ in "\u200c\u200d":
        return False
    if last == "\u200d" or "\U0001f3fb" <= next_ <= "\U0001f3ff" or "\U000e0020" <= next_ <= "\U000e007f":
        return False
    if "\ud800" <= last <= "\udbff" and "\udc00" <= next_ <= "\udfff":
        return False
    if _flag(last) and _flag(next_):
        run = place
        while run > 0 and _flag(text[run - 1]):
            run -= 1
        return (place - run) % 2 == 0
    return not _joined(last, next_)


def _flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _joined(last: str, next_: str) -> bool:
    """Whether two Hangul characters are of one syllable."""
    leads, vowels, tails = "\u1100" <= last <= "\u115f", "\u1160" <= next_ <= "\u11a7", "\u11a8" <= next_ <= "\u11ff"
    syllable = "\uac00" <= last <= "\ud7a3"
    if leads:
        return vowels or "\u1100" <= next_ <= "\u115f" or "\uac00" <= next_ <= "\ud7a3"
    if "\u1160" <= last <= "\u11a7" or (syllable and (ord(last) - 0xAC00) % 28 == 0):
        return vowels or tails
    return tails and ("\u11a8" <= last <= "\u11ff" or syllable)


def _longest(element: Element) -> tuple[int, ...] | None:
    """The path of the longest text."""
    best: tuple[int, ...] | None = None
    length = -1
    for path, node in element.walk():
        if isinstance(node, str) and len(node) > length:
            best, length = path, len(node)
    return best


def _at(element: Element, path: tuple[int, ...]) -> str:
    node = element
    for place in path[:-1]:
        child = node.children[place]
        assert isinstance(child, Element)
        node = child
    return text_of(node.children[path[-1]])


def _replace(element: Element, path: tuple[int, ...], text: str) -> Element:
    place, rest = path[0], path[1:]
    child = element.children[place]
    new = text if not rest or isinstance(child, str) else _replace(child, rest, text)
    return element.with_children((*element.children[:place], new, *element.children[place + 1 :]))
