"""OpenTelemetry's own SDK with everything kept in memory, and sessions that tell it what they do."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hudkit.agent.loop import AgentLoop
from hudkit.agent.run_context import LoopOptions, LoopSettings
from hudkit.agent.telemetry import Telemetry
from hudkit.context.caching import CallCost
from hudkit.models.scripted_answers import Refusal, ScriptedCall, says, uses

QUICK = LoopSettings(delay=0.001, most_delay=0.01)
NAME = "anthropic:claude-sonnet-4-6"
NOW = 1_795_000_000_000

DAY = (
    uses(ScriptedCall("write", {"path": "a.txt", "content": "one\n"}), ScriptedCall("bash", {"command": "rm -rf x"})),
    Refusal(529, "overloaded_error"),
    replace(
        uses(ScriptedCall("task", {"description": "look", "prompt": "look into it"})),
        usage=CallCost(0, 0, 190_000, 10),
    ),
    uses(ScriptedCall("read", {"path": "a.txt"})),
    says("It says one."),
    says("All done."),
)
"""Tools, one of them refused; a retry; a sub-agent; a window that is full."""


class Watched:
    """Spans and metrics as they were exported."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._kept))
        self.meters = MeterProvider([self._reader], shutdown_on_exit=False)

    def telemetry(self, **given: Any) -> Telemetry:
        return Telemetry(tracer_provider=self.tracers, meter_provider=self.meters, **given)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """In the order in which they began."""
        return tuple(sorted(self._kept.get_finished_spans(), key=began))

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def below(self, span: ReadableSpan | None = None) -> list[ReadableSpan]:
        """The spans under this one; those under none."""
        above = span.context.span_id if span is not None else None
        return [one for one in self.spans if (one.parent.span_id if one.parent else None) == above]

    def walk(self, depth: int = 0, span: ReadableSpan | None = None) -> Iterator[tuple[int, ReadableSpan]]:
        for one in self.below(span):
            yield depth, one
            yield from self.walk(depth + 1, one)

    def points(self, name: str) -> list[HistogramDataPoint]:
        data = self._reader.get_metrics_data()
        assert data is not None
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics]
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]  # type: ignore[misc]


def began(span: ReadableSpan) -> int:
    assert span.start_time is not None
    return span.start_time


def of(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@asynccontextmanager
async def session(
    place: Path, model: Any, telemetry: Telemetry | None, plugins: Sequence[tuple[str, object]] = (), **given: Any
) -> AsyncIterator[AgentLoop]:
    """A loop in `place/project` whose clock counts milliseconds."""
    (place / "project").mkdir(exist_ok=True)
    ticks = itertools.count(NOW)
    given.setdefault("settings", QUICK)
    given.setdefault("clock", lambda: next(ticks))
    options = LoopOptions(plugins=plugins, telemetry=telemetry, **given)
    loop = await AgentLoop.open(place / "project", model, data=place / "data", options=options)
    try:
        yield loop
    finally:
        await loop.close()
