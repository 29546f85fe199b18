"""Values in a sentence, by kind: amounts, dates, time zones, addresses, names, identifiers, counts.

A value makes a statement worth keeping, and two statements about one thing with different values of one kind cannot
both hold. "The API token lasts 24 hours" has `("hour", "24")`; "Keep it under five hundred dollars" has
`("money", "500")`. Values are found by their form, never by their words, but for units, months and zones.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

import msgspec

from hudkit.ingest.extraction.caseless import any_case

_CACHED_TEXTS = 4_096

_ONES = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS: dict[str, int] = {
    **{word: number for number, word in enumerate(_ONES.split(), 1)},
    "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "eighty": 80, "ninety": 90,
}  # fmt: skip
_FACTORS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_NUMBER_WORD = rf"(?:{'|'.join((*_NUMBERS, 'a'))})(?: (?:{'|'.join(_FACTORS)}))|(?:{'|'.join(_NUMBERS)})"
_NUMBER = rf"(?:\d[\d.,]*\d|\d|{_NUMBER_WORD})"

_MONTHS = (
    "jan(?:uary)? feb(?:ruary)? mar(?:ch)? apr(?:il)? may june? july? aug(?:ust)? sept?(?:ember)? oct(?:ober)?"
    " nov(?:ember)? dec(?:ember)?"
)
_MONTH = rf"(?:{'|'.join(_MONTHS.split())})"
_UNITS = (
    "second|sec|minute|min|hour|day|week|month|year|ms|percent|%|kb|mb|gb|tb|kib|mib|gib|px|pixel|column|character|char|line|word|digit"
    "|file|commit|approval|review|reviewer|retry|retrie|attempt|time|space|replica|core|thread|worker|connection|request|row|item|point"
)

_KINDS: tuple[tuple[str, str], ...] = (
    ("address", r"(?<!\w)(?:https?|wss?|ssh|git|ftp|s3|postgres(?:ql)?|redis|mysql|amqp)://[^\s,;)]*[^\s,;).]"),
    ("address", r"(?<![\w.@+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    (
        "address",
        r"(?<![\w./-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.){1,5}(?:com|org|net|io|dev|app|example|internal|local|lan|corp|test|intranet|cloud|ai|de|uk|eu|fr|ch|no|se)(?::\d+)?(?:/[\w./-]*\w)?\b",
    ),
    ("address", r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.])"),
    (
        "money",
        rf"[$€£]\s?\d[\d,.]*\d?(?:\s?(?:k|m|million|thousand))?\b|(?<!\d[.,])\b{_NUMBER} ?(?:dollars?|euros?|usd|eur|gbp|pounds?|chf|cents?)\b",
    ),
    ("date", r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)"),
    (
        "date",
        rf"\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b|\b\d{{1,2}}(?:st|nd|rd|th)?\.?(?: of)? {_MONTH}\b(?: \d{{4}})?",
    ),
    ("time", r"(?<![\d:.])\d{1,2}:\d\d(?: ?[ap]m)?(?![\d:])|(?<![\d:.])\d{1,2} ?[ap]m\b"),
    (
        "zone",
        r"\b(?:UTC|GMT|CET|CEST|EST|EDT|PST|PDT|MST|IST|JST|BST)(?:[+-]\d{1,2})?\b|\b(?i:(?:pacific|central|eastern|mountain|local|server) time)\b|\b[A-Z][a-z]+/[A-Z][A-Za-z_]+\b",
    ),
    ("units", r"\b(?:metric|imperial|si)(?= (?:units?|measurements?|system))"),
    ("path", r"(?<![\w./:-])[a-z][\w.-]*/[\w./-]*[\w]"),
    ("phone", r"(?<!\w)\+\d[\d ()-]{6,}\d|(?<![\w.])0\d{2,4}[ /-]\d[\d -]{4,}\d"),
    (
        "id",
        r"(?<!\w)(?<!\w-)(?=[A-Za-z0-9])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])(?!\d+(?:st|nd|rd|th|ms|s|kb|mb|gb|px|k|m|h|d|x|am|pm)\b)[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*\b",
    ),
    ("version", r"\b(?:v\d+(?:\.\d+)*|\d+\.\d+(?:\.\d+)*)\b|\b[A-Z][\w+#.]*[A-Za-z] \d+(?:\.\d+)*\b"),
    ("unit", rf"(?<!\d[.,])\b(?P<number>{_NUMBER})[ -]?(?P<unit>{_UNITS})(?:e?s)?\b"),
    ("once", r"(?<=\bevery )(?P<unit>second|minute|hour|day|week|month|year)\b"),
    ("number", rf"(?<![\w.,-])(?:\d[\d.,]*\d|\d|{_NUMBER_WORD})(?![\w-]|\.\d)"),
)
"""How a value of each kind reads. A text that is part of an earlier one is none of a later kind."""

_CASED = frozenset({"zone", "version", "address", "path"})
_PERSON = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof)\.? )?\b(?!(?:The|This|That|Our|My|We|If|In|On|For|From|All|No|Only|Never|Always|Use|Please|January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b)[A-Z][a-zà-ÿ]+ (?:[A-Z][a-zà-ÿ]+)\b"
)
_NAMED = re.compile(
    r"\b(?:called|named|codename|label|name)(?: is| are|:)? (?P<name>[A-Z][\w-]+)|\b(?:renamed|rename) [\w ]{2,30}? to (?P<renamed>[A-Z][\w-]+)"
)

EXACT_KINDS = frozenset({"address", "money", "date", "phone", "id", "version", "path", "person"})
"""Kinds that are hard to remember: a statement with such a value is worth a note."""


class Value(msgspec.Struct, frozen=True):
    """A value: its kind (of a counted one the unit), what it comes to, and where it stands."""

    kind: str
    amount: str
    start: int
    end: int


@lru_cache(maxsize=_CACHED_TEXTS)
def find_values(text: str) -> tuple[Value, ...]:
    """Return the values of a text in their order; none lies in another."""
    values: list[Value] = []
    for value in _candidates(text):
        if all(value.end <= other.start or value.start >= other.end for other in values):
            values.append(value)
    return tuple(sorted(values, key=lambda value: value.start))


def values_by_kind(text: str) -> dict[str, frozenset[str]]:
    """Return the amounts of each kind of value in a text."""
    kinds: dict[str, set[str]] = {}
    for value in find_values(text):
        kinds.setdefault(value.kind, set()).add(value.amount)
    return {kind: frozenset(amounts) for kind, amounts in kinds.items()}


def with_value(text: str, correction: str) -> str:
    """Return a text with its one value of the kind that a correction names; empty where it has none or several.

    `with_value("It lasts 24 hours", "make that 12")` is `It lasts 12 hours`.
    """
    new = find_values(correction)
    if len(new) != 1:
        return ""
    counted = [
        value
        for value in find_values(text)
        if value.kind == new[0].kind or (new[0].kind == "number" and value.kind not in EXACT_KINDS - {"money"})
    ]
    if len(counted) != 1 or counted[0].amount == new[0].amount:
        return ""
    old, words = counted[0], correction[new[0].start : new[0].end]
    if new[0].kind == "number" and old.kind != "number":
        words = re.sub(r"\d[\d.,]*\d|\d|^[A-Za-z]+", words, text[old.start : old.end], count=1)
    return text[: old.start] + words + text[old.end :]


def without_values(text: str) -> str:
    """Return a text with its values left out: what it is about."""
    pieces, start = [], 0
    for value in find_values(text):
        pieces.append(text[start : value.start])
        start = value.end
    return " ".join((*pieces, text[start:]))


_DIGIT = re.compile(r"\d")
_HAS_NUMBER = any_case(rf"\d|\b(?:{'|'.join((*_NUMBERS, *_FACTORS))})")
_NEEDS_DIGIT = frozenset(["date", "time", "phone", "id", "version"])
_NEEDS_NUMBER = frozenset(["money", "unit", "number"])
_NEEDS = {"address": frozenset("@.:"), "path": frozenset("/")}
_TWO_CAPITALS = re.compile(r"[A-Z][^A-Z]*[A-Z]")
"""What a text has that has a value of some kind: most have none, and are not looked through for it."""


def _candidates(text: str) -> Iterator[Value]:
    has_digit, has_number = _DIGIT.search(text) is not None, _HAS_NUMBER.search(text) is not None
    for kind, pattern in _patterns():
        if (
            (kind in _NEEDS_DIGIT and not has_digit)
            or (kind in _NEEDS_NUMBER and not has_number)
            or (kind in _NEEDS and _NEEDS[kind].isdisjoint(text))
        ):
            continue
        for match in pattern.finditer(text):
            words = match.group()
            if kind == "unit":
                unit = match["unit"].casefold()
                yield Value(unit, _amount(match["number"]), match.start(), match.end())
            elif kind == "money":
                yield Value(
                    kind,
                    _amount(re.sub(r"(?i)[$€£]|\s*(?:dollars?|euros?|usd|eur|gbp|pounds?|chf|cents?)$", "", words)),
                    match.start(),
                    match.end(),
                )
            elif kind == "once":
                yield Value(match["unit"].casefold(), "1", match.start(), match.end())
            elif kind == "number":
                yield Value(kind, _amount(words), match.start(), match.end())
            else:
                yield Value(kind, words.casefold(), match.start(), match.end())
    for match in _NAMED.finditer(text):
        group = "name" if match["name"] else "renamed"
        yield Value("name", match[group].casefold(), match.start(group), match.end(group))
    for match in _PERSON.finditer(text) if _TWO_CAPITALS.search(text) else ():
        yield Value("person", match.group().casefold(), match.start(), match.end())


@cache  # compiled with the first message, not when the package is imported
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern) if kind in _CASED else any_case(pattern)) for kind, pattern in _KINDS)


def _amount(words: str) -> str:
    """A number as its digits: "five hundred" is "500", "1,200" is "1200"."""
    folded = words.strip().casefold()
    if folded[:1].isdigit():
        return folded.replace(",", "").rstrip(".")
    total = 1
    for word in folded.split():
        total *= _FACTORS.get(word, _NUMBERS.get(word, 1))
    return str(total)


def sets_value(line: str) -> bool:
    """Return whether a sentence gives something a value, and does not only count it or call it by its number."""
    return _SETS_VALUE.search(line) is not None and _COUNTS_ONLY.search(line) is None and not names_by_number(line)


def names_by_number(line: str) -> bool:
    """Return whether a sentence calls a piece of work by its number: "go on with chapter 3"."""
    return _NAMES_BY_NUMBER.search(line) is not None


_SETS_VALUE = any_case(
    r"\b(?:rais\w+|lower\w*|cut|cutting|slip\w*|earlier|later|behind|ahead|it is|talked (?:me|us) into|settled on|insists? on|increas\w+|reduc\w+|bump\w*|extend\w*|push\w*|mov\w+|delay\w*|postpon\w+|shift\w*|upgrad\w+|downgrad\w+|switch\w*|chang\w+|doubl\w+|halv\w+|make (?:it|that)|allow\w*|up to|as of|since|now|new|instead|gave|gives?|grants?|granted|wants?|asks? for|charge[sd]?|better|enough|will do|would do|suffice|is (?:fine|ok|okay|plenty)|let's|it's|rather|at (?:least|most)|only|down to|please|should be|needs to be|got|approved)\b"
)
"""Words by which a value is set."""
_COUNTS_ONLY = any_case(
    r"\b(?:spent|used|so far|took|takes|lasted|hit|counted|found|has (?:about |only |now )?\d|have (?:about |only |now )?\d|left|remain\w*|failed|passed|errors?|warnings?|times (?:now|today)|already|o'clock|yesterday|today|ago|of them|line \d|page \d|row \d|step \d|id \d|number \d|#\d|split|minutes? ago|remind|show|print|first \d|last \d|next \d|add|create)\b"
)
"""Words by which something is only counted, or named by its number."""
_NAMES_BY_NUMBER = any_case(
    r"\b(?:do|start|begin|write|go (?:on )?(?:to|with)|continue with|open|see|look at|on to|in|on|of|for) (?:chapter|page|row|line|step|section|table|figure|slide|exercise|question|ticket|issue|point|part|item|paragraph|version|draft|column|scene) \d+\b"
)
"""A piece of work that is called by its number: that gives nothing another value."""
