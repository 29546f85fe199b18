"""A model call's request, through the hooks in their order: messages, system prompt, parameters, headers."""

from __future__ import annotations

from collections.abc import Sequence

from hudkit.agent.agents import Agent
from hudkit.agent.chat import chat_of
from hudkit.agent.course import Course
from hudkit.agent.hooks import Chat, Headers, Messages, Params, System
from hudkit.agent.outgoing import lookup_of, messages_of
from hudkit.agent.prompt import Prompt, rejoined
from hudkit.agent.records import Call, Message
from hudkit.models import Message as Said
from hudkit.models import Model, Request, Settings, ToolSpec


async def request_of(
    course: Course,
    messages: Sequence[Message],
    *,
    agent: Agent,
    model: Model,
    prompt: Prompt,
    tools: Sequence[ToolSpec],
    more: Sequence[Said] = (),
    media: bool = True,
) -> Request:
    """The request of a call over these messages; `more` stands behind them, and no hook sees it.

    Nothing that is stored changes: hooks get copies.
    """
    hooks = course.setup.hooks
    last = next((one.id for one in reversed(messages) if one.role == "user"), "")
    given = Chat(course.id, agent.name, model.name, last)
    left = await hooks.run("messages_transform", given, Messages(chat_of(messages, cleared=cleared)))
    said = messages_of(left.messages, lookup_of(messages), media=media)
    blocks = await hooks.run("system_transform", given, System(list(prompt.blocks)))
    params = await hooks.run("chat_params", given, Params(agent.temperature, None, course.rules.max_output, {}))
    headers = await hooks.run("chat_headers", given, Headers())
    return Request(
        tuple(rejoined(prompt.header, blocks.system)),
        (*said, *more),
        tuple(tools),
        Settings(
            max_output=params.max_tokens,
            temperature=params.temperature,
            top_p=params.top_p,
            headers={**course.setup.auth.get(model.name, {}), **headers.headers},
            options=dict(params.options),
        ),
    )


def cleared(call: Call) -> str:
    """What stands in the place of an output that was taken out of the window."""
    return f"[pruned: {call.tool}, {len(call.output):,} characters; call it again where they are needed]"
