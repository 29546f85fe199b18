"""The index as it is asked: from words to candidates (bounded, by the rarest words), then ranked among themselves.

A question is answered in four steps, of which none grows with the index:

1. Terms. Each word of the question is stemmed; words that programmers use for one another count half; a word that
   is nowhere in the index is replaced by words that contain it or are spelt much like it (`_similar_words`).
2. Candidates. Words are taken from the rarest on, as long as the passages that hold one stay at most `COMMON` in
   all; the best `MAX_CANDIDATES` of those are ranked. Where even the rarest is that common, the passages that hold
   all words are looked at, the newest first: the newest is preferred only where nothing else decides.
3. Ranking: BM25, words that stand together, who says it, how old it is; the best passage of a message.
4. Neighbours: a message beside a good one gets a share of its score, because an answer follows its question. The
   longer the message, the smaller its share: a short one is understood with what stands beside it, a long one that
   lacks the words is about something else.

    question "refresh token expiry"     in 40, 9,000 and 12 passages
    candidates from expiry (12) and refresh (52 in all); token (9,000) would go beyond COMMON and brings none
    all three words count in the ranking

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
import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple
from unicodedata import combining, normalize

import msgspec

from hudkit.errors import OperationError
from hudkit.log.stores.sqlite_files import store_errors
from hudkit.transcripts.search.index_database import open_reader
from hudkit.transcripts.search.passages import identifier_words
from hudkit.transcripts.search.query import (
    MAX_HITS,
    RELATED,
    QueryWords,
    SearchFilters,
    SearchHit,
    SearchQuery,
    parse_query,
)

# -- words for a word that is not there ------------------------------------------------------------------------------


_MAX_SPELT = 64
"""Letters of a word for which another is looked for: a longer one has thousands of trigrams (abuse case E1)."""

MAX_SPELLINGS = 4
"""Words that stand in for one."""

FRAGMENT_SHARE = 0.7
"""What a word counts that contains the one that was asked for; a fragment says less than a word."""

MIN_LIKENESS = 0.72
"""Likeness (0 to 1) from which a word may be a misspelling of another."""

_MAX_VOCABULARY_MATCHES = 400


def _similar_words(db: sqlite3.Connection, word: str) -> list[tuple[str, float]]:
    """Return words of the vocabulary in place of `word`, each with its share of the weight.

    Words that contain it come first; else those that are spelt much like it, which are found by the trigrams of its
    ends: a misspelling leaves one of the outer thirds whole. None for a word below three letters, of which there are
    no trigrams, and for one longer than any word of the vocabulary. `tokn` (not there) gives `token` with 0.62.
    """
    if not 3 <= len(word) <= _MAX_SPELT:
        return []
    sql = f"SELECT word FROM spellings WHERE spellings MATCH ? LIMIT {_MAX_VOCABULARY_MATCHES}"
    holding = sorted(
        (candidate for (candidate,) in db.execute(sql, (_fts_string(word),))),
        key=lambda candidate: (len(candidate), candidate),
    )
    if holding:
        return [(candidate, FRAGMENT_SHARE) for candidate in holding[:MAX_SPELLINGS]]
    if len(word) < 4:
        return []
    # a misspelling leaves one of the outer thirds whole
    third = max(len(word) // 2, 3)
    edges = " OR ".join(_fts_string(edge) for edge in {word[:third], word[-third:], word[:3], word[-3:]})
    near = (candidate for (candidate,) in db.execute(sql, (edges,)) if abs(len(candidate) - len(word)) <= 2)
    rated_words = [(candidate, SequenceMatcher(None, word, candidate).ratio()) for candidate in near]
    alike = sorted((pair for pair in rated_words if pair[1] >= MIN_LIKENESS), key=lambda pair: (-pair[1], pair[0]))
    return [(candidate, FRAGMENT_SHARE * likeness) for candidate, likeness in alike[:MAX_SPELLINGS]]


# -- stems -----------------------------------------------------------------------------------------------------------


_MAX_STEMS = 100_000


class _StemCache:
    """Stems of words, by the index's own tokenizer, and for each stem a word that has it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._stems: dict[str, str] = {}
        self._words: dict[str, str] = {}

    def begin(self) -> None:
        """Begin a new question: what it learns stays known until the next one begins."""
        if len(self._stems) > _MAX_STEMS:
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
        """Return a word's stem; empty where it is not known or has none."""
        return self._stems.get(word, "")

    def match(self, stem: str) -> str:
        """Return the expression that matches a stem: a word that has it.

        The stem itself would be stemmed once more.
        """
        return _fts_string(self._words[stem])


