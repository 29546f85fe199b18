"""Slash commands: prompts with placeholders, from markdown files of the project and of the user, and from the host.

A template is text: `$ARGUMENTS` and `$1` to `$9` are filled in, once. What it wants to be run (`` !`git diff` ``) and
read (`@docs/style.md`) is only found here; `user_input` does so, by the session's permissions.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from hudkit.agent import context_files
from hudkit.agent.context_files import UnreadableDefinition
from hudkit.agent.workspace import Workspace
from hudkit.compose import shorten, visible
from hudkit.compose.formats.front_matter import split_front_matter
from hudkit.errors import ConfigError

_PROJECT_FOLDERS = (".hudkit/commands", ".opencode/command", ".opencode/commands", ".claude/commands")
"""Where a project keeps commands, below its root."""

_PLACEHOLDER = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")

_INSERTION = re.compile(r"!`(?P<shell>[^`\n]+)`|(?<![\w@`.])@(?P<file>[^\s`@]*[^\s`@.,;:!?)\]\"'])")
"""A command of the shell, or the path of a file behind an `@`; the sentence's own signs behind it are none of its."""


class TemplatePiece(NamedTuple):
    """A piece of a prompt: its text as it is written there, and a command of the shell or a file that it names."""

    text: str
    shell: str = ""
    file: str = ""


class SlashCommand(msgspec.Struct, frozen=True):
    """A command: the prompt that it stands for, and who works on it (`agent`, `model`; empty: the session's).

    `level` says where it comes from. A project's command cannot widen what the session may do.
    """

    name: str
    template: str
    description: str = ""
    agent: str = ""
    model: str = ""
    level: Literal["given", "user", "project"] = "given"

    def expand(self, arguments: str) -> str:
        """Return the prompt with these arguments, as a user typed them behind the name.

        `$ARGUMENTS` is all of them; `$1` to `$9` are single ones, in quotes where they have spaces, and the highest
        number that the template has takes what is left. Arguments that have no placeholder stand below the template.
        With the template `Fix $1. Then: $2`, the arguments `a.py run all tests` give `Fix a.py. Then: run all tests`.
        """
        return "".join(piece.text for piece in self.pieces(arguments))

    def pieces(self, arguments: str) -> list[TemplatePiece]:
        """Return the prompt with these arguments in its pieces.

        Arguments are filled in within the commands and paths of the template, too; what they hold themselves is text.
        """
        places = [match[1] for match in _PLACEHOLDER.finditer(self.template)]
        numbers = [int(target) for target in places if target != "ARGUMENTS"]
        words = _words(arguments)

        def fill(match: re.Match[str]) -> str:
            # filled in once: a `$1` within the arguments stays as the user wrote it
            if match[1] == "ARGUMENTS":
                return arguments
            number = int(match[1])
            return " ".join(words[number - 1 :] if number == max(numbers) else words[number - 1 : number])

        pieces, end = [], 0
        for match in _INSERTION.finditer(self.template):
            before = self.template[end : match.start()]
            named = {name: _PLACEHOLDER.sub(fill, text) for name, text in match.groupdict(default="").items()}
            pieces += [
                TemplatePiece(_PLACEHOLDER.sub(fill, before)),
                TemplatePiece(_PLACEHOLDER.sub(fill, match[0]), **named),
            ]
            end = match.end()
        pieces.append(TemplatePiece(_PLACEHOLDER.sub(fill, self.template[end:])))
        if not places and arguments.strip():
            pieces.append(TemplatePiece(f"\n\n{arguments}"))
        return pieces


def discover_commands(
    workspace: Workspace, user: Sequence[Path] = (), templates: Mapping[str, str] | None = None
) -> tuple[dict[str, SlashCommand], tuple[UnreadableDefinition, ...]]:
    """Return the commands by name, and the definitions that cannot be read. Never raises.

    Templates from the host win over the user's files, and those over the project's.
    """
    # the program's own first, then the user's, then the project's: the first of a name counts
    commands = {name: SlashCommand(name, template) for name, template in (templates or {}).items()}
    wrong: list[UnreadableDefinition] = []
    places = [(folder, context_files.read_user_file, "user") for folder in user]
    for name in _PROJECT_FOLDERS:
        target = workspace.resolve(str(workspace.root / name), writing=False)
        if target.inside:
            places.append((target.real, lambda path: context_files.read_project_file(workspace, path), "project"))
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
    """Return the command of a file's text. Raises `ConfigError` that names the key."""
    settings, body = split_front_matter(text)
    settings_text = {key: settings.get(key) or "" for key in ("description", "agent", "model")}
    if isinstance(settings_text["model"], list):  # Copilot's prompts name several
        settings_text["model"] = settings_text["model"][0]
    for key, value in settings_text.items():
        if not isinstance(value, str):
            raise ConfigError(f"command {name}: {key} cannot be {shorten(visible(str(value)), 40)!r}")
    if not body.strip():
        raise ConfigError(f"command {name} has no text", hint="Write the prompt below the front matter")
    description = shorten(visible(" ".join(settings_text["description"].split())), 300)
    return SlashCommand(
        name, body.strip(), description, visible(settings_text["agent"]), visible(settings_text["model"]), level
    )


def _words(arguments: str) -> list[str]:
    """Return the arguments one by one; where a quote is not closed, quotes are letters."""
    try:
        return shlex.split(arguments)
    except ValueError:
        # an apostrophe in plain words (`don't`) is no quote
        return arguments.split()
