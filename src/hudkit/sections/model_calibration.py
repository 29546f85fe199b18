"""Tokens of a request by its parts, corrected for a model by what was reported of its requests.

A request is estimated as the sum of its parts, each with a density (tokens a character) and a factor by which the
model differs from it. The factors are learned by recursive least squares (a Kalman filter whose state is the factors,
all 1 at first): each report moves them by as much as they are in doubt, and the doubt grows again where a part
changes, because new text need not be as dense as the old. A report far beyond the doubt moves them no further than
`_OUTLIER_DEVIATIONS` deviations, unless a second one agrees with it: then the model itself is another one.

Example: a request of 40,000 characters of messages is estimated at 40,000 × 0.26 = 10,400 tokens. Where 12,480 are
reported, the factor of `words`, the part most in doubt, moves from 1 towards 1.2; the factors of parts that are not
in the request stay 1. The next request of the same shape is estimated near 12,480, with less doubt.

No section: folded beside them. Pure and deterministic, because a replay has to give the same factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import hypot, isfinite, sqrt
from operator import mul

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import CompactAfter, ContextSnapshot, LearnedCalibration, RequestParts, ResponseTokens

# part, tokens of a unit of it before anything is known, how much its factor is in doubt at first (a deviation),
# and how much the density of new text differs from that of the old
REQUEST_PARTS: tuple[tuple[str, float, float, float], ...] = (
    ("system", 0.22, 0.25, 0.05),  # characters of the host's system prompt
    ("tools", 0.15, 0.3, 0.05),  # characters of the definitions of tools
    ("untold", 8_000.0, 0.7, 0.0),  # 1 where the host tells neither
    ("words", 0.26, 0.3, 0.5),  # characters of messages and calls
    ("outputs", 0.3, 0.3, 0.5),  # characters of what tools brought
    ("messages", 5.0, 0.5, 0.0),  # messages
    ("hud", 1.0, 0.1, 0.02),  # tokens of the frame, by our counter
)
"""The parts of a request in the order of every vector here."""

PART_COUNT = len(REQUEST_PARTS)

_UPPER = tuple((row, col) for row in range(PART_COUNT) for col in range(row, PART_COUNT))
"""The places of a matrix's upper triangle, by rows: a matrix of doubts is symmetric, and kept as these."""

MAX_MODELS = 4
"""Models of a session of which it is remembered how they count, the one in use last."""

UNREPORTED_SYSTEM_SHARE = 0.3
"""The share of a system prompt in what a host sends beside the messages, where only that is not told."""

_NOISE_TOKENS = 25.0
"""Tokens by which even a model with known factors differs from the sum."""

_NOISE_SHARE = 0.002
"""The same as a share of the request."""

_OUTLIER_DEVIATIONS = 3.0
"""Deviations beyond which a report is taken for an exception."""

_MAX_ERRORS = 20
"""Estimates of which the error is remembered."""

_MIN_FACTOR, _MAX_FACTOR = 0.1, 10.0
"""Factors beyond these are not used: no tokenizer is that far from another."""

Vector = tuple[float, ...]


