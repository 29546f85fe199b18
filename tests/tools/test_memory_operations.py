"""`memory` on recorded sessions: bounded answers, ids that the next call takes, and nothing that stops the agent."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from toolbox import OF_THE_PAST

from hudkit import Hud
from hudkit.cli.demo import unpack_orchard
from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.log import payloads as p
from hudkit.log.stores.memory_log import MemoryLog
from hudkit.testing.assertions import calls_in
from hudkit.tokens import count_tokens
from hudkit.tools import OPERATIONS, reply
from hudkit.transcripts import Message, SessionRow, TextPart, ToolPart
from hudkit.transcripts.event_log_transcript import OwnTranscript
from hudkit.transcripts.search import PastSessions, open_past_sessions
from strategies import hostile

PARSER = MarkdownIt("commonmark").enable("table")
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


@pytest.fixture(scope="module")
def past(tmp_path_factory):
    folder = tmp_path_factory.mktemp("past")
    nowhere = folder / "nowhere"
    given = open_past_sessions(
        folder / "search.db", opencode=unpack_orchard(folder / "orchard"), claude=nowhere, codex=nowhere
    )
    given.update()
    yield given
    given.close()


@pytest.fixture
def hud(past):
    with Hud.in_memory(past=past) as hud:
        yield hud


@pytest.fixture
def session(hud):
    return hud.session("ses_test")


@pytest.fixture(scope="module")
def main(past):
    """The id of the session with the most messages."""
    return max(past.sessions(), key=lambda row: sum(1 for _ in past.messages(row.id))).id


def said(session, name, /, **args):
    answer = reply(session, "memory", {"tool": name, "args": args})
    assert answer.ok, answer.text
    return answer.answer


def cells(text):
    """The rows of the first table of an answer, as texts."""
    tokens = PARSER.parse(text)
    rows, at = [], 0
    for one in tokens:
        if one.type == "tr_open":
            rows.append([])
            at = 1
        elif one.type == "table_close":
            return rows
        elif at and one.type == "inline":
            rows[-1].append(one.content.strip("`"))
    return rows


@pytest.mark.slow
def test_from_a_list_to_one_message_by_the_ids_that_answers_tell(session, past):
    listed = said(session, "sessions", limit=2)
    head, *rows = cells(listed.text)
    assert head[0] == "session" and len(rows) == 2 and "skip 2" in listed.text
    assert len(cells(said(session, "sessions", limit=2, skip=2).text)) == 3
    id = rows[0][0]
    page = said(session, "messages", session=id, limit=3)
    message = page.data["messages"][-1]["id"]
    assert f"`{message}`" in page.text
    whole = said(session, "message", session=id, id=message)
    assert whole.data["id"] == message and whole.data["text"]
    assert said(session, "messages", sessionId=id[:20], limit=3).data == page.data  # 004's spelling, a begin of an id
    assert said(session, "sessions", projectPath="lantern").data["total"] == 1


@pytest.mark.slow
def test_pages_cover_a_session_once(session, past, main):
    every = [message.id for message in past.messages(main)]
    newest_first, before = [], ""
    for _ in range(200):
        page = said(session, "messages", session=main, before=before, limit=9).data
        newest_first = [one["id"] for one in page["messages"]] + newest_first
        if not page["more"]:
            break
        before = page["messages"][0]["id"]
    assert newest_first == every
    oldest_first, after = [every[0]], every[0]
    while True:
        page = said(session, "messages", session=main, after=after, limit=50, tokens=700).data
        oldest_first += [one["id"] for one in page["messages"]]
        if not page["more"]:
            break
        after = page["messages"][-1]["id"]
    assert oldest_first == every


ROOM_OF_HEADS = 170
"""Tokens of an answer's head, and of the call with which it ends."""


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [100, 400, 2_000])
def test_answers_are_bounded(session, main, tokens):
    for name, args in (
        ("messages", {"session": main, "limit": 200, "length": 20_000, "tools": True}),
        ("sessions", {"limit": 200, "all": True}),
        ("search", {"query": "the plan of the beds", "limit": 200}),
        ("compactions", {"session": main, "read": 1}),
    ):
        text = said(session, name, tokens=tokens, **args).text
        assert count_tokens(text) <= tokens + ROOM_OF_HEADS, name


