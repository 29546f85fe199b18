"""Players: who answers for agents. Language models of any provider, scripts, and the improviser."""

from __future__ import annotations

from collections.abc import Callable

from hudkit.models import Model, RequestSettings, open_model
from hudkit.rooms import IMPROVISER_LABEL
from hudkit.rooms.players.improviser import IMPROVISER_MODEL, Improviser
from hudkit.rooms.players.player import (
    BeatPrompt,
    BeatReply,
    DelayedPlayer,
    ModelPlayer,
    Player,
    PlayerRegistry,
    QuickPlayer,
    ScriptedPlayer,
    UnavailablePlayer,
)

__all__ = [
    "IMPROVISER_LABEL",
    "IMPROVISER_MODEL",
    "BeatPrompt",
    "BeatReply",
    "DelayedPlayer",
    "Improviser",
    "ModelPlayer",
    "Player",
    "PlayerRegistry",
    "QuickPlayer",
    "ScriptedPlayer",
    "UnavailablePlayer",
    "open_players",
]


def open_players(
    connect: Callable[[str], Model] = open_model, settings: RequestSettings | None = None
) -> PlayerRegistry:
    """Return the players of a world that is played for people: `improviser`, and any `provider:name`.

    A model is connected when it is first asked; see `hudkit.models`. `settings` are those of `ModelPlayer`.
    """
    return PlayerRegistry({IMPROVISER_MODEL: Improviser()}, lambda name: ModelPlayer(connect(name), settings))
