"""The messages between hosts and the daemon, with their versions: plain values, no I/O."""

from hudkit.hosts.wire.answers import Compacting, Done, Errors, FrameAnswer, Hello, Layer, Said, Stub, Taken, Wrong
from hudkit.hosts.wire.codec import Refused, decode, encode
from hudkit.hosts.wire.requests import (
    CompactAsk,
    CompactingAsk,
    EventsAsk,
    Facts,
    Fixed,
    FrameAsk,
    Identity,
    Model,
    Nothing,
    Output,
    Placed,
    ToolAsk,
)
from hudkit.hosts.wire.versions import HEADERS, MAX_BODY, PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER, newer

__all__ = [
    "HEADERS",
    "MAX_BODY",
    "PROTOCOL",
    "PROTOCOL_HEADER",
    "VERSION_HEADER",
    "CompactAsk",
    "Compacting",
    "CompactingAsk",
    "Done",
    "Errors",
    "EventsAsk",
    "Facts",
    "Fixed",
    "FrameAnswer",
    "FrameAsk",
    "Hello",
    "Identity",
    "Layer",
    "Model",
    "Nothing",
    "Output",
    "Placed",
    "Refused",
    "Said",
    "Stub",
    "Taken",
    "ToolAsk",
    "Wrong",
    "decode",
    "encode",
    "newer",
]
