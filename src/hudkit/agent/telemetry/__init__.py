"""Telemetry: what agents do, as OpenTelemetry spans and metrics.

A host tells a `Telemetry` what it observes (`observations`), and gets no answer. OpenTelemetry is imported with the
first `Telemetry` that is made, so that nobody pays for it, or needs it installed, who does not use it.
"""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from hudkit import config
from hudkit.agent.telemetry import names
from hudkit.errors import ConfigError
from hudkit.installation import install_hint

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from hudkit.agent.telemetry.observations import Observation

LIMIT = config.TelemetrySettings().max_chars
"""Characters that an attribute with content has at most, where nothing else is said."""

_LOG = logging.getLogger("hudkit.agent.telemetry")


class Telemetry:
    """Takes what sessions tell of themselves; one may serve many of them. No method raises once it is made.

    Spans and metrics go to the providers that are passed, else to the program's global ones. `content` says whether
    they hold what was said, in at most `limit` characters an attribute. Raises `ConfigError` where OpenTelemetry is
    not installed.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        content: bool = False,
        limit: int = LIMIT,
        close: Callable[[], None] | None = None,
    ) -> None:
        try:
            from opentelemetry import metrics, trace

            from hudkit.agent.telemetry.spans import Spans
        except ImportError as error:
            raise _missing(error) from None
        self.content = content
        """Whether what was said is wanted: hosts may leave it out otherwise."""
        tracer = trace.get_tracer(names.SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(names.SCOPE, meter_provider=meter_provider)
        self._spans = Spans(tracer, meter, limit if content else 0)
        self._close = close
        self._failed = False
        if close is not None:
            atexit.register(self.close)

    def tell(self, observation: Observation) -> None:
        """Take an observation; return nothing."""
        try:
            self._spans.take(observation)
        except Exception:
            self.failed()

    def failed(self) -> None:
        """Say in the program's log, once, that an exception kept something from being told; return nothing."""
        if not self._failed:
            self._failed = True
            _LOG.warning("telemetry is incomplete", exc_info=True)

    def close(self) -> None:
        """Send what is left, for two seconds at most; return nothing. Closing twice is harmless.

        Providers that were passed are the caller's to end.
        """
        if self._close is not None:
            close, self._close = self._close, None
            atexit.unregister(self.close)
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def configured(settings: config.TelemetrySettings) -> Telemetry | None:
    """Return telemetry as the settings say, `None` where it is off.

    Raises `ConfigError` where OpenTelemetry is missing.
    """
    if not settings.enabled:
        return None
    try:
        from hudkit.agent.telemetry.export import providers
    except ImportError as error:
        raise _missing(error) from None
    tracers, meters, close = providers(settings.endpoint)
    return Telemetry(
        tracer_provider=tracers,
        meter_provider=meters,
        content=settings.content,
        limit=settings.max_chars,
        close=close,
    )


def _missing(error: ImportError) -> ConfigError:
    return ConfigError(
        f"telemetry needs the package {error.name}, which is not installed",
        hint=f"{install_hint('telemetry')}, or set [telemetry] enabled = false",
    )


__all__ = ["LIMIT", "Telemetry", "configured"]
