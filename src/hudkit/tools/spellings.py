"""What models nearly write: other names of operations and of arguments, each with the one thing that it can mean.

An agent that means `notes.add {content}` writes `note_add`, `notes.create` or `add_note`, and `text`, `note` or
`message`. Nothing else can be meant, so it is understood. What could mean two things is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hudkit.tools.operation import OPERATIONS, Operation, OperationAlias, find_operation

# --- Names of operations: a group and a verb, in either order.


_GROUPS = {
    "note": "notes", "fact": "notes", "finding": "notes", "decision": "decisions", "step": "steps", "plan": "steps",
    "constraint": "constraints", "rule": "constraints", "rules": "constraints", "blocker": "blockers",
    "preference": "preferences", "like": "preferences",
    "error": "errors", "file": "files", "tasks": "steps", "goal": "task", "todo": "todos",
}  # fmt: skip
"""Other nouns of a group."""

_VERBS = {
    "add": ("add", "record", "set", "report", "edit"),
    "update": ("update", "edit"),
    "remove": ("remove", "close", "resolve"),
    "done": ("complete", "resolve", "remove"),
    "list": ("list", "get"),
    "reorder": ("reorder",),
    "supersede": ("supersede",),
    "confirm": ("confirm",),
}
"""What kinds of verbs there are, and the operations of a group that do it, the best first."""

_VERB_WORDS = {
    "add": "add create insert make new put record register report save set store write",
    "update": "update change correct edit modify rename revise reword rewrite",
    "remove": "remove cancel clear delete discard drop lift revoke withdraw",
    "done": "done check close complete completed finish finished fix fixed resolve resolved solve solved",
    "list": "list all get read show view",
    "reorder": "reorder arrange move order prioritize rearrange sort",
    "supersede": "supersede replace",
    "confirm": "confirm accept approve",
}
_KINDS = {word: kind for kind, words in _VERB_WORDS.items() for word in words.split()}

_WITHOUT_DONE = ("notes", "constraints", "preferences", "decisions", "files")
"""Groups of which nothing is ever done: to remove a rule is not to fulfil it."""

_FILLERS = frozenset(
    (
        "a", "an", "the", "as", "to", "in", "my", "our", "hud", "memory", "mark", "current", "key", "next",
        "active",
    )
)  # fmt: skip
"""Words in a name that say nothing about which operation is meant."""

_OUR_NOUNS = frozenset(("constraint", "rule", "preference", "blocker", "step", "decision", "note"))
"""Nouns that no tool of a host has; `update_plan` and `read_file` are tools of several."""

_ALONE = {
    "find": "search", "lookup": "search", "recall": "search", "grep": "search",
    "remember": "notes.add", "memorize": "notes.add",
    "state": "snapshot", "status": "snapshot", "list": "snapshot", "read": "snapshot", "show": "snapshot",
}  # fmt: skip
"""Words that name an operation without a group."""

_LISTS = frozenset(("sessions", "messages", "compactions"))
"""Operations that are a list themselves: `sessions.list`."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def resolve_operation(name: str, args: Mapping[str, Any]) -> Operation | OperationAlias | None:
    """Return the operation that a name means, in any spelling, or `None` where none or several could be meant."""
    exact = find_operation(name) or find_operation(name.strip().casefold().removeprefix("hud."))
    if exact is not None and exact.name in ("history", "messages") and _looks_for(exact.name, args):
        return OPERATIONS["search"]
    if exact is not None and exact.name.endswith(".get") and _asks_for_group(exact, args):
        return OPERATIONS.get(exact.name.removesuffix("get") + "list", exact)
    if exact is not None:
        return exact
    words = [word.casefold() for word in _WORD.findall(name)]
    words = [word for word in words if word not in _FILLERS] or words
    if len(words) == 1:
        return find_operation(words[0]) or _of_one_word(words[0], args)
    if any(_ALONE.get(word, word) == "search" for word in words):
        return OPERATIONS["search"]
    if len(words) == 2:
        first, second = words
        return operation_of_group(_group(first), second) or operation_of_group(_group(second), first)
    return None


def is_operation_name(name: str) -> bool:
    """Return whether a name that is no tool's can only be an operation of the HUD: `notes.add`, `add_note`.

    `read_file` or `search` is more likely a tool of another host.
    """
    if find_operation(name) is not None:
        return "." in name or name.startswith("hud_") or name == "undo"
    group, point, _ = name.partition(".")
    words = {word.casefold().removesuffix("s") for word in _WORD.findall(name)}
    is_of_group = point == "." and (f"{group}.list" in OPERATIONS or group in (*_LISTS, "tasks"))
    return (is_of_group or not words.isdisjoint(_OUR_NOUNS)) and resolve_operation(name, {}) is not None


