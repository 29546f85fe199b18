"""What is said for more than the moment in words that no table knows, by the grammar of its sentence.

A sentence is kept as a whole, where its grammar (`clause_grammar`) weighs enough and nothing speaks against it: a
question, a doubt, the words of others, a complaint. What insists on it counts for it ("That's settled", "no
exceptions"); what is polite around it is left out ("I'd be grateful if you could …").

For example, of "Two things. Speakers get 25 minutes, and I mean 25. The projector is broken." the second sentence is kept.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from hudkit.ingest.extraction.clause_grammar import read_sentence
from hudkit.ingest.extraction.hedging import is_question, is_report, is_supposition
from hudkit.ingest.extraction.imperatives import MAX_RULE, StatedRule, announces_rules
from hudkit.ingest.extraction.prose import Sentence

_INSISTED = 150
"""Hundredths of a logit that a sentence gains where the one behind it insists on it: "That's settled"."""

_UNDER_HEADING = 200
"""Hundredths of a logit that the item of a list under a heading for rules gains."""

_INSISTS = re.compile(
    r"(?i)^(?:(?:and|so|please|but) )*(?:(?:(?:please |just )?(?:note|remember|write|keep|bear|mark|put|save|store|jot) (?:that|this|it|those|them)\b(?: down| in mind| somewhere| please)?)\b.*|(?:that|this|it)['’]?s? (?:is )?(?:settled|final|decided|locked in|set|fixed|agreed|set in stone|non-negotiable|not negotiable|not up for debate|important|the rule|a must|an order)\b.*|(?:no|without) (?:exceptions?|ifs|discussion|excuses)\b.*|(?:always|ever|never|period|full stop|end of story|end of discussion|every time|everywhere|at all times|i mean it|seriously|i insist|not even (?:one|once))\W*)$"
)
"""How somebody insists on what he has just said."""

_POLITE = re.compile(
    r"(?i)^(?:(?:and|but|so|also|oh|ok(?:ay)?|btw|by the way|please|firstly|secondly|finally),? )*(?:(?:could|can|would|will) (?:you|we) (?:(?:please|kindly|also|maybe|just|always|all),? )*(?:agree (?:that|to|on) |be so kind (?:as )?(?:to )?|mind )?|may i (?:please )?(?:ask|remind) (?:you |everyone )?(?:to |that )|(?:could|can) i ask (?:you |that )(?:to )?"
    r"|what (?:i|we)(?:'d| would)? (?:ask|need|want|expect|like)(?: from you| of you)? is (?:that )?(?:you )?|(?:i|we)(?:'d| would) be (?:\w+ )?(?:grateful|glad|happy|thankful|obliged) if (?:you )?(?:could |would )?|(?:i|we)(?:'d| would) (?:appreciate|love|like|prefer) (?:it )?(?:if|that) (?:you )?(?:could |would )?(?:not )?"
    r"|it would (?:be|help)(?: \w+){0,2} if (?:you )?(?:could |would )?|would it be possible (?:to|that)(?: you)? |for (?:me|us) it(?:'s| is) (?:a must|important|key|essential) that )"
)
"""The frame of an order that is put as a question or as a wish."""

_ORDERS_IN_A_CASE = re.compile(
    r"(?i)^(?:where|when|wherever|whenever|which|whichever|whoever|who|should) [^?]{3,90}(?:, | )(?:\w+ )*\w+[^?]*$(?<!\?)"
)
"""A word of asking that begins a case: "Where the two differ, the signed one counts"."""

_REASSURES = re.compile(
    r"(?i)^(?:(?:and|but|so|please|oh) )*(?:(?:don['’]?t|do not|no need to|never) (?:\w+ )?(?:worry|hesitate|bother|panic|rush|hurry|mind|apologi[sz]e for (?:it|that)|be sorry|sweat|forget|give up|stop)\b|never ?mind|(?:go|carry|keep|move) (?:on|going|ahead)\b|go for it|all good|you(?:['’]re| are) (?:right|welcome|the best))"
)
"""How somebody reassures or goes on: that asks for nothing."""

_PLAIN_REQUEST = re.compile(r"(?i)\b(?:could|can|would|will) (?:you|we) (?:(?:please|kindly|also|maybe|just),? )*$")
"""The frame of a request that mostly asks for work."""

_FOR_EVER = re.compile(
    r"(?i)\b(?:always|never|not|don['’]t|only|when(?:ever)?|(?:every|each) time|from (?:now|here)|in (?:the )?future|going forward|avoid|refrain|stop|keep|leave|without|before|after) "
)
"""Words by which such a request asks for more."""

_POINTS_AT = re.compile(
    r"(?i)\b(?:this|that|these|those|your) (?:approach|plan|one|option|steps?|idea|version|way|method|solution|suggestions?|changes?|order|structure)\W*$"
)
"""The end of a sentence that says nothing without what it points at."""

_DESCRIBES = re.compile(
    r"(?i)^(?:users?|customers?|clients|people|visitors|everybody|nobody) (?:can['’]?t|cannot|don['’]?t|get|gets|see|sees|complain\w*|always)\b|^(?!.*\b(?:must|should|may not|has to|have to|never|don['’]t|do not|if|when(?:ever)?)\b).*\b(?:blank|crash\w*|broken|fail(?:s|ed|ing)|stuck|hang\w*|timed? out|empty|corrupt\w*|a (?:404|500|spinner))\b"
    r"|, (?:right|no)$|,? (?:i (?:believe|think|guess|suppose|assume)|afaik|iirc|as far as i (?:know|can (?:see|tell)))$|^after every \w+ .*\b(?:is|are|has)\b|^(?:the |our )?[\w-]+ rules:"
)
"""How somebody describes what goes wrong, or what he only believes."""

_BINDS = re.compile(
    r"(?i)\b(?:boss|lead|manager|clients?|customers?|legal|compliance|auditors?|dba|board|journal|editor|publisher|regulator|management|finance|security|the team|school|landlord|supervisor|sponsor|council|ethics|committee|ceo|cto|insurer|bank|law|contract|policy|we)\b.*\b(?:insists?|wants?|requires?|demands?|must|has to|have to|need to|needs to|forbids?|asks? (?:for|that|us)|said (?:no|that we|we|max|at)|expects?)\b"
)
"""What somebody reports that may order: it binds as if the user had said it."""

_POINTS_BACK = re.compile(
    r"(?i)^(?:it|they|that|this|these|those|he|she)(?:['’]s|['’]re)?\b(?! is (?:important|forbidden|mandatory|essential|not allowed))"
)

_LASTING = 105
"""Hundredths of a logit from which on a sentence that no table knows is kept: three of four such are meant to last."""


def read_lasting(sentence: Sentence, *, insisted: bool = False) -> tuple[str, str] | None:
    """Return the section and the words of a sentence that is said for more than the moment; `None` for any other.

    `insisted`: the sentence behind it insists on it.
    """
    polite = _POLITE.match(sentence.bare)
    bare = sentence.bare[polite.end() :].rstrip("? ") if polite else sentence.bare
    if (
        bare.endswith(":")
        or "\\" in bare
        or "**" in bare
        or _REASSURES.match(bare)
        or _POINTS_AT.search(bare)
        or (polite is not None and _PLAIN_REQUEST.search(polite[0]) and not _FOR_EVER.search(bare))
        or _DESCRIBES.search(bare.rstrip(" .!"))
        or (polite is None and is_question(sentence) and not _ORDERS_IN_A_CASE.match(bare))
    ):
        return None
    reading = read_sentence(bare)
    weight = (
        reading.weight
        + (_INSISTED if insisted else 0)
        + (_UNDER_HEADING if sentence.bullet and announces_rules(sentence.lead) else 0)
    )
    if weight < _LASTING or (is_supposition(bare) and not reading.is_order):
        return None
    if is_report(bare) and not reading.is_order and not _BINDS.search(bare):
        return None
    line = " ".join(sentence.text[polite.end() :].split()).rstrip("? ") if polite else " ".join(sentence.text.split())
    return reading.section, without_lead(line)


def insists(sentence: Sentence) -> bool:
    """Return whether a sentence only insists on the one before it."""
    return _INSISTS.match(sentence.bare) is not None


def with_referent(text: str, before: Sentence | None) -> str:
    """Return a sentence of "it" or "they" with the one before it, without which it says nothing."""
    if before is None or not _POINTS_BACK.match(text):
        return text
    line = " ".join(before.text.split()).rstrip(" .!;?")
    whole = f"{line}; {text}"
    return whole if len(whole) <= MAX_RULE else text


_SHOWS_TEXT = re.compile(
    r"(?i)^(?:(?:please|can you|could you|would you|now|also|hi|hey)[,]? )*(?:proof-?read|translate|summari[sz]e|rephrase|rewrite|paraphrase|polish|correct|check|edit|improve|explain|review|analy[sz]e|format|shorten|comment on)\b[^:.?!]*(?::|\b(?:below|(?:the )?following|this (?:text|sentence|paragraph|mail|e-?mail|letter|message|poem|abstract|article|section|clause)))"
    r"|^[^:.?!]{0,80}\b(?:i quote|quote|and i quote|wrote back|writes|wrote|says|said|reads|reply|replied|comment|mail|e-?mail|letter|message|sign|poster|notice|manual|assignment|review|terms|text|sentence|paragraph|slogan|headline|clause|proverb|saying|motto)[^:.?!]{0,60}:(?= |$)"
)
"""How somebody begins who shows a text of others, or one to be worked on: what stands behind it orders nothing."""


def own_sentences(sentences: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
    """Return the sentences that the user says himself: without those of a text that he shows behind a colon or an order."""
    for place, sentence in enumerate(sentences):
        shows = _SHOWS_TEXT.match(sentence.bare)
        if shows is None or announces_rules(shows.group()):
            continue
        head = msgspec.structs.replace(sentence, text=sentence.text[: shows.end()], bare=sentence.bare[: shows.end()])
        own = [other for other in sentences[place + 1 :] if other.block != sentence.block and not other.bullet]
        in_block = sentence.bare.endswith((":", ".")) or len(sentence.bare) == shows.end()
        rest = (
            own
            if in_block and any(other.block == sentence.block for other in sentences[place + 1 :])
            else sentences[place + 1 :]
        )
        return (*sentences[:place], head, *rest)
    return sentences


_LEAD = re.compile(
    r"(?i)^(?:(?:hi|hey|hello|ok(?:ay)?|so|and|but|also|oh|well|right|fyi|btw|by the way|please|pls|plz|yes|ah|anyway|quick one|(?:no|nope|nah)(?=[,:.!])|heads[- ]up|just so you know|note|for reference|remember)(?:[,:.!]| -)? )+(?=\S+ \S)"
)
"""Words before a statement that say nothing of it."""


def without_lead(line: str) -> str:
    """Return a sentence without the words before it that say nothing of it, and without its end mark."""
    return _LEAD.sub("", line).rstrip(" .!;,")


_FRAGMENT = re.compile(r"(?i)(?:no|not|max|only|without|at most|at least) [^,;]*")
"""The part of a sentence that forbids something and has no verb: alone it says too little."""

_MIN_BESIDE = 6
"""Characters that a sentence has beside a fragment of it."""


def whole_rules(rules: Sequence[StatedRule]) -> Iterator[StatedRule]:
    """Yield rules; of one that is a fragment of its sentence ("no tables") that sentence, where it is meant to last."""
    whole: set[str] = set()
    for rule in rules:
        if rule.sentence in whole:
            continue
        is_fragment = _FRAGMENT.fullmatch(rule.text) and len(rule.sentence) - len(rule.text) > _MIN_BESIDE
        if (
            not is_fragment
            or len(rule.sentence) > MAX_RULE
            or ":" in rule.sentence
            or without_lead(rule.sentence) == rule.text
        ):
            yield rule
        elif read_sentence(rule.sentence).weight >= 0:
            whole.add(rule.sentence)
            yield msgspec.structs.replace(rule, text=without_lead(rule.sentence), reason="")
