"""What a sentence ends of that which stands, read by its parts: what is over, turned down, allowed, or in its place.

A sentence is asked for a word of ending by its class, and for what that is said of. Only the part beside the word
counts: of "the freeze is over, so fix the footer" the freeze. A standing statement is meant where it has (nearly) all
stems of that part, or its name.

| class | how it reads | what it ends |
|---|---|---|
| over | `X is history`, `X has expired`, `X no longer holds`, `X fell through` | all of X |
| dropped | `drop X`, `we got rid of X`, `rip X out` | all of X |
| allowed | `you may X`, `X is fine from now on`, `no need to X` | a rule about X |
| done after all | `actually, do X`, where a rule forbids X | that rule |
| turned down | `X won't work`, `the client hates X`, `X is too slow` | a choice of X, where something takes its place |
| turn | `I changed my mind`, `change of plan`, `I slept on it` | what was stated just before, where something takes its place |

For example, with the rule `never deploy on Fridays` and the decision `Let's use MongoDB for the catalogue`, the message
"Fridays are fine again. I slept on it: Postgres for the catalogue" ends the first by `allowed`, the second by `turn`.
"""

# ruff: noqa: E501, ISC004 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.conflicts import Statement
from hudkit.ingest.extraction.hedging import is_of_others, is_question, is_supposition
from hudkit.ingest.extraction.lexicon import VERBS, names_in
from hudkit.ingest.extraction.prose import Sentence, overlap, split_sentences, subject_stems, word_stems

MAX_REVERSAL = 240
"""Characters of a sentence that ends something: a longer one tells a story."""


_ADVERB = r"(?: (?:now|just|finally|officially|already|also|all|again|simply|completely|totally|actually|really|apparently|no longer|not|never|since|basically|therefore|absolutely|perfectly|only|sadly|unfortunately))*"
_BE = r"(?:'s| is| are| was| were|'re)"
_HAVE = r"(?:'s| has| have|'ve)"
_X = r"(?P<of>[^,;:!]{2,70}?)"
_LEAD = r"(?:^|[,;:!–—-] |\b(?:and|but|so|because|since|that|now|ok|okay|well|hmm?|yes|no),? )"
_TAIL = r"(?=$|[,;:.!)–—]| (?:now|again|anyway|already|today|as of|since|so|because|for good|from|too|by|for|this|last|in|at|on|and|then|after|to|instead|with|either|yet)\b)"

_OVER = (
    r"(?:over|gone|dead|history|void|moot|finished|completed?|expired|ended|lapsed|lifted|dropped|scrapped|cancell?ed|withdrawn|revoked|retired|abandoned|obsolete|outdated|superseded|removed|abolished|waived|shelved"
    r"|off the table|out of (?:the )?(?:race|question|date|business|scope|the picture)|behind us|no more|discontinued|deprecated|rejected|vetoed|closed|relaxed|outlived|invalid|irrelevant|not valid|off the menu|toast|done with|done and dusted|a thing of the past|undone|reversed|overturned|overruled|struck|sold out|double-booked|unavailable|shut down|switched off|decommissioned)"
)
_HOLDS = r"(?:hold|apply|stand|count|matter|exist|valid|relevant|binding|needed|necessary|required|in force|in effect|true|current|a (?:rule|requirement|thing|concern|constraint|problem|must))"
_DROPS = r"(?:drop|scrap|scratch|forget(?: about)?|ditch|kill|dump|lose|abandon|cancel|rip out|throw out|get rid of|do away with|undo|un-?decide|revert|retire|abolish|lift|waive|revoke|withdraw|take back|strike|shelve|park|phase out|move away from|get off|call off|give up(?: on)?|back out of|bin|axe|disregard|ignore|say goodbye to|part with)"
_DROPPED = r"(?:dropped|scrapped|scratched|ditched|killed|dumped|lost|abandoned|cancell?ed|ripped out|thrown? out|got rid of|gotten rid of|done away with|undid|undone|un-?decided|reverted|retired|abolished|lifted|waived|revoked|withdrew|withdrawn|taken? back|took back|struck|shelved|parked|phased out|moved away from|moved off|called off|given up(?: on)?|gave up(?: on)?|backed out of|binned|axed|removed|left)"
_FINE = r"(?:fine|ok|okay|o\.k\.|allowed|permitted|all right|alright|acceptable|welcome|fair game|unlocked|legal|good to go|back on(?: the table)?|no problem|not a problem|no issue|possible|up for grabs|free|allowable|cool|green-lit)"
_BAD = r"(?:too (?!much fun)[\w-]+(?: [\w-]+){0,3}|overkill|not (?:an option|possible|available|worth (?:it|the \w+)|good enough|enough|ideal|what (?:we|i) (?:want|need)|going to (?:work|happen)|working out|feasible|viable|suitable)|an? (?:\w+ )?(?:bad idea|mistake|mess|pain|dead end|nightmare|failure|disaster|non-starter|bottleneck|burden|headache)|useless|fragile|hopeless|impractical|impossible|pointless|taken|a no-go|out|wrong for us|unreliable|unsuitable)"

