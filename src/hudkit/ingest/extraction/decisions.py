"""Decisions announced in plain words, by the user or the agent, and the standing ones that they replace.

A sentence announces a decision where it fits one row of a table of patterns, and is not a question, a supposition, a
report or a wish. What it is for (`what`) is compared by its subject, the stems of its meaningful words. A decision of
the same subject as a standing one is not a new one. It replaces a standing one that it leaves by name ("instead of
X", "from X to Y"), one that was offered as its alternative ("NATS or Redis?"), or, after a reversal ("scratch that"),
the newest one that the message speaks of.

For example, in three messages:

    user   "NATS or Redis for the queue?"               a question; the pair (NATS, Redis for the queue) is remembered
    agent  "Going with Redis, because it is there."     decision "Going with Redis", reason "because it is there"
    user   "hm, scratch that, let's use NATS"           decision "let's use NATS" replaces "Going with Redis"
"""

# ruff: noqa: E501, ISC004 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

import msgspec

from hudkit.ingest.extraction.caseless import any_case, any_of
from hudkit.ingest.extraction.conflicts import is_objection, is_parallel
from hudkit.ingest.extraction.hedging import is_question, is_report, is_supposition, is_wish
from hudkit.ingest.extraction.prose import Sentence, line_of, overlap, subject_stems

MAX_SUMMARY = 200
"""Characters of a decision's summary."""

MAX_PAIRS = 12
"""Pairs of alternatives that are remembered, the newest."""

_MAX_LEAD = 60  # characters of the words that announce; where there are more, the summary begins with what is chosen
_SHORT_TURN, _LONG_TURN = 6, 12  # words: a longer answer to a decision is about more than another choice

Alternatives = tuple[str, str]
"""Two names of which one or the other is meant."""

# -- the table of announcements --------------------------------------------------------------------------------

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
"""The one who decides, in a clause that does not depend on another."""
_LOOSE = r"(?!(?:it|that|this|these|those|them|both|so|going|a (?:look|break|step|quick)|one (?:by|thing)|the (?:tests?|same))\b)"

_SHORT_NAME = r"[\w.+/'-]+(?: [\w.+/'-]+){0,2}"

