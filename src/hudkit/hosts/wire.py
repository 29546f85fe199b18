"""The messages between hosts and the daemon, with their versions: plain values, no I/O.

One struct for each body: requests first, then responses, then the way from bytes to structs and back. Unknown fields
of requests are refused, except inside a host's own messages. Who said something is not among the fields: the daemon
sets origin and trust by the channel, so that no message can claim them.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, Self, TypeVar

import msgspec
from msgspec import Meta

from hudkit.errors import HudkitError

PROTOCOL = 5
"""The version of the wire. It rises when a field changes its meaning or goes away, or a request gains one, because
unknown fields are refused."""

SPOKEN = (PROTOCOL, PROTOCOL - 1)
"""The versions that the daemon answers, each in its own: an upgrade replaces the daemon at once, and the plugin of a
host that runs only with the host's next start. So what a request of the version before may say, it may say here too,
and what it may count on in an answer stays there."""

PROTOCOL_HEADER = "hudkit-protocol"
VERSION_HEADER = "hudkit-version"
HEADERS = (PROTOCOL_HEADER, VERSION_HEADER)
"""The headers of every request and every response."""

MAX_BODY = 1024 * 1024
"""Most bytes of a request's body; a larger one is answered with status 413."""

_NUMBERS = re.compile(r"\d{1,9}")


def newer(version: str, other: str) -> bool:
    """Return whether `version` is newer than `other`, by the numbers of its release: `0.10.0` is newer than `0.9.2`.

    A text that is not a version is older than every version.
    """
    return _release(version) > _release(other)


def _release(version: str) -> tuple[int, ...]:
    match = re.match(r"\d{1,9}(?:\.\d{1,9})*", version)
    numbers = [int(number) for number in _NUMBERS.findall(match[0])] if match else []
    # 0.2 and 0.2.0 are the same release.
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


# Bounds on every text and list: one request must not be able to fill the daemon's memory or a line of its log.
Id = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Path = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00]*$")]
Line = Annotated[str, Meta(max_length=4096)]
Tokens = Annotated[int, Meta(ge=0, lt=2**53)]
Json = dict[str, Any]
Messages = Annotated[tuple[Json, ...], Meta(max_length=20_000)]
Router = Literal["hud", "memory"]


class RequestBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The root of the requests: fields by name, and no others."""


class EmptyRequest(RequestBody, frozen=True):
    """`/v1/hello` and `/v1/stop`: nothing is said."""


class SessionIdentity(RequestBody, frozen=True):
    """Which conversation is meant: the host, the host's own session id, and the absolute directory of its project."""

    # The hosts that have a plugin of ours: a name that nobody ships cannot make sessions in the log.
    host: Literal["opencode", "claude-code", "codex", "pi"]
    session: Id
    directory: Path


class HostSessionFacts(RequestBody, frozen=True):
    """What a host knows of a session; `None` or empty where it does not say."""

    title: Line | None = None
    parent: Annotated[str, Meta(max_length=200)] | None = None
    agent: Annotated[str, Meta(max_length=200)] | None = None


class ModelInfo(RequestBody, frozen=True):
    """A model and its limits in tokens, 0 or absent where they are not known.

    `limit` is the whole window, `output` the most that an answer may have, `input` the most that a request may have.
    """

    id: Line = ""
    provider: Line = ""
    limit: Tokens | None = None
    output: Tokens | None = None
    input: Tokens | None = None


class ToolOutputSize(RequestBody, frozen=True):
    """The output of a finished tool call: the call's id, the tool's name, the `size` of the text in characters."""

    call: Annotated[str, Meta(max_length=200)]
    tool: Annotated[str, Meta(max_length=200)]
    size: Tokens


class TranscriptEntry(RequestBody, frozen=True):
    """One message of the transcript as it will be sent, and its `size` in characters (0: unknown).

    The role `tool` is an assistant message whose last part is a tool result; `cleared` is one whose last result the
    host has cleared. `outputs` are those of the message's calls, as the host has them, in order.
    """

    anchor: Annotated[str, Meta(max_length=400)]
    role: Literal["user", "assistant", "tool", "cleared"]
    size: Tokens = 0
    outputs: Annotated[tuple[ToolOutputSize, ...], Meta(max_length=2_000)] = ()


