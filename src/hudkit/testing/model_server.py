"""A model that answers from a script over HTTP: a server on loopback that speaks four shapes of three providers.

    with ScriptedModel([uses(ScriptedCall("read", {"filePath": "a.txt"})), says("done")]) as model:
        ...  # point a client at model.url
    assert model.chats[1].messages[-1][0] == "tool"

One thread per connection, keep-alive, chunked event streams; the standard library only.
"""

from __future__ import annotations

import contextlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Any, Protocol, Self

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
    offered_tools,
    request_kind,
    tokens_by_bytes,
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
from hudkit.models.scripted_model import DONE_REPLY, OPENAI_OVERFLOW, SUMMARY_REPLY, TITLE_REPLY, AnswerFunction

_NO_COST = CallCost(0, 0, 0)
_UNKNOWN_PATH = Refusal(404, "not_found_error", "", "the scripted model has no such path")
_NOT_JSON = Refusal(400, "invalid_request_error", "", "the body is not a JSON object in this shape")
_NO_WAY_OUT = Refusal(403, "permission_error", "", "the scripted model is no way out")

_POLL_SECONDS = 0.05
"""How often the server looks whether it is to end."""


class ScriptedModel:
    """A scripted model on 127.0.0.1, from construction to `close` (or as a context manager).

    `script` answers the chat calls: in order from a sequence, whose lines may be functions (called on the request's
    own thread), then `otherwise`; or each through one function. Title and compaction requests do not use it up: they
    get `title` and `compaction` (an answer or a function, may be set at any time). `marks` says by which system texts
    they are known. `requests` holds every request that arrived, in order of arrival. `count` counts tokens where a
    reply has no usage of its own.

    Used as an HTTP proxy, it refuses and keeps the request under the kind `other`: so a test can see what a program
    tried to reach.
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
    ) -> None:
        self.otherwise = otherwise
        self.title = title
        self.compaction = compaction
        self.marks = dict(marks)
        self.requests: list[CapturedRequest] = []
        self._function = script if callable(script) else None
        self._queue: deque[Answer | AnswerFunction] = deque(() if callable(script) else script)
        self._changed = Condition()
        self._meter = PrefixMeter(count)
        self._ids_made = 0
        self._closing = Event()
        self._server = _LoopbackServer(self)
        self._thread = Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="scripted-model", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving and let go of connections that hang; twice is harmless."""
        if not self._closing.is_set():
            self._closing.set()
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    # -- what tests ask and add ------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`; every shape is below its `/v1`."""
        return self._server.url

    @property
    def chats(self) -> list[CapturedRequest]:
        """Return the chat calls so far."""
        return self.of("chat")

    def of(self, kind: str) -> list[CapturedRequest]:
        """Return the requests of a kind (chat, title, compaction, other) so far."""
        with self._changed:
            return [request for request in self.requests if request.kind == kind]

    @property
    def left(self) -> int:
        """Replies of the script that were not played yet."""
        with self._changed:
            return len(self._queue)

    def play(self, *answers: Answer | AnswerFunction) -> None:
        """Put answers at the end of the script."""
        with self._changed:
            self._queue.extend(answers)

    def wait(self, kind: str, number: int = 1, seconds: float = 60.0) -> list[CapturedRequest]:
        """Return the requests of a kind as soon as there are `number` of them. Raises `TimeoutError`."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.of(kind)) >= number, seconds):
                raise TimeoutError(f"{len(self.of(kind))} of {number} {kind} requests within {seconds} s")
            return self.of(kind)

    # -- what the server asks --------------------------------------------------------------------------------------

    def arrive(
        self, method: str, path: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[CapturedRequest, Answer]:
        """Keep a request and return it with its answer."""
        shape = next((name for name, each in SHAPES.items() if _ends_with(path, each.path_ending)), "")
        body, pieces = _read(shape, raw) if method == "POST" else ({}, ())
        kind = request_kind(pieces, self.marks) if pieces else "other"
        timestamp = unix_ms()
        cost, refusal = self._cost(shape, pieces, timestamp)
        with self._changed:
            number = len(self.requests)
            request = CapturedRequest(number, kind, shape, method, path, headers, raw, body, pieces, timestamp, cost)
            self.requests.append(request)
            self._changed.notify_all()
        return request, refusal or self._refusal_of(request) or self._answer(request)

    def wire_reply(self, request: CapturedRequest, reply: ScriptedReply) -> _WireReply:
        """Return the reply with ids for its calls and the usage to report."""
        calls = tuple(
            call if call.id else ScriptedCall(call.name, call.arguments, self._next_id()) for call in reply.calls
        )
        counted = request.cost.read, request.cost.written, request.cost.fresh
        reasoning = self._meter.answer([reply.reasoning]) if reply.reasoning else 0
        output = reasoning + self._meter.answer([reply.text, *(call.name + call.text for call in calls)])
        return _WireReply(
            text=reply.text,
            calls=calls,
            cost=reply.usage or CallCost(*counted, output),
            name=f"{request.number:06d}",
            model=str(request.body.get("model", "")),
            created=request.timestamp,
            usage_requested=bool((request.body.get("stream_options") or {}).get("include_usage")),
            reasoning=reply.reasoning,
            reasoning_tokens=reasoning,
            finish=reply.finish,
            tools=offered_tools(request.body),
        )

    def rest(self, seconds: float) -> bool:
        """Wait; return false where the server is being closed."""
        return not self._closing.wait(seconds) if seconds else not self._closing.is_set()

    def _next_id(self) -> str:
        with self._changed:
            self._ids_made += 1
            return f"call_{self._ids_made:06d}"

    def _cost(self, shape: str, pieces: Sequence[RequestPiece], timestamp: int) -> tuple[CallCost, Refusal | None]:
        if not pieces:
            return _NO_COST, None
        try:
            return self._meter.cost(shape, pieces, timestamp), None
        except ConfigError as error:
            return _NO_COST, Refusal(400, "invalid_request_error", "", str(error))

    def _refusal_of(self, request: CapturedRequest) -> Refusal | None:
        if request.method == "CONNECT" or "://" in request.path:
            return _NO_WAY_OUT
        if not request.shape:
            return _UNKNOWN_PATH
        return None if request.pieces else _NOT_JSON

    def _answer(self, request: CapturedRequest) -> Answer:
        own = {"title": self.title, "compaction": self.compaction}.get(request.kind)
        if own is not None:
            return own(request) if callable(own) else own
        if self._function is not None:
            return self._function(request)
        with self._changed:
            line = self._queue.popleft() if self._queue else self.otherwise
        # Not under the lock: a function may wait until another request has arrived.
        return line(request) if callable(line) else line


def _ends_with(path: str, ending: str) -> bool:
    return "://" not in path and path.partition("?")[0].endswith(ending)


def _read(shape: str, raw: bytes) -> tuple[Mapping[str, Any], tuple[RequestPiece, ...]]:
    """Return the body and its pieces; empty where it is not a request of the shape."""
    try:
        body = json.loads(raw)
    except ValueError:
        return {}, ()
    if not isinstance(body, dict):
        return {}, ()
    try:
        return body, tuple(SHAPES[shape].pieces(body)) if shape else ()
    except (KeyError, TypeError, AttributeError):
        return body, ()


# -- HTTP ------------------------------------------------------------------------------------------------------


class _LoopbackServer(ThreadingHTTPServer):
    """A server on a free port of 127.0.0.1."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.model = model

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Exchange(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # an answer is several small writes
    protocol_version = "HTTP/1.1"
    server: _LoopbackServer

    def do_POST(self) -> None:
        """Answer any method: the model says what each is worth."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request, answer = self.server.model.arrive(self.command, self.path, headers, raw)
        with contextlib.suppress(ConnectionError):
            match answer:
                case ScriptedReply():
                    self._reply(request, answer)
                case Refusal():
                    self._refuse(request, answer)
                case Hang():
                    self.server.model.rest(answer.seconds)
                    self.close_connection = True

    do_GET = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_CONNECT = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the requests are kept."""

    def _refuse(self, request: CapturedRequest, refusal: Refusal) -> None:
        body = json.dumps(SHAPES[request.shape or "openai"].refusal(refusal)).encode()
        # Told as well as done: a client that keeps the connection would send its next request into its end.
        self._send(refusal.status, body, {**refusal.headers, "connection": "close"})

    def _reply(self, request: CapturedRequest, reply: ScriptedReply) -> None:
        if not self.server.model.rest(reply.delay):
            self.close_connection = True
            return
        wire_reply, shape = self.server.model.wire_reply(request, reply), SHAPES[request.shape]
        if request.body.get("stream") or request.shape == "gemini":
            self._stream(reply, list(shape.stream(wire_reply)))
        else:
            self._send(200, json.dumps(shape.answer(wire_reply)).encode(), {})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: ScriptedReply, events: Sequence[bytes]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in islice(events, len(events) // 2 if reply.cut else None):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            if reply.pace and not self.server.model.rest(reply.pace):
                break
        if reply.cut:
            self.close_connection = True  # without the last chunk: the client sees that the answer broke off
        else:
            self.wfile.write(b"0\r\n\r\n")


# --- What providers' HTTP interfaces look like, from the server's side: requests as pieces, replies as bytes.


_Json = dict[str, object]


class _WireReply(msgspec.Struct, frozen=True):
    """A reply ready for the wire: its calls have ids, its usage is `cost`.

    `name` tells answers apart, `model` echoes the request, `created` is in Unix ms, `usage_requested` says whether a
    stream should end with its usage (OpenAI's shape does so only where the request says so). `reasoning_tokens` are
    among the output of `cost`. `tools` has the `type` and the `namespace` of the tools that the request offers.
    """

    text: str
    calls: tuple[ScriptedCall, ...]
    cost: CallCost
    name: str
    model: str
    created: int
    usage_requested: bool
    reasoning: str = ""
    reasoning_tokens: int = 0
    finish: str = ""
    tools: Mapping[str, Mapping[str, str]] = {}


class _ProviderShape(Protocol):
    """How one provider's requests are read and its answers are written."""

    path_ending: str
    """How the path of a request ends; it tells the shapes apart."""

    def pieces(self, body: Mapping[str, Any]) -> Iterator[RequestPiece]:
        """Yield the content of a request in the order in which a cache reads it."""

    def refusal(self, refusal: Refusal) -> _Json:
        """Return the body of an error."""

    def answer(self, reply: _WireReply) -> _Json:
        """Return the answer as one object."""

    def stream(self, reply: _WireReply) -> Iterator[bytes]:
        """Yield the answer as server-sent events."""

    def usage(self, cost: CallCost, reasoning: int = 0) -> _Json:
        """Return tokens in the provider's words; `reasoning` are among the output of `cost`."""


# -- OpenAI ----------------------------------------------------------------------------------------------------


class _OpenAIShape:
    """Chat completions."""

    path_ending = "/chat/completions"

    _ROLES: Mapping[str, str] = {"developer": "system", "function": "tool"}
    _FINISHES: Mapping[str, str] = {"length": "length", "compact": "length", "refusal": "content_filter"}

    def pieces(self, body: Mapping[str, Any]) -> Iterator[RequestPiece]:
        """Yield the content of a request in the order in which a cache reads it."""
        for tool in body.get("tools") or ():
            yield RequestPiece("tools", canonical_json(tool), "schema")
        for place, message in enumerate(body.get("messages") or ()):
            role = self._ROLES.get(message["role"], message["role"])
            form = "result" if role == "tool" else "text"
            pieces = list(self._content(message.get("content"), role, form, place))
            pieces += [
                RequestPiece(role, self._call_text(call), "call", place) for call in message.get("tool_calls") or ()
            ]
            if "cache_control" in message and pieces:
                pieces[-1] = msgspec.structs.replace(pieces[-1], breakpoint=True)
            yield from pieces

    @staticmethod
    def _content(content: Any, role: str, form: str, place: int) -> Iterator[RequestPiece]:
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
            text = part["text"] if part.get("type") == "text" else canonical_json(part)
            if text:
                yield RequestPiece(role, text, form, place, "cache_control" in part)

    @staticmethod
    def _call_text(call: Mapping[str, Any]) -> str:
        function = call["function"]
        return f"{function['name']} {function['arguments']} #{call.get('id', '')}"

    def refusal(self, refusal: Refusal) -> _Json:
        """Return the body of an error."""
        message = refusal_message(refusal, OPENAI_OVERFLOW)
        return {"error": {"message": message, "type": refusal.kind, "param": None, "code": refusal.code or None}}

    def answer(self, reply: _WireReply) -> _Json:
        """Return the answer as one object."""
        message: _Json = {"role": "assistant", "content": reply.text or None}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.calls:
            message["tool_calls"] = [self._call(call) for call in reply.calls]
        usage = self.usage(reply.cost, reply.reasoning_tokens)
        choice = {"index": 0, "message": message, "finish_reason": self._finish(reply), "logprobs": None}
        return {**self._envelope("chat.completion", reply), "choices": [choice], "usage": usage}

    def stream(self, reply: _WireReply) -> Iterator[bytes]:
        """Yield the answer as server-sent events; usage comes last, where the request asked for it."""
        envelope = self._envelope("chat.completion.chunk", reply)

        def chunk(delta: object, finish: str | None = None) -> bytes:
            return _sse({**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        yield chunk({"role": "assistant", "content": ""})
        for text in split_in_two(reply.reasoning):
            yield chunk({"reasoning_content": text})
        for text in split_in_two(reply.text):
            yield chunk({"content": text})
        for index, call in enumerate(reply.calls):
            opening = self._call(call) | {"index": index, "function": {"name": call.name, "arguments": ""}}
            yield chunk({"tool_calls": [opening]})
            for text in split_in_two(call.text):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
        yield chunk({}, self._finish(reply))
        if reply.usage_requested:
            yield _sse({**envelope, "choices": [], "usage": self.usage(reply.cost, reply.reasoning_tokens)})
        yield b"data: [DONE]\n\n"

    def usage(self, cost: CallCost, reasoning: int = 0) -> _Json:
        """Return tokens in this shape's words: the prompt includes what was cached, the completion the reasoning."""
        details = {"completion_tokens_details": {"reasoning_tokens": reasoning}} if reasoning else {}
        return {
            "prompt_tokens": cost.total,
            "completion_tokens": cost.output,
            "total_tokens": cost.total + cost.output,
            "prompt_tokens_details": {"cached_tokens": cost.read},
            **details,
        }

    @staticmethod
    def _call(call: ScriptedCall) -> _Json:
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}

    def _finish(self, reply: _WireReply) -> str:
        return self._FINISHES.get(reply.finish) or ("tool_calls" if reply.calls else "stop")

    @staticmethod
    def _envelope(kind: str, reply: _WireReply) -> _Json:
        return {
            "id": f"chatcmpl-{reply.name}",
            "object": kind,
            "created": reply.created // 1000,
            "model": reply.model,
        }


# -- OpenAI's responses ----------------------------------------------------------------------------------------


class _ResponsesShape:
    """Responses, as Codex asks for them."""

    path_ending = "/responses"

    _ROLES: Mapping[str, str] = {"developer": "system"}
    _CALLS: Mapping[str, str] = {"function_call": "arguments", "custom_tool_call": "input"}

    def pieces(self, body: Mapping[str, Any]) -> Iterator[RequestPiece]:
        """Yield the content of a request in the order in which a cache reads it."""
        for tool in body.get("tools") or ():
            yield RequestPiece("tools", canonical_json(tool), "schema")
        if body.get("instructions"):
            yield RequestPiece("system", body["instructions"])
        asked = body.get("input") or ()
        for place, item in enumerate([{"role": "user", "content": asked}] if isinstance(asked, str) else asked):
            yield from self._item_pieces(item, place)

    def _item_pieces(self, item: Mapping[str, Any], place: int) -> Iterator[RequestPiece]:
        kind = item.get("type", "message")
        if kind == "message":
            role = self._ROLES.get(item["role"], item["role"])
            yield from (RequestPiece(role, text, "text", place) for text in self._texts(item["content"]))
        elif kind in self._CALLS:
            text = f"{item['name']} {item[self._CALLS[kind]]} #{item['call_id']}"
            yield RequestPiece("assistant", text, "call", place)
        elif kind == "additional_tools":
            yield from (RequestPiece("tools", canonical_json(tool), "schema", place) for tool in item["tools"])
        elif kind.endswith("_output"):
            yield RequestPiece("tool", "\n".join(self._texts(item["output"])), "result", place)
        else:
            yield RequestPiece("assistant", canonical_json(item), "text", place)

    @staticmethod
    def _texts(content: Any) -> list[str]:
        parts = [{"text": content}] if isinstance(content, str) else content
        texts = [part["text"] if "text" in part else canonical_json(part) for part in parts]
        return texts if len(texts) == 1 else [text for text in texts if text]

    def refusal(self, refusal: Refusal) -> _Json:
        """Return the body of an error."""
        message = refusal_message(refusal, OPENAI_OVERFLOW)
        return {"error": {"message": message, "type": refusal.kind, "param": None, "code": refusal.code or None}}

    def answer(self, reply: _WireReply) -> _Json:
        """Return the answer as one object."""
        status = {"length": "incomplete", "compact": "incomplete"}.get(reply.finish, "completed")
        usage = self.usage(reply.cost, reply.reasoning_tokens)
        return {**self._envelope(reply), "status": status, "output": self._items(reply), "usage": usage}

    def stream(self, reply: _WireReply) -> Iterator[bytes]:
        """Yield the answer as events: each item as it begins, its text in two pieces, and as it ends; usage last."""
        yield self._event("response.created", response={**self._envelope(reply), "status": "in_progress"})
        for index, item in enumerate(self._items(reply)):
            place = {"output_index": index, "item_id": item["id"]}
            yield self._event("response.output_item.added", output_index=index, item=item)
            if item["type"] == "message":
                for text in split_in_two(reply.text):
                    yield self._event("response.output_text.delta", **place, content_index=0, delta=text)
            yield self._event("response.output_item.done", output_index=index, item=item)
        end = self.answer(reply)
        yield self._event(f"response.{end['status']}", response=end)

    def usage(self, cost: CallCost, reasoning: int = 0) -> _Json:
        """Return tokens in this shape's words: the input includes what was cached, the output the reasoning."""
        return {
            "input_tokens": cost.total,
            "input_tokens_details": {"cached_tokens": cost.read},
            "output_tokens": cost.output,
            "output_tokens_details": {"reasoning_tokens": reasoning},
            "total_tokens": cost.total + cost.output,
        }

    def _items(self, reply: _WireReply) -> list[_Json]:
        items: list[_Json] = []
        if reply.reasoning:
            summary = [{"type": "summary_text", "text": reply.reasoning}]
            items.append({"type": "reasoning", "id": f"rs_{reply.name}", "summary": summary})
        if reply.text:
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            message = {"type": "message", "id": f"msg_{reply.name}", "role": "assistant", "content": content}
            items.append({**message, "status": "completed"})
        return items + [self._call(call, reply.tools.get(call.name, {})) for call in reply.calls]

    @staticmethod
    def _call(call: ScriptedCall, tool: Mapping[str, str]) -> _Json:
        """A call in the words of its tool's kind: one of a namespace is called with that, a free one with text."""
        named = {"id": f"fc_{call.id}", "call_id": call.id, "name": call.name, "status": "completed"}
        if tool.get("namespace"):
            named["namespace"] = tool["namespace"]
        if tool.get("type") == "custom":
            return {**named, "type": "custom_tool_call", "input": call.text}
        return {**named, "type": "function_call", "arguments": call.text}

    @staticmethod
    def _envelope(reply: _WireReply) -> _Json:
        return {
            "id": f"resp_{reply.name}",
            "object": "response",
            "created_at": reply.created // 1000,
            "model": reply.model,
        }

    @staticmethod
    def _event(name: str, **fields: object) -> bytes:
        return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode({"type": name, **fields}) + b"\n\n"


# -- Anthropic -------------------------------------------------------------------------------------------------


class _AnthropicShape:
    """Messages."""

    path_ending = "/messages"

    _OVERFLOW = "prompt is too long: 210000 tokens > 200000 maximum"
    _SIGNATURE = "c2lnbmVk"
    """What stands under every reasoning, so that it can be sent back."""
    _STOPS: Mapping[str, str] = {
        "length": "max_tokens",
        "compact": "model_context_window_exceeded",
        "refusal": "refusal",
    }

    def pieces(self, body: Mapping[str, Any]) -> Iterator[RequestPiece]:
        """Yield the content of a request in the order in which a cache reads it."""
        for tool in body.get("tools") or ():
            plain = {key: value for key, value in tool.items() if key != "cache_control"}
            yield RequestPiece("tools", canonical_json(plain), "schema", breakpoint="cache_control" in tool)
        for part in self._parts(body.get("system")):
            yield self._piece(part, "system", -1)
        for place, message in enumerate(body.get("messages") or ()):
            for part in self._parts(message["content"]):
                yield self._piece(part, message["role"], place)

    @staticmethod
    def _parts(content: Any) -> list[Mapping[str, Any]]:
        if isinstance(content, str):
            return [{"type": "text", "text": content}] if content else []
        return list(content or ())

    def _piece(self, part: Mapping[str, Any], role: str, place: int) -> RequestPiece:
        marked = "cache_control" in part
        match part["type"]:
            case "text":
                return RequestPiece(role, part["text"], "text", place, marked)
            case "tool_use":
                text = f"{part['name']} {canonical_json(part['input'])} #{part['id']}"
                return RequestPiece(role, text, "call", place, marked)
            case "tool_result":
                inner = self._parts(part.get("content"))
                texts = (each["text"] if each["type"] == "text" else canonical_json(each) for each in inner)
                return RequestPiece("tool", "\n".join(texts), "result", place, marked)
            case _:
                plain = {key: value for key, value in part.items() if key != "cache_control"}
                return RequestPiece(role, canonical_json(plain), "text", place, marked)

    def refusal(self, refusal: Refusal) -> _Json:
        """Return the body of an error. This shape has no code: the message says that the window is too small."""
        message = refusal_message(refusal, self._OVERFLOW)
        return {"type": "error", "error": {"type": refusal.kind, "message": message}}

    def answer(self, reply: _WireReply) -> _Json:
        """Return the answer as one object."""
        thinking = {"type": "thinking", "thinking": reply.reasoning, "signature": self._SIGNATURE}
        content: list[object] = [thinking] if reply.reasoning else []
        content += [{"type": "text", "text": reply.text}] if reply.text else []
        content += [{**self._call(call), "input": self._arguments(call)} for call in reply.calls]
        end = {"stop_reason": self._stop(reply), "usage": self.usage(reply.cost, reply.reasoning_tokens)}
        return {**self._message(reply), "content": content, **end}

    def stream(self, reply: _WireReply) -> Iterator[bytes]:
        """Yield the answer as events: a start with the prompt's usage, blocks, a delta with the answer's."""
        opening_usage = self.usage(msgspec.structs.replace(reply.cost, output=1))
        yield self._event("message_start", message={**self._message(reply), "usage": opening_usage})
        yield self._event("ping")
        for index, (block, deltas) in enumerate(self._blocks(reply)):
            yield self._event("content_block_start", index=index, content_block=block)
            for delta in deltas:
                yield self._event("content_block_delta", index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
        usage = self.usage(reply.cost, reply.reasoning_tokens)
        closing_usage = {name: usage[name] for name in ("output_tokens", "output_tokens_details") if name in usage}
        stop = {"stop_reason": self._stop(reply), "stop_sequence": None}
        yield self._event("message_delta", delta=stop, usage=closing_usage)
        yield self._event("message_stop")

    def _blocks(self, reply: _WireReply) -> Iterator[tuple[_Json, list[dict[str, str]]]]:
        """Yield each content block as it is opened, with the deltas that fill it."""
        if reply.reasoning:
            deltas = [{"type": "thinking_delta", "thinking": text} for text in split_in_two(reply.reasoning)]
            deltas.append({"type": "signature_delta", "signature": self._SIGNATURE})
            yield {"type": "thinking", "thinking": "", "signature": ""}, deltas
        if reply.text:
            yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": t} for t in split_in_two(reply.text)]
        for call in reply.calls:
            halves = split_in_two(call.text)
            yield (
                {**self._call(call), "input": {}},
                [{"type": "input_json_delta", "partial_json": text} for text in halves],
            )

    def usage(self, cost: CallCost, reasoning: int = 0) -> _Json:
        """Return tokens in this shape's words: the input excludes what was read from the cache or written to it."""
        details = {"output_tokens_details": {"thinking_tokens": reasoning}} if reasoning else {}
        return {
            "input_tokens": cost.fresh,
            "cache_creation_input_tokens": cost.written,
            "cache_read_input_tokens": cost.read,
            "output_tokens": cost.output,
            **details,
        }

    @staticmethod
    def _message(reply: _WireReply) -> _Json:
        return {
            "id": f"msg_{reply.name}",
            "type": "message",
            "role": "assistant",
            "model": reply.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    @staticmethod
    def _call(call: ScriptedCall) -> _Json:
        return {"type": "tool_use", "id": call.id, "name": call.name}

    @staticmethod
    def _arguments(call: ScriptedCall) -> object:
        return msgspec.json.decode(call.arguments) if isinstance(call.arguments, str) else call.arguments

    def _stop(self, reply: _WireReply) -> str:
        return self._STOPS.get(reply.finish) or ("tool_use" if reply.calls else "end_turn")

    @staticmethod
    def _event(name: str, **fields: object) -> bytes:
        return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode({"type": name, **fields}) + b"\n\n"


# -- Google ----------------------------------------------------------------------------------------------------


class _GeminiShape:
    """generateContent, streamed: the path, not the body, says so."""

    path_ending = ":streamGenerateContent"

    _OVERFLOW = "The input token count exceeds the maximum number of tokens allowed."
    _ROLES: Mapping[str, str] = {"model": "assistant", "function": "tool"}
    _FINISHES: Mapping[str, str] = {"length": "MAX_TOKENS", "compact": "MAX_TOKENS", "refusal": "SAFETY"}
    """Google's words for ends other than stop; tool calls end with stop, too."""

    def pieces(self, body: Mapping[str, Any]) -> Iterator[RequestPiece]:
        """Yield the content of a request in the order in which a cache reads it."""
        for tool in body.get("tools") or ():
            for declaration in tool.get("functionDeclarations") or ():
                yield RequestPiece("tools", canonical_json(declaration), "schema")
        for part in (body.get("systemInstruction") or {}).get("parts") or ():
            yield RequestPiece("system", part["text"])
        for place, content in enumerate(body.get("contents") or ()):
            role = self._ROLES.get(content["role"], content["role"])
            for part in content["parts"]:
                yield from self._part_pieces(part, role, place)

    @staticmethod
    def _part_pieces(part: Mapping[str, Any], role: str, place: int) -> Iterator[RequestPiece]:
        if "functionCall" in part:
            call = part["functionCall"]
            yield RequestPiece(role, f"{call['name']} {canonical_json(call.get('args', {}))}", "call", place)
        elif "functionResponse" in part:
            response = part["functionResponse"]["response"]
            content = response.get("content", response)
            text = content if isinstance(content, str) else canonical_json(content)
            yield RequestPiece("tool", text, "result", place)
        elif part.get("text"):
            yield RequestPiece(role, part["text"], "text", place)

    def refusal(self, refusal: Refusal) -> _Json:
        """Return the body of an error."""
        message = refusal_message(refusal, self._OVERFLOW)
        return {"error": {"code": refusal.status, "message": message, "status": "INVALID_ARGUMENT"}}

    def answer(self, reply: _WireReply) -> _Json:
        """Return the answer as one object."""
        text: list[_Json] = [{"text": reply.text}] if reply.text else []
        return self._chunk(reply, [*text, *self._calls(reply)], last=True)

    def stream(self, reply: _WireReply) -> Iterator[bytes]:
        """Yield the answer as server-sent events; usage and the reason of the end come with the last."""
        for text in split_in_two(reply.text):
            yield _sse(self._chunk(reply, [{"text": text}]), b"\r\n\r\n")
        yield _sse(self._chunk(reply, self._calls(reply) or [{"text": ""}], last=True), b"\r\n\r\n")

    @staticmethod
    def _calls(reply: _WireReply) -> list[_Json]:
        return [
            {"functionCall": {"name": call.name, "args": msgspec.json.decode(call.text), "id": call.id}}
            for call in reply.calls
        ]

    def _chunk(self, reply: _WireReply, parts: list[_Json], *, last: bool = False) -> _Json:
        candidate: _Json = {"index": 0, "content": {"role": "model", "parts": parts}}
        if not last:
            return {"candidates": [candidate]}
        return {
            "candidates": [{**candidate, "finishReason": self._FINISHES.get(reply.finish, "STOP")}],
            "usageMetadata": self.usage(reply.cost),
            "responseId": reply.name,
        }

    def usage(self, cost: CallCost, reasoning: int = 0) -> _Json:  # noqa: ARG002 (Google's answers count no reasoning)
        """Return tokens in this shape's words: the prompt includes what was cached."""
        return {
            "promptTokenCount": cost.total,
            "cachedContentTokenCount": cost.read,
            "candidatesTokenCount": cost.output,
            "totalTokenCount": cost.total + cost.output,
        }


def _sse(value: object, end: bytes = b"\n\n") -> bytes:
    return b"data: " + msgspec.json.encode(value) + end


SHAPES: Mapping[str, _ProviderShape] = {
    "openai": _OpenAIShape(),
    "responses": _ResponsesShape(),
    "anthropic": _AnthropicShape(),
    "gemini": _GeminiShape(),
}
