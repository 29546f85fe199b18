"""Strands' conversation managers on a scripted session, through the hooks by which an agent runs them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from bench.retention.measure import TRIGGER, WINDOW, System, needed
from bench.retention.spoken import SYSTEM, Message, sizes, written


def text_of(message: Any) -> str:
    """A message of Strands as the model gets it."""
    parts: list[str] = []
    for block in message["content"]:
        if "text" in block:
            parts.append(block["text"])
        elif "toolUse" in block:
            parts.append(written("", ((block["toolUse"]["name"], block["toolUse"]["input"]),)))
        elif "toolResult" in block:
            parts += [one["text"] for one in block["toolResult"]["content"] if "text" in one]
    return "\n".join(parts)


def message_of(one: Message) -> dict[str, Any]:
    """A message as Strands has it: a tool's result is the user's."""
    if one.role == "tool":
        result = {"toolUseId": one.call, "status": "success", "content": [{"text": one.text}]}
        return {"role": "user", "content": [{"toolResult": result}]}
    blocks: list[dict[str, Any]] = [{"text": one.text}]
    if one.call:
        blocks.append({"toolUse": {"toolUseId": one.call, "name": one.tool, "input": one.input}})
    return {"role": one.role, "content": blocks}


def model(summarise: Callable[[str], str]) -> Any:
    """A model that answers each prompt with its summary."""

    async def stream(self: Any, messages: Sequence[Any], *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:  # noqa: ARG001
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": summarise("\n".join(map(text_of, messages)))}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}

    def nothing(*_: Any, **__: Any) -> None:
        return None

    told = {
        "stream": stream,
        "get_config": lambda _: {"context_window_limit": WINDOW},
        "update_config": nothing,
        "structured_output": nothing,
    }
    return type("Scripted", (needed("strands.models").Model,), told)()


class Managed(System):
    """A conversation manager by its name; `settings` are laid over its defaults."""

    def __init__(self, name: str, summarise: Callable[[str], str], **settings: Any) -> None:
        managers = needed("strands.agent.conversation_manager")
        self._events = needed("strands.hooks")
        logging.getLogger("strands").setLevel(logging.ERROR)
        share = {"compression_threshold": TRIGGER / WINDOW}
        self._manager = getattr(managers, name)(proactive_compression=share, **settings)
        self._agent = needed("strands").Agent(
            model=model(summarise), conversation_manager=self._manager, callback_handler=None, system_prompt=SYSTEM
        )
        self._removed = 0

    def hear(self, message: Message) -> None:
        self._agent.messages.append(message_of(message))

    def ask(self) -> list[str]:
        self._manager.apply_management(self._agent)
        event = self._events.BeforeModelCallEvent(agent=self._agent, projected_input_tokens=sizes(self._texts()))
        self._agent.hooks.invoke_callbacks(event)
        if self._manager.removed_message_count > self._removed:
            self._removed = self._manager.removed_message_count
            self.compactions += 1
        return self._texts()

    def _texts(self) -> list[str]:
        return [SYSTEM, *map(text_of, self._agent.messages)]
