"""The history processor of summarization-pydantic-ai on a scripted session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from bench.retention.measure import TRIGGER, System, needed
from bench.retention.spoken import SYSTEM, Message, sizes, written


def texts_of(message: Any) -> list[str]:
    """The parts of a message of pydantic-ai as the model gets them."""
    texts = []
    for part in message.parts:
        if part.part_kind == "tool-call":
            texts.append(written("", ((part.tool_name, part.args),)))
        else:
            texts.append(str(part.content))
    return texts


def text_of(message: Any) -> str:
    """A message as one text."""
    return "\n".join(texts_of(message))


def counted(messages: Sequence[Any]) -> int:
    """What the processor calls a token counter."""
    return sizes(map(text_of, messages))


class Processed(System):
    """`SummarizationProcessor`; `settings` are laid over its defaults."""

    def __init__(self, summarise: Callable[[str], str], **settings: Any) -> None:
        self._parts = needed("pydantic_ai.messages")
        function = needed("pydantic_ai.models.function")
        kind = needed("pydantic_ai_summarization").SummarizationProcessor

        def answer(messages: Sequence[Any], _: Any) -> Any:
            text = summarise("\n".join(map(text_of, messages)))
            return self._parts.ModelResponse(parts=[self._parts.TextPart(text)])

        model = function.FunctionModel(answer)
        self._processor = kind(model=model, trigger=("tokens", TRIGGER), token_counter=counted, **settings)
        self._messages: list[Any] = []
        self._loop = asyncio.Runner()

    def hear(self, message: Message) -> None:
        room = self._parts
        if message.role == "assistant":
            call = room.ToolCallPart(message.tool, message.input, message.call)
            self._messages.append(room.ModelResponse(parts=[room.TextPart(message.text), call]))
        elif message.role == "tool":
            result = room.ToolReturnPart(message.tool, message.text, message.call)
            self._messages.append(room.ModelRequest(parts=[result]))
        else:
            self._messages.append(room.ModelRequest(parts=[room.UserPromptPart(message.text)]))

    def ask(self) -> list[str]:
        found = self._loop.run(self._processor.process(self._messages))
        self._messages = list(found.messages)
        self.compactions += found.summarized
        return [SYSTEM, *map(text_of, self._messages)]

    def close(self) -> None:
        self._loop.close()
