"""What a delta says, as a table: what was told before, what then, and the lines that bring a reader along."""

from __future__ import annotations

import pytest

from hudkit.api import Hud
from hudkit.compose.formats.markdown import render
from hudkit.log import Origin, Payload
from hudkit.log import payloads as p
from hudkit.log.payloads import TodoItem, TodoSync
from hudkit.sections.document_builder import MAX_DELTA_LINE, MAX_DELTA_LINES, delta_document, diff_states
from hudkit.sections.state import HudState

Told = list[Payload]
LONG = "word " * 40
SHORT = ("word " * 12).rstrip()[:58].rsplit(" ", 1)[0] + "…"
EDIT, OPEN = p.FileEdit, p.FileOpen


def todos(**status: str) -> TodoSync:
    return TodoSync(tuple(TodoItem(name, one) for name, one in status.items()))


LINES: dict[str, tuple[Told, Told, list[str]]] = {
    "nothing": ([p.NoteAdd("a")], [], []),
    "task set": ([], [p.TaskSet("a")], ["task now: a"]),
    "task changed": ([p.TaskSet("a")], [p.TaskUpdate("b")], ["task now: b"]),
    "task cleared": ([p.TaskSet("a")], [p.TaskClear()], ["task now: none set yet (task.set sets it)"]),
    "a title that stands in is no news": ([], [p.SessionStart(title="T")], []),
    "a title stands in for the task again": (
        [p.TaskSet("a")], [p.SessionStart(title="T"), p.TaskClear()], ["task now: T (from the session's title)"],
    ),
    "a title says nothing of a task that is set": ([p.TaskSet("a")], [p.SessionStart(title="T")], []),
    "a request that stands in is no news": ([p.SessionStart(request="Q")], [p.SessionStart(request="R")], []),
    "a request stands in for the task again": (
        [p.SessionStart(request="R"), p.TaskSet("a")], [p.TaskClear()], ["task now: R (from the last message)"],
    ),
    "constraint added": ([], [p.ConstraintAdd("a")], ["constraint: a"]),
    "constraint derived": ([], [p.ConstraintAdd("a", derived=True)], ["constraint: a (derived)"]),
    "constraint removed": ([p.ConstraintAdd("a")], [p.ConstraintRemove("c1")], ["constraint removed: a"]),
    "blocker added": ([], [p.BlockerAdd("a")], ["blocker: a"]),
    "blocker gone": ([p.BlockerAdd("a")], [p.BlockerRemove("b1")], ["blocker gone: a"]),
    "step added": ([p.StepAdd("a")], [p.StepAdd("b")], ["step: b"]),
    "step done": ([p.StepAdd("a"), p.StepAdd("b")], [p.StepComplete("s1")], ["step done: a"]),
    "step added and done": ([], [p.StepAdd("a"), p.StepComplete("s1")], []),
    "step done again": (
        [p.StepAdd("a"), p.StepComplete("s1"), p.StepAdd("b")], [p.StepAdd("a")], ["step: a"],
    ),
    "the only step changed": ([p.StepAdd("a")], [p.StepUpdate("s1", "b")], ["step now: b"]),
    "one step of two changed": (
        [p.StepAdd("a"), p.StepAdd("b")], [p.StepUpdate("s2", "c")], ["step changed: b -> c"],
    ),
    "step dropped": ([p.StepAdd("a"), p.StepAdd("b")], [p.StepRemove("s1")], ["step dropped: a"]),
    "a done step dropped": ([p.StepAdd("a"), p.StepComplete("s1")], [p.StepRemove("s1")], []),
    "steps reordered": (
        [p.StepAdd("a"), p.StepAdd("b"), p.StepAdd("c"), p.StepComplete("s1")],
        [p.StepReorder(("s3", "s1"))],
        ["steps in order: c; b"],
    ),
    "steps reordered and added": (
        [p.StepAdd("a"), p.StepAdd("b")],
        [p.StepReorder(("s2",)), p.StepAdd("c")],
        ["step: c", "steps in order: b; a; c"],
    ),
    "the same order": ([p.StepAdd("a"), p.StepAdd("b")], [p.StepReorder(("s1", "s2"))], []),
    "steps whole": (
        [p.StepAdd("a"), p.StepAdd("b")],
        [p.SectionReplace("steps", ("b", "c"))],
        ["step dropped: a", "step: c"],
    ),
    "decision recorded": ([], [p.DecisionRecord("a")], ["decision: a"]),
    "decision derived": ([], [p.DecisionRecord("a", derived=True)], ["decision: a (derived)"]),
    "decision with a short reason": ([], [p.DecisionRecord("a", "why")], ["decision: a (because: why)"]),
    "decision because of it": ([], [p.DecisionRecord("a", "because of it")], ["decision: a (because: it)"]),
    "decision with a long reason": ([], [p.DecisionRecord("a", LONG)], ["decision: a …"]),
    "decision replaced, with a reason": (
        [p.DecisionRecord("a", "why")],
        [p.DecisionRecord("b", "why not", derived=True, replaces=("a",))],
        ["decision: b (derived) (because: why not) (replaces: a)"],
    ),
    "decision with a reason withdrawn": (
        [p.DecisionRecord("a", "why")], [p.DecisionRemove("d1")], ["decision withdrawn: a"],
    ),
    "decision withdrawn": ([p.DecisionRecord("a")], [p.DecisionRemove("d1")], ["decision withdrawn: a"]),
    "decision superseded": (
        [p.DecisionRecord("a")],
        [p.DecisionRecord("b"), p.DecisionSupersede("d1", "d2")],
        ["decision: b (replaces: a)"],
    ),
    "decision replaced, as its words say": (
        [p.DecisionRecord("a"), p.DecisionRecord("b")],
        [p.DecisionRecord("c", derived=True, replaces=("a", "b"))],
        ["decision: c (derived) (replaces: a; b)"],
    ),
    "decision replaced by one that is known": (
        [p.DecisionRecord("a"), p.DecisionRecord("b")], [p.DecisionSupersede("d1", "d2")], ["decision withdrawn: a"],
    ),
    "error met": ([], [p.ErrorEncountered("a")], ["error: a"]),
    "error met again says nothing": (
        [p.ErrorEncountered("a", key="k")], [p.ErrorEncountered("a", key="k")], [],
    ),
    "error resolved": ([p.ErrorEncountered("a", key="k")], [p.ErrorResolved(key="k")], ["error resolved: a"]),
    "error met and resolved": ([], [p.ErrorEncountered("a", key="k"), p.ErrorResolved(key="k")], []),
    "error back": (
        [p.ErrorEncountered("a", key="k"), p.ErrorResolved(key="k")],
        [p.ErrorEncountered("a", key="k")],
        ["error: a"],
    ),
    "note added": ([], [p.NoteAdd("a")], ["note: a"]),
    "the only note changed": ([p.NoteAdd("a")], [p.NoteUpdate("n1", "b")], ["note now: b"]),
    "one note of two changed": (
        [p.NoteAdd("a"), p.NoteAdd("b")], [p.NoteUpdate("n1", "c")], ["note changed: a -> c"],
    ),
    "note removed": ([p.NoteAdd("a")], [p.NoteRemove("n1")], ["note removed: a"]),
    "notes cleared": (
        [p.NoteAdd("a"), p.NoteAdd("b")], [p.SectionClear("notes")], ["note removed: a", "note removed: b"],
    ),
    "note added and removed": ([], [p.NoteAdd("a"), p.NoteRemove("n1")], []),
    "file opened": ([], [OPEN("a"), OPEN("b", "referenced")], ["file: a (reading)"]),
    "file edited": ([OPEN("a"), OPEN("b")], [EDIT("a")], ["file now: a (editing)"]),
    "file touched again": ([EDIT("a"), EDIT("b")], [OPEN("a")], []),
    "file left": ([OPEN("a")], [p.FileClose("a")], ["file left: a (reading)"]),
    "file came back": ([OPEN("a"), p.FileClose("a")], [OPEN("a")], ["file: a (reading)"]),
    "todo added": ([todos(a="pending")], [todos(a="pending", b="pending")], ["todo: b"]),
    "todo started": (
        [todos(a="pending", b="pending")], [todos(a="in_progress", b="pending")], ["todo now: a (in progress)"],
    ),
    "todo done": ([todos(a="pending")], [todos(a="completed")], ["todo done: a"]),
    "todo cancelled": ([todos(a="pending")], [todos(a="cancelled")], ["todo done: a"]),
    "todo open again": ([todos(a="completed")], [todos(a="pending")], ["todo open again: a"]),
    "todo removed": ([todos(a="pending", b="pending")], [todos(b="pending")], ["todo removed: a"]),
    "two todos": (
        [todos(a="pending", b="pending")],
        [todos(a="completed", b="in_progress")],
        ["todo done: a", "todo now: b (in progress)"],
    ),
    "many todos are told in one line": (
        [todos(a="in_progress", b="pending")],
        [todos(a="completed", b="in_progress", c="pending", d="cancelled", e="pending")],
        ["todos, 2 of 5 done: b (in progress); c; e"],
    ),
    "all todos done": (
        [todos(a="pending", b="pending", c="pending")],
        [todos(a="completed", b="completed", c="completed")],
        ["todos, 3 of 3 done: none left"],
    ),
    "project": (
        [p.ProjectSet("p", ("old",))],
        [p.ProjectSet("p", ("new",), ("f.py",), ("tabs",))],
        ["project removed: old", "project: tabs", "project: new", "project: key file: f.py"],
    ),
    "what only the next base tells": (
        [p.NoteAdd("a")],
        [p.SessionLink("parent", "x"), p.CompactAfter("summary")],
        [],
    ),
    "in the order of the document": (
        [],
        [EDIT("f"), p.NoteAdd("n"), p.ErrorEncountered("e"), p.DecisionRecord("d"), todos(t="pending"),
         p.StepAdd("s"), p.BlockerAdd("b"), p.ConstraintAdd("c"), p.TaskSet("k")],
        ["task now: k", "constraint: c", "blocker: b", "step: s", "todo: t", "decision: d", "error: e", "note: n",
         "file: f (editing)"],
    ),
    "what is over is recalled in short": ([p.NoteAdd(LONG)], [p.NoteRemove("n1")], [f"note removed: {SHORT}"]),
}  # fmt: skip


