"""The routers `hud` and `memory`: the way from what a model sent to an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from hudkit.compose import visible
from hudkit.errors import ConfigError, HudkitError, OperationError
from hudkit.hud import SessionCore
from hudkit.hud.frame import is_guided
from hudkit.log.event import Origin
from hudkit.tools.arguments import convert_arguments
from hudkit.tools.call_parsing import parse_call
from hudkit.tools.definitions import ROUTER_NAMES
from hudkit.tools.help import call_text, help_call, unknown_operation
from hudkit.tools.operation import OPERATIONS, Operation, OperationAlias, OperationResult, find_operation
from hudkit.tools.refusals import example_of_unknown, help_on, own_call, reading_of, with_example
from hudkit.tools.replaced_item import group_of_id, refuse_elsewhere
from hudkit.tools.spellings import field_names, looks_like_id, operation_of_group, resolve_operation
from hudkit.tools.user_request import MendedCall, mended_call

_CHANGES_AN_ITEM = frozenset(("remove", "complete", "resolve", "update", "supersede"))


class RouterReply(msgspec.Struct, frozen=True):
    """What a router says to the agent; `ok` is false where the call was refused or could not be recorded.

    `operation` is the one that was carried out; empty where none was.
    """

    text: str
    ok: bool
    answer: OperationResult | None = None
    operation: str = ""


def call(
    session: SessionCore,
    name: str,
    args: Mapping[str, Any] | None = None,
    *,
    origin: Origin = Origin.AGENT,
    router: str = "hud",
) -> OperationResult:
    """Carry out one operation under any of its names, and return its answer.

    `origin` is set by the channel, never by the arguments. Raises `OperationError`, whose text ends with a call that
    is right and does no harm, as `router` takes it, and a `StoreError` where nothing could be recorded.
    """
    operation, raw = find_operation(name), {} if args is None else args
    if operation is None:
        error = unknown_operation(name)
        raise with_example(error, example_of_unknown(error, name, raw, router))
    if isinstance(raw, Mapping):
        raw = field_names(operation, raw)
        # Of `blockers.remove {item: "c1"}` the item leaves no doubt; ids say what kind they are of.
        operation = _of_the_items_group(session, operation, raw)
    try:
        arguments = convert_arguments(operation, raw)
    except OperationError as error:
        raise with_example(error, own_call(error, operation, raw, router) or help_on(operation, router)) from None
    target, carried_out = operation.name, operation
    try:
        if isinstance(operation, OperationAlias):
            target, arguments = msgspec.structs.astuple(operation.to(arguments))
            carried_out = OPERATIONS[target]
        group, _, verb = target.partition(".")
        item = getattr(arguments, "id", ())
        names = item if isinstance(item, tuple) else (item,)
        for each in names if verb in _CHANGES_AN_ITEM else ():
            if isinstance(each, str):
                refuse_elsewhere(session.state, group, each)
        return cast("Operation", carried_out).run(session, arguments, origin)
    except OperationError as error:
        example = own_call(error, operation, raw, router) or reading_of(error, target, session, router)
        raise with_example(error, example) from None


def _of_the_items_group(
    session: SessionCore, operation: Operation | OperationAlias, args: Mapping[str, Any]
) -> Operation | OperationAlias:
    """The operation that does the same in the group of the one item that is named by its id alone."""
    group, _, verb = operation.name.partition(".")
    id = args.get("id")
    if verb not in ("remove", "complete", "resolve") or not looks_like_id(id) or len(args) > 1:
        return operation
    own = group_of_id(session.state, str(id), group)
    return (operation_of_group(own, verb) if own else None) or operation


def route(session: SessionCore, router: str, arguments: object, *, origin: Origin = Origin.AGENT) -> str:
    """Return the text for the agent of a router's call.

    `arguments` is what the model sent: an object, or its JSON text. Never raises for what an agent or the log's
    medium did wrong: the text says what and how to call it right.
    """
    return reply(session, router, arguments, origin=origin).text


def reply(session: SessionCore, router: str, arguments: object, *, origin: Origin = Origin.AGENT) -> RouterReply:
    """Return what `route` does, with whether it went well and the answer's data."""
    if router not in ROUTER_NAMES:
        raise ConfigError(f"there is no router {router!r}", hint=f"There are: {', '.join(ROUTER_NAMES)}")
    # Until the operation is known it may be one that writes: an agent must not believe that it was recorded.
    writes = True
    try:
        name, args = _read_call(arguments, router)
        operation = resolve_operation(name, args)
        writes = operation is None or operation.writes
        name = operation.name if operation is not None else name
        # Help lists first what this router is for, whichever was asked.
        if name == "help" and "router" not in args:
            args = {**args, "router": router}
        mended = _mended(session, operation, args) if operation is not None and origin is Origin.AGENT else None
        if mended is not None:
            name, args = mended.operation, mended.arguments
        answer = call(session, name, args, origin=origin, router=router)
    except OperationError as error:
        return RouterReply(str(error), False)
    except HudkitError as error:
        return RouterReply(f"{'not recorded' if writes else 'not available'}: {visible(str(error))}", False)
    if writes:
        session.looked_at_request = (session.known_state.session.request, _MOST_LOOKS)
    if mended is not None and mended.remark:
        answer = OperationResult(f"{answer.text} {mended.remark}", answer.data)
    return RouterReply(answer.text, True, answer, name)


def _mended(
    session: SessionCore, operation: Operation | OperationAlias, args: Mapping[str, Any]
) -> MendedCall | None:
    """The call in the place of the first with which a small model records what its user asks for.

    Each message is looked at until something is recorded, twice at most: who says the same again has it so. Raises
    `OperationError`.
    """
    if not operation.writes and not operation.name.endswith((".list", "search")):
        return None
    last_known = session.known_state
    if not is_guided(session.settings, session.model or last_known.window.model or last_known.session.model):
        return None
    state = session.state
    message, looks = session.looked_at_request
    looks = looks if message == state.session.request else 0
    session.looked_at_request = (state.session.request, looks + 1)
    return mended_call(state, operation.name, args) if looks < _MOST_LOOKS else None


_MOST_LOOKS = 2


def _read_call(arguments: object, router: str) -> tuple[str, Mapping[str, Any]]:
    try:
        return parse_call(arguments)
    except OperationError as error:
        operation = resolve_operation(str(error.details.get("about", "")), {})
        raise with_example(
            error, help_call(router, operation.name) if operation else call_text(router, "help", {})
        ) from None
