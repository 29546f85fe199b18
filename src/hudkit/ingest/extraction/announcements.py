"""How decisions are announced in plain words: a table of patterns, some of them for what a user says only."""

# ruff: noqa: E501, ISC004 (a table of patterns is read by its rows)
from __future__ import annotations

import re

_SO = r"(?:(?:ok(?:ay)?|alright|right|so|then|hm+|great|good|fine|fair|yes|yeah|no|nah|and|but|now|agreed|understood|well|oh)[,.!:]* )*"
_TO = r"(?: (?:to|on|for|that|against))?"
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
_I = rf"\b{_NOT_SAID}(?:i|we)"
"""The one who decides, not in a clause that hangs on another."""
_LOOSE = r"(?!(?:it|that|this|these|those|them|both|so|going|a (?:look|break|step|quick)|one (?:by|thing)|the (?:tests?|same))\b)"

ANNOUNCED: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\blet(?:'|’)?(?: u)?s (?:not |just |rather |simply |better |instead )?(?:go (?:back )?(?:with|for|to)|use|adopt|switch(?: over| back)? to"
        r"|move (?:over )?to|stick (?:with|to)|settle (?:on|for)|opt for|pick|choose|default|return to)\b(?P<what>.+)",
        rf"\blet(?:'|’)?(?: u)?s (?:just |rather |simply |instead )?(?:do|take|keep|drop|leave|make it) {_LOOSE}(?P<what>.+)",
        r"\blet(?:'|’)?(?: u)?s make (?!it\b|sure\b|this\b|that\b|a\b|an\b|the\b|some\b)(?P<what>.+)",
        rf"\blet(?:'|’)?(?: u)?s (?:merge|move by|split|store|cache|base|model|name|render|generate|sort|encode|sign|hash|encrypt|expose|treat"
        rf"|limit|cap|require|support|allow|skip|disable|enable|represent|put|version|pin|separate|combine|replace) {_LOOSE}(?P<what>.+)",
        rf"^{_SO}(?P<what>\S.{{0,80}}?)(?: then)?, (?:it's |that's )?(?:decided|settled|agreed|final|done deal|end of story|final answer|period)$",
        r"^(?:decided|settled): (?P<what>.+)",
        rf"^{_SO}go (?:with|for) (?!it\b|that\b)(?P<what>.+)",
        rf"^{_SO}(?:we|i)(?:'ll| will| shall)? (?:go|going) (?:with|for) (?!it\b|the flow)(?P<what>.+)",
        rf"(?:^|[:;,] |^(?:for|in|on|as|about) [^,]{{2,40}}?,? ){_SO}(?:we're |i'm |we are |i am )?going (?:with|for) (?!a (?:quick )?(?:look|walk|break)|the flow)(?P<what>.+)",
        r"^(?P<what>[^,]+?) (?:sounds|looks|seems|feels|is) [^,]*, (?:so )?(?:let(?:'|’| u)?s )?(?:go with|go for|take|do|use) (?:that|it|this)$",
        rf"(?:^|[,;:] |^(?:for|in|on|as|about|to|after|with|given|since|because) [^;]{{2,80}}?,? |\b(?:and|but|so|because|as|that) ){_SO}(?:i|we)(?:'ve| have| had)?(?: also| just| now| finally| already| all)?"
        rf" (?:decided?|chosen|chose|choose|opted|opt|settled(?= (?:on|for|that|to) (?!nothing|none))|agreed)(?! my words)(?! (?:it|this|them)\b| that(?:$| (?:ages|already|long|before|last|yesterday|then)\b)){_TO}\b(?P<what>(?!(?: on| to| for| that)? ?[,;]).+)",
        r"\b(?:final |design |our |my |the )*decision(?: (?:on|about|for|regarding) [^:]{2,40})?(?: reads| is| was)?(?:\*\*)?\s*[:=—–-]+\s*(?:\*\*)?(?P<what>.+)",
        r"\b(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to| shall)"
        r"(?P<what> (?!(?:run|look|(?:read|check) (?:the|through|it)|start|try|test|grep|search|open|ask|wait|begin|go through|debug|inspect|fix the typo|wait|leave)\b)\S.*?\b(?:instead of|rather than|in place of)\b.+)",
        r"\b(?:i|we)(?:'ll| will|'m going to| am going to) (?:use|keep|store|adopt|build on|base)\b(?P<what>(?!.* running\b)(?! it\b).+?\b(?:because|since|so that)\b.+)",
        rf"(?:^|[:;,] ){_SO}(?:on reflection,? |actually,? |therefore,? |instead,? )?(?:(?:i'm|i am|we're|we are|i'll be) )?"
        r"(?:switching|reverting|moving|going back|changing|falling back)(?: over| back)?(?: from (?P<from>[^,;]+?))? to (?!the (?:next|tests?|other|main|right|top|bottom|end|\w+ (?:file|branch|tab|directory|folder|step|page))\b|(?:next|step|another|main|master|the failing)\b)(?P<what>.+)",
        rf"(?:{_I}(?:'ll| will| now)?|^let me) (?:switch|revert|move|go back|change)(?: over| back)?(?: from (?P<from2>[^,;]+?))? to (?!the (?:next|tests?|other|main|right|top|bottom|end|\w+ (?:file|branch|tab|directory|folder|step|page))\b|(?:next|step|another|main|master|the failing)\b)(?P<what>.+)",
        rf"^{_SO}(?!for\b|in\b|on\b|at\b|with\b|from\b|by\b|to\b|of\b|since\b|yes\b|sure\b|what\b|how\b|that\b|this\b|and\b|as\b|.*\b(?:where|must|as|how|because|if)\b)(?P<what>(?:[\w.=/+'-]+ ){{1,6}})it is(?:[.,!]| then)*$",
        rf"^{_SO}(?:i'll|we'll|i will|we will) make it (?P<what>.+?) then\b",
        r"(?:^|, )(?:so |then |please )*(?:use|take|make it|go with|do) (?P<what>(?:(?!instead)[\w.=/+'`-]+ ){1,6})instead\b(?! of)",
        rf"^{_SO}(?:let's |please )?(?:use |take |do |make it |go )?(?P<what>(?!let me\b|i'll try)(?:(?!instead)[\w.=/+'`-]+ ){{1,8}})instead\b(?! of)",
        r"\bwe(?:'ll| will)? (?:keep|use|drop|take|do|go)\b(?P<what>.+?)\bafter all\b",
        r"\bit(?:'s| is| will be|'ll be) (?P<what>\S(?:[^,;.]*\S)?) after all\b",
        r"^(?:agreed|settled|resolved|final answer)[,:] (?!i\b|we\b|that\b|so\b|take\b)(?P<what>\S.{0,60})$",
        r"(?:^|[,;:] )(?:i|we)(?:'ve| have)? (?:went|gone) (?:with|for) (?P<what>.+)",
        rf"^{_SO}(?:settled on|opted for|decided (?:on|to|for|against)|chose|went with|picked(?! up)) (?!it\b|that\b|nothing\b|a fight)(?P<what>.+)",
        rf"^{_SO}(?:(?:i'm|we're|i am|we are) )?(?:settling on|choosing|opting for|adopting|standardi[sz]ing on) (?P<what>.+)",
        r"^(?:my |our |final |the )*(?:choice|pick|verdict|resolution)(?: is)?: (?P<what>.+)",
        rf"^{_SO}(?:let's (?:do|take) )?(?P<what>option (?:[a-e]|\d))(?:,? (?:it is|then|please))?$",
        rf"^{_SO}(?P<what>(?!(?:the|a|it|that|who|he|she|what)\b)[\w.=/+-]+(?: [\w.=/+-]+){{0,2}}) wins$",
        rf"^{_SO}(?:we|i)(?:'ll| will)? (?:stay|stick) with (?P<what>.+)",
        # what was chosen, in the first person
        rf"{_I}(?:'m|’m| am|'re| are)(?: now| therefore| also)? (?:choosing|picking|adopting|opting for|settling (?:on|for)|going (?:with|for)|standardi[sz]ing on|sticking (?:with|to)|abandoning|ditching"
        r"|(?:switching|changing|reverting|moving|migrating|falling back|going back)(?: (?:this|it|that|everything|over|back))?(?: from [^,;]+?)? to(?! (?:the (?:next|failing|tests?|other|main|\w+ (?:file|branch|tab|directory|folder|step|page))\b|(?:next|another|main|master)\b))) (?P<what>.+)",
        rf"{_I}(?:'ll|'m| will| am|'re| are|'ve| have)? (?:\w+ )?(?:(?:dropping|replacing|swapping|trading|ditching|exchanging|substituting) (?!it\b|them\b|this\b|that\b|[^,;]*\b(?:lines?|call|import|text|label|word|string|title|typo|comment)\b)(?P<from3>[^,;]+?) (?:in favou?r of|with|for|by)|(?:dropp?|replac|swapp?|trad|ditch|abandon)(?:e|ed|ped)? (?P<from8>[^,;]+?) in favou?r of) (?P<what>.+)",
        r"^(?:dropping|replacing|swapping|trading|ditching|exchanging) (?P<from4>[^,;]+?) (?:in favou?r of|with|for|by) (?P<what>.+)",
        rf"{_I}(?:'ve| have)? (?:also |just |now |finally |already |therefore )?(?:(?:picked|selected)(?! the (?:failing|first|last|next|three|two|slow|\w+ (?:slowest|tests?|files?|lines?|queries)))|adopted|taken(?! a look| up| over| care| note| down| into| back| out)|gone with|gone for|went with|went for(?! the (?:logs?|tests?|files?|code|docs)| a | lunch)|landed on|committed to|standardi[sz]ed on)(?: to)? (?!it\b|that\b|up\b|them\b)(?P<what>.+)",
        rf"(?:{_I}(?:'m| am|'ll| will|'re| are)|\b{_NOT_SAID}i) (?:use(?! the (?:term|word|name))|take|taking|using|keep|keeping|store|storing|pick|write(?! the tests?)|writing(?! the tests?)|implement|implementing|build|building|model|modelling|parse|parsing|render|rendering|split|splitting) (?P<what>(?:[^,;]|, (?!i\b|we\b|but\b|and\b)){{2,120}}?(?: rather than| instead of| in place of| over the|, not)\b.+)",
        rf"{_I}(?:'m| am|'re| are) (?:keeping|using|storing|putting|building) (?!an eye\b|it\b|that\b|the (?:diff|change|tests?)\b)(?P<what>[^;]{{2,120}}?,? (?:because|since)\b.+)",
        rf"{_I}(?:'m| am|'re| are) taking (?!a look|care|it\b|a (?:closer|break|step)|note|this|that|over)(?P<what>.+)",
        r"(?:^|[:;] )(?:and |so |then )?instead of (?P<from5>[^,;]{2,60}?),? (?:i|we)(?:'ll|'m|'re|'ve| will| am| are| now| have)? (?:now |just |simply |going to )?(?P<what>.+)",
        r"(?:^|[,;:] |\bso )(?P<what>[^,;:]{2,60}?) (?:is|was|becomes) (?:therefore )?(?:my|our|the) (?:\w+ )?(?:pick|choice|winner|favou?rite|decision|way to go|way forward|answer|verdict|approach)(?: then| here| now)?$",
        r"\b(?:the |our |my )?(?:(?:winner|way forward|way to go|verdict|plan of record|final call)(?: is|:)|(?:approach|choice|pick):) (?!to\b|not\b|a good|that i\b|unclear|up to|yours|open\b|between|hard|still|clear\b)(?P<what>.+)",
        r"^(?:chosen|selected|preferred|final|agreed)(?: \w+){0,2}: (?P<what>.+)",
        rf"^{_SO}(?!for\b|in\b|on\b|at\b|with\b|from\b|by\b|to\b|of\b|since\b|yes\b|sure\b|what\b|how\b|that\b|this\b|and\b|as\b|whatever\b|who\b|where\b|here\b|there\b|.*\b(?:how|where|because|if|says?|said|whatever|know|think|guess)\b)(?P<what>(?:[\w.=/+'`-]+ ){{1,6}})it (?:is|shall be|will be)(?:,| then|:| for)",
        rf"^{_SO}(?:and )?(?:let(?:'|’| u)?s )?(?:ditch|drop|scrap|kill|dump|lose) (?P<from6>[^,;]+?)(?: then)?, (?P<what>.+)",
        r"(?:^|[,;] |\b(?:and|then) )(?P<what>[^,;]{2,50}?) all the way$",
        rf"^{_SO}(?:i've|i have|we've|we have) made (?:up (?:my|our) minds?|(?:a|the|my|our) (?:decision|call|choice))[:,]? (?P<what>.+)",
        rf"^{_SO}(?:i think |yes,? )?(?:i|we)(?:'ll| will) (?:pick|choose) (?!it\b|a (?:look|closer|break|peek|step)|care|that into|note|over|through|on\b|ahead|back|home|away|and\b|into|down|both|you|one step|another look|this (?:step|file)|the (?:next|first|tests?))(?P<what>.+)",
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

BY_USER: tuple[re.Pattern[str], ...] = (
    re.compile(
        r"^(?:let(?:'|’)?s do (?:that|it|so)|yes|ok(?:ay)?|right|agreed|deal|good)[,:] (?P<what>[^,;]{2,40} (?:instead of|rather than) [^,;]{2,40})$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_SO}we(?:'ll| will)? go (?!to\b|on\b|back\b|ahead|home|live|through|for\b|with\b|over\b|out\b|there|in\b|into\b|up\b|down\b|and\b|wild|crazy|away|public|from|by\b|again|now)(?P<what>\S+(?: \S+){{0,2}})$",
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
        rf"^{_SO}(?:then we|we then)(?:'ll| will)? (?P<what>(?:write|build|use|take|make|keep|go|do|store|drop|skip|leave|switch|move|send|put|split|merge|print|render|show|hide|start) .+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_SO}(?:(?:please|just|better) )?(?:switch|migrate|move|change|convert)(?: (?:it|this|that|everything|back|over|us))?(?: from (?P<from7>[^,;]+?))? (?:back )?to (?!the (?:next|other)|another|my\b|your\b|(?:the )?(?:top|bottom|left|right|end|start)\b)(?P<what>\S.+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_SO}(?:i think |i guess |i believe )?(?:i|we)(?:'ll| will) (?:take|have|go) (?!it\b|a (?:look|closer|break|peek|step)|care|that into|note|over|through|on\b|ahead|back|home|away|and\b|into|down|both|you|one step|another look|to\b|lunch|first\b|test|check)(?P<what>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_SO}(?:then )?better (?:to )?(?:take |use |go with |make |do )?(?!not\b|than\b|now\b|safe\b|late\b|ask\b|check\b)(?P<what>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_SO}(?:we|i) (?:shall |will |just )?(?:stay with|stick with|make|go for|go with|are going for|are doing|'re doing) {_LOOSE}(?!sure\b|it\b)(?P<what>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^{_SO}we(?:'ll| will| want to|'re going to| are going to) (?:use|take|keep|drop|build|support|store) {_LOOSE}(?P<what>.+)",
        re.IGNORECASE,
    ),
)
"""How a user announces one; an agent that says so tells its next step."""
