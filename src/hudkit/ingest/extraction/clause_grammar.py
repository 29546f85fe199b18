"""A sentence as its grammar: what kind of speech act it is, whose, in which tense, of how many, for which case.

The tables of the other modules know wordings. Here only the small classes of words are known that English has of each
kind (pronouns, quantifiers, modals, negations, conjunctions, words of time, of insisting, of chatting, of complaining …), and what stands in which
place. `features` names what is found; `how_lasting` weighs it: how much a sentence reads like one that is said for more
than the moment. The weights are learned from labelled sentences (`python -m bench.recorder_weights`, decision 41).

| sentence | what is found | sum |
|---|---|---|
| `Speakers get 25 minutes` | all of a kind, in the present; a number | above 0: it is kept |
| `We got 25 minutes` | we, in the past; a number | below 0 |
| `Commit titles in lower case` | no verb; all of a kind; "in" | above 0 |
| `Translate the second title` | an order; one thing | below 0 |
"""

# ruff: noqa: E501 (lists of words)
from __future__ import annotations

import itertools
import re
from functools import lru_cache

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.clause_weights import weights
from hudkit.ingest.extraction.lexicon import VERBS
from hudkit.ingest.extraction.word_classes import (
    AUTHORITY,
    BASES,
    CLASSES,
    COMPARED,
    IRREGULAR,
    KEEPING_VERBS,
    NEIGHBOURS,
    NUMBER_WORDS,
    ONCE_VERBS,
    OTHER_VERBS,
    OUTSIDERS,
    TIME_NOUNS,
    TWO_WORDS,
    WORK_NOUNS,
)

_CLASS = {word: name for name, row in CLASSES.items() for word in row.split()}
_PAIRS = frozenset((pair.split()[0], pair.split()[1]) for pair in NEIGHBOURS.split(";"))
_TWO_WORDS = {" ".join(two.split()): name for name, row in TWO_WORDS.items() for two in row.split(";")}
_ALL_VERBS = (VERBS | OTHER_VERBS) - frozenset(["in", "on", "for", "with", "to", "log", "logs", "please", "back"])

_TOKEN = re.compile(r"[$€£]?\d[\w.,:/%€$£-]*|'?[^\W\d_][\w'./@#&+-]*|[·]+|[,;:?!()…–—]|\.{2,}|-(?= )")
_CONTRACTED = any_case(
    r"\b((?:i|you|we|they|he|she|it|that|this|there|what|who|how|where)(?='(?:s|m|re|ve|ll|d)\b)|(?:is|are|was|were|have|has|had|would|could|should|must|need|does|did|ca|wo|sha)(?=n't\b))('?n?'?[a-z]+)"
)
"""A word with another one drawn to it: "we'll", "isn't"."""
_MAX_TOKENS = 60
"""Words of a sentence that are looked at."""


_FINITE = frozenset(
    ["be", "was", "must", "should", "may", "would", "will", "have", "had", "do", "dont", "did", "need", "want"]
)
_SKIPPED = frozenset(["please", "chat", "and_", "only", "remember_", "because"])
_SUBJECTS = frozenset(
    ["I", "we", "you", "it", "they", "one", "none", "all", "my", "your", "his", "the", "a", "few", "no", "there"]
)


def _is_plural(word: str) -> bool:
    return len(word) > 3 and word[-1] == "s" and word[-2] not in "sui'" and "'" not in word


def _shape(word: str) -> str:
    """The class of a word that no list has: by its ending, its digits, its capital."""
    lower = word.lower()
    if word[0].isdigit() or (word[0] in "$€£" and len(word) > 1) or lower in NUMBER_WORDS:
        return "number"
    if word[0] == "·":
        return "quoted"
    if not word[0].isalpha():
        return "mark"
    if lower in TIME_NOUNS:
        return "day"
    if lower in IRREGULAR:
        return "ed"
    if lower in _ALL_VERBS:
        return "verb"
    if lower.endswith("ing") and len(lower) > 5:
        return "ing"
    if lower.endswith("ed") and len(lower) > 3 and lower not in _ALL_VERBS:
        return "ed"
    if lower.endswith("s") and (lower[:-1] in _ALL_VERBS or lower[:-2] in _ALL_VERBS):
        return "verbs"
    if _is_plural(lower):
        return "plural"
    return "noun"


def word_class(word: str) -> str:
    """Return the class of a word: its list's, or the one that its form shows; `nothing` where there is none."""
    if not word:
        return "nothing"
    return _CLASS.get(word.lower()) or _shape(word)


