"""Rules that a user states plainly: what must, what must never, what stays as it is."""

# ruff: noqa: E501, ISC004 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from hudkit.rules.doubts import asks, reports, supposes, wishes
from hudkit.rules.prose import Sentence

LONGEST = 240
"""Characters of one rule that are kept."""

_FILLER = (
    r"(?:(?:(?:please|pls|plz|kindly|anyway|also|and|but|so|then|ok(?:ay)?|oh|hm+|important|note|remember|reminder|btw|well|plus|meanwhile"
    r"|in addition|by the way|one (?:more|last|other)? ?thing|(?:and |one )?(?:last|more) (?:wish|thing|rule)"
    r"|as (?:always|before|i said)|i (?:want|need|'d like|would like) you to|whatever you do|whatever happens|above all|most of all|most importantly|in general|generally|as a rule|for now"
    r"|at all costs|just|bitte|und|aber|auch)(?:[,:!]|\s+-)?"
    r"|(?:right|again|now|first|yes|no|nah|sure|good|great|fine|cool|still|thanks|sorry|actually)[,:!])\s+)*"
)

_NOT_FORBIDDEN = (
    r"worry|forget|hesitate|bother|know|think|care|mind|need|have|see|understand|get|remember|like|want|believe|be"
    r"|even|just|really|rush|wait|ask me|tell me|look at me|panic|take (?:it|this|everything|me)|give up|stop now|you"
)

_NOT_NEVER = (
    r"mind|heard|seen|knew|thought|got|had|was|were|happened|saw|did|been|said|knows?|understood|again what|found|came|went"
    r"|works?\b|worked|reached|fails?|failed|happens|ends|ended|changed|liked|finished|used to|in my life|ever seen"
)

_NOT_MISSING = (
    r"idea|problems?|worries|need|wait|one|doubt|sorry|thanks?|thank you|rush|hurry|way|matter|longer|luck|reason|that"
    r"|it|this|not|chance|clue|big deal|biggie|joke|questions?|answer|change|changes yet|i|you|we|error|errors|difference|changes(?! to)|no|nope"
)