COMMON = 6_000
"""Passages with a word from which on it is common."""

MAX_CANDIDATES = 120
"""Passages that are ranked."""

MAX_SCANNED = 20_000
"""Newest passages that are looked at where words do not help: signs only, or common words with a filter."""

RELATED_SHARE = 0.5
"""What a relative of a word counts, beside the word itself."""

NEIGHBOUR_SHARE = 0.8
"""What a short message has from a better one beside it in the conversation: the answer that follows a question."""

NEIGHBOUR_WORDS = 60
"""Words up to which a message is short; one of twice as many has half of that share."""

NEIGHBOUR_REACH = 3
ENOUGH_CANDIDATES = 30
"""Candidates of rare words below which the common ones bring some, too; and of all words, below which one does."""

FEW_SESSIONS = 24
"""Sessions up to which each is looked at by itself at once."""

MANY_SESSIONS = 400
"""Sessions up to which each is looked at by itself where the newest passages brought nothing."""

NEIGHBOUR_HITS = 20  # best messages whose neighbours are looked at
_CORE_WORDS = 20
"""Words of a snippet that are chosen for the question; the others stand around them, more of them behind."""

_COLUMNS = "e.id, e.session, e.place, e.message, e.role, e.tool, e.time, e.text, e.parts"


class _PassageRow(NamedTuple):
    id: int
    session: int
    place: int
    message: str
    role: str
    tool: str
    time: int
    text: str
    parts: str


class _RankedPassage(NamedTuple):
    score: float
    row: _PassageRow


