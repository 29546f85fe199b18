"""What is said for more than the moment in words that no table knows, by the grammar of its sentence.

A sentence is kept as a whole, where its grammar (`clause_grammar`) weighs enough and nothing speaks against it: a
question, a doubt, the words of others, a complaint. What insists on it counts for it ("That's settled", "no
exceptions"); what is polite around it is left out ("I'd be grateful if you could …").

For example, of "Two things. Speakers get 25 minutes, and I mean 25. The projector is broken." the second sentence is kept.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.clause_grammar import Reading, read_sentence, word_class
from hudkit.ingest.extraction.clause_weights import belief_weights
from hudkit.ingest.extraction.hedging import is_question, is_report, is_supposition, is_told, wonders
from hudkit.ingest.extraction.imperatives import MAX_RULE, StatedRule, announces_rules
from hudkit.ingest.extraction.prose import Sentence, line_of
from hudkit.ingest.extraction.sentence_network import read_words
from hudkit.ingest.extraction.word_classes import ONCE_VERBS

_INSISTED = 150
"""Hundredths of a logit that a sentence gains where the one behind it insists on it: "That's settled"."""

_UNDER_HEADING = 200
"""Hundredths of a logit that the item of a list under a heading for rules gains."""

_INSISTS = any_case(
    r"^(?:(?:and|so|please|but) )*(?:(?:(?:please |just )?(?:note|remember|write|keep|bear|mark|put|save|store|jot) (?:that|this|it|those|them)\b(?: down| in mind| somewhere| please)?)\b.*|(?:that|this|it)['’]?s? (?:is )?(?:settled|final|decided|locked in|set|fixed|agreed|set in stone|non-negotiable|not negotiable|not up for debate|important|the rule|a must|an order)\b.*|(?:no|without) (?:exceptions?|ifs|discussion|excuses)\b.*|(?:always|ever|never|period|full stop|end of story|end of discussion|every time|everywhere|at all times|i mean it|seriously|i insist|not even (?:one|once))\W*|(?:(?:that|this|it|which) )?(?:matters|counts|applies|goes|holds) (?:for|to|in) (?:all|any|every)\w*\b.*|(?:that['’]s )?(?:my |the )?(?:doctor['’]?s?|doc['’]?s|boss['’]?s?) orders?\b.*)$"
)
"""How somebody insists on what he has just said."""

_POLITE = any_case(
    r"^(?:(?:and|but|so|also|oh|ok(?:ay)?|btw|by the way|please|firstly|secondly|finally),? )*(?:(?:could|can|would|will) (?:you|we) (?:(?:please|kindly|also|maybe|just|always|all),? )*(?:agree (?:that|to|on) |be so kind (?:as )?(?:to )?|mind )?|may i (?:please )?(?:ask|remind) (?:you |everyone )?(?:to |that )|(?:could|can) i ask (?:you |that )(?:to )?"
    r"|what (?:i|we)(?:'d| would)? (?:ask|need|want|expect|like)(?: from you| of you)? is (?:that )?(?:you )?|(?:i|we)(?:'d| would) be (?:\w+ )?(?:grateful|glad|happy|thankful|obliged) if (?:you )?(?:could |would )?|(?:i|we)(?:'d| would) (?:appreciate|love|like|prefer) (?:it )?(?:if|that) (?:you )?(?:could |would )?(?:not )?"
    r"|it would (?:be|help)(?: \w+){0,2} if (?:you )?(?:could |would )?|would it be possible (?:to|that)(?: you)? |for (?:me|us) it(?:'s| is) (?:a must|important|key|essential) that )"
)
"""The frame of an order that is put as a question or as a wish."""

_ORDERS_IN_A_CASE = any_case(
    r"^(?:where|when|wherever|whenever|which|whichever|whoever|who|should) [^?]{3,90}(?:, | )(?:\w+ )*\w+[^?]*$(?<!\?)"
)
"""A word of asking that begins a case: "Where the two differ, the signed one counts"."""

_REASSURES = any_case(
    r"^(?:(?:and|but|so|please|oh) )*(?:(?:don['’]?t|do not|no need to|never) (?:\w+ )?(?:worry|hesitate|bother(?! (?:with|about|me|us|\w+ing)\b)|panic|rush|hurry|mind|apologi[sz]e for (?:it|that)|be sorry|sweat|forget|give up|stop)\b|never ?mind|(?:go|carry|keep|move) (?:on|going|ahead)\b|go for it|all good|you(?:['’]re| are) (?:right|welcome|the best))"
)
"""How somebody reassures or goes on: that asks for nothing."""

_PLAIN_REQUEST = any_case(r"\b(?:could|can|would|will) (?:you|we) (?:(?:please|kindly|also|maybe|just),? )*$")
"""The frame of a request that mostly asks for work."""

_IN_TURN = any_case(
    r"^(?:first|now|next|then|to (?:start|begin))(?: of all)?,? (?:(?:let['’]?s|please|just) )?[a-z]+ "
)
"""How somebody orders a piece of work of several: "First tell me where you see risks"."""

_FOR_TODAY = any_case(
    r"^(?:we|i)(?:['’](?:ll|re|m)| will| are| am) (?:[\w'’-]+ ){1,8}?(?:all day|today|tonight|right now|now|this (?:morning|afternoon|evening|week))\W*$"
)
"""How somebody says what he is about to do: "we'll work on it all day"."""

_BARE_PHRASE = any_case(
    r"^(?:after|before|during|since|until|at|in|on|by|with|for|from|to) (?!.*(?:\d|\b(?:no|not|only|never)\b))[^ ,;:]+(?: [^ ,;:]+){0,3}$"
)
"""A phrase of time or place alone: half a sentence, whatever is in it."""

_FOR_EVER = any_case(
    r"\b(?:always|never|not|don['’]t|only|when(?:ever)?|(?:every|each) time|from (?:now|here)|in (?:the )?future|going forward|avoid|refrain|stop|keep|leave|without|before|after) "
)
"""Words by which such a request asks for more."""

_THAT_TIME = any_case(r"\bthat (?:week|weekend|day|night|evening|morning|afternoon|month|year)\b")
"""A time that is gone or comes once: what is so then is no custom."""

_POINTS_AT = any_case(
    r"\b(?:this|that|these|those|your) (?:approach|plan|one|option|steps?|idea|version|way|method|solution|suggestions?|changes?|order|structure)\W*$"
)
"""The end of a sentence that says nothing without what it points at."""

_ERRAND = any_case(
    rf"^(?:(?:ok(?:ay)?|so|now|then|and|but|also|please|pls|plz|hi|hey|hm+|first|next),? )*(?:(?:could|can|would|will) (?:you|u) (?:please )?)?(?:(?P<just>just )?(?:go and |quickly )?(?P<verb>{'|'.join(sorted(ONCE_VERBS))})(?: me)?(?: up| out)?|let['’]?s (?:begin|start|continue|go on|move on|look|see)(?: with| at| on| to| by)?) (?P<what>(?:all )?(?:the|a|an|those|these|that|this|some|my|our|two|three|few)\b|(?<=list )(?:all|every)\b|(?<=find )(?:all|every)\b|(?<=name )(?:all|every)\b|(?<=count )(?:all|every)\b|(?<=show me )(?:all|every)\b) (?P<rest>.*)$"
)
"""An order for one thing: what is done and to what."""

_WHICH_ONE = any_case(r"(?<!,) (?:who|whose|which|that|where|about) ")
"""Where a thing is told apart from others: what stands behind that is no order."""

_MORE_THAN_ONCE = any_case(
    r"\b(?:always|never|every|each|whenever|when|if|unless|until|before|after|any|no|not|don['’]?t|from (?:now|here|today)|future|going forward|only|at (?:most|least)|max\w*|without|instead|rather|everything|anything)\b"
)
"""Words that make an order one for more than once."""

_EVER_AFTER = any_case(
    r"\b(?:from (?:now|here|today) on|in (?:the )?future|going forward|whenever|each time|every time|as always)\b"
)

_TOLD = frozenset(["prep", "the", "a", "my", "his"])
"""Classes of words behind a verb in the past that has no subject: "spoke to the insurer"."""

_DESCRIBES = any_case(
    r"^(?:users?|customers?|clients|people|visitors|everybody|nobody) (?:can['’]?t|cannot|don['’]?t|get|gets|see|sees|complain\w*|always)\b|^(?!.*\b(?:must|should|may not|has to|have to|never|don['’]t|do not|if|when(?:ever)?)\b).*\b(?:blank|crash\w*|broken|fail(?:s|ed|ing)|stuck|hang\w*|timed? out|empty|corrupt\w*|a (?:404|500|spinner))\b"
    r"|\b(?:gets?|keeps?|goes|go) (?:\w+ )?(?:stuck|blank|broken|corrupt\w*|lost|empty|wrong|missing|overwritten|deleted)\b|\b(?:has|have) been \w+ed$|^(?:we|i) (?:have|run|use|maintain|own|got) [^,]+(?:,[^,]+)?,? (?:and|but) (?:the|our|my) |^\w+ (?:folks|people|users|guys) (?:always|never|keep)\b|, (?:right|no|not bad|nice|great|cool|wow|typical|as usual|as always|lol|sigh|argh?|grr+|yay)$|\bi (?:always|never|constantly|keep|only ever) (?:end(?:ing)? up|forget\w*|lose|losing|wonder\w*|struggl\w+|mess\w*|get(?:ting)? (?:it|this|lost|stuck|confused)|fail\w*|cry\w*|laugh\w*|learn)\b|,? (?:i (?:believe|think|guess|suppose|assume)|afaik|iirc|as far as i (?:know|can (?:see|tell)))$|^after every \w+ .*\b(?:is|are|has)\b|^(?:the |our )?[\w-]+ rules:"
)
"""How somebody describes what goes wrong, or what he only believes."""

_BINDS = any_case(
    r"\b(?:boss|lead|manager|clients?|customers?|legal|compliance|auditors?|dba|board|journal|editor|publisher|regulator|management|finance|security|the team|school|landlord|supervisor|sponsor|council|ethics|committee|ceo|cto|insurer|bank|law|contract|policy|we)\b.*\b(?:insists?|wants?|requires?|demands?|must|has to|have to|need to|needs to|forbids?|asks? (?:for|that|us)|said (?:no|that we|we|max|at)|expects?)\b"
)
"""What somebody reports that may order: it binds as if the user had said it."""

_POINTS_BACK = any_case(
    r"^(?:it|they|that|this|these|those|he|she)(?:['’]s|['’]re)?\b(?! is (?:important|forbidden|mandatory|essential|not allowed))"
)

_LASTING = 40
"""Hundredths of a logit from which on a sentence that no table knows is weighed where it stands (`belief`)."""


def read_lasting(sentence: Sentence, *, insisted: bool = False, weighed: bool = True) -> tuple[str, str] | None:
    """Return the section and the words of a sentence that is said for more than the moment; `None` for any other.

    `insisted`: the sentence behind it insists on it. Not `weighed`: whatever nothing speaks against.
    """
    polite = _POLITE.match(sentence.bare)
    bare = sentence.bare[polite.end() :].rstrip("? ") if polite else sentence.bare
    if (
        bare.endswith(":")
        or "\\" in bare
        or "**" in bare
        or _REASSURES.match(bare)
        or _POINTS_AT.search(bare)
        or _LEAVES_IT.fullmatch(bare.rstrip(" .!"))
        or _THAT_TIME.search(bare)
        or _FOR_TODAY.match(bare)
        or _BARE_PHRASE.match(bare.rstrip(" .!"))
        or (_IN_TURN.match(bare) and not _FOR_EVER.search(bare))
        or (polite is not None and _PLAIN_REQUEST.search(polite[0]) and not _FOR_EVER.search(bare))
        or _DESCRIBES.search(bare.rstrip(" .!"))
        or (polite is None and is_question(sentence) and not _ORDERS_IN_A_CASE.match(bare))
    ):
        return None
    if is_errand(bare) or _tells(bare) or _OWN_STEP.match(bare) or _OPEN.search(bare) or _RECKONS.search(bare):
        return None
    if _OWN_STEP_IN_A_CASE.match(bare) or _JUDGES.search(bare.rstrip(" .!")):
        return None
    if _WANTS_BUILT.match(bare) and not _MORE_THAN_ONCE.search(bare):
        return None
    reading = _best_reading(bare)
    weight = (
        reading.weight
        + (_INSISTED if insisted else 0)
        + (_UNDER_HEADING if sentence.bullet and announces_rules(sentence.lead) else 0)
    )
    if (weighed and weight < _LASTING) or (is_supposition(bare) and not reading.is_order):
        return None
    if is_report(bare) and not reading.is_order and not _BINDS.search(bare):
        return None
    line = " ".join(sentence.text[polite.end() :].split()).rstrip("? ") if polite else line_of(sentence)
    return read_words(bare).section, without_lead(line)


_CLAUSES = any_case(
    r"(?:,|;)? (?:and|but|so|because|since) |; |, (?=(?:i|we|you|they|he|she|it|the|my|our|no|not|never|always|only|please)\b)|\(|\)"
)
"""Where a clause of its own may begin."""

_OF_A_CLAUSE = 20
"""Hundredths of a logit that a clause must have more than a whole sentence."""


def _best_reading(bare: str) -> Reading:
    """How a sentence reads; where one of its clauses reads more like one that is meant to last, how that reads."""
    best = read_sentence(bare)
    if best.weight < _MOMENTARY or len(bare.split()) > _MAX_OF_CLAUSES:
        return best
    clauses = [clause for clause in _CLAUSES.split(bare) if len(clause.split()) >= _MIN_CLAUSE]
    for clause in clauses if len(clauses) > 1 else ():
        reading = read_sentence(clause.strip())
        if reading.weight - _OF_A_CLAUSE > best.weight:
            best = msgspec.structs.replace(best, weight=reading.weight - _OF_A_CLAUSE)
    return best


_MOMENTARY = -120
"""Hundredths of a logit below which a sentence is of the moment, whatever a clause of it says."""

_MAX_OF_CLAUSES = 24
"""Words of a sentence whose clauses are asked: a longer one tells a story."""

_MIN_CLAUSE = 4
"""Words of a clause that can be meant to last by itself."""


def is_errand(bare: str) -> bool:
    """Return whether a sentence orders one thing, once: "show me all invoices that are overdue", "delete those two"."""
    order = _ERRAND.match(bare)
    if order is None or _EVER_AFTER.search(bare):
        return False
    told_apart = _WHICH_ONE.split(f" {order['rest']}", maxsplit=1)
    if _MORE_THAN_ONCE.search(told_apart[0]):
        return False
    points = order["what"].casefold() in ("those", "these", "that", "this")
    return len(told_apart) > 1 or points or order["just"] is not None or order["verb"] is None


_OPEN = any_case(
    r"^(?:dear all,? |hi all,? )?we(?:['’]re| are) (?:an?|building|making|writing|developing|running)\b|^(?:we|i) have an? \w+|^(?:let['’]?s|let us) (?:begin|show|leave|see|start)\b|^(?:[\w-]+ keeps? \w+ing|many \w+|you['’]?re right|you are right|(?:info|warn|warning|error|debug|trace|fatal):|all right, let['’]?s|just curious|before you dive|i must|i tend|bear with|my \w+(?: \w+){0,4} (?:is|are) an? (?:mess|horror|disaster))\b|\bplease help\W*$|^(?:ask|tell|call|wake) me if you (?:have|need|want|like)(?: to)?\W*$|^[a-z]+, then [a-z]+\W*$|\basks? (?:whether|if)\b|\b(?:presently|currently|bear with me|not a decision|couple (?:of )?things)\b|^(?:no idea|(?:i )?(?:do not|don['’]?t) know|not sure|dunno|(?:we|i|you|they|one) could)\b|^(?:please )?(?:note|check|see|say|find out|look) (?:where|who|what|why|how|when|whether|if)\b|n['’]?t \w+(?: \w+){0,4} yet\W*$|^(?:everything|all(?: of (?:it|them))?) (?:is|are) (?:now )?\w+ed\W*$|^(?:each|every|all|any) [^,]{2,60}? since (?:the|my|our|this|last|yesterday|\w+day)\b[^,]*$"
)
"""What is not decided, asked to be looked up, or done."""

_WANTS_BUILT = any_case(
    r"^(?:(?:and|but|so|also|now|then|ok(?:ay)?|well),? )*(?:i|we)(?:['’]d| would)? (?:want|need|like|love) (?:the|an?|my|our|this) (?!(?:tone|style|language|answers?|repl(?:y|ies)|explanations?|comments?)\b)(?:[\w'’-]+ ){1,3}(?:to [a-z]+|that|which|where|with|for)\b"
)
"""How somebody asks for a piece of work: what it is to do or to have."""

_OWN_STEP = any_case(
    r"^(?:(?:and|but|so|also|now|then|ok(?:ay)?|well|however|still|yet|though),? )*(?:(?:i|we)(?:['’](?:m|re)| am| are) (?:\w+ )?(?:trying|concerned|afraid|nervous|unsure|curious|targeting|aiming|working|struggling|wondering|thinking|considering|torn|feeling|confident|stuck|looking|planning|hoping|worried|getting|having|learning)\b|i(?:['’]ll| will) (?:also )?(?!not\b|never\b|only\b|take\b|go\b|be\b)\w+\b|(?:i|we)(?:['’]d| would)? (?:want|like|love|need|wish) to (?:further |really |also |finally )?(?!(?:see|have|get|be|receive|hear|know|approve|review|avoid|keep|stay|stick)\b)|(?:i|we)(?:['’]ve| have) (?:\w+ )?(?!(?:decided|agreed|settled|chosen|got|switched|moved)\b)\w+(?:ed|en|ne|ing)\b)"
)
"""How somebody tells what he does, did or will do himself."""

_OWN_STEP_IN_A_CASE = any_case(
    r"^(?:(?:and|but|so|also|now|then|well|however),? )?(?:(?:if|once|after|to|for|considering|given) (?:[^,]|,\d){1,120}, )?(?:then )?"
    r"i(?:['’]ll| will| can| could| may| might| need to| have to| should|(?:['’]d| would) (?:like|love|want) to) (?!not\b|never\b|only\b|be\b|see\b|have\b|get\b|hear\b|know\b|approve\b|review\b|avoid\b|keep\b|stay\b)\w+\b"
)
"""The same behind a case or an aim: "If it feels right, I'll leave it", "To get both, I need to multiply"."""

_JUDGES = any_case(
    r"^(?:(?:and|but|so|also|well),? )?i (?:really |do |also |truly )*appreciate (?!it (?:if|when)\b)|^sure,? let['’]?s\b|^(?:please |can you |could you )?help me\b(?!.*\b(?:always|never|every)\b)"
    r"|^(?:however|but),? (?:this|that|it) (?:doesn|isn|won|can|didn|wasn)['’]?t\b"
    r"|^(?:yeah|yes|yep|right|true|sure|exactly|absolutely|i agree|ok(?:ay)?),? .*\b(?:is|are) (?:\w+ )?(?:important|key|crucial|essential|vital|helpful|useful|good|great|nice|fine)(?: too)?$"
    r"|\bwill (?:really |definitely |certainly |probably |surely )+help(?: \w+){0,2}$|\bmakes? sense(?: too| to me)?$"
)
"""How somebody judges what was proposed, thanks for it, falls in with it, asks for help with it, or says that it fails."""

_RECKONS = any_case(
    r"\d ?[*×÷=] ?\(?\d|\(\d+ ?/ ?\d+\)|\b(?:probabilit|chances?\b|odds\b|outcomes?\b|fractions?\b|multipl|divid)(?=.*\b\d+[/:]\d+\b)|\bis (?:just |simply |always |then )?the (?:product|sum|square|quotient|difference|ratio) of\b|\b(?:subtract|divid|multiply|add)ing (?:\w+ ){0,3}(?:from|by|to) \d|\b\d:\d or \d/\d\b|\badds? up to \d"
)
"""How somebody reckons: a sign of arithmetic, a fraction beside a word of probability. A fraction alone may be a date."""


def _tells(bare: str) -> bool:
    first, _, rest = bare.partition(" ")
    return word_class(first) == "ed" and word_class(rest.partition(" ")[0]) in _TOLD and not _CHOSEN.match(first)


_CHOSEN = any_case(r"(?:decided|agreed|settled|moved|approved|changed|switched|renamed|dropped|postponed|confirmed)$")


class Place(msgspec.Struct, frozen=True):
    """A sentence among those of its message."""

    sentences: tuple[Sentence, ...]
    index: int

    @property
    def sentence(self) -> Sentence:
        """Return the sentence."""
        return self.sentences[self.index]

    def names(self) -> list[str]:
        """Return the names of what stands around the sentence: questions, orders for one thing, stories."""
        sentences, index = self.sentences, self.index
        following = sentences[index + 1] if index + 1 < len(sentences) else None
        asks = [is_question(sentence) for sentence in sentences]
        place = "first" if index == 0 else "middle" if following is not None else "last"
        names = [f"of {min(len(sentences), 4)}", place]
        if any(asks):
            names.append("asks")
        if len(sentences) == 1:
            names.append("alone")
        if self.sentence.bullet:
            names.append("bullet")
            if announces_rules(self.sentence.lead):
                names.append("under heading")
        if index:
            before, opening = read_sentence(sentences[index - 1].bare), read_sentence(sentences[0].bare)
            names.append(f"before {before.frame}")
            if asks[index - 1]:
                names.append("asked before")
            if is_errand(sentences[index - 1].bare):
                names.append("after errand")
            if "order of once" in before.names:
                names.append("after once")
            if "order of once" in opening.names:
                names.append("opens once")
        if following is not None:
            behind = read_sentence(following.bare)
            names.append(f"behind {behind.frame}")
            if asks[index + 1]:
                names.append("then asks")
            if insists(following):
                names.append("insisted")
            if "order of once" in behind.names:
                names.append("then once")
            if "two past" in behind.names or behind.frame == "frame past":
                names.append("then past")
        return names


def belief_features(text: str, section: str, form: str, place: Place) -> frozenset[str]:
    """Return the names of what speaks for and against that a statement is meant to last: its form, the grammar of it and of
    its sentence, and what stands around that."""
    of_sentence, of_item = read_sentence(place.sentence.bare).names, read_sentence(text).names
    around = place.names()
    form = form or "rule"
    group = form if form in _GROUPS else "other"
    part = "whole" if len(text) > _WHOLE * len(place.sentence.text) else "part"
    names = {f"form {form}", f"in {section}", part, f"as {group} {part}"}
    names.update(f"sentence {name}" for name in of_sentence)
    names.update(f"item {name}" for name in of_item)
    names.update(f"around {name}" for name in around)
    names.update(f"as {group} {name}" for name in around if not name.startswith(("before ", "behind ", "of ")))
    names.update(f"as {group} {name}" for name in of_sentence if name.startswith(("frame ", "two ", "of ")))
    return frozenset(names)


_GROUPS = frozenset(["rule", "decision", "preference", "fact", "limit", "custom", "condition", "order"])
"""Forms that are common enough to be weighed apart."""

_WHOLE = 0.8
"""The share of its sentence that a statement has which is the whole of it."""


def is_of_the_moment(text: str, section: str, place: Place) -> bool:
    """Return whether a statement is told for the sake of a question, or is about one thing at hand, whatever its weight."""
    bare = place.sentence.bare
    if is_told(bare) or _is_of_one_thing(text, section, bare) or _OF_HIMSELF.search(bare):
        return True
    if place.index and _OF_WHAT_IS_ASKED.match(text) and _asks_for_one(place.sentences[place.index - 1]):
        return True
    return place.index + 1 < len(place.sentences) and wonders(place.sentences[place.index + 1])


_OF_HIMSELF = any_case(
    r"^(?:\w+,? ){0,3}\w+ing (?:[\w'’-]+ ){1,8}(?:is|are) (?:[\w'’-]+ ){0,2}(?:important|key|crucial|essential|vital|critical)(?: (?:to|for) me)?[.!]*$"
)
"""What somebody tells himself is important to do: "and yes, keeping the reader in mind is key"."""


def _asks_for_one(sentence: Sentence) -> bool:
    """Whether a sentence asks for one piece of work, which "it" in the next one stands for."""
    polite = _POLITE.match(sentence.bare)
    return polite is not None and bool(_PLAIN_REQUEST.search(polite[0])) and not _FOR_ALL.search(sentence.bare)


_OF_WHAT_IS_ASKED = any_case(
    r"^(?:it|they|this|that) (?:should|must|has to|have to|needs? to|can['’]?t|cannot|may not|shouldn['’]?t) "
)
"""What the work that was just asked for is to be like: "It should stay under 60 words"."""

_ONE_PIECE = any_case(
    r"^(?:(?:please|now|also|then|just|pls),? )*(?:(?:write|draft|compose|sketch|prepare)(?: me| us)? (?:an?|one|two|three|four|five|\d+)|(?:rename|rephrase|reword) (?:the|this|that|my|our)) "
)
"""An order for one piece of work: "write a polite letter to the tenant"."""

_TO_SEE = any_case(
    r"\b(?:i|we) (?:just|only) (?:want|need|would like) to (?:see|check|know|try|test|find out)(?: (?:if|whether|how|what|it)\b|\W*$)|\band show me (?:the|a) (?:diff|result|output|preview)\W*$"
)
"""What somebody has done once, to see what comes of it."""

_OF_A_THIRD = any_case(
    r"^(?:my|our|the) (?:colleague|neighbou?r|friend|brother|sister|kid|son|daughter|mother|mum|father|dad|cat|dog|roommate|flatmate|co-?worker)s? (?:always|never|hardly ever|only|constantly|keeps?)\b"
)
"""How somebody tells of another: "my colleague never writes tests"."""


def prefers_a_way(text: str, section: str, place: Place) -> bool:
    """Return whether a statement says which way of doing something a person prefers, in general."""
    prefers = section == "preferences" and _PREFERS_A_WAY.search(place.sentence.bare) is not None
    return prefers and not _AT_THIS_MOMENT.search(text)


def belief(text: str, section: str, form: str, place: Place) -> int:
    """Return how much speaks for it that a statement is meant to last where it stands, in hundredths of a logit."""
    table = belief_weights()
    return table[""] + sum(table.get(name, 0) for name in belief_features(text, section, form, place))


_PREFERS_A_WAY = any_case(
    r"(?:^|[,;] |\b(?:and|but|since|as|because|so) )i (?:really |generally |usually |always |just |strongly )?prefer \w+ing\b"
)
"""How somebody says which way of doing something he prefers: what he asks for behind it makes it no less lasting."""

_MAKES_ONE = any_case(
    r"^(?:(?:please|can you|could you|now|also|and|so|ok(?:ay)?),? )*(?:write|draw|create|make(?! sure)|design|compose|draft|explain|describe|turn|print|say|tell me|generate|build|paint|sketch|give me|invent|summari[sz]e|translate|rewrite|rephrase|imagine|check|count|find|prepare|produce|suggest|pick)\b(?P<what>[^:]*)(?P<open>: )?"
)
"""An order for one piece of work: what it is to be like stands behind it, or behind a colon."""

_ONE_OF_SEVERAL = any_case(
    r"^(?:(?:please|no|ok(?:ay)?|then|just|and|so),? )*(?:use|take|keep|leave|put|cut|move|delete|swap|drop|try|start|do|fix|change|remove)\b.*\bthe (?:first|second|third|fourth|fifth|next|previous|other|others|left|right|upper|lower|middle|last)\b(?! (?:mon|tues|wednes|thurs|fri|satur|sun)day| (?:of|week|day|name))"
)
"""An order about one of several things at hand: "use the second photo"."""

_AT_THIS_MOMENT = any_case(
    r"(?<!from )(?<!of )(?<!starting )\b(?:today|tonight|right now)\b|\b(?:by now|this time|for the moment|in (?:five|ten|\d+) minutes|i meant|haha|lol)\b"
)
"""Words by which something holds for the moment, or is said in fun."""

_AS_IF = any_case(r"^(?:please )?(?:write|make|do|read|say) (?:it|this|that) (?:as|like)\b")
"""How somebody has one text written another way."""

_ONE_LIKED = any_case(
    r"^(?:where|this|that (?:one|idea|way)|the (?:first|second|third|last|next|other|idea|one)|to \w+ (?:her|him|it|them)|(?:an?|one|two|three|four|five|some|another) (?:\w+ ){0,2}(?:answers?|suggestions?|ideas?|versions?|names?|opinion|table|list|logo|summary))\b"
)
"""What is liked once: one of several things at hand, or a piece of work."""

_LETS_DO = any_case(
    r"^(?:(?:and|so|but|ok(?:ay)?|now|then),? )*let['’]?s (?:not (?:fight|talk|panic|argue|worry)|go (?:through|on|over|ahead)|see|talk|play|pretend|imagine|look|try|wait|start|begin|continue|assume|say|hope)\b"
)
"""What two do now: "let's go through the list"."""


_ASKED_FOR = any_case(
    # a piece of work in as many words: "Seat plan for the gala please, round tables of ten"
    r"^(?!(?:no|not|only|always|never|keep|use|don|do|please|and|any\w*|nothing|in|when|if|for|on|with|from|im|i|we|you|until)\b)(?:[\w'’-]+ ){1,4}(?:for|of|to|about|on|by) [^,;:.]{2,40},? (?:please|pls|plz)(?=[,.:;!]|$)"
    # how one of them is to be: "please don't abbreviate the names in this table"
    r"|^(?=.*\b(?:please|pls|plz)\b).*\b(?:in|for|on) this (?:one|bit|table|list|paragraph|letter|e?-?mail|message|draft|chart|figure|slide|version|section|text|reply|answer|poem|post)\b"
    # a step of the work: "rename foo to bar everywhere"
    r"|^(?:(?:and|but|so|then|now|please|pls),? )*(?:rename|rebase|squash|undo|compute|reword) \S"
)
"""One piece of work that somebody asks for, whatever words of rules it has."""


def _is_of_one_thing(text: str, section: str, bare: str) -> bool:
    """Whether a statement is about one thing at hand, one piece of work, or this moment."""
    if _AS_IF.match(bare) or _LETS_DO.match(bare) or _TO_SEE.search(bare) or _OF_A_THIRD.match(text):
        return True
    if section != "decisions" and _ONE_PIECE.match(text) and not _FOR_ALL.search(text):
        return True
    if section != "decisions" and _ASKED_FOR.search(bare) and _EVER_AFTER.search(bare) is None:
        return True
    if section == "preferences" and _ONE_LIKED.match(text):
        return True
    if section != "decisions" and _AT_THIS_MOMENT.search(bare):
        return True
    if section != "preferences" and (_RECKONS.search(bare) or _JUDGES.search(bare.rstrip(" .!"))):
        return True
    if _ONE_OF_SEVERAL.match(bare) and not _FOR_ALL.search(bare):
        return True
    work = _MAKES_ONE.match(bare)
    if work is None or _EVER_AFTER.search(bare):
        return False
    if work["open"] is not None and _ONE.match(work["what"]):
        return True
    return bare.casefold().find(text[:_BEGINNING].casefold()) > _BEHIND


_ONE = any_case(r" (?:me |us )?(?:an?|the|my|our|his|her|one|two|three|four|five|this|that) ")
_BEGINNING, _BEHIND = 12, 15
"""Characters by which a statement is found in its sentence, and from which on it stands behind the order."""

_FOR_ALL = any_case(r"\b(?:from (?:now|here|today)|always|never|every|each|all|any|only|whenever|when you)\b")
"""Words by which such an order holds for more than one."""


def is_lasting(line: str) -> bool:
    """Return whether a sentence reads by its grammar alone as one that is said for more than the moment."""
    return read_sentence(line).weight >= _LASTING


_MIN_HEAD = 3
"""Words of a sentence before the part that fits a table, from which on the whole of it is asked for."""


def insists(sentence: Sentence) -> bool:
    """Return whether a sentence only insists on the one before it."""
    return _INSISTS.match(sentence.bare) is not None


def with_referent(text: str, before: Sentence | None) -> str:
    """Return a sentence of "it" or "they" with the one before it, without which it says nothing."""
    if before is None or not _POINTS_BACK.match(text):
        return text
    line = line_of(before).rstrip(" .!;?")
    whole = f"{line}; {text}"
    return whole if len(whole) <= MAX_RULE else text


_TEXTS = r"(?:change-?log|release notes?|logs?|outputs?|traces?|threads?|transcripts?|chats?|minutes|tickets?|feedback|readme|docs?|polic(?:y|ies)|terms|contracts?|clauses?|articles?|abstracts?|paragraphs?|sections?|poems?|haikus?|songs?|lyrics|stor(?:y|ies)|recipes?|ads?|adverts?|postings?|listings?|code|snippets?|functions?|scripts?|schemas?|quer(?:y|ies)|diffs?|mails?|e-?mails?|letters?|messages?|texts?|posts?|tweets?|signs?|notices?|posters?|captions?|invitations?|announcements?|disclaimers?|banners?|voicemails?|speech(?:es)?|scenes?|out-of-office(?: \w+)?|auto-?repl(?:y|ies)|cards?)"
"""What somebody may show, or has written for him."""

_SHOWS_TEXT = any_case(
    r"^(?:(?:please|can you|could you|would you|now|also|hi|hey)[,]? )*(?:proof-?read|clean up|tidy up|compare|contrast|transcribe|simplify|annotate|translate|summari[sz]e|rephrase|rewrite|reword|paraphrase|polish|correct|check|edit|improve|explain|review|analy[sz]e|format|shorten|condense|boil down|fact-?check|comment on)\b[^:.?!]*(?::|\b(?:below|(?:the )?following|this (?:text|sentence|paragraph|mail|e-?mail|letter|message|poem|abstract|article|section|clause)))"
    r"|^[^:.?!]{0,80}\b(?:i quote|quote|and i quote|wrote back|writes|wrote|says|said|reads|reply|replied|comment|mail|e-?mail|letter|message|sign|poster|notice|manual|assignment|review|terms|text|sentence|paragraph|slogan|headline|clause|proverb|saying|motto|change-?log|job ad|job posting)[^:.?!]{0,60}:(?= |$)"
    r"|^(?:(?:please|can you|could you|now|also|hi|hey|and)[,]? )*(?:read|look at|have a look at|take a look at|what (?:do|would) you (?:think|make|say) (?:of|about|to)|what about|is|are|does|tell me (?:if|whether|what) you think of) (?:the following|this|these)\b[^:.?!]{0,80}:(?= |$)"
    rf"|^(?:from|out of|copied from|pasted from|found (?:this )?(?:in|on)) (?:the|their|his|her|my|our|an?|this|that) (?:[\w'’.-]+ ){{0,3}}(?:{_TEXTS}|website|site|wiki|faq|lease|forum|book|slides|mailing list|meeting|newsletter|magazine|newspaper|app|channel|group)\b[^:.?!]{{0,40}}:(?= |$)"
    # "here's what the vendor sent us, can you boil it down:"
    rf"|^(?:(?:hi|hey|so|ok(?:ay)?|and|right|fyi)[,.]? )*(?:here(?:['’]s| is| are)|this is|these are|see|i got|we got) (?:(?:the|an?|my|our|some|their|his|her) (?:[\w'’.-]+ ){{0,3}}{_TEXTS}\b|what (?!(?:i|we)\b)[^:.?!]{{1,40}}\b(?:sent|wrote|said|gave|posted|got|has|have|says)\b)[^:.?!]{{0,80}}:(?= |$)"
    # "write an out-of-office note: …"
    rf"|^(?:(?:please|can you|could you|now|also|then)[,]? )*(?:write|draft|compose|create|make|generate|print|design|send|post)(?: me| us| them)? (?:an?|the|some|this) (?:[\w'’.-]+ ){{0,3}}{_TEXTS}\b[^:.?!]{{0,60}}:(?= |$)"
)
"""How somebody begins who shows a text of others, or one to be worked on: what stands behind it orders nothing."""


_WORKS_ON_TEXT = any_case(
    r"^(?:(?:please|can you|could you|would you|now|also|hi|hey)[,]? )*(?:proof-?read|compare|contrast|translate|summari[sz]e|rephrase|rewrite|reword|paraphrase|simplify|shorten|condense|explain|review|analy[sz]e|improve|correct) (?:the|these|those|this|both|my|our|their|his|her|two|three) |\b(?:tell me (?:if|whether|what|how)|what do you think|is (?:it|this|that))\b[^:]*:$"
)
"""An order to work on one text: what that is called announces nothing."""

_HOLDS_ELSEWHERE = any_case(
    r"^(?:(?:so|and|but|ok(?:ay)?),? )*(?:in (?:chess|checkers|poker|bridge|monopoly|scrabble|backgammon|sudoku|tetris|tennis|football|soccer|basketball|handball|volleyball|hockey|golf|rugby|cricket|baseball)\b"
    r"|in (?:my|the|this|that|our|a) (?:\w+ )?(?:novel|story|book|film|movie|play|comic|fairy tale|thriller|saga|game|world|kingdom)\b[^:]*\b(?:laws?|rules?|commandments?|customs?|oaths?|tells|says|forbids|shouts)\b[^:]*:"
    r"|(?:the |some |these )?(?:rules|laws|requirements|conditions|criteria) (?:of|in|from|for|on) (?:the |this |that |my |our |an? )?(?:[\w-]+ )?(?:game|puzzle|riddle|sport|contest|tournament|story|novel|quiz|job|ad|advert|advertisement|posting|listing|tender|leaflet|flyer|brochure|forum|poster|puzzle)\b)"
)
"""What holds in a game, in a story, for who answers an advertisement."""

_SAYS_NOTHING = any_case(
    r"^(?:(?:and|but|so|oh|well|please|haha|lol),? )*(?:(?:please )?don['’]?t (?:even )?(?:ask (?:me )?(?:how|why|what|where|who)|get me (?:wrong|started)|tell me|quote me|laugh|judge|hold your breath|look at me|you (?:have|need|think|dare|just))\b|never (?:say never|again!|been better|heard of|a dull moment)\b|(?:you|one) never knows?\b|always a pleasure|no (?:pun intended|such luck|kidding|offen[cs]e|luck|wonder|way|chance|hard feelings|pain,? no gain)\b"
    r"|nothing (?:ventured|beats|new|special|fancy|personal)\b|i(?:['’]ll| will| would|['’]d) never (?:understand|know|get used|forget|have (?:guessed|thought))\b|who(?:ever)? (?:would have|cares|knew)\b|(?:it['’]s|it is) always (?:\w+|the same|something|dns)\W*$)"
)
"""A turn of phrase, which forbids and demands nothing: "don't ask how long that took"."""

_OFFERS = re.compile(r"^\(?(?P<first>1|[aAiI])[).] .*\s\(?(?:2|[bB]|ii|II)[).] ")
"""Things to choose from, in a row."""

_SOURCE_ONLY = any_case(
    r"^(?:from(?: here)?|see|source|via|link|cf|ref(?:erence)?|found (?:it )?here):? *https?://\S+\W*$"
)
"""Where something shown is from."""

_IS_BELOW = any_case(r"\b(?:below|following(?: \w+){0,3})\W*$")
"""How somebody ends who shows a text in the next lines."""

_HEADER = any_case(r"^(?:from|to|subject|date|sent|cc|re|von|an|betreff|gesendet): \S")
"""A line at the head of a mail."""

_LOG_LINE = re.compile(
    r"^(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,40} \S|^(?:info|warn|warning|error|debug|trace|fatal): \w|^(?:\[|<)?\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
)
"""A line of a history or of a log."""

_SPEAKER = re.compile(r"^(?P<who>[A-Z][\w.-]*(?: [\w.-]+)?): \S")
"""A line of a talk that somebody shows."""

_SAYS_HIMSELF = any_case(
    r"(?:ps|nb|note|rule|decision|preference|fact|constraint|limit|todo|important|remember|reminder|also|update|correction)s?"
)
"""Labels of what the user says himself."""

_OF_AN_AGENT = any_case(
    r"\b(?:let me know if you(?:['’]d| would) like me to|would you like me to|shall i (?:continue|proceed|go ahead)|do you want me to)\b"
)
"""How an agent ends: who writes this to one shows the words of another."""

_WAS_SHOWN = any_case(
    rf"\b(?:that|this)(?:['’]s| is| was) (?:the (?!(?:only|last|first|next|new|right|wrong|best)\b)|his |her |their |(?:my|our) (?!(?:own|final|new)\b)(?:[\w-]+['’]s ))(?:(?!only\b)[\w-]+ ){{0,2}}{_TEXTS}\W*(?:$|from\b|by\b|that\b|they\b|he\b|she\b|i (?:got|found|received)\b|we (?:got|received)\b)"
)
"""How somebody names a text that he has just shown: "that was the mail"."""

_ABOUT_WHAT_IS_ABOVE = any_case(
    r"^\^|\b(?:that|this|it)(?:['’]s| is| was) (?:from|by|what (?:the|my|our|an?|[A-Z])\w*) |\b(?:is|was) (?:that|this|it) (?:from|by)\b|\bwhich of (?:those|these|them)\b|\bwhat (?:does|do|did) (?:she|he|they) (?:\w+ )?(?:wants?|mean|say|ask)\b|\bhomework\b|\b(?:found|got|copied|pasted) (?:it|this|that) (?:in|from|on)\b|\b(?:the|text|mail|message|list) above\b|\bwhat (?:do you (?:think of|make of)|is wrong with|does) (?:that|this|it)\b"
)
"""How somebody speaks of a text that he has just shown."""


def own_sentences(sentences: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
    """Return the sentences that the user says himself: without those of a text that he shows behind a colon or an order,
    or in front of what he asks about it; without lines of mails, talks and logs."""
    sentences = _without_shown(sentences)
    sentences = tuple(
        each
        for place, each in enumerate(sentences)
        if not (
            _HOLDS_ELSEWHERE.match(each.bare)
            or _SOURCE_ONLY.match(each.bare)
            or _SAYS_NOTHING.match(each.bare)
            or (place and sentences[place - 1].asks and _OFFERS.match(each.bare))
        )
    )
    for place, sentence in enumerate(sentences):
        shows = _SHOWS_TEXT.match(sentence.bare)
        if shows is None or (announces_rules(shows.group()) and not _WORKS_ON_TEXT.search(sentence.bare)):
            continue
        head = msgspec.structs.replace(sentence, text=sentence.text[: shows.end()], bare=sentence.bare[: shows.end()])
        following = sentences[place + 1 :]
        if not (sentence.bare.endswith((":", ".")) or len(sentence.bare) == shows.end()):
            rest = following
        elif any(other.block == sentence.block for other in following):
            rest = tuple(each for each in following if each.block != sentence.block and not each.bullet)
        elif following and (sentence.bare.endswith(":") or _IS_BELOW.search(sentence.bare)):
            rest = tuple(each for each in following if each.paragraph != following[0].paragraph)
        else:
            rest = following
        return (*sentences[:place], head, *rest)
    return sentences


def _without_shown(sentences: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
    if len(sentences) < _MIN_SHOWN:
        return sentences
    last = sentences[-1].block
    headers = [place for place, sentence in enumerate(sentences) if _HEADER.match(sentence.text)]
    named = [place for place, sentence in enumerate(sentences) if _WAS_SHOWN.search(sentence.bare)]
    if named:
        return sentences[named[-1] :]
    asks_about = any(_ABOUT_WHAT_IS_ABOVE.search(sentence.text) for sentence in sentences if sentence.block == last)
    if asks_about or len(headers) > 1:
        first = headers[0] if headers else 0
        asks = asks_about or any(sentence.asks for sentence in sentences if sentence.block == last)
        return (*sentences[:first], *(each for each in sentences[first:] if asks and each.block == last))
    speakers = Counter(match["who"] for each in sentences if (match := _SPEAKER.match(each.text)))
    is_talk = any(count > 1 and _SAYS_HIMSELF.match(who) is None for who, count in speakers.items())
    of_agents = {each.paragraph for each in sentences if _OF_AN_AGENT.search(each.text)}
    return tuple(
        each
        for each in sentences
        if not (_LOG_LINE.match(each.text) or each.paragraph in of_agents or (is_talk and _SPEAKER.match(each.text)))
    )


_MIN_SHOWN = 2
"""Sentences of a message that shows something and says something of it."""


_LEAD = any_case(
    r"^(?:(?:hi|hey|hello|ok(?:ay)?|so|and|but|also|oh|well|right|fyi|btw|by the way|please|pls|plz|yes|ah|anyway|quick one|(?:no|nope|nah)(?=[,:.!])|heads[- ]up|just so you know|note|for reference|remember)(?:[,:.!]| -)? )+(?=\S+ \S)"
)
"""Words before a statement that say nothing of it."""


def without_lead(line: str) -> str:
    """Return a sentence without the words before it that say nothing of it, and without its end mark."""
    return _LEAD.sub("", line).rstrip(" .!;,")


_FRAGMENT = any_case(r"(?:no|not|max|only|without|at most|at least) [^,;]*")
"""The part of a sentence that forbids something and has no verb: alone it says too little."""

_MIN_BESIDE = 6
"""Characters that a sentence has beside a fragment of it."""


_POINTS_ONLY = any_case(r"(?:please )?(?:do not|don['’]?t|never|always) \w+ (?:it|that|this|them|those|these)")
"""A rule that says nothing without what it points at."""

_LEAVES_IT = any_case(
    r"(?:please |just |then |ok(?:ay)? )*(?:leave|keep|let|do|put|make) (?:it|that|this|them|those|these)(?: (?:alone|be|all|as (?:it|they) (?:is|are|was|were)|as is|like (?:this|that)|so|there|in|out|this way|that way|for now|short|simple))*"
)
"""A rule of pronouns alone, with nothing before it that they could stand for."""

_COMPARES_ONLY = any_case(r"(?:no|not|not any) (?:\w+er|more|less)")
"""A correction of what was just made: "no bigger"."""

_OPPOSITE = any_case(r"(?:never|not|no) [^,;]{1,30}")
"""The other half of a rule that stands before it: "always Sie, never du"."""
_ALWAYS = any_case(r"(?:always|only) ")
_BARE_OPPOSITE = any_case(r"(?:never|not|no) [\w'’-]+")
"""The same behind any rule, where it orders nothing itself: "in metres, never inches"."""


def whole_rules(rules: Sequence[StatedRule]) -> Iterator[StatedRule]:
    """Yield rules; of one that is a fragment of its sentence ("no tables") that sentence, where it is meant to last."""
    whole: set[str] = set()
    lines = Counter(rule.sentence for rule in rules)
    for rule in _with_opposites(rules):
        if rule.sentence in whole or _COMPARES_ONLY.fullmatch(rule.text) or _LEAVES_IT.fullmatch(rule.text):
            continue
        line = _AFTER_COLON.sub("", rule.sentence)
        if _POINTS_ONLY.fullmatch(rule.text) and len(without_lead(line)) > len(rule.text) + _MIN_BESIDE:
            whole.add(rule.sentence)
            yield msgspec.structs.replace(rule, text=without_lead(line)[:MAX_RULE], reason="")
            continue
        if lines[rule.sentence] == 1 and _is_part(rule.text, line):
            # Only its end fits a table, and the whole of it is meant to last.
            whole.add(rule.sentence)
            yield msgspec.structs.replace(rule, text=without_lead(line), reason="")
            continue
        is_fragment = _FRAGMENT.fullmatch(rule.text) and len(line) - len(rule.text) > _MIN_BESIDE
        if not is_fragment or len(line) > MAX_RULE or ":" in line or without_lead(line) == rule.text:
            yield rule
        elif read_sentence(line).weight >= 0:
            whole.add(rule.sentence)
            yield msgspec.structs.replace(rule, text=without_lead(line), reason="")


def is_part_of(text: str, line: str) -> bool:
    """Return whether a statement is a part of a sentence the rest of which is meant to last, too: what goes before it, or
    follows from it. What announces it is none of it, nor what is next to nothing."""
    before, has_it, behind = line.partition(text)
    rest = [part.strip(" .!;,") for part in (before, behind)]
    if not has_it or max(map(len, rest)) < _MIN_BESIDE or before.rstrip().endswith(":"):
        return False
    return all(read_words(part).logit > 0 for part in rest if len(part) >= _MIN_BESIDE)


def are_one(texts: Sequence[str], line: str) -> bool:
    """Return whether several statements of a sentence say one thing together: they are not all orders, and it lists
    nothing."""
    head, colon, _ = line.partition(":")
    is_list = ";" in line or (colon and announces_rules(head))
    return not is_list and not all(read_sentence(text).is_order for text in texts)


def _is_part(text: str, line: str) -> bool:
    """Whether a rule is the end of a sentence whose beginning belongs to it."""
    head, within, _ = without_lead(line).partition(text)
    return (
        bool(within)
        and len(head.split()) >= _MIN_HEAD
        and len(line) <= MAX_RULE
        and ":" not in line
        and is_lasting(line)
        and read_sentence(head).weight >= _OF_A_HEAD
        and not is_report(line)
    )


_OF_A_HEAD = -60
"""Hundredths of a logit from which on the beginning of a sentence may belong to the rule at its end."""

_AFTER_COLON = any_case(r"^[^:.,;]{3,40}\b(?:short|is|was|said|news|point|question|result|outcome|bottom line): ")
"""Words before a colon that only announce what is said behind it: "Long story short: …"."""


def _with_opposites(rules: Sequence[StatedRule]) -> Iterator[StatedRule]:
    """Yield rules; two halves of one ("always Sie, never du", "in metres, never inches") as one."""
    before: StatedRule | None = None
    for rule in rules:
        if before is not None and (
            rule.sentence == before.sentence
            and (_OPPOSITE if _ALWAYS.match(before.text) else _BARE_OPPOSITE).fullmatch(rule.text)
            and f"{before.text}, {rule.text}" in rule.sentence
        ):
            before = msgspec.structs.replace(before, text=f"{before.text}, {rule.text}")
            continue
        if before is not None:
            yield before
        before = rule
    if before is not None:
        yield before
