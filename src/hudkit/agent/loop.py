"""An agent's session from the outside: open it, give it prompts, watch it, cancel, compact, undo, close it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

from hudkit.agent import agents as definitions
from hudkit.agent import compacting, opening, saying, schema, sent, templates, told, view
from hudkit.agent.acting import acting
from hudkit.agent.area import Area, echo
from hudkit.agent.client import Client
from hudkit.agent.course import Course, Outside, Rules, Setup, text_of
from hudkit.agent.hooks import (
    ChatPart,
    CommandExecuteBefore,
    Failure,
    Hooks,
    NewMessage,
)
from hudkit.agent.kept import Kept, calls_of
from hudkit.agent.permissions import Asking, Rule, nobody
from hudkit.agent.plugins import Found
from hudkit.agent.records import File, Mended, Message, Project, Session, Text
from hudkit.agent.steps import turn
from hudkit.agent.store import SessionStore
from hudkit.agent.subsession import Subsessions
from hudkit.agent.telemetry import Telemetry
from hudkit.agent.templates import Command
from hudkit.agent.tools import Limits
from hudkit.agent.traced import Traced
from hudkit.agent.undoing import Undone, put_back
from hudkit.errors import ConfigError, SessionError
from hudkit.models import Model
from hudkit.sections.sandboxed.files import root_of
from hudkit.tokens import Window


class Loop:
    """One session, open. Prompts are taken up one after the other, in the order in which they came."""

    def __init__(self, setup: Setup, course: Course, client: Client, mended: Mended, project: Project) -> None:
        self.setup = setup
        self.client = client
        self.mended = mended
        """What had been cut off, where the session was resumed."""
        self.project = project
        self.wrong: list[tuple[str, str]] = []
        """What is left out, and why: plugins that were not loaded or were set aside, commands that cannot be read."""
        self._closers: list[tuple[str, Callable[[], object]]] = []
        self._children = Subsessions()
        self._course = course
        self._turns = asyncio.Lock()
        self._task: asyncio.Task[told.Ended] | None = None
        self._cancelled = False
        self._aside: set[asyncio.Task[object]] = set()
        self.queued = 0
        """Prompts that wait for their turn."""

    @classmethod
    async def open(
        cls,
        directory: str | os.PathLike[str],
        model: Model | str,
        *,
        data: str | os.PathLike[str],
        session: str = "",
        agent: str = "",
        plugins: Sequence[tuple[str, object]] = (),
        found: Iterable[Found] = (),
        options: Mapping[str, Mapping[str, Any]] | None = None,
        ask: Asking = nobody,
        permissions: Sequence[Rule] = (),
        rules: Rules | None = None,
        limits: Limits | None = None,
        commands: Mapping[str, str] | None = None,
        home: Path | None = None,
        user_agents: Sequence[Path] = (),
        user_skills: Sequence[Path] = (),
        user_commands: Sequence[Path] = (),
        connect: Callable[[str], Model | Awaitable[Model]] | None = None,
        clock: Callable[[], int] | None = None,
        ids: Callable[[], str] | None = None,
        hook_seconds: float | None = None,
        telemetry: Telemetry | None = None,
    ) -> Self:
        """A new session in a directory, or the stored one with the id `session`.

        `data` is hudkit's data directory; `plugins` are objects with hooks by their names, or functions that make one
        of a `PluginInput`; `found` are those of `plugins.discover`, with `options` by name. `commands` are templates
        by their names, `user_commands` the user's folders of such files. `connect` opens models by name (default:
        `hudkit.models.open_model`). `telemetry` is told what happens, and is the caller's to close. Raises
        `ConfigError`, a `StoreError`, and `SessionError` where the session is unknown or another process has it. A
        plugin that cannot be loaded is in `wrong`.
        """
        folder = Path(data)
        area = Area(root_of(Path(directory)), cwd=Path(directory))
        store = SessionStore.open(folder / schema.FILE)
        log = None
        try:
            rules = rules or Rules()
            log = sent.SentLog(folder / sent.FILE) if rules.record else None
            outside = Outside(
                clock or opening.now,
                ids or opening.uuid7,
                home,
                tuple(user_skills),
                tuple(user_agents),
                folder / "outputs",
            )
            client = Client(store)
            wrong: list[tuple[str, str]] = []

            def failed(one: Failure) -> None:
                telling.failed(one)
                if one.kind == "aside":
                    wrong.append((one.plugin, one.message))

            hooks = Hooks(told=failed, seconds=hook_seconds)
            telling = told.Telling(hooks)
            if telemetry is not None:
                telling.attach(Traced(telemetry, outside.clock))
            known, _ = definitions.discover(area, outside.agents)
            asked, unread = templates.discover(area, user_commands, commands)
            wrong += [(str(one.path), one.why) for one in unread]
            project = store.project(Project(str(area.root), str(area.root), outside.clock()))
            plugged = await opening.plug(
                hooks, plugins, found, opening.input_of(area, project, client), options or {}
            )
            wrong += plugged.wrong
            rules = await opening.configured(hooks, rules, wrong)
            auth: dict[str, dict[str, str]] = {}
            by_name = opening.opener(hooks, connect, auth)
            setup = Setup(
                store, area, hooks, telling, by_name, known, outside, rules,
                tuple(permissions), ask, limits or Limits(), asked, log, auth, plugged.owners,
            )  # fmt: skip
            stored, mended = await opening.stored(setup, session, project, area)
            name = agent or stored.agent or "build"
            if name not in known:
                raise ConfigError(f"there is no agent {echo(name)}", hint=f"There are: {', '.join(known)}")
            used = model if not isinstance(model, str) else await by_name(known[name].model or model)
            store.update(stored.id, outside.clock(), agent=name, model=used.name)
            course = Course(setup, Kept(store, stored.id), known[name], used)
            loop = cls(setup, course, client, mended, project)
            loop.wrong, loop._closers = wrong, plugged.closers
            if rules.depth:
                course.child = loop._children.run
            telling.session_id = stored.id
            client.bind(loop._from_plugin, loop._compact_from_plugin, lambda: course.model.window, telling.tell)
            await course.refresh()
        except BaseException:
            store.close()
            if log is not None:
                log.close()
            raise
        telling.event("session.updated" if session else "session.created", stored.id, directory=str(area.cwd))
        return loop

    @property
    def id(self) -> str:
        return self._course.id

    @property
    def session(self) -> Session:
        """The session as it is stored now, with the sums of its usage and cost."""
        found = self.setup.store.session(self.id)
        assert found is not None
        return found

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, also those that have left the window."""
        return self._course.kept.messages

    @property
    def window(self) -> Window:
        return self._course.model.window

    @property
    def used(self) -> int | None:
        """Tokens in the window after the last response; `None`: not known, as after a compaction."""
        last = view.last_finished(self.messages)
        return last.usage.used if last is not None and last.usage is not None else None

    @property
    def commands(self) -> Mapping[str, Command]:
        """The user's commands by name: those that were given, the user's files, the project's."""
        return self.setup.commands

    @property
    def busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def events(self) -> told.Listener:
        """What happens from now on, as an async iterator; it ends with `close`."""
        return self.setup.telling.listen()

    async def prompt(self, text: str, parts: Sequence[File] = ()) -> told.Ended:
        """Take up a prompt when those before it are done, and work until it is answered.

        `parts` are attached files: bytes, or a path inside the project. Raises `SessionError` for an empty prompt,
        `Refused` for a path that leads out; a model's failure is in what is returned.
        """
        return await self._take(lambda: saying.said(self._course, text, parts))

    async def command(self, name: str, arguments: str = "") -> told.Ended:
        """Take up a command of the user's: its template with the arguments in their places, by the agent and the
        model that it names. Raises `SessionError` where there is no such command or agent, `ConfigError`."""
        command = self.commands.get(name)
        if command is None:
            known = ", ".join(self.commands) or "none"
            raise SessionError(f"there is no command {echo(name)}", hint=f"There are: {known}")
        given = CommandExecuteBefore(self.id, name, arguments)
        output = NewMessage([ChatPart("text", command.filled(arguments))])

        async def said() -> Message:
            left = await self.setup.hooks.run("command_execute_before", given, output)
            return saying.store(self._course, left.parts, {})

        return await self._take(said, command)

    async def proceed(self) -> told.Ended:
        """Go on with a turn that was cut off or cancelled; done at once where nothing is left to do."""

        async def said() -> Message | None:
            seen = self._course.kept.visible()
            cut_off = seen and seen[-1].role == "assistant" and seen[-1].aborted and not calls_of(seen[-1])
            if cut_off:
                return saying.put(self._course, [Text(self._course.new_id("prt"), compacting.GO_ON, synthetic=True)])
            return None

        return await self._take(said)

    async def compact(self) -> bool:
        """Compact now, or after the turn that is under way; whether there was anything to compact."""
        async with self._turns:
            asked = compacting.mark(self._course, auto=False)
            if asked is None:
                return False
            await self._guarded(self._compacted(asked))
            return True

    async def switch(self, *, model: Model | str | None = None, agent: str = "") -> None:
        """Another model or agent from the next model call on. Raises `ConfigError`."""
        async with self._turns:
            course = self._course
            if agent:
                if agent not in self.setup.agents:
                    raise ConfigError(
                        f"there is no agent {echo(agent)}", hint=f"There are: {', '.join(self.setup.agents)}"
                    )
                course.act_as(self.setup.agents[agent])
            if model is not None:
                course.model = await self.setup.open_model(model) if isinstance(model, str) else model
            self.setup.store.update(self.id, course.now(), agent=course.agent.name, model=course.model.name)
            await course.refresh()

    async def undo(self) -> Undone:
        """Take back the last prompt with all that followed, and put back the files that it changed, sub-agents'
        included. What somebody else has changed since is left, and named; what commands did stays. Raises
        `SessionError` where there is no prompt."""
        async with self._turns:
            kept = self._course.kept
            asked = view.last_asked(kept.visible())
            if asked is None:
                raise SessionError("there is no prompt to take back")
            at = next(place for place, one in enumerate(kept.messages) if one.id == asked.id)
            undone = await asyncio.to_thread(put_back, self._course, kept.messages[at:], text_of(asked.parts))
            kept.cut(asked.id, self._course.now())
            self._course.context.seen.clear()
            self._course.repeated = ("", 0)
            return undone

    def cancel(self) -> bool:
        """End the turn that is under way; the transcript stays valid. Whether there was one."""
        if self._task is None or self._task.done():
            return False
        self._cancelled = True
        return self._task.cancel()

    async def settled(self) -> None:
        """Wait until plugins have been told of all that happened so far."""
        await self.setup.telling.settled()

    async def close(self) -> None:
        """End what is under way, and let go of the session; twice is harmless. Models are the caller's to close."""
        self.cancel()
        for task in (*self._aside, *([self._task] if self._task else [])):
            task.cancel()
            await asyncio.wait({task}, timeout=10)
        await self.setup.telling.close()
        while self._closers:
            name, close = self._closers.pop()
            await self.setup.hooks.end(name, close, seconds=2.0)
        self.setup.hooks.close()
        self.setup.store.close()
        if self.setup.sent is not None:
            self.setup.sent.close()
            self.setup.sent = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _take(
        self, said: Callable[[], Awaitable[Message | None]], command: Command | None = None
    ) -> told.Ended:
        self.queued += 1
        try:
            await self._turns.acquire()
        finally:
            self.queued -= 1
        try:
            async with acting(self._course, command) if command is not None else nullcontext():
                message = await said()
                if message is not None:
                    self._course.tell(told.Begun(self.id, message))
                return await self._guarded(turn(self._course))
        finally:
            self._turns.release()

    async def _guarded(self, work: Any) -> told.Ended:
        """Run a turn so that `cancel` ends it, and nothing else of the caller's."""
        self._cancelled = False
        self._task = asyncio.ensure_future(work)
        try:
            return await self._task
        except asyncio.CancelledError:
            ended = told.Ended(self.id, "cancelled", error="cancelled by the user")
            self._course.tell(ended)
            self.setup.telling.event("session.idle", self.id, reason="cancelled", error="")
            if self._cancelled:
                return ended
            raise

    async def _compacted(self, asked: Message) -> told.Ended:
        await compacting.compact(self._course, asked)
        return told.Ended(self.id, "done")

    async def _from_plugin(self, session_id: str, text: str) -> None:
        """A plugin's prompt: into the queue, and nobody waits for its answer."""
        if session_id in ("", self.id):
            self._beside(self.prompt(text))

    def _compact_from_plugin(self, session_id: str) -> None:
        course = self._children.get(session_id) or (self._course if session_id in ("", self.id) else None)
        if course is not None and self.busy:
            course.compact_wanted = True
        elif course is not None:
            self._beside(self.compact())

    def _beside(self, work: Any) -> None:
        task: asyncio.Task[object] = asyncio.ensure_future(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)