def is_bare_verb(name: str) -> bool:
    """Return whether a name says what is to be done and not to what: every group would be a guess."""
    return name.strip().casefold() in _KINDS


def _group(word: str) -> str:
    return _GROUPS.get(word, word)


def operation_of_group(group: str, verb: str) -> Operation | OperationAlias | None:
    """Return the operation of a group that a verb means, in any word for it; `None` where there is none."""
    exact = find_operation(f"{group}.{verb}")
    kind = _KINDS.get(verb, "")
    if exact is not None or not kind or (kind == "done" and group in _WITHOUT_DONE):
        return exact
    if kind == "list" and group in OPERATIONS:
        return OPERATIONS[group]
    # Who clears the task says that there is none; "task.complete" could also mean its last step.
    verbs = ("clear",) if (group, kind) == ("task", "remove") else _VERBS[kind]
    if (group, kind) == ("decisions", "update"):
        verbs = ("supersede",)
    return next((each for each in (OPERATIONS.get(f"{group}.{verb}") for verb in verbs) if each), None)


def _of_one_word(word: str, args: Mapping[str, Any]) -> Operation | OperationAlias | None:
    says = any(key in _TEXT_NAMES or key in _LIST_NAMES for key, value in args.items() if value)
    if word in _ALONE:
        named = find_operation(_ALONE[word])
        needs_text = named is not None and text_field(named) != ""
        return named if says or not needs_text else None
    return operation_of_group(_group(word), "add" if says else "list")


# --- Names of arguments: the text that is recorded, the item that is meant, the reason.


_TEXT_FIELDS = ("content", "description", "summary", "text", "message", "note", "decision", "step", "blocker", "path",
                "file", "query", "value")  # fmt: skip
"""Fields that are an operation's one text, the first that it has."""

_ITEM_FIELDS = ("id", "ids", "operation", "section", "seq", "read", "session", "name", "a")
"""Fields that say which item, section, session … is meant, the first that an operation has."""

_LIST_NAMES = frozenset(
    (
        "texts", "items", "notes", "decisions", "steps", "blockers", "constraints", "rules", "errors", "facts",
        "paths", "files",
    )
)  # fmt: skip
_TEXT_NAMES = frozenset(
    (
        "text", "content", "contents", "description", "summary", "message", "value", "body", "title", "fact",
        "task", "note", "decision", "step", "blocker", "constraint", "rule", "error", "query", "q", "words", "path",
        "file", "filename", "filepath", "file_path",
    )
)  # fmt: skip
_ITEM_NAMES = frozenset(
    (
        "item", "items", "id", "ids", "name", "which", "target", "entry", "key", "number", "index",
    )
)  # fmt: skip
_QUERY_NAMES = frozenset(("query", "q", "words"))
_DETAIL_NAMES = frozenset(["details", "detail", "reason", "why", "rationale", "because", "explanation"])
_LONGER_NAMES = frozenset(["description", "content", "text", "body", "context"])
_EMPHASIS = frozenset(
    ("active", "always", "enabled", "important", "mandatory", "must", "permanent", "persistent", "pinned", "required")
)
"""Marks that say no more of a new entry than that it holds: `{"rule": "…", "must": true}`."""
_SCHEMA_TYPES = ("string", "text", "str")
"""A value of `type` that a model copied from the definition, where it says nothing of the entry."""
THIS_SESSION = frozenset(("", "this", "current", "default", "now", "today", "this session", "current session"))
"""What models write for the session that they are in; no host has such ids."""
_SAID_OF_A_LIST = frozenset(
    (*_QUERY_NAMES, "text", "item", "items", "id", *_DETAIL_NAMES, "type", "properties", "required")
)
"""What is said of a list that has no place for it; the last three are copied from the definition."""
_SHOWN_AS_TEXT = ("content", "description", "summary", "text", "message")
_ID = re.compile(r"[a-z]{0,3}-?\d+")
_JOINED = " — "
"""Between a text and the details of an operation that has no place of their own for them."""


def text_field(operation: Operation | OperationAlias) -> str:
    """Return the field that takes what is recorded or looked for; empty where there is none."""
    fields = operation.arguments.__struct_fields__
    if operation.name in ("files.close", "message"):
        return ""
    return next((name for name in _TEXT_FIELDS if name in fields), "")


def item_field(operation: Operation | OperationAlias) -> str:
    """Return the field that says what is meant; empty where there is none."""
    fields = operation.arguments.__struct_fields__
    if operation.name == "search":
        return ""
    if operation.name == "files.close":
        return "path"
    return next((name for name in _ITEM_FIELDS if name in fields), "")