_ANNOUNCED: tuple[str, ...] = (
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
    r"\b(?:final |design |our |my |the )*decision(?: (?:on|about|for|regarding) [^:]{2,40})?(?: reads| is| was)?(?:\*\*)?(?:\s*[:=—–]|\s+-(?!>))+\s*(?:\*\*)?(?P<what>.+)",
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
    r"(?:^|[:,] )(?:we|i) took (?P<what>\S+(?: \S+){0,3} (?:over|instead of|rather than) .+)",
    rf"{_SPEAKER}(?:'ve| have)? (?:now |just |therefore )?(?:switched|reverted|changed|moved|gone back|went back)(?: over| back)?(?: from (?P<from9>[^,;]+?))? to (?!the (?:next|tests?|other|main|right|top|bottom|end|\w+ (?:file|branch|tab|directory|folder|step|page))\b|(?:next|step|another|main|master|the failing|(?:a |the )?(?:new |working |development )?branch)\b)(?P<what>.+)",
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
    rf"{_SPEAKER}(?:'ve| have)? (?:also |just |now |finally |already |therefore )?(?:(?:picked|selected)(?! the (?:failing|first|last|next|three|two|slow|\w+ (?:slowest|tests?|files?|lines?|queries)))|adopted|taken(?! a look| on| up| over| care| note| down| into| back| out)|gone with|gone for|went with|went for(?! the (?:logs?|tests?|files?|code|docs)| a | lunch)|landed on|committed to|standardi[sz]ed on)(?: to)? (?!it\b|that\b|up\b|them\b)(?P<what>.+)",
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
"""How a decision is announced: `what` is what it is for, a group that begins with `from` what it leaves."""


_NO_NAME = (
    r"(?!(?:go|do|fix|continue|let|no|not|never|please|i|we|you|he|she|they|it|that|this|show|try|run|start|make|tell|wait|stop|good|fine|ok(?:ay)?|great|what|why|how|when|where|who|just|back|next|now|first|only|until|since|more|and|but"
    r"|see|look|commit|push|ship|later|tomorrow|thanks?|same|all|done|keep|leave|add|remove|write|test|check|use|take|maybe|perhaps|nothing|everything|until|by|from|even)\b)"
)
"""What a bare name is not."""

_PLANNED = (
    r"(?!(?:see|look|check|try|talk|discuss|think|find|know|need|have|get|let|wait|come|go|call|tell|ask|start|begin|continue|finish|fix|review|read|debug|investigate|push|meet|be|figure|probably|never|also need|hopefully|soon|definitely need|want|miss|lose|run into|regret|explain|learn|leave|say|hear|cross|deal|revisit|worry|pay|die|fail|stop|work on|cover|focus|explore|pick this)\b)"
    r"(?!.*\b(?:tomorrow|later|soon|today|tonight|this (?:morning|afternoon|evening)|first|next (?:time|step)|in a (?:minute|moment|bit)|yet|hopefully|probably)\b)"
)
"""What is not planned but only done next, or expected."""
_THING = r"(?!(?:it|this|that|there|he|she|they|i|we|you|what|who|which|everything|nothing|something|things|if|when|because)\b)(?:the |our |all |my )?[\w'./+-]+(?: [\w'./+-]+){0,3}?"

_BY_USER: tuple[str, ...] = (
    r"^(?:let(?:'|’)?s do (?:that|it|so)|yes|ok(?:ay)?|right|agreed|deal|good)[,:] (?P<what>[^,;]{2,40} (?:instead of|rather than) [^,;]{2,40})$",
    rf"^{_OPENERS}we(?:'ll| will)? go (?!to\b|on\b|back\b|ahead|home|live|through|for\b|with\b|over\b|out\b|there|in\b|into\b|up\b|down\b|and\b|wild|crazy|away|public|from|by\b|again|now)(?P<what>\S+(?: \S+){{0,2}})$",
    rf"^(?:(?:ok(?:ay)?|alright|right|good|fine|well|hm+)[,.]? )+then,? {_NO_NAME}(?P<what>[\w.+/'-]+(?: [\w.+/'-]+){{0,3}})$",
    r"^(?:ok(?:ay)?,? |then |and |also |so |alright,? |yes,? |good,? |now )*let(?:'|’)?(?: u)?s (?:also |just |then )?(?!(?:look|see|check|run|start|begin|try|talk|discuss|move|go|continue|test|wait|find|think|figure|hope|get|explore|focus|take|review|finish|fix|commit|push"
    r"|ship|deploy|dive|dig|delve|zoom|proceed|revisit|call|not|worry|debug|hear|read|meet|sync|stop|leave|be|have|write|work|pair|face|say|assume|imagine|pretend|know|keep|make|do|measure|clean|tidy|return|pause|break|hold|first|give|ask|tell|play|celebrate|call|open|close|finally|also|just|then|turn to|chat|step)\b)"
    r"(?P<what>[a-z]+ .+)",
    rf"^{_OPENERS}let(?:'|’)?s (?:call|name) (?:it|this|the [\w-]+(?: [\w-]+)?) (?!(?:an?|it|off|out|up|back|done|quits|by|when|if|once|from|in|on|at|for|with|again|then|now|later|after|before|first|tomorrow|today|the|and|or|to)\b)(?P<what>[\w.+'-]+(?: .+)?)$",
    rf"^{_OPENERS}(?:after all,? )?(?:we|i)(?:'d| had) better (?:stay|stick|go|work) with (?P<what>.+)",
    r"\b(?:we|i)(?:'re| are|'m| am) (?:now )?(?:moving|migrating|switching|porting) (?:the |our |all )?[\w -]{2,30}? (?:over )?to (?!the (?:next|other)|another\b)(?P<what>.+)",
    r"\blet(?:'|’)?(?: u)?s (?P<what>\w+ .+ (?:rather than|instead of) .+)",
    rf"^{_OPENERS}(?P<what>{_SHORT_NAME} then),? (?:because|since|as|that's|it's|we)\b",
    rf"^{_OPENERS}(?!(?:i|we|you|it|that|this|no|not|never)\b)(?P<what>(?:[\w.+-]+ ){{1,4}}(?:instead of|rather than) (?!\w+ing\b)(?:[\w.+-]+ ?){{1,4}}?)(?:,? please)?$",
    rf"^{_OPENERS}(?:then we|we then)(?:'ll| will)? (?P<what>(?:write|build|use|take|make|keep|go|do|store|drop|skip|leave|switch|move|send|put|split|merge|print|render|show|hide|start) .+)",
    rf"^{_OPENERS}(?:(?:please|just|better) )?(?:switch|migrate|move|change|convert)(?: (?:it|this|that|everything|back|over|us))?(?: from (?P<from7>[^,;]+?))? (?:back )?to (?!the (?:next|other)|another|my\b|your\b|(?:the )?(?:top|bottom|left|right|end|start)\b)(?P<what>\S.+)",
    rf"^{_OPENERS}(?:i think |i guess |i believe )?(?:i|we)(?:'ll| will) (?:take|have|go) (?!it\b|a (?:look|closer|break|peek|step)|care|that into|note|over|through|on\b|ahead|back|home|away|and\b|into|down|both|you|one step|another look|to\b|lunch|first\b|test|check)(?P<what>.+)",
    rf"^{_OPENERS}(?:then )?better (?:to )?(?:take |use |go with |make |do )?(?!not\b|than\b|now\b|safe\b|late\b|ask\b|check\b)(?P<what>.+)",
    rf"^{_OPENERS}(?:we|i) (?:shall |will |just )?(?:stay with|stick with|make|go for|go with|are going for|are doing|'re doing) {_LOOSE}(?!sure\b|it\b)(?P<what>.+)",
    rf"^{_OPENERS}(?:so )?we(?:'ll| will| shall|'re going to| are going to) (?:be )?{_PLANNED}(?P<what>[a-z-]+ing \S.+|(?:\w+ ){{1,12}}?(?:in|with|as|on|by|via|through|from|for|per|instead|only|without|not|to)\b.+)",
    rf"^{_OPENERS}(?:so )?we(?:'re| are)(?: now| all)? (?:not )?(?:going(?! (?:to|on|back|through|over|there|home|out|in|crazy|away|nowhere|up|down|for|with|around|live)\b)|supporting|keeping|skipping|adopting|dropping|migrating(?= to)|moving(?= to)|merging|retiring|targeting|outsourcing) {_LOOSE}(?P<what>(?!.*\b(?:trouble|problems?|issues?|errors?|fine|well)\b)\S.+)",
    rf"^{_OPENERS}{_THING} (?:will|is going to|are going to|shall) (?:(?:not )?be (?:in|on|at|an?|the|called|written|built|hosted|done|made|stored|kept|run|served|handled|sent|rendered|generated|based|(?-i:[A-Z])\w+)|live (?:in|on|under|at)|run (?:on|in|as)|go (?:in|to|into|through|on)|use|stay|remain|sit (?:in|on)|come from|take place|have)\b(?P<what>.+)",
    rf"^{_OPENERS}{_THING} (?:moves?|goes|switch(?:es)?|changes?|migrates?) to (?P<what>(?-i:[A-Z])\S*.*)",
    rf"^{_OPENERS}(?:final(?: answer| call| decision)?|it(?:'s| is) (?:now )?(?:decided|settled|agreed|official|final)|that's settled|we(?:'re| are) agreed)(?: that|[:,])?(?: then[:,]?)? (?P<what>(?!(?:yet|now|already|again)\b)\S.{{4,}})",
    rf"(?:^|[,;:] |^{_OPENERS})(?:our|my|the) (?:final |first |clear |collective )?(?:choice|pick|decision|vote|call|solution of choice) (?:is|was|goes to|went to|fell on|falls on|will be) (?P<what>(?!(?:yours|hard|open|pending|still|not|clear|final|made|up)\b)\S.+)",
    rf"^{_OPENERS}(?:the |our |my )?(?:\w+ )?(?:team|management|board|client|customer|committee|everyone|everybody|boss|cto|ceo|product|leadership|steering group|council|group|majority|owners?|architects?|(?-i:[A-Z])[a-z]+)(?:'s)?(?: has| have| had)?(?: (?:finally|just|now|also|unanimously|all|officially))* (?:voted|opted|decided|chose|chosen|picked|settled|agreed|signed off|approved|committed|gone|went)(?: in favou?r of| on| for| to| with| that)? (?P<what>(?!(?:nothing|not yet|it|that|this|home|on|off|wrong|down|up|about|whether|my|your)\b)\S.+)",
    r"(?:^|, )(?P<what>(?!(?:it|that|this|who|he|she|the one|nobody)\b)[\w.+-]+(?: [\w.+-]+)?) wins(?: for me| here| hands down| out| this one| in the end| by a mile)$",
    rf"^{_OPENERS}(?:please )?make it (?P<what>(?:an? |the |all )(?!(?:bit|little|lot)\b)[\w-]+.*)",
    rf"^{_OPENERS}i want (?:this|it|that|the (?:app|site|tool|project|product|whole thing|service|system)) to (?:be|run|live|work) (?P<what>(?!(?:fixed|done|clear|ready|faster|fast|blue|green|bigger|smaller)\b)\S.+)",
    rf"^{_OPENERS}(?:so )?let it be (?P<what>\S.+)",
    rf"^{_OPENERS}(?:so )?(?:we|i)(?:'ll| will) {_PLANNED}(?P<what>\w+ (?:the|a|an|our|one|two|all) [^,;]{{3,60}}(?:, (?!and\b|then\b)\S.*\b(?:is|are|was|makes?|costs?|isn't|doesn't|takes?|would)\b.*| because .+| since .+))",
    r"(?:^|, |^[^,;]{3,50} )i'd (?:take|pick|choose|opt for) (?P<what>(?!(?:it|that|a look|a break|care)\b)\S.+)",
    r"[,;] (?:so|then) let's (?!(?:look|see|check|run|start|begin|try|talk|discuss|move|go|continue|test|wait|find|think|get|focus|review|fix|ship|deploy|be|have|not|do|keep)\b)(?P<what>[a-z]+ .+)",
    rf"^{_OPENERS}let's not (?:do|use|have|build|support|bother with|go with|add|offer|go down|ship) (?P<what>(?!(?:that|this|it)\b)\S.+)",
    rf"^{_OPENERS}(?:i|we)(?:'m| am|'re| are) (?:keeping|dropping|skipping|sticking with|staying with|going with) {_LOOSE}(?P<what>(?!(?:an eye|track|up|the change)\b)\S.+)",
    rf"^{_OPENERS}we(?:'ll| will| want to|'re going to| are going to) (?:use|take|keep|drop|build|support|store) {_LOOSE}(?P<what>.+)",
)
"""How only a user announces one: an agent that says so tells its next step."""

# -- words around a decision -----------------------------------------------------------------------------------

_SUBJECT_OF_A_STATEMENT = any_case(
    r"^(?:[a-z]+ing|let's encrypt)\b.* (?:is|are|was|can|could|will|would|may|might|seems?|involves?|requires?|helps?|makes?|gives?|sounds?|looks?|means?|takes?|depends|works?|shows?|provides?|improves?)\b"
)
"""A gerund that only is the subject: "Choosing a topic is hard" announces nothing."""
_EXAMPLE = any_case(
    r"\b(?:as an example|for example|(?:take|use|consider|do) (?:a |an |the |some |another )?(?:sample|example|coin|simple case|closer look|deeper look|look)|with an example|to (?:find|calculate|compute|solve|illustrate|demonstrate|show|see|understand|visuali[sz]e|prove|determine|estimate)\b.*)|\\(?:\(|frac)|^let's encrypt\b"
)
"""What is only taken to show how something is done."""
_POINTS_BACK = any_case(
    r"^ *(?:this|that|these|those|it|them)(?: (?:approach|plan|one|option|steps?|idea|version|way|method|solution|suggestions?|changes?|setup))?(?: (?:then|now|please|too))?[.!]*$"
)
_REGRETS = any_case(r"\b(?:sorry|by mistake|by accident|the wrong)\b")
_NOTHING = any_case(r"^ *(?:nothing|none|neither|no one|little|much)\b")
_POINTS_BACK_AT_END = any_case(r"\b(?:go|going|went|stick|stay) (?:with|for) (?:it|that|this|these|those|them)\W*$")
_NEXT_TOPIC = any_case(
    r"let['’]?s (?:now |also |then )?(?:move|go|turn|switch|get|come)\b(?: \w+)? (?:to|back to|into) (?:the|your|our|this|another) [^,;]{0,40}\b(?:part|section|step|topic|question|chapter|point)s?\b"
)
_LOOKS_FURTHER = any_case(r"\b(?:also |and |then |to )?see (?:if|whether|how|what|where)\b")
"""The end of a next step, not of a choice: "I'll pick two and see how they read"."""
_OWN_CHOICE = any_case(
    r"\b(?:i|we)(?:'ve|'m|'re|'ll| have| am| are| will)?(?: \w+)? (?:chose|chosen|decid\w+|opt(?:ed|ing)|settl\w+|went|gone|go|going|pick\w*|adopt\w*|switch\w*|replac\w+|dropp\w+|mov\w+|revert\w*|stick\w*|stay\w*|took|keep\w*|kept)\b"
)
"""Somebody who speaks of himself: all that a long text of an agent may announce with."""
_NAME_OF_LETS = re.compile(r"Let['’]s [A-Z]")
_NOUN_OF_DECIDING = any_case(r"^ *(?:-?making|about|on|regarding|to make|process)\b|^(?:the )?decision\b")
_TAIL = any_case(
    r",? (?:and |so |but )?(?:(?:can|could|would|will) you\b|how (?:can|do|should|would)\b|what (?:are|is|do|should)\b|(?:and|but) (?:now |then )?i(?:'m| am|'ve| have| need| want|'d)\b|i'm (?:not sure|hoping)|here's\b|->).*$"
)
"""The clause of the announcement's sentence that does something else."""

_AGAINST = any_case(r"\b(?:instead of|rather than|in place of|over|not|replaces?|statt)\b(?P<old>[^;]+)")
_REASON = any_case(r"\s(?:because|since|so that|so)\b.*$|[,:;(].*$|\s[-–—]\s.*$")
_BECAUSE = any_case(r",? (?P<why>(?:because|since)\b.+)$")
_NOT_YET = any_case(
    r"\b(?:haven't|have not|hasn't|not yet|until (?:you|we|they)|^(?:before|until|once|when)|whether|option|options|either|if (?:we|you|i|it)|or\b.*\?"
    r"|need to decide|to be decided|you decide|can't decide)\b"
)
_REVERSED = any_case(
    r"\b(?:scratch|scrap|forget|no,? wait|wait,? no|nah|nope|on second thoughts?|on reflection|chang(?:ed|e) (?:my|our) minds?"
    r"|revert(?:ing)?|not what (?:we|i) want|no sorry|had another think|correction)\b"
)
_NO = any_case(r"^(?:(?:hm+|ok(?:ay)?|sorry|but)[,.]? )*(?:no|nope|nah)[.!,]?$")
_ABOUT = any_case(r"\b(?:minds?|thought|thinking|wrong) (?:again )?about\b")
_WEAKLY = any_case(
    r"\b(?:after all|actually|back to|can(?:'t|not| not) be|(?:does|do|did|will|would)(?:n't| not) work|won't work|not possible|impossible|turns out|instead|change of plan|plans changed)\b"
)
_TURNED = any_case(
    r"^(?:(?:no|nah|nope|hm+|scratch that|sorry|actually|wait|on second thoughts?|correction|no wait)[,.:]* )+(?:use |take |let's use )?(?P<what>[^.;]+?)(?:,? (?:please|then))?$"
)
_INSTEAD = any_case(r"^(?:please |so |then )?(?:use|take|make it|do|go for) (?P<what>\S+(?: \S+){0,5})$")
_BARE_OTHER = any_case(
    r"^(?:nah|nope|no,)[, ]+(?:use |take |make it |rather |better )?(?P<what>(?!(?:thanks?|problem|worries|wait|idea|need|just|i|we|you|it|that|this|not|don't|do|leave|keep|stop|sorry|why|but"
    r"|fine|good|go|all|ok(?:ay)?|never|no|still|please|they|there|he|she|what|how|can|should|too|same|wrong|really|looks?|works?)\b)\S+(?: \S+){0,2})$"
)
_LEADING = any_case(
    r"^(?:(?:ok(?:ay)?|alright|right|so|then|hm+|great|fine|fair|yes|yeah|and|but|oh|well|nah|no|now)[,.:!]+ |(?:so|and|but) )+"
)
_ALTERNATIVES = any_case(
    rf"(?<![\w.+/'-])(?P<first>{_SHORT_NAME}),? (?:or|vs\.?|versus) (?:an? |the |just |maybe |to )*(?P<second>{_SHORT_NAME})"
)


class AnnouncedDecision(msgspec.Struct, frozen=True):
    """A decision: its summary, the standing ones that it replaces, the reason where one was given, and the sentence
    that it was read in, with what that was taken for."""

    summary: str
    replaces: tuple[str, ...] = ()
    details: str = ""
    sentence: str = ""
    form: str = ""


class DecisionContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a message is understood with."""

    standing: tuple[str, ...] = ()
    """Summaries of the decisions that stand, the newest last."""
    by_agent: bool = False
    long: bool = False
    """It is a long text: what stands there as "let's" or without a subject explains, and announces nothing."""
    message: str = ""
    """All that was said with the sentences: the words of a reversal may stand in another one."""
    recent: tuple[str, ...] = ()
    """Summaries that were announced a few messages ago: a reversal that names nothing is about the last of these."""
    just_before: tuple[str, ...] = ()
    """Those of the last message, to which a bare "nah, the other one" is the answer."""
    alternatives: tuple[Alternatives, ...] = ()


def find_decisions(sentences: Sequence[Sentence], context: DecisionContext) -> tuple[AnnouncedDecision, ...]:
    """Return the decisions that these sentences announce, in order; one that stands already is not announced
    again."""
    decisions: list[AnnouncedDecision] = []
    for sentence in _with_bare_no(sentences):
        decision = _announced(sentence, context)
        if decision is not None:
            standing = (summary for summary in context.standing if summary not in decision.replaces)
            # A second decision of one message is not the reversal of an earlier one.
            context = msgspec.structs.replace(
                context, standing=(*standing, decision.summary), recent=(), just_before=()
            )
            line = line_of(sentence)
            form = "reversal" if decision.replaces else "decision"
            decisions.append(msgspec.structs.replace(decision, sentence=line, form=form))
    return tuple(decisions)


def find_alternatives(sentences: Sequence[Sentence]) -> Iterator[Alternatives]:
    """Yield the pairs of alternatives that these sentences name, as words."""
    for sentence in sentences:
        for match in _ALTERNATIVES.finditer(sentence.bare):
            yield match["first"], match["second"]


_ROWS_TOGETHER = 20
"""Rows that are asked together."""


@cache  # compiled with the first message, not when the package is imported
def _groups(by_agent: bool) -> list[tuple[re.Pattern[str], list[re.Pattern[str]]]]:
    """The rows in groups, each with a pattern that fits where one of them does: nearly always none."""
    rows = _ANNOUNCED if by_agent else (*_ANNOUNCED, *_BY_USER)
    groups = [rows[start : start + _ROWS_TOGETHER] for start in range(0, len(rows), _ROWS_TOGETHER)]
    return [(any_of(group), list(map(any_case, group))) for group in groups]


def _announcement(text: str, *, by_agent: bool) -> re.Match[str] | None:
    if not _MAY_DECIDE.search(text):
        return None
    for together, rows in _groups(by_agent):
        if together.search(text):
            return next(match for row in rows if (match := row.search(text)) is not None)
    return None


_MAY_DECIDE = any_case(
    r"\b(?:let|lets|let['’]s|go|going|went|gone|decid\w*|settl\w*|decision|agreed?|resolved|final\w*|cho\w+|pick\w*|opt\w*|selected|preferred|favou?rite|verdict|winner|wins|way|approach|plan|answer|i|we|i['’]\w+|we['’]\w+|it is|it['’]s|it will|it shall|it['’]ll"
    r"|instead|after all|option|switch\w*|revert\w*|mov\w+|chang\w+|migrat\w+|convert|fall\w*|dropp?\w*|replac\w+|swapp?\w*|trad\w+|ditch\w*|exchang\w+|adopt\w*|standardi[sz]\w+|rather than|then|better|make it|scrap|kill|dump|lose|wir|entscheidung|vot\w+|signed off|approved|committed|will|is going to|are going to|shall|goes to|made up)\b"
)
"""Words of which one is in each row of the tables: most sentences of an explanation have none."""


def _with_bare_no(sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    """The sentences, a bare "no" with the one behind it."""
    no: Sentence | None = None
    for sentence in sentences:
        if no is not None:
            text, bare = f"{no.text} {sentence.text}", f"{no.bare} {sentence.bare}"
            sentence = msgspec.structs.replace(sentence, text=text, bare=bare)
        no = sentence if _NO.match(sentence.bare) else None
        if no is None:
            yield sentence


def _announced(sentence: Sentence, context: DecisionContext) -> AnnouncedDecision | None:
    bare = sentence.bare.rstrip(".! ")
    if is_question(sentence) or is_supposition(bare) or is_report(bare) or _NOT_YET.search(bare):
        return None
    match = _announcement(bare, by_agent=context.by_agent)
    if match is None:
        return None if context.by_agent else _reversal(sentence, context)
    if is_wish(bare[: match.start("what")]) or _announces_nothing(bare, match, context):
        return None
    what = match["what"]
    left = next((old for name, old in match.groupdict().items() if name.startswith("from") and old), "")
    subject, against = _chosen(what), _rejected(what)
    twin = next((old for old in reversed(context.standing) if _same_subject(subject, _chosen(old))), None)
    turned_down = against | (subject_stems(left) if left else frozenset())
    if twin is not None and not (turned_down and overlap(turned_down, _chosen(twin)) >= 0.5):
        return None
    context = msgspec.structs.replace(
        context, standing=tuple(old for old in context.standing if not is_parallel(old, bare))
    )
    replaced = [old for old in context.standing if _leaves(old, against, left)]
    if not replaced:
        replaced = [old for old in context.standing if _excludes(subject, _chosen(old), context.alternatives)][-1:]
    if not replaced:
        # Two choices for one thing: "Redis for the cache" after "SQLite for the cache".
        scope = _scope(what)
        replaced = [old for old in context.standing if scope and _scope(old) == scope and subject != _chosen(old)][
            -1:
        ]
    if not replaced and not left and not against:
        replaced = _reversed_decisions(subject, context)
    summary, details = _summary(sentence, match)
    return AnnouncedDecision(summary, tuple(replaced), details)


def _announces_nothing(bare: str, match: re.Match[str], context: DecisionContext) -> bool:
    """Whether a sentence that fits a row only speaks of deciding, shows an example, or points to what was said."""
    what = match["what"]
    if (
        _POINTS_BACK.match(what)
        or _NOTHING.match(what)
        or _REGRETS.search(bare)
        or (_NOUN_OF_DECIDING.match(what) and "decision" in match[0].casefold())
        or "\\" in what
        or _POINTS_BACK_AT_END.search(bare)
        or _LOOKS_FURTHER.search(match[0])
        or _NEXT_TOPIC.match(match[0])
        or _NAME_OF_LETS.match(bare, match.start())
    ):
        return True
    if context.long and context.by_agent and not _OWN_CHOICE.search(match[0]):
        return True
    if _SUBJECT_OF_A_STATEMENT.match(bare) and not re.match(
        r"(?i)\w+ing (?:with|to|for|on)?\b[^,]*,? (?:because|since|as)\b", bare
    ):
        return True
    return context.by_agent and bool(_EXAMPLE.search(bare))


def _reversal(sentence: Sentence, context: DecisionContext) -> AnnouncedDecision | None:
    """A user's short turn to what a standing decision had rejected, or to something else for the same subject."""
    bare, standing = sentence.bare.rstrip(".! "), context.standing
    turn = _TURNED.match(bare)
    if turn is None or turn["what"].casefold().startswith("not ") or is_objection(turn["what"]):
        return None
    subject, words = _chosen(turn["what"]), len(turn["what"].split())
    for old in reversed(standing):
        chosen = _chosen(old)
        named = words <= _SHORT_TURN and subject & chosen and not _same_subject(subject, chosen)
        turned_down = overlap(_rejected(turn["what"]), chosen) >= 0.5
        if named or (words <= _LONG_TURN and (turned_down or overlap(subject, _rejected(old)) >= 0.5)):
            return _replacement(sentence, turn, old)
    correction = _INSTEAD.match(bare) if _REVERSED.search(context.message) else None
    if correction:
        subject = subject_stems(correction["what"])
        for old in reversed(standing):
            if subject & _chosen(old) and not _same_subject(subject, _chosen(old)):
                return _replacement(sentence, correction, old)
    answer = _BARE_OTHER.match(bare)
    if answer and standing and standing[-1] in context.just_before[-1:]:
        return _replacement(sentence, answer, standing[-1])
    return None


def _replacement(sentence: Sentence, match: re.Match[str], old: str) -> AnnouncedDecision:
    return AnnouncedDecision(sentence.text[match.start("what") :].strip(" .!")[:MAX_SUMMARY], (old,))


def _reversed_decisions(subject: frozenset[str], context: DecisionContext) -> list[str]:
    """Which decision a reversal is about: the newest that the message names, else the last of the recent ones."""
    message = context.message
    strongly = bool(_REVERSED.search(message)) and not _ABOUT.search(message)
    if not strongly and not _WEAKLY.search(message) and not _ABOUT.search(message):
        return []
    other_words = subject_stems(message) - subject
    named = [old for old in context.standing if _chosen(old) & other_words]
    if named or not strongly:
        return named[-1:]
    return [old for old in context.standing if old in context.recent][-1:]


def _excludes(new: frozenset[str], old: frozenset[str], pairs: Sequence[Alternatives]) -> bool:
    """Whether a decision for the subject `new` ends one for the subject `old`, because they were alternatives."""
    return any(_separates(new, old, first, second) or _separates(new, old, second, first) for first, second in pairs)


def _separates(new: frozenset[str], old: frozenset[str], first: str, second: str) -> bool:
    """Whether `new` is about the first name only and `old` about the second only."""
    of_first = subject_stems(first) - subject_stems(second)
    of_second = subject_stems(second) - subject_stems(first)
    return bool(new & of_first and old & of_second) and not (new & of_second or old & of_first)


def _leaves(old: str, against: frozenset[str], left: str) -> bool:
    """Whether a decision against these words, or away from `left`, ends the standing one."""
    subject = _chosen(old)
    subject = subject - _scope(old) or subject
    return any(
        words and len(words & subject) > len(words) / 2
        for words in (against, subject_stems(left) if left else frozenset())
    )


def _same_subject(new: frozenset[str], old: frozenset[str]) -> bool:
    return bool(new) and (new <= old or old <= new)


@lru_cache(maxsize=1_024)  # those that stand are compared with each new one
def _chosen(text: str) -> frozenset[str]:
    """The subject of what a decision is for."""
    match = _announcement(text, by_agent=False)
    what = match["what"] if match else text
    against = _AGAINST.search(what)
    what = what[: against.start()] if against and against.start() > 2 else what
    return subject_stems(_REASON.sub("", what.strip()) or what)


def _scope(text: str) -> frozenset[str]:
    """What a decision is about, where it says so: "one register for all departments"."""
    match = re.search(r"(?i)\bfor (?P<about>.+)$", _REASON.sub("", text))
    return subject_stems(match["about"]) if match else frozenset()


def _rejected(text: str) -> frozenset[str]:
    """The subject of what a decision is against; empty where it does not say."""
    match = _AGAINST.search(text)
    return subject_stems(_REASON.sub("", match["old"].strip()) or match["old"]) if match else frozenset()


def _summary(sentence: Sentence, match: re.Match[str]) -> tuple[str, str]:
    """The words of the announcement on one line, and the reason behind them."""
    start = match.start() if match.start("what") - match.start() < _MAX_LEAD else match.start("what")
    line = " ".join(sentence.text[start:].split()).lstrip(" ,;:*")
    words = _TAIL.sub("", _LEADING.sub("", line).replace("**", "")).rstrip(" .!,;:")
    reason = _BECAUSE.search(words)
    summary, details = (words[: reason.start()], words[reason.start("why") :]) if reason else (words, "")
    if len(summary) > MAX_SUMMARY:
        summary = summary[: MAX_SUMMARY - 1].rstrip() + "…"
    return summary, details[:MAX_SUMMARY]


def with_what_it_is_of(decision: AnnouncedDecision) -> AnnouncedDecision:
    """Return a decision whose words say what is chosen: with the beginning of its sentence where that says it.

    Of "I thought about the cover letter, and decided to print it" that is the sentence; of "For the thesis we take APA"
    as well; of "I slept badly, and we take the barn" only what is decided.
    """
    head, is_whole, _ = decision.sentence.partition(decision.summary)
    if not head or not is_whole:
        return decision
    match = _announcement(decision.summary, by_agent=False)
    points = match is not None and _IS_A_POINTER.match(match["what"].strip())
    if not points and not _SAYS_OF_WHAT.search(head):
        return decision
    words = decision.summary
    head = _LEADING.sub("", head)
    while len(head + words) > MAX_SUMMARY and ", " in words:
        words = words.rpartition(", ")[0]
    return msgspec.structs.replace(decision, summary=head + words) if len(head + words) <= MAX_SUMMARY else decision


_IS_A_POINTER = any_case(r"(?:to )?(?:\w+ )?(?:it|them|this|that)\b")
"""What is chosen, told by a word that stands for what was named before: "to print it on both sides"."""

_SAYS_OF_WHAT = any_case(
    r"^for (?:[\w'’-]+ ){0,4}[\w'’-]+,? $|\b(?:choose|choice|decid(?:e|ing)|torn|decision) (?:on|between|about|whether|of|for)\b"
)
"""The beginning of a sentence that says what is chosen: "For the thesis", "I had to choose between two dates, but"."""
