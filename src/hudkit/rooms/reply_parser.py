"""What an agent answered, from its raw text: responses, actions, and notes to the agent about what is neither.

Tolerant of what models put around and into a JSON text (fences, talk, single quotes, trailing commas, raw line
breaks); what stands there then is taken word for word, and nothing of it is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.compose.formats import json_text, toon
from hudkit.errors import FormatError

_WORDS = {"True": "true", "False": "false", "None": "null"}
_CONTROL = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_OPENS = {"{": "}", "[": "]"}


def object_end(text: str, start: int) -> int | None:
    """Where the object that opens at `start` ends (behind its brace); `None` where it never does."""
    depth, at, before = 0, start, ""
    while at < len(text):
        char = text[at]
        if _quotes(char, before):
            at, before = _string_end(text, at), '"'
            continue
        if char in _OPENS:
            depth += 1
        elif char in "}]":
            depth -= 1
            if not depth:
                return at + 1
        if not char.isspace():
            before = char
        at += 1
    return None


def repair_json(text: str) -> str:
    """The text with strings in double quotes and on one line, without trailing commas and line comments, and with
    JSON's words for true, false and null."""
    out: list[str] = []
    at, before = 0, ""
    while at < len(text):
        char = text[at]
        if _quotes(char, before):
            end = _string_end(text, at)
            out.append(_string(text[at + 1 : end - 1], text[at]))
            at, before = end, '"'
        elif char.isalpha():
            end = at
            while end < len(text) and text[end].isalnum():
                end += 1
            out.append(_WORDS.get(text[at:end], text[at:end]))
            at, before = end, "a"
        elif char in "}]" and before == ",":
            _drop_comma(out)
            out.append(char)
            at, before = at + 1, char
        elif text.startswith("//", at):
            line = text.find("\n", at)
            at = len(text) if line < 0 else line
        else:
            out.append(char)
            before = before if char.isspace() else char
            at += 1
    return "".join(out)


def _quotes(char: str, before: str) -> bool:
    """Whether a string begins here: a quote, or a single or curly one where only a string can stand."""
    return char == '"' or (char in "'“" and before in ("{", "[", ",", ":"))


def _string_end(text: str, start: int) -> int:
    """Behind the closing quote of the string that opens at `start`; the text's end where there is none."""
    close = "”" if text[start] == "“" else text[start]
    at = start + 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == close and (close != "'" or _closes(text, at)):
            return at + 1
        else:
            at += 1
    return len(text)


def _closes(text: str, at: int) -> bool:
    """Whether a single quote ends its string: what follows is no letter of an `isn't`."""
    rest = text[at + 1 : at + 40].lstrip()
    return not rest or rest[0] in ",:]}"


def _string(inner: str, quote: str) -> str:
    if quote == "'":
        inner = inner.replace("\\'", "'").replace('\\"', '"').replace('"', '\\"')
    elif quote == "“":
        inner = inner.replace('\\"', '"').replace('"', '\\"')
    return '"' + "".join(_CONTROL.get(char, char) if char < " " else char for char in inner) + '"'


def _drop_comma(out: list[str]) -> None:
    for place in range(len(out) - 1, -1, -1):
        if out[place] == ",":
            del out[place]
            return


MAX_REPLY_CHARACTERS = 100_000
"""Characters of a reply; of a longer one nothing is read."""

MAX_REPLY_ITEMS = 50
"""Items of a reply, responses and actions together; those behind are told as faults."""

_ATTEMPTS = 12
_KEYS = ("responses", "actions")
_BLOCK = re.compile(r"^(?:responses|actions)\b.*:", re.MULTILINE)
_HEAD = re.compile(r"(?:responses|actions)(?:\[[^\]]*\])?(?:\{[^}]*\})?:")
_FENCES = ("```", "~~~")
_THOUGHT = "<think>", "</think>"
_SILENCE = re.compile(r"\s*\[\s*no[ _]response\s*\][\s.]*", re.IGNORECASE)

OutputFormat: TypeAlias = Literal["json", "toon"]


class ParsedReply(msgspec.Struct, frozen=True):
    """`responses` and `actions` are plain objects as they were written; `faults` tell the agent what was wrong."""

    responses: tuple[Mapping[str, Any], ...] = ()
    actions: tuple[Mapping[str, Any], ...] = ()
    faults: tuple[str, ...] = ()


def parse_reply(text: str, output_format: OutputFormat = "json") -> ParsedReply:
    """Read a reply in the format that its agent was asked for; the other one is understood too. Never raises."""
    if not text.strip() or is_silence(text):
        return ParsedReply()
    if len(text) > MAX_REPLY_CHARACTERS:
        return ParsedReply(
            faults=(f"The reply has {len(text)} characters, {MAX_REPLY_CHARACTERS} at most are read. Say less.",)
        )
    text = _thoughtless(text.strip())
    readers = (_json, _toon) if output_format == "json" else (_toon, _json)
    faults: list[str] = []
    for reader in readers:
        found, others, fault = reader(text)
        if found:
            return _sorted(*_joined(found, others))
        faults.append(fault)
    return ParsedReply(faults=(faults[0],))


def is_silence(text: str) -> bool:
    """Whether a message means that nothing is said: `[no response]`."""
    return _SILENCE.fullmatch(text) is not None


