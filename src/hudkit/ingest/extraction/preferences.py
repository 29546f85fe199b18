"""Preferences: what a user likes, in a clause of his own, and how he wants to be answered.

Two forms are read. One has a subject that likes ("I prefer matplotlib", "the user wants metric units"); its object runs to
the end of the sentence, or to the clause that does something else ("…, can you help me?", "…, but I'm not sure"). The
other is an order about talk: a verb of talking, or a noun of it with a quality ("answer in German", "keep replies short").

For example, "I'm new here, so I prefer simple words, can you explain closures?" has the preference `simple words`.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from hudkit.ingest.extraction.caseless import any_case, any_of
from hudkit.ingest.extraction.hedging import is_supposition
from hudkit.ingest.extraction.prose import Sentence

MAX_PREFERENCE = 200
"""Characters of one preference that are kept."""

_ADVERBS = r"(?:(?:really|generally|usually|mostly|always|also|personally|just|actually|still|much|definitely|strongly|rather|now|typically|normally) )*"
_TALK = r"(?:answers?|repl(?:y|ies)|responses?|explanations?|examples?|snippets?|summar(?:y|ies)|wording|tone|descriptions?|introductions?|comments?|messages?|suggestions?|recommendations?|details|language|style|format(?:ting)?|units?|measurements?|reports?|updates?)"
"""What is said between a user and an agent."""

_LIKES: tuple[str, ...] = (
    r"^when(?:ever)? i [^,;]{3,60},? (?:then )?i (?:want|like|prefer|expect|need)(?P<what> .+)",
    rf"\b(?:i|we)(?:'d|’d| would)? {_ADVERBS}(?:prefer|favou?r)(?! (?:not to (?:say|answer|talk|think|know|discuss|worry|comment|remember|look)|(?:that |if )?you (?:don't|do not|never|not)\b))\b(?: it| that| this)?(?: when| if)?(?P<what> .+)",
    r"\b(?:i|we)(?:'d| would|’d) (?:much |really |still )?(?:rather|sooner)(?! (?:die|starve|drown|jump|quit|cry|eat (?:my|a|glass|dirt)|chew|walk through|sleep on|be dead|go blind|lose (?:a|an|my)|stick (?:a|my)|set (?:my|the)|pull|watch paint)\b)(?: get| have| see| be given)?(?P<what> (?=[^.;]*\b(?:than|instead of|over|as|answers?|responses?|replies|explanations?|examples?|code|comments?)\b).+)",
    r"\b(?:my|our) (?:strong |clear |personal |general |stated )?preferences? (?:is|are|would be|goes to|for)(?! (?:whom|what|now)\b)(?: to)?(?P<what> .+)",
    rf"\b(?:i|we) {_ADVERBS}(?:like|love|enjoy)(?! (?:it(?! when| if)|that|this|these|those|the|your|his|her|their|all|what|how|to (?:know|ask|see|think))\b)(?: it when| it if)?(?P<what> .+)",
    rf"\b(?:i|we) {_ADVERBS}appreciate (?:it )?(?P<what>(?:when|if|code|answers|comments|short|plain|simple|honest|detailed|concise|brief)\b.+)",
    rf"\b(?P<not>(?:i|we) {_ADVERBS}(?:hate|dislike|can'?t stand|cannot stand|don'?t {_ADVERBS}(?:like|enjoy|love|care for)|do not {_ADVERBS}(?:like|enjoy|love|care for)|am not a fan of|don'?t want(?= any\b| [^,;]*\b{_TALK}\b)))(?: it when| it if)?(?P<what> .+)",
    r"\b(?P<not>(?:i'm|i am) (?:not a (?:big |great )?fan of|no fan of|tired of|sick of))(?P<what> .+)",
    rf"\b(?:i|we)(?:'d| would)? {_ADVERBS}(?:want|need|expect|like)(?! (?:\w+ )?to (?!get\b|see\b|have (?:all|your|every|any)\b)| some\b| just\b| a \w+ than\b)(?P<what> (?:(?:all |your |the |my |any |every |to get |to see |to have )*(?:\w[\w-]* ){{0,3}}{_TALK}\b.+|(?:all|every|any) .+ (?:in|as|with) .+|.+ (?:first|from (?:now|here) on|before (?:any|you)|every time|at all times|everywhere|in everything|in all|in every|throughout)\b.*))",
    r"(?P<what>\b[a-z]+ing [^,;]{3,100}?),? (?:like|as|which|the way) (?:i|we) prefer\b(?! to\b)",
    rf"\b(?:i|we) {_ADVERBS}prioriti[sz]e(?P<what> .+)",
    r"^(?:the )?users? (?:(?:really|generally|always|also|now) )*(?:prefers?|wants?|likes?|favou?rs?|expects?|dislikes?|hates?)(?P<what> .+)",
    r"^(?:the )?user(?:'s|’s)? (?:preferred|favou?rite) (?P<what>.+)",
    r"\bi (?:mostly|usually|always|generally|normally) (?:work|think|write|code|speak|use)\b(?P<what>.+)",
    r"(?P<what>\bi (?:work|code|develop|live|am) (?:in|on|with) .+, so (?:please )?(?:give|show|use|write|make|prefer)\b.+)",
    r"\b(?:i'm|i am) (?:more of |rather |really |still |definitely )*an? (?P<what>(?:[\w-]+ ){1,3}(?:person|guy|girl|fan|type|lover)\b.*)",
    r"\b(?P<not>(?:i'm )?not (?:a |an |the )?(?:huge |big |great |massive |biggest )?(?:fan|friend) of)(?P<what> .+)",
    r"\bmy (?:\w+ )?(?:preferred|favou?rite|go-to|usual|default|ideal) (?P<what>(?!(?:part|thing)\b)[\w-]+(?: [\w-]+){0,3} (?:is|are|would be) .+)",
    r"\bmy (?:taste|style|tastes) (?:is|are|leans?|runs?|goes|tends?)(?: more| rather)?(?: to(?:wards?)?)? (?P<what>.+)",
    r"^(?P<what>(?!(?:i|can|could|they|it|that|this|those|these|which|what|nothing|everything|the (?:app|page|code|fix|link|test|build|script|command))\b)[^,;]{3,80}? (?:(?:works?|suits?|reads?|looks?|feels?) (?:much |far |way |a lot |so much )?(?:better|best|easier|nicer) (?:for|to|with) me|suits? me)\b.*)",
    r"^(?P<what>for me,? [^,;]{3,40}? (?:beats?|wins|trumps?|matters? more|comes? (?:before|first)|is more important|counts? more|over|>) ?.*)",
    r"^(?P<what>(?!(?:it|that|this)\b)[^,;]{3,60}? (?:is|are) (?:usually |normally |always |more than |quite )?(?:enough|plenty|fine|sufficient|all i need|too much|too many|best|ideal|perfect) for me\b.*)",
    r"\bi find (?!(?:it|that|this|out|myself|a|an|your|these|those)\b)(?P<what>[^,;]{3,60}? (?:easier|harder|clearer|nicer|better|worse|more \w+|less \w+|too \w+|unreadable|annoying|confusing|distracting|ugly|tiring|helpful|hard|easy|tedious|noisy|pointless|useless|patroni[sz]ing|irritating|unnatural|pleasant)\b.*)",
    r"\bi (?:can |could )?(?:read|follow|understand|parse|learn|digest|scan|work|absorb) (?P<what>(?:[^,;]{3,60} )?(?:faster|better|easier|best|more easily|quicker|most easily)\b.*)",
    r"^(?P<what>[^,;]{3,60}), i (?:always|usually|normally|generally) (?:take|choose|pick|order|book|go for|want|use|prefer)\b",
    r"^(?P<what>(?!(?:it|that|this|he|she)\b)[^,;]{3,60}? (?:drives?|makes?|gets?|keeps?|leaves?) me (?:up the wall|crazy|mad|nuts|insane|angry|nervous|tired|confused|happy|bored|sick)\b.*)",
    r"^(?P<what>(?!(?:it|that|this|he|she|the|one|something)\b)[^,;]{3,60}? (?:annoys?|bothers?|bugs?|irritates?|confuses?|distracts?|bores?|tires?|puts?) me\b.*)",
    r"\bi(?:'m| am) (?:perfectly |totally |quite |always )?(?:fine|ok|okay|happy|comfortable|cool) with (?P<what>(?!(?:it|that|this|these|your|how|what|the (?:result|change|fix|code|draft))\b).+)",
    r"^(?P<what>[^;]{5,80}?),? (?:that's|this is|is) (?:just )?how i (?:like|want|prefer|need) .+",
    r"\bi(?:'d| would) (?:really )?(?:love|like|prefer|appreciate|enjoy) it (?:if|when) (?P<what>(?!(?:you|we|i)\b)\S.+)",
    r"^(?P<what>[^,;]{3,60}?,? when it comes to [^,;]{3,40})(?:,? (?:if you ask me|for me|in my view))?$",
    r"(?:^|, |; )(?P<what>[^,;]{2,40}? (?:is|are) (?:too (?:much|many|long|short|little|few)|enough|plenty) for me)\b",
    r"\bi (?:always|usually|normally|generally) (?:take|choose|pick|order|book|fly|go for|travel) (?P<what>(?!(?:it|that|this|those|a look)\b)\S.+)",
    r"^(?P<what>[^,;.]{2,40}? (?:>|over|before|rather than|instead of) [^,;.]{2,40}?) (?:for me|in my case|any ?time|any day|every time)$",
    r"\bwhat i (?:really |most |always |usually )?(?:appreciate|like|want|prefer|value|need|expect|love|enjoy)(?: most| best| more)?(?: from you)? (?:is|are) (?P<what>(?!(?:to know|an? \w+ (?:that|which|to))\b).+)",
    r"\b(?P<not>i (?:get lost in|struggle with|get confused by|have trouble with|have a hard time with|can't deal with|skim|never read|don't read|tune out at|drown in))(?P<what> [^,;.]*\b(?:answers?|texts?|explanations?|walls? of text|paragraphs?|lists?|messages|e-?mails?|replies|details?|jargon|docs|diffs|documents)\b.*)",
    r"(?P<what>\bi(?:'m| am)? (?:work|sleep|get up|start|finish|commute|free|off|busy|based|live|in meetings)\b[^,;]{0,50}, so .+\b(?:bad|good|best|better|fine|out|impossible|ideal|great|works?|suits?|please|only|never|not)\b.*)",
    r"\b(?:i'm|i am) (?:a vegetarian|vegetarian|vegan|colou?r ?blind|dyslexic|left-handed|new to|a beginner|allergic to)\b(?P<what>.*)",
)
"""How somebody says what he likes: `what` is it; the whole clause is kept where it says `not`."""

_PERSON = any_case(r"\b(?:i|we|my|our|me|users?|anytime|any time|any day|every time|in my case|not an?|not the)\b")
"""Who likes: without one of these no row fits."""

_ANY_LIKE = any_of(_LIKES)

_BEGIN = (
    r"^(?:(?:please|pls|plz|also|and|so|ok(?:ay)?|from now on|actually|then|but|just|in general|generally)[,:]? )*"
)
_ORDERS_OF_TALK: tuple[str, ...] = (
    rf"{_BEGIN}(?:answer|reply|respond)(?: (?:to )?me| to (?:me|my questions))? (?:in|with|briefly|shortly|concisely|as|using|like|only) ?.*",
    rf"{_BEGIN}(?:talk|speak|write) (?:to me )?in (?:german|french|english|spanish|italian|dutch|portuguese|polish|plain|simple|short|british|american) ?.*",
    rf"{_BEGIN}(?:explain|describe) (?:things|everything|concepts|it all|your (?:steps|reasoning|changes)) .+",
    rf"{_BEGIN}(?:keep|make|leave) (?:your |the |all |all your |any )?(?:\w+ )?{_TALK} (?!(?:in sync|up to date|alone|as)\b)\w.*",
    rf"{_BEGIN}(?:use|write|give me|show me|include|add|skip|omit|avoid|put|stop using|stop adding) .{{2,60}} in (?:your|all|every|the) {_TALK}\b.*",
    rf"{_BEGIN}(?:write|give|show)(?: me)? (?:all |your |the )?(?:code )?(?:examples|snippets|explanations|answers) (?:in|with|as|using) .+",
    rf"{_BEGIN}(?:give me|show me|tell me|start with|begin with) .{{2,60}} first(?:,|;| and\b| then\b|$).*",
    rf"{_BEGIN}(?:always |try to )?be (?:(?:very|more|less|as|really|a bit|always|a little|completely|brutally|totally) )*(?:brief|concise|short|blunt|direct|honest|critical|friendly|formal|informal|precise|specific|thorough|terse|polite|strict|succinct|frank|gentle|to the point|sceptical|skeptical|verbose|casual)\b(?! (?:about|with) (?:the|this|that)\b).*",
    rf"{_BEGIN}(?:give|tell|hand|break|put) (?:it|things|news|bad news|feedback|everything) (?:to me )?(?:straight|gently|plainly|raw|bluntly|in plain \w+|as it is|without)\b.*",
    rf"{_BEGIN}(?:talk|speak|write|explain|teach)(?: things| it| this| everything)? ?(?:to |with |for )me (?:like|as if|as though|as|in|with|without)\b.+",
    rf"{_BEGIN}(?:spare|save) me (?!(?:a|an|some)\b)\S.+",
    rf"{_BEGIN}(?:skip|drop|cut|leave out|lose|omit|no need for|enough with|cut out|go easy on|hold|ditch)(?: the| all| your| any| with)* (?:\w+ )?(?:disclaimers?|pleasantries|small talk|intros?|introductions?|preamble|boilerplate|fluff|filler|apolog\w+|greetings?|niceties|caveats?|jargon|emojis?|jokes?|praise|flattery|basics|recaps?|chit-?chat|buzzwords?|marketing speak|hedging|exclamation marks?)\b.*",
    rf"{_BEGIN}(?:(?:there's |there is )?no need to|you (?:don't|do not|needn't|need not)(?: (?:have|need))?(?: to)?|don't(?: bother (?:to|with))?|stop|never) (?:explain|apologi[sz]|repeat|remind|greet|thank|summari[sz]|sugar-?coat|justify|prais|flatter|introduc|defin|walk me|hedg|say sorry|lectur|morali[sz])\w*\b(?! (?:it|this|that|me why|why)\b)(?: .*)?$",
    rf"{_BEGIN}(?:a (?:bit|little) )?(?:less|fewer|more|shorter|longer|simpler|plainer|bigger) [\w -]{{3,30}},? (?:less|fewer|more|please|and no|and more|and less)\b.*",
    rf"{_BEGIN}(?:explain|describe|write|put|phrase|word) (?:it|things|this|everything|that) (?:the way|as|like|as if) (?:you|i|one|we|to)\b.*",
    rf"{_BEGIN}(?:you can|you may|you could|feel free to|try to) be (?:a bit |a little |much )?(?:more|less|as|blunt|direct|honest|casual|brief)\b.*",
    rf"{_BEGIN}(?:think|reason|talk) (?:out loud|aloud|step by step|it through|me through)\b.*",
    rf"{_BEGIN}(?:one (?:question|step|thing|topic) at a time|questions? one (?:at a time|by one)|show (?:your|the) (?:work|working|reasoning)|code (?:only|first)|no (?:prose|chatter|explanations?|pep talk|fluff|filler))\b.*",
    rf"{_BEGIN}(?:show|give|send|hand) me (?:the )?(?:diffs|commands|code|links|sources|numbers|examples|options|screenshots)\b(?: (?:only|not|instead|rather|with|i can|before|whenever|every|always)\b.*)$",
    rf"{_BEGIN}call me (?-i:[A-Z])\w+.*",
    rf"{_BEGIN}you can (?:skip|drop|leave out) (?:the |all )?(?:small talk|greetings?|apolog\w+|introductions?|pleasantries|{_TALK}).*",
    rf"{_BEGIN}(?:shorter|longer|fewer|more|less|no more|no) (?:\w+ ){{0,2}}(?:{_TALK}|emojis?|diagrams|tables|bullet ?points|apolog\w+)(?:,? (?:please|anymore|any more)\b.*|,.*)?$",
    rf"{_BEGIN}use (?:tables|bullet ?points|bullets|lists|diagrams|headings|emojis?|plain text|metric|imperial|si units?)\b.*",
    rf"{_BEGIN}stop (?:using|adding|writing|giving me) (?:tables|bullet ?points|bullets|lists|diagrams|headings|emojis?|{_TALK})\b.*",
)
"""How an order about talk reads that holds for every answer."""

_POLITELY = any_case(
    r"^(?:(?:and|also|so|oh|by the way|btw)[,]? )*(?:it would (?:be (?:very |really )?(?:nice|great|good|lovely|helpful|kind|best)|help(?: me)?(?: a lot)?|mean (?:a lot|much)(?: to me)?) if you (?:could |would |can )?|i(?:'d| would) (?:like|want|prefer|love) you to |i (?:want|need) you to |(?:could|can|would|will) you (?:please )?(?=.*\b(?:from now on|always|in (?:the )?future|going forward|every time)\b)|i(?:'d| would) (?:appreciate it|be (?:grateful|glad|happy)) if you (?:could |would )?)"
)
"""What is polite around an order."""

_OTHER_CLAUSE = any_case(
    r",? ?\b(?:(?:and |so |but |then )*(?:can|could|would|will) (?:you|we)\b|(?:and|so|but) (?:now |then )?(?:i|we|you|he|she|they|it|there|my|what|how)\b(?! (?:prefer|like|want))|(?:(?<=, )|(?<=,)|so )(?:how|what|why|where|which) (?:can|do|should|would|could|is|are|i|made)\b|,? ?(?:do|does|is|are) (?:you|it|there)\b|(?:which|that)'?s? (?:is|are|was|were) (?:why|my|a|the)\b|considering\b|taking into account\b|given that\b|aiming\b|(?<=, )(?:and )?(?:also )?(?:provide|give|show|help|explain|suggest|include)\b|and also (?:provide|give|show|help|explain|suggest|include|how)\b|so (?:now )?i want to\b|like i (?:mentioned|said)|and i(?:'ve|'m|’ve|’m)|but i(?:'m|’m)|->)"
)
"""How the clause begins that goes on with something else."""

_BEHIND = any_case(r",? (?:like|as|which|the way) (?:i|we) prefer\b")
"""What stands behind that which is liked."""
_CONSIDERS = any_case(r"(?:considering |thinking (?:of|about) |planning (?:on |for )|looking (?:at|into) )?")

_MAX_PURPOSE = 120
_PURPOSE = any_case(
    r"^(?:i'm|i am|i’m|we're|we are) (?:kinda |currently |just |now )?(?:(?:trying|working|struggling|looking|planning|going|considering) (?:to decide |to |on |for |with )?)?(?P<what>[^;]+?),? (?:so|and|since|because|therefore) $"
)
"""What somebody is after, in front of what he prefers."""
_PURPOSE_BEFORE = any_case(
    r"^(?:i'm|i am|i’m|we're|we are) (?:kinda |currently |just |now )?(?:trying|working|looking|planning|going) (?:to decide |to |on |for )(?P<what>[^;?]+?)(?:, (?:can|could|would) you [^,;]*)?[.?!]*$"
)
"""The same as the whole of the sentence before."""
_DOUBTED_FOR = any_case(
    r"\bbut (?:i'm|i am|i’m) not (?:quite |really |entirely )?(?:sure|certain) (?:(?:if|whether) (?:it|that|this|they)(?:'s|’s| is| are| would be) (?:really )?(?:the )?(?:best|right|a good|good) (?:\w+ )?(?=for )|how (?=to (?:make|get|let) (?:it|them|this|that) ))(?P<what>[^,;]+)(?:, (?:can|could|would) you (?:please )?help me (?:weigh|compare)[^,;]*?(?P<other> (?:versus|vs\.?|against) [^,;]+))?"
)
"""What somebody wants to reach with what he likes, where he doubts whether it does: "but I'm not sure if it is the best
choice for short trips"."""

