"""Text in files and of outputs: encodings, line ends, what is shown of it, and how a long one is cut."""

from __future__ import annotations

import codecs
import re
from difflib import unified_diff
from itertools import islice

import msgspec

from hudkit.errors import ToolError

_MAX_COMPARED = 4_000
_MAX_DIFF_LINES = 400

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


class TextFile(msgspec.Struct, frozen=True):
    """A file's text with what is needed to write its other bytes back as they were: encoding, mark, line ends."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""

    @property
    def line_end(self) -> str:
        """Return the line end that most lines have."""
        pairs = self.text.count("\r\n")
        return "\r\n" if pairs * 2 > self.text.count("\n") else "\n"

    def raw(self, text: str) -> bytes:
        """Return another text as bytes of this file."""
        return self.bom + text.encode(self.encoding, "surrogateescape" if self.encoding == "utf-8" else "strict")


def decode_text(raw: bytes) -> TextFile | None:
    """Return the text of a file's bytes, `None` where they are not text.

    Bytes that are not UTF-8 are kept as they are.
    """
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            try:
                # bytes that are not UTF-8 come back unchanged by surrogates; UTF-16 has no such room
                errors = "surrogateescape" if encoding == "utf-8" else "strict"
                return TextFile(raw[len(bom) :].decode(encoding, errors), encoding, bom)
            except UnicodeDecodeError:
                return None
    # only UTF-16 text may hold zero bytes, and it has a mark in front
    if b"\0" in raw:
        return None
    return TextFile(raw.decode("utf-8", "surrogateescape"))


def escape_hidden(text: str) -> str:
    """Return text as the model gets it: characters that hide, move or reorder text are written out."""
    return _HIDDEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    # a surrogate stands for one byte that is not UTF-8: shown as that byte
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def omission_line(count: int, unit: str, whole: str) -> str:
    """Return the line that says how much is not shown, and where all of it is."""
    where = f"; all of it is in {whole}, `read` and `grep` look into it" if whole else ""
    return f"[{count:,} {unit} are not shown here{where}]"


def diff_texts(before: str, after: str, path: str) -> tuple[str, int, int]:
    """Return a unified diff, and how many lines came and went. A long one is cut; its counts are not.

    Lines that both texts begin or end with are passed over first: comparing is slow, and most changes are small.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    first = max(start - 3, 0)
    left, right = old[first : len(old) - max(end - 3, 0)], new[first : len(new) - max(end - 3, 0)]
    if len(left) > _MAX_COMPARED or len(right) > _MAX_COMPARED:
        # comparing takes the product of both lengths: beyond this only the counts are told
        gone, came = len(old) - start - end, len(new) - start - end
        return f"--- {path}\n+++ {path}\n[{gone:,} lines replaced by {came:,}, from line {start + 1}]\n", came, gone
    lines = list(unified_diff([_line(line) for line in left], [_line(line) for line in right], path, path, n=3))
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    numbered = (_shift_hunk(line, first) for line in lines)
    text = "".join(line if line.endswith("\n") else line + "\n" for line in islice(numbered, _MAX_DIFF_LINES))
    if len(lines) > _MAX_DIFF_LINES:
        text += omission_line(len(lines) - _MAX_DIFF_LINES, "lines", "") + "\n"
    return text, added, removed


def _line(line: str) -> str:
    end = "" if line.endswith("\n") else "\n\\ No newline at end of file"
    return f"{escape_hidden(line.rstrip(chr(13) + chr(10)))}{end}\n"


def _shift_hunk(line: str, by: int) -> str:
    """Return a hunk's head with its line numbers counted from the beginning of the file."""
    if not by or not line.startswith("@@"):
        return line
    return re.sub(r"([-+])(\d+)", lambda match: f"{match[1]}{int(match[2]) + by}", line, count=2)


def find_occurrences(text: str, old: str, most: int = 1_000) -> list[tuple[int, int]]:
    """Return where `old` is in `text`, as pairs of begin and end.

    A line feed in `old` also matches a carriage return with a line feed. Raises `ToolError` where `old` is empty.
    """
    wanted = old.replace("\r\n", "\n")
    if not wanted:
        raise ToolError("the text to replace is empty", hint="`write` makes a new file")
    if "\r" not in text:
        spans: list[tuple[int, int]] = []
        start = text.find(wanted)
        while start >= 0 and len(spans) < most:
            spans.append((start, start + len(wanted)))
            start = text.find(wanted, start + len(wanted))
        return spans
    # models write line feeds; in a file with both line ends each place keeps its own
    pattern = re.compile("\r?\n".join(map(re.escape, wanted.split("\n"))))
    return [match.span() for match in islice(pattern.finditer(text), most)]