_ROWS: tuple[tuple[str, str], ...] = (
    # over
    ("over", rf"{_LEAD}{_X}{_BE}(?: been| being)?{_ADVERB}(?: been)? {_OVER}{_TAIL}"),
    ("over", rf"{_LEAD}{_X}{_HAVE}{_ADVERB} been{_ADVERB} {_OVER}{_TAIL}"),
    ("over", rf"{_LEAD}{_X}(?:{_HAVE})?{_ADVERB} (?:ended|expired|lapsed|fell through|fallen through|died|collapsed|run out|ran out|come to an end|came to an end|gone away|went away|outlived|bit the dust|wound down|closed down){_TAIL}"),
    ("over", rf"{_LEAD}{_X} (?:no longer|not) (?:{_HOLDS}|holds|applies|stands|counts|matters|exists|works|suits|fits|makes sense|needs?|requires?)\b"),
    ("over", rf"{_LEAD}{_X}{_BE} no longer (?:{_HOLDS}|wanted|planned|the (?:plan|case|rule)|on|our|my|used|in use|supported|with us|here|in|at|on)\b"),
    ("over", rf"{_LEAD}{_X}{_BE}n[o']t {_HOLDS}(?: any ?more| any longer| now)\b"),
    ("over", rf"{_LEAD}{_X} (?:doesn't|does not|don't|do not|won't|isn't|aren't) (?:\w+ ){{0,4}}(?:any ?more|any longer)\b"),
    ("over", rf"{_LEAD}{_X} (?:has |have )?(?:left|quit|resigned|stepped down|moved on|handed over|handed it over|went on leave)(?: (?:us|to)\b|{_TAIL})"),
    # dropped
    ("dropped", rf"(?:^|[,;:.!–—-] |\b(?:and|so|then|let's|let us|please|to|just|we can|we could|we should|i'd|we'll|i'll|now|no,|ok|okay|actually|better),? ){_DROPS} (?:the |our |my |that |this |all |about )*(?P<of>[^,;:!.]{{2,60}}?)(?=$|[,;:.!–—]| (?:again|altogether|completely|entirely|after all|for good|now|then|instead|and|from|as|because|since|too|in favou?r|please)\b)"),
    ("dropped", r"\b(?:rip|throw|cut|take|leave) (?:the |our |my |that )?(?P<of>[^,;:!.]{2,40}?) (?:back )?out\b"),
    ("dropped", rf"\b(?:we|i|they|he|she|the (?:team|client|board|customer)|management|marketing|legal|everyone|[A-Z]\w+)(?:'ve|'s| have| has| had)?{_ADVERB} {_DROPPED} (?:the |our |my |that |this |all |on )*(?P<of>[^,;:!.]{{2,60}}?)(?=$|[,;:.!–—]| (?:again|altogether|completely|entirely|after all|for good|now|then|instead|and|last|this|yesterday|today|in favou?r|from|because|since)\b)"),
    ("dropped", r"\b(?:we|i|they|nobody|no one) (?:don't|do not|no longer|doesn't|never|won't)? ?(?:needs?|uses?|wants?|require|support|do|have|stick to|bother with|follow|care about|insist on) (?:the |our |my |that |a |an |any )*(?P<of>[^,;:!.]{2,60}?) any ?(?:more|longer)\b"),
    ("dropped", rf"\b(?:we|i|they)(?:'re| are|'m| am) no longer [\w-]+ (?:the |our |my |that |by |a |an |to )*(?P<of>[^,;:!.]{{2,60}}?){_TAIL}"),
    ("dropped", r"\b(?:we|i|they|you) no longer (?:need|use|want|require|support|do|have|mind|do|follow|care about|insist on|bother with)(?: to)? (?:the |our |my |that |a |an |any |about |mind )*(?P<of>[^,;:!.]{2,70})"),
    # allowed
    ("allowed", r"\b(?:you|we|i|they|everyone|everybody|anyone|people|the team) (?:may|can|could|might as well|(?:are|'re|is) (?:now |again )?(?:allowed|free|welcome|cleared|permitted) to)(?: (?:now|again|also|of course|just|safely|happily|go ahead and))* (?P<of>(?!(?:see|find|imagine|tell|say|guess|help|assume|read about|look)\b)[^;:!]{2,90})"),
    ("allowed", r"\b(?:feel free to|go ahead and|don't bother (?:to|with)|(?:it's |it is |that's )?(?:now |again )?(?:ok|okay|fine|all right|alright|allowed) (?:now |again )?to|you're free to|be my guest and|by all means) (?P<of>[^,;:!]{2,80})"),
    ("allowed", r"\b(?:no need (?:to|for)|no reason to|not necessary to|unnecessary to|no point in) (?P<of>[^,;:!]{2,80})"),
    ("allowed", r"\b(?:you|we|i|they|nobody|[a-z]+s?) (?:don't|do not|doesn't|does not|needn't|need not|no longer)(?: (?:have|has|need|needs))?(?: to)? (?P<of>(?:ask|wait|check|tell|mind|care|follow|use|run|keep|get|have|see|approve|review|sign|worry|write|send|do|log|stick|avoid|stay|mention|include|add|test|report|confirm)\b[^;:!]{2,80})"),
    ("allowed", rf"{_LEAD}(?P<of>[^,;:!]{{2,60}}?){_BE}{_ADVERB} {_FINE}{_TAIL}"),
    ("allowed", r"^(?:\w+,? )?(?P<of>[^,;:!]{2,60}?) (?:may|can|could) (?:now |again )?(?:be [\w-]+|go [\w-]+|come back|stay|happen)\b"),
    ("allowed", r"^(?:ok(?:ay)?,? |so |right,? |about |on |as for |regarding |re )*(?:the )?(?P<of>[^,;:!]{2,40}?)[:,–—-]+ (?:go for it|go ahead|(?:you )?(?:may|can)\b|do it|never mind|forget (?:it|that)|i was wrong|i changed my mind|not any ?more|no longer)"),
    ("allowed", r"\bwants? (?P<of>[^,;:!]{2,60}?) (?:after all|again|back)\b"),
    ("allowed", r"\b(?:says?|said|confirmed|told (?:me|us)|agreed)(?: that)? (?:you|we|they|it)(?:'re| are|'s| is)? (?:may|can|could|ok|fine|allowed) (?:to )?(?P<of>[^,;:!]{2,80})"),
    # turned down
    ("turned down", rf"{_LEAD}{_X}{_BE}{_ADVERB} {_BAD}(?=$|[,;:.!)–—]| (?:for|here|so|because|since|in|on|with|to|and|at|now|anyway|as|by|right|after all)\b)"),
    ("turned down", rf"{_LEAD}{_X} (?:won't|will not|can't|cannot|doesn't|does not|didn't|isn't going to|ain't|don't|never) (?:really |quite |actually |just |simply )?(?:work|do|scale|fit|happen|cut it|suit|run|hold up|pan out|fly|support|handle|fly|last|be ready|be possible|make it|perform|cope)\b"),
    ("turned down", r"\b(?:nobody|no one|none of (?:us|them))(?: \w+){0,3} (?:likes?|wants?|uses?|needs?|understands?) (?P<of>[^,;:!.]{2,50}?)(?=$|[,;:.!–—]| (?:and|so|any ?more)\b)"),
    ("over", rf"{_LEAD}{_X} (?:can|may|should|must|has to|have to) (?:now )?go\b(?=$|[,;:.!])"),
    ("over", rf"{_LEAD}{_X}{_BE} (?:on (?:\w+ )?leave|away (?:until|for|this|next|on)|off sick|no longer around)\b"),
    ("allowed", rf"{_LEAD}(?:for |in |on )?{_X}{_BE} (?:an exception|exempt|excepted|not affected|an exemption)\b"),
    ("turned down", rf"{_LEAD}{_X} turn(?:s|ed) out (?:to be )?\S"),
    ("turned down", rf"{_LEAD}{_X}{_BE} (?:giving|causing|making|costing|driving) (?:us|me|you|the team) \S"),
    ("turned down", rf"{_LEAD}{_X} (?:raised (?:its|their|the) prices?|takes? (?:too|far too|way too) (?:long|much|many)|costs? (?:us |me )?(?:too|far too|way too) much|has (?:too many|no)|lacks?|got (?:acquired|bought|hacked)|failed (?:us|the)|is a pain)\b"),
    ("turned down", r"\b(?:hates?|dislikes?|rejected|rejects|vetoed|said no to|doesn't (?:like|want)|don't (?:like|want)|didn't like|turned down|refused?|can't stand|isn't happy with|are not happy with|is not happy with|is against|are against|complained about|found a problem with|won't (?:accept|approve|pay for|have)) (?:the |our |my |that |a |an )*(?P<of>[^,;:!.]{2,50}?)(?=$|[,;:.!–—]| (?:and|so|because|since|anyway|any ?more|for)\b)"),
    ("turned down", r"^(?:(?:no|nah|hm+|ok(?:ay)?|so|actually|sorry|please|about [^:,]{2,40}|for [^:,]{2,40})[,:.]? )*(?:not|no more|enough of|enough with) (?:the |a |an |in |on |with )?(?P<of>[^,;:!.]{2,40}?)(?=$|[,;:.!–—]| (?:any ?more|after all|but|any longer|then)\b)"),
)  # fmt: skip

