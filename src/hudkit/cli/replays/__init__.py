"""Recorded history through the HUD: what it would have shown, cost and kept."""

from hudkit.cli.replays.report import Report, SessionReport
from hudkit.cli.replays.transcript_replay import Options, replay

__all__ = ["Options", "Report", "SessionReport", "replay"]
