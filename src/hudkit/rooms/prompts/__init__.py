"""Prompts: what agents are told, as texts by name, read from files and checked.

A prompt is a file of plain words (`directives/rooms.md` is the prompt `directives.rooms`); hudkit's own lie in
`text/`. Two kinds have a form beyond that: `actions` is TOML, the help on actions; and every prompt may hold
placeholders, `{{name}}`, which become numbers of the world's rules, so that what agents are told holds in their
world.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import msgspec

from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.rooms.world import WorldRules

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

_PERSONA_PHILOSOPHY = ("identity", "memory", "silence", "topics", "own-room", "time")
_BOT_PHILOSOPHY = ("memory", "silence", "own-room", "time")

PERSONA_INSTRUCTIONS = (
    "instructions.app",
    "instructions.persona",
    *(f"philosophy.{name}" for name in _PERSONA_PHILOSOPHY),
)
"""What a persona's instructions are made of, in order; its layout follows."""

BOT_INSTRUCTIONS = ("instructions.app", "instructions.bot", *(f"philosophy.{name}" for name in _BOT_PHILOSOPHY))
"""The same for a bot."""

DIRECTIVES = ("directives.rooms", "directives.collaboration", "directives.communication")

ACTION_CATEGORIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "knowledge_management": {"set": ("path", "value", "w"), "delete": ("path",), "append": ("path", "value")},
    "social_interactions": {"react": ("message_id", "reaction"), "wake_agent": ("agent_id",)},
    "messaging": {"reply": ("room_id", "message_id", "message"), "withdraw": ("pending_id",)},
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

_MAX_CHARACTERS = 8_000
"""Characters of a prompt: every agent reads it in every beat."""

_PLACEHOLDERS: Mapping[str, Callable[[WorldRules], float]] = {
    "fastest": lambda rules: rules.tempo.min_interval,
    "slowest": lambda rules: rules.tempo.max_interval,
    "step": lambda rules: rules.tempo.step,
    "least_wpm": lambda rules: rules.words.min_wpm,
    "most_wpm": lambda rules: rules.words.max_wpm,
    "least_words": lambda rules: rules.words.min_words,
    "most_words": lambda rules: rules.words.max_words,
    "name": lambda rules: rules.caps.name,
    "message": lambda rules: rules.caps.message,
    "knowledge": lambda rules: rules.tokens.knowledge,
    "actions": lambda rules: rules.tokens.actions,
}
"""What may stand between the braces, and the number it becomes. Prompts in old logs use these names."""

_PLACEHOLDER = re.compile(r"\{\{([^{}\n]*)\}\}")
_TABLE_HEADER = re.compile(r"^[ \t]*\[+[ \t]*([\w.-]+)[ \t]*\]+", re.MULTILINE)
_TOML_ERROR_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_FILES = {f"{name.replace('.', '/')}{'.toml' if name == 'actions' else '.md'}": name for name in PROMPTS}


class ActionCategory(msgspec.Struct, frozen=True):
    """A category of the help. `actions` are as an agent sees them: a `type`, and what each argument is."""

    name: str
    description: str
    actions: tuple[dict[str, str], ...]


# -- files ---------------------------------------------------------------------------------------------------------


def load_prompts(folder: str | Path | None = None) -> dict[str, str]:
    """Return all prompts by name: those of `folder`, and hudkit's own for what is not there.

    A file is `directives/rooms.md` for the prompt `directives.rooms`, and `actions.toml`; files whose names begin
    with a dot are passed over. Raises `ConfigError` that names the file, the line, and what would be right.
    """
    own = _own_prompts()
    return dict(own) if folder is None else {**own, **read_prompts(folder)}


def read_prompts(folder: str | Path) -> dict[str, str]:
    """Return the prompts that a folder has, by name. Raises what `load_prompts` does."""
    return _read_folder(Path(folder))


