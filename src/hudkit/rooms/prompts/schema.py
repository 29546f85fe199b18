"""Which prompts there are, and what a text must be to be one."""

from __future__ import annotations

from collections.abc import Mapping

from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.rooms.prompts.actions import read_actions
from hudkit.rooms.prompts.faults import fault, one_of
from hudkit.rooms.prompts.places import PLACES, unknown_places

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

PERSONA = (
    "instructions.app",
    "instructions.persona",
    *(f"philosophy.{one}" for one in ("identity", "memory", "silence", "topics", "own-room", "time")),
)
"""What a persona's instructions are made of, in order; its layout follows."""

BOT = (
    "instructions.app",
    "instructions.bot",
    *(f"philosophy.{one}" for one in ("memory", "silence", "own-room", "time")),
)
"""The same for a bot."""

DIRECTIVES = ("directives.rooms", "directives.collaboration", "directives.communication")

LONGEST = 8_000
"""Characters of a prompt."""


def check_prompts(prompts: Mapping[str, str]) -> None:
    """Raise `ConfigError`, with name and line, where one is no prompt. Some may be absent."""
    for name, text in prompts.items():
        check(name, text, name)


def check(name: str, text: str, place: str) -> None:
    """Raise `ConfigError`, with `place` and line, where `text` cannot be the prompt `name`."""
    if name not in PROMPTS:
        raise ConfigError(f"{place}: there is no prompt {name!r}", hint=one_of(name, tuple(PROMPTS)), file=place)
    if not text.strip():
        raise fault(place, 1, "says nothing", "Leave the file out, and hudkit's own text stands in")
    if len(text) > LONGEST:
        over = text.count("\n", 0, LONGEST) + 1
        raise fault(place, over, f"longer than {LONGEST} characters", "Every agent reads it in every beat: cut it")
    for number, line in enumerate(text.split("\n"), 1):
        if (shown := visible(line)) != line:
            where = next(n for n, (one, other) in enumerate(zip(line, shown, strict=False)) if one != other)
            raise fault(place, number, f"a hidden character, U+{ord(line[where]):04X}, at {where + 1}", "Take it out")
    for offset, found in unknown_places(text):
        raise fault(
            place, text.count("\n", 0, offset) + 1, f"there is no place {{{{{found}}}}}", one_of(found, tuple(PLACES))
        )
    if name == "actions":
        read_actions(text, place)
