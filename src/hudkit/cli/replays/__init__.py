"""Recorded history through the HUD: what it would have shown, cost and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hudkit.cli.replays.report import Report, SessionReport
    from hudkit.cli.replays.transcript_replay import Options, replay

__all__ = ["Options", "Report", "SessionReport", "replay"]


def __getattr__(name: str) -> Any:  # who only words a report does not pay for playing one
    if name in ("Options", "replay"):
        from hudkit.cli.replays import transcript_replay

        return getattr(transcript_replay, name)
    if name in ("Report", "SessionReport"):
        from hudkit.cli.replays import report

        return getattr(report, name)
    raise AttributeError(f"module 'hudkit.cli.replays' has no attribute {name!r}")
