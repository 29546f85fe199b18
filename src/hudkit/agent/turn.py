"""The turn: model calls, tool calls and compactions in their order, until there is nothing more to do.

What to do next follows from the stored messages alone, so that a session that was killed goes on where it stood.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from hudkit.agent import compacting, events, message_history
from hudkit.agent.model_call import stream_response
from hudkit.agent.records import StoredCall, StoredMessage
from hudkit.agent.request_builder import build_request
from hudkit.agent.run_context import RunContext, SubTask, joined_text
from hudkit.agent.tool_execution import run_tool_calls
from hudkit.context.budget import TOKENS_PER_CHARACTER
from hudkit.context.caching.policies import policy_for
from hudkit.context.compaction.cooldown import is_compaction_due, is_overflow
from hudkit.context.compaction.cost_model import CallCosts, estimate_costs
from hudkit.context.compaction.pruning import choose_pruning, prune_bounds, prune_candidates
from hudkit.context.compaction.request_parts import CallOutput, MessageOutputs, locate_outputs
from hudkit.models import Completion, ContextTooLong, ModelError
from hudkit.tokens.model_facts import usable_of

_WINDOW_FULL = "the window is full, and another compaction would not help"


async def run_turn(run: RunContext, task: SubTask | None = None) -> events.TurnEnded:
    """Work until the model is done or something ends the turn; return how it ended.

    `task` is what a sub-session works for. A cancellation and what the store raises go through.

    There is no state of its own here: each round looks at the messages that are stored and does the first of these
    that applies. So a session that was killed at any point goes on as if it had not been:

        a summary was just finished   -> store what the work goes on with, or end
        a marker waits for a summary  -> compact
        a compaction was asked for    -> store a marker
        nothing is left to do         -> end
        the window is full            -> store a marker
        otherwise                     -> a model call with its tool calls
    """
    above = (task.parent.id, task.call_id) if task is not None else ()
    run.emit(events.TurnStarted(run.id, run.agent.name, run.model.name, *above))
    steps = 0
    followed = ""  # the summary that was gone on from: one that stays the last message is not gone on from twice
    before = _cost(run)
    while True:
        reason, error = "", ""
        messages = run.history.messages
        last = run.history.last
        if last is not None and message_history.is_summary(last) and last.id != followed:
            followed = last.id
            if not await compacting.go_on(run):
                reason = "stopped" if message_history.is_turn_unfinished(messages) else "done"
        elif (marker := message_history.pending_compaction(messages)) is not None:
            await compacting.compact(run, marker)
        elif run.compaction_requested:
            run.compaction_requested = False
            compacting.mark(run, auto=False)
        elif not message_history.is_turn_unfinished(messages):
            reason = "done"
        elif _overflows(run) and compacting.mark(run, auto=True) is not None:
            pass  # the marker is the last message now: the next round compacts
        elif steps >= (run.agent.steps or run.settings.steps):
            reason, error = "steps", f"the turn was ended after {steps} model calls, its limit"
        else:
            steps += 1
            reason, error = await _step(run, steps)
        if reason:
            return _end_turn(run, reason, error, steps, _cost(run) - before)


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

    request = await build_request(
        run, messages, agent=run.agent, model=run.model, prompt=run.prompt, tools=run.tool_specs
    )
    try:
        message, end = await stream_response(run, request, run.model, head)
    except ContextTooLong as error:
        if message_history.answered_since_compaction(run.history.messages) and compacting.mark(
            run, auto=True, overflow=True
        ):
            return "", ""
        return "window", str(error)
    except ModelError as error:
        run.setup.events.notify_plugins("session.error", run.id, error=str(error))
        return "error", str(error)
    if message.open:
        go_on = await run_tool_calls(run, message)
        _report_finished(run, message.id)
        return ("", "") if go_on else ("repeats", "the same call came again and again")
    _report_finished(run, message.id)
    return _reason_to_end(run, end)


def _reason_to_end(run: RunContext, end: Completion) -> tuple[str, str]:
    """Return what follows from how an answer without calls ended: reason and error, both empty where it goes on."""
    match end.reason:
        case "compact":
            if compacting.mark(run, auto=True) is None:
                return "window", _WINDOW_FULL
            return "", ""
        case "length":
            return "length", "the answer reached the output limit"
        case "refusal":
            return "refusal", "the answer was held back for safety"
    return "", ""


def _overflows(run: RunContext) -> bool:
    """Return whether the last response left the window so full that a compaction is due, and one would help."""
    messages = run.history.messages
    last = message_history.last_finished(messages)
    if last is None or last.usage is None:
        return False
    used, window = last.usage.used, run.model.window
    if not is_overflow(used, window, run.settings.overflow):
        return False  # as a rule: the rounds, for which all messages are read, are not needed
    history = message_history.compaction_rounds(messages, window.limit_tokens)
    return is_compaction_due(used, window, run.settings.overflow, history, run.settings.frees)


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


def _end_turn(run: RunContext, reason: str, error: str, steps: int, cost: float) -> events.TurnEnded:
    last = next(
        (
            message
            for message in reversed(run.history.messages)
            if message.role == "assistant" and not message.summary
        ),
        None,
    )
    text = joined_text(last.parts) if last is not None else ""
    ended = events.TurnEnded(run.id, reason, text, error, last.id if last else "", steps, cost)  # type: ignore[arg-type]
    run.emit(ended)
    run.setup.events.notify_plugins("session.idle", run.id, reason=reason, error=error)
    return ended


def _cost(run: RunContext) -> float:
    session = run.setup.store.session(run.id)
    return session.cost if session is not None else 0.0


# -- old outputs of tools leave the window ---------------------------------------------------------------------


def _prune(run: RunContext) -> None:
    """Mark the outputs that leave the window with the next call, where that saves more than it costs.

    The store keeps them: the HUD's tools get them back.
    """
    settings = run.settings
    if not settings.prune:
        return
    messages = run.history.visible()
    calls = {message.id: message_history.calls_of(message) for message in messages}
    outputs = _finished_outputs(messages, calls)
    policy = policy_for(run.model.name.rpartition(":")[2])[0]
    bounds = prune_bounds(run.model.window.limit_tokens, settings.protect, settings.minimum)
    pruned = {call.call_id for own in calls.values() for call in own if call.compacted}
    candidates = prune_candidates(outputs, pruned, settings.protected_tools, bounds)
    if not candidates:
        return
    # Before the first call of this process nobody knows when the cache was last used: it is taken for warm.
    cold = run.last_call_at > 0 and run.now() - run.last_call_at >= policy.ttl_ms
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
        transcript.append(MessageOutputs(message_history.message_size(message), sizes))
        finished.update(call.call_id for call in own if call.status == "completed")
    return tuple(output for output in locate_outputs(transcript) if output.call in finished)


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