@pytest.mark.slow
def test_a_long_message_is_read_in_pages(session, past, main):
    longest = max(past.messages(main), key=lambda one: sum(len(getattr(part, "output", "")) for part in one.parts))
    text, offset, pages = "", 0, 0
    while offset is not None:
        answer = said(session, "message", session=main, id=longest.id, offset=offset, tokens=500)
        text += answer.text.split("\n\nIt goes on:")[0] + "\n"
        offset, pages = answer.data["next"], pages + 1
    assert pages > 2
    assert abs(len(text) - answer.data["characters"]) <= pages + 1


@pytest.mark.slow
def test_a_search_spends_its_tokens_on_text(session):
    answer = said(session, "search", query="frost", limit=10)
    hits = answer.data["messages"]
    sessions = {hit["session"] for hit in hits}
    assert len(hits) > len(sessions), "a session with several hits is needed"
    for id in sessions:
        assert answer.text.count(id) == 1
    texts = sum(count_tokens(hit["snippet"]) for hit in hits)
    assert texts >= 0.5 * count_tokens(answer.text)
    for hit in hits:
        short = hit["message"][-10:]
        assert f"`{short}`" in answer.text
        assert said(session, "message", session=hit["session"], id=short).data["id"] == hit["message"]
        assert said(session, "messages", session=hit["session"], before=short, limit=1).data["messages"]


@pytest.mark.slow
def test_the_summary_counts_the_todos_of_the_session(session):
    todos = (p.TodoItem("dig", "pending", "high"), p.TodoItem("sow", "pending"), p.TodoItem("rest", "completed"))
    session.append(p.TodoSync(todos), origin=Origin.HOST)
    answer = said(session, "summary")
    assert answer.data["todos"] == {"pending": 2, "completed": 1}
    assert "Todos of this session: 2 pending, 1 completed (todos.list)." in answer.text


@pytest.mark.slow
def test_search_finds_and_filters(session, main):
    answer = said(session, "search", query="frost limit", limit=5)
    assert answer.data["messages"] and "frost" in answer.text.lower()
    hit = answer.data["messages"][0]
    assert said(session, "message", session=hit["session"], id=hit["message"]).text
    for one in said(session, "search", query="frost", tool="bash", session=main).data["messages"]:
        assert (one["tool"], one["session"]) == ("bash", main)
    assert said(session, "search", query="frost", since="2031-01-01").data["messages"] == []
    assert said(session, "search", query="frost", since="9999d").data["messages"]
    for wrong in (
        {"query": "a AND (", "syntax": True},
        {"query": "x", "since": "yesterday"},
        {"query": "x", "role": "king"},
    ):
        refused = reply(session, "memory", {"tool": "search", "args": wrong})
        assert not refused.ok and "Example: memory(" in refused.text and len(refused.text) < 700


@pytest.mark.slow
def test_items_come_before_conversations(session):
    session.call("notes.add", {"content": "frost waits"})
    answer = said(session, "search", query="frost")
    assert answer.text.startswith("- notes n1") and answer.data["hits"] and answer.data["messages"]


@pytest.mark.slow
def test_compactions_by_their_index(session, main):
    listed = said(session, "compactions", session=main)
    assert [row["how"] for row in listed.data["compactions"]] == ["automatic", "automatic"]
    first, second = (row["summary"] for row in listed.data["compactions"])
    assert first.startswith("Goal") and not second.startswith("Goal"), "a preview begins with what is new"
    read = said(session, "compactions", session=main, read=2, tokens=5_000)
    assert "## Goal" in read.text and read.data["summary"].startswith("## Goal")
    refused = reply(session, "memory", {"tool": "compactions", "args": {"session": main, "read": 3}})
    assert not refused.ok and "there is no compaction 3" in refused.text


