"""What of a message is searched: passages of bounded length, each with its role and tool, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import combining, normalize

import msgspec

from hudkit.log.redact import redact
from hudkit.transcripts.transcript import FilePart, Message, PatchPart, ReasoningPart, TextPart, ToolPart

MOST_CHARACTERS = 4_000
"""Of one passage; a longer text is cut into several, at a line's end where one is near."""

MOST_PASSAGES = 64
"""Of one text; what is behind them is not searched."""

ROLES = ("user", "assistant", "tool", "reasoning", "summary", "host")
"""Who says a passage: `summary` is what a compaction left, `host` what the host wrote in the user's name."""

_IDENTIFIER = re.compile(r"[A-Za-z]*[a-z][A-Z0-9][A-Za-z0-9]*|[A-Z]{2,}[a-z]+[A-Za-z0-9]*|[A-Za-z]+\d+[A-Za-z0-9]*")
_INNER = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TOKEN = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[^\W_]{3,40}")


class Passage(msgspec.Struct, frozen=True):
    role: str
    text: str
    tool: str = ""


def passages(message: Message) -> Iterator[Passage]:
    """The passages of a message, in order."""
    for part in message.parts:
        match part:
            case TextPart(text=text, synthetic=synthetic):
                role = "summary" if message.summary else "host" if synthetic else message.role
                yield from _cut(role, text)
            case ReasoningPart(text=text):
                yield from _cut("reasoning", text)
            case ToolPart():
                yield from _cut("tool", f"{part.tool} {_given(part)}\n{part.error or part.output}", part.tool)
            case FilePart(path=path) if path:
                yield from _cut("user", path)
            case PatchPart(files=files) if files:
                yield from _cut("tool", "\n".join(files), "patch")
            case _:
                pass
    if message.error:
        yield from _cut("assistant", message.error)


def _given(part: ToolPart) -> str:
    """A call's input as text: values by name, without the notation."""
    return " ".join(f"{name}: {_said(value)}" for name, value in part.input.items())


def _said(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace")


def _cut(role: str, text: str, tool: str = "") -> Iterator[Passage]:
    text = clean(text.strip())
    for _ in range(MOST_PASSAGES):
        if not text:
            return
        if len(text) <= MOST_CHARACTERS:
            end = len(text)
        else:
            end = text.rfind("\n", MOST_CHARACTERS // 2, MOST_CHARACTERS) + 1
            end = end or text.rfind(" ", MOST_CHARACTERS // 2, MOST_CHARACTERS) + 1 or MOST_CHARACTERS
        piece, text = text[:end].strip(), text[end:]
        if piece:
            yield Passage(role, piece, tool)


def clean(text: str) -> str:
    """A text without known forms of secrets and without NUL."""
    raw = text.encode("utf-8", "replace")
    found = redact(raw)
    return (text if found is raw else found.decode("utf-8", "replace")).replace("\0", " ")


def inner_words(text: str) -> str:
    """The words within identifiers: `refreshToken2` gives `refresh Token 2`."""
    found = dict.fromkeys(match.group() for match in _IDENTIFIER.finditer(text))
    return " ".join(" ".join(_INNER.findall(one)) for one in found if len(one) <= 80)


def tokens(text: str) -> list[str]:
    """The words of a text in order, as the index's tokenizer has them before it stems: lower case, no diacritics."""
    low = text.lower()
    if not low.isascii():
        low = "".join(char for char in normalize("NFD", low) if not combining(char))
    return _TOKEN.findall(low)


def words(text: str) -> set[str]:
    """The distinct words of a text, in lower case."""
    return set(_WORD.findall(text.lower()))
