"""A provider's answer in one of three shapes: its usage, its calls of our tools, and what of it the client sees.

Of an answer without a call of `hud` or `memory` the client gets every byte as it came, event by event. Calls of ours
are taken out as they come: the client, which knows no such tools, sees neither them nor that the model was asked once
more. Numbers of what follows them move up; only such events are written anew.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from hudkit.context.caching import CallCost
from hudkit.hosts.gateway.body_spans import BodyUnknown, encoded, read_value
from hudkit.hosts.gateway.call_shapes import Json, WireCall

_EVENT_END = re.compile(rb"\r?\n\r?\n")
_DATA = re.compile(rb"^data:[ ]?(.*?)\r?$", re.M)

_MAX_PENDING = 8 * 1024 * 1024
"""Bytes of one event; a longer one goes on as it comes, unread."""


class AnswerReader(ABC):
    """Reads the rounds of one call's answer. `own` are names of tools that the client did not offer."""

    ended_whole: ClassVar[bytes] = b""

    def __init__(self, own: frozenset[str]) -> None:
        self._own = own
        self._pending = b""
        self.rounds = 0
        """Rounds before this one."""
        self.cost: CallCost | None = None
        """What the round cost, as the provider reports it; `None` where it does not."""
        self.calls: list[WireCall] = []
        """The model's calls of our tools in this round."""
        self.client_calls: list[WireCall] = []
        self.items: list[Json] = []
        """What the model said in this round, as the shape has it in a request."""
        self.is_over = False
        """Whether the model has said all of this round."""
        self._held: list[bytes] = []
        self._begin()

    @property
    def asks_us_only(self) -> bool:
        """Return whether the round ends with calls of our tools and no others: the model is to be asked again."""
        return bool(self.calls) and not self.client_calls and self._ended_with_calls

    def next_round(self) -> None:
        """Go on with the answer to the next request of the same call."""
        self.rounds += 1
        self.cost, self.calls, self.client_calls, self.items = None, [], [], []
        self.is_over, self._held = False, []
        self._begin()

    def feed(self, part: bytes) -> bytes:
        """Take a part of a stream, and return what the client gets of it."""
        self._pending += part
        out: list[bytes] = []
        place = 0
        for end in _EVENT_END.finditer(self._pending):
            event = self._event(self._pending[place : end.end()])
            # The end of an answer with a call of ours waits until that is answered, and kept: the client's next call
            # has it.
            (self._held if self.is_over and self.calls else out).append(event)
            place = end.end()
        self._pending = self._pending[place:]
        if len(self._pending) > _MAX_PENDING:
            out.append(self._pending)
            self._pending = b""
        return b"".join(out)

    def rest(self) -> bytes:
        """Return what is left at the end of a stream."""
        held = [] if self.asks_us_only else self._held
        rest, self._pending, self._held = b"".join(held) + self._pending, b"", []
        return rest

    def _event(self, raw: bytes) -> bytes:
        lines = _DATA.findall(raw)
        if not lines:
            return raw
        try:
            data = read_value(b"\n".join(lines))
        except BodyUnknown:
            return raw
        if not isinstance(data, dict):
            return raw
        changed = self._stream_event(data)
        if changed is data:
            return raw
        if changed is None:
            return b""
        return _DATA.sub(lambda _: b"data: " + encoded(changed), raw, count=1) if len(lines) == 1 else _sse(changed)

    def whole(self, body: bytes) -> None:
        """Take an answer that is one body. Raises `BodyUnknown`."""
        value = read_value(body)
        if not isinstance(value, dict):
            raise BodyUnknown
        try:
            self._whole(value)
        except (KeyError, TypeError, AttributeError, IndexError):
            raise BodyUnknown from None

    @abstractmethod
    def said(self) -> list[Json]:
        """Return what is told to the model, together with the answers, of what it said.

        All of the round where it called our tools only. Else our calls alone: the rest comes back with the client's
        next call.
        """

    @property
    @abstractmethod
    def changes_whole(self) -> bytes | None:
        """Return the body that the client gets; `None`: the one that came."""

    @property
    def _ended_with_calls(self) -> bool:
        raise NotImplementedError

    @abstractmethod
    def _begin(self) -> None:
        """Forget the round before."""

    @abstractmethod
    def _stream_event(self, data: Json) -> Json | None:
        """Take an event, and return what the client gets: the same object where it stays as it is."""

    @abstractmethod
    def _whole(self, value: Json) -> None: ...

    @abstractmethod
    def closing(self, error: str = "") -> bytes:
        """Return events that end a stream whose last round did not come: with an error, or as if nothing was left to
        say."""


