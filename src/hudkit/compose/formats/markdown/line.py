"""A draft to a line of Markdown: what is text is escaped where, and only where, reading it back needs it."""

from __future__ import annotations

import re

from hudkit.compose.formats.markdown.attention import settle
from hudkit.compose.formats.markdown.draft import Draft, Part, Shape
from hudkit.compose.formats.markdown.runs import LABEL, MARK, RAW, TEXT, escape_runs
from hudkit.compose.formats.markdown.unsafe import rules_for

_PLAIN = re.compile(
    r"[A-Za-z](?:[A-Za-z0-9 ,;/()'\"%=?{}$^>+.-]|#(?=[A-Za-z0-9])|:(?!/)|(?<=[A-Za-z0-9])_+(?=[A-Za-z0-9]))*"
)
"""Text of which no character is unsafe anywhere: most of what is ever written."""

_EDGE = re.compile(r"\A\ufeff|^[^\S\n]+|[^\S\n]+$", re.MULTILINE)
_UNCODABLE = re.compile("[\x0b\x1c\x1d\x1e\x1f\x85]")
"""White space that no reference stands for: at the edge of a line, where readers trim, it is left out."""


def compose(draft: Draft) -> str:
    """The line, without a line feed at its end; empty where there is nothing to show."""
    parts = draft.parts
    if not parts:
        return ""
    if len(parts) == 1 and parts[0].kind == "text" and not parts[0].label and _plain(parts[0].value):
        return parts[0].value
    if draft.marks:
        parts = settle(draft)
    line, modes = _assemble(parts)
    line, modes = _encode_edges(line, modes, draft.shape)
    if not line:
        return ""
    escaped = _escapes(line, modes, draft.shape)
    if not escaped:
        return line
    return "".join(f"\\{char}" if place in escaped else char for place, char in enumerate(line))


def _plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and text[-1] not in " #" and "www." not in text.lower()


def _assemble(parts: list[Part]) -> tuple[str, bytearray]:
    pieces: list[str] = []
    modes = bytearray()

    def put(piece: str, mode: int) -> None:
        pieces.append(piece)
        modes.extend(bytes((mode,)) * len(piece))

    for part in parts:
        if part.kind == "text":
            text = part.value
            inner = text[part.head : len(text) - (part.tail and len(text) > 1)]
            if part.head:
                put(f"&#{ord(text[0])};", RAW)
            if not (part.head and len(text) == 1):
                put(inner, LABEL if part.label else TEXT)
            if part.tail and len(text) > 1:
                put(f"&#{ord(text[-1])};", RAW)
        else:
            if part.value[0] == "`" and pieces and pieces[-1][-1] == "`" and modes[-1] == RAW:
                # code spans that touch once markers between them are dropped: their fences would be one
                put(" ", RAW)
            put(part.value, RAW if part.kind == "raw" else MARK)
    return "".join(pieces), modes


def _encode_edges(line: str, modes: bytearray, shape: Shape) -> tuple[str, bytearray]:
    """References for line feeds that cannot be written, and for the white space that readers trim from lines."""
    while modes and modes[-1] == RAW and line.endswith("\\\n"):
        line, modes = line[:-2], modes[:-2]
    dropped = {
        place: ""
        for match in _EDGE.finditer(line)
        for place in range(*match.span())
        if modes[place] != RAW and _UNCODABLE.match(line[place])
    }
    line, modes = _edit(line, modes, dropped)
    if "\n" not in line and "\r" not in line and not _EDGE.search(line):
        return line, modes
    last = len(line) - 1
    edits: dict[int, str] = {}
    for place, char in enumerate(line):
        if char == "\n":
            alone = 0 < place < last and line[place - 1] != "\n" and line[place + 1] != "\n"
            if not (shape.breaks and alone):
                edits[place] = "&#10;"
        elif char == "\r":
            edits[place] = "&#13;"
    for match in _EDGE.finditer(line):
        start, end = match.span()
        if start == 0 or line[start - 1] == "\n":
            edits[start] = f"&#{ord(line[start])};"
        if end > last or line[end] == "\n":
            edits[end - 1] = f"&#{ord(line[end - 1])};"
    return _edit(line, modes, {place: edit for place, edit in edits.items() if modes[place] != RAW})


def _edit(line: str, modes: bytearray, edits: dict[int, str]) -> tuple[str, bytearray]:
    if not edits:
        return line, modes
    pieces: list[str] = []
    changed = bytearray()
    for place, char in enumerate(line):
        piece = edits.get(place, char)
        pieces.append(piece)
        changed.extend(bytes((RAW if place in edits else modes[place],)) * len(piece))
    return "".join(pieces), changed


def _escapes(line: str, modes: bytearray, shape: Shape) -> set[int]:
    escaped: set[int] = set()
    for char, scope, pattern, earlier in rules_for(shape.block, shape.first, bool(shape.notes)):
        if char not in line:
            continue
        for match in pattern.finditer(line):
            place = match.start("at") if pattern.groups else match.start()
            mode = modes[place]
            if mode in (RAW, MARK):
                continue
            if scope == "label" and mode != LABEL:
                continue
            if scope == "markup" and modes[place + 1] != RAW:
                continue
            if scope == "call" and modes[place - 1] != RAW:
                continue
            if earlier and line.find(earlier, 0, place) < 0:
                continue
            escaped.add(place)
    escape_runs(line, modes, escaped)
    return escaped
