"""Opens sessions for a terminal: which session is meant, which model works, and what of the user's own takes part.

A `SessionRunner` has one session open at a time, with its panel, its display, and telemetry where it is wanted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from hudkit.agent import session_store
from hudkit.agent.hud_hooks import HUD_FILE, PLUGIN_NAME, hud_plugin
from hudkit.agent.loop import AgentLoop
from hudkit.agent.permissions import ACTIONS, PATH_KINDS, AskUser, PermissionRule, parse_rules
from hudkit.agent.plugins import PluginInput, discover_plugins
from hudkit.agent.records import StoredSession
from hudkit.agent.run_context import LoopOptions, LoopSettings, tool_limits
from hudkit.agent.session_deletion import trim_sessions
from hudkit.agent.session_store import SessionStore
from hudkit.agent.session_transcript import session_sources
from hudkit.agent.telemetry import Telemetry, configured
from hudkit.agent.terminal.panel import Panel
from hudkit.agent.terminal.permission_prompt import PermissionAnswerer
from hudkit.agent.terminal.prompt_source import PromptSource
from hudkit.agent.terminal.screen import Screen, one_line
from hudkit.agent.terminal.turn_display import TurnDisplay
from hudkit.agent.terminal.view import LiveView, View
from hudkit.api import Hud
from hudkit.compose import shorten
from hudkit.config import McpServer, Settings
from hudkit.errors import ConfigError, HudkitError
from hudkit.hud.session_lookup import matching_sessions
from hudkit.models import Model
from hudkit.paths import data_directory, index_path, log_path, section_paths, user_config
from hudkit.sections.sandboxed import SectionPaths
from hudkit.transcripts import OwnTranscript

if TYPE_CHECKING:
    from hudkit.transcripts.search import PastSessions

_KEYS = {
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-4-6",
    "OPENAI_API_KEY": "openai:gpt-5",
    "GOOGLE_API_KEY": "google:gemini-2.5-pro",
    "OPENROUTER_API_KEY": "openrouter:NAME",
}
"""Environment variables that hold providers' keys, each with a model that it opens."""

SCRIPT = "script:"
"""What names of scripted models begin with."""


class SessionRequest(msgspec.Struct):
    """What was asked for: `session` is an id or a part of one, `last` the newest session of the directory.

    `mcp_servers` are those of who asks, by name; the user's own of the same names go before them.
    """

    directory: Path
    data: Path | None = None
    model: str = ""
    script: Path | None = None
    session: str = ""
    last: bool = False
    agent: str = ""
    rules: tuple[PermissionRule, ...] = ()
    hud: bool = True
    confine: Literal["off", "rules", "all"] = "off"
    summaries: bool = True
    mcp_servers: dict[str, McpServer] = {}


class DataLocation:
    """Where sessions and their HUD are kept, with the user's settings."""

    def __init__(self, data: Path | None, settings: Settings) -> None:
        self.data = data.absolute() if data is not None else data_directory()
        self.log = self.data / HUD_FILE if data is not None else log_path()
        self.settings = settings

    def sessions(self, directory: Path) -> tuple[StoredSession, ...]:
        """Return the sessions of a directory that have a prompt, newest first; none of sub-agents."""
        path = self.data / session_store.SESSIONS_FILE
        if not path.exists():
            return ()
        with SessionStore.open(path, read_only=True) as store:
            every = store.sessions()
        real = {str(directory), os.path.realpath(directory)}
        own = [session for session in every if session.directory in real and not session.parent_id and session.title]
        return tuple(sorted(own, key=lambda session: session.updated, reverse=True))

    def pick(self, request: SessionRequest) -> StoredSession | None:
        """Return the session that a request means; `None`: a new one. Raises `ConfigError` that names candidates."""
        if request.last:
            sessions = self.sessions(request.directory)
            if not sessions:
                raise ConfigError(f"there is no session of {request.directory} yet", hint="Leave --continue out")
            return sessions[0]
        return self.named(request.session, request.directory) if request.session else None

    def named(self, asked: str, directory: Path) -> StoredSession:
        """Return a session by its id, a part of it, words of its title, or its number among those of the directory.

        Raises `ConfigError` where none or several match.
        """
        own = self.sessions(directory)
        if asked.isdecimal() and 1 <= int(asked) <= len(own):
            return own[int(asked) - 1]
        path = self.data / session_store.SESSIONS_FILE
        every: tuple[StoredSession, ...] = ()
        if path.exists():
            with SessionStore.open(path, read_only=True) as store:
                every = store.sessions()
        by_id = {session.id: session for session in every}
        alike = [by_id[id] for id in matching_sessions(asked, by_id, lambda id: by_id[id].title)]
        if len(alike) == 1:
            return alike[0]
        some = ", ".join(_described(session) for session in (alike or own)[:5]) or "none of this directory"
        raise ConfigError(f"{len(alike) or 'no'} sessions match {one_line(asked)!r:.80}", hint=f"There are: {some}")


