"""A call in one of three shapes: what it says, and where in its bytes the HUD goes. Pure.

Chat completions and responses of OpenAI, messages of Anthropic. A call is read once; what is put into it are bytes
between the client's (`body_spans`). One rule has to hold for the provider's cache: what stands somewhere in one call
stands there with the same bytes in each later one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from threading import Lock
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec.structs import replace

from hudkit.hosts.gateway.body_spans import (
    BodyUnknown,
    Span,
    Splice,
    array_spans,
    encoded,
    object_spans,
    read_value,
    spliced,
)
from hudkit.hosts.host_session import HostMessage, Injection
from hudkit.ingest.first_seen import entry_key
from hudkit.ingest.host_tools import is_own_tool, neutral_call
from hudkit.ingest.tool_calls import neutral_part
from hudkit.models.captured_request import RequestPiece, request_kind
from hudkit.transcripts import Message, Part, ReasoningPart, TextPart, ToolPart
from hudkit.transcripts.claude_code import is_hosts_text

Json = dict[str, Any]

_MEDIA_CHARS = 3_000
"""Characters that an image or a file in a message is taken for."""

_HOSTS_TEXTS = (
    "<system-reminder>",
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<skills_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
)
"""How texts of a host in the user's name begin."""

_SUMMARY_BEGINS = (
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
)
"""How the first message of a conversation begins that its host has compacted: Claude Code 2.1, Codex 0.169."""

_SIDE_CALLS: Mapping[str, tuple[str, ...]] = {
    "title": ("You are a title generator", "Generate a concise", "Summarize this coding conversation in under 50"),
    "compaction": (
        "context summarization agent",
        "about to lose the older part of your own conversation",
        "You are a helpful AI assistant tasked with summarizing conversations",
    ),
}
"""What the system texts of calls say that are no step of an agent."""


class WireCall(NamedTuple):
    """A tool call in a message: its arguments as they stand there, and read."""

    id: str
    name: str
    arguments: Json
    text: str


class _WireResult(NamedTuple):
    """The result of a call; `plain`: nothing but text."""

    id: str
    text: str
    failed: bool = False
    plain: bool = True


class _WireItem(NamedTuple):
    """One message or item of a call, the same for all shapes."""

    role: str
    """`system`, `user` or `assistant`."""
    texts: tuple[str, ...] = ()
    reasoning: str = ""
    calls: tuple[WireCall, ...] = ()
    results: tuple[_WireResult, ...] = ()
    others: tuple[Any, ...] = ()
    """Parts that are no text, as values."""
    size: int = 0


class _EntryPlace(NamedTuple):
    """A message as it is ingested, and the last of the items that it was read from."""

    entry: HostMessage
    item: int


class _Reading(NamedTuple):
    """What was read of a call's list of messages, from which the reading of the next call goes on."""

    raw: bytes
    spans: Sequence[Span]
    """Of its items, in these bytes."""
    items: Sequence[_WireItem]
    entries: Sequence[_EntryPlace]
    """All that they say, an answer that is begun at the end, too."""
    names: Sequence[str]
    """Digests of what each entry is known by."""

    def shared_items(self, raw: bytes) -> int:
        """Return how many of the items another list begins with, byte for byte."""
        low, high = 0, len(self.spans)
        while low < high:  # if it begins with n of them, it begins with fewer
            middle = (low + high + 1) // 2
            if raw.startswith(self.raw[: self.spans[middle - 1].end]):
                low = middle
            else:
                high = middle - 1
        return low


class _RecentReadings:
    """The readings of the newest calls, as far as they fit. Safe for several threads.

    Each call of a conversation begins with the call before it: only what is new of it is read. A list is found by its
    beginning, which other conversations may have, too.
    """

    _PER_KEY = 8

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._readings: dict[Any, list[_Reading]] = {}
        self._lock = Lock()

    def longest(self, key: object, raw: bytes) -> tuple[_Reading | None, int]:
        """Return the reading whose items a list shares most of, from its beginning, and how many these are."""
        with self._lock:
            readings = tuple(self._readings.get(key, ()))
        shared = [(reading.shared_items(raw), place) for place, reading in enumerate(readings)]
        count, place = max(shared, default=(0, 0))
        return (readings[place], count) if count else (None, 0)

    def put(self, key: object, reading: _Reading, before: _Reading | None) -> None:
        """Hold a reading, in place of the one `before`, and let go of the oldest where it is too much."""
        with self._lock:
            others = [each for each in self._readings.pop(key, ()) if each is not before]
            self._readings[key] = [*others[1 - self._PER_KEY :], reading]
            self._size = sum(len(each.raw) for readings in self._readings.values() for each in readings)
            while self._size > self._most and len(self._readings) > 1:
                self._size -= sum(len(each.raw) for each in self._readings.pop(next(iter(self._readings))))


