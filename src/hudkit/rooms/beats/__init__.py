"""Beats: when each agent has one, who gives it, and what becomes of it."""

from hudkit.rooms.beats.admission import UNLIMITED, Quota
from hudkit.rooms.beats.clocks import Clock, JumpingClock, RealClock
from hudkit.rooms.beats.figures import Figures
from hudkit.rooms.beats.heap import HeapScheduler
from hudkit.rooms.beats.lanes import ANY
from hudkit.rooms.beats.runner import Runner

__all__ = ["ANY", "UNLIMITED", "Clock", "Figures", "HeapScheduler", "JumpingClock", "Quota", "RealClock", "Runner"]
