"""What was said, as the conventions write it: JSON without known secrets, within a number of characters.

Secrets are looked for first, and texts shortened afterwards, so that a cut never leaves half of one to be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec

from hudkit.agent.telemetry.observations import ObservedMessage, ObservedPart
from hudkit.log.secret_patterns import replace_secrets

_LEFT_OUT = "… [{} characters are left out]"
_LEFT_OUT_ROOM = 40  # characters that these words take at most
BEYOND = 20_000
"""Characters behind the limit up to which a text is looked through for secrets; the rest is never shown."""


def arguments(value: object, limit: int) -> str:
    """Return a call's arguments, or any other plain value, as JSON of at most `limit` characters."""
    return _fitted(_clean(value, limit), limit)


def words(text: str, limit: int) -> str:
    """Return a text that stands alone, in at most `limit` characters."""
    return _cut(str(_clean(text, limit)), limit)


@lru_cache(maxsize=16)
def instructions(texts: tuple[str, ...], limit: int) -> str:
    """Return the system prompt's blocks as JSON. The last ones are cached: they stay the same for many calls."""
    return _fitted(_clean([{"type": "text", "content": text} for text in texts if text], limit), limit)


def messages(request: Sequence[ObservedMessage], limit: int) -> tuple[str, int]:
    """Return the newest messages that fit, and how many are left out.

    One is there at least, shortened where it has to be.
    """
    newest: list[Any] = []
    room = limit
    for message in reversed(request):
        plain = _clean({"role": message.role, "parts": [_part(part) for part in message.parts]}, limit)
        room -= len(_json(plain)) + 1
        if room < 0 and newest:
            break
        newest.insert(0, plain)
    return _fitted(newest, limit), len(request) - len(newest)


def answer(message: ObservedMessage, finish: str, limit: int) -> str:
    """Return what the model answered as JSON, with the reason why it ended."""
    plain = {"role": message.role, "parts": [_part(part) for part in message.parts], "finish_reason": finish}
    return _fitted(_clean([plain], limit), limit)


def _clean(value: Any, limit: int) -> Any:
    """A plain value without known forms of secrets. Texts that are far longer than `limit` are shortened."""
    near = _each(msgspec.to_builtins(value, enc_hook=str), lambda text: _near(text, limit + BEYOND))
    return msgspec.json.decode(replace_secrets(msgspec.json.encode(near)))


def _fitted(value: Any, limit: int) -> str:
    """A plain value as JSON of at most `limit` characters: its texts are shortened, in the end it is left out."""
    most = limit
    while most >= _LEFT_OUT_ROOM:
        text = _json(_each(value, partial(_cut, most=most)))
        if len(text) <= limit:
            return text
        most //= 2
    return _json(_LEFT_OUT.format(len(_json(value))))


def _part(part: ObservedPart) -> dict[str, Any]:
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
            return [_each(item, change) for item in value]
        case dict():
            return {key: _each(item, change) for key, item in value.items()}
        case _:
            return value


def _near(text: str, most: int) -> str:
    """The lines of a text that begin within `most` characters, so that no secret is cut in two."""
    if len(text) <= most:
        return text
    end = text.rfind("\n", 0, most)
    return text[: end if end > 0 else most] + _LEFT_OUT.format(len(text) - (end if end > 0 else most))


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    end = max(0, most - _LEFT_OUT_ROOM)
    return text[:end] + _LEFT_OUT.format(len(text) - end)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
