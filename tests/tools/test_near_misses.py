"""What models nearly write is understood: other names of operations and arguments, lists, items by their words."""

from __future__ import annotations

import json

import pytest
from toolbox import did, fresh

from hudkit.sections import encode_state
from hudkit.tools import OPERATIONS, is_operation_name, reply, resolve_operation


def session():
    s = fresh()
    did(s, "task.set", description="Ship the export")
    did(s, "constraints.add", text="Never touch legacy")
    did(s, "blockers.add", description="No credentials for staging")
    for text in ("Write the client", "Test it", "Delete the old shim"):
        did(s, "steps.add", description=text)
    did(s, "decisions.record", summary="Use JWT", details="Stateless")
    did(s, "decisions.record", summary="Retry a failed upload three times")
    for text in ("The staging port is 8443", "Finance contact: Marta"):
        did(s, "notes.add", content=text)
    did(s, "errors.add", message="upload_test.py times out")
    did(s, "files.edit", path="src/auth.py")
    return s


def same(sent, name, **args):
    """Both bring the same state and the same answer."""
    one, other = session(), session()
    answer = reply(one, "hud", sent)
    expected = did(other, name, **args)
    assert answer.ok, answer.text
    assert answer.text == expected.text
    assert encode_state(one.state) == encode_state(other.state)


