"""Each rule of a reducer as a table: what was told, what is true then."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from test_fold import events_of

from hudkit.log import Event
from hudkit.log.payloads import (
    BlockerAdd,
    BlockerRemove,
    CompactAfter,
    ConstraintAdd,
    ConstraintRemove,
    ContextSnapshot,
    DecisionRecord,
    DecisionRemove,
    DecisionSupersede,
    ErrorEncountered,
    ErrorResolved,
    FileClose,
    FileEdit,
    FileOpen,
    NoteAdd,
    NoteRemove,
    NoteUpdate,
    Payload,
    ProjectSet,
    SectionClear,
    SectionReplace,
    SessionLink,
    SessionStart,
    StepAdd,
    StepComplete,
    StepRemove,
    StepReorder,
    StepUpdate,
    TaskClear,
    TaskSet,
    TaskUpdate,
    TodoItem,
    TodoSync,
)
from hudkit.sections import HudState, fold

Told = list[Payload]
D = DecisionRecord
RULES: dict[str, tuple[Told, Callable[[HudState], object], object]] = {
    "the last task stands": ([TaskSet("a"), TaskUpdate("b")], lambda s: s.task.description, "b"),
    "a cleared task is no task": ([TaskSet("a"), TaskClear()], lambda s: bool(s.task), False),
    "null clears the task": ([TaskSet("a"), SectionClear("task")], lambda s: bool(s.task), False),
    "constraints add up once": (
        [ConstraintAdd("x"), ConstraintAdd("x"), ConstraintAdd("y")],
        lambda s: [(c.id, c.text) for c in s.constraints],
        [("c1", "x"), ("c2", "y")],
    ),
    "a removed constraint is gone": (
        [ConstraintAdd("x"), ConstraintRemove("c1"), ConstraintAdd("x")],
        lambda s: [c.id for c in s.constraints],
        ["c2"],
    ),
    "decisions are numbered": ([D("a"), D("b")], lambda s: [d.id for d in s.decisions], ["d1", "d2"]),
    "a superseded decision is gone": (
        [D("a"), D("b"), DecisionSupersede("d1", "d2"), SectionReplace("decisions", ("b",))],
        lambda s: [d.summary for d in s.decisions],
        ["b"],
    ),
    "an unknown id changes nothing": ([D("a"), DecisionRemove("d9")], lambda s: len(s.decisions), 1),
    "notes change in place": (
        [NoteAdd("a"), NoteAdd("b"), NoteUpdate("n1", "c")],
        lambda s: [(n.id, n.content, n.mark.seq) for n in s.notes],
        [("n1", "c", 3), ("n2", "b", 2)],
    ),
    "notes go": ([NoteAdd("a"), NoteRemove("n1")], lambda s: len(s.notes), 0),
    "steps are done in place": (
        [StepAdd("a"), StepAdd("b"), StepComplete("s1")],
        lambda s: [(x.description, x.completed) for x in s.steps],
        [("a", True), ("b", False)],
    ),
    "a done step can be added again": (
        [StepAdd("a"), StepComplete("s1"), StepAdd("a")],
        lambda s: [(x.id, x.completed) for x in s.steps],
        [("s2", False)],
    ),
    "steps are ordered": (
        [StepAdd("a"), StepAdd("b"), StepAdd("c"), StepReorder(("s3", "s1"))],
        lambda s: [x.description for x in s.steps],
        ["c", "a", "b"],
    ),
    "steps change and go": (
        [StepAdd("a"), StepAdd("b"), StepUpdate("s1", "z"), StepRemove("s2")],
        lambda s: [x.description for x in s.steps],
        ["z"],
    ),
    "blockers come and go": (
        [BlockerAdd("a"), BlockerAdd("b"), BlockerRemove("b1")],
        lambda s: [b.description for b in s.blockers],
        ["b"],
    ),
    "a repeated error is counted": (
        [ErrorEncountered("x", key="k"), ErrorEncountered("y", key="k")],
        lambda s: [(e.message, e.times) for e in s.errors.open],
        [("y", 2)],
    ),
    "an error is resolved by key": (
        [ErrorEncountered("x", key="k"), ErrorResolved(key="k")],
        lambda s: (len(s.errors.open), len(s.errors)),
        (0, 1),
    ),
    "a resolved error that comes back is open": (
        [ErrorEncountered("x", key="k"), ErrorResolved(key="k"), ErrorEncountered("x", key="k")],
        lambda s: [e.id for e in s.errors.open],
        ["e2"],
    ),
    "resolved errors beyond twenty are forgotten": (
        [one for n in range(25) for one in (ErrorEncountered(f"x{n}", key=f"k{n}"), ErrorResolved(key=f"k{n}"))],
        lambda s: (len(s.errors), s.errors[0].message),
        (20, "x5"),
    ),
    "an edited file stays edited": (
        [FileEdit("a"), FileOpen("b"), FileOpen("a")],
        lambda s: [(f.path, f.status) for f in s.files.active],
        [("b", "reading"), ("a", "editing")],
    ),
    "a closed file comes back when it is touched": (
        [FileOpen("a"), FileClose("a"), FileOpen("a", "referenced")],
        lambda s: [(f.path, f.status) for f in s.files.active],
        [("a", "referenced")],
    ),
    "a file that a whole stretch between compactions did not touch leaves": (
        [FileOpen("old"), FileEdit("kept"), CompactAfter(), FileOpen("new"), CompactAfter()],
        lambda s: [f.path for f in s.files.active],
        ["kept", "new"],
    ),
    "whole lists are replaced and keep ids": (
        [NoteAdd("a"), NoteAdd("b"), SectionReplace("notes", ("b", "c", "c"))],
        lambda s: [(n.id, n.content) for n in s.notes],
        [("n2", "b"), ("n3", "c")],
    ),
    "clearing all leaves host facts": (
        [TaskSet("t"), NoteAdd("a"), TodoSync((TodoItem("x"),)), SessionStart(title="T"), SectionClear()],
        lambda s: (bool(s.task), len(s.notes), len(s.todos), s.session.title),
        (False, 0, 1, "T"),
    ),
    "todos are the host's": (
        [TodoSync((TodoItem("a"), TodoItem("b"))), TodoSync((TodoItem("b", "completed"), TodoItem("c")))],
        lambda s: ([t.content for t in s.todos.items], [t.content for t in s.todos.open]),
        (["b", "c"], ["c"]),
    ),
    "the last summary stands, compactions are counted": (
        [CompactAfter("one"), CompactAfter("two")],
        lambda s: (s.compacted.summary, s.compacted.count),
        ("two", 2),
    ),
    "usage is unknown after a compaction": (
        [ContextSnapshot(5, 10, source="reported"), CompactAfter()],
        lambda s: (s.window.used_tokens, s.window.limit_tokens),
        (None, 10),
    ),
    "five readings are kept": (
        [ContextSnapshot(n, 100) for n in range(8)],
        lambda s: [r.used_tokens for r in s.window.readings],
        [3, 4, 5, 6, 7],
    ),
    "a compaction ends the epoch": ([CompactAfter()], lambda s: s.epoch.over, "compaction"),
    "session facts fill up": (
        [SessionStart(host="h", title="a"), SessionStart(title="b"), *[SessionLink("parent", "p")] * 2],
        lambda s: (s.session.host, s.session.title, len(s.session.links)),
        ("h", "b", 1),
    ),
    "project defaults are whole": (
        [ProjectSet("p", ("a",)), ProjectSet("", ("b",), ("f",))],
        lambda s: (s.project.project, s.project.notes, s.project.files),
        ("p", ("b",), ("f",)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    told, look, expected = RULES[name]
    assert look(fold(events_of(told))) == expected


class CountedText(str):
    """A text that counts how often one is compared with another."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedText.comparisons += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


@pytest.mark.parametrize("section", ["notes", "steps", "blockers", "constraints", "decisions", "files"])
def test_texts_that_replace_a_section_are_not_each_compared_with_all_others(section: str) -> None:
    def replaced(event: Event, number: int) -> Event:
        texts = tuple(CountedText(f"text {n}") for n in range(number))
        return msgspec.structs.replace(event, payload=SectionReplace(section, texts))

    # The texts come in behind the codec, which would make plain ones of them.
    first, second = events_of([SectionReplace(section, ("a",)), SectionReplace(section, ("b",))])
    CountedText.comparisons = 0
    state = fold([replaced(first, 500), replaced(second, 1_000)])
    assert len(getattr(state, section)) == 1_000
    assert CountedText.comparisons < 20_000, "not a million"


def test_a_new_text_does_not_take_the_id_of_an_imported_one_behind_it() -> None:
    state = fold(events_of([NoteAdd("imported", id="n2"), SectionReplace("notes", ("new", "imported"))]))
    assert [(note.id, note.content) for note in state.notes] == [("n3", "new"), ("n2", "imported")]
