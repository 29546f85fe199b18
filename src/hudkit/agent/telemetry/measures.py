"""The metrics of model calls: tokens and seconds, as histograms with the buckets of the conventions."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.metrics import Meter

from hudkit.agent.telemetry import names
from hudkit.agent.telemetry.happenings import Figure


class Measures:
    """The two histograms."""

    def __init__(self, meter: Meter) -> None:
        self._tokens = meter.create_histogram(
            names.TOKEN_USAGE,
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=names.TOKEN_BUCKETS,
        )
        self._seconds = meter.create_histogram(
            names.DURATION,
            "s",
            "GenAI operation duration.",
            explicit_bucket_boundaries_advisory=names.SECOND_BUCKETS,
        )

    def tokens(self, sent: int, answered: int, found: Mapping[str, Figure]) -> None:
        for kind, number in (("input", sent), ("output", answered)):
            self._tokens.record(number, {**found, names.TOKEN_TYPE: kind})

    def duration(self, milliseconds: int, found: Mapping[str, Figure]) -> None:
        self._seconds.record(max(0, milliseconds) / 1000, found)
