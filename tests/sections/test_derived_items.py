"""Derived rules and decisions: marked, confirmed, removed for good, replaced by name; progress; staleness."""

from __future__ import annotations

import re

import pytest

from hudkit.api import Hud
from hudkit.compose.formats.markdown import render
from hudkit.config import StalenessSettings
from hudkit.hud.frame import Frame
from hudkit.log import Origin
from hudkit.log.payloads import (
    BlockerAdd,
    CommandRan,
    CommitMade,
    ConstraintAdd,
    ConstraintRemove,
    DecisionRecord,
    DecisionRemove,
    NoteAdd,
    NoteRemove,
    PlanPoint,
    PlanSync,
    PreferenceAdd,
    PreferenceRemove,
    StatementDoubt,
    StepAdd,
    TaskSet,
    TestsRan,
)
from hudkit.sections.document_builder import DocumentBuilder
from hudkit.sections.notes import MAX_DERIVED_NOTES
from hudkit.sections.section import ViewOptions


def frame(session) -> str:
    return session.frame(used_tokens=1000, limit_tokens=200_000, placement="system").text


def test_a_derived_rule_is_marked_until_it_is_confirmed() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        s.append(
            ConstraintAdd("never push", derived=True), DecisionRecord("use TLS", derived=True), origin=Origin.USER
        )
        assert "- never push (derived)" in frame(s)
        assert "- use TLS (derived)" in frame(s)
        assert "c1 (derived, from user)" in s.call("constraints.list", {}).text
        s.call("constraints.confirm", {"id": "c1"})
        s.call("decisions.confirm", {"id": "use TLS"})
        assert "derived" not in frame(s)
        assert s.state.constraints[0].mark.origin is Origin.USER


def test_a_removed_one_is_not_derived_again() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        rule, decision = ConstraintAdd("never push", derived=True), DecisionRecord("use TLS", derived=True)
        s.append(rule, decision, origin=Origin.USER)
        s.call("constraints.remove", {"id": "c1"})
        s.call("decisions.remove", {"id": "d1"})
        s.append(rule, decision, origin=Origin.USER)
        assert len(s.state.constraints) == len(s.state.decisions) == 0
        s.call("constraints.add", {"text": "never push"})  # but it can be said
        assert [one.text for one in s.state.constraints] == ["never push"]


def test_one_that_its_user_took_back_can_be_stated_again() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        rule = ConstraintAdd("never push", derived=True)
        s.append(rule, ConstraintRemove("", "never push", derived=True), rule, origin=Origin.USER)
        assert [one.text for one in s.state.constraints] == ["never push"]


def test_an_order_that_is_the_task_is_no_rule_beside_it() -> None:
    order, rule = "Make the conversion of currencies exact", "Never edit anything under vendor/"
    with Hud.in_memory() as hud:
        s = hud.session("s")
        s.append(ConstraintAdd(order, derived=True, form="lasting"), origin=Origin.USER)
        s.append(ConstraintAdd(rule, derived=True, form="modal"), origin=Origin.USER)
        s.append(TaskSet(f"{order}."))
        assert [one.text for one in s.state.constraints] == [rule]
        s.append(TaskSet(f"Bring the importer up to date. {rule}."))
        s.append(TaskSet(f"{rule}."))
        assert [one.text for one in s.state.constraints] == [rule], "it holds when the task is done"


def test_what_is_known_by_its_grammar_alone_has_its_turn_behind_the_steps() -> None:
    rule = "Beds under the roof vents get less water on days with rain in the forecast"
    step = "Read the forecast of the next day from the station on the roof of the greenhouse"
    for form, shown in (("lasting", step), ("modal", rule)):
        with Hud.in_memory() as hud:
            s = hud.session("s")
            s.append(
                ConstraintAdd(rule, derived=True, form=form), StepAdd("Begin"), StepAdd(step), origin=Origin.USER
            )
            text = s.frame(used_tokens=1000, limit_tokens=200_000, placement="system", budget=64).text
            assert [words for words in (rule, step) if words in text] == [shown], text
            assert rule in frame(s) and step in frame(s)


