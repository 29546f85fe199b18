"""What the user's last message asks to be recorded decides where a small model's record goes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from toolbox import did, fresh, types

from hudkit.config import Settings
from hudkit.hud import SessionCore
from hudkit.log import Origin
from hudkit.log.payloads import SessionStart
from hudkit.tools import RouterReply, reply
from hudkit.tools.user_request import requests_in

SMALL, LARGE = "qwen2.5-coder-7b", "gpt-5"


def asked(message: str, *, model: str = SMALL, guide: str = "auto") -> SessionCore:
    """A session with some entries, of which the user has just said something."""
    session = fresh()
    session.settings = msgspec.convert({"budget": {"guide": guide}}, Settings)
    did(session, "task.set", description="Offline mode for the inspection app")
    did(session, "constraints.add", text="No deployments on Fridays")
    did(session, "blockers.add", description="The map licence has not arrived")
    for text in ("Write the sync queue", "Translate the help page"):
        did(session, "steps.add", description=text)
    did(session, "decisions.record", summary="The reports are sent with cron")
    did(session, "notes.add", content="Ruth runs the Dundee office, extension 41")
    did(session, "errors.add", message="The photo upload times out")
    session.append(SessionStart(request=message), origin=Origin.HOST)
    session.model = model
    return session


def send(session: SessionCore, operation: str, **arguments: Any) -> tuple[list[str], RouterReply]:
    """The types of what a model's call recorded, and the answer."""
    before = session.state.seq
    answer = reply(session, "hud", {"operation": operation, **arguments})
    return types(session, before), answer


@pytest.mark.parametrize(
    ("message", "requests"),
    [
        ("New rule: nobody edits the schema by hand.", [("constraints", "add")]),
        ("We can't go on, the token has expired. Put it down as a blocker.", [("blockers", "add")]),
        ("We agreed on JSON lines for the queue, write that down.", [("decisions", "add")]),
        ("Next step: measure the start on an old phone", [("steps", "add")]),
        ("Note that the office is closed on Mondays.", [("notes", "add")]),
        ("Drop the rule about Fridays, please.", [("constraints", "end")]),
        ("The help page is translated. Tick it off.", [("steps", "end")]),
        ("Change the decision on the reports: they go out by hand.", [("decisions", "change")]),
        ("which steps are still open", [("steps", "read")]),
        ("What's blocking us?", [("blockers", "read")]),
        (
            "Log an error: the map is empty. And add a step: read the map's log.",
            [("errors", "add"), ("steps", "add")],
        ),
        ("The note on the office is wrong, it closes at five. Correct it.", [("notes", "change")]),
        ("It's final, we keep SQLite. Log it.", [("decisions", "add")]),
        ("s2 is finished", [("steps", "end")]),
        ("How many offices are there? It should be in your notes.", [("notes", "read")]),
        ("What's still left to do?", [("steps", "read")]),
        ("Show me everything that you have.", [("snapshot", "read")]),
        # work, and not what is to be kept
        ("Fix the bug in the plan page, and add an error to the form.", []),
        ("Add a task list component to the settings page.", []),
        ("Why does the rule engine skip notes fields?", []),
        ("Make the tests pass.", []),
    ],
)
def test_a_message_says_what_is_to_be_recorded(message: str, requests: list[tuple[str, str]]) -> None:
    assert [request[:2] for request in requests_in(message)] == requests


@pytest.mark.parametrize(
    ("message", "operation", "arguments", "recorded"),
    [
        (
            "We agreed on JSON lines for the queue, write that down.",
            "constraints.add",
            {"text": "JSON lines for the queue"},
            ["decision.record"],
        ),
        ("We're stuck: the token has expired.", "notes.add", {"text": "The token has expired"}, ["blocker.add"]),
        (
            "New rule: nobody edits the schema by hand.",
            "notes.add",
            {"text": "Nobody edits the schema by hand"},
            ["constraint.add"],
        ),
        (
            "The help page is translated. Tick it off.",
            "decisions.record",
            {"text": "The help page is translated."},
            ["step.complete"],
        ),
        (
            "We don't translate the help page, strike that step.",
            "notes.add",
            {"text": "We don't translate the help page"},
            ["step.remove"],
        ),
        (
            "The photo upload error is fixed.",
            "notes.add",
            {"text": "The photo upload error is fixed."},
            ["error.resolved"],
        ),
        (
            "cron is out, reports are sent by a queue now. Update that decision.",
            "decisions.record",
            {"text": "Reports are sent by a queue"},
            ["decision.supersede", "decision.record"],
        ),
        (
            "Ruth has extension 43 now, correct the note on the Dundee office.",
            "notes.add",
            {"text": "Ruth has extension 43"},
            ["note.update"],
        ),
        (
            "Drop the rule about Friday deployments, please.",
            "constraints.remove",
            {"item": "rule 7"},
            ["constraint.remove"],
        ),
    ],
)
def test_a_small_models_call_goes_where_the_user_said(
    message: str, operation: str, arguments: dict[str, Any], recorded: list[str]
) -> None:
    events, answer = send(asked(message), operation, **arguments)
    assert answer.ok, answer.text
    assert events == recorded