_TURN = any_case(
    r"\b(?:(?:changed|change|changing) (?:my|our|her|his|their) minds?|change of (?:plans?|heart|mind)|plans? (?:has |have )?changed|new plan|on second thoughts?|second thoughts|slept on it|had another (?:think|look)|(?:thought|thinking) (?:about it|it over) (?:again|some more|more)|thought it over|reconsider(?:ed|ing)?|on reflection|scratch that|strike that|forget (?:it|that|what i said)|never mind what|i take (?:that|it) back|i was wrong|my mistake|convinced me|talked me (?:out of|into)|com(?:e|ing) (?:round|around) to|came (?:round|around) to|u-turn|after all|back to square|let's not|had a vote|voted|correction|no,? wait|wait,? no|turn(?:s|ed) out)\b"
)
"""Words by which somebody turns from what he said, whatever it was."""

_WEAK_TURN = any_case(
    r"\b(?:actually|instead|rather|back to|went back|go(?:ing)? back|again|from (?:now|here|today)(?: on| forward)?|in (?:the )?future|as of|any ?more|any longer|no longer|better|switch(?:ed|ing)? to|mov(?:e|ed|ing) to|now|new|enough|will do|would do|sooner|just|only|since|so|then|not|but|oh|hmm?)\b"
)

_EXCEPTS = any_case(
    r"\b(?:for|in|on|during|with|to fix) (?:this|that|the current) (?:one |single |particular )?\w+|\b(?:just |only )?(?:this once|just once|this time|for once|this one time)\b|\b(?:as|with) (?:an|one) exception\b|\bone[- ]off\b|\b(?:today|tonight|this week) only\b|\bonly (?:today|tonight|this week)\b"
)
"""Words that say that something holds for one case."""

_FORBIDS = any_case(
    r"\b(?:never|don't|do not|no|nobody|nothing|not|avoid|only|alone|untouched|without|except|stop|leave|forbidden|frozen|hands off|off[- ]limits|must|always|wait|before|until|unless|ask|under|below|above|over|every|all|each|need\w*|has to|have to|keep|at least|at most|max\w*|required|mandatory)\b"
)
"""Words of a rule that something could be allowed against."""

_EMPTY = frozenset(
    [
        "rule",
        "ban",
        "freez",
        "freeze",
        "embargo",
        "restriction",
        "constraint",
        "limit",
        "limitation",
        "requirement",
        "condition",
        "thing",
        "idea",
        "business",
        "part",
        "bit",
        "stuff",
        "policy",
        "decision",
        "plan",
        "choice",
        "note",
        "said",
        "noted",
        "decided",
        "agreed",
        "told",
        "wrote",
        "what",
        "want",
        "time",
        "now",
        "here",
        "one",
        "ones",
        "long",
        "ok",
        "team",
        "client",
        "customer",
        "everyone",
        "people",
        "old",
        "whole",
    ]
)
"""Stems that say nothing of what is meant."""
_DONE_NOUNS = any_case(
    r"\b(?:step|phase|task|next|current|sprint|milestone|until|till|while|during|before|for this|this (?:week|sprint|month)|temporary|temporarily|for now)\b"
)
"""Words of a statement that ends when something is done."""
_DONE = any_case(
    rf"{_LEAD}(?P<of>(?:the |our |my )?[^,;:!]{{2,60}}?)(?:{_BE}|{_HAVE})(?: been)?{_ADVERB} (?:done(?: and dusted)?|signed off|wrapped up|sorted|settled|in the bag|finished|completed?|ready|merged|shipped|live|back|answered|arrived|passed|over|through|released|approved|behind us)\b"
)
_PRONOUN = any_case(
    r"^(?:it|that|this|those|these|them|they|he|she|there|here|what|which|who|i|we|you|one|all|everything|nothing|something|work|things?)$"
)