def _thoughtless(text: str) -> str:
    """Without what a model thought aloud before its answer."""
    start, end = _THOUGHT
    return text.partition(end)[2].strip() if text.startswith(start) and end in text else text


_Found: TypeAlias = tuple[list[dict[str, Any]], int, str]
"""Answers that stand in a text, how many objects beside them are none, and the fault where there is no answer."""


def _joined(found: list[dict[str, Any]], others: int) -> tuple[dict[str, Any], list[str]]:
    """One answer of all: those of different parts are read together, of others the first is; and notes about that."""
    if len(found) == 1 and not others:
        return found[0], []
    full = [one for one in found if any(one.get(key) for key in _KEYS)] or found[:1]
    different = [one for n, one in enumerate(full) if one not in full[:n]]
    apart = not any(one.keys() & other.keys() for one, other in combinations(different, 2))
    answer = {key: value for one in different for key, value in one.items()} if apart else different[0]
    others += 0 if apart else len(different) - 1
    more = "another one was" if others == 1 else f"{others} others were"
    return answer, [f"A reply is one answer: {more} passed over."] if others else []


def _json(text: str) -> _Found:
    found, others, fault = list[dict[str, Any]](), 0, ""
    for candidate in _objects(text):
        try:
            value = _decoded(candidate)
        except FormatError as error:
            fault = fault or str(error)
            others += candidate is not text and _is_begun(candidate, 0)
            continue
        if isinstance(value, dict) and any(key in value for key in _KEYS):
            found.append(value)
            if candidate is text:
                break
        else:
            fault = fault or 'the object has neither "responses" nor "actions"'
            others += bool(value)
    fault = fault or "there is no {...} in it"
    form = 'Write {"responses": [...], "actions": [...]} and nothing else.'
    return found, others, f"The reply is not readable as JSON: {fault}. Nothing of it was done. {form}"


def _decoded(text: str) -> Any:
    try:
        return json_text.decode(text, name="reply")
    except FormatError as error:
        repaired = repair_json(text)
        if repaired == text:
            raise
        try:
            return json_text.decode(repaired, name="reply")
        except FormatError:
            raise error from None


def _objects(text: str) -> Iterator[str]:
    """Where an object may stand in a text: all of it, then from each brace on to where that closes. A brace that
    never closes is talk, or an object that was cut off: what is within that is no answer."""
    if text.startswith("{"):
        yield text
    place = text.find("{")
    for _ in range(_ATTEMPTS):
        if place < 0:
            return
        end = object_end(text, place)
        if end is not None:
            if (place, end) != (0, len(text)):
                yield text[place:end]
            place = text.find("{", end)
        elif _is_begun(text, place):
            if place:
                yield text[place:]
            return
        else:
            place = text.find("{", place + 1)


def _is_begun(text: str, place: int) -> bool:
    """Whether a brace is followed by a quote, as in an object."""
    return text[place + 1 : place + 80].lstrip()[:1] in ('"', "'", "“")


def _toon(text: str) -> _Found:
    found, others, fault = list[dict[str, Any]](), 0, ""
    for candidate in (*_fenced(text), text):
        if (candidate is text and found) or (start := _BLOCK.search(candidate)) is None:
            continue
        try:
            value = toon.decode(_block(candidate[start.start() :]))
        except FormatError as error:
            fault = fault or str(error)
            others += candidate is not text
            continue
        if isinstance(value, dict):
            found.append(value)
    fault = fault or "no line begins with responses or actions"
    form = "Begin with responses[N]{room_id,message}: or actions[N]: and write nothing else."
    return found, others, f"The reply is not readable as TOON: {fault}. Nothing of it was done. {form}"


def _fenced(text: str) -> Iterator[str]:
    """What stands between fences."""
    inside: list[str] | None = None
    for line in text.split("\n"):
        mark = line.strip()
        if not mark.startswith(_FENCES):
            if inside is not None:
                inside.append(line)
        elif inside is None:
            inside = []
        elif mark in _FENCES:
            yield "\n".join(inside)
            inside = None
        else:
            inside.append(line)


def _block(text: str) -> str:
    """The lines of a text that begins with a key of a reply, without the talk between and behind its parts."""
    lines, talk = list[str](), False
    for n, line in enumerate(text.split("\n")):
        if not line.strip():
            continue
        if not line[0].isspace():
            talk = bool(n) and _HEAD.match(line) is None
        if not talk:
            lines.append(line.rstrip())
    return "\n".join(lines)


def _sorted(found: dict[str, Any], notes: Iterable[str]) -> ParsedReply:
    faults = [*notes]
    faults += [
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
            if count > MAX_REPLY_ITEMS:
                faults.append(
                    f"A reply has {MAX_REPLY_ITEMS} responses and actions at most; the others were not done."
                )
                break
            if (fault := _fault(item)) is None:
                kept[key].append(item)
            else:
                faults.append(f"{key}[{n}] was not done: {fault}.")
    return ParsedReply(tuple(kept["responses"]), tuple(kept["actions"]), tuple(dict.fromkeys(faults)))


def _fault(item: Any) -> str | None:
    if not isinstance(item, dict):
        return "it is no object"
    try:
        msgspec.msgpack.encode(item)  # as worlds are saved
    except (OverflowError, ValueError, RecursionError):
        return "it has a number that is too large"
    return None
