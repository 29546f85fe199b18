"""The tables of forms in which rules are stated: orders, statements that demand, wishes that are orders.

The rows are strings, and compiled when a clause first needs them: a program that only imports this package does not pay
for it. `imperatives` reads clauses by them. Below them: which rules say the same, and what sentences say beside their rules.
"""

# ruff: noqa: E501, ISC004 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.prose import Sentence, normalized_text, subject_stems

FILLER = (
    r"(?:(?:(?:please|pls|plz|kindly|anyway|also|and|but|or|so|then|therefore|furthermore|moreover|ok(?:ay)?|kk?|oh|hm+|important|attention|warning|careful|caution|heads[- ]?up|fyi|psa|nb|n\.b\.|(?:note|remember)(?! (?:where|what|which|whose?|whether|why|how)\b)|reminder|mind you|btw|well|plus|meanwhile|\(?\d\)|[a-e]\)"
    r"|in addition|by the way|one (?:more|last|other)? ?thing|(?:and |one )?(?:last|more) (?:wish|thing|rule)|for next time|before anything else|before you start|before we (?:start|begin)"
    r"|as (?:always|before|usual|i said)|i (?:want|need|'d like|would like) you to|whatever you do|whatever happens|above all|most of all|most importantly|in general|generally|as a rule|for now"
    r"|(?:please |kindly )?(?:note|remember|keep in mind|bear in mind|be aware|mind|know) (?:that|to)|rule of thumb|(?:you|y'all|everyone|everybody) should (?:also )?know(?: that)?|be advised that|internally|externally|in (?:our|this|the whole) (?:repo|repository|project|house|team|company|codebase)|here|with us|consequently|thus|hence|at all costs|just|simply|bitte|und|aber|auch)(?:[,:!]|\s+[-–—])?"
    r"|(?:right|again|now|first|second|third|finally|yes|no|nah|sure|good|great|fine|cool|still|thanks|sorry|actually|lastly)[,:!])\s+)*"
)
"""Words before an order that say nothing of it."""

_NOT_FORBIDDEN = (
    r"worry|forget|hesitate|bother|know|think|care|mind|need|have|see|understand|get|remember|like|want|believe|be(?! clever)"
    r"|even|just|really|rush|wait|ask me|tell me|look at me|panic(?!\()|take (?:it|this|everything|me)|give up|stop now|you(?! dare)|feel"
    r"|recall|agree|trust me|shoot|laugh|blame|hate|love|judge|expect|mean|quote me|hold (?:your|me)|sweat|miss"
)
_NOT_NEVER = (
    r"mind|heard|seen|knew|thought|got|had|was|were|happened|saw|did|been|said|knows?|understood|again|found|came|went|so\b|quite|really"
    r"|works?\b|fails?|happens|ends|used|in my life|made|told|took|gave|left|lost|ran\b|broke|wrote|crash(?:es)?|the\b|a\b|an\b|too\b|more\b|less\b|easy|easier|nice|good|better"
    r"|built|bought|brought|caught|taught|sent|spent|kept|met|paid|sold|told|won|held|led|felt|dealt|meant|slept|chosen|given|taken|gone|seen|written|spoken|driven|shown|known|grown|sure|ready|enough|gets?\b|knew|understands?|comes|goes|finishes|stops|returns|arrives|terminates|appears|reaches"
    r"|(?!(?:need|feed|seed|embed|exceed|proceed|shed|speed|breed|shred)\b)\w+ed\b"
)
_NOT_MISSING = (
    r"idea|problems?|exceptions?|worries|regrets?|need|wait|one|doubt|sorry|thanks?|thank you|rush|hurry|way|matter|longer|luck|reason|that"
    r"|it|this|not|chance|clue|big deal|biggie|joke|questions?|answer|change|changes yet|i|you|we|they|he|she|there|the|my|our|error|errors|difference|changes(?! to)|no|nope"
    r"|output|response|result|results|effect|success|such|sign|trace|tests? (?:fail|ran|run|found|yet)\w*|crash\w*|traceback|objections?|complaints?|news|time|pressure|worse|better|good|harm|point|sense|surprise|kidding"
    r"|more|new|other|further|deadlines?|offen[cs]e|panic|drama|hard feelings|comment|comments from|hits?|match(?:es)?|data (?:yet|so far)|strong|preference|opinion|more questions?|please|but|and|so|let|use|make|do|just|go|keep"
)
_COMPLAINT_WORDS = (
    r"(?i)\b(?:\w*errors?|fail\w*|crash\w*|broken?|breaks|wrong\w*|slow\w*|hang\w*|stuck|timeouts?|times? out|timed out|missing|empty|flak[ey]\w*|leak\w*|bugs?|buggy|weird\w*|strange\w*|500|404|40[0139]|50[0234]|unreachable|garbage|duplicat\w+"
    r"|complain\w*|corrupt\w*|lost|lose[sn]?|late|dies|die|died|freezes|nan|undefined|unhappy|annoy\w*|red|pain|fortune|forever|nothing happens|gone|overwritten|disappear\w*|vanish\w*|confus\w*)\b"
)
COMPLAINT = re.compile(_COMPLAINT_WORDS)
"""Words of a complaint: what is always so is no rule where it is bad."""

