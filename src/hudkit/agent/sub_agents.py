"""Sub-agents: sessions that work for a call of the tool `task`, which waits for them, or goes on beside them.

What the parent is told is one report, in the form that OpenCode has for it:

    <task id="ses_1" state="completed"><task_result>…</task_result></task>

`running` is the answer of a call that does not wait (`background`). The end comes in a message of the host's behind
it. Which ends are still to be told follows from the stored messages alone: those of calls in the background without a
later report of the same session. So a session that was killed, cancelled or forked tells of its sub-agents when it
goes on, and what they had finished by then is not lost.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from hudkit.agent import user_input
from hudkit.agent.events import TurnEnded
from hudkit.agent.message_history import MessageHistory, is_turn_unfinished
from hudkit.agent.permissions import DEFAULT_RULES
from hudkit.agent.records import StoredCall, StoredSession, StoredText
from hudkit.agent.run_context import RunContext, SubTask, joined_text
from hudkit.agent.workspace import quote
from hudkit.errors import SessionError, ToolError

_State: TypeAlias = Literal["running", "completed", "error"]

_REPORTED = re.compile(r'^<task id="([^"\n]+)" state="(?:completed|error)">$', re.MULTILINE)

_OWN_TAGS = re.compile(r"<(?=/?task(?:_result|_error)?\b)")
"""What a sub-agent says must not end its report, nor begin another one's."""

_AT_WORK = "It works in the background. Its end comes with a later message: go on, and do not ask for it."

_INTERRUPTED = "It was interrupted. Call task with this task_id to let it go on."


class SubAgents:
    """The sub-sessions of one loop: they are begun or gone on with here, and are known here while they work."""

    def __init__(self, run_turn: Callable[[RunContext, SubTask], Awaitable[TurnEnded]]) -> None:
        """Hold no session yet; `run_turn` is what works in one."""
        self._run_turn = run_turn
        self._open: dict[str, RunContext] = {}

    def get(self, session_id: str) -> RunContext | None:
        """Return the sub-session of this id, where it is under way."""
        return self._open.get(session_id)

    def check(self, parent: RunContext, session_id: str) -> None:
        """Return nothing where a sub-session of this parent can be gone on with. Raises `ToolError`."""
        session = parent.setup.store.session(session_id)
        if session is None or session.parent_id != parent.id:
            hint = "Leave it out to begin another sub-agent"
            raise ToolError(f"no sub-agent of this session has the task_id {quote(session_id)}", hint=hint)
        if session_id in self._open:
            raise ToolError(f"the sub-agent {session_id} is at work", hint="Its end comes with a later message")

    async def work(self, task: SubTask) -> str:
        """Work in a sub-session to its end, and return the report of it. Raises `ToolError` where it came to nothing.

        It has its parent's rules and its own agent's behind them. It may start others as long as `LoopSettings.depth`
        allows.
        """
        return await self._work(await self._begin(task), task)

    async def start(self, task: SubTask) -> str:
        """Begin a sub-session that works beside its parent, and return the report that it does.

        Raises `ToolError` as `work` does, where it cannot begin.
        """
        run = await self._begin(task)
        task.parent.background.start(run.id, self._work_beside(run, task))
        return _report(run.id, "running", _AT_WORK)

    async def _begin(self, task: SubTask) -> RunContext:
        """Open a sub-session with its task as the last message; return its context."""
        parent, setup = task.parent, task.parent.setup
        stored = setup.store.session(task.session_id)
        agent = setup.agents[stored.agent if stored is not None and stored.agent in setup.agents else task.agent]
        model = await parent.model_of(agent.model, agent.level)
        if stored is None:
            setup.store.create(_sub_session(task, agent.name, model.name))
            setup.events.notify_plugins("session.created", task.session_id, parent=parent.id, agent=agent.name)
        else:
            try:
                setup.store.resume(task.session_id, parent.now())
            except SessionError as error:
                raise ToolError(error.message, hint=error.hint) from None
        try:
            history = MessageHistory(setup.store, task.session_id)
            run = RunContext(setup, history, agent, model, depth=parent.depth + 1)
            if run.depth < setup.settings.depth:
                run.sub_agents = self
            # the defaults are in front of every set of rules already: only what was added to them is handed on
            run.set_rules((*parent.permissions.rules[len(DEFAULT_RULES) :], *agent.rules))
            _forget_taken_back(run, parent)
            self._open[run.id] = run
            await run.refresh()
            words = [StoredText(run.new_id("prt"), text, synthetic=True) for text in task_reports(run)]
            words.append(StoredText(run.new_id("prt"), task.prompt))
            user_input.store_user_message(run, words, asked_by=task.message_id)
        except BaseException:
            self._close(task)
            raise
        return run

    async def _work(self, run: RunContext, task: SubTask) -> str:
        try:
            ended = await self._run_turn(run, task)
        finally:
            self._close(task)
        if ended.reason not in ("done", "steps", "length"):
            message = f"the sub-agent did not finish: {ended.error or ended.reason}"
            raise ToolError(message, hint=f"task with task_id {run.id} goes on there")
        remark = "" if ended.reason == "done" else f"\n[{ended.error}]"
        return _report(run.id, "completed", (ended.text or "[the sub-agent said nothing]") + remark)

    async def _work_beside(self, run: RunContext, task: SubTask) -> str:
        """Work in the background, as soon as there is room; return the report of how it ended."""
        try:
            async with task.parent.background.room(run.settings.parallel):
                return await self._work(run, task)
        except ToolError as error:
            return _report(run.id, "error", str(error))
        except asyncio.CancelledError:
            run.emit(TurnEnded(run.id, "cancelled", error="cancelled with the turn that it worked for"))
            raise
        except Exception as error:
            return _report(run.id, "error", f"{type(error).__name__} {error}")
        finally:
            self._close(task)

    def _close(self, task: SubTask) -> None:
        self._open.pop(task.session_id, None)
        task.parent.setup.store.release(task.session_id)


