"""What was offered as one or the other ("NATS or Redis?"): deciding for one ends a decision for the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hudkit.ingest.extraction.prose import Sentence
from hudkit.ingest.extraction.vocabulary import subjects

MOST = 12
"""Pairs that are remembered, the newest."""

Pair = tuple[str, str]

_NAMES = r"[\w.+/'-]+(?: [\w.+/'-]+){0,2}"
_PAIR = re.compile(rf"(?i)(?P<one>{_NAMES}),? (?:or|vs\.?|versus) (?:an? |the |just |maybe |to )*(?P<other>{_NAMES})")


def offered(said: Sequence[Sentence]) -> Iterator[Pair]:
    """The pairs of alternatives that these sentences name, as words."""
    for sentence in said:
        for match in _PAIR.finditer(sentence.bare):
            yield match["one"], match["other"]


def excludes(new: frozenset[str], old: frozenset[str], pairs: Sequence[Pair]) -> bool:
    """Whether a decision for the subject `new` ends one for the subject `old`."""
    return any(_parts(new, old, one, other) or _parts(new, old, other, one) for one, other in pairs)


def _parts(new: frozenset[str], old: frozenset[str], one: str, other: str) -> bool:
    mine, theirs = subjects(one) - subjects(other), subjects(other) - subjects(one)
    return bool(new & mine and old & theirs) and not (new & theirs or old & mine)