_LIMITED = r"(?:max|maximum|minimum|min|at (?:the )?most|at (?:the )?least|tops)"
_MORE = r"(?:no|not|never|nothing) (?:more|longer|less|fewer|bigger|larger|later|earlier|older|newer|higher|lower|smaller|shorter|wider|deeper)"
_ASK = r"(?:always )?(?:ask|tell|consult|warn|notify|inform|ping|check (?:back )?with|clear (?:it|that|this) with|run (?:it|that|this) (?:by|past)|talk to|get (?:my|our|an?|the|\w+'s) (?:ok(?:ay)?|approval|sign-?off|permission|consent)|wait for (?:my|our|an?|the) (?:ok(?:ay)?|go|approval|sign-?off|review))"
_MADE = (
    r"(?:[\w-]+ )?(?:functions?|methods?|class(?:es)?|modules?|commits?|migrations?|endpoints?|tests?|scripts?|components?|routes?|changes?|features?|prs?|pull requests?|resources?|buckets?|containers?|files?|handlers?|quer(?:y|ies)|releases?|branch(?:es)?|strings?"
    r"|bug ?fix(?:es)?|fix(?:es)?|packages?|crates?|services?|tables?|columns?|plots?|figures?|texts?|jobs?|secrets?|dependenc(?:y|ies)|deploys?|deployments?|names?|errors?|exceptions?|switch(?:es)?|pins?|prices?|amounts?|dates?|times?|ids?|images?|types?|structs?|headers?|playbooks?|roles?|variables?)"
)
"""What is made in a project: what each of these has is a custom, what each user has is a fact."""
_CALM = r"(?:under|below|within|at|above|over|between|out of|away from|free (?:of|from)|to (?:a|at) m\w+|short|small|simple|separate|in sync|in git|in english|secret|offline|[<>≤≥]=? ?\d)"

_PRESENT = r"(?:report|show|display|give|state|write|put|print|format|express|render|list|quote|name|label|present|store|log|use)"
"""How something is given to somebody: for all of a kind, or under a heading, it is a custom."""

