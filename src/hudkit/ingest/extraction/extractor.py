"""What a message brings: new rules, rules taken back, decisions and those that they replace."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from hudkit.ingest.extraction import decisions as alternatives
from hudkit.ingest.extraction.decisions import AnnouncedDecision, find_decisions
from hudkit.ingest.extraction.imperatives import StatedRule, find_rules
from hudkit.ingest.extraction.prose import Sentence, normalized_text, overlap, split_sentences, subject_stems
from hudkit.ingest.extraction.withdrawals import find_withdrawals

MAX_STATEMENTS = 12
"""Rules, and decisions, of one message: more is a document, not a demand."""

RECENT_MESSAGES = 3
"""Messages back to which a reversal that names nothing can reach."""


_INSTEAD = re.compile(r"^(?:please )?(?:use|take|do|write|say) [^,;]+ instead\W*$")
"""The other half of a rule: "no names; use roles instead"."""


class KnownStatements(msgspec.Struct, frozen=True, omit_defaults=True):
    """The texts of the rules and of the decisions that stand, the newest last."""

    rules: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    recent: tuple[tuple[str, ...], ...] = ()
    """The decisions of the last messages that said something."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Alternatives that were named: one or the other."""


class Extracted(msgspec.Struct, frozen=True):
    """What a message brings: `lifted` are live rules that it takes back, `rules` new ones."""

    lifted: tuple[str, ...] = ()
    rules: tuple[StatedRule, ...] = ()
    decisions: tuple[AnnouncedDecision, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lifted or self.rules or self.decisions)


def extract(message: str, held: KnownStatements, *, by_agent: bool = False) -> tuple[Extracted, KnownStatements]:
    """What a message says, and what stands after it. An agent only announces decisions: it states no rules."""
    said = split_sentences(message)
    gone = () if by_agent else find_withdrawals(said, held.rules)
    taken = {place for _, place in gone}
    left = [rule for rule in held.rules if rule not in {text for text, _ in gone}]
    rest = tuple(sentence for n, sentence in enumerate(said) if n not in taken)
    stated = () if by_agent else find_rules(rest)
    new: list[StatedRule] = []
    for rule in stated:
        if not any(_same_rule(rule.text, each) for each in (*left, *(one.text for one in new))):
            new.append(rule)
        if len(new) > MAX_STATEMENTS:
            break
    if len(new) > MAX_STATEMENTS:
        new = []
    pairs = (*held.pairs, *alternatives.find_alternatives(said))[-alternatives.MAX_PAIRS :]
    announced = find_decisions(
        _unruled(rest, [rule.text for rule in stated]),
        held.decided,
        by_agent=by_agent,
        message=" ".join(one.bare for one in said),
        recent=[each for some in held.recent for each in some],
        just=held.recent[-1] if held.recent else (),
        pairs=pairs,
    )
    announced = announced if len(announced) <= MAX_STATEMENTS else ()
    old = {each for one in announced for each in one.replaces}
    decided = (*(each for each in held.decided if each not in old), *(one.summary for one in announced))
    news = Extracted(tuple(text for text, _ in gone), tuple(new), announced)
    recent = (*held.recent, tuple(one.summary for one in announced))[-RECENT_MESSAGES:]
    return news, KnownStatements((*left, *(one.text for one in new)), tuple(decided), recent, pairs)


def _unruled(said: Sequence[Sentence], rules: Sequence[str]) -> tuple[Sentence, ...]:
    """What the sentences say beside the rules in them."""
    texts = list(dict.fromkeys(rule.rstrip("…").rpartition("; ")[2] for rule in rules))
    left: list[Sentence] = []
    ruled = -1
    for one in said:
        rest = _before(one, texts)
        if rest.text != one.text:
            ruled = one.block
        if rest.text and not (one.block == ruled and _INSTEAD.match(one.bare)):
            left.append(rest)
    return tuple(left)


def _before(sentence: Sentence, texts: Sequence[str]) -> Sentence:
    cut = min((at for text in texts if (at := sentence.text.find(text)) >= 0), default=len(sentence.text))
    return msgspec.structs.replace(sentence, text=sentence.text[:cut], bare=sentence.bare[:cut])


def _same_rule(a: str, b: str) -> bool:
    if normalized_text(a) == normalized_text(b):
        return True
    one, two = subject_stems(a), subject_stems(b)
    return len(one) > 2 and one == two and overlap(one, two) == 1.0
