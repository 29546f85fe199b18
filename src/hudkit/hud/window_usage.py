"""What fills the window of a session, how fast, and how sure that is; for answers and pages, not for frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

import msgspec

from hudkit.config import Settings
from hudkit.hud.frame_request import estimate_usage, usage_trend
from hudkit.log.payloads import RequestCeilings
from hudkit.sections.model_calibration import (
    REQUEST_PARTS,
    MeasuredRequest,
    ModelCalibration,
    TokenEstimate,
    estimate_tokens,
    request_amounts,
)
from hudkit.sections.state import HudState
from hudkit.tokens.usage import FORECAST_CALLS, Trend, Usage

_NAMES = {
    "system": "system prompt",
    "tools": "tool definitions",
    "untold": "system prompt and tools",
    "words": "messages and calls",
    "messages": "messages and calls",
}
"""How the parts of a request are called in answers and on pages."""

_BUDGET_CELLS = 30
"""Characters of the name of a part with a ceiling."""

_OUTPUT_OF, _LAST_ANSWER = "output of ", "last answer"


class WindowPart(msgspec.Struct, frozen=True):
    """Tokens of a part; `exact` where they were counted or reported, not estimated."""

    part: str
    tokens: int
    exact: bool = False


class PartBudget(msgspec.Struct, frozen=True):
    """Tokens that a part of the window has and may have at most; `exact` where they were counted, not estimated."""

    part: str
    tokens: int
    ceiling: int
    exact: bool = False


class WindowUsage(msgspec.Struct, frozen=True):
    """The window in use and its parts.

    `usage` is as last reported. `now` estimates the tokens of a request that was made since, whose usage is not
    reported yet, and `doubt` the share by which that can be wrong (a deviation); `None`: there is none. `shares` add
    up to what is reported, or, where that is unknown, to `now`. `overflow` are the calls until the host
    compacts, or the window is full. `reports` were learned from; `error` is the median share by which the last
    estimates were wrong. `budget` is empty where the host sets its parts no ceilings.
    """

    usage: Usage
    trend: Trend | None
    overflow: int | None
    shares: tuple[WindowPart, ...]
    now: int | None
    doubt: float | None
    model: str
    reports: int
    error: float | None
    budget: tuple[PartBudget, ...] = ()

    @property
    def reserve(self) -> int:
        """Return the tokens that the host keeps free for an answer."""
        usage = self.usage
        return 0 if usage.usable is None else max(0, usage.limit_tokens - usage.usable)


def window_usage(state: HudState, settings: Settings) -> WindowUsage:
    """Return what fills the window, as far as the log tells."""
    usage = estimate_usage(state, settings)
    calibrations = state.model_calibration
    last = calibrations.last
    trend = usage_trend(state, usage, settings)
    ceiling = usage.limit_tokens if usage.usable is None else usage.usable
    model = last.model if last else state.model
    calibration = calibrations.of(model)
    is_unreported = last is not None and last.spent is None
    ahead = estimate_tokens(calibration, request_amounts(last)) if last and is_unreported else None
    shares = _parts(usage.used_tokens, calibrations.reported, last, calibration, ahead)
    ceilings = last.parts.ceilings if last else None
    return WindowUsage(
        usage=usage,
        trend=trend,
        overflow=_calls_until(ceiling, usage.used_tokens, trend.rate) if trend and usage.used_tokens else None,
        shares=shares,
        now=round(ahead.tokens) if ahead else None,
        doubt=max(ahead.doubt / ahead.tokens, calibration.error or 0.0) if ahead and ahead.tokens else None,
        model=model,
        reports=calibration.reports,
        error=calibration.error,
        budget=_budget(shares, ceilings) if ceilings else (),
    )


def budget_lines(usage: WindowUsage) -> Iterator[str]:
    """Yield what each part of the window has of what it may have; nothing where it has no ceilings."""
    if usage.budget:
        yield "Without summaries: tokens of each part, and what it may have"
    for row in usage.budget:
        name = row.part + ("" if row.exact else " ~")
        yield f"{name:<{_BUDGET_CELLS}} {row.tokens:>9,} of {row.ceiling:>9,}"


def _budget(shares: Sequence[WindowPart], ceilings: RequestCeilings) -> tuple[PartBudget, ...]:
    """Return what each part has beside what it may have; outputs of tools are counted with the messages, too."""
    tokens = {share.part: share.tokens for share in shares}
    outputs = sum(share.tokens for share in shares if share.part.startswith(_OUTPUT_OF))
    words = tokens.get(_NAMES["words"], 0) + tokens.get(_LAST_ANSWER, 0)
    system, tools, both = (tokens.get(_NAMES[part], 0) for part in ("system", "tools", "untold"))
    front = (
        (PartBudget(_NAMES["untold"], both + system + tools, ceilings.system + ceilings.tools),)
        if both
        else (
            PartBudget(_NAMES["system"], system, ceilings.system),
            PartBudget(_NAMES["tools"], tools, ceilings.tools),
        )
    )
    return (
        *front,
        PartBudget("HUD", tokens.get("HUD", 0), ceilings.hud, exact=True),
        PartBudget(_NAMES["words"], words + outputs, ceilings.messages),
        PartBudget("outputs of tools among them", outputs, ceilings.outputs),
        PartBudget("in all", sum(share.tokens for share in shares), ceilings.usable),
    )


def _parts(
    used: int | None,
    reported: MeasuredRequest | None,
    last: MeasuredRequest | None,
    calibration: ModelCalibration,
    ahead: TokenEstimate | None,
) -> tuple[WindowPart, ...]:
    if used is not None and reported is not None and reported.spent is not None:
        answer = max(0, used - reported.spent.request)
        return _parts_of_request(used, reported, calibration, ((_LAST_ANSWER, answer),))
    if used is None and last is not None and ahead is not None:
        return _parts_of_request(round(ahead.tokens), last, calibration, ())
    return ()


def _parts_of_request(
    total: int, request: MeasuredRequest, calibration: ModelCalibration, exact: tuple[tuple[str, int], ...]
) -> tuple[WindowPart, ...]:
    """The parts of a request; outputs by tool, in proportion to their characters."""
    weights: dict[str, float] = {}
    estimates = estimate_tokens(calibration, request_amounts(request)).shares
    for (part, *_), tokens in zip(REQUEST_PARTS, estimates, strict=True):
        if part == "outputs":
            size = sum(output.size for output in request.parts.outputs)
            for output in request.parts.outputs if size else ():
                weights[f"{_OUTPUT_OF}{output.tool}"] = tokens * output.size / size
        elif part != "hud":  # counted, not estimated
            weights[_NAMES[part]] = weights.get(_NAMES[part], 0.0) + tokens
    return split_total(total, tuple(weights.items()), (("HUD", request.hud), *exact))


def split_total(
    total: int, estimated: Sequence[tuple[str, float]], exact: Sequence[tuple[str, int]] = ()
) -> tuple[WindowPart, ...]:
    """Return parts that add up to `total`, the largest first, without those of nothing.

    The estimated parts are scaled to what the exact ones leave. Where these alone are more than the total, or nothing
    else is known, all parts are scaled and none is exact.
    """
    left = total - sum(tokens for _, tokens in exact)
    if left >= 0 and (sum(weight for _, weight in estimated) > 0 or not left):
        parts = [WindowPart(part, tokens, True) for part, tokens in exact]
        rest = list(estimated)
    else:
        parts, left, rest = [], total, [*estimated, *exact]
    names = [part for part, _ in rest]
    parts += map(WindowPart, names, _apportion(left, [max(weight, 0.0) for _, weight in rest]))
    return tuple(sorted((part for part in parts if part.tokens), key=lambda part: -part.tokens))


def _apportion(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers in proportion to `weights` that add up to `total`; the largest remainders are rounded up."""
    everything = sum(weights)
    if not everything:
        return [0] * len(weights)
    scaled = [total * weight / everything for weight in weights]
    numbers = [int(each) for each in scaled]
    by_remainder = sorted(range(len(scaled)), key=lambda n: numbers[n] - scaled[n])
    for n in by_remainder[: total - sum(numbers)]:
        numbers[n] += 1
    return numbers


