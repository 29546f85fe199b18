"""Character references in JSX text: `&amp;`, `&#38;`, `&#x26;`."""

from __future__ import annotations

from html.entities import name2codepoint

NAMES = {**{name: chr(code) for name, code in name2codepoint.items()}, "apos": "'"}
"""The references by name: those of HTML 4 (the set that JSX takes), and `apos`."""

LONGEST = 10
"""The most characters between `&` and `;`."""

_DECIMAL = frozenset("0123456789")
_HEX = _DECIMAL | frozenset("abcdefABCDEF")


def reference(text: str, mark: int, end: int) -> tuple[str, int] | None:
    """The character that the reference at `mark` says, and where the text goes on.

    `None` where there is no reference: then `&` stands for itself. An empty character where the code is none.
    """
    stop = text.find(";", mark, min(end, mark + LONGEST + 2))
    if stop < 0:
        return None
    body = text[mark + 1 : stop]
    if not body.startswith("#"):
        return (NAMES[body], stop + 1) if body in NAMES else None
    digits, base = (body[2:], 16) if body[1:2] in ("x", "X") else (body[1:], 10)
    if not digits or not set(digits) <= (_HEX if base == 16 else _DECIMAL):
        return None
    code = int(digits, base)
    return (chr(code) if code <= 0x10FFFF else "", stop + 1)
