"""Plain facts that a user states as worth keeping: a figure, a name, an address, where the work stands.

A fact is a short sentence with a subject that can be named again ("the staging host", "our budget", "next step"), a verb
that says what it *is* (not what it did or does), and a value that is hard to remember (`values`). Where the work stands
("the next step is …", "we are on branch …") needs no such value. Facts that follow each other in one message are one.

For example, "The release manager is Ada Byron. She likes tea. The load test ran for 20 minutes." has one fact, the first
sentence: the second has no value, and the third tells what happened.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.hedging import is_question, is_report, is_supposition
from hudkit.ingest.extraction.prose import Sentence, line_of
from hudkit.ingest.extraction.values import EXACT_KINDS, find_values, without_values

MAX_FACT = 240
"""Characters of one note that are kept."""

_MAX_WORDS = 28
"""Words of a sentence that states a fact: a longer one tells a story."""

_MAX_FACTS = 8
"""Facts of one message: more is a document that was pasted. Then none counts."""

_ADVERB = r"(?:(?:now|currently|always|still|already|officially|internally|actually|just|then) )*"
_IS = (
    rf"(?:{_ADVERB}(?:is|are|will be|was set to|is set to|stays?|remains?) {_ADVERB}(?:called |named |known as |designated |based on |fixed at |due (?:on |by )?|at |on |in |hosted (?:in |on |at |by )|capped at |limited to |set to |up to )?"
    rf"|{_ADVERB}(?:runs?|lives?|listens?|sits?|resides?|belongs?|starts?|begins?|ends?|expires?|lasts?|costs?|equals?|owns?|handles?|manages?|leads?|covers?|approves?|reviews?|maintains?) (?:in |on |at |to |by |under |from )?"
    r"|(?:(?:has|have|was|were|got|is being|is|are) )?(?:(?:now|just|finally) )*(?:moved|changed|switched|renamed|rotated|postponed|extended|raised|lowered|increased|reduced|migrated|shifted|replaced|pushed|bumped|handed over|passed)(?: back| over| forward)? (?:to|by|from|until|with|onto|on) "
    r"|took over |takes over |go(?:es)? live (?:on )?|ships? (?:on )|launch(?:es)? (?:on )|lands? (?:on )|(?:lands?|departs?|arrives?|leaves?|opens?|closes?|takes off|boards?) (?:at |on |in |from )?)"
)
_NOUN = r"[\w`'’/.()-]+"
_SUBJECT = rf"(?:the|our|my|this|that|today's|this week's|its?|their)? ?(?!(?:there|this|that|it|he|she|they|we|i|you|which|what|who|someone|nobody|everyone|here|these|those|and|but|so|yesterday|error|output)\b)(?:{_NOUN} ){{1,8}}?"

_FACTS: tuple[str, ...] = (
    rf"^(?:update: |correction: |for the record[,:] |just so you know,? |so you know,? |fyi,? |note: |btw,? |by the way,? |remember that |remember: |for the record,? )?{_SUBJECT}{_IS}(?P<value>\S.*)",
    r"^(?:we|i) (?:(?:now|currently|internally|always) )?(?:refer to|call|named|renamed|are calling|'re calling)\b(?P<value> .+)",
    r"^(?:we|i)(?:'re|'ve| are| have)? (?:(?:now|just|currently|already) )*(?:on|working on|based on|at|in phase|rebased on(?:to)?|branched from|branched off|moved (?:to|onto)|switched (?:active )?(?:\w+ )?(?:to|onto)|checked out|deploy(?:ed|ing)? to|host(?:ed|ing)? on) (?:(?:the )?(?:branch|commit|phase|version|release|tag|server|region|cluster)\b)?(?P<value>.+)",
    r"^(?:they|we|i|management|marketing|legal|ops|someone|[A-Z]\w+)(?:'ve| have| has)? (?:just |now |finally )?(?:moved|changed|postponed|extended|raised|lowered|increased|renamed|pushed|shifted) (?:the |our |my )?[\w -]{3,40}? (?:to|until|onto)\b(?P<value>.+)",
    r"^(?:we|i)(?:'ve| have)? (?:got )?(?:until|till|time until) (?P<value>.+)",
    r"^(?:[\w'’-]+ ){1,5}for (?:this|the|our|my) (?:[\w-]+ ?){1,4}: ?(?P<value>\S.*)",
    r"^(?:the |our |my )?(?:[\w'’-]+ ){0,4}(?:branch|commit|url|host|port|address|id|number|code|name|codename|region|version|contact|owner|deadline|budget|date|phone|email|e-mail|server|database|bucket|account|channel|ticket|endpoint|path|folder|directory|repo|repository): ?(?P<value>\S.*)",
    r"^(?:we|i) (?:(?:now|currently|already) )*(?:have|pay|serve|employ|charge|earn|host|make|spend) (?:about |around |roughly |some |over |nearly |almost |up to )?(?P<value>(?:[$€£] ?\d[\d,.]*|\d[\d.,]* (?:dollars?|euros?|pounds|usd|eur|francs)|\d{1,3}(?:,\d{3})+|\d{4,}) ?.*)",
    rf"^{_SUBJECT}(?:can be|is|are) (?:reached|contacted|called|found|available) (?:at|under|on|by|via|through) (?P<value>\S.*)",
    rf"^{_SUBJECT}(?:has|have) (?P<value>\d[\d.,]* ?(?:gb|mb|tb|cores?|cpus?|seats?|rooms?|employees|members|users|licen[cs]es|pages|chapters|shelves|beds)\b.*)",
    r"^(?:use|take) (?P<value>\S+) as (?:the|our|my) (?:[\w'’-]+ ?){1,6}$",
    r"^(?:[\w-]+ )*(?:cases?|tests?|tickets?|issues?|jobs?|builds?|checks?|services?|hosts?)(?P<value> .+) (?:is|are) (?:still |currently |now )?(?:failing|broken|open|pending|blocked|red|flaky|down|missing)\b",
    r"^(?:\w+ )*(?:timing|plan|date|deadline|schedule|owner|contact|address|budget|limit|name|version)s? (?:has|have) changed: (?P<value>.+)",
)
"""How a fact reads: what it comes to is `value`."""

_STANDING: tuple[str, ...] = (
    r"^(?:the |our |my )?(?:current|present|next|last|remaining|first|main|overall|immediate) (?:task|step|phase|milestone|goal|focus|priority|sprint|stage|item|job|objective|target) (?:is|are|will be)(?: to)? (?!(?:done|over|unclear|clear|hard|easy|fine|good|not|a (?:mess|problem))\b)\S.*",
    r"^(?:next up|up next|after (?:this|that),? the next step is|current (?:task|goal|phase|branch))[:,]? \S.*",
    r"^(?:steps?|phases?|milestones?|tasks?|parts?|stages?|points?) \d[\d ,–-]*(?:and \d+ )?(?:of \d+ )?(?:is|are) (?:done|finished|complete|open|left|next|pending)\b.*",
    r"^(?:we|i)(?:'re| are) (?:now |currently )?(?:in|at|on) (?:phase|step|stage|sprint|milestone) \S.*",
    r"^.{0,40}\b(?:is|progress:) (?:at |in )?(?:phase|step|stage|milestone) \d.*",
    r"^(?:(?:still )?(?:open|undecided|unresolved|pending)(?: \w+){0,3}|to be (?:decided|clarified)|tbd)(?: \w+){0,3}: (?:whether|which|who|when|if|what|how)\b .*",
)
"""How it reads where the work stands, and what is still open: no value is needed."""

_CONTRACTED = any_case(r"'s been\b")
_PASSING = any_case(
    r"\b(?:yesterday|last (?:week|month|year|night|time)|i (?:think|guess|believe|tried|saw|got|noticed|wonder|hope|ran)|seems?|looks like|probably|apparently|somehow|weird|strange|wrong|broken|slow|too (?:expensive|big|small|heavy|complicated|much|little)|we're moving|crash\w*|error|exception|traceback|why|trouble|struggling|can you|could you|please|example|e\.g\.|suppose|imagine|because of the|my question|problem)\b"
)
"""Words of a story, a complaint, or a request."""

_NOT_A_FACT = any_case(
    r"^(?:the|these|those) (?:last|first|next|other) (?:two|three|four|five|\d+|few|ones?)\b|^(?:it|this|that|there|here|he|she|they|these|those|you|yes|no|ok(?:ay)?|so|and|but|or|then|if|when|while|because|since|after|before|let|please|thanks?|sorry|everything|nothing|anything|all|some|most|many|[a-z]+ing (?!(?:is|are|was|runs?|lives?|moved)\b)|add|fix|create|make|write|run|show|check|find|change|rename|move|delete|remove|implement|build|test|update(?! ?:)|do|don't|never|always|only|must|should|can|could|would|what|which|how|who|where|i)\b(?!(?:'ve|'re| have| am| are|'m)? (?:now |just |currently )*(?:on|working on|moved|switched|rebased|branched|checked))"
)


class StatedFact(msgspec.Struct, frozen=True):
    """A fact in its user's words, and the indices of the sentences that state it."""

    text: str
    indices: tuple[int, ...]