def _calls_until(ceiling: int, used: int, rate: float) -> int | None:
    """Return the calls until `ceiling` tokens are in use, at a rate in tokens a call.

    `None` where that is too far ahead to be said, or usage does not grow.
    """
    if rate <= 0:
        return None
    calls = max(0, ceil((ceiling - used) / rate))
    return calls if calls <= FORECAST_CALLS else None


def window_facts(id: str, window: WindowUsage) -> dict[str, Any]:
    """Return what fills a window, as plain values; `percent` of parts are of the whole window."""
    usage, trend = window.usage, window.trend
    limit = usage.limit_tokens
    shares = [
        {**msgspec.to_builtins(share), "percent": round(100 * share.tokens / limit, 1)} for share in window.shares
    ]
    return {
        "session": id,
        "model": window.model,
        "used": usage.used_tokens,
        "limit": limit,
        "limit_source": usage.source,
        "usable": usage.usable,
        "percent": None if usage.percent is None else round(usage.percent, 1),
        "band": usage.band.value,
        "parts": shares,
        "parts_of": None if not shares else "reported" if usage.used_tokens is not None else "estimated",
        "trend": msgspec.to_builtins(trend) if trend else None,
        "calls_until_overflow": window.overflow,
        "estimate": {"tokens": window.now, "doubt": _rounded(window.doubt)} if window.now is not None else None,
        "budget": msgspec.to_builtins(window.budget),
        "calibration": {"reports": window.reports, "error": _rounded(window.error)},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
