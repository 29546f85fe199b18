"""`HudRunner`: runs agents as the SDK's `Runner` does, with the HUD in every call."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from agents import Agent, RunConfig, Runner, RunResult, RunResultStreaming, SQLiteSession
from agents.items import TResponseInputItem
from agents.memory import Session
from agents.run import RunState

from hudkit.api import Hud
from hudkit.hosts.in_process import TOOL_DEFINITIONS, InProcessHud
from hudkit.hosts.openai_agents.agent_copies import hud_tool, with_hud_tools
from hudkit.hosts.openai_agents.call_filter import ACTIVE_CALL, CallFilter
from hudkit.hosts.openai_agents.conversation import RunnerState, RunOptions, config_option
from hudkit.tokens import Window
from hudkit.tools import DEFINITIONS as ROUTERS

HOST = "openai-agents"
"""What this host is called in a log."""

Input = str | list[TResponseInputItem] | RunState[Any]


class HudRunner:
    """Runs agents with the HUD: `await HudRunner().run(agent, "...", session="s1")` for `await Runner.run(...)`.

    One is enough for all agents and conversations of a program; runs at the same time keep to their own.
    """

    def __init__(
        self,
        hud: Hud | str | os.PathLike[str] | None = None,
        *,
        project: str | os.PathLike[str] | None = None,
        sessions: str | os.PathLike[str] = ":memory:",
        window: int | Window | None = None,
        compact: bool = True,
        tools: Mapping[str, str] | None = None,
        resume: str = "",
    ) -> None:
        """`hud` is an open `Hud`, the path of a log, or nothing: the user's own log, which all hosts share. `project`
        is the directory that the agents work in. Sessions that are given by a name are the SDK's SQLite sessions in
        the file `sessions`. `window` is the model's, in tokens (default: as the table of models has it). `compact`:
        a conversation that fills the window is compacted. `tools` says what the agents' tools do, where their names
        do not (`{"load_text": "read"}`: read, write, edit, bash, apply_patch, todowrite). `resume` names a session of
        any host, whose task the first conversation takes up."""
        self.attached = InProcessHud(hud, host=HOST, project=project)
        self._file = sessions
        self._tools = [hud_tool(one) for one in (TOOL_DEFINITIONS if compact else ROUTERS)]
        self._sessions: dict[str, SQLiteSession] = {}
        self._shared = RunnerState(
            self.attached,
            window=window,
            compact=compact,
            names=dict(tools or {}),
            offered=frozenset(tool.name for tool in self._tools),
            resume=resume,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the log and the sessions that were opened here; twice is harmless."""
        self.attached.close()
        while self._sessions:
            self._sessions.popitem()[1].close()

    async def run(
        self, agent: Agent[Any], input: Input, *, session: Session | str | None = None, **options: Any
    ) -> RunResult:
        """`Runner.run`, with its options. The session, or else the `conversation_id` or the `group_id` of the run
        configuration, is the conversation that the HUD belongs to; without one of them, a run is one of its own."""
        with _apart():
            return await Runner.run(self.agent(agent), input, **self._options(session, options))

    def run_sync(
        self, agent: Agent[Any], input: Input, *, session: Session | str | None = None, **options: Any
    ) -> RunResult:
        """`Runner.run_sync`: the same, where no event loop runs."""
        with _apart():
            return Runner.run_sync(self.agent(agent), input, **self._options(session, options))

    def run_streamed(
        self, agent: Agent[Any], input: Input, *, session: Session | str | None = None, **options: Any
    ) -> RunResultStreaming:
        """`Runner.run_streamed`: the same, as a stream of events."""
        with _apart():
            return Runner.run_streamed(self.agent(agent), input, **self._options(session, options))

    def agent(self, agent: Agent[Any]) -> Agent[Any]:
        """A copy of an agent with the HUD's tools, its handoffs too; for sub-agents (`hud.agent(a).as_tool(...)`) and
        for runs that are taken up (`RunState.from_json(hud.agent(a), ...)`). Twice is harmless. Raises `ConfigError`
        where the agent has a tool with such a name."""
        return with_hud_tools(agent, self._tools)

    def run_config(
        self,
        config: RunOptions = None,
        *,
        session: Session | None = None,
        conversation: str = "",
        chained: bool = False,
    ) -> RunConfig:
        """A run configuration that brings the HUD into the calls of `hud.agent(...)`, for whoever runs it: `Runner`,
        or `as_tool(session=s, run_config=hud.run_config(session=s))`. For one conversation. `conversation` names one
        that has no session; `chained`: the provider keeps it."""
        given = self._filtered(config, session, conversation, chained=chained)
        return given if isinstance(given, RunConfig) else RunConfig(**given)

    # -- inside ------------------------------------------------------------------------------------------------

    def _options(self, session: Session | str | None, options: dict[str, Any]) -> dict[str, Any]:
        kept = self._session(session) if isinstance(session, str) else session
        before, name = options.get("previous_response_id"), options.get("conversation_id")
        chained = bool(before or name or options.get("auto_previous_response_id"))
        name = name or self._shared.behind(before or "")
        config = self._filtered(options.get("run_config"), kept, name, chained=chained)
        return {**options, "session": kept, "run_config": config}

    def _session(self, id: str) -> SQLiteSession:
        if id not in self._sessions:
            self._sessions[id] = SQLiteSession(id, self._file if self._file == ":memory:" else str(self._file))
        return self._sessions[id]

    def _filtered(
        self, config: RunOptions, session: Session | None, name: str, *, chained: bool
    ) -> RunConfig | dict[str, Any]:
        """The configuration with our filter; still a dict where it was none, so that the SDK closes what it opens."""
        calls = CallFilter(
            self._shared, config, session, name=name or config_option(config, "group_id") or "", chained=chained
        )
        if isinstance(config, RunConfig):
            return replace(config, call_model_input_filter=calls)
        return {**(config or {}), "call_model_input_filter": calls}


@contextmanager
def _apart() -> Iterator[None]:
    """What a run leaves in this context is not seen by the next one."""
    token = ACTIVE_CALL.set(ACTIVE_CALL.get())
    try:
        yield
    finally:
        ACTIVE_CALL.reset(token)