_ASKED = any_case(
    r"\b(?:if|whether|do|does|did|would|should|could|can|why|what|when|where|how|which)(?: you think)? $"
)
_HABIT = any_case(r"^(?:i|we) (?:mostly|usually|always|generally|normally) ")
_THEREFORE = any_case(
    r"\bso (?:please |just |then )?(?:show|give|use|write|keep|make|put|explain|answer|i'd|i would|i prefer|i want)\b"
)
"""What somebody usually does is a fact; where something follows from it, it is a wish."""
_NEEDS_VERB = any_case(
    r"\b(?:when|rather|sooner|vegetarian|vegan|blind|dyslexic|left-handed|new|beginner|allergic|usually|mostly|always|generally|normally)\b"
)
"""What was liked cannot be read without these words before it."""
_PRONOUN = any_case(r" (?:it|that|this)$")
_NAMED = re.compile(
    r"\b(?:using|use|with|in|on|chose|chosen|of|picked|like|is) (?P<name>[A-Z][\w.+#-]*(?: [A-Z\d][\w.+#-]*){0,3})"
)
"""A name that a pronoun behind it may stand for."""

_ANNOUNCES = any_case(r"\blet(?:'|’)?(?: u)?s\b|\bso (?:use|take|switch)\b")
"""What is liked is then decided: the decision is what counts."""

