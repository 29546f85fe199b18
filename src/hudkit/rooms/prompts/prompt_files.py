"""Which prompts there are, and what a text must be to be one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import msgspec

from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.rooms.world import WorldRules


def prompt_error(place: str, line: int, what: str, hint: str = "") -> ConfigError:
    """`place` is a file, or a prompt's name; `line` counts from 1."""
    return ConfigError(f"{place}:{line}: {what}", hint=hint, file=place, line=line)


def suggestion(word: str, known: tuple[str, ...]) -> str:
    """A hint: what was probably meant, or all that there is."""
    near = get_close_matches(word, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}"


PLACEHOLDERS: Mapping[str, Callable[[WorldRules], float]] = {
    "fastest": lambda rules: rules.tempo.least,
    "slowest": lambda rules: rules.tempo.most,
    "step": lambda rules: rules.tempo.step,
    "least_wpm": lambda rules: rules.words.least_wpm,
    "most_wpm": lambda rules: rules.words.most_wpm,
    "least_words": lambda rules: rules.words.least,
    "most_words": lambda rules: rules.words.most,
    "name": lambda rules: rules.caps.name,
    "message": lambda rules: rules.caps.message,
    "knowledge": lambda rules: rules.tokens.knowledge,
    "actions": lambda rules: rules.tokens.actions,
}
"""What may stand between the braces, and the number it becomes."""

_PLACEHOLDER = re.compile(r"\{\{([^{}\n]*)\}\}")


def fill_placeholders(text: str, rules: WorldRules) -> str:
    """The text with every known place filled in."""
    return _PLACEHOLDER.sub(
        lambda found: f"{PLACEHOLDERS[found[1]](rules):g}" if found[1] in PLACEHOLDERS else found[0], text
    )


def unknown_placeholders(text: str) -> Iterator[tuple[int, str]]:
    """Offset and name of each place that there is not."""
    for found in _PLACEHOLDER.finditer(text):
        if found[1] not in PLACEHOLDERS:
            yield found.start(), found[1]


ACTION_CATEGORIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "knowledge_management": {"set": ("path", "value", "w"), "delete": ("path",), "append": ("path", "value")},
    "social_interactions": {"react": ("message_id", "reaction"), "wake_agent": ("agent_id",)},
    "messaging": {"reply": ("room_id", "message_id", "message")},
    "room_management": {"set_billboard": ("message",), "clear_billboard": (), "set_wpm": ("wpm",)},
    "access_control": {
        "create_key": ("label", "uses", "for_agent"),
        "revoke_key": ("label",),
        "request_access": ("room_id", "key"),
        "grant_access": ("request_id",),
        "deny_access": ("request_id",),
        "leave_room": ("room_id",),
    },
    "attention": {"set_attention": ("room_id", "value")},
    "identity": {"set_name": ("name",)},
    "timing": {"sleep": ("until",)},
    "agent_management": {
        "create_agent": ("name", "background_prompt", "agent_type", "in_room_id"),
        "alter_agent": ("agent_id", "background_prompt", "name", "model"),
        "retire_agent": ("agent_id",),
    },
}
"""The categories, the actions of each, and their arguments (003): the schema of the help."""

GATED_CATEGORY = "agent_management"
"""Shown to agents only that may make others."""

_HEADER = re.compile(r"^\s*\[+\s*([\w.-]+)\s*\]+", re.MULTILINE)
_ERROR_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class ActionCategory(msgspec.Struct, frozen=True):
    """`actions` are as an agent sees them: a `type`, and what each argument is."""

    name: str
    description: str
    actions: tuple[dict[str, str], ...]


def read_actions(text: str, place: str = "actions") -> tuple[ActionCategory, ...]:
    """The help that a TOML text says, in its order. Raises `ConfigError` with `place` and line."""
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(text, place, str(error)) from None
    return tuple(_category(name, found[name], text, place) for name in found)


