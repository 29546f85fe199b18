"""Decisions announced in plain words, by the user or the agent, and those that they replace."""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from hudkit.ingest.extraction.alternatives import Pair, excludes
from hudkit.ingest.extraction.announcements import ANNOUNCED, BY_USER
from hudkit.ingest.extraction.doubts import asks, reports, supposes, wishes
from hudkit.ingest.extraction.prose import Sentence
from hudkit.ingest.extraction.vocabulary import shared, subjects

LONGEST = 200
"""Characters of a decision's summary."""

_AGAINST = re.compile(r"(?i)\b(?:instead of|rather than|in place of|over|not|replaces?|statt)\b(?P<old>[^;]+)")
_REASON = re.compile(r"(?i)\s(?:because|since|so that|so)\b.*$|[,:;(].*$|\s[-–—]\s.*$")
_BECAUSE = re.compile(r"(?i),? (?P<why>(?:because|since)\b.+)$")
_NOT_YET = re.compile(
    r"(?i)\b(?:haven't|have not|hasn't|not yet|until (?:you|we|they)|^(?:before|until|once|when)|whether|option|options|either|if (?:we|you|i|it)|or\b.*\?"
    r"|need to decide|to be decided|you decide|can't decide)\b"
)
_REVERSED = re.compile(
    r"(?i)\b(?:scratch|scrap|forget|no,? wait|wait,? no|nah|nope|on second thoughts?|on reflection|chang(?:ed|e) (?:my|our) minds?"
    r"|revert(?:ing)?|not what (?:we|i) want|no sorry|had another think|correction)\b"
)
_NO = re.compile(r"(?i)^(?:(?:hm+|ok(?:ay)?|sorry|but)[,.]? )*(?:no|nope|nah)[.!,]?$")
_ABOUT = re.compile(r"(?i)\b(?:minds?|thought|thinking|wrong) (?:again )?about\b")
_WEAKLY = re.compile(
    r"(?i)\b(?:after all|actually|back to|can(?:'t|not| not) be|(?:does|do|did|will|would)(?:n't| not) work|won't work|not possible|impossible|turns out|instead|change of plan|plans changed)\b"
)
_TAKEN = re.compile(
    r"(?i)^(?:(?:no|nah|nope|hm+|scratch that|actually|wait|on second thoughts?|correction|no wait)[,.:]* )+(?:use |take |let's use )?(?P<what>[^.;]+?)(?:,? (?:please|then))?$"
)
_INSTEAD = re.compile(r"(?i)^(?:please |so |then )?(?:use|take|make it|do|go for) (?P<what>\S+(?: \S+){0,5})$")
_OTHER = re.compile(
    r"(?i)^(?:nah|nope|no,)[, ]+(?:use |take |make it |rather |better )?(?P<what>(?!(?:thanks?|problem|worries|wait|idea|need|just|i|we|you|it|that|this|not|don't|do|leave|keep|stop|sorry|why|but"
    r"|fine|good|go|all|ok(?:ay)?|never|no|still|please|they|there|he|she|what|how|can|should|too|same|wrong|really|looks?|works?)\b)\S+(?: \S+){0,2})$"
)
_LEADING = re.compile(
    r"(?i)^(?:(?:ok(?:ay)?|alright|right|so|then|hm+|great|fine|fair|yes|yeah|and|but|oh|well|nah|no|now)[,.:!]+ |(?:so|and|but) )+"
)


class Announced(msgspec.Struct, frozen=True):
    """A decision: its summary, and the live ones that it replaces."""

    summary: str
    replaces: tuple[str, ...] = ()
    details: str = ""
    """The reason, where one was given."""


def decisions(
    said: Sequence[Sentence],
    live: Sequence[str],
    *,
    by_agent: bool,
    message: str = "",
    recent: Sequence[str] = (),
    just: Sequence[str] = (),
    pairs: Sequence[Pair] = (),
) -> tuple[Announced, ...]:
    """The decisions that these sentences announce, in order; one that stands already is not told again.

    `live` are the summaries of the decisions that stand, the newest last; `message` is all that was said with them,
    `recent` the summaries that were announced just before: a reversal without a name is about the last of these; `just` are those of
    the message before, to which a bare "nah, the other one" is the answer; `pairs` are alternatives
    that were named, of which a new decision ends the other.
    """
    standing = list(live)
    found: list[Announced] = []
    message = message or " ".join(sentence.bare for sentence in said)
    for sentence in _joined(said):
        new = _announced(sentence, standing, message, by_agent, () if found else recent, () if found else just, pairs)
        if new is not None:
            standing = [*(each for each in standing if each not in new.replaces), new.summary]
            found.append(new)
    return tuple(found)


def _joined(said: Sequence[Sentence]) -> Iterator[Sentence]:
    """The sentences, a bare "no" with the one behind it."""
    no: Sentence | None = None
    for each in said:
        if no is not None:
            each = msgspec.structs.replace(each, text=f"{no.text} {each.text}", bare=f"{no.bare} {each.bare}")
        no = each if _NO.match(each.bare) else None
        if no is None:
            yield each


