"""What a message that ends a statement says in its place, where nothing else was read in it.

`extractor` asks for it once it knows what a message ends. A sentence counts that chooses, allows, names a new state or a new
value ("so xlsx please", "fish is ok now", "it's the Aalto room", "17th of November"); one that only tells why, or that
something is over, does not.

For example, with "The workshop takes place in the Lindner room." standing, "Facilities moved us, it's the Aalto room now." ends
that, and says what holds instead.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Sequence

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.clause_grammar import word_class
from hudkit.ingest.extraction.topic_endings import topic_stems
from hudkit.ingest.extraction.values import values_by_kind

_MAX_WORDS = 30
"""Words of a sentence that says what holds: a longer one tells of much."""

_MAX_MESSAGE = 300
"""Characters of a message's own sentences among which it is looked for."""

_FEW_WORDS = 4
"""Words up to which a sentence does not say by itself what it is about."""

_NOT_A_CHOICE = r"(?!(?:that|it|i|this|they|he|she|what|far|much|many|be|on|forth|there|you|if|as|good|long|sorry|thanks?|great|please do|not|came|leave it|off|then|let['’]s|for|when|why|how|because|since|to|subtract|add|had to|have to|decided|went|we (?:had|have|decided|may|can|went)|people)\b)"

_TAKES = tuple(
    any_case(pattern)
    for pattern in (
        # a choice: "so xlsx please", "town hall then", "Haarlem now", "back to beech"
        rf"(?:^|[,;:–-] | (?:and|but) (?=so\b))(?:ok(?:ay)? )?(?:so|then),? (?:(?:please|pls|it['’]s|it is|let['’]s|we(?:['’]ll| will)?|do|just|take|use|go with|now|only|back to|plain|the) )*{_NOT_A_CHOICE}[\w+#.'’/%€$µ-]+(?: (?!again)[\w+#.'’/%€$-]+){{0,6}}(?:[,.!:]+|$)",
        rf"^(?:(?:ok(?:ay)?|hm+|oh|well|and|so|damn|yikes|sigh)[,. ]+)*(?:then )?{_NOT_A_CHOICE}(?:[\w+#.'’/%€$\"-]+ ){{1,6}}(?:then|now|instead|it is|after all|from (?:now|today|here) on)[.!]*$",
        rf"\bso be it,? {_NOT_A_CHOICE}\w",
        r"\bback to (?!(?:square|work|you|me|it|normal|school|bed|sleep|how)\b)\w+",
        r"^(?:please |pls |so |then |and |just |ok |hm,? )*(?:use|take|make (?:it|that)|put it|send (?:it|them)|switch to|go (?:with|for)|call it|name it|capitali[sz]e|upload (?:it|them)|do (?!(?:it|that|this|you|not|i|we)\b))\b(?! (?:me|a look|care)\b)",
        r"[,;:–-] (?:please |pls |so |then |and |just )*(?:use|take|make (?:it|that)|put it|send (?:it|them)|keep|switch to|go (?:with|for)|call it|name it)\b(?! (?:me|a look|care)\b)",
        r"\b(?:i['’]d|we['’]d|i|we|would) rather\b|\binstead[.!]*$|\bafter all[.!]*$|\bis what (?:i|we) want\b",
        r"\b(?:i['’]m|i['’]ll be|we['’]re) (?:doing|taking|going with|using|switching to) (?:the |an? )?\w+",
        # what is enough, or allowed
        r"\b(?:is|are|['’]s) (?:now )?(?:enough|plenty|sufficient|fine|ok(?:ay)?|allowed|free to \w+)\b(?! (?:with|by)\b)|\b(?:will do|does the job|has to do|have to do)\b|\ballowed, (?:but|max|only)\b",
        r"(?<!that )(?<!it )(?<!this )\b(?:may|can) (?:now |also )?be \w+|\b(?:go|going) up to\b",
        r"^(?:under|above|below|up to|except|for the|only for|with the|with them|on the) .*(?:, |\b)(?:just|only|leave|may|can|use|stays?)\b",
        # a new state, or a new value
        r"\b(?:is|are|['’]s|runs?|goes|lives?|stays?|meets?) (?:\w+ ){0,4}now\b(?!,? (?:done|over|ready|finished|gone|fixed|clear|clean)\b)",
        r"\b(?:it|they|its|he|she)(?:['’]?s| is| are)? (?:the )?[\w+#.'’/%€$µ\"-]+(?: [\w-]+)?, not \w+|\bnot [\w ]{2,30}, but ",
        r"\bthe new (?:one is\b|\w+ is (?=\d))|\bnew (?:policy|rule|deadline|date|limit|plan|ceiling|budget)\b.*:",
        r"\b(?:they|we|he|she|the \w+|[A-Z]\w+|legal|finance|management|marketing|everybody|everyone)(?: now| all)? (?:wants?|asked for|voted for|prefers?|insists? on|moved us to|switched to|went with|opted for|chose|extended (?:it )?to|raised (?:it )?to|lowered (?:it )?to|cut (?:it |us )?(?:down )?to|gave us (?:\w+ )?(?=permission|leave|\d)|push(?:ed)? it to|shifted (?:it )?to|changed (?:it )?to)(?! (?:me|it|to|us|you|something)\b) [\w\"]",
        r"\bfrom (?:now|today|here|next \w+|\w+day|the next \w+|this \w+) on\b|\bas of (?!now\b|today i)\w",
        r"\bhas taken over\b|\btook over from\b|\b(?:who|that) does (?:that|it|this) now\b|\b(?:is|are) with [A-Z]\w+ now\b|\bafter that it['’]s\b",
        r"\b(?:we|it) (?:now )?needs? (?:\d|at least|only)|\b\d+ is the\b",
    )
)  # fmt: skip
"""How a sentence says what holds now."""

