"""The scripted model that writes summaries: it keeps each line that tells of a planted fact with a probability.

A real summary is bounded: `MOST` tokens here, about what coding agents ask their models for in a window of this size.
Where the lines do not fit, those of the facts that were planted last stay, wherever the input has them. A fact's
statement and its end are two lines; each is drawn once per summary, however often the input has it, so that a system
that says things twice has no better chance.
"""

from __future__ import annotations

import random
import re

from bench.retention.sessions import Script
from hudkit.tokens import shared_counter

MOST = 2000
"""Tokens of a summary."""

LONGEST = 300
"""Characters of a line that are kept."""

_WORD = re.compile(r"[a-z]+x\b|[a-z]+x(?=_)")
_OVER = re.compile(
    r"no longer|\bdone\b|outdated|withdrawn|superseded|removed|dropped|\bpassed\b|closed|resolved|\blifted\b|~~"
    r"|\bcompleted?\b|\bleft:",
    re.IGNORECASE,
)
_HEAD = re.compile(r"([^:·\n]*\(\d+\)): ")
"""The head of a section that is one line: what it says of its items holds for all of them."""
_CLAUSE = re.compile(r"\n|(?<=[.;·])\s")
_TAG = re.compile(r"</?(?:message|content|tool_call|human|ai|tool)\b[^>]*>")
_HUD = re.compile(r"<hud>.*?</hud>", re.DOTALL)
_ENDED = re.compile(r"<over>.*?</over>", re.DOTALL)


def is_end(line: str) -> bool:
    """Whether a line says that what it names is over."""
    return _OVER.search(line) is not None


def sides(text: str) -> tuple[set[str], set[str]]:
    """The words that a text tells as live, and those that it says are over, clause by clause."""
    stated: set[str] = set()
    ended: set[str] = set()
    for line in text.splitlines():
        head = _HEAD.match(line)
        is_over = head is not None and is_end(head[1])
        for clause in _CLAUSE.split(line):
            if found := words(clause):
                (ended if is_over or is_end(clause) else stated).update(found)
    return stated, ended


def words(text: str) -> set[str]:
    """What may be words of planted facts."""
    return set(_WORD.findall(text))


class Summariser:
    """Writes summaries of one session; the n-th of a system draws the same for all systems."""

    def __init__(self, script: Script, probability: float) -> None:
        self._facts = script.facts
        self._order = {word: place for place, word in enumerate(self._facts)}
        self._name = f"{script.scene} {script.seed}"
        self._probability = probability
        self.written = 0
        self._count = shared_counter().count

    def __call__(self, prompt: str) -> str:
        """The summary of what a prompt holds. What it holds between `<hud>` tags is said to survive, and the prompt
        says not to copy it: this model does as it is told. What it holds between `<over>` tags is said to be so no
        longer: it heeds each fact of it with its probability."""
        self.written += 1
        shown = {word for block in _HUD.findall(prompt) for word in words(block)}
        ended = {word for block in _ENDED.findall(prompt) for word in words(block) if self._keeps(word, over=True)}
        kept: dict[tuple[str, bool], str] = {}
        for line in _ENDED.sub("", _HUD.sub("", prompt)).splitlines():
            found = (words(line) & self._facts.keys()) - ended
            if not found or found <= shown:
                continue
            over = is_end(line)
            for word in sorted(found):
                if self._keeps(word, over):
                    kept.setdefault((word, over), _plain(line, word))
        return "\n".join(self._bounded(kept)) or "Nothing of note."

    def _keeps(self, word: str, over: bool) -> bool:
        draw = random.Random(f"{self._name} {self.written} {word} {over}").random()
        return draw < self._probability

    def _bounded(self, kept: dict[tuple[str, bool], str]) -> list[str]:
        """The lines in their order, without those that do not fit."""
        room = MOST
        fitting: set[str] = set()
        for _, line in sorted(kept.items(), key=lambda one: self._order[one[0][0]], reverse=True):
            cost = 0 if line in fitting else self._count(line) + 1
            if cost > room:
                break
            room -= cost
            fitting.add(line)
        return [line for line in dict.fromkeys(kept.values()) if line in fitting]


def _plain(line: str, word: str) -> str:
    text = " ".join(_TAG.sub(" ", line).split())
    if len(text) <= LONGEST:
        return text
    place = text.index(word)
    return text[max(place - LONGEST // 2, 0) : place + LONGEST // 2]
