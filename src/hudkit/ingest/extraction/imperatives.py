"""Rules that a user states plainly: what must be, what must never be, what stays as it is.

A sentence is cut into clauses, and each clause is asked whether it demands: by a table of orders ("never ...", "no ..."),
of statements that demand ("migrations are never edited by hand"), and of wishes that are orders ("I want you to ...").
Hedging is asked first: a question, a supposition, a report or a story states nothing, whatever words it has.

*Scope.* Under a heading for rules ("House rules:", "**Guidelines**" over a list) less is needed: a plain statement
demands there, and under a strong heading even a bare name does. A rule goes from the clause that demands to the next
one that does. It takes along what it cannot be read without: a condition before it ("when you add a column, never drop
the old one"), the clause that has its subject, or, where it only says "it", the sentence before.

For example, "Fix the parser, and do not touch the API, because it is public. Why does it never fail here?" has the
clauses `Fix the parser` (an order, but of work, not a rule: no row fits), `do not touch the API` (fits), `because it is
public` (goes along, and becomes the reason) and a question, which is passed over. The rule is `do not touch the API`
with the reason `because it is public`.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from typing import cast

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.clause_grammar import word_class
from hudkit.ingest.extraction.clauses import form_of
from hudkit.ingest.extraction.hedging import is_question, is_report, is_supposition, is_wish
from hudkit.ingest.extraction.prose import LABEL, Sentence, line_of
from hudkit.ingest.extraction.rule_forms import (
    COMPLAINT,
    DEMAND,
    DEMANDING_WISHES,
    FILLER,
    FIRM_WORDS,
    ORDERS,
    PLURAL_SUBJECT,
    RULE_WORD,
    STATEMENTS,
)

MAX_RULE = 240
"""Characters of one rule that are kept."""

_MIN_RULE = 5  # characters: less is a word that a pattern caught
_MIN_BEFORE_REASON = 8  # characters: with less before it, "because ..." is the sentence itself

Span = tuple[int, int]
"""Where a clause or a rule is in a sentence."""

# -- the tables: how rules read --------------------------------------------------------------------------------
# The rows are strings, and compiled when a clause first needs them (`_RowTable`): a program that only imports this
# package does not pay for it.

_POLITE_ORDER = any_case(
    r"^(?:(?:and|but|so|also|oh|ok(?:ay)?|btw|by the way),? )*(?:could|can|would|will|may i ask|might i ask)(?: you| i ask you)(?: please| kindly| also| maybe| just| perhaps)*"
    r"(?: make sure| ensure| be sure)?(?= (?:to )?(?:not|never|always|only|from now on|avoid|refrain|stop|keep [^?]*(?:under|as is|out of|free of)|leave [^?]*(?:alone|as is|untouched))\b)(?: please| kindly)? (?:to )?"
)
"""How a rule reads that is put as a question."""

_STRONG_HEADING = any_case(
    r"\b(?:rules|constraints|conventions|guidelines|musts|must-haves?|no-gos?|non-negotiables?|don'?ts|house style|principles|boundaries|standards|what matters|(?:what|things?|all)(?: that)? (?:i|we) (?:really |only |just )?(?:insist on|expect|require|care about|demand)|restrictions|regeln|vorgaben)\b"
)
"""Headings under which a bare name is a rule."""
_WORK_RULES = any_case(
    r"\b(?:firewall|es-?lint|lint\w*|css|routing|business|iptables|validation|grammar|scoring|tax|discount|pricing|proxy|rewrite|access|sharing|alert\w*|build|makefile|ignore|apache|nginx|sieve|udev|production|game) rules\b|\brules of (?:the )?(?:game|thumb|chess)|\brules (?:are|were)\b"
)
"""Rules that are the work's matter."""

_RULE_HEADING = any_case(
    r"\b(?:rules?|constraints?|requirements?|conventions?|guidelines?|policy|policies|non-negotiables?|restrictions?|musts|must-haves?|no-gos?|don'?ts|dos|wishes|principles|boundaries|expectations|house style|standards"
    r"|regeln?|vorgaben?|requests?|how (?:we|i) work|(?:keep|bear) in mind|what matters|(?:what|things?|all)(?: that)? (?:i|we) (?:really |only |just )?(?:insist on|expect|require|care about|ask(?: for| of you)?|demand)|things? (?:that|which) (?:really )?(?:matters?|counts?|(?:is|are) important)|things? (?:to|you (?:must|should)) (?:know|respect|remember)"
    r"|(?:read|note|observe|respect|follow|mind|remember) (?:\w+ ){0,2}(?:following|these|this)\b|following (?:\w+ )?appl(?:y|ies)|for (?:the rest of )?(?:this|the) (?:project|repo|repository|session)|from now on"
    r"|for everything|valid for|the deal|ways? of working|working agreements?|as for style|style)\b"
)
_RULE_LIST_HEADING = any_case(
    r"^(?:\S+ ){0,6}(?:rules?|constraints?|requirements?|conventions?|guidelines?|restrictions?|musts|must-haves?|no-gos?|non-negotiables?|don'?ts|house style|policy|policies|working agreements?|principles|boundaries|limits|demands|wishes|standards|regeln?|vorgaben)\b"
)
_HEADING = re.compile(r"^([^:·]{2,160}):\s+(?=\S)")
_TALK_HEADING = any_case(
    r"\b(?:rules?|things?|constraints?|requirements?|requests?|wish(?:es)?|note|remember|important|reminder|begin|before"
    r"|conventions?|policy|security|project|repo|session|regel|wichtig|style|musts|how (?:we|i) work|in mind|with regard|regarding|concerning|as (?:for|to)|next time|heads-?up|matters|official|btw|fyi|also|principles|guidelines|house)\b"
)
_DEMANDING = any_case(rf"\b{DEMAND}\b|\b(?:never|always|only|no|not|requires?|needs?|stays?|remains?|forbidden)\b")
_GENERIC_STATEMENT = any_case(
    rf"^(?!(?:i|you|it|he|she|they|this|that|there|which|what|who|because|since|as|so|some|many|most|few|sometimes|one of|otherwise|else)\b)(?:{RULE_WORD} ){{1,9}}?(?:is|are|gets?|goes|go|comes?|belongs?|stays?|stay|(?:has|have)(?! been)|lives?|starts?|ends?|uses?|needs?|requires?|matters?|wins|fails?|runs?|pass(?:es)?|follows?|takes? precedence)\b|^(?:every|each|any) [\w`·-]+(?: [\w`·-]+)? [a-z]+s\b"
)
"""A statement in the present: under a heading for rules it is one."""

