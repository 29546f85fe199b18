"""Events from what OpenCode tells: the recorded days, and messages as they grow."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.ingest import Fact, KnownFacts, derive_facts, session_facts, todo_facts
from hudkit.log import Origin, Payload
from hudkit.log.codec import encode_payload
from hudkit.log.payloads import (
    CommandRan,
    CompactAfter,
    CompactBefore,
    ContextSnapshot,
    ErrorEncountered,
    ErrorResolved,
    FileEdit,
    FileOpen,
    ResponseTokens,
    SessionLink,
    SessionStart,
    SubagentEnd,
    SubagentStart,
    TodoItem,
    TodoSync,
)
from hudkit.transcripts import (
    CompactionPart,
    FilePart,
    Message,
    OpenCodeTranscript,
    PatchPart,
    ReportedUsage,
    SessionRow,
    TextPart,
    ToolPart,
    llm_calls,
)

MAIN = "ses_e06196b14ffeMiDLXs7ZvRM6p9"
HERE = SessionRow(id="s", host="opencode", directory="/work/p", title="T", agent="build", model="m", created=7)
P = TypeVar("P", bound=Payload)


def folded(path: Path, session_id: str, known: KnownFacts = KnownFacts()) -> tuple[KnownFacts, list[Fact]]:
    transcript = OpenCodeTranscript.open(path)
    session = transcript.session(session_id)
    assert session
    facts: list[Fact] = []
    for message in transcript.messages(session_id):
        known, more = derive_facts(session, message, known)
        facts += more
    return known, facts


def of(facts: Iterable[Fact], kind: type[P]) -> list[P]:
    return [fact.payload for fact in facts if isinstance(fact.payload, kind)]


@pytest.fixture(scope="module")
def day(orchard_db: Path) -> list[Fact]:
    return folded(orchard_db, MAIN)[1]


# -- the recorded day (figures counted by hand and by SQL in the database) ------------------------------------


@pytest.mark.slow
def test_the_files_of_the_day(day: list[Fact]) -> None:
    edited = {event.path for event in of(day, FileEdit)}
    assert len(edited) == 20
    assert {"orchard/planner.py", "tools/bench.py", "data/pumps.json", "CHANGELOG.md"} <= edited
    assert all(not path.startswith("/") for path in edited)
    assert len({event.path for event in of(day, FileOpen)}) == 15
    # `git mv` and `sed` moved the store: no tool named these files, the patch part did
    moved = [fact for fact in day if fact.origin is Origin.HOST and isinstance(fact.payload, FileEdit)]
    assert {"orchard/history.py", "tests/test_history.py"} <= {fact.payload.path for fact in moved}  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_errors_of_the_day(day: list[Fact]) -> None:
    met = of(day, ErrorEncountered)
    assert len(met) == 21  # 18 commands with a status, 2 whose status a pipe or loop hid, 1 edit
    assert {event.key for event in met} == {
        "bash: unittest",
        "bash: unittest tests.test_cli",
        "bash: unittest tests.test_store",
        "bash: unittest tests.test_history",
        "bash: unittest tests.test_frost",
        "bash: PYTHONHASHSEED=$i unittest tests.test_cli.Output.test_summary_line",
        "bash: PYTHONHASHSEED=1 unittest tests.test_cli",
        "edit: README.md",
    }
    assert met[1].message == "python3 -m unittest -v 2>&1: FAILED (errors=4) NameError: name 'busy' is not defined"
    assert all(len(event.message) <= 200 and "\n" not in event.message for event in met)
    still: set[str] = set()
    for fact in day:
        if isinstance(fact.payload, ErrorEncountered):
            still.add(fact.payload.key)
        elif isinstance(fact.payload, ErrorResolved):
            assert fact.payload.key in still
            still.discard(fact.payload.key)
    assert still == set()  # the day ended with all tests green
    assert len(of(day, ErrorResolved)) == 14


@pytest.mark.slow
def test_the_todos_at_the_end_are_the_table(orchard_db: Path) -> None:
    for session_id in (MAIN, "ses_e0618773effeOpx7BGTBPDhKeV"):
        known, facts = folded(orchard_db, session_id)
        table = OpenCodeTranscript.open(orchard_db).todos(session_id)
        last = of(facts, TodoSync)[-1].todos
        assert last == tuple(TodoItem(todo.content, todo.status, todo.priority) for todo in table)
        assert todo_facts(table, known) == (known, ())


@pytest.mark.slow
def test_the_window_of_the_day(day: list[Fact]) -> None:
    curve = [event.used_tokens or 0 for event in of(day, ContextSnapshot)]
    assert (len(curve), curve[0], max(curve), curve.index(max(curve)), curve[-1]) == (165, 8353, 40538, 75, 28603)
    assert [b for a, b in pairwise(curve) if b < a] == [18358, 18404]
    assert 18991 not in curve  # what the first summary reported for itself
    assert {(event.model, event.source) for event in of(day, ContextSnapshot)} == {("orchid-1", "reported")}


def test_the_compactions_of_the_day(day: list[Fact]) -> None:
    before, after = of(day, CompactBefore), of(day, CompactAfter)
    assert [(event.trigger, event.used_tokens) for event in before] == [("auto", 40538), ("auto", 40006)]
    assert [(event.trigger, event.used_tokens) for event in after] == [("auto", None)] * 2
    assert all(event.summary.startswith("## Goal\nImprove the orchard package") for event in after)
    order = [type(f.payload).__name__ for f in day if isinstance(f.payload, CompactBefore | CompactAfter)]
    assert order == ["CompactBefore", "CompactAfter"] * 2


def test_the_session_of_the_day(day: list[Fact]) -> None:
    start = of(day, SessionStart)
    assert (start[0].title, start[0].model) == ("Orchard planner: overlap, rain, history, frost", "orchid-1")
    assert (start[0].directory, start[0].host_session, start[0].request) == ("/home/dev/orchard", MAIN, "")
    requests = [event.request for event in start[1:]]
    assert len(requests) == 18
    assert requests[0].startswith("Good morning. Please get to know this repository")
    assert len(requests[0]) <= 300
    assert requests[-1] == "Commit, and give me a list of what is still open for tomorrow."
    assert not any(request.startswith("Continue if you have next steps") for request in requests)
    assert {fact.origin for fact in day if isinstance(fact.payload, SessionStart) and fact.payload.request} == {
        Origin.USER
    }
    assert of(day, SessionLink) == [SessionLink("child", "ses_e0618e85cffeIkaBZNHqFwR1Fy")]


def test_a_subagent_is_linked_and_its_prompt_is_an_agents(orchard_db: Path) -> None:
    _, facts = folded(orchard_db, "ses_e0618e85cffeIkaBZNHqFwR1Fy")
    assert of(facts, SessionLink) == [SessionLink("parent", MAIN)]
    (asked,) = (f for f in facts if isinstance(f.payload, SessionStart) and f.payload.request)
    assert asked.origin is Origin.AGENT
    assert not of(facts, ErrorEncountered)  # a probe whose status a pipe hid


@pytest.mark.slow
def test_the_small_sessions(opencode_db: Path) -> None:
    _, one = folded(opencode_db, "ses_e06790d7cffe0zlLclBUl5fjcH")
    assert [event.trigger for event in of(one, CompactBefore)] == ["manual"]
    assert of(one, CompactAfter)[0].summary == "## Goal\nFAKE SUMMARY 17: made-up work continues."
    assert [event.path for event in of(one, FileOpen)] == ["hello.txt"]
    assert [event.path for event in of(one, FileEdit)] == ["new.txt"]  # told by the tool, not again by the patch
    assert len(of(one, TodoSync)) == 1
    _, two = folded(opencode_db, "ses_e0678dc85ffeJDRQhpKoeAWkcU")
    assert [event.trigger for event in of(two, CompactAfter)] == ["auto"]
    assert [event.used_tokens for event in of(two, ContextSnapshot)] == [9020, 1220, 20020, 39520, 1220, 5020]


@pytest.mark.slow
def test_a_replay_goes_call_by_call(orchard_db: Path) -> None:
    """What a replay does: the events before each call, its window, what the provider reported."""
    transcript = OpenCodeTranscript.open(orchard_db)
    session = transcript.session(MAIN)
    assert session
    messages = list(transcript.messages(MAIN))
    known, facts = KnownFacts(), list[Fact]()
    for call in llm_calls(messages):
        for message in call.fresh:
            known, more = derive_facts(session, message, known)
            facts += more
        assert call.window
    known, more = derive_facts(session, messages[-1], known)
    assert [*facts, *more] == folded(orchard_db, MAIN)[1]


# -- messages as they grow ---------------------------------------------------------------------------------


def tool(id: str, tool: str, input: dict[str, Any], status: str = "completed", **fields: Any) -> ToolPart:
    return ToolPart(id, tool, f"call_{id}", status, input, **fields)


def answer(*parts: Any, id: str = "a", **fields: Any) -> Message:
    return Message(id, "s", "assistant", created=10, model="m", agent="build", parts=parts, **fields)


def typed(text: str, *parts: Any, id: str = "u") -> Message:
    return Message(id, "s", "user", created=9, model="m", agent="build", parts=(TextPart("t", text), *parts))


def told(*messages: Message, session: SessionRow = HERE) -> list[Payload]:
    known, _ = session_facts(session)
    found: list[Payload] = []
    for message in messages:
        known, facts = derive_facts(session, message, known)
        found += [fact.payload for fact in facts]
    return found


def test_a_growing_message_tells_each_thing_once() -> None:
    running = tool("1", "read", {"filePath": "/work/p/a.py"}, "running")
    read = tool("1", "read", {"filePath": "/work/p/a.py"}, end=30)
    edit = tool("2", "edit", {"filePath": "/work/p/a.py"}, end=40)
    usage = ReportedUsage(input=5, output=1, cache_read=4, cache_write=2)
    states = [
        answer(running),
        answer(read),
        answer(read, edit),
        answer(read, edit, PatchPart("3", ("/work/p/a.py", "/work/p/b.py")), usage=usage),
        answer(
            read, edit, PatchPart("3", ("/work/p/a.py", "/work/p/b.py")), usage=usage, completed=50, finish="stop"
        ),
    ]
    growing = told(*(state for state in states for _ in range(2)))
    assert growing == told(states[-1]) == [
        FileOpen("a.py", by_call="call_1"),
        FileEdit("a.py"),
        FileEdit("b.py"),
        ContextSnapshot(12, None, model="m", source="reported", spent=ResponseTokens(5, 4, 2, 1)),
    ]  # fmt: skip


def test_a_request_is_one_line_of_what_was_typed() -> None:
    synthetic = TextPart("t2", "Continue if you have next steps", synthetic=True)
    (start,) = told(typed('"fix  the\n\nlogin"', synthetic))
    assert isinstance(start, SessionStart)
    assert start.request == "fix the login"
    assert told(Message("u", "s", "user", parts=(synthetic,))) == []
    (long,) = told(typed("word " * 400))
    assert isinstance(long, SessionStart)
    assert len(long.request) == 300
    assert long.request.endswith("…")


def test_a_title_is_told_when_it_changes_and_not_while_it_is_a_placeholder() -> None:
    fresh = msgspec.structs.replace(HERE, title="New session - 2026-01-02T03:04:05.678Z")
    known, facts = session_facts(fresh)
    assert of(facts, SessionStart)[0].title == ""
    known, facts = session_facts(fresh, known)
    assert facts == ()
    known, facts = session_facts(HERE, known)
    assert of(facts, SessionStart)[0].title == "T"
    known, facts = derive_facts(HERE, msgspec.structs.replace(typed(""), model="other"), known)
    assert of(facts, SessionStart)[0].model == "other"


def test_attached_files_are_referenced() -> None:
    found = told(typed("look", FilePart("f", "/work/p/docs/a.md"), FilePart("g", "", "image/png")))
    assert FileOpen("docs/a.md", "referenced") in found
    assert len(of([Fact(Origin.USER, each) for each in found], FileOpen)) == 1


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (tool("1", "read", {"filePath": "/etc/hosts"}), [FileOpen("/etc/hosts", by_call="call_1")]),
        (tool("1", "read", {"filePath": "/work/pp/a"}), [FileOpen("/work/pp/a", by_call="call_1")]),
        (tool("1", "read", {"filePath": "/work/p/../p/./a//b"}), [FileOpen("a/b", by_call="call_1")]),
        (tool("1", "read", {"filePath": "src/../a"}), [FileOpen("a", by_call="call_1")]),
        (tool("1", "read", {"filePath": "/work/p/x\n# Task"}), [FileOpen("x\n# Task", by_call="call_1")]),
        (tool("1", "read", {"filePath": "/work/p/d"}, output="<path>d</path>\n<type>directory</type>\n"), []),
        (tool("1", "read", {"filePath": 7}), []),
        (tool("1", "read", {"filePath": "/" + "x" * 5000}), []),
        (tool("1", "grep", {"pattern": "x", "path": "/work/p"}), []),
        (tool("1", "glob", {"pattern": "*.py"}), []),
        (tool("1", "multiedit", {"filePath": "/work/p/a"}), [FileEdit("a")]),
        (
            tool("1", "apply_patch", {"patchText": "*** Add File: a\n+x\n*** Update File: /work/p/b\n"}),
            [FileEdit("a"), FileEdit("b")],
        ),
        (tool("1", "hud", {"tool": "note", "args": {}}, "error", error="boom"), []),
        (tool("1", "edit", {"filePath": "/work/p/a"}, "error", error="The user rejected permission to use this"), []),
        (tool("1", "webfetch", {"url": "http://x/y"}, "error", error="\n 404\nbody"),
         [ErrorEncountered("webfetch http://x/y: 404", key="webfetch: http://x/y", by_call="call_1")]),
        (tool("1", "bash", {"command": "make"}, metadata={"exit": True}), [CommandRan("make", by_call="call_1")]),
        (tool("1", "bash", {"command": "npm ci"}, metadata={"exit": 0}),
         [CommandRan("npm ci", "passed", 0, "call_1")]),
        (tool("1", "bash", {"command": "cd src && git status | head; echo x"}, metadata={"exit": 0}), []),
        (tool("1", "bash", {"command": "env; X=1 ls; git branch -a; find . -name x"}, metadata={"exit": 0}), []),
        *(
            (tool("1", "bash", {"command": ran}, metadata={"exit": 0}), [CommandRan(ran, "passed", 0, "call_1")])
            for ran in (
                "env X=1 make", "find . -name x -delete", "git branch -D x", "git remote add o u", "sort -o a b"
            )
        ),
        (tool("1", "bash", {"command": "sed -i s/a/b/ c"}, metadata={"exit": 0}),
         [CommandRan("sed -i s/a/b/ c", "passed", 0, "call_1")]),
        (tool("1", "bash", {"command": "make | tail -3"}), [CommandRan("make | tail -3", by_call="call_1")]),
        (tool("1", "bash", {"command": "\npython - <<E\nprint(1)\nE\n"}, metadata={"exit": 0}),
         [CommandRan("python - <<E …", "passed", 0, "call_1")]),
        (tool("1", "bash", {"command": "make"}, "error", error="The user rejected permission to use this"), []),
        *(
            (tool("1", "bash", {"command": "make"}, "error", error=error), [])
            for error in (
                "The user doesn't want to proceed with this tool use. The tool use was rejected",
                "[Request interrupted by user for tool use]",
                "[Tool call interrupted: the session ended before this call's result was recorded",
            )
        ),
        (tool("1", "bash", {}, metadata={"exit": 1}), []),
    ],
)  # fmt: skip
def test_one_tool_call(part: ToolPart, expected: list[Payload]) -> None:
    assert told(answer(part)) == expected


WRAPPED = '<task id="ses_{}" state="{}">\n<summary>s</summary>\n<task_result>\n{}\n</task_result>\n</task>'
ASKED = {"subagent_type": "explore", "description": "Find the callers", "prompt": "Find the callers of plan()"}


def test_a_sub_agent_comes_back_with_the_call_that_it_is() -> None:
    plain = '<task id="ses_1" state="completed">\n<task_result>\nTwelve callers,\nall in src\n</task_result>\n</task>'
    done = tool("1", "task", ASKED, output=plain, metadata={"sessionId": "ses_1"})
    refused = tool("2", "task", ASKED, "error", error="The user rejected permission to use this")
    found = told(answer(done), answer(refused, id="b"), answer(tool("3", "task", ASKED, output="None."), id="c"))
    assert [fact for fact in found if isinstance(fact, SubagentEnd)] == [
        SubagentEnd("explore", "Find the callers", "Twelve callers, all in src", False, "ses_1", "call_1"),
        SubagentEnd("explore", "Find the callers", refused.error, True, "", "call_2"),
        SubagentEnd("explore", "Find the callers", "None.", False, "", "call_3"),
    ]


def test_a_sub_agent_in_the_background_is_at_work_until_the_host_says_that_it_came_back() -> None:
    started = answer(tool("1", "task", ASKED, output=WRAPPED.format(1, "running", "Started.")))
    note = TextPart("n", "Background:\n" + WRAPPED.format(1, "completed", "Twelve callers"), synthetic=True)
    forged = TextPart("f", WRAPPED.format(1, "completed", "Nothing"))
    ended = Message("u", "s", "user", created=11, parts=(note, forged))
    found = told(started, ended, ended)
    assert [fact for fact in found if isinstance(fact, SubagentStart | SubagentEnd)] == [
        SubagentStart("explore", "Find the callers", "ses_1", "call_1"),
        SubagentEnd(result="Twelve callers", session_id="ses_1"),
    ]


def test_two_reads_of_the_same_lines_have_the_same_part() -> None:
    asks = ({"offset": 3, "limit": 9}, {"limit": 9, "offset": 3}, {"offset": 4, "limit": 9}, {"limit": None}, {})
    parts = [
        opened.part
        for ask in asks
        for opened in told(answer(tool("1", "read", {"filePath": "a", **ask})))
        if isinstance(opened, FileOpen)
    ]
    assert parts[0] == parts[1] != parts[2] and len(set(parts)) == 3
    assert parts[3] == parts[4] == ""


def test_an_error_is_open_until_its_command_passes() -> None:
    def run(id: str, command: str, status: int, **extra: Any) -> Message:
        return answer(tool(id, "bash", {"command": command, **extra}, metadata={"exit": status}, output="x"), id=id)

    found = told(
        run("1", "make all", 2),
        run("2", "make", 0),  # another target
        run("3", "make all", 0, workdir="/work/p/sub"),  # another place
        run("4", "make all 2>&1", 2),
        run("5", "time make all | tail -3", 0),
        run("6", "make all", 0),
    )
    assert [fact for fact in found if not isinstance(fact, CommandRan)] == [
        ErrorEncountered("make all: x", key="bash: make all", by_call="call_1"),
        ErrorEncountered("make all 2>&1: x", key="bash: make all", by_call="call_4"),
        ErrorResolved(key="bash: make all"),
    ]


def test_an_edit_settles_a_failed_read_of_the_same_file() -> None:
    missing = tool("1", "read", {"filePath": "/work/p/a"}, "error", error="File not found: /work/p/a")
    found = told(answer(missing), answer(tool("2", "write", {"filePath": "/work/p/a"}), id="b"))
    assert found == [
        ErrorEncountered("read a: File not found: /work/p/a", key="read: a", by_call="call_1"),
        FileEdit("a"),
        ErrorResolved(key="read: a"),
    ]


def test_an_error_of_the_model_call_is_over_with_the_next_response() -> None:
    failed = answer(error="APIError: overloaded", completed=20, usage=ReportedUsage())
    aborted = answer(error="MessageAbortedError", aborted=True, completed=30, id="b")
    fine = answer(completed=40, finish="stop", usage=ReportedUsage(total=9), id="c")
    assert told(failed, aborted, fine) == [
        ErrorEncountered("model call: APIError: overloaded", key="model"),
        ErrorResolved(key="model"),
        ContextSnapshot(9, None, model="m", source="reported"),
    ]


def test_a_compaction_that_failed_is_none() -> None:
    marker = Message("u", "s", "user", parts=(CompactionPart("c", auto=True, overflow=True),))
    failed = answer(TextPart("t", "half"), summary=True, parent_id="u", error="APIError", finish="error")
    done = answer(
        TextPart("t", "whole"), summary=True, parent_id="u", finish="stop", usage=ReportedUsage(total=99), id="b"
    )
    later = Message("v", "s", "user", parts=(CompactionPart("c"),))
    assert told(marker, failed, done, later) == [
        CompactBefore("overflow", None),
        CompactAfter("whole", "overflow", began=10, marker="u", message="b", anchor="assistant:10:"),
        CompactBefore("manual", None),
    ]


def test_the_limit_is_passed_on() -> None:
    _, facts = derive_facts(HERE, answer(usage=ReportedUsage(total=9), finish="stop"), limit_tokens=40_000)
    assert of(facts, ContextSnapshot) == [ContextSnapshot(9, 40_000, model="m", source="reported")]


@pytest.mark.slow
def test_what_is_known_can_be_kept(orchard_db: Path) -> None:
    known, _ = folded(orchard_db, MAIN)
    assert msgspec.json.decode(msgspec.json.encode(known), type=KnownFacts) == known


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
tool_names = st.sampled_from(["bash", "read", "edit", "apply_patch", "todowrite", "task", "webfetch", "hud", "?"])
keys = st.sampled_from(["command", "filePath", "patchText", "todos", "sessionId", "exit", "url", "workdir"])


@pytest.mark.slow
@given(
    tool_names,
    st.sampled_from(["completed", "error", "running", ""]),
    st.dictionaries(keys, json_values, max_size=4),
    st.dictionaries(keys, json_values, max_size=4),
    st.text(max_size=200),
)
def test_whatever_a_tool_says_can_be_stored(
    name: str, status: str, input: dict[str, Any], metadata: dict[str, Any], text: str
) -> None:
    part = tool("1", name, input, status, metadata=metadata, output=text, error=text)
    known, facts = derive_facts(HERE, answer(part), KnownFacts())
    for fact in facts:
        assert encode_payload(fact.payload).body
    assert derive_facts(HERE, answer(part), known) == (known, ())


def test_a_pipe_a_chain_and_an_echo_hide_no_verdict() -> None:
    """The example at the top of `hudkit.ingest.failures`."""
    runs = [
        ("pytest tests/test_a.py | tail -3", 0, "1 failed", ["bash: pytest tests/test_a.py"]),
        ("make build && pytest", 2, "2 failed", ["bash: pytest tests/test_a.py", "bash: pytest"]),
        ("pytest; echo done", 0, "9 passed\ndone", []),
    ]
    known = KnownFacts()
    for number, (command, status, output, still_open) in enumerate(runs):
        call = tool(f"{number}", "bash", {"command": command}, output=output, metadata={"exit": status})
        known, _ = derive_facts(HERE, answer(call, id=f"m{number}"), known)
        assert [error.key for error in known.open_errors] == still_open
