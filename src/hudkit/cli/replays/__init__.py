"""Recorded history through the HUD: what it would have shown, cost and kept."""

from hudkit.cli.replays.report import Report, SessionReport
from hudkit.cli.replays.run import replay
from hudkit.cli.replays.session import Options

__all__ = ["Options", "Report", "SessionReport", "replay"]
