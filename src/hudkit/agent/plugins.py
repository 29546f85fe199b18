"""Plugins: found by entry point and by file, let in by their bytes, made into objects with hooks.

A file of the user's own runs. A file of a project runs only where the user trusts its very bytes (`trust_plugin`): a
repository is somebody else's text. What is run are the bytes that were looked at, not the file a moment later.

What a plugin reads of its session, it reads as a transcript (`SessionTranscript`), as it would any other host's.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import stat
import sys
from collections.abc import Callable, Coroutine, Iterable
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.agent.events import AgentEvent, MetricsReported
from hudkit.agent.message_history import MessageHistory
from hudkit.agent.records import StoredMessage
from hudkit.agent.session_store import SessionStore
from hudkit.agent.session_transcript import SessionTranscript, transcript_message
from hudkit.compose import shorten, visible
from hudkit.context.window_budget import WindowBudget
from hudkit.errors import ConfigError, TranscriptError
from hudkit.paths import SectionPaths, git_root
from hudkit.sections.sandboxed.definitions import add_trust, trusted_digests
from hudkit.tokens import Window
from hudkit.tokens.model_facts import ASSUMED_WINDOW
from hudkit.transcripts import Message, SessionRow, Todo


class PluginClient:
    """What a plugin may ask of its session: read it, prompt it, have it compacted.

    Calls may come from any thread, also from within a hook: none of them waits for the session.
    """

    def __init__(self, store: SessionStore) -> None:
        self.transcript = SessionTranscript(store)
        """All sessions of the store, as `memory` reads them."""
        self._store = store
        self._loop: asyncio.AbstractEventLoop | None = None
        self._prompt: Callable[[str, str], Coroutine[Any, Any, object]] | None = None
        self._compact: Callable[[str], None] | None = None
        self._window: Callable[[], Window] = lambda: Window(ASSUMED_WINDOW, None, None, "assumed")
        self._budget: Callable[[], tuple[WindowBudget | None, int]] = lambda: (None, 0)
        self._post: Callable[[AgentEvent], None] = lambda event: None  # noqa: ARG005 (nobody listens yet)
        self._history: MessageHistory | None = None
        self._watchers: list[Callable[[StoredMessage], None]] = []
        self._converted: dict[str, tuple[StoredMessage, Message]] = {}
        self._names: dict[str, tuple[int, tuple[str, str]]] = {}

    def bind(
        self,
        prompt: Callable[[str, str], Coroutine[Any, Any, object]],
        compact: Callable[[str], None],
        window: Callable[[], Window],
        post: Callable[[AgentEvent], None],
        budget: Callable[[], tuple[WindowBudget | None, int]],
        history: MessageHistory,
    ) -> None:
        """Connect the client to the open session; return nothing. The session's own business."""
        self._history = history
        self._window, self._post, self._budget = window, post, budget
        self._loop, self._prompt, self._compact = asyncio.get_running_loop(), prompt, compact

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return all sessions, oldest first."""
        return self.transcript.sessions()

    def session(self, session_id: str) -> SessionRow | None:
        """Return a session by its id; `None` where there is none."""
        return self.transcript.session(session_id)

    def title_and_agent(self, session_id: str) -> tuple[str, str]:
        """Return the title and the agent of a session, both empty where there is none.

        Those of the open session are read again only where they may have changed: nobody else may write it.
        """
        updates = self._store.updates
        last = self._names.get(session_id)
        if last is None or last[0] != updates or not self.watches(session_id):
            row = self.session(session_id)
            names = (row.title, row.agent) if row is not None else ("", "")
            last = self._names[session_id] = (updates, names)
        return last[1]

    def messages(self, session_id: str, *, after: str = "") -> tuple[Message, ...]:
        """Return a session's messages as they are stored, from behind the one with the id `after`.

        Raises `TranscriptError` where that one is not there any more.
        """
        history = self._history
        if history is None or session_id != history.session_id:
            return tuple(self.transcript.messages(session_id, after=after))
        messages = history.messages_after(after)  # what is stored of the open session is in memory
        if messages is None:
            raise TranscriptError(f"no message {after!r:.80}", hint="Read it from its begin.")
        return tuple(map(self.read, messages))

    def read(self, message: StoredMessage) -> Message:
        """Return a message that was announced as transcripts have it: once it is stored, `messages` has the same."""
        last = self._converted.get(message.session_id)
        if last is None or last[0] is not message:
            last = self._converted[message.session_id] = (message, transcript_message(message))
        return last[1]

    def watches(self, session_id: str) -> bool:
        """Return whether messages of a session are announced: those of the open session are."""
        return self._history is not None and session_id == self._history.session_id

    def watch(self, announced: Callable[[StoredMessage], None]) -> None:
        """Have a function called with each message of the open session that begins, and with each response that grows
        or ends, while that is stored; return nothing.

        It runs in the session's own thread, which waits for it before it waits for the disk: there a message should
        only be noted.
        """
        self._watchers.append(announced)

    def announce(self, message: StoredMessage) -> None:
        """Tell who watches of a message that is about to be stored; return nothing. The session's own business."""
        for announced in self._watchers:
            announced(message)

    def todos(self, session_id: str) -> tuple[Todo, ...]:
        """Return a session's list of todos."""
        return self.transcript.todos(session_id)

    def window(self) -> Window:
        """Return the window of the model that the open session uses now."""
        return self._window()

    def window_budget(self) -> WindowBudget | None:
        """Return what each part of a request may have; `None` where the open session is compacted, not trimmed."""
        return self._budget()[0]

    def tools_characters(self) -> int:
        """Return the characters of the definitions of the open session's tools."""
        return self._budget()[1]

    def prompt(self, session_id: str, text: str) -> None:
        """Queue a prompt for the open session, and return nothing; it is taken up when the turn is over."""
        if self._loop is not None and self._prompt is not None:
            # plugins run in threads of their own: the loop is entered only by these two doors
            asyncio.run_coroutine_threadsafe(self._prompt(session_id, text), self._loop)

    def summarise(self, session_id: str) -> None:
        """Have the open session compacted before its next model call, or at once where it is idle; return nothing."""
        if self._loop is not None and self._compact is not None:
            self._loop.call_soon_threadsafe(self._compact, session_id)

    def figures(self, session_id: str, **figures: bool | int | float | str | tuple[str, ...]) -> None:
        """Give telemetry figures of the model call that comes next: attributes by name, no content.

        Returns nothing.
        """
        self._post(MetricsReported(session_id, figures))