class IndexReader:
    """Questions to an index. Safe to use from several threads: one question at a time."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}  # of one question
        self._only: list[int] | None = None  # the sessions that it asks about, where they are few
        self._stems = _StemCache(db)

    @classmethod
    def open(cls, path: str | Path, *, busy_timeout: float = 2.0) -> IndexReader:
        """Return the index at `path`, for questions. Raises a `StoreError`, also where there is no index yet."""
        place = Path(path).absolute()
        return cls(place, open_reader(place, busy_timeout))

    def search(self, question: SearchQuery) -> tuple[SearchHit, ...]:
        """Return the messages that answer best, at most `question.limit`, the best first.

        Raises `OperationError` for a `syntax` question that FTS5 does not understand, and a `StoreError`.
        """
        limit = max(1, min(question.limit, MAX_HITS))
        question = msgspec.structs.replace(question, text=question.text.encode("utf-8", "replace").decode())
        with self._lock, store_errors(self.path):
            where, values = self._where(question.filters)
            if where is None:
                return ()
            self._counts.clear()
            self._stems.begin()
            query = parse_query(question.text)
            if question.syntax:
                terms, match = self._terms(query, exact=True), question.text
                rows = self._by_syntax(match, where, values)
            elif not query.words:
                return self._hits(
                    [_RankedPassage(0.0, row) for row in self._by_signs(question.text, where, values, limit)]
                )
            else:
                query = QueryWords((*query.words, *_identifier_parts(question.text, query.words)), query.phrases)
                terms = self._terms(query)
                rows = self._candidates(terms, query, where, values)
            ranked = self._ranked(terms, rows)
            # With a filter on who speaks, the message beside it is not what was asked for.
            if not question.filters.role and not question.filters.tool:
                ranked = self._with_neighbours(ranked, where, values)
            return self._hits(ranked[:limit], terms)

    def counts(self) -> dict[str, int]:
        """Return the numbers of sessions, messages and passages in the index."""
        with self._lock, store_errors(self.path):
            sessions, messages = self._db.execute(
                "SELECT count(*), coalesce(sum(messages), 0) FROM sessions"
            ).fetchone()
            (passages,) = self._db.execute("SELECT count(*) FROM entries").fetchone()
            return {"sessions": sessions, "messages": messages, "passages": passages}

    def close(self) -> None:
        """Closing twice is harmless."""
        with self._lock:
            self._db.close()

    # -- filters -----------------------------------------------------------------------------------------------

    def _where(self, filters: SearchFilters) -> tuple[str | None, list[object]]:
        """Conditions on `e`, and their values; `None` where no session can fit."""
        self._only = None
        parts: list[str] = []
        values: list[object] = []
        if filters.session or filters.project or filters.host:
            keys = self._keys(filters)
            if not keys:
                return None, []
            self._only = keys[:MANY_SESSIONS]
            parts.append(f"e.session IN ({', '.join(map(str, keys))})")
        for name in ("role", "tool"):
            if getattr(filters, name):
                parts.append(f"e.{name} = ?")
                values.append(getattr(filters, name))
        for time, comparison in ((filters.since, ">="), (filters.until, "<")):
            if time:
                parts.append(f"e.time {comparison} ?")
                values.append(time if time > 0 else self._newest_time() + time)
        return "".join(f" AND {part}" for part in parts), values

    def _newest_time(self) -> int:
        """When the newest session was last written to: "now", as far as the index can know."""
        return int(self._db.execute("SELECT coalesce(max(updated), 0) FROM sessions").fetchone()[0])

    def _keys(self, filters: SearchFilters) -> list[int]:
        sql, values = "SELECT key FROM sessions WHERE 1", []
        if filters.session:
            sql += " AND id = ?"
            values.append(filters.session)
        if filters.host:
            sql += " AND host = ?"
            values.append(filters.host)
        if filters.project:
            sql += " AND (instr(root, ?) OR instr(directory, ?))"
            values += [filters.project, filters.project]
        return [key for (key,) in self._db.execute(f"{sql} ORDER BY updated DESC", values)]

    # -- words -------------------------------------------------------------------------------------------------

    def _terms(self, query: QueryWords, *, exact: bool = False) -> list[_Term]:
        """Stems to look for, each once for a word, with what they count."""
        total = max(self._db.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0], 1)
        terms: list[_Term] = []
        self._stems.learn(query.words)
        for n, word in enumerate(query.words):
            stem = self._stems.of(word)
            if not stem or any(stem == term.stem for term in terms):
                continue
            count = self._count(stem)
            weight = _rarity(count, total)
            terms.append(_Term(stem, n, weight))
            if exact:
                continue
            others = [(other, RELATED_SHARE) for other in _related_words(word)]
            if not count:
                others += _similar_words(self._db, word)
            self._stems.learn([other for other, _ in others])
            for other, share in others:
                stem = self._stems.of(other)
                counted = self._count(stem) if stem else 0
                if counted:
                    terms.append(_Term(stem, n, share * min(_rarity(counted, total), weight)))
        return terms

    def _count(self, stem: str) -> int:
        """Passages with a stem, counted up to `COMMON`."""
        if stem not in self._counts:
            sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
            self._counts[stem] = int(self._db.execute(sql, (self._stems.match(stem), COMMON + 1)).fetchone()[0])
        return self._counts[stem]

    # -- candidates --------------------------------------------------------------------------------------------

    def _candidates(
        self, terms: Sequence[_Term], query: QueryWords, where: str, values: list[object]
    ) -> list[_PassageRow]:
        counts = {term.stem: self._count(term.stem) for term in terms}
        held = sorted((stem for stem, count in counts.items() if count), key=counts.__getitem__)
        if not held:
            return []
        bound = 0
        rare: list[str] = []
        for stem in held:
            bound += counts[stem]
            if bound > COMMON:
                break
            rare.append(stem)
        must = "".join(f" AND {_fts_string(phrase)}" for phrase in query.phrases)
        if rare:
            match = f"({' OR '.join(map(self._stems.match, rare))}){must}"
            rows = self._rows(match, where, values, "ORDER BY bm25(words, 1.0, 0.5)", MAX_CANDIDATES)
            common = held[len(rare) :]
            # Few passages have a rare word: the newest with a common one may answer just as well.
            if len(rows) >= ENOUGH_CANDIDATES or not common:
                return rows
            ids = {row.id for row in rows}
            more = self._newest(f"({' OR '.join(map(self._stems.match, common))}){must}", where, values)
            return [*rows, *(row for row in more if row.id not in ids)]
        groups: dict[int, list[str]] = defaultdict(list)
        for term in terms:
            if counts[term.stem]:
                groups[term.word].append(self._stems.match(term.stem))
        every = " AND ".join(f"({' OR '.join(group)})" for group in groups.values())
        rows = self._newest(every + must, where, values)
        if len(rows) < ENOUGH_CANDIDATES:
            ids = {row.id for row in rows}
            more = self._newest(f"{self._stems.match(held[0])}{must}", where, values)
            rows += [row for row in more if row.id not in ids]
        return rows[:MAX_CANDIDATES]

    def _newest(self, match: str, where: str, values: list[object]) -> list[_PassageRow]:
        """The newest passages that match: all of them in few sessions, else of the newest `MAX_SCANNED`."""
        if self._only is None or len(self._only) > FEW_SESSIONS:
            rows = self._within("", match, where, values, MAX_CANDIDATES)
            if rows or self._only is None:
                return rows
        rows = []
        for key in self._only:
            sql = "SELECT min(id), max(id) FROM entries WHERE session = ?"
            first, last = self._db.execute(sql, (key,)).fetchone()
            if first is not None:
                span = f" AND rowid BETWEEN {int(first)} AND {int(last)}"
                rows += self._within(span, match, where, values, MAX_CANDIDATES - len(rows))
            if len(rows) >= MAX_CANDIDATES:
                break
        return rows

    def _within(self, span: str, match: str, where: str, values: list[object], limit: int) -> list[_PassageRow]:
        inner = f"SELECT rowid FROM words WHERE words MATCH ?{span} ORDER BY rowid DESC LIMIT {MAX_SCANNED}"
        sql = f"SELECT {_COLUMNS} FROM ({inner}) AS f JOIN entries e ON e.id = f.rowid WHERE 1{where} LIMIT ?"
        return [_PassageRow(*row) for row in self._db.execute(sql, (match, *values, limit))]

    def _rows(self, match: str, where: str, values: list[object], order: str, limit: int) -> list[_PassageRow]:
        ids = f"SELECT words.rowid AS id, bm25(words, 1.0, 0.5) AS b FROM words WHERE words MATCH ? {order} LIMIT ?"
        if where:
            ids = (
                f"SELECT e.id, bm25(words, 1.0, 0.5) AS b FROM words JOIN entries e ON e.id = words.rowid "
                f"WHERE words MATCH ?{where} {order} LIMIT ?"
            )
        args = (match, *values, limit) if where else (match, limit)
        sql = f"SELECT {_COLUMNS} FROM ({ids}) AS f JOIN entries e ON e.id = f.id ORDER BY f.b"
        return [_PassageRow(*row) for row in self._db.execute(sql, args)]

    def _by_syntax(self, match: str, where: str, values: list[object]) -> list[_PassageRow]:
        try:
            return self._newest(match, where, values)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            hint = 'An example: NEAR(token refresh, 5) OR "rate limit". Without `syntax`, words are only words.'
            raise OperationError(f"the search expression cannot be read ({error})", hint=hint) from None

    def _by_signs(self, text: str, where: str, values: list[object], limit: int) -> list[_PassageRow]:
        """Where a question has no words: the newest passages that hold it as it stands."""
        if not text.strip():
            return []
        newest = f"SELECT * FROM entries ORDER BY id DESC LIMIT {MAX_SCANNED}"
        sql = f"SELECT {_COLUMNS} FROM ({newest}) AS e WHERE instr(e.text, ?){where} LIMIT ?"
        return [_PassageRow(*row) for row in self._db.execute(sql, (text.strip(), *values, limit))]

    # -- ranking -----------------------------------------------------------------------------------------------

    def _ranked(self, terms: Sequence[_Term], rows: Sequence[_PassageRow]) -> list[_RankedPassage]:
        """The best passage of each message, the best first."""
        places, lengths = self._places(terms, rows)
        newest = max((row.time for row in rows), default=0)
        best: dict[tuple[int, str], _RankedPassage] = {}
        for row in rows:
            score = _relevance(terms, places.get(row.id, {}), lengths.get(row.id, 1))
            ranked = _RankedPassage(score * _passage_weight(row.role, newest - row.time), row)
            key = (row.session, row.message)
            if key not in best or best[key].score < ranked.score:
                best[key] = ranked
        return sorted(best.values(), key=_order)

    def _places(
        self, terms: Sequence[_Term], rows: Sequence[_PassageRow]
    ) -> tuple[Mapping[int, _TermPositions], Mapping[int, int]]:
        """Where in each passage the stems are, in words from its beginning, and how many words it has.

        A passage is not read word by word: what all words of a stem begin with is looked for, and only the words
        found there are stemmed.
        """
        stems = {term.stem for term in terms}
        beginnings = _distinct_beginnings(stems)
        occurrences: list[tuple[int, str, str, list[tuple[int, str]]]] = []
        lengths: dict[int, int] = {}
        for row in rows:
            text = _folded(row.text)
            lengths[row.id] = text.count(" ") + 1
            occurrences.append((row.id, "t", text, _words_beginning(beginnings, text)))
            if row.parts:
                parts = _folded(row.parts)
                occurrences.append((row.id, "p", parts, _words_beginning(beginnings, parts)))
        self._stems.learn(word for _, _, _, words in occurrences for _, word in words)
        places: dict[int, dict[tuple[str, str], list[int]]] = {row.id: {} for row in rows}
        for id, column, text, words in occurrences:
            place = read_to = 0
            for start, word in words:
                stem = self._stems.of(word)
                if stem in stems:
                    place += text.count(" ", read_to, start)
                    read_to = start
                    places[id].setdefault((stem, column), []).append(place)
        return places, lengths

    def _with_neighbours(
        self, ranked: list[_RankedPassage], where: str, values: list[object]
    ) -> list[_RankedPassage]:
        """The same with the messages beside the best ones, each with a share of the best score beside it."""
        scores = {(hit.row.session, hit.row.place): hit.score for hit in ranked}
        rows = {(hit.row.session, hit.row.place): hit.row for hit in ranked}
        for hit in ranked[:NEIGHBOUR_HITS]:
            sql = (
                f"SELECT {_COLUMNS} FROM entries e WHERE e.session = ? AND e.place BETWEEN ? AND ? "
                f"AND e.piece = 0 AND e.role IN ('user', 'assistant'){where}"
            )
            span = (hit.row.session, hit.row.place - NEIGHBOUR_REACH, hit.row.place + NEIGHBOUR_REACH)
            for values_of in self._db.execute(sql, (*span, *values)):
                row = _PassageRow(*values_of)
                rows.setdefault((row.session, row.place), row)
        lifted = []
        for (session, place), row in rows.items():
            beside = max(
                scores.get((session, place + step), 0.0) / abs(step)
                for step in range(-NEIGHBOUR_REACH, NEIGHBOUR_REACH + 1)
                if step
            )
            share = NEIGHBOUR_SHARE * min(1.0, NEIGHBOUR_WORDS / (row.text.count(" ") + 1))
            lifted.append(_RankedPassage(scores.get((session, place), 0.0) + share * beside, row))
        return sorted(lifted, key=_order)

    # -- answers -----------------------------------------------------------------------------------------------

    def _hits(self, ranked: Sequence[_RankedPassage], terms: Sequence[_Term] = ()) -> tuple[SearchHit, ...]:
        keys = {hit.row.session for hit in ranked}
        sql = f"SELECT key, id, host, title, root FROM sessions WHERE key IN ({', '.join(map(str, keys))})"
        sessions = {key: rest for key, *rest in self._db.execute(sql)}
        snippets = self._snippets([hit.row for hit in ranked], terms)
        return tuple(
            SearchHit(
                session=sessions[row.session][0],
                message=row.message,
                host=sessions[row.session][1],
                role=row.role,
                tool=row.tool,
                time=row.time,
                title=sessions[row.session][2],
                project=sessions[row.session][3],
                snippet=snippets.get(row.id) or _first_words(row.text),
                score=round(score, 3),
            )
            for score, row in ranked
            if row.session in sessions
        )

    def _snippets(self, rows: Sequence[_PassageRow], terms: Iterable[_Term]) -> dict[int, str]:
        match = " OR ".join(self._stems.match(stem) for stem in dict.fromkeys(term.stem for term in terms))
        if not match or not rows:
            return {}
        self._db.execute("DELETE FROM scratch.stems")
        self._db.executemany("INSERT INTO scratch.stems (rowid, t) VALUES (?, ?)", ((r.id, r.text) for r in rows))
        sql = f"SELECT rowid, snippet(stems, 0, '', '', '', {_CORE_WORDS}) FROM scratch.stems WHERE stems MATCH ?"
        texts = {row.id: row.text for row in rows}
        return {id: _with_words_around(core, texts[id]) for id, core in self._db.execute(sql, (match,))}


def _order(passage: _RankedPassage) -> tuple[float, int, int]:
    return (-passage.score, -passage.row.time, -passage.row.id)


def _identifier_parts(text: str, words: Sequence[str]) -> list[str]:
    """The words within a question's identifiers."""
    return [
        word for word in dict.fromkeys(identifier_words(text).lower().split()) if word not in words and len(word) > 1
    ]