_RECENT = _RecentReadings(48 * 1024 * 1024)


class ProviderCall(ABC):
    """A call's body. Constructing one raises `BodyUnknown` where it is none of the shape."""

    shape: ClassVar[str]
    items_key: ClassVar[str] = "messages"

    def __init__(self, body: bytes, client: str = "") -> None:
        """`client` is the host whose tools these are, as `neutral_call` knows it."""
        self.body = body
        self._client = client
        start = body.find(b"{")
        end = body.rfind(b"}") + 1
        self._whole = Span(start, end)
        if start < 0 or body[:start].strip() or body[end:].strip():
            raise BodyUnknown
        self._fields = object_spans(body, self._whole)
        place = self._fields.get(self.items_key)
        if place is None:
            raise BodyUnknown
        self._place = place
        self._before: _Reading | None = None
        self._shared = 0
        self._spans: list[Span] = []
        self.items: list[_WireItem] = []
        if body[place.start : place.start + 1] == b"[":
            self._read_items(place)

    def _read_items(self, place: Span) -> None:
        """Read the items of the list: those that the call before had are not read again."""
        self._raw = self.body[place.start : place.end]
        self._key = (self.shape, self._client, self._raw[:512])
        self._before, self._shared = _RECENT.longest(self._key, self._raw)
        if self._before is not None:
            spans = self._before.spans[: self._shared]
            self._spans = [Span(start + place.start, end + place.start) for start, end in spans]
            self.items = list(self._before.items[: self._shared])
        self._spans += array_spans(self.body, place, self._spans)
        try:
            self.items += [self._item(read_value(self.body, span)) for span in self._spans[self._shared :]]
        except (KeyError, TypeError, AttributeError, ValueError):
            raise BodyUnknown from None

    def field(self, name: str) -> Any:
        """Return a field of the body; `None` where it is not there."""
        span = self._fields.get(name)
        return None if span is None else read_value(self.body, span)

    @property
    def model(self) -> str:
        """Return the model's name."""
        model = self.field("model")
        return model if isinstance(model, str) else ""

    @cached_property
    def tools(self) -> list[Json]:
        """Return the tools that the call offers."""
        tools = self.field("tools")
        return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []

    @cached_property
    def tool_names(self) -> tuple[str, ...]:
        """Return the names of the tools that the call offers."""
        return tuple(_tool_names(self.tools))

    @property
    def tools_size(self) -> int:
        """Return the characters of the tools' definitions."""
        span = self._fields.get("tools")
        return 0 if span is None else span.end - span.start

    @property
    @abstractmethod
    def system_texts(self) -> tuple[str, ...]:
        """Return the texts of the system prompt."""

    @property
    def why_untouched(self) -> str:
        """Return why the call is no step of an agent that could use a HUD; empty where it is one."""
        if not self.tool_names:
            return "it offers no tools"
        if any(is_own_tool(name) for name in self.tool_names):
            return "its client has a HUD of its own"
        if self.field("tool_choice") in ("none", {"type": "none"}):
            return "it lets the model call no tool"
        if (self.field("n") or 1) != 1:
            return "it wants several answers"
        kind = self._kind()
        if kind != "chat":
            return f"it asks for a {kind}"
        return "" if self.entries else "it says nothing"

    def _kind(self) -> str:
        pieces = [RequestPiece("system", text) for text in self.system_texts]
        last = next((item.texts[-1] for item in reversed(self.items) if item.role == "user" and item.texts), "")
        return request_kind([*pieces, RequestPiece("user", last)], _SIDE_CALLS)

    @property
    def begins_with_summary(self) -> bool:
        """Return whether the conversation goes on from a summary of its host."""
        first = next((item for item in self.items if item.role == "user"), None)
        return first is not None and any(text.startswith(_SUMMARY_BEGINS) for text in first.texts)

    @property
    def prompt(self) -> str:
        """Return what the conversation begins with: the user's words, or those of whoever started a sub-agent."""
        texts = (text for item in self.items if item.role == "user" for text in item.texts)
        return next((text.strip() for text in texts if not _is_synthetic(text)), "")

    # -- what it says ------------------------------------------------------------------------------------------

    @cached_property
    def entries(self) -> list[_EntryPlace]:
        """Return the messages up to the last one that is the client's: an answer that is begun is left out."""
        before, out, names = self._before, list[_EntryPlace](), list[str]()
        if before is not None:
            # Where one ends is told by the item behind it: those before the last shared item are as they were.
            count = bisect_left(before.entries, self._shared - 1, key=attrgetter("item"))
            out, names = list(before.entries[:count]), list(before.names[:count])
        seen = Counter(names)
        for kind, members in self._groups(out[-1].item + 1 if out else 0):
            # A prompt alone in an item of its own, or behind the results in one.
            items = [self.items[index] for index in members]
            words = "\0".join((kind, *_identity(kind, items)))
            name = entry_key(words)
            key = entry_key(words, str(seen[name]))
            seen[name] += 1
            names.append(name)
            entry = self._said(key, items[0]) if kind == "said" else self._response(key, items)
            out.append(_EntryPlace(entry, members[-1]))
        if self._spans:
            spans = [Span(start - self._place.start, end - self._place.start) for start, end in self._spans]
            _RECENT.put(self._key, _Reading(self._raw, spans, self.items, tuple(out), names), before)
        while out and out[-1].entry.role == "assistant":
            out.pop()
        return out

    def _groups(self, start: int) -> Iterator[tuple[str, list[int]]]:
        """Yield what was said, and responses with the results of their calls, by the places of their items, from an
        item on."""
        response: list[int] = []
        leading = not start
        for index, item in enumerate(self.items[start:], start):
            if leading and item.role == "system":
                continue
            leading = False
            if item.role == "assistant":
                if response and self.items[response[-1]].results:
                    yield "response", response
                    response = []
                response.append(index)
                continue
            if item.results:
                response.append(index)
            if item.texts or item.others or not item.results:
                if response:
                    yield "response", response
                    response = []
                yield "said", [index]
        if response:
            yield "response", response

    def _said(self, key: str, item: _WireItem) -> HostMessage:
        if any(text.startswith(_SUMMARY_BEGINS) for text in item.texts):
            texts = tuple(TextPart(f"{key}:{n}", text) for n, text in enumerate(item.texts))
            summary = Message(key, "", "assistant", finish="stop", summary=True, parts=texts)
            return HostMessage(key, summary, "user", item.size)
        parts = tuple(
            TextPart(f"{key}:{n}", text, synthetic=item.role == "system" or _is_synthetic(text))
            for n, text in enumerate(item.texts)
        )
        return HostMessage(key, Message(key, "", "user", parts=parts), "user", item.size)

    def _response(self, key: str, items: Sequence[_WireItem]) -> HostMessage:
        results = {result.id: result for item in items for result in item.results}
        calls = [call for item in items for call in item.calls]
        parts: list[Part] = []
        for n, item in enumerate(items):
            if item.role != "assistant":
                continue
            parts += [ReasoningPart(f"{key}:{n}r", item.reasoning)] if item.reasoning else []
            parts += [TextPart(f"{key}:{n}.{place}", text) for place, text in enumerate(item.texts)]
        parts += [self._tool_part(f"{key}:c{n}", call, results.get(call.id)) for n, call in enumerate(calls)]
        message = Message(key, "", "assistant", finish="tool-calls" if calls else "stop", parts=tuple(parts))
        media = frozenset(result.id for result in results.values() if not result.plain)
        size = sum(item.size for item in items)
        return HostMessage(key, message, "tool" if items[-1].results else "assistant", size, media)

    def _tool_part(self, id: str, call: WireCall, result: _WireResult | None) -> ToolPart:
        if result is None:
            return ToolPart(id, call.name, call.id, "running", call.arguments)
        failed = result.failed
        part = ToolPart(
            id,
            call.name,
            call.id,
            "error" if failed else "completed",
            call.arguments,
            "" if failed else result.text,
            result.text if failed else "",
        )
        return neutral_part(neutral_call(self._client, part))

    # -- where the HUD goes ------------------------------------------------------------------------------------

    def with_hud(
        self, injection: Injection, rounds: Mapping[str, Sequence[bytes]], tools: Sequence[Mapping[str, Any]]
    ) -> bytes:
        """Return the body with the HUD in it.

        `rounds` are items that were exchanged with the model behind an entry, by its key, and `tools` what it is
        offered beside the client's.
        """
        splices = self._tools_splices(tools) if tools else []
        if injection.base:
            splices += self._base_splices(injection.base)
        texts: dict[int, list[str]] = {}
        for index, blocks in injection.behind.items():
            texts.setdefault(self.entries[index].item, []).extend(blocks)
        tail_item = self.entries[-1].item if injection.tail else -1
        for item in {*texts, tail_item} - {-1}:
            splices += self._layers_at(item, texts.get(item, ()), injection.tail if item == tail_item else "")
        for place in self.entries:
            for exchanged in rounds.get(place.entry.key, ()):
                splices.append(Splice(self._spans[place.item].end, b"," + exchanged))
        return spliced(self.body, splices)

    @abstractmethod
    def _item(self, value: Json) -> _WireItem: ...

    @abstractmethod
    def _base_splices(self, base: str) -> list[Splice]: ...

    @abstractmethod
    def _behind(self, item: int, texts: Sequence[str]) -> list[Splice]: ...

    def _layers_at(self, item: int, blocks: Sequence[str], tail: str) -> list[Splice]:
        """Put blocks, which stay, and a tail, which is gone in the next call (empty: none), where an item stands."""
        return self._behind(item, [*blocks, tail] if tail else blocks)

    @staticmethod
    @abstractmethod
    def tool_definition(definition: Mapping[str, Any]) -> Json:
        """Return a tool of ours as the shape has it."""

    @abstractmethod
    def answered_call(
        self, raw_response: Sequence[Json], calls: Sequence[WireCall], answers: Sequence[str]
    ) -> list[bytes]:
        """Return the items by which a model's calls and their answers are told to it."""

    def _tools_splices(self, tools: Sequence[Mapping[str, Any]]) -> list[Splice]:
        definitions = b",".join(encoded(self.tool_definition(tool)) for tool in tools)
        span = self._fields.get("tools")
        if span is not None and self.tools:
            return [Splice(span.end - 1, b"," + definitions)]
        if span is not None:
            raise BodyUnknown
        return [Splice(self._whole.end - 1, b',"tools":[%b]' % definitions)]

    def _in_text(self, span: Span, text: str) -> Splice:
        """Put a text at the end of another one."""
        return Splice(span.end - 1, encoded(text)[1:-1])

    def _in_list(self, span: Span, parts: Sequence[Json]) -> Splice:
        """Put parts at the end of a list."""
        empty = not self.body[span.start + 1 : span.end - 1].strip()
        data = b",".join(map(encoded, parts))
        return Splice(span.end - 1, data if empty else b"," + data)

    def _message_behind(self, item: int, message: Json) -> Splice:
        return Splice(self._spans[item].end, b"," + encoded(message))

    def _content(self, item: int, key: str = "content") -> tuple[Span | None, bytes]:
        """Return where the content of an item stands, and its first byte."""
        span = object_spans(self.body, self._spans[item]).get(key)
        return (None, b"") if span is None else (span, self.body[span.start : span.start + 1])


