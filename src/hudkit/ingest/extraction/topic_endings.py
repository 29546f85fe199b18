"""What a message may end without the words of a table: by what it turns with, and by what it has in common with what stands.

`reversals` knows wordings that end something. What is left is weighed here, for each standing statement: which words of turning the message has (of
ending, of dropping, of allowing, of a new state …), how many telling words it shares with the statement, whether it gives another value,
or states something new, whether the statement is the last one that the user made, and how long ago. Where that is enough, the
statement is marked as one that may be over. The weights are learned from short talks (decision 41).

For example, after "The contact at the printers is Mr Abendroth." the message "Abendroth retired. New one is Ms Kilic." has a word of
ending, one of a new state, and a telling word of the statement, which is the last one that was made.
"""

# ruff: noqa: E501 (lists of words)
from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from hudkit.ingest.extraction.clause_grammar import read_sentence, word_class
from hudkit.ingest.extraction.clause_weights import topic_weights
from hudkit.ingest.extraction.conflicts import Statement, about, is_parallel
from hudkit.ingest.extraction.lexicon import names_in, rivals_in
from hudkit.ingest.extraction.prose import word_stems
from hudkit.ingest.extraction.values import values_by_kind

_CUES: dict[str, re.Pattern[str]] = {
    name: re.compile(rf"(?i)\b(?:{words})\b")
    for name, words in {
        "ended": "over|gone|dead|history|expired?|end(?:s|ed)?|finished|done|through|lapsed|retire[ds]?|left|leaving|quit|resigned|fell|closed|cancel\\w*|withdr\\w+|revoked|lifted|abolished|obsolete|outdated|discontinued|deprecated|superseded|sold|void|moot",
        "moved": "renamed?|moved?|migrated?|replaced?|replaces|switch\\w*|extend\\w*|postpone\\w*|shift\\w*|chang\\w+|updated?|update|raised|lowered|overruled|decided|agreed|voted|took over|taken over",
        "dropped": "drop(?:ped|ping)?|scrap\\w*|scratch|forget|ditch\\w*|kill|dump|undo|revert\\w*|abandon\\w*|lift|waive|strike|shelve|stop|remove|bin|axe|ignore|disregard|cut|take (?:\\w+ )?(?:\\w+ )?(?:back|out)|took (?:it|that) back|get rid of|got rid of|enough of",
        "allowed": "may|allowed|fine|ok|okay|free|welcome|permitted|exempt|no need|needn't|need not|don't (?:have|need) to|feel free|go ahead|whatever|by all means|as (?:many|much|long|often) as|no problem|trust you|up to you|carry on|out with",
        "turned": "actually|changed (?:my|our|his|her|their) minds?|change of (?:plan|mind|heart)|second thoughts?|on reflection|slept on|correction|wait|hang on|hold on|wrong|mistake|too strict|hasty|reconsider\\w*|after all|turns? out|turned out|convinced|had a vote|was meant|misread|my bad|sorry|oh no|oops|damn|sigh|nope|nah|forget it|never mind|silly",
        "no longer": "no longer|any ?more|any longer|not needed|used to|no point|doesn't (?:apply|hold|count|matter|work)|don't (?:apply|hold|count|matter|work)|won't (?:work|happen|be)|can't|cannot|isn't|aren't",
        "instead": "instead|rather|better|prefer|make (?:it|that)|it is|it's|let's|use|go with|going with|take|put|switch to|back to",
        "now": "now|new|from (?:now|today|here)|as of|since|these days|today|starting",
        "then": "then|so|again|both|too|also",
        "bad": "too \\w+|hates?|hated|unreadable|expensive|slow|unavailable|booked|broken|complain\\w*|problem|annoy\\w*|explod\\w*|confus\\w*|mess(?:y|ed up)?|overkill|useless|awful|terrible|fails?|failed|lacks?|refuse[sd]?|reject\\w*|dislike[sd]?|against|not (?:possible|available|allowed|enough)",
        "settled": "confirmed|approved|passed|back|returned|arrived|signed|released|done|all good|thumbs up|ready|live|is in|went through|finished|complete\\w*|talked to|spoke to|landed|merged|shipped",
        "contrast": ", not|not the|instead of|rather than|no more|not \\w+ but|other thing|the old|old one|new one",
        "position": "(?:that|the) (?:first|second|third|last|former|latter|other)|that rule|the rule|that one|this rule|the (?:ban|limit|freeze|restriction|thing)|what i said|i said|the one (?:about|with|on)",
        "once": "this time|just once|this once|tonight|exception|for this|only today|for today|this one",
        "asks more": "also|in addition|as well|additionally|plus|another|next|one more|besides|further",
        "holds on": "still|stays?|remains?|as before|keep|as is|unchanged|same|don't change",
    }.items()
}  # fmt: skip
"""The words of turning, by class."""

