"""What one message states: new rules, rules that are taken back, decisions and those that they replace.

The user's words are read in an order in which nothing counts twice: a sentence that takes a rule back states none,
and what is stated as a rule is not also a decision. An agent only announces decisions; the rules are the user's.

For example, with the rule `never push to main` standing, the user's message "You may push to main now. Always use
tabs. Let's go with Redis." takes that rule back, states `Always use tabs`, and announces `Let's go with Redis`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from hudkit.ingest.extraction.decisions import (
    MAX_PAIRS,
    AnnouncedDecision,
    DecisionContext,
    find_alternatives,
    find_decisions,
)
from hudkit.ingest.extraction.imperatives import StatedRule, find_rules
from hudkit.ingest.extraction.prose import Sentence, normalized_text, split_sentences, subject_stems
from hudkit.ingest.extraction.withdrawals import find_withdrawals

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
    withdrawals = () if by_agent else find_withdrawals(sentences, standing.rules)
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