def _described(session: StoredSession) -> str:
    return f'{session.id} "{shorten(one_line(session.title), 40)}"' if session.title else session.id


class SessionRunner:
    """One session at a time; `open` takes the place of the one before."""

    def __init__(
        self, request: SessionRequest, location: DataLocation, view: View, ask: PermissionAnswerer, panel: Panel
    ) -> None:
        self.request = request
        self.location = location
        self.view = view
        self.panel = panel
        self._ask = ask
        self._loop: AgentLoop | None = None
        self._display: TurnDisplay | None = None
        self._model: Model | str = ""
        self._opened: list[Hud | PastSessions] = []
        self._telemetry = configured(location.settings.telemetry)
        self._line: PromptSource | None = None

    @property
    def loop(self) -> AgentLoop:
        """Return the loop of the open session."""
        assert self._loop is not None
        return self._loop

    @property
    def display(self) -> TurnDisplay:
        """Return the display of the open session."""
        assert self._display is not None
        return self._display

    @property
    def screen(self) -> Screen | None:
        """Return the screen of a view that draws lines again: who else writes there has to use it, too."""
        return self.view.screen if isinstance(self.view, LiveView) else None

    def take_prompts_from(self, line: PromptSource) -> None:
        """Let what is typed while a session works go to `line`, from the next session on; return nothing."""
        self._line = line
        if isinstance(self.view, LiveView) and line.typed is not None:
            self.view.typed = line.typed.lines

    async def open(self, session: StoredSession | None, *, model: str = "") -> None:
        """Open a stored session in its own directory, or a new one; return nothing.

        `model` counts before the one that was asked for. Raises a `HudkitError`; then what was open stays open.
        """
        request = replace(self.request, model=model, script=None) if model else self.request
        if session is not None:
            directory = Path(session.directory)
            if not directory.is_dir():
                hint = "Its directory has to be there, for its work is in it"
                raise ConfigError(f"session {session.id} worked in {directory}, which is gone", hint=hint)
            request = replace(request, directory=directory)
        earlier = "" if model else self._model
        chosen = earlier or model_of(request, session, self.location.settings)
        opened: list[Hud | PastSessions] = []
        self._trim(session.id if session is not None else "")
        try:
            loop = await open_loop(request, self.location, self._ask, chosen, session, opened, self._telemetry)
        except BaseException:
            close_opened(opened)
            raise
        await self._let_go()
        self._opened = opened
        if not isinstance(chosen, str):
            self._model = chosen  # a script goes on where it is
        self._loop = loop
        self._display = TurnDisplay(loop, self.view, self.panel, self._line)
        self._ask.aside = self._display.aside
        self.view.opened(loop, session is not None)

    def _trim(self, session_id: str) -> None:
        try:
            gone = trim_old_sessions(self.location, session_id)
        except HudkitError as error:
            self.view.problem(f"old sessions were not deleted: {error}")
            return
        if gone:
            self.view.note(f"{gone} old sessions were deleted, as [session] keep_days and keep_megabytes say.")

    async def close(self) -> None:
        """Close what is open, and return nothing; closing twice is harmless."""
        await self._let_go()
        self.panel.close()
        if self._telemetry is not None:
            self._telemetry.close()

    async def _let_go(self) -> None:
        if self._loop is not None:
            loop, self._loop, self._display = self._loop, None, None
            await loop.close()
        close_opened(self._opened)


def trim_old_sessions(location: DataLocation, session_id: str) -> int:
    """Delete the oldest sessions where the user's limits say so, but never this one; return how many.

    Raises a `HudkitError`.
    """
    limits, path = location.settings.session, location.data / session_store.SESSIONS_FILE
    if (limits.keep_days is None and limits.keep_megabytes is None) or not path.exists():
        return 0
    with SessionStore.open(path) as store:
        gone = trim_sessions(
            store,
            keep_days=limits.keep_days,
            keep_megabytes=limits.keep_megabytes,
            log=location.log,
            keep=(session_id,),
        )
    return len(gone)


def close_opened(opened: list[Hud | PastSessions]) -> None:
    """Close what was opened beside a loop, and return nothing."""
    while opened:
        opened.pop().close()  # the last first: the past reads the log


