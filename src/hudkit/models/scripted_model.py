"""A model that answers from a script, in this process: what `hudkit run --script` and tests of the agent use.

    model = InProcessModel([uses(ScriptedCall("read", {"path": "a.txt"})), says("done")])
    async for event in model.stream(request): ...
    assert model.chats[1].messages[-1][0] == "tool"

It is as strict as real servers are: a request whose messages are out of order is rejected.

`read_script` makes such a model from a file: TOML for people, JSON lines for programs. Each answer is one
`[[answer]]` table of TOML or one line of JSON, in the order in which the chat calls get them:

    [[answer]]
    text = "I look at it first."
    calls = [{ name = "read", arguments = { path = "a.py" } }]

    [[answer]]
    refuse = { status = 429, headers = { retry-after = "2" } }

    [[answer]]
    for = "compaction"
    text = "Goal: ..."

Fields: `text`, `reasoning`, `calls` (`name`, `arguments` as an object or as a text that is sent as it is, `id`),
`usage` (`read`, `written`, `fresh`, `output` in tokens), `delay` and `pace` in seconds, `cut`, `finish`; or `refuse`
(`status`, `kind`, `code`, `message`, `headers`); or `hang` in seconds. `for` is `chat` (or left out), `title`,
`compaction`, or `otherwise` for what comes when the script is at its end; of these the last one counts.
"""

from __future__ import annotations

import json
import tomllib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import anyio
import msgspec

from hudkit.clock import unix_ms
from hudkit.context.caching import CallCost
from hudkit.errors import ConfigError
from hudkit.models.captured_request import (
    KIND_MARKS,
    CapturedRequest,
    PrefixMeter,
    RequestPiece,
    TextCounter,
    canonical_json,
    request_kind,
    tokens_by_bytes,
)
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
from hudkit.models.scripted_answers import (
    Answer,
    Hang,
    Refusal,
    ScriptedCall,
    ScriptedReply,
    refusal_message,
    split_in_two,
)
from hudkit.tokens import Prices, Window

AnswerFunction = Callable[[CapturedRequest], Answer]
"""A line of a script, or a whole script, as a function of the request."""

DONE_REPLY = ScriptedReply("Done.")
TITLE_REPLY = ScriptedReply("A scripted title")
SUMMARY_REPLY = ScriptedReply("A scripted summary.")

OPENAI_OVERFLOW = "This model's maximum context length is exceeded. Please reduce the length of the messages."
"""OpenAI's words where a request is longer than the window; clients tell an overflow by them."""

_WINDOW = Window(200_000, 32_000, None, "assumed")

_SCRIPT_BYTES = 16_000_000
"""A larger script file is not read: it is taken for something else."""


