"""Reading an agent's reply from its raw text: responses, actions, and notes to the agent about what is neither.

Models put talk, fences and thoughts around a JSON text, and slips into it. The parser looks for every place where an
object could stand, mends the slips that have only one meaning, and takes what stands there then word for word.
Nothing of it is guessed: a reply that could mean two things is refused, and the agent reads why in its next HUD.

How an object is found. From an opening brace, `_bracket_ends` walks to the brace that closes it, stepping over
strings, so that a brace within a string does not count. Where it never closes, the walk has seen the ends of all
brackets behind it, so that none of them is walked from again. A brace that never closes is talk (`{sigh`), or, where
a quote follows it, an object that was cut off: then nothing within it may count as an answer. For example, in

    Sure! {"responses": [{"room_id": 8, "message": "see {it}"}]} Done.

the first brace opens at 6 and closes before ` Done.`; `{it}` is within a string.

How JSON is repaired. `_repair_json` copies the text from left to right and remembers the last character that was not
white space. A quote opens a string where it is a double one, or where only a string can stand (behind `{ [ , :`); a
comma before a closing bracket goes; `True`, `False`, `None` become JSON's words; line comments go; raw line breaks
within strings are escaped. For example,

    {'responses': [{'room_id': 8, 'message': 'It isn't far',}], 'actions': None}

becomes

    {"responses": [{"room_id": 8, "message": "It isn't far"}], "actions": null}

The apostrophe in `isn't` ends no string, because neither a comma nor a colon nor a bracket follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.compose.formats import json_text, toon
from hudkit.errors import FormatError

MAX_REPLY_CHARACTERS = 100_000
"""Characters of a reply; of a longer one nothing is read."""

MAX_REPLY_ITEMS = 50
"""Items of a reply, responses and actions together; those behind are reported as faults."""

_MAX_OBJECTS = 12
"""Places at which an object is looked for."""

_MAX_WALKS = 4
"""Walks to the end of a text: one, but where a brace stands within what an earlier walk took for a string."""

_KEYS = ("responses", "actions")
_BLOCK = re.compile(r"^(?:responses|actions)\b.*:", re.MULTILINE)
_HEAD = re.compile(r"(?:responses|actions)(?:\[[^\]]*\])?(?:\{[^}]*\})?:")
_FENCES = ("```", "~~~")
_THOUGHT_TAGS = "<think>", "</think>"
_SILENCE = re.compile(r"\s*\[\s*no[ _]response\s*\][\s.]*", re.IGNORECASE)

OutputFormat: TypeAlias = Literal["json", "toon"]


class ParsedReply(msgspec.Struct, frozen=True):
    """`responses` and `actions` are plain objects as they were written; `faults` tell the agent what was wrong."""

    responses: tuple[Mapping[str, Any], ...] = ()
    actions: tuple[Mapping[str, Any], ...] = ()
    faults: tuple[str, ...] = ()


class _Candidates(msgspec.Struct):
    """Answers that stand in a text, how many objects beside them are none, and the fault where there is no answer."""

    answers: list[dict[str, Any]]
    others: int
    fault: str


def parse_reply(text: str, output_format: OutputFormat = "json") -> ParsedReply:
    """Read a reply in the format that its agent was asked for; the other one is understood, too. Never raises.

    Returns what it says; an empty reply for silence.
    """
    if not text.strip() or is_silence(text):
        return ParsedReply()
    if len(text) > MAX_REPLY_CHARACTERS:
        fault = f"The reply has {len(text)} characters, {MAX_REPLY_CHARACTERS} at most are read. Say less."
        return ParsedReply(faults=(fault,))
    text = _without_thoughts(text.strip())
    # Models that were altered go on in the old format for a while.
    readers = (_read_json, _read_toon) if output_format == "json" else (_read_toon, _read_json)
    faults: list[str] = []
    for reader in readers:
        candidates = reader(text)
        if candidates.answers:
            return _as_reply(*_one_answer(candidates.answers, candidates.others))
        faults.append(candidates.fault)
    # The fault of the format that was asked for: the other reader's would teach the agent the wrong one.
    return ParsedReply(faults=(faults[0],))


def is_silence(text: str) -> bool:
    """Return whether a message means that nothing is said: `[no response]`."""
    return _SILENCE.fullmatch(text) is not None


def _without_thoughts(text: str) -> str:
    """Return the text without what a model thought aloud before its answer."""
    start, end = _THOUGHT_TAGS
    return text.partition(end)[2].strip() if text.startswith(start) and end in text else text


def _one_answer(answers: list[dict[str, Any]], others: int) -> tuple[dict[str, Any], list[str]]:
    """Return one answer of all, and notes about what was passed over.

    Answers that have no key in common are parts of one, and are joined. Of others the first counts.
    """
    if len(answers) == 1 and not others:
        return answers[0], []
    full = [answer for answer in answers if any(answer.get(key) for key in _KEYS)] or answers[:1]
    different = [answer for index, answer in enumerate(full) if answer not in full[:index]]
    disjoint = not any(first.keys() & second.keys() for first, second in combinations(different, 2))
    if disjoint:
        joined = {key: value for answer in different for key, value in answer.items()}
    else:
        joined = different[0]
        others += len(different) - 1
    more = "another one was" if others == 1 else f"{others} others were"
    return joined, [f"A reply is one answer: {more} passed over."] if others else []


def _as_reply(answer: dict[str, Any], notes: Iterable[str]) -> ParsedReply:
    """Return the items of an answer that can be looked at, each by its kind, and the faults of the rest."""
    faults = [*notes]
    faults += [
        f"{key!r} is no part of a reply and was passed over: only responses and actions are read."
        for key in answer
        if key not in _KEYS
    ]
    items: dict[str, list[Mapping[str, Any]]] = {key: [] for key in _KEYS}
    count = 0
    # Actions count first, as they are carried out first: of too many items, responses go.
    for key in reversed(_KEYS):
        value = answer.get(key)
        if value is None:
            continue
        for number, item in enumerate(value if isinstance(value, list) else [value], 1):
            count += 1
            if count > MAX_REPLY_ITEMS:
                faults.append(
                    f"A reply has {MAX_REPLY_ITEMS} responses and actions at most; the others were not done."
                )
                break
            if (fault := _item_fault(item)) is None:
                items[key].append(item)
            else:
                faults.append(f"{key}[{number}] was not done: {fault}.")
    return ParsedReply(tuple(items["responses"]), tuple(items["actions"]), tuple(dict.fromkeys(faults)))


def _item_fault(item: Any) -> str | None:
    if not isinstance(item, dict):
        return "it is no object"
    try:
        msgspec.msgpack.encode(item)  # worlds are saved so: what cannot be encoded must not get into one
    except (OverflowError, ValueError, RecursionError):
        return "it has a number that is too large"
    return None


# -- JSON ----------------------------------------------------------------------------------------------------------


def _read_json(text: str) -> _Candidates:
    answers, others, fault = list[dict[str, Any]](), 0, ""
    for candidate in _json_objects(text):
        try:
            value = _decode_json(candidate)
        except FormatError as error:
            fault = fault or str(error)
            # The whole text is tried first and may hold talk: that it is no object is no fault yet.
            others += candidate is not text and _looks_like_object(candidate, 0)
            continue
        if isinstance(value, dict) and any(key in value for key in _KEYS):
            answers.append(value)
            if candidate is text:
                break
        else:
            fault = fault or 'the object has neither "responses" nor "actions"'
            others += bool(value)
    fault = fault or "there is no {...} in it"
    form = 'Write {"responses": [...], "actions": [...]} and nothing else.'
    return _Candidates(answers, others, f"The reply is not readable as JSON: {fault}. Nothing of it was done. {form}")


def _decode_json(text: str) -> Any:
    """Return what a JSON text says, mended where it cannot be read as it is. Raises `FormatError`."""
    try:
        return json_text.decode(text, name="reply")
    except FormatError as error:
        repaired = _repair_json(text)
        if repaired == text:
            raise
        try:
            return json_text.decode(repaired, name="reply")
        except FormatError:
            raise error from None  # about the text as the agent wrote it


def _json_objects(text: str) -> Iterator[str]:
    """Yield where an object may stand in a text: all of it, then from each brace on to where that closes.

    A brace that never closes is talk, or an object that was cut off: what is within that is no answer.
    """
    if text.startswith("{"):
        yield text
    start = text.find("{")
    ends: dict[int, int | None] = {}
    walks = 0
    for _ in range(_MAX_OBJECTS):
        if start < 0:
            return
        if start not in ends:
            if walks == _MAX_WALKS:
                return
            ends |= _bracket_ends(text, start)
            walks += ends[start] is None
        end = ends[start]
        if end is not None:
            if (start, end) != (0, len(text)):
                yield text[start:end]
            start = text.find("{", end)
        elif _looks_like_object(text, start):
            if start:
                yield text[start:]
            return
        else:
            start = text.find("{", start + 1)


def _looks_like_object(text: str, start: int) -> bool:
    """Return whether a brace is followed by a quote, as in an object."""
    return text[start + 1 : start + 80].lstrip()[:1] in ('"', "'", "“")


_JSON_WORDS = {"True": "true", "False": "false", "None": "null"}
_CONTROL_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _bracket_ends(text: str, start: int) -> dict[int, int | None]:
    """Return where the object that opens at `start` ends (behind its brace), and every bracket up to there, by where
    they open; `None` for those that never close.

    Example: `{a [b] {c` gives 0: None, 3: 6, 7: None.
    """
    ends: dict[int, int | None] = {}
    unclosed: list[int] = []
    index, before = start, ""
    while index < len(text):
        char = text[index]
        if _opens_string(char, before):
            index, before = _string_end(text, index), '"'
            continue
        if char in "{[":
            unclosed.append(index)
            ends[index] = None
        elif char in "}]":
            ends[unclosed.pop()] = index + 1
            if not unclosed:
                break
        if not char.isspace():
            before = char
        index += 1
    return ends


def _repair_json(text: str) -> str:
    """Return almost-JSON as JSON: strings in double quotes and on one line, without trailing commas and line
    comments, with JSON's words for true, false and null."""
    out: list[str] = []
    index, before = 0, ""
    while index < len(text):
        char = text[index]
        if _opens_string(char, before):
            end = _string_end(text, index)
            out.append(_quoted(text[index + 1 : end - 1], text[index]))
            index, before = end, '"'
        elif char.isalpha():
            end = index
            while end < len(text) and text[end].isalnum():
                end += 1
            out.append(_JSON_WORDS.get(text[index:end], text[index:end]))
            index, before = end, "a"
        elif char in "}]" and before == ",":
            _drop_last_comma(out)
            out.append(char)
            index, before = index + 1, char
        elif text.startswith("//", index):
            line_end = text.find("\n", index)
            index = len(text) if line_end < 0 else line_end
        else:
            out.append(char)
            before = before if char.isspace() else char
            index += 1
    return "".join(out)