class _AnthropicCall(ProviderCall):
    """Messages of Anthropic."""

    shape = "anthropic"

    @cached_property
    def system_texts(self) -> tuple[str, ...]:
        """Return the texts of the system prompt."""
        return tuple(_texts(self.field("system")))

    def _item(self, value: Json) -> _WireItem:
        content = value.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
        kinds: dict[str, list[Json]] = {}
        for block in blocks:
            kinds.setdefault(str(block.get("type")), []).append(block)
        calls = [_wire_call(block["id"], block["name"], block.get("input")) for block in kinds.pop("tool_use", ())]
        results = [_anthropic_result(block) for block in kinds.pop("tool_result", ())]
        own_texts = [block["text"] for block in kinds.pop("text", ())]
        thoughts = [str(block.get("thinking", "")) for block in kinds.pop("thinking", ())]
        others = [block for kind in kinds.values() for block in kind]
        return _sized(_WireItem(
            str(value["role"]), tuple(own_texts), "\n".join(thoughts), tuple(calls), tuple(results), tuple(others)
        ))  # fmt: skip

    def _base_splices(self, base: str) -> list[Splice]:
        block = {"type": "text", "text": base}
        span = self._fields.get("system")
        if span is None:
            return [Splice(self._whole.end - 1, b',"system":[%b]' % encoded(block))]
        if self.body[span.start : span.start + 1] == b"[":
            return [self._in_list(span, [block])]
        return self._as_list(span, [block])

    def _behind(self, item: int, texts: Sequence[str]) -> list[Splice]:
        return self._around(item, (), texts)

    def _layers_at(self, item: int, blocks: Sequence[str], tail: str) -> list[Splice]:
        """Put blocks, which stay, and a tail, which is gone in the next call (empty: none), where an item stands.

        Clients mark the end of a message for the cache, and what is behind the mark is processed at full price, and
        once more when the next call writes it to the cache. So blocks stand in front of a prompt. Results have to be
        first in their message: there, blocks are the end of the last one.
        """
        own, tails = self.items[item], [tail] if tail else []
        if own.role == "user" and not own.results:
            return self._around(item, blocks, tails)
        result = self._last_result(item) if blocks else None
        if result is None:
            return self._around(item, (), [*blocks, *tails])
        span, first = result
        if first == b'"':
            inside = self._in_text(span, "".join("\n" + block for block in blocks))
        else:
            inside = self._in_list(span, [{"type": "text", "text": block} for block in blocks])
        return [inside, *(self._around(item, (), tails) if tails else ())]

    def _last_result(self, item: int) -> tuple[Span, bytes] | None:
        """Return where the content of a message's last block stands, and its first byte, where that is a result."""
        span, first = self._content(item)
        blocks = array_spans(self.body, span) if span is not None and first == b"[" else []
        last = object_spans(self.body, blocks[-1]) if blocks else {}
        kind, content = last.get("type"), last.get("content")
        if kind is None or content is None or read_value(self.body, kind) != "tool_result":
            return None
        first = self.body[content.start : content.start + 1]
        return (content, first) if first in (b'"', b"[") else None

    def _around(self, item: int, before: Sequence[str], behind: Sequence[str]) -> list[Splice]:
        """Put texts as blocks in front of a message's own ones and behind them."""
        first_blocks, last_blocks = ([{"type": "text", "text": text} for text in texts] for texts in (before, behind))
        if self.items[item].role == "assistant":
            return [self._message_behind(item, {"role": "user", "content": [*first_blocks, *last_blocks]})]
        span, first = self._content(item)
        if span is None:
            raise BodyUnknown
        if first != b"[":
            return self._as_list(span, last_blocks, first_blocks)
        if not self.body[span.start + 1 : span.end - 1].strip():
            return [self._in_list(span, [*first_blocks, *last_blocks])]
        front = [Splice(span.start + 1, b"".join(encoded(block) + b"," for block in first_blocks))]
        return [*(front if first_blocks else ()), *([self._in_list(span, last_blocks)] if last_blocks else ())]

    def _as_list(self, span: Span, behind: Sequence[Json], before: Sequence[Json] = ()) -> list[Splice]:
        """Make a list of blocks of a text, and put blocks behind it and in front of it.

        A client that marks a message for the cache writes it as a list in one call and as a text in the next. So ours
        stand in blocks of their own in both.
        """
        if self.body[span.start : span.start + 1] != b'"':
            raise BodyUnknown
        front = b"".join(encoded(block) + b"," for block in before)
        end = b"".join(b"," + encoded(block) for block in behind)
        return [Splice(span.start, b"[" + front + b'{"type":"text","text":'), Splice(span.end, b"}" + end + b"]")]

    @staticmethod
    def tool_definition(definition: Mapping[str, Any]) -> Json:
        """Return a tool of ours as the shape has it."""
        return {
            "name": definition["name"],
            "description": definition["description"],
            "input_schema": _told_only(definition["parameters"]),
        }

    def answered_call(
        self, raw_response: Sequence[Json], calls: Sequence[WireCall], answers: Sequence[str]
    ) -> list[bytes]:
        """Return the items by which a model's calls and their answers are told to it."""
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": answer}
            for call, answer in zip(calls, answers, strict=True)
        ]
        return [
            encoded({"role": "assistant", "content": list(raw_response)}),
            encoded({"role": "user", "content": results}),
        ]


