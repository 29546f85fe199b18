"""The minds of a world that is played for people: the improviser, and every model by its provider's name."""

from __future__ import annotations

from collections.abc import Callable

from hudkit.models import Model, open_model
from hudkit.rooms.minds.improviser import NAME, Improviser
from hudkit.rooms.minds.mind import Minds
from hudkit.rooms.minds.over_models import ModelMind


def open_minds(connect: Callable[[str], Model] = open_model) -> Minds:
    """`improviser`, and any `provider:name`, which is connected when it is first asked; see `hudkit.models`."""
    return Minds({NAME: Improviser()}, lambda name: ModelMind(connect(name)))
