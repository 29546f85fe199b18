"""Old outputs of tools that leave the window, where that saves more than it costs; the store keeps them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec.structs import replace

from hudkit.agent.events import OutputsPruned
from hudkit.agent.message_history import last_finished, message_size
from hudkit.agent.records import StoredCall, StoredMessage
from hudkit.agent.run_context import RunContext
from hudkit.context.budget import TOKENS_PER_CHARACTER
from hudkit.context.caching.policies import policy_for
from hudkit.context.compaction.cost_model import CallCosts, estimate_costs
from hudkit.context.compaction.pruning import choose_pruning, prune_bounds, prune_candidates
from hudkit.context.compaction.request_parts import CallOutput, MessageOutputs, locate_outputs
from hudkit.tokens.windows import usable_of


def prune(course: RunContext) -> tuple[str, ...]:
    """Mark what leaves the window with the next call; return the ids of those calls, none where nothing pays."""
    settings = course.settings
    if not settings.prune:
        return ()
    messages = course.history.visible()
    outputs = finished_outputs(messages)
    policy = policy_for(course.model.name.rpartition(":")[2])[0]
    bounds = prune_bounds(course.model.window.limit_tokens, settings.protect, settings.minimum)
    pruned = {call.call_id for message in messages for call in _calls(message) if call.compacted}
    candidates = prune_candidates(outputs, pruned, settings.protected_tools, bounds)
    if not candidates:
        return ()
    # Before the first call of this process nobody knows when the cache was last used: it is taken for warm.
    cold = course.last_call_at > 0 and course.now() - course.last_call_at >= policy.ttl_ms
    choice = choose_pruning(candidates, _call_costs(course, messages, outputs, pruned, cold), policy, bounds)
    if choice is None:
        return ()
    chosen = {output.call for output in choice.outputs}
    for message in messages:
        marked = [replace(call, compacted=course.now()) for call in _calls(message) if call.call_id in chosen]
        if marked:
            course.history.put_parts(message.id, marked)
    ids = tuple(output.call for output in choice.outputs)
    course.emit(OutputsPruned(course.id, ids))
    return ids


def finished_outputs(messages: Sequence[StoredMessage]) -> tuple[CallOutput, ...]:
    """Return the outputs of the finished calls, oldest first, with what stands behind each."""
    transcript = []
    for message in messages:
        sizes = [(call.call_id, call.tool, len(call.output)) for call in _calls(message)]
        transcript.append(MessageOutputs(message_size(message), sizes))
    finished = {call.call_id for message in messages for call in _calls(message) if call.status == "completed"}
    return tuple(output for output in locate_outputs(transcript) if output.call in finished)


def _call_costs(
    course: RunContext,
    messages: Sequence[StoredMessage],
    outputs: Sequence[CallOutput],
    pruned: Collection[str],
    cold: bool,
) -> CallCosts:
    prompt = sum(map(len, course.prompt.blocks))
    definitions = sum(len(msgspec.json.encode(spec)) for spec in course.tool_specs)
    left = sum(output.size for output in outputs if output.call not in pruned)
    last = last_finished(course.history.messages)
    count = max(1, len(messages))
    return estimate_costs(
        outputs,
        pruned,
        words=max(0, sum(map(message_size, messages)) - left),
        fixed=(prompt + definitions) * TOKENS_PER_CHARACTER,
        used=last.usage.used if last is not None and last.usage is not None else None,
        messages=count,
        calls=max(1, count // 2),
        usable=usable_of(course.model.window, course.settings.overflow),
        cold=cold,
    )


def _calls(message: StoredMessage) -> tuple[StoredCall, ...]:
    return tuple(part for part in message.parts if isinstance(part, StoredCall))
