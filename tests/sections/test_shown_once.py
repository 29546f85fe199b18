"""What is said in two places is shown in one: derived rules, a summary that the conversation has, ids."""

from __future__ import annotations

import pytest

from hudkit.api import Hud, HudSession
from hudkit.log import Origin
from hudkit.log import payloads as p

FLOATS = "Never use floats for money"


@pytest.fixture
def session() -> HudSession:
    return Hud.in_memory().session("s")


def derive(session: HudSession, text: str) -> None:
    session.append(p.ConstraintAdd(text, derived=True), origin=Origin.USER)


@pytest.mark.parametrize("stated", [f"{FLOATS}; Decimal only", "In invoices: never use floats for money."])
def test_a_rule_that_is_stated_in_the_same_words_takes_the_place_of_the_derived_one(
    session: HudSession, stated: str
) -> None:
    derive(session, FLOATS)
    session.call("constraints.add", {"text": stated})
    assert [rule.text for rule in session.state.constraints] == [stated]
    derive(session, FLOATS)
    assert [rule.text for rule in session.state.constraints] == [stated]


@pytest.mark.parametrize("stated", ["Use Decimal for money", "Never use floats", "Never use floats for moneybags"])
def test_rules_in_other_words_both_stay(session: HudSession, stated: str) -> None:
    derive(session, FLOATS)
    session.call("constraints.add", {"text": stated})
    assert [rule.text for rule in session.state.constraints] == [FLOATS, stated]


def test_few_words_are_in_many_rules(session: HudSession) -> None:
    derive(session, "no floats")
    session.call("constraints.add", {"text": "no floats in tests, integers elsewhere"})
    assert len(session.state.constraints) == 2


def test_a_summary_is_shown_where_the_conversation_does_not_have_it(session: HudSession) -> None:
    session.append(p.CompactAfter("Half of the parser is moved."), origin=Origin.HOST)
    assert "Half of the parser" in session.frame().base
    session.append(p.CompactAfter("The parser is moved.", anchor="assistant:17:"), origin=Origin.HOST)
    assert "Earlier" not in session.frame().base and "parser" not in session.frame().base
    session.append(p.CompactAfter("All is moved."), origin=Origin.HOST)
    assert "All is moved" in session.frame().base


@pytest.mark.slow
def test_the_session_line_tells_what_there_is_without_ids(session: HudSession) -> None:
    links = [("parent", "ses_dfce555a"), *(("child", f"ses_{n}") for n in range(3)), ("fork", "ses_9")]
    session.append(*(p.SessionLink(relation, name) for relation, name in links), origin=Origin.HOST)
    base = session.frame().base
    assert "work for another session; a copy of an earlier session; 3 sub-agents" in base and "ses_" not in base


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Port the report to the new API", "Port the report to the new API (from the first message)"),
        ("请把报告移植到新的接口上并且更新测试", "请把报告移植到新的接口上并且更新测试 (from the first message)"),
        ("hello", "A title (from the session's title)"),
        ("go on", "A title (from the session's title)"),
    ],
)
def test_the_first_message_stands_in_for_a_task(session: HudSession, said: str, shown: str) -> None:
    session.append(p.SessionStart(request=said), origin=Origin.USER)
    session.append(p.SessionStart(title="A title"), origin=Origin.HOST)
    session.append(p.SessionStart(request="ok"), origin=Origin.USER)
    assert shown in session.frame().base
    session.append(p.SessionStart(request="And now something else, please"), origin=Origin.USER)
    rows = session.state.session
    assert rows.first_request == (said if "first" in shown else "And now something else, please")


SUMMARY = """## Goal
Make the plan right for dry weeks.

## Instructions
- Tests first
- Never change the signature of plan()

## Discoveries
- `plan()` reads __rain__ twice

## Accomplished
- The row parser is rewritten
- 34 tests pass
In progress: the pump model, stopped in pump.py:120

## Blockers
-

## Relevant files
- src/pump.py
"""


def test_earlier_context_begins_with_what_was_done_and_keeps_its_lines(session: HudSession) -> None:
    session.append(p.CompactAfter(SUMMARY), origin=Origin.HOST)
    words = session.frame().base.partition("## Earlier Context\n\n")[2]
    assert words.startswith(
        "Accomplished:\n\n- The row parser is rewritten\n- 34 tests pass\n\n"
        "In progress: the pump model, stopped in pump.py:120\n\nGoal:\n\nMake the plan right for dry weeks.\n\n"
        "Instructions:\n\n- Tests first\n"
    )
    assert "`plan()` reads `__rain__` twice" in words and "src/pump.py" in words and "Blockers" not in words


def test_earlier_context_leaves_out_what_the_sections_say(session: HudSession) -> None:
    session.append(p.TaskSet("Plan for dry weeks"), p.ConstraintAdd("Tests first"), p.FileEdit("src/pump.py"))
    session.append(p.CompactAfter(SUMMARY), origin=Origin.HOST)
    words = session.frame().base.partition("## Earlier Context\n\n")[2]
    assert (
        "Goal" not in words and "pump.py\n- " not in words and "Relevant" not in words and "Tests first" not in words
    )
    # A rule that only the summary has is not lost: it stands behind what was found.
    assert words.index("Discoveries") < words.index("Never change the signature of plan()")


def test_earlier_context_in_one_line_has_its_lines_apart(session: HudSession) -> None:
    session.append(p.CompactAfter(SUMMARY), origin=Origin.HOST)
    line = session.frame(density="compact").base.partition("Earlier: ")[2].partition("\n")[0]
    assert line.startswith("Accomplished: The row parser is rewritten ↵ 34 tests pass ↵ In progress: the pump model")


@pytest.mark.parametrize(("title", "is_said"), [("Fix retries", False), ("The retries", False), ("Uploader", True)])
def test_a_title_that_repeats_the_task_is_not_said(session: HudSession, title: str, is_said: bool) -> None:
    session.append(p.SessionStart(title=title), p.CompactAfter(""))
    session.append(p.TaskSet("Fix the retries of the service"))
    assert (title in session.frame().base.partition("## Session")[2]) is is_said


def test_the_end_of_an_error_is_kept_wherever_it_is_told(session: HudSession) -> None:
    message = "pytest tests/test_refunds.py: " + "a line of the traceback, " * 12 + "KeyError: 'refund_7'"
    anchors = ["m0"]
    session.append(p.TaskSet("Refunds"))
    session.frame(1_000, 200_000, transcript=anchors)
    session.append(p.ErrorEncountered(message, key="k"), p.NoteAdd("n"))
    told = session.frame(1_000, 200_000, transcript=[*anchors, "m1"]).deltas[0].text
    session.append(p.ErrorResolved(key="k"), p.NoteAdd("m"))
    over = session.frame(1_000, 200_000, transcript=[*anchors, "m1", "m2"]).deltas[-1].text
    assert "KeyError: 'refund_7'" in told and "KeyError: 'refund_7'" in over
    session.append(p.ErrorEncountered(message, key="k2"))
    for density in ("full", "compact"):
        assert "KeyError: 'refund_7'" in session.frame(placement="system", density=density).base
