"""Files of lines that agents say instead of a model: the n-th of an agent's lines is its answer in its n-th beat."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hudkit.errors import ConfigError
from hudkit.rooms.players.player import BeatPrompt, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.world_file import convert_table, read_toml_table

_SILENCE: Mapping[str, Any] = {"responses": []}


class _AgentLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of an agent: what it says by room, its actions; or a `reply` word for word."""

    agent: str
    say: dict[str, str] = {}
    actions: tuple[dict[str, Any], ...] = ()
    reply: str | None = None


class _ScriptFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lines: tuple[_AgentLine, ...] = ()


def script_players(path: Path, numbers: Mapping[str, int]) -> PlayerRegistry:
    """Return players that say the lines of a TOML file for every model.

    `numbers` are those of agents by their names in lower case. Raises `ConfigError` naming a line that cannot be.
    """
    script = convert_table(read_toml_table(path), _ScriptFile, str(path))
    if not script.lines:
        raise ConfigError(f"{path} has no lines", hint="Each begins with [[lines]], and has an agent")
    answers: dict[int, list[str | dict[str, Any]]] = {}

    def number_of(name: str, place: int) -> int:
        number = numbers.get(name.casefold())
        if number is None:
            raise ConfigError(
                f"{path}: line {place}: nobody is called {name!r}", hint=f"There are: {', '.join(numbers)}"
            )
        return number

    for place, line in enumerate(script.lines, 1):
        responses = [{"room_id": number_of(room, place), "message": text} for room, text in line.say.items()]
        answer = {"responses": responses, "actions": list(line.actions)} if line.reply is None else line.reply
        answers.setdefault(number_of(line.agent, place), []).append(answer)

    # By the number of the beat, not one after the other: a world that goes on after a kill goes on in the script.
    def line_of(prompt: BeatPrompt) -> str | Mapping[str, Any]:
        lines = answers.get(prompt.agent, [])
        return lines[prompt.number - 1] if prompt.number <= len(lines) else _SILENCE

    player = ScriptedPlayer(line_of)
    return PlayerRegistry({}, lambda _: player)
