"""Fit a tree to a budget, and lay a frame out in layers that leave the provider's prefix cache intact."""

from hudkit.frames.anchors import Message, Place, place, shown
from hudkit.frames.fit import Fitted, Fitter, Measure, Omission, SourceMap, Trace, fit, page, source_map, trace
from hudkit.frames.frame import Delta, Frame, Stub, join

__all__ = [
    "Delta",
    "Fitted",
    "Fitter",
    "Frame",
    "Measure",
    "Message",
    "Omission",
    "Place",
    "SourceMap",
    "Stub",
    "Trace",
    "fit",
    "join",
    "page",
    "place",
    "shown",
    "source_map",
    "trace",
]
