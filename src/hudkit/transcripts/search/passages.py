"""What of a message is searched: passages of bounded length, each with its role and tool, without secrets.

A transcript is the host's and may hold secrets; the index is ours, so they are taken out before a passage is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from hudkit.log.secret_patterns import without_secrets
from hudkit.transcripts.transcript import FilePart, Message, PatchPart, ReasoningPart, TextPart, ToolPart

MAX_PASSAGE_CHARACTERS = 4_000
"""Of one passage; a longer text is cut into several, at a line's end where one is near."""

MAX_PASSAGES = 64
"""Of one text; what is behind them is not searched."""

ROLES = ("user", "assistant", "tool", "reasoning", "summary", "host")
"""Who says a passage: `summary` is what a compaction left, `host` what the host wrote in the user's name."""

_MAX_READ = MAX_PASSAGES * MAX_PASSAGE_CHARACTERS
"""Characters of one text that its passages can hold."""

_MARGIN = 8_192
"""Characters that are looked at behind them: a secret that is cut off in the middle would not be recognised."""

_MAX_IDENTIFIER = 80
"""Characters; a longer run of letters is data, not a name."""

_MEMORY_TOOL = re.compile(r"(?:(?:mcp__)?\w*hud\w*__)?memory")
"""Our tool that reads, also by the names that hosts make of an MCP server's name and a tool's. What it writes are its
operations `hud_...`."""

_RUN = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_IDENTIFIER = re.compile(r"[A-Za-z]*[a-z][A-Z0-9][A-Za-z0-9]*|[A-Z]{2,}[a-z]+[A-Za-z0-9]*|[A-Za-z]+\d+[A-Za-z0-9]*")
_INNER = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class _SearchPassage(msgspec.Struct, frozen=True):
    """One passage: who says it, its text, and the tool where it is a call."""

    role: str
    text: str
    tool: str = ""


def passages(message: Message) -> Iterator[_SearchPassage]:
    """Return the passages of a message, in order."""
    for part in message.parts:
        match part:
            case TextPart(text=text, synthetic=synthetic):
                role = "summary" if message.summary else "host" if synthetic else message.role
                yield from _cut(role, text)
            case ReasoningPart(text=text):
                yield from _cut("reasoning", text)
            case ToolPart() if _repeats(part):
                pass
            case ToolPart():
                yield from _cut("tool", f"{part.tool} {_input_text(part)}\n{part.error or part.output}", part.tool)
            case FilePart(path=path) if path:
                yield from _cut("user", path)
            case PatchPart(files=files) if files:
                yield from _cut("tool", "\n".join(files), "patch")
            case _:
                pass
    if message.error:
        yield from _cut("assistant", message.error)


def _repeats(part: ToolPart) -> bool:
    """Whether a call only had said again what is searched anyway: found again and again, its answers would stand
    before what they are of."""
    operation = part.input.get("operation") or part.input.get("tool") or ""
    return _MEMORY_TOOL.fullmatch(part.tool) is not None and not str(operation).startswith("hud")


def _input_text(part: ToolPart) -> str:
    """A call's input as text: values by name, without the notation."""
    return " ".join(f"{name}: {_value_text(value)}" for name, value in part.input.items())


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace")


def _cut(role: str, text: str, tool: str = "") -> Iterator[_SearchPassage]:
    # A log of megabytes in one output must neither fill the index nor be read to its end.
    text = _beginning(text.strip())
    for _ in range(MAX_PASSAGES):
        if not text:
            return
        if len(text) <= MAX_PASSAGE_CHARACTERS:
            end = len(text)
        else:
            # At a line's end in the second half, else between two words, else anywhere.
            end = text.rfind("\n", MAX_PASSAGE_CHARACTERS // 2, MAX_PASSAGE_CHARACTERS) + 1
            end = (
                end
                or text.rfind(" ", MAX_PASSAGE_CHARACTERS // 2, MAX_PASSAGE_CHARACTERS) + 1
                or MAX_PASSAGE_CHARACTERS
            )
        piece, text = text[:end].strip(), text[end:]
        if piece:
            yield _SearchPassage(role, piece, tool)


def _beginning(text: str) -> str:
    """What is searched of a text, without secrets: all of it, as a rule."""
    read = text[: _MAX_READ + _MARGIN]
    clean = _remove_secrets(read)
    return clean if len(read) == len(text) else clean[:-_MARGIN]


def _remove_secrets(text: str) -> str:
    """A text without known forms of secrets and without NUL."""
    return without_secrets(text).encode("utf-8", "replace").decode().replace("\0", " ")


def identifier_words(text: str) -> str:
    """Return the words within identifiers: `refreshToken2` gives `refresh Token 2`."""
    runs = dict.fromkeys(_RUN.findall(text))
    # Runs first: looked for in the whole text, an identifier would be tried anew from every letter of a long word.
    identifiers = (run for run in runs if len(run) <= _MAX_IDENTIFIER and _IDENTIFIER.fullmatch(run))
    return " ".join(" ".join(_INNER.findall(identifier)) for identifier in identifiers)
