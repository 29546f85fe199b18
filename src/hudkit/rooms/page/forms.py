"""The fields of the page's forms, each a struct that validates what came."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from hudkit.rooms import world_events as e

Number = Annotated[int, Meta(ge=0, le=2**53)]
Id = Annotated[int, Meta(ge=1, le=2**53)]
OutputFormat: TypeAlias = Literal["json", "toon"]


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Root of the fields of forms."""


class Nothing(Form, frozen=True):
    pass


class Say(Form, frozen=True):
    room: Id
    text: str
    reply: Number = 0


class React(Form, frozen=True):
    message: Id
    reaction: e.Reaction


class OfAgent(Form, frozen=True):
    agent: Id


class Seat(Form, frozen=True):
    agent: Number
    room: Id


class Board(Form, frozen=True):
    room: Id
    text: str = ""


class Pace(Form, frozen=True):
    room: Id
    wpm: Id


class NewKey(Form, frozen=True):
    room: Id
    label: str
    uses: Annotated[int, Meta(ge=0, le=1000)] = 0


class OldKey(Form, frozen=True):
    room: Id
    label: str


class Decide(Form, frozen=True):
    request: Id


class Tempo(Form, frozen=True):
    agent: Id
    interval: float


class Speed(Form, frozen=True):
    factor: float


class Step(Form, frozen=True):
    agent: Number = 0


class Make(Form, frozen=True):
    kind: e.AgentKind
    background: str
    model: Annotated[str, Meta(min_length=1, max_length=200)]
    name: str = ""
    interval: float = 5.0
    can_create: bool = False
    input_format: e.HudFormat = "json"
    output_format: OutputFormat = "json"
    room: Number = 0


class Alter(Form, frozen=True):
    agent: Id
    name: str
    background: str
    model: Annotated[str, Meta(min_length=1, max_length=200)]
    input_format: e.HudFormat
    output_format: OutputFormat
    can_create: bool = False
