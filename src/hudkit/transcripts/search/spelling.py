"""Words that are there, for a word that is not: those that contain it, and those that are spelt much like it."""

from __future__ import annotations

import sqlite3
from difflib import SequenceMatcher

from hudkit.transcripts.search.question import quoted

MOST = 4
"""Words that stand in for one."""

CONTAINED = 0.7
"""What a word counts that contains the one that was asked for; a fragment says less than a word."""

ALIKE = 0.72
"""Likeness (0 to 1) from which a word may be a misspelling of another."""

_LOOKED_AT = 400


def spellings(db: sqlite3.Connection, word: str) -> list[tuple[str, float]]:
    """Words of the vocabulary in place of `word`, each with what it counts beside it; none for a word below three
    letters, of which there are no trigrams."""
    if len(word) < 3:
        return []
    sql = f"SELECT word FROM spellings WHERE spellings MATCH ? LIMIT {_LOOKED_AT}"
    holding = sorted((found for (found,) in db.execute(sql, (quoted(word),))), key=lambda found: (len(found), found))
    if holding:
        return [(found, CONTAINED) for found in holding[:MOST]]
    if len(word) < 4:
        return []
    # a misspelling leaves one of the outer thirds whole
    third = max(len(word) // 2, 3)
    edges = " OR ".join(quoted(edge) for edge in {word[:third], word[-third:], word[:3], word[-3:]})
    near = (found for (found,) in db.execute(sql, (edges,)) if abs(len(found) - len(word)) <= 2)
    rated = [(found, SequenceMatcher(None, word, found).ratio()) for found in near]
    alike = sorted((one for one in rated if one[1] >= ALIKE), key=lambda one: (-one[1], one[0]))
    return [(found, CONTAINED * likeness) for found, likeness in alike[:MOST]]
