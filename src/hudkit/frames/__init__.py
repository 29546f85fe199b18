"""Fit a tree to a budget, and lay a frame out in layers that leave the provider's prefix cache intact."""

from hudkit.frames.anchors import Message, Place, place, shown
from hudkit.frames.fit import Fitted, Measure, Omission, fit
from hudkit.frames.frame import Delta, Frame, join

__all__ = ["Delta", "Fitted", "Frame", "Measure", "Message", "Omission", "Place", "fit", "join", "place", "shown"]