class InProcessModel:
    """A `hudkit.models.Model` that answers from a script.

    `script` answers the chat calls: in order from a sequence, whose lines may be functions, then `otherwise`; or each
    through one function. Title and compaction requests do not use it up: they get `title` and `compaction` (an answer
    or a function, may be set at any time). `marks` says by which system texts they are known. `count` counts tokens
    where a reply has no usage of its own; a prefix cache of OpenAI's kind is simulated then.

    `port_requests` holds the requests as they came, `requests` the same as `CapturedRequest`, in order.
    """

    def __init__(
        self,
        script: Iterable[Answer | AnswerFunction] | AnswerFunction = (),
        *,
        otherwise: Answer = DONE_REPLY,
        title: Answer | AnswerFunction = TITLE_REPLY,
        compaction: Answer | AnswerFunction = SUMMARY_REPLY,
        marks: Mapping[str, tuple[str, ...]] = KIND_MARKS,
        count: TextCounter = tokens_by_bytes,
        name: str = "scripted:model",
        window: Window = _WINDOW,
        prices: Prices | None = None,
    ) -> None:
        self.name = name
        self.window = window
        self.prices = prices
        self.otherwise = otherwise
        self.title = title
        self.compaction = compaction
        self.marks = dict(marks)
        self.port_requests: list[CompletionRequest] = []
        self.requests: list[CapturedRequest] = []
        self._function = script if callable(script) else None
        self._queue: deque[Answer | AnswerFunction] = deque(() if callable(script) else script)
        self._meter = PrefixMeter(count)
        self._ids_made = 0

    # -- what tests ask and add ------------------------------------------------------------------------------------

    @property
    def chats(self) -> list[CapturedRequest]:
        """Return the chat calls so far."""
        return self.of("chat")

    def of(self, kind: str) -> list[CapturedRequest]:
        """Return the requests of a kind (chat, title, compaction) so far."""
        return [request for request in self.requests if request.kind == kind]

    @property
    def left(self) -> int:
        """Replies of the script that were not played yet."""
        return len(self._queue)

    def play(self, *answers: Answer | AnswerFunction) -> None:
        """Put answers at the end of the script."""
        self._queue.extend(answers)

    # -- the port --------------------------------------------------------------------------------------------------

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[CompletionEvent, None]:
        """Yield the next answer's events, as the port says.

        `delay`, `pace` and `Hang` are waited for; they end at once when the caller is cancelled. Raises a
        `ModelError` for a refusal, a silence that is too long, and a request that is out of order.
        """
        captured = self._capture(request)
        if fault := order_fault(request):
            raise model_failure(FailureSigns(400, kind="invalid_request_error", words=fault), self.name)
        answer = self._answer(captured)
        match answer:
            case Hang():
                await anyio.sleep(min(answer.seconds, request.settings.silence))
                raise Unreachable(f"{self.name} does not answer", hint="try again")
            case Refusal():
                raise model_failure(_failure_signs(answer), self.name)
            case ScriptedReply():
                await anyio.sleep(answer.delay)
                async for event in self._events(captured, answer):
                    yield event

    async def close(self) -> None:
        """Do nothing, as there is nothing to give up."""

    async def _events(self, captured: CapturedRequest, reply: ScriptedReply) -> AsyncGenerator[CompletionEvent, None]:
        completion = self._completion(captured, reply)
        deltas: list[CompletionEvent] = [ReasoningDelta(text) for text in split_in_two(reply.reasoning)]
        deltas += [TextDelta(text) for text in split_in_two(reply.text)]
        for delta in deltas[: len(deltas) // 2 if reply.cut else None]:
            yield delta
            await anyio.sleep(reply.pace)
        if reply.cut:
            raise UnreadableAnswer(f"the answer of {self.name} broke off", hint="try again")
        for call in completion.answer.calls:
            yield call
        yield completion

    def _completion(self, captured: CapturedRequest, reply: ScriptedReply) -> Completion:
        parts: list[TextContent | Reasoning | ToolCall] = [Reasoning(reply.reasoning)] if reply.reasoning else []
        parts += [TextContent(reply.text)] if reply.text else []
        parts += [ToolCall(call.id or self._next_id(), call.name, call.text) for call in reply.calls]
        reasoning = self._meter.answer([reply.reasoning]) if reply.reasoning else 0
        texts = [reply.text, *(call.name + call.text for call in reply.calls)]
        counted = captured.cost.read, captured.cost.written, captured.cost.fresh
        cost = reply.usage or CallCost(*counted, reasoning + self._meter.answer(texts))
        # A script may report fewer tokens of output than its reasoning has: then all of them were reasoning.
        spent = CallUsage(cost.fresh, cost.read, cost.written, cost.output, min(reasoning, cost.output))
        return Completion(_finish_reason(reply), AssistantMessage(tuple(parts)), with_cost(spent, self.prices))

    def _next_id(self) -> str:
        self._ids_made += 1
        return f"call_{self._ids_made:06d}"

    def _capture(self, request: CompletionRequest) -> CapturedRequest:
        pieces = request_pieces(request)
        timestamp = unix_ms()
        tools = [{"name": tool.name} for tool in request.tools]
        captured = CapturedRequest(
            number=len(self.requests),
            kind=request_kind(pieces, self.marks),
            shape="",
            method="",
            path="",
            headers=request.settings.headers,
            raw=b"",
            body={"tools": tools, "model": self.name},
            pieces=pieces,
            timestamp=timestamp,
            cost=self._meter.cost("openai", pieces, timestamp),
        )
        self.requests.append(captured)
        self.port_requests.append(request)
        return captured

    def _answer(self, captured: CapturedRequest) -> Answer:
        own: Answer | AnswerFunction | None = {"title": self.title, "compaction": self.compaction}.get(captured.kind)
        line = own or self._function or (self._queue.popleft() if self._queue else self.otherwise)
        return line(captured) if callable(line) else line


def request_pieces(request: CompletionRequest) -> tuple[RequestPiece, ...]:
    """Return the content of a request in the order in which a cache reads it, as every wire shape gives it."""
    pieces = [
        RequestPiece("tools", canonical_json([tool.name, tool.description, dict(tool.parameters)]), "schema")
        for tool in request.tools
    ]
    pieces += [RequestPiece("system", text) for text in request.system if text]
    for place, message in enumerate(request.messages):
        match message:
            case UserMessage():
                pieces += [RequestPiece("user", _content_text(part), "text", place) for part in message.parts]
            case ToolResult():
                texts = [message.text, *map(_content_text, message.media)]
                pieces.append(RequestPiece("tool", "\n".join(texts), "result", place))
            case AssistantMessage():
                pieces += [_assistant_piece(part, place) for part in message.parts]
    return tuple(pieces)


def _content_text(part: TextContent | Media) -> str:
    return part.text if isinstance(part, TextContent) else f"{part.media_type}: {part.data.hex()}"


def _assistant_piece(part: TextContent | Reasoning | ToolCall, place: int) -> RequestPiece:
    if isinstance(part, ToolCall):
        return RequestPiece("assistant", f"{part.name} {part.arguments} #{part.id}", "call", place)
    text = part.text if isinstance(part, TextContent) else json.dumps({"reasoning": part.text}, ensure_ascii=False)
    return RequestPiece("assistant", text, "text", place)


def _finish_reason(reply: ScriptedReply) -> FinishReason:
    scripted: dict[str, FinishReason] = {"length": "length", "compact": "compact", "refusal": "refusal"}
    return scripted.get(reply.finish) or ("tool-calls" if reply.calls else "stop")


def _failure_signs(refusal: Refusal) -> FailureSigns:
    """Return what a refusal shows, in the words that OpenAI's shape gives it."""
    headers = {name.lower(): value for name, value in refusal.headers.items()}
    retry_after = headers.get("retry-after", "")
    seconds = float(retry_after) if retry_after.isdigit() else None
    message = refusal_message(refusal, OPENAI_OVERFLOW)
    return FailureSigns(refusal.status, refusal.code, refusal.kind, message, seconds)


# -- script files ----------------------------------------------------------------------------------------------


class _ScriptLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"role": "for"}):
    role: Literal["chat", "title", "compaction", "otherwise"] = "chat"
    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    usage: CallCost | None = None
    delay: float = 0.0
    pace: float = 0.0
    cut: bool = False
    finish: Literal["", "length", "refusal", "compact"] = ""
    refuse: Refusal | None = None
    hang: float | None = None

    def answer(self) -> Answer:
        if self.hang is not None:
            return Hang(self.hang)
        return self.refuse or ScriptedReply(
            self.text, self.calls, self.usage, self.delay, self.pace, self.cut, self.reasoning, self.finish
        )