def test_a_decision_replaces_others_by_their_words() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        s.append(DecisionRecord("use Redis"), DecisionRecord("use Valkey", derived=True, replaces=("use Redis",)))
        assert [one.summary for one in s.state.decisions] == ["use Valkey"]
        assert "Redis" not in frame(s)


def test_progress_is_in_the_base() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        plan = PlanSync("PLAN.md", (PlanPoint("tiles", True), PlanPoint("labels")))
        s.append(TestsRan("pytest -q", 3, 1), CommitMade("4fe19c2", "Fake clock", "main"), plan, origin=Origin.TOOL)
        s.append(TestsRan("pytest -q", 4, 0), origin=Origin.TOOL)
        text = frame(s)
        assert "- plan PLAN.md: 1/2 done, next: labels\n" in text
        assert "- commit 4fe19c2 (main): Fake clock\n" in text
        assert "- tests, pytest -q: 4 passed\n" in text


def test_old_open_items_are_called_stale_once_per_base() -> None:
    hour = 3_600_000
    times = iter([0, *[hour] * 50, *[26 * hour] * 500])
    with Hud.in_memory(clock=lambda: 1_770_000_000_000 + next(times)) as hud:
        s = hud.session("s")
        s.append(TaskSet("port the exporter"))
        s.append(StepAdd("a"), BlockerAdd("no key"))
        assert "Not touched" not in frame(s)
        for _ in range(50):
            s.append(StepAdd("b"))
        assert "Not touched for long: the task · a · b · no key (1 day)." in frame(s)
        assert "26 h ago" in s.call("blockers.list", {}).text or "25 h ago" in s.call("blockers.list", {}).text
        never = ViewOptions(staleness=StalenessSettings(hours=0, model_calls=0))
        for options, is_told in ((ViewOptions(), True), (never, False)):
            document = render(DocumentBuilder().document(s.state, options, "123456"))
            assert ("Not touched for long: the task · a · b · no key (1 day)." in document) == is_told
            assert ("Not touched" in document) == is_told


def test_what_is_stale_by_calls_has_its_age_in_calls_and_words_that_last() -> None:
    with Hud.in_memory(clock=lambda: 1_770_000_000_000) as hud:
        session = hud.session("s")
        session.append(BlockerAdd("no key"))
        limits = ViewOptions(staleness=StalenessSettings(hours=24, model_calls=20))
        lines = []
        for number in range(65):
            session.frame(1_000 + number, 200_000)
            text = render(DocumentBuilder().document(session.state, limits, "123456"))
            lines += [line for line in text.splitlines() if line.startswith("Not touched")]
    ages = list(dict.fromkeys(re.findall(r"no key \((.*)\)", "\n".join(lines))))
    assert ages == ["over 20 calls", "over 40 calls", "over 60 calls"]


def test_what_becomes_stale_in_a_running_epoch_is_told_once_at_the_start_of_a_turn() -> None:
    hour, now = 3_600_000, [1_770_000_000_000]
    transcript = [("m1", "user")]
    with Hud.in_memory(clock=lambda: now[0]) as hud:
        session = hud.session("s")

        def call(*new: tuple[str, str], repeated: bool = False) -> Frame:
            transcript.extend(() if repeated else new)
            return session.frame(1_000, 200_000, transcript=transcript)

        session.append(TaskSet("port the exporter"), StepAdd("Map a · b"), BlockerAdd("no key for staging"))
        first = call()
        now[0] += 20 * hour
        session.append(CommandRan("make"))
        assert "Not touched" not in call(("m2", "assistant"), ("m3", "user")).tail
        now[0] += 5 * hour
        session.append(CommandRan("make"))
        within = call(("m4", "assistant"), ("m5", "tool"))
        assert "Not touched" not in within.text
        told = call(("m6", "assistant"), ("m7", "user"))
        assert (
            "Not touched for long: the task · `Map a · b` (1 day) and 1 more. Update, complete or remove" in told.tail
        )
        assert call(repeated=True).tail == told.tail, "a host that asks twice gets the same"
        assert session.frame_at(session.state.seq) == told
        again = call(("m8", "assistant"), ("m9", "user"))
        assert "Not touched" not in again.tail and told.base == again.base == first.base
        session.call("steps.update", {"id": "s1", "description": "Map b"})
        now[0] += 25 * hour
        session.append(CommandRan("make"))
        after = call(("m10", "assistant"), ("m11", "user"))
        assert "Not touched for long: the task (2 days) · Map b (1 day) · no key for staging (2 days)." in after.base
        assert "Not touched" not in after.tail, "the base of the same call says it"