_COMMON = word_stems(
    "test file code run fix page data work build change add check look function error user project app thing issue system version new start stop write read set make update team day"
    " week time name list line part item point step use using send mail message please need want like get give take put keep show new old one good better"
)
_ALIKE = {
    stem: row.split()[0]
    for row in (
        "ask confirm permission approv approval sign-off ok okay clear consult check", "mail email e-mail letter messag write", "price cost budget money amount pay payment", "fast quick speed", "deploy release ship publish launch",
        "delet remov eras", "pictur photo image screenshot", "car vehicl", "meet meeting call appoint", "begin start open", "end finish clos", "buy purchas order", "doc document docstr documentation", "comment remark note", "customer client guest", "pupil student kid child",
        "answer reply respons respond", "short brief concis", "hous home flat", "travel trip journey", "train rail", "plane flight fly", "tell inform notify", "text word word", "colour color", "font typeface", "explain walk describ", "spell orthography", "vegetarian veggi vegan", "chang edit modify touch alter",
    )
    for stem in row.split()
}  # fmt: skip
"""Stems that name one matter."""
_FORBIDS = re.compile(
    r"(?i)\b(?:never|don't|do not|no|nobody|nothing|not|avoid|only|without|stop|must|always|before|until|unless|ask|every|needs?|at (?:most|least)|limit|max\w*)\b"
)
_BOUNDED = re.compile(
    r"(?i)\b(?:until|till|before|while|for now|today|next|this (?:week|month|sprint)|during|as long as|wait|hold back|temporar\w+|current|frozen)\b"
)
_POINTS = re.compile(r"(?i)\b(?:it|that|this|them|there|those|these|one)\b")


class TurnOfTopic(msgspec.Struct, frozen=True):
    """What a message turns with: its cues, what it is about, and whether it states or ended something already."""

    text: str
    cues: frozenset[str]
    stated: tuple[str, ...] = ()
    ended: bool = False
    lasting: str = ""


def read_turn(sentences: Sequence[str], stated: Sequence[str], *, ended: bool) -> TurnOfTopic:
    """Return what the user's own sentences of a message turn with; `stated` is what was read in it as new."""
    plain = " ".join(sentences).replace("’", "'")
    weight = max((read_sentence(sentence).weight for sentence in sentences), default=-999)
    lasting = "never" if weight < -250 else "hardly" if weight < -100 else "perhaps" if weight < 50 else "surely"
    cues = frozenset(name for name, pattern in _CUES.items() if pattern.search(plain))
    return TurnOfTopic(plain, cues, tuple(stated), ended, lasting)


@lru_cache(maxsize=4_096)  # what stands is compared with every message
def topic_stems(text: str) -> frozenset[str]:
    """Return the telling stems of a text, those that name one matter as one."""
    return frozenset(_ALIKE.get(stem, stem) for stem in about(text)) - _COMMON


