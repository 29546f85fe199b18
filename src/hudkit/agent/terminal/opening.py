"""Opening a session for a terminal: which model works, which session is meant, and what of the user's takes part."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hudkit.agent import session_store
from hudkit.agent.hud_hooks import HUD_FILE, PLUGIN_NAME, hud_plugin
from hudkit.agent.loop import AgentLoop
from hudkit.agent.permissions import ACTIONS, PATH_KINDS, AskUser, PermissionRule
from hudkit.agent.plugins import PluginInput, discover_plugins
from hudkit.agent.records import StoredSession
from hudkit.agent.run_context import LoopOptions, LoopSettings
from hudkit.agent.session_store import SessionStore
from hudkit.agent.telemetry import Telemetry
from hudkit.agent.terminal.safe import one_line
from hudkit.api import Hud
from hudkit.config import Settings
from hudkit.errors import ConfigError
from hudkit.models import Model
from hudkit.paths import data_directory, log_path, section_paths, user_config
from hudkit.sections.sandboxed import SectionPaths

KEYS = {
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-4-6",
    "OPENAI_API_KEY": "openai:gpt-5",
    "GOOGLE_API_KEY": "google:gemini-2.5-pro",
    "OPENROUTER_API_KEY": "openrouter:NAME",
}
"""Environment variables that hold providers' keys, each with a model that it opens."""

SCRIPT = "script:"
"""What names of scripted models begin with."""


class Wish(msgspec.Struct):
    """What was asked for: `session` is an id or a part of one, `last` the newest session of the directory."""

    directory: Path
    data: Path | None = None
    model: str = ""
    script: Path | None = None
    session: str = ""
    last: bool = False
    agent: str = ""
    rules: tuple[PermissionRule, ...] = ()
    hud: bool = True


class Place:
    """Where sessions and their HUD are kept, with the user's settings."""

    def __init__(self, data: Path | None, settings: Settings) -> None:
        self.data = data.absolute() if data is not None else data_directory()
        self.log = self.data / HUD_FILE if data is not None else log_path()
        self.settings = settings

    def sessions(self, directory: Path) -> tuple[StoredSession, ...]:
        """The sessions of a directory that have a prompt, newest first; none of sub-agents."""
        path = self.data / session_store.SESSIONS_FILE
        if not path.exists():
            return ()
        with SessionStore.open(path, read_only=True) as store:
            every = store.sessions()
        real = {str(directory), os.path.realpath(directory)}
        own = [one for one in every if one.directory in real and not one.parent_id and one.title]
        return tuple(sorted(own, key=lambda one: one.updated, reverse=True))

    def pick(self, wish: Wish) -> StoredSession | None:
        """The session that is gone on with; `None`: a new one. Raises `ConfigError` that names candidates."""
        if wish.last:
            found = self.sessions(wish.directory)
            if not found:
                raise ConfigError(f"there is no session of {wish.directory} yet", hint="Leave --continue out")
            return found[0]
        return self.named(wish.session, wish.directory) if wish.session else None

    def named(self, asked: str, directory: Path) -> StoredSession:
        """A session by its id, a part of it, or its number among those of the directory. Raises `ConfigError`."""
        own = self.sessions(directory)
        if asked.isdecimal() and 1 <= int(asked) <= len(own):
            return own[int(asked) - 1]
        path = self.data / session_store.SESSIONS_FILE
        every: tuple[StoredSession, ...] = ()
        if path.exists():
            with SessionStore.open(path, read_only=True) as store:
                every = store.sessions()
        alike = [one for one in every if one.id == asked] or [one for one in every if asked in one.id]
        if len(alike) == 1:
            return alike[0]
        some = ", ".join(one.id for one in (alike or own)[:5]) or "none of this directory"
        raise ConfigError(f"{len(alike) or 'no'} sessions match {one_line(asked)!r:.80}", hint=f"There are: {some}")


async def open_loop(
    wish: Wish,
    place: Place,
    ask: AskUser,
    model: Model | str,
    session: StoredSession | None,
    opened: list[Hud],
    telemetry: Telemetry | None = None,
) -> AgentLoop:
    """A new session, or a stored one, in the directory of the wish. Logs that it opens are put into `opened`: they
    are closed after it. Raises a `HudkitError`."""
    user = user_config().parent
    found = discover_plugins(SectionPaths(user / "plugins", data_directory() / "trusted-plugins"), wish.directory)
    settings = place.settings
    options = LoopOptions(
        agent=wish.agent,
        plugins=[(PLUGIN_NAME, hud_of(place, opened))] if wish.hud else [],
        discovered_plugins=found,
        ask_user=ask,
        permissions=wish.rules,
        settings=LoopSettings(
            compact=settings.overflow.auto,
            reserved=settings.overflow.reserved_tokens,
            frees=settings.compaction.min_freed_percent,
            prune=settings.pruning.enabled,
            protect=settings.pruning.protected_tokens,
            minimum=settings.pruning.min_freed_tokens,
            protected_tools=settings.pruning.tools,
        ),
        home=Path.home(),
        user_agents=[user / "agents"],
        user_skills=[user / "skills"],
        user_commands=[user / "commands"],
        telemetry=telemetry,
    )
    stored = session.id if session is not None else ""
    return await AgentLoop.open(wish.directory, model, data=place.data, session=stored, options=options)


def hud_of(place: Place, opened: list[Hud]) -> object:
    """The HUD's plugin, with the user's settings and sections; what it opens is put into `opened`, to be closed."""

    def plugin(given: PluginInput) -> object:
        opened.append(Hud.open(place.log, settings=place.settings, sections=section_paths()))
        return hud_plugin(opened[-1])(given)

    return plugin


def model_of(wish: Wish, session: StoredSession | None, settings: Settings) -> Model | str:
    """The scripted model, or the name of the one that works. Raises `ConfigError` where nobody said which."""
    if wish.script is not None:
        return scripted(wish.script)
    stored = session.model if session is not None else ""
    for name in (wish.model, stored, settings.session.model or ""):
        if name.startswith(SCRIPT) and name == wish.model:
            return scripted(Path(name.removeprefix(SCRIPT)))
        if name and not name.startswith(SCRIPT):
            return name
    if stored:
        raise ConfigError(f"this session worked with {one_line(stored)}", hint="Name it with --script, or a --model")
    keyed = [f"--model {model}" for key, model in KEYS.items() if os.environ.get(key)]
    how = " or ".join(keyed) or f"--model {KEYS['ANTHROPIC_API_KEY']} with the key in ANTHROPIC_API_KEY"
    more = "" if keyed else f" (others: {', '.join(list(KEYS)[1:])})"
    hint = f"Give {how}{more}; or, without a network, --script FILE such as examples/scripts/temperatures.toml"
    raise ConfigError("no model is named", hint=hint)


def scripted(path: Path) -> Model:
    """The model that answers from a script. Raises `ConfigError`."""
    from hudkit.models.scripted_model import read_script

    return read_script(path)


def rules_of(given: Sequence[tuple[str, str]]) -> tuple[PermissionRule, ...]:
    """Rules of `--allow` and `--deny`: an action with `TOOL` or `TOOL PATTERN`. Raises `ConfigError`."""
    found = []
    for action, text in given:
        tool, _, pattern = text.strip().partition(" ")
        if not tool or action not in ACTIONS:
            raise ConfigError(f"--{action} needs a tool", hint=f'Try --{action} "bash pytest *"')
        every = "**" if tool in PATH_KINDS else "*"
        found.append(PermissionRule(tool, pattern.strip() or every, action))  # type: ignore[arg-type]
    return tuple(found)
