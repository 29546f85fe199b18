"""The tool calls of a response: in the order in which the model made them, readers side by side, all else one by one.

Each call goes: hook `tool_execute_before`, arguments checked, permission, stored as running, run within its limits,
hook `tool_execute_after`, stored with its result. What goes wrong is the call's result; nothing is raised but a
cancellation and what the store says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from hudkit.agent.course import Course, PluginTool, Task, TaskArguments
from hudkit.agent.hooks import (
    Env,
    PermissionAsk,
    PermissionStatus,
    PluginFault,
    ShellEnv,
    ToolArguments,
    ToolExecuteAfter,
    ToolExecuteBefore,
    ToolOutput,
)
from hudkit.agent.records import Call, FileDiff, Message, Patch
from hudkit.agent.told import CallTold
from hudkit.agent.tools import Need, Result, Tool, carry_out, let_in
from hudkit.agent.turn import unread
from hudkit.agent.undoing import note_left
from hudkit.compose import shorten, visible
from hudkit.errors import SessionError, StoreError, ToolError

READERS = frozenset({"read", "glob", "grep", "skill"})
"""Tools that change nothing: neighbours of this kind in a response run side by side."""

CANCELLED = "This call was cancelled while it ran. It may have had effects; it was not run again."
NEVER_RAN = "This call was cancelled before it ran. It was not run."


async def run_calls(course: Course, message: Message) -> bool:
    """Run the pending calls of an open response and end it; whether the turn may go on.

    It may not where the same call has come too often. When cancelled, the response is closed with what was done.
    """
    calls = [part for part in message.parts if isinstance(part, Call) and not part.done]
    results: dict[str, Result] = {}
    try:
        for readers, group in groupby(calls, key=lambda call: call.tool in READERS):
            if readers:
                done = await asyncio.gather(*(_run(course, message, call) for call in group))
                results.update(done)
            else:
                for call in group:
                    results.update([await _run(course, message, call)])
    except BaseException:
        with suppress(StoreError, SessionError):  # what cannot be written now is mended when the session is resumed
            _close(course, message)
        raise
    _changed_files(course, message, calls, results)
    course.kept.put(replace(message, parts=(), finish="tool-calls", completed=course.now()))
    return course.repeated[1] < course.rules.repeats + 3


async def _run(course: Course, message: Message, call: Call) -> tuple[str, Result]:
    """One call from its begin to its stored end; its result beside its id."""
    running = call
    try:
        try:
            _not_again(course, call)
            given = await _given(course, call)
            tool, arguments = _read(course, call, given)
            await _permitted(course, call, tool, arguments, given)
            running = _put(course, message, replace(call, status="running", started=course.now()))
            result = await _within_limits(course, message, running, tool, arguments)
            failed, kind = "", ""
        except ToolError as error:
            result, failed, kind = Result(""), str(error), error.code
        except PluginFault as fault:
            result, failed = Result(""), f"{call.tool} failed: {shorten(visible(fault.said), 300)}"
            kind = "plugin"
        except TimeoutError:
            result, failed = Result(""), f"{call.tool} took longer than it may; what it did is not known"
            kind = "timeout"
        except (StoreError, SessionError):
            raise
        except Exception as error:  # a fault in a tool is that call's result, and nobody else's
            result, failed = (
                Result(""),
                f"{call.tool} failed: {type(error).__name__} {shorten(visible(str(error)), 300)}",
            )
            kind = type(error).__name__
        result, failed = await _after(course, message, running, result, failed)
    except asyncio.CancelledError:
        said = CANCELLED if running.status == "running" else NEVER_RAN
        ended = replace(running, status="error", error=said, ended=course.now(), interrupted=True)
        _put(course, message, ended, "cancelled")
        raise
    remark = _remark(course, call, result.text or failed)
    metadata = {**call.metadata, **result.metadata}
    if result.whole:
        metadata["whole"] = result.whole
    if failed:
        ended = replace(running, status="error", error=failed + remark, ended=course.now(), metadata=metadata)
    else:
        output = _bounded(course, result.text) + remark
        ended = replace(
            running,
            status="completed",
            output=output,
            title=result.title,
            metadata=metadata,
            ended=course.now(),
        )
    _put(course, message, ended, kind)
    if call.tool == "todo" and not failed:
        course.setup.telling.event("todo.updated", course.id)
    course.setup.telling.event("tool.finished", course.id, tool=call.tool, call_id=call.call_id, status=ended.status)
    return call.id, result


async def _given(course: Course, call: Call) -> dict[str, Any]:
    """The arguments after the hook `tool_execute_before`. Raises `ToolError` where the model wrote no object."""
    if wrong := unread(call):
        raise ToolError(wrong)
    output = ToolArguments(msgspec.to_builtins(call.arguments))
    before = ToolExecuteBefore(course.id, call.tool, call.call_id)
    return (await course.setup.hooks.run("tool_execute_before", before, output)).arguments


def _read(course: Course, call: Call, given: dict[str, Any]) -> tuple[Tool | PluginTool | Literal["task"], Any]:
    """The tool and its checked arguments. Raises `ToolError`: no such tool here, or wrong arguments."""
    if call.tool == "task" and course.child is not None and course.agent.may_use("task"):
        try:
            return "task", msgspec.convert(given, TaskArguments)
        except msgspec.ValidationError as error:
            raise ToolError(
                f"task cannot be called so: {error}", hint="It takes description, prompt, [agent]"
            ) from None
    tool = course.tools.get(call.tool)
    if tool is None:
        names = ", ".join(spec.name for spec in course.specs)
        raise ToolError(f"there is no tool {shorten(visible(call.tool), 60)!r} here", hint=f"There are: {names}")
    if isinstance(tool, PluginTool) and tool.plugin in course.setup.hooks.aside:
        said = f"{call.tool} cannot be called any more: its plugin {visible(tool.plugin)} was too often too late"
        raise ToolError(f"{said}, and is set aside for this session", hint="Do without it, or tell the user")
    return tool, tool.read(given) if isinstance(tool, Tool) else given


async def _permitted(
    course: Course, call: Call, tool: Tool | PluginTool | Literal["task"], arguments: Any, given: dict[str, Any]
) -> None:
    """Raises `Refused` where the rules or the user say no."""
    if isinstance(tool, Tool):
        needs: Sequence[Need] = tool.needs(arguments, course.context)
    elif isinstance(tool, PluginTool):
        needs = (Need(call.tool, ("*",), f"{call.tool}, a tool of {tool.plugin}"),)
    else:
        needs = (Need("task", (arguments.agent,), f"a sub-agent: {visible(arguments.description)}"),)

    async def settled(need: Need) -> Literal["ask", "allow", "deny"]:
        ask = PermissionAsk(course.id, call.tool, need.values, call.call_id, need.title)
        return (await course.setup.hooks.run("permission_ask", ask, PermissionStatus())).status

    await course.permissions.permit(
        call.tool, needs, session_id=course.id, call_id=call.call_id, arguments=given, settled=settled
    )
    let_in(needs, course.context.area)


async def _within_limits(
    course: Course, message: Message, call: Call, tool: Tool | PluginTool | Literal["task"], arguments: Any
) -> Result:
    hooks, rules = course.setup.hooks, course.rules
    if isinstance(tool, PluginTool):
        before = ToolExecuteBefore(course.id, call.tool, call.call_id)
        seconds = rules.plugin_tool_seconds
        said = await hooks.within(tool.plugin, tool.definition.run, arguments, before, seconds=seconds)
        return Result(said if isinstance(said, str) else msgspec.json.encode(said, enc_hook=str).decode())
    if not isinstance(tool, Tool):
        return await _task(course, message, call, arguments)
    context = replace(course.context, message_id=message.id, call_id=call.call_id)
    if call.tool == "bash":
        env = ShellEnv(str(course.setup.area.cwd), course.id, call.call_id)
        context.environment = (await hooks.run("shell_env", env, Env(dict(context.environment)))).env
    async with asyncio.timeout(rules.tool_seconds):
        return await carry_out(tool, arguments, context)


async def _task(course: Course, message: Message, call: Call, arguments: TaskArguments) -> Result:
    agent = course.setup.agents.get(arguments.agent)
    if agent is None or agent.mode == "primary" or agent.name == "compaction":
        able = ", ".join(one.name for one in course.setup.agents.values() if one.mode != "primary")
        raise ToolError(f"there is no sub-agent {shorten(visible(arguments.agent), 60)!r}", hint=f"There are: {able}")
    assert course.child is not None
    task = Task(course, arguments.prompt, agent.name, visible(arguments.description), call.call_id, message.id)
    child, text = await course.child(task)
    return Result(text, visible(arguments.description), metadata={"session": child})


async def _after(course: Course, message: Message, call: Call, result: Result, failed: str) -> tuple[Result, str]:
    """The result after the hook `tool_execute_after`; what failed stays failed."""
    given = ToolExecuteAfter(course.id, call.tool, call.call_id, msgspec.to_builtins(call.arguments))
    metadata = msgspec.to_builtins(result.metadata)
    output = ToolOutput(failed or result.text, result.title, metadata)
    output = await course.setup.hooks.run("tool_execute_after", given, output)
    if result.files and course.setup.hooks.using("tool_execute_after"):
        await asyncio.to_thread(note_left, course, message, call)
    if failed:
        return result, output.text or failed
    return replace(result, text=output.text, title=output.title, metadata=output.metadata), ""


def _not_again(course: Course, call: Call) -> None:
    """Refuse a call that has given the same again and again."""
    said, count = course.repeated
    if count >= course.rules.repeats and said.startswith(_sign(call)):
        course.repeated = (said, count + 1)
        raise ToolError(
            f"{call.tool} was called {count} times in a row with these arguments, and gave the same each time",
            hint="Do something else, or say what is missing",
        )


def _remark(course: Course, call: Call, result: str) -> str:
    """Count a call; a remark where the same gave the same too often."""
    said, count = course.repeated
    if count >= course.rules.repeats and said.startswith(_sign(call)):
        return ""  # refused: counted already
    now = f"{_sign(call)}{result}"
    count = count + 1 if now == said else 1
    course.repeated = (now, count)
    if count < course.rules.repeats:
        return ""
    return f"\n[the same call gave the same {count} times in a row; it will not be run again]"


def _sign(call: Call) -> str:
    return f"{call.tool}\0{msgspec.json.encode(call.arguments, order='sorted').decode()}\0"


def _bounded(course: Course, text: str) -> str:
    """Begin and end of an output that is too long; the session's own tools keep to the limit by themselves."""
    limit = course.setup.limits.output + 2_000
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[{len(text) - head - tail:,} characters are left out here]\n{text[-tail:]}"


