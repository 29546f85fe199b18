"""Commands: prompts with places for arguments, from markdown files of the project and of the user, and from a host.

A template is text: `$ARGUMENTS` and `$1` to `$9` are filled in, once; nothing in it is run or read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from hudkit.agent import context_files
from hudkit.agent.context_files import UnreadableDefinition, split_front_matter
from hudkit.agent.workspace import Workspace
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError

_PROJECT_FOLDERS = (".hudkit/commands", ".opencode/command", ".opencode/commands", ".claude/commands")
"""Where a project keeps commands, below its root."""

_PLACEHOLDER = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")


class SlashCommand(msgspec.Struct, frozen=True):
    """A command: the prompt that it stands for, and who takes it up (`agent`, `model`; empty: the session's)."""

    name: str
    template: str
    description: str = ""
    agent: str = ""
    model: str = ""
    level: Literal["given", "user", "project"] = "given"

    def filled(self, arguments: str) -> str:
        """The prompt with these arguments, as a user typed them behind the name.

        `$ARGUMENTS` is all of them; `$1` to `$9` are single ones, in quotes where they have spaces, and the highest
        place that the template has takes what is left. Arguments that have no place stand below the template.
        """
        places = [match[1] for match in _PLACEHOLDER.finditer(self.template)]
        if not places:
            return f"{self.template}\n\n{arguments}" if arguments.strip() else self.template
        numbers = [int(place) for place in places if place != "ARGUMENTS"]
        words = _words(arguments)

        def fill(match: re.Match[str]) -> str:
            if match[1] == "ARGUMENTS":
                return arguments
            number = int(match[1])
            return " ".join(words[number - 1 :] if number == max(numbers) else words[number - 1 : number])

        return _PLACEHOLDER.sub(fill, self.template)


def discover_commands(
    area: Workspace, user: Sequence[Path] = (), given: Mapping[str, str] | None = None
) -> tuple[dict[str, SlashCommand], tuple[UnreadableDefinition, ...]]:
    """The commands by name, and what was wrong with others. Never raises.

    Templates that were given win over the user's files, and those over the project's.
    """
    commands = {name: SlashCommand(name, template) for name, template in (given or {}).items()}
    wrong: list[UnreadableDefinition] = []
    places = [(folder, context_files.read_user_file, "user") for folder in user]
    for name in _PROJECT_FOLDERS:
        place = area.locate(str(area.root / name), writing=False)
        if place.inside:
            places.append((place.real, lambda path: context_files.read_project_file(area, path), "project"))
    for folder, read, level in places:
        for stem, file in context_files.read_definitions(folder, read):
            if isinstance(file, UnreadableDefinition):
                wrong.append(file)
                continue
            try:
                commands.setdefault(stem, parse_command(stem, file.text, level))  # type: ignore[arg-type]
            except ConfigError as error:
                wrong.append(UnreadableDefinition(file.path, str(error)))
    return commands, tuple(wrong)


def parse_command(name: str, text: str, level: Literal["user", "project"] = "user") -> SlashCommand:
    """The command of a file's text. Raises `ConfigError` that names the key."""
    settings, body = split_front_matter(text)
    said = {key: settings.get(key) or "" for key in ("description", "agent", "model")}
    for key, value in said.items():
        if not isinstance(value, str):
            raise ConfigError(f"command {name}: {key} cannot be {shorten(visible(str(value)), 40)!r}")
    if not body.strip():
        raise ConfigError(f"command {name} has no text", hint="Write the prompt below the front matter")
    description = shorten(visible(" ".join(said["description"].split())), 300)
    return SlashCommand(name, body.strip(), description, visible(said["agent"]), visible(said["model"]), level)


def _words(arguments: str) -> list[str]:
    """Arguments one by one; where a quote is not closed, quotes are letters."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
