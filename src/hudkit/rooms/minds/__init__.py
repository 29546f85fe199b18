"""Minds: who thinks for agents. Language models of any provider, scripts, and the improviser."""

from hudkit.rooms.minds.improviser import LABEL, NAME, Improviser
from hudkit.rooms.minds.mind import Asked, Mind, Minds, Quick, Silent, Thought
from hudkit.rooms.minds.opening import open_minds
from hudkit.rooms.minds.over_models import ModelMind
from hudkit.rooms.minds.scripted import Scripted, Unhurried

__all__ = [
    "LABEL",
    "NAME",
    "Asked",
    "Improviser",
    "Mind",
    "Minds",
    "ModelMind",
    "Quick",
    "Scripted",
    "Silent",
    "Thought",
    "Unhurried",
    "open_minds",
]
