"""Scan JSX text: where reading stands, the small tokens, character references, and errors with line and column."""

from __future__ import annotations

from html.entities import name2codepoint
from typing import NoReturn

from hudkit.compose.validation import MAX_MESSAGE_CHARS
from hudkit.compose.visible_text import shorten, visible
from hudkit.errors import TreeError

_CHARACTER_NAMES = {**{name: chr(code) for name, code in name2codepoint.items()}, "apos": "'"}
"""The references by name: those of HTML 4 (the set that JSX takes), and `apos`."""

_MAX_REFERENCE_CHARS = 10
"""The most characters between `&` and `;`."""

_DECIMAL_DIGITS = frozenset("0123456789")
_HEX_DIGITS = _DECIMAL_DIGITS | frozenset("abcdefABCDEF")


def _read_reference(text: str, mark: int, end: int) -> tuple[str, int] | None:
    """Return the character that the reference at `mark` says, and where the text goes on.

    `None` where there is no reference: then `&` stands for itself. An empty character where the code is none.
    """
    stop = text.find(";", mark, min(end, mark + _MAX_REFERENCE_CHARS + 2))
    if stop < 0:
        return None
    body = text[mark + 1 : stop]
    if not body.startswith("#"):
        return (_CHARACTER_NAMES[body], stop + 1) if body in _CHARACTER_NAMES else None
    digits, base = (body[2:], 16) if body[1:2] in ("x", "X") else (body[1:], 10)
    if not digits or not set(digits) <= (_HEX_DIGITS if base == 16 else _DECIMAL_DIGITS):
        return None
    code = int(digits, base)
    return (chr(code) if code <= 0x10FFFF else "", stop + 1)


_SPACE = " \t\n\r\f"
_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_REST = _START | frozenset("0123456789")
_DIGITS = frozenset("0123456789")
_NUMBER = _DIGITS | frozenset("+-.eE")
_HEX = frozenset("0123456789abcdefABCDEF")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"} | {c: c for c in "\"'`\\/"}
MAX_NUMBER_CHARS = 32
"""The most characters of a number: Python takes quadratic time for very long ones."""
_EXCERPT_CHARS = 72
"""The most characters of the line that an error shows."""


