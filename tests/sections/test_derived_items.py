"""Derived rules and decisions: marked, confirmed, removed for good, replaced by name; progress; staleness."""

from __future__ import annotations

import re

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
    PlanPoint,
    PlanSync,
    StepAdd,
    TaskSet,
    TestsRan,
)
from hudkit.sections.document_builder import DocumentBuilder
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