class _ChatCall(ProviderCall):
    """Chat completions of OpenAI, and of all that speak like it."""

    shape = "openai"

    @cached_property
    def system_texts(self) -> tuple[str, ...]:
        """Return the texts of the system prompt."""
        return tuple(text for item in self.items if item.role == "system" for text in item.texts)

    def _item(self, value: Json) -> _WireItem:
        role = str(value["role"])
        content = value.get("content")
        texts, others = tuple(filter(None, _texts(content))), tuple(_others(content))
        if role in ("tool", "function"):
            id = str(value.get("tool_call_id") or value.get("name") or "")
            return _sized(_WireItem("user", results=(_WireResult(id, "\n".join(texts), plain=not others),)))
        if role == "assistant":
            calls = tuple(
                _wire_call(call.get("id", ""), call["function"]["name"], call["function"].get("arguments"))
                for call in value.get("tool_calls") or ()
                if "function" in call
            )
            reasoning = str(value.get("reasoning_content") or value.get("reasoning") or "")
            return _sized(_WireItem(role, texts, reasoning, calls, others=others))
        role = "system" if role in ("system", "developer") else "user"
        return _sized(_WireItem(role, texts, others=others))

    def _base_splices(self, base: str) -> list[Splice]:
        leading = _leading_systems(self.items)
        if not leading:
            return [Splice(self._place.start + 1, encoded({"role": "system", "content": base}) + b",")]
        return self._behind(leading - 1, [base])

    def _behind(self, item: int, texts: Sequence[str]) -> list[Splice]:
        span, first = self._content(item)
        if self.items[item].role == "assistant" or span is None or first not in (b'"', b"["):
            return [self._message_behind(item, {"role": "user", "content": "\n\n".join(texts)})]
        if first == b'"':
            gap = "\n" if self.items[item].results else "\n\n"
            return [self._in_text(span, "".join(gap + text for text in texts))]
        return [self._in_list(span, [{"type": "text", "text": text} for text in texts])]

    @staticmethod
    def tool_definition(definition: Mapping[str, Any]) -> Json:
        """Return a tool of ours as the shape has it."""
        return {"type": "function", "function": dict(definition)}

    def answered_call(
        self, raw_response: Sequence[Json], calls: Sequence[WireCall], answers: Sequence[str]
    ) -> list[bytes]:
        """Return the items by which a model's calls and their answers are told to it."""
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": answer}
            for call, answer in zip(calls, answers, strict=True)
        ]
        return [*map(encoded, raw_response), *map(encoded, results)]