class Scanner:
    """A text and a position in it; `steps` counts the characters looked at, so that tests can bound the work."""

    __slots__ = ("position", "steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.steps = 0

    def peek(self, ahead: int = 0) -> str:
        """Return the character there, an empty string behind the end."""
        self.steps += 1
        place = self.position + ahead
        return self.text[place] if place < len(self.text) else ""

    def starts(self, words: str) -> bool:
        """Return whether the text goes on with these characters."""
        self.steps += 1
        return self.text.startswith(words, self.position)

    def take(self, words: str) -> bool:
        """Pass over these characters, if they are next; return whether they are."""
        if self.starts(words):
            self.position += len(words)
            return True
        return False

    def skip_space(self) -> None:
        """Pass over white space."""
        while (char := self.peek()) and char in _SPACE:
            self.position += 1

    def until(self, ends: str) -> str:
        """Pass over the text up to the first of these characters, or to the end, and return it."""
        text, begin = self.text, self.position
        place, end = begin, len(text)
        while place < end and text[place] not in ends:
            place += 1
        self.steps += place - begin + 1
        self.position = place
        return text[begin:place]

    def find(self, words: str) -> int:
        """Return where these characters come next, -1 if nowhere."""
        place = self.text.find(words, self.position)
        self.steps += (len(self.text) if place < 0 else place) - self.position + 1
        return place

    def name(self, dashes: bool = False) -> str:
        """Read a name (letters, digits and `_`; with `dashes`, `-` too); return `""` where there is none."""
        begin = self.position
        if self.peek() in _START and self.peek():
            self.position += 1
            while (char := self.peek()) and (char in _REST or (dashes and char == "-")):
                self.position += 1
        return self.text[begin : self.position]

    def number(self) -> int | float:
        """Read a number as in JSON and return it."""
        begin = self.position
        while (char := self.peek()) and char in _NUMBER:
            self.position += 1
        token = self.text[begin : self.position]
        if len(token) > MAX_NUMBER_CHARS:
            self.fail(f"a number of {len(token)} characters", f"At most {MAX_NUMBER_CHARS}", begin)
        digits = token.removeprefix("-")
        try:
            if digits.isdigit():
                return int(token)
            # Python also reads "1.", ".5" and "1_000": JSON does not.
            is_json = digits[:1] in _DIGITS and digits[-1:] in _DIGITS
            value = float(token) if is_json else None
        except ValueError:
            value = None
        if value is None or value - value != 0:  # an infinity, from 1e999, less itself is not 0
            self.fail(f"{token!r} is not a number", "Numbers are written as in JSON: 3, -1, 2.5, 1e3", begin)
        return value

    def quoted(self) -> str:
        """Read a string with escapes as in JSON, or `\\u{1F600}`, in either kind of quotes; return what it says."""
        begin, quote = self.position, self.peek()
        self.position += 1
        parts: list[str] = []
        while True:
            parts.append(self.until(quote + "\\\n"))
            char = self.peek()
            if char == quote:
                self.position += 1
                return "".join(parts)
            if char != "\\":
                self.fail(
                    "a string without its end", f"Close it with {quote} on the same line; \\n is a break", begin
                )
            parts.append(self._escape())

    def _escape(self) -> str:
        begin = self.position
        char = self.peek(1)
        self.position += 2
        if char == "u":
            return self._unicode(begin)
        if char in _ESCAPES and char:
            return _ESCAPES[char]
        raise self.error(
            f"no escape is \\{char}", "There are \\n \\r \\t \\b \\f \\v \\0 \\\\ \\\" \\' \\uXXXX \\u{X…}", begin
        )

    def _unicode(self, begin: int) -> str:
        if self.take("{"):
            digits = self._hex(7)
            if not digits or not self.take("}") or int(digits, 16) > 0x10FFFF:
                self.fail("a broken \\u{…}", "One to six hexadecimal digits, at most 10FFFF", begin)
            return chr(int(digits, 16))
        digits = self._hex(4)
        if len(digits) != 4:
            self.fail("a broken \\u", "Four hexadecimal digits follow", begin)
        code = int(digits, 16)
        # JSON writes a character beyond U+FFFF as two escapes; a high surrogate alone is what the text says it is.
        if 0xD800 <= code < 0xDC00 and self.starts("\\u"):
            back = self.position
            self.position += 2
            low = self._hex(4)
            if len(low) == 4 and 0xDC00 <= int(low, 16) < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + int(low, 16) - 0xDC00)
            self.position = back
        return chr(code)

    def _hex(self, most: int) -> str:
        begin = self.position
        while self.position - begin < most and (char := self.peek()) and char in _HEX:
            self.position += 1
        return self.text[begin : self.position]

    def decoded(self, begin: int, end: int) -> str:
        """Return a part of the text with its references (`&amp;`, `&#10;`, `&#xA;`) replaced."""
        parts: list[str] = []
        here = begin
        while (mark := self.text.find("&", here, end)) >= 0:
            self.steps += mark - here + 1
            reference = _read_reference(self.text, mark, end)
            if reference is None:
                parts.append(self.text[here : mark + 1])
                here = mark + 1
                continue
            char, behind = reference
            if not char:
                self.fail(f"no character is {self.text[mark:behind]}", "Codes go from 0 to 10FFFF", mark)
            parts += (self.text[here:mark], char)
            here = behind
        self.steps += end - here + 1
        parts.append(self.text[here:end])
        return "".join(parts)

    def fail(self, what: str, hint: str, offset: int | None = None) -> NoReturn:
        """Raise a `TreeError` for a place in the text; `details` has `line`, `column` (from 1) and `excerpt`."""
        raise self.error(what, hint, offset)

    def error(self, what: str, hint: str, offset: int | None = None) -> TreeError:
        """Return the error for an offset, by default the present position."""
        place = min(self.position if offset is None else offset, len(self.text))
        # All three kinds of line break count as one line, as editors count them.
        before = self.text[:place].replace("\r\n", "\n").replace("\r", "\n")
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        excerpt = self._excerpt(place, column)
        message = f"line {line}, column {column}: {shorten(visible(what), MAX_MESSAGE_CHARS)}"
        return TreeError(
            message,
            hint=f"{shorten(hint, 3 * MAX_MESSAGE_CHARS)}\n{excerpt}",
            line=line,
            column=column,
            excerpt=excerpt,
        )

    def _excerpt(self, place: int, column: int) -> str:
        """Return the line, cut to its part around the place, and a caret below; hidden characters are shown."""
        begin = place - min(column - 1, _EXCERPT_CHARS // 2)
        end = min(len(self.text), begin + _EXCERPT_CHARS)
        for index in range(place, end):
            if self.text[index] in "\n\r":
                end = index
                break
        lead = visible(self.text[begin:place])
        return f"  {lead}{visible(self.text[place:end]).rstrip()}\n  {' ' * len(lead)}^"