@pytest.mark.parametrize("has_past", [False, True])
def test_the_call_of_a_frame_after_a_compaction_reads_the_summaries_also_where_no_conversation_is_kept(has_past):
    hud = Hud.in_memory()
    s = hud.session("s")
    if has_past:
        s.past = PastSessions((OwnTranscript(hud.log),))
    assert "memory compactions" not in s.frame(1_000, 200_000).base
    s.append(p.TaskSet("Port it"), p.CompactAfter("## Goal\nfirst of them", trigger="auto"))
    base = s.frame(1_000, 200_000).base
    assert "\n1 compaction: memory compactions\n" in base
    s.append(p.CompactAfter("## Goal\nsecond of them", trigger="manual"))
    second = s.state.seq
    base = s.frame(1_000, 200_000).base
    assert base.count("2 compactions: memory compactions") == 1
    ((router, call),) = calls_in(base)
    listed = s.tool(router, call)
    assert "first of them" in listed and "second of them" in listed and "automatic" in listed
    assert "    second of them" in s.tool("memory", {"operation": "compactions", "read": 2})
    s.append(p.CompactUndone(second, "## Goal\nfirst of them"))
    assert "\n1 compaction: memory compactions\n" in s.frame(1_000, 200_000).base
    assert "Compactions (1)" in s.tool(router, call) and "first of them" in s.tool(router, call)


@pytest.mark.slow
def test_what_the_index_does_not_know_yet_is_found_in_the_conversation_itself(past, main, tmp_path):
    """Another process keeps the index, and may be behind, or not have begun."""
    late = PastSessions(past.transcripts(), tmp_path / "own" / "search.db", eager=False)
    with Hud.in_memory(past=late) as hud:
        session = hud.session(main)
        texts = [(m.id, part.text) for m in past.messages(main) for part in m.parts if isinstance(part, TextPart)]
        id, text = texts[1]
        asked = " ".join(re.findall(r"[a-z]{4,}", text)[:3])
        assert id in [hit["message"] for hit in said(session, "search", query=asked).data["messages"]]
        assert not reply(session, "memory", {"operation": "search", "query": "qqqzzz"}).ok, "there is no index at all"


@pytest.mark.slow
def test_counts_children_comparison_and_window(session, past, main):
    assert said(session, "summary").data["index"]["messages"] == 250
    (child,) = said(session, "children", session=main).data["sessions"]
    assert child["parent_id"] == main
    other = past.sessions()[0].id
    compared = said(session, "compare", a=main, b=other)
    assert compared.data[main]["responses"] == 167 and "orchard/frost.py" in compared.text
    assert "28,603 tokens" in said(session, "context", session=main).text
    assert "unknown" in said(session, "context").text
    session.frame(used_tokens=50_000, limit_tokens=200_000)
    assert "25 % in use" in said(session, "context").text


def test_a_session_of_our_log_alone_has_its_hosts_name_and_what_was_asked_for(tmp_path):
    nowhere = tmp_path / "nowhere"
    log = MemoryLog()
    places = dict.fromkeys(("opencode", "claude", "codex"), nowhere)
    past = open_past_sessions(tmp_path / "search.db", **places, also=(OwnTranscript(log),))
    with closing(past), Hud(log, past=past) as hud:
        asked = p.SessionStart(host="langchain", request="Lower the ramp of the kiln")
        hud.session("run_1", host="langchain", project=tmp_path).append(asked)
        session = hud.session("ses_test")
        listed = said(session, "sessions")
        (row,) = (cell for cell in cells(listed.text)[1:] if "run_1" in cell[0])
        assert row[1:4] == ["Lower the ramp of the kiln", "", "langchain"]
        assert "run_1" in said(session, "sessions", host="langchain").text
        assert "run_1" in said(session, "sessions", host="hudkit").text
        assert "run_1" not in said(session, "sessions", host="codex").text
        hosts = said(session, "summary").data["hosts"]
        assert hosts["langchain"] == 1 and "hudkit" not in hosts, "our log is no host: it names that of each session"
        # An agent copies what it reads, backticks included.
        taken = session.call("task.resume", {"session": f"`{row[0]}`"})
        assert "Lower the ramp of the kiln" in taken.text
        assert session.state.task.description == "Lower the ramp of the kiln"