_GENERIC = word_stems(
    "test file code run fix page data work build change add check look function error user project app thing issue system"
    " version new start stop write read set make update team day week time name list line part item point step"
)
"""Stems that half of all statements have: alone they name none."""

_CUES = any_case(
    rf"\b(?:{_OVER}|{_FINE}|no|not|longer|ended|expired|lapsed|fell|fallen|died|collapsed|ran|run|end|left|quit|resigned|stepped|moved|handed|any ?more|rip|throw|cut|take|leave|{_DROPS}|{_DROPPED}|may|can|could|might|allowed|free|need|needs|bother|back|again|go|after all|said|says|confirmed|told|agreed|too|overkill|an?|useless|fragile|won't|can't|cannot|doesn't|don't|didn't|isn't|turn(?:s|ed)|giving|causing|raised|nobody|no one|exception|exempt|cost|takes|costs|has|lacks?|got|failed|hates?|dislikes?|reject\w*|vetoed|refused?|against|complained|enough|never|ain't)\b"
)


class Ending(msgspec.Struct, frozen=True):
    """A standing statement that a sentence ends; with `doubt` it may be over, or `suspended` for one case."""

    statement: Statement
    doubt: bool = False
    suspended: bool = False
    behind: str = ""
    """What the sentence says behind that: it may name what takes the place."""


def find_endings(
    line: str, standing: Sequence[Statement], *, chosen_anew: bool, by_agent: bool = False
) -> Iterator[Ending]:
    """Yield what a sentence ends of that which stands.

    Something that is only turned down ("X is too slow") ends where something takes its place (`chosen_anew`). An agent
    (`by_agent`) says that something is over; it allows and turns down nothing.
    """
    if len(line) > MAX_REVERSAL or not standing or is_of_others(line) or not _CUES.search(line):
        return
    text = line.replace("’", "'").rstrip(" .!")
    if not _shares_a_subject(text, standing):
        return
    seen: set[Statement] = set()
    for kind, pattern in _patterns():
        if by_agent and kind not in ("over", "dropped"):
            continue
        if kind == "turned down" and not chosen_anew:
            continue
        match = pattern.search(text)
        if match is None or _PRONOUN.match(match["of"].strip()):
            continue
        ending = _ending(kind, match, text, standing)
        if ending is not None and ending.statement not in seen:
            seen.add(ending.statement)
            yield ending


def _shares_a_subject(text: str, standing: Sequence[Statement]) -> bool:
    """Whether a text has a word that tells of a standing statement: without one no part of it means any (`_meant`)."""
    stems, names = word_stems(text) - _GENERIC, names_in(text)
    return any(
        not stems.isdisjoint(word_stems(statement.text))
        or (names and not names.isdisjoint(names_in(statement.text) | word_stems(statement.text)))
        for statement in standing
    )


def _ending(kind: str, match: re.Match[str], text: str, standing: Sequence[Statement]) -> Ending | None:
    statement, is_sure = _meant(match["of"], kind, standing, names=names_in(text))
    if statement is None:
        return None
    if kind in ("allowed", "done after all"):
        if _EXCEPTS.search(text) or "exce" in match[0] or "exem" in match[0]:
            return Ending(statement, doubt=True, suspended=True)
        return Ending(statement, doubt=not is_sure)
    return Ending(statement, doubt=kind == "turned down" or not is_sure, behind=text[match.end() :].strip(" ,;:-–—."))


def _meant(
    subject: str, kind: str, standing: Sequence[Statement], names: frozenset[str] = frozenset()
) -> tuple[Statement | None, bool]:
    """The standing statement that a part of a sentence speaks of, the newest of the best, and whether that is sure."""
    stems_of_subject = word_stems(subject)
    wanted = (stems_of_subject - _EMPTY) or stems_of_subject
    names = names & {word.strip(".,") for word in subject.casefold().split()}
    by_noun = _SAID_OF.match(subject) is not None
    best: tuple[float, int, Statement | None, bool] = (0.0, 0, None, False)
    for place, statement in enumerate(standing):
        if kind == "allowed" and (
            statement.section not in ("constraints", "preferences") or not _FORBIDS.search(statement.text)
        ):
            continue
        stems = word_stems(statement.text)
        common = wanted & stems
        named = names & (names_in(statement.text) | stems)
        if not common and not named:
            continue
        size = max(len(wanted | names), 1)
        share = len(common | named) / size
        telling = (common - _GENERIC) | named
        # "The rule about X" names X whole; one word of a long statement may be said of something else.
        covers = len(common - _GENERIC) / max(len(stems - _EMPTY - _TOUCHES), 1)
        if (share < _MIN_SHARE and covers < _MIN_COVERED) or not telling:
            continue
        if len(common | named) == 1 and not named and len(stems) > _MAX_STEMS_OF_ONE:
            continue
        # "Travis is gone" may be said of a Travis of another kind.
        alone = bool(named) or covers >= 0.5
        is_sure = share == 1.0 and (len(common | named) > 1 or by_noun or (alone and kind != "over"))
        score = share + covers / 10
        if score >= best[0]:
            best = (score, place, statement, is_sure)
    return best[2], best[3]


_SAID_OF = any_case(
    r"^(?:the |that |our |my )?(?:rule|decision|note|constraint|restriction|preference|ban|limit|requirement|what (?:i|we) (?:said|noted|decided|wrote|agreed)) (?:on|about|of|for|against|to)\b"
)
"""A subject that says itself that it is something that stands."""
_MIN_SHARE = 0.6
"""The share of the words beside a word of ending that a statement has which is meant."""
_MIN_COVERED = 0.5
"""The share of a statement's words that may be said in other company: "common abbreviations are fine"."""
_TOUCHES = word_stems("touch change edit modify alter use go near leave alone work look keep")
"""Stems of what is forbidden with a whole thing."""
_MAX_STEMS_OF_ONE = 6
"""Stems of a statement that one common word may name."""


