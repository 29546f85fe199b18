"""The turn: model calls, tool calls and compactions in their order, until there is nothing more to do.

What to do next follows from the stored messages alone, so that a session that was killed goes on where it stood.
"""

from __future__ import annotations

from hudkit import config
from hudkit.agent import compacting, events, message_history
from hudkit.agent.model_call import stream_response
from hudkit.agent.pruned import prune
from hudkit.agent.records import StoredMessage
from hudkit.agent.request_builder import build_request
from hudkit.agent.run_context import RunContext, SubTask, joined_text
from hudkit.agent.tool_execution import run_tool_calls
from hudkit.context.compaction import cooldown
from hudkit.models import Completion, ContextTooLong, ModelError
from hudkit.tokens.windows import is_overflow

_WINDOW_FULL = "the window is full, and another compaction would not help"


async def run_turn(course: RunContext, task: SubTask | None = None) -> events.TurnEnded:
    """Work until the model is done, or something ends the turn: for `task`, in a sub-session. Raises for a
    cancellation and what the store says."""
    above = (task.parent.id, task.call_id) if task is not None else ()
    course.tell(events.TurnStarted(course.id, course.agent.name, course.model.name, *above))
    steps, followed = 0, ""
    before = _cost(course)
    while True:
        reason, error = "", ""
        messages = course.kept.messages
        last = course.kept.last
        if last is not None and message_history.is_summary(last) and last.id != followed:
            followed = last.id
            if not await compacting.go_on(course):
                reason = "stopped" if message_history.is_turn_unfinished(messages) else "done"
        elif (marker := message_history.pending_compaction(messages)) is not None:
            await compacting.compact(course, marker)
        elif course.compact_wanted:
            course.compact_wanted = False
            compacting.mark(course, auto=False)
        elif not message_history.is_turn_unfinished(messages):
            reason = "done"
        elif _overflows(course) and compacting.mark(course, auto=True) is not None:
            pass
        elif steps >= (course.agent.steps or course.rules.steps):
            reason, error = "steps", f"the turn was ended after {steps} model calls, its limit"
        else:
            steps += 1
            reason, error = await _step(course, steps)
        if reason:
            return _ended(course, reason, error, steps, _cost(course) - before)


async def _step(course: RunContext, number: int) -> tuple[str, str]:
    """One model call with its tool calls; why the turn ends with it, and what went wrong, both empty as a rule."""
    prune(course)
    messages = course.kept.visible()
    parent = next((one for one in reversed(messages) if one.role == "user"), None)
    assert parent is not None  # the turn has a prompt, or a compaction left its marker

    def head() -> StoredMessage:
        message = StoredMessage(
            course.new_id("msg"),
            course.id,
            "assistant",
            course.now(),
            parent_id=parent.id,
            agent=course.agent.name,
            model=course.model.name,
        )
        course.tell(events.ModelCallStarted(course.id, number, message.id, course.model.name))
        return message

    request = await build_request(
        course, messages, agent=course.agent, model=course.model, prompt=course.prompt, tools=course.specs
    )
    try:
        message, end = await stream_response(course, request, course.model, head)
    except ContextTooLong as error:
        if message_history.answered_since_compaction(course.kept.messages) and compacting.mark(
            course, auto=True, overflow=True
        ):
            return "", ""
        return "window", str(error)
    except ModelError as error:
        course.setup.telling.event("session.error", course.id, error=str(error))
        return "error", str(error)
    if message.open:
        go_on = await run_tool_calls(course, message)
        _stream_attempt(course, message.id)
        return ("", "") if go_on else ("repeats", "the same call came again and again")
    _stream_attempt(course, message.id)
    return _after(course, end)


def _after(course: RunContext, end: Completion) -> tuple[str, str]:
    """What follows from how an answer without calls ended."""
    match end.reason:
        case "compact":
            if compacting.mark(course, auto=True) is None:
                return "window", _WINDOW_FULL
            return "", ""
        case "length":
            return "length", "the answer reached the output limit"
        case "refusal":
            return "refusal", "the answer was held back for safety"
    return "", ""


def _overflows(course: RunContext) -> bool:
    """Whether the last response left the window so full that a compaction is due, and one would help."""
    messages = course.kept.messages
    last = message_history.last_finished(messages)
    if last is None or last.usage is None:
        return False
    used, window = last.usage.used, course.model.window
    if not is_overflow(used, window, course.rules.overflow):
        return False
    rounds = message_history.compaction_rounds(messages, window.limit_tokens)
    return not cooldown.cooldown_refusal(
        rounds,
        used,
        window.limit_tokens,
        config.CompactionSettings(min_freed_percent=course.rules.frees, cooldown_calls=0),
    )


def _stream_attempt(course: RunContext, id: str) -> None:
    message = course.kept.message(id)
    course.tell(events.ResponseFinished(course.id, message))
    usage = message.usage
    course.setup.telling.event(
        "message.updated",
        course.id,
        id=message.id,
        role=message.role,
        agent=message.agent,
        model=message.model,
        finish=message.finish,
        error=message.error,
        cost=message.cost,
        used=usage.used if usage is not None else None,
    )


def _ended(course: RunContext, reason: str, error: str, steps: int, cost: float) -> events.TurnEnded:
    last = next((one for one in reversed(course.kept.messages) if one.role == "assistant" and not one.summary), None)
    text = joined_text(last.parts) if last is not None else ""
    ended = events.TurnEnded(course.id, reason, text, error, last.id if last else "", steps, cost)  # type: ignore[arg-type]
    course.tell(ended)
    course.setup.telling.event("session.idle", course.id, reason=reason, error=error)
    return ended


def _cost(course: RunContext) -> float:
    session = course.setup.store.session(course.id)
    return session.cost if session is not None else 0.0
