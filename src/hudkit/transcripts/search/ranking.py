"""How well a passage answers: BM25 over stems, words that stand together, who says it, and how old it is. Pure.

BM25: a term's score is its weight (how rare it is) times `count * (K1 + 1) / (count + norm)`, so that the first
occurrence counts most and a long passage needs more of them. Of the terms that stand for one word of the question
the best counts. Example, two words of weight 3 in a passage of `TYPICAL` length that holds each once:

    each:     3 * 1 * 2.2 / (1 + 1.2) = 3
    together: + 0.35 * 3, where they stand within NEAR words of each other
    covered:  * (0.6 + 0.4 * 1), as both words of the question are there          -> 7.05
    with one of the two words only: 3 * (0.6 + 0.4 * 0.5)                          -> 2.4
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

K1, B = 1.2, 0.6
TYPICAL = 60.0
"""Words of a passage of ordinary length."""

IN_PARTS = 0.5
"""What a word counts that is only within an identifier."""

TOGETHER = 0.35
"""What two words of the question add that follow each other within `NEAR` words, as a share of their weight."""

NEAR = 4
FRESH = 0.12
"""What the newest passage has over an old one, as a share."""

HALF_LIFE = 30 * 24 * 3_600_000.0
"""Milliseconds in which half of that is gone."""

ROLE: Mapping[str, float] = {
    "user": 1.05,
    "assistant": 1.0,
    "summary": 0.85,
    "tool": 0.8,
    "reasoning": 0.75,
    "host": 0.6,
}


class Term(NamedTuple):
    """A stem that is looked for: the word of the question that it stands for, and what it counts (0 to 1) times how
    rare it is."""

    stem: str
    word: int
    weight: float


TermPositions = Mapping[tuple[str, str], Sequence[int]]
"""Where in a passage stems are: by stem and column (`t` or `p`)."""


def rarity(count: int, total: int) -> float:
    """Return BM25's inverse document frequency, never below 0.05: a word that is everywhere still counts a little."""
    return max(math.log(1 + (total - count + 0.5) / (count + 0.5)), 0.05)


def relevance(terms: Sequence[Term], places: TermPositions, length: int) -> float:
    """Return what a passage of `length` words scores for these terms; of one word's terms the best counts."""
    best: dict[int, float] = {}
    first: dict[int, Sequence[int]] = {}
    weights: dict[int, float] = {}
    norm = K1 * (1 - B + B * length / TYPICAL)
    for term in terms:
        weights[term.word] = max(weights.get(term.word, 0.0), term.weight)
        spots = places.get((term.stem, "t"), ())
        count = len(spots) + IN_PARTS * len(places.get((term.stem, "p"), ()))
        if not count:
            continue
        score = term.weight * count * (K1 + 1) / (count + norm)
        if score > best.get(term.word, 0.0):
            best[term.word] = score
            first[term.word] = spots
    if not best:
        return 0.0
    together = sum(
        TOGETHER * min(weights[a], weights[b])
        for a, b in zip(sorted(first), sorted(first)[1:], strict=False)
        if _near(first[a], first[b])
    )
    covered = sum(weights[word] for word in best) / sum(weights.values())
    return (sum(best.values()) + together) * (0.6 + 0.4 * covered)


def _near(a: Sequence[int], b: Sequence[int]) -> bool:
    return any(0 < abs(y - x) <= NEAR for x in a[:20] for y in b[:20])


def passage_weight(role: str, age: float) -> float:
    """Return what a passage counts for who says it and how old it is (in ms before the newest)."""
    return ROLE.get(role, 1.0) * (1 + FRESH * math.exp2(-max(age, 0.0) / HALF_LIFE))
