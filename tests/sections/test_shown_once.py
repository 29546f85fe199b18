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