async def open_loop(
    request: SessionRequest,
    location: DataLocation,
    ask: AskUser,
    model: Model | str,
    session: StoredSession | None,
    opened: list[Hud | PastSessions],
    telemetry: Telemetry | None = None,
) -> AgentLoop:
    """Open a new session, or a stored one, in the directory of the request, and return its loop.

    Logs that it opens are put into `opened`; `close_opened` closes them after it. Raises a `HudkitError`.
    """
    user = user_config().parent
    discovered = discover_plugins(
        SectionPaths(user / "plugins", data_directory() / "trusted-plugins"), request.directory
    )
    settings = location.settings
    loop_settings = LoopSettings.from_user_settings(settings)
    if not request.summaries:
        loop_settings = replace(loop_settings, summaries=False)
    options = LoopOptions(
        agent=request.agent or settings.session.agent or "",
        plugins=[(PLUGIN_NAME, _hud_of(location, opened))] if request.hud else [],
        discovered_plugins=discovered,
        ask_user=ask,
        # The last that fits decides: what the command line says comes behind the settings.
        permissions=(*parse_rules(settings.permissions, "[permissions]"), *request.rules),
        confine=settings.session.confine if request.confine == "off" else request.confine,
        settings=loop_settings,
        limits=tool_limits(settings.tools),
        plugin_options=settings.plugins,
        mcp_servers={**request.mcp_servers, **settings.mcp_servers},
        language_servers=settings.language_servers,
        hook_seconds=settings.session.plugin_hook_seconds,
        home=Path.home(),
        user_agents=[user / "agents"],
        user_skills=[user / "skills"],
        user_commands=[user / "commands"],
        telemetry=telemetry,
    )
    stored = session.id if session is not None else ""
    return await AgentLoop.open(request.directory, model, data=location.data, session=stored, options=options)


def _hud_of(location: DataLocation, opened: list[Hud | PastSessions]) -> object:
    """Return the HUD's plugin, with the user's settings and sections; what it opens is put into `opened`."""

    def plugin(plugin_input: PluginInput) -> object:
        hud = Hud.open(location.log, settings=location.settings, sections=section_paths())
        opened.append(hud)
        if location.settings.memory.index:
            from hudkit.transcripts.search import open_past_sessions

            hud.past = open_past_sessions(
                index_path(location.log), also=(*session_sources(location.log), OwnTranscript(hud.log))
            )
            opened.append(hud.past)
        return hud_plugin(hud)(plugin_input)

    return plugin


def model_of(request: SessionRequest, session: StoredSession | None, settings: Settings) -> Model | str:
    """Return the scripted model, or the name of the one that works. Raises `ConfigError` where nobody said which.

    The request counts most, then what the session worked with, then the user's settings. A scripted model is never
    taken from a session: its file may be gone, or say something else by now.
    """
    if request.script is not None:
        return _scripted(request.script)
    stored = session.model if session is not None else ""
    for name in (request.model, stored, settings.session.model or ""):
        if name.startswith(SCRIPT) and name == request.model:
            return _scripted(Path(name.removeprefix(SCRIPT)))
        if name and not name.startswith(SCRIPT):
            return name
    if stored:
        raise ConfigError(f"this session worked with {one_line(stored)}", hint="Name it with --script, or a --model")
    keyed = [f"--model {model}" for key, model in _KEYS.items() if os.environ.get(key)]
    how = " or ".join(keyed) or f"--model {_KEYS['ANTHROPIC_API_KEY']} with the key in ANTHROPIC_API_KEY"
    more = "" if keyed else f" (others: {', '.join(list(_KEYS)[1:])})"
    hint = f"Give {how}{more}; or, without a network, --script FILE such as examples/scripts/temperatures.toml"
    raise ConfigError("no model is named", hint=hint)


def _scripted(path: Path) -> Model:
    """Return the model that answers from a script. Raises `ConfigError`."""
    from hudkit.models.scripted_model import read_script

    return read_script(path)


def permission_rules(options: Sequence[tuple[str, str]]) -> tuple[PermissionRule, ...]:
    """Return the rules of `--allow` and `--deny`: an action with `TOOL` or `TOOL PATTERN`. Raises `ConfigError`."""
    rules = []
    for action, text in options:
        tool, _, pattern = text.strip().partition(" ")
        if not tool or action not in ACTIONS:
            raise ConfigError(f"--{action} needs a tool", hint=f'Try --{action} "bash pytest *"')
        every = "**" if tool in PATH_KINDS else "*"
        rules.append(PermissionRule(tool, pattern.strip() or every, action))  # type: ignore[arg-type]
    return tuple(rules)
