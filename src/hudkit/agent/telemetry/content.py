"""What was said, as the conventions write it: JSON without known secrets, within a number of characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec

from hudkit.agent.telemetry.happenings import Piece, Said
from hudkit.log.secret_patterns import replace_secrets

LEFT_OUT = "… [{} characters are left out]"
MARK = 40
"""Characters that these words take at most."""
BEYOND = 20_000
"""Characters behind the limit up to which a text is looked through for secrets; the rest is never shown."""


def arguments(given: object, limit: int) -> str:
    """A call's arguments, or any other plain value."""
    return fitted(clean(given, limit), limit)


def words(text: str, limit: int) -> str:
    """A text that stands alone."""
    return _cut(str(clean(text, limit)), limit)


@lru_cache(maxsize=16)
def instructions(texts: tuple[str, ...], limit: int) -> str:
    """The system prompt's blocks. They stay the same for many calls."""
    return fitted(clean([{"type": "text", "content": text} for text in texts if text], limit), limit)


def messages(said: Sequence[Said], limit: int) -> tuple[str, int]:
    """The newest messages that fit (one at least, shortened where it has to be), and how many are left out."""
    kept: list[Any] = []
    room = limit
    for one in reversed(said):
        plain = clean({"role": one.role, "parts": [_part(part) for part in one.parts]}, limit)
        room -= len(_json(plain)) + 1
        if room < 0 and kept:
            break
        kept.insert(0, plain)
    return fitted(kept, limit), len(said) - len(kept)


def answer(said: Said, finish: str, limit: int) -> str:
    """What the model said, with the reason why it ended."""
    plain = {"role": said.role, "parts": [_part(part) for part in said.parts], "finish_reason": finish}
    return fitted(clean([plain], limit), limit)


def clean(value: Any, limit: int) -> Any:
    """A plain value without known forms of secrets. Texts that are far longer than `limit` are shortened."""
    near = _each(msgspec.to_builtins(value, enc_hook=str), lambda text: _near(text, limit + BEYOND))
    return msgspec.json.decode(replace_secrets(msgspec.json.encode(near)))


def fitted(value: Any, limit: int) -> str:
    """A plain value as JSON of at most `limit` characters: its texts are shortened, in the end it is left out."""
    most = limit
    while most >= MARK:
        text = _json(_each(value, partial(_cut, most=most)))
        if len(text) <= limit:
            return text
        most //= 2
    return _json(LEFT_OUT.format(len(_json(value))))


def _part(part: Piece) -> dict[str, Any]:
    match part.kind:
        case "call":
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
        case "result":
            return {"type": "tool_call_response", "id": part.id, "response": part.text}
        case "media":
            return {"type": "media", "mime_type": part.media_type, "name": part.name}
        case _:
            return {"type": part.kind, "content": part.text}


def _each(value: Any, change: Callable[[str], str]) -> Any:
    """A plain value with each of its texts changed."""
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [_each(one, change) for one in value]
        case dict():
            return {key: _each(one, change) for key, one in value.items()}
        case _:
            return value


def _near(text: str, most: int) -> str:
    """The lines of a text that begin within `most` characters, so that no secret is cut in two."""
    if len(text) <= most:
        return text
    end = text.rfind("\n", 0, most)
    return text[: end if end > 0 else most] + LEFT_OUT.format(len(text) - (end if end > 0 else most))


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    kept = max(0, most - MARK)
    return text[:kept] + LEFT_OUT.format(len(text) - kept)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