class _ResponsesCall(ProviderCall):
    """Responses of OpenAI, with the whole conversation in each call."""

    shape = "responses"
    items_key = "input"

    _CALLS: ClassVar[Mapping[str, str]] = {"function_call": "arguments", "custom_tool_call": "input"}

    def __init__(self, body: bytes, client: str = "") -> None:
        super().__init__(body, client)
        if not self._spans:
            text = read_value(body, self._place)
            if not isinstance(text, str):
                raise BodyUnknown
            self.items = [_sized(_WireItem("user", (text,)))]

    @property
    def why_untouched(self) -> str:
        """Return why the call is no step of an agent that could use a HUD; empty where it is one."""
        if self.field("previous_response_id") or self.field("conversation"):
            return "the provider keeps its conversation"
        if self.field("store") is not False:
            # A later call could go on from the kept answer by its id, with a call of our tool in it.
            return "the provider keeps its answer"
        return super().why_untouched

    @cached_property
    def tool_names(self) -> tuple[str, ...]:
        """Return the names of the tools that the call offers, those among its items too."""
        added = [
            tool
            for item in self.items
            if item.role == "system"
            for value in item.others
            if isinstance(value, dict) and value.get("type") == "additional_tools"
            for tool in value.get("tools") or ()
        ]
        return tuple(_tool_names([*self.tools, *added]))

    @cached_property
    def system_texts(self) -> tuple[str, ...]:
        """Return the texts of the system prompt."""
        instructions = self.field("instructions")
        own = (instructions,) if isinstance(instructions, str) and instructions else ()
        return (*own, *(text for item in self.items if item.role == "system" for text in item.texts))

    def _item(self, value: Json) -> _WireItem:
        kind = str(value.get("type", "message"))
        if kind == "message":
            role = str(value["role"])
            role = "system" if role in ("system", "developer") else role
            content = value.get("content")
            return _sized(_WireItem(role, tuple(_texts(content)), others=tuple(_others(content))))
        if kind in self._CALLS:
            call = _wire_call(value.get("call_id", ""), value["name"], value.get(self._CALLS[kind]))
            return _sized(_WireItem("assistant", calls=(call,)))
        if kind == "local_shell_call":
            action = value.get("action") or {}
            arguments = {"command": action.get("command"), "workdir": action.get("working_directory")}
            return _sized(_WireItem("assistant", calls=(WireCall(str(value.get("call_id", "")), "local_shell",
                                                                 arguments, str(action)),)))  # fmt: skip
        if kind.endswith("_output"):
            output = value.get("output")
            others = list(_others(output))
            result = _WireResult(str(value.get("call_id", "")), "\n".join(_texts(output)), plain=not others)
            return _sized(_WireItem("user", results=(result,)))
        if kind == "reasoning":
            return _sized(_WireItem("assistant", reasoning="\n".join(_texts(value.get("summary")))))
        if kind == "additional_tools":
            return _WireItem("system", others=(value,))
        return _sized(_WireItem("assistant", others=(value,)))

    def _base_splices(self, base: str) -> list[Splice]:
        span = self._fields.get("instructions")
        if span is not None and self.body[span.start : span.start + 1] == b'"' and self.field("instructions"):
            return [self._in_text(span, "\n\n" + base)]
        leading = _leading_systems(self.items)
        prompts = [n for n in range(leading) if self.items[n].texts]
        if prompts:
            return self._behind(prompts[-1], [base])
        message = _input_message("developer", [base])
        return [Splice(self._place.start + 1, encoded(message) + b",")]

    def with_hud(
        self, injection: Injection, rounds: Mapping[str, Sequence[bytes]], tools: Sequence[Mapping[str, Any]]
    ) -> bytes:
        """Return the body with the HUD in it."""
        if self._spans:
            return super().with_hud(injection, rounds, tools)
        exchanged = [item for place in self.entries for item in rounds.get(place.entry.key, ())]
        texts = [*injection.behind.get(0, ()), *([injection.tail] if injection.tail else [])]
        begin = b"["
        splices = self._tools_splices(tools) if tools else []
        if injection.base and self.field("instructions"):
            splices += self._base_splices(injection.base)
        elif injection.base:
            begin += encoded(_input_message("developer", [injection.base])) + b","
        begin += b'{"type":"message","role":"user","content":[{"type":"input_text","text":'
        parts = b"".join(b"," + encoded(_input_text(text)) for text in texts)
        end = b"}" + parts + b"]}" + b"".join(b"," + item for item in exchanged) + b"]"
        splices += [Splice(self._place.start, begin), Splice(self._place.end, end)]
        return spliced(self.body, splices)

    def _behind(self, item: int, texts: Sequence[str]) -> list[Splice]:
        own = self.items[item]
        key = "output" if own.results else "content"
        span, first = (None, b"") if own.role == "assistant" else self._content(item, key)
        if span is None or first not in (b'"', b"["):
            return [self._message_behind(item, _input_message("user", texts))]
        if first == b'"':
            gap = "\n" if own.results else "\n\n"
            return [self._in_text(span, "".join(gap + text for text in texts))]
        return [self._in_list(span, [_input_text(text) for text in texts])]

    @staticmethod
    def tool_definition(definition: Mapping[str, Any]) -> Json:
        """Return a tool of ours as the shape has it."""
        return {"type": "function", **_told_only(definition), "strict": False}

    def answered_call(
        self, raw_response: Sequence[Json], calls: Sequence[WireCall], answers: Sequence[str]
    ) -> list[bytes]:
        """Return the items by which a model's calls and their answers are told to it."""
        results = [
            {"type": "function_call_output", "call_id": call.id, "output": answer}
            for call, answer in zip(calls, answers, strict=True)
        ]
        return [*map(encoded, raw_response), *map(encoded, results)]


