"""Tokens of a request by its parts, corrected for a model by what was reported of its requests.

A request is estimated as the sum of its parts, each with a density (tokens a character) and a factor by which the
model differs from it. The factors are learned by recursive least squares (a Kalman filter whose state is the factors,
all 1 at first): each report moves them by as much as they are in doubt, and the doubt grows again where a part
changes, because new text need not be as dense as the old. A report far beyond the doubt moves them no further than
`FAR` deviations, unless a second one agrees with it: then the model itself is another one. Pure and deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, isfinite, sqrt
from statistics import median

import msgspec

# part, tokens of a unit of it before anything is known, how much its factor is in doubt at first (a deviation),
# and how much the density of new text differs from that of the old
PARTS: tuple[tuple[str, float, float, float], ...] = (
    ("system", 0.22, 0.25, 0.05),  # characters of the host's system prompt
    ("tools", 0.15, 0.3, 0.05),  # characters of the definitions of tools
    ("untold", 8_000.0, 0.7, 0.0),  # 1 where the host tells neither
    ("words", 0.26, 0.3, 0.5),  # characters of messages and calls
    ("outputs", 0.3, 0.3, 0.5),  # characters of what tools brought
    ("messages", 5.0, 0.5, 0.0),  # messages
    ("hud", 1.0, 0.1, 0.02),  # tokens of the frame, by our counter
)
"""The parts of a request in the order of every vector here."""

SIZE = len(PARTS)
EXACT = 25.0
"""Tokens by which even a model with known factors differs from the sum."""
SHARE = 0.002
"""The same as a share of the request."""
FAR = 3.0
"""Deviations beyond which a report is taken for an exception."""
KEPT = 20
"""Estimates of which the error is remembered."""
LEAST, MOST = 0.1, 10.0
"""Factors beyond these are not used: no tokenizer is that far from another."""

Vector = tuple[float, ...]


class Calibration(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of how a model counts: `factors` of `PARTS`, `doubts` (their covariance, the upper triangle by
    rows), the `amounts` of the last request that was learned from, `reports` so far, the share by which each of the
    last estimates was wrong, and `strange`: how many reports in a row were far off."""

    model: str = ""
    factors: Vector = (1.0,) * SIZE
    doubts: Vector = tuple(
        PARTS[row][2] ** 2 if row == column else 0.0 for row in range(SIZE) for column in range(row, SIZE)
    )
    amounts: Vector = ()
    reports: int = 0
    errors: Vector = ()
    strange: int = 0

    @property
    def error(self) -> float | None:
        """The median share by which the last estimates were wrong, each made before its report; `None`: no report."""
        return median(self.errors) if self.errors else None


class Estimate(msgspec.Struct, frozen=True):
    """Tokens of a request; `doubt` is the deviation to be expected, `shares` are the tokens of each of `PARTS`."""

    tokens: float
    doubt: float
    shares: Vector


def estimate(known: Calibration, amounts: Sequence[float]) -> Estimate:
    """What a request of these amounts (one for each of `PARTS`) comes to."""
    units = _units(amounts)
    shares = tuple(unit * min(MOST, max(LEAST, factor)) for unit, factor in zip(units, known.factors, strict=True))
    total = sum(shares)
    spread = _spread(_grown(_matrix(known.doubts), known.amounts, amounts), units)
    return Estimate(total, hypot(sqrt(max(spread, 0.0)), _noise(total)), shares)


def learn(known: Calibration, amounts: Sequence[float], reported: int) -> Calibration:
    """What is known after a request of these amounts was reported to have so many tokens."""
    expected = estimate(known, amounts)
    wrong = abs(reported - expected.tokens) / reported if reported > 0 else 0.0
    if reported <= 0 or not expected.tokens:
        return known
    units = _units(amounts)
    doubts = _grown(_matrix(known.doubts), known.amounts, amounts)
    far = abs(reported - expected.tokens) > FAR * expected.doubt
    if far and known.strange:
        doubts = _added(doubts, [part[2] ** 2 for part in PARTS])
    moved = [sum(a * b for a, b in zip(row, units, strict=True)) for row in doubts]
    spread = max(0.0, sum(a * b for a, b in zip(moved, units, strict=True))) + _noise(reported) ** 2
    off = reported - sum(a * b for a, b in zip(units, known.factors, strict=True))
    if far and not known.strange:
        limit = FAR * sqrt(spread)
        off = max(-limit, min(limit, off))
    gain = [each / spread for each in moved]
    rest = [[doubts[row][col] - gain[row] * moved[col] for col in range(SIZE)] for row in range(SIZE)]
    factors = tuple(_short(factor + step * off) for factor, step in zip(known.factors, gain, strict=True))
    flat = tuple(_short(rest[row][col]) for row in range(SIZE) for col in range(row, SIZE))
    if not sound(factors, flat):
        return known
    return Calibration(
        model=known.model,
        factors=factors,
        doubts=flat,
        amounts=tuple(amounts),
        reports=known.reports + 1,
        errors=(*known.errors, round(wrong, 5))[-KEPT:],
        strange=known.strange + 1 if far and not known.strange else 0,
    )


def sound(factors: Vector, doubts: Vector) -> bool:
    """Whether vectors are of this version's length and of a size that can be reckoned with."""
    fits = len(factors) == SIZE and len(doubts) == SIZE * (SIZE + 1) // 2
    return fits and all(isfinite(each) and abs(each) < 1e6 for each in (*factors, *doubts))


def inherited(known: Calibration) -> Calibration:
    """What another session of the model begins with: the factors, in more doubt, and no errors of its own."""
    doubts = _added(_matrix(known.doubts), [(part[2] / 5) ** 2 for part in PARTS])
    flat = tuple(_short(doubts[row][col]) for row in range(SIZE) for col in range(row, SIZE))
    return Calibration(known.model, known.factors, flat, reports=known.reports)


def _units(amounts: Sequence[float]) -> list[float]:
    return [amount * part[1] for amount, part in zip(amounts, PARTS, strict=True)]


def _noise(tokens: float) -> float:
    return hypot(EXACT, SHARE * tokens)


def _grown(doubts: list[list[float]], before: Sequence[float], now: Sequence[float]) -> list[list[float]]:
    """The doubt in the factors once the amounts changed: of a part that is half new, half of its spread."""
    if not before:
        return doubts
    changes = [abs(b - a) / max(a, b) if max(a, b) else 0.0 for a, b in zip(before, now, strict=True)]
    return _added(doubts, [(part[3] * change) ** 2 for part, change in zip(PARTS, changes, strict=True)])


def _added(matrix: list[list[float]], diagonal: Sequence[float]) -> list[list[float]]:
    return [
        [each + diagonal[row] if row == col else each for col, each in enumerate(line)]
        for row, line in enumerate(matrix)
    ]


def _spread(doubts: list[list[float]], units: Sequence[float]) -> float:
    return sum(a * b * doubts[row][col] for row, a in enumerate(units) for col, b in enumerate(units))


def _matrix(triangle: Sequence[float]) -> list[list[float]]:
    """The whole symmetric matrix of its upper triangle by rows."""
    found = [[0.0] * SIZE for _ in range(SIZE)]
    values = iter(triangle)
    for row in range(SIZE):
        for col in range(row, SIZE):
            found[row][col] = found[col][row] = next(values)
    return found


def _short(value: float) -> float:
    """Seven digits: what is kept in every state is no longer than it is known."""
    return float(f"{value:.7g}")