_STORY = any_case(
    r"^(?!i (?:also |really |absolutely )?(?:do not|don't|never) (?:ever )?want|i want you|we (?:never|always|don't|do not|can't|can not|cannot|only) |we(?:'re| are) not (?:allowed|permitted|supposed) |(?:i|we) (?:hate|can't stand|cannot stand|refuse|insist|ban|forbid|prefer|require|support|target)\b)"
    r"(?:i|we)(?:'ve|'d|'ll|'m|'re)? (?:never|always|do not|don't|did|didn't|have|had|was|were|am|are|can|can't|only|also"
    r"|just|really|still|will|should really|keep|kept|think|thought|know|see|wanted|tried|looked|talked|ran|got|saw)\b"
    r"|^(?:please |now |just |ok |okay |then )*(?:switch|migrate|convert|move)\b"
    r"|^(?:i|we) (?:always|don't|never|do not) (?:know|think|see|understand|have|need|care|remember|mind|get|finish|want to (?:know|think|be rude))\b"
    r"|^(?:now|then|so|and) (?:i|we) (?:have|need|want) to\b"
    r"|^(?:i'm|i am|i’m) (?:kinda|kind of|trying|working|struggling|stuck|having|looking|considering|planning|hoping|wondering|worried|thinking|concerned|afraid)\b"
    r"|^(?:i|we) (?:also |really )?(?:don't|do not) want to (?:miss|lose|be|feel|end up|forget|waste|spend|sound|come|go|do|get)\b"
    r"|^you must (?:be|feel|think|know|mean|have)\b(?! able| at least| a )"
    r"|^you (?:always|never|do|don't|are|were|have(?! read)|had|did|can|could|need not)\b"
    r"|\b(?:should|must|could|would|may|might) (?:never |not |always )?have \w+(?:ed|en|wn|ne|ght|pped)\b|\bmust have been\b"
    r"|\bhave to have\b|^(?:thanks|thank you|sorry)\b|^(?:no|yes),? (?:wait|sorry|i)\b|\bin (?:that|this) case\b"
    r"|\b(?:haha|lol|lmao)\b"
    r"|\b(?:is|are) (?:now |again )?(?:possible|allowed|permitted|fine|ok(?:ay)?)\b.*\b(?:again|now)$"
    r"|\b(?:yesterday|last (?:week|month|year|time|night)|years ago|back then|used to|at my last|in the old days|once upon|right now|at the moment|currently|so far|until now|up to now|these days|nowadays)\b"
)
"""What is told of oneself, or of the past."""

_FEATURE_HEADING = any_case(
    r"^(?:please |now |next(?: up)?:? )*(?:add|create|build|implement|make|feature(?: request)?|bug(?: report)?|task|show|export|extend|introduce|design|todo|story|user story|ticket|validation)\b"
)
"""A heading over what shall be built: what must be so there is one feature."""
_OBSTACLE = any_case(r"(?:(?:i'?m|i am|we'?re|we are|still) )*(?:blocked|stuck|held up)\b")
"""How somebody says what is in the way: "I'm blocked: no access to the logs" forbids nothing."""

_CHOICE = any_case(
    r"(?:ok(?:ay)?,? |so,? |(?:we|i)(?:'ve| have|'ll| will)? |let'?s )*(?:decid|agree|settle|go with|pick|chose)[^.;]* and ?$"
)
_BARE_NO = any_case(r"no [\w-]+(?: [\w-]+)?")
"""The rest of a decision, which is no rule: "we decided on a queue and no cron"."""