_WORK_WANTED = any_case(
    r"^ *(?:you to|(?:\w+ ){1,3}to be able to|to (?:be able|have a|add|build|make (?!it)|create|start|know|ask|see if|check|understand|learn|see (?:an?|some|how|what) (?![^.;]*\b(?:first|before|every|always|each)\b)|get (?:this|that|the|it))\b|wait\b|just get\b)"
)
"""What shall be done or built, in the form of a wish."""

_NO_OBJECT = any_case(
    r"^(?:it|that|this|them|to|not|so|if|when|but|and|neither|both|either|whatever|the (?:former|latter|first|second))\b.{0,4}$"
)
_IN_PASSING = any_case(r"\b(?:statement|as stated|mentioned|in my)\b.*$")
_MOMENT = any_case(
    r"\bbut (?:fine|ok|okay|if)\b|\b(?:this (?:function|file|one|bug|time|line|page|idea|approach)|right now|today|yesterday|tonight|tomorrow|that you|what you|your (?:idea|help|work|approach|suggestion|patience)|working with you|it here|so far)\b"
)
"""What is liked at this moment, or of what was just done."""


class StatedPreference(msgspec.Struct, frozen=True):
    """A preference in its user's words, and the index of the sentence that has it."""

    text: str
    index: int


def find_preferences(sentences: Sequence[Sentence]) -> tuple[StatedPreference, ...]:
    """Return the preferences that these sentences of a user state, each in its own words, in order."""
    return tuple(_found(sentences))