def test_an_item_of_which_the_user_does_not_speak_is_not_ended() -> None:
    session = asked("The help page is translated, I read it twice. Please close that step.")
    events, answer = send(session, "steps.remove", item="s1")
    assert events == ["step.complete"]
    assert "s2" in answer.text


def test_a_question_is_answered_and_nothing_is_recorded() -> None:
    events, answer = send(asked("Which steps are still open?"), "steps.complete", item="Write the sync queue")
    assert not events
    assert "Translate the help page" in answer.text
    assert answer.text.endswith("The user asks to see this; nothing was recorded.")


def test_an_entry_that_the_user_did_not_speak_of_is_no_entry_of_another_kind() -> None:
    events, answer = send(
        asked("Who runs the office?"), "preferences.add", text="Ruth runs the Dundee office, extension 41"
    )
    assert not events
    assert not answer.ok
    assert "one of the notes" in answer.text


def test_a_copy_stands_for_what_the_user_said() -> None:
    session = asked("Please remember that I'd rather be asked one question at a time.")
    events, answer = send(session, "task.set", text="Offline mode for the inspection app")
    assert events == ["preference.add"]
    assert "one question at a time" in session.state.preferences.items[0].words
    assert answer.text == "Added preference p1. It stands in the user's words."


@pytest.mark.parametrize(
    "arguments", [{"item": "disk2", "details": "until July"}, {"text": "the disk"}, {"rule": "disk", "value": "2"}]
)
def test_a_record_of_too_few_words_has_the_users(arguments: dict[str, Any]) -> None:
    message = "We're stuck: the second disk is out of stock until July."
    session = asked(message)
    events, _ = send(session, "blockers.add", **arguments)
    assert events == ["blocker.add"]
    assert session.state.blockers.items[-1].words == message


def test_what_asks_for_a_record_is_not_its_text() -> None:
    session = asked("The reports go out by hand from now on. Replace the old decision on cron with that.")
    events, _ = send(session, "decisions.record", text="Replace the old decision on cron with that.")
    assert events == ["decision.supersede", "decision.record"]
    assert session.state.decisions.items[0].summary == "The reports go out by hand from now on."


def test_a_question_about_what_holds_needs_no_search() -> None:
    message = "Is anything holding us up?"
    answer = reply(asked(message), "memory", {"operation": "search", "query": message})
    assert "map licence" in answer.text
    message = "Did anybody ever say what is holding us up?"
    answer = reply(asked(message), "memory", {"operation": "search", "query": message})
    assert "map licence" not in answer.text


def test_a_list_of_others_is_not_what_was_asked_for() -> None:
    _, answer = send(asked("Show me everything that you have."), "constraints.list")
    assert "photo upload" in answer.text


def test_that_a_step_is_over_is_no_task() -> None:
    session = asked("hello", model=LARGE)
    events, answer = send(session, "task.set", text="s2 is finished")
    assert not events
    assert not answer.ok


def test_a_list_with_the_text_of_an_entry_is_a_list() -> None:
    events, answer = send(asked("New rule: nobody edits the schema."), "blockers.list", text="Write the sync queue")
    assert not events
    assert answer.text.startswith("Blockers (1)")


def test_more_than_an_entry_says_is_no_copy_of_it() -> None:
    text = "Write the sync queue as JSON lines, one file for each device and day"
    events, _ = send(asked("Have a look at the queue, please."), "decisions.record", text=text)
    assert events == ["decision.record"]


def test_words_that_any_entry_has_name_none() -> None:
    session = asked("Strike the rule on tabs, it is not needed.")
    did(session, "constraints.add", text="The map is not shown to guests")
    events, answer = send(session, "constraints.remove", item="tabs")
    assert not events
    assert not answer.ok


def test_a_part_of_the_task_does_not_take_its_place() -> None:
    session = asked("Our task has grown, it covers the escalators too. Change the task, please.")
    events, answer = send(session, "constraints.add", text="The task covers the escalators too")
    assert not events
    assert not answer.ok
    assert "whole" in answer.text


def test_each_message_is_looked_at_once() -> None:
    session = asked("Which steps are still open?")
    send(session, "steps.complete", item="Write the sync queue")
    events, _ = send(session, "steps.complete", item="Write the sync queue")
    assert events == ["step.complete"]


def test_what_the_user_did_not_say_is_recorded_as_it_is() -> None:
    session = asked("New rule: nobody edits the schema by hand.")
    events, _ = send(session, "notes.add", text="The queue keeps forty entries at most")
    assert events == ["note.add"]


@pytest.mark.parametrize(
    ("model", "guide", "recorded"),
    [
        (LARGE, "auto", "note.add"),
        (SMALL, "never", "note.add"),
        (LARGE, "always", "constraint.add"),
        (SMALL, "auto", "constraint.add"),
    ],
)
def test_large_models_are_taken_at_their_word(model: str, guide: str, recorded: str) -> None:
    session = asked("New rule: nobody edits the schema by hand.", model=model, guide=guide)
    events, _ = send(session, "notes.add", text="Nobody edits the schema by hand")
    assert events == [recorded]


def test_the_model_is_the_one_of_the_last_frame() -> None:
    session = asked("New rule: nobody edits the schema by hand.", model="")
    session.frame(1_000, 32_768, model=SMALL)
    events, _ = send(session, "notes.add", text="Nobody edits the schema by hand")
    assert events == ["constraint.add"]
