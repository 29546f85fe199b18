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

from hudkit.agent.events import ToolCallUpdated
from hudkit.agent.file_undo import note_final_content
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
from hudkit.agent.model_call import unreadable_arguments
from hudkit.agent.records import ChangedFiles, FileDiff, StoredCall, StoredMessage
from hudkit.agent.run_context import PluginTool, RunContext, SubTask, TaskArguments
from hudkit.agent.tools import RequiredPermission, Tool, ToolOutcome, grant_permitted, run_tool
from hudkit.compose import shorten, visible
from hudkit.errors import SessionError, StoreError, ToolError

READ_ONLY_TOOLS = frozenset({"read", "glob", "grep", "skill"})
"""Tools that change nothing: neighbours of this kind in a response run side by side."""

_CANCELLED = "This call was cancelled while it ran. It may have had effects; it was not run again."
_NEVER_RAN = "This call was cancelled before it ran. It was not run."


async def run_tool_calls(course: RunContext, message: StoredMessage) -> bool:
    """Run the pending calls of an open response and end it; whether the turn may go on.

    It may not where the same call has come too often. When cancelled, the response is closed with what was done.
    """
    calls = [part for part in message.parts if isinstance(part, StoredCall) and not part.done]
    results: dict[str, ToolOutcome] = {}
    try:
        for readers, group in groupby(calls, key=lambda call: call.tool in READ_ONLY_TOOLS):
            if readers:
                done = await asyncio.gather(*(_run_call(course, message, call) for call in group))
                results.update(done)
            else:
                for call in group:
                    results.update([await _run_call(course, message, call)])
    except BaseException:
        with suppress(StoreError, SessionError):  # what cannot be written now is mended when the session is resumed
            _close_cancelled(course, message)
        raise
    _record_changed_files(course, message, calls, results)
    course.kept.put(replace(message, parts=(), finish="tool-calls", completed=course.now()))
    return course.repeated[1] < course.rules.repeats + 3


async def _run_call(course: RunContext, message: StoredMessage, call: StoredCall) -> tuple[str, ToolOutcome]:
    """One call from its begin to its stored end; its result beside its id."""
    running = call
    try:
        try:
            _refuse_repeat(course, call)
            given = await _hooked_arguments(course, call)
            tool, arguments = _resolve_tool(course, call, given)
            await _ask_permission(course, call, tool, arguments, given)
            running = _store_call(course, message, replace(call, status="running", started=course.now()))
            result = await _run_within_limits(course, message, running, tool, arguments)
            failed, kind = "", ""
        except ToolError as error:
            result, failed, kind = ToolOutcome(""), str(error), error.code
        except PluginFault as fault:
            result, failed = ToolOutcome(""), f"{call.tool} failed: {shorten(visible(fault.said), 300)}"
            kind = "plugin"
        except TimeoutError:
            result, failed = ToolOutcome(""), f"{call.tool} took longer than it may; what it did is not known"
            kind = "timeout"
        except (StoreError, SessionError):
            raise
        except Exception as error:  # a fault in a tool is that call's result, and nobody else's
            result, failed = (
                ToolOutcome(""),
                f"{call.tool} failed: {type(error).__name__} {shorten(visible(str(error)), 300)}",
            )
            kind = type(error).__name__
        result, failed = await _hooked_result(course, message, running, result, failed)
    except asyncio.CancelledError:
        said = _CANCELLED if running.status == "running" else _NEVER_RAN
        ended = replace(running, status="error", error=said, ended=course.now(), interrupted=True)
        _store_call(course, message, ended, "cancelled")
        raise
    remark = _count_repeat(course, call, result.text or failed)
    metadata = {**call.metadata, **result.metadata}
    if result.whole:
        metadata["whole"] = result.whole
    if failed:
        ended = replace(running, status="error", error=failed + remark, ended=course.now(), metadata=metadata)
    else:
        output = _bound_output(course, result.text) + remark
        ended = replace(
            running,
            status="completed",
            output=output,
            title=result.title,
            metadata=metadata,
            ended=course.now(),
        )
    _store_call(course, message, ended, kind)
    if call.tool == "todo" and not failed:
        course.setup.telling.event("todo.updated", course.id)
    course.setup.telling.event("tool.finished", course.id, tool=call.tool, call_id=call.call_id, status=ended.status)
    return call.id, result


