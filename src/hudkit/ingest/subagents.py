"""Sub-agents that start and come back: by the call that one is, or by a host's message where it worked on its own.

OpenCode wraps what a sub-agent said: `<task id="ses_1" state="completed"><task_result>…</task_result></task>`. Where
the state is `running`, it works in the background, and the same words come later in a message of the host. Claude
Code tells it in a message, too: `<task-notification><task-id>a1</task-id> … <result>…</result></task-notification>`.
"""

from __future__ import annotations

import re

from hudkit.ingest.tool_calls import FinishedCall, one_line
from hudkit.log.payloads import SubagentEnd, SubagentStart
from hudkit.transcripts.claude_code import subagent_session

MAX_TASK, MAX_RESULT = 120, 300
"""Characters of a task, and of a result, that are recorded: its first words."""

_MAX_AGENT = 60

_REPORT = re.compile(
    r'<task id="(?P<session>[^"\n]{1,200})" state="(?P<state>running|completed|error)">\s*'
    r"(?:<summary>(?P<summary>.{0,2000}?)</summary>\s*)?<task_(?:result|error)>\s*(?P<text>.*?)\s*</task_(?:result|error)>",
    re.DOTALL,
)
_NOTIFICATION = re.compile(
    r"<task-notification>\s*<task-id>(?P<agent>[\w-]{1,100})</task-id>(?P<between>.{0,2000}?)"
    r"<status>(?P<status>\w{1,20})</status>(?P<rest>.*?)</task-notification>",
    re.DOTALL,
)
_RESULT = re.compile(r"<result>(.*?)</result>", re.DOTALL)
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_WRAPPED = re.compile(r"<task_result>\s*(.*?)\s*(?:</task_result>|\Z)", re.DOTALL)


def subagent_of_call(call: FinishedCall) -> SubagentStart | SubagentEnd | None:
    """Return what a finished call tells of the sub-agent that it is; `None` where it is none."""
    if call.kind != "task" or not (call.task or call.agent):
        return None
    agent, task = one_line(call.agent, _MAX_AGENT), one_line(call.task, MAX_TASK)
    if call.failed:
        return SubagentEnd(agent, task, one_line(call.error, MAX_RESULT), True, call.child_session, call.id)
    report = _REPORT.match(call.output.lstrip())
    session_id = call.child_session or (report["session"] if report else "")
    if report and report["state"] == "running":
        return SubagentStart(agent, task, session_id, call.id)
    wrapped = report or _WRAPPED.search(call.output)
    text = report["text"] if report else wrapped[1] if wrapped else call.output
    is_failed = report is not None and report["state"] == "error"
    return SubagentEnd(agent, task, one_line(text, MAX_RESULT), is_failed, session_id, call.id)


def subagents_in_message(text: str) -> tuple[SubagentEnd, ...]:
    """Return the sub-agents of whose end a message of the host tells."""
    reports = (report for report in _REPORT.finditer(text) if report["state"] != "running")
    ended = [(report["session"], report["text"], report["state"] == "error") for report in reports]
    for report in _NOTIFICATION.finditer(text):
        result = _RESULT.search(report["rest"]) or _SUMMARY.search(report["rest"])
        failed = report["status"] in ("failed", "error", "killed")
        ended.append((subagent_session(report["agent"]), result[1] if result else "", failed))
    return tuple(
        SubagentEnd(result=one_line(result, MAX_RESULT), failed=failed, session_id=session)
        for session, result, failed in ended
    )