def _announced(
    sentence: Sentence,
    live: Sequence[str],
    message: str,
    by_agent: bool,
    recent: Sequence[str],
    just: Sequence[str],
    pairs: Sequence[Pair],
) -> Announced | None:
    bare = sentence.bare.rstrip(".! ")
    if asks(sentence) or supposes(bare) or reports(bare) or _NOT_YET.search(bare):
        return None
    patterns = ANNOUNCED if by_agent else (*ANNOUNCED, *BY_USER)
    match = next((found for pattern in patterns if (found := pattern.search(bare))), None)
    if match is not None and wishes(bare[: match.start("what")]):
        return None
    if match is None:
        return None if by_agent else _turned(sentence, live, just, message)
    what = match["what"]
    left = next((old for name, old in match.groupdict().items() if name.startswith("from") and old), "")
    new = chosen(what)
    twin = next((each for each in reversed(live) if _same(new, chosen(each))), None)
    if twin is not None and not _rejects(
        each_old=rejected(what) | (subjects(left) if left else frozenset()), chosen_of=chosen(twin)
    ):
        return None
    gone = [each for each in live if _replaced(each, what, left)]
    if not gone:
        gone = [each for each in live if excludes(new, chosen(each), pairs)][-1:]
    if not gone and not left and not rejected(what):
        gone = _meant(live, message, new, recent)
    summary, details = _summary(sentence, match)
    return Announced(summary, tuple(gone), details)


def _turned(sentence: Sentence, live: Sequence[str], just: Sequence[str], message: str) -> Announced | None:
    """A user's short turn to what a standing decision had rejected, or to something else for the same subject."""
    match = _TAKEN.match(sentence.bare.rstrip(".! "))
    if match is None:
        return None
    new, words = chosen(match["what"]), len(match["what"].split())
    for each in reversed(live):
        named = words <= 6 and new & chosen(each) and not _same(new, chosen(each))
        if named or (words <= 12 and shared(new, rejected(each)) >= 0.5):
            start = match.start("what")
            return Announced(sentence.text[start:].strip(" .!")[:LONGEST], (each,))
    corrected = _INSTEAD.match(sentence.bare.rstrip(".! ")) if _REVERSED.search(message) else None
    if corrected:
        new = subjects(corrected["what"])
        for each in reversed(live):
            if new & chosen(each) and not _same(new, chosen(each)):
                return Announced(sentence.text[corrected.start("what") :].strip(" .!")[:LONGEST], (each,))
    short = _OTHER.match(sentence.bare.rstrip(".! "))
    if short and live and live[-1] in just[-1:]:
        return Announced(sentence.text[short.start("what") :].strip(" .!")[:LONGEST], (live[-1],))
    return None


def _meant(live: Sequence[str], message: str, new: frozenset[str], recent: Sequence[str]) -> list[str]:
    """Which decision a reversal is about: the newest that the message names, else the last of the recent ones."""
    strongly = bool(_REVERSED.search(message)) and not _ABOUT.search(message)
    if not strongly and not _WEAKLY.search(message) and not _ABOUT.search(message):
        return []
    words = subjects(message) - new
    named = [each for each in live if chosen(each) & words]
    return named[-1:] or ([each for each in live if each in recent][-1:] if strongly else [])


def _replaced(old: str, what: str, left: str) -> bool:
    mine = chosen(old)
    return any(
        words and len(words & (mine - about(old) or mine)) > len(words) / 2
        for words in (rejected(what), subjects(left) if left else frozenset())
    )


def _rejects(*, each_old: frozenset[str], chosen_of: frozenset[str]) -> bool:
    return bool(each_old) and shared(each_old, chosen_of) >= 0.5


def _same(new: frozenset[str], old: frozenset[str]) -> bool:
    return bool(new) and (new <= old or old <= new)


def chosen(text: str) -> frozenset[str]:
    """The subject of what a decision is for."""
    match = next((found for pattern in (*ANNOUNCED, *BY_USER) if (found := pattern.search(text))), None)
    what = match["what"] if match else text
    against = _AGAINST.search(what)
    what = what[: against.start()] if against and against.start() > 2 else what
    return subjects(_REASON.sub("", what.strip()) or what)


def about(text: str) -> frozenset[str]:
    """What a decision is about, where it says so: "one register for all departments"."""
    match = re.search(r"(?i)\bfor (?P<about>.+)$", _REASON.sub("", text))
    return subjects(match["about"]) if match else frozenset()


def rejected(text: str) -> frozenset[str]:
    """The subject of what a decision is against; empty where it does not say."""
    match = _AGAINST.search(text)
    return subjects(_REASON.sub("", match["old"].strip()) or match["old"]) if match else frozenset()


def _summary(sentence: Sentence, match: re.Match[str]) -> tuple[str, str]:
    start = match.start() if match.start("what") - match.start() < 60 else match.start("what")
    begin = sentence.text[start:]
    words = _LEADING.sub("", " ".join(begin.split()).lstrip(" ,;:*")).replace("**", "").rstrip(" .!,;:")
    reason = _BECAUSE.search(words)
    summary, details = (words[: reason.start()], words[reason.start("why") :]) if reason else (words, "")
    return summary if len(summary) <= LONGEST else summary[: LONGEST - 1].rstrip() + "…", details[:LONGEST]
