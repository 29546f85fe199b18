"""The call that a refusal shows. Models copy it, so it must be right and must do no harm.

It is the agent's own call with one thing put right, with "…" where its own words are missing (which is refused when
it is sent), or a call that only reads. It never has words or items that the agent did not name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, cast

from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.tools.arguments import PLACEHOLDER, convert_arguments
from hudkit.tools.help import call_text, help_call
from hudkit.tools.operation import OPERATIONS, Operation, OperationAlias, find_operation
from hudkit.tools.spellings import field_names, is_bare_verb, shown_arguments

_TAKES_AWAY = frozenset(
    {"clear", "hud_clear", "update", "hud_update", "undo", "import"}
    | {"remove", "supersede", "complete", "resolve", "resume", "close"}
)
"""Operations, or their last word, that end, replace or take something over: they are shown only where the agent's
words leave no doubt that it meant them."""

_OF_MANY = frozenset(
    {"clear", "hud_clear", "update", "hud_update", "undo", "import", "task.resume", "decisions.supersede"}
)
"""Operations that change what their arguments do not name one by one: no refusal shows a call of them."""

_SAME_WORDS = {"remove": ("delete", "drop", "withdraw", "discard"), "complete": ("done", "finish", "close", "check")}
"""Other words that agents have for an operation of a group."""

_READ_INSTEAD = {
    "task.resume": "sessions",
    "task": "task.get",
    "project": "project.get",
    "undo": "history",
    "output": "messages",
    "message": "messages",
    "compare": "sessions",
}
"""What an operation or a group is read with that has no `list` of its own; for all others, the whole state."""

_SAME_SPELLING = 0.75
"""From this likeness on (0 to 1) a word is a misspelling of another, not another word."""


def own_call(error: OperationError, operation: Operation | OperationAlias, raw: object, router: str) -> str | None:
    """Return the agent's own call with the one thing put right that was wrong in it, or `None`."""
    details = error.details
    if not isinstance(raw, Mapping) or operation.name in _OF_MANY:
        return None
    if "missing" in details:
        return _with_placeholder(operation, raw, str(details["missing"]), router)
    if "rename" in details:
        wrong, right = str(details["wrong"]), str(details["rename"])
        # `{"except": "n1"}` is not `{"item": "n1"}`, though removing has no other argument.
        if _takes_away(operation.name) and not get_close_matches(right, (wrong,), 1, _SAME_SPELLING):
            return None
        return _repeated(operation, {right if key == wrong else key: value for key, value in raw.items()}, router)
    if "right" in details:
        mended = {key: _put(value, details["wrong"], details["right"]) for key, value in raw.items()}
        return _repeated(operation, mended, router)
    # What is not known is left out, where that cannot make the call do more than the agent wanted.
    part = {key: value for key, value in raw.items() if key in operation.arguments.__struct_fields__}
    if _takes_away(operation.name) or part == raw:
        return None
    return _repeated(operation, part, router)


def _with_placeholder(
    operation: Operation | OperationAlias, raw: Mapping[str, Any], missing: str, router: str
) -> str | None:
    """The agent's own call with "…" for the argument that it lacks; sent like this, it is refused."""
    stand_in = dict.fromkeys((missing,), "x")
    if not _fits(operation, {**raw, **stand_in}) or _repeated(operation, {**raw, **stand_in}, router) is None:
        return None
    return call_text(router, operation.name, {**raw, missing: PLACEHOLDER})


def _repeated(operation: Operation | OperationAlias, args: object, router: str) -> str | None:
    """A call of an operation with the agent's own arguments; `None` where it would not be right, or not the same.

    Without arguments it is shown only where it reads.
    """
    if not isinstance(args, Mapping) or not _fits(operation, args):
        return None
    if not args and (operation.writes or operation.name in _READ_INSTEAD):
        return None
    # Of help, the router is ours: `reply` puts it there.
    if operation.name == "help":
        args = {key: value for key, value in args.items() if key != "router"}
    text = call_text(router, operation.name, args)
    try:
        shown = json.loads(text[len(router) + 1 : -1])
    except ValueError:
        return None
    # A long text is shortened there and a secret is left out: sent so, it would be recorded so.
    return text if shown == {"operation": operation.name, **shown_arguments(operation, args)} else None


def help_on(operation: Operation | OperationAlias, router: str) -> str:
    """Return a call that tells how an operation is called right; one that reads without arguments is shown itself."""
    if not operation.writes and operation.name not in _READ_INSTEAD and _fits(operation, {}):
        return call_text(router, operation.name, {})
    return help_call(router, operation.name)


def reading_of(error: OperationError, name: str, session: SessionCore, router: str) -> str:
    """Return a call that shows what there is, after an operation of this name was refused for what is there."""
    if "instead" in error.details:
        return call_text(router, *cast("tuple[str, Mapping[str, Any]]", error.details["instead"]))
    operation = OPERATIONS[name]
    if not operation.writes and name not in _READ_INSTEAD:
        return help_on(operation, router)
    group = name.partition(".")[0]
    shows = _READ_INSTEAD.get(name) or _READ_INSTEAD.get(group)
    if shows in ("sessions", "messages") and session.past is None:
        shows = "history"
    return call_text(router, shows or (f"{group}.list" if f"{group}.list" in OPERATIONS else "snapshot"), {})


def example_of_unknown(error: OperationError, name: str, raw: object, router: str) -> str:
    """Return the call of the nearest operation that takes these arguments, else one of help."""
    near = [match for match in map(find_operation, cast("list[str]", error.details["near"])) if match is not None]
    if not near or is_bare_verb(name):
        return call_text(router, "help", {})
    for operation in (each for each in near if each.name not in _OF_MANY):
        meant = not _takes_away(operation.name) or _means(name, operation.name)
        args = field_names(operation, raw) if isinstance(raw, Mapping) else raw
        text = _repeated(operation, args, router) if meant else None
        if text is not None:
            return text
    group, point, _ = near[0].name.partition(".")
    return help_call(router, group if point else near[0].name)


def _takes_away(name: str) -> bool:
    return name in _TAKES_AWAY or ("." in name and name.rpartition(".")[2] in _TAKES_AWAY - {"update"})


def _means(word: str, name: str) -> bool:
    """Whether a name that is no operation says the same as one that is, in its last word."""
    word, name = word.rpartition(".")[2].casefold(), name.rpartition(".")[2]
    return word in _SAME_WORDS.get(name, ()) or bool(get_close_matches(word, (name,), 1, _SAME_SPELLING))


def _fits(operation: Operation | OperationAlias, raw: object) -> bool:
    try:
        convert_arguments(operation, raw)
    except OperationError:
        return False
    return True


def _put(value: object, wrong: object, right: object) -> object:
    # Without the type, 1 and True would be the same.
    if type(value) is type(wrong) and value == wrong:
        return right
    return [_put(entry, wrong, right) for entry in value] if isinstance(value, list | tuple) else value


def with_example(error: OperationError, example: str) -> OperationError:
    """Return the error with a call behind its hint."""
    hint = f"{error.hint} Example: {example}".strip()
    return OperationError(error.message, hint=hint, **{**error.details, "example": example})