def _put(course: Course, message: Message, call: Call, failure: str = "") -> Call:
    course.kept.put_parts(message.id, [call])
    course.tell(CallTold(course.id, message.id, call, failure))
    return call


def _changed_files(course: Course, message: Message, calls: Sequence[Call], results: dict[str, Result]) -> None:
    """Record which files the calls changed, and how."""
    diffs = list(_diffs(course, message, calls, results))
    if diffs:
        course.setup.store.add_diffs(course.id, diffs)
        files = tuple(dict.fromkeys(diff.path for diff in diffs))
        course.kept.put_parts(message.id, [Patch(course.new_id("prt"), files)])
        course.setup.telling.event("session.diff", course.id, files=list(files))


def _diffs(course: Course, message: Message, calls: Sequence[Call], results: dict[str, Result]) -> Iterator[FileDiff]:
    for call in calls:
        result = results.get(call.id, Result(""))
        for path in result.files:
            yield FileDiff(message.id, path, result.diff, result.added, result.removed, course.now())


def _close(course: Course, message: Message) -> None:
    """Close a response whose calls were cancelled: each that has not ended is marked, and said."""
    open_calls = [part for part in course.kept.message(message.id).parts if isinstance(part, Call) and not part.done]
    now = course.now()
    closed = [
        replace(
            call,
            status="error",
            error=CANCELLED if call.status == "running" else NEVER_RAN,
            ended=now,
            interrupted=True,
        )
        for call in open_calls
    ]
    if closed:
        course.kept.put_parts(message.id, closed)
    course.kept.put(replace(message, parts=(), error="cancelled", aborted=True, completed=now))


__all__ = ["READERS", "run_calls"]