OPENINGS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(f"^{_FILLER}(?:you (?:must|should|have to|need to) )?(?:{pattern})", re.IGNORECASE)
    for pattern in (
        rf"never(?: ever)? (?!(?:{_NOT_NEVER})\b)[a-z]",
        rf"(?:do not|don'?t|do n't|don’t)(?: ever)? (?!(?:{_NOT_FORBIDDEN})\b)[a-z]",
        r"always (?!(?:the|a|an|been|so|nice|good|like)\b)[a-z]",
        r"(?:must not|mustn't|must never|must always|must(?! (?:be (?:a|an|the|some\w*|because|why|due|that)|have)\b| be (?!\w+(?:ed|en)$)\w+$))\b",
        rf"no (?:more |new )?(?!(?:{_NOT_MISSING})\b)[\w.'`·()-]+(?: [\w.'`·()/-]+){{0,14}}$",
        rf"no (?!(?:{_NOT_MISSING})\b)[\w.'`·()-]+(?: [\w.'`·()/-]+){{0,5}}, ",
        r"avoid (?!that\b|this\b|it\b)[a-z]",
        r"refrain from ",
        r"(?:stick|keep|adhere) (?:with|to) (?!it\b|that\b)\S",
        r"stay (?:within|away from|out of|on|under|below) ",
        r"under no circumstances\b",
        r"(?:from (?:now|here|today|tomorrow|this point)(?: on(?:wards?)?| forward)|starting (?:now|today)|going forward|henceforth|in (?:the )?future|ab jetzt|ab sofort)\b",
        r"(?:keep your )?hands off ",
        r"only (?:ever )?(?:use|touch|edit|change|write|read|run|add|commit|push|deploy|log|call|import|answer|work|modify"
        r"|send|show|store|create|print|reply|allow|accept|open|keep|delete|remove|return|raise|test|build|render|load|save"
        r"|merge|ask|speak|contact|mail|display|export|query|fetch|install|start|stop|respond|include|expose)\b",
        r"(?!read only|plan only)\S+(?: \S+){0,6} only$",
        r"(?:\S+ ){0,8}nothing (?:but|except|other than) \S",
        r"(?:it is|it's|its) (?:strictly )?(?:not allowed|forbidden|prohibited|not permitted|mandatory) (?:to|that)\b",
        r"(?:nobody|no one|none of \w+) (?:may|must|should|is (?:allowed|supposed) to)\b",
        r"keep (?!me\b|going\b|it\b|them\b|this\b|that\b|in mind\b|on\b|your eyes\b)(?:[^.;:]|\.\w)*? (?:under|below|within|at|above|between|out of|away"
        r" from|free (?:of|from)|to (?:a|at) m\w+|short|small|simple|separate|in sync|in git|in english|secret|offline)\b",
        r"i (?:also |really |absolutely )?(?:do not|don't|never) (?:ever )?want (?:to see |you to |us to |any )?[a-z]",
        r"nothing (?:from|into|outside|goes|in|on) \S",
        r"(?:before|after|with) (?:every|each|any) \S",
        r"(?:\S+ ){1,4}(?:max|maximum|at most|tops|minimum|min|at least)$",
        r"use (?:it|them|this|that) [^,]*only$",
        r"i want you to (?:always|never|only)\b",
        r"(?:we|you) (?:can't|cannot|can not|must not|may not) (?!see\b|find\b|know\b|tell\b|say\b|think\b|reproduce\b|wait\b"
        r"|believe\b|remember\b|explain\b|get\b|be\b|do\b|help\b|reach\b|connect\b|figure\b|open\b|understand\b|have\b|even\b|just\b)"
        r"[a-z]+ ",
        r"we (?:never|always|don't|do not) [^.;]*\b(?:here|in this (?:repo|repository|project|team|house)|on main|to main)$",
        r"(?:limit|restrict|confine) (?:yourself|[^.;]+?) to \S",
        r"(?:again )?without (?:any |adding |using |touching |changing |breaking |introducing )",
        r"(?:max|maximum|min|minimum|at most|at least|no more than|not more than|no longer than)\.?(?: [a-z]+){0,3} \S*\d",
        r"(?:make sure|ensure|be sure)(?: that)?(?: you| we| to| it| they)* (?:always|never|do not|don't|only)\b",
        r"(?:make sure|ensure|be sure)(?: that)?\b(?:[^.]|\.\w)*?\b(?:never|always|not)\b",
        r"(?:keep|leave)\b(?:[^.;]|\.\w)*?\b(?:as (?:it|they|this|that)?(?: is| are|-is)|as is|unchanged|untouched|intact|alone"
        r"|the same|exactly as|stable|green|backwards?[- ]compatible|compatible|alphabetical|sorted|private|read-only)\b",
        r"use (?:only )?(?:[^.,;]|\.\w)+?(?:, not | only\b| and (?:nothing|no(?:thing)?) else| for everything| everywhere)",
        r"use (?:[^.;]|\.\w)+?,? (?:always|at all times|every time|without exception)$",
        r"prefer \S(?:[^.;]|\.\w)* (?:over|to) ",
        r"[\w-]+(?: [\w-]+)?, never [\w·()`-]+$",
        r"(?:tabs|spaces|[\w-]+), not [\w-]+(?:, |\b(?:[^.]|\.\w)*\b(?:in|for|everywhere))",
        r"nothing (?:but|except|besides) |nothing (?:in|under|outside) \S+ (?:may|must|should|is to)",
        r"(?:niemals|nie|immer|keine[nr]?|verwende (?:nur|immer)|benutze (?:nur|immer)|nicht) [a-zäöü]",
        r"(?:ändere|fasse|lösche|schreibe|benutze|verwende|committe|pushe) (?:[^.;]|\.\w)*\b(?:nie|niemals|nicht|keine[nr]?)\b",
    )
)
"""How an order begins that holds longer than for the next step."""

_SUBJECT = r"(?!(?:it|this|that|there|he|she|i|they|which|what)\b)(?:[\w`'’\"·./()+-]+(?:,? |$)){1,12}?"
_DEMAND = (
    r"(?:must(?:n't)?|may (?:not|never|only)|should (?:never|always|not|only)|shall (?:not|never|always)|(?:have|has) to"
    r" (?:stay|remain|be|keep|run|pass|go|use|work|fit|compile)|(?:needs?|ought) to (?:stay|remain)|should (?:stay|remain|be kept)|(?:is|are) not to be|darf(?:en)?"
    r" (?:nicht|nie|keine|nur)|muss|müssen)"
)
_STATE = r"(?:untouched|unchanged|intact|as (?:it|they) (?:is|are)|as is|the same|frozen|stable|private|read-only|where (?:it|they))"

