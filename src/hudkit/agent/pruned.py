"""Old outputs of tools that leave the window, where that saves more than it costs; the store keeps them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from hudkit.agent.events import OutputsPruned
from hudkit.agent.message_history import last_finished, message_size
from hudkit.agent.records import StoredCall, StoredMessage
from hudkit.agent.run_context import RunContext
from hudkit.context.caching.policies import policy_for
from hudkit.context.compaction.cost_model import CallCosts
from hudkit.context.compaction.pruning import PROTECTED, choose_pruning, prune_bounds, prune_candidates
from hudkit.context.compaction.request_parts import CallOutput
from hudkit.tokens.windows import usable_of

PER_CHARACTER = 0.25
"""Tokens of a character, about."""
RETOLD = 2_000
"""Characters of an output, at most, that are handed over at a compaction in the end."""


def prune(course: RunContext) -> tuple[str, ...]:
    """Mark what leaves the window with the next call; the ids of those calls, none where nothing pays."""
    rules = course.settings
    if not rules.prune:
        return ()
    messages = course.history.visible()
    outputs = outputs_of(messages)
    policy = policy_for(course.model.name.rpartition(":")[2])[0]
    bounds = prune_bounds(course.model.window.limit_tokens, rules.protect, rules.minimum)
    gone = {call.call_id for message in messages for call in _calls(message) if call.compacted}
    found = prune_candidates(outputs, gone, PROTECTED, bounds.protect, PER_CHARACTER)
    if not found:
        return ()
    cold = course.last_call_at > 0 and course.now() - course.last_call_at >= policy.ttl_ms
    choice = choose_pruning(found, _standing(course, messages, outputs, gone, cold=cold), policy, bounds)
    if choice is None:
        return ()
    chosen = {one.call for one in choice.outputs}
    for message in messages:
        marked = [replace(call, compacted=course.now()) for call in _calls(message) if call.call_id in chosen]
        if marked:
            course.history.put_parts(message.id, marked)
    ids = tuple(one.call for one in choice.outputs)
    course.emit(OutputsPruned(course.id, ids))
    return ids


def outputs_of(messages: Sequence[StoredMessage]) -> tuple[CallOutput, ...]:
    """The outputs of the finished calls, oldest first, with what stands behind each."""
    found: list[CallOutput] = []
    behind = blocks = 0
    for message in reversed(messages):
        inner = 0
        for call in reversed(_calls(message)):
            size = len(call.output)
            if call.status == "completed":
                found.append(CallOutput(call.call_id, call.tool, size, behind + inner, blocks))
            inner += size
            blocks += 2
        behind += max(message_size(message), inner)
        blocks += 1
    return tuple(reversed(found))


def _standing(
    course: RunContext,
    messages: Sequence[StoredMessage],
    outputs: Sequence[CallOutput],
    gone: set[str],
    *,
    cold: bool,
) -> CallCosts:
    fixed = PER_CHARACTER * (
        sum(map(len, course.prompt.blocks)) + sum(len(msgspec.json.encode(spec)) for spec in course.tool_specs)
    )
    sizes = sum(map(message_size, messages))
    raw = sum(one.size for one in outputs)
    left = sum(one.size for one in outputs if one.call not in gone)
    words = max(0, sizes - left)
    told = words + sum(min(one.size, RETOLD) for one in outputs if one.call not in gone)
    last = last_finished(course.history.messages)
    used = last.usage.used if last is not None and last.usage is not None else 0
    load = max(float(used), fixed + sizes * PER_CHARACTER)
    count = max(1, len(messages))
    return CallCosts(
        load=load,
        fixed=fixed,
        pace=(words + raw) * PER_CHARACTER / count,
        growth=max(0.0, load - fixed) / count,
        calls=max(1, count // 2),
        usable=usable_of(course.model.window, course.settings.overflow),
        retold=told / sizes if sizes else 1.0,
        cold=cold,
    )


def _calls(message: StoredMessage) -> tuple[StoredCall, ...]:
    return tuple(part for part in message.parts if isinstance(part, StoredCall))