ADD = ("notes.add", {"content": "x"})
RECORD = ("decisions.record", {"summary": "x", "details": "y"})
DONE = ("steps.complete", {"id": "s1"})
GONE = ("notes.remove", {"id": "n1"})


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        # the envelope
        ({"operation": "notes.add", "text": "x"}, ADD),
        ({"tool": "notes.add", "args": {"content": "x"}}, ADD),
        ({"tool": "notes.add", "text": "x"}, ADD),
        ({"operation": "notes.add", "args": {"text": "x"}}, ADD),
        ({"operation": "notes.add", "arguments": {"text": "x"}}, ADD),
        ({"operation": "notes.add", "args": json.dumps({"text": "x"})}, ADD),
        ({"operation": "notes.add", "args": "x"}, ADD),
        ({"action": "notes.add", "text": "x"}, ADD),
        ({"name": "notes.add", "arguments": {"text": "x"}}, ADD),
        ({"notes.add": {"text": "x"}}, ADD),
        ({"tool": "hud", "operation": "notes.add", "text": "x"}, ADD),
        ({"tool": "notes", "operation": "add", "text": "x"}, ADD),
        ({"operation": "decisions.record", "text": "x", "args": {"details": "y"}}, RECORD),
        (json.dumps({"operation": "notes.add", "text": "x"}), ADD),
        # the operation
        ({"operation": "note.add", "text": "x"}, ADD),
        ({"operation": "add_note", "text": "x"}, ADD),
        ({"operation": "notesAdd", "text": "x"}, ADD),
        ({"operation": "hud.notes.add", "text": "x"}, ADD),
        ({"operation": "notes.create", "text": "x"}, ADD),
        ({"operation": "note", "text": "x"}, ADD),
        ({"operation": "remember", "text": "x"}, ADD),
        ({"operation": "decisions.add", "text": "x", "details": "y"}, RECORD),
        ({"operation": "record_decision", "text": "x", "details": "y"}, RECORD),
        ({"operation": "decisions.set", "text": "x", "reason": "y"}, RECORD),
        ({"operation": "task.add", "text": "x"}, ("task.set", {"description": "x"})),
        ({"operation": "rule.add", "text": "x"}, ("constraints.add", {"text": "x"})),
        ({"operation": "pin", "text": "x"}, ("constraints.add", {"text": "x"})),
        ({"operation": "plan.add", "text": "x"}, ("steps.add", {"description": "x"})),
        ({"operation": "steps.done", "item": "s1"}, DONE),
        ({"operation": "mark_step_done", "item": "s1"}, DONE),
        ({"operation": "steps.finish", "item": "s1"}, DONE),
        ({"operation": "notes.delete", "item": "n1"}, GONE),
        ({"operation": "notes.withdraw", "item": "n1"}, GONE),
        ({"operation": "blocker.resolve", "item": "b1"}, ("blockers.remove", {"id": "b1"})),
        ({"operation": "error.close", "item": "e1"}, ("errors.resolve", {"id": "e1"})),
        ({"operation": "notes"}, ("notes.list", {})),
        ({"operation": "steps.get"}, ("steps.list", {})),
        ({"operation": "state"}, ("snapshot", {})),
        ({"operation": "clear", "sections": "notes"}, ("clear", {"section": "notes"})),
        # the text
        ({"operation": "notes.add", "message": "x"}, ADD),
        ({"operation": "notes.add", "note": "x"}, ADD),
        ({"operation": "notes.add", "Content": "x"}, ADD),
        ({"operation": "notes.add", "text": "x", "item": "", "details": ""}, ADD),
        ({"operation": "notes.add", "text": "x", "item": "n7"}, ADD),
        ({"operation": "notes.add", "text": "x", "details": "y"}, ("notes.add", {"content": "x — y"})),
        ({"operation": "decisions.record", "decision": "x", "rationale": "y"}, RECORD),
        ({"operation": "decisions.record", "summary": "x", "description": "y"}, RECORD),
        ({"operation": "steps.add", "item": "x"}, ("steps.add", {"description": "x"})),
        ({"operation": "files.edit", "text": "a.py"}, ("files.edit", {"path": "a.py"})),
        ({"operation": "files.edit", "filePath": "a.py"}, ("files.edit", {"path": "a.py"})),
        ({"operation": "search", "text": "JWT"}, ("search", {"query": "JWT"})),
        ({"operation": "help", "text": "notes.add"}, ("help", {"operation": "notes.add"})),
        # the item
        ({"operation": "steps.complete", "text": "Write the client"}, DONE),
        ({"operation": "steps.complete", "step": "Write the client"}, DONE),
        ({"operation": "steps.complete", "step_id": "s1"}, DONE),
        ({"operation": "notes.remove", "note": "n1", "details": "over"}, GONE),
        ({"operation": "notes.remove", "item": "staging_port"}, GONE),
        ({"operation": "notes.remove", "item": "the note about the staging port"}, GONE),
        ({"operation": "steps.remove", "item": "delete_old_shim"}, ("steps.remove", {"id": "s3"})),
        ({"operation": "blockers.remove", "item": "staging credentials"}, ("blockers.remove", {"id": "b1"})),
        (
            {"operation": "notes.update", "note": "finance contact", "content": "Tobias"},
            ("notes.update", {"id": "n2", "content": "Tobias"}),
        ),
        (
            {"operation": "steps.update", "item": "s1", "step": "Write it twice"},
            ("steps.update", {"id": "s1", "description": "Write it twice"}),
        ),
        (
            {"operation": "decisions.supersede", "item": "retry uploads", "text": "Retry five times"},
            ("decisions.record", {"summary": "Retry five times", "supersedes": "d2"}),
        ),
        (
            {"operation": "decisions.supersede", "item": "d2", "by": "Retry it five times"},
            ("decisions.record", {"summary": "Retry it five times", "supersedes": "d2"}),
        ),
        (
            {"operation": "decisions.supersede", "item": "JWT", "by": "d2"},
            ("decisions.supersede", {"id": "d1", "by": "d2"}),
        ),
        (
            {"operation": "decisions.record", "item": "retry uploads", "text": "Retry five times"},
            ("decisions.record", {"summary": "Retry five times", "supersedes": "d2"}),
        ),
        (
            {"operation": "decisions.supersede", "text": "A failed upload is retried five times from now on"},
            (
                "decisions.record",
                {"summary": "A failed upload is retried five times from now on", "supersedes": "d2"},
            ),
        ),
        ({"operation": "steps.reorder", "item": "s3"}, ("steps.reorder", {"ids": ["s3"]})),
        # the item in a whole sentence, or in the new text alone
        ({"operation": "steps.complete", "text": "Good news: the client we wanted to write is merged"}, DONE),
        (
            {"operation": "decisions.remove", "text": "forget what we said about failed uploads and three retries"},
            ("decisions.remove", {"id": "d2"}),
        ),
        (
            {"operation": "notes.update", "text": "The staging port is 9000"},
            ("notes.update", {"id": "n1", "content": "The staging port is 9000"}),
        ),
        (
            {"operation": "steps.update", "text": "Write the client in Go"},
            ("steps.update", {"id": "s1", "description": "Write the client in Go"}),
        ),
        ({"operation": "history", "query": "JWT"}, ("search", {"query": "JWT"})),
        ({"operation": "steps.complete", "item": "Step one"}, DONE),
        ({"operation": "steps.complete", "item": "the first step"}, DONE),
        ({"operation": "steps.remove", "item": "step 3"}, ("steps.remove", {"id": "s3"})),
        ({"operation": "notes.remove", "item": "notes", "text": "The staging port is 8443"}, GONE),
        (
            {"operation": "blockers.add", "text": "Waiting for the mail server", "item": "mail server"},
            ("blockers.add", {"description": "Waiting for the mail server"}),
        ),
        # lists
        ({"operation": "notes.add", "texts": ["x", "y"]}, ("notes.add", {"content": ["x", "y"]})),
        ({"operation": "notes.add", "text": ["x", "y"]}, ("notes.add", {"content": ["x", "y"]})),
        ({"operation": "notes.add", "args": ["x", "y"]}, ("notes.add", {"content": ["x", "y"]})),
        ({"operation": "steps.add", "steps": [{"description": "x"}]}, ("steps.add", {"description": ["x"]})),
        ({"operation": "steps.complete", "items": ["s1", "s2"]}, ("steps.complete", {"id": ["s1", "s2"]})),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else None,
)  # fmt: skip
def test_it_is_understood(sent, meant):
    name, args = meant
    same(sent, name, **args)