def states(before: Told, after: Told, origin: Origin = Origin.AGENT) -> tuple[HudState, HudState]:
    session = Hud.in_memory().session("s")
    session.append(*before, origin=origin)
    first = session.state
    session.append(*after, origin=origin)
    return first, session.state


@pytest.mark.parametrize("name", LINES)
def test_lines(name: str) -> None:
    before, after, expected = LINES[name]
    old, new = states(before, after)
    assert list(diff_states(old, new).lines) == expected
    assert bool(diff_states(old, new)) == bool(expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_what_is_remembered_changes_nothing(name: str) -> None:
    before, after, _ = LINES[name]
    old, new = states(before, after)
    known: dict[str, tuple[object, tuple[object, ...]]] = {}
    assert [diff_states(old, new, known) for _ in range(2)] == [diff_states(old, new)] * 2  # type: ignore[arg-type]
    assert diff_states(old, old, known) == diff_states(new, new) == diff_states(old, old)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (Origin.TOOL, ()),  # the agent's own call, which stands in the transcript
        (Origin.HOST, ("file: a (editing)",)),  # changed on the disk by nobody knows what
        (Origin.USER, ("file: a (editing)",)),
    ],
)
def test_a_file_is_news_where_no_call_of_the_agent_showed_it(origin: Origin, expected: tuple[str, ...]) -> None:
    assert diff_states(*states([], [EDIT("a")], origin)).lines == expected
    read, edited = states([OPEN("a")], [EDIT("a")], origin)
    assert diff_states(read, edited).lines == tuple(f"file now: {line[6:]}" for line in expected)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (p.NoteAdd("a"), "note: a [from a tool]"),
        (p.DecisionRecord("a", derived=True), "decision: a [from a tool]"),
        (p.ConstraintAdd("a"), "constraint: a [from a tool]"),
        (p.BlockerAdd("a"), "blocker: a [from a tool]"),
        (p.ErrorEncountered("a"), "error: a [from a tool]"),
    ],
)
def test_what_a_tool_said_is_marked(told: Payload, expected: str) -> None:
    assert diff_states(*states([], [told], Origin.TOOL)).lines == (expected,)


