"""Each operation by what it does: the state, the stored events, the answer."""

from __future__ import annotations

import pytest
from toolbox import OF_THE_PAST, did, fresh, types

from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.log.payloads import (
    CompactAfter,
    ConstraintAdd,
    ContextSnapshot,
    DecisionRecord,
    FrameBase,
    NoteAdd,
    Redact,
    TodoItem,
    TodoSync,
)
from hudkit.log.stores.memory_log import MemoryLog
from hudkit.tools import OPERATIONS


def test_task():
    s = fresh()
    assert did(s, "task.get").text == "No task is set."
    assert did(s, "task.set", description="Implement auth").text == "Set the task."
    assert did(s, "task.set", description="Implement auth").text == "The task is so already."
    updated = did(s, "task.update", description="Implement auth, tests left").text
    assert updated == "Updated the task."
    assert did(s, "task.get").text == "- task: Implement auth, tests left"
    assert did(s, "task.get").data["task"]["description"] == "Implement auth, tests left"
    assert did(s, "task.clear").text == "Cleared the task."
    assert did(s, "task.clear").text == "No task was set."
    assert did(s, "task.update", description="Again").text == "Set the task."
    assert s.state.task.description == "Again"
    assert types(s) == ["task.set", "task.update", "task.clear", "task.set"]


def test_notes():
    s = fresh()
    assert did(s, "notes.add", content="a").data == {"id": "n1", "recorded": True}
    assert did(s, "notes.add", content="b").text == "Added note n2."
    assert did(s, "notes.add", content="a").text == "Already there: note n1."
    assert did(s, "notes.update", id="n1", content="c").text == "Updated note n1."
    assert did(s, "notes.update", id="n1", content="c").text == "Note n1 says so already."
    assert did(s, "notes.list").text == "Notes (2)\n- n1: c\n- n2: b"
    with pytest.raises(OperationError, match="note n2 says this already"):
        did(s, "notes.update", id="c", content="b")
    assert did(s, "notes.remove", id="c").text == 'Removed note n1: "c".'
    assert did(s, "notes.remove", id="b").text == 'Removed note n2: "b".'
    assert did(s, "notes.list").text == "Notes: none"
    assert types(s) == ["note.add", "note.add", "note.update", "note.remove", "note.remove"]


def test_constraints():
    s = fresh()
    assert did(s, "constraints.add", text="No new dependencies").text == "Added constraint c1."
    assert did(s, "constraints.add", text="No new dependencies").text == "Already there: constraint c1."
    s.append(ConstraintAdd("Tabs", derived=True), origin=Origin.HOST)
    assert did(s, "constraints.list").text == (
        "Constraints (2)\n- c1: No new dependencies\n- c2 (derived, from host): Tabs"
    )
    assert did(s, "constraints.remove", id="dependencies").text == 'Removed constraint c1: "No new dependencies".'
    assert [rule.text for rule in s.state.constraints] == ["Tabs"]
    assert types(s) == ["constraint.add", "constraint.add", "constraint.remove"]


def test_blockers():
    s = fresh()
    assert did(s, "blockers.add", description="No credentials").data["id"] == "b1"
    assert did(s, "blockers.list").text == "Blockers (1)\n- b1: No credentials"
    assert did(s, "blockers.remove", id="b1").text == 'Removed blocker b1: "No credentials".'
    assert len(s.state.blockers) == 0
    assert types(s) == ["blocker.add", "blocker.remove"]


def test_steps():
    s = fresh()
    for text in ("Plan", "Write", "Test"):
        did(s, "steps.add", description=text)
    assert did(s, "steps.complete", id=1).text == 'Completed step s1. Next: s2 "Write".'
    assert did(s, "steps.complete", id="Plan").text == 'Already done: step s1. Next: s2 "Write".'
    assert did(s, "steps.reorder", ids=["Test", 2]).text == "The order is now s3, s2, s1."
    assert did(s, "steps.reorder", ids=["s3"]).text == "The order is already s3, s2, s1."
    assert did(s, "steps.list").text == "Steps (3)\n- s3: Test\n- s2: Write\n- s1 (done): Plan"
    assert did(s, "steps.list", limit=1).text == "Steps (3)\n- s3: Test\n- +2 more: skip 1"
    assert did(s, "steps.update", id="2", description="Write it").text == "Updated step s2."
    with pytest.raises(OperationError, match="step s2 says this already"):
        did(s, "steps.update", id="s3", description="Write it")
    did(s, "steps.remove", id="s3")
    assert did(s, "steps.update", id="s2", description="Plan").text == "Updated step s2."
    assert [(step.id, step.description, step.completed) for step in s.state.steps] == [("s2", "Plan", False)]
    assert did(s, "steps.complete", id="s2").text == "Completed step s2. No step is open."
    assert did(s, "steps.add", description="Plan").text == "Added step s4."
    assert did(s, "steps.remove", id="s4").text == 'Removed step s4: "Plan".'
    assert types(s)[3:] == [
        "step.complete", "step.reorder", "step.update", "step.remove", "step.remove", "step.update", "step.complete",
        "step.add", "step.remove",
    ]  # fmt: skip


