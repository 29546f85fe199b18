"""The model calls of a session's file, one after the other, without what was said: usage, model, time, and the shape
of each request where the host records it.

Only the fields that are needed are decoded, so that a history of gigabytes is read in seconds, and nothing is held
but the last call. Claude Code writes three kinds of records about a request (since 2.1.3):

    api-request-shape  {shapeHash, shape: {system: […], tools: […]}}       once for each shape
    api-request-blob   {hash, message}                                     once for each message of the user's side
    api-request        {id, shapeHash, params, base, keep, tail}           each request

The messages of a request are the first `keep` of those of the request `base`, then `tail`, all by their hashes. So it
is known which part of a request was not in the one before, long after it was sent. Codex records usage only.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from hudkit.lazy import blake2b
from hudkit.transcripts import claude_code, codex, pi
from hudkit.transcripts.json_fields import number_field
from hudkit.transcripts.jsonl_transcript import MAX_LINE_BYTES, open_regular, parse_timestamp
from hudkit.transcripts.transcript import ReportedUsage

_MAX_REQUESTS = 32
"""Requests that are remembered: a later one names its base among them."""

_MAX_KINDS = 100
"""Kinds of unknown records that are counted apart."""


class SizedPart(msgspec.Struct, frozen=True):
    """A tool or a block of the system prompt: what tells it from another one, and its bytes."""

    name: str
    digest: str
    size: int


class RequestShape(msgspec.Struct, frozen=True):
    """What a request began with, and its messages by their hashes; `sizes` has bytes where they are known.

    `settings` is a digest of the parameters but for the model; `source` says what the request was for.
    """

    source: str
    system: tuple[SizedPart, ...]
    tools: tuple[SizedPart, ...]
    messages: tuple[str, ...]
    settings: str
    sizes: dict[str, int] = {}

    @property
    def front_size(self) -> int:
        """Return the bytes in front of the messages."""
        return sum(part.size for part in (*self.system, *self.tools))


class TranscriptCall(msgspec.Struct, frozen=True):
    """One response: when it came (Unix ms), its model, its tokens, and how many compactions came before it.

    `hour_tokens` are those of the tokens written to the cache that are kept for an hour; `ttl_ms` how long the cache
    keeps what it was given (`None`: not told). `summary`: it wrote the summary of a compaction.
    """

    time: int
    model: str
    usage: ReportedUsage
    compactions: int = 0
    hour_tokens: int = 0
    ttl_ms: int | None = None
    request: RequestShape | None = None
    summary: bool = False


class ReadCounts(msgspec.Struct):
    """What was found in a file: lines, and those of them that were passed over.

    `broken` are no JSON objects, `half_written` is the last line where it is not whole, `unknown` are records of
    kinds that this version does not know, by kind.
    """

    lines: int = 0
    bytes: int = 0
    broken: int = 0
    half_written: int = 0
    unknown: Counter[str] = msgspec.field(default_factory=Counter)


class CallReader:
    """Reads the calls of one file; what else was found stands in the attributes when they were read.

    `compactions` counts them, `prompts` what the user said, `host_usd` is what the host itself says that the session
    cost (`None`: it does not say), `first` and `last` are the times of the first and last record (Unix ms).
    """

    def __init__(self, host: str, path: Path) -> None:
        self.path = path
        self.counts = ReadCounts()
        self.compactions = self.prompts = 0
        self.first = self.last = 0
        self.host_usd: float | None = None
        self.window: int | None = None
        self._scan = _SCANS.get(host, _ClaudeScan)(self)

    def calls(self) -> Iterator[TranscriptCall]:
        """Yield the calls in order. Raises `OSError` where the file cannot be read."""
        with open_regular(self.path) as file:
            for line in _lines(file, self.counts):
                call = self._scan.take(line)
                if call is not None:
                    yield call
        call = self._scan.end()
        if call is not None:
            yield call

    def at(self, timestamp: object) -> int:
        """Note the time of a record and return it (Unix ms)."""
        time = parse_timestamp(timestamp)
        if time:
            self.first, self.last = self.first or time, time
        return time

    def pass_over(self, kind: str) -> None:
        """Count a record of a kind that is not known."""
        if kind in self.counts.unknown or len(self.counts.unknown) < _MAX_KINDS:
            self.counts.unknown[kind[:100]] += 1


def _lines(file: BinaryIO, counts: ReadCounts) -> Iterator[bytes]:
    while line := file.readline(MAX_LINE_BYTES):
        counts.bytes += len(line)
        if line.endswith(b"\n"):
            if not line.isspace():
                counts.lines += 1
                yield line
            continue
        counts.lines += 1
        if len(line) < MAX_LINE_BYTES:
            # The last line: whole without its end, or still being written.
            if _is_object(line):
                yield line
            else:
                counts.half_written += 1
            return
        while line and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES)
            counts.bytes += len(line)
        counts.broken += 1


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


_NO_RAW = msgspec.Raw()
_Decoded = TypeVar("_Decoded")


def _decode(line: bytes, decoder: msgspec.json.Decoder[_Decoded]) -> _Decoded | None:
    """Decode what is needed of a line; `None` where it is no object with these fields."""
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _mended(line: bytes) -> bytes:
    """A line with half of a surrogate pair as an escape, which only the lenient reader takes; else nothing."""
    try:
        data = json.loads(line)
        return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace") if isinstance(data, dict) else b""
    except (ValueError, RecursionError):
        return b""


def _read_or_count(reader: CallReader, line: bytes, decoder: msgspec.json.Decoder[_Decoded]) -> _Decoded | None:
    """Decode a line; what cannot be decoded is counted as broken, or as a record of a newer version."""
    decoded = _decode(line, decoder)
    if decoded is not None:
        return decoded
    mended = _mended(line)
    decoded = _decode(mended, decoder) if mended else None
    if decoded is None and mended:
        reader.pass_over(_kind_of(mended))
    elif decoded is None:
        reader.counts.broken += 1
    return decoded


class _KindOnly(msgspec.Struct):
    type: object = None


_KIND_ONLY = msgspec.json.Decoder(_KindOnly)


def _kind_of(line: bytes) -> str:
    record = _decode(line, _KIND_ONLY)
    return str(record.type) if record is not None else "?"


# -- Claude Code -------------------------------------------------------------------------------------------------


class _ClaudeLine(msgspec.Struct):
    """The fields of all kinds of records that are read here; a later version may give any of them another type."""

    type: object = ""
    subtype: object = None
    timestamp: object = None
    message: msgspec.Raw = _NO_RAW
    isMeta: object = False
    isCompactSummary: object = False
    isVisibleInTranscriptOnly: object = False
    isApiErrorMessage: object = False
    requestRef: object = None
    promptCacheRequested: object = None
    id: object = None
    hash: object = None
    shapeHash: object = None
    shape: msgspec.Raw = _NO_RAW
    params: msgspec.Raw = _NO_RAW
    base: object = None
    keep: object = 0
    tail: object = None
    querySource: object = None
    totalCostUSD: object = None


class _ClaudeBody(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    usage: dict[str, object] | None = None


class _Block(msgspec.Struct):
    type: object = ""
    text: object = ""


class _UserBody(msgspec.Struct):
    content: str | list[_Block] | None = None


class _Named(msgspec.Struct):
    name: str = ""


class _Shape(msgspec.Struct):
    system: list[msgspec.Raw] = []
    tools: list[msgspec.Raw] = []


_CLAUDE_LINE = msgspec.json.Decoder(_ClaudeLine)
_CLAUDE_BODY = msgspec.json.Decoder(_ClaudeBody)
_USER_BODY = msgspec.json.Decoder(_UserBody)
_SHAPE = msgspec.json.Decoder(_Shape)
_NAMED = msgspec.json.Decoder(_Named)
_PARAMETERS = msgspec.json.Decoder(dict[str, msgspec.Raw])

_TTLS = {"5m": 300_000, "1h": 3_600_000}

_CLAUDE_KINDS = frozenset(
    {
        "agent-color", "agent-name", "agent-setting", "ai-title", "api-request", "api-request-blob",
        "api-request-shape", "assistant", "atis-latch", "attachment", "attribution-snapshot",
        "bridge-session", "content-replacement", "context-collapse", "cost-state", "custom-title",
        "file-history-delta", "file-history-snapshot", "fork-context-ref", "frame-link", "last-prompt",
        "marble-origami-commit", "marble-origami-snapshot", "mode", "permission-mode", "pr-link", "progress",
        "queue-operation", "speculation-accept", "summary", "system", "tag", "task-summary", "tools-used",
        "user", "worktree-state",
    }
)  # fmt: skip
"""Kinds of records that versions to 2.1.330 were seen to write."""


class _ClaudeScan:
    def __init__(self, reader: CallReader) -> None:
        self._reader = reader
        self._shapes: dict[str, tuple[tuple[SizedPart, ...], tuple[SizedPart, ...]]] = {}
        self._sizes: dict[str, int] = {}
        self._requests: dict[str, RequestShape] = {}
        self._current: tuple[str, TranscriptCall] | None = None
        self._seen: set[str] = set()

    def take(self, line: bytes) -> TranscriptCall | None:
        """Read a line; return the call that is whole with it."""
        record = _read_or_count(self._reader, line, _CLAUDE_LINE)
        if record is None:
            return None
        if record.type not in _CLAUDE_KINDS:
            self._reader.pass_over(str(record.type))
            return None
        time = self._reader.at(record.timestamp)
        match record.type:
            case "assistant":
                return self._response(record, time)
            case "user":
                self._user(record)
            case "system" if record.subtype == "compact_boundary":
                self._reader.compactions += 1
            case "api-request-shape":
                self._shapes[str(record.shapeHash)] = _shape_parts(bytes(record.shape))
            case "api-request-blob":
                self._sizes[str(record.hash)] = len(bytes(record.message))
            case "api-request":
                self._request(record)
            case "cost-state" if isinstance(record.totalCostUSD, int | float):
                # A sum over all processes of the session; one that starts anew begins where the last one was.
                self._reader.host_usd = max(float(record.totalCostUSD), self._reader.host_usd or 0.0)
        return None

    def end(self) -> TranscriptCall | None:
        """Return the last call."""
        call, self._current = self._current, None
        return call[1] if call else None

    def _user(self, record: _ClaudeLine) -> None:
        if record.isMeta or record.isCompactSummary or record.isVisibleInTranscriptOnly:
            return
        body = _decode(bytes(record.message), _USER_BODY)
        if body is None:
            return
        content = body.content or ""
        texts = [content] if isinstance(content, str) else [block.text for block in content if block.type == "text"]
        words = [text for text in texts if isinstance(text, str)]
        self._reader.prompts += any(text and not claude_code.is_hosts_text(text) for text in words)

    def _response(self, record: _ClaudeLine, time: int) -> TranscriptCall | None:
        body = _decode(bytes(record.message), _CLAUDE_BODY)
        if body is None:
            self._reader.pass_over(str(record.type))
            return None
        if body.usage is None or record.isApiErrorMessage is True:
            return None
        usage = claude_code.reported_usage(body.usage)
        if not usage.used:
            return None
        written = body.usage.get("cache_creation")
        call = TranscriptCall(
            time=time,
            model=body.model or "",
            usage=usage,
            compactions=self._reader.compactions,
            hour_tokens=number_field(written, "ephemeral_1h_input_tokens") if isinstance(written, dict) else 0,
            ttl_ms=_TTLS.get(str(record.promptCacheRequested)),
            request=self._requests.get(str(record.requestRef)),
        )
        id = body.id or f"response {len(self._seen)}"
        if self._current is not None and self._current[0] == id:
            # One record a content block, with the usage of the whole response on each: the last one wins.
            self._current = (id, call)
            return None
        if id in self._seen:
            return None
        whole = self.end()
        self._current = (id, call)
        self._seen.add(id)
        return whole

    def _request(self, record: _ClaudeLine) -> None:
        base = self._requests.get(str(record.base))
        keep = record.keep if isinstance(record.keep, int) else 0
        tail = [hash for hash in record.tail if isinstance(hash, str)] if isinstance(record.tail, list) else []
        base_messages = base.messages[:keep] if base is not None else ()
        system, tools = self._shapes.get(str(record.shapeHash), ((), ()))
        parameters = _decode(bytes(record.params), _PARAMETERS) or {}
        settings = b"".join(bytes(raw) for key, raw in sorted(parameters.items()) if key not in _NOT_SETTINGS)
        self._requests[str(record.id)] = RequestShape(
            source=str(record.querySource or ""),
            system=system,
            tools=tools,
            messages=(*base_messages, *tail),
            settings=_digest(settings),
            sizes=self._sizes,
        )
        if len(self._requests) > _MAX_REQUESTS:
            self._requests.pop(next(iter(self._requests)))


_NOT_SETTINGS = frozenset({"model", "betas", "max_tokens"})


def _shape_parts(raw: bytes) -> tuple[tuple[SizedPart, ...], tuple[SizedPart, ...]]:
    shape = _decode(raw, _SHAPE) or _Shape()
    system = tuple(
        SizedPart(f"block {n}", _digest(bytes(block)), len(bytes(block))) for n, block in enumerate(shape.system, 1)
    )
    tools = []
    for tool in map(bytes, shape.tools):
        named = _decode(tool, _NAMED) or _Named()
        tools.append(SizedPart(named.name, _digest(tool), len(tool)))
    return system, tuple(tools)


# -- Codex -------------------------------------------------------------------------------------------------------


class _CodexPayload(msgspec.Struct):
    type: object = ""
    role: object = ""
    model: object = None
    usage: object = None
    info: object = None
    content: object = None


class _CodexLine(msgspec.Struct):
    type: object = ""
    timestamp: object = None
    payload: _CodexPayload = msgspec.field(default_factory=_CodexPayload)


_CODEX_LINE = msgspec.json.Decoder(_CodexLine)

_CODEX_KINDS = frozenset(
    {
        "session_meta", "response_item", "event_msg", "turn_context", "compacted", "token_usage_record",
        "world_state", "ghost_snapshot", "inter_agent_communication", "message", "reasoning", "function_call",
        "function_call_output", "local_shell_call", "custom_tool_call", "custom_tool_call_output",
        "web_search_call",
    }
)  # fmt: skip
"""Kinds of records that versions to 0.169 were seen to write; the last of them are the bare form."""


class _CodexScan:
    def __init__(self, reader: CallReader) -> None:
        self._reader = reader
        self._model = ""
        self._last: dict[str, object] | None = None
        self._records = False
        self._newest: TranscriptCall | None = None

    def take(self, line: bytes) -> TranscriptCall | None:
        """Read a line; return the call that it tells of."""
        record = _read_or_count(self._reader, line, _CODEX_LINE)
        if record is None:
            return None
        if record.type and record.type not in _CODEX_KINDS:
            self._reader.pass_over(str(record.type))
            return None
        time, payload = self._reader.at(record.timestamp), record.payload
        match record.type:
            case "turn_context":
                self._model = payload.model if isinstance(payload.model, str) else self._model
            case "compacted":
                self._reader.compactions += 1
                # The newest call wrote the summary.
                whole, self._newest = self._newest, None
                return msgspec.structs.replace(whole, summary=True) if whole is not None else None
            case "response_item" if payload.role == "user" and payload.type == "message":
                self._reader.prompts += bool(codex.user_words({"content": payload.content}))
            case "token_usage_record" if isinstance(payload.usage, dict):
                # Newer versions write a record for each response; then the counts for the screen are not needed.
                self._records = True
                return self._call(payload.usage, time)
            case "event_msg" if payload.type == "token_count" and isinstance(payload.info, dict):
                self._reader.window = number_field(payload.info, "model_context_window") or self._reader.window
                usage = payload.info.get("last_token_usage")
                total = payload.info.get("total_token_usage")
                # The same count is told again when nothing but the limits have changed.
                if not self._records and isinstance(usage, dict) and (total is None or total != self._last):
                    self._last = total if isinstance(total, dict) else None
                    return self._call(usage, time)
        return None

    def end(self) -> TranscriptCall | None:
        """Return the last call."""
        call, self._newest = self._newest, None
        return call

    def _call(self, usage: dict[str, object], time: int) -> TranscriptCall | None:
        # Behind a compaction comes a count without a response, of zeros and an estimate.
        if not number_field(usage, "input_tokens"):
            return None
        whole = self._newest
        self._newest = TranscriptCall(time, self._model, codex.reported_usage(usage), self._reader.compactions)
        return whole


class _PiLine(msgspec.Struct):
    type: object = ""
    timestamp: object = None
    message: dict[str, object] = {}
    usage: dict[str, object] | None = None
    provider: object = ""
    model: object = ""


_PI_LINE = msgspec.json.Decoder(_PiLine)

_PI_KINDS = frozenset(
    {
        "session", "message", "model_change", "thinking_level_change", "usage", "compaction", "context_edit",
        "branch_summary", "custom", "custom_message", "label", "session_info",
    }
)  # fmt: skip
"""Kinds of entries that version 1.3 was seen to write, or that its documentation names."""


class _PiScan:
    def __init__(self, reader: CallReader) -> None:
        self._reader = reader
        self._model = ""

    def take(self, line: bytes) -> TranscriptCall | None:
        """Read a line; return the call that it tells of."""
        record = _read_or_count(self._reader, line, _PI_LINE)
        if record is None:
            return None
        if record.type not in _PI_KINDS:
            self._reader.pass_over(str(record.type))
            return None
        time, role = self._reader.at(record.timestamp), record.message.get("role")
        if record.type == "compaction":
            call = self._call(record.usage, time, summary=True)
            self._reader.compactions += 1
            return call
        if role == "user":
            self._reader.prompts += 1
        elif role == "assistant":
            self._model = str(record.message.get("model") or self._model)
            return self._call(record.message.get("usage"), time)
        return None

    def end(self) -> TranscriptCall | None:
        """Return nothing: a call is told by its own line."""
        return None

    def _call(self, usage: object, time: int, *, summary: bool = False) -> TranscriptCall | None:
        reported = pi.reported_usage(usage) if isinstance(usage, dict) else None
        if reported is None or not isinstance(usage, dict) or not reported.prompt:
            return None
        cost = usage.get("cost")
        total = cost.get("total") if isinstance(cost, dict) else None
        if isinstance(total, int | float):
            self._reader.host_usd = (self._reader.host_usd or 0.0) + total
        return TranscriptCall(time, self._model, reported, self._reader.compactions, summary=summary)


_SCANS: Mapping[str, type[_ClaudeScan] | type[_CodexScan] | type[_PiScan]] = {
    claude_code.HOST: _ClaudeScan,
    codex.HOST: _CodexScan,
    pi.HOST: _PiScan,
}
"""Who reads the lines of which host's files."""