def _with_words_around(core: str, text: str) -> str:
    """Return a piece of a passage with words before and behind it.

    SQLite's piece ends with the word that it was chosen for, where it begins with the others, as in a list of prices:
    what the question asks for stands behind that.
    """
    start = text.find(core)
    if start < 0:
        return _first_words(core)
    end = start + len(core)
    before = _WORDS_BEFORE.search(text, max(0, start - _AROUND_CHARACTERS), start)
    behind = _WORDS_BEHIND.match(text, end, end + _AROUND_CHARACTERS)
    first, last = before.start() if before else start, behind.end() if behind else end
    words = _first_words(text[first:last])
    return f"{'…' if first else ''}{words}{'…' if last < len(text) else ''}"


def _first_words(text: str) -> str:
    return " ".join(text[:600].split())[:300]


# -- ranking: how well a passage answers ---------------------------------------------------------------------

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


class _Term(NamedTuple):
    """A stem that is looked for: the word of the question that it stands for, and what it counts (0 to 1) times how
    rare it is."""

    stem: str
    word: int
    weight: float


_TermPositions = Mapping[tuple[str, str], Sequence[int]]
"""Where in a passage stems are: by stem and column (`t` or `p`)."""


def _rarity(count: int, total: int) -> float:
    """BM25's inverse document frequency, never below 0.05: a word that is everywhere still counts a little."""
    return max(math.log(1 + (total - count + 0.5) / (count + 0.5)), 0.05)