def features(text: str) -> list[str]:
    """Return the names of what a sentence has, each once."""
    text = text.replace("’", "'")
    words = _TOKEN.findall(_CONTRACTED.sub(r"\1 \2", text) if "'" in text else text)[:_MAX_TOKENS]
    if not words:
        return []
    classes = [_CLASS.get(word.lower()) or _shape(word) for word in words]
    names = {f"has {name}" for name in classes}
    names.update(_whole(words, classes))
    names.update(_frame(words, classes))
    return list(names)


def _whole(words: list[str], classes: list[str]) -> list[str]:
    """What is found wherever it stands: length, figures, names, punctuation, first and last word."""
    names = []
    count = sum(name != "mark" for name in classes)
    names.append(
        "words "
        + (
            "1-2"
            if count < 3
            else "3-4"
            if count < 5
            else "5-8"
            if count < 9
            else "9-15"
            if count < 16
            else "16-25"
            if count < 26
            else "26-"
        )
    )
    if any(word[0].isupper() and len(word) > 1 for word in words[1:]):
        names.append("a name")
    names += [f"mark {name}" for mark, name in _MARKS.items() if mark in words]
    names.append(f"first {classes[0]}")
    last = next((place for place in range(len(words) - 1, -1, -1) if classes[place] != "mark"), 0)
    names.append(f"last {classes[last]}")
    for place in range(len(words) - 1):
        pair = (classes[place], classes[place + 1])
        if pair in _PAIRS:
            names.append(f"pair {pair[0]} {pair[1]}")
        if words[place] == "," and classes[place + 1] in ("never", "no", "only", "none"):
            names.append("but not")
    lower = [word.lower() for word in words]
    names += [
        name
        for name, row in (("an authority", AUTHORITY), ("an outsider", OUTSIDERS), ("a single thing", WORK_NOUNS))
        if not row.isdisjoint(lower)
    ]
    for place in range(len(lower) - 1):
        two = f"{lower[place]} {lower[place + 1]}"
        if two in _TWO_WORDS:
            names.append(f"two {_TWO_WORDS[two]}")
    if any(
        word in COMPARED or (word.endswith("er") and word[:-2] in BASES) or (word.endswith("ier") and len(word) > 5)
        for word in lower
    ):
        names.append("compared")
    if words[-1] == ":":
        names.append("ends open")
    general = not _GENERAL.isdisjoint(classes) or any(pair in _GENERAL_PAIRS for pair in itertools.pairwise(classes))
    names.append("general" if general else "particular")
    if "day" in classes and any(word.lower().endswith("days") and word.lower() in TIME_NOUNS for word in words):
        names.append("every such day")
    return names


_MARKS = {":": "colon", ",": "comma", ";": "semicolon", "?": "question", "!": "exclamation", "(": "bracket"}
_GENERAL = frozenset(
    ["all", "never", "none", "no", "only", "if_", "most", "instead", "future", "must", "should", "dont", "insist"]
)
_GENERAL_PAIRS = frozenset([("verb", "plural"), ("verb", "noun")])