def test_decisions():
    s = fresh()
    assert did(s, "decisions.record", summary="Use JWT", details="stateless").text == "Recorded d1."
    assert did(s, "decisions.record", summary="Use JWT").text == "Already there: decision d1."
    assert did(s, "decisions.record", summary="Use JWT", details="stateless").data["recorded"] is False
    assert did(s, "decisions.list").text == "Decisions (1)\n- d1: Use JWT — stateless"
    assert did(s, "decisions.remove", id="jwt").text == 'Removed decision d1: "Use JWT".'
    assert len(s.state.decisions) == 0
    assert types(s) == ["decision.record", "decision.remove"]


def test_a_decision_supersedes_in_one_append():
    batches = []

    class Watched(MemoryLog):
        def append(self, session_id, drafts, *, expected=None):
            batches.append(len(drafts))
            return super().append(session_id, drafts, expected=expected)

    s = fresh(Watched())
    did(s, "decisions.record", summary="HS256")
    did(s, "decisions.record", summary="One key")
    answer = did(s, "decisions.record", summary="RS256", supersedes=["d1", "one key"])
    assert answer.text == "Recorded d3. It supersedes d1, d2."
    assert answer.data == {"id": "d3", "recorded": True, "superseded": ["d1", "d2"]}
    assert batches == [1, 1, 3]
    assert [decision.summary for decision in s.state.decisions] == ["RS256"]
    by = {event.payload.id: event.payload.by for event in s.events() if event.type == "decision.supersede"}
    assert by == {"d1": "d3", "d2": "d3"}


def test_other_details_supersede_the_same_summary():
    s = fresh()
    did(s, "decisions.record", summary="Use JWT", details="stateless")
    assert did(s, "decisions.record", summary="Use JWT", details="audited").text == ("Recorded d2. It supersedes d1.")
    assert [(it.id, it.details) for it in s.state.decisions] == [("d2", "audited")]


def test_supersede_by_a_recorded_decision():
    s = fresh()
    did(s, "decisions.record", summary="HS256")
    did(s, "decisions.record", summary="RS256")
    with pytest.raises(OperationError, match="cannot supersede itself"):
        did(s, "decisions.supersede", id="d1", by="HS256")
    assert did(s, "decisions.supersede", id="d1", by="d2").text == "Decision d2 supersedes d1."
    assert did(s, "decisions.record", summary="HS256").data["id"] == "d3", "the id of a superseded one is not reused"
    with pytest.raises(OperationError, match="cannot supersede itself"):
        did(s, "decisions.record", summary="RS256", supersedes="d2")
    assert did(s, "decisions.record", summary="RS256", supersedes="d3").text == (
        "Already there: decision d2. It supersedes d3."
    )
    assert types(s)[-1:] == ["decision.supersede"]


def test_errors():
    s = fresh()
    assert did(s, "errors.add", message="3 tests fail", key="pytest").text == "Added error e1."
    assert did(s, "errors.add", message="2 tests fail", key="pytest").text == "Met again: error e1, 2 times."
    assert did(s, "errors.list").text == "Errors (1)\n- e1 (2 times): 2 tests fail"
    assert did(s, "errors.resolve", id="tests fail").text == "Resolved error e1."
    assert did(s, "errors.resolve", id="e1").text == "Resolved already: error e1."
    assert did(s, "errors.list").text == "Errors: none"
    assert did(s, "errors.list", all=True).text == "Errors (1)\n- e1 (resolved, 2 times): 2 tests fail"
    assert types(s) == ["error.encountered", "error.encountered", "error.resolved"]


