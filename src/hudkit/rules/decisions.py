"""Decisions announced in plain words, by the user or the agent, and those that they replace."""

# ruff: noqa: E501, ISC004 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from hudkit.rules.doubts import asks, reports, supposes, wishes
from hudkit.rules.prose import Sentence
from hudkit.rules.vocabulary import shared, subjects

LONGEST = 200
"""Characters of a decision's summary."""

_SO = r"(?:(?:ok(?:ay)?|alright|right|so|then|hm+|great|good|fine|fair|yes|yeah|no|nah|and|but|now|agreed|understood|well|oh)[,.!:]* )*"
_TO = r"(?: (?:to|on|for|that|against))?"
_LOOSE = r"(?!(?:it|that|this|these|those|them|both|so|going|a (?:look|break|step|quick)|one (?:by|thing)|the (?:tests?|same))\b)"

ANNOUNCED: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\blet(?:'|’)?s (?:not |just |rather |simply |better |instead )?(?:go (?:back )?(?:with|for|to)|use|adopt|switch(?: over| back)? to"
        r"|move (?:over )?to|stick (?:with|to)|settle (?:on|for)|opt for|pick|choose|default|return to)\b(?P<what>.+)",
        rf"\blet(?:'|’)?s (?:just |rather |simply |instead )?(?:do|take|keep|drop|leave|make it) {_LOOSE}(?P<what>.+)",
        r"\blet(?:'|’)?s make (?!it\b|sure\b|this\b|that\b|a\b|an\b|the\b|some\b)(?P<what>.+)",
        rf"\blet(?:'|’)?s (?:merge|move by|split|store|cache|base|model|name|render|generate|sort|encode|sign|hash|encrypt|expose|treat"
        rf"|limit|cap|require|support|allow|skip|disable|enable|represent|put|version|pin|separate|combine|replace) {_LOOSE}(?P<what>.+)",
        rf"^{_SO}(?P<what>\S.{{0,80}}?)(?: then)?, (?:it's |that's )?(?:decided|settled|agreed)$",
        r"^(?:decided|settled): (?P<what>.+)",
        rf"^{_SO}go (?:with|for) (?!it\b|that\b)(?P<what>.+)",
        rf"^{_SO}(?:we|i)(?:'ll| will| shall)? (?:go|going) (?:with|for) (?!it\b)(?P<what>.+)",
        rf"(?:^|[:;,] |^(?:for|in|on|as|about) [^,]{{2,40}}?,? ){_SO}(?:we're |i'm |we are |i am )?going (?:with|for) (?P<what>.+)",
        r"^(?P<what>[^,]+?) (?:sounds|looks|seems|feels|is) [^,]*, (?:so )?(?:let's )?(?:go with|go for|take|do|use) (?:that|it|this)$",
        rf"(?:^|[,;:] |^(?:for|in|on|as|about) [^,]{{2,40}},? |\b(?:and|but|so|because|as|that) ){_SO}(?:i|we)(?:'ve| have| had)?(?: also| just| now| finally| already| all)?"
        rf" (?:decided?|chosen|chose|choose|opted|opt|settled|agreed)(?! (?:it|this|them)\b| that(?:$| (?:ages|already|long|before|last|yesterday|then)\b)){_TO}\b(?P<what>.+)",
        r"\b(?:final |design |our |my |the )*decision(?: reads| is| was)?(?:\*\*)?\s*[:=—–-]+\s*(?:\*\*)?(?P<what>.+)",
        r"\b(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to| shall)"
        r"(?P<what> \S.*?\b(?:instead of|rather than|in place of)\b.+)",
        r"\b(?:i|we)(?:'ll| will|'m going to| am going to) (?:use|keep|store|adopt|build on|base)\b(?P<what>.+?\b(?:because|since|so that)\b.+)",
        rf"(?:^|[:;,] ){_SO}(?:on reflection,? |actually,? |therefore,? |instead,? )?(?:(?:i'm|i am|we're|we are|i'll be) )?"
        r"(?:switching|reverting|moving|going back|changing|falling back)(?: over| back)?(?: from (?P<from>[^,;]+?))? to (?P<what>.+)",
        r"^(?:(?:i|we)(?:'ll| will| now)?|let me) (?:switch|revert|move|go back|change)(?: over| back)?(?: from (?P<from2>[^,;]+?))? to (?P<what>.+)",
        rf"^{_SO}(?!what\b|how\b|that\b|this\b|and\b|as\b|.*\b(?:where|must|as|how|because|if)\b)(?P<what>(?:[\w.=/+'-]+ ){{1,6}})it is(?:[.,!]| then)*$",
        rf"^{_SO}(?:i'll|we'll|i will|we will) make it (?P<what>.+?) then\b",
        rf"^{_SO}(?:let's |please )?(?:use |take |do |make it |go )?(?P<what>(?:(?!instead)[\w.=/+'`-]+ ){{1,8}})instead\b(?! of)",
        r"\bwe(?:'ll| will)? (?:keep|use|drop|take|do|go)\b(?P<what>.+?)\bafter all\b",
        r"\bit(?:'s| is| will be|'ll be) (?P<what>\S(?:[^,;.]*\S)?) after all\b",
        r"^(?:agreed|settled|resolved|final answer)[,:] (?!i\b|we\b|that\b|so\b|take\b)(?P<what>\S.{0,60})$",
        r"(?:^|[,;:] )(?:i|we)(?:'ve| have)? (?:went|gone) (?:with|for) (?P<what>.+)",
        rf"^{_SO}(?:(?:i'm|we're|i am|we are) )?(?:settling on|choosing|opting for|adopting|standardi[sz]ing on) (?P<what>.+)",
        r"^(?:my |our |final |the )*(?:choice|pick|verdict|resolution|outcome)(?: is)?: (?P<what>.+)",
        rf"^{_SO}(?:let's (?:do|take) )?(?P<what>option (?:[a-e]|\d))(?:,? (?:it is|then|please))?$",
        rf"^{_SO}(?P<what>[\w.=/+-]+(?: [\w.=/+-]+){{0,2}}) wins$",
        rf"^{_SO}(?:we|i)(?:'ll| will)? (?:stay|stick) with (?P<what>.+)",
        r"\b(?:wir nehmen|wir verwenden|entscheidung:|wir haben (?:uns )?(?:entschieden|beschlossen)|nehmen wir)\b(?P<what>.+)",
    )
)
"""How a decision is announced; `what` is what it is for, `from` what it leaves."""