class TranscriptChange(RequestBody, frozen=True):
    """A change of a list of messages: from the place `index` on, so many are `removed` and `entries` put there.

    Changes are made in their order, each to the list as those before it left it.
    """

    index: Tokens
    removed: Tokens = 0
    entries: Annotated[tuple[TranscriptEntry, ...], Meta(max_length=20_000)] = ()


class UnsentChange(RequestBody, frozen=True):
    """The same for the list of messages that are not sent."""

    index: Tokens
    removed: Tokens = 0
    anchors: Annotated[tuple[Line, ...], Meta(max_length=20_000)] = ()


class RequestOverhead(RequestBody, frozen=True):
    """What a request carries beside the messages, in characters: the host's system prompt as of the last call, and
    the tool definitions; `None` where unknown."""

    system: Tokens | None = None
    tools: Tokens | None = None


class FrameRequestBody(SessionIdentity, frozen=True):
    """`/v1/frame`: the frame of the next call is wanted.

    `messages` are those that are new or changed since the upload that `seen` acknowledged; `used` is the window in
    use as last reported, in tokens. `have` is the mark of the last frame that was used (`None`: the last one that was
    asked for). `order` grows from request to request: one that a later request overtook is refused.

    `unsent` are the anchors of messages that the host has and does not send, as a response that failed. `whole` says
    whether the transcript and these are all messages of the session, none of them compacted away. Without it, nobody
    asks what the host has taken back.

    With `since`, the `order` of a question that was answered, `transcript` and `unsent` are left out: they are what
    they were in that question, but for `changes` and `unsent_changes`. A daemon that does not know that question
    refuses with the code `transcript`, and the whole is sent.
    """

    model: ModelInfo = ModelInfo()
    transcript: Annotated[tuple[TranscriptEntry, ...], Meta(max_length=20_000)] = ()
    messages: Messages = ()
    facts: HostSessionFacts = HostSessionFacts()
    fixed: RequestOverhead = RequestOverhead()
    seen: Line | None = None
    used: Tokens | None = None
    # A plugin that ran into its deadline asks again while the first request is still under way.
    order: Tokens | None = None
    have: Annotated[str, Meta(pattern=r"^[0-9]{1,15}\.[0-9]{1,15}$")] | None = None
    unsent: Annotated[tuple[Line, ...], Meta(max_length=20_000)] = ()
    whole: bool | None = None
    since: Tokens | None = None
    changes: Annotated[tuple[TranscriptChange, ...], Meta(max_length=20_000)] = ()
    unsent_changes: Annotated[tuple[UnsentChange, ...], Meta(max_length=20_000)] = ()


class EventsRequestBody(SessionIdentity, frozen=True):
    """`/v1/events`: what happened, without a call. `todos` is the host's whole list, absent where unchanged."""

    messages: Messages = ()
    facts: HostSessionFacts = HostSessionFacts()
    todos: Annotated[tuple[Json, ...], Meta(max_length=2_000)] | None = None
    seen: Line | None = None


class ToolRequestBody(SessionIdentity, frozen=True):
    """`/v1/tool`: a model's call of a router; `arguments` is what the model sent."""

    router: Router
    arguments: Json = {}


class CompactingRequestBody(SessionIdentity, frozen=True):
    """`/v1/compacting`: the host is about to compact."""

    used: Tokens | None = None


class CompactRequestBody(SessionIdentity, frozen=True):
    """`/v1/compact`: the agent asks for a compaction."""

    router: Router = "hud"
    used: Tokens | None = None


class Hello(msgspec.Struct, frozen=True):
    """Who answers: the version of hudkit, the protocol of the wire, the process and its uptime."""

    version: str
    protocol: int
    pid: int
    uptime_ms: int


