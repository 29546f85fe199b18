"""What one message states: new rules, rules that are taken back, decisions and those that they replace.

The user's words are read in an order in which nothing counts twice: a sentence that takes a rule back states none,
and what is stated as a rule is not also a decision. An agent only announces decisions; the rules are the user's.

For example, with the rule `never push to main` standing, the user's message "You may push to main now. Always use
tabs. Let's go with Redis." takes that rule back, states `Always use tabs`, and announces `Let's go with Redis`.
"""

# ruff: noqa: E501, ISC004 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import msgspec

from hudkit.ingest.extraction.decisions import (
    MAX_PAIRS,
    AnnouncedDecision,
    DecisionContext,
    find_alternatives,
    find_decisions,
)
from hudkit.ingest.extraction.hedging import is_question, is_supposition
from hudkit.ingest.extraction.imperatives import StatedRule, find_rules
from hudkit.ingest.extraction.prose import Sentence, normalized_text, overlap, split_sentences, subject_stems

_MAX_STATEMENTS = 12
"""Rules, and decisions, of one message: more is a document that was pasted, not a demand. Then none counts."""

_RECENT_MESSAGES = 3
"""Messages back to which a reversal that names nothing can reach."""

_INSTEAD = re.compile(r"^(?:please )?(?:use|take|do|write|say) [^,;]+ instead\W*$")
"""The other half of a rule: "no names; use roles instead"."""


class KnownStatements(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands before a message: the texts of the rules and of the decisions, the newest last."""

    rules: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    recent: tuple[tuple[str, ...], ...] = ()
    """The decisions of the last messages, one tuple a message."""
    alternatives: tuple[tuple[str, str], ...] = ()
    """Names that were offered as one or the other."""


class Extracted(msgspec.Struct, frozen=True):
    """What a message states; `withdrawn` are the standing rules that it takes back."""

    withdrawn: tuple[str, ...] = ()
    rules: tuple[StatedRule, ...] = ()
    decisions: tuple[AnnouncedDecision, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.withdrawn or self.rules or self.decisions)


def extract(message: str, standing: KnownStatements, *, by_agent: bool = False) -> tuple[Extracted, KnownStatements]:
    """Return what a message states, and what stands after it. Pure; `by_agent`: the agent wrote it."""
    sentences = split_sentences(message)
    withdrawals = () if by_agent else _find_withdrawals(sentences, standing.rules)
    withdrawn = tuple(rule for rule, _ in withdrawals)
    withdrawing = {index for _, index in withdrawals}
    rest = tuple(sentence for index, sentence in enumerate(sentences) if index not in withdrawing)
    left = [rule for rule in standing.rules if rule not in withdrawn]
    stated = () if by_agent else find_rules(rest)
    rules = _new_rules(stated, left)
    alternatives = (*standing.alternatives, *find_alternatives(sentences))[-MAX_PAIRS:]
    context = DecisionContext(
        standing=standing.decisions,
        by_agent=by_agent,
        message=" ".join(sentence.bare for sentence in sentences),
        recent=tuple(summary for summaries in standing.recent for summary in summaries),
        just_before=standing.recent[-1] if standing.recent else (),
        alternatives=alternatives,
    )
    decisions = find_decisions(_without_rules(rest, [rule.text for rule in stated]), context)
    if len(decisions) > _MAX_STATEMENTS:
        decisions = ()
    summaries = tuple(decision.summary for decision in decisions)
    replaced = {summary for decision in decisions for summary in decision.replaces}
    after = KnownStatements(
        rules=(*left, *(rule.text for rule in rules)),
        decisions=(*(summary for summary in standing.decisions if summary not in replaced), *summaries),
        recent=(*standing.recent, summaries)[-_RECENT_MESSAGES:],
        alternatives=alternatives,
    )
    return Extracted(withdrawn, rules, decisions), after


def _new_rules(stated: Iterable[StatedRule], standing: Sequence[str]) -> tuple[StatedRule, ...]:
    """Those that do not stand yet, each once."""
    rules: list[StatedRule] = []
    for rule in stated:
        texts = (*standing, *(other.text for other in rules))
        if not any(_same_rule(rule.text, text) for text in texts):
            rules.append(rule)
        if len(rules) > _MAX_STATEMENTS:
            return ()
    return tuple(rules)


def _without_rules(sentences: Sequence[Sentence], rules: Sequence[str]) -> tuple[Sentence, ...]:
    """What the sentences say beside the rules in them."""
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


def _same_rule(first: str, second: str) -> bool:
    if normalized_text(first) == normalized_text(second):
        return True
    stems = subject_stems(first)
    return len(stems) > 2 and stems == subject_stems(second)  # two words alone make many rules


# -- rules that are taken back ---------------------------------------------------------------------------------
# A sentence that fits a row of the table names a subject ("you may push to main now": push, main). Of the rules that
# stand, the one that shares most of that subject's words is taken back, where the share is large enough for the row.

_RULE = r"(?:rules?|constraints?|restrictions?|requirements?|ban|freeze|limits?|limitations?|conditions?|regel)"
_WITHDRAW = r"(?:forget|drop|scrap|scratch|ignore|disregard|cancel|lift|remove|revoke|waive|never mind|vergiss)"

_WITHDRAWALS: tuple[tuple[str, float], ...] = (
    (r"\b(?:forget|scrap|scratch|drop) (?:about )?(?:the |my )(?P<of>[^,;]+?)(?:$|[,;])", 0.6),
    (
        r"^(?P<of>[^,;]+?) (?:is|are) no longer (?:a |an |any )?(?:rule|constraint|requirement|problem|concern|issue|must|forbidden|off|necessary|needed|required|relevant|valid|in force|true)",
        0.4,
    ),
    (r"\bno need (?:to|for) (?P<of>[^,;]+?) (?:any ?more|any longer|now)", 0.5),
    (r"\b(?:i take back|taking back) (?P<of>[^,;]+)", 0.5),
    (r"\bgo ahead and (?P<of>[^,;]+)", 0.6),
    (r"\b(?P<of>[^,;:]+)\? (?:forget|drop|scrap) (?:it|that)\b", 0.5),
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

_LAST_RULE = re.compile(rf"(?i)\b{_WITHDRAW} (?:that|this|the last|my last) {_RULE}\s*(?:[,.!]|$|again|altogether)")


def _find_withdrawals(sentences: Sequence[Sentence], rules: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return which of the standing rules these sentences take back, each with the index of the sentence."""
    standing = list(rules)
    withdrawals = []
    for index, sentence in enumerate(sentences):
        for rule in _withdrawn(sentence, standing):
            standing.remove(rule)
            withdrawals.append((rule, index))
    return tuple(withdrawals)


def _withdrawn(sentence: Sentence, rules: Sequence[str]) -> Iterator[str]:
    if not rules or is_question(sentence) or is_supposition(sentence.bare):
        return
    for pattern, min_share in _patterns():
        match = pattern.search(sentence.text.rstrip(".! "))
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


@cache  # compiled when a first rule stands, not when the package is imported
def _patterns() -> tuple[tuple[re.Pattern[str], float], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), min_share) for pattern, min_share in _WITHDRAWALS)


def _nearest(subject: str, rules: Sequence[str], min_share: float, *, min_words: int) -> str | None:
    """The rule that is about a subject; the newer one of two."""
    wanted = subject_stems(subject)
    stems = [subject_stems(rule) for rule in rules]
    scores = [(overlap(wanted, words), len(wanted & words), index) for index, words in enumerate(stems)]
    share, common_words, nearest = max(scores, default=(0.0, 0, 0))
    return rules[nearest] if share >= min_share and common_words >= min_words else None