STATEMENTS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(f"^{_FILLER}(?:{pattern})", re.IGNORECASE)
    for pattern in (
        rf"{_SUBJECT}{_DEMAND}\b(?! have\b| be (?:a|an|the|something|somewhere|because|due|why|wrong|broken|kidding)\b)",
        rf"only {_SUBJECT}(?:may|can|must|should|is allowed|are allowed)\b",
        rf"{_SUBJECT}(?:stays?|remains?) (?:exactly )?{_STATE}\b",
        rf"{_SUBJECT}(?:is|are) (?:strictly )?(?:forbidden|prohibited|banned|off[- ]limits|taboo|not allowed|not permitted"
        rf"|mandatory|required|compulsory|a must|obligatory|non-negotiable|frozen|final|sacred|signed off|verboten|pflicht)\b(?! (?:now|yet|because)\b)",
        r"(?:any|every|each|all|no) \S(?:[^.;?]|\.\w)*? (?:requires?|needs?|must|gets?|has to|have to|may|goes|is to|are to)\b",
        r"(?:under no circumstances|in no case|at no time|on no account)\b",
        r"(?:if|when(?:ever)?|before|after|once|unless) (?:[^.;?]|\.\w)*, (?:never|always|do not|don't|you must|must)\b",
        r"\S[^,]* needs? [^,]+, (?:all|each|every one) of them$",
        r"[^,]+(?:,[^,]+)?, (?:always|no exceptions?|without exceptions?|period|at all times)$",
        r"\S[^,;]* (?:is|are) [a-z]+-only\b",
        r"\w+ (?:the|a|an|all|any|each|every|it|them)\b[^;]*, (?:but |and )?never (?!mind\b)[a-z]+",
        r"(?:always|never) (?:[^.;?]|\.\w)* (?:before|after|when|unless|without) ",
    )
)
"""How a statement reads that demands."""

_NORMS = re.compile(
    r"(?i)\b(?:rules?|constraints?|requirements?|conventions?|guidelines?|policy|policies|non-negotiables?|restrictions?"
    r"|regeln?|vorgaben?|requests?|for (?:the rest of )?(?:this|the) (?:project|repo|repository|session)|from now on"
    r"|for everything|valid for)\b"
)
_LIST = re.compile(
    r"(?i)^(?:\S+ ){0,6}(?:rules?|constraints?|requirements?|conventions?|guidelines?|restrictions?|regeln?|vorgaben)\b"
)
_HEAD = re.compile(r"^([^:·]{2,90}):\s+(?=\S)")
_TALK = re.compile(
    r"(?i)\b(?:rules?|things?|constraints?|requirements?|requests?|wish|note|remember|important|reminder|begin|before"
    r"|conventions?|policy|security|project|repo|session|regel|wichtig)\b"
)
_SPLICED = re.compile(
    rf"(?i)(?:,|:| -| –| —) (?:and |but |so |just |please )*(?=(?:never (?!(?:{_NOT_NEVER})\b)|(?:do not|don'?t) (?!(?:{_NOT_FORBIDDEN}"
    rf"|touch base)\b)|no (?!(?:{_NOT_MISSING}|wait)\b)|leave (?:it|them|that|\S+) (?:alone|as|untouched)|must not |nothing (?:from|into|outside) |use (?:it|them|this|that) [^,]*only$|always ))"
)
_NORM_SPLIT = re.compile(r"(?:,\s*|\s+)and\s+")
_SPLIT = re.compile(
    r"(?:,\s*(?:also|then|plus)|(?:,\s*|\s+)(?:and|but|so))\s+(?:also\s+|please\s+|then\s+)*"
    r"(?=(?:please |always |never |do not |don'?t |avoid |stick to |keep |leave |only |no |make sure |under no "
    r"|every |any |each |all )\b)",
    re.IGNORECASE,
)
_STORIES = re.compile(
    r"(?i)^(?!i (?:also |really |absolutely )?(?:do not|don't|never) (?:ever )?want|i want you|we (?:never|always|don't|do not|can't|can not|cannot) )"
    r"(?:i|we)(?:'ve|'d|'ll|'m|'re)? (?:never|always|do not|don't|did|didn't|have|had|was|were|am|are|can|can't|only|also"
    r"|just|really|still|will|should really|keep|kept|think|thought|know|see|wanted)\b"
    r"|^(?:i|we) (?:always|don't|never|do not) (?:know|think|see|understand|have|need|care|remember|mind|get|finish)\b"
    r"|^you (?:always|never|do|don't|are|were|have(?! read)|had|did|can|could|need not)\b"
    r"|\b(?:should|must|could|would|may|might) (?:never |not |always )?have \w+(?:ed|en|wn|ne|ght|pped)?\b"
    r"|\bhave to have\b|^(?:thanks|thank you|sorry)\b|^(?:no|yes),? (?:wait|sorry|i)\b|\bin (?:that|this) case\b"
    r"|\b(?:haha|lol|:-?\)|;-?\))"
)
_DEMANDED = re.compile(
    rf"(?i)\b{_DEMAND}\b|\b(?:never|always|only|no|not|requires?|needs?|stays?|remains?|forbidden)\b"
)
_EXPLAINED = re.compile(r"(?i)^(?:it|this|that|there|he|she|they|which|because|since)\b")
_BECAUSE = re.compile(r"(?i),? (?P<why>(?:because|since|weil)\b.+)$")
_SUGGESTS = re.compile(r"(?i)^(?:\S+ ){0,2}(?:let'?s|i'll|i will|we'll|thanks|good|great|it|that|this)\b")
_POINTS = re.compile(
    r"(?i)^(?:so |but )?(?:(?:never|always|do not|don't|only|must not) )?[a-z]+ (?:it|them|this|those|these)\b"
)
_LEADING = re.compile(rf"^{_FILLER}", re.IGNORECASE)


