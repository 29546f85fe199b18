"""A scripted model without HTTP: the port to models, answered from the replies that a `ScriptedModel` plays.

    model = InProcessModel([uses(Call("read", {"path": "a.txt"})), says("done")])
    async for piece in model.stream(request): ...
    assert model.chats[1].messages[-1][0] == "tool"

It is strict where real servers are: a request whose messages are out of order is rejected.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any

import anyio

from hudkit.clock import unix_ms
from hudkit.context.caching import CallCost
from hudkit.models.model_errors import FailureSigns, Unreachable, UnreadableAnswer, model_failure
from hudkit.models.port import (
    AssistantMessage,
    CallUsage,
    Completion,
    CompletionEvent,
    CompletionRequest,
    FinishReason,
    Media,
    Reasoning,
    ReasoningDelta,
    TextContent,
    TextDelta,
    ToolCall,
    ToolResult,
    UserMessage,
    order_fault,
    with_cost,
)
from hudkit.testing.captured import MARKS, Captured, Count, by_bytes, kind_of
from hudkit.testing.captured import Piece as Block
from hudkit.testing.model import DONE, SUMMARY, TITLE, Answers
from hudkit.testing.openai_shape import canonical, halves, refusal
from hudkit.testing.prefix_meter import PrefixMeter
from hudkit.testing.replies import Answer, Hang, Refusal, Reply
from hudkit.tokens import Prices, Window

WINDOW = Window(200_000, 32_000, None, "assumed")


class InProcessModel:
    """A `hudkit.models.Model` that answers from a script.

    `script`, `otherwise`, `title`, `compaction`, `marks` and `count` are those of `ScriptedModel`; functions get the
    same `Captured`. `asked` holds the requests of the port, `requests` the same as `Captured`, in order. A prefix
    cache of OpenAI's kind is simulated for the usage of replies that have none.
    """

    def __init__(
        self,
        script: Iterable[Answer | Answers] | Answers = (),
        *,
        otherwise: Answer = DONE,
        title: Answer | Answers = TITLE,
        compaction: Answer | Answers = SUMMARY,
        marks: Mapping[str, tuple[str, ...]] = MARKS,
        count: Count = by_bytes,
        name: str = "scripted:model",
        window: Window = WINDOW,
        prices: Prices | None = None,
    ) -> None:
        self.name = name
        self.window = window
        self.prices = prices
        self.otherwise = otherwise
        self.title = title
        self.compaction = compaction
        self.marks = dict(marks)
        self.asked: list[CompletionRequest] = []
        self.requests: list[Captured] = []
        self._function = script if callable(script) else None
        self._queue: deque[Answer | Answers] = deque(() if callable(script) else script)
        self._meter = PrefixMeter(count)
        self._named = 0

    # -- what tests ask and tell -----------------------------------------------------------------------------------

    @property
    def chats(self) -> list[Captured]:
        """The chat calls so far."""
        return self.of("chat")

    def of(self, kind: str) -> list[Captured]:
        """The requests of a kind (chat, title, compaction) so far."""
        return [request for request in self.requests if request.kind == kind]

    @property
    def left(self) -> int:
        """Replies of the script that were not played yet."""
        return len(self._queue)

    def play(self, *answers: Answer | Answers) -> None:
        """Puts answers at the end of the script."""
        self._queue.extend(answers)

    # -- answering -------------------------------------------------------------------------------------------------

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[CompletionEvent, None]:
        """As the port says. `delay`, `pace` and `Hang` are waited for; they end at once when cancelled."""
        captured = self._keep(request)
        if wrong := order_fault(request):
            raise model_failure(FailureSigns(400, kind="invalid_request_error", words=wrong), self.name)
        answer = self._answer(captured)
        match answer:
            case Hang():
                await anyio.sleep(min(answer.seconds, request.settings.silence))
                raise Unreachable(f"{self.name} does not answer", hint="try again")
            case Refusal():
                raise model_failure(signs_of(answer), self.name)
            case Reply():
                await anyio.sleep(answer.delay)
                async for piece in self._say(captured, answer):
                    yield piece

    async def close(self) -> None:
        """As the port says: there is nothing to give up."""

    async def _say(self, captured: Captured, reply: Reply) -> AsyncGenerator[CompletionEvent, None]:
        end = self._end(captured, reply)
        deltas: list[CompletionEvent] = [ReasoningDelta(text) for text in halves(reply.reasoning)]
        deltas += [TextDelta(text) for text in halves(reply.text)]
        for piece in deltas[: len(deltas) // 2 if reply.cut else None]:
            yield piece
            await anyio.sleep(reply.pace)
        if reply.cut:
            raise UnreadableAnswer(f"the answer of {self.name} broke off", hint="try again")
        for call in end.answer.calls:
            yield call
        yield end

    def _end(self, captured: Captured, reply: Reply) -> Completion:
        parts: list[TextContent | Reasoning | ToolCall] = [Reasoning(reply.reasoning)] if reply.reasoning else []
        parts += [TextContent(reply.text)] if reply.text else []
        parts += [ToolCall(call.id or self._next_id(), call.name, call.text) for call in reply.calls]
        thought = self._meter.answer([reply.reasoning]) if reply.reasoning else 0
        said = [reply.text, *(call.name + call.text for call in reply.calls)]
        counted = captured.cost.read, captured.cost.written, captured.cost.fresh
        cost = reply.usage or CallCost(*counted, thought + self._meter.answer(said))
        spent = CallUsage(cost.fresh, cost.read, cost.written, cost.output, min(thought, cost.output))
        return Completion(_reason(reply), AssistantMessage(tuple(parts)), with_cost(spent, self.prices))

    def _next_id(self) -> str:
        self._named += 1
        return f"call_{self._named:06d}"

    def _keep(self, request: CompletionRequest) -> Captured:
        blocks = pieces(request)
        at = unix_ms()
        tools = [{"name": tool.name} for tool in request.tools]
        captured = Captured(
            number=len(self.requests),
            kind=kind_of(blocks, self.marks),
            shape="",
            method="",
            path="",
            headers=request.settings.headers,
            raw=b"",
            body={"tools": tools, "model": self.name},
            pieces=blocks,
            at=at,
            cost=self._meter.cost("openai", blocks, at),
        )
        self.requests.append(captured)
        self.asked.append(request)
        return captured

    def _answer(self, captured: Captured) -> Answer:
        own: Answer | Answers | None = {"title": self.title, "compaction": self.compaction}.get(captured.kind)
        if own is None:
            own = self._function or (self._queue.popleft() if self._queue else self.otherwise)
        return own(captured) if _is_function(own) else own  # type: ignore[return-value, operator]


def _is_function(line: Answer | Callable[..., Any]) -> bool:
    return callable(line)


def _reason(reply: Reply) -> FinishReason:
    known: dict[str, FinishReason] = {"length": "length", "compact": "compact", "refusal": "refusal"}
    return known.get(reply.finish) or ("tool-calls" if reply.calls else "stop")


def signs_of(answer: Refusal) -> FailureSigns:
    """What a refusal shows, in the words that OpenAI's shape gives it."""
    told: Any = refusal(answer)["error"]
    headers = {name.lower(): value for name, value in answer.headers.items()}
    after = headers.get("retry-after", "")
    return FailureSigns(
        answer.status, answer.code, answer.kind, str(told["message"]), float(after) if after.isdigit() else None
    )


def pieces(request: CompletionRequest) -> tuple[Block, ...]:
    """The content of a request in the order in which a cache reads it, as both wire shapes give it."""
    out = [
        Block("tools", canonical([tool.name, tool.description, dict(tool.parameters)]), "schema")
        for tool in request.tools
    ]
    out += [Block("system", text) for text in request.system if text]
    for place, message in enumerate(request.messages):
        match message:
            case UserMessage():
                out += [Block("user", _content(part), "text", place) for part in message.parts]
            case ToolResult():
                texts = [message.text, *map(_content, message.media)]
                out.append(Block("tool", "\n".join(texts), "result", place))
            case AssistantMessage():
                out += [_said(part, place) for part in message.parts]
    return tuple(out)


def _content(part: TextContent | Media) -> str:
    return part.text if isinstance(part, TextContent) else f"{part.media_type}: {part.data.hex()}"


def _said(part: TextContent | Reasoning | ToolCall, place: int) -> Block:
    if isinstance(part, ToolCall):
        return Block("assistant", f"{part.name} {part.arguments} #{part.id}", "call", place)
    text = part.text if isinstance(part, TextContent) else json.dumps({"reasoning": part.text}, ensure_ascii=False)
    return Block("assistant", text, "text", place)