def write_prompts(folder: str | Path, prompts: Mapping[str, str] | None = None) -> list[Path]:
    """Copy prompts (hudkit's own where none are given) into a folder, to be edited; files already there stay.

    Returns what was written. Raises `ConfigError` where that cannot be done.
    """
    texts = _own_prompts() if prompts is None else prompts
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


def check_prompts(prompts: Mapping[str, str]) -> None:
    """Raise `ConfigError`, with name and line, where one is no prompt. Some may be absent."""
    for name, text in prompts.items():
        _check_prompt(name, text, name)


# Read once: each HUD of a world without prompts of its own asks for them.
@cache
def _own_prompts() -> dict[str, str]:
    with as_file(files("hudkit.rooms.prompts") / "text") as folder:
        return _read_folder(folder)


def _read_folder(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise ConfigError(
            f"{folder} is not a folder", hint="Prompts are files in a folder, such as directives/rooms.md"
        )
    texts: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        file = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in file.parts):
            name = _FILES.get(file.as_posix(), ".".join(file.with_suffix("").parts))
            text = _read_text(path)
            _check_prompt(name, text, str(path))
            texts[name] = text
    # In the order of the table, whatever order the file system has: a world's first event holds them.
    return {name: texts[name] for name in PROMPTS if name in texts}


