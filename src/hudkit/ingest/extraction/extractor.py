"""What one message states: rules, preferences, decisions and facts that are new, and what it ends of those that stand.

The user's words are read in an order in which nothing counts twice: an answer to what the agent asked, an exception for
one case, what is taken back, preferences, rules, decisions, facts. Then each new statement is held against those that
stand (`conflicts`), and what is left of the sentences may put one in doubt. An agent only announces decisions, and
leaves an offer behind; rules, preferences and facts are the user's.

For example, with the rule `never push to main` standing, the user's message "You may push to main now. Always use
tabs. Let's go with Redis." takes that rule back, states `Always use tabs`, and announces `Let's go with Redis`.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.clause_grammar import read_sentence
from hudkit.ingest.extraction.conflicts import (
    SECTIONS,
    Statement,
    about,
    doubted_by,
    ended_by,
    is_echo,
    is_of_another,
    is_of_another_part,
    objected_to,
    rejected_by,
    suspended_by,
)
from hudkit.ingest.extraction.decisions import (
    MAX_PAIRS,
    MAX_SUMMARY,
    AnnouncedDecision,
    DecisionContext,
    find_alternatives,
    find_decisions,
    with_what_it_is_of,
)
from hudkit.ingest.extraction.dialogue import Answer, Offer, find_answer, find_offer
from hudkit.ingest.extraction.hedging import is_question, is_supposition
from hudkit.ingest.extraction.imperatives import MAX_RULE, StatedRule, announces_rules, find_rules
from hudkit.ingest.extraction.in_its_place import in_context, said_in_place
from hudkit.ingest.extraction.lasting import (
    Place,
    are_one,
    belief,
    insists,
    is_errand,
    is_of_the_moment,
    is_part_of,
    own_sentences,
    prefers_a_way,
    read_lasting,
    whole_rules,
    with_referent,
    without_lead,
)
from hudkit.ingest.extraction.lexicon import rivals_in, with_rival
from hudkit.ingest.extraction.preferences import find_preferences
from hudkit.ingest.extraction.prose import LABEL, Sentence, line_of, normalized_text, split_sentences
from hudkit.ingest.extraction.reversals import (
    Ending,
    allowed_after_all,
    allows_it,
    find_endings,
    find_withdrawals,
    finished_by,
    released_by,
    turns_back,
    withdrawn_by,
)
from hudkit.ingest.extraction.rule_forms import is_same_rule, says_again, without_rules
from hudkit.ingest.extraction.sentence_judge import JudgedSentences, SentenceJudge
from hudkit.ingest.extraction.stated_facts import find_facts, says_where_work_stands
from hudkit.ingest.extraction.topic_endings import (
    LIKELY_OVER,
    MOST_OVER,
    NEVER_OVER,
    how_over,
    in_reach,
    may_turn_from,
    more_asked,
    of_own_topic,
    of_what_was_spoken,
    own_lines,
    pointed_at,
    read_turn,
    topic_stems,
    turned_at_once,
)
from hudkit.ingest.extraction.values import find_values, names_by_number, sets_value, with_value
from hudkit.log.payloads import FORM_BY_GRAMMAR, FORM_BY_MODEL, FORM_IN_PLACE

_MAX_STATEMENTS = 12
"""Rules, and decisions, of one message: more is a document that was pasted, not a demand. Then none counts."""

_MAX_SENTENCES = 300
"""Sentences of one message that are read, half from its beginning and half from its end: more in a message of this
length are no sentences of a person's."""

_LONG_MESSAGE = 1_500
"""Characters of prose from which on a message explains more than it announces."""

_RECENT_MESSAGES = 3
"""Messages back to which a reversal that names nothing can reach."""

_MOMENTARY = -300
"""Hundredths of a logit below which a sentence that fits a table is not believed: one of twenty such is meant to last."""

_WEIGHED = frozenset(["decision", FORM_BY_GRAMMAR])
"""The forms of decisions that are weighed: an answer, and what takes the place of another one, is meant."""

_SURELY = -110
"""Hundredths of a logit from which on a statement that ends by its topic is not only doubted: something takes its place."""

_MAX_TURNING = 500
"""Characters of a message's own sentences that may end something by its topic: a longer one tells of much."""

_MAX_AT_ONCE = 200
"""Characters of a message that turns from what was said just before without naming it."""

_MAX_SPOKEN_OF = 300
"""Characters at the end of an agent's message that tell what the answer to it is about."""

_FEW = 3
"""Statements of which a judge is asked each whatever a message is about."""

_MAX_JUDGED, _MAX_ASKED = 20, 4
"""Sentences of a message of which a judge is asked, and statements that it may end: each takes some milliseconds."""

_JUST_BEFORE = 3
"""Messages back to which that may be: one of the user's between them."""