def task_reports(run: RunContext) -> tuple[str, ...]:
    """Return the reports of sub-agents in the background that have ended, and of which nothing was told yet."""
    left: dict[str, None] = {}
    for message in run.history.messages:
        for part in message.parts:
            if isinstance(part, StoredCall) and part.tool == "task" and part.status == "completed":
                id = str(part.metadata.get("session", ""))
                left.pop(id, None)
                if part.metadata.get("background"):
                    left[id] = None
            elif isinstance(part, StoredText) and part.synthetic and message.role == "user":
                for id in _REPORTED.findall(part.text):
                    left.pop(id, None)
    return tuple(_ended_report(run, id) for id in left if not run.background.is_working(id))


def store_task_reports(run: RunContext) -> bool:
    """Store what `task_reports` gives as a message of the host's; return whether there was something."""
    reports = task_reports(run)
    if reports:
        parts = [StoredText(run.new_id("prt"), text, synthetic=True) for text in reports]
        user_input.store_user_message(run, parts)
    return bool(reports)


def _ended_report(run: RunContext, session_id: str) -> str:
    """Return what is told of a sub-agent that is not at work: what it told itself, else what its messages tell."""
    own = run.background.take_report(session_id)
    if own:
        return own
    messages = run.setup.store.messages(session_id) if run.setup.store.session(session_id) is not None else ()
    last = next((each for each in reversed(messages) if each.role == "assistant" and not each.summary), None)
    if last is None or last.error or is_turn_unfinished(messages):
        return _report(session_id, "error", _INTERRUPTED)
    return _report(session_id, "completed", joined_text(last.parts) or "[the sub-agent said nothing]")


def _report(session_id: str, state: _State, text: str) -> str:
    name = "task_error" if state == "error" else "task_result"
    own = _OWN_TAGS.sub("&lt;", text)
    return f'<task id="{session_id}" state="{state}">\n<{name}>\n{own}\n</{name}>\n</task>'


def _forget_taken_back(run: RunContext, parent: RunContext) -> None:
    """Take back what a sub-session was asked for by responses that the parent no longer has."""
    there = {message.id for message in parent.history.messages}
    gone = next((each for each in run.history.messages if each.asked_by and each.asked_by not in there), None)
    if gone is not None:
        run.history.take_back(gone.id, run.now())
        run.setup.events.notify_plugins("session.reverted", run.id)


def _sub_session(task: SubTask, agent: str, model: str) -> StoredSession:
    parent, setup = task.parent, task.parent.setup
    above = setup.store.session(parent.id)
    return StoredSession(
        task.session_id,
        above.project_id if above is not None else "",
        parent.id,
        str(setup.workspace.cwd),
        task.title,
        agent,
        model,
        parent.now(),
        asked_by=task.message_id,
    )