_ENTRY_POINT_GROUP = "hudkit.plugins"
"""The entry point group: each names a function that takes a `PluginInput` and returns an object with hooks."""

_PROJECT_FOLDER = Path(".hudkit") / "plugins"
"""Where a project keeps plugins, below its root."""

_FUNCTION_NAME = "plugin"
"""The function of a plugin's file."""

_MAX_BYTES = 256 * 1024
_MAX_FILES = 32
_LOAD_SECONDS = 20.0
"""The most that loading one plugin may take."""

PluginOrigin: TypeAlias = Literal["entry point", "user", "project"]


class PluginInput(msgspec.Struct, frozen=True):
    """What a plugin is made of.

    `project` is the project's key, `directory` the working directory, `worktree` the project's root, `client` what
    the plugin can ask the session by, and `options` its options from the configuration.
    """

    project: str
    directory: Path
    worktree: Path
    client: PluginClient
    options: dict[str, Any] = {}


class DiscoveredPlugin(msgspec.Struct, frozen=True):
    """A plugin that was found: where, with which bytes (`digest`, SHA-256), whether it may run, and its `problem`."""

    name: str
    origin: PluginOrigin
    path: Path | None = None
    entry: EntryPoint | None = None
    raw: bytes = b""
    digest: str = ""
    trusted: bool = True
    problem: str = ""


def discover_plugins(
    places: SectionPaths, project: Path | None = None, *, entries: bool = True
) -> tuple[DiscoveredPlugin, ...]:
    """Return the plugins there are, whether they may run or not: installed ones by name, the user's, the project's.

    `places.user` is the user's folder of plugins, `places.trusted` says which bytes are trusted. Never raises, and
    runs nothing of a plugin.
    """
    plugins: list[DiscoveredPlugin] = []
    if entries:
        # installed packages: who installed them trusts them
        named = sorted(entry_points(group=_ENTRY_POINT_GROUP), key=lambda entry: entry.name)
        plugins += [DiscoveredPlugin(entry.name, "entry point", entry=entry) for entry in named]
    allowed_digests = trusted_digests(places.trusted)
    plugins += [_inspect_file(path, "user", allowed_digests) for path in _plugin_files(places.user)]
    if project is not None:
        plugins += [
            _inspect_file(path, "project", allowed_digests)
            for path in _plugin_files(git_root(project) / _PROJECT_FOLDER)
        ]
    return tuple(plugins)