def find_facts(sentences: Sequence[Sentence], taken: frozenset[int]) -> tuple[StatedFact, ...]:
    """Return the facts that these sentences of a user state, in order; `taken` are those that state something else.

    Facts of sentences that follow each other are one.
    """
    facts: list[StatedFact] = []
    for index, sentence in enumerate(sentences):
        if len(facts) > _MAX_FACTS:
            return ()
        if index in taken or not is_fact(sentence):
            continue
        text = line_of(sentence).rstrip(" .!;")
        text = re.sub(
            r"(?i)^(?:fyi|btw|note|remember|for the record|just so you know|by the way|remember that|and|so|also|oh and)[,:]? ",
            "",
            text,
        )
        last = facts[-1] if facts else None
        if last is not None and last.indices[-1] == index - 1 and sentences[index - 1].block == sentence.block:
            joined = f"{last.text}. {text}"
            if len(joined) <= MAX_FACT:
                facts[-1] = StatedFact(joined, (*last.indices, index))
                continue
        facts.append(StatedFact(text[:MAX_FACT], (index,)))
    return tuple(facts) if len(facts) <= _MAX_FACTS else ()


def says_where_work_stands(sentence: Sentence) -> bool:
    """Return whether a sentence says where a piece of work stands: what it is, what is done, what is next or open."""
    return _fits(sentence.bare.replace("’", "'").strip().rstrip(" .!;"), _STANDING)