_REQUEST = any_case(
    r"^(?:and |but |so |also |please |now )*(?:add|create|build|implement|make|write|design) (?:an?|the|some|another|new) (?!.*\b(?:never|always|every time|whenever)\b).*\b(?:where|that|which|so that|in which|with)\b"
    r"|^(?:and |but |so |also |please |now )*(?:the|our|my|your|this) (?:[\w`'·./-]+ ){1,4}?(?:must|has to|needs to|should) (?:also |now |finally |soon |at last )*"
    r"(?:(?:get|gain|receive|learn|grow)\b(?!.*\b(?:\w*review\w*|approv\w+|sign-?offs?|ok(?:ay)?|permission|consent|changelog|tests?|tickets?|migration|descriptions?|labels?|merged|tagged|released|always|never|only|every|each|all|before|without)\b)"
    r"|have (?:a|an) (?!.*\b(?:reviews?|approv\w+|changelog|tests?|tickets?|docstring|description|label|owner|licen[cs]e|header|type|limit|timeout|fallback)\b)|be able to\b(?!.*\b(?:always|never|only|without|offline)\b))"
)
"""How a request reads that names what shall be built: "our shop must get a wish list". All of a kind ("each invoice
must get a number") are a rule, and so is what a change must get (a review, a test)."""
_DECISION_HEADING = any_case(r"^(?:\w+ ){0,2}(?:decided|decision|verdict|choice|resolution)\b")
"""A heading over a decision."""
_EXPLANATION = any_case(
    r"^.*\b(?:anyway|anyways|already|as well|by now)$|^(?:it|this|that|there|he|she|they|which|because|since)\b"
)
_SUGGESTION = any_case(r"^(?:\S+ ){0,2}(?:let'?s)\b")
_PRAISE = any_case(r"^(?:\S+ ){0,2}(?:i'll|i will|we'll|thanks|good|great|it|that|this|works?|nice|perfect)\b")
_POINTS_BACK = any_case(
    r"^(?:so |but )?(?:please )?(?:(?:(?:never|always|do not|don't|only|must not) )?[a-z]+ (?:it|them|this|those|these|(?:a |the |any )?(?:new|other|another|second|different) one)\b|(?:that|this|these|those|it|they)(?: \w+)? (?:must|may|stays?)\b)"
)
_LEADING_FILLER = any_case(rf"^{FILLER}")
_FIRST_NAMES = any_case(rf"(?:the |our |every |all |each |any |both |neither )(?:{RULE_WORD}(?: |$)){{1,3}}$")
"""The first names of an enumerated subject."""
_CUSTOM = any_case(rf"^{FILLER}{PLURAL_SUBJECT} (?:are|go|come|start|end|use|live) [^,;]+$")
"""What is so with all of a kind: with its opposite behind it, a rule."""

# -- the patterns around a clause ------------------------------------------------------------------------------

_CUES = (
    r"(?:please |always |never |do not |don'?t |avoid |stick to |keep |leave |only |no |make sure |under no |every |any "
    r"|each |all |must not |must never |nothing |nobody |ask me |stay |use )"
)
_CLAUSE_BREAK = any_case(
    r",\s+(?:(?:and|but|so|also|then|plus)\s+)*|(?<!\s)\s+(?:[-–—]{1,2}|=>|→)\s+(?:(?:and|but|so)\s+)?"
    rf"|(?<!\s)\s+(?:and|but|so|plus)\s+(?:also\s+|please\s+|then\s+)*(?={_CUES}\b)"
)
_TELLS_OF_PAST = any_case(r"\b(?:had|was|were|said|says|wrote|writes|told|used to|did|printed|prints|shows)\b")
_MADE_A_RULE = any_case(r"\b(?:make|made|call|so|as) (?:that|this|it|a) (?:a |the |our )?(?:new )?rule$|\bnew rule$")
_HEDGED_END = any_case(
    r"(?:, (?:right|no)|,? (?:i (?:believe|think|guess|suppose|assume)|afaik|iirc|as far as i (?:know|can (?:see|tell))))$"
)
_QUESTION_TAG = any_case(r",? (?:ok(?:ay)?|alright|deal|understood|got it|clear|yeah|yes|please|agreed)\?+\s*$")
_PLEASE_END = any_case(r",? (?:please|pls|plz|thanks|thx|btw)$")
_SMILE_END = re.compile(r"(?<!\s)\s*[:;]-?[)DP(]+\s*$")
_BARE_OPPOSITE = any_case(r"^not (?:an? )?[\w-]+\W*$")
_HAS_TO = any_case(r"^(?:it|they|this|everything) (?:has to|have to|must|needs? to)\b")
_NEEDS_SUBJECT = any_case(
    r"^(?:also |therefore |thus |hence )*(?:must|may|shall|should|can|can't|cannot|is|are|has|have|stays?|remains?|gets?|goes)\b(?! you\b| we\b| i\b)"
)
"""A piece that has its subject in the piece before it."""
_FROM_NOW_ON = any_case(
    r"^(?:and |but |so |also |please |ok(?:ay)? )*(?:from (?:now|here|today|tomorrow)(?: on(?:wards?)?| forward)?|going forward"
    r"|in (?:the )?future|starting (?:now|today)|henceforth)\W*$"
)
"""When a rule begins: no rule of its own."""
_FROM_NOW_END = any_case(
    r"\b(?:from (?:now|here) on(?:wards?| out)?|going forward|in (?:the )?future|every time|at all times|until further notice)$"
)
_FOR_EXAMPLE = any_case(r"^(?:such as|like|including|e\.g\.|for example|i\.e\.|namely)\b")
_TURN_END = any_case(r"\b(?:but|still|however|so)\s*$")
_AND = re.compile(r"(?:,\s*|(?<!\s)\s+)and\s+")
_IN_BRACKETS = re.compile(r"\(([^()]{8,160})\)")
_BECAUSE = any_case(
    r",? (?P<why>(?:because|weil|since (?=(?:we|i|it|they|the|this|that|our|my|you|he|she|otherwise|there|some|all|many|most)\b))\b.+)$"
)
_CONDITION = any_case(
    r"^(?:and |but |also |so )?(?:if|when(?:ever)?|where(?:ver)?|for|in|on|with|as|before|after|unless|until|except|at|during|inside"
    r"|outside|within|under|every|each|all|any|both|neither|once|while|whatever|regarding|concerning|apart)\b"
)
_CONTRAST = any_case(
    r"^(?:please )?(?:(?:never|always|everywhere|no more|nothing more|no less|ever|period|full stop|nowhere else|nothing else|nobody else|no one else|no exceptions?|without exceptions?|at all times)\b(?: ever)?\W*$|(?:never|not) (?:[\"“`«'][^,;]*|[\w]+[.:/][\w.:/()]+)\W*$|(?:never|not) \w+ly\W*$|(?:never|not) \w+[.:/][\w.:/()]+\W*$|(?:never|not)(?: ever)? (?:by|in|into|on|onto|with|to|from|at|for|under|over"
    r"|even|via|through|inside|outside|before|after)\b)|^(?!no\b)(?!.*\b(?:is|are|use|must|may|should|can)\b)\S+(?: \S+){0,4} only\W*$"
)
"""The end of a statement that only says what it is not: "never by hand"."""
_GENERAL = any_case(r"^(?:all|every|each|any|no|new|we|(?!the\b|my\b|our\b|a\b)[\w`·-]+s|state|code)\b")
_CLAUSE_WORDS = any_case(
    r"\b(?:i|we|you|it|they|he|she|is|are|was|were|do|does|did|can|could|will|would|has|had|have|which|because)\b"
    r"|'(?:s|ll|re|m|ve|d)\b|n't\b"
)


