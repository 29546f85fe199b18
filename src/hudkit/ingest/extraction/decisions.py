"""Decisions announced in plain words, by the user or the agent, and those that they replace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from hudkit.ingest.extraction.hedging import is_question, is_report, is_supposition, is_wish
from hudkit.ingest.extraction.prose import Sentence, overlap, subject_stems

# --- How decisions are announced in plain words: a table of patterns, some of them for what a user says only.


# ruff: noqa: E501, ISC004 (a table of patterns is read by its rows)


_OPENERS = r"(?:(?:ok(?:ay)?|alright|right|so|then|hm+|great|good|fine|fair|yes|yeah|no|nah|and|but|now|agreed|understood|well|oh)[,.!:]* )*"
_PREPOSITION = r"(?: (?:to|on|for|that|against))?"
_NOT_SAID = "".join(
    rf"(?<!\b{word} )"
    for word in (
        "if",
        "when",
        "what",
        "why",
        "that",
        "where",
        "how",
        "which",
        "until",
        "once",
        "before",
        "unless",
        "as",
        "than",
        "and that",
        "whether",
    )
)
_SPEAKER = rf"\b{_NOT_SAID}(?:i|we)"
"""The one who decides, not in a clause that hangs on another."""
_LOOSE = r"(?!(?:it|that|this|these|those|them|both|so|going|a (?:look|break|step|quick)|one (?:by|thing)|the (?:tests?|same))\b)"

_ANNOUNCED: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\blet(?:'|’)?(?: u)?s (?:not |just |rather |simply |better |instead )?(?:go (?:back )?(?:with|for|to)|use|adopt|switch(?: over| back)? to"
        r"|move (?:over )?to|stick (?:with|to)|settle (?:on|for)|opt for|pick|choose|default|return to)\b(?P<what>.+)",
        rf"\blet(?:'|’)?(?: u)?s (?:just |rather |simply |instead )?(?:do|take|keep|drop|leave|make it) {_LOOSE}(?P<what>.+)",
        r"\blet(?:'|’)?(?: u)?s make (?!it\b|sure\b|this\b|that\b|a\b|an\b|the\b|some\b)(?P<what>.+)",
        rf"\blet(?:'|’)?(?: u)?s (?:merge|move by|split|store|cache|base|model|name|render|generate|sort|encode|sign|hash|encrypt|expose|treat"
        rf"|limit|cap|require|support|allow|skip|disable|enable|represent|put|version|pin|separate|combine|replace) {_LOOSE}(?P<what>.+)",
        rf"^{_OPENERS}(?P<what>\S.{{0,80}}?)(?: then)?, (?:it's |that's )?(?:decided|settled|agreed|final|done deal|end of story|final answer|period)$",
        r"^(?:decided|settled): (?P<what>.+)",
        rf"^{_OPENERS}go (?:with|for) (?!it\b|that\b)(?P<what>.+)",
        rf"^{_OPENERS}(?:we|i)(?:'ll| will| shall)? (?:go|going) (?:with|for) (?!it\b|the flow)(?P<what>.+)",
        rf"(?:^|[:;,] |^(?:for|in|on|as|about) [^,]{{2,40}}?,? ){_OPENERS}(?:we're |i'm |we are |i am )?going (?:with|for) (?!a (?:quick )?(?:look|walk|break)|the flow)(?P<what>.+)",
        r"^(?P<what>[^,]+?) (?:sounds|looks|seems|feels|is) [^,]*, (?:so )?(?:let(?:'|’| u)?s )?(?:go with|go for|take|do|use) (?:that|it|this)$",
        rf"(?:^|[,;:] |^(?:for|in|on|as|about|to|after|with|given|since|because) [^;]{{2,80}}?,? |\b(?:and|but|so|because|as|that) ){_OPENERS}(?:i|we)(?:'ve| have| had)?(?: also| just| now| finally| already| all)?"
        rf" (?:decided?|chosen|chose|choose|opted|opt|settled(?= (?:on|for|that|to) (?!nothing|none))|agreed)(?! my words)(?! (?:it|this|them)\b| that(?:$| (?:ages|already|long|before|last|yesterday|then)\b)){_PREPOSITION}\b(?P<what>(?!(?: on| to| for| that)? ?[,;]).+)",
        r"\b(?:final |design |our |my |the )*decision(?: (?:on|about|for|regarding) [^:]{2,40})?(?: reads| is| was)?(?:\*\*)?\s*[:=—–-]+\s*(?:\*\*)?(?P<what>.+)",
        r"\b(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to| shall)"
        r"(?P<what> (?!(?:run|look|(?:read|check) (?:the|through|it)|start|try|test|grep|search|open|ask|wait|begin|go through|debug|inspect|fix the typo|wait|leave)\b)\S.*?\b(?:instead of|rather than|in place of)\b.+)",
        r"\b(?:i|we)(?:'ll| will|'m going to| am going to) (?:use|keep|store|adopt|build on|base)\b(?P<what>(?!.* running\b)(?! it\b).+?\b(?:because|since|so that)\b.+)",
        rf"(?:^|[:;,] ){_OPENERS}(?:on reflection,? |actually,? |therefore,? |instead,? )?(?:(?:i'm|i am|we're|we are|i'll be) )?"
        r"(?:switching|reverting|moving|going back|changing|falling back)(?: over| back)?(?: from (?P<from>[^,;]+?))? to (?!the (?:next|tests?|other|main|right|top|bottom|end|\w+ (?:file|branch|tab|directory|folder|step|page))\b|(?:next|step|another|main|master|the failing)\b)(?P<what>.+)",
        rf"(?:{_SPEAKER}(?:'ll| will| now)?|^let me) (?:switch|revert|move|go back|change)(?: over| back)?(?: from (?P<from2>[^,;]+?))? to (?!the (?:next|tests?|other|main|right|top|bottom|end|\w+ (?:file|branch|tab|directory|folder|step|page))\b|(?:next|step|another|main|master|the failing)\b)(?P<what>.+)",
        rf"^{_OPENERS}(?!for\b|in\b|on\b|at\b|with\b|from\b|by\b|to\b|of\b|since\b|yes\b|sure\b|what\b|how\b|that\b|this\b|and\b|as\b|.*\b(?:where|must|as|how|because|if)\b)(?P<what>(?:[\w.=/+'-]+ ){{1,6}})it is(?:[.,!]| then)*$",
        rf"^{_OPENERS}(?:i'll|we'll|i will|we will) make it (?P<what>.+?) then\b",
        r"(?:^|, )(?:so |then |please )*(?:use|take|make it|go with|do) (?P<what>(?:(?!instead)[\w.=/+'`-]+ ){1,6})instead\b(?! of)",
        rf"^{_OPENERS}(?:let's |please )?(?:use |take |do |make it |go )?(?P<what>(?!let me\b|i'll try)(?:(?!instead)[\w.=/+'`-]+ ){{1,8}})instead\b(?! of)",
        r"\bwe(?:'ll| will)? (?:keep|use|drop|take|do|go)\b(?P<what>.+?)\bafter all\b",
        r"\bit(?:'s| is| will be|'ll be) (?P<what>\S(?:[^,;.]*\S)?) after all\b",
        r"^(?:agreed|settled|resolved|final answer)[,:] (?!i\b|we\b|that\b|so\b|take\b)(?P<what>\S.{0,60})$",
        r"(?:^|[,;:] )(?:i|we)(?:'ve| have)? (?:went|gone) (?:with|for) (?P<what>.+)",
        rf"^{_OPENERS}(?:settled on|opted for|decided (?:on|to|for|against)|chose|went with|picked(?! up)) (?!it\b|that\b|nothing\b|a fight)(?P<what>.+)",
        rf"^{_OPENERS}(?:(?:i'm|we're|i am|we are) )?(?:settling on|choosing|opting for|adopting|standardi[sz]ing on) (?P<what>.+)",
        r"^(?:my |our |final |the )*(?:choice|pick|verdict|resolution)(?: is)?: (?P<what>.+)",
        rf"^{_OPENERS}(?:let's (?:do|take) )?(?P<what>option (?:[a-e]|\d))(?:,? (?:it is|then|please))?$",
        rf"^{_OPENERS}(?P<what>(?!(?:the|a|it|that|who|he|she|what)\b)[\w.=/+-]+(?: [\w.=/+-]+){{0,2}}) wins$",
        rf"^{_OPENERS}(?:we|i)(?:'ll| will)? (?:stay|stick) with (?P<what>.+)",
        # what was chosen, in the first person
        rf"{_SPEAKER}(?:'m|’m| am|'re| are)(?: now| therefore| also)? (?:choosing|picking|adopting|opting for|settling (?:on|for)|going (?:with|for)|standardi[sz]ing on|sticking (?:with|to)|abandoning|ditching"
        r"|(?:switching|changing|reverting|moving|migrating|falling back|going back)(?: (?:this|it|that|everything|over|back))?(?: from [^,;]+?)? to(?! (?:the (?:next|failing|tests?|other|main|\w+ (?:file|branch|tab|directory|folder|step|page))\b|(?:next|another|main|master)\b))) (?P<what>.+)",
        rf"{_SPEAKER}(?:'ll|'m| will| am|'re| are|'ve| have)? (?:\w+ )?(?:(?:dropping|replacing|swapping|trading|ditching|exchanging|substituting) (?!it\b|them\b|this\b|that\b|[^,;]*\b(?:lines?|call|import|text|label|word|string|title|typo|comment)\b)(?P<from3>[^,;]+?) (?:in favou?r of|with|for|by)|(?:dropp?|replac|swapp?|trad|ditch|abandon)(?:e|ed|ped)? (?P<from8>[^,;]+?) in favou?r of) (?P<what>.+)",
        r"^(?:dropping|replacing|swapping|trading|ditching|exchanging) (?P<from4>[^,;]+?) (?:in favou?r of|with|for|by) (?P<what>.+)",
        rf"{_SPEAKER}(?:'ve| have)? (?:also |just |now |finally |already |therefore )?(?:(?:picked|selected)(?! the (?:failing|first|last|next|three|two|slow|\w+ (?:slowest|tests?|files?|lines?|queries)))|adopted|taken(?! a look| up| over| care| note| down| into| back| out)|gone with|gone for|went with|went for(?! the (?:logs?|tests?|files?|code|docs)| a | lunch)|landed on|committed to|standardi[sz]ed on)(?: to)? (?!it\b|that\b|up\b|them\b)(?P<what>.+)",
        rf"(?:{_SPEAKER}(?:'m| am|'ll| will|'re| are)|\b{_NOT_SAID}i) (?:use(?! the (?:term|word|name))|take|taking|using|keep|keeping|store|storing|pick|write(?! the tests?)|writing(?! the tests?)|implement|implementing|build|building|model|modelling|parse|parsing|render|rendering|split|splitting) (?P<what>(?:[^,;]|, (?!i\b|we\b|but\b|and\b)){{2,120}}?(?: rather than| instead of| in place of| over the|, not)\b.+)",
        rf"{_SPEAKER}(?:'m| am|'re| are) (?:keeping|using|storing|putting|building) (?!an eye\b|it\b|that\b|the (?:diff|change|tests?)\b)(?P<what>[^;]{{2,120}}?,? (?:because|since)\b.+)",
        rf"{_SPEAKER}(?:'m| am|'re| are) taking (?!a look|care|it\b|a (?:closer|break|step)|note|this|that|over)(?P<what>.+)",
        r"(?:^|[:;] )(?:and |so |then )?instead of (?P<from5>[^,;]{2,60}?),? (?:i|we)(?:'ll|'m|'re|'ve| will| am| are| now| have)? (?:now |just |simply |going to )?(?P<what>.+)",
        r"(?:^|[,;:] |\bso )(?P<what>[^,;:]{2,60}?) (?:is|was|becomes) (?:therefore )?(?:my|our|the) (?:\w+ )?(?:pick|choice|winner|favou?rite|decision|way to go|way forward|answer|verdict|approach)(?: then| here| now)?$",
        r"\b(?:the |our |my )?(?:(?:winner|way forward|way to go|verdict|plan of record|final call)(?: is|:)|(?:approach|choice|pick):) (?!to\b|not\b|a good|that i\b|unclear|up to|yours|open\b|between|hard|still|clear\b)(?P<what>.+)",
        r"^(?:chosen|selected|preferred|final|agreed)(?: \w+){0,2}: (?P<what>.+)",
        rf"^{_OPENERS}(?!for\b|in\b|on\b|at\b|with\b|from\b|by\b|to\b|of\b|since\b|yes\b|sure\b|what\b|how\b|that\b|this\b|and\b|as\b|whatever\b|who\b|where\b|here\b|there\b|.*\b(?:how|where|because|if|says?|said|whatever|know|think|guess)\b)(?P<what>(?:[\w.=/+'`-]+ ){{1,6}})it (?:is|shall be|will be)(?:,| then|:| for)",
        rf"^{_OPENERS}(?:and )?(?:let(?:'|’| u)?s )?(?:ditch|drop|scrap|kill|dump|lose) (?P<from6>[^,;]+?)(?: then)?, (?P<what>.+)",
        r"(?:^|[,;] |\b(?:and|then) )(?P<what>[^,;]{2,50}?) all the way$",
        rf"^{_OPENERS}(?:i've|i have|we've|we have) made (?:up (?:my|our) minds?|(?:a|the|my|our) (?:decision|call|choice))[:,]? (?P<what>.+)",
        rf"^{_OPENERS}(?:i think |yes,? )?(?:i|we)(?:'ll| will) (?:pick|choose) (?!it\b|a (?:look|closer|break|peek|step)|care|that into|note|over|through|on\b|ahead|back|home|away|and\b|into|down|both|you|one step|another look|this (?:step|file)|the (?:next|first|tests?))(?P<what>.+)",
        r"^[^;:?]*\b(?:we|i)\b[^;:?]*\b(?:and|so|then) (?:have |finally |then |just )*(?:opted for|settled on|decided (?:on|to|for|against)|chose|picked|went with|went for|agreed (?:on|to)) (?!it\b|that\b|up\b)(?P<what>.+)",
        r"\b(?:wir nehmen|wir verwenden|entscheidung:|wir haben (?:uns )?(?:entschieden|beschlossen)|nehmen wir)\b(?P<what>.+)",
    )
)
"""How a decision is announced; `what` is what it is for, `from` what it leaves."""

_NO_NAME = (
    r"(?!(?:go|do|fix|continue|let|no|not|never|please|i|we|you|he|she|they|it|that|this|show|try|run|start|make|tell|wait|stop|good|fine|ok(?:ay)?|great|what|why|how|when|where|who|just|back|next|now|first|only|until|since|more|and|but"
    r"|see|look|commit|push|ship|later|tomorrow|thanks?|same|all|done|keep|leave|add|remove|write|test|check|use|take|maybe|perhaps|nothing|everything|until|by|from|even)\b)"
)
"""What a bare name is not."""

_BY_USER: tuple[re.Pattern[str], ...] = (
    re.compile(
        r"^(?:let(?:'|’)?s do (?:that|it|so)|yes|ok(?:ay)?|right|agreed|deal|good)[,:] (?P<what>[^,;]{2,40} (?:instead of|rather than) [^,;]{2,40})$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_OPENERS}we(?:'ll| will)? go (?!to\b|on\b|back\b|ahead|home|live|through|for\b|with\b|over\b|out\b|there|in\b|into\b|up\b|down\b|and\b|wild|crazy|away|public|from|by\b|again|now)(?P<what>\S+(?: \S+){{0,2}})$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^(?:(?:ok(?:ay)?|alright|right|good|fine|well|hm+)[,.]? )+then,? {_NO_NAME}(?P<what>[\w.+/'-]+(?: [\w.+/'-]+){{0,3}})$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:ok(?:ay)?,? |then |and |also |so |alright,? |yes,? |good,? |now )*let(?:'|’)?(?: u)?s (?:also |just |then )?(?!(?:look|see|check|run|start|begin|try|talk|discuss|move|go|continue|test|wait|find|think|figure|hope|get|explore|focus|take|review|finish|fix|commit|push"
        r"|ship|deploy|call|not|worry|debug|hear|read|meet|sync|stop|leave|be|have|write|work|pair|face|say|assume|imagine|pretend|know|keep|make|do|measure|clean|tidy|return|pause|break|hold|first|give|ask|tell|play|celebrate|call|open|close|finally|also|just|then|turn to|chat|step)\b)"
        r"(?P<what>[a-z]+ .+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_OPENERS}(?:then we|we then)(?:'ll| will)? (?P<what>(?:write|build|use|take|make|keep|go|do|store|drop|skip|leave|switch|move|send|put|split|merge|print|render|show|hide|start) .+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_OPENERS}(?:(?:please|just|better) )?(?:switch|migrate|move|change|convert)(?: (?:it|this|that|everything|back|over|us))?(?: from (?P<from7>[^,;]+?))? (?:back )?to (?!the (?:next|other)|another|my\b|your\b|(?:the )?(?:top|bottom|left|right|end|start)\b)(?P<what>\S.+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_OPENERS}(?:i think |i guess |i believe )?(?:i|we)(?:'ll| will) (?:take|have|go) (?!it\b|a (?:look|closer|break|peek|step)|care|that into|note|over|through|on\b|ahead|back|home|away|and\b|into|down|both|you|one step|another look|to\b|lunch|first\b|test|check)(?P<what>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_OPENERS}(?:then )?better (?:to )?(?:take |use |go with |make |do )?(?!not\b|than\b|now\b|safe\b|late\b|ask\b|check\b)(?P<what>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_OPENERS}(?:we|i) (?:shall |will |just )?(?:stay with|stick with|make|go for|go with|are going for|are doing|'re doing) {_LOOSE}(?!sure\b|it\b)(?P<what>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_OPENERS}we(?:'ll| will| want to|'re going to| are going to) (?:use|take|keep|drop|build|support|store) {_LOOSE}(?P<what>.+)",
        re.IGNORECASE,
    ),
)
"""How a user announces one; an agent that says so tells its next step."""


# --- What was offered as one or the other ("NATS or Redis?"): deciding for one ends a decision for the other.


MAX_PAIRS = 12
"""Pairs that are remembered, the newest."""

Alternatives = tuple[str, str]

_SHORT_NAME = r"[\w.+/'-]+(?: [\w.+/'-]+){0,2}"
_ALTERNATIVES = re.compile(
    rf"(?i)(?P<one>{_SHORT_NAME}),? (?:or|vs\.?|versus) (?:an? |the |just |maybe |to )*(?P<other>{_SHORT_NAME})"
)


def find_alternatives(said: Sequence[Sentence]) -> Iterator[Alternatives]:
    """The pairs of alternatives that these sentences name, as words."""
    for sentence in said:
        for match in _ALTERNATIVES.finditer(sentence.bare):
            yield match["one"], match["other"]


def excludes(new: frozenset[str], old: frozenset[str], pairs: Sequence[Alternatives]) -> bool:
    """Whether a decision for the subject `new` ends one for the subject `old`."""
    return any(_separates(new, old, one, other) or _separates(new, old, other, one) for one, other in pairs)


def _separates(new: frozenset[str], old: frozenset[str], one: str, other: str) -> bool:
    mine, theirs = subject_stems(one) - subject_stems(other), subject_stems(other) - subject_stems(one)
    return bool(new & mine and old & theirs) and not (new & theirs or old & mine)


# ruff: noqa: E501 (a table of patterns is read by its rows)


MAX_SUMMARY = 200
"""Characters of a decision's summary."""