def test_files():
    s = fresh()
    assert did(s, "files.open", path="a.py").text == 'File "a.py" (reading).'
    assert did(s, "files.open", path="a.py").text == 'Already there: file "a.py" (reading).'
    assert did(s, "files.edit", path="a.py").text == 'File "a.py" (editing).'
    assert did(s, "files.open", path="a.py").text == 'Already there: file "a.py" (editing).'
    did(s, "files.open", path="docs/b.md", status="referenced")
    assert did(s, "files.open", path="a.py").data["recorded"], "touched again, it is the last one"
    assert did(s, "files.list").text == "Files (2)\n- referenced: docs/b.md\n- editing: a.py"
    assert did(s, "files.close", path="b.md").text == 'Closed file "docs/b.md".'
    assert did(s, "files.list").text == "Files (1)\n- editing: a.py"
    assert did(s, "files.list", all=True).text == "Files (2)\n- referenced (closed): docs/b.md\n- editing: a.py"
    assert types(s) == ["file.open", "file.edit", "file.open", "file.open", "file.close"]


def test_project():
    s = fresh()
    assert did(s, "project.get").text == "Project defaults: none"
    did(s, "project.set", notes=["Monorepo"], conventions=["Tabs", "Tabs"])
    did(s, "project.add", kind="files", text="Makefile")
    assert did(s, "project.add", kind="files", text="Makefile").text == (
        "Already there: notes 1, files 1, conventions 1."
    )
    did(s, "project.set", conventions=["Spaces"])
    assert did(s, "project.get").text == (
        "Project defaults (3)\n- note: Monorepo\n- file: Makefile\n- convention: Spaces"
    )
    assert did(s, "project.set", conventions=["Spaces"]).data["recorded"] is False
    assert types(s) == ["project.set"] * 3


def test_todos_and_the_summary_are_read_only():
    s = fresh()
    assert did(s, "todos.list").text == "Todos: none"
    s.append(TodoSync((TodoItem("Write", "in_progress", "high"), TodoItem("Test"))), origin=Origin.HOST)
    assert did(s, "todos.list").text == "Todos (2)\n- in_progress (high): Write\n- pending: Test"
    assert did(s, "compacted.get").text == "Compacted 0 times. There is no summary."
    s.append(CompactAfter("## Goal\nShip"), origin=Origin.HOST)
    assert did(s, "compacted.get").text == "Compacted 1 time. The summary:\n\n    ## Goal\n    Ship"


def test_snapshot_shows_what_the_view_cuts():
    s = fresh()
    did(s, "task.set", description="Implement auth")
    for n in range(30):
        did(s, "notes.add", content=f"note {n}")
    answer = did(s, "snapshot")
    assert answer.text.startswith(
        "# State at event 31\n\n## Task (1)\n\n- task: Implement auth\n\n## Notes (30)\n\n- n1:"
    )
    assert answer.text.endswith("- n30: note 29")
    assert len(answer.data["sections"]["notes"]) == 30
    assert did(s, "snapshot", section="currentTask").text == (
        "# State at event 31\n\n## Task (1)\n\n- task: Implement auth"
    )
    assert did(fresh(), "snapshot").text == "# State at event 0\n\nNothing is recorded yet."


def test_lists_are_paged_from_the_newest():
    s = fresh()
    for n in range(5):
        did(s, "notes.add", content=f"note {n}")
    assert did(s, "notes.list", limit=2).text == "Notes (5)\n- n4: note 3\n- n5: note 4\n- +3 older: skip 2"
    assert did(s, "notes.list", limit=2, skip=4).text == "Notes (5)\n- n1: note 0"
    assert did(s, "notes.list", skip=9).text == "Notes (5)"


def test_update_and_clear():
    s = fresh()
    did(s, "notes.add", content="a")
    did(s, "notes.add", content="b")
    assert did(s, "update", section="notes", value=["b", "c"]).text == "Replaced notes: n2, n3."
    assert did(s, "update", section="notes", value=["b", "c"]).text == "No change in notes: n2, n3."
    assert did(s, "update", section="task", value="Ship").data["recorded"]
    assert s.state.task.description == "Ship"
    assert did(s, "update", section="task", value="Ship").data["recorded"] is False
    assert did(s, "update", section="task", value="").text == "Cleared task."
    assert did(s, "update", section="notes", value=[]).text == "Cleared notes."
    assert did(s, "clear", section="notes").text == "notes is empty already."
    did(s, "errors.add", message="boom")
    did(s, "files.edit", path="a.py")
    assert did(s, "clear").text == "Cleared all sections."
    assert len(s.state.errors) == len(s.state.files.active) == 0
    assert did(s, "clear").text == "Everything is empty already."


