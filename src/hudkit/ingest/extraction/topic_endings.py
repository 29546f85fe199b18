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
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import log

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.clause_grammar import read_sentence, word_class
from hudkit.ingest.extraction.clause_weights import topic_weights
from hudkit.ingest.extraction.conflicts import Statement, about, is_parallel
from hudkit.ingest.extraction.hedging import is_of_others, is_question, is_report, is_supposition
from hudkit.ingest.extraction.lasting import is_errand
from hudkit.ingest.extraction.lexicon import names_in, rivals_in
from hudkit.ingest.extraction.prose import Sentence, line_of, word_stems
from hudkit.ingest.extraction.values import values_by_kind, without_values

_CUES: dict[str, re.Pattern[str]] = {
    name: any_case(rf"\b(?:{words})\b")
    for name, words in {
        "ended": "went bust|bankrupt|passed away|died|thrown (?:out|away)|taken (?:off|down)|shut (?:down|up)?|sold out|used up|ran out|run out|fired|sacked|laid off|stepped down|torn down|decommissioned|phased out|called off|fell through|backed out|pulled out|behind us|all (?:done|sent|paid|gone|planted|eaten|packed)|the last one|healed|recovered|cured|is out|are out|over|gone|dead|history|expired?|end(?:s|ed)?|finished|done|through|lapsed|retire[ds]?|left|leaving|quit|resigned|fell|closed|cancel\\w*|withdr\\w+|revoked|lifted|abolished|obsolete|outdated|discontinued|deprecated|superseded|sold|void|moot",
        "moved": "shift(?:ed|ing)|pushed|brought forward|upgrad\\w*|downgrad\\w*|promot\\w*|handed over|hands over|back to|went back|going back|opted|chosen|chose|picked|swap\\w*|convert\\w*|increas\\w*|reduc\\w*|doubl\\w*|halv\\w*|chips? in|go up|gone up|up to|down to|opened|renamed?|moved?|migrated?|replaced?|replaces|switch\\w*|extend\\w*|postpone\\w*|shift\\w*|chang\\w+|updated?|update|raised|lowered|overruled|decided|agreed|voted|took over|taken over",
        "dropped": "drop(?:ped|ping)?|scrap\\w*|scratch|forget|ditch\\w*|kill|dump|undo|revert\\w*|abandon\\w*|lift|waive|strike|shelve|stop|remove|bin|axe|ignore|disregard|cut|take (?:\\w+ )?(?:\\w+ )?(?:back|out)|took (?:it|that) back|get rid of|got rid of|enough of",
        "allowed": "spare me|on your own|yourself|yourselves|just (?:do|send|buy|go|take|pick|decide)|don't bother|without asking|relax\\w*|loosen\\w*|lighten\\w*|can (?:again|eat|use|go|come|have|be)|may|allowed|fine|ok|okay|free|welcome|permitted|exempt|no need|needn't|need not|don't (?:have|need) to|feel free|go ahead|whatever (?=\\w)|by all means|as (?:many|much|long|often) as|no problem|trust you|up to you|carry on|out with",
        "turned": "good news|bad news|come to think|thinking about it|thought about it|looked into|having (?:seen|read|tried)|after (?:seeing|reading|trying|a (?:\\w+ )?(?:discussion|talk|chat|week))|that's (?:nicer|better|smarter|easier)|even better|better idea|good point|fair point|do it (?:like )?that|that way|actually|changed (?:my|our|his|her|their) minds?|change of (?:plan|mind|heart)|second thoughts?|on reflection|slept on|correction|wait|hang on|hold on|(?<!look )(?<!looks )wrong|mistake|too strict|hasty|reconsider\\w*|after all|turns? out|turned out|convinced|had a vote|was meant|misread|my bad|sorry|oh no|oops|damn|sigh|nope|nah|forget it|never mind|silly",
        "no longer": "no longer|any ?more|any longer|not needed|used to|no point|doesn't (?:apply|hold|count|matter|work)|don't (?:apply|hold|count|matter|work)|won't (?:work|happen|be)|can't|cannot|isn't|aren't",
        "instead": "instead|rather|better|prefer|make (?:it|that)|it is|it's|let's|use|go with|going with|take|put|switch to|back to",
        "now": "now|new|from (?:now|today|here)|as of|since|these days|today|starting",
        "then": "then|so|again|both|too|also",
        "bad": "(?:bad|stupid|terrible|awful|poor) idea|stiff|silly|ridiculous|pointless|nightmare|trouble|dreadful|ugly|boring|clumsy|can't stand|cannot stand|can't (?:read|use|see|bear)|nobody (?:likes?|reads?|uses?|can|wants?|understands?)|drown\\w*|flood\\w*|overwhelm\\w*|for nothing|woke|fed up|sick of|tired of|unhappy|angry|furious|protest\\w*|revolt\\w*|objects?|objected|tight|waste of|drives? (?:me|us|them|everyone)|looks? (?:cheap|awful|odd|wrong)|sounds? (?:stiff|cold|odd|wrong|rude)|doesn't (?:work|fit|help|scale)|didn't (?:work|fit|help)|never works|weird|too \\w+|hates?|hated|unreadable|expensive|slow|unavailable|booked|broken|complain\\w*|problem|annoy\\w*|explod\\w*|confus\\w*|mess(?:y|ed up)?|overkill|useless|awful|terrible|fails?|failed|lacks?|refuse[sd]?|reject\\w*|dislike[sd]?|against|not (?:possible|available|allowed|enough)",
        "settled": "confirmed|approved|passed|back|returned|arrived|signed|released|done|all good|thumbs up|ready|live|is in|went through|finished|complete\\w*|talked to|spoke to|landed|merged|shipped",
        "contrast": ", not|not the|instead of|rather than|no more(?! than)|not \\w+ but|other thing|the old|old one|new one",
        "position": "(?:that|the) (?:first|second|third|last|former|latter|other)|that rule|the rule|that one|this rule|the (?:ban|limit|freeze|restriction|thing)|what i said|i said|the one (?:about|with|on)",
        "once": "this time|just once|this once|tonight|exception|for this|only today|for today|this one",
        "asks more": "also|in addition|as well|additionally|plus|another|next|one more|besides|further",
        "holds on": "still|stays?|remains?|as before|keep|as is|unchanged|same|don't change",
    }.items()
}  # fmt: skip
"""The words of turning, by class."""