_AGAINST = re.compile(r"(?i)\b(?:instead of|rather than|in place of|over|not|replaces?|statt)\b(?P<old>[^;]+)")
_REASON = re.compile(r"(?i)\s(?:because|since|so that|so)\b.*$|[,:;(].*$|\s[-–—]\s.*$")
_BECAUSE = re.compile(r"(?i),? (?P<why>(?:because|since)\b.+)$")
_NOT_YET = re.compile(
    r"(?i)\b(?:haven't|have not|hasn't|not yet|until (?:you|we|they)|^(?:before|until|once|when)|whether|option|options|either|if (?:we|you|i|it)|or\b.*\?"
    r"|need to decide|to be decided|you decide|can't decide)\b"
)
_REVERSED = re.compile(
    r"(?i)\b(?:scratch|scrap|forget|no,? wait|wait,? no|nah|nope|on second thoughts?|on reflection|chang(?:ed|e) (?:my|our) minds?"
    r"|revert(?:ing)?|not what (?:we|i) want|no sorry|had another think|correction)\b"
)
_NO = re.compile(r"(?i)^(?:(?:hm+|ok(?:ay)?|sorry|but)[,.]? )*(?:no|nope|nah)[.!,]?$")
_ABOUT = re.compile(r"(?i)\b(?:minds?|thought|thinking|wrong) (?:again )?about\b")
_WEAKLY = re.compile(
    r"(?i)\b(?:after all|actually|back to|can(?:'t|not| not) be|(?:does|do|did|will|would)(?:n't| not) work|won't work|not possible|impossible|turns out|instead|change of plan|plans changed)\b"
)
_TURNED = re.compile(
    r"(?i)^(?:(?:no|nah|nope|hm+|scratch that|actually|wait|on second thoughts?|correction|no wait)[,.:]* )+(?:use |take |let's use )?(?P<what>[^.;]+?)(?:,? (?:please|then))?$"
)
_INSTEAD = re.compile(r"(?i)^(?:please |so |then )?(?:use|take|make it|do|go for) (?P<what>\S+(?: \S+){0,5})$")
_BARE_OTHER = re.compile(
    r"(?i)^(?:nah|nope|no,)[, ]+(?:use |take |make it |rather |better )?(?P<what>(?!(?:thanks?|problem|worries|wait|idea|need|just|i|we|you|it|that|this|not|don't|do|leave|keep|stop|sorry|why|but"
    r"|fine|good|go|all|ok(?:ay)?|never|no|still|please|they|there|he|she|what|how|can|should|too|same|wrong|really|looks?|works?)\b)\S+(?: \S+){0,2})$"
)
_LEADING = re.compile(
    r"(?i)^(?:(?:ok(?:ay)?|alright|right|so|then|hm+|great|fine|fair|yes|yeah|and|but|oh|well|nah|no|now)[,.:!]+ |(?:so|and|but) )+"
)