def read_script(path: Path) -> InProcessModel:
    """Return the model that a script file describes; the ending of its name says which form it has.

    `.toml` is TOML, anything else JSON lines. Raises `ConfigError`, naming the answer and the field, for a file that
    cannot be read.
    """
    lines = [_script_line(path, number, value) for number, value in _numbered_values(path)]
    own = {line.role: line.answer() for line in lines if line.role != "chat"}
    script = [line.answer() for line in lines if line.role == "chat"]
    return InProcessModel(script, name=f"script:{path.name}", **own)  # type: ignore[arg-type]


def _numbered_values(path: Path) -> list[tuple[int, Any]]:
    """Return each answer with its number: of the table in TOML, of the line in JSON lines, from 1."""
    try:
        with path.open("rb") as file:
            raw = file.read(_SCRIPT_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"the script {path} cannot be read: {error.strerror}") from error
    if len(raw) > _SCRIPT_BYTES:
        raise ConfigError(f"the script {path} is larger than {_SCRIPT_BYTES} bytes", hint="split it")
    try:
        text = raw.decode()
        if path.suffix == ".toml":
            return _toml_answers(path, tomllib.loads(text))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"the script {path} is not TOML: {error}", hint=_SEE) from error
    # Only a line feed ends a line: JSON strings may hold the other characters that splitlines() takes for ends.
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [(number, _json_answer(path, number, line)) for number, line in numbered]


_SEE = "see hudkit.models.scripted_model"


def _toml_answers(path: Path, document: dict[str, Any]) -> list[tuple[int, Any]]:
    answers = document.get("answer", [])
    if set(document) - {"answer"} or not isinstance(answers, list):
        raise ConfigError(f"the script {path} holds more than [[answer]] tables", hint="write [[answer]] before each")
    return list(enumerate(answers, 1))


def _json_answer(path: Path, number: int, line: str) -> Any:
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise ConfigError(f"line {number} of the script {path} is not JSON: {error}") from error


def _script_line(path: Path, number: int, value: Any) -> _ScriptLine:
    try:
        return msgspec.convert(value, _ScriptLine)
    except msgspec.ValidationError as error:
        raise ConfigError(f"answer {number} of the script {path}: {error}", hint=_SEE) from error