_LIMIT = any_case(
    r"\b(?:max|maximum|minimum|min|at (?:the )?(?:most|least)|(?:no|not) (?:more|less|longer|fewer)|under|below|within|over|above|up to|exceed|cap|limit|ceiling|budget)\b.*\d"
)

_ENDS_WITH_PRONOUN = any_case(
    r"\b(?:over|above|below|beyond|past|exceeds?|outside|without|about) (?:it|that|them|this)$"
)

_NO_OBJECT = any_case(
    r"^(?:please )?(?:never|do not|don't|always|must not|must never|only) (?:exceed|change|touch|share|use|disclose|reveal|remove|edit|modify|skip|raise|break|delete|send|store|log|alter|rename|bypass|disable|override|overwrite|expose|publish|merge|deploy|go (?:over|above|below|beyond)|drop below|lower|extend|cross|violate)(?:,? (?:without|unless|until|before|even|ever|again|except|by hand|for any reason)\b.*)?$"
)
"""An order whose verb has no object: that is in the sentence before it."""


class StatedRule(msgspec.Struct, frozen=True):
    """A rule in its user's words, the reason that was given with it, and the sentence that it was read in, with what
    that was taken for."""

    text: str
    reason: str = ""
    sentence: str = ""
    form: str = ""


def find_rules(sentences: tuple[Sentence, ...], taken: Collection[Sentence] = ()) -> tuple[StatedRule, ...]:
    """Return the rules that these sentences of a user state, each in its own words, in order.

    Those that are `taken` are not read; the next one may point back to them.
    """
    rules: list[StatedRule] = []
    before: Sentence | None = None
    headed_block = -1
    for sentence in sentences:
        stated = () if sentence in taken else _stated_rules(sentence, under_heading=sentence.block == headed_block)
        for text in stated:
            rule = _without_reason(text)
            whole = _with_referent(rule.text, before)
            if rules and whole != rule.text and whole.startswith(rules[-1].text):
                rules.pop()  # the sentence before is in this one
            line = line_of(sentence)
            rules.append(StatedRule(whole, rule.reason, line, _form_of(rule.text)))
        if _opens_list(sentence):
            headed_block = sentence.block
        elif sentence.asks:
            headed_block = -1
        before = sentence
    return tuple(rules)


_ROWS_TOGETHER = 40
"""Rows of a table that are compiled as one pattern: with many more of them, a row that fits costs more to be found."""


class _RowTable:
    """The rows of a table as patterns, behind words that may stand before each; compiled when a clause needs them.

    Some rows are compiled together. They are asked first, and nearly always answer for all of them that no row fits;
    where one does, it is the first that fits, and only the rows behind it are compiled and asked one by one. What a
    clause begins with and says nothing of an order is found once: it would be most of a row's price.
    """

    def __init__(self, rows: Sequence[str], before: str = "") -> None:
        self._before = before
        self._groups = [tuple(rows[start : start + _ROWS_TOGETHER]) for start in range(0, len(rows), _ROWS_TOGETHER)]

    def fits(self, clause: str) -> bool:
        """Return whether a row fits a clause."""
        return next(self.ends(clause), None) is not None

    def ends(self, clause: str) -> Iterator[int]:
        """Yield where the words end with which a clause fits a row: where it begins and behind each word of its filler,
        behind most of it first, and there in the order of the table."""
        for start in _starts(clause):
            rest = clause[start:]
            for group in self._groups:
                match = _compiled(self._before, group).match(rest)
                if match is None:
                    continue
                yield start + match.end()
                for row in group[int(cast("str", match.lastgroup)[len(_ROW) :]) + 1 :]:
                    match = _compiled(self._before, (row,)).match(rest)
                    if match is not None:
                        yield start + match.end()


@lru_cache(maxsize=64)  # a clause is asked about by each table
def _starts(clause: str) -> tuple[int, ...]:
    """Where an order may begin in a clause: behind each word of its filler, the last first, and where it begins."""
    filler = _LEADING_FILLER.match(clause)
    if filler is None or not filler.end():
        return (0,)
    ends = [space.end() for space in _SPACES.finditer(clause, 0, filler.end())][-_MAX_STARTS:]
    return (*(end for end in reversed(ends) if _LEADING_FILLER.fullmatch(clause, 0, end)), 0)


_MAX_STARTS = 12
"""Words of filler behind which an order is looked for: who writes more of them means to slow us."""
_SPACES = re.compile(r"\s+")
_ROW = "row"
"""What the names of the marks behind the rows of a pattern begin with; their places follow."""


