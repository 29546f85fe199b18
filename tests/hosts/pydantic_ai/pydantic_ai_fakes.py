"""pydantic-ai's own fake model, scripted: what it was sent, what it answers, and what the log has of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RequestUsage

from hudkit import Hud
from hudkit.context.compaction.summaries import SUMMARY_SYSTEM_PROMPT
from hudkit.sections.state import HudState

WINDOW = 32_000
Answer = ModelResponse | Callable[[list[ModelMessage], AgentInfo], ModelResponse]


class Scripted:
    """Plays answers in order, then "done"; `sent` has the messages and the settings of each call but summaries'."""

    def __init__(self, *answers: Answer, window: int | None = WINDOW, summary: Answer | None = None) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[list[ModelMessage], AgentInfo]] = []
        self.summarised: list[list[ModelMessage]] = []
        self.settings: Any = None  # of the last summary
        self._summary = summary or says("## Goal\nto go on")
        self.model = FunctionModel(
            self._answer, stream_function=self._stream, profile=ModelProfile(context_window=window)
        )

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if SUMMARY_SYSTEM_PROMPT in (info.instructions or ""):
            self.summarised.append(messages)
            self.settings = info.model_settings
            return self._summary(messages, info) if callable(self._summary) else self._summary
        self.sent.append((messages, info))
        answer = self.answers.pop(0) if self.answers else says("done")
        return answer(messages, info) if callable(answer) else replace(answer, timestamp=datetime.now(UTC))

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        for n, part in enumerate(self._answer(messages, info).parts):
            if isinstance(part, ToolCallPart):
                yield {n: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}
            elif isinstance(part, TextPart):
                yield part.content

    def text(self, n: int = -1) -> str:
        """All that a call was sent, as text."""
        messages, info = self.sent[n]
        return "\n".join([info.instructions or "", *texts(messages)])


def says(text: str, *, used: int = 0) -> ModelResponse:
    return ModelResponse([TextPart(text)], usage=RequestUsage(input_tokens=max(0, used - 10), output_tokens=10))


def calls(name: str, id: str = "", used: int = 0, **arguments: Any) -> ModelResponse:
    part = ToolCallPart(name, arguments, tool_call_id=id) if id else ToolCallPart(name, arguments)
    return ModelResponse([part], usage=RequestUsage(input_tokens=max(0, used - 10), output_tokens=10))


def hud(operation: str, **arguments: Any) -> ModelResponse:
    return calls("hud", tool=operation, args=arguments)


def texts(messages: list[ModelMessage]) -> list[str]:
    """The texts of prompts, answers and results, in order."""
    found: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                said = [part.content] if isinstance(part.content, str) else part.content
                found += [item if isinstance(item, str) else getattr(item, "content", "") for item in said]
            elif isinstance(part, ToolReturnPart):
                found.append(part.model_response_str())
            elif isinstance(part, TextPart) or hasattr(part, "content"):
                found.append(str(part.content))
    return found


def orphans(messages: list[ModelMessage]) -> set[str]:
    """Ids of results without a call before them, and of calls without a result."""
    called: set[str] = set()
    wrong: set[str] = set()
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                called.add(part.tool_call_id)
            elif isinstance(part, ToolReturnPart):
                wrong ^= set() if part.tool_call_id in called else {part.tool_call_id}
                called.discard(part.tool_call_id)
    return wrong | called


def state_of(board: Hud, project: Path, id: str = "c1") -> HudState:
    return board.session(id, project=project, host="pydantic-ai").state


def payloads(board: Hud, project: Path, kind: type, id: str = "c1") -> list[Any]:
    session = board.session(id, project=project, host="pydantic-ai")
    return [event.payload for event in session.events() if isinstance(event.payload, kind)]