@cache  # compiled when something stands, not when the package is imported
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, any_case(pattern)) for kind, pattern in _ROWS)


def allows_it(line: str) -> bool:
    """Return whether a sentence allows something that only a pronoun names: "feel free to split it up"."""
    if len(line) > MAX_REVERSAL:
        return False
    return _ALLOWS_IT.search(line.replace("’", "'")) is not None


_ALLOWS_IT = any_case(
    r"\b(?:feel free to|(?:you|we|people|they|everybody|everyone) (?:may|can) (?:now |again )?(?:let |put |have |talk |speak )?(?:openly |freely )?(?:about |to |with )?(?=(?:it|them|that|this|those)\b[^?]* (?:now|through|go)\b)|(?:you|we) (?:may|can) (?:now |again )?|you're (?:allowed|free) to|(?:it's |it is )?(?:fine|ok|okay|allowed) (?:now )?to|go ahead and) ?(?:(?!see|find|read)\w+ )?(?:\w+ )?(?:it|them|that|this|those)\b(?! (?:in|at|under|on) )"
)


_BOUND = any_case(
    r"\b(?:(?:until|till|waiting for|wait for) (?!further|you\b|each\b|every\b|any\b|i say\b|notice\b)|before (?=(?:he|she|they|i|we|the \w+(?: \w+)?|my \w+|our \w+|[A-Z]\w+)(?:['’](?:s|ve)| has| have| had| is| are) ))(?P<what>[^,;.]{3,80})"
)
"""What a statement waits for: it holds until then."""

_HAPPENED = any_case(
    r"\b(?:has|have|had|'s|'ve) (?:\w+ )?(?:been|come|gone|read|said|sent|left|given|had|seen|made|got|done|begun|\w{2,}ed|\w{2,}wn)\b"
    r"|\b(?:is|are|'s|'re|was|were) (?:now |finally |all |both |up and )*(?:in|here|there|back|over|done|through|out|up|ready|finished|completed?|connected|gone|live|running|noon|midnight|\w{2,}ed)\b"
    r"|^(?:(?:the|our|my|his|her|all|both) )?(?:[\w'-]+ ){0,4}(?:signed|came|read|arrived|left|said|went|gave|got|sent|paid|passed|\w{2,}(?:[^e]|e[^e])ed)\b"
)
"""How somebody tells that something has happened."""

_NOT_YET = any_case(
    r"\b(?:will|won't|tomorrow|next|not|n't|never|no|yet|almost|nearly|soon|(?:\d+|one|two|three|some|half|most|few) of|so far|once|when|if|until|unless|should|hopefully|try|hard to|maybe|still|asked|wants?|waiting)\b|n't\b|\?"
)


def released_by(line: str, standing: Sequence[Statement]) -> Statement | None:
    """Return the statement that was to hold until something that a sentence tells to have happened: of "No prices until the
    list is approved", "the boss signed the list this morning"."""
    text = line.replace("’", "'").rstrip(" .!")
    if len(text) > MAX_REVERSAL or _HAPPENED.search(text) is None or _NOT_YET.search(text):
        return None
    stems, lower = word_stems(text.replace("'s ", " ")), f" {text.casefold()} "
    for statement in reversed(standing):
        bound = _BOUND.search(statement.text)
        if bound is None:
            continue
        awaited = bound["what"].casefold()
        subject = " ".join(awaited.split()[: 2 if awaited.startswith(("the ", "my ", "our ")) else 1])
        if (word_stems(awaited) - _EMPTY - _GENERIC) & stems:
            return statement
        # "before she has read it" and "she has read it": the same of the same, in words that say little
        if word_stems(awaited) & stems and f" {subject} " in lower:
            return statement
    return None


def finished_by(line: str, standing: Sequence[Statement]) -> Statement | None:
    """Return the statement that was to hold until what a sentence tells to be done: "the audit is through"."""
    match = _DONE.search(line.replace("’", "'").rstrip(" .!")) if len(line) <= MAX_REVERSAL else None
    if match is None or _PRONOUN.match(match["of"].strip()):
        return None
    bound = [statement for statement in standing if _DONE_NOUNS.search(statement.text)]
    return _meant(match["of"], "over", bound)[0]


def allowed_after_all(line: str, standing: Sequence[Statement]) -> Ending | None:
    """Return the rule that forbids what a sentence orders: `actually, do update the footer`."""
    text = _ORDER_LEAD.sub("", line.replace("’", "'").rstrip(" .!"))
    words = text.split()
    if not words or words[0].casefold().strip(",") not in VERBS or _DENIES.search(text) or len(line) > MAX_REVERSAL:
        return None
    stems, verb = word_stems(text), word_stems(words[0])
    turned = bool(_TURNS_ORDER.search(line))
    is_exception = bool(_EXCEPTS.search(line))
    for statement in reversed(standing):
        if statement.section not in ("constraints", "preferences") or not _PROHIBITS.search(statement.text):
            continue
        if _ADDS.search(line) and _EXCLUDES.search(statement.text) and stems & word_stems(statement.text) - _GENERIC:
            return Ending(statement, doubt=True)
        theirs = word_stems(statement.text) - _EMPTY
        common = stems & theirs
        telling = common - _GENERIC
        thing = theirs - _TOUCHES
        if thing and thing <= stems and _TOUCHED.search(statement.text) and words[0].casefold() not in _LOOKS:
            return Ending(statement, doubt=True, suspended=is_exception)
        if not telling:
            continue
        if is_exception and (len(common) >= min(2, len(theirs)) or (verb and verb <= theirs)):
            return Ending(statement, doubt=True, suspended=True)
        if turned or (len(theirs) > 1 and common == theirs):
            return Ending(statement, doubt=True)
    return None