def _frame(words: list[str], classes: list[str]) -> list[str]:
    """What the main clause is: an order, a statement of somebody or something in a tense, or words without a verb."""
    names: list[str] = []
    start, size = 0, len(words)
    while start < size and (
        classes[start] in _SKIPPED
        or classes[start] == "mark"
        or words[start].lower() in ("also", "then", "here", "again")
    ):
        start += 1
    if start >= size:
        return ["frame nothing"]
    lead = classes[start]
    if lead in ("if_", "prep") or words[start].lower() in ("as", "in", "for", "should"):
        # A case or a topic before the main clause: up to the comma, or up to the order.
        comma = next((place for place in range(start + 2, min(size, start + 22)) if words[place] in ",:"), 0)
        order = next(
            (place for place in range(start + 2, min(size, start + 16)) if classes[place] in ("please", "dont") or (classes[place] == "verb" and classes[place - 1] not in ("we", "you", "they", "I", "the", "a", "prep", "my", "your", "his", "may", "must", "should", "will", "would", "dont", "do", "plural", "one", "all", "never", "no", "and_"))), 0
        )  # fmt: skip
        case = "case" if lead == "if_" else "topic"
        of = _CLASS.get(words[start + 1].lower()) or _shape(words[start + 1]) if start + 1 < size else "nothing"
        names.append(f"{case} {of}")
        cut = comma or order
        if cut and cut + 1 < size:
            names.append(f"{case} before")
            start = cut if cut == order else cut + 1
            while start < size and (
                classes[start] in _SKIPPED or classes[start] == "mark" or words[start].lower() in ("then", "also")
            ):
                start += 1
            if start >= size:
                return [*names, "frame nothing"]
    else:
        for place in range(start + 2, size - 1):
            if classes[place] == "if_":
                names.append(f"case behind {classes[place + 1]}")
                break
    main = classes[start:]
    first, second = main[0], main[1] if len(main) > 1 else "nothing"
    third = main[2] if len(main) > 2 else "nothing"
    if first == "verb" and second not in _FINITE | {"verbs"} and not (second == "plural" and third in _FINITE):
        word = words[start].lower()
        kind = "keeping" if word in KEEPING_VERBS else "once" if word in ONCE_VERBS else "other"
        general = not _GENERAL.isdisjoint(classes) or second in ("plural", "noun", "ing")
        scope = "general" if general else "particular"
        return [
            *names,
            "frame order",
            f"order {second}",
            f"order of {kind}",
            f"order of {kind} {scope}",
            *(
                [f"order {second} {third}"]
                if second in ("the", "a", "it", "my", "all", "no", "never", "only")
                else []
            ),
        ]
    if first == "dont" or (first == "do" and second == "never"):
        return [*names, "frame order not", f"order not {second}"]
    if first in ("never", "all", "only") and second == "verb":
        return [*names, f"frame order {first}"]
    if first == "let":
        return [*names, f"frame let {second}"]
    if first in ("be", "do", "did", "was", "have", "will", "would", "may", "should") and second in _SUBJECTS:
        return [*names, f"frame question {first}", "frame question"]
    if first == "wh":
        return [*names, "frame wh"]
    place = next((place for place in range(min(len(main), 12)) if _is_finite(main, place)), -1)
    if place < 0:
        names += ["frame bare", f"bare {first}"]
        if "prep" in main:
            names.append("bare with prep")
        if first in ("plural", "noun", "verbs", "ing", "number", "day"):
            names.append(
                "bare thing"
                + (" prep" if "prep" in main else "")
                + (" not" if "never" in main else "")
                + (" number" if "number" in main else "")
            )
        return names
    if place == 0:
        return [*names, f"frame subjectless {first}"]
    verb = main[place]
    tense = {"was": "past", "ed": "past", "had": "past", "did": "past", "verb": "now", "verbs": "now", "be": "now", "have": "now", "do": "now", "dont": "now"}.get(verb, verb)  # fmt: skip
    if verb == "be" and place + 1 < len(main) and main[place + 1] == "ing":
        tense = "doing"
    if verb == "have" and place + 1 < len(main) and main[place + 1] in ("ed", "was"):
        tense = "has done"
    subject = first
    if first in ("noun", "verbs", "ing", "verb") and place > 1 and main[place - 1] in ("plural", "verbs"):
        subject = "plural"
    elif first in ("the", "my", "your", "his", "a", "no", "all"):
        subject = first + ("s" if main[place - 1] == "plural" else "")
    elif first == "noun" and words[start][0].isupper() and (start > 0 or place == 1):
        subject = "name"
    behind = main[place + 1] if place + 1 < len(main) else "nothing"
    names += [f"frame {tense}", f"of {subject}", f"{subject} {tense}", f"{verb} then {behind}"]
    if tense == "now" and subject not in ("I", "it", "they", "you"):
        names.append("thing now")
        names.append(
            f"thing now {'number' if 'number' in main[place:] else 'day' if 'day' in main[place:] else 'plain'}"
        )
    return names


def _is_finite(main: list[str], place: int) -> bool:
    name = main[place]
    if name in _FINITE:
        return True
    before = main[place - 1] if place else "nothing"
    if name == "verbs":
        return (
            place > 0
            and before in ("noun", "it", "they", "one", "none", "all", "ing", "quoted", "verb", "number", "day")
            and (
                place + 1 >= len(main)
                or main[place + 1] not in ("be", "was", "must", "should", "may", "will", "verb", "have")
            )
        )
    if name == "verb":
        return before in ("I", "we", "you", "they", "plural", "all", "few", "verbs", "sometimes") or (
            before in ("never",) and place > 1
        )
    return (
        name == "ed"
        and before not in ("be", "was", "have", "had", "the", "a", "nothing", "my", "prep", "get")
        and place > 0
    )


class Reading(msgspec.Struct, frozen=True):
    """How a sentence reads: its weight in hundredths of a logit, from 0 on more likely lasting than not, and the names of
    what it has."""

    weight: int
    is_order: bool
    names: frozenset[str] = frozenset()

    @property
    def frame(self) -> str:
        """Return the name of what the main clause is."""
        return min((name for name in self.names if name.startswith("frame ")), default="")


@lru_cache(maxsize=1_024)  # a sentence is asked for by each reader of a message
def read_sentence(text: str) -> Reading:
    """Return how much a sentence reads like one that is said for more than the moment."""
    names = frozenset(features(text))
    table = weights()
    weight = table[""] + sum(table.get(name, 0) for name in names)
    return Reading(weight, not names.isdisjoint(_ORDERS), names)


_ORDERS = frozenset(["frame order", "frame order not", "frame order never", "frame order all", "frame order only"])