def _relevance(terms: Sequence[_Term], places: _TermPositions, length: int) -> float:
    """What a passage of `length` words scores for these terms; of one word's terms the best counts."""
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
    return any(abs(y - x) <= NEAR for x in a[:20] for y in b[:20])


def _passage_weight(role: str, age: float) -> float:
    """What a passage counts for who says it and how old it is (in ms before the newest)."""
    return ROLE.get(role, 1.0) * (1 + FRESH * math.exp2(-max(age, 0.0) / HALF_LIFE))


_WORD = re.compile(r"[^\W_]+")
_AROUND_CHARACTERS = 100
_WORDS_BEFORE = re.compile(r"(?:(?<!\S)\S{1,40}\s+){1,4}\Z")
_WORDS_BEHIND = re.compile(r"\S{0,40}(?:\s+\S{1,40}(?!\S)){0,8}")
_SPACE = str.maketrans("\n\t\r", "   ")


def _folded(text: str) -> str:
    """Return a text as the index has it before stemming: lower case, no diacritics; with blanks as its only space."""
    low = text.lower().translate(_SPACE)
    if not low.isascii():
        low = "".join(char for char in normalize("NFD", low) if not combining(char))
    return low


def stem_beginning(stem: str) -> str:
    """Return what every word that Porter's stemmer takes to a stem begins with.

    The stemmer takes endings away, and changes only what stands before them: `y` to `i` (`expiry`, `expiri`), `bil`
    to `bl` (`sensibility`, `sensibl`), and it may add an `e` (`hoping`, `hope`). So `expiri` gives `expir`.
    """
    for ending in ("ble", "bl", "e", "i"):
        if stem.endswith(ending) and len(stem) > len(ending) + 1:
            return stem[: -len(ending)] + ("b" if ending[0] == "b" else "")
    return stem


def _distinct_beginnings(stems: Iterable[str]) -> list[str]:
    """Return the beginnings of stems without those that begin with another one."""
    beginnings: list[str] = []
    for beginning in sorted({stem_beginning(stem) for stem in stems}):
        if not beginnings or not beginning.startswith(beginnings[-1]):
            beginnings.append(beginning)
    return beginnings


def _words_beginning(beginnings: Iterable[str], text: str) -> list[tuple[int, str]]:
    """Return the words of a folded text that begin so, with where they stand, in order."""
    words = []
    for beginning in beginnings:
        start = text.find(beginning)
        while start >= 0:
            end = start + 1
            if start == 0 or not text[start - 1].isalnum():
                word = _WORD.match(text, start)
                if word is not None:
                    words.append((start, word.group()))
                    end = word.end()
            start = text.find(beginning, end)
    words.sort()
    return words


def _fts_string(text: str) -> str:
    """Return a text as one string of the FTS5 syntax: nothing in it is an operator."""
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def _related_words(word: str) -> tuple[str, ...]:
    """Return other words for the same thing."""
    return tuple(other for group in RELATED if word in group for other in sorted(group) if other != word)