_LEAVE = any_case(r"\byou (?:may|can|just) (?!see\b|imagine\b|tell\b|have to\b)\w+")
"""Leave to do something: it says what holds where it is of the matter of what ended."""

_FRAGMENT = any_case(
    r"^(?!.*\b(?:\w{3,}ed|was|were|went|came|got)\b)(?:(?:no|hm+|so|and|ok(?:ay)?)[,.]? )?[\w+#.'’/%€$µ:\"-]+(?: [\w+#.'’/%€$:\"-]+){0,3}(?:, \w+)?[.!]*$"
)
"""A few words without more: a name or a value."""

_I_TELL = any_case(
    r"^(?:(?:ok(?:ay)?|hm+|well|oh|yes|no|and),? )*i(?:['’]ll|['’]ve| have| was| am|['’]m (?!doing\b|taking\b|going with\b)| had| did| think| know| knew| saw| see| mixed| don['’]t| didn['’]t| told| asked)\b"
)
"""How somebody begins who tells what he did; behind "so" he may say what holds."""

_ORDERS = ("verb", "do")
"""Classes of the first word of an order for one thing: "restart web-2"."""

_EMPTY = any_case(
    r"^(?:(?:ok(?:ay)?,? |so |and |then )*you (?:can|may)|first|so close|i see|i get it|thanks?|thank you|good|nice|poor|too|nothing|take it|drop it|it['’]s fine|second|the other)\b(?! names?\b| \w+ (?:is|are|will)\b)|^(?:ok(?:ay)?,? )?(?:then )?(?:leave|keep) it\b"
    r"|\b(?:stays?|disagree|protested|open|wrong|quote|sense now|how we had it|wait|hm+)[.!]*$|\bbut (?:it|he|she|that) does\b|^(?:so )?(?:write|send|upload|put|leave) (?:to )?(?:it|them|him|her)\b(?! straight| direct| from| to )"
)
"""What says nothing of its own of what holds."""

_ENDS = any_case(
    r"\b(?:no longer|any ?more|any longer|doesn['’]?t (?:apply|matter)|moot|off the table|not needed|no need|over|obsolete|history|lifted|gone|can (?:go|end)|got it|ignore|forget|scrap|scratch|never ?mind|take back|(?:this|just) once|so that['’]s)\b"
)
"""How one ends something; then what holds must stand behind it."""

_BEHIND = any_case(r"(?:, (?:so |just |but |use |take |you )?| so | and )(?!(?:that|it|i|thanks?)\b)(?P<rest>\w.*)$")

