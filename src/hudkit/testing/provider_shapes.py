"""What providers' HTTP interfaces look like, from the server's side: requests as pieces, replies as bytes.

`SHAPES` has one `ProviderShape` for each: OpenAI's chat completions, Anthropic's messages, Google's generateContent.
A request is read as pieces in the order in which a prefix cache reads it; a reply is written as one JSON object or as
a stream of server-sent events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from hudkit.context.caching import CallCost
from hudkit.models.captured_request import RequestPiece, canonical_json
from hudkit.models.scripted_answers import Refusal, ScriptedCall, refusal_message, split_in_two
from hudkit.models.scripted_model import OPENAI_OVERFLOW

_Json = dict[str, object]


class WireReply(msgspec.Struct, frozen=True):
    """A reply ready for the wire: its calls have ids, its usage is `cost`.

    `name` tells answers apart, `model` echoes the request, `created` is in Unix ms, `usage_requested` says whether a
    stream should end with its usage (OpenAI's shape does so only where the request says so). `reasoning_tokens` are
    among the output of `cost`.
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


class ProviderShape(Protocol):
    """How one provider's requests are read and its answers are written."""

    path_ending: str
    """How the path of a request ends; it tells the shapes apart."""

    def pieces(self, body: Mapping[str, Any]) -> Iterator[RequestPiece]:
        """Yield the content of a request in the order in which a cache reads it."""

    def refusal(self, refusal: Refusal) -> _Json:
        """Return the body of an error."""

    def answer(self, reply: WireReply) -> _Json:
        """Return the answer as one object."""

    def stream(self, reply: WireReply) -> Iterator[bytes]:
        """Yield the answer as server-sent events."""

    def usage(self, cost: CallCost, reasoning: int = 0) -> _Json:
        """Return tokens in the provider's words; `reasoning` are among the output of `cost`."""


# -- OpenAI ----------------------------------------------------------------------------------------------------


class OpenAIShape:
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

    def answer(self, reply: WireReply) -> _Json:
        """Return the answer as one object."""
        message: _Json = {"role": "assistant", "content": reply.text or None}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.calls:
            message["tool_calls"] = [self._call(call) for call in reply.calls]
        usage = self.usage(reply.cost, reply.reasoning_tokens)
        choice = {"index": 0, "message": message, "finish_reason": self._finish(reply), "logprobs": None}
        return {**self._envelope("chat.completion", reply), "choices": [choice], "usage": usage}

    def stream(self, reply: WireReply) -> Iterator[bytes]:
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

    def _finish(self, reply: WireReply) -> str:
        return self._FINISHES.get(reply.finish) or ("tool_calls" if reply.calls else "stop")

    @staticmethod
    def _envelope(kind: str, reply: WireReply) -> _Json:
        return {
            "id": f"chatcmpl-{reply.name}",
            "object": kind,
            "created": reply.created // 1000,
            "model": reply.model,
        }


# -- Anthropic -------------------------------------------------------------------------------------------------


class AnthropicShape:
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

    def answer(self, reply: WireReply) -> _Json:
        """Return the answer as one object."""
        thinking = {"type": "thinking", "thinking": reply.reasoning, "signature": self._SIGNATURE}
        content: list[object] = [thinking] if reply.reasoning else []
        content += [{"type": "text", "text": reply.text}] if reply.text else []
        content += [{**self._call(call), "input": self._arguments(call)} for call in reply.calls]
        end = {"stop_reason": self._stop(reply), "usage": self.usage(reply.cost, reply.reasoning_tokens)}
        return {**self._message(reply), "content": content, **end}

    def stream(self, reply: WireReply) -> Iterator[bytes]:
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

    def _blocks(self, reply: WireReply) -> Iterator[tuple[_Json, list[dict[str, str]]]]:
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
    def _message(reply: WireReply) -> _Json:
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

    def _stop(self, reply: WireReply) -> str:
        return self._STOPS.get(reply.finish) or ("tool_use" if reply.calls else "end_turn")

    @staticmethod
    def _event(name: str, **fields: object) -> bytes:
        return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode({"type": name, **fields}) + b"\n\n"


# -- Google ----------------------------------------------------------------------------------------------------


class GeminiShape:
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

    def answer(self, reply: WireReply) -> _Json:
        """Return the answer as one object."""
        text: list[_Json] = [{"text": reply.text}] if reply.text else []
        return self._chunk(reply, [*text, *self._calls(reply)], last=True)

    def stream(self, reply: WireReply) -> Iterator[bytes]:
        """Yield the answer as server-sent events; usage and the reason of the end come with the last."""
        for text in split_in_two(reply.text):
            yield _sse(self._chunk(reply, [{"text": text}]), b"\r\n\r\n")
        yield _sse(self._chunk(reply, self._calls(reply) or [{"text": ""}], last=True), b"\r\n\r\n")

    @staticmethod
    def _calls(reply: WireReply) -> list[_Json]:
        return [
            {"functionCall": {"name": call.name, "args": msgspec.json.decode(call.text), "id": call.id}}
            for call in reply.calls
        ]

    def _chunk(self, reply: WireReply, parts: list[_Json], *, last: bool = False) -> _Json:
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


SHAPES: Mapping[str, ProviderShape] = {
    "openai": OpenAIShape(),
    "anthropic": AnthropicShape(),
    "gemini": GeminiShape(),
}
