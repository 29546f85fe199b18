"""Rules that a user takes back: "forget the rule about ...", "you may ... again".

A sentence that fits a row of the table names a subject. Of the rules that stand, the one that shares most of that
subject's words is taken back, where that is enough. For example, with the rules `never push to main` and `always use
tabs`, "you may push to main now" names the subject {push, main}: all of it is in the first rule, which is taken back.
"""

# ruff: noqa: E501, ISC004 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from hudkit.ingest.extraction.hedging import is_question, is_supposition
from hudkit.ingest.extraction.prose import Sentence, overlap, subject_stems

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


def find_withdrawals(sentences: Sequence[Sentence], rules: Sequence[str]) -> tuple[tuple[str, int], ...]:
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