def shown_name(operation: Operation | OperationAlias, field: str) -> str:
    """Return the name by which models are told of a field: the one of the tool's definition, where it has one."""
    if isinstance(operation, OperationAlias):
        return field
    if field in ("id", "ids") or (operation.name, field) == ("help", "operation"):
        return "items" if field == "ids" else "item"
    return "text" if field == text_field(operation) and field in _SHOWN_AS_TEXT else field


def shown_arguments(operation: Operation | OperationAlias, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments under the names by which models are told of them."""
    return {shown_name(operation, name): value for name, value in args.items()}


def field_names(operation: Operation | OperationAlias, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments under the names of the operation's fields; what cannot be placed keeps its name.

    Nothing is placed in a field that is given, and what is empty says nothing unless it is under a field's own name.
    """
    fields = operation.arguments.__struct_fields__
    raw = {str(name): value for name, value in raw.items()}
    placed = {name: value for name, value in raw.items() if name in fields}
    others = {name: value for name, value in raw.items() if name not in fields and value not in (None, "", [])}
    for name in tuple(others):
        own = next((each for each in fields if _folded(each) in (_folded(name), _folded(name).removesuffix("s"))), "")
        if own and own not in placed:
            placed[own] = others.pop(name)
    text, item = text_field(operation), item_field(operation)
    _place_key(raw, others, placed, item)
    ids, nouns = _own_names(operation, item)
    has_text = any(others.get(name) for name in _TEXT_NAMES)
    if has_text and item in ("id", "ids") and str(others.get("item", "")).casefold() in nouns:
        del others["item"]  # "notes" is the group and no note
    for target, names in (
        (text, frozenset(("new", "new_text", "replacement", *(f"new_{noun}" for noun in nouns)))),
        (item, _ITEM_NAMES | ids),
        # Of `notes.update {note, content}`, the note is which one; of `notes.add {note}`, it is what to record.
        (item, nouns),
        (text, _TEXT_NAMES | _LIST_NAMES),
        # Without a text of its own, the text says which item; and the other way round.
        (item, (_TEXT_NAMES | _LIST_NAMES) - (frozenset() if operation.writes else _QUERY_NAMES)),
        (text, _ITEM_NAMES),
    ):
        _place(others, placed, target, names)
    if (
        operation.name.endswith(".update")
        and set(raw) <= nouns
        and len(str(placed.get(item)).split()) >= _MIN_SENTENCE
    ):
        placed[text] = placed.pop(item)  # `notes.update {note}` alone: a sentence is what it says from now on
    _place_details(operation, others, placed, text)
    if text in placed and not item:
        others = {name: value for name, value in others.items() if not _says_nothing(name, value)}
    if operation.name == "messages" and (last := _LAST.fullmatch(str(others.get("query", "x")))):
        del others["query"]
        placed.setdefault("limit", int(last[1]) if (last[1] or "").isdigit() else _LAST_MESSAGES)
    seq = placed.get("seq")
    if operation.name == "undo" and isinstance(seq, str) and not seq.strip().lstrip("-").isdigit():
        placed.setdefault("item", placed.pop("seq"))  # words say what the last change was of
    if operation.name == "sessions":
        others = {name: value for name, value in others.items() if name not in (*_QUERY_NAMES, "session", "item")}
    if str(others.get("session", "")).casefold() in THIS_SESSION:
        others.pop("session", None)  # every call is of this session
    if operation.name.endswith(".list"):
        # A list shows all of them, also those that were asked for: by a text, an item, or a reason for it.
        group = operation.name.partition(".")[0]
        of_list = {name for name in others if name in _SAID_OF_A_LIST or _group(name.casefold()) == group}
        others = {name: v for name, v in others.items() if name not in of_list or looks_like_id(v)}
    if operation.writes and item in placed and not text:
        # Which item it is was said; what else is said of it changes nothing.
        others = {name: value for name, value in others.items() if name not in _TEXT_NAMES | _DETAIL_NAMES}
    elif text in placed and not item and looks_like_id(others.get("item")):
        # A new entry has no id yet; one that was made up says nothing.
        del others["item"]
    elif text in placed and not item and _is_part(others.get("item"), placed[text]):
        # Neither do words of the text itself.
        del others["item"]
    elif operation.writes and text in placed and not item and isinstance(others.get("name"), str):
        _put_label(placed, text, others.pop("name"))
    return {**{name: _plain(value) for name, value in placed.items()}, **others}


_LAST = re.compile(
    r"\W*(?:the |my |our |all )?(?:last|latest|newest|recent|previous)? ?([1-9]\d?|few)? ?(?:messages|turns)?\W*",
    re.IGNORECASE,
)
"""A query that asks for the newest messages and for no words: "the last 10 messages"."""


_LAST_MESSAGES = 20
"""As many as `messages` shows without being told."""
_MIN_SENTENCE = 3
"""Words from which on the name of an item is what it is to say."""


def _looks_for(name: str, args: Mapping[str, Any]) -> bool:
    queries = [str(args[key]) for key in _QUERY_NAMES if args.get(key)]
    return any(name != "messages" or not _LAST.fullmatch(query) for query in queries)


def _asks_for_group(operation: Operation | OperationAlias, args: Mapping[str, Any]) -> bool:
    """Whether the one item that is asked for is the whole group: `decisions.get {"item": "decisions"}`."""
    group = operation.name.partition(".")[0]
    values = [value for value in args.values() if value]
    return len(values) == 1 and str(values[0]).strip().casefold() in (
        "all",
        "everything",
        "list",
        group,
        f"all {group}",
    )


def _says_nothing(name: str, value: Any) -> bool:
    return (name in _EMPHASIS and value is True) or (name == "type" and value in _SCHEMA_TYPES)


def _is_part(value: Any, text: Any) -> bool:
    return isinstance(value, str) and isinstance(text, str) and value.strip().casefold() in text.casefold()


def _put_label(placed: dict[str, Any], text: str, label: str) -> None:
    """Put a name that a model gave a new entry before what it says, so that it is not lost."""
    says = placed[text]
    if isinstance(says, str) and not _is_part(label.replace("_", " "), says):
        placed[text] = f"{label}: {says}"


def looks_like_id(value: object) -> bool:
    """Return whether a value can only be meant as an item's id: `d1`, `12`."""
    return isinstance(value, str) and _ID.fullmatch(value.strip()) is not None


def _place_key(raw: Mapping[str, Any], others: dict[str, Any], placed: dict[str, Any], item: str) -> None:
    """Take the one key that is an id for the item, and what stands there for the text: `{"s4": "Paint it grey"}`."""
    keys = [name for name in raw if looks_like_id(name)]
    if len(keys) != 1 or item not in ("id", "ids") or item in placed or set(others) & _ITEM_NAMES:
        return
    placed[item] = keys[0]
    value = others.pop(keys[0], None)
    if value not in (None, True, {}):
        others.setdefault("text", value)


def _place(others: dict[str, Any], placed: dict[str, Any], target: str, names: frozenset[str]) -> None:
    """Put the one value under one of these names in the target, where that is free."""
    names_given = [name for name in others if name in names or name.casefold() in names]
    if target and target not in placed and len(names_given) == 1:
        placed[target] = others.pop(names_given[0])


def _place_details(
    operation: Operation | OperationAlias, others: dict[str, Any], placed: dict[str, Any], text: str
) -> None:
    """Put the reason where the operation takes one; else behind the text, so that it is not lost.

    A reason alone is the text: a model that was asked to record something with its reason writes both in one.
    """
    fields = operation.arguments.__struct_fields__
    all_names = [*placed, *others]
    if operation.writes and text and len(all_names) == 1 and all_names[0] in _DETAIL_NAMES:
        placed[text] = placed.pop(all_names[0], None) or others.pop(all_names[0])
        return
    if operation.name.endswith(".update") and text and text not in placed:
        _place(others, placed, text, _DETAIL_NAMES)  # the item is named, and this is all that is said of it
        return
    # Beside a summary, a description is what it says beyond it.
    names = _DETAIL_NAMES | (_LONGER_NAMES if "details" in fields and text in placed else frozenset())
    names_given = [name for name in others if name in names]
    if len(names_given) != 1:
        return
    own = next((name for name in ("details", "reason") if name in fields and name not in placed), "")
    if own:
        placed[own] = others.pop(names_given[0])
    elif operation.writes and isinstance(placed.get(text), str) and isinstance(others[names_given[0]], str):
        placed[text] += _JOINED + others.pop(names_given[0])


def _own_names(operation: Operation | OperationAlias, item: str) -> tuple[frozenset[str], frozenset[str]]:
    """Names for the id of an item of this group, and the nouns of the group where it has items."""
    group = operation.name.partition(".")[0]
    single = group.removesuffix("s")
    ids = frozenset((f"{single}_id", f"{single}Id", f"{group}_id", "item_id", "itemId"))
    return ids, frozenset((single, group)) if item in ("id", "ids", "path") else frozenset()


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _plain(value: Any) -> Any:
    """An entry of a list that is an object with one text, as that text."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_one_text(entry) for entry in value]
    return value


def _one_text(entry: Any) -> Any:
    if isinstance(entry, Mapping) and len(entry) == 1:
        ((name, value),) = entry.items()
        return value if name in _TEXT_NAMES and isinstance(value, str) else entry
    return entry