BY_USER: tuple[re.Pattern[str], ...] = (
    re.compile(
        rf"^{_SO}we(?:'ll| will| want to|'re going to| are going to) (?:use|take|keep|drop|build|support|store) {_LOOSE}(?P<what>.+)",
        re.IGNORECASE,
    ),
)
"""How a user announces one; an agent that says so tells its next step."""

_AGAINST = re.compile(r"(?i)\b(?:instead of|rather than|in place of|over|not|replaces?|statt)\b(?P<old>[^;]+)")
_REASON = re.compile(r"(?i)\s(?:because|since|so that|so)\b.*$|[,:;(].*$|\s[-–—]\s.*$")
_BECAUSE = re.compile(r"(?i),? (?P<why>(?:because|since)\b.+)$")
_NOT_YET = re.compile(
    r"(?i)\b(?:haven't|have not|hasn't|not yet|until (?:you|we|they)|^(?:before|until|once|when)|whether|option|options|either|if (?:we|you|i|it)|or\b.*\?"
    r"|need to decide|to be decided|you decide|can't decide)\b"
)
_REVERSED = re.compile(
    r"(?i)\b(?:scratch|scrap|forget|no,? wait|wait,? no|nah|nope|on second thoughts?|on reflection|chang(?:ed|e) (?:my|our) minds?"
    r"|revert(?:ing)?|instead(?! of\b)|not what (?:we|i) want|no sorry|had another think|correction)\b"
)
_NO = re.compile(r"(?i)^(?:(?:hm+|ok(?:ay)?|sorry|but)[,.]? )*(?:no|nope|nah)[.!,]?$")
_ABOUT = re.compile(r"(?i)\b(?:minds?|thought|thinking|wrong) (?:again )?about\b")
_WEAKLY = re.compile(r"(?i)\b(?:after all|actually|back to)\b")
_TAKEN = re.compile(
    r"(?i)^(?:(?:no|nah|nope|hm+|scratch that|actually|wait|on second thoughts?|correction|no wait)[,.:]* )+(?:use |take |let's use )?(?P<what>[^.;]+?)(?:,? (?:please|then))?$"
)
_LEADING = re.compile(
    r"(?i)^(?:(?:ok(?:ay)?|alright|right|so|then|hm+|great|fine|fair|yes|yeah|and|but|oh|well|nah|no|now)[,.:!]+ )+"
)


class Announced(msgspec.Struct, frozen=True):
    """A decision: its summary, and the live ones that it replaces."""

    summary: str
    replaces: tuple[str, ...] = ()
    details: str = ""
    """The reason, where one was given."""


def decisions(
    said: Sequence[Sentence], live: Sequence[str], *, by_agent: bool, message: str = "", recent: Sequence[str] = ()
) -> tuple[Announced, ...]:
    """The decisions that these sentences announce, in order; one that stands already is not told again.

    `live` are the summaries of the decisions that stand, the newest last; `message` is all that was said with them,
    `recent` the summaries that were announced just before: a reversal without a name is about the last of these.
    """
    standing = list(live)
    found: list[Announced] = []
    message = message or " ".join(sentence.bare for sentence in said)
    for sentence in _joined(said):
        new = _announced(sentence, standing, message, by_agent, () if found else recent)
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
    sentence: Sentence, live: Sequence[str], message: str, by_agent: bool, recent: Sequence[str]
) -> Announced | None:
    bare = sentence.bare.rstrip(".! ")
    if asks(sentence) or supposes(bare) or reports(bare) or _NOT_YET.search(bare):
        return None
    patterns = ANNOUNCED if by_agent else (*ANNOUNCED, *BY_USER)
    match = next((found for pattern in patterns if (found := pattern.search(bare))), None)
    if match is not None and wishes(bare[: match.start("what")]):
        return None
    if match is None:
        return None if by_agent else _turned(sentence, live)
    what = match["what"]
    left = next((match[name] for name in ("from", "from2") if name in match.re.groupindex and match[name]), "")
    new = chosen(what)
    twin = next((each for each in reversed(live) if _same(new, chosen(each))), None)
    if twin is not None and not _rejects(
        each_old=rejected(what) | (subjects(left) if left else frozenset()), chosen_of=chosen(twin)
    ):
        return None
    gone = [each for each in live if _replaced(each, what, left)]
    if not gone and not left and not rejected(what):
        gone = _meant(live, message, new, recent)
    summary, details = _summary(sentence, match)
    return Announced(summary, tuple(gone), details)


def _turned(sentence: Sentence, live: Sequence[str]) -> Announced | None:
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
        words and len(words & mine) > len(words) / 2
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