class AnnouncedDecision(msgspec.Struct, frozen=True):
    """A decision: its summary, and the live ones that it replaces."""

    summary: str
    replaces: tuple[str, ...] = ()
    details: str = ""
    """The reason, where one was given."""


def find_decisions(
    said: Sequence[Sentence],
    live: Sequence[str],
    *,
    by_agent: bool,
    message: str = "",
    recent: Sequence[str] = (),
    just: Sequence[str] = (),
    pairs: Sequence[Alternatives] = (),
) -> tuple[AnnouncedDecision, ...]:
    """The decisions that these sentences announce, in order; one that stands already is not told again.

    `live` are the summaries of the decisions that stand, the newest last; `message` is all that was said with them,
    `recent` the summaries that were announced just before: a reversal without a name is about the last of these; `just` are those of
    the message before, to which a bare "nah, the other one" is the answer; `pairs` are alternatives
    that were named, of which a new decision ends the other.
    """
    standing = list(live)
    found: list[AnnouncedDecision] = []
    message = message or " ".join(sentence.bare for sentence in said)
    for sentence in _joined_no(said):
        new = _announced(sentence, standing, message, by_agent, () if found else recent, () if found else just, pairs)
        if new is not None:
            standing = [*(each for each in standing if each not in new.replaces), new.summary]
            found.append(new)
    return tuple(found)


