"""Retention: what the rules record without the agent, and what is left of a session's facts after compactions."""

from __future__ import annotations

from bench.figures import Figure
from bench.retention import kept, recorder

TITLE = "Retention: planted facts that the rules miss; planted facts that are lost in compactions (median (least))"


def run() -> list[Figure]:
    """Both parts. A library that is not installed is a figure that says so."""
    return [*recorder.run(), *kept.run()]