_COMMON = word_stems(
    "test file code run fix page data work build change add check look function error user project app thing issue system version new start stop write read set make update team day"
    " week time name list line part item point step use using send mail message please need want like get give take put keep show new old one good better next current task"
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
_FORBIDS = any_case(
    r"\b(?:never|don't|do not|no|nobody|nothing|not|avoid|only|without|stop|must|always|before|until|unless|ask|every|needs?|at (?:most|least)|limit|max\w*)\b"
)
_BOUNDED = any_case(
    r"\b(?:until|till|before|while|for now|today|next|this (?:week|month|sprint)|during|as long as|wait|hold back|temporar\w+|current|frozen)\b"
)
_POINTS = any_case(r"\b(?:it|that|this|them|there|those|these|one)\b")


class TurnOfTopic(msgspec.Struct, frozen=True):
    """What a message turns with: its cues, what it is about, and whether it states or ended something already."""

    text: str
    cues: frozenset[str]
    stated: tuple[str, ...] = ()
    ended: bool = False
    lasting: str = ""
    offer: str = ""
    """What the agent proposed before it, where it falls in with that."""
    parts: tuple[tuple[str, frozenset[str]], ...] = ()
    """Its sentences, each with the cues in it."""
    manner: frozenset[str] = frozenset()
    """How it is said: it asks, orders one thing, tells of one thing or of others, adds to what was said."""
    grammar: frozenset[str] = frozenset()
    """What the grammar of its sentences is."""


def own_lines(sentences: Sequence[Sentence]) -> list[str]:
    """Return the sentences of a message that ask and suppose nothing, and tell of nobody else, each as one line.

    What ends a blocker ends nothing else.
    """
    return [
        line_of(sentence)
        for sentence in sentences
        if not (is_question(sentence) or is_supposition(sentence.bare) or _is_hearsay(sentence.bare))
        and not is_of_others(sentence.bare)
        and not _UNBLOCKS.search(sentence.bare)
    ]


_HAS_A_SAY = any_case(
    r"\b(?:s?he|they|(?:the|my|our) (?:[\w-]+ )?(?!docs?\b|documentation|readme|log|error|page|site|article|book|blog|tutorial|manual|internet)[\w-]+) (?:just |also |now |has |have )?(?:says?|said|wrote|wants?|asked|told (?:me|us)|prefers?|insists?|insisted|decided|agreed)\b"
)
"""How somebody tells what a person wants who may have a say: the designer, the accountant, she."""


def _is_hearsay(text: str) -> bool:
    return is_report(text) and not _HAS_A_SAY.search(text)


_UNBLOCKS = any_case(r"\b(?:no longer|not|n['’]t|un)[ -]?blocked\b|\bun(?:stuck|blocks?)\b")


def read_turn(
    sentences: Sequence[str], stated: Sequence[str], *, ended: bool, asks: bool = False, offer: str = ""
) -> TurnOfTopic:
    """Return what the user's own sentences of a message turn with; `stated` is what was read in it as new, `asks` whether
    the message has a question beside them, `offer` what the agent left to the user before."""
    lines = [sentence.replace("’", "'") for sentence in sentences]
    plain = " ".join(lines)
    weight = max((read_sentence(sentence).weight for sentence in sentences), default=-999)
    lasting = "never" if weight < -250 else "hardly" if weight < -100 else "perhaps" if weight < 50 else "surely"
    parts = tuple((line, _cues_of(_MANNERS["closes"].sub("", line))) for line in lines)
    cues = frozenset().union(*(names for _, names in parts))
    agrees = offer if lines and _AGREES.match(lines[0]) else ""
    manner, grammar = _manner(lines, asks=asks), _sentence_names(lines)
    return TurnOfTopic(plain, cues, tuple(stated), ended, lasting, agrees, parts, manner, grammar)


@lru_cache(256)  # a sentence is asked for once for each statement in its reach
def _cues_of(text: str) -> frozenset[str]:
    return frozenset(name for name, pattern in _CUES.items() if pattern.search(text))


_AGREES = any_case(
    r"(?:(?:oh|ah|well|hm+|ok(?:ay)?|nice|great|good|cool|lovely|perfect|wow),? )*(?:yes|yeah|yep|yup|sure|ok(?:ay)?|fine|agreed|right|great|good (?:idea|point)|fair (?:point|enough)|perfect|deal|why not|exactly|absolutely|go for it|do (?:it|that)|let's|sounds (?:good|better)|that's (?:nicer|better))\b"
)
"""How somebody falls in with what was proposed."""


def _manner(lines: Sequence[str], *, asks: bool) -> frozenset[str]:
    names = {name for name, pattern in _MANNERS.items() if any(pattern.search(line) for line in lines)}
    if asks:
        names.add("asks")
    if any(is_errand(line) for line in lines):
        names.add("errand")
    if lines and _ADDS.match(lines[0]):
        names.add("adds")
    return frozenset(names)


def _sentence_names(lines: Sequence[str]) -> frozenset[str]:
    """What the grammar of the sentences is, and of which class the first and the last word of the message."""
    names: set[str] = set()
    for place, line in enumerate(lines):
        of_line = read_sentence(line).names
        names.update(f"sentence {name}" for name in of_line if name.startswith(_OF_SENTENCES))
        if place == 0:
            names.update(f"begins {name}" for name in of_line if name.startswith("first "))
        if place == len(lines) - 1:
            names.update(f"closes {name}" for name in of_line if name.startswith("last "))
    return frozenset(names)


_OF_SENTENCES = ("frame ", "of ", "has ", "first ", "last ", "two ", "pair ", "mark ")


_ADDS = any_case(r"(?:(?:oh|ok(?:ay)?|yes),? )?(?:and|also|plus|besides|in addition|furthermore)\b")
"""How somebody begins who adds to what he said."""

_MANNERS: dict[str, re.Pattern[str]] = {
    name: any_case(rf"\b(?:{words})\b")
    for name, words in {
        "one thing": r"(?:this|that|these|those) (?!one\b|is\b|was\b|has\b|will\b|must\b|can\b|doesn|isn|rule|limit|ban|part\b|thing\b)[a-z]{3,}|(?:page|chapter|row|line|slide|figure|table|room|step|picture|photo|draft|paragraph|sentence|version|ticket|drawing|entry) \d+|the (?:first|second|third|last|next|new|old|other|big|left|right|top) (?!one\b|ones\b|rule|thing)[a-z]{3,}|in the (?:first|second|third|last) one",
        "happened": r"yesterday|this morning|last (?:night|week|month|year|time|sunday|monday|friday)|just now|today|tonight|ago|on (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)",
        "of others": r"(?:my|his|her|their|a|some|another) (?:old |best |ex-?)?(?:friend|friends|brother|sister|neighbou?r|neighbou?rs|cousin|uncle|aunt|colleague|guy|man|woman|boy|girl|lady|competitor)s?",
        "pleased": r"great|thanks|thx|cheers|lovely|nice|good|haha|lol|well done|perfect|super|cool|yay|finally|beautiful|typical|wow|poor",
        "for myself": r"i'll|i will|i'm going|let me|i've (?:got|had|seen|found|read|sent|made)|i (?:called|told|wrote|sent|found|read|closed|cooked|had|lost|forgot)",
        "asks for work": r"please|can you|could you|send|make|fix|check|write|find|look|add|show|update|give|put|take|cut|start|redo|convert|translate|brighten|order|book",
        "by whom": r"(?:they|he|she|the \w+|legal|marketing|management|ops|accounting|finance|hr|my (?:boss|editor|wife|husband|doctor|lawyer|landlord|supervisor|professor)|[A-Z]\w+) (?:want|wants|wanted|need|needs|insist|insists|asked|said|says|decided|voted|overruled|allowed|corrected|raised|lowered|changed|complained|hates?|prefers?|refuses?|told|confirmed|approved|signed|agreed)",
        "how much": r"spent|used (?!to\b)|so far|up to now|by now|left|remain(?:s|ing)?|took \w+ (?:\w+ )?(?:seconds?|minutes?|hours?|days?|weeks?)",
        "mends": r"(?:check|fix|redo|repair|correct|recount|re-?run) (?:it|them|that|this|these|those|the \w+)|(?:do|make|write|run|try|count|draw|print|send) (?:it|them|that|this) again",
        "closes": r"(?:then|and) (?:we|i|that|it)['’]?(?:re|m|s| are| am| is) (?:done|finished|it|all)\b|for today|call it a day",
        "reasons": r"because|since|so|therefore|that's why|as|due to",
        "so now": r"so (?:now|from|it's|we|you|let|please|the|no|use|make|put|take|go|order|\w+ (?:then|instead|please))\b|then(?=$|[,.!])|it is(?=$|[,.!])|from now on|these days|as of|starting",
    }.items()
}  # fmt: skip
"""How a message speaks, by class."""


@lru_cache(maxsize=4_096)  # what stands is compared with every message
def topic_stems(text: str) -> frozenset[str]:
    """Return the telling stems of a text, those that name one matter as one."""
    return frozenset(_ALIKE.get(stem, stem) for stem in about(text)) - _COMMON


def turn_features(turn: TurnOfTopic, statement: Statement, *, latest: bool, age: int) -> list[str]:
    """Return the names of what speaks for and against that a message ends a standing statement."""
    return [*_of_statement(turn, statement, latest=latest, age=age), *_of_turn(turn)]


def _of_turn(turn: TurnOfTopic) -> Iterator[str]:
    """Those that are the same for each statement."""
    yield from (f"cue {cue}" for cue in turn.cues)
    if not turn.cues:
        yield "no cue"
    yield from (f"manner {manner}" for manner in turn.manner)
    yield from turn.grammar
    yield f"lasting {turn.lasting}"
    count = len(turn.text.split())
    yield f"words {'-4' if count < 5 else '-9' if count < 10 else '-20' if count < 21 else '-40' if count < 41 else '41-'}"


@lru_cache(maxsize=64)  # it is asked for with each statement that a message may end
def _weight_of_turn(turn: TurnOfTopic) -> int:
    table = topic_weights()
    return sum(table.get(name, 0) for name in _of_turn(turn))


def _of_statement(turn: TurnOfTopic, statement: Statement, *, latest: bool, age: int) -> list[str]:
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
    names += [f"{place} {cue}" for cue in turn.cues]
    if named:
        names.append("a name in common")
    counts = "how much" in turn.manner
    mine, its = {} if counts else values_by_kind(turn.text), values_by_kind(statement.text)
    shared_kinds = mine.keys() & its.keys()
    if shared_kinds:
        differs = any(not mine[kind] & its[kind] for kind in shared_kinds)
        names.append(f"value {'other' if differs else 'same'} {near}")
    rivals, theirs_rivals = rivals_in(turn.text), rivals_in(statement.text)
    if any(rivals[kind] - theirs_rivals[kind] for kind in rivals.keys() & theirs_rivals.keys()):
        names.append("rival")
    if not counts and _gives_other_number(turn.text, statement.text):
        names += ["number other", f"number other {place}"]
    if turn.offer:
        shared = len(topic_stems(turn.offer) & theirs)
        names += ["offer", f"offer {min(shared, 2)} {'latest' if latest and age < 2 else 'older'}"]
        if _gives_other_number(turn.offer, statement.text):
            names.append("offer number other")
    names.append(f"{place} lasting {turn.lasting}")
    names.append(f"states {min(len(turn.stated), 2)} {near}")
    if any(topic_stems(text) & theirs for text in turn.stated):
        names.append("states of the same")
    if _FORBIDS.search(statement.text) and "allowed" in turn.cues:
        names.append(f"allows the forbidden {near}")
    if _BOUNDED.search(statement.text) and "settled" in turn.cues:
        names.append(f"settles the bounded {near}")
    if _POINTS.search(turn.text):
        names.append(f"points {'fresh' if latest and age < 2 else 'older'}")
    kind = _kind_of(statement.text)
    names += [f"a {kind} {cue}" for cue in (*turn.cues, *turn.manner)]
    names += [f"manner {'near' if common else 'far'} {manner}" for manner in turn.manner]
    names.append(f"section {statement.section}")
    if common and turn.parts:
        within = frozenset().union(*(cues for line, cues in turn.parts if topic_stems(line) & theirs))
        names += [f"within {cue}" for cue in within]
        names += [f"apart {cue}" for cue in turn.cues - within]
    return names


_OF_EACH = any_case(r"\b(?:every|each|all|any)\b")
_NUMBERED = re.compile(r"(?<![\w-])([\w-]{1,40}) #?\d{1,9}\b")


def _names_one_of(text: str, statement: str) -> bool:
    """Whether a text is about one of that of which a statement says something of each: "PR 88" of "every PR"."""
    if _OF_EACH.search(statement) is None:
        return False
    return any(word_stems(thing) & word_stems(statement) for thing in _NUMBERED.findall(text))


_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*\d|(?<![\w.])\d(?!\w)")
_TIMES = 8.0
"""How many times as much a number may be that takes the place of another one."""


def _gives_other_number(text: str, statement: str) -> bool:
    """Whether a text has a number of the size of one in a statement, and none of the same."""
    theirs = {_amount(number) for number in _NUMBER.findall(statement)} - {0.0}
    ours = {_amount(number) for number in _NUMBER.findall(text)} - {0.0} if theirs else set()
    if not ours or ours & theirs:
        return False
    return any(1 / _TIMES <= mine / other <= _TIMES for mine in ours for other in theirs)


def _amount(number: str) -> float:
    plain = number.rstrip(".,").replace(",", "")
    return float(plain) if plain.count(".") < 2 else 0.0


@lru_cache(maxsize=4_096)  # what stands is asked for with every message
def _kind_of(text: str) -> str:
    """What a statement is: bound to a time, for all of a kind, with a value, or none of these."""
    if _BOUNDED.search(text):
        return "bounded"
    if _GENERAL.search(text):
        return "general"
    return "valued" if values_by_kind(text) else "plain"


_GENERAL = any_case(
    r"\b(?:every|each|all|any|always|never|only|must|no|nobody|nothing|whoever|whenever|don['’]t|do not|\w+days)\b"
)


def in_reach(
    sentences: Sequence[str], standing: Sequence[Statement], latest: Sequence[tuple[str, str]], age: int
) -> list[Statement]:
    """Return the standing statements that the user's own sentences of a message may end: those that were stated last, and those with
    which they have a telling word in common."""
    ours = topic_stems(" ".join(sentence.replace("’", "'") for sentence in sentences))
    return [
        statement
        for statement in standing
        if (age <= _FRESH and (statement.section, statement.text) in latest) or ours & topic_stems(statement.text)
    ]


def may_turn_from(sentences: Sequence[str], statement: str) -> bool:
    """Return whether the own sentences of a message have a word of turning, one that points, or a telling word in common with
    a statement: one that has none of these ends nothing, whatever it is about."""
    text = " ".join(sentence.replace("’", "'") for sentence in sentences)
    return (
        not _TURNING.isdisjoint(_cues_of(text))
        or _POINTS.search(text) is not None
        or bool(topic_stems(text) & topic_stems(statement))
    )


def how_over(turn: TurnOfTopic, statement: Statement, *, latest: bool, age: int) -> int:
    """Return how much a message speaks for it that a standing statement is over, in hundredths of a logit: from 0 on it
    is more likely over than not. A message without a word of turning must say more."""
    is_fresh = latest and age <= _FRESH
    if not (is_fresh or topic_stems(turn.text) & topic_stems(statement.text)):
        return NEVER_OVER
    if "adds" in turn.manner and turn.stated and _TURNS.isdisjoint(turn.cues):
        return NEVER_OVER
    if turn.ended:
        return NEVER_OVER  # it has found what it ends
    if "mends" in turn.manner and turn.cues.isdisjoint(_STRONG - {"bad"}):
        return NEVER_OVER  # what was made is wrong, not what was said
    if _NEW_WORK.search(turn.text) and not topic_stems(turn.text) & topic_stems(statement.text):
        return NEVER_OVER  # what is done is the work before it
    if _BOUNDED.search(statement.text) and _PARTLY.search(turn.text):
        return NEVER_OVER  # it is waited for still
    turns = not _TURNING.isdisjoint(turn.cues) or (
        latest and (turn.offer != "" or _gives_other_number(turn.text, statement.text))
    )
    if any(is_parallel(text, statement.text) for text in (turn.text, *turn.stated)):
        return NEVER_OVER
    if _names_one_of(turn.text, statement.text):
        return NEVER_OVER
    if any(_says_the_like(line, statement.text) and cues.isdisjoint(_STRONG) for line, cues in turn.parts):
        return NEVER_OVER  # the same of another thing
    table = topic_weights()
    names = _of_statement(turn, statement, latest=latest, age=age)
    weight = table[""] + _weight_of_turn(turn) + sum(table.get(name, 0) for name in names)
    return weight if turns else weight + _NO_TURN


_NEW_WORK = any_case(r"\b(?:(?:new|another) (?:task|topic|piece of work)|next (?:task|job|topic|piece of work))\b")
"""How somebody goes on to other work."""

_PARTLY = any_case(
    r"\b(?:so far|not yet|almost|nearly|n['’]t \w+ yet|(?:\d+|one|two|three|four|five|some|half|most|few) of (?:the |them |us )?)\b"
)
"""How somebody tells that something has happened in part."""


def _says_the_like(first: str, second: str) -> bool:
    """Whether two statements have the same frame: of two ports, each with its number."""
    ours, theirs = (frozenset(_WORD.findall(without_values(text).casefold())) for text in (first, second))
    return len(ours & theirs) >= _SAME_FRAME * len(ours | theirs)


_WORD = re.compile(r"[\w'’]+")
_SAME_FRAME = 0.4
"""The share of their words that two such statements have in common."""

_FRESH = 3
"""Messages of the user's back to which one that names nothing may reach."""
NEVER_OVER = -1_000
"""The weight of a statement that a message does not end whatever else speaks for it."""
_TURNING = frozenset(_CUES) - {"then", "asks more", "holds on"}
"""The cues of which one is needed where something else is stated: the others only say how."""

_TURNS = frozenset(["turned", "no longer", "ended", "contrast"])
"""The cues of one who turns from what he said though he begins with "and"."""


_NO_TURN = -90
"""Hundredths of a logit that a message without a word of turning must say more."""

LIKELY_OVER = -250
"""Hundredths of a logit from which on a statement is marked: one that is over and stands does more harm than one that
holds and is asked about."""

MOST_OVER = 400
"""The weight that one message in two hundred reaches: where more is asked for, none is weighed."""

_FEW_STAND, _MORE_STANDS = 2, 2.5
_SHORT_TALK, _MORE_SAID = 16, 1.0
"""Statements, and messages, up to which no more is asked for, and how much more (a logit) with e times as many."""


def more_asked(standing: int, messages: int) -> float:
    """Return how much more (a logit) must speak for it that a message ends one of so many statements, after so many messages,
    than that it ends one of two in a short talk.

    Where much stands the session is long, and of the messages of a long one few end anything: by forty sessions, long chats and
    460 talks this costs no ending, and saves half of the marks on what holds.
    """
    return _MORE_STANDS * log(max(standing / _FEW_STAND, 1)) + _MORE_SAID * log(max(messages / _SHORT_TALK, 1))


_AT_ONCE = re.compile(
    # what was said is dropped
    r"(?i)\b(?:scrap|drop|skip|forget|scratch|ditch|undo|strike|ignore|scratch) (?:that|it|this|them|those)(?=$|[,;.!–—]| (?:again|please|then|now|after all|for now)\b)|\b(?:that|it|this)(?:['’]s| is) (?:now )?(?:obsolete|history|moot|void|nonsense|no longer (?:true|needed|valid))\b"
    r"|\b(?:that|it) was (?:just )?(?:an? )?(?:\w+ )?(?:mood|mistake|idea|joke|silly|stupid|wrong|nonsense)\b|\bi (?:mixed|messed|got) (?:that|it|them|this) (?:up|wrong)\b|\bi give up\b"
    # it is unbearable
    r"|\b(?:i['’]?m|we['’]?re|i am|we are) (?:so )?(?:sick|tired|done|fed up) (?:of|with) (?:it|that|this|them)\b|\b(?:is|was|are|['’]s) not worth (?:it|the \w+)|\bdriving (?:everyone|everybody|me|us|the \w+) (?:crazy|mad|nuts|insane)\b|\btoo (?:dull|hard|strict|slow|loud|much|long|expensive)(?=$|[,.!])"
    # something else is taken
    r"|^(?:\w+[.!,]* ){0,2}(?:ok(?:ay)?|fine|all right|alright|well) then,? (?!(?:i|you|what|how|let me|go|do|thanks|fix|show|bye)\b)\w|, so (?:that one|the \w+ one|[a-z][\w-]+s)[.!]?$|\b(?:is|are) enough(?=$|[.!,])|\b(?:does the job|will do|has to do)(?=$|[.!,]| for)|^[\w +.'-]{2,30} (?:from now on|only)(?=$|[,.!])|: [\w +-]{2,40} only[.!]?$|\bnot (?:\w+ )?any ?more\b|^(?:we|i)(?:['’](?:re|m|ll)| will| are| am)? [^,;]{3,40} instead[.!]?$"
    # it goes on again
    r"|\b(?:put|bring|take|have|get) (?:them|it|those|these|him|her) (?:back|in)\b|\byou (?:can|may) [^,;]{2,40}\b(?:again|as usual)\b|\b(?:they|he|she) (?:may |can )?(?:comes?|joins?|goes|go) too\b|\b(?:what|as much as|as many as|whatever) you (?:want|like)\b"
    # a new state
    r"|^new (?:\w+ )?\w+, new \w+|\bwe(?:['’]ve| have)? (?:stopped|moved|quit)\b|\bwe(?:['’]re| are) live\b|\buntil then\b|\bcan['’]?t make (?:it|the)\b"
)
"""How somebody turns from what he has just said without naming it."""

_ONE_CASE = any_case(
    r"\b(?:except|exception|this once|just once|this time|this one|only (?:this|for)|just (?:this|for)|for (?:the|this|that) \w+ one|unless|would be|could be|if)\b|\bthen (?:fix|they wait|it waits|we wait)\b"
)
"""Words by which one case is put aside, or nothing is said for sure."""

_POINTED = any_case(
    r"\b(?:(?:that|the|my) )?(?P<place>first|second|third|fourth|last|former|latter|number (?:one|two|three))(?P<one> (?:one|rule|point|part|thing|item|bit|request))?"
    r"(?= (?:is|isn['’]t|was|can|may|has|doesn['’]t|no longer|i take|i['’]d|we can(?:['’]t)?|looks|goes|sounds|won['’]t|didn['’]t|needn['’]t)\b|[:,])"
)
"""How somebody points at one of the things that he said: "the second one isn't needed any more"."""


def pointed_at(line: str, latest: Sequence[Statement]) -> tuple[Statement | None, bool]:
    """Return which of several statements a sentence points at by its place and turns from, and whether it points at all.

    `latest` are those of the message before in their order. Where there is none in that place, the sentence is about
    something else.
    """
    match = _POINTED.search(line)
    if match is None:
        return None, False
    place = dict(_PLACES)[match["place"].casefold()]
    if len(latest) < _MIN_POINTED or place >= len(latest):
        return None, match["one"] is not None
    return (None, False) if _ENDING_CUES.isdisjoint(_cues_of(line)) else (latest[place], True)


_MIN_POINTED = 2
"""Statements of which one can be told from the others by its place."""

_STRONG = frozenset(["ended", "moved", "turned", "no longer", "bad", "contrast"])
"""The cues of which one turns a sentence against what it resembles."""

_ENDING_CUES = frozenset(["ended", "moved", "dropped", "allowed", "turned", "no longer", "bad"])

_OWN_TOPIC = any_case(
    r"^(?:(?:and|but|so|oh|ok(?:ay)?),? )*(?:about|on|as for|regarding|concerning|re) (?:the |our |my |that |those |your )?(?P<of>(?!that\b|this\b|it\b|them\b|reflection|second|balance|the whole|top|time)[^,:.]{2,40}?)[,:] "
    r"|\b(?:forget|never mind|minds? (?:about|on)|thoughts (?:about|on)|wrong about|mistake about|(?:said|wrote|told you|decided|agreed|decision|work) (?:about|on)|(?:bit|part|thing|rule|one) (?:about|with|on)) (?:about |what i said about )?(?:the |our |my |that |those |your )?(?P<of2>(?!that\b|this\b|it\b|them\b|what\b|about\b|everything\b|all\b)[^,:.;!]{2,40})"
)
"""What somebody says himself that he speaks of."""


def of_own_topic(lines: Sequence[str], standing: Sequence[Statement]) -> Sequence[Statement]:
    """Return the standing statements that a message may end: where it says itself what it speaks of, those about that."""
    for line in lines:
        match = _OWN_TOPIC.search(line)
        wanted = topic_stems(match["of"] or match["of2"]) if match else frozenset()
        if wanted:
            return [statement for statement in standing if wanted & topic_stems(statement.text)]
    return standing


_PLACES = (
    ("first", 0), ("number one", 0), ("former", 0), ("second", 1), ("number two", 1), ("third", 2), ("number three", 2), ("fourth", 3), ("last", -1), ("latter", -1),
)  # fmt: skip


_THEN = any_case(r"(?:^|[,.:] )(?:the )?(?P<what>[\w-]+(?: [\w-]+)?),? then[.!]?$")
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
    if not latest or not any(_AT_ONCE.search(sentence) or _chooses_then(sentence) for sentence in sentences):
        return None
    if _ONE_CASE.search(" ".join(sentences)):
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


def of_what_was_spoken(
    statement: Statement, sentences: Sequence[str], spoken_of: str, standing: Sequence[Statement]
) -> Statement:
    """Return the one standing statement of its kind of which the agent spoke last, where a message turns from something and names neither
    that nor `statement`, which was made just before; else `statement`.

    For example, "Mountain lodge then." behind the agent's "The hotel is booked." turns from the hotel, not from the
    answer that was given in between.
    """
    ours, theirs = topic_stems(" ".join(sentences)), topic_stems(spoken_of)
    if (ours | theirs) & topic_stems(statement.text):
        return statement
    of_it = [other for other in standing if other.section == statement.section and theirs & topic_stems(other.text)]
    return of_it[0] if len(of_it) == 1 else statement