def _joined_no(said: Sequence[Sentence]) -> Iterator[Sentence]:
    """The sentences, a bare "no" with the one behind it."""
    no: Sentence | None = None
    for each in said:
        if no is not None:
            each = msgspec.structs.replace(each, text=f"{no.text} {each.text}", bare=f"{no.bare} {each.bare}")
        no = each if _NO.match(each.bare) else None
        if no is None:
            yield each


def _announced(
    sentence: Sentence,
    live: Sequence[str],
    message: str,
    by_agent: bool,
    recent: Sequence[str],
    just: Sequence[str],
    pairs: Sequence[Alternatives],
) -> AnnouncedDecision | None:
    bare = sentence.bare.rstrip(".! ")
    if is_question(sentence) or is_supposition(bare) or is_report(bare) or _NOT_YET.search(bare):
        return None
    patterns = _ANNOUNCED if by_agent else (*_ANNOUNCED, *_BY_USER)
    match = next((found for pattern in patterns if (found := pattern.search(bare))), None)
    if match is not None and is_wish(bare[: match.start("what")]):
        return None
    if match is None:
        return None if by_agent else _reversal(sentence, live, just, message)
    what = match["what"]
    left = next((old for name, old in match.groupdict().items() if name.startswith("from") and old), "")
    new = _chosen(what)
    twin = next((each for each in reversed(live) if _same_subject(new, _chosen(each))), None)
    if twin is not None and not _rejects(
        each_old=_rejected(what) | (subject_stems(left) if left else frozenset()), chosen_of=_chosen(twin)
    ):
        return None
    gone = [each for each in live if _replaced(each, what, left)]
    if not gone:
        gone = [each for each in live if excludes(new, _chosen(each), pairs)][-1:]
    if not gone and not left and not _rejected(what):
        gone = _reversed_decisions(live, message, new, recent)
    summary, details = _summary(sentence, match)
    return AnnouncedDecision(summary, tuple(gone), details)