ORDERS: tuple[str, ...] = (
    rf"never,?(?: ever)?,? (?!(?:{_NOT_NEVER})\b)[a-z]",
    rf"(?:do not|don'?t|do n't|don’t)(?: ever)? (?!(?:{_NOT_FORBIDDEN})\b)[a-z]",
    r"do(?:n't| not) you dare\b",
    r"(?:please|pls|plz|kindly) (?:do )?not (?:by|in|on|to|with|the|a)\b",
    r"(?:always|without fail,?) (?!(?:the|a|an|been|so|nice|good|like|had|was|were|happy|glad|here|fun|welcome|interesting|funny|liked|wanted|thought|got|has|is|are|there|works?|fails?|some\w*)\b)(?!\w+ed\b(?!\W))[a-z]",
    r"(?:must not|mustn't|must never|must always|must(?! (?:be (?:a|an|the|some\w*|because|why|due|that|(?:so |very |really )?(?:nice|great|good|fun|lovely|hard|tough|awful|terrible|boring|exciting|annoying|funny|weird|sad))|have|say|admit|confess)\b| be (?!\w+(?:ed|en)$)\w+$))\b",
    rf"(?:no|zero|0) (?:more |new |other |further )?(?!(?:{_NOT_MISSING})\b)[\w.'`·()*#@$&/<>=+-]+(?: [\w.'`·()/:*#@$&<>=+-]+){{0,14}}$",
    rf"no (?!(?:{_NOT_MISSING})\b)[\w.'`·()-]+(?: [\w.'`·()/-]+){{0,5}}, ",
    r"avoid (?!that\b|this\b|it\b)\S",
    r"(?:refrain|abstain|desist) from ",
    r"try (?:hard |always )?(?:to avoid|not to) (?!think\b|worry\b|panic\b)\S",
    r"indent (?:with|by|using) \S",
    r"steer clear of ",
    r"(?:stick|keep|adhere|conform) (?:strictly )?(?:with|to) (?!it\b|that\b|me\b|us\b|(?:your|my|the) (?:plan|promise|point)\b)\S",
    r"(?:follow|respect|obey|honou?r|comply with) (?:the|our|my|all)? ?[^.;]*(?:conventions?|guidelines?|rules?|style(?: ?guide)?|standards?|commits?|semver|pep ?8|licen[cs]e|robots|limits?)\b",
    r"(?:stay|keep|steer) (?:well |far )?(?:within|away from|clear of|out of|on|under|below|off) (?!it\b|that\b|track\b|it all\b|top\b|mind\b|going\b)\S",
    r"(?:under no circumstances|in no case|at no time|on no account|by no means)\b",
    r"(?:from (?:now|here|today|tomorrow|this point)(?: on(?:wards?)?| on out| out| forward)|starting (?:now|today)|going forward|henceforth|in (?:the )?future|ab jetzt|ab sofort)\b",
    r"(?:keep your )?(?:hands|paws|fingers) off(?: |$)",
    r"only (?:ever )?(?:use|touch|edit|change|write|read|run|add|commit|push|deploy|log|call|import|answer|work|modify"
    r"|send|show|store|create|print|reply|allow|accept|open|keep|delete|remove|return|raise|test|build|render|load|save"
    r"|merge|ask|speak|contact|mail|display|export|query|fetch|install|start|stop|respond|include|expose)\b",
    r"(?!read only|plan only|it |that |this |i |not )\S+(?: \S+){0,6} only$",
    r"(?!.*\b(?:gave|gives?|is|was|were|have|has|had|caused?|causes|brings?|brought|does|did|shows?|there|i|it|got|gets|makes?|made|prints?|returns?) (?:\w+ )?nothing)(?:\S+ ){0,8}nothing (?:but|except|other than) \S",
    r"(?:change|touch|modify|edit|alter|delete|remove|add) nothing (?:in|of|on|about|outside|from|to|else)\b",
    r"(?:it is|it's|its) (?:strictly )?(?:not allowed|forbidden|prohibited|not permitted|mandatory)(?: for (?:us|you|anyone|everyone|me))? (?:to|that)\b",
    r"(?:you|we) (?:have|need|are) not to [a-z]",
    r"(?:nobody|no one) (?:but|except|besides|other than|outside) [^,;]{1,40}? (?:may|can|must|should|sees?|gets?|touches|has)\b",
    r"(?:nobody|no one|none of \w+) (?:may|must|should|is (?:allowed|supposed) to|gets to)\b",
    r"(?:nobody|no one) (?!(?:knows|remembers|likes|uses|cares|reads|noticed|notices|understands|told|wants|needs|is|was|has|had|will|would|can|could|ever|else|seems|says|knew|complained|complains|answers|looks|minds|asked|thinks|thought|wrote|works|got|really|does|did)\b)[a-z]+s\b",
    r"only (?-i:[A-Z])[a-z]+(?: (?-i:[A-Z])[a-z]+)? (?!was\b|is\b|has\b|knows\b|works\b|fails\b|needs\b|runs\b|supports\b|does\b|gets\b)[a-z]+s [a-z]",
    r"only [A-Z`·][\w.+#·`-]*(?: [A-Z`·][\w.+#·`-]*)* \d[\w.]*$",
    rf"{_PRESENT} (?:all|every|each|any) [\w -]{{2,60}}? (?:in|as|with|using|to) \S",
    rf"(?:for|in|on) (?!(?:now|example|instance|the|this|that|a|an|me|some|which|what|one)\b)(?:\w+ ){{0,2}}\w+s,? (?:always |please |only )?{_PRESENT} \S",
    r"use \S+(?: \S+){0,3} for (?:every|all|each|any) \S",
    rf"keep (?!me\b|going\b|it\b|them\b|this\b|that\b|in mind\b|on\b|your eyes\b)(?:[^.;:]|\.\w)*? {_CALM}",
    rf"keep (?:it|them|this|that|everything|things) (?:under|below|within|above|free of|out of|away from|offline|[<>≤≥]=? ?\d|(?:at|to) {_LIMITED})",
    r"nothing (?:from|into|outside|goes|in|on|may|must|should|ends up|leaves|gets|but) \S",
    r"nothing \w+ (?:ends up|goes|belongs|may|must|should|leaves|gets|is) (?:in|into|to|on|out|the)\b",
    r"(?:before|after|with|for|on|in) (?:every|each|any) (?!.*\b(?:is|are|was|were|it|i|gets|got|prints?|shows?|appears?|works?|has|have|becomes?|takes|we|they|there|happens?|comes|goes)\b)\S+ \S",
    rf"(?!.*\b(?:takes?|took|lasts?|costs?|is|are|was|were|has|have|i|we|it|needs?|give|by)\b)(?:\S+ ){{1,5}}{_LIMITED}$",
    rf"\d\S*(?: \S+){{0,3}} {_LIMITED}$",
    rf"{_MORE} than(?: \S+){{1,8}}$",
    r"use (?:it|them|this|that) [^,]*only$",
    r"i want you to (?:always|never|only)\b",
    r"(?:we|you) (?:(?:can't|cannot|can not) (?=(?:change|touch|use|add|break|rename|move|upgrade|store|log|ship|deploy|exceed|depend|rely|modify|allow|go (?:over|above|below)|drop|remove|delete|keep|share|expose|edit|alter|merge|disable|enable|turn off|lower|raise|increase|skip)\b)|(?:must not|may not) )(?!see\b|find\b|know\b|tell\b|say\b|think\b|reproduce\b|wait\b"
    r"|believe\b|remember\b|explain\b|get\b|be\b|do\b|help\b|reach\b|connect\b|figure\b|open\b|understand\b|have\b|even\b|just\b|go wrong|login|log in|imagine)"
    r"[a-z]+ ",
    r"we (?:do not|don't|never|only(?: ever)?|always|prefer to|try (?:hard )?(?:not to|to avoid)) (?:ever )?(?:log|store|write|use|commit|push|deploy|ship|add|edit|change|modify|delete|drop|mock|hard-?code|expose|send|call|import"
    r"|cache|share|merge|rebase|squash|test|review|document|support|accept|allow|touch|break|publish|release|track|collect|print|catch|swallow|return|throw|raise|target|nest|inline|copy|vendor|name|format|adding|install|do|work|talk|speak|operate|measure|count|calculate)\b(?!.*\b(?:yet|any ?more|currently|really|at the moment|today|enough|anyway|if)\b)",
    r"we (?:never|always|don't|do not) [^.;]*\b(?:here|in this (?:repo|repository|project|team|house|company|codebase)|on main|to main)$",
    r"(?:limit|restrict|confine) (?:yourself|[^.;]+?) to \S",
    r"(?:again )?without (?:any |adding |using |touching |changing |breaking |introducing )",
    r"(?:max|maximum|min|minimum|at most|at least|no more than|not more than|no longer than)\.?(?: [a-z]+){0,3} \S*\d",
    r"(?:make (?:very |absolutely )?sure|ensure|be sure|see to it|take care)(?: that)?(?: you| we| to| it| they)* (?:always|never|not to|do not|don't|only|nothing|nobody|no|every|all|each)\b",
    r"(?:make (?:very |absolutely )?sure|ensure|be sure|see to it|take care)(?: that)?\b(?:[^.]|\.\w)*?\b(?:never|always|not|stays?|remains?|don't|doesn't|do not|can't|won't|isn't|aren't|no|nothing|untouched|unchanged|keeps? working)\b",
    r"(?:be )?careful not to ",
    r"(?:keep|leave|let)\b(?:[^.;]|\.\w)*?\b(?:as (?:it|they|this|that)?(?: is| are|-is)|as is|unchanged|untouched|intact|alone"
    r"|the same|exactly as|stable|green|backwards?[- ]compatible|compatible|alphabetical|sorted|private|read-only|be$|in place|verbatim|where (?:it|they) (?:is|are))\b",
    r"use (?:only )?(?:[^.,;]|\.\w)+?(?:, (?:not|never) | only\b| and (?:nothing|no(?:thing)?) else| for everything| everywhere| throughout)",
    r"use [^,;]+ for (?:everything|anything|all|every|each)\b",
    r"use (?:[^.;]|\.\w)+?,? (?:always|at all times|every time|without exception)$",
    r"use (?:british|american|metric(?: units|$)|imperial(?: units|$)|si units|(?:tabs|spaces)(?:$|,| for indent\w*| and not)|two spaces|four spaces|single quotes|double quotes|semicolons|utf-?8|utc|iso|plain english|english|german|french|lf|crlf|camelcase|snake_?case|kebab-?case|type hints|conventional commits)\b",
    r"(?:british|american|uk|us|plain) (?:english|spelling)\b",
    r"(?:keep|write|name|word|do) (?:everything|anything|all [\w ]{2,30}?|comments?|texts?|docs|docstrings|commit messages) in \w+",
    r"[a-z]+ [^,;]*\b(?:each|every|any|all)(?: the)? [^,;]*?\b(?:that |which )?you (?:change|touch|edit|add|make|create|write|delete|remove|modify|rename|move|introduce|open|find|run)\b",
    r"(?:we|you)(?:'re| are) not (?:allowed|permitted|supposed) to (?!see|know)[a-z]",
    r"keep (?:the|our|all|my) (?:\w+ ){0,2}(?:formats?|order|names?|api|signatures?|schema|structure|layout|style|fonts?|colou?rs?|semantics|behaviou?r|interfaces?|contracts?|urls?|ids?|keys?|spelling|wording|numbering|headers?|licen[cs]e|copyright)$",
    r"(?:use|write|put) [^,;]+ in (?:the |our |all |your |any |every )?(?:code |commit )?(?:comments?|docs|documentation|texts?|commit messages|names|titles)$",
    r"(?:please )?keep (?:your )?(?:hands|paws|fingers) off\b",
    r"prefer \S(?:[^.;]|\.\w)* (?:over|to) ",
    r"[\w-]+(?: [\w-]+)?, never [\w·()`-]+$",
    r"(?:tabs|spaces|[\w-]+), not [\w-]+(?:, |\b(?:[^.]|\.\w)*\b(?:in|for|everywhere))",
    r"nothing (?:but|except|besides) |nothing (?:in|under|outside) \S+ (?:may|must|should|is to)",
    rf"{_ASK}(?: \w+)?,? (?:(?:before|prior to|whenever) (?!it\b)\S|(?<!tell me )(?:if|when) (?!you have to\b|(?:any|some)thing\b|you(?:'re| are) (?:unsure|stuck)\b)\S|(?:about [^,]+ )?(?:first|beforehand)$)",
    r"(?:treat|consider|regard) (?!it like)(?:[^.;]|\.\w)+? (?:as )?(?:read-?only|untouchable|frozen|immutable|final|sacred|off[- ]limits|a black box|fixed|locked|given|private|confidential|secret|toxic|radioactive|append-only|generated)\b",
    r"(?:pin|tag|version|sign(?: off)?|document|test|type|annotate|review|quote|escape|validate|sanitize|back ?up|squash|wrap) (?:all|every|each(?! of)|everything|any|[\w-]+ versions)\b",
    r"(?:[a-z]+) (?:[^,;]{2,60}), always$",
    r"(?:all|any|every|each) (?:new |other )?[\w-]+(?: [\w-]+){0,3} in (?:british|american|english|german|french|lower ?case|upper ?case|singular|snake_?case|camelcase|utc|singular|plural|the present tense|the imperative)\b",
    r"(?:clear|strip|delete|remove|run|format|lint|update|regenerate|rebuild|write|add|make|take|do|create|bump|tag|test) [^,;]+ (?:before|after|with) (?:you |we )?(?:each|every|any|(?:commit|push|deploy|release|merge|pr|migrat|upgrad)\w*)\b",
    r"(?!(?:i|we|it|they|you|he|she|this|that|there|see|saw)\b)[a-z]+(?: [a-z]+){0,3} before (?:each|every|any) \w+",
    r"\S[^;]*, [^,;]+ (?:requires?|insists? on|demands?|expects?|needs?|wants?) (?:it|this|that|us to)\b",
    rf"(?:any|every|each|all) (?:new |public |single |other )*{_MADE} (?:behind|with|in|under|via|through|as|at|on|by) \S[^,;]*$",
    r"(?:write|do|put) (?:the )?tests? (?:first|before)\b",
    r"(?:niemals|nie|immer|keine[nr]?|verwende (?:nur|immer)|benutze (?:nur|immer)|nicht) [a-zäöü]",
    r"(?:ändere|fasse|lösche|schreibe|benutze|verwende|committe|pushe) (?:[^.;]|\.\w)*\b(?:nie|niemals|nicht|keine[nr]?)\b",
)
"""How an order begins that holds longer than for the next step."""

