"""Recorded history through the HUD: what it would have shown, cost and kept."""

from hudkit.replay.report import Report, SessionReport
from hudkit.replay.run import replay
from hudkit.replay.session import Options

__all__ = ["Options", "Report", "SessionReport", "replay"]
