"""Sentences that state nothing: questions, suppositions, wishes, the words of other people.

"Always use tabs" is a rule; "should we always use tabs?", "maybe we never need that" and "the docs say never share a
connection" are not. Each reader of statements asks these four questions before it believes a pattern.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from functools import lru_cache

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.prose import Sentence

_READ_AGAIN = 256
"""Texts whose answer is kept: each reader of statements asks the same of the same sentences and clauses."""


def _any_of(*parts: str) -> re.Pattern[str]:
    return any_case("|".join(parts))


_ASKS = _any_of(
    r"^(?:and |but |so |or |ok(?:ay)?,? |hm+,? |by the way,? |then )*(?:why|what(?! matters| counts| i (?:want|need|care)| (?:i|we) (?:\w+ )?(?:said|noted|decided|agreed|wrote|settled)\b)|how(?! we work)|when(?!ever| \w+ing\b| (?:you|we|in|a|an|the)\b)|where|who|whose|which|did|does|do"
    r" (?:you|we|i|they)|is (?:it|that|this|there)|are (?:you|we|there|they)|should|shouldn't|could|can (?:we|i|you|it)"
    r"|would|shall|will (?:you|it|we)|have (?:you|we)|has|isn't|aren't|don't (?:you|we) (?:think|have)|doesn't"
    r"|warum|wieso|wie|was|wann|sollen wir|sollten wir|können wir)\b(?! if\b)"
)

_SUPPOSES = _any_of(
    r"\b(?:what if|suppose|supposing|imagine|assuming|assume|hypothetically|in theory|let's say|say we)\b",
    r"\bif (?:we|i|you|they|he|she|it|one|somebody|someone|anyone) (?:ever|were|was|had|could|would|wanted|did)\b",
    r"\b(?:had|were) (?:we|i|it) (?:to )?",
    r"\b(?:maybe|perhaps|possibly|might|wonder(?:ing|ed)?|not sure|unsure|vielleicht|falls wir)\b",
    r"\bif i (?:could|can)\b",
    r"\b(?:sometimes|at times|now and then) i (?:think|wonder|feel|dream)\b|\bi (?:sometimes|often) (?:think|wonder|feel like)\b|\bif it were up to me\b",
    r"\bas far as i (?:can|know|understand|remember|see|recall)\b|\bas i understand (?:it|this|that)\b",
)

# "I would rather" and "would you" are how polite people order.
_WOULD = _any_of(r"\b(?:would|could|'d)\b(?! rather| better| like you| prefer)")

_REPORTS = _any_of(
    r"\b(?!(?:i|we|always|never|second)\b)[a-z']+ (?:always |also |just |once |even |still |had |has )?(?:says|said|thinks|thought|tells"
    r"|told|writes|wrote|recommends|recommended|suggests|suggested|claims|claimed|insists|insisted that|argue[sd]|swears|swore|reckons?|reads|believes|agreed that|used to"
    r"|complains|complained|mentioned|mentions|warns|warned|meint|sagt|sagte|empfiehlt)\b",
    r"\b(?!always\b)(?:they|people|some|many|most|[a-z]{3,}s) (?:always |also |often )?(?:say|think|tell|write|recommend"
    r"|suggest|claim|insist|believe|complain|warn)\b",
    r"\b(?:according to|quote(?= ?:)|as (?:the )?(?:docs?|documentation|readme|comment|log|error)\b|laut)\b",
)

# What the user says that the agent said is no order either.
_SELF = _any_of(r"\byou (?:said|told|asked|mentioned|want(?:ed)?)\b")


_ASKS_BACK = any_case(
    r",? (?:isn|aren|doesn|don|can|wasn|weren|didn|hasn|haven|couldn)['’]t (?:it|you|they|we|he|she|i|that|there)\W*$|,? (?:is|was|are) (?:that|this|it|they) (?:right|correct|true|so|ok(?:ay)?|normal|intended|expected|possible|allowed|still true|legal|a bug)\W*$|, (?:is|are|does|do|was|were|did|has|have) (?:it|they|we|he|she|you|that|there)\W*$"
)
"""The end of a statement that asks whether it is so: ", isn't it", ", is that right"."""


_ASKS_FOR_REASONS = any_case(
    r"^(?:(?:please|can you|could you|also|and|now|so) )*(?:(?:explain|describe|discuss|clarify)(?: to me)?|tell me) (?:why|how|what)\b(?!.*\b(?:always|never (?!divide)|every|each|whenever|before|when) you\b)(?!.*\b(?:always|every time|each time|whenever|from now on)\b)"
)
"""A question in the form of an order: "explain why one should never divide by zero"."""

_ENDS_IN_QUESTION = any_case(
    r"^(?!(?:please |and |so |but |also )*(?:never|always|don['’]?t|do not|no|only|use|keep|stop|avoid)\b).*(?:, |\b(?:so|and|but) )(?:what(?:['’]s| is| are| do| does| did| went| gives)\b|where(?:['’]s| is| are| did| do| does| can)\b|why(?:['’]s| is| are| did| do| does| not)?\b|how (?:do|does|did|can|come|is|are|much|many|long)\b|who(?:['’]s| is| cares| did| does)\b|which (?:one|is|of)\b|any (?:idea|clue|reason)\b)[^,]*$"
)
"""What is told for the sake of a question at its end: "it passes here but never there, what's different"."""


def is_question(sentence: Sentence) -> bool:
    """Return whether a sentence is a question, with its mark or without."""
    return sentence.asks or _asks(sentence.bare)


@lru_cache(_READ_AGAIN)
def _asks(text: str) -> bool:
    return bool(
        _ASKS.match(text) or _ASKS_BACK.search(text) or _ASKS_FOR_REASONS.match(text) or _ENDS_IN_QUESTION.match(text)
    )


@lru_cache(_READ_AGAIN)
def is_supposition(text: str) -> bool:
    """Return whether a text is a thought about what might be."""
    return bool(_SUPPOSES.search(text))


@lru_cache(_READ_AGAIN)
def is_wish(text: str) -> bool:
    """Return whether a text is about what would or could be."""
    return bool(_WOULD.search(text))


_OF_OTHERS = any_case(
    r"^(?:(?:and|but|so|oh|well),? )*(?:(?:my|his|her|their|our|an?|some|another|one of my) (?:(?:old|former|new|best|good|other) )?(?:friend|brother|sister|neighbou?r|cousin|uncle|aunt|ex|competitor|rival)s?(?:['’]s? [\w-]+)?|(?:my|his|her) [\w-]+['’]s? (?:company|firm|team|office|school|employer|club|practice|boss)|(?:the|our) competitors?|other (?:companies|teams|people|schools|shops))"
    r" (?!(?:has |have )?(?:convinced|talked|persuaded|warned|insists?|begged|asked|needs?|hates?|wants?|objects?|objected|complain)\w*\b)"
)
"""How somebody begins who tells of others: what they dropped is not over here."""


def is_of_others(text: str) -> bool:
    """Return whether a sentence tells of people who have no say here: a friend, a rival, somebody's company."""
    return _OF_OTHERS.match(text) is not None


