"""A small grammar of clauses that hold for more than the moment, beside the tables of `imperatives`.

A clause is read by its parts: who or what it is about (one thing, or all of a kind), its verb (an order, a habit, what
must be), and a condition before or behind it. A clause about the moment, about one thing, or without a verb or an object
has no form here.

| form | parts | for example |
|---|---|---|
| condition | a case that can come again + an order | `Before you push, run the linter` |
| requirement | it is required that + statement; something + must keep working | `It's a hard requirement that the app works offline` |
| custom | all of a kind + how it is done, in the present | `Amounts are stored in cents` |
| advice | all of a kind + should | `Errors should be logged with their id` |
| delegation | a tool + what is left to it | `Leave the import order to isort` |
| habit | we + what is done around a step | `We squash before merging` |
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from hudkit.ingest.extraction.caseless import any_case, any_of
from hudkit.ingest.extraction.clause_parts import holds_beyond_now

_MAX_WORDS = 30

_ORDER_VERBS = (
    "add align announce ask attach avoid bump build call change check cite clean close commit compare confirm copy create cite"
    " delete describe document do don't escape explain fix format generate give ignore include keep label leave link lint"
    " indent list log mail make mark mention merge move name never note notify open ping prefix put quote raise rebase rebuild"
    " record regenerate remove rename report rerun restart return revert review run sanitize say send set show sign skip"
    " sort split squash start stop tag tell test translate update use validate verify wait warn wrap write always"
)
_ORDER = rf"(?:please |then |first |always |just |also )*(?:do not|{'|'.join(sorted(set(_ORDER_VERBS.split()), key=len, reverse=True))})\b(?! (?:is|are|was|were|has|have|fails?|works?)\b)"

_AGAIN = (
    r"(?:(?:if|when|whenever|before|after|once|unless|each time|every time|as soon as|in case) "
    r"(?:(?:you|we|i) (?:\w+ )?(?!(?:are|were|was|had|did|have (?:been|to)|think|see what|need to|must|can|really)\b)\w+|(?:a|an|any|some|every|each|no|two|something|somebody|someone|anything|nothing) )"
    r"|(?:before|after|when) \w+ing\b|(?:before|after|with|for|on) (?:each|every|any) )"
)
"""A case that can come again: of one's own doing, or of anything of a kind."""

_KIND = (
    r"(?!(?:\w+ lets|lets|let|the|this|that|these|those|my|your|his|her|its|their|our|it|he|she|they|we|you|i|there|here|what|which|who|users|customers|clients|people|visitors|things|sometimes|always|yes|as|does|is|was|thanks|maybe|perhaps|news|tests passed)\b)"
    r"(?:(?:all |any |new |public |private |internal |external )?(?:[\w-]+ ){0,2}?[\w-]*(?:s|ies|code|data|money|sql|css|html|documentation|text|content|logic|config)"
    r"|(?:every|each|any) [\w-]+(?: [\w-]+){0,2}?)"
)
"""All of a kind: a bare plural, a mass, every one."""

_PLACE = r"(?:in|with|as|through|via|before|after|using|under|on|to|into|at|from|per|for)"