def turn_features(turn: TurnOfTopic, statement: Statement, *, latest: bool, age: int, alone: bool) -> list[str]:
    """Return the names of what speaks for and against that a message ends a standing statement."""
    ours, theirs = topic_stems(turn.text), topic_stems(statement.text)
    common = len(ours & theirs)
    share = common / max(len(theirs), 1)
    near = "far" if common == 0 else "near" if share >= 0.5 or common > 2 else "half"
    named = bool(names_in(turn.text) & names_in(statement.text))
    names = [
        f"common {min(common, 3)}",
        f"share {'none' if not common else 'some' if share < 0.34 else 'half' if share < 0.67 else 'most'}",
        "latest" if latest else "older",
        f"age {min(age, 3)}",
        f"place {near} {'latest' if latest and age < 2 else 'older'}",
    ]
    place = f"{near} {'fresh' if latest and age < 2 else 'older'}"
    names += [f"cue {cue}" for cue in turn.cues]
    names += [f"{place} {cue}" for cue in turn.cues]
    if named:
        names.append("a name in common")
    if alone:
        names.append("alone")
    mine, its = values_by_kind(turn.text), values_by_kind(statement.text)
    shared_kinds = mine.keys() & its.keys()
    if shared_kinds:
        differs = any(not mine[kind] & its[kind] for kind in shared_kinds)
        names.append(f"value {'other' if differs else 'same'} {near}")
    rivals, theirs_rivals = rivals_in(turn.text), rivals_in(statement.text)
    if any(rivals[kind] - theirs_rivals[kind] for kind in rivals.keys() & theirs_rivals.keys()):
        names.append("rival")
    names += [f"lasting {turn.lasting}", f"{place} lasting {turn.lasting}"]
    if turn.ended:
        names.append("ended another")
    names.append(f"states {min(len(turn.stated), 2)} {near}")
    if any(topic_stems(text) & theirs for text in turn.stated):
        names.append("states of the same")
    if _FORBIDS.search(statement.text) and "allowed" in turn.cues:
        names.append(f"allows the forbidden {near}")
    if _BOUNDED.search(statement.text) and "settled" in turn.cues:
        names.append(f"settles the bounded {near}")
    if _POINTS.search(turn.text):
        names.append(f"points {'fresh' if latest and age < 2 else 'older'}")
    count = len(turn.text.split())
    names.append(
        f"words {'-4' if count < 5 else '-9' if count < 10 else '-20' if count < 21 else '-40' if count < 41 else '41-'}"
    )
    if not turn.cues:
        names.append("no cue")
    return names


def how_over(turn: TurnOfTopic, statement: Statement, *, latest: bool, age: int, alone: bool) -> int:
    """Return how much a message speaks for it that a standing statement is over, in hundredths of a logit: from 0 on it
    is more likely over than not."""
    is_fresh = latest and age <= _FRESH
    if _TURNING.isdisjoint(turn.cues) or not (is_fresh or topic_stems(turn.text) & topic_stems(statement.text)):
        return _NEVER
    if any(is_parallel(text, statement.text) for text in (turn.text, *turn.stated)):
        return _NEVER
    table = topic_weights()
    names = turn_features(turn, statement, latest=latest, age=age, alone=alone)
    return table[""] + sum(table.get(name, 0) for name in names)


_FRESH = 3
"""Messages of the user's back to which one that names nothing may reach."""
_NEVER = -1_000
_TURNING = frozenset(_CUES) - {"then", "asks more", "holds on"}
"""The cues of which one is needed: the others only say how."""


def most_over(
    turn: TurnOfTopic, standing: Sequence[Statement], latest: Sequence[tuple[str, str]], age: int
) -> Statement | None:
    """Return the standing statement that a message most likely ends; `None` where it more likely ends none.

    `latest` are section and text of what the user stated last, `age` messages ago.
    """
    best, nearest = 0, None
    for statement in standing:
        is_latest = (statement.section, statement.text) in latest
        weight = how_over(turn, statement, latest=is_latest, age=age, alone=len(standing) == 1)
        if weight >= best:
            best, nearest = weight, statement
    return nearest