def _opens_string(char: str, before: str) -> bool:
    """Return whether a string begins here: a quote, or a single or curly one where only a string can stand."""
    return char == '"' or (char in "'“" and before in ("{", "[", ",", ":"))


def _string_end(text: str, start: int) -> int:
    """Return the index behind the closing quote of the string that opens at `start`; the text's end without one."""
    close = "”" if text[start] == "“" else text[start]
    index = start + 1
    while index < len(text):
        if text[index] == "\\":
            index += 2
        elif text[index] == close and (close != "'" or _closes_string(text, index)):
            return index + 1
        else:
            index += 1
    return len(text)


def _closes_string(text: str, index: int) -> bool:
    """Return whether a single quote ends its string: what follows is no letter of an `isn't`."""
    rest = text[index + 1 : index + 40].lstrip()
    return not rest or rest[0] in ",:]}"


def _quoted(inner: str, quote: str) -> str:
    """Return a string in double quotes, with its raw line breaks and tabs escaped."""
    if quote == "'":
        inner = inner.replace("\\'", "'").replace('\\"', '"').replace('"', '\\"')
    elif quote == "“":
        inner = inner.replace('\\"', '"').replace('"', '\\"')
    return '"' + "".join(_CONTROL_ESCAPES.get(char, char) if char < " " else char for char in inner) + '"'