def _reversal(sentence: Sentence, live: Sequence[str], just: Sequence[str], message: str) -> AnnouncedDecision | None:
    """A user's short turn to what a standing decision had rejected, or to something else for the same subject."""
    match = _TURNED.match(sentence.bare.rstrip(".! "))
    if match is None:
        return None
    new, words = _chosen(match["what"]), len(match["what"].split())
    for each in reversed(live):
        named = words <= 6 and new & _chosen(each) and not _same_subject(new, _chosen(each))
        if named or (words <= 12 and overlap(new, _rejected(each)) >= 0.5):
            start = match.start("what")
            return AnnouncedDecision(sentence.text[start:].strip(" .!")[:MAX_SUMMARY], (each,))
    corrected = _INSTEAD.match(sentence.bare.rstrip(".! ")) if _REVERSED.search(message) else None
    if corrected:
        new = subject_stems(corrected["what"])
        for each in reversed(live):
            if new & _chosen(each) and not _same_subject(new, _chosen(each)):
                return AnnouncedDecision(sentence.text[corrected.start("what") :].strip(" .!")[:MAX_SUMMARY], (each,))
    short = _BARE_OTHER.match(sentence.bare.rstrip(".! "))
    if short and live and live[-1] in just[-1:]:
        return AnnouncedDecision(sentence.text[short.start("what") :].strip(" .!")[:MAX_SUMMARY], (live[-1],))
    return None