class ModelCalibration(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of how a model counts.

    `factors` of `REQUEST_PARTS`, `doubts` (their covariance, the upper triangle by rows), the `amounts` of the last
    request that was learned from, `reports` so far, the share by which each of the last estimates was wrong
    (`errors`), and how many `outliers` in a row were reported.
    """

    model: str = ""
    factors: Vector = (1.0,) * PART_COUNT
    doubts: Vector = tuple(
        REQUEST_PARTS[row][2] ** 2 if row == column else 0.0
        for row in range(PART_COUNT)
        for column in range(row, PART_COUNT)
    )
    amounts: Vector = ()
    reports: int = 0
    errors: Vector = ()
    outliers: int = msgspec.field(default=0, name="strange")

    @property
    def error(self) -> float | None:
        """Return the median share by which the last estimates were wrong, each made before its report.

        `None` where nothing was reported yet.
        """
        ordered, middle = sorted(self.errors), len(self.errors) // 2
        if not ordered:
            return None
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


class TokenEstimate(msgspec.Struct, frozen=True):
    """Tokens of a request; `doubt` is the deviation to be expected, `shares` are the tokens of each part."""

    tokens: float
    doubt: float
    shares: Vector


def estimate_tokens(calibration: ModelCalibration, amounts: Sequence[float]) -> TokenEstimate:
    """Return what a request of these amounts (one for each of `REQUEST_PARTS`) comes to."""
    doubts = _with_growth(_matrix(calibration.doubts), calibration.amounts, amounts)
    return _estimate(calibration, _units(amounts), doubts)


def _estimate(calibration: ModelCalibration, units: list[float], doubts: list[list[float]]) -> TokenEstimate:
    factors = [min(_MAX_FACTOR, max(_MIN_FACTOR, factor)) for factor in calibration.factors]
    shares = tuple(map(mul, units, factors))
    total = sum(shares)
    spread = _spread(doubts, units)
    return TokenEstimate(total, hypot(sqrt(max(spread, 0.0)), _noise(total)), shares)


def learn_from_report(calibration: ModelCalibration, amounts: Sequence[float], reported: int) -> ModelCalibration:
    """Return what is known after a request of these amounts was reported to have so many tokens.

    A report that would lead to numbers that cannot be used changes nothing.
    """
    units = _units(amounts)
    doubts = _with_growth(_matrix(calibration.doubts), calibration.amounts, amounts)
    expected = _estimate(calibration, units, doubts)
    if reported <= 0 or not expected.tokens:
        return calibration
    error = abs(reported - expected.tokens) / reported
    outlier = abs(reported - expected.tokens) > _OUTLIER_DEVIATIONS * expected.doubt
    if outlier and calibration.outliers:
        # Two in a row: the model is another one, and all that was learned is in doubt again.
        doubts = _with_diagonal(doubts, [part[2] ** 2 for part in REQUEST_PARTS])
    # The Kalman step: `moved` is covariance times units, `gain` how far each factor follows the residual.
    moved = [sum(map(mul, row, units)) for row in doubts]
    variance = max(0.0, _dot(moved, units)) + _noise(reported) ** 2
    residual = reported - _dot(units, calibration.factors)
    if outlier and not calibration.outliers:
        limit = _OUTLIER_DEVIATIONS * sqrt(variance)
        residual = max(-limit, min(limit, residual))
    gain = [each / variance for each in moved]
    pairs = zip(calibration.factors, gain, strict=True)
    factors = _shortened([factor + step * residual for factor, step in pairs])
    # what remains in doubt is symmetric: only its upper triangle is worked out
    triangle = _shortened([doubts[row][col] - gain[row] * moved[col] for row, col in _UPPER])
    if not _is_sound(factors, triangle):
        return calibration
    return ModelCalibration(
        model=calibration.model,
        factors=factors,
        doubts=triangle,
        amounts=tuple(amounts),
        reports=calibration.reports + 1,
        errors=(*calibration.errors, round(error, 5))[-_MAX_ERRORS:],
        outliers=calibration.outliers + 1 if outlier and not calibration.outliers else 0,
    )


def _is_sound(factors: Vector, doubts: Vector) -> bool:
    """Return whether vectors are of this version's length and of a size that can be calculated with."""
    # They may come from a session that an earlier version recorded.
    fits = len(factors) == PART_COUNT and len(doubts) == PART_COUNT * (PART_COUNT + 1) // 2
    values = (*factors, *doubts)
    return fits and all(map(isfinite, values)) and min(values) > -1e6 and max(values) < 1e6


def inherit_calibration(calibration: ModelCalibration) -> ModelCalibration:
    """Return what another session of the model begins with: the factors, in more doubt, and no errors of its own."""
    doubts = _with_diagonal(_matrix(calibration.doubts), [(part[2] / 5) ** 2 for part in REQUEST_PARTS])
    return ModelCalibration(calibration.model, calibration.factors, _triangle(doubts), reports=calibration.reports)


def _units(amounts: Sequence[float]) -> list[float]:
    """What each part comes to before anything is learned."""
    return [amount * part[1] for amount, part in zip(amounts, REQUEST_PARTS, strict=True)]


def _noise(tokens: float) -> float:
    return hypot(_NOISE_TOKENS, _NOISE_SHARE * tokens)


def _with_growth(doubts: list[list[float]], before: Sequence[float], now: Sequence[float]) -> list[list[float]]:
    """The doubt in the factors once the amounts changed: of a part that is half new, half of its spread."""
    # Before the first report nothing was learned that could be outdated.
    if not before:
        return doubts
    changes = [abs(b - a) / larger if (larger := max(a, b)) else 0.0 for a, b in zip(before, now, strict=True)]
    growth = [(part[3] * change) ** 2 for part, change in zip(REQUEST_PARTS, changes, strict=True)]
    return _with_diagonal(doubts, growth)


def _with_diagonal(matrix: list[list[float]], diagonal: Sequence[float]) -> list[list[float]]:
    sums = [line.copy() for line in matrix]
    for place, each in enumerate(diagonal):
        sums[place][place] += each
    return sums


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    total: float = sum(map(mul, left, right))
    return total


def _spread(doubts: list[list[float]], units: Sequence[float]) -> float:
    rows = zip(units, doubts, strict=True)
    return sum([a * b * doubt for a, row in rows for b, doubt in zip(units, row, strict=True)])


def _matrix(triangle: Sequence[float]) -> list[list[float]]:
    """The whole symmetric matrix of its upper triangle by rows."""
    matrix = [[0.0] * PART_COUNT for _ in range(PART_COUNT)]
    for (row, col), value in zip(_UPPER, triangle, strict=True):
        matrix[row][col] = matrix[col][row] = value
    return matrix


def _triangle(matrix: list[list[float]]) -> Vector:
    """The upper triangle of a symmetric matrix, by rows."""
    return _shortened([matrix[row][col] for row, col in _UPPER])


def _shortened(values: Sequence[float]) -> Vector:
    """Seven digits each: what is kept in every state is no longer than it is known."""
    return tuple(map(float, ("%.7g " * len(values) % tuple(values)).split()))


class MeasuredRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request of a model at a time (Unix ms): its parts, its number of messages, tokens of its frame by our
    counter, and what was reported of it (`None`: nothing yet)."""

    model: str
    time: int = msgspec.field(name="at")
    parts: RequestParts
    messages: int = 0
    hud: int = 0
    spent: ResponseTokens | None = None


class ModelCalibrations(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the requests of a session measured, and what that says of how its models count.

    `last` is the last request that told its parts, `reported` the last of which usage was reported; both `None`
    after a compaction until the next.
    """

    models: tuple[ModelCalibration, ...] = ()
    last: MeasuredRequest | None = None
    reported: MeasuredRequest | None = None

    def of(self, model: str) -> ModelCalibration:
        """Return what is known of a model; where it is nothing, the calibration that everything begins with."""
        return next((each for each in self.models if each.model == model), ModelCalibration(model))


CALIBRATION_EVENTS = (ContextSnapshot, CompactAfter)


def request_amounts(request: MeasuredRequest) -> Vector:
    """Return the amounts of a request, one for each of `REQUEST_PARTS`."""
    parts = request.parts
    untold = 0.0
    if parts.system is None:
        untold = 1.0 if parts.tools is None else UNREPORTED_SYSTEM_SHARE
    outputs = sum([output.size for output in parts.outputs])
    amounts = (
        parts.system or 0,
        parts.tools or 0,
        untold,
        parts.words,
        outputs,
        request.messages,
        request.hud,
    )
    return tuple([float(max(0, each)) for each in amounts])


def reduce_calibrations(calibrations: ModelCalibrations, event: Event) -> ModelCalibrations:
    """Return the calibrations after an event of `CALIBRATION_EVENTS`."""
    match event.payload:
        case ContextSnapshot() as snapshot:
            if snapshot.learned is not None:
                calibrations = _take_over(calibrations, snapshot.learned)
            if snapshot.spent is not None:
                calibrations = _take_report(calibrations, snapshot, snapshot.spent, event.timestamp)
            if snapshot.call is not None and snapshot.parts is not None:
                sent = snapshot.sent.messages if snapshot.sent else 0
                model = snapshot.model or (calibrations.last.model if calibrations.last else "")
                last = MeasuredRequest(model, event.timestamp, snapshot.parts, sent, snapshot.call.tokens)
                calibrations = msgspec.structs.replace(calibrations, last=last)
            return calibrations
        case CompactAfter():
            return msgspec.structs.replace(calibrations, last=None, reported=None)
    return calibrations


def learn_ahead(calibrations: ModelCalibrations, reported: int) -> None:
    """Work out what a report of so many tokens for the last request teaches; return nothing.

    `reduce_calibrations` is quick when that report comes.
    """
    request = calibrations.last
    if request is not None and request.spent is None:
        _learned(calibrations.of(request.model), request_amounts(request), reported)


@lru_cache(maxsize=2)
def _learned(calibration: ModelCalibration, amounts: Vector, reported: int) -> ModelCalibration:
    return learn_from_report(calibration, amounts, reported)


def _take_report(
    calibrations: ModelCalibrations, snapshot: ContextSnapshot, spent: ResponseTokens, time: int
) -> ModelCalibrations:
    """A report belongs to the last request, where that has none yet and was made before: reports of responses from
    before the HUD, of another model's, and of calls that were not told, belong to none."""
    request = calibrations.last
    if request is None or request.spent is not None or time < request.time:
        return calibrations
    if snapshot.model and snapshot.model != request.model:
        return calibrations
    request = msgspec.structs.replace(request, spent=spent)
    learned = _learned(calibrations.of(request.model), request_amounts(request), spent.request)
    return ModelCalibrations(_with_model(calibrations.models, learned), request, request)


def _take_over(calibrations: ModelCalibrations, learned: LearnedCalibration) -> ModelCalibrations:
    """What is learned here goes before what others learned, and vectors of another version are passed over."""
    if not _is_sound(learned.factors, learned.doubts) or calibrations.of(learned.model).reports:
        return calibrations
    other = ModelCalibration(learned.model, learned.factors, learned.doubts, reports=learned.reports)
    models = _with_model(calibrations.models, inherit_calibration(other))
    return msgspec.structs.replace(calibrations, models=models)


def _with_model(models: tuple[ModelCalibration, ...], new: ModelCalibration) -> tuple[ModelCalibration, ...]:
    return (*(each for each in models if each.model != new.model), new)[-MAX_MODELS:]