def test_history_hides_machinery_frames_and_what_was_redacted():
    s = fresh()
    did(s, "notes.add", content="a")
    s.append(ContextSnapshot(used_tokens=1000), origin=Origin.HOST)
    s.append(FrameBase(1, "123456", "[hud 123456] secret bytes", 5, "full", "anchored", 300, 1), origin=Origin.SYSTEM)
    did(s, "decisions.record", summary="b", details="c")
    assert did(s, "history").text == (
        "- #1 note.add (agent, turn 0): a\n- #4 decision.record (agent, turn 0): summary: b, details: c"
    )
    everything = did(s, "history", all=True).text
    assert "- #2 context.snapshot (host, turn 0): used_tokens: 1000" in everything
    assert "#3 frame.base" in everything and "123456" not in everything
    assert did(s, "history", limit=1).text == (
        "- older ones: before 4\n- #4 decision.record (agent, turn 0): summary: b, details: c"
    )
    assert did(s, "history", before=4).text == "- #1 note.add (agent, turn 0): a"
    assert did(s, "history", before=-5).text == "No events."
    s.append(Redact(1, "a secret"), origin=Origin.USER)
    assert "redact (user, turn 0): seq: 1, reason: a secret" in did(s, "history", limit=1).text


def test_search_finds_live_items_and_past_events():
    s = fresh()
    did(s, "notes.add", content="Refresh TOKENS live 7 days")
    did(s, "notes.add", content="the token of refresh")
    did(s, "notes.remove", id="n2")
    did(s, "files.edit", path="src/token.py")
    found = did(s, "search", query="token refresh")
    assert found.text == "- notes n1: Refresh TOKENS live 7 days\n- #2 note.add (agent, turn 0): the token of refresh"
    assert found.data["hits"][0] == {"section": "notes", "id": "n1", "text": "Refresh TOKENS live 7 days"}
    assert did(s, "search", query='"refresh token"').text == "- notes n1: Refresh TOKENS live 7 days"
    assert did(s, "search", query="TOKEN.PY").text == "- files editing: src/token.py"
    assert did(s, "search", query="token", limit=1).text == "- notes n1: Refresh TOKENS live 7 days"
    assert did(s, "search", query="(a+)+$").text == "Nothing found."
    assert did(s, "search", query='""').text == "Nothing found."


def test_a_session_never_finds_another_ones_events():
    log = MemoryLog()
    did(fresh(log, "ses_a"), "notes.add", content="only here")
    other = fresh(log, "ses_b")
    assert did(other, "search", query="only").text == "Nothing found."
    assert did(other, "history").text == "No events."


def test_items_are_named_by_id_text_place_or_part():
    s = fresh()
    for text in ("s2", "Write the docs", "Write the tests"):
        did(s, "steps.add", description=text)
    for name, id in (("s2", "s2"), ("S3", "s3"), ("docs", "s2"), (3, "s3"), ("1", "s1"), ("WRITE THE DOCS", "s2")):
        assert did(s, "steps.remove", id=name).data["id"] == id
        did(s, "clear")
        s = fresh()
        for text in ("s2", "Write the docs", "Write the tests"):
            did(s, "steps.add", description=text)


def test_secrets_are_replaced_and_said_so():
    s = fresh()
    secret = "ghp_" + "a1B2" * 9
    text = did(s, "notes.add", content=f"key {secret}").text
    assert text == 'Added note n1: "key [redacted:github-token]". What looked like a secret was replaced.'
    assert s.state.notes[0].content == "key [redacted:github-token]"
    assert did(s, "notes.add", content=f"key {secret}").data == {"id": "n1", "recorded": False}
    assert did(s, "notes.remove", id=f"key {secret}").text == 'Removed note n1: "key [redacted:github-token]".'
    assert not any(secret in str(event.payload) for event in s.events())


def test_the_origin_is_the_channels():
    s = fresh()
    did(s, "notes.add", Origin.TOOL, content="from a page")
    assert s.state.notes[0].mark.origin is Origin.TOOL
    assert did(s, "notes.list").text == "Notes (1)\n- n1 (from tool): from a page"


def test_an_operation_that_reads_appends_nothing():
    s = fresh()
    s.append(NoteAdd("x"), DecisionRecord("y"))
    for name, one in OPERATIONS.items():
        if not one.writes and name not in OF_THE_PAST:
            did(s, name, **one.example)
    assert s.state.seq == 2