SHAPES: Mapping[str, type[ProviderCall]] = {
    "/chat/completions": _ChatCall,
    "/responses": _ResponsesCall,
    "/messages": _AnthropicCall,
}
"""The shapes, by how the path of a call ends."""


# -- inside ----------------------------------------------------------------------------------------------------


def _tool_names(tools: Iterable[Any]) -> Iterator[str]:
    for tool in tools:
        if not isinstance(tool, dict):
            continue
        if tool.get("type") == "namespace":
            yield from _tool_names(tool.get("tools") or ())
            continue
        function = tool.get("function")
        name = (function if isinstance(function, dict) else tool).get("name") or tool.get("type")
        if name:
            yield str(name)


def _told_only(value: Any) -> Any:
    """Return a definition without its empty descriptions: only chat templates, and so chat completions, need them."""
    if not isinstance(value, Mapping):
        return value
    return {key: _told_only(each) for key, each in value.items() if (key, each) != ("description", "")}


def _wire_call(id: object, name: object, arguments: object) -> WireCall:
    text = arguments if isinstance(arguments, str) else encoded(arguments or {}).decode()
    return WireCall(str(id or ""), str(name), _arguments(arguments), text)


def _arguments(arguments: object) -> Json:
    """Return a call's arguments; a text that is no object is the input of a custom tool."""
    if isinstance(arguments, str):
        try:
            read = msgspec.json.decode(arguments) if arguments else {}
        except msgspec.DecodeError:
            read = {"input": arguments}
        return read if isinstance(read, dict) else {"input": arguments}
    return arguments if isinstance(arguments, dict) else {}