_WRITES_ALWAYS = any_case(r"^(?:every|each) (?:[\w-]+ ){1,3}(?:writes|reads) ")
"""What each thing of a kind does is no report."""


@lru_cache(_READ_AGAIN)
def is_report(text: str) -> bool:
    """Return whether a text gives the words of somebody else, or of a document."""
    if _WRITES_ALWAYS.match(text):
        return False
    return bool(_REPORTS.search(text)) or bool(_SELF.search(text))


_TELLS = _any_of(
    # a choice of long ago, or one of somebody else's
    r"^(?=.*\b(?:decided|agreed|chose|picked|settled|opted|went (?:for|with|to)|switched|moved)\b)(?=.*(?:\bago\b|\bback in\b|\bin (?:19|20)\d\d\b|\bwhen (?:i|we) (?:was|were)\b|\bin those days\b|\blast year\b))",
    r"\b(?:decided|agreed|chose|picked|opted|went (?:for|with)|switched)\b[^,;]*,? (?:and|but) (?:(?:i|we|it|they) )?(?:regretted|painted|paid|was|were|had|took|got|lost|lasted|ended up|never|(?:have )?regretted|still)\b",
    r"^(?:and |but |so |then )*(?:he|she|they)(?: have| has|['’]ve)? (?:\w+ )?(?:decided|chose|opted)\b",
    r"\b(?:was|were) [^,]{3,60}, so (?:i|we) (?:decided|chose|went|took)\b",
    # a guess at what is so
    r"^(?!(?:every|all|each|any|no)\b)[^,;]*\bmust(?: not)? (?:have (?:been|had|got|lost|gone|seen|made|taken|\w+ed)\b|be (?:\w+ing\b|(?:a|an|the) (?:\w+ )?(?:fake|joke|mistake|bug|typo|misunderstanding|reason|way)\b|tired|flaky|kidding|somewhere|there by now|[^,;]* by now\b))",
    r"\b(?:there|this|that|it) (?:must|has to) be (?:an? (?:\w+er|easier|better|simpler|quicker) |the \w+est |some(?:thing|where)? )",
    # the words of others, with whose they are behind them
    r", (?:as )?(?:it|(?:as )?(?:the|my|our|his|her|their|a|they|he|she)(?: (?!boss|lead|manager|client|customer|legal|board|law|contract|team|doctor|lawyer|landlord|dba|vet|editor|publisher)[\w'’-]+){0,2}) (?:always |used to |would )?(?:said|says?|sang|wrote|writes|claims?|claimed|insists?|told (?:me|us|him|her|them))\W*$",
    r", (?:says|said) (?:my|his|her|the|their|our|a) (?!boss|lead|manager|client|customer|board|law|contract|doctor|lawyer|landlord|vet|editor)[\w'’-]+\W*$",
    r"(?<!\bif )(?<!\bwhen )\b(?:the|an?) (?:sign|guide|manual|recipe|label|leaflet|box|spec|form|website|site|package|book)s?(?: \w+)? (?:says?|said|reads?|tells?)\b(?! otherwise)",
    # how it is done elsewhere
    r"^(?:in|at) (?:his|her|their) [\w-]+,? (?:nobody|everybody|everyone|no one|they|he|she|all|every|each)\b",
    # what happened, with a word of always and never
    r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bget )(?<!\bgets )(?<!\bif you )(?<!\bif we )\b(?:never|nobody|no one|no more than \w+ \w+) (?:came|went|spoke|saw|had|knew|took|left|gave|wrote|said|got|ate|made|(?!need|feed|exceed|proceed|embed|shed|seed|bleed|speed|succeed)\w{2,}ed)\b(?! by\b| for\b| as\b| to\b| from\b)",
    r"\bnever (?:before|again|in my life|ever) (?:has|have|had|did|was|were|will|would)\b|\bhas never (?:done|been|had)\b",
    r"^(?:and |but |so )*all (?:i|we|you|he|she|they) (?:want|know|can|could|need|see|have|had|get|did|wanted|needed)\b",
)
"""How somebody tells what happened once, guesses, or gives the words of others."""


@lru_cache(_READ_AGAIN)
def is_told(text: str) -> bool:
    """Return whether a sentence tells of what was, guesses what is, or ends with whose words it has."""
    return bool(_TELLS.search(text))


_WONDERS = any_case(
    r"^(?:(?:so|but|and|hm+),? )*(?:(?:is|was|are|were|isn['’]t|wasn['’]t) (?:it|that|this|there)\b|is (?:a|an|the) \w+|does (?:it|that|this) (?:really |even )?(?:help|work|matter|count|hold|apply|happen|make sense|exist)\b|(?:so )?why(?=\W*$| is (?:that|this)\b| not\b| though\b)|really\b|right\b|true\b|normal\b|worth it\b|(?:funny|strange|odd|weird|nice|crazy|mad|sad|outrageous)\b)(?: [\w'’]+){0,3},?(?: [\w'’]+){0,2}\W*$"
)
"""A short question about what was just told: "Is that normal?"."""


def wonders(sentence: Sentence) -> bool:
    """Return whether a sentence only asks about the one before it, which so was told for the sake of the question."""
    return sentence.asks and _WONDERS.match(sentence.bare) is not None