class Rule(msgspec.Struct, frozen=True):
    """A rule in its user's words, and the reason that was given with it."""

    text: str
    reason: str = ""


def constraints(said: tuple[Sentence, ...]) -> tuple[Rule, ...]:
    """The rules that these sentences of a user state, each in its own words, in order."""
    before = (None, *said)
    return tuple(
        _reasoned(_whole(rule, last)) for last, one in zip(before, said, strict=False) for rule in _stated(one)
    )


def _reasoned(rule: str) -> Rule:
    reason = _BECAUSE.search(rule)
    return Rule(rule[: reason.start()], rule[reason.start("why") :]) if reason and reason.start() > 8 else Rule(rule)


def _whole(rule: str, last: Sentence | None) -> str:
    """The rule with the sentence before it, where it only says "it"."""
    if last is None or last.asks or not _POINTS.match(rule):
        return rule
    whole = f"{' '.join(last.text.split()).rstrip(' .!;')}; {rule}"
    return whole if len(whole) <= LONGEST else rule


def _stated(sentence: Sentence) -> Iterator[str]:
    if asks(sentence):
        return
    text, bare = sentence.text, sentence.bare
    norm = sentence.bullet and bool(_NORMS.search(sentence.lead))
    if sentence.bullet and _LIST.match(sentence.lead) and not supposes(bare) and not reports(bare):
        yield from _kept(text)
        return
    head = _HEAD.match(bare)
    if head:
        if _TALK.search(head[1]) and not _DEMANDED.search(head[1]):
            norm = norm or bool(_NORMS.search(head[1]))
            text, bare = text[head.end() :], bare[head.end() :]
        elif any(any(_demands(bare[start:end], norm=False)) for start, end in _clauses(bare, head.end())):
            for start, end in _clauses(bare, head.end()):
                if any(_demands(bare[start:end], norm=False)):
                    whole = start == head.end() or bool(_POINTS.match(bare[start:end].strip()))
                    yield from _kept(text[0 if whole else start : end])
            return
    parts = _NORM_SPLIT.split(bare) if norm and head else []
    if len(parts) > 1 and all(_DEMANDED.search(part) for part in parts):
        start = 0
        for part in parts:
            at = bare.index(part, start)
            start = at + len(part)
            yield from _kept(text[at:start])
        return
    for start, end in _clauses(bare):
        if any(_demands(bare[start:end], norm)):
            later = start > 0 or not sentence.bare.startswith(bare[:20])
            whole = later and bool(_POINTS.match(_LEADING.sub("", bare[start:end].strip())))
            yield from _kept(text[0 if whole else start : end])


def _clauses(bare: str, start: int = 0) -> Iterator[tuple[int, int]]:
    for match in _SPLIT.finditer(bare, start):
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    yield start, len(bare)


def _demands(clause: str, norm: bool) -> Iterator[bool]:
    clause = clause.strip().rstrip(".!")
    if not clause or supposes(clause) or _STORIES.search(clause):
        return
    if norm:
        yield bool(_DEMANDED.search(clause)) and not _EXPLAINED.match(clause) and not wishes(clause)
    for pattern in (*OPENINGS, *STATEMENTS):
        match = pattern.search(clause)
        if match is not None:
            so_far = clause[: match.end()]
            yield not reports(so_far) and not wishes(so_far)
    spliced = None if _SUGGESTS.match(clause) else _SPLICED.search(clause)
    if spliced is not None:
        so_far = clause[: spliced.end()]
        yield not reports(so_far) and not wishes(so_far)


def _kept(text: str) -> Iterator[str]:
    words = " ".join(text.split()).strip(" ,-–—")
    words = _LEADING.sub("", words)
    words = words.rstrip(" .!,;:")
    if len(words) >= 5:
        yield words if len(words) <= LONGEST else words[: LONGEST - 1].rstrip() + "…"