_FORMS: tuple[tuple[str, str], ...] = (
    ("condition", rf"^{_AGAIN}[^,;]{{2,100}}, (?:then )?{_ORDER}.+"),
    ("condition", rf"^(?!(?:try|can|could)\b){_ORDER}[^,;]{{2,80}}?,? {_AGAIN}.*"),
    ("condition", r"^(?:please )?(?:ask|tell|warn|ping|consult) (?:me|us|[A-Z]\w+)(?: first)?,? (?:if|when|whenever|before) (?:you (?!have to|need to|must|are (?:stuck|unsure|not sure)|can't|really)|something|anything|a|an)\b.+"),
    (
        "requirement",
        r"^(?:it is|it's|it’s|this is|that's) (?:an? )?(?:really |very )?(?:(?:hard|strict|absolute|firm|legal|formal|fixed|non-negotiable) )*(?:requirement|must|condition|obligation|rule|constraint)(?: here)?(?: that|:| for us that) \S.+",
    ),
    (
        "requirement",
        r"^(?:(?:we|it|this|that|everything|the (?:\w+ ){1,3}) ?)(?:still )?(?:have|has|need|needs|got|gotta|ought) (?:to )?(?:keep|stay|remain|work|run|support|continue|be able to run)\b.*\b(?:working|running|support\w*|compatib\w+|without|offline|on|with|until|under|below|within|for)\b.*",
    ),
    ("requirement", r"^we (?:need to|have to|must) be [\w-]+(?: [\w-]+)?(?:-| )?(?:compliant|compatible|certified|accessible)\b.*"),
    (
        "custom",
        rf"^(?:(?:in|on) (?:this|our|the) (?:\w+ )?(?:repo|repository|project|codebase|team|company|shop|house|code|system|app),? )?{_KIND} (?:are|is) (?!(?:not |never )?(?:allowed|handled|generated|permitted|supported|affected|involved|interested|located|done|fixed|finished|ready|gone|missing|broken|failing|wrong|slow|merged|called|made|based|used to|supposed|going)\b)(?:always |never |only )?(?:\w+ed|written|kept|held|sent|built|put|set|read|given|shown|hidden|drawn|cut|split|run|made) (?:{_PLACE} \S.*|by (?:hand|convention|name|default|hash|id|date)\b.*)",
    ),
    ("custom", rf"^{_KIND} (?:explains?|says?|tells?|names?|begins?|starts?|ends?|goes|go|lives?|belongs?|comes?|returns?|carr(?:y|ies)) (?:\w+ ){{0,2}}(?:why|what|how|who|with|in|into|through|under|behind|to|by|at|above|below|before)\b.*"),
    ("custom", r"^(?:all |any |every )?[\w-]+(?: [\w-]+){0,3} (?:is|are) (?:always )?(?:an? (?-i:[A-Z]\w+)|day-month-year|month-day-year|[\w]+-[\w]+-[\w]+|ISO(?: \d+)?|UTC|UTF-8|ASCII|lowercase|uppercase|singular|plural)(?:,.*)?$"),
    ("custom", r"^(?:every|each) [\w-]+(?: [\w-]+){0,2} (?:needs|carries|writes|logs|keeps) (?!(?:been|no|its problems|errors?)\b)\S.+"),
    ("custom", rf"^{_KIND} (?:get|gets) (?:an? |the |one |their )?(?!\d|\w+(?:ed|en)\b|(?:errors?|slow\w*|stuck|lost|old|rid|to|in|on|a \d)\b)[\w-]+(?:,.*| (?:with|of|for|that|named|called)\b.*)?$"),
    ("custom", rf"^{_KIND}(?: [\w-]+){{0,4}}? (?:always|never) (?:includ|contain|start|end|us|carr|follow|hav|return|cost|show|leav|depend)\w* \S.*"),
    ("limit", r"^only (?!(?:works?|happens?|fails?|on|in|when|if|after|the|a|an|this|that|it|one|some|because|since|for|with|you|i|we)\b)[\w.+-]+(?: [\w.+-]+)? (?:in|on|for|with|through|via|from) (?!(?:the (?:moment|first)|my machine|production)\b)\w.*"),
    ("limit", rf"^{_ORDER} (?:any|anything|everything|whatever|all)(?: [\w-]+){{0,2}} (?:above|over|under|below|longer|larger|bigger|older|more)(?: than)? \S*\d.*"),
    ("limit", r"^(?!(?:i|we|it)\b)[^,;]{3,60}\b(?:may|can|must|should) (?:only )?(?:\w+ ){0,3}(?:at (?:the )?(?:most|least)|no more than|up to|only) (?:\S*\d|one\b|two\b|three\b|five\b|ten\b).*"),
    ("priority", r"^(?!(?:who|what|which|the one|he|she|it|this|that|i|we|you)\b)[^,;]{3,60} (?:comes?|goes) (?:first|before \S+)(?:,.*)?$"),
    ("universal", r"^(?!.*\b(?:that|this|last) (?:week|weekend|day|night|evening|morning|afternoon|month|year|summer|winter)\b)(?:all|every|any|each) (?!of\b|the\b|this\b|good\b)[^,;]{3,50}? (?:is|are|needs?|requires?|goes|comes?|writes?) (?!(?:green|passing|done|red|failing|ok|okay|fine|there|here|gone|ready|up|now|good|new|old|wrong|\w+ing|a \d|an error|slower|faster|slow|fast|fixed|back|empty|broken)\b)\S.+"),
    ("universal", r"^(?:everything|anything) (?:under|that|which|in|behind|above|below|from) .+ (?:needs?|must|requires?|gets?|goes|has to|belongs?) \S.*"),
    ("universal", r"^(?:an? )(?!(?:user|customer|friend|colleague|client|bug|lot|few|bit|test|quick|new|small)\b)[\w-]+(?: [\w-]+){0,2} (?:needs|requires|has to have|must have) (?!to be fixed)\S.+"),
    ("custom", rf"^{_KIND} (?:need|require)s? \S.*"),
    ("custom", rf"^{_KIND}(?: (?:of|in|for|on) [\w -]{{2,20}}?)? are (?:sorted|grouped|ordered|named|identified|keyed|called|numbered) (?:by|after|from) \S.*"),
    ("custom", r"^for [\w -]{2,30},? we (?:always |only )?(?:use|take|have) \S.*"),
    ("order", r"^(?:please )?treat \S.* as \S.*"),
    ("condition", r"^(?:when|if) in doubt,? \S.*"),
    ("habit", r"^we (?:never|always) (?!\w+ed\b|(?:had|have|got|get|saw|see|know|knew|think|thought|find|found|run|hit|need|requeue)\b)\w+ .*\b(?:without|before|after|on|in|to|with|at|for)\b \S.*"),
    ("universal", rf"^{_ORDER} everything (?!(?:that|you|again|from|we|i)\b)(?:at|in|with|as|to|through|via|by|under|into) \S.*"),
    ("quantity", r"^(?:at least |at most |exactly |only )?(?:\d+|one|two|three|four|five|ten) [\w-]+(?: [\w-]+)? (?:per|for (?:each|every)) [\w-]+(?: [\w-]+){0,2}$"),
    ("quantity", r"^(?:timeouts?|limits?|sizes?|prices?|rates?|retries|budgets?|margins?|indent(?:ation)?): (?:\d|one|two|three|four|five|ten)\S* \S.*"),
    ("requirement", r"^we (?:aim|strive) (?:for|at|to have) [^;]*\b(?:below|under|above|within|at (?:most|least))\b[^;]*\d.*"),
    ("priority", r"^[^,;]{3,40} first, [^,;]{3,40} (?:second|then|last|after(?:wards)?)(?:,.*)?$"),
    ("advice", rf"^{_KIND} (?:should|ought to|need to|needs to) (?!(?:be (?:a|an|the|there|able|possible|fine|ok|done|ready|fixed|easy|in)\b|have been|work now|probably))\w+ \S.*"),
    ("advice", r"^prefer (?!not\b|it\b|that\b)\S+(?: \S+)*"),
    ("delegation", r"^(?:for [^,;]{2,40},? )?(?:just |please )*let (?!(?:us|me|it|them|him|her|that|this|there|users|people)\b)(?:the )?[\w./`·-]+ (?:do|generate|create|make|write|check|handle|decide|take care|format|sort|manage|fix|choose|pick)\b.*"),
    ("delegation", r"^(?:please )?leave (?:the |all |any )?(?:[\w-]+ ){1,6}to (?:the )?[\w./`·-]+(?:,.*)?$"),
    ("delegation", r"^(?:there(?:'s| is) (?:a|an|already a) .{3,60}?, )?(?:please )?use (?:it|that|this|them|the [\w./-]+|[\w./`·-]+) (?:rather than|instead of) \w+ing\b.*"),
    ("delegation", r"^use [\w./`·+-]+(?: [\w./`·+-]+)? for (?!(?:the|this|that|a|an|now|it|me|example)\b)(?:\w+ing|\w+s)\b.*"),
    ("habit", r"^(?:as a rule|by convention|in general|usually|by default|traditionally),? we \w+ .*"),
    ("habit", r"^we (?!(?:are|were|have|had|did|can|could|will|would|should|need|want|tried|went|got|saw|met|talked|usually)\b)\w+(?<!ed)(?: \w+){0,4}? (?:before|after|when|on every|on each|with every|with each) (?:\w+ing|every|each|a|we)\b.*"),
    ("order", r"^(?:please )?(?:leave|add|put|write|include) (?:an? )(?:\w+ ){1,4}?(?:if|when|where|wherever|whenever) (?:something|anything|you|it|there)\b.*"),
    ("custom", r"^(?!(?:i|we|it)\b)[\w-]+(?: [\w-]+){0,2} in (?:snake_case|camelCase|PascalCase|kebab-case|lowercase|uppercase|English|German|French)(?:,? please)?$"),
    ("limit", r"^[\w-]+(?: [\w-]+){0,2}: (?:\w+ )?(?:\d\S*|one|two|three|four|five|six|ten) (?:\w+ )?(?:at (?:the )?(?:most|least)|max|maximum|minimum|or (?:less|fewer|more))\b.*"),
    ("forbidden", r"^nothing (?:that|which) .{3,60} (?:may|must|can|should|ends?|goes|gets) .+"),
    ("forbidden", r"^nothing \w+ (?:may|must|should) (?:be|end|go|get|appear|leave)\b.*"),
    ("forbidden", r"^(?:[\w-]+ ){0,3}[\w-]+, but nothing (?:that|which|older|newer) .+"),
    ("custom", r"^(?:error handling|errors|naming|logging|styling|indentation|formatting|quotes|imports|tests?|comments|docs|dates|times|units|language|spelling): \S.+"),
)  # fmt: skip
"""The forms, each with what its clause is made of."""