class DeltaLayer(msgspec.Struct, frozen=True):
    """A delta of a frame: `form` (`tool` or `user`) says how it is added to the message with the `anchor`."""

    id: str
    anchor: str
    form: str
    text: str


class OutputStub(msgspec.Struct, frozen=True):
    """The one line that stands in place of a call's output, which was pruned."""

    call: str
    text: str


class FrameResponse(msgspec.Struct, frozen=True):
    """A frame: base, deltas and tail together cost `tokens` of `budget`; `notice` says why it could not be recorded.

    `pruned` are all outputs that this call and every later one carry as a stub. `ack` is opaque; an empty one
    acknowledges nothing, so that every message has to be sent again with the next request. `mark` is opaque, too: the
    mark of the last frame that was used is the `have` of the next request.

    `whole` is the whole HUD as the base of a new epoch would have it, where the frame tells anything new: a host goes
    on with it where a frame that begins an epoch comes too late. It is in the other answers too, as of then.
    """

    base: str
    deltas: tuple[DeltaLayer, ...]
    tail: str
    epoch: int
    tag: str
    tokens: int
    budget: int
    notice: str
    ack: str
    mark: str = ""
    pruned: tuple[OutputStub, ...] = ()
    whole: str = ""


class EventsAccepted(msgspec.Struct, frozen=True):
    """The upload is durable; `ack` is as in a frame."""

    ack: str
    whole: str = ""


class ToolReply(msgspec.Struct, frozen=True):
    """A tool's answer to the agent; `ok` is false where the call was refused."""

    text: str
    ok: bool
    whole: str = ""


class CompactingResponse(msgspec.Struct, frozen=True):
    """The prompt that replaces the host's own."""

    prompt: str
    whole: str = ""


class Acknowledgement(msgspec.Struct, frozen=True):
    """The request was carried out, and there is nothing else to say."""

    ok: bool = True


class ErrorBody(msgspec.Struct, frozen=True):
    """`code` is stable and machine-readable, `message` says what and where, `hint` what would be right."""

    code: str
    message: str
    hint: str = ""


class ErrorResponse(msgspec.Struct, frozen=True):
    """The body of every answer that is not a success."""

    error: ErrorBody


R = TypeVar("R")

encode = msgspec.json.Encoder().encode
"""Return a response as JSON bytes."""

# Half a surrogate pair, as JSON escapes it and as Python holds it.
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")


class RequestRefused(HudkitError):
    """A request cannot be read; `details["status"]` is the HTTP status of the response."""

    code = "request"


class TranscriptUnknown(RequestRefused):
    """A question tells changes of a transcript that is not known here; the host has to send all of it."""

    code = "transcript"

    @classmethod
    def of(cls, since: int) -> Self:
        """Return the refusal of changes since a question."""
        return cls(f"the transcript of question {since} is not known", hint="Send the whole transcript", status=409)


def decode(body: bytes, kind: type[R]) -> R:
    """Return the request struct of a body.

    Raises `RequestRefused` where the body is not JSON, is nested too deeply, or has a field that is missing, unknown
    or of the wrong type; the message names the place and never the content.
    """
    try:
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            # A host's text that was cut in the middle of a character has half a surrogate pair, which is not valid
            # JSON for msgspec. The conversation is worth more than that character: it is replaced.
            if not _HALF.search(body):
                raise
        return msgspec.convert(_without_surrogates(json.loads(body)), kind)
    except msgspec.ValidationError as error:
        raise _refused(
            f"the request does not fit: {error}", "Unknown fields are refused outside of messages"
        ) from None
    # Each message says what to send instead; none repeats content of the body, which may be anybody's.
    except RecursionError:
        raise _refused("the request is nested too deeply", "Send plain objects") from None
    except (msgspec.DecodeError, ValueError):
        raise _refused("the request is not JSON", "Send one JSON object in UTF-8") from None


def _refused(message: str, hint: str) -> RequestRefused:
    return RequestRefused(message, hint=hint, status=400)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
