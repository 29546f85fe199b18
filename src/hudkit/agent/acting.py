"""A turn that is taken up by another agent or model than the session's: what a command may ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hudkit.agent.agents import narrowed
from hudkit.agent.area import echo
from hudkit.agent.course import Course
from hudkit.agent.permissions import DEFAULTS, tightening
from hudkit.agent.templates import Command
from hudkit.errors import SessionError


@asynccontextmanager
async def acting(course: Course, command: Command) -> AsyncIterator[None]:
    """Work as a command says, then as before. Raises `SessionError` for an agent, `ConfigError` for a model.

    A command of the project gets no more leave by naming an agent than the session has: rules and tools are narrowed.
    """
    agents = course.setup.agents
    if command.agent and command.agent not in agents:
        said = f"the command {echo(command.name)} wants the agent {echo(command.agent)}, which there is not"
        raise SessionError(said, hint=f"There are: {', '.join(agents)}")
    agent, model, permissions = course.agent, course.model, course.permissions
    asked = agents[command.agent] if command.agent else agent
    name = command.model or (asked.model if command.agent else "")
    if asked.name == agent.name and name in ("", model.name):
        yield
        return
    if name:
        course.model = await course.setup.open_model(name)
    if asked.name != agent.name and command.level == "project":
        course.agent = narrowed(asked, agent)
        course.permit((*permissions.rules[len(DEFAULTS) :], *tightening(asked.rules)))
    elif asked.name != agent.name:
        course.act_as(asked)
    try:
        await course.refresh()
        yield
    finally:
        course.agent, course.model = agent, model
        course.keep(permissions)
        await course.refresh()