def _reversed_decisions(live: Sequence[str], message: str, new: frozenset[str], recent: Sequence[str]) -> list[str]:
    """Which decision a reversal is about: the newest that the message names, else the last of the recent ones."""
    strongly = bool(_REVERSED.search(message)) and not _ABOUT.search(message)
    if not strongly and not _WEAKLY.search(message) and not _ABOUT.search(message):
        return []
    words = subject_stems(message) - new
    named = [each for each in live if _chosen(each) & words]
    return named[-1:] or ([each for each in live if each in recent][-1:] if strongly else [])


def _replaced(old: str, what: str, left: str) -> bool:
    mine = _chosen(old)
    return any(
        words and len(words & (mine - _about(old) or mine)) > len(words) / 2
        for words in (_rejected(what), subject_stems(left) if left else frozenset())
    )


def _rejects(*, each_old: frozenset[str], chosen_of: frozenset[str]) -> bool:
    return bool(each_old) and overlap(each_old, chosen_of) >= 0.5


def _same_subject(new: frozenset[str], old: frozenset[str]) -> bool:
    return bool(new) and (new <= old or old <= new)


def _chosen(text: str) -> frozenset[str]:
    """The subject of what a decision is for."""
    match = next((found for pattern in (*_ANNOUNCED, *_BY_USER) if (found := pattern.search(text))), None)
    what = match["what"] if match else text
    against = _AGAINST.search(what)
    what = what[: against.start()] if against and against.start() > 2 else what
    return subject_stems(_REASON.sub("", what.strip()) or what)


def _about(text: str) -> frozenset[str]:
    """What a decision is about, where it says so: "one register for all departments"."""
    match = re.search(r"(?i)\bfor (?P<about>.+)$", _REASON.sub("", text))
    return subject_stems(match["about"]) if match else frozenset()


def _rejected(text: str) -> frozenset[str]:
    """The subject of what a decision is against; empty where it does not say."""
    match = _AGAINST.search(text)
    return subject_stems(_REASON.sub("", match["old"].strip()) or match["old"]) if match else frozenset()


def _summary(sentence: Sentence, match: re.Match[str]) -> tuple[str, str]:
    start = match.start() if match.start("what") - match.start() < 60 else match.start("what")
    begin = sentence.text[start:]
    words = _LEADING.sub("", " ".join(begin.split()).lstrip(" ,;:*")).replace("**", "").rstrip(" .!,;:")
    reason = _BECAUSE.search(words)
    summary, details = (words[: reason.start()], words[reason.start("why") :]) if reason else (words, "")
    return summary if len(summary) <= MAX_SUMMARY else summary[: MAX_SUMMARY - 1].rstrip() + "…", details[
        :MAX_SUMMARY
    ]