_ORDER_LEAD = any_case(
    r"^(?:(?:actually|please|ok(?:ay)?|well|hm+|no|oh|now|on second thoughts?|so|but|and|just(?: this)?(?: once)?|time to [^:,]{3,30}|this once|for (?:this|once)(?: \w+)?|you know what|today|right)[,.:]* |do (?=[a-z]+ ))+"
)
_DENIES = any_case(r"\b(?:never|don't|do not|not|no|without|avoid)\b")
_TURNS_ORDER = any_case(
    r"^(?:actually|on second|ok(?:ay)?,? do|well,? do|no,? do|please do)\b|\b(?:after all|anyway|do \w+ (?:the|it))\b|^do "
)
_TOUCHED = any_case(
    r"\b(?:don't|do not|never|not|nobody) (?:ever )?(?:touch|change|edit|modify|alter|go near)\b|\b(?:alone|untouched|unchanged|hands off|as (?:it|they) (?:is|are))\b"
)
_LOOKS = frozenset("look read show check list open print compare see explain describe keep leave".split())  # noqa: SIM905
_ADDS = any_case(r"\b(?:too|as well|also|in addition)\b")
_EXCLUDES = any_case(r"\b(?:only|nobody else|no one else|nothing else|nowhere else)\b")
_PROHIBITS = any_case(
    r"\b(?:only|nobody else|no one else|nothing else|never|don't|do not|no|nobody|nothing|not|avoid|alone|untouched|without|stop|forbidden|frozen|hands off|off[- ]limits|unchanged)\b"
)


def turns_back(text: str) -> bool:
    """Return whether somebody turns from what he said before."""
    return _TURN.search(text.replace("’", "'")) is not None


def excepts_one_case(text: str) -> bool:
    """Return whether what is said holds for one case."""
    return _EXCEPTS.search(text) is not None


_CLOSED = any_case(
    r"\b(?:closed(?: for good)?|nothing (?:more|else|left) to (?:do|change)|(?:is|are|'s) (?:now )?(?:done|finished|complete|final)|(?:done|finished|through) with)\b"
)
_FILE_NOUNS = any_case(
    r"\b(?:files?|pages?|modules?|scripts?|documents?|chapters?|runbooks?|configs?|guides?|manifests?)\b"
)


