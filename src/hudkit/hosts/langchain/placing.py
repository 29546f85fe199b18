"""A frame in a request of LangChain's: on copies of the messages, so that nothing of it is kept. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from hudkit.hosts.host_session import Injection

M = TypeVar("M", bound=BaseMessage)


def with_base(system: SystemMessage | None, base: str) -> SystemMessage | None:
    """The system prompt with the base behind it."""
    if not base:
        return system
    if system is None:
        return SystemMessage(base)
    if isinstance(system.content, str):
        return _with(system, f"{system.content}\n\n{base}" if system.content else base)
    return _with(system, [*system.content, {"type": "text", "text": base}])


def placed(messages: Sequence[AnyMessage], spans: Sequence[tuple[int, int]], placing: Injection) -> list[AnyMessage]:
    """The messages with the blocks behind their entries (`spans`: first and last message of each), and the tail."""
    out: list[list[AnyMessage]] = [[_stubbed(one, placing)] for one in messages]
    blocks = [(spans[at][1], block) for at, some in placing.behind.items() for block in some]
    if placing.tail and messages:
        blocks.append((len(messages) - 1, placing.tail))
    for at, block in blocks:
        last = out[at][-1]
        if isinstance(last, ToolMessage):
            out[at][-1] = _with(last, _behind_result(last, block))
        elif isinstance(last, HumanMessage):
            out[at][-1] = _with(last, _behind_text(last, block))
        else:
            out[at].append(HumanMessage(block))
    return [one for group in out for one in group]


def _stubbed(message: AnyMessage, placing: Injection) -> AnyMessage:
    if isinstance(message, ToolMessage) and message.tool_call_id in placing.stubs:
        return _with(message, placing.stubs[message.tool_call_id])
    return message


def _behind_result(message: ToolMessage, block: str) -> str | list[Any]:
    if isinstance(message.content, str):
        return f"{message.content}\n{block}"
    return [*message.content, {"type": "text", "text": f"\n{block}"}]


def _behind_text(message: HumanMessage, block: str) -> list[Any]:
    content = message.content
    before = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [*before, {"type": "text", "text": block}]


def _with(message: M, content: str | list[Any]) -> M:
    return message.model_copy(update={"content": content})