@cache
def _compiled(before: str, rows: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(f"(?:{row})(?P<{_ROW}{place}>)" for place, row in enumerate(rows))
    return any_case(f"^{before}(?:{alternatives})")


_ORDER_TABLE = _RowTable(ORDERS, before="(?:you (?:must|should|have to|need to) )?")
_STATEMENT_TABLE = _RowTable(STATEMENTS)
_WISH_TABLE = _RowTable(DEMANDING_WISHES)


# -- headings --------------------------------------------------------------------------------------------------


def _opens_list(sentence: Sentence) -> bool:
    """Whether the rest of the paragraph stands under a heading for rules."""
    head = _HEADING.match(sentence.bare)
    return bool(head and announces_rules(head[1])) and not sentence.asks


def announces_rules(head: str) -> bool:
    """Return whether words before a colon announce rules for the agent."""
    if _MADE_A_RULE.search(head):
        return True
    if not _RULE_HEADING.search(head) or _WORK_RULES.search(head):
        return False
    return not (is_supposition(head) or is_report(head) or _TELLS_OF_PAST.search(head))


# -- the rules of one sentence ---------------------------------------------------------------------------------


def _stated_rules(sentence: Sentence, *, under_heading: bool) -> Iterator[str]:
    clean = _as_order(sentence)
    if clean is None:
        return
    text, bare = clean
    if _HEDGED_END.search(bare.rstrip(".! ")) or _PRESENTS.match(bare):
        return
    if _is_listed_rule(sentence, bare):
        yield from _cleaned(text)
        return
    listed = strong = sentence.bullet and announces_rules(sentence.lead)
    norm = under_heading or listed
    head = _HEADING.match(bare)
    if head and _heads_no_rules(head[1]):
        return
    if head:
        listed = listed or announces_rules(head[1])
        strong = strong or bool(_STRONG_HEADING.search(head[1]))
        if listed or (_TALK_HEADING.search(head[1]) and not _DEMANDING.search(head[1])):
            norm = norm or listed
            text, bare = text[head.end() :], bare[head.end() :]
        else:
            spans = tuple(_rule_spans(bare, head.end(), norm=False))
            if spans:
                for start, end in _with_what_they_point_to(bare, spans, head.end()):
                    yield from _cleaned(text[0 if start == head.end() else start : end])
                return
    if not norm and _CONDITION_FIRST.match(bare) and _is_whole_condition(bare):
        yield from _cleaned(text)
        return
    spans = tuple(
        (start, end)
        for start, end in _rule_spans(bare, 0, norm=norm, listed=listed, general=under_heading, strong=strong)
        if not _is_own_plan(bare, start) and not (start and _TELLS_HOW.match(bare[start:]))
    )
    for start, end in _with_what_they_point_to(bare, spans, 0):
        yield from _cleaned(text[start:end])
    if not spans and (inner := next((match for match in _IN_BRACKETS.finditer(bare) if _is_order(match[1])), None)):
        yield from _cleaned(text if not is_report(bare[: inner.end()]) else "")


_CONDITION_FIRST = any_case(
    r"(?:please )?(?:if|when(?:ever)?|before|after|unless|once|in case|as soon as|every time|each time|should|until)\b"
)


def _is_whole_condition(bare: str) -> bool:
    """Whether a sentence is an order for a case that can come again, which is to be kept with that."""
    order = _LEADING_FILLER.sub("", bare.rstrip(".! "))
    return (
        form_of(order) == "condition"
        and not is_supposition(order)
        and not is_report(_CONDITION_CLAUSE.sub("", order))
    )


def _is_own_plan(bare: str, start: int) -> bool:
    """Whether what begins at `start` is only the second half of what the user means to do himself."""
    before, clause = bare[:start], bare[start:]
    if before.casefold().endswith("and "):
        clause = f"and {clause}"
    return bool(_OWN_PLAN.search(before) and _GOES_ON.match(clause))


def _as_order(sentence: Sentence) -> tuple[str, str] | None:
    """Text and bare text, where a question that is an order ("could you please not ...?") reads like one."""
    text, bare = sentence.text, sentence.bare
    polite = _POLITE_ORDER.match(bare) or _polite_frame(bare)
    if polite:
        text, bare = text[polite.end() :].rstrip("? "), bare[polite.end() :].rstrip("? ")
        if bare.casefold().startswith("not "):
            text, bare = f"do {text}", f"do {bare}"
    elif tag := _QUESTION_TAG.search(bare):
        text, bare = text[: tag.start()], bare[: tag.start()]
        if is_question(msgspec.structs.replace(sentence, text=text, bare=bare, asks=False)):
            return None
    elif sentence.asks or (is_question(sentence) and not _opens_list(sentence) and not _is_whole_condition(bare)):
        return None
    return text, bare


_POLITE_FRAME = any_case(
    r"^(?:(?:if (?:it(?: is|'s)(?:n't| not)|that(?: is|'s)(?:n't| not)) too much (?:trouble|to ask)|if you don't mind|if possible|and|but|so|also|oh|ok(?:ay)?|btw|by the way|please)[,:]? )*"
    r"(?:(?:could|can|would|will) you (?:please |kindly |also )?(?:be so (?:kind|good) (?:as )?to |mind (?=\w+ing\b|not\b))?|(?:may|can|might|could) (?:i|we) (?:please )?ask (?:you to |that |for )|(?:i|we)(?:'d| would) (?:be (?:very |really |so )?(?:grateful|glad|happy|thankful|delighted|obliged)|(?:really |very much |greatly )?(?:appreciate it|like it|love it|prefer it))(?: if)? (?:you |we )?(?:could |would |can )?"
    r"|it would (?:be (?:very |really )?(?:nice|great|good|lovely|helpful|kind|wonderful|best|ideal)|mean (?:a lot|much)(?: to (?:me|us))?|help(?: me| us)?(?: a lot)?) (?:if|to) (?:you |we )?(?:could |would |can )?|would it be possible (?:to|that you) |(?:just )?(?:a |an )?(?:gentle |friendly |quick |kind |small |little )*reminder(?: that|:) |please to |kindly (?:to )?)"
)
"""The frame of an order that is put as a question, a wish or a reminder."""


def _polite_frame(bare: str) -> re.Match[str] | None:
    """The frame around an order that holds for more than the moment: without it the order reads as any other."""
    frame = _POLITE_FRAME.match(bare)
    if frame is None:
        return None
    order = bare[frame.end() :].rstrip("?.! ")
    order = f"do {order}" if order.casefold().startswith("not ") else order
    states = frame[0].casefold().endswith("that ") and _STATEMENT_TABLE.fits(order)
    is_plain = _PLAIN_REQUEST.search(frame[0]) is not None
    if _FROM_NOW_END.search(order):
        return frame
    return frame if states or _is_order(order) or (form_of(order) and not is_plain) else None


_PLAIN_REQUEST = any_case(r"\b(?:could|can|would|will) you (?:please |kindly |also )?$")


def _is_listed_rule(sentence: Sentence, bare: str) -> bool:
    """Whether a bullet stands under words that announce nothing but rules: then it is one as it is."""
    lead = sentence.lead
    if not sentence.bullet or not _RULE_LIST_HEADING.match(lead) or _WORK_RULES.search(lead):
        return False
    return not is_supposition(bare) and not is_report(bare)


def _heads_no_rules(head: str) -> bool:
    """Whether what stands behind these words and a colon is a decision, a feature, an obstacle or a story."""
    if _DECISION_HEADING.match(head) or _FEATURE_HEADING.match(head) or _OBSTACLE.match(head):
        return True
    return bool(_TELLS_OF_PAST.search(head)) and not _MADE_A_RULE.search(head)


def _with_what_they_point_to(bare: str, spans: tuple[Span, ...], begin: int) -> Iterator[Span]:
    """The rules of a sentence; one that only points ("leave it alone") with what is before it."""
    pending: Span | None = None
    for start, end in spans:
        goes_on = _DENIES_TOO.match(bare[start:end]) and _PLURAL_DOES.match(bare[begin:start])
        if start > begin and (goes_on or _points_back(bare[start:end])):
            pending = (pending[0] if pending else begin, end)
            continue
        if pending:
            yield pending
        pending = (start, end)
    if pending:
        yield pending


def _points_back(clause: str) -> bool:
    words = _LEADING_FILLER.sub("", clause.strip())
    return bool(_POINTS_BACK.match(words) or _COMPARES_WITH_THAT.search(words) or _ORDER_ABOUT_IT.match(words))


_COMPARES_WITH_THAT = any_case(
    r"\b(?:newer|older|more|less|fewer|later|earlier|higher|lower|bigger|larger|smaller|longer|shorter|other) than (?:that|this|it|those)\b"
)
_ORDER_ABOUT_IT = any_case(r"(?:don['’]t|do not|never) (?:\w+ ){1,4}(?:it|them|that|this|any|any yourself)[.! ]*$")
_DENIES_TOO = any_case(r"(?:and )?(?:don['’]t|do not) (?!ever\b)\w+")
_PLURAL_DOES = any_case(
    r"(?:all |the |our |any )?(?:[\w-]+ )?[\w-]+s (?:(?:that|which|with|in|of|for|from) [^,;]{2,60} )?(?:are|have|get|live|come|go|need)\b[^,;]*\band $"
)
"""A plain statement that goes on with what the same things do not do: "tests of this kind are marked and don't run …"."""
_OWN_PLAN = any_case(
    r"\bi(?:['’]ll| will|['’]m going to| am going to| plan to| want to| need to| should|['’]m trying to)\b[^;:]*$"
)
_GOES_ON = any_case(
    r"\W*(?:(?:and|then|also|but) )+(?:then |also )?(?:make sure|ensure|stick|keep|stay|follow|limit|focus|try)\b"
)
"""How the second half of what somebody wants to do himself begins."""
_TELLS_HOW = any_case(r"(?:and |by |while )*always \w+ing\b")
"""How somebody did what he tells of: no order begins so."""
_PRESENTS = any_case(
    r"^here(?:['’]s| is| are) (?:an?|my|the|some|our) (?:[\w-]+ ){0,2}(?:examples?|code|snippets?|scripts?|functions?|implementation|versions?|draft|output|config\w*|files?|schema|query)\b"
)


def _is_order(clause: str) -> bool:
    return not is_supposition(clause) and _ORDER_TABLE.fits(clause)


# -- where in a sentence its rules are -------------------------------------------------------------------------


def _rule_spans(
    bare: str, begin: int, *, norm: bool, listed: bool = False, general: bool = False, strong: bool = False
) -> Iterator[Span]:
    """Where in a sentence its rules are: each from the clause that demands to the next one that does."""
    clauses = list(_clauses(bare, begin, _CLAUSE_BREAK))
    if norm:
        clauses = [part for clause in clauses for part in _parted(bare, *clause)]
    starts = _demanding_clauses(bare, begin, clauses, norm=norm, listed=listed, general=general, strong=strong)
    if not starts:
        if len(clauses) > 1 and _demands(bare[begin:], "", norm=False):
            yield begin, len(bare)
        return
    starts = [
        index
        for place, index in enumerate(starts)
        if not (place and starts[place - 1] == index - 1 and _ONLY_A_CASE.match(bare[slice(*clauses[index - 1])]))
    ]
    for first, following in zip(starts, (*starts[1:], len(clauses)), strict=True):
        begins = _first_clause_of_rule(bare, clauses, first, starts)
        yield clauses[begins][0], clauses[following - 1][1]


_ONLY_A_CASE = any_case(
    r"^\s*(?:(?:and|but|so|also|please|from (?:now|here|today) on|in (?:the )?future|going forward|always),? )*(?:when(?:ever)?|if|each time|every time|as soon as|once|unless|as long as|in case) (?:you|we|it|they|he|she|some\w+|any\w*|there|an?|the|your|my|our) [^,;:]*$"
)
"""A clause that names a case and orders nothing yet: "whenever you touch a migration"."""


def _demanding_clauses(
    bare: str, begin: int, clauses: list[Span], *, norm: bool, listed: bool, general: bool, strong: bool
) -> list[int]:
    """The indices of the clauses with which a rule begins."""
    starts: list[int] = []
    turned, demanded, needs_more = begin, False, False
    for index, (start, end) in enumerate(clauses):
        clause = bare[start:end]
        if _TURN_END.search(bare[begin:start]):
            turned = start  # behind a "but", what was said before casts no doubt any more
        if needs_more:
            needs_more = False
            continue
        if _FROM_NOW_ON.match(clause):
            starts.append(index)
            needs_more = demanded = True
            continue
        if index and _is_contrast(clause, bare[slice(*clauses[index - 1])]):
            if not demanded and _may_be_contrasted(bare, clauses, index):
                starts.append(_first_of_names(bare, clauses, index - 1, starts))
                demanded = True
            if demanded:
                continue
        first = index == 0
        demanded = (
            _demands(clause, bare[turned:start], norm=norm and not general)
            or (listed and _is_listed_item(clause, first=first, strong=strong))
            or (general and first and bool(_GENERAL.match(clause)) and _is_listed_item(clause, first=False))
        )
        if demanded:
            starts.append(index)
    return starts


def _is_contrast(clause: str, before: str) -> bool:
    """Whether a clause only says what the one before it is not: "(benchmarks go into benches/), never by hand"."""
    return bool(_CONTRAST.match(clause) or (_BARE_OPPOSITE.match(clause) and _CUSTOM.match(before)))


def _may_be_contrasted(bare: str, clauses: list[Span], index: int) -> bool:
    """Whether the clause before the contrast at `index` becomes a rule by it; two words alone do not."""
    before = clauses[index - 1]
    if index == 1 and len(bare[slice(*before)].split()) <= 2:
        return False
    return not _states_nothing(bare, *before)


def _first_of_names(bare: str, clauses: list[Span], index: int, starts: list[int]) -> int:
    """The first clause of an enumerated subject ("commits, names, comments in English, never in German")."""
    while index and index - 1 not in starts and not _CLAUSE_WORDS.search(bare[slice(*clauses[index - 1])]):
        index -= 1
    return index


def _first_clause_of_rule(bare: str, clauses: list[Span], index: int, starts: list[int]) -> int:
    """The clause with which the rule in `index` can be read alone: of its subject, its condition, its examples."""
    if index == 0:
        return index
    is_first_rule = index == starts[0]
    before = bare[slice(*clauses[index - 1])]
    if is_first_rule and index > 1 and _FOR_EXAMPLE.match(before):
        return index - 2
    if index - 1 not in starts and _NEEDS_SUBJECT.match(bare[slice(*clauses[index])]):
        return index - 1
    if is_first_rule and _belongs_to_next(before):
        return index - 1
    return index


def _states_nothing(bare: str, start: int, end: int) -> bool:
    """Whether a clause is a doubt, a story or a report, which a contrast behind it makes no rule."""
    clause = bare[start:end].strip()
    if is_supposition(clause) or is_report(bare[:end]):
        return True
    return bool(_STORY.search(clause) or _EXPLANATION.match(clause))


def _belongs_to_next(clause: str) -> bool:
    """Whether a clause before a rule belongs to it: a condition, or the first names of its subject."""
    return bool(_CONDITION.match(clause)) or (len(clause.split()) <= 4 and _FIRST_NAMES.match(clause) is not None)


def _clauses(bare: str, begin: int, breaks: re.Pattern[str]) -> Iterator[Span]:
    start = begin
    for match in breaks.finditer(bare, begin):
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    if start < len(bare):
        yield start, len(bare)


def _parted(bare: str, start: int, end: int) -> Iterator[Span]:
    """A clause under a heading for rules, parted at an "and" between two statements."""
    parts = [(start + first, start + last) for first, last in _clauses(bare[start:end], 0, _AND)]
    alike = all(
        (_GENERIC_STATEMENT.match(bare[first:last]) or _DEMANDING.search(bare[first:last]))
        and not _NEEDS_SUBJECT.match(bare[first:last])
        for first, last in parts
    )
    yield from parts if len(parts) > 1 and alike else ((start, end),)


# -- whether a clause demands ----------------------------------------------------------------------------------


def _is_listed_item(clause: str, *, first: bool, strong: bool = False) -> bool:
    """Whether a clause in a list of rules is one, though it has no word that demands."""
    clause = clause.strip().rstrip(".!")
    if is_supposition(clause) or is_wish(clause) or _STORY.search(clause):
        return False
    if _EXPLANATION.match(clause) and not _HAS_TO.match(clause):
        return False
    if _GENERIC_STATEMENT.match(clause) or _HAS_TO.match(clause):
        return True
    return first and strong and 1 <= len(clause.split()) <= 5 and not _CLAUSE_WORDS.search(clause)


_FIRM_ORDER = any_case(r"^(?:(?:please|also|and|but|so) )*(?:never|always|do not|don't|you must|must)\b")
_OWN_GOAL = any_case(
    r"\b(?:i|we)(?:'m|'re|’m|’re| am| are)? (?:\w+ )?(?:trying|want|need|hope|hoping|looking|planning|plan|going|aim|aiming|able|struggling|stuck|like|wondering|considering|working)\b(?!.* you (?:to|never|not)\b).*\b(?:to|on|for|how)\b|\bhow (?:can|do|should|could|would|might) (?:i|we)\b|\b(?:can|could|would) you (?:please )?(?:help|show|explain|suggest|recommend|give|tell)\b|\bhelp me\b|\b(?:so|and|(?:that|this) way,?) (?:i|we) (?:can|could)\b"
)
"""What somebody wants to reach himself: what follows with "and" is the goal, too."""


def _demands(clause: str, before: str, *, norm: bool) -> bool:
    """Whether a clause demands, with what was said `before` it in the sentence; `norm`: it stands among rules."""
    leading_space = " " * (len(clause) - len(clause.lstrip()))
    clause = _PLEASE_END.sub("", _SMILE_END.sub("", clause.strip().rstrip(".!")))
    if not before.strip() and form_of(_LEADING_FILLER.sub("", clause)) in _WHOLE_FORMS:
        return not is_report(_CONDITION_END.sub("", _CONDITION_CLAUSE.sub("", clause)))
    if not clause or is_supposition(clause) or is_supposition(before) or _STORY.search(clause):
        return False
    if not before.strip() and _is_order_for_good(clause):
        return True
    if norm and _DEMANDING.search(clause) and not _EXPLANATION.match(clause) and not is_wish(clause):
        return True
    if before and _OWN_GOAL.search(before) and not _FIRM_ORDER.match(clause):
        return False
    if _OBSTACLE.match(before + leading_space + clause) or (_BARE_NO.fullmatch(clause) and _CHOICE.match(before)):
        return False
    if _REQUEST.match(clause) or (before and _SUGGESTION.match(before) and len(clause.split()) <= 3):
        return False
    if before and _PRAISE.match(before) and re.match(r"(?i)(?:no|not) (?!other|more|new|further)", clause):
        return False
    for end in _ORDER_TABLE.ends(clause):
        if _is_meant(before + leading_space, clause[:end]):
            return True
    for end in _STATEMENT_TABLE.ends(clause):
        # "it always crashes" is a complaint; "it must always ..." is not
        firm = FIRM_WORDS.search(clause[:end]) or not COMPLAINT.search(clause[end:])
        if firm and _is_meant(before, clause[:end]):
            return True
    if any(not is_report(before + clause[:end]) for end in _WISH_TABLE.ends(clause)):
        return True
    if before.strip() and not _FROM_NOW_END.search(clause):
        return False
    return bool(form_of(_LEADING_FILLER.sub("", clause))) and not is_report(clause)


def _is_order_for_good(clause: str) -> bool:
    """Whether a clause begins with a verb and ends in words for ever: "put the date first in future"."""
    if _FROM_NOW_END.search(clause) is None or is_report(clause):
        return False
    return word_class(_LEADING_FILLER.sub("", clause).split(" ", 1)[0]) in _VERBS


_VERBS = frozenset({"verb", "say", "stop"})
_WHOLE_FORMS = frozenset({"requirement", "condition", "permission", "delegation"})
"""Forms that no word of a story within them makes a story."""
_CONDITION_END = any_case(r",? (?:if|when|whenever|before|after|unless) .*$")
_CONDITION_CLAUSE = any_case(r"^\s*(?:if|when(?:ever)?|where|unless|should|in case) [^,]{3,120}, ")
"""What must be so for an order: that it would be so is no wish."""


def _is_meant(before: str, words: str) -> bool:
    return not is_report(before + words) and not is_wish(_CONDITION_CLAUSE.sub("", words))


# -- the words of a rule ---------------------------------------------------------------------------------------


def _without_reason(text: str) -> StatedRule:
    reason = _BECAUSE.search(text)
    if reason is None or reason.start() <= _MIN_BEFORE_REASON:
        return StatedRule(text)
    return StatedRule(text[: reason.start()], text[reason.start("why") :])


def _form_of(text: str) -> str:
    """What a rule was taken for."""
    if _LIMIT.search(text):
        return "limit"
    return form_of(text) or "rule"


def _with_referent(text: str, before: Sentence | None) -> str:
    """The rule with the sentence before it, where it only says "it"."""
    if (
        before is None
        or before.asks
        or not (_POINTS_BACK.match(text) or _NO_OBJECT.match(text) or _ENDS_WITH_PRONOUN.search(text))
    ):
        return text
    whole = f"{LABEL.sub('', ' '.join(before.text.split())).rstrip(' .!;')}; {text}"
    return whole if len(whole) <= MAX_RULE else text


def _cleaned(text: str) -> Iterator[str]:
    """The words of a rule without filler and end marks; nothing where too little is left."""
    words = " ".join(text.split()).strip(" ,-–—")
    words = _LEADING_FILLER.sub("", words)
    words = _SMILE_END.sub("", words).rstrip(" .!,;:")
    if len(words) >= _MIN_RULE:
        yield words if len(words) <= MAX_RULE else words[: MAX_RULE - 1].rstrip() + "…"
