"""Providers that send to a collector over OTLP/HTTP: in batches, from threads of their own, never in the way."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from threading import Thread

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.environment_variables import OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

_CLOSING = 2.0
"""Seconds that the last batch gets when the program ends; what was not sent then is given up."""


def providers(endpoint: str | None) -> tuple[TracerProvider, MeterProvider, Callable[[], None]]:
    """Return providers for `endpoint` (`None`: as the environment says), and what ends them within two seconds."""
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())  # a dead collector is not told on stderr
    base = endpoint.rstrip("/") if endpoint else ""
    named = os.environ.get(OTEL_SERVICE_NAME) or SERVICE_NAME in os.environ.get(OTEL_RESOURCE_ATTRIBUTES, "")
    resource = Resource.create({} if named else {SERVICE_NAME: "hudkit"})
    spans = OTLPSpanExporter(f"{base}/v1/traces" if base else None)
    measurements = OTLPMetricExporter(f"{base}/v1/metrics" if base else None)
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(spans))
    meters = MeterProvider([PeriodicExportingMetricReader(measurements)], resource, shutdown_on_exit=False)

    def close() -> None:
        work = [Thread(target=provider.shutdown, daemon=True) for provider in (tracers, meters)]
        for thread in work:
            thread.start()
        end = time.monotonic() + _CLOSING
        for thread in work:
            thread.join(max(0.0, end - time.monotonic()))
        if any(
            thread.is_alive() for thread in work
        ):  # no further attempts: nobody waits for a collector that is gone
            spans.shutdown()  # type: ignore[no-untyped-call]
            measurements.shutdown()

    return tracers, meters, close
