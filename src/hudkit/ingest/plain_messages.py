"""Messages as plain mappings, for programs that have no transcript of a host: checked, and told what would be
right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hudkit.errors import MessageError
from hudkit.ingest.first_seen import entry_key
from hudkit.ingest.tool_calls import neutral_part
from hudkit.transcripts import Message, Part, ReportedUsage, TextPart, ToolPart

_ROLES = ("user", "assistant")
_STATUSES = ("completed", "error", "running")

# Field: the type it must have, and how a hint names that.
_MESSAGE_FIELDS: Mapping[str, tuple[type, str]] = {
    "id": (str, "a text"),
    "role": (str, " or ".join(map(repr, _ROLES))),
    "text": (str, "a text"),
    "time": (int, "whole Unix milliseconds"),
    "model": (str, "a text"),
    "agent": (str, "a text"),
    "used_tokens": (int, "whole tokens"),
    "finished": (bool, "True or False"),
    "tool_calls": (list, "a list of mappings"),
}
_CALL_FIELDS: Mapping[str, tuple[type, str]] = {
    "id": (str, "a text"),
    "tool": (str, "the name of the tool"),
    "arguments": (dict, "a mapping"),
    "output": (str, "a text"),
    "error": (str, "a text"),
    "status": (str, "one of " + ", ".join(map(repr, _STATUSES))),
    "exit_status": (int, "a whole number"),
}


def read_plain_messages(values: Iterable[Mapping[str, Any] | Message]) -> tuple[Message, ...]:
    """Return messages from mappings; a `Message` is taken as it is.

    A mapping has `role` and, as far as they are known, `id`, `text`, `time` (Unix ms), `model`, `agent`,
    `used_tokens` (of the window, after a response), `finished` (default `True`) and `tool_calls`. A tool call has
    `tool` and, as far as they are known, `id`, `arguments`, `output`, `error`, `status` (default `completed`, with an
    `error` `error`) and `exit_status`. Tools of any agent are known by their names (`read_file`, `shell`, ...).

    Raises `MessageError`, which names the message by its number from 0, the field, and what would be right.

    >>> read_plain_messages([{"id": "m1", "role": "user", "text": "Never touch legacy/"}])[0].role
    'user'
    """
    messages = []
    places: dict[tuple[str, int], int] = {}
    for number, value in enumerate(values):
        message = value if isinstance(value, Message) else _message(value, number)
        known_by = (message.role, message.created)
        if message.created and known_by in places:
            # Role and time are what a message is known by, so that one of the two would be lost.
            other = places[known_by]
            raise _error(number, "time", f"is that of message {other}", "Give each its own, or leave `time` out")
        places[known_by] = number
        messages.append(message)
    return tuple(messages)


def _message(value: object, number: int) -> Message:
    fields = _checked(value, number, "", _MESSAGE_FIELDS)
    role, text = fields.get("role"), fields.get("text", "")
    if role not in _ROLES:
        raise _error(number, "role", f"is {role!r}", f"Give {_MESSAGE_FIELDS['role'][1]}")
    if fields.get("time", 0) < 0 or fields.get("used_tokens", 0) < 0:
        name = "time" if fields.get("time", 0) < 0 else "used_tokens"
        raise _error(number, name, f"is {fields[name]}", f"Give {_MESSAGE_FIELDS[name][1]} from 0, or leave it out")
    calls = [_call(call, number, place) for place, call in enumerate(fields.get("tool_calls", ()))]
    if calls and role == "user":
        raise _error(number, "tool_calls", "are in a user's message", "Give them in the assistant's message")
    id = fields.get("id") or entry_key(role, text, *(call.call_id for call in calls))
    parts: tuple[Part, ...] = ((TextPart(id, text),) if text else ()) + tuple(calls)
    used = fields.get("used_tokens")
    return Message(
        id,
        "",
        role,
        created=fields.get("time", 0),
        agent=fields.get("agent", ""),
        model=fields.get("model", ""),
        finish="stop" if role == "assistant" and fields.get("finished", True) else "",
        usage=None if used is None else ReportedUsage(total=used),
        parts=parts,
    )


def _call(value: object, number: int, place: int) -> ToolPart:
    lead = f"tool_calls[{place}]"
    fields = _checked(value, number, f"{lead}.", _CALL_FIELDS)
    tool, error = fields.get("tool"), fields.get("error", "")
    if not tool:
        raise _error(number, f"{lead}.tool", "is missing", "Give the name of the tool")
    status = fields.get("status") or ("error" if error else "completed")
    if status not in _STATUSES:
        raise _error(number, f"{lead}.status", f"is {status!r}", f"Give {_CALL_FIELDS['status'][1]}")
    id = fields.get("id") or f"call {place}"
    output = fields.get("output", "")
    metadata = {"exit": fields["exit_status"]} if "exit_status" in fields else {}
    part = ToolPart(
        id,
        tool,
        id,
        status,
        dict(fields.get("arguments", {})),
        output=output if status != "error" else "",
        error=(error or output) if status == "error" else "",
        metadata=metadata,
    )
    return neutral_part(part)


def _checked(value: object, number: int, lead: str, field_types: Mapping[str, tuple[type, str]]) -> Mapping[str, Any]:
    """The fields of a mapping that are given: each is known, and of its type."""
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        raise _error(number, lead.rstrip("."), f"is of type {kind}", "Give a mapping with " + ", ".join(field_types))
    fields = {}
    for name, field in value.items():
        if name not in field_types:
            raise _error(number, f"{lead}{name}", "is not known", "The fields are " + ", ".join(field_types))
        if field is None:
            continue
        if not _is_of_type(field, field_types[name][0]):
            raise _error(number, f"{lead}{name}", f"is {field!r:.80}", f"Give {field_types[name][1]}")
        fields[name] = field
    return fields


def _is_of_type(field: object, kind: type) -> bool:
    if kind is dict:
        return isinstance(field, Mapping)
    if kind is list:
        return isinstance(field, list | tuple)
    if kind is int:  # `True` is an `int` in Python
        return isinstance(field, int) and not isinstance(field, bool)
    return isinstance(field, kind)


def _error(number: int, field: str, fault: str, hint: str) -> MessageError:
    where = f"message {number}: `{field}`" if field else f"message {number}"
    return MessageError(f"{where} {fault}", hint=hint, number=number, field=field)
