"""The turn: model calls, tool calls and compactions in their order, until there is nothing more to do.

What to do next follows from the stored messages alone, so that a session that was killed goes on where it stood.

The tool calls of a response run in the order of the model: those that only read side by side, sub-agents too, others
one by one. The calls are cut into groups of neighbours. A group of readers and sub-agents runs at once; every other
call runs alone, after all before it and before all behind it, and sees what those before it have changed:

    read a, task b, edit a, read a, bash test   ->   [read a | task b]  edit a  [read a]  bash test

Each call goes: hook `tool_execute_before`, arguments checked, permission, stored as running, run within its limits,
hook `tool_execute_after`, stored with its result. What goes wrong is the call's result; nothing is raised but a
cancellation and what the store raises.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from hudkit.agent import compacting, events, message_history, trimming, user_input
from hudkit.agent.answer_types import WrongAnswer, wrong_answer_text
from hudkit.agent.file_undo import note_final_content
from hudkit.agent.hooks import (
    PluginFault,
    ToolArguments,
    ToolExecuteAfter,
    ToolExecuteBefore,
    ToolOutput,
)
from hudkit.agent.message_history import compaction_marker, is_summary
from hudkit.agent.model_call import report_call, stream_response, unreadable_arguments
from hudkit.agent.records import ChangedFiles, FileDiff, StoredCall, StoredMessage, StoredText, resume_hint
from hudkit.agent.request_builder import build_request
from hudkit.agent.run_context import PluginTool, RunContext, SubTask, TaskArguments, joined_text
from hudkit.agent.session_transcript import tool_part
from hudkit.agent.spending import SpendingLimit
from hudkit.agent.sub_agents import store_task_reports
from hudkit.agent.system_prompt import nearby_instructions
from hudkit.agent.tools import RequiredPermission, Tool, ToolOutcome, grant_permitted, run_tool
from hudkit.compose import shorten, visible
from hudkit.context.budget import TOKENS_PER_CHARACTER
from hudkit.context.caching.policies import policy_for
from hudkit.context.compaction.cooldown import is_compaction_due, is_overflow
from hudkit.context.compaction.cost_model import CallCosts, estimate_costs
from hudkit.context.compaction.pruning import choose_pruning, is_protected_tool, prune_bounds, prune_candidates
from hudkit.context.compaction.request_parts import CallOutput, MessageOutputs, locate_outputs
from hudkit.errors import ConfigError, SessionError, StoreError, ToolError
from hudkit.ingest.tool_calls import edited_paths, finished_call, read_path
from hudkit.models import (
    Completion,
    ContextTooLong,
    ModelError,
    QuotaExhausted,
    RateLimited,
    RefusedBySafety,
    Unreachable,
    UnreadableAnswer,
)
from hudkit.models.model_names import resolve_model_name
from hudkit.sections.call_history import CompactionHistory, FileUse, PastCompaction
from hudkit.tokens.model_facts import UNCERTAIN_WINDOWS, media_of, usable_of
from hudkit.tools import is_operation_name

_HELD_BACK = "the answer was held back for safety"

_ANOTHER_MAY_ANSWER = (QuotaExhausted, RateLimited, RefusedBySafety, Unreachable, UnreadableAnswer)
"""Failures of a model behind which a fallback is asked, once it was asked again as often as may be."""

_WINDOW_FULL = "the window is full, and another compaction would not help"

_ENTERING_TOOLS = frozenset({"read", "write", "edit"})
"""Tools that enter a directory: the instruction files in it come with their result."""

_REFUSALS = 3
"""A call that was remarked on (`LoopSettings.repeats`) is refused twice; the third refusal ends the turn."""

_CANCELLED = "This call was cancelled while it ran. It may have had effects; it was not run again."

_NEVER_RAN = "This call was cancelled before it ran. It was not run."


async def run_turn(run: RunContext, task: SubTask | None = None) -> events.TurnEnded:
    """Work until the model is done or something ends the turn; return how it ended.

    `task` is what a sub-session works for. A cancellation and what the store raises go through.

    There is no state of its own here: each round looks at the messages that are stored and does the first of these
    that applies. So a session that was killed at any point goes on as if it had not been:

        a summary was just finished   -> store what the work goes on with, or end
        a marker waits for a summary  -> compact
        a compaction was asked for    -> store a marker
        the user said something       -> store it: it goes out with the next call
        a sub-agent came to its end   -> store what it reports
        nothing is left to do         -> wait for the sub-agents that are at work, or end
        the window is full            -> store a marker; in a session without summaries, trim it
        a limit of cost is reached    -> end
        otherwise                     -> a model call with its tool calls
    """
    above = (task.parent.id, task.call_id) if task is not None else ()
    run.emit(events.TurnStarted(run.id, run.agent.name, run.model.name, *above))
    run.spending = task.parent.spending if task is not None else SpendingLimit(run.setup.store, run.id, run.settings)
    run.fallbacks = deque(run.settings.fallback_models)
    model = run.model
    try:
        return await _take_rounds(run)
    finally:
        await run.background.cancel()  # what they did stays, and can be gone on with
        if run.model is not model:  # a fallback worked: the next turn asks the session's own again
            run.model = model
            await run.refresh()


async def _take_rounds(run: RunContext) -> events.TurnEnded:
    steps = wrong_answers = 0
    answer: object = None
    followed = ""  # the summary that was gone on from: one that stays the last message is not gone on from twice
    before = _cost(run)
    while True:
        reason, error = "", ""
        messages = run.history.messages
        last = run.history.last
        if last is not None and is_summary(last) and last.id != followed:
            followed = last.id
            if not await compacting.go_on(run):
                reason = "stopped" if message_history.is_turn_unfinished(messages) else "done"
        elif (marker := _pending_compaction(messages)) is not None:
            await compacting.compact(run, marker)
        elif run.compaction_requested:
            run.compaction_requested = False
            if run.budget is not None:
                trimming.trim_to_tail(run)
            else:
                compacting.mark(run, auto=False)
        elif run.steering:
            await user_input.store_steering(run, run.steering.popleft())
        elif (not steps or run.background.any_ended) and store_task_reports(run):
            pass  # it goes out with the next call
        elif not message_history.is_turn_unfinished(messages):
            if run.background.any_working:
                await run.background.news()
                continue
            try:
                answer, reason = _typed_answer(run), "done"
            except WrongAnswer as wrong:
                wrong_answers += 1
                if wrong_answers >= run.settings.answer_attempts:
                    reason, error = "answer", wrong.message
                else:
                    assert run.answer_type is not None
                    window = map(joined_text, (message.parts for message in run.history.visible()))
                    text = wrong_answer_text(wrong, run.answer_type, window)
                    user_input.store_user_message(run, [StoredText(run.new_id("prt"), text, synthetic=True)])
        elif run.budget is not None and trimming.trim_where_full(run):
            pass  # what was left is measured again
        elif run.budget is None and _overflows(run) and compacting.mark(run, auto=True) is not None:
            pass  # the marker is the last message now: the next round compacts
        elif steps >= (run.agent.steps or run.settings.steps):
            reason, error = "steps", f"the turn was ended after {steps} model calls, its limit"
        elif run.spending is not None and (error := run.spending.reached(run.model)):
            reason = "limit"
        else:
            steps += 1
            reason, error = await _step(run, steps)
        if reason:
            return _end_turn(run, reason, error, steps, _cost(run) - before, answer)


def _typed_answer(run: RunContext) -> object:
    """Return the last answer as the type that was asked for; `None` where words were. Raises `WrongAnswer`."""
    if run.answer_type is None:
        return None
    last = _last_response(run)
    return run.answer_type.parse(joined_text(last.parts) if last is not None else "")


async def _step(run: RunContext, number: int) -> tuple[str, str]:
    """Make one model call and run its tool calls.

    Returns why the turn ends with it and what went wrong, both empty where it goes on.
    """
    _prune(run)  # before the messages are read: what is pruned now leaves this very request
    messages = run.history.visible()
    parent = next((message for message in reversed(messages) if message.role == "user"), None)
    assert parent is not None  # the turn has a prompt, or a compaction left its marker

    def head() -> StoredMessage:
        message = StoredMessage(
            run.new_id("msg"),
            run.id,
            "assistant",
            run.now(),
            parent_id=parent.id,
            agent=run.agent.name,
            model=run.model.name,
        )
        run.emit(events.ModelCallStarted(run.id, number, message.id, run.model.name))
        return message

    while True:
        request = await build_request(
            run, messages, agent=run.agent, model=run.model, prompt=run.prompt, tools=run.tool_specs
        )
        try:
            message, end = await stream_response(run, request, run.model, head)
        except ContextTooLong as error:
            if run.budget is not None:
                return ("", "") if trimming.trim_after_refusal(run) else ("window", str(error))
            if _answered_since_compaction(run.history.messages) and compacting.mark(run, auto=True, overflow=True):
                return "", ""
            return "window", str(error)
        except ModelError as error:
            limit = ""
            if isinstance(error, _ANOTHER_MAY_ANSWER):
                went_on, limit = await _fall_back(run, str(error))
                if went_on:
                    continue
            run.setup.events.notify_plugins("session.error", run.id, error=str(error))
            return ("limit", f"{error}; {limit}") if limit else ("error", str(error))
        if end.reason == "refusal" and (await _fall_back(run, _HELD_BACK))[0]:
            # an error is not sent again: the other model answers the same request
            run.history.put(replace(message, parts=(), finish="", error=_HELD_BACK, completed=run.now()))
            continue
        break
    if message.open:
        go_on = await _run_tool_calls(run, message)
        _report_finished(run, message.id)
        return ("", "") if go_on else ("repeats", "the same call came again and again")
    _report_finished(run, message.id)
    return _reason_to_end(run, end)


async def _fall_back(run: RunContext, reason: str) -> tuple[bool, str]:
    """Go on with the next of the fallback models, to the turn's end.

    Returns whether there was one, and else which limit of cost or tokens forbids those that there are.
    """
    limit = ""
    while run.fallbacks:
        before, wanted = run.model.name, run.fallbacks.popleft()
        try:
            model = await run.setup.open_model(resolve_model_name(wanted, before))
        except ConfigError as error:
            reason = f"{reason}; {wanted} cannot be opened: {error.message}"
            continue
        if model.name == before:
            continue
        # the call that comes is the first of this model: it is held against the limits as any other
        if run.spending is not None and (problem := run.spending.reached(model)):
            limit, reason = problem, f"{reason}; {problem}"
            continue
        run.model = model
        await run.refresh()
        run.emit(events.ModelSubstituted(run.id, before, model.name, reason))
        return True, ""
    return False, limit


def _reason_to_end(run: RunContext, end: Completion) -> tuple[str, str]:
    """Return what follows from how an answer without calls ended: reason and error, both empty where it goes on."""
    match end.reason:
        case "compact" if run.budget is not None:
            if not trimming.trim_to_tail(run):
                return "window", _WINDOW_FULL
            user_input.store_user_message(run, [StoredText(run.new_id("prt"), compacting.GO_ON, synthetic=True)])
            return "", ""
        case "compact":
            if compacting.mark(run, auto=True) is None:
                return "window", _WINDOW_FULL
            return "", ""
        case "length":
            return "length", "the answer reached the output limit"
        case "refusal":
            return "refusal", _HELD_BACK
    return "", ""


def _pending_compaction(messages: Sequence[StoredMessage]) -> StoredMessage | None:
    """Return the message with a marker that nothing has answered yet, where it is the last one."""
    last = messages[-1] if messages else None
    return last if last is not None and compaction_marker(last) is not None else None


def _overflows(run: RunContext) -> bool:
    """Return whether the last response left the window so full that a compaction is due, and one would help."""
    messages = run.history.messages
    last = message_history.last_finished(messages)
    if last is None or last.usage is None:
        return False
    used, window = last.usage.used, run.model.window
    if not is_overflow(used, window, run.settings.overflow):
        return False  # as a rule: the rounds, for which all messages are read, are not needed
    history = _compaction_rounds(messages, window.limit_tokens)
    return is_compaction_due(used, window, run.settings.overflow, history, run.settings.frees)


def _compaction_rounds(messages: Sequence[StoredMessage], limit: int) -> CompactionHistory:
    """Return what the compactions of a session freed: the tokens in use before each, and first after it.

    `limit` is the model's window in tokens.
    """
    rounds: list[PastCompaction] = []
    used: int | None = None
    calls = 0
    for index, message in enumerate(messages):
        if is_summary(message):
            if rounds and rounds[-1].after is None and used is None:
                continue  # a second summary for the same marker
            rounds.append(PastCompaction(index, used, None, limit, calls))
            used = None
        elif message.role == "assistant" and not message.summary and message.usage is not None:
            used = message.usage.used
            calls += 1
            if rounds and rounds[-1].after is None:
                rounds[-1] = replace(rounds[-1], after=used)
    return CompactionHistory(tuple(rounds), calls, used, limit)


def _answered_since_compaction(messages: Sequence[StoredMessage]) -> bool:
    """Return whether a response ended since the last compaction, or there was none yet.

    Where none did, the request is too long right after a compaction, and another one cannot help.
    """
    for message in reversed(messages):
        if is_summary(message):
            return False
        if message.role == "assistant" and message.finish and not message.error:
            return True
    return True


def _report_finished(run: RunContext, id: str) -> None:
    message = run.history.message(id)
    run.emit(events.ResponseFinished(run.id, message))
    usage = message.usage
    run.setup.events.notify_plugins(
        "message.updated",
        run.id,
        id=message.id,
        role=message.role,
        agent=message.agent,
        model=message.model,
        finish=message.finish,
        error=message.error,
        cost=message.cost,
        used=usage.used if usage is not None else None,
    )


def _last_response(run: RunContext) -> StoredMessage | None:
    messages = reversed(run.history.messages)
    return next((message for message in messages if message.role == "assistant" and not message.summary), None)


def _end_turn(run: RunContext, reason: str, error: str, steps: int, cost: float, answer: object) -> events.TurnEnded:
    last = _last_response(run)
    text = joined_text(last.parts) if last is not None else ""
    ended = events.TurnEnded(run.id, reason, text, error, last.id if last else "", steps, cost, answer)  # type: ignore[arg-type]
    run.emit(ended)
    run.setup.events.notify_plugins("session.idle", run.id, reason=reason, error=error)
    return ended


def _cost(run: RunContext) -> float:
    session = run.setup.store.session(run.id)
    return session.cost if session is not None else 0.0


# -- the tool calls of a response ----------------------------------------------------------------------------


async def _run_tool_calls(run: RunContext, message: StoredMessage) -> bool:
    """Run the pending calls of an open response and end it; return whether the turn may go on.

    It may not go on where the same call has come too often. When cancelled, the response is closed with what was
    done.
    """
    calls = [part for part in message.parts if isinstance(part, StoredCall) and not part.done]
    outcomes: dict[str, ToolOutcome] = {}
    try:
        for together, group in groupby(calls, key=lambda call: _runs_beside_others(run, call)):
            if together:
                outcomes.update(await _run_side_by_side(run, message, tuple(group)))
            else:
                for call in group:
                    outcomes.update([await _run_call(run, message, call)])
    except BaseException:
        with suppress(StoreError, SessionError):  # what cannot be written now is closed when the session is resumed
            _close_cancelled(run, message)
        raise
    _record_changed_files(run, message, calls, outcomes)
    run.history.put(replace(message, parts=(), finish="tool-calls", completed=run.now()))
    return run.last_repeat[1] < run.settings.repeats + _REFUSALS


def _runs_beside_others(run: RunContext, call: StoredCall) -> bool:
    """Return whether a call may run side by side with its neighbours of this kind.

    Sub-agents may although they change files: what they did is known to the model only when all calls have ended.
    """
    tool = run.tools.get(call.tool)
    return call.tool == "task" or (isinstance(tool, Tool) and tool.reads_only)


async def _run_side_by_side(
    run: RunContext, message: StoredMessage, calls: Sequence[StoredCall]
) -> Sequence[tuple[str, ToolOutcome]]:
    """Run calls at once, so many as may; where one raises, the others are cancelled."""
    room = asyncio.Semaphore(run.settings.parallel)

    async def run_one(call: StoredCall) -> tuple[str, ToolOutcome]:
        async with room:
            return await _run_call(run, message, call)

    tasks = [asyncio.ensure_future(run_one(call)) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise


async def _run_call(run: RunContext, message: StoredMessage, call: StoredCall) -> tuple[str, ToolOutcome]:
    """Run one call from its beginning to its stored end; return its outcome beside its id."""
    running = call
    try:
        try:
            _refuse_repeat(run, call)
            arguments = await _hooked_arguments(run, call)
            named, arguments = _as_hud_call(run, call, arguments)
            tool, checked = _resolve_tool(run, named, arguments)
            answered = await _ask_permission(run, named, tool, checked, arguments)
            # stored as running before it runs: after a kill, what may have had effects is known
            metadata = {**call.metadata, **_sub_session_metadata(run, tool, checked)}
            running = replace(call, status="running", started=run.now(), metadata=metadata)
            running = _store_call(run, message, running)
            outcome = await _run_within_limits(run, message, running, tool, checked, answered=answered)
            outcome = await _with_instructions(run, running, outcome)
            failure, kind = "", ""
        except (StoreError, SessionError):
            raise
        except Exception as error:  # a fault in a tool is that call's result, and nobody else's
            outcome = ToolOutcome("")
            failure, kind = _describe_failure(call, error)
        outcome, failure = await _hooked_outcome(run, message, running, outcome, failure)
        # behind the hook: a plugin's formatter changes the file once more
        outcome = await _with_diagnostics(run, outcome)
    except asyncio.CancelledError:
        reason = _CANCELLED + resume_hint(running) if running.status == "running" else _NEVER_RAN
        ended = replace(running, status="error", error=reason, ended=run.now(), interrupted=True)
        _store_call(run, message, ended, "cancelled")
        raise
    remark = _count_repeat(run, call, outcome.text or failure)
    ended = _ended_call(run, running, outcome, failure, remark)
    _store_call(run, message, ended, kind)
    event_bus = run.setup.events
    if call.tool == "todo" and not failure:
        event_bus.notify_plugins("todo.updated", run.id)
    event_bus.notify_plugins("tool.finished", run.id, tool=call.tool, call_id=call.call_id, status=ended.status)
    return call.id, outcome


async def _hooked_arguments(run: RunContext, call: StoredCall) -> dict[str, Any]:
    """Return the arguments as the hook `tool_execute_before` left them.

    Raises `ToolError` where the model wrote something that is not an object.
    """
    if wrong := unreadable_arguments(call):
        raise ToolError(wrong)
    output = ToolArguments(msgspec.to_builtins(call.arguments))
    before = ToolExecuteBefore(run.id, call.tool, call.call_id)
    return (await run.setup.hooks.run("tool_execute_before", before, output)).arguments


def _as_hud_call(run: RunContext, call: StoredCall, arguments: dict[str, Any]) -> tuple[StoredCall, dict[str, Any]]:
    """Return the call of `hud` that was meant where a model called an operation as a tool: `notes.add` with a text.

    It is stored as the model wrote it, since that is what the model reads again.
    """
    if call.tool in run.tools or "hud" not in run.tools or not is_operation_name(call.tool):
        return call, arguments
    return replace(call, tool="hud"), {**arguments, "operation": call.tool}


def _resolve_tool(
    run: RunContext, call: StoredCall, arguments: dict[str, Any]
) -> tuple[Tool | PluginTool | Literal["task"], Any]:
    """Return the tool and its checked arguments. Raises `ToolError`: no such tool here, or wrong arguments."""
    if call.tool == "task" and run.sub_agents is not None and run.agent.may_use("task"):
        try:
            task = msgspec.convert(arguments, TaskArguments)
        except msgspec.ValidationError as error:
            hint = "It takes description, prompt, [agent], [task_id], [background]"
            raise ToolError(f"task cannot be called so: {error}", hint=hint) from None
        if task.task_id:
            run.sub_agents.check(run, task.task_id)
        else:
            _check_sub_agent(run, task.agent)
        return "task", task
    tool = run.tools.get(call.tool)
    if tool is None:
        names = ", ".join(spec.name for spec in run.tool_specs)
        raise ToolError(f"there is no tool {shorten(visible(call.tool), 60)!r} here", hint=f"There are: {names}")
    # set aside after several time-outs: asking it again would cost the same time again
    if isinstance(tool, PluginTool) and tool.plugin in run.setup.hooks.aside:
        problem = f"{call.tool} cannot be called any more: its plugin {visible(tool.plugin)} was too often too late"
        raise ToolError(f"{problem}, and is set aside for this session", hint="Do without it, or tell the user")
    return tool, tool.parse(arguments) if isinstance(tool, Tool) else arguments


async def _ask_permission(
    run: RunContext,
    call: StoredCall,
    tool: Tool | PluginTool | Literal["task"],
    arguments: Any,
    raw_arguments: dict[str, Any],
) -> bool:
    """Let the call through, and open the workspace to what was permitted; return whether the user was asked.

    Raises `ToolRefused`.
    """
    if isinstance(tool, Tool):
        needs: Sequence[RequiredPermission] = tool.needs(arguments, run.tool_context)
    elif isinstance(tool, PluginTool):
        needs = (RequiredPermission(call.tool, ("*",), f"{call.tool}, a tool of {tool.plugin}"),)
    else:
        needs = (RequiredPermission("task", (arguments.agent,), f"a sub-agent: {visible(arguments.description)}"),)

    decide = run.plugin_verdict(call.tool, call.call_id)
    answered = await run.permissions.check(
        call.tool, needs, session_id=run.id, call_id=call.call_id, arguments=raw_arguments, decide=decide
    )
    grant_permitted(needs, run.tool_context.workspace)
    return answered


async def _run_within_limits(
    run: RunContext,
    message: StoredMessage,
    call: StoredCall,
    tool: Tool | PluginTool | Literal["task"],
    arguments: Any,
    *,
    answered: bool,
) -> ToolOutcome:
    hooks, rules = run.setup.hooks, run.settings
    if isinstance(tool, PluginTool):
        before = ToolExecuteBefore(run.id, call.tool, call.call_id)
        seconds = rules.plugin_tool_seconds
        answer = await hooks.within(tool.plugin, tool.definition.run, arguments, before, seconds=seconds)
        return ToolOutcome(answer if isinstance(answer, str) else msgspec.json.encode(answer, enc_hook=str).decode())
    if not isinstance(tool, Tool):
        return await _run_sub_agent(run, message, call, arguments)
    context = replace(
        run.tool_context,
        message_id=message.id,
        call_id=call.call_id,
        media=media_of(run.model.name),
        model=run.model.name,
    )
    if call.tool == "bash":
        await run.set_shell(context, answered=answered)
    # above every tool's own limit: the last resort
    async with asyncio.timeout(rules.tool_seconds):
        return await run_tool(tool, arguments, context)


async def _with_instructions(run: RunContext, call: StoredCall, outcome: ToolOutcome) -> ToolOutcome:
    """Return the outcome with the instructions of directories that the call enters, where the window lacks them."""
    if call.tool not in _ENTERING_TOOLS or not isinstance(path := call.arguments.get("path"), str):
        return outcome
    workspace = run.setup.workspace
    try:
        target = workspace.resolve(path, writing=False)
        blocks = await asyncio.to_thread(nearby_instructions, workspace, target.real) if target.inside else ()
    except (ToolError, OSError):  # the call itself is done: what stands beside it does not make it fail
        return outcome
    new = [block for block in blocks if not _stands_in_window(run, block)]
    return replace(outcome, text="\n\n".join([outcome.text, *new])) if new else outcome


async def _with_diagnostics(run: RunContext, outcome: ToolOutcome) -> ToolOutcome:
    """Return the outcome with what language servers say of the files that the call changed."""
    servers = run.setup.language_servers
    if servers is None or not outcome.files:
        return outcome
    text = await servers.diagnostics(outcome.files)
    return replace(outcome, text=f"{outcome.text}\n\n{text}") if text else outcome


def _stands_in_window(run: RunContext, block: str) -> bool:
    return any(
        block in part.output
        for message in run.history.visible()
        for part in message.parts
        if isinstance(part, StoredCall) and not part.compacted
    )


def _sub_session_metadata(
    run: RunContext, tool: Tool | PluginTool | Literal["task"], arguments: Any
) -> dict[str, object]:
    """Return what is stored with the call of a sub-agent before it begins: its session, so that it can be found."""
    if tool != "task":
        return {}
    stored = run.setup.store.session(arguments.task_id) if arguments.task_id else None
    agent = arguments.agent if stored is None else stored.agent
    background = {"background": True} if arguments.background else {}
    return {"session": arguments.task_id or run.new_id("ses"), "agent": agent, **background}


def _check_sub_agent(run: RunContext, name: str) -> None:
    agent = run.setup.agents.get(name)
    if agent is None or agent.mode == "primary" or agent.name == "compaction":
        able = ", ".join(candidate.name for candidate in run.setup.agents.values() if candidate.mode != "primary")
        raise ToolError(f"there is no sub-agent {shorten(visible(name), 60)!r}", hint=f"There are: {able}")


async def _run_sub_agent(
    run: RunContext, message: StoredMessage, call: StoredCall, arguments: TaskArguments
) -> ToolOutcome:
    assert run.sub_agents is not None
    title, child = visible(arguments.description), str(call.metadata["session"])
    task = SubTask(run, child, arguments.prompt, arguments.agent, title, call.call_id, message.id)
    text = await (run.sub_agents.start(task) if arguments.background else run.sub_agents.work(task))
    return ToolOutcome(text, title)


async def _hooked_outcome(
    run: RunContext, message: StoredMessage, call: StoredCall, result: ToolOutcome, failed: str
) -> tuple[ToolOutcome, str]:
    """Return outcome and failure as the hook `tool_execute_after` left them; what failed stays failed."""
    hook_input = ToolExecuteAfter(run.id, call.tool, call.call_id, msgspec.to_builtins(call.arguments))
    metadata = msgspec.to_builtins(result.metadata)
    output = ToolOutput(failed or result.text, result.title, metadata)
    output = await run.setup.hooks.run("tool_execute_after", hook_input, output)
    # a formatter in this hook changes the file once more: an undo has to know the last bytes
    if result.files and run.setup.hooks.using("tool_execute_after"):
        await asyncio.to_thread(note_final_content, run, message, call)
    if failed:
        return result, output.text or failed
    return replace(result, text=output.text, title=output.title, metadata=output.metadata), ""


def _describe_failure(call: StoredCall, error: Exception) -> tuple[str, str]:
    """Return what the model is told of an error, and its kind."""
    if isinstance(error, ToolError):
        return str(error), error.code
    if isinstance(error, PluginFault):
        return f"{call.tool} failed: {shorten(visible(error.reason), 300)}", "plugin"
    if isinstance(error, TimeoutError):
        return f"{call.tool} took longer than it may; what it did is not known", "timeout"
    kind = type(error).__name__
    return f"{call.tool} failed: {kind} {shorten(visible(str(error)), 300)}", kind


def _ended_call(run: RunContext, running: StoredCall, outcome: ToolOutcome, failure: str, remark: str) -> StoredCall:
    metadata = {**running.metadata, **outcome.metadata}
    if outcome.full_output:
        metadata["whole"] = outcome.full_output
    if failure:
        return replace(running, status="error", error=failure + remark, ended=run.now(), metadata=metadata)
    return replace(
        running,
        status="completed",
        output=_bound_output(run, running.tool, outcome.text) + remark,
        title=outcome.title,
        metadata=metadata,
        attachments=tuple(replace(each, id=run.new_id("prt")) for each in outcome.attachments),
        ended=run.now(),
    )


def _bound_output(run: RunContext, tool: str, text: str) -> str:
    """Return an output, or the beginning and end of one that is too long; our own tools keep to the limit."""
    # what `memory` gives back comes in pages of its own: nothing of one may be left out
    limits = run.setup.limits if is_protected_tool(tool) else run.tool_context.limits
    limit = limits.output_characters + 2_000  # our own tools' outputs have a few lines of remarks above it
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[{len(text) - head - tail:,} characters are left out here]\n{text[-tail:]}"


def _refuse_repeat(run: RunContext, call: StoredCall) -> None:
    """Raise `ToolError` for a call that has given the same again and again."""
    last_key, count = run.last_repeat
    if count >= run.settings.repeats and last_key.startswith(_call_key(call)):
        # refused calls count too: the turn ends when refusals do not help
        run.last_repeat = (last_key, count + 1)
        raise ToolError(
            f"{call.tool} was called {count} times in a row with these arguments, and gave the same each time",
            hint="Do something else, or say what is missing",
        )


def _count_repeat(run: RunContext, call: StoredCall, result: str) -> str:
    """Count a call; return a remark where the same call gave the same too often, else an empty text."""
    last_key, count = run.last_repeat
    if count >= run.settings.repeats and last_key.startswith(_call_key(call)):
        return ""  # refused: counted already
    key = f"{_call_key(call)}{result}"
    count = count + 1 if key == last_key else 1
    run.last_repeat = (key, count)
    if count < run.settings.repeats:
        return ""
    return f"\n[the same call gave the same {count} times in a row; it will not be run again]"


def _call_key(call: StoredCall) -> str:
    return f"{call.tool}\0{msgspec.json.encode(call.arguments, order='sorted').decode()}\0"


def _store_call(run: RunContext, message: StoredMessage, call: StoredCall, failure: str = "") -> StoredCall:
    run.history.put_parts(message.id, [call])
    report_call(run, message, call, failure)
    return call


def _record_changed_files(
    run: RunContext, message: StoredMessage, calls: Sequence[StoredCall], results: dict[str, ToolOutcome]
) -> None:
    """Record which files the calls changed, and how."""
    diffs = list(_file_diffs(run, message, calls, results))
    if diffs:
        run.setup.store.add_diffs(run.id, diffs)
        files = tuple(dict.fromkeys(diff.path for diff in diffs))
        run.history.put_parts(message.id, [ChangedFiles(run.new_id("prt"), files)])
        run.setup.events.notify_plugins("session.diff", run.id, files=list(files))


def _file_diffs(
    run: RunContext, message: StoredMessage, calls: Sequence[StoredCall], results: dict[str, ToolOutcome]
) -> Iterator[FileDiff]:
    for call in calls:
        result = results.get(call.id, ToolOutcome(""))
        for path in result.files:
            yield FileDiff(message.id, path, result.diff, result.added, result.removed, run.now())


def _close_cancelled(run: RunContext, message: StoredMessage) -> None:
    """Close a response that was cancelled: each call that has not ended is stored with the words that say so."""
    open_calls = [
        part for part in run.history.message(message.id).parts if isinstance(part, StoredCall) and not part.done
    ]
    now = run.now()
    closed = [
        replace(
            call,
            status="error",
            error=_CANCELLED + resume_hint(call) if call.status == "running" else _NEVER_RAN,
            ended=now,
            interrupted=True,
        )
        for call in open_calls
    ]
    if closed:
        run.history.put_parts(message.id, closed)
    run.history.put(replace(message, parts=(), error="cancelled", aborted=True, completed=now))


# -- old outputs of tools leave the window ---------------------------------------------------------------------


def _prune(run: RunContext) -> None:
    """Mark the outputs that leave the window with the next call, where that saves more than it costs.

    The store keeps them, and `memory` gets them back; without that tool nothing is pruned.
    """
    settings = run.settings
    if not settings.prune or not run.gives_outputs_back:
        return
    messages = run.history.visible()
    calls = {message.id: message_history.calls_of(message) for message in messages}
    outputs = _finished_outputs(messages, calls)
    policy = policy_for(run.model.name.rpartition(":")[2])[0]
    window = run.model.window
    if window.source in UNCERTAIN_WINDOWS:  # nobody knows when it is half full
        return
    bounds = prune_bounds(window.limit_tokens, settings.protect, settings.minimum, settings.prune_from)
    pruned = {call.call_id for own in calls.values() for call in own if call.compacted}
    uses = tuple(_file_uses(messages, str(run.setup.workspace.root)))
    candidates = prune_candidates(outputs, pruned, bounds, uses=uses, tools=settings.protected_tools)
    if not candidates:
        return
    # Before the first call of this process nobody knows when the cache was last used: it is taken for warm.
    ttl_ms = policy.ttl_ms if settings.cache_minutes is None else settings.cache_minutes * 60_000
    cold = run.last_call_at > 0 and run.now() - run.last_call_at >= ttl_ms
    choice = choose_pruning(candidates, _call_costs(run, messages, outputs, pruned, cold), policy, bounds)
    if choice is None:
        return
    chosen = {output.call for output in choice.outputs}
    for message_id, own in calls.items():
        marked = [replace(call, compacted=run.now()) for call in own if call.call_id in chosen]
        if marked:
            run.history.put_parts(message_id, marked)
    run.emit(events.OutputsPruned(run.id, tuple(output.call for output in choice.outputs)))


def _finished_outputs(
    messages: Sequence[StoredMessage], calls: Mapping[str, Sequence[StoredCall]]
) -> tuple[CallOutput, ...]:
    """Return the outputs of the finished calls, oldest first, with what stands behind each.

    `calls` has the calls of each message by its id. One that has not finished counts for what is behind the others.
    """
    transcript = []
    finished: set[str] = set()
    for message in messages:
        own = calls[message.id]
        sizes = [(call.call_id, call.tool, len(call.output)) for call in own]
        prompt = message_history.is_prompt(message)
        transcript.append(MessageOutputs(message_history.message_size(message), sizes, prompt))
        finished.update(call.call_id for call in own if call.status == "completed")
    return tuple(output for output in locate_outputs(transcript) if output.call in finished)


def _file_uses(messages: Iterable[StoredMessage], directory: str) -> Iterator[FileUse]:
    """The files that calls read and changed, in order."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, ChangedFiles):
                yield from (FileUse(path) for path in part.files)
            elif isinstance(part, StoredCall) and part.status == "completed":
                call = finished_call(tool_part(part))
                if path := read_path(call, directory):
                    yield FileUse(path, call.id, call.part)
                yield from map(FileUse, edited_paths(call, directory))


def _call_costs(
    run: RunContext,
    messages: Sequence[StoredMessage],
    outputs: Sequence[CallOutput],
    pruned: Collection[str],
    cold: bool,
) -> CallCosts:
    """Return what the next calls cost as the request is now; sizes of the prompt and of tools are estimated."""
    prompt = sum(map(len, run.prompt.blocks))
    definitions = sum(len(msgspec.json.encode(spec)) for spec in run.tool_specs)
    left = sum(output.size for output in outputs if output.call not in pruned)
    last = message_history.last_finished(run.history.messages)
    count = max(1, len(messages))
    return estimate_costs(
        outputs,
        pruned,
        words=max(0, sum(map(message_history.message_size, messages)) - left),
        fixed=(prompt + definitions) * TOKENS_PER_CHARACTER,
        used=last.usage.used if last is not None and last.usage is not None else None,
        messages=count,
        calls=max(1, count // 2),
        usable=usable_of(run.model.window, run.settings.overflow),
        cold=cold,
    )