_AT_ONCE = re.compile(
    # what was said is dropped
    r"(?i)\b(?:scrap|drop|skip|forget|scratch|ditch|undo|strike|ignore|scratch) (?:that|it|this|them|those)(?=$|[,;.!–—]| (?:again|please|then|now|after all|for now)\b)|\b(?:that|it|this)(?:['’]s| is) (?:now )?(?:obsolete|history|moot|void|nonsense|no longer (?:true|needed|valid))\b"
    r"|\b(?:that|it) was (?:just )?(?:an? )?(?:\w+ )?(?:mood|mistake|idea|joke|silly|stupid|wrong|nonsense)\b|\bi (?:mixed|messed|got) (?:that|it|them|this) (?:up|wrong)\b|\bi give up\b"
    # it is unbearable
    r"|\b(?:i['’]?m|we['’]?re|i am|we are) (?:so )?(?:sick|tired|done|fed up) (?:of|with) (?:it|that|this|them)\b|\b(?:is|was|are|['’]s) not worth (?:it|the \w+)|\bdriving (?:everyone|everybody|me|us|the \w+) (?:crazy|mad|nuts|insane)\b|\btoo (?:dull|hard|strict|slow|loud|much|long|expensive)(?=$|[,.!])"
    # something else is taken
    r"|^(?:\w+[.!,]* ){0,2}(?:ok(?:ay)?|fine|all right|alright|well) then,? (?!(?:i|you|what|how|let me|go|do|thanks|fix|show|bye)\b)\w|, so (?:that one|the (?:other|second|first) one|[a-z][\w-]+s)[.!]?$|\b(?:is|are) enough(?=$|[.!,])|\b(?:does the job|will do|has to do)(?=$|[.!,]| for)|^[\w +.'-]{2,30} (?:from now on|only)(?=$|[,.!])|: [\w +-]{2,40} only[.!]?$|\bnot (?:\w+ )?any ?more\b|^(?:we|i)(?:['’](?:re|m|ll)| will| are| am)? [^,;]{3,40} instead[.!]?$"
    # it goes on again
    r"|\b(?:put|bring|take|have|get) (?:them|it|those|these|him|her) (?:back|in)\b|\byou (?:can|may) [^,;]{2,40}\b(?:again|as usual)\b|\b(?:they|he|she) (?:may |can )?(?:comes?|joins?|goes|go) too\b|\b(?:what|as much as|as many as|whatever) you (?:want|like)\b"
    # a new state
    r"|^new (?:\w+ )?\w+, new \w+|\bwe(?:['’]ve| have)? (?:stopped|moved|quit)\b|\bwe(?:['’]re| are) live\b|\buntil then\b|\bcan['’]?t make (?:it|the)\b"
)
"""How somebody turns from what he has just said without naming it."""

_ONE_CASE = re.compile(
    r"(?i)\b(?:except|exception|this once|just once|this time|this one|only (?:this|for)|just (?:this|for)|for (?:the|this|that) \w+ one|unless|would be|could be|if)\b|\bthen (?:fix|they wait|it waits|we wait)\b"
)
"""Words by which one case is put aside, or nothing is said for sure."""

_PLACES = (
    ("first", 0), ("number one", 0), ("second", 1), ("number two", 1), ("third", 2), ("number three", 2), ("last", -1),
)  # fmt: skip


_THEN = re.compile(r"(?i)(?:^|[,.:] )(?:the )?(?P<what>[\w-]+(?: [\w-]+)?) then[.!]?$")
"""The end of a sentence that takes something else: "Mondays are dead. Wednesdays then"."""


def _chooses_then(sentence: str) -> bool:
    choice = _THEN.search(sentence)
    return choice is not None and word_class(choice["what"].partition(" ")[0]) in _THINGS


_THINGS = frozenset(["noun", "plural", "number", "day", "quoted", "all", "none", "few"])
"""Classes of words that name something."""


def turned_at_once(
    sentences: Sequence[str], latest: Sequence[Statement], standing: Sequence[Statement]
) -> Statement | None:
    """Return the statement made just before that a short message turns from without naming it; `None` where it turns
    from none, or where it may be one of several.

    `sentences` are those of the message that ask and suppose nothing, `latest` what was stated just before.
    """
    turning = [sentence for sentence in sentences if _AT_ONCE.search(sentence) or _chooses_then(sentence)]
    if not turning or not latest or _ONE_CASE.search(" ".join(sentences)):
        return None
    text = " ".join(sentences)
    if any(is_parallel(text, statement.text) for statement in latest):
        return None
    if len(latest) == 1:
        ours = topic_stems(text)
        named = any(ours & topic_stems(other.text) for other in standing if other not in latest)
        return None if named and not ours & topic_stems(latest[0].text) else latest[0]
    lower = text.casefold()
    for words, place in _PLACES:
        if words in lower and (place < len(latest)):
            return latest[place]
    return None