RULE_WORD = r"[\w`'’\"·@#$%&*<>\\./()+=-]+"
_SUBJECT = rf"(?!(?:it|this|that|there|he|she|i|they|which|what|who|why|how)\b)(?:{RULE_WORD}(?:,? |$)){{1,12}}?"
DEMAND = (
    r"(?:must(?:n't)?|may (?:not|never|only)|(?:should|ought to) (?:never|always|not|only)|shouldn't|shall (?:not|never|always)|(?:have|has) to"
    r" (?:stay|remain|be|keep|run|pass|go|use|work|fit|compile|have|start|end|come|match|follow|support)|(?:needs?|ought) to (?:stay|remain|pass|keep)|should (?:stay|remain|be kept)|(?:is|are) not to be|darf(?:en)?"
    r" (?:nicht|nie|keine|nur)|muss|müssen)"
)
_LANGUAGE = (
    r"(?:british english|american english|german|french|italian|spanish|portuguese|dutch|swahili|polish|czech|russian|ukrainian|turkish|arabic|hebrew|hindi|chinese|japanese|korean|swedish|norwegian|danish|finnish|greek|latin|catalan|hungarian|romanian"
    r"|snake_?case|camel_?case|kebab-?case|pascal_?case|singular|metric units|si units)"
)
_STATE = r"(?:untouched|unchanged|intact|as (?:it|they) (?:is|are)|as is|the same|frozen|stable|private|read-only|where (?:it|they)|blocked|closed|off\b|clean|offline|in place|under|below|within|between|[<>≤≥]|at \d|compatible|backwards?)"
_BANNED = (
    r"(?:forbidden|prohibited|banned|off[- ]limits|taboo|not allowed|not permitted|disallowed|mandatory|required|compulsory|a must|obligatory|non-negotiable|not negotiable|frozen|final|sacred|signed off|verboten|pflicht"
    r"|(?:a )?no-?gos?|untouchable|immutable|append-only|evil|(?:out of|not up for) (?:the question|bounds|discussion|debate)|off the table|(?:never|not) (?:ok(?:ay)?|fine|acceptable|welcome|wanted|an option|tolerated|on the table)|unacceptable|unwanted|inadmissible|not ours to \w+|here to stay|law|non-optional|not optional)"
)
PLURAL_SUBJECT = r"(?!(?:it|this|that|there|he|she|i|we|you|they|the|my|our|your|his|her|its|their|these|those|which|what|who|yes|but|and|he's|she's|it's|that's|there's)\b)(?:[\w`'·./()#+-]+ ){0,4}?[\w`'·()/.-]+s`?"
_THINGS = (
    r"(?!(?:the|our|my|these|those|your|their)\b)(?:(?:all |any |new |every |each )?(?:\w+ )?(?:code|tests?|docs?|documentation|benchmarks?|helpers?|fixtures?|scripts?|notes|config\w*|secrets?|constants?|styles?|types?|texts?|strings?|logs?|logic|changes?|everything|anything|migrations?"
    r"|components?|files?|images?|assets?|quer(?:y|ies)|sql|numbers(?: with units)?|dates|credentials|passwords|keys|tokens|endpoints?|routes?|models?|modules?|imports?|commits?|messages|errors|queries|features?|prs?|pull requests)"
    r"(?: (?:that|which|with|for|of|about) [^,;]{1,40}?)?)"
)
_NOT_CALLED = (
    r"(?:called|hit|reached|run|executed|triggered|fired|invoked|closed|released|freed|set|updated|shown|displayed|rendered|sent|received|found|ready|empty|true|false|the case|right|wrong|happy|sure|there|good|been|applied|notified|loaded|reset"
    r"|the same|null|none|zero|green|busy|full|down|here|late|a|an|like|been|mentioned|fun|nice|easy|simple|quite|very|that|so|more|less|done|finished|fixed|clear|used|seen|tested|resolved|returned|cleared|flushed|hard|difficult|tricky|worth|great|welcome|interesting|useful|helpful)"
)
_WANT = (
    r"(?:do(?: not|n't) (?:ever )?|never |not |only |always |no |avoid |refrain |nothing |that nothing |that nobody )"
)
_TO = r"(?:you|we|us|everyone|nobody|everything|all [\w ]{1,30}) (?:please )?(?:to never |to always |to only |to avoid |not to |to not |never to |to refrain |to stay |to keep |to leave |to stick |to respect |to ask )"