def is_fact(sentence: Sentence) -> bool:
    """Return whether a sentence states a fact that is worth a note."""
    bare = _CONTRACTED.sub(" has been", sentence.bare.replace("’", "'").strip().rstrip(" .!;"))
    if sentence.asks or not bare or len(bare.split()) > _MAX_WORDS or bare.endswith(":"):
        return False
    if _fits(bare, _STANDING):
        return not is_supposition(bare) or bare.casefold().startswith(("open", "still open", "undecided", "pending"))
    if _KEEP_IN_MIND.search(bare) and find_values(bare) and not is_supposition(bare):
        return True
    if _PASSING.search(without_values(bare)) or is_question(sentence) or is_supposition(bare) or is_report(bare):
        return False
    for pattern in _patterns(_FACTS):
        match = pattern.match(bare)
        if match is None:
            continue
        if pattern.pattern.startswith("^(?:update") and _NOT_A_FACT.match(bare):
            continue
        start = match.start()
        return any(value.kind in EXACT_KINDS for value in find_values(sentence.text[start:])) or _counts(
            sentence.text
        )
    return False


_KEEP_IN_MIND = any_case(
    r", (?:so )?(?:please )?(?:(?:keep|bear) (?:that|this|it) in mind|remember (?:that|this|it))$"
)


def _counts(text: str) -> bool:
    """Whether a text has a figure, or a quoted or coined name, behind a subject that calls for one."""
    if re.search(
        r"(?i)\b(?:limit|budget|port|deadline|rate|price|quota|size|capacity|timeout|interval|threshold|number|version|cap|lasts?|expires?|costs?)\b",
        text,
    ):
        return bool(find_values(text))
    named = re.search(
        r"\b(?:called|named|name|codename|designated|label|known as|project|renamed)\b.*?\b([A-Z][\w-]+)\W*$", text
    )
    if re.search(
        r"(?i)\b(?:is|are) (?:called|named) [\w.-]+\W*$|, (?:please )?(?:keep|bear) (?:that|this|it) in mind\W*$",
        text,
    ):
        return True
    if re.search(r"(?i)\b(?:number|code|id|account|reference|policy|licen[cs]e)\b.*\d{3,}", text):
        return True
    if re.search(
        r"(?i)\b(?:has|have) \d[\d.,]* ?(?:gb|mb|tb|cores?|cpus?|seats?|rooms?|employees|members|users|licen|pages|chapters)",
        text,
    ):
        return True
    if re.search(
        r"(?i)^(?:we|i)(?:'ve| have) (?:got )?(?:until|till) .*(?:day|noon|midnight|tomorrow|week|month)", text
    ):
        return True
    if re.search(r"(?i)^(?:we|i) (?:\w+ )?(?:have|serve|employ|host) .*\d[\d,]{3,}", text):
        return True
    if _AT_A_TIME.search(text):
        return True
    if _IN_A_MONTH.search(text):
        return True
    zone = any(value.kind == "zone" for value in find_values(text))
    return bool(named) or zone


_AT_A_TIME = any_case(
    r"^(?=.*\b\d{1,2}(?::\d\d| ?[ap]m)\b).*\b(?:every|daily|weekly|flight|train|bus|ferry|plane|job|backup|cron|standup|stand-up|check-?in|check-?out|shift|opens?|closes?|lands?|departs?|deadline|cut-?off|office hours)\b"
)
"""A time that comes again, or that is a pity to miss."""
_IN_A_MONTH = any_case(
    r"\b(?:contract|year|season|term|semester|licen[cs]e|lease|project|phase|trial|subscription|warranty|insurance|grant|course|election|audit|launch|release|go-live|deadline|holiday)s?\b.*\b(?:starts?|begins?|ends?|runs?|expires?|is|are|until|till|through)\b.*\b(?:january|february|march|april|june|july|august|september|october|november|december|spring|summer|autumn|winter|q[1-4])\b"
)
"""When something of length begins or ends, by its month."""


def _fits(text: str, rows: tuple[str, ...]) -> bool:
    return any(pattern.match(text) for pattern in _patterns(rows))


@cache  # compiled with the first message, not when the package is imported
def _patterns(rows: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(any_case(row) for row in rows)