class _AnthropicAnswer(AnswerReader):
    """The answer to a call of Anthropic's messages."""

    def __init__(self, own: frozenset[str]) -> None:
        self._shown = 0
        self._usage: Json = {}
        self._earlier: list[Json] = []
        self._value: Json = {}
        super().__init__(own)

    def _begin(self) -> None:
        self._blocks: dict[int, Json] = {}
        self._places: dict[int, int] = {}
        self._json: dict[int, str] = {}
        self._stop = ""
        self._usage = {}

    @property
    def _ended_with_calls(self) -> bool:
        return self._stop == "tool_use"

    def _stream_event(self, data: Json) -> Json | None:
        kind = data.get("type")
        if kind == "message_start":
            self._take_usage((data.get("message") or {}).get("usage"))
            return data if not self.rounds else None
        if kind in ("content_block_start", "content_block_delta", "content_block_stop"):
            return self._block_event(str(kind), data)
        if kind == "message_delta":
            self._take_usage(data.get("usage"))
            self._stop = str((data.get("delta") or {}).get("stop_reason") or "")
            self._close_round()
            # The client has the usage of the first request; the window is as full as after the last one.
            return {**data, "usage": {**(data.get("usage") or {}), **self._usage}} if self.rounds else data
        return data

    def _block_event(self, kind: str, data: Json) -> Json | None:
        index = int(data.get("index", 0))
        if kind == "content_block_start":
            block = dict(data.get("content_block") or {})
            self._blocks[index] = block
            if block.get("type") == "tool_use" and block.get("name") in self._own:
                self._places[index] = -1
            else:
                self._places[index], self._shown = self._shown, self._shown + 1
        elif kind == "content_block_delta":
            self._add(index, data.get("delta") or {})
        place = self._places.get(index, index)
        if place < 0:
            return None
        return data if place == index else {**data, "index": place}

    def _add(self, index: int, delta: Json) -> None:
        block = self._blocks.setdefault(index, {})
        match delta.get("type"):
            case "text_delta":
                block["text"] = block.get("text", "") + delta.get("text", "")
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta.get("thinking", "")
            case "signature_delta":
                block["signature"] = block.get("signature", "") + delta.get("signature", "")
            case "input_json_delta":
                self._json[index] = self._json.get(index, "") + delta.get("partial_json", "")
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]

    def _close_round(self) -> None:
        self.is_over = True
        for index, text in self._json.items():
            self._blocks[index]["input"] = _object(text)
        self._take_blocks([self._blocks[index] for index in sorted(self._blocks)])

    def _take_blocks(self, blocks: list[Json]) -> None:
        self.items = [block for block in blocks if block.get("type") != "text" or block.get("text")]
        for block in blocks:
            if block.get("type") == "tool_use":
                arguments = block.get("input") or {}
                call = WireCall(str(block["id"]), str(block["name"]), arguments, encoded(arguments).decode())
                (self.calls if call.name in self._own else self.client_calls).append(call)

    def _take_usage(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        self._usage.update({key: value for key, value in usage.items() if isinstance(value, int)})
        got = self._usage.get
        self.cost = CallCost(
            got("cache_read_input_tokens", 0),
            got("cache_creation_input_tokens", 0),
            got("input_tokens", 0),
            got("output_tokens", 0),
        )

    def said(self) -> list[Json]:
        """Return what is told to the model, together with the answers, of what it said."""
        return [block for block in self.items if not self.client_calls or self._is_own(block)]

    def _whole(self, value: Json) -> None:
        self._value = value
        self._take_usage(value.get("usage"))
        self._stop = str(value.get("stop_reason") or "")
        self._take_blocks(list(value["content"]))
        if self.asks_us_only:
            self._earlier += [block for block in value["content"] if not self._is_own(block)]

    def _is_own(self, block: Json) -> bool:
        return block.get("type") == "tool_use" and block.get("name") in self._own

    @property
    def changes_whole(self) -> bytes | None:
        """Return the body that the client gets; `None`: the one that came."""
        if not (self.calls or self.rounds):
            return None
        content = [*self._earlier, *(block for block in self._value["content"] if not self._is_own(block))]
        stop = {"stop_reason": "end_turn"} if self.calls and not self.client_calls else {}
        return encoded({**self._value, "content": content, **stop})

    def closing(self, error: str = "") -> bytes:
        """Return events that end a stream whose last round did not come."""
        if error:
            return _named({"type": "error", "error": {"type": "overloaded_error", "message": error}})
        usage = {"output_tokens": self._usage.get("output_tokens", 0)}
        delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage}
        return _named(delta) + _named({"type": "message_stop"})