_PERMITS = any_case(
    r"\b(?:may|can|allowed|ok(?:ay)?|fine|free to|fair game|feel free|welcome|go ahead|permitted|possible)\b"
)
"""How one allows what was forbidden: that the rule is over says as much."""

_AGAIN = any_case(r"\b(?:allowed|ok(?:ay)?|fine|welcome|(?:can|may|be) [\w ]{1,30}|back|used?) again\b")

_LIMITS = any_case(
    r"\d|\b(?:only|but|max\w*|at (?:most|least)|except|unless|provided|as long as|if|up to|under|below|above|instead|two|three|four|five|ten|one|after all)\b"
)
"""What says more than that something is allowed."""

_FORBIDS = any_case(
    r"\b(?:never|don['’]?t|do not|must(?:n['’]t| not)|no|not|nobody|nothing|none|only|avoid|ask|without|until|stop|forbidden|always|every|each|all|stays?|freeze|frozen|before|after|wait|hold|leave|keep)\b"
)


def said_in_place(lines: Sequence[str], ended: str) -> str:
    """Return what the own sentences of a message say in the place of the statement `ended`; empty where they say nothing of it."""
    plain = [line.replace("’", "'") for line in lines]
    if sum(map(len, plain)) > _MAX_MESSAGE:
        return ""
    text = " ".join([line for line in plain if _says(line, ended)][:2]).strip(" .!")
    return text if _words(text) - _words(ended) else ""  # else it says in other words that it is over


def in_context(text: str, ended: str) -> str:
    """Return what was said in the place of a statement with that behind it, where a few words do not say what they are of."""
    if len(text.split()) > _FEW_WORDS or topic_stems(text) & topic_stems(ended):
        return text
    return f"{text} (in place of: {ended.strip(' .!')})"


def _words(text: str) -> frozenset[str]:
    """What a text is about, and what it has with a digit."""
    return topic_stems(text) | frozenset(_WITH_DIGIT.findall(text))


_WITH_DIGIT = any_case(r"\b\w*\d\w*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|half)\b")


def _says(line: str, ended: str) -> bool:
    if len(line.split()) > _MAX_WORDS:
        return False
    is_order = word_class(line.partition(" ")[0]) in _ORDERS
    if _FRAGMENT.match(line) and not (is_order or _is_empty(line)) and _is_of_same_kind(line, ended):
        return True
    leave = _LEAVE.search(line)
    if leave and topic_stems(line[leave.start() :]) & topic_stems(ended):
        return _LIMITS.search(line) is not None or _FORBIDS.search(ended) is None
    if not _takes(line):
        return False
    ends = _ENDS.search(line)
    before = _JOINED.search(line, 0, ends.start()) if ends else None
    if ends and not (before and _takes(line[: before.start()])):
        behind = _BEHIND.search(line, ends.end())
        if behind is None or _ENDS.search(behind["rest"]) or not _takes(behind["rest"]):
            return False
    if _FORBIDS.search(ended) and _PERMITS.search(line) and not _LIMITS.search(line):
        return not (_AGAIN.search(line) or _is_empty(line) or topic_stems(line) & topic_stems(ended))
    return not _is_empty(line) and not (_I_TELL.search(line) and _TAKES[0].search(line) is None)


def _is_empty(line: str) -> bool:
    """Whether a sentence says nothing of its own, or a short one ends in what it points at."""
    return _EMPTY.search(line) is not None or (
        len(line.split()) <= _MAX_POINTING and _POINTS.search(line) is not None
    )


_POINTS = any_case(r"\b(?:it|that|this|them|me|you)[.!]*$")
_MAX_POINTING = 6
"""Words of a sentence that says no more than what it points at."""


def _takes(text: str) -> bool:
    return any(pattern.search(text) for pattern in _TAKES)


_JOINED = re.compile(r"(?:[,;]| and| but) ?$")


def _is_of_same_kind(line: str, ended: str) -> bool:
    """Whether a few words are of the matter of a statement, or give a value of a kind that it has."""
    return (
        bool(topic_stems(line) & topic_stems(ended))
        or bool(values_by_kind(line).keys() & values_by_kind(ended).keys())
        or bool(re.search(r"\d", line) and re.search(r"\d", ended))
    )