_MOMENT = any_case(
    r"\b(?:yesterday|today|tomorrow|tonight|right now|at the moment|currently|just now|this (?:morning|time|one|bug|file|page|function)|(?:that|this) (?:week|weekend|day|night|evening|afternoon|month|summer|winter)|again|already|so far|yet|last (?:week|time|night|year|month)|i (?:think|guess|believe)|maybe|perhaps|probably|apparently|seems?|looks like|for some reason|in production right|somehow|strange|weird|dumb|stupid|because of the (?:bug|crash))\b"
)
_COMPLAINS = any_case(
    r"\b(?:crash\w*|broken|fail(?:s|ed|ing)\b(?!,)|wrong|lost|stuck|hang\w*|timeout|timed out|empty|duplicat\w+|corrupt\w*|missing|error message|complain\w*)\b"
)


_ENDS_IN_PERSON = any_case(
    r"^(?!.*\b(?:ask|tell|never|don't|do not|always)\b).* (?:to|by|from|with|for|at) (?:her|him|them)$"
)
"""Half a sentence: who is meant stands elsewhere."""


@lru_cache(256)  # a clause is asked for by several readers of its message
def form_of(clause: str) -> str:
    """Return the form of a clause that holds for more than the moment; empty where it has none."""
    words = clause.strip().rstrip(".! ")
    if len(words.split()) > _MAX_WORDS or len(words.split()) < 3:
        return ""
    if _ENDS_IN_PERSON.search(words):
        return ""
    for form, pattern in _fitting(words):
        if pattern.match(words):
            checked = words if form in ("custom", "advice", "habit", "quantity") else ""
            if not checked or not (_MOMENT.search(checked) or _COMPLAINS.search(checked)):
                return form
            return ""
    return "" if _AT_ONE_TIME.search(words) else holds_beyond_now(words)


_AT_ONE_TIME = any_case(
    r"\b(?:that|last) (?:week|weekend|day|night|evening|morning|afternoon|month|year|summer|winter)\b"
)
"""A time that is gone or comes once."""


def _fitting(words: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The rows of those groups of which one fits: most clauses fit none, and ask a few patterns for it instead of all."""
    for together, rows in _groups():
        if together.match(words):
            yield from rows


_ROWS_TOGETHER = 12


@cache  # compiled with the first message, not when the package is imported
def _groups() -> tuple[tuple[re.Pattern[str], tuple[tuple[str, re.Pattern[str]], ...]], ...]:
    rows = [(form, any_case(pattern)) for form, pattern in _FORMS]
    parts = [tuple(rows[start : start + _ROWS_TOGETHER]) for start in range(0, len(rows), _ROWS_TOGETHER)]
    return tuple((any_of(row.pattern for _, row in part), part) for part in parts)