STATEMENTS: tuple[str, ...] = (
    rf"{_SUBJECT}{DEMAND}\b(?! have been\b| have \w+ed\b| (?:be )?(?!un|compat|avail|stable|read)\w{(3,)}[ai]ble\b| (?:become|exist|support(?! \w+ \d)|show|offer|happen|come from|mean)\b| be (?:a|an|the|something|somewhere|because|due|why|wrong|broken|kidding|able|possible|added|fixed|configurable|implemented|some|about|asleep|in|there|hard|nice|fun|easy|joking|new|missing)\b)",
    rf"(?!(?:the |our |a |some )?(?:\w+ )?(?:customers?|users?|visitors?|clients?|people|admins?|editors?|members?)\b){_SUBJECT}(?:can(?:'t|not| not| never| only)|may not|won't) (?:ever )?(?:change|exceed|contain|include|depend on|break|rely on|touch|alter|rename|outgrow|be (?:changed|renamed|modified|removed|deleted|broken|touched|altered|edited|used|exceeded|replaced|moved|shared|logged|stored|reordered|reused|merged|exposed|published))\b",
    rf"only {_SUBJECT}(?:may|can|must|should|is allowed|are allowed)\b",
    rf"{_SUBJECT}(?:stays?|remains?) (?:\w+ed )?(?:exactly |strictly |always )?{_STATE}",
    rf"{_SUBJECT}(?:is|are|'s|'re) (?:strictly |absolutely |also |simply |completely )?{_BANNED}(?! (?:now|yet|because|to me)\b)(?!\w)",
    rf"{_SUBJECT}(?:ha(?:s|ve) no (?:place|business) |do(?:es)?(?: not|n't) belong )",
    r"(?:any|every|each|all|no) (?!of (?:them|these|those)\b|the\b|need\b)\S(?:[^.;?]|\.\w)*? (?:requires?|needs? (?!about|around|roughly|up to)|must|has to|have to|may (?!be\b)|is to|are to|belongs?)(?:\b|(?<= ))",
    rf"(?:any|every|each|all) (?:new |public |single |other |such )*{_MADE}(?: (?!(?:is|are|gets?|goes|comes?|has|have)\b)[\w`·'/.-]+){{0,6}}? (?:gets?|goes|go|comes? (?:with|from|in)|starts? with|ends? with|carr(?:y|ies)|(?:is|are) (?:\w+ed|written|kept|done|made|hidden|given|in|behind|run|of)|ha(?:s|ve) (?:a|an|its|their|one|at least|tests?|docs?|exactly|the same|two|to))\b",
    r"(?!.*\b(?:it|this|that)\b)\S[^,;?]* and (?:stays?|remains?|keeps?) (?:so|that way|like that|it|this way)\b",
    rf"{PLURAL_SUBJECT} (?:are|have|take|last|contain|use) (?:[^,;]{{1,60}} )?{_LIMITED}$",
    rf"(?!.*\b(?:anyway|customers|users|clients|people|visitors)\b){PLURAL_SUBJECT} (?:are|have|go|come|get|start|end|carry|live|use|need)(?:,? (?:always|never|only(?: ever)?|strictly)) (?!{_NOT_CALLED}\b)\S",
    rf"(?!.*\b(?:anyway|customers|users|clients|people|visitors)\b){PLURAL_SUBJECT} (?:always|never|only(?: ever)?) (?:are|have|go|come|get|start|end|carry|live|use|need|in|with) (?!{_NOT_CALLED}\b)\S",
    rf"{_THINGS} only (?:behind|via|through|on|from|by|under|inside|in) \S",
    r"(?:[\w-]+ ){1,4}(?:under|below|within|over|above|at most|up to|no more than|[<>≤≥]=?) ?\d[\w.,]*(?: ?[\w%/]+)?$",
    r"(?:a|an|each|every|any) [\w-]+(?: [\w-]+){0,3} (?:never|always) (?!(?:gets?|fails?|crashes|happens|ends up|comes|works?|breaks|asks|says|wants|knows|sees|finds|seems|looks|takes|forgets|loses|complains|picks|has been)\b)[a-z]+s\b",
    r"(?:nothing|no \w+) (?:is|are|gets?|goes|may be) (?:\w+ed|merged|deployed|live|out|in|done|written|sent) (?:\w+ )?without \S",
    r"(?!.*\b(?:is|are|was|were|contains?|has|have|takes?|needs?|i|we|it)\b)(?:[\w-]+ ){1,3}(?:at least|at most|no (?:more|less|smaller|larger|bigger|longer) than|max|min)\.? \d\S*(?: \w+)?$",
    r"(?:anything|everything|all)(?: \w+)? [^,;]{2,50} (?:goes|go|lives?|belongs?|comes|stays?) (?:behind|in|into|through|under|via|to|with)\b",
    r"[^,;]+ (?:does|do|is|are|goes|leaves|gets)(?: not|n't)? [^,;]*\bwithout (?:(?:the |a |an |my |our |your |their |\S+'s? |explicit |prior |written )*(?:consent|permission|approval|ok(?:ay)?|review|sign-?off|notice|knowledge|tests?|ticket|asking))\b",
    rf"(?!(?:add|write|create|show|make|give|run|do|fix|build|generate|convert|rename|delete|list|print|put|there|see|check|look)\b)(?:[\w-]+ ){{1,4}}(?:for|in|on|with|per|behind) (?:every|each|all|any) (?:\w+ )?{_MADE}$",
    r"[^,;]+ (?:is|are) (?:limited|restricted|capped|confined) (?:to|at) \S",
    rf"(?:[\w·'-]+ ){{1,6}}(?:is|are) (?:always )?in {_LANGUAGE}\b(?! in\b)",
    r"(?:they|these|those) must (?!have\b|happen|be (?:a|an|the|wrong|broken|kidding|joking|mad|new|there|here|hard|easy|happy|proud|some\w*)\b)",
    rf"(?!.*{_COMPLAINT_WORDS[4:]}){PLURAL_SUBJECT} only (?:behind|via|through|on|for|from|by|after|when|as|under|inside|if) \S",
    rf"(?:the |our |my )?{RULE_WORD}(?: {RULE_WORD}){{0,5}}? (?:is|are|gets|goes|comes) (?:always|never|only ever|only) (?!{_NOT_CALLED}\b)(?:\w+ed\b|\w+en\b|kept|made|done|set by|shown in|run (?:by|in|on|from)|in (?!the\b)|to \w|through|by\b|for\b|with\b|upper|lower|singular|plural)",
    r"(?!(?:i|we|you|it|he|she|they|that|this|there|which|what|who)\b)(?:[\w`'·()/.-]+ ){1,4}(?:always|never) (?:in|without|with|under|as) \S",
    rf"{_THINGS} (?:belongs?|goes|go|lives?|comes?|come) (?:only |always |strictly )?(?:in|into|under|through|to|via|behind)\b",
    rf"{PLURAL_SUBJECT} belong (?:in|into|to|under|on) ",
    rf"(?!(?:it|this|that|there|i|we|you|they|he|she)\b)(?!.*\b(?:errors?|see|seen|found|shows?|appears?|looked|searched|fail\w*|have|pops?|old|stored|was|were|had|did)\b){RULE_WORD}(?: {RULE_WORD}){{0,9}} (?:throughout|everywhere|at all times|across the board|without exceptions?|in all cases|no matter what|all the way through|never by hand)$",
    rf"(?:the |our |my |a )?(?:{RULE_WORD} ){{0,4}}(?:limit|budget|cap|ceiling|msrv|floor|line length|timeout budget|baseline)(?: for [^,;:]{{2,40}}?)?(?: is|:| stays| remains| =| of) (?:at )?(?:\w+ )?\S*\d",
    r"(?:we|i) (?:support|target|are on|'re on|ship (?:to|on)) (?:only )?[\w.+ -]*\d[\w.+]*(?: and (?:up|newer|later|above)| or (?:newer|later)| only|\+)",
    r"(?:if|when(?:ever)?|before|after|once|unless) (?:[^.;?]|\.\w)*, (?:never|always|do not|don't|you must|must|ask|stop|leave)\b",
    r"(?:if|when(?:ever)?|before|after|once|unless|every time|each time) (?:you|we|somebody|someone|anyone) [^.;?]{3,90} (?:you|we|they) (?:have to|must|need to|should|are to) \S",
    r"(?:whatever|whichever|wherever|whenever|anything|everything) (?:you|that|we|which) (?:[^.;?]|\.\w)*?(?:, (?:do|run|add|write|use|make|put|leave|test|keep|ask)\b| (?:needs?|must|gets?|has to|requires?|goes|comes with|stays|is (?:covered|tested|documented)) )",
    r"\S[^,]* needs? [^,]+, (?:all|each|every one) of them$",
    r"[^,]+(?:,[^,]+)?, (?:always|ever|never ever|no exceptions?|without exceptions?|period|full stop|at all times|everywhere|not more|never by hand|please not by hand)$",
    r"\S[^,;]* (?:is|are) [a-z]+-only\b",
    r"\S[^,;]* (?:is|are) (?:for|there for) \w+(?: \w+)? only$",
    r"\w+ (?:the|a|an|all|any|each|every|it|them)\b[^;]*, (?:but |and )?never (?!mind\b)[a-z]+",
    r"(?:always|never) (?:[^.;?]|\.\w)* (?:before|after|when|unless|without) ",
    r"\S[^;?]*? (?:under no circumstances|on no account|in no case|at no time|by no means)\b",
    rf"{_SUBJECT}(?:is|are) to (?:be \w+|stay|remain)\b",
    r"(?:all |our )?(?:code )?(?:comments|docs?|documentation|docstrings|commit messages|commits|names|texts|identifiers|variable names|function names|class names|messages|labels|titles|log lines|amounts|prices|dates|timestamps|units|lengths|weights|temperatures|ids)(?: \w+){0,3} (?:is|are) (?:always )?(?:written|kept|named|given|stored|worded|measured|stated|always) in \S",
    r"(?:one|a single|exactly one|at most \w+) [^,;]{2,40} (?:per (?:commit|pr|pull request|file|class|function|module|test|branch|change|ticket|migration|environment|release|component|package|line|paragraph|sentence|chapter)|each)$",
    r"[\w`·'-]+(?: \S+){0,4} exactly (?:as|like) (?:in|it|they|described|before|specified|stated|written|given|per|the)\b",
    r"(?:that|this|these|those|it|they)(?: one| ones| part| folder| file)? (?:must (?:not|never|stay|remain|always) (?!have\b|happen|be (?:hard|easy|fun|because))|may (?:never|only) |stays? (?:as is|untouched|unchanged|private|frozen))",
    r"(?:the )?(?:spelling|language|encoding|indentation|citation style|time ?zone|line endings?|currency|date format|naming|licen[cs]e|quotes)(?: \w+){0,2} (?:is|are|stays?) (?!(?:great|nice|good|bad|fine|missing|ok|easy|hard|unclear|not|a|so|too|very|weird)\b)\S",
    rf"(?!.*\b(?:that|this|it|folks?|people|users?|devs|customers|clients|everyone)\b){PLURAL_SUBJECT} (?:never|always|don't|do not) (?:stack|change|move|expire|leave|contain|include|cross|break|exceed|repeat|carry|start|end|use|depend|block|allocate|throw|return|touch|mix|follow|pass|run|stay|match|point|log|store)\b",
    r"it (?:has to|must|needs to) (?:always )?(?:sound|look|stay|be|remain|work|run|fit|feel|behave) (?:exactly )?(?:the same|identical|deterministic|reproducible|offline|on every|on all|everywhere|under|within|below|without)\b",
    r"[^,]+, (?:so )?please (?:follow|respect|keep(?: to)?|stick to|observe|do) (?:that|this|it|them|so|the same)$",
    r"warnings (?:are|count as) errors",
    r"\S[^,;?]{2,80} (?:require|requires|need|needs) (?:my|our|a|an|two|\w+'s) (?:\w+ )?(?:sign-?off|approval|ok(?:ay)?|permission|review|reviews|consent|description|test|tests|migration|ticket|changelog entry|adr)\b",
    r"\S[^,;?]{2,80} (?:is|are) (?:reviewed|approved|signed off|tested|backed up|checked|confirmed|done|created|written|made|run|maintained|edited|changed|generated|deployed) (?:only )?by (?:me|us|a human|hand|humans)\b",
    r"\S[^,;?]{2,60} comes? with (?:a |an |its |their )?(?:tests?|migration|docs?|documentation|changelog|type|comment|example)\b",
)
"""How a statement reads that demands."""