def _anthropic_result(block: Json) -> _WireResult:
    content = block.get("content")
    plain = not list(_others(content))
    return _WireResult(
        str(block.get("tool_use_id", "")), "\n".join(_texts(content)), block.get("is_error") is True, plain
    )


def _texts(content: object) -> Iterator[str]:
    """Yield the texts of a content, which is a text or a list of parts."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]


def _others(content: object) -> Iterator[Any]:
    """Yield the parts of a content that are no text."""
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict) or not isinstance(part.get("text"), str):
            yield part


def _sized(item: _WireItem) -> _WireItem:
    """Return an item with its characters as far as a model reads them."""
    size = sum(map(len, item.texts)) + sum(len(call.name) + len(call.text) for call in item.calls)
    size += sum(len(result.text) for result in item.results) + len(item.others) * _MEDIA_CHARS
    return item._replace(size=size)


def _identity(kind: str, items: Sequence[_WireItem]) -> list[str]:
    """Return what a message is known by: its calls, else what it says. Marks for the cache are no part of it."""
    calls = [f"{call.id} {call.name} {call.text}" for item in items for call in item.calls]
    if kind == "response" and calls:
        return calls[:1]
    words = [text for item in items for text in item.texts]
    words += [_canonical(part) for item in items for part in item.others]
    return words or [item.reasoning for item in items]


def _canonical(part: object) -> str:
    if isinstance(part, dict):
        part = {key: value for key, value in part.items() if key != "cache_control"}
    return msgspec.json.encode(part, order="sorted").decode()


def _is_synthetic(text: str) -> bool:
    return text.lstrip().startswith(_HOSTS_TEXTS) or is_hosts_text(text)


def _leading_systems(items: Sequence[_WireItem]) -> int:
    """Return how many messages of the system stand before all others."""
    return next((n for n, item in enumerate(items) if item.role != "system"), len(items))


def _input_text(text: str) -> Json:
    return {"type": "input_text", "text": text}


def _input_message(role: str, texts: Sequence[str]) -> Json:
    return {"type": "message", "role": role, "content": [_input_text(text) for text in texts]}


def dated(place: _EntryPlace, created: int) -> HostMessage:
    """Return an entry with the time at which it was first seen, in Unix ms."""
    return place.entry._replace(message=replace(place.entry.message, created=created))
