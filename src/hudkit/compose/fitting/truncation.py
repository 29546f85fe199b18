"""Cut one long text to a number of tokens, its marker included, and never within a character as a reader sees it.

The idea: what a text costs in tokens cannot be computed from its length, only measured, but a longer piece costs (as
good as) no less than a shorter one. So the number of characters that stay is found by bisection, with about `log2` of
the text's length calls of `measure`. Each try moves its cut outward or inward to the next boundary between
characters, and has the marker in it, so that what was measured is what is shown.

An example: "0123456789" with `truncate="middle"` and a limit of 8, one token a character. The marker alone fits.
Tries: 5 characters give `012…89` (6 tokens: fits), 7 give `0123…789` (8: fits), 8 give `0123…6789` (9: too much). So
the result is `0123…789`.
"""

from __future__ import annotations

from unicodedata import category, combining

from hudkit.compose.fitting.result import Measure
from hudkit.compose.nodes import Element, text_of
from hudkit.errors import TreeError

_DEFAULT_MARKER = "…"
_CUT_PLACES = ("start", "middle", "end")


def truncate(element: Element, limit: int, measure: Measure) -> Element | None:
    """Cut the longest text of an element so that the element costs at most `limit` tokens.

    Its `truncate` says where text is taken away, its `marker` what stands there instead. Returns the element itself
    where it fits, and `None` where not even the marker does. Raises `TreeError` for another `truncate`.
    """
    if measure(element) <= limit:
        return element
    where = element.get("truncate", "end")
    if where not in _CUT_PLACES:
        raise TreeError(f"truncate={where!r}", hint=f"It must be one of {', '.join(_CUT_PLACES)}")
    path = _longest_text(element)
    if path is None:
        return None
    text = _text_at(element, path)
    marker = str(element.get("marker", _DEFAULT_MARKER))

    def with_characters(size: int) -> Element:
        return _replace_text(element, path, _cut_text(text, size, str(where), marker))

    best = with_characters(0)
    if measure(best) > limit:
        return None
    fits, too_many = 0, len(text)  # the whole text is too much: that was measured first
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        candidate = with_characters(middle)
        if measure(candidate) <= limit:
            fits, best = middle, candidate
        else:
            too_many = middle
    return best


def marker_alone(element: Element) -> Element:
    """Return the element with its longest text cut to the marker alone: the least that it can cost."""
    path = _longest_text(element)
    if path is None:
        return element
    return _replace_text(element, path, str(element.get("marker", _DEFAULT_MARKER)))


def _cut_text(text: str, size: int, where: str, marker: str = _DEFAULT_MARKER) -> str:
    """Return at most `size` code points of `text`, with the marker where the others were.

    `where` is `start`, `middle` or `end`: the part that goes. A text that is no longer than `size` stays as it is.
    """
    if size >= len(text):
        return text
    if where == "start":
        return marker + text[_boundary_after(text, len(text) - size) :]
    if where == "middle":
        head = text[: _boundary_before(text, (size + 1) // 2)]
        tail = text[_boundary_after(text, len(text) - size // 2) :]
        return head + marker + tail
    return text[: _boundary_before(text, size)] + marker


def _boundary_before(text: str, index: int) -> int:
    while not _is_boundary(text, index):
        index -= 1
    return index


def _boundary_after(text: str, index: int) -> int:
    while not _is_boundary(text, index):
        index += 1
    return index


def _is_boundary(text: str, index: int) -> bool:
    """Return whether a reader sees the character before `index` and the one at it as two.

    Covers combining marks, joiners and what they join, variation selectors, skin tones, tags, flags (regional
    indicators in pairs), Hangul syllables in parts, CR LF, and surrogate pairs. Source: Unicode annex 29, rules GB3
    to GB13, except that a joiner joins whatever stands on its sides.
    """
    if index <= 0 or index >= len(text):
        return True
    previous, following = text[index - 1], text[index]
    # Nothing below U+0300 combines: most texts are decided here, without a look into the character database.
    if previous < "\u0300" and following < "\u0300":
        return not (previous == "\r" and following == "\n")
    if combining(following) or category(following) in ("Mn", "Me", "Mc") or following in "\u200c\u200d":
        return False
    is_skin_tone = "\U0001f3fb" <= following <= "\U0001f3ff"
    is_tag = "\U000e0020" <= following <= "\U000e007f"
    if previous == "\u200d" or is_skin_tone or is_tag:
        return False
    if "\ud800" <= previous <= "\udbff" and "\udc00" <= following <= "\udfff":
        return False
    if _is_regional_indicator(previous) and _is_regional_indicator(following):
        # Flags are pairs: whether this is the middle of one depends on where the run of indicators began.
        start = index
        while start > 0 and _is_regional_indicator(text[start - 1]):
            start -= 1
        return (index - start) % 2 == 0
    return not _is_one_syllable(previous, following)


def _is_regional_indicator(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_one_syllable(previous: str, following: str) -> bool:
    """Return whether two Hangul characters are of one syllable (rules GB6 to GB8)."""
    vowel_follows = "\u1160" <= following <= "\u11a7"
    tail_follows = "\u11a8" <= following <= "\u11ff"
    is_syllable = "\uac00" <= previous <= "\ud7a3"
    if "\u1100" <= previous <= "\u115f":
        return vowel_follows or "\u1100" <= following <= "\u115f" or "\uac00" <= following <= "\ud7a3"
    # A composed syllable has no tail yet where its number is a multiple of 28 (27 tails, and none).
    if "\u1160" <= previous <= "\u11a7" or (is_syllable and (ord(previous) - 0xAC00) % 28 == 0):
        return vowel_follows or tail_follows
    return tail_follows and ("\u11a8" <= previous <= "\u11ff" or is_syllable)


def _longest_text(element: Element) -> tuple[int, ...] | None:
    """Return the path of the longest text, the first of several, `None` where there is no text."""
    best: tuple[int, ...] | None = None
    length = -1
    for path, node in element.walk():
        if isinstance(node, str) and len(node) > length:
            best, length = path, len(node)
    return best


def _text_at(element: Element, path: tuple[int, ...]) -> str:
    node = element
    for position in path[:-1]:
        child = node.children[position]
        assert isinstance(child, Element)
        node = child
    return text_of(node.children[path[-1]])


def _replace_text(element: Element, path: tuple[int, ...], text: str) -> Element:
    position, rest = path[0], path[1:]
    child = element.children[position]
    new = text if not rest or isinstance(child, str) else _replace_text(child, rest, text)
    return element.with_children((*element.children[:position], new, *element.children[position + 1 :]))
