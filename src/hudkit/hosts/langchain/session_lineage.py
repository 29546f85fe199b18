"""Whose call it is: the session of a model or tool call, by its thread, its run, or the tool call around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple
from uuid import uuid4

from langchain_core.runnables import RunnableConfig

STATE_KEY = "hud_session"
"""The channel of an agent's state that holds the session of a run without a thread."""


class SessionLineage(NamedTuple):
    """The host's id of a call's `session`, and of the `parent` session whose tool call it runs within. `kept`: a
    checkpointer keeps the messages, so that their ids are the same in the next run. `fresh`: the session was just
    made for this run, and is nowhere noted yet. `session` is empty where nothing tells one."""

    session: str
    parent: str = ""
    kept: bool = False
    fresh: bool = False
    agent: str = ""


class _Running(NamedTuple):
    """A tool call that is being carried out: its session, the place of its task, and its id."""

    line: SessionLineage
    thread: str
    place: str
    call: str


_RUNNING: ContextVar[_Running | None] = ContextVar("hudkit_langchain_tool_call", default=None)
"""It goes where the call goes: into the threads and tasks of the graphs that the tool runs."""


def lineage_of_call(config: RunnableConfig, state: object = None, *, makes: bool = False) -> SessionLineage:
    """The session of a model call. Within a tool call of a session with the HUD it is a sub-agent's: its own thread
    where it was given another one, else one for each tool call. Without thread and parent, it is that of the run, as
    `state` has it; a new one where `makes` allows it."""
    thread, place, kept, agent = _told(config)
    running = _RUNNING.get()
    if running is not None:
        own = thread if thread and thread != running.thread else _child(running, place)
        return SessionLineage(own, running.line.session, kept, agent=agent)
    if thread:
        return SessionLineage(thread, kept=kept, agent=agent)
    noted = state.get(STATE_KEY) if isinstance(state, Mapping) else getattr(state, STATE_KEY, "")
    if isinstance(noted, str) and noted:
        return SessionLineage(noted, agent=agent)
    return SessionLineage(f"run-{uuid4().hex}", fresh=True, agent=agent) if makes else SessionLineage("", agent=agent)


def lineage_of_tool(config: RunnableConfig) -> SessionLineage:
    """The session of a tool that is being run: that of its tool call, where it is known."""
    running = _RUNNING.get()
    thread, place, _, _ = _told(config)
    if running is not None and (running.thread, running.place) == (thread, place):
        return running.line
    return lineage_of_call(config)


@contextmanager
def tool_call_scope(config: RunnableConfig, state: object, call: str) -> Iterator[None]:
    """While a tool call of the session is carried out: agents that it starts are sub-agents of the session."""
    thread, place, _, _ = _told(config)
    line = lineage_of_call(config, state)
    token = _RUNNING.set(_Running(line, thread, place, call)) if line.session else None
    try:
        yield
    finally:
        if token is not None:
            _RUNNING.reset(token)


def _told(config: RunnableConfig) -> tuple[str, str, bool, str]:
    """Thread, place among the graphs, whether a checkpointer is there, and the agent's name."""
    given: Mapping[str, Any] = config.get("configurable") or {}
    thread, place = str(given.get("thread_id") or ""), str(given.get("checkpoint_ns") or "")
    kept = given.get("__pregel_checkpointer") is not None
    return thread, place, kept, str((config.get("metadata") or {}).get("lc_agent_name") or "")


def _child(running: _Running, place: str) -> str:
    """The session of a graph that a tool call runs; LangGraph numbers the second and later ones of a call."""
    name = f"{running.line.session}/{running.call}"
    inner = place.removeprefix(f"{running.place}|").partition("|")[0] if place.startswith(f"{running.place}|") else ""
    return f"{name}/{inner}" if inner.isdigit() else name