def _drop_last_comma(out: list[str]) -> None:
    for index in range(len(out) - 1, -1, -1):
        if out[index] == ",":
            del out[index]
            return


# -- TOON ----------------------------------------------------------------------------------------------------------


def _read_toon(text: str) -> _Candidates:
    answers, others, fault = list[dict[str, Any]](), 0, ""
    for candidate in (*_fenced_blocks(text), text):
        # The whole text holds the fenced blocks again: it counts only where none of them was an answer.
        if (candidate is text and answers) or (start := _BLOCK.search(candidate)) is None:
            continue
        try:
            value = toon.decode(_toon_block(candidate[start.start() :]))
        except FormatError as error:
            fault = fault or str(error)
            others += candidate is not text
            continue
        if isinstance(value, dict):
            answers.append(value)
    fault = fault or "no line begins with responses or actions"
    form = "Begin with responses[N]{room_id,message}: or actions[N]: and write nothing else."
    return _Candidates(answers, others, f"The reply is not readable as TOON: {fault}. Nothing of it was done. {form}")


def _fenced_blocks(text: str) -> Iterator[str]:
    """Yield what stands between fences."""
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


def _toon_block(text: str) -> str:
    """Return the lines of a text that begins with a key of a reply, without the talk between and behind its parts."""
    lines, talk = list[str](), False
    for number, line in enumerate(text.split("\n")):
        if not line.strip():
            continue
        if not line[0].isspace():
            talk = bool(number) and _HEAD.match(line) is None
        if not talk:
            lines.append(line.rstrip())
    return "\n".join(lines)
