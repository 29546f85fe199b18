"""What fills a window: a total in parts that add up to it, the exact ones as they are, the estimated ones scaled."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Share(msgspec.Struct, frozen=True):
    """Tokens of a part; `exact` where they were counted or reported, not estimated."""

    part: str
    tokens: int
    exact: bool = False


def breakdown(
    total: int, estimated: Sequence[tuple[str, float]], exact: Sequence[tuple[str, int]] = ()
) -> tuple[Share, ...]:
    """Shares that add up to `total`, the largest first, without those of nothing.

    The estimated parts are scaled to what the exact ones leave. Where these alone are more than the total, or nothing
    else is known, all parts are scaled and none is exact.
    """
    left = total - sum(tokens for _, tokens in exact)
    if left >= 0 and (sum(weight for _, weight in estimated) > 0 or not left):
        shares = [Share(part, tokens, True) for part, tokens in exact]
        rest = list(estimated)
    else:
        shares, left, rest = [], total, [*estimated, *exact]
    names = [part for part, _ in rest]
    shares += map(Share, names, _whole(left, [max(weight, 0.0) for _, weight in rest]))
    return tuple(sorted((one for one in shares if one.tokens), key=lambda one: -one.tokens))


def _whole(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers in proportion to `weights` that add up to `total`; the largest remainders are rounded up."""
    everything = sum(weights)
    if not everything:
        return [0] * len(weights)
    scaled = [total * weight / everything for weight in weights]
    found = [int(each) for each in scaled]
    order = sorted(range(len(scaled)), key=lambda n: found[n] - scaled[n])
    for n in order[: total - sum(found)]:
        found[n] += 1
    return found
