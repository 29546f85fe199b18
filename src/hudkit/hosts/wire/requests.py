"""What a host asks of the daemon: one struct a request.

Unknown fields are refused, but for what a host's own messages hold. Who said something is not among the fields: the
daemon sets origin and trust by the channel.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Id = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Path = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00]*$")]
Line = Annotated[str, Meta(max_length=4096)]
Tokens = Annotated[int, Meta(ge=0, lt=2**53)]
Json = dict[str, Any]
Messages = Annotated[tuple[Json, ...], Meta(max_length=20_000)]
Router = Literal["hud", "memory"]


class Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Root of the requests."""


class Nothing(Strict, frozen=True):
    """`/v1/hello` and `/v1/stop`."""


class Identity(Strict, frozen=True):
    """Which conversation is meant: the host, its own session id, and the absolute directory of its project."""

    host: Literal["opencode"]
    session: Id
    directory: Path


class Facts(Strict, frozen=True):
    """What a host knows of a session; `None` or empty: it does not tell."""

    title: Line | None = None
    parent: Annotated[str, Meta(max_length=200)] | None = None
    agent: Annotated[str, Meta(max_length=200)] | None = None


class Model(Strict, frozen=True):
    """A model and its limits in tokens, 0 or absent where they are not known.

    `limit` is the whole window, `output` the most that an answer may have, `input` the most that a request may have.
    """

    id: Line = ""
    provider: Line = ""
    limit: Tokens | None = None
    output: Tokens | None = None
    input: Tokens | None = None


class Output(Strict, frozen=True):
    """What a finished call of a tool brought: its id, the tool's name, and the `size` of its text in characters."""

    call: Annotated[str, Meta(max_length=200)]
    tool: Annotated[str, Meta(max_length=200)]
    size: Tokens


class Placed(Strict, frozen=True):
    """A message of the transcript as it will be sent, and its `size` in characters (0: not told).

    `tool`: an assistant message whose last part is a result; `cleared`: one whose last result the host has cleared.
    `outputs` are what its calls brought, as the host has it, in order.
    """

    anchor: Annotated[str, Meta(max_length=400)]
    role: Literal["user", "assistant", "tool", "cleared"]
    size: Tokens = 0
    outputs: Annotated[tuple[Output, ...], Meta(max_length=2_000)] = ()


class Fixed(Strict, frozen=True):
    """What a request carries beside the messages, in characters: the host's system prompt as of the last call, and
    the definitions of tools; `None`: not known."""

    system: Tokens | None = None
    tools: Tokens | None = None


class FrameAsk(Identity, frozen=True):
    """`/v1/frame`: compose the next call. `messages` are those that are new or changed since the upload that `seen`
    acknowledged; `used` is the window in use as last reported, in tokens. `have` is the mark of the last frame that
    was used; `None`: of the last one that was asked for. `order` grows from question to question: one that is
    overtaken by a later one is refused."""

    model: Model = Model()
    transcript: Annotated[tuple[Placed, ...], Meta(max_length=20_000)] = ()
    messages: Messages = ()
    facts: Facts = Facts()
    fixed: Fixed = Fixed()
    seen: Line | None = None
    used: Tokens | None = None
    order: Tokens | None = None
    have: Annotated[str, Meta(pattern=r"^[0-9]{1,15}\.[0-9]{1,15}$")] | None = None


class EventsAsk(Identity, frozen=True):
    """`/v1/events`: what happened, without a call. `todos` is the host's whole list; absent: not told."""

    messages: Messages = ()
    facts: Facts = Facts()
    todos: Annotated[tuple[Json, ...], Meta(max_length=2_000)] | None = None
    seen: Line | None = None


class ToolAsk(Identity, frozen=True):
    """`/v1/tool`: a model's call of a router; `arguments` is what the model sent."""

    router: Router
    arguments: Json = {}


class CompactingAsk(Identity, frozen=True):
    """`/v1/compacting`: the host is about to compact."""

    used: Tokens | None = None


class CompactAsk(Identity, frozen=True):
    """`/v1/compact`: the agent asks for a compaction."""

    router: Router = "hud"
    used: Tokens | None = None