def _found(sentences: Sequence[Sentence]) -> Iterator[StatedPreference]:
    for index, sentence in enumerate(sentences):
        text = _liked(sentence, sentences[index - 1] if index else None) or _order_of_talk(sentence)
        if text:
            yield StatedPreference(text, index)


def _liked(sentence: Sentence, previous: Sentence | None) -> str:
    bare = sentence.bare.replace("’", "'")
    if not (_PERSON.search(bare) and _ANY_LIKE.search(bare)):
        return ""
    for pattern in _patterns(_LIKES):
        match = pattern.search(bare)
        if match is not None:
            text = _what_is_liked(sentence, bare, match, previous)
            if text:
                return _shortened(text)
    return ""


def _what_is_liked(sentence: Sentence, bare: str, match: re.Match[str], previous: Sentence | None) -> str:
    """The words of a preference; empty where the sentence only seems to state one."""
    before, what = bare[: match.start()], match["what"]
    if is_supposition(before[-60:]) or _ASKED.search(before):
        return ""
    if _ANNOUNCES.search(bare[match.start("what") :]) or _WORK_WANTED.match(what):
        return ""
    lead = bare[match.start() : match.start("what")]
    if _HABIT.match(lead) and not _THEREFORE.search(bare):
        return ""
    starts_with_verb = bool(match.groupdict().get("not")) or not what.strip() or bool(_NEEDS_VERB.search(lead))
    start = match.start() if starts_with_verb else match.start("what")
    end = match.end("what") if _BEHIND.match(bare, match.end("what")) else start + _clause_length(bare[start:])
    # What a question ends with is the question's; what stands before that is said.
    if sentence.asks and end == len(bare):
        return ""
    start += _lead_length(bare[start:end])
    clause = _IN_PASSING.sub("", sentence.text[start:end].strip(" ,;:-–—.!?")).strip(" ,")
    if not clause or _NO_OBJECT.match(clause) or _MOMENT.search(clause):
        return ""
    if _PRONOUN.search(lead) and not starts_with_verb:
        named = list(_NAMED.finditer(sentence.text[: match.start()]))
        if not named:
            return ""
        return f"{named[-1]['name']} {clause}"
    purposes = _purposes(sentence.text[: match.start()], sentence.text[end:], previous)
    return f"{clause} ({'; '.join(purposes)})" if purposes else clause