@pytest.mark.parametrize(
    "sent",
    [
        {"operation": "add", "text": "x"},
        {"operation": "remove", "item": "n1"},
        {"operation": "task.complete"},
        {"operation": "constraints.complete", "item": "c1"},
        {"operation": "notes.clear"},
        {"operation": "notes.add", "text": "x", "origin": "user"},
        {"operation": "notes.add", "note": "x", "message": "y"},
        {"operation": "notes.add", "text": " \n"},
        {"operation": "notes.add", "texts": ["x", " "]},
        {"operation": "notes.remove", "item": " "},
        {"operation": "notes.add", "text": "x", "item": "the port"},
        {"operation": "notes.remove", "item": "12345"},
        {"operation": "messages", "query": "port"},
        {"operation": "notes.remove", "item": "note_id"},
        {"operation": "notes.remove", "item": "the note"},
        {"operation": "steps.remove", "item": "the deployment of the mail server"},
        {"operation": "blockers.remove", "text": "…"},
        {"operation": "decisions.supersede", "item": "d1", "by": "d9"},
        {"operation": "steps.complete", "items": ["s1", "s9"]},
        {"operation": "decisions.record", "text": "x", "item": "d1"},
        {"operation": "steps.remove", "item": "the mail server that we test at night is the old one, not the shim"},
        {"operation": "decisions.supersede", "text": "The archive is packed with zstd from now on"},
        {"operation": "decisions.supersede", "by": "d2"},
        {"operation": "steps.complete", "item": "step 9"},
        {"operation": "steps.complete", "item": "one"},
        {"operation": "notes.update", "text": "The database is on port 5432"},
    ],
    ids=json.dumps,
)
def test_what_could_mean_something_else_is_refused_and_changes_nothing(sent):
    s = session()
    before = s.state
    answer = reply(s, "hud", sent)
    assert not answer.ok and s.state == before, answer.text


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_found_by_words_in_any_order(name):
    group, point, verb = name.partition(".")
    for spelling in (f"{verb}_{group}", f"{group}_{verb}", f"{group} {verb}") if point else ():
        assert resolve_operation(spelling, {}).name == name


@pytest.mark.parametrize(
    ("name", "ours"),
    [("notes.add", True), ("add_note", True), ("hud_note", True), ("completeStep", True), ("steps.done", True)]
    + [
        (name, False) for name in ("read_file", "update_plan", "search", "edit", "todo.add", "task", "note_taker_app")
    ],
)
def test_only_a_name_that_no_host_has_for_a_tool_is_an_operations(name, ours):
    assert is_operation_name(name) == ours


def test_words_that_no_decision_has_replace_none():
    s = session()
    answer = reply(s, "hud", {"operation": "decisions.record", "text": "Use zstd", "item": "archive files"})
    assert (
        answer.ok and answer.text == 'Recorded decision d3. No decision is named "archive files": none was replaced.'
    )
    assert [decision.summary for decision in s.state.decisions][:2] == [
        "Use JWT",
        "Retry a failed upload three times",
    ]


def test_a_list_is_recorded_in_one_append_or_not_at_all():
    s = session()
    answer = reply(s, "hud", {"operation": "steps.add", "texts": ["a", "b", "a", "Test it"]})
    assert answer.text == 'Added steps s4 "a"; s5 "b". Already there: steps s2 "Test it".'
    assert answer.answer.data == {"id": "s4", "recorded": True, "ids": ["s4", "s5", "s2"]}
    assert reply(s, "hud", {"operation": "notes.remove", "items": ["n1", "zzz"]}).ok is False
    assert len(s.state.notes) == 2
    removed = reply(s, "hud", {"operation": "notes.remove", "items": ["staging", "n2"]})
    assert removed.text == 'Removed notes n1 "The staging port is 8443"; n2 "Finance contact: Marta".'


def test_a_decision_is_read_with_its_reason():
    s = session()
    assert reply(s, "hud", {"operation": "decisions.get", "item": "JWT"}).text == "- d1: Use JWT\n\n    Stateless"
    assert reply(s, "hud", {"operation": "decisions.get", "item": "d2"}).text.endswith("No reason was given.")