class _ChatAnswer(AnswerReader):
    """The answer to a call of OpenAI's chat completions."""

    def __init__(self, own: frozenset[str]) -> None:
        self._shown = 0
        self._envelope: Json = {}
        self._earlier_text = ""
        self._value: Json = {}
        super().__init__(own)

    def _begin(self) -> None:
        self._parts: dict[int, Json] = {}
        self._places: dict[int, int] = {}
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._finish = ""

    @property
    def _ended_with_calls(self) -> bool:
        return self._finish in ("tool_calls", "stop", "function_call")

    def _stream_event(self, data: Json) -> Json | None:
        self._take_usage(data.get("usage"))
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return data
        self._envelope = {key: data[key] for key in ("id", "object", "created", "model") if key in data}
        choice = choices[0]
        delta = choice.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        self._text += [delta["content"]] if isinstance(delta.get("content"), str) else []
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        self._reasoning += [reasoning] if isinstance(reasoning, str) else []
        parts = delta.get("tool_calls")
        stays = [self._part(part) for part in parts] if isinstance(parts, list) else []
        if choice.get("finish_reason"):
            self._finish = str(choice["finish_reason"])
            self._close_round()
        if not parts or stays == parts:
            return data
        left = [part for part in stays if part is not None]
        delta = {key: value for key, value in delta.items() if key != "tool_calls"} | (
            {"tool_calls": left} if left else {}
        )
        if not left and not choice.get("finish_reason") and not any(delta.get(key) for key in delta if key != "role"):
            return None
        return {**data, "choices": [{**choice, "delta": delta}]}

    def _part(self, part: Json) -> Json | None:
        """Return a part of a call as the client gets it; nothing where the call is ours."""
        index = int(part.get("index") or 0)
        function = part.get("function") or {}
        before = self._parts.get(index)
        if before and part.get("id") and function.get("name") and before["id"] not in ("", part["id"]):
            index = max(self._parts) + 1  # a provider that numbers none of its calls
        call = self._parts.setdefault(index, {"id": "", "name": "", "arguments": ""})
        call["id"] = call["id"] or str(part.get("id") or "")
        call["arguments"] += str(function.get("arguments") or "")
        if function.get("name") and not call["name"]:
            call["name"] = str(function["name"])
        if index not in self._places:
            is_own = call["name"] in self._own
            self._places[index] = -1 if is_own else self._shown
            self._shown += not is_own
        place = self._places[index]
        if place < 0:
            return None
        return part if place == index else {**part, "index": place}

    def _close_round(self) -> None:
        self.is_over = True
        calls = [
            {"id": each["id"], "type": "function", "function": {"name": each["name"], "arguments": each["arguments"]}}
            for _, each in sorted(self._parts.items())
        ]
        self._take("".join(self._text), "".join(self._reasoning), calls)

    def _take(self, text: str, reasoning: str, calls: list[Json]) -> None:
        if self.items or self.calls or self.client_calls:
            return  # a provider that says twice how it ended
        for call in calls:
            name, written = call["function"]["name"], call["function"].get("arguments") or ""
            read = WireCall(str(call.get("id", "")), name, _object(written), written)
            (self.calls if name in self._own else self.client_calls).append(read)
        own = [call for call in calls if call["function"]["name"] in self._own]
        message: Json = {"role": "assistant", "content": text or None, "tool_calls": own}
        if reasoning:
            message["reasoning_content"] = reasoning
        self.items = [message]

    def _take_usage(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        self.cost = _openai_cost(usage, "prompt_tokens", "completion_tokens") or self.cost

    def said(self) -> list[Json]:
        """Return what is told to the model, together with the answers, of what it said."""
        if not self.client_calls:
            return self.items
        return [{"role": "assistant", "content": None, "tool_calls": each["tool_calls"]} for each in self.items]

    def _whole(self, value: Json) -> None:
        self._value = value
        self._take_usage(value.get("usage"))
        choice = value["choices"][0]
        message = choice["message"]
        self._finish = str(choice.get("finish_reason") or "")
        text = message.get("content") if isinstance(message.get("content"), str) else ""
        calls = [call for call in message.get("tool_calls") or () if "function" in call]
        self._take(text, str(message.get("reasoning_content") or ""), calls)
        if self.asks_us_only:
            self._earlier_text += text

    @property
    def changes_whole(self) -> bytes | None:
        """Return the body that the client gets; `None`: the one that came."""
        if not (self.calls or self.rounds):
            return None
        choice = self._value["choices"][0]
        message = dict(choice["message"])
        calls = [
            call for call in message.pop("tool_calls", None) or ()
            if call.get("function", {}).get("name") not in self._own
        ]  # fmt: skip
        message |= {"tool_calls": calls} if calls else {}
        if self._earlier_text:
            message["content"] = self._earlier_text + (message.get("content") or "")
        finish = {"finish_reason": "stop"} if self.calls and not self.client_calls else {}
        return encoded({**self._value, "choices": [{**choice, "message": message, **finish}]})

    def closing(self, error: str = "") -> bytes:
        """Return events that end a stream whose last round did not come."""
        if error:
            return _sse({"error": {"message": error, "type": "server_error", "code": None}})
        choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
        return _sse({**self._envelope, "choices": [choice]}) + b"data: [DONE]\n\n"


class _ResponsesAnswer(AnswerReader):
    """The answer to a call of OpenAI's responses."""

    def __init__(self, own: frozenset[str]) -> None:
        self._shown = 0
        self._visible: list[Json] = []
        self._last: Json = {}
        self._id = ""
        super().__init__(own)

    def _begin(self) -> None:
        self._places: dict[int, int] = {}
        self._has_ended = False

    @property
    def _ended_with_calls(self) -> bool:
        return self._has_ended

    def _stream_event(self, data: Json) -> Json | None:
        kind = str(data.get("type"))
        if kind in ("response.created", "response.in_progress", "response.queued"):
            self._id = self._id or str((data.get("response") or {}).get("id", ""))
            return data if not self.rounds else None
        if kind in ("response.completed", "response.done", "response.incomplete"):
            return self._completed(kind, data)
        index, item = data.get("output_index"), data.get("item")
        if not isinstance(index, int):
            return data
        if isinstance(item, dict):
            if index not in self._places:
                is_own = self._is_own(item)
                self._places[index] = -1 if is_own else self._shown
                self._shown += not is_own
            if kind == "response.output_item.done":
                self._take(item)
        place: int = self._places.get(index, index)
        if place < 0:
            return None
        return data if place == index else {**data, "output_index": place}

    def _completed(self, kind: str, data: Json) -> Json | None:
        response = data.get("response")
        response = response if isinstance(response, dict) else {}
        if not self.items:
            for item in response.get("output") or ():
                self._take(item)
        self._take_usage(response.get("usage"))
        self._has_ended, self.is_over = kind != "response.incomplete", True
        self._last = data
        if not (self.calls or self.rounds):
            return data
        # A client takes all rounds for one response, and may look whether it has the same id to its end.
        return {**data, "response": {**response, "id": self._id or response.get("id"), "output": list(self._visible)}}

    def _is_own(self, item: Json) -> bool:
        return item.get("type") == "function_call" and item.get("name") in self._own

    def _take(self, item: Json) -> None:
        self.items.append(item)
        kind = str(item.get("type"))
        if not self._is_own(item):
            self._visible.append(item)
        if kind.endswith("_call") and "call_id" in item:
            written = str(item.get("arguments") or item.get("input") or "")
            call = WireCall(str(item["call_id"]), str(item.get("name", kind)), _object(written), written)
            (self.calls if self._is_own(item) else self.client_calls).append(call)

    def _take_usage(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        self.cost = _openai_cost(usage, "input_tokens", "output_tokens") or self.cost

    def said(self) -> list[Json]:
        """Return what is told to the model, together with the answers, of what it said.

        Without ids: the client sends some of it again, and an id may be there once.
        """
        own = [item for item in self.items if not self.client_calls or self._is_own(item)]
        return [{key: value for key, value in item.items() if key not in ("id", "status")} for item in own]

    def _whole(self, value: Json) -> None:
        self._last = value
        for item in value["output"]:
            self._take(item)
        self._take_usage(value.get("usage"))
        self._has_ended = value.get("status", "completed") == "completed"

    @property
    def changes_whole(self) -> bytes | None:
        """Return the body that the client gets; `None`: the one that came."""
        if not (self.calls or self.rounds):
            return None
        return encoded({**self._last, "output": self._visible})

    def closing(self, error: str = "") -> bytes:
        """Return events that end a stream whose last round did not come."""
        response = {key: value for key, value in (self._last.get("response") or {}).items() if key != "output"}
        response |= {"id": self._id} if self._id else {}
        if error:
            failed = {**response, "status": "failed", "error": {"code": "server_error", "message": error}}
            return _named({"type": "response.failed", "response": failed})
        return _named({"type": "response.completed", "response": {**response, "output": list(self._visible)}})


READERS: Mapping[str, type[AnswerReader]] = {
    "anthropic": _AnthropicAnswer,
    "openai": _ChatAnswer,
    "responses": _ResponsesAnswer,
}
"""The readers, by shape."""


def _openai_cost(usage: Json, asked: str, answered: str) -> CallCost | None:
    """Return what a usage of OpenAI's says: what was cached is among the tokens of the request."""
    prompt, output, details = usage.get(asked), usage.get(answered), usage.get(f"{asked}_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    cached = cached if isinstance(cached, int) else 0
    if not isinstance(prompt, int) or not isinstance(output, int):
        return None
    return CallCost(cached, 0, prompt - cached, output)


def _object(text: str) -> Json:
    try:
        read: Any = msgspec.json.decode(text) if text else {}
    except msgspec.DecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def _sse(data: Json) -> bytes:
    return b"data: " + encoded(data) + b"\n\n"


def _named(data: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(data["type"]).encode(), encoded(data))
