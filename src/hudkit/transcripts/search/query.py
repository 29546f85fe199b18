"""A question to the index, as plain values: what is looked for, where, and what was found."""

from __future__ import annotations

import re

import msgspec

MAX_QUERY_WORDS = 24
"""Words of a question that are looked for; those behind them are not."""

MAX_HITS = 200

STOP_WORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being but by can could did do does
    doing done for from get got had has have having he her here him his how i if in into is it its just let like made
    make many me might more most much must my no nor not now of off on once one only or other our out over own please
    said same say she should so some such than that the their them then there these they thing things this those to
    too under up us use used using very was we were what when where which while who whom whose why will with would you
    your""".split()  # noqa: SIM905
)
"""Words that tell nothing of what is meant."""

RELATED: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split())
    for group in (
        "auth authentication authorization login",
        "db database",
        "config configuration settings",
        "repo repository",
        "env environment",
        "dep dependency",
        "perf performance speed",
        "prod production",
        "doc documentation docs",
        "pkg package",
        "dir directory folder",
        "err error failure exception",
        "bug defect",
        "msg message",
        "param parameter argument",
        "spec specification",
        "infra infrastructure",
        "k8s kubernetes",
        "js javascript",
        "ts typescript",
        "py python",
        "postgres postgresql",
        "delete remove drop",
        "choose pick decide select",
        "fix repair solve resolve",
        "timeout deadline",
        "slow latency",
        "limit cap maximum",
    )
)
"""Words that programmers use for one another; a relative counts less than the word itself."""

_PIECE = re.compile(r'"([^"]{1,400})"|([^\W_]+)')


class SearchFilters(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a passage must be; empty: anything. Times are Unix ms, negative ones so long before the newest;
    `since` is within, `until` is not.

    `project` is a directory (of it or below it), or a part of one.
    """

    session: str = ""
    project: str = ""
    host: str = ""
    role: str = ""
    tool: str = ""
    since: int = 0
    until: int = 0


class SearchQuery(msgspec.Struct, frozen=True):
    """What is asked of the index.

    `syntax`: `text` is an expression of SQLite's FTS5; else it is words, of which those in quotes must occur as they
    stand.
    """

    text: str
    filters: SearchFilters = SearchFilters()
    limit: int = 10
    syntax: bool = False


class SearchHit(msgspec.Struct, frozen=True):
    """A message that was found: its best passage's role, tool, time and snippet; `score` orders the hits of one
    answer and means nothing beside another's."""

    session: str
    message: str
    host: str
    role: str
    tool: str
    time: int
    title: str
    project: str
    snippet: str
    score: float


class QueryWords(msgspec.Struct, frozen=True):
    """A question's words (in lower case, in order, each once) and the phrases that must occur."""

    words: tuple[str, ...]
    phrases: tuple[str, ...]


def parse_query(text: str) -> QueryWords:
    """Return what a user's text looks for; words that tell nothing are left out where others are there."""
    words: list[str] = []
    phrases: list[str] = []
    for phrase, word in _PIECE.findall(text):
        if phrase and re.search(r"\w", phrase):
            phrases.append(phrase)
            words += (part.lower() for part in re.findall(r"[^\W_]+", phrase))
        elif word:
            words.append(word.lower())
    # "What is it" has nothing but such words: then they are looked for.
    telling = [word for word in words if word not in STOP_WORDS]
    return QueryWords(tuple(dict.fromkeys(telling or words))[:MAX_QUERY_WORDS], tuple(phrases[:MAX_QUERY_WORDS]))
