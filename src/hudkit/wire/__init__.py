"""The messages between hosts and the daemon, with their versions: plain values, no I/O."""

from hudkit.wire.answers import Compacting, Done, Errors, FrameAnswer, Hello, Layer, Said, Taken, Wrong
from hudkit.wire.codec import Refused, decode, encode
from hudkit.wire.requests import (
    CompactAsk,
    CompactingAsk,
    EventsAsk,
    Facts,
    FrameAsk,
    Identity,
    Model,
    Nothing,
    Placed,
    ToolAsk,
)
from hudkit.wire.versions import HEADERS, MAX_BODY, PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER, newer

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
    "FrameAnswer",
    "FrameAsk",
    "Hello",
    "Identity",
    "Layer",
    "Model",
    "Nothing",
    "Placed",
    "Refused",
    "Said",
    "Taken",
    "ToolAsk",
    "Wrong",
    "decode",
    "encode",
    "newer",
]