FIRM_WORDS = any_case(rf"\b(?:must|mustn't|should|shall|may|{_BANNED})\b")
"""Words of a demand that no complaint makes."""

DEMANDING_WISHES: tuple[str, ...] = (
    rf"(?:i|we)(?:'d| would|'m| am)? (?:also |really |much |very much |strongly |rather |absolutely |kindly )*(?:ask|like|love|want|need|prefer|appreciate|expect|insist|wish|beg|request|rather|urge)(?: it)?(?: on| of)?(?: if| that)? (?:(?:(?:you|we|us|everything|everyone|nobody|nothing|all [\w ]{{1,30}}) )?(?:please )?{_WANT}|{_TO})",
    r"(?:i|we)(?:'d| would)? (?:also |really |much |very much |strongly |rather )*(?:appreciate it|be (?:very )?(?:grateful|glad|happy|thankful)|like it|prefer it|love it|rather|prefer(?: that)?)(?: if)? (?:you|we|nobody|nothing) (?:did(?: not|n't)|do(?: not|n't)|never|only|always|kept|left|stayed|avoided|would not|wouldn't|could avoid|could leave|touched nothing)\b",
    r"(?:i|we) (?:also |really |absolutely )?(?:do not|don't|never) (?:ever )?want (?:to see |you to |us to |any |our )?(?!to (?:know|be rude|sound|think|blow|bother|lose)\b)[a-z]",
    r"(?:i|we) (?:refuse to|insist on|insist that|have banned|ban|forbid|prohibit|disallow|require)\b(?! (?:it|this|that|when|how|to (?:say|ask|admit|bother|be))\b)[^;]*",
    r"(?:i|we) (?:really |simply |just |absolutely )*(?:can't|cannot) (?:have|allow|accept|tolerate|risk) (?!(?:a look|a clue|my|that)\b)[^;]*\b(?:\w+ing|being|in|on|for|with|to)\b",
    r"(?:it is|it's|it’s) (?:very |really |absolutely |also )?(?:important|essential|vital|crucial|critical|key|imperative|paramount|mandatory)(?: to (?:me|us)| for (?:me|us))? (?:that|to)\b.*\b(?:always|never|not|no|nothing|nobody|every|all|only|stays?|remains?|must|keep|any|unchanged|untouched)\b",
    r"(?:please )?(?:stop|quit) (?:adding|using|writing|putting|touching|changing|committing|pushing|renaming|reformatting|creating|removing|deleting|inventing|making|editing|importing)\b",
)
"""How a wish reads that is a rule: what would be polite is no doubt here."""


