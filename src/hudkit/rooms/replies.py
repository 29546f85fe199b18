"""What an agent answered, from its raw text: responses, actions, and notes to the agent about what is neither.

Tolerant of what models put around and into a JSON text (fences, talk, single quotes, trailing commas, raw line
breaks); what stands there then is taken word for word, and nothing of it is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.errors import FormatError
from hudkit.formats import json_text, toon
from hudkit.rooms.mending import extent, mended

LONGEST = 100_000
"""Characters of a reply; of a longer one nothing is read."""

MOST = 50
"""Items of a reply, responses and actions together; those behind are told as faults."""

_ATTEMPTS = 12
_KEYS = ("responses", "actions")
_BLOCK = re.compile(r"^(?:responses|actions)\b.*:", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)^[ \t]*(?:```|~~~)[ \t]*$", re.MULTILINE | re.DOTALL)
_SILENCE = re.compile(r"\s*\[\s*no[ _]response\s*\][\s.]*", re.IGNORECASE)

OutputFormat: TypeAlias = Literal["json", "toon"]


class Reply(msgspec.Struct, frozen=True):
    """`responses` and `actions` are plain objects as they were written; `faults` tell the agent what was wrong."""

    responses: tuple[Mapping[str, Any], ...] = ()
    actions: tuple[Mapping[str, Any], ...] = ()
    faults: tuple[str, ...] = ()


def read_reply(text: str, output_format: OutputFormat = "json") -> Reply:
    """Read a reply in the format that its agent was asked for; the other one is understood too. Never raises."""
    if not text.strip() or is_silence(text):
        return Reply()
    if len(text) > LONGEST:
        return Reply(faults=(f"The reply has {len(text)} characters, {LONGEST} at most are read. Say less.",))
    found, fault = _first(text.strip(), output_format)
    if found is None:
        return Reply(faults=(fault,))
    return _sorted(found)


def is_silence(text: str) -> bool:
    """Whether a message means that nothing is said: `[no response]`."""
    return _SILENCE.fullmatch(text) is not None


def _first(text: str, output_format: OutputFormat) -> tuple[dict[str, Any] | None, str]:
    """The object of a reply, or the fault of the format that was asked for."""
    readers = (_json, _toon) if output_format == "json" else (_toon, _json)
    faults: list[str] = []
    for reader in readers:
        found, fault = reader(text)
        if found is not None:
            return found, ""
        faults.append(fault)
    return None, faults[0]


def _json(text: str) -> tuple[dict[str, Any] | None, str]:
    fault = ""
    for candidate in _objects(text):
        try:
            value = _decoded(candidate)
        except FormatError as error:
            fault = fault or str(error)
            continue
        if isinstance(value, dict) and any(key in value for key in _KEYS):
            return value, ""
        fault = fault or 'the object has neither "responses" nor "actions"'
    fault = fault or "there is no {...} in it"
    form = 'Write {"responses": [...], "actions": [...]} and nothing else.'
    return None, f"The reply is not readable as JSON: {fault}. Nothing of it was done. {form}"


def _decoded(text: str) -> Any:
    try:
        return json_text.decode(text, name="reply")
    except FormatError as error:
        repaired = mended(text)
        if repaired == text:
            raise
        try:
            return json_text.decode(repaired, name="reply")
        except FormatError:
            raise error from None


def _objects(text: str) -> Iterator[str]:
    """Where an object may stand in a text: all of it, then from each brace on to where that closes."""
    if text.startswith("{"):
        yield text
    place = text.find("{")
    for _ in range(_ATTEMPTS):
        if place < 0:
            return
        end = extent(text, place)
        if (place, end) != (0, len(text)):
            yield text[place:end]
        place = text.find("{", place + 1 if end >= len(text) else max(place + 1, end))


def _toon(text: str) -> tuple[dict[str, Any] | None, str]:
    fault = ""
    for candidate in (*_FENCE.findall(text), text):
        if (start := _BLOCK.search(candidate)) is None:
            continue
        try:
            value = toon.decode(_block(candidate[start.start() :]))
        except FormatError as error:
            fault = fault or str(error)
            continue
        if isinstance(value, dict):
            return value, ""
    fault = fault or "no line begins with responses or actions"
    form = "Begin with responses[N]{room_id,message}: or actions[N]: and write nothing else."
    return None, f"The reply is not readable as TOON: {fault}. Nothing of it was done. {form}"


def _block(text: str) -> str:
    """The lines up to the first that is neither indented nor a key of a reply."""
    lines = []
    for line in text.splitlines():
        if line.strip() and not line[0].isspace() and not _BLOCK.match(line):
            break
        if line.strip():
            lines.append(line.rstrip())
    return "\n".join(lines)


def _sorted(found: dict[str, Any]) -> Reply:
    faults = [
        f"{key!r} is no part of a reply and was passed over: only responses and actions are read."
        for key in found
        if key not in _KEYS
    ]
    kept: dict[str, list[Mapping[str, Any]]] = {key: [] for key in _KEYS}
    count = 0
    for key in reversed(_KEYS):
        items = found.get(key)
        if items is None:
            continue
        for n, item in enumerate(items if isinstance(items, list) else [items], 1):
            count += 1
            if count > MOST:
                faults.append(f"A reply has {MOST} responses and actions at most; the others were not done.")
                break
            if (fault := _fault(item)) is None:
                kept[key].append(item)
            else:
                faults.append(f"{key}[{n}] was not done: {fault}.")
    return Reply(tuple(kept["responses"]), tuple(kept["actions"]), tuple(dict.fromkeys(faults)))


def _fault(item: Any) -> str | None:
    if not isinstance(item, dict):
        return "it is no object"
    try:
        msgspec.msgpack.encode(item)  # as worlds are saved
    except (OverflowError, ValueError, RecursionError):
        return "it has a number that is too large"
    return None