def find_closed_files(message: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of files that a message says are closed: by name ("report.md is finished"), or, with a noun for
    it, by the first part of the name ("the file of report is closed"). A name that several have closes none."""
    closed: list[str] = []
    for sentence in split_sentences(message) if paths and _CLOSED.search(message) else ():
        line = sentence.text
        if sentence.asks or len(line) > MAX_REVERSAL or not _CLOSED.search(line) or _NOT_CLOSED.search(line):
            continue
        words = {word.strip(".,;:!()`'\"").casefold() for word in line.split()}
        by_noun = _FILE_NOUNS.search(line) is not None
        meant = [path for path in paths if _is_named(path.casefold(), words, by_noun=by_noun)]
        closed += meant if len(meant) == 1 else []
    return tuple(dict.fromkeys(closed))


_NOT_CLOSED = any_case(r"\b(?:not|isn't|aren't|almost|nearly|when|if|once|until|before|as soon as)\b")


def _is_named(path: str, words: set[str], *, by_noun: bool) -> bool:
    name = path.rpartition("/")[2]
    stem = name.partition(".")[0]
    if path in words or ("." in name and name in words):
        return True
    parts = {stem, *stem.split("_"), *stem.split("-")}
    return by_noun and any(part in words for part in parts if len(part) >= _MIN_STEM and part not in _COMMON_STEMS)


_MIN_STEM = 4
_COMMON_STEMS = frozenset(
    "index main test tests utils helper helpers case cases file page module script config readme".split()  # noqa: SIM905
)


# -- rules that are taken back ---------------------------------------------------------------------------------
# A sentence that fits a row of the table names a subject ("you may push to main now": push, main). Of the rules that
# stand, the one that shares most of that subject's words is taken back, where the share is large enough for the row.

_RULE = r"(?:rules?|constraints?|restrictions?|requirements?|ban|freeze|limits?|limitations?|conditions?|regel)"
_WITHDRAW = r"(?:forget|drop|scrap|scratch|ignore|disregard|cancel|lift|remove|revoke|waive|never mind|vergiss)"

_WITHDRAWALS: tuple[tuple[str, float], ...] = (
    (r"\b(?:forget|scrap|scratch) (?:about )?(?:the |my )(?P<of>[^,;]+?)(?:$|[,;])", 0.6),
    (r"\bdrop (?:the |my )(?P<of2>[^,;]+?)(?:$|[,;])", 0.6),
    (
        r"^(?P<of>[^,;]+?) (?:is|are) no longer (?:a |an |any )?(?:rule|constraint|requirement|problem|concern|issue|must|forbidden|off|necessary|needed|required|relevant|valid|in force|true)",
        0.4,
    ),
    (r"\bno need (?:to|for) (?P<of>[^,;]+?) (?:any ?more|any longer|now)", 0.5),
    (r"\b(?:i take back|taking back) (?P<of>[^,;]+)", 0.5),
    (r"\bgo ahead and (?P<of>[^,;]+)", 0.6),
    (r"\b(?P<of>[^,;:?]{1,120})\? (?:forget|drop|scrap) (?:it|that)\b", 0.5),
    (r"\b(?:now|so) (?:you|we) (?:may|can) (?P<of>[^,;:]+?)(?: too| as well| again)?$", 0.5),
    (
        r"^(?P<of>[^,;]+?) (?:is|are) (?:fine|ok|okay|allowed|permitted|welcome)(?: \w+ \w+ \w+)?,? (?:too|as well|also)$",
        0.5,
    ),
    (r"\b(?:forget|scratch|scrap) (?:about )?(?:the )?(?P<of>[^,;]+?) (?:thing|rule|idea|business|part)\b", 0.5),
    (rf"\babout (?P<of>[^:,;]+)[:,] (?:please )?{_WITHDRAW} (?:that|it|this|them)\b(?! {_RULE} for)", 0.5),
    (
        rf"\b{_RULE} (?:of|on|about|for|that|against) (?P<of>[^\s,;:][^,;:]*?) (?:no longer|does(?: not|n't)|is (?:now )?(?:over|lifted|gone"
        r"|void|off|obsolete|dropped|history|withdrawn|cancelled|suspended)|has been (?:lifted|dropped|withdrawn))",
        0.3,
    ),
    (
        rf"\b{_WITHDRAW} (?:the |that |my |this )?{_RULE}(?: (?:about|on|against|of|regarding|concerning|that|with|über)) (?P<of>.+)",
        0.3,
    ),
    (rf"\b{_WITHDRAW} (?:the |that |my |this )(?P<of>[^,;]+?) {_RULE}(?! for\b)\b", 0.3),
    (
        rf"\b{_WITHDRAW} (?:what (?:i|we) (?:said|wrote|asked)|everything|all) (?:about|on|regarding|concerning) (?P<of>[^,;]+)",
        0.3,
    ),
    (rf"\b{_WITHDRAW} about (?P<of>[^,;]+)", 0.5),
    (
        r"\bforget (?!to\b|that\b|it\b|this\b)(?:the |my )?(?P<of>[^,;]+?) (?:altogether|again|completely|entirely|now)\b",
        0.5,
    ),
    (
        rf"(?:\bthe )?(?P<of>[^\s,;:][^,;:]*?) {_RULE} (?:no longer|does(?: not|n't)|is (?:now )?(?:over|lifted|gone|void|off|obsolete|dropped"
        r"|history|withdrawn|cancelled|suspended)|has been (?:lifted|dropped|withdrawn))",
        0.3,
    ),
    (r"\b(?:you|we|i) (?:may|can) (?:now|again) (?P<of>[^;]+)", 0.5),
    (
        r"\b(?:it(?:'s| is)|you(?:'re| are)|we(?:'re| are)) (?:now |again |also )*(?:allowed|permitted|free|ok(?:ay)?|fine|possible|welcome|at liberty|cleared|authori[sz]ed)(?: again| now)?(?: to| for you to| if you) (?P<of>[^;,]+)",
        0.5,
    ),
    (
        r"(?:^|[,:;] )(?P<of>[^,;:]+?) (?:may|can) (?:now |again )?be \w+(?: \w+){0,3}? (?:now|again|after all)\b",
        0.5,
    ),
    (
        r"(?:^|[,:;] )(?:(?:and|so|ok|okay|also|kk),? )*(?:about |as for )?(?:the |that |your |my )?(?P<of>[^,;:]+?)(?: (?:rule|thing|ban|freeze|limit|restriction|business|bit|part|stuff))?[:,]? (?:it |that |this )?(?:no longer|does(?:n't| not)|do(?:n't| not)|isn't|is not|is no longer|aren't|are not) (?:appl(?:y|ies)|matters?|holds?|count|relevant|needed|necessary|an issue|a problem|required|in force|valid|true|a thing)(?: any ?more| any longer| now)?\b",
        0.5,
    ),
    (
        r"\b(?:changed|change|changes) (?:my|our|her|his|their) minds?(?: on| about)?[:,] (?:the )?(?P<of>[^,;:]+?) (?:is|are) (?:\w+ )?(?:fine|ok(?:ay)?|allowed|all right|permitted|welcome)\b",
        0.4,
    ),
    (
        r"\b(?:needn't|need not|don't have to|do not have to|don't need to) (?P<of>[^,;]+?) any ?(?:more|longer)\b",
        0.4,
    ),
    (r"(?:^|[,;:] )(?:and |so |but |then )*(?P<of>[^,;:]+? (?:may|can) [^,;:]+?) (?:again|after all)\b", 0.5),
    (
        rf"^(?P<of>.+?)[,:;] (?:so |and |but )*(?:that|this|the) {_RULE} (?:is|has been|was|no longer|does(?:n't| not)) (?:now )?(?:off|lifted|gone|over|history|void|moot|dropped|obsolete|appl\w+|hold\w*|withdrawn|dead)\b",
        0.5,
    ),
    (r"(?:^|[,;:] )(?:and |so |but |then |now )*(?:you|we) (?:may|can) (?:now )?(?P<of2>[^,;:]+)$", 0.6),
    (
        r"(?:^|[,;:] )(?:and |so |but |then |now )*(?P<of2>[^,;:]+? (?:may|can) (?:be )?\w+(?: \w+){0,3}?)(?: now)?(?: \([^()]*\))?$",
        0.6,
    ),
    (
        r"(?:^|[,;:] )(?:and |so |but |then |now )*(?:the |our |my )?(?P<of>[^,;:]+?) (?:is|are) (?:free|open|available|unlocked|released|fair game|up for grabs) (?:again|now)\b",
        0.5,
    ),
    (
        r"^(?:it's |it is )?(?:now )?(?:ok(?:ay)?|fine|allowed|permitted) to (?P<of2>[^,;:]+?)(?: from now on| again| now)?(?:$|,)",
        0.6,
    ),
    (
        rf"\b(?:lifted|waived|relaxed|revoked|withdrawn|withdrew|dropped|cancell?ed|removed|suspended) (?:the |that |our |their |this )?(?P<of>[^,;:]+?) {_RULE}\b",
        0.4,
    ),
    (r"\b(?P<of>[^,;:]+?) (?:is|are) all right (?:again|now|after all)\b", 0.5),
    (
        r"\b(?:the |our |my |your )?(?P<of>[^,;:]+?) (?:rule|ban|freeze|restriction|limit|embargo|moratorium) (?:is|are|was|has been|have been|got) (?:now |just |finally )?(?:over|lifted|gone|off|dropped|relaxed|removed|ended|history|cancelled|canceled|waived|revoked|withdrawn)\b",
        0.4,
    ),
    (
        r"\b(?:i|we) (?:now |hereby )?(?:lift|waive|relax|revoke|withdraw|drop|retract|cancel) (?:the |my |our )?(?P<of>[^,;]+)",
        0.5,
    ),
    (
        r"\b(?:i|we)(?:'m| am|'re| are) (?:now )?(?:fine|ok(?:ay)?|good) with (?P<of>[^,;]+?) (?:now|again|after all)\b",
        0.5,
    ),
    (r"\b(?:you|we|i) (?:may|can) (?P<of>[^;]+?) (?:now|again|after all)\b", 0.5),
    (r"\b(?:you|we)(?: are|'re) (?:now |again )?allowed to (?P<of>[^;]+)", 0.5),
    (r"\bfeel free to (?P<of>[^;]+?) (?:now|again|after all)\b", 0.5),
    (
        r"(?:^|[,:] )(?:(?:and|so|ok|okay|also),? )*(?P<of>[^,;]+?) (?:is|are) (?:now |again )?(?:ok|okay|fine|allowed|permitted|welcome|possible|free|open|back|available|fair game|unlocked|released)(?: to \w+)?"
        r" (?:now|again|after all)",
        0.5,
    ),
    (
        r"(?:^|[,:] )(?:(?:and|so|ok|okay|also),? )*(?P<of>[^,;]+?) (?:is|are) (?:now|again) (?:ok|okay|fine|allowed|permitted)",
        0.5,
    ),
    (r"^(?P<of>[^,;]+?) (?:may|can) be \w+(?: \w+){0,3} (?:now|again)", 0.5),
    (
        r"\b(?:no longer (?:need|have|has|needs) to|(?:don't|do not|doesn't) (?:need|have) to|need not|needn't) (?P<of>[^;]+?)"
        r"(?: (?:any ?more|any longer|now))",
        0.5,
    ),
    (r"\bno longer (?:need|have|has|needs) to (?P<of>[^;]+)", 0.5),
    (r"\b(?:you|we) no longer (?:need|require) (?P<of>[^;]+)", 0.5),
    (r"^(?P<of>[^,;]+?) (?:no longer|not) (?:appl(?:y|ies)|hold|holds|matters?)\b", 0.5),
)
"""How a rule is taken back, and the share of the named subject that the rule must have in common with it. A group
`of` names the subject; where it is `of2`, the words say little, and two of them must be in the rule."""

_MAX_WITHDRAWAL = 240
"""Characters of a sentence that takes something back: a longer one tells a story."""

_LAST_RULE = any_case(rf"\b{_WITHDRAW} (?:that|this|the last|my last) {_RULE}\s*(?:[,.!]|$|again|altogether)")


def find_withdrawals(sentences: Sequence[Sentence], rules: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return which of the standing rules these sentences take back, each with the index of the sentence."""
    standing = list(rules)
    withdrawals = []
    for index, sentence in enumerate(sentences):
        for rule in withdrawn_by(sentence, standing):
            standing.remove(rule)
            withdrawals.append((rule, index))
    return tuple(withdrawals)


def withdrawn_by(sentence: Sentence, rules: Sequence[str]) -> Iterator[str]:
    """Yield which of the standing texts a sentence takes back by name."""
    if not rules or len(sentence.text) > _MAX_WITHDRAWAL or not _TAKES_BACK.search(sentence.text):
        return
    if is_question(sentence) or is_supposition(sentence.bare):
        return
    text = sentence.text.rstrip(".! ")
    stems = subject_stems(text)
    is_named = any(not stems.isdisjoint(subject_stems(rule)) for rule in rules)
    for pattern, min_share in _withdrawal_patterns() if is_named else ():
        match = pattern.search(text)
        groups = match.groupdict() if match else {}
        subject = groups.get("of") or groups.get("of2") or ""
        if re.match(r"(?i)(?:that|this|the)?\s*$", subject):
            continue
        rule = _nearest(subject, rules, min_share, min_words=2 if "of2" in groups else 1)
        if rule is not None:
            yield rule
            return
    if _LAST_RULE.search(sentence.text):
        yield rules[-1]


_TAKES_BACK = any_case(
    r"\b(?:forget|vergiss|drop\w*|scrap|scratch|ignore|disregard|cancel\w*|lift\w*|remove[ds]?|revoke[ds]?|waive[ds]?|never mind|no longer|any ?more|any longer|no need|needn['’]?t|need not|have to|need to|take back|taking back|go ahead"
    r"|may|can|allowed|permitted|free|ok(?:ay)?|fine|all right|good with|welcome|possible|liberty|cleared|authori[sz]ed|appl(?:y|ies)|matters?|holds?|counts?|relevant|necessary|required|valid|true|in force|an? (?:issue|problem|thing)|chang(?:ed?|es) \w+ minds?"
    r"|over|gone|off|void|moot|history|dead|obsolete|open|available|unlocked|released|fair game|up for grabs|relax(?:ed)?|withdraw\w*|withdrew|suspended|retract|ended|require)\b"
)
"""Words of which one is in each row of the table: most sentences have none."""


@cache  # compiled when a first rule stands, not when the package is imported
def _withdrawal_patterns() -> tuple[tuple[re.Pattern[str], float], ...]:
    return tuple((any_case(pattern), min_share) for pattern, min_share in _WITHDRAWALS)


def _nearest(subject: str, rules: Sequence[str], min_share: float, *, min_words: int) -> str | None:
    """The rule that is about a subject; the newer one of two."""
    wanted = subject_stems(subject)
    stems = [subject_stems(rule) for rule in rules]
    scores = [(overlap(wanted, words), len(wanted & words), index) for index, words in enumerate(stems)]
    share, common_words, nearest = max(scores, default=(0.0, 0, 0))
    return rules[nearest] if share >= min_share and common_words >= min_words else None