def _purposes(before: str, behind: str, previous: Sentence | None) -> list[str]:
    """What somebody is after with what he likes, where that stands before it or behind it: "I keep it small, so I
    prefer …", "I prefer …, but I'm not sure if it is best for …"."""
    purposes = []
    purpose = _PURPOSE.match(before)
    if purpose is None and previous is not None and not before.strip():
        purpose = _PURPOSE_BEFORE.match(previous.text)
    if purpose is not None:
        purposes.append(purpose["what"])
    doubted = _DOUBTED_FOR.search(behind)
    if doubted is not None:
        purposes += [words for words in (doubted["what"], doubted["other"]) if words]
    clauses = [purpose[: _clause_length(purpose)].strip(" ,.?!") for purpose in purposes]
    return [clause for clause in clauses if len(clause) <= _MAX_PURPOSE]


def _order_of_talk(sentence: Sentence) -> str:
    bare, text = sentence.bare.rstrip(".! "), sentence.text
    politely = _POLITELY.match(bare.replace("’", "'"))
    if politely is not None:
        bare, text = bare[politely.end() :].rstrip("? "), text[politely.end() :].rstrip("? ")
    elif sentence.asks:
        return ""
    if not _any_row(_ORDERS_OF_TALK).match(bare.replace("’", "'")):
        return ""
    lead = r"(?i)^(?:(?:please|pls|plz|also|and|so|ok(?:ay)?|actually|then|but|just)[,:]? )+"
    return _shortened(re.sub(lead, "", text).rstrip(" .!"))


def _lead_length(text: str) -> int:
    """How long the words are by which somebody only thinks of what he likes."""
    lead = _CONSIDERS.match(text)
    return lead.end() if lead else 0


def _clause_length(text: str) -> int:
    """Where the clause ends at which something else begins."""
    match = _OTHER_CLAUSE.search(text, 3)
    return match.start() if match else len(text)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_PREFERENCE else line[: MAX_PREFERENCE - 1].rstrip() + "…"


@cache
def _any_row(rows: tuple[str, ...]) -> re.Pattern[str]:
    """The rows of a table as one pattern, where it does not matter which of them fits."""
    return any_case("|".join(f"(?:{row})" for row in rows))


@cache  # compiled with the first message, not when the package is imported
def _patterns(rows: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(any_case(row) for row in rows)
