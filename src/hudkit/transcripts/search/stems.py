"""Words and their stems, by the index's own tokenizer: a scratch table stems what is not known yet."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from hudkit.transcripts.search.question import quoted

_REMEMBERED = 100_000


class Stems:
    """What words are stemmed to, and for each stem a word that has it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._stems: dict[str, str] = {}
        self._words: dict[str, str] = {}

    def begin(self) -> None:
        """A new question: what it learns stays known until the next one begins."""
        if len(self._stems) > _REMEMBERED:
            self._stems.clear()
            self._words.clear()

    def learn(self, words: Iterable[str]) -> None:
        """Stem the words whose stems are not known."""
        new = [word for word in dict.fromkeys(words) if word not in self._stems]
        if not new:
            return
        self._db.execute("DELETE FROM scratch.stems")
        self._db.executemany("INSERT INTO scratch.stems (rowid, t) VALUES (?, ?)", enumerate(new))
        for doc, stem in self._db.execute("SELECT doc, term FROM scratch.stemmed WHERE offset = 0"):
            self._stems[new[doc]] = stem
            self._words.setdefault(stem, new[doc])

    def of(self, word: str) -> str:
        """A word's stem; empty where it is not known or has none."""
        return self._stems.get(word, "")

    def match(self, stem: str) -> str:
        """The expression that matches a stem: a word that has it. The stem itself would be stemmed once more."""
        return quoted(self._words[stem])
