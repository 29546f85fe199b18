"""Carrying out a reply: each response and each action judged alone, and what came of it told."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import Any, get_args, get_type_hints

import msgspec
from msgspec.structs import fields

from hudkit.compose import shorten
from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.log.redact import redact
from hudkit.rooms import world_events as e
from hudkit.rooms.actions.action import ACTIONS, ActionArguments, ActionContext, PositiveId
from hudkit.rooms.actions.room_actions import post_message, visible_message
from hudkit.rooms.reply_parser import ParsedReply, is_silence
from hudkit.rooms.world import World
from hudkit.rooms.world_log import Transaction

MAX_VALUE_CHARACTERS = 160
"""Characters of one value of an action, as its agent sees it among its recent actions."""

SEND_MESSAGE = "send_message"
"""An action that is a response (003 has both)."""

_PROOF = "[key]"
_FIELDS, _NAME = 12, 40  # fields of an action, and characters of a field's name


class _ResponseArguments(ActionArguments, frozen=True):
    room_id: PositiveId
    message: str = ""
    content: str = ""
    reply_to: PositiveId | None = None


def execute_reply(
    commit: Transaction, world: World, agent_id: int, number: int, reply: ParsedReply, now: int
) -> None:
    """Do what a reply asks for, actions first, then responses (003). `agent_id` is who was asked, `number` its beat,
    `now` Unix ms.

    Tells `Applied` and then its effects for an action that is carried out, what was said for a response, and
    `Refused` with the reason for what is not done, and for each fault of the reply. Never raises for what an agent
    wrote.
    """
    turn = ActionContext(world, agent_id, now, commit.secret)
    if world.agents[agent_id].retired:
        _refuse(commit, turn, number, {}, "you were retired")
        return
    for fault in reply.faults:
        _refuse(commit, turn, number, {}, fault)
    for raw in reply.actions:
        _carry(commit, turn, number, raw)
    for raw in reply.responses:
        _carry(commit, turn, number, {"type": SEND_MESSAGE, **raw})


def evaluate_action(turn: ActionContext, raw: Mapping[str, Any]) -> None:
    """Judge one action; its effects are in the turn then. Raises `OperationError` where it is refused."""
    turn.begin()
    name = raw.get("type")
    if name == SEND_MESSAGE:
        _respond(turn, _arguments(_ResponseArguments, raw, "a response", {"room_id": 8, "message": "Hello!"}))
        return
    known = ACTIONS.get(name) if isinstance(name, str) else None
    if known is None:
        near = get_close_matches(str(name), ACTIONS, 1)
        hint = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(ACTIONS)}"
        raise OperationError(f"there is no action {str(name)!r:.60}", hint=hint)
    known.run(turn, _arguments(known.arguments, raw, f'"{name}"', known.example))


def _respond(turn: ActionContext, args: _ResponseArguments) -> None:
    if args.message and args.content and args.message != args.content:
        raise OperationError("it has a message and another content", hint="Only one of them")
    content = args.message or args.content
    if is_silence(content):
        return
    post_message(
        turn, args.room_id, content, visible_message(turn, args.reply_to, args.room_id) if args.reply_to else None
    )


def _arguments(kind: type[msgspec.Struct], raw: Mapping[str, Any], what: str, example: Mapping[str, Any]) -> Any:
    """The arguments of an action. Fields that it does not have are refused, but for empty ones: cells of a table. An
    empty one that need not be given is not."""
    needed = _needed(kind)
    given = {key: raw[key] for key in raw if key in needed or (key != "type" and raw[key] not in (None, ""))}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        right = msgspec.json.encode(example).decode()
        raise OperationError(f"{what}: {error}{_choice(kind, str(error))}", hint=f"Such as {right}") from None


@cache
def _needed(kind: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind) if field.required)


def _choice(kind: type[msgspec.Struct], error: str) -> str:
    """What there is to choose from, where a value is none of it."""
    field = error.rpartition("`$.")[2].rstrip("`")
    choice = get_args(get_type_hints(kind).get(field)) if error.startswith("Invalid enum value") else ()
    return f", which is one of {', '.join(choice)}" if choice else ""


def _carry(commit: Transaction, turn: ActionContext, number: int, raw: Mapping[str, Any]) -> None:
    raw = _clean(raw)
    try:
        evaluate_action(turn, raw)
    except OperationError as refusal:
        for effect in turn.anyway:
            commit.tell(effect, at=turn.now, origin=Origin.AGENT)
        _refuse(commit, turn, number, action_as_shown(raw), str(refusal))
        return
    if raw.get("type") != SEND_MESSAGE:
        _tell(commit, turn, e.ActionApplied(turn.by, number, action_as_shown(raw)))
    for effect in turn.effects:
        _tell(commit, turn, effect)
    for agent, text in turn.whispers:
        commit.whisper(agent, text)


def _refuse(commit: Transaction, turn: ActionContext, number: int, action: dict[str, Any], why: str) -> None:
    _tell(commit, turn, e.ActionRefused(turn.by, number, action, why))


def _tell(commit: Transaction, turn: ActionContext, what: e.WorldEvent) -> None:
    commit.tell(what, at=turn.now, origin=Origin.AGENT)


def _clean(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """An action without secrets, so that what is judged is what is told; a key that is tried is neither."""
    if raw.get("type") == "request_access":
        return raw
    body = msgspec.json.encode(raw)
    clean = redact(body)
    return raw if clean is body else msgspec.json.decode(clean)


def action_as_shown(raw: Mapping[str, Any]) -> dict[str, Any]:
    """An action as its agent sees it afterwards: long values cut, a key that was tried left out."""
    tried = raw.get("type") == "request_access"
    return {
        shorten(key, _NAME): _PROOF if tried and key not in ("type", "room_id") else _short(value)
        for key, value in islice(raw.items(), _FIELDS)
    }


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return shorten(value, MAX_VALUE_CHARACTERS)
    if isinstance(value, dict | list):
        text = msgspec.json.encode(value).decode()
        return value if len(text) <= MAX_VALUE_CHARACTERS else shorten(text, MAX_VALUE_CHARACTERS)
    return value
