"""Sub-sessions: a part of the work done by another agent in a transcript of its own, for the tool `task`."""

from __future__ import annotations

from hudkit.agent import saying
from hudkit.agent.course import Course, Task
from hudkit.agent.kept import Kept
from hudkit.agent.permissions import DEFAULTS
from hudkit.agent.records import Session, Text
from hudkit.agent.steps import turn
from hudkit.errors import ToolError


class Subsessions:
    """The sub-sessions of one loop that are under way, by their ids."""

    def __init__(self) -> None:
        self._open: dict[str, Course] = {}

    def get(self, session_id: str) -> Course | None:
        return self._open.get(session_id)

    async def run(self, task: Task) -> tuple[str, str]:
        """Run a sub-session to its end; its id and its last words. Raises `ToolError` where it came to nothing.

        It has its parent's rules and its own agent's behind them. It may start others as long as `Rules.depth` says.
        """
        parent, setup = task.parent, task.parent.setup
        agent = setup.agents[task.agent]
        model = await setup.open_model(agent.model) if agent.model else parent.model
        above = setup.store.session(parent.id)
        now, id = parent.now(), parent.new_id("ses")
        session = Session(
            id,
            above.project_id if above is not None else "",
            parent.id,
            str(setup.area.cwd),
            task.title,
            agent.name,
            model.name,
            now,
            asked_by=task.message_id,
        )
        setup.store.create(session)
        setup.telling.event("session.created", id, parent=parent.id, agent=agent.name)
        try:
            course = Course(setup, Kept(setup.store, id), agent, model, depth=parent.depth + 1)
            if course.depth < setup.rules.depth:
                course.child = self.run
            course.permit((*parent.permissions.rules[len(DEFAULTS) :], *agent.rules))
            self._open[id] = course
            await course.refresh()
            saying.put(course, [Text(course.new_id("prt"), task.prompt)])
            ended = await turn(course, task)
        finally:
            self._open.pop(id, None)
            setup.store.release(id)
        if ended.reason not in ("done", "steps", "length"):
            raise ToolError(
                f"the sub-agent did not finish: {ended.error or ended.reason}", hint=f"Its session is {id}"
            )
        left = "" if ended.reason == "done" else f"\n[{ended.error}]"
        return id, (ended.text or "[the sub-agent said nothing]") + left