def _category(name: str, value: object, text: str, place: str) -> ActionCategory:
    line = _line(text, name)
    if name not in ACTION_CATEGORIES:
        raise prompt_error(place, line, f"there is no category {name!r}", suggestion(name, tuple(ACTION_CATEGORIES)))
    if not isinstance(value, dict) or not isinstance(value.get("description"), str):
        raise prompt_error(place, line, f"[{name}] has no description", 'Add description = "…"')
    for key in value.keys() - {"description", "actions"}:
        raise prompt_error(place, line, f"[{name}] has {key!r}", suggestion(key, ("description", "actions")))
    actions = value.get("actions", [])
    if not isinstance(actions, list):
        raise prompt_error(place, line, f"{name}.actions is no list", f"Write each as [[{name}.actions]]")
    return ActionCategory(
        name, value["description"], tuple(_action(name, n, one, text, place) for n, one in enumerate(actions))
    )


def _action(category: str, number: int, value: object, text: str, place: str) -> dict[str, str]:
    line = _line(text, f"{category}.actions", number)
    known = ACTION_CATEGORIES[category]
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        raise prompt_error(place, line, "an action without a type", suggestion("", tuple(known)))
    if kind not in known:
        raise prompt_error(place, line, f"{category} has no action {kind!r}", suggestion(kind, tuple(known)))
    for key, what in value.items():
        if key != "type" and key not in known[kind]:
            raise prompt_error(
                place, _key_line(text, line, key), f"{kind} has no argument {key!r}", suggestion(key, known[kind])
            )
        if not isinstance(what, str):
            raise prompt_error(place, _key_line(text, line, key), f"{key} is no text", "Say in quotes what it is")
    return {"type": kind, **{key: what for key, what in value.items() if key != "type"}}


def _line(text: str, table: str, number: int = 0) -> int:
    """Where a table, the `number`-th of its name, begins; 1 where it is written in another way."""
    starts = [found.start(1) for found in _HEADER.finditer(text) if found[1] == table]
    return text.count("\n", 0, starts[number]) + 1 if number < len(starts) else 1


def _key_line(text: str, line: int, key: str) -> int:
    """Where a key stands at or after a line."""
    for number, one in enumerate(text.splitlines()[line - 1 :], line):
        if one.split("=")[0].strip().strip("\"'") == key:
            return number
    return line


def _unreadable(text: str, place: str, message: str) -> ConfigError:
    found = _ERROR_PLACE.search(message)
    line = int(found[1]) if found and found[1] else text.count("\n") + 1
    return prompt_error(
        place, line, f"no TOML: {_ERROR_PLACE.sub('', message)}", "Compare it with hudkit's own actions.toml"
    )


PROMPTS: Mapping[str, str] = {
    "directives.rooms": "Rooms as conversations; everyone reads it.",
    "directives.collaboration": "Working together; everyone reads it.",
    "directives.communication": "What is worth saying; everyone reads it.",
    "instructions.app": "What a HUD is and how to answer it; everyone reads it.",
    "instructions.persona": "The two layers of a persona: an AI, and the character it plays.",
    "instructions.bot": "A bot's role and task.",
    "philosophy.identity": "How a persona becomes who it is.",
    "philosophy.memory": "The memory condition.",
    "philosophy.silence": "When to say nothing.",
    "philosophy.topics": "How to treat what a room is about.",
    "philosophy.own-room": "What owning a room means.",
    "philosophy.time": "Time as continuous.",
    "layouts.persona": "How a persona might lay out its knowledge; an example, left out first.",
    "layouts.bot": "The same for a bot.",
    "memory.full": "Shown while memory is nearly full.",
    "notation.toon": "How to read a HUD in TOON.",
    "answer.json": "How to answer in JSON.",
    "answer.json-example": "An answer in JSON; left out first.",
    "answer.toon": "How to answer in TOON.",
    "answer.toon-example": "An answer in TOON; left out first.",
    "actions": "The help on actions, in TOML.",
}
"""Every prompt by its name, with what it is for."""

PERSONA_INSTRUCTIONS = (
    "instructions.app",
    "instructions.persona",
    *(f"philosophy.{one}" for one in ("identity", "memory", "silence", "topics", "own-room", "time")),
)
"""What a persona's instructions are made of, in order; its layout follows."""

BOT_INSTRUCTIONS = (
    "instructions.app",
    "instructions.bot",
    *(f"philosophy.{one}" for one in ("memory", "silence", "own-room", "time")),
)
"""The same for a bot."""

