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

# ruff: noqa: E501, ISC004 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from hudkit.ingest.extraction.clauses import form_of
from hudkit.ingest.extraction.hedging import is_question, is_report, is_supposition, is_wish
from hudkit.ingest.extraction.prose import Sentence

MAX_RULE = 240
"""Characters of one rule that are kept."""

_MIN_RULE = 5  # characters: less is a word that a pattern caught
_MIN_BEFORE_REASON = 8  # characters: with less before it, "because ..." is the sentence itself

Span = tuple[int, int]
"""Where a clause or a rule is in a sentence."""

# -- the tables: how rules read --------------------------------------------------------------------------------
# The rows are strings, and compiled when a clause first needs them (`_RowTable`): a program that only imports this
# package does not pay for it.

_FILLER = (
    r"(?:(?:(?:please|pls|plz|kindly|anyway|also|and|but|or|so|then|therefore|furthermore|moreover|ok(?:ay)?|kk?|oh|hm+|important|attention|warning|careful|caution|heads[- ]?up|fyi|psa|nb|n\.b\.|note|remember|reminder|mind you|btw|well|plus|meanwhile|\(?\d\)|[a-e]\)"
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
_COMPLAINT = re.compile(_COMPLAINT_WORDS)
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

_ORDERS: tuple[str, ...] = (
    rf"never,?(?: ever)?,? (?!(?:{_NOT_NEVER})\b)[a-z]",
    rf"(?:do not|don'?t|do n't|don’t)(?: ever)? (?!(?:{_NOT_FORBIDDEN})\b)[a-z]",
    r"do(?:n't| not) you dare\b",
    r"(?:please|pls|plz|kindly) (?:do )?not (?:by|in|on|to|with|the|a)\b",
    r"(?:always|without fail,?) (?!(?:the|a|an|been|so|nice|good|like|had|was|were|happy|glad|here|fun|welcome|interesting|funny|liked|wanted|thought|got|has|is|are|there|works?|fails?|some\w*)\b)(?!\w+ed\b(?!\W))[a-z]",
    r"(?:must not|mustn't|must never|must always|must(?! (?:be (?:a|an|the|some\w*|because|why|due|that)|have|say|admit|confess)\b| be (?!\w+(?:ed|en)$)\w+$))\b",
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

_NAME = r"[\w`'’\"·@#$%&*<>\\./()+=-]+"
_SUBJECT = rf"(?!(?:it|this|that|there|he|she|i|they|which|what|who|why|how)\b)(?:{_NAME}(?:,? |$)){{1,12}}?"
_DEMAND = (
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
_PLURAL = r"(?!(?:it|this|that|there|he|she|i|we|you|they|the|my|our|your|his|her|its|their|these|those|which|what|who|yes|but|and|he's|she's|it's|that's|there's)\b)(?:[\w`'·./()#+-]+ ){0,4}?[\w`'·()/.-]+s`?"
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

_STATEMENTS: tuple[str, ...] = (
    rf"{_SUBJECT}{_DEMAND}\b(?! have been\b| have \w+ed\b| (?:be )?(?!un|compat|avail|stable|read)\w{(3,)}[ai]ble\b| (?:become|exist|support(?! \w+ \d)|show|offer|happen|come from|mean)\b| be (?:a|an|the|something|somewhere|because|due|why|wrong|broken|kidding|able|possible|added|fixed|configurable|implemented|some|about|asleep|in|there|hard|nice|fun|easy|joking|new|missing)\b)",
    rf"(?!(?:the |our |a |some )?(?:\w+ )?(?:customers?|users?|visitors?|clients?|people|admins?|editors?|members?)\b){_SUBJECT}(?:can(?:'t|not| not| never| only)|may not|won't) (?:ever )?(?:change|exceed|contain|include|depend on|break|rely on|touch|alter|rename|outgrow|be (?:changed|renamed|modified|removed|deleted|broken|touched|altered|edited|used|exceeded|replaced|moved|shared|logged|stored|reordered|reused|merged|exposed|published))\b",
    rf"only {_SUBJECT}(?:may|can|must|should|is allowed|are allowed)\b",
    rf"{_SUBJECT}(?:stays?|remains?) (?:\w+ed )?(?:exactly |strictly |always )?{_STATE}",
    rf"{_SUBJECT}(?:is|are|'s|'re) (?:strictly |absolutely |also |simply |completely )?{_BANNED}(?! (?:now|yet|because|to me)\b)(?!\w)",
    rf"{_SUBJECT}(?:ha(?:s|ve) no (?:place|business) |do(?:es)?(?: not|n't) belong )",
    r"(?:any|every|each|all|no) (?!of (?:them|these|those)\b|the\b|need\b)\S(?:[^.;?]|\.\w)*? (?:requires?|needs? (?!about|around|roughly|up to)|must|has to|have to|may (?!be\b)|is to|are to|belongs?)(?:\b|(?<= ))",
    rf"(?:any|every|each|all) (?:new |public |single |other |such )*{_MADE}(?: (?!(?:is|are|gets?|goes|comes?|has|have)\b)[\w`·'/.-]+){{0,6}}? (?:gets?|goes|go|comes? (?:with|from|in)|starts? with|ends? with|carr(?:y|ies)|(?:is|are) (?:\w+ed|written|kept|done|made|hidden|given|in|behind|run|of)|ha(?:s|ve) (?:a|an|its|their|one|at least|tests?|docs?|exactly|the same|two|to))\b",
    r"(?!.*\b(?:it|this|that)\b)\S[^,;?]* and (?:stays?|remains?|keeps?) (?:so|that way|like that|it|this way)\b",
    rf"{_PLURAL} (?:are|have|take|last|contain|use) (?:[^,;]{{1,60}} )?{_LIMITED}$",
    rf"(?!.*\b(?:anyway|customers|users|clients|people|visitors)\b){_PLURAL} (?:are|have|go|come|get|start|end|carry|live|use|need)(?:,? (?:always|never|only(?: ever)?|strictly)) (?!{_NOT_CALLED}\b)\S",
    rf"(?!.*\b(?:anyway|customers|users|clients|people|visitors)\b){_PLURAL} (?:always|never|only(?: ever)?) (?:are|have|go|come|get|start|end|carry|live|use|need|in|with) (?!{_NOT_CALLED}\b)\S",
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
    rf"(?!.*{_COMPLAINT_WORDS[4:]}){_PLURAL} only (?:behind|via|through|on|for|from|by|after|when|as|under|inside|if) \S",
    rf"(?:the |our |my )?{_NAME}(?: {_NAME}){{0,5}}? (?:is|are|gets|goes|comes) (?:always|never|only ever|only) (?!{_NOT_CALLED}\b)(?:\w+ed\b|\w+en\b|kept|made|done|set by|shown in|run (?:by|in|on|from)|in (?!the\b)|to \w|through|by\b|for\b|with\b|upper|lower|singular|plural)",
    r"(?!(?:i|we|you|it|he|she|they|that|this|there|which|what|who)\b)(?:[\w`'·()/.-]+ ){1,4}(?:always|never) (?:in|without|with|under|as) \S",
    rf"{_THINGS} (?:belongs?|goes|go|lives?|comes?|come) (?:only |always |strictly )?(?:in|into|under|through|to|via|behind)\b",
    rf"{_PLURAL} belong (?:in|into|to|under|on) ",
    rf"(?!(?:it|this|that|there|i|we|you|they|he|she)\b)(?!.*\b(?:errors?|see|seen|found|shows?|appears?|looked|searched|fail\w*|have|pops?|old|stored|was|were|had|did)\b){_NAME}(?: {_NAME}){{0,9}} (?:throughout|everywhere|at all times|across the board|without exceptions?|in all cases|no matter what|all the way through|never by hand)$",
    rf"(?:the |our |my |a )?(?:{_NAME} ){{0,4}}(?:limit|budget|cap|ceiling|msrv|floor|line length|timeout budget|baseline)(?: for [^,;:]{{2,40}}?)?(?: is|:| stays| remains| =| of) (?:at )?(?:\w+ )?\S*\d",
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
    rf"(?!.*\b(?:that|this|it|folks?|people|users?|devs|customers|clients|everyone)\b){_PLURAL} (?:never|always|don't|do not) (?:stack|change|move|expire|leave|contain|include|cross|break|exceed|repeat|carry|start|end|use|depend|block|allocate|throw|return|touch|mix|follow|pass|run|stay|match|point|log|store)\b",
    r"it (?:has to|must|needs to) (?:always )?(?:sound|look|stay|be|remain|work|run|fit|feel|behave) (?:exactly )?(?:the same|identical|deterministic|reproducible|offline|on every|on all|everywhere|under|within|below|without)\b",
    r"[^,]+, (?:so )?please (?:follow|respect|keep(?: to)?|stick to|observe|do) (?:that|this|it|them|so|the same)$",
    r"warnings (?:are|count as) errors",
    r"\S[^,;?]{2,80} (?:require|requires|need|needs) (?:my|our|a|an|two|\w+'s) (?:\w+ )?(?:sign-?off|approval|ok(?:ay)?|permission|review|reviews|consent|description|test|tests|migration|ticket|changelog entry|adr)\b",
    r"\S[^,;?]{2,80} (?:is|are) (?:reviewed|approved|signed off|tested|backed up|checked|confirmed|done|created|written|made|run|maintained|edited|changed|generated|deployed) (?:only )?by (?:me|us|a human|hand|humans)\b",
    r"\S[^,;?]{2,60} comes? with (?:a |an |its |their )?(?:tests?|migration|docs?|documentation|changelog|type|comment|example)\b",
)
"""How a statement reads that demands."""

_FIRM = re.compile(rf"(?i)\b(?:must|mustn't|should|shall|may|{_BANNED})\b")
"""Words of a demand that no complaint makes."""

_DEMANDING_WISHES: tuple[str, ...] = (
    rf"(?:i|we)(?:'d| would|'m| am)? (?:also |really |much |very much |strongly |rather |absolutely |kindly )*(?:ask|like|love|want|need|prefer|appreciate|expect|insist|wish|beg|request|rather|urge)(?: it)?(?: on| of)?(?: if| that)? (?:(?:(?:you|we|us|everything|everyone|nobody|nothing|all [\w ]{{1,30}}) )?(?:please )?{_WANT}|{_TO})",
    r"(?:i|we)(?:'d| would)? (?:also |really |much |very much |strongly |rather )*(?:appreciate it|be (?:very )?(?:grateful|glad|happy|thankful)|like it|prefer it|love it|rather|prefer(?: that)?)(?: if)? (?:you|we|nobody|nothing) (?:did(?: not|n't)|do(?: not|n't)|never|only|always|kept|left|stayed|avoided|would not|wouldn't|could avoid|could leave|touched nothing)\b",
    r"(?:i|we) (?:also |really |absolutely )?(?:do not|don't|never) (?:ever )?want (?:to see |you to |us to |any |our )?(?!to (?:know|be rude|sound|think|blow|bother|lose)\b)[a-z]",
    r"(?:i|we) (?:refuse to|insist on|insist that|have banned|ban|forbid|prohibit|disallow|require)\b(?! (?:it|this|that|when|how|to (?:say|ask|admit|bother|be))\b)[^;]*",
    r"(?:i|we) (?:really |simply |just |absolutely )*(?:can't|cannot) (?:have|allow|accept|tolerate|risk) (?!(?:a look|a clue|my|that)\b)[^;]*\b(?:\w+ing|being|in|on|for|with|to)\b",
    r"(?:it is|it's|it’s) (?:very |really |absolutely |also )?(?:important|essential|vital|crucial|critical|key|imperative|paramount|mandatory)(?: to (?:me|us)| for (?:me|us))? (?:that|to)\b.*\b(?:always|never|not|no|nothing|nobody|every|all|only|stays?|remains?|must|keep|any|unchanged|untouched)\b",
    r"(?:please )?(?:stop|quit) (?:adding|using|writing|putting|touching|changing|committing|pushing|renaming|reformatting|creating|removing|deleting|inventing|making|editing|importing)\b",
)
"""How a wish reads that is a rule: what would be polite is no doubt here."""

_POLITE_ORDER = re.compile(
    r"(?i)^(?:(?:and|but|so|also|oh|ok(?:ay)?|btw|by the way),? )*(?:could|can|would|will|may i ask|might i ask)(?: you| i ask you)(?: please| kindly| also| maybe| just| perhaps)*"
    r"(?: make sure| ensure| be sure)?(?= (?:to )?(?:not|never|always|only|from now on|avoid|refrain|stop|keep [^?]*(?:under|as is|out of|free of)|leave [^?]*(?:alone|as is|untouched))\b)(?: please| kindly)? (?:to )?"
)
"""How a rule reads that is put as a question."""

_STRONG_HEADING = re.compile(
    r"(?i)\b(?:rules|constraints|conventions|guidelines|musts|must-haves?|no-gos?|non-negotiables?|don'?ts|house style|principles|boundaries|standards|what matters|(?:what|things?|all)(?: that)? (?:i|we) (?:really |only |just )?(?:insist on|expect|require|care about|demand)|restrictions|regeln|vorgaben)\b"
)
"""Headings under which a bare name is a rule."""
_WORK_RULES = re.compile(
    r"(?i)\b(?:firewall|es-?lint|lint\w*|css|routing|business|iptables|validation|grammar|scoring|tax|discount|pricing|proxy|rewrite|access|sharing|alert\w*|build|makefile|ignore|apache|nginx|sieve|udev|production|game) rules\b|\brules of (?:the )?(?:game|thumb|chess)|\brules (?:are|were)\b"
)
"""Rules that are the work's matter."""

_RULE_HEADING = re.compile(
    r"(?i)\b(?:rules?|constraints?|requirements?|conventions?|guidelines?|policy|policies|non-negotiables?|restrictions?|musts|must-haves?|no-gos?|don'?ts|dos|wishes|principles|boundaries|expectations|house style|standards"
    r"|regeln?|vorgaben?|requests?|how (?:we|i) work|(?:keep|bear) in mind|what matters|(?:what|things?|all)(?: that)? (?:i|we) (?:really |only |just )?(?:insist on|expect|require|care about|ask(?: for| of you)?|demand)|things? (?:that|which) (?:really )?(?:matters?|counts?|(?:is|are) important)|things? (?:to|you (?:must|should)) (?:know|respect|remember)"
    r"|(?:read|note|observe|respect|follow|mind|remember) (?:\w+ ){0,2}(?:following|these|this)\b|following (?:\w+ )?appl(?:y|ies)|for (?:the rest of )?(?:this|the) (?:project|repo|repository|session)|from now on"
    r"|for everything|valid for|the deal|ways? of working|working agreements?|as for style|style)\b"
)
_RULE_LIST_HEADING = re.compile(
    r"(?i)^(?:\S+ ){0,6}(?:rules?|constraints?|requirements?|conventions?|guidelines?|restrictions?|musts|must-haves?|no-gos?|non-negotiables?|don'?ts|house style|policy|policies|working agreements?|principles|boundaries|limits|demands|wishes|standards|regeln?|vorgaben)\b"
)
_HEADING = re.compile(r"^([^:·]{2,160}):\s+(?=\S)")
_TALK_HEADING = re.compile(
    r"(?i)\b(?:rules?|things?|constraints?|requirements?|requests?|wish(?:es)?|note|remember|important|reminder|begin|before"
    r"|conventions?|policy|security|project|repo|session|regel|wichtig|style|musts|how (?:we|i) work|in mind|with regard|regarding|concerning|as (?:for|to)|next time|heads-?up|matters|official|btw|fyi|also|principles|guidelines|house)\b"
)
_DEMANDING = re.compile(
    rf"(?i)\b{_DEMAND}\b|\b(?:never|always|only|no|not|requires?|needs?|stays?|remains?|forbidden)\b"
)
_GENERIC_STATEMENT = re.compile(
    rf"(?i)^(?!(?:i|you|it|he|she|they|this|that|there|which|what|who|because|since|as|so|some|many|most|few|sometimes|one of|otherwise|else)\b)(?:{_NAME} ){{1,9}}?(?:is|are|gets?|goes|go|comes?|belongs?|stays?|stay|(?:has|have)(?! been)|lives?|starts?|ends?|uses?|needs?|requires?|matters?|wins|fails?|runs?|pass(?:es)?|follows?|takes? precedence)\b|^(?:every|each|any) [\w`·-]+(?: [\w`·-]+)? [a-z]+s\b"
)
"""A statement in the present: under a heading for rules it is one."""

_STORY = re.compile(
    r"(?i)^(?!i (?:also |really |absolutely )?(?:do not|don't|never) (?:ever )?want|i want you|we (?:never|always|don't|do not|can't|can not|cannot|only) |we(?:'re| are) not (?:allowed|permitted|supposed) |(?:i|we) (?:hate|can't stand|cannot stand|refuse|insist|ban|forbid|prefer|require|support|target)\b)"
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

_FEATURE_HEADING = re.compile(
    r"(?i)^(?:please |now |next(?: up)?:? )*(?:add|create|build|implement|make|feature(?: request)?|bug(?: report)?|task|show|export|extend|introduce|design|todo|story|user story|ticket|validation)\b"
)
"""A heading over what shall be built: what must be so there is one feature."""
_OBSTACLE = re.compile(r"(?i)(?:(?:i'?m|i am|we'?re|we are|still) )*(?:blocked|stuck|held up)\b")
"""How somebody says what is in the way: "I'm blocked: no access to the logs" forbids nothing."""

_CHOICE = re.compile(
    r"(?i)(?:ok(?:ay)?,? |so,? |(?:we|i)(?:'ve| have|'ll| will)? |let'?s )*(?:decid|agree|settle|go with|pick|chose)[^.;]* and ?$"
)
_BARE_NO = re.compile(r"(?i)no [\w-]+(?: [\w-]+)?")
"""The rest of a decision, which is no rule: "we decided on a queue and no cron"."""

_REQUEST = re.compile(
    r"(?i)^(?:and |but |so |also |please |now )*(?:add|create|build|implement|make|write|design) (?:an?|the|some|another|new) (?!.*\b(?:never|always|every time|whenever)\b).*\b(?:where|that|which|so that|in which|with)\b"
    r"|^(?:and |but |so |also |please |now )*(?:the|our|my|your|this) (?:[\w`'·./-]+ ){1,4}?(?:must|has to|needs to|should) (?:also |now |finally |soon |at last )*"
    r"(?:(?:get|gain|receive|learn|grow)\b(?!.*\b(?:\w*review\w*|approv\w+|sign-?offs?|ok(?:ay)?|permission|consent|changelog|tests?|tickets?|migration|descriptions?|labels?|merged|tagged|released|always|never|only|every|each|all|before|without)\b)"
    r"|have (?:a|an) (?!.*\b(?:reviews?|approv\w+|changelog|tests?|tickets?|docstring|description|label|owner|licen[cs]e|header|type|limit|timeout|fallback)\b)|be able to\b(?!.*\b(?:always|never|only|without|offline)\b))"
)
"""How a request reads that names what shall be built: "our shop must get a wish list". All of a kind ("each invoice
must get a number") are a rule, and so is what a change must get (a review, a test)."""
_DECISION_HEADING = re.compile(r"(?i)^(?:\w+ ){0,2}(?:decided|decision|verdict|choice|resolution)\b")
"""A heading over a decision."""
_EXPLANATION = re.compile(
    r"(?i)^.*\b(?:anyway|anyways|already|as well|by now)$|^(?:it|this|that|there|he|she|they|which|because|since)\b"
)
_SUGGESTION = re.compile(r"(?i)^(?:\S+ ){0,2}(?:let'?s)\b")
_PRAISE = re.compile(r"(?i)^(?:\S+ ){0,2}(?:i'll|i will|we'll|thanks|good|great|it|that|this|works?|nice|perfect)\b")
_POINTS_BACK = re.compile(
    r"(?i)^(?:so |but )?(?:please )?(?:(?:(?:never|always|do not|don't|only|must not) )?[a-z]+ (?:it|them|this|those|these|(?:a |the |any )?(?:new|other|another|second|different) one)\b|(?:that|this|these|those|it|they)(?: \w+)? (?:must|may|stays?)\b)"
)
_LEADING_FILLER = re.compile(rf"^{_FILLER}", re.IGNORECASE)
_FIRST_NAMES = re.compile(rf"(?i)(?:the |our |every |all |each |any |both |neither )(?:{_NAME}(?: |$)){{1,3}}$")
"""The first names of an enumerated subject."""
_CUSTOM = re.compile(rf"(?i)^{_FILLER}{_PLURAL} (?:are|go|come|start|end|use|live) [^,;]+$")
"""What is so with all of a kind: with its opposite behind it, a rule."""

# -- the patterns around a clause ------------------------------------------------------------------------------

_CUES = (
    r"(?:please |always |never |do not |don'?t |avoid |stick to |keep |leave |only |no |make sure |under no |every |any "
    r"|each |all |must not |must never |nothing |nobody |ask me |stay |use )"
)
_CLAUSE_BREAK = re.compile(
    r",\s+(?:(?:and|but|so|also|then|plus)\s+)*|(?<!\s)\s+(?:[-–—]{1,2}|=>|→)\s+(?:(?:and|but|so)\s+)?"
    rf"|(?<!\s)\s+(?:and|but|so|plus)\s+(?:also\s+|please\s+|then\s+)*(?={_CUES}\b)",
    re.IGNORECASE,
)
_TELLS_OF_PAST = re.compile(r"(?i)\b(?:had|was|were|said|says|wrote|writes|told|used to|did|printed|prints|shows)\b")
_MADE_A_RULE = re.compile(
    r"(?i)\b(?:make|made|call|so|as) (?:that|this|it|a) (?:a |the |our )?(?:new )?rule$|\bnew rule$"
)
_HEDGED_END = re.compile(
    r"(?i)(?:, (?:right|no)|,? (?:i (?:believe|think|guess|suppose|assume)|afaik|iirc|as far as i (?:know|can (?:see|tell))))$"
)
_QUESTION_TAG = re.compile(r"(?i),? (?:ok(?:ay)?|alright|deal|understood|got it|clear|yeah|yes|please|agreed)\?+\s*$")
_PLEASE_END = re.compile(r"(?i),? (?:please|pls|plz|thanks|thx|btw)$")
_SMILE_END = re.compile(r"(?<!\s)\s*[:;]-?[)DP(]+\s*$")
_BARE_OPPOSITE = re.compile(r"(?i)^not (?:an? )?[\w-]+\W*$")
_HAS_TO = re.compile(r"(?i)^(?:it|they|this|everything) (?:has to|have to|must|needs? to)\b")
_NEEDS_SUBJECT = re.compile(
    r"(?i)^(?:also |therefore |thus |hence )*(?:must|may|shall|should|can|can't|cannot|is|are|has|have|stays?|remains?|gets?|goes)\b(?! you\b| we\b| i\b)"
)
"""A piece that has its subject in the piece before it."""
_FROM_NOW_ON = re.compile(
    r"(?i)^(?:and |but |so |also |please |ok(?:ay)? )*(?:from (?:now|here|today|tomorrow)(?: on(?:wards?)?| forward)?|going forward"
    r"|in (?:the )?future|starting (?:now|today)|henceforth)\W*$"
)
"""When a rule begins: no rule of its own."""
_FROM_NOW_END = re.compile(
    r"(?i)\b(?:from (?:now|here) on(?: out)?|going forward|in (?:the )?future|every time|at all times|until further notice)$"
)
_FOR_EXAMPLE = re.compile(r"(?i)^(?:such as|like|including|e\.g\.|for example|i\.e\.|namely)\b")
_TURN_END = re.compile(r"(?i)\b(?:but|still|however|so)\s*$")
_AND = re.compile(r"(?:,\s*|(?<!\s)\s+)and\s+")
_IN_BRACKETS = re.compile(r"\(([^()]{8,160})\)")
_BECAUSE = re.compile(
    r"(?i),? (?P<why>(?:because|weil|since (?=(?:we|i|it|they|the|this|that|our|my|you|he|she|otherwise|there|some|all|many|most)\b))\b.+)$"
)
_CONDITION = re.compile(
    r"(?i)^(?:and |but |also |so )?(?:if|when(?:ever)?|where(?:ver)?|for|in|on|with|as|before|after|unless|until|except|at|during|inside"
    r"|outside|within|under|every|each|all|any|both|neither|once|while|whatever|regarding|concerning|apart)\b"
)
_CONTRAST = re.compile(
    r"(?i)^(?:please )?(?:(?:never|always|everywhere|no more|nothing more|no less|ever|period|full stop|nowhere else|nothing else|nobody else|no one else|no exceptions?|without exceptions?|at all times)\b(?: ever)?\W*$|(?:never|not) (?:[\"“`«'][^,;]*|[\w]+[.:/][\w.:/()]+)\W*$|(?:never|not) \w+ly\W*$|(?:never|not) \w+[.:/][\w.:/()]+\W*$|(?:never|not)(?: ever)? (?:by|in|into|on|onto|with|to|from|at|for|under|over"
    r"|even|via|through|inside|outside|before|after)\b)|^(?!no\b)(?!.*\b(?:is|are|use|must|may|should|can)\b)\S+(?: \S+){0,4} only\W*$"
)
"""The end of a statement that only says what it is not: "never by hand"."""
_GENERAL = re.compile(r"(?i)^(?:all|every|each|any|no|new|we|(?!the\b|my\b|our\b|a\b)[\w`·-]+s|state|code)\b")
_CLAUSE_WORDS = re.compile(
    r"(?i)\b(?:i|we|you|it|they|he|she|is|are|was|were|do|does|did|can|could|will|would|has|had|have|which|because)\b"
    r"|'(?:s|ll|re|m|ve|d)\b|n't\b"
)


_LIMIT = re.compile(
    r"(?i)\b(?:max|maximum|minimum|min|at (?:the )?(?:most|least)|(?:no|not) (?:more|less|longer|fewer)|under|below|within|over|above|up to|exceed|cap|limit|ceiling|budget)\b.*\d"
)

_ENDS_WITH_PRONOUN = re.compile(
    r"(?i)\b(?:over|above|below|beyond|past|exceeds?|outside|without|about) (?:it|that|them|this)$"
)
_LABEL = re.compile(r"^[A-Z][A-Z]+(?: [A-Z]+){0,3}: (?=\S)")
"""A label in capitals, which says nothing of the sentence behind it."""

_NO_OBJECT = re.compile(
    r"(?i)^(?:please )?(?:never|do not|don't|always|must not|must never|only) (?:exceed|change|touch|share|use|disclose|reveal|remove|edit|modify|skip|raise|break|delete|send|store|log|alter|rename|bypass|disable|override|overwrite|expose|publish|merge|deploy|go (?:over|above|below|beyond)|drop below|lower|extend|cross|violate)(?:,? (?:without|unless|until|before|even|ever|again|except|by hand|for any reason)\b.*)?$"
)
"""An order whose verb has no object: that is in the sentence before it."""


class StatedRule(msgspec.Struct, frozen=True):
    """A rule in its user's words, the reason that was given with it, and the sentence that it was read in, with what
    that was taken for."""

    text: str
    reason: str = ""
    sentence: str = ""
    form: str = ""


def find_rules(sentences: tuple[Sentence, ...]) -> tuple[StatedRule, ...]:
    """Return the rules that these sentences of a user state, each in its own words, in order."""
    rules: list[StatedRule] = []
    before: Sentence | None = None
    headed_block = -1
    for sentence in sentences:
        for text in _stated_rules(sentence, under_heading=sentence.block == headed_block):
            rule = _without_reason(text)
            whole = _with_referent(rule.text, before)
            if rules and whole != rule.text and whole.startswith(rules[-1].text):
                rules.pop()  # the sentence before is in this one
            line = " ".join(sentence.text.split())
            rules.append(StatedRule(whole, rule.reason, line, _form_of(rule.text)))
        if _opens_list(sentence):
            headed_block = sentence.block
        elif sentence.asks:
            headed_block = -1
        before = sentence
    return tuple(rules)


_ROWS_TOGETHER = 12
"""Rows of a table that are compiled as one pattern: with more of them, a row that fits costs more to be found."""


class _RowTable:
    """The rows of a table as patterns, behind words that may stand before each; compiled when a clause needs them.

    Most of a row's price is `_FILLER`: with it a row compiles in two milliseconds, without it in a third of one. So
    some rows are compiled together behind one copy of it. They are asked first, and nearly always answer for all of
    them that no row fits; where one does, the rows are compiled and asked one by one, in their order.
    """

    def __init__(self, before: str, rows: Sequence[str]) -> None:
        self._before = before
        self._groups = [tuple(rows[start : start + _ROWS_TOGETHER]) for start in range(0, len(rows), _ROWS_TOGETHER)]

    def matches(self, clause: str) -> Iterator[re.Match[str]]:
        """Yield the match of each row that fits a clause, in the order of the table."""
        for group in self._groups:
            if _compiled(self._before, group).search(clause) is None:
                continue
            for row in group:
                match = _compiled(self._before, (row,)).search(clause)
                if match is not None:
                    yield match


@cache
def _compiled(before: str, rows: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(f"(?:{row})" for row in rows)
    return re.compile(f"^{before}(?:{alternatives})", re.IGNORECASE)


_ORDER_TABLE = _RowTable(_FILLER + "(?:you (?:must|should|have to|need to) )?", _ORDERS)
_STATEMENT_TABLE = _RowTable(_FILLER, _STATEMENTS)
_WISH_TABLE = _RowTable(_FILLER, _DEMANDING_WISHES)


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


_CONDITION_FIRST = re.compile(
    r"(?i)(?:please )?(?:if|when(?:ever)?|before|after|unless|once|in case|as soon as|every time|each time|should|until)\b"
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


_POLITE_FRAME = re.compile(
    r"(?i)^(?:(?:if (?:it(?: is|'s)(?:n't| not)|that(?: is|'s)(?:n't| not)) too much (?:trouble|to ask)|if you don't mind|if possible|and|but|so|also|oh|ok(?:ay)?|btw|by the way|please)[,:]? )*"
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
    states = frame[0].casefold().endswith("that ") and any(_STATEMENT_TABLE.matches(order))
    is_plain = _PLAIN_REQUEST.search(frame[0]) is not None
    return frame if states or _is_order(order) or (form_of(order) and not is_plain) else None


_PLAIN_REQUEST = re.compile(r"(?i)\b(?:could|can|would|will) you (?:please |kindly |also )?$")


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


_COMPARES_WITH_THAT = re.compile(
    r"(?i)\b(?:newer|older|more|less|fewer|later|earlier|higher|lower|bigger|larger|smaller|longer|shorter|other) than (?:that|this|it|those)\b"
)
_ORDER_ABOUT_IT = re.compile(
    r"(?i)(?:don['’]t|do not|never) (?:\w+ ){1,4}(?:it|them|that|this|any|any yourself)[.! ]*$"
)
_DENIES_TOO = re.compile(r"(?i)(?:and )?(?:don['’]t|do not) (?!ever\b)\w+")
_PLURAL_DOES = re.compile(
    r"(?i)(?:all |the |our |any )?(?:[\w-]+ )?[\w-]+s (?:(?:that|which|with|in|of|for|from) [^,;]{2,60} )?(?:are|have|get|live|come|go|need)\b[^,;]*\band $"
)
"""A plain statement that goes on with what the same things do not do: "tests of this kind are marked and don't run …"."""
_OWN_PLAN = re.compile(
    r"(?i)\bi(?:['’]ll| will|['’]m going to| am going to| plan to| want to| need to| should|['’]m trying to)\b[^;:]*$"
)
_GOES_ON = re.compile(
    r"(?i)\W*(?:(?:and|then|also|but) )+(?:then |also )?(?:make sure|ensure|stick|keep|stay|follow|limit|focus|try)\b"
)
"""How the second half of what somebody wants to do himself begins."""
_TELLS_HOW = re.compile(r"(?i)(?:and |by |while )*always \w+ing\b")
"""How somebody did what he tells of: no order begins so."""
_PRESENTS = re.compile(
    r"(?i)^here(?:['’]s| is| are) (?:an?|my|the|some|our) (?:[\w-]+ ){0,2}(?:examples?|code|snippets?|scripts?|functions?|implementation|versions?|draft|output|config\w*|files?|schema|query)\b"
)


def _is_order(clause: str) -> bool:
    return not is_supposition(clause) and any(_ORDER_TABLE.matches(clause))


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
    for first, following in zip(starts, (*starts[1:], len(clauses)), strict=True):
        begins = _first_clause_of_rule(bare, clauses, first, starts)
        yield clauses[begins][0], clauses[following - 1][1]


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


_FIRM_ORDER = re.compile(r"(?i)^(?:(?:please|also|and|but|so) )*(?:never|always|do not|don't|you must|must)\b")
_OWN_GOAL = re.compile(
    r"(?i)\b(?:i|we)(?:'m|'re|’m|’re| am| are)? (?:\w+ )?(?:trying|want|need|hope|hoping|looking|planning|plan|going|aim|aiming|able|struggling|stuck|like|wondering|considering|working)\b(?!.* you (?:to|never|not)\b).*\b(?:to|on|for|how)\b|\bhow (?:can|do|should|could|would|might) (?:i|we)\b|\b(?:can|could|would) you (?:please )?(?:help|show|explain|suggest|recommend|give|tell)\b|\bhelp me\b|\b(?:so|and) (?:i|we) (?:can|could)\b"
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
    for match in _ORDER_TABLE.matches(clause):
        if _is_meant(before + leading_space, clause[: match.end()]):
            return True
    for match in _STATEMENT_TABLE.matches(clause):
        # "it always crashes" is a complaint; "it must always ..." is not
        firm = _FIRM.search(match[0]) or not _COMPLAINT.search(clause[match.end() :])
        if firm and _is_meant(before, clause[: match.end()]):
            return True
    if any(not is_report(before + clause[: match.end()]) for match in _WISH_TABLE.matches(clause)):
        return True
    if before.strip() and not _FROM_NOW_END.search(clause):
        return False
    return bool(form_of(_LEADING_FILLER.sub("", clause))) and not is_report(clause)


_WHOLE_FORMS = frozenset({"requirement", "condition", "permission", "delegation"})
"""Forms that no word of a story within them makes a story."""
_CONDITION_END = re.compile(r"(?i),? (?:if|when|whenever|before|after|unless) .*$")
_CONDITION_CLAUSE = re.compile(r"(?i)^\s*(?:if|when(?:ever)?|where|unless|should|in case) [^,]{3,120}, ")
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
    whole = f"{_LABEL.sub('', ' '.join(before.text.split())).rstrip(' .!;')}; {text}"
    return whole if len(whole) <= MAX_RULE else text


def _cleaned(text: str) -> Iterator[str]:
    """The words of a rule without filler and end marks; nothing where too little is left."""
    words = " ".join(text.split()).strip(" ,-–—")
    words = _LEADING_FILLER.sub("", words)
    words = _SMILE_END.sub("", words).rstrip(" .!,;:")
    if len(words) >= _MIN_RULE:
        yield words if len(words) <= MAX_RULE else words[: MAX_RULE - 1].rstrip() + "…"