@pytest.mark.slow
def test_a_comparison_says_what_was_decided(hud, session, past, main):
    other = past.sessions()[0].id
    assert "is not recorded in the HUD" in said(session, "compare", a=main, b=other).text
    for id, decisions in ((main, ("Use JSON", "Keep v1")), (other, ("Use JSON", "Drop v1\n## Not a heading"))):
        for summary in decisions:
            hud.session(id).call("decisions.record", {"summary": summary})
    hud.session(main).call("task.set", {"description": "Plan the frost days"})
    hud.session(main).call("constraints.add", {"text": "never change plan()"})
    gone = hud.session(main).call("decisions.record", {"summary": "Use YAML"}).data["id"]
    hud.session(main).call("decisions.remove", {"id": gone})
    compared = said(session, "compare", a=main, b=other)
    assert (
        f'Task of {main}: "Plan the frost days"\n\nTask of {other}: none set\n\n'
        'Decided in both (1):\n- "Use JSON"\n'
        f'Decided only in {main} (1):\n- "Keep v1"\n'
        f'Decided only in {other} (1):\n- "Drop v1\\n## Not a heading"\n\n'
        f'Rules in both (0)\nRules only in {main} (1):\n- "never change plan()"\n'
    ) in compared.text
    assert "YAML" not in compared.text and "Blockers" not in compared.text
    assert compared.data[main]["decisions"] == ["Use JSON", "Keep v1"]


@pytest.mark.slow
def test_a_subagents_answer_needs_no_second_call_and_all_of_it_one(session, main):
    listed = said(session, "children", session=main)
    (child,) = listed.data["sessions"]
    assert "    Findings:\n" in listed.text and child["answer"].startswith("Findings:\n1. planner.plan")
    (call,) = re.findall(r"^All of it: memory\((.*)\)$", listed.text, re.MULTILINE)
    assert "Findings:" in reply(session, "memory", json.loads(call)).text
    page = said(session, "messages", session=main, limit=200, tokens=20_000).text
    (call,) = re.findall(r"^  its session: memory\((.*)\)$", page, re.MULTILINE)
    assert json.loads(call) == {"operation": "messages", "session": child["id"]}


def test_a_transcript_is_exported_as_json_and_as_markdown(past, tmp_path):
    call = ToolPart("p1", "write", "c1", "completed", {"content": "x" * 500 + " ghp_" + "a1B2" * 9}, output="y" * 900)
    parts = (TextPart("p0", "# No heading"), call)
    message = Message("m1", "ses_words", "assistant", 1_795_000_000_000, parts=parts)

    class Words:
        host = "words"
        location = ""

        def session(self, id):
            return SessionRow(id="ses_words", host="words", title="Words") if id == "ses_words" else None

        def sessions(self):
            return (self.session("ses_words"),)

        def messages(self, id, *, after=""):
            return iter((message,))

        def todos(self, id):
            return ()

        def close(self):
            return None

    with Hud.in_memory(past=PastSessions((Words(),), None, tmp_path / "exports")) as hud:
        session = hud.session("ses_words")
        session.call("notes.add", {"content": "a note"})
        assert "markdown" not in said(session, "export").data and not (tmp_path / "exports/ses_words.md").exists()
        exported = said(session, "export", transcript=True).data
    facts = json.loads(Path(exported["path"]).read_text())
    text = Path(exported["markdown"]).read_text()
    assert exported["messages"] == 1 and facts["transcript"][0]["text"] == "# No heading"
    assert len(facts["transcript"][0]["calls"][0]["output"]) == 900
    assert text.startswith("# Words\n\n## assistant `m1` ") and "\n      # No heading\n" in text and "y" * 900 in text
    assert "x" * 500 in text and "a1B2" not in text and "a1B2" not in Path(exported["path"]).read_text()
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "exports").iterdir())


