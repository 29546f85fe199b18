"""The scheduler: when each agent has its beat, who gives it, and what becomes of it."""

from hudkit.rooms.scheduler.clocks import Clock, RealClock, SimulatedClock
from hudkit.rooms.scheduler.garbage import freeze_survivors
from hudkit.rooms.scheduler.model_queues import ANY_MODEL, UNLIMITED, ModelQuota
from hudkit.rooms.scheduler.protocol import HeapScheduler
from hudkit.rooms.scheduler.runner import RunnerMetrics, WorldRunner

__all__ = [
    "ANY_MODEL",
    "UNLIMITED",
    "Clock",
    "HeapScheduler",
    "ModelQuota",
    "RealClock",
    "RunnerMetrics",
    "SimulatedClock",
    "WorldRunner",
    "freeze_survivors",
]