def trust_plugin(path: Path, places: SectionPaths) -> DiscoveredPlugin:
    """Trust a plugin's bytes as they are now, and return the plugin; changed bytes are others.

    Raises `ConfigError`.
    """
    plugin = _inspect_file(path.absolute(), "project", trusted_digests(places.trusted))
    if plugin.problem and plugin.digest == "":
        raise ConfigError(plugin.problem)
    if not plugin.trusted:
        add_trust(places, plugin.digest, path.absolute())
    return msgspec.structs.replace(plugin, trusted=True, problem="")


async def load_plugin(plugin: object, plugin_input: PluginInput) -> object:
    """Return the object with hooks that a plugin is. Raises `ConfigError` that says why there is none."""
    if isinstance(plugin, DiscoveredPlugin):
        plugin = await _call_bounded(_plugin_function, plugin)
    if inspect.isfunction(plugin) or inspect.ismethod(plugin) or isinstance(plugin, type):
        plugin = await _call_bounded(plugin, plugin_input)
        if inspect.isawaitable(plugin):
            try:
                plugin = await asyncio.wait_for(plugin, _LOAD_SECONDS)
            except Exception as error:
                raise _plugin_failure(error) from error
    if plugin is None:
        # a forgotten `return` would otherwise be a plugin without hooks, and nobody would notice
        raise ConfigError("the plugin's function returned nothing", hint="Return an object with hooks")
    return plugin


async def _call_bounded(function: Callable[..., Any], argument: object) -> Any:
    """Return what a function of a plugin returns, run beside the loop and not longer than it may."""
    try:
        # a thread that hangs cannot be ended, only left behind
        return await asyncio.wait_for(asyncio.to_thread(function, argument), _LOAD_SECONDS)
    except ConfigError:
        raise
    except TimeoutError:
        raise ConfigError(f"the plugin was not loaded within {_LOAD_SECONDS:g} s") from None
    except (Exception, SystemExit) as error:
        raise _plugin_failure(error) from error


def _plugin_failure(error: BaseException) -> ConfigError:
    return ConfigError(f"the plugin failed: {type(error).__name__}: {shorten(visible(str(error)), 300)}")


def _plugin_function(plugin: DiscoveredPlugin) -> object:
    if plugin.problem:
        raise ConfigError(plugin.problem)
    if plugin.entry is not None:
        return plugin.entry.load()
    if not plugin.trusted:
        raise ConfigError(f"{plugin.path} is not trusted", hint="Read it; then trust its bytes as they are now")
    module = ModuleType(f"hudkit_plugin_{plugin.name}")
    module.__file__ = str(plugin.path)
    # pickling and dataclasses look a class up by its module
    sys.modules[module.__name__] = module
    # the bytes that were looked at, not the file: it may have changed since
    exec(compile(plugin.raw, str(plugin.path), "exec"), module.__dict__)
    function = getattr(module, _FUNCTION_NAME, None)
    if not callable(function):
        raise ConfigError(
            f"{plugin.path} has no function {_FUNCTION_NAME}",
            hint=f"def {_FUNCTION_NAME}(plugin_input): return {{…}}",
        )
    return function


def _plugin_files(folder: Path) -> Iterable[Path]:
    try:
        files = sorted(
            path for path in folder.iterdir() if path.suffix == ".py" and not path.name.startswith((".", "_"))
        )
    except OSError:
        return ()
    return files[:_MAX_FILES]


def _inspect_file(path: Path, origin: PluginOrigin, allowed_digests: frozenset[str]) -> DiscoveredPlugin:
    """Return a file as it is now: a link, a pipe, what others can write, and what is too long are not plugins."""
    name = visible(path.stem)
    try:
        # no link, no waiting at a pipe; what is read from this descriptor is what is judged and run
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode):
                return DiscoveredPlugin(name, origin, path, trusted=False, problem=f"{path.name} is not a file")
            # what others can write is not the user's word
            if origin == "user" and (about.st_uid != os.geteuid() or about.st_mode & 0o022):
                return DiscoveredPlugin(
                    name, origin, path, trusted=False, problem=f"{path.name} can be written by others"
                )
            # one more than allowed tells that there is more
            raw = file.read(_MAX_BYTES + 1)
    except OSError as error:
        return DiscoveredPlugin(
            name, origin, path, trusted=False, problem=f"{path.name} cannot be read: {error.strerror}"
        )
    if len(raw) > _MAX_BYTES:
        return DiscoveredPlugin(
            name, origin, path, trusted=False, problem=f"{path.name} has more than {_MAX_BYTES:,} bytes"
        )
    digest = sha256(raw).hexdigest()
    return DiscoveredPlugin(
        name, origin, path, raw=raw, digest=digest, trusted=origin == "user" or digest in allowed_digests
    )
