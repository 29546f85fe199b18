"""Text in files and of outputs: encodings, line ends, what is shown of it, and how a long one is cut."""

from __future__ import annotations

import codecs
import re
import secrets
from difflib import unified_diff
from itertools import islice
from pathlib import Path

import msgspec

from hudkit.errors import ToolError
from hudkit.log.stores.paths import create_private

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
        """The line end that most lines have."""
        pairs = self.text.count("\r\n")
        return "\r\n" if pairs * 2 > self.text.count("\n") else "\n"

    def raw(self, text: str) -> bytes:
        """Another text as bytes of this file."""
        return self.bom + text.encode(self.encoding, "surrogateescape" if self.encoding == "utf-8" else "strict")


def decode_text(raw: bytes) -> TextFile | None:
    """The text of a file's bytes, `None` where they are not text. Bytes that are not UTF-8 are kept as they are."""
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            try:
                errors = "surrogateescape" if encoding == "utf-8" else "strict"
                return TextFile(raw[len(bom) :].decode(encoding, errors), encoding, bom)
            except UnicodeDecodeError:
                return None
    if b"\0" in raw:
        return None
    return TextFile(raw.decode("utf-8", "surrogateescape"))


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is not text."""
    return b"\0" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def escape_hidden(text: str) -> str:
    """Text of a file or a program as the model gets it: characters that hide, move or reorder are written out."""
    return _HIDDEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte that is not UTF-8
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def bounded(text: str, limit: int, spill: Path | None, name: str) -> tuple[str, str]:
    """The text, or its begin and end where it has more than `limit` characters; and where all of it is then."""
    if len(text) <= limit:
        return text, ""
    whole = kept(text.encode("utf-8", "backslashreplace"), spill, name)
    return cut(text, limit, whole), whole


def cut(text: str, limit: int, whole: str) -> str:
    """Begin and end of a text, with a line between them that says what is not shown and where it is."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-(limit // 3) :]
    return f"{head}\n{omission_line(len(text) - len(head) - len(tail), 'characters', whole)}\n{tail}"


def omission_line(count: int, unit: str, whole: str) -> str:
    where = f"; all of it is in {whole}, `read` and `grep` look into it" if whole else ""
    return f"[{count:,} {unit} are not shown here{where}]"


def kept(raw: bytes, spill: Path | None, name: str) -> str:
    """The path of a private file that has these bytes; nothing where there is no directory for it."""
    if spill is None:
        return ""
    path = spill_file(spill, name)
    path.write_bytes(raw)
    return str(path)


def spill_file(spill: Path, name: str) -> Path:
    """A new, empty, private file."""
    spill.mkdir(mode=0o700, parents=True, exist_ok=True)
    plain_name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60] or "output"
    path = spill / f"{plain_name}-{secrets.token_hex(6)}.txt"
    create_private(path)
    return path


def diff_texts(before: str, after: str, path: str) -> tuple[str, int, int]:
    """A unified diff, with how many lines came and went. A long one is cut."""
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
        gone, came = len(old) - start - end, len(new) - start - end
        return f"--- {path}\n+++ {path}\n[{gone:,} lines replaced by {came:,}, from line {start + 1}]\n", came, gone
    lines = list(unified_diff([_line(one) for one in left], [_line(one) for one in right], path, path, n=3))
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    numbered = (_shift_hunk(line, first) for line in lines)
    told = "".join(line if line.endswith("\n") else line + "\n" for line in islice(numbered, _MAX_DIFF_LINES))
    if len(lines) > _MAX_DIFF_LINES:
        told += omission_line(len(lines) - _MAX_DIFF_LINES, "lines", "") + "\n"
    return told, added, removed


def _line(line: str) -> str:
    end = "" if line.endswith("\n") else "\n\\ No newline at end of file"
    return f"{escape_hidden(line.rstrip(chr(13) + chr(10)))}{end}\n"


def _shift_hunk(line: str, by: int) -> str:
    """A hunk's head with its line numbers counted from the begin of the file."""
    if not by or not line.startswith("@@"):
        return line
    return re.sub(r"([-+])(\d+)", lambda match: f"{match[1]}{int(match[2]) + by}", line, count=2)


def find_occurrences(text: str, old: str, most: int = 1_000) -> list[tuple[int, int]]:
    """Where `old` is in `text` (begin, end); a line feed in it also stands for the pair of carriage return and it."""
    wanted = old.replace("\r\n", "\n")
    if not wanted:
        raise ToolError("the text to replace is empty", hint="`write` makes a new file")
    if "\r" not in text:
        found: list[tuple[int, int]] = []
        at = text.find(wanted)
        while at >= 0 and len(found) < most:
            found.append((at, at + len(wanted)))
            at = text.find(wanted, at + len(wanted))
        return found
    pattern = re.compile("\r?\n".join(map(re.escape, wanted.split("\n"))))
    return [match.span() for match in islice(pattern.finditer(text), most)]