async def _hooked_arguments(course: RunContext, call: StoredCall) -> dict[str, Any]:
    """The arguments after the hook `tool_execute_before`. Raises `ToolError` where the model wrote no object."""
    if wrong := unreadable_arguments(call):
        raise ToolError(wrong)
    output = ToolArguments(msgspec.to_builtins(call.arguments))
    before = ToolExecuteBefore(course.id, call.tool, call.call_id)
    return (await course.setup.hooks.run("tool_execute_before", before, output)).arguments


def _resolve_tool(
    course: RunContext, call: StoredCall, given: dict[str, Any]
) -> tuple[Tool | PluginTool | Literal["task"], Any]:
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


async def _ask_permission(
    course: RunContext,
    call: StoredCall,
    tool: Tool | PluginTool | Literal["task"],
    arguments: Any,
    given: dict[str, Any],
) -> None:
    """Raises `Refused` where the rules or the user say no."""
    if isinstance(tool, Tool):
        needs: Sequence[RequiredPermission] = tool.needs(arguments, course.context)
    elif isinstance(tool, PluginTool):
        needs = (RequiredPermission(call.tool, ("*",), f"{call.tool}, a tool of {tool.plugin}"),)
    else:
        needs = (RequiredPermission("task", (arguments.agent,), f"a sub-agent: {visible(arguments.description)}"),)

    async def settled(need: RequiredPermission) -> Literal["ask", "allow", "deny"]:
        ask = PermissionAsk(course.id, call.tool, need.values, call.call_id, need.title)
        return (await course.setup.hooks.run("permission_ask", ask, PermissionStatus())).status

    await course.permissions.permit(
        call.tool, needs, session_id=course.id, call_id=call.call_id, arguments=given, settled=settled
    )
    grant_permitted(needs, course.context.area)


async def _run_within_limits(
    course: RunContext,
    message: StoredMessage,
    call: StoredCall,
    tool: Tool | PluginTool | Literal["task"],
    arguments: Any,
) -> ToolOutcome:
    hooks, rules = course.setup.hooks, course.rules
    if isinstance(tool, PluginTool):
        before = ToolExecuteBefore(course.id, call.tool, call.call_id)
        seconds = rules.plugin_tool_seconds
        said = await hooks.within(tool.plugin, tool.definition.run, arguments, before, seconds=seconds)
        return ToolOutcome(said if isinstance(said, str) else msgspec.json.encode(said, enc_hook=str).decode())
    if not isinstance(tool, Tool):
        return await _run_sub_agent(course, message, call, arguments)
    context = replace(course.context, message_id=message.id, call_id=call.call_id)
    if call.tool == "bash":
        env = ShellEnv(str(course.setup.area.cwd), course.id, call.call_id)
        context.environment = (await hooks.run("shell_env", env, Env(dict(context.environment)))).env
    async with asyncio.timeout(rules.tool_seconds):
        return await run_tool(tool, arguments, context)


async def _run_sub_agent(
    course: RunContext, message: StoredMessage, call: StoredCall, arguments: TaskArguments
) -> ToolOutcome:
    agent = course.setup.agents.get(arguments.agent)
    if agent is None or agent.mode == "primary" or agent.name == "compaction":
        able = ", ".join(one.name for one in course.setup.agents.values() if one.mode != "primary")
        raise ToolError(f"there is no sub-agent {shorten(visible(arguments.agent), 60)!r}", hint=f"There are: {able}")
    assert course.child is not None
    task = SubTask(course, arguments.prompt, agent.name, visible(arguments.description), call.call_id, message.id)
    child, text = await course.child(task)
    return ToolOutcome(text, visible(arguments.description), metadata={"session": child})