DIRECTIVES = ("directives.rooms", "directives.collaboration", "directives.communication")

MAX_PROMPT_CHARACTERS = 8_000
"""Characters of a prompt."""


def check_prompts(prompts: Mapping[str, str]) -> None:
    """Raise `ConfigError`, with name and line, where one is no prompt. Some may be absent."""
    for name, text in prompts.items():
        check_prompt(name, text, name)


def check_prompt(name: str, text: str, place: str) -> None:
    """Raise `ConfigError`, with `place` and line, where `text` cannot be the prompt `name`."""
    if name not in PROMPTS:
        raise ConfigError(f"{place}: there is no prompt {name!r}", hint=suggestion(name, tuple(PROMPTS)), file=place)
    if not text.strip():
        raise prompt_error(place, 1, "says nothing", "Leave the file out, and hudkit's own text stands in")
    if len(text) > MAX_PROMPT_CHARACTERS:
        over = text.count("\n", 0, MAX_PROMPT_CHARACTERS) + 1
        raise prompt_error(
            place,
            over,
            f"longer than {MAX_PROMPT_CHARACTERS} characters",
            "Every agent reads it in every beat: cut it",
        )
    for number, line in enumerate(text.split("\n"), 1):
        if (shown := visible(line)) != line:
            where = next(n for n, (one, other) in enumerate(zip(line, shown, strict=False)) if one != other)
            raise prompt_error(
                place, number, f"a hidden character, U+{ord(line[where]):04X}, at {where + 1}", "Take it out"
            )
    for offset, found in unknown_placeholders(text):
        raise prompt_error(
            place,
            text.count("\n", 0, offset) + 1,
            f"there is no place {{{{{found}}}}}",
            suggestion(found, tuple(PLACEHOLDERS)),
        )
    if name == "actions":
        read_actions(text, place)


_FILES = {f"{name.replace('.', '/')}{'.toml' if name == 'actions' else '.md'}": name for name in PROMPTS}


def load_prompts(folder: str | Path | None = None) -> dict[str, str]:
    """All prompts by name: those of `folder`, and hudkit's own for what is not there.

    A file is `directives/rooms.md` for the prompt `directives.rooms`, and `actions.toml`; files whose names begin
    with a dot are passed over. Raises `ConfigError` that names the file, the line, and what would be right.
    """
    own = _own()
    return dict(own) if folder is None else {**own, **read_prompts(folder)}


def read_prompts(folder: str | Path) -> dict[str, str]:
    """The prompts that a folder has, by name. Raises what `load_prompts` does."""
    return _read(Path(folder))


def write_prompts(folder: str | Path, prompts: Mapping[str, str] | None = None) -> list[Path]:
    """Copy prompts, hudkit's own where none are given, into a folder, to be edited; those already there stay. Gives
    what was written. Raises `ConfigError` where that cannot be done."""
    texts = _own() if prompts is None else prompts
    written = []
    try:
        for file, name in _FILES.items():
            path = Path(folder) / file
            if name in texts and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{texts[name]}\n", encoding="utf-8")
                written.append(path)
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}", hint="Name a folder that can be written to") from None
    return written


@cache
def _own() -> dict[str, str]:
    with as_file(files("hudkit.rooms.prompts") / "text") as folder:
        return _read(folder)


def _read(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder", hint="Prompts are files in a folder, such as directives/rooms.md")
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        file = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in file.parts):
            name = _FILES.get(file.as_posix(), ".".join(file.with_suffix("").parts))
            text = _text(path)
            check_prompt(name, text, str(path))
            found[name] = text
    return {name: found[name] for name in PROMPTS if name in found}


def _text(path: Path) -> str:
    if path.stat().st_size > 4 * MAX_PROMPT_CHARACTERS:
        raise prompt_error(
            str(path),
            1,
            f"longer than {MAX_PROMPT_CHARACTERS} characters",
            "Every agent reads it in every beat: cut it",
        )
    content = path.read_bytes()
    try:
        return content.decode().replace("\r\n", "\n").rstrip("\n")
    except UnicodeDecodeError as error:
        raise prompt_error(
            str(path), content.count(b"\n", 0, error.start) + 1, "no UTF-8", "Save it as UTF-8"
        ) from None