def test_plans_are_listed_and_read(session, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    folder = tmp_path / "project" / ".opencode" / "plans"
    folder.mkdir(parents=True)
    (folder / "1-ramp.md").write_text("# Ramp\n" + "\n".join(f"step {n}" for n in range(400)))
    session.start(directory=str(tmp_path / "project"))
    assert "1-ramp.md" in said(session, "plans").text
    first = said(session, "plans", read="1-ramp", tokens=200)
    assert "    # Ramp" in first.text and first.data["next"]
    assert "step 399" in said(session, "plans", read="1-ramp", offset=first.data["next"], tokens=5_000).text
    for name in ("../../secret", "/etc/passwd", "x\0"):
        refused = reply(session, "memory", {"tool": "plans", "args": {"read": name}})
        assert not refused.ok and "there is no plan of this name" in refused.text


def test_a_session_is_carried_over_as_it_was(hud, session):
    for name, args in (
        ("task.set", {"description": "Carry"}),
        ("decisions.record", {"summary": "Use JSON", "details": "readable"}),
        ("steps.add", {"description": "one"}),
        ("steps.add", {"description": "two"}),
        ("steps.complete", {"id": "s1"}),
        ("notes.add", {"content": "the key is ghp_" + "a1B2" * 9}),
        ("constraints.add", {"text": "never"}),
    ):
        session.call(name, args)
    exported = said(session, "export").data
    path = Path(exported["path"])
    body = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600 and "a1B2" not in body
    assert json.loads(body)["sections"]["decisions"][0]["summary"] == "Use JSON"
    other = hud.session("ses_other")
    assert said(other, "import", name=exported["name"]).data["recorded"]
    first, second = (_rows(one) for one in (session, other))
    assert first == second and len(first["steps"]) == 2
    again = reply(other, "memory", {"tool": "import", "args": {"name": exported["name"]}})
    assert not again.ok and "items of its own" in again.text


def test_a_session_file_of_plain_sections_is_taken_over(hud, session):
    plain = {
        "sessionId": "ses_old",
        "lastUpdated": 1_795_000_000_000,
        "currentTask": "Implementing auth middleware",
        "keyDecisions": ["JWT over sessions", 7, "JWT over sessions"],
        "activeFiles": ["src/auth.py"],
        "notes": ["The key lies in the vault", ""],
        "blockers": None,
        "nextSteps": ["Write the tests"],
        "compactedContext": "Login works.",
    }
    folder = Path(said(session, "export").data["path"]).parent
    (folder / "ses_old.json").write_text(json.dumps(plain))
    other = hud.session("ses_new")
    assert said(other, "import", name="ses_old.json").data["events"] == 6
    state = other.state
    assert state.task.description == "Implementing auth middleware"
    assert [one.summary for one in state.decisions] == ["JWT over sessions"]
    assert [one.path for one in state.files if one.status == "editing"] == ["src/auth.py"]
    assert [one.content for one in state.notes] == ["The key lies in the vault"]
    assert [one.description for one in state.steps] == ["Write the tests"]
    assert "Login works." in other.frame().text
    (folder / "other.json").write_text('{"notes": ["of something else"]}')
    refused = reply(other, "memory", {"tool": "import", "args": {"name": "other.json"}})
    assert not refused.ok and "not an exported session" in refused.text


def _rows(session):
    found = said(session, "snapshot").data["sections"]
    return {
        name: [{key: value for key, value in row.items() if key not in ("mark", "updated_at")} for row in rows]
        for name, rows in found.items()
        if name not in ("session", "project")
    }


def test_without_a_past_the_agent_is_told_so():
    with Hud.in_memory() as hud:
        s = hud.session("s")
        s.append(p.NoteAdd("frost"))
        for name in OF_THE_PAST:
            refused = reply(s, "memory", {"tool": name, "args": dict(OPERATIONS[name].example)})
            assert not refused.ok or name == "context", name
        assert "frost" in reply(s, "memory", {"tool": "search", "args": {"query": "frost"}}).text
        assert not reply(s, "memory", {"tool": "search", "args": {"query": "x", "role": "user"}}).ok


class One:
    """A transcript of one session with hostile texts."""

    host = "one"
    skipped = ()

    def __init__(self, texts):
        parts = [TextPart("t", texts[0]), ToolPart("c", texts[1], "c", "completed", {texts[2]: texts[0]}, texts[2])]
        self.row = SessionRow("ses_hostile", "one", title=texts[1], directory=texts[2], root=texts[2], updated=1)
        self.said = Message(texts[0] or "m", "ses_hostile", "assistant", 1, 1, error=texts[1], parts=tuple(parts))

    def sessions(self):
        return (self.row,)

    def session(self, id):
        return self.row if id == self.row.id else None

    def messages(self, id, *, after=""):
        return iter((self.said,) if id == self.row.id else ())

    def todos(self, id):
        return ()

    def close(self):
        pass


@pytest.mark.parametrize("text", ["0f3a9c71" * 2_000, "{[()]};:" * 1_500, "雪" * 4_000, "a " * 9_000])
def test_dense_text_is_bounded_too(tmp_path, text):
    past = PastSessions([One(["msg_1", "a title", text])], tmp_path / "s.db")
    with Hud.in_memory(past=past) as hud:
        s = hud.session("s")
        for name, args in (("messages", {"length": 20_000}), ("message", {"id": "msg_1"})):
            answer = said(s, name, session="ses_hostile", tools=True, tokens=300, **args).text
            assert 100 < count_tokens(answer) <= 300 + ROOM_OF_HEADS, name
    past.close()


@pytest.mark.slow
@given(texts=st.lists(hostile, min_size=3, max_size=3))
def test_no_text_of_a_transcript_is_structure(tmp_path_factory, texts):
    past = PastSessions([One(texts)], tmp_path_factory.mktemp("hostile") / "s.db")
    with Hud.in_memory(past=past) as hud:
        s = hud.session("s")
        for name, args in (
            ("sessions", {}),
            ("messages", {"session": "ses_hostile", "tools": True}),
            ("search", {"query": texts[0] if texts[0].strip() else "x"}),
            ("compare", {"a": "ses_hostile", "b": "s"}),
        ):
            text = reply(s, "memory", {"tool": name, "args": args}).text
            assert not HIDDEN.search(text), name
            tables = [token for token in PARSER.parse(text) if token.type == "table_open"]
            assert len(tables) <= 1
            headings = [token.tag for token in PARSER.parse(text) if token.type == "heading_open"]
            assert headings == (["h1", "h2"] if name == "messages" else [])
            assert len({len(row) for row in cells(text)}) <= 1
    past.close()


@pytest.mark.slow
@given(
    name=st.sampled_from([*sorted(OF_THE_PAST - {"export", "import"}), "search"]),
    args=st.dictionaries(
        st.sampled_from(["session", "id", "read", "a", "b", "query", "before", "after", "limit", "tokens", "offset"]),
        st.one_of(hostile, st.integers(-5, 500), st.none(), st.booleans()),
        max_size=4,
    ),
)
def test_no_call_raises(past, name, args):
    with Hud.in_memory(past=past) as hud:
        text = reply(hud.session("s"), "memory", {"tool": name, "args": args}).text
        assert text and not HIDDEN.search(text)


def test_library_calls_raise_typed_errors(session):
    with pytest.raises(OperationError):
        session.call("compare", {"a": "ses_test"})