async def _hooked_result(
    course: RunContext, message: StoredMessage, call: StoredCall, result: ToolOutcome, failed: str
) -> tuple[ToolOutcome, str]:
    """The result after the hook `tool_execute_after`; what failed stays failed."""
    given = ToolExecuteAfter(course.id, call.tool, call.call_id, msgspec.to_builtins(call.arguments))
    metadata = msgspec.to_builtins(result.metadata)
    output = ToolOutput(failed or result.text, result.title, metadata)
    output = await course.setup.hooks.run("tool_execute_after", given, output)
    if result.files and course.setup.hooks.using("tool_execute_after"):
        await asyncio.to_thread(note_final_content, course, message, call)
    if failed:
        return result, output.text or failed
    return replace(result, text=output.text, title=output.title, metadata=output.metadata), ""


def _refuse_repeat(course: RunContext, call: StoredCall) -> None:
    """Refuse a call that has given the same again and again."""
    said, count = course.repeated
    if count >= course.rules.repeats and said.startswith(_call_key(call)):
        course.repeated = (said, count + 1)
        raise ToolError(
            f"{call.tool} was called {count} times in a row with these arguments, and gave the same each time",
            hint="Do something else, or say what is missing",
        )


def _count_repeat(course: RunContext, call: StoredCall, result: str) -> str:
    """Count a call; a remark where the same gave the same too often."""
    said, count = course.repeated
    if count >= course.rules.repeats and said.startswith(_call_key(call)):
        return ""  # refused: counted already
    now = f"{_call_key(call)}{result}"
    count = count + 1 if now == said else 1
    course.repeated = (now, count)
    if count < course.rules.repeats:
        return ""
    return f"\n[the same call gave the same {count} times in a row; it will not be run again]"


def _call_key(call: StoredCall) -> str:
    return f"{call.tool}\0{msgspec.json.encode(call.arguments, order='sorted').decode()}\0"


def _bound_output(course: RunContext, text: str) -> str:
    """Begin and end of an output that is too long; the session's own tools keep to the limit by themselves."""
    limit = course.setup.limits.output + 2_000
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[{len(text) - head - tail:,} characters are left out here]\n{text[-tail:]}"


def _store_call(course: RunContext, message: StoredMessage, call: StoredCall, failure: str = "") -> StoredCall:
    course.kept.put_parts(message.id, [call])
    course.tell(ToolCallUpdated(course.id, message.id, call, failure))
    return call


def _record_changed_files(
    course: RunContext, message: StoredMessage, calls: Sequence[StoredCall], results: dict[str, ToolOutcome]
) -> None:
    """Record which files the calls changed, and how."""
    diffs = list(_file_diffs(course, message, calls, results))
    if diffs:
        course.setup.store.add_diffs(course.id, diffs)
        files = tuple(dict.fromkeys(diff.path for diff in diffs))
        course.kept.put_parts(message.id, [ChangedFiles(course.new_id("prt"), files)])
        course.setup.telling.event("session.diff", course.id, files=list(files))


def _file_diffs(
    course: RunContext, message: StoredMessage, calls: Sequence[StoredCall], results: dict[str, ToolOutcome]
) -> Iterator[FileDiff]:
    for call in calls:
        result = results.get(call.id, ToolOutcome(""))
        for path in result.files:
            yield FileDiff(message.id, path, result.diff, result.added, result.removed, course.now())


def _close_cancelled(course: RunContext, message: StoredMessage) -> None:
    """Close a response whose calls were cancelled: each that has not ended is marked, and said."""
    open_calls = [
        part for part in course.kept.message(message.id).parts if isinstance(part, StoredCall) and not part.done
    ]
    now = course.now()
    closed = [
        replace(
            call,
            status="error",
            error=_CANCELLED if call.status == "running" else _NEVER_RAN,
            ended=now,
            interrupted=True,
        )
        for call in open_calls
    ]
    if closed:
        course.kept.put_parts(message.id, closed)
    course.kept.put(replace(message, parts=(), error="cancelled", aborted=True, completed=now))


__all__ = ["READ_ONLY_TOOLS", "run_tool_calls"]