def without_rules(sentences: Sequence[Sentence], rules: Sequence[str]) -> tuple[Sentence, ...]:
    """Return what the sentences say beside the rules in them."""
    texts = list(dict.fromkeys(rule.rstrip("…").rpartition("; ")[2] for rule in rules))
    rest: list[Sentence] = []
    block_of_rule = -1
    for sentence in sentences:
        before = _before_rule(sentence, texts)
        if before.text != sentence.text:
            block_of_rule = sentence.block
        other_half = sentence.block == block_of_rule and _INSTEAD.match(sentence.bare)
        if before.text and not other_half:
            rest.append(before)
    return tuple(rest)


def _before_rule(sentence: Sentence, rules: Sequence[str]) -> Sentence:
    places = (sentence.text.find(rule) for rule in rules)
    cut = min((place for place in places if place >= 0), default=len(sentence.text))
    return msgspec.structs.replace(sentence, text=sentence.text[:cut], bare=sentence.bare[:cut])


_INSTEAD = re.compile(r"^(?:please )?(?:use|take|do|write|say) [^,;]+ instead\W*$")
"""The other half of a rule: "no names; use roles instead"."""


def says_again(text: str, standing: str) -> bool:
    """Return whether a sentence says what stands, alone or with other words around it."""
    return is_same_rule(text, standing) or (len(standing.split()) > 2 and standing.casefold() in text.casefold())


def is_same_rule(first: str, second: str) -> bool:
    """Return whether two rules say the same, by their words or by what they are about."""
    if normalized_text(first) == normalized_text(second):
        return True
    stems = subject_stems(first)
    return len(stems) > 2 and stems == subject_stems(second)  # two words alone make many rules