@pytest.mark.parametrize(
    ("told", "pressing"),
    [
        ([EDIT("a")], False),
        ([todos(a="pending")], False),
        ([EDIT("a"), p.NoteAdd("n")], True),
        ([p.ProjectSet("p", ("x",))], True),
        ([p.CompactAfter("x")], False),
        ([], False),
    ],
)
def test_what_presses(told: Told, pressing: bool) -> None:
    assert diff_states(*states([], told)).pressing is pressing


def test_a_block_has_its_tag_and_a_line_an_item() -> None:
    assert render(delta_document("123456", ("note: a", "# b"))) == "[hud 123456]\n\n- note: a\n- `# b`\n"


def test_a_block_is_bounded() -> None:
    lines = (*(f"note: {n}" for n in range(MAX_DELTA_LINES + 6)), "x" * 1000)
    text = render(delta_document("123456", ("y" * (MAX_DELTA_LINE + 50), *lines)))
    assert f"+{len(lines) + 1 - MAX_DELTA_LINES} more: hud snapshot" in text
    items = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(items) == MAX_DELTA_LINES + 1 and max(map(len, items)) == MAX_DELTA_LINE + 2
    exact = render(delta_document("123456", lines[:MAX_DELTA_LINES]))
    assert "more" not in exact and exact.count("\n- ") == MAX_DELTA_LINES


def test_of_many_changes_those_that_matter_most_are_shown_and_of_notes_the_newest() -> None:
    told: Told = [*(p.NoteAdd(f"note {n}") for n in range(60)), p.ConstraintAdd("rule"), p.DecisionRecord("decided")]
    text = render(delta_document("123456", diff_states(*states([], told)).lines, ("context now: 90%",)))
    items = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    newest = [f"note: note {n}" for n in range(38, 60)]
    assert items == ["constraint: rule", "decision: decided", *newest, "context now: 90%", "+38 more: hud snapshot"]