def _read_text(path: Path) -> str:
    # A character has four bytes at most: what is larger need not be read to know that it is too long.
    if path.stat().st_size > 4 * _MAX_CHARACTERS:
        raise _too_long(str(path), 1)
    content = path.read_bytes()
    try:
        return content.decode().replace("\r\n", "\n").rstrip("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _prompt_error(str(path), line, "no UTF-8", "Save it as UTF-8") from None


def _check_prompt(name: str, text: str, place: str) -> None:
    """Raise `ConfigError`, with `place` and line, where `text` cannot be the prompt `name`."""
    if name not in PROMPTS:
        raise ConfigError(f"{place}: there is no prompt {name!r}", hint=_suggestion(name, tuple(PROMPTS)), file=place)
    if not text.strip():
        raise _prompt_error(place, 1, "says nothing", "Leave the file out, and hudkit's own text stands in")
    if len(text) > _MAX_CHARACTERS:
        raise _too_long(place, text.count("\n", 0, _MAX_CHARACTERS) + 1)
    for number, line in enumerate(text.split("\n"), 1):
        # A hidden character would be an instruction that the person who wrote the prompt cannot see.
        if (shown := visible(line)) != line:
            pairs = enumerate(zip(line, shown, strict=False))
            column = next(index for index, (char, shown_char) in pairs if char != shown_char)
            raise _prompt_error(
                place, number, f"a hidden character, U+{ord(line[column]):04X}, at {column + 1}", "Take it out"
            )
    for offset, placeholder in _unknown_placeholders(text):
        line_number = text.count("\n", 0, offset) + 1
        hint = _suggestion(placeholder, tuple(_PLACEHOLDERS))
        raise _prompt_error(place, line_number, f"there is no place {{{{{placeholder}}}}}", hint)
    if name == "actions":
        read_actions(text, place)


def _too_long(place: str, line: int) -> ConfigError:
    return _prompt_error(
        place, line, f"longer than {_MAX_CHARACTERS} characters", "Every agent reads it in every beat: cut it"
    )


def _prompt_error(place: str, line: int, problem: str, hint: str = "") -> ConfigError:
    """Return the error of a prompt: `place` is a file, or a prompt's name; `line` counts from 1."""
    return ConfigError(f"{place}:{line}: {problem}", hint=hint, file=place, line=line)


def _suggestion(word: str, choices: tuple[str, ...]) -> str:
    """Return a hint: what was probably meant, or all that there is."""
    near = get_close_matches(word, choices, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(choices)}"


# -- placeholders --------------------------------------------------------------------------------------------------


def fill_placeholders(text: str, rules: WorldRules) -> str:
    """Return the text with every known placeholder filled in; others stay as they are."""

    def fill(match: re.Match[str]) -> str:
        number_of = _PLACEHOLDERS.get(match[1])
        return match[0] if number_of is None else f"{number_of(rules):g}"

    return _PLACEHOLDER.sub(fill, text)


def _unknown_placeholders(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and name of each placeholder that there is not."""
    for match in _PLACEHOLDER.finditer(text):
        if match[1] not in _PLACEHOLDERS:
            yield match.start(), match[1]


# -- the help on actions -------------------------------------------------------------------------------------------


# Kept: every renderer asks for them, and worlds have one text, as a rule.
@lru_cache(16)
def read_actions(text: str, place: str = "actions") -> tuple[ActionCategory, ...]:
    """Return the help that a TOML text says, in its order. Raises `ConfigError` with `place` and line."""
    try:
        tables: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(text, place, str(error)) from None
    return tuple(_read_category(name, tables[name], text, place) for name in tables)


def _read_category(name: str, value: object, text: str, place: str) -> ActionCategory:
    line = _table_line(text, name)
    if name not in ACTION_CATEGORIES:
        raise _prompt_error(
            place, line, f"there is no category {name!r}", _suggestion(name, tuple(ACTION_CATEGORIES))
        )
    if not isinstance(value, dict) or not isinstance(value.get("description"), str):
        raise _prompt_error(place, line, f"[{name}] has no description", 'Add description = "…"')
    for key in value.keys() - {"description", "actions"}:
        raise _prompt_error(place, line, f"[{name}] has {key!r}", _suggestion(key, ("description", "actions")))
    actions = value.get("actions", [])
    if not isinstance(actions, list):
        raise _prompt_error(place, line, f"{name}.actions is not a list", f"Write each as [[{name}.actions]]")
    return ActionCategory(
        name,
        value["description"],
        tuple(_read_action(name, number, action, text, place) for number, action in enumerate(actions)),
    )


def _read_action(category: str, number: int, value: object, text: str, place: str) -> dict[str, str]:
    line = _table_line(text, f"{category}.actions", number)
    arguments_by_kind = ACTION_CATEGORIES[category]
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        raise _prompt_error(place, line, "an action without a type", _suggestion("", tuple(arguments_by_kind)))
    if kind not in arguments_by_kind:
        raise _prompt_error(
            place, line, f"{category} has no action {kind!r}", _suggestion(kind, tuple(arguments_by_kind))
        )
    arguments = arguments_by_kind[kind]
    for key, description in value.items():
        if key != "type" and key not in arguments:
            raise _prompt_error(
                place, _key_line(text, line, key), f"{kind} has no argument {key!r}", _suggestion(key, arguments)
            )
        if not isinstance(description, str):
            raise _prompt_error(place, _key_line(text, line, key), f"{key} is not a text", "Say in quotes what it is")
    return {"type": kind, **{key: description for key, description in value.items() if key != "type"}}


def _table_line(text: str, table: str, number: int = 0) -> int:
    """Return where a table, the `number`-th of its name, begins; 1 where it is written in another way.

    `tomllib` says where a text is no TOML, but not where a table of it stands: headers are looked for.
    """
    starts = [match.start(1) for match in _TABLE_HEADER.finditer(text) if match[1] == table]
    return text.count("\n", 0, starts[number]) + 1 if number < len(starts) else 1


def _key_line(text: str, line: int, key: str) -> int:
    """Return where a key stands at or after a line."""
    for number, content in enumerate(text.splitlines()[line - 1 :], line):
        if content.split("=")[0].strip().strip("\"'") == key:
            return number
    return line


def _toml_error(text: str, place: str, message: str) -> ConfigError:
    match = _TOML_ERROR_PLACE.search(message)
    line = int(match[1]) if match and match[1] else text.count("\n") + 1
    problem = _TOML_ERROR_PLACE.sub("", message)
    return _prompt_error(place, line, f"no TOML: {problem}", "Compare it with hudkit's own actions.toml")
