"""Make text safe to show: characters that hide, move or end a line become visible escapes.

Covered: C0 and C1 controls, DEL, line and paragraph separators, zero-width and bidirectional marks, the byte order
mark, interlinear and tag characters, variation of nothing, lone surrogates, noncharacters. Source: Unicode general
categories Cc, Cf, Cs, Zl, Zp, as far as they have no visible form; the abuse cases O3, A2 and A4.
"""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_HIDDEN_KEEP_BREAKS = re.compile(_HIDDEN.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e", "\x00": "\\0", "\xad": "\\u00ad"}


_WORD_CUT_FROM = 0.6
"""A cut at a word loses at most the last 40 % of the room."""


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, *, breaks: bool = False) -> str:
    """Return `text` with every hidden character written out; with `breaks`, line feeds stay line feeds.

    `visible("a\\u200bb\\n")` is `a\\u200bb\\n` with the backslashes as characters: seven letters more, nothing
    hidden.
    """
    # Nearly all texts: two scans in C instead of a search by a large class of characters.
    if text.isascii() and text.isprintable():
        return text
    return (_HIDDEN_KEEP_BREAKS if breaks else _HIDDEN).sub(_escape, text)


def shorten(text: str, limit: int) -> str:
    """Return the first characters of `text`, at most `limit` with the marker, cut at a word where one is near."""
    if len(text) <= limit:
        return text
    room = max(limit - 1, 0)  # one character is the marker
    cut = text[:room]
    space = cut.rfind(" ")
    # Only near the end: a long word, a path for example, would take most of the room with it.
    if space > room * _WORD_CUT_FROM:
        cut = cut[:space]
    return cut.rstrip() + "…"