class KnownStatements(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands before a message: the texts of rules, decisions, preferences and facts, the newest last."""

    rules: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    recent: tuple[tuple[str, ...], ...] = ()
    """The decisions of the last messages, one tuple a message."""
    alternatives: tuple[tuple[str, str], ...] = ()
    """Names that were offered as one or the other."""
    preferences: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    offer: Offer = Offer()
    """What the agent's last message left to the user."""
    spoken_of: str = ""
    """The end of the agent's last message, of which the user's next one may be without naming it."""
    latest: tuple[tuple[str, str], ...] = ()
    """Section and text of what the user's last statement of anything stated: a correction without a name is of it."""
    age: int = 0
    """Messages of the user's since then."""
    messages: int = 0
    """Messages so far, of both."""

    def statements(self) -> tuple[Statement, ...]:
        """Return all that stands, with the section of each."""
        texts = (self.rules, self.preferences, self.decisions, self.facts)
        return tuple(Statement(section, text) for section, each in zip(SECTIONS, texts, strict=True) for text in each)

    def without(self, gone: Iterable[Statement]) -> KnownStatements:
        """Return what stands when some of it is over."""
        over = frozenset(gone)
        if not over:
            return self
        left = [statement for statement in self.statements() if statement not in over]
        rules, preferences, decisions, facts = (
            tuple(statement.text for statement in left if statement.section == section) for section in SECTIONS
        )
        return msgspec.structs.replace(self, rules=rules, preferences=preferences, decisions=decisions, facts=facts)


class Heard(msgspec.Struct, frozen=True):
    """A preference or a fact: its words, the sentence that has them, and what that was taken for."""

    text: str
    sentence: str = ""
    form: str = ""


class Ended(msgspec.Struct, frozen=True):
    """A standing statement that a sentence ends; with `doubt` it may be over, or `suspended` for one case."""

    section: str
    text: str
    sentence: str
    doubt: bool = False
    suspended: bool = False


class Extracted(msgspec.Struct, frozen=True):
    """What a message states; `withdrawn` are the standing rules that it takes back, `ended` what else it ends."""

    withdrawn: tuple[str, ...] = ()
    rules: tuple[StatedRule, ...] = ()
    decisions: tuple[AnnouncedDecision, ...] = ()
    preferences: tuple[Heard, ...] = ()
    facts: tuple[Heard, ...] = ()
    ended: tuple[Ended, ...] = ()

    def __bool__(self) -> bool:
        stated = self.rules or self.decisions or self.preferences or self.facts
        return bool(self.withdrawn or stated or self.ended)


def extract(
    message: str,
    standing: KnownStatements,
    *,
    by_agent: bool = False,
    weighed: bool = True,
    judge: SentenceJudge | None = None,
) -> tuple[Extracted, KnownStatements]:
    """Return what a message states, and what stands after it. Pure; `by_agent`: the agent wrote it.

    A `judge` is asked, too, what the user's sentences are said for. Without `weighed` nothing is left out for how little it
    reads like something that lasts: from that the weights are learned.
    """
    sentences = split_sentences(message)
    if len(sentences) > _MAX_SENTENCES:
        sentences = (*sentences[: _MAX_SENTENCES // 2], *sentences[-_MAX_SENTENCES // 2 :])
    sentences = tuple(_without_label(sentence) for sentence in sentences)
    if not by_agent:
        sentences = own_sentences(sentences)
    if by_agent:
        return _of_agent(sentences, standing)
    model = judge if len(sentences) <= _MAX_JUDGED else None
    return _of_user(sentences, standing, JudgedSentences(sentences, message, model), weighed=weighed)


def _of_agent(sentences: tuple[Sentence, ...], standing: KnownStatements) -> tuple[Extracted, KnownStatements]:
    """An agent announces decisions, and offers; the rules are the user's."""
    step = _Extraction(sentences, standing, JudgedSentences(sentences, ""))
    step.decide(sentences, by_agent=True)
    step.leave_echoes()
    step.tell_what_decisions_are_of()
    decided = [Statement("decisions", text) for text in standing.decisions]
    step.hear_endings(by_agent=True)
    for sentence in sentences[-_MAX_COMPARED:]:
        if not step.has_ended(sentence) and _OWN_REVERSAL.search(sentence.bare):
            step.doubt(sentence, decided)
    return step.result(find_offer(sentences), " ".join(map(_bare_line, sentences))[-_MAX_SPOKEN_OF:])


def _of_user(
    sentences: tuple[Sentence, ...], standing: KnownStatements, judged: JudgedSentences, *, weighed: bool
) -> tuple[Extracted, KnownStatements]:
    step = _Extraction(sentences, standing, judged)
    step.answer(find_answer(sentences, standing.offer))
    step.suspend()
    step.withdraw_rules()
    step.hear_preferences()
    step.hear_rules()
    step.decide(step.rest())
    step.withdraw_others()
    step.hear_facts()
    step.hear_lasting(weighed=weighed)
    if weighed:
        step.leave_momentary()
        step.hear_judged()
        step.leave_repeated()
    step.tell_what_decisions_are_of()
    step.end_what_is_contradicted()
    if len(sentences) > _MAX_COMPARED:
        return step.result(Offer())
    step.hear_objections()
    step.hear_updates()
    step.hear_corrections()
    step.hear_rivals()
    if step.hear_pointed():
        return step.result(Offer())
    step.hear_endings()
    step.hear_turns()
    for index, sentence in enumerate(sentences):
        if index not in step.used and not step.has_ended(sentence) and not step.is_rule(sentence):
            step.doubt(sentence, step.others)
    step.hear_topics()
    step.hear_in_place()
    return step.result(Offer())


_Worded = TypeVar("_Worded", StatedRule, Heard)


class _Extraction:
    """The working copy of one message; it lives no longer than the call that made it."""

    def __init__(self, sentences: tuple[Sentence, ...], standing: KnownStatements, judged: JudgedSentences) -> None:
        self.sentences = sentences
        self.standing = standing
        self._judged = judged
        self.used: set[int] = set()
        """Indices of sentences that are read already."""
        self._withdrawn: list[str] = []
        self._rules: tuple[StatedRule, ...] = ()
        self._stated: tuple[StatedRule, ...] = ()
        self._decisions: tuple[AnnouncedDecision, ...] = ()
        self._preferences: list[Heard] = []
        self._facts: list[Heard] = []
        self._ended: list[Ended] = []
        self._is_surely_over = True
        """Whether what ended does so by more than a topic that may be the same."""
        self._is_replaced = True
        """Whether a judge, where it was asked, finds the ending likelier than not."""
        self._alternatives = standing.alternatives

    @cached_property
    def others(self) -> tuple[Statement, ...]:
        """Return what stands and is not said in this message: what it says again, it does not end."""
        message = " ".join(map(line_of, self.sentences)).casefold()
        return tuple(
            statement
            for statement in self.standing.statements()
            if statement.text.casefold() not in message or len(statement.text.split()) < _MIN_SAID_AGAIN
        )

    @cached_property
    def _passing(self) -> frozenset[int]:
        """The indices of the sentences that by their words are so surely of the moment that no rule is looked for in them."""
        return frozenset(
            index
            for index, sentence in enumerate(self.sentences)
            if not _is_part_of_a_list(sentence) and self._judged.is_passing(index) and not _EVER.match(sentence.bare)
        )

    def rest(self) -> tuple[Sentence, ...]:
        """Return the sentences that are not read yet, without the rules in them."""
        left = tuple(sentence for index, sentence in enumerate(self.sentences) if index not in self.used)
        return without_rules(left, [rule.text for rule in self._stated])

    def has_ended(self, sentence: Sentence) -> bool:
        """Return whether a sentence has ended something."""
        text = line_of(sentence)
        return any(ended.sentence == text for ended in self._ended) or any(
            decision.sentence == text and decision.replaces for decision in self._decisions
        )

    def is_rule(self, sentence: Sentence) -> bool:
        """Return whether a sentence states a rule."""
        text = line_of(sentence)
        return any(rule.sentence == text for rule in self._stated)

    def answer(self, answer: Answer) -> None:
        """Add what an answer to the agent's offer decides."""
        self.used.update(range(answer.used))
        if answer.summary:
            line = line_of(self.sentences[0])
            self._decisions = (AnnouncedDecision(_cut(answer.summary), sentence=line, form=answer.form),)

    def suspend(self) -> None:
        """Set aside what a sentence excepts one case from."""
        for index, sentence in self._unread():
            if not is_question(sentence):
                rule = suspended_by(sentence.bare, self.others)
                if rule is not None:
                    self._end(rule, sentence, doubt=True, suspended=True)
                    self.used.add(index)

    def withdraw_rules(self) -> None:
        """End the rules that sentences take back by name."""
        left = [sentence for _, sentence in self._unread()]
        indices = [index for index, _ in self._unread()]
        for rule, place in find_withdrawals(left, self.standing.rules):
            self._withdrawn.append(rule)
            self.used.add(indices[place])

    def withdraw_others(self) -> None:
        """End what else sentences take back that announce nothing themselves."""
        others = [statement for statement in self.others if statement.section != "constraints"]
        stated_lines = {decision.sentence for decision in self._decisions} | {rule.sentence for rule in self._stated}
        for index, sentence in self._unread():
            if line_of(sentence) in stated_lines:
                continue
            for text in withdrawn_by(sentence, [statement.text for statement in others]):
                self._end(next(statement for statement in others if statement.text == text), sentence)
                self.used.add(index)

    def hear_preferences(self) -> None:
        """Add the preferences that stand not yet."""
        preferences = find_preferences(self.sentences)
        for preference in preferences if len(preferences) <= _MAX_STATEMENTS else ():
            if preference.index in self.used or is_errand(self.sentences[preference.index].bare):
                continue
            self.used.add(preference.index)
            standing_texts = (
                *self.standing.preferences,
                *self.standing.rules,
                *(statement.text for statement in self._preferences),
            )
            if not any(is_same_rule(preference.text, text) for text in standing_texts):
                line = line_of(self.sentences[preference.index])
                self._preferences.append(Heard(preference.text, line, "preference"))

    def hear_rules(self) -> None:
        """Add the rules that stand not yet."""
        left = [(index, sentence) for index, sentence in self._unread() if not insists(sentence)]
        passing = [sentence for index, sentence in left if index in self._passing or _is_of_the_moment(sentence)]
        self._stated = tuple(whole_rules(find_rules(tuple(sentence for _, sentence in left), passing)))
        standing_rules = [rule for rule in self.standing.rules if rule not in self._withdrawn]
        self._rules = _new_rules(self._stated, [*standing_rules, *self.standing.preferences])

    def decide(self, sentences: tuple[Sentence, ...], *, by_agent: bool = False) -> None:
        """Add the decisions that these sentences announce."""
        standing = self.standing
        self._alternatives = (*self._alternatives, *find_alternatives(self.sentences))[-MAX_PAIRS:]
        context = DecisionContext(
            standing=standing.decisions,
            by_agent=by_agent,
            long=sum(len(sentence.text) for sentence in self.sentences) > _LONG_MESSAGE,
            message=" ".join(sentence.bare for sentence in self.sentences),
            recent=tuple(summary for summaries in standing.recent for summary in summaries),
            just_before=standing.recent[-1] if standing.recent else (),
            alternatives=self._alternatives,
        )
        decisions = find_decisions(sentences, context)
        if len(decisions) <= _MAX_STATEMENTS:
            self._decisions = (*self._decisions, *decisions)

    def leave_echoes(self) -> None:
        """Leave out what an agent only says again of what stands."""
        standing = self.standing.statements()
        self._decisions = tuple(
            decision
            for decision in self._decisions
            if decision.replaces or not any(is_echo(decision.summary, statement.text) for statement in standing)
        )

    def tell_what_decisions_are_of(self) -> None:
        """Take the beginning of its sentence along where only that says what is decided."""
        self._decisions = tuple(map(with_what_it_is_of, self._decisions))

    def hear_facts(self) -> None:
        """Add the facts that stand not yet, of the sentences that state nothing else."""
        stated_lines = {decision.sentence for decision in self._decisions} | {rule.sentence for rule in self._stated}
        if any(_ECHO.match(sentence.bare) for sentence in self.sentences[:2]):
            return
        # A rule that was told together with the sentence before it has that, too.
        rules = " ".join(rule.text for rule in self._stated)
        taken = {
            index
            for index, sentence in enumerate(self.sentences)
            if line_of(sentence) in stated_lines or line_of(sentence).rstrip(" .!;") in rules
        }
        taken |= self.used | self._passing
        standing_facts = [normalized_text(text) for text in self.standing.facts]
        for fact in find_facts(self.sentences, frozenset(taken)):
            self.used.update(fact.indices)
            if normalized_text(fact.text) not in standing_facts:
                self._facts.append(Heard(fact.text, line_of(self.sentences[fact.indices[0]]), "fact"))

    def hear_lasting(self, *, weighed: bool) -> None:
        """Add what no table knows, and what by its grammar is said for more than the moment."""
        heard: list[tuple[int, str, str]] = []
        standing = self._standing_now()
        if any(_ECHO.match(sentence.bare) for sentence in self.sentences[:2]):
            return
        for index, sentence in self._unread():
            if index in self._passing or self._is_said(sentence) or insists(sentence) or self._is_in_a_rule(sentence):
                continue
            following = self.sentences[index + 1] if index + 1 < len(self.sentences) else None
            insisted = following is not None and insists(following)
            reading = read_lasting(sentence, insisted=insisted, weighed=weighed)
            if reading is not None and any(find_endings(line_of(sentence), standing, chosen_anew=True)):
                continue  # it may only end something: `hear_endings` says
            if reading is not None:
                heard.append((index, *reading))
                if insisted:
                    self.used.add(index + 1)
        if len(heard) > _MAX_STATEMENTS:
            return
        for index, section, text in heard:
            line = line_of(self.sentences[index])
            text = with_referent(text, self.sentences[index - 1] if index else None)
            if (
                not text
                or len(text) > MAX_RULE
                or any(says_again(text, statement.text) for statement in self.standing.statements())
            ):
                continue
            self.used.add(index)
            self._state(section, text, line, FORM_BY_GRAMMAR)
            if section == "constraints":
                self._stated = (*self._stated, self._rules[-1])

    def leave_momentary(self) -> None:
        """Leave out what fits a table, or lasts by its grammar, but is not meant to last where it stands."""
        self._rules = tuple(rule for rule in self._rules if self._is_believed("constraints", rule.text, rule))
        self._preferences = [each for each in self._preferences if self._is_believed("preferences", each.text, each)]
        self._facts = [each for each in self._facts if self._is_believed("notes", each.text, each)]
        self._decisions = tuple(
            each
            for each in self._decisions
            if each.replaces or each.form not in _WEIGHED or self._is_believed("decisions", each.summary, each)
        )

    def hear_judged(self) -> None:
        """Say what a judge takes for lasting in whole sentences, and add those that nothing was read in."""
        judged = self._judged
        whole = self._whole_by_model() if judged.is_by_model else self._whole_by_network()
        done: set[int] = set()
        self._rules = tuple(self._said_whole(self._rules, whole, done))
        self._preferences = list(self._said_whole(self._preferences, whole, done))
        self._facts = list(self._said_whole(self._facts, whole, done))
        heard = [
            (index, text)
            for index, sentence in self._unread()
            if judged.may_last(index)
            and self._surely_lasts(index)
            and not (self._is_said(sentence) or self._is_in_a_rule(sentence))
            and (text := judged.whole(index, was_read=False))
            and not any(says_again(text, statement.text) for statement in self.standing.statements())
        ]
        form = FORM_BY_MODEL if judged.is_by_model else FORM_BY_GRAMMAR
        for index, text in heard if len(heard) <= _MAX_STATEMENTS else ():
            section = judged.judged[index].section
            self.used.add(index)
            self._state(section, text, line_of(self.sentences[index]), form)
            if section == "constraints":
                self._stated = (*self._stated, self._rules[-1])

    def _surely_lasts(self, index: int) -> bool:
        """Whether a judge is sure enough of a sentence in which nothing was read."""
        sentence, section, place = (
            self.sentences[index],
            self._judged.judged[index].section,
            Place(self.sentences, index),
        )
        doubted = read_lasting(sentence, weighed=False) is None or (
            not self._judged.is_by_model and is_of_the_moment(sentence.text, section, place)
        )
        weight = belief(sentence.text, section, FORM_BY_GRAMMAR, place)
        return self._judged.surely_lasts(index, weight, doubted=doubted)

    def _said_whole(self, stated: Iterable[_Worded], whole: Mapping[int, str], done: set[int]) -> Iterator[_Worded]:
        """Yield statements in the words of their whole sentence, once; `done` are the places of those that were."""
        for each in stated:
            index = self._index_of(each.sentence)
            text = whole.get(index, "") if index is not None else ""
            if index is None or len(text) < len(each.text):  # it has words of another sentence, too
                yield each
            elif index not in done:
                done.add(index)
                yield msgspec.structs.replace(each, text=text)

    def _whole_by_model(self) -> dict[int, str]:
        """The words of each sentence that a model takes for lasting."""
        judged = self._judged
        return {
            index: judged.whole(index, was_read=True) for index in range(len(self.sentences)) if judged.lasts(index)
        }

    def _whole_by_network(self) -> dict[int, str]:
        """The words of each sentence that says one thing, of which what was read is only a part: a reason and what follows
        from it ("our ops people search with grep, so one event has to be one line"). Orders that stand beside each
        other stay apart, so that each can end alone."""
        stated: dict[int | None, list[str]] = defaultdict(list)
        for line, text in (
            *((rule.sentence, rule.text) for rule in self._rules),
            *((fact.sentence, fact.text) for fact in self._facts),
        ):
            stated[self._index_of(line)].append(text)
        others = [
            *(preference.sentence for preference in self._preferences),
            *(decision.sentence for decision in self._decisions),
            *(rule.sentence for rule in self._stated if rule not in self._rules),  # they stand already
        ]
        left = set(map(self._index_of, others))
        return {
            index: text
            for index, texts in stated.items()
            if index is not None and index not in left and (text := self._whole_of(index, texts))
        }

    def _whole_of(self, index: int, texts: Sequence[str]) -> str:
        """The words of a sentence that say one thing, of which some statements are parts; empty where they are not."""
        line = line_of(self.sentences[index])
        if not self._judged.lasts(index) or any(rule.reason for rule in self._rules if rule.sentence == line):
            return ""
        is_one = without_lead(line) == texts[0] if len(texts) == 1 else are_one(texts, line)
        if not (is_one or (len(texts) == 1 and is_part_of(texts[0], line))):
            return ""
        text = self._judged.whole(index, was_read=True)
        return text if len(text) > max(map(len, texts)) else ""

    def leave_repeated(self) -> None:
        """Leave out what another statement of the message has in it, whole."""
        texts = [
            *(rule.text for rule in self._rules),
            *(each.text for each in (*self._preferences, *self._facts)),
            *(decision.summary for decision in self._decisions),
        ]
        self._rules = tuple(rule for rule in self._rules if not _is_within(rule.text, texts))
        self._preferences = [each for each in self._preferences if not _is_within(each.text, texts)]
        self._facts = [each for each in self._facts if not _is_within(each.text, texts)]

    def _is_believed(self, section: str, text: str, stated: StatedRule | Heard | AnnouncedDecision) -> bool:
        index = self._index_of(stated.sentence)
        if index is None:
            return True
        place = Place(self.sentences, index)
        if prefers_a_way(text, section, place) or self._judged.is_believed(
            index,
            belief(text, section, stated.form, place),
            doubted=is_of_the_moment(text, section, place),
            by_table=stated.form != FORM_BY_GRAMMAR,
            plain=_is_plainly_said(section, self.sentences[index]),
        ):
            return True
        self.used.discard(index)
        return False

    def _index_of(self, line: str) -> int | None:
        """Return the place of the sentence that a statement was read in."""
        if line in self._places:
            return self._places[line]
        return next((place for other, place in self._places.items() if line in other), None) if line else None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {line_of(sentence): index for index, sentence in enumerate(self.sentences)}

    def end_what_is_contradicted(self) -> None:
        """End the standing statements with which the new ones cannot hold."""
        new = [
            *(("constraints", rule.text, rule.sentence) for rule in self._rules),
            *(("preferences", heard.text, heard.sentence) for heard in self._preferences),
            *(("notes", heard.text, heard.sentence) for heard in self._facts),
            *(("decisions", decision.summary, decision.sentence) for decision in self._decisions),
        ]
        gone = {(ended.section, ended.text) for ended in self._ended if not ended.doubt}
        gone |= {("constraints", text) for text in self._withdrawn}
        gone |= {("decisions", text) for decision in self._decisions for text in decision.replaces}
        standing = [statement for statement in self.others if (statement.section, statement.text) not in gone]
        for section, text, line in new:
            for statement in ended_by(text, line, section, standing):
                standing.remove(statement)
                if section == statement.section == "decisions":
                    self._decisions = tuple(
                        _replacing(decision, text, statement.text) for decision in self._decisions
                    )
                else:
                    self._ended.append(Ended(statement.section, statement.text, line))

    def hear_updates(self) -> None:
        """Add what gives a standing statement another value in words that state nothing themselves: "two are enough"."""
        for index, sentence in self._unread():
            text = line_of(sentence).rstrip(" .!")
            if self._is_said(sentence) or not _may_correct(sentence) or names_by_number(text):
                continue
            standing = self._standing_now()
            rejected = rejected_by(text, standing)
            if rejected is not None:
                self._replace(rejected, text, sentence)
                self.used.add(index)
                continue
            if not find_values(text):
                continue
            for statement in ended_by(text, sentence.bare, "", standing):
                self._replace(statement, text, sentence)
                self.used.add(index)

    def hear_objections(self) -> None:
        """End what a sentence speaks against by its name, where something else is stated in its place."""
        for index, sentence in enumerate(self.sentences):
            # "Let's say 50" is no supposition where something else was turned down before it.
            if self.has_ended(sentence) or is_question(sentence) or len(sentence.text.split()) > _MAX_UPDATE:
                continue
            objection = objected_to(line_of(sentence), self._standing_now())
            if objection is None:
                continue
            statement, old, rest = objection
            following = self.sentences[index + 1] if index + 1 < len(self.sentences) else None
            if not rest and following is not None and _may_correct(following):
                rest = line_of(following).strip(" .!")
            choice = _INSTEAD_OF_IT.match(rest)
            if self._is_said(sentence) or (following is not None and self._is_said(following)):
                self._end(statement, sentence)
            elif choice is not None:
                changed = with_value(statement.text, choice["new"])
                if not changed and len(choice["new"].split()) <= _MAX_NAME:
                    start = statement.text.casefold().find(old.casefold())
                    if start >= 0:
                        changed = statement.text[:start] + choice["new"] + statement.text[start + len(old) :]
                self._replace(statement, changed or choice["new"], sentence)
            else:
                continue
            self.used.add(index)

    def hear_corrections(self) -> None:
        """Change what was stated last where a sentence only says what is different: "make that 100", "not a, b"."""
        for index, sentence in self._unread():
            if self.has_ended(sentence) or not _may_correct(sentence):
                continue
            text = line_of(sentence).rstrip(" .!")
            standing = self._standing_now()
            latest = [
                statement for statement in standing if (statement.section, statement.text) in self.standing.latest
            ]
            swapped = _NOT_BUT.match(text)
            if swapped:
                old = about(swapped["old"])
                for statement in standing:
                    if old and old <= about(statement.text):
                        self._replace(statement, swapped["new"].strip(), sentence)
                        self.used.add(index)
                        break
                continue
            if len(latest) == 1 and _THEN.match(text):
                self._end(latest[0], sentence, doubt=True)
                continue
            if self._gives_other_value(index, sentence, standing, latest):
                continue
            if len(latest) != 1 or self._is_said(sentence):
                continue
            changed = with_value(latest[0].text, text) if _BARE_VALUE.match(text) else ""
            reversal = _TURNS_BACK.match(text)
            if changed:
                self._replace(latest[0], changed, sentence)
                self.used.add(index)
            elif reversal and reversal["new"] and len(reversal["new"].split()) <= _MAX_TURN:
                self._replace(latest[0], reversal["new"].strip(" .!"), sentence)
                self.used.add(index)

    def _gives_other_value(
        self, index: int, sentence: Sentence, standing: Sequence[Statement], latest: Sequence[Statement]
    ) -> bool:
        """Change the value of a standing statement where a sentence raises, lowers or sets it: "finance gave us 80"."""
        line = line_of(sentence).rstrip(" .!")
        if not sets_value(line):
            return False
        subject = about(line)
        standing = [statement for statement in standing if not is_of_another_part(line, statement.text)]
        latest = [statement for statement in latest if statement in standing]
        near = [statement for statement in standing if subject & about(statement.text)]
        is_fresh = self.standing.age <= 1
        for statement in (*reversed(near), *(latest if is_fresh and len(latest) == 1 else ())):
            changed = with_value(statement.text, line)
            if changed:
                if self._is_said(sentence):
                    self._end(statement, sentence)
                else:
                    self._replace(statement, changed, sentence)
                self.used.add(index)
                return True
        return False

    def hear_endings(self, *, by_agent: bool = False) -> None:
        """End what a sentence says is over, dropped, allowed or turned down; take up what stands in its place."""
        if by_agent and not self.standing.decisions:
            return  # as a rule: the agent ends nothing else
        first = max(len(self.sentences) - _MAX_COMPARED, 0)
        for index, sentence in enumerate(self.sentences[first:], first):
            if self.has_ended(sentence) or is_question(sentence) or is_supposition(sentence.bare):
                continue
            standing = self._standing_now()
            if by_agent:
                standing = [statement for statement in standing if statement.section == "decisions"]
            line = line_of(sentence)
            for ending in find_endings(line, standing, chosen_anew=self._is_chosen_anew(index), by_agent=by_agent):
                self._end_by(ending, index, sentence, by_agent=by_agent)
            if by_agent or self.has_ended(sentence):
                continue
            done = finished_by(line, standing) or released_by(line, standing)
            if done is not None:
                self._end(done, sentence, doubt=done.section != "notes")
            elif (allowed := allowed_after_all(line, standing)) is not None:
                self._end_by(allowed, index, sentence, by_agent=False)
            elif allows_it(line) and not self._states() and self.standing.age == 0:
                latest = [
                    statement for statement in standing if (statement.section, statement.text) in self.standing.latest
                ]
                if len(latest) == 1 and latest[0].section == "constraints":
                    self._end(latest[0], sentence, doubt=True)

    def _end_by(self, ending: Ending, index: int, sentence: Sentence, *, by_agent: bool) -> None:
        if ending.suspended:
            self._end(ending.statement, sentence, doubt=True, suspended=True)
            self.used.add(index)
            return
        if not by_agent and ending.statement.section != "notes":
            replacement = self._replacement(index, ending.behind)
            if replacement:
                self._replace(ending.statement, replacement, sentence)
                return
            announced = self._decisions[-1] if self._decisions else None
            if ending.statement.section == "decisions" and announced is not None and not announced.replaces:
                replacing = _replacing(announced, announced.summary, ending.statement.text)
                self._decisions = (*self._decisions[:-1], replacing)
                return
        self._end(ending.statement, sentence, doubt=ending.doubt)

    def _replacement(self, index: int, behind: str) -> str:
        """What a sentence, or the one behind it, puts in the place of what it ends; empty where it states nothing new."""
        following = self.sentences[index + 1] if index + 1 < len(self.sentences) else None
        if self._is_said(self.sentences[index]):
            return ""
        for text, sentence in ((behind, self.sentences[index]), (line_of(following) if following else "", following)):
            if sentence is None or self._is_said(sentence) or is_question(sentence):
                continue
            choice = _TAKES_PLACE.match(text.strip(" .!"))
            if choice is None and sentence is following:
                choice = _BARE_CHOICE.match(text.strip(" .!"))
            if choice is not None and len(text.split()) <= _MAX_TURN:
                return choice["new"].strip()
        return ""

    def _is_chosen_anew(self, index: int) -> bool:
        """Whether something takes the place of what the sentence at `index` turns down."""
        if self._decisions or self._rules or self._preferences:
            return True
        sentence = self.sentences[index]
        rest = re.split(r"[,;:–—-] |\b(?:so|and|but) ", line_of(sentence))[1:]
        following = [line_of(other).strip(" .!") for other in self.sentences[index + 1 : index + 2]]
        return any(_TAKES_PLACE.match(text.strip(" .!")) for text in (*rest, *following)) or any(
            _BARE_CHOICE.match(text) for text in following
        )

    def hear_rivals(self) -> None:
        """Change what stands by one word where a short sentence has a rival of that: "back to English, please"."""
        for index, sentence in enumerate(self.sentences):
            line = line_of(sentence)
            states = self._is_said(sentence)
            orders = states and len(sentence.text.split()) <= _MAX_UPDATE
            if not rivals_in(line) or self.has_ended(sentence) or not (orders or _may_correct(sentence)):
                continue
            for statement in reversed(self._standing_now()):
                changed = with_rival(statement.text, line)
                if not changed or is_of_another_part(line, statement.text):
                    continue
                both_named = any(
                    words & (rivals_in(statement.text).get(number) or frozenset())
                    for number, words in rivals_in(line).items()
                )
                short = len(line.split()) <= _MAX_FRAGMENT
                if not (both_named or short or _TURNS_WEAKLY.search(line)):
                    continue
                rest, theirs = about(line), about(statement.text)
                is_latest = (statement.section, statement.text) in self.standing.latest
                if not both_named and not is_latest and not rest & theirs and statement.section != "preferences":
                    continue
                if states:
                    self._end(statement, sentence)
                else:
                    self._replace(statement, changed, sentence)
                    self.used.add(index)
                break

    def hear_pointed(self) -> bool:
        """Mark the one of several statements of the last message at which a sentence points by its place; return whether
        the message points so, and may end nothing else."""
        for sentence in self.sentences:
            if is_question(sentence) or self.has_ended(sentence):
                continue
            statement, points = pointed_at(line_of(sentence), self._latest_standing())
            if statement is not None:
                self._end(statement, sentence, doubt=True)
            if points:
                return True
        return False

    def _latest_standing(self) -> list[Statement]:
        """What still stands of that which the user stated last, in his order."""
        standing = self._standing_now()
        latest = [Statement(section, text) for section, text in self.standing.latest]
        return [statement for statement in latest if statement in standing]

    def hear_turns(self) -> None:
        """Where somebody turns from what he said and names nothing of it, what he stated just before may be over."""
        turns = [
            sentence for sentence in self.sentences if not is_question(sentence) and turns_back(line_of(sentence))
        ]
        if not turns or any(self.has_ended(sentence) for sentence in self.sentences):
            return
        message = about(" ".join(map(line_of, self.sentences)))
        standing = of_own_topic([line_of(sentence) for sentence in turns], self._standing_now())
        shared = [statement for statement in standing if message & about(statement.text)]
        if not shared and self.standing.age <= _RECENT_MESSAGES:
            shared = [
                statement for statement in standing if (statement.section, statement.text) in self.standing.latest
            ]
        if shared:
            nearest = max(shared, key=lambda statement: len(message & about(statement.text)))
            self._end(nearest, turns[0], doubt=True)

    def hear_topics(self) -> None:
        """Mark what a message may end by its topic and its words of turning, and by a judge, where nothing named it."""
        if self._turn_at_once():
            return
        own = own_lines(self.sentences)
        more = more_asked(len(self._standing_now()), self.standing.messages)
        least = LIKELY_OVER + 100 * more
        weights = self._weights_over(own) if self._judged.is_by_model or least <= MOST_OVER else {}
        if self._judged.is_by_model:
            statement, self._is_replaced = self._judged_over(weights, more)
        else:
            statement = max(weights, key=weights.__getitem__, default=None)
            statement = statement if statement is not None and weights[statement] >= least else None
        if statement is not None:
            sentence = next((each for each in self.sentences if line_of(each) in own), self.sentences[0])
            self._end(statement, sentence, doubt=True)
            self._is_surely_over = weights.get(statement, NEVER_OVER) >= _SURELY

    def _weights_over(self, own: Sequence[str]) -> dict[Statement, int]:
        """How much a message's own sentences speak for it that each of the statements in their reach is over."""
        if not own or sum(map(len, own)) > _MAX_TURNING:
            return {}
        ended = {(ended.section, ended.text) for ended in self._ended} | {
            ("constraints", text) for text in self._withdrawn
        }
        standing = [
            statement for statement in self._standing_now() if (statement.section, statement.text) not in ended
        ]
        message = " ".join(map(line_of, self.sentences)).casefold()
        standing = [
            statement
            for statement in of_own_topic(own, standing)
            if statement.text.casefold() not in message or len(statement.text.split()) < _MIN_SAID_AGAIN - 1
        ]
        if any(is_of_another(line, statement.text) for statement in standing for line in own):
            return {}  # the same of another thing: nothing ends
        standing = in_reach(own, standing, self.standing.latest, self.standing.age)
        if not standing:
            return {}
        stated = [
            *(rule.text for rule in self._rules),
            *(heard.text for heard in (*self._preferences, *self._facts)),
            *(decision.summary for decision in self._decisions),
        ]
        turn = read_turn(
            own,
            stated,
            ended=bool(ended) or any(decision.replaces for decision in self._decisions),
            asks=any(is_question(sentence) for sentence in self.sentences),
            offer=self.standing.offer.text,
        )
        latest, age = self.standing.latest, self.standing.age
        return {each: how_over(turn, each, latest=(each.section, each.text) in latest, age=age) for each in standing}

    def _judged_over(self, weights: Mapping[Statement, int], more: float) -> tuple[Statement | None, bool]:
        """What a judge says that a message ends, where nothing else is over by it, and whether something takes its place;
        `more` (a logit) is asked for where much stands."""
        is_over = self._ended or self._withdrawn or any(each.replaces for each in self._decisions)
        if not self.sentences or is_over:
            return None, True
        message = " ".join(map(line_of, self.sentences)).casefold()
        latest = self.standing.latest if self.standing.age <= _RECENT_MESSAGES else ()
        lines = list(map(line_of, self.sentences))
        asked = [
            each
            for each in self._may_be_over(weights, latest)
            if each.text.casefold() not in message and not any(is_of_another_part(line, each.text) for line in lines)
        ]
        asked.sort(key=lambda each: ((each.section, each.text) in latest, weights.get(each, NEVER_OVER)))
        return self._judged.over(
            {each: weights.get(each, NEVER_OVER) for each in asked[-_MAX_ASKED:]},
            self.standing.spoken_of,
            more=more,
        )

    def _may_be_over(
        self, weights: Mapping[Statement, int], latest: Sequence[tuple[str, str]]
    ) -> Iterator[Statement]:
        """What a message may end: what was stated last, what is in its reach, all where little stands; behind a question
        of the agent's also what that is about."""
        lines, standing = list(map(line_of, self.sentences)), self._standing_now()
        asked = self.standing.spoken_of if self.standing.spoken_of.endswith("?") else ""
        for each in standing:
            is_near = len(standing) <= _FEW or (each.section, each.text) in latest or each in weights
            if (is_near and (asked or may_turn_from(lines, each.text))) or (
                topic_stems(asked) & topic_stems(each.text)
            ):
                yield each

    def _turn_at_once(self) -> bool:
        """Mark what was stated just before, where a short message turns from it."""
        plain = [
            sentence for sentence in self.sentences if not (is_question(sentence) or is_supposition(sentence.bare))
        ]
        if self.standing.age > _JUST_BEFORE or sum(len(each.text) for each in plain) > _MAX_AT_ONCE or self._ended:
            return False
        standing = self._standing_now()
        latest = [statement for statement in standing if (statement.section, statement.text) in self.standing.latest]
        lines = [_bare_line(each) for each in plain]
        statement = turned_at_once(lines, latest, standing)
        if statement is None or self._withdrawn:
            return False
        self._end(of_what_was_spoken(statement, lines, self.standing.spoken_of, standing), plain[0], doubt=True)
        return True

    def hear_in_place(self) -> None:
        """State what a message says in the place of what it ends, where nothing else was read in it."""
        over = [Statement(ended.section, ended.text) for ended in self._ended if not ended.suspended]
        over += [Statement("constraints", text) for text in self._withdrawn]
        has_new = self._rules or self._decisions or self._preferences or self._facts
        if has_new or len(over) != 1:
            return
        ended, own = over[0], own_lines(self.sentences)
        text = said_in_place(own, ended.text) if self._is_surely_over else ""
        if not text and self._judged.is_by_model and self._is_replaced:
            text = self._judged.in_place(own)
        if not text or any(says_again(text, statement.text) for statement in self._standing_now()):
            return
        line = next((each for each in own if text.startswith(each.replace("’", "'").strip(" .!")[:20])), own[0])
        if not self._judged.may_hold(line):
            return
        text = _cut(in_context(text, ended.text))
        self._state(ended.section, text, line, FORM_IN_PLACE)

    def _state(self, section: str, text: str, line: str, form: str) -> None:
        """Add a new statement to its section."""
        if section == "constraints":
            self._rules = (*self._rules, StatedRule(text, "", line, form))
        elif section == "preferences":
            self._preferences.append(Heard(text, line, form))
        elif section == "decisions":
            self._decisions = (*self._decisions, AnnouncedDecision(_cut(text), sentence=line, form=form))
        else:
            self._facts.append(Heard(text, line, form))

    def _states(self) -> bool:
        """Whether the message states something of its own."""
        return bool(self._decisions or self._stated or self._preferences or self._facts)

    def _standing_now(self) -> Sequence[Statement]:
        gone = {(ended.section, ended.text) for ended in self._ended if not ended.doubt}
        gone |= {("constraints", text) for text in self._withdrawn}
        gone |= {("decisions", text) for decision in self._decisions for text in decision.replaces}
        if not gone:
            return self.others
        return [statement for statement in self.others if (statement.section, statement.text) not in gone]

    def _is_said(self, sentence: Sentence) -> bool:
        """Whether a sentence states something already."""
        text = line_of(sentence)
        stated = [decision.sentence for decision in self._decisions] + [rule.sentence for rule in self._stated]
        return any(each in text for each in stated if each) or text in [
            heard.sentence for heard in (*self._preferences, *self._facts)
        ]

    def _is_in_a_rule(self, sentence: Sentence) -> bool:
        """Whether a sentence stands in a stated rule, or the object of one stands behind the sentence's label."""
        line = line_of(sentence).rstrip(" .!;")
        return any(line in rule.text or line.endswith(f": {rule.text.partition('; ')[0]}") for rule in self._stated)

    def _replace(self, statement: Statement, text: str, sentence: Sentence) -> None:
        line = line_of(sentence)
        if statement.section == "decisions":
            self._decisions = (
                *self._decisions,
                AnnouncedDecision(_cut(text), (statement.text,), "", line, "correction"),
            )
            return
        self._ended.append(Ended(statement.section, statement.text, line))
        self._state(statement.section, text, line, "correction")

    def doubt(self, sentence: Sentence, standing: Sequence[Statement]) -> None:
        """Mark the standing statement against which a sentence seems to speak."""
        if is_question(sentence) or is_supposition(sentence.bare):
            return
        gone = {(ended.section, ended.text) for ended in self._ended}
        gone |= {("decisions", text) for decision in self._decisions for text in decision.replaces}
        left = [
            statement
            for statement in standing
            if (statement.section, statement.text) not in gone and statement.text not in self._withdrawn
        ]
        statement = doubted_by(sentence.bare, left)
        if statement is not None:
            self._end(statement, sentence, doubt=True)

    def result(self, offer: Offer, spoken_of: str = "") -> tuple[Extracted, KnownStatements]:
        """Return what was found, and what stands now."""
        over = [Statement(ended.section, ended.text) for ended in self._ended if not ended.doubt]
        over += [Statement("constraints", text) for text in self._withdrawn]
        over += [Statement("decisions", text) for decision in self._decisions for text in decision.replaces]
        left = self.standing.without(over)
        summaries, latest = tuple(decision.summary for decision in self._decisions), self._latest()
        after = msgspec.structs.replace(
            left,
            rules=(*left.rules, *(rule.text for rule in self._rules)),
            preferences=(*left.preferences, *(heard.text for heard in self._preferences)),
            facts=(*left.facts, *(heard.text for heard in self._facts)),
            decisions=(*left.decisions, *summaries),
            recent=(*self.standing.recent, summaries)[-_RECENT_MESSAGES:],
            alternatives=self._alternatives,
            offer=offer,
            spoken_of=spoken_of,
            latest=latest,
            age=0 if latest is not self.standing.latest else self.standing.age + 1,
            messages=self.standing.messages + 1,
        )
        extracted = Extracted(
            tuple(self._withdrawn),
            self._rules,
            self._decisions,
            tuple(self._preferences),
            tuple(self._facts),
            tuple(self._ended),
        )
        return extracted, after

    def _latest(self) -> tuple[tuple[str, str], ...]:
        """What this message stated; where it stated nothing, what the one before did."""
        stated = (
            *(("constraints", rule.text, rule.sentence) for rule in self._rules),
            *(("preferences", heard.text, heard.sentence) for heard in self._preferences),
            *(("notes", heard.text, heard.sentence) for heard in self._facts),
            *(("decisions", decision.summary, decision.sentence) for decision in self._decisions),
        )
        in_order = sorted(stated, key=lambda each: self._places.get(each[2], 0))
        return tuple((section, text) for section, text, _ in in_order) or self.standing.latest

    def _unread(self) -> list[tuple[int, Sentence]]:
        return [(index, sentence) for index, sentence in enumerate(self.sentences) if index not in self.used]

    def _end(self, statement: Statement, sentence: Sentence, *, doubt: bool = False, suspended: bool = False) -> None:
        self._ended.append(Ended(statement.section, statement.text, line_of(sentence), doubt, suspended))


_MAX_FRAGMENT = 4
"""Words of a sentence without a verb that gives another choice."""

_TURNS_WEAKLY = any_case(
    r"\b(?:actually|instead|rather|back to|from (?:now|here)(?: on)?|in (?:the )?future|again|any ?more|no longer|better|best|switch\w*|mov\w+|changed?|now|please|convinced|turned out|after all|put it|would be|let's|make it|use|hates?|too|only|just|will do|as of)\b"
)
"""Words by which a choice takes the place of another one of its kind."""

_TAKES_PLACE = any_case(
    r"^(?:(?:so|then|and|but|therefore|now|instead|please|rather|better|ok(?:ay)?)[,.:]? )*(?P<new>(?:(?:let['’]?s|we(?:['’](?:ll|re)| will| are| should| can| have to| need to|['’]ll have to)?|i(?:['’](?:ll|m|d)| will| am)?) (?:rent|buy|build|meet|write|go(?:ing)? (?:with|for|back to|to)|use|using|take|do|try|stick (?:with|to)|keep|switch(?:ing)? to|move|put|make|have to|rather|\w+ing)\b.+|(?:use|take|put|make|switch|go|call|name|keep|write|send|move|pick|do|book|choose|back to) .+|[\w+#.'’/-]+(?: [\w+#.'’/-]+){0,3}(?: instead| then| is (?:enough|fine|better)| are (?:enough|fine|better)| will do)))$"
)
"""What is put in the place of something else: an order, or a choice."""

_BARE_CHOICE = any_case(
    r"^(?!(?:i|we|you|it|he|she|they|that|this|there|what|why|how|when|thanks?|sorry|please|can|could|yes|no|and|but|which|because|since|who|ok|okay|done|fixed)\b)(?!.*\b(?:is|are|was|were|has|had|have|does|did|do|should|must|will|would|can|\w+ed)\b)(?P<new>[\w+#.'’/-]+(?: [\w+#.'’/-]+){0,2})$"
)
"""A sentence that is a name only."""

_MAX_NAME = 3
"""Words of a name that takes the place of another within a statement."""

_INSTEAD_OF_IT = any_case(
    r"^(?:so |then |and )*(?:let['’]?s (?:say|use|take|make it|go with|do)|(?:let['’]?s )?(?:name|call) it|use|take|make it|rather|better|we(?:['’]ll| will)? (?:use|take|go with)|it['’]s|(?=we \w+ (?:it|them|that) )|(?=\w+ .+ instead$)) ?(?P<new>[^,;]+?)(?: instead)?$"
)
"""What is said in place of what somebody spoke against."""

_ECHO = any_case(
    r"^(?:ah,? |oh,? |ok(?:ay)?,? |yes,? |right,? )*(?:got it|i see|i get it|(?:that|this|it) (?:now )?makes sense|makes sense|now i understand|understood)(?: now)?\W*(?:$|so\b)"
)
"""How somebody begins who says again what he was told."""

_MAX_COMPARED = 40
"""Sentences of one message that are each held against all that stands: more is a text that was pasted."""

_MIN_SAID_AGAIN = 4
"""Words from which on a statement that stands in a message is said again there: fewer may be what it turns against."""

_MAX_TURN = 10
"""Words of a sentence that turns back what was said: a longer one says something of its own."""

_BARE_VALUE = any_case(
    r"^(?:(?:no|sorry|actually|correction|wait|hm+|oh|well|rather|but|and|so|ok(?:ay)?)[,.:]* )*(?:(?:let's |let us |please )?(?:make|say|call) (?:it|that)|(?:it|that)(?:'s| is| was| lasts| takes| has| lives| runs| \w+s)?|let's say|rather|only|better)?(?: to| at| only| just)? ?(?:\d\S*|one|two|three|four|five|six|seven|eight|ten|twelve|twenty|thirty|fifty|a hundred)(?: [\w%]+){0,2}(?:,? (?:please|instead|then|now))?$"
)
_NOT_BUT = any_case(
    r"^(?:(?:no|sorry|actually|hm+|please)[,.:]* )*(?:not|no more) (?P<old>[\w -]{2,40}?)(?: any ?more| any longer)?, (?:but |rather |use |take )?(?P<new>[^,;.?]{2,60}?)(?:,? (?:please|instead))?$"
)
_THEN = any_case(
    r"^(?:ok(?:ay)?,? |hm+,? |well,? )*then,? (?!i\b|we\b|you\b).*\b(?:it is|instead)$|^(?:please )?(?:use|take) [^,;]{2,40} instead$"
)
"""A choice that follows from an objection: what was said before may be over."""
_TURNS_BACK = any_case(
    r"^(?:hm+,? |no,? |sorry,? |oh,? |ok(?:ay)?,? |actually,? )*(?:scratch that|forget (?:it|that)|on second thoughts?|(?:i|we)(?:'ve| have)? changed (?:my|our) minds?|on reflection|no wait|wait,? no|i take that back)[,:;.–-]+ (?!(?:i['’]ll|i will|let me) (?:think|see|look|ask|check|sleep)\b|sorry\b|thanks?\b|never ?mind\b|we['’]ll see\b)(?:so |rather |let's |use |take )?(?P<new>.+)$"
)


def _may_correct(sentence: Sentence) -> bool:
    return not (is_question(sentence) or is_supposition(sentence.bare)) and len(sentence.text.split()) <= _MAX_UPDATE


_MAX_UPDATE = 16


def _replacing(decision: AnnouncedDecision, summary: str, old: str) -> AnnouncedDecision:
    if decision.summary != summary:
        return decision
    return msgspec.structs.replace(decision, replaces=(*decision.replaces, old), form="reversal")


_OWN_REVERSAL = any_case(
    r"\b(?:turn(?:ed|s) out|i(?:'ve| have)? (?:switched|dropped|replaced|reverted|removed|abandoned)|instead of|overkill|does(?:n't| not) work|won't work)\b"
)
"""How an agent says that what was decided is over."""


def _without_label(sentence: Sentence) -> Sentence:
    """A sentence without a label before it, unless that announces rules."""
    label = LABEL.match(sentence.text)
    if label is None or announces_rules(label.group()):
        return sentence
    end = label.end()
    return msgspec.structs.replace(sentence, text=sentence.text[end:], bare=sentence.bare[end:])


def _is_part_of_a_list(sentence: Sentence) -> bool:
    """Whether a sentence stands in a list or behind a heading, which say more of it than its words do."""
    return sentence.bullet or bool(sentence.lead) or ":" in sentence.bare


def _is_of_the_moment(sentence: Sentence) -> bool:
    """Whether a sentence reads by its grammar as if nothing in it were said for more than the moment."""
    if _is_part_of_a_list(sentence):
        return False
    if is_errand(sentence.bare):
        return True
    return read_sentence(sentence.bare).weight < _MOMENTARY


def _is_within(text: str, texts: Iterable[str]) -> bool:
    """Whether one of some texts says more than a text, and has it whole, in whole words."""
    folded = text.casefold()
    for other in texts:
        before, has_it, behind = other.casefold().partition(folded)
        if has_it and before + behind and not (before[-1:].isalnum() or behind[:1].isalnum()):
            return True
    return False


def _is_plainly_said(section: str, sentence: Sentence) -> bool:
    """Whether a sentence says in so many words what is to be done ever, what somebody prefers, has decided, or where his
    work stands."""
    if section == "notes":
        return says_where_work_stands(sentence)
    if section == "constraints":
        return _EVER.match(sentence.bare) is not None
    plain = {"preferences": _I_PREFER, "decisions": _WE_DECIDED}.get(section)
    return plain is not None and plain.search(sentence.bare) is not None


_EVER = any_case(
    r"^(?:(?:and|so|also|please|but),? )*(?:always|never) (?!(?:mind|the|a|an|in|on|seen|had|been|was|is|again|heard|saw|got|did|good|nice|ever|my|our)\b)[a-z]"
    r"|^(?:(?:and|so|also|but),? )*(?:(?:can|could|would|will) you |please )+.*\b(?:from (?:now|here) on(?:wards?)?|in (?:the )?future|going forward)[ .!?]*$"
)
_WE_DECIDED = any_case(
    r"\b(?:we|i)(?:['’]ve| have)? (?:\w+ ){0,4}(?:decided|chose|chosen|settled|opted|picked)\b"
    r"|\bit(?:['’]s| is) [\w .+-]{2,30} after all\b|\b(?:we|i)(?:['’]ll| will) \w+ [\w .+-]{2,40} instead of\b"
)
_I_PREFER = any_case(
    r"\bi (?:\w+ )?prefer\b|^(?:the |our )?users? (?:\w+ )?prefers?\b|\bmy (?:\w+ )?preferences? (?:is|are|for)\b"
)


def _bare_line(sentence: Sentence) -> str:
    return " ".join(sentence.bare.split())


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SUMMARY else text[: MAX_SUMMARY - 1].rstrip() + "…"


def _new_rules(stated: Iterable[StatedRule], standing: Sequence[str]) -> tuple[StatedRule, ...]:
    """Those that do not stand yet, each once."""
    rules: list[StatedRule] = []
    for rule in stated:
        texts = (*standing, *(other.text for other in rules))
        if not any(is_same_rule(rule.text, text) for text in texts):
            rules.append(rule)
        if len(rules) > _MAX_STATEMENTS:
            return ()
    return tuple(rules)