SECTIONS_OF_DERIVED = {
    "constraints": (ConstraintAdd("never push", derived=True), "c1"),
    "preferences": (PreferenceAdd("never push", derived=True), "p1"),
    "decisions": (DecisionRecord("never push", derived=True), "d1"),
    "notes": (NoteAdd("never push", derived=True), "n1"),
}


@pytest.mark.parametrize("section", SECTIONS_OF_DERIVED)
def test_what_may_be_over_is_marked_leaves_with_the_next_base_and_comes_back_when_it_is_confirmed(section) -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        item, id = SECTIONS_OF_DERIVED[section]
        s.append(item, origin=Origin.USER)
        assert "- never push (derived)" in s.frame(used_tokens=1000, limit_tokens=200_000).base
        s.append(StatementDoubt(section, "never push", "push as you like"), origin=Origin.USER)
        told = s.frame(used_tokens=1000, limit_tokens=200_000)
        assert "never push (derived, may be over)" in told.deltas[-1].text
        assert "derived, may be over" in s.call(f"{section}.list").text
        assert "never push" not in frame(s)
        s.call(f"{section}.confirm", {"id": id})
        assert "- never push\n" in f"{frame(s)}\n"


@pytest.mark.parametrize("section", SECTIONS_OF_DERIVED)
def test_an_exception_is_shown_with_the_item_and_the_item_stays(section) -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        s.append(SECTIONS_OF_DERIVED[section][0], origin=Origin.USER)
        s.append(StatementDoubt(section, "never push", "For now you may push", suspended=True), origin=Origin.USER)
        assert "- never push (derived, but: For now you may push)" in frame(s)


def test_what_was_recorded_on_purpose_is_not_doubted_by_plain_words() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        s.call("preferences.add", {"text": "short answers"})
        s.append(StatementDoubt("preferences", "short answers", "write more"), origin=Origin.USER)
        assert "- short answers\n" in frame(s)


@pytest.mark.parametrize("section", SECTIONS_OF_DERIVED)
def test_a_derived_item_that_was_removed_by_hand_is_not_derived_again_and_one_that_words_end_is(section) -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        item = SECTIONS_OF_DERIVED[section][0]
        gone = {
            "constraints": ConstraintRemove("", "never push", derived=True),
            "preferences": PreferenceRemove("", "never push", derived=True),
            "decisions": DecisionRemove("", "never push", derived=True),
            "notes": NoteRemove("", "never push", derived=True),
        }[section]
        s.append(item, gone, item, origin=Origin.USER)
        assert [one.words for one in getattr(s.state, section)] == ["never push"]
        s.call(f"{section}.remove", {"id": "never push"})
        s.append(item, origin=Origin.USER)
        assert not getattr(s.state, section)


def test_facts_that_were_read_from_words_are_bounded_and_never_push_out_a_note_of_the_agent() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        s.call("notes.add", {"content": "found by work"})
        s.append(*(NoteAdd(f"fact {n}", derived=True) for n in range(MAX_DERIVED_NOTES + 3)), origin=Origin.USER)
        texts = [note.content for note in s.state.notes]
        assert texts[:2] == ["found by work", "fact 3"] and len(texts) == MAX_DERIVED_NOTES + 1
