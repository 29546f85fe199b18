"""Compact JSON: no white space, and short names for long keys by a map that can be inverted for every document.

A key that the map knows is written as its short name; a key that is itself a short name, or starts with `$`, gets one
`$` before it; every other key stays. Short names start with no `$`, so no two keys are written alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from hudkit.compose.formats import json_text
from hudkit.compose.formats.plain import Path, Plain, check, refused
from hudkit.errors import ConfigError, FormatError

_NAME = "compact"

SHORT: Mapping[str, str] = {
    "_description": "about",
    "access_control": "access",
    "active_files": "files",
    "agent_id": "agent",
    "agent_management": "agents",
    "agent_type": "kind",
    "attention_pct": "share",
    "available_actions": "may",
    "background_prompt": "background",
    "billboard": "board",
    "blockers": "blocks",
    "decisions": "choices",
    "directives": "rules",
    "in_room_id": "inside",
    "is_self_room": "own",
    "key_decisions": "major",
    "key_used": "used",
    "knowledge_management": "memory",
    "memory_used": "full",
    "message_id": "msg",
    "messaging": "talk",
    "my_keys": "keys",
    "next_steps": "next",
    "pending_access_requests": "pending",
    "reactions": "react",
    "recent_actions": "recent",
    "recorded_at": "saved",
    "reply_to": "re",
    "request_id": "request",
    "requester_id": "who",
    "response_format": "answer",
    "room_id": "room",
    "room_management": "manage",
    "social_interactions": "social",
    "thumbs_down": "down",
    "thumbs_up": "up",
    "time_since_last": "since",
    "timing": "time",
    "updated_at": "updated",
    "word_budget": "words",
    "wpm": "pace",
}
"""Keys that cost more than one token in o200k_base, each with a word that costs one.

`messages`, `content`, `identity`, `timestamp` and most single words cost one token as they are: a short name for them
saves nothing.
"""


def encode(value: object, short: Mapping[str, str] = SHORT) -> str:
    """Return the compact text of plain data; raises `FormatError` for what is no plain data.

    `short` is a map of long to short names, the same for reading; `ConfigError` where it cannot be inverted.
    """
    check(value, _NAME)
    return json_text.encode(shorten_keys(value, short), indent=None, name=_NAME)


def decode(text: str, short: Mapping[str, str] = SHORT) -> Plain:
    """Return the plain data of a compact text.

    A long key may also stand as it is. Raises `FormatError` where the text is no JSON, has two names of one key in
    one object, or a `$` before what needs none.
    """
    return _restore_keys(json_text.decode(text, name=_NAME), short)


def legend(value: object, short: Mapping[str, str] = SHORT) -> dict[str, str]:
    """Return the short names that stand in the text of `value`, each with the key it stands for.

    They are for a line that explains them: `{"re": "reply_to"}`.
    """
    keys: set[str] = set()
    _collect_keys(value, keys)
    return {short[key]: key for key in sorted(keys & short.keys())}


def shorten_keys(value: object, short: Mapping[str, str] = SHORT) -> Plain:
    """Return plain data with short keys: `{"reply_to": 1, "re": 2}` becomes `{"re": 1, "$re": 2}`."""
    return _shortened(value, short, _inverted(short))


def _restore_keys(value: Plain, short: Mapping[str, str] = SHORT) -> Plain:
    """Return plain data with the keys that `shorten_keys` shortened; raises `FormatError` as `decode` does."""
    return _restored(value, short, _inverted(short), ())


def _inverted(short: Mapping[str, str]) -> Mapping[str, str]:
    long = {name: key for key, name in short.items()}
    if len(long) != len(short) or any(name.startswith("$") for name in long):
        raise ConfigError("the map of short keys cannot be inverted", hint="Short names differ, and start with no $")
    return long


def _shortened(value: object, short: Mapping[str, str], long: Mapping[str, str]) -> Plain:
    if isinstance(value, dict):
        return {_name(key, short, long): _shortened(item, short, long) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item, short, long) for item in value]
    return cast(Plain, value)


def _name(key: str, short: Mapping[str, str], long: Mapping[str, str]) -> str:
    if key in short:
        return short[key]
    return f"${key}" if key in long or key.startswith("$") else key


def _restored(value: Plain, short: Mapping[str, str], long: Mapping[str, str], path: Path) -> Plain:
    if isinstance(value, dict):
        restored: dict[str, Plain] = {}
        for name, item in value.items():
            key = _key(name, short, long, path)
            if key in restored:
                raise refused(_NAME, path, f"names {key!r} twice", "A key stands once in an object, short or long")
            restored[key] = _restored(item, short, long, (*path, key))
        return restored
    if isinstance(value, list | tuple):
        return [_restored(item, short, long, (*path, index)) for index, item in enumerate(value)]
    return value


def _key(name: str, short: Mapping[str, str], long: Mapping[str, str], path: Path) -> str:
    if name in long:
        return long[name]
    # A long key may stand as it is.
    if not name.startswith("$"):
        return name
    key = name[1:]
    if (key in long and key not in short) or key.startswith("$"):
        return key
    raise _no_escape(name, path)


def _no_escape(name: str, path: Path) -> FormatError:
    return refused(
        _NAME, path, f"has a key {name!r}, which escapes nothing", "$ stands before a short name or another $"
    )


def _collect_keys(value: object, keys: set[str]) -> None:
    if isinstance(value, dict):
        keys.update(value)
        for item in value.values():
            _collect_keys(item, keys)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect_keys(item, keys)
