"""The half of an in-process host that is not the host's: dating, hearing, placing, compacting, failing open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hudkit import Hud
from hudkit.config import PruningSettings, Settings
from hudkit.context.compaction.summaries import NOTHING_KNOWN
from hudkit.errors import StoreError
from hudkit.hosts.host_session import HostCall, HostMessage, HostSession
from hudkit.hosts.in_process import InProcessHud
from hudkit.ingest.extraction import extract
from hudkit.ingest.first_seen import version_key
from hudkit.log.payloads import (
    CompactAfter,
    CompactBefore,
    ErrorEncountered,
    SessionStart,
    TodoSync,
    TranscriptSeen,
    type_of,
)
from hudkit.testing.assertions import calls_in, recovered_output
from hudkit.tokens import Window, window_of
from hudkit.transcripts import Message, ReportedUsage, TextPart, ToolPart
from hudkit.transcripts.conversation_store import ConversationStore

WINDOW = Window(32_000, 4_000, None, "host")


def user(key: str, text: str) -> HostMessage:
    return HostMessage(key, Message(key, "s", "user", parts=(TextPart(key, text),)), "user", len(text))


def answer(key: str, text: str = "", *calls: ToolPart, used: int | None = None, summary: bool = False) -> HostMessage:
    usage = ReportedUsage(total=used) if used is not None else None
    parts = (TextPart(key, text), *calls)
    message = Message(key, "s", "assistant", finish="stop", usage=usage, summary=summary, parts=parts)
    size = len(text) + sum(len(call.output) for call in calls)
    return HostMessage(key, message, "tool" if calls else "assistant", size)


def ran(call: str, command: str, output: str, exit: int = 0) -> ToolPart:
    return ToolPart(call, "bash", call, "completed", {"command": command}, output, metadata={"exit": exit})


def asked(*entries: HostMessage, **more: Any) -> HostCall:
    return HostCall(entries=entries, window=WINDOW, **more)


PRUNING = Settings(pruning=PruningSettings(enabled=True))


@pytest.fixture
def hud(tmp_path: Path) -> Iterator[Hud]:
    with Hud.open(tmp_path / "log" / "hud.db", settings=PRUNING) as opened:
        yield opened


def talk(hud: Hud, clock: Sequence[int] = (), conversations: ConversationStore | None = None) -> HostSession:
    times = iter(clock)
    session = hud.session("s", project="/tmp", host="here")
    now = (lambda: next(times)) if clock else None
    return HostSession(session, "s", "/tmp", "here", clock=now, conversations=conversations)


def payloads(hud: Hud, kind: type) -> list[Any]:
    session = hud.session("s", project="/tmp", host="here")
    return [event.payload for event in session.events() if isinstance(event.payload, kind)]


# -- dates -----------------------------------------------------------------------------------------------------


def test_messages_without_dates_are_told_once_also_by_another_process_and_after_a_cut(hud: Hud) -> None:
    first = (user("a", "Fix it"), answer("b", "", ran("c1", "false", "", 1)))
    talk(hud).prepare_call(asked(*first))
    later = talk(hud)  # knows nothing but the log
    later.prepare_call(asked(*first, user("c", "And then?")))
    talk(hud).prepare_call(asked(user("c", "And then?"), answer("d", "done")))  # the host has cut its history
    assert [one.request for one in payloads(hud, SessionStart) if one.request] == ["Fix it", "And then?"]
    assert len(later.session.state.errors.open) == 1
    assert [one.keys for one in payloads(hud, TranscriptSeen)] == [("a", "b"), ("c",), ("d",)]


def test_a_clock_that_goes_back_changes_no_order(hud: Hud) -> None:
    conversation = talk(hud, clock=(5_000, 1_000, 1_000))
    conversation.prepare_call(asked(user("a", "One")))
    conversation.prepare_call(asked(user("a", "One"), answer("b", "ok")))
    conversation.prepare_call(asked(user("a", "One"), answer("b", "ok"), user("c", "Two")))
    assert conversation.session.state.session.request == "Two"
    times = [event.timestamp for event in conversation.session.events() if isinstance(event.payload, TranscriptSeen)]
    assert times == [5_000, 5_001, 5_002]


def test_what_could_not_be_recorded_is_told_with_the_next_call(hud: Hud, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = talk(hud)
    conversation.prepare_call(asked(user("a", "One")))

    def refuse(*_: object, **__: object) -> None:
        raise StoreError("the disk is full", code="full")

    with monkeypatch.context() as patched:
        for name in ("append", "append_together"):
            patched.setattr(hud.log, name, refuse)
        placing = conversation.prepare_call(asked(user("a", "One"), answer("b", "", ran("c1", "false", "", 1))))
        assert placing.frame is not None and placing.frame.notice
    conversation.prepare_call(asked(user("a", "One"), answer("b", "", ran("c1", "false", "", 1)), user("c", "Two")))
    assert len(conversation.session.state.errors.open) == 1
    assert [key for one in payloads(hud, TranscriptSeen) for key in one.keys] == ["a", "b", "c"]


def version(id: str, text: str) -> HostMessage:
    return user(version_key(id, text), text)._replace(editable=True)


@pytest.mark.slow
def test_an_edited_message_takes_back_its_other_versions_and_what_followed_them(hud: Hud) -> None:
    conversation = talk(hud)

    def known() -> tuple[list[str], str]:
        state = conversation.session.state
        return [rule.text for rule in state.constraints], state.session.request

    first, second = version("a", "Never use floats."), version("a", "Never use lists.")
    conversation.prepare_call(asked(first))
    conversation.prepare_call(asked(first, answer("b", "ok"), version("c", "Always use tabs.")))
    assert known() == (["Never use floats", "Always use tabs"], "Always use tabs.")
    for _ in range(2):  # the second time in a process that knows nothing but the log
        conversation.prepare_call(asked(second))
        assert known() == (["Never use lists"], "Never use lists.")
        conversation = talk(hud)
    conversation.prepare_call(asked(second, answer("d", "ok")))
    conversation.prepare_call(asked(first))
    assert known() == (["Never use floats"], "Never use floats."), "back at the first version"
    conversation.prepare_call(asked(version("e", "Always use tabs.")))
    assert len(known()[0]) == 2, "a history that was trimmed to its end takes nothing back"


# -- places ----------------------------------------------------------------------------------------------------


def test_blocks_stay_where_they_were_and_the_tail_does_not(hud: Hud) -> None:
    conversation = talk(hud)
    one = conversation.prepare_call(asked(user("a", "Fix it")))
    assert one.base and one.tail.startswith("Context: ") and not one.behind
    assert conversation.tool("hud", {"tool": "notes.add", "args": {"content": "x"}}).ok
    conversation.session.call("notes.add", {"content": "by somebody else"})
    entries = (user("a", "Fix it"), answer("b", "", ran("c1", "true", "")))
    two = conversation.prepare_call(asked(*entries))
    assert list(two.behind) == [1] and "by somebody else" in two.behind[1][0]
    assert two.base == one.base and not two.tail
    three = talk(hud).prepare_call(asked(*entries, answer("c", "done"), user("d", "More")))
    assert three.behind[1] == two.behind[1] and three.tail


def looked() -> list[HostMessage]:
    """A conversation with thirty old outputs."""
    looks = (answer(f"b{n}", "looking", ran(f"c{n}", f"cat {n}", f"{n}\t" * 6_000)) for n in range(30))
    return [user("a", "Look around"), *looks, user("d", "And now?"), answer("e", "Look"), user("f", "Go on.")]


BIG = Window(200_000, 8_000, None, "host")


def test_a_window_that_nobody_told_is_said_to_be_assumed(hud: Hud) -> None:
    window = window_of("nobody-knows-it")
    placed = talk(hud).prepare_call(HostCall(entries=[user("u", "hello")], window=window, used=20_000))
    assert "(20k/200k assumed)" in placed.tail
    assert hud.session("s", project="/tmp", host="here").state.window.limit_tokens is None


@pytest.mark.slow
def test_an_old_output_becomes_a_stub_where_the_host_can_leave_it_away(hud: Hud) -> None:
    entries = looked()
    big = HostCall(entries=entries, window=BIG, used=120_000, prunes=True)
    placing = talk(hud, conversations=ConversationStore(None)).prepare_call(big)
    assert placing.stubs and all("memory" in text for text in placing.stubs.values())
    assert "c29" not in placing.stubs, "the newest stays"
    with Hud.in_memory(settings=PRUNING) as other:
        call = HostCall(entries=entries, window=big.window, used=120_000)
        assert not talk(other, conversations=ConversationStore(None)).prepare_call(call).stubs
    with Hud.in_memory() as other:
        assert not talk(other, conversations=ConversationStore(None)).prepare_call(big).stubs, "nobody asked for it"
    for few in (entries[:-1], entries[:-3]):
        with Hud.in_memory(settings=PRUNING) as other:
            call = HostCall(entries=few, window=BIG, used=120_000, prunes=True)
            stubs = talk(other, conversations=ConversationStore(None)).prepare_call(call).stubs
            assert not stubs, "the current turn and the last one"


@pytest.mark.slow
def test_what_could_not_be_read_again_is_not_left_away(hud: Hud, tmp_path: Path) -> None:
    big = HostCall(entries=looked(), window=BIG, used=120_000, prunes=True)
    assert not talk(hud).prepare_call(big).stubs, "nobody keeps it"
    (tmp_path / "shut").write_text("no directory")
    with Hud.in_memory(settings=PRUNING) as other:
        unwritable = ConversationStore(tmp_path / "shut" / "conversations.db")
        assert not talk(other, conversations=unwritable).prepare_call(big).stubs, "it cannot be written"
    with Hud.in_memory(settings=PRUNING) as other:
        pictures = [entry._replace(media=frozenset({f"c{n - 1}"})) for n, entry in enumerate(big.entries)]
        call = HostCall(entries=pictures, window=BIG, used=120_000, prunes=True)
        assert not talk(other, conversations=ConversationStore(None)).prepare_call(call).stubs, "more than text"


@pytest.mark.slow
@pytest.mark.parametrize("file", ["hud.db", None])
def test_every_stub_gets_the_very_text_back(tmp_path: Path, file: str | None) -> None:
    clock = iter(range(1_795_000_000_000, 1_796_000_000_000)).__next__
    entries = looked()
    with Hud.open(tmp_path / file, settings=PRUNING) if file else Hud.in_memory(settings=PRUNING) as hud:
        for _ in range(2):  # the second time, in a process that begins anew
            attached = InProcessHud(hud, host="here", project=tmp_path, clock=clock)
            placing = attached.prepare_call("s", HostCall(entries=entries, window=BIG, used=120_000, prunes=True))
            assert placing.stubs
            for call, stub in placing.stubs.items():
                ((router, args),) = calls_in(stub)
                text = ""
                following: dict[str, Any] | None = args
                while following:
                    reply = attached.tool("s", router, {**following, "operation": args["operation"]})
                    assert reply.ok, reply.text
                    page, following = recovered_output(reply.text)
                    text += page
                assert text == f"{call[1:]}\t" * 6_000
            attached.close()


# -- compactions -----------------------------------------------------------------------------------------------


def test_a_compaction_is_due_when_the_window_is_full_or_the_agent_asks(hud: Hud) -> None:
    conversation = talk(hud)
    conversation.prepare_call(asked(user("a", "Fix it"), answer("b", "ok", used=9_000)))
    assert not conversation.is_compaction_due(WINDOW)
    may, said = conversation.request_compaction()
    assert not may and said.startswith("Not compacted: 28 %") and not conversation.is_compaction_due(WINDOW)
    conversation.report_usage(20_000)
    assert conversation.tool("hud_compact", {}).ok and conversation.is_compaction_due(WINDOW)
    conversation.start_compaction()
    assert not conversation.is_compaction_due(WINDOW)
    conversation.report_usage(28_100)
    assert conversation.is_compaction_due(WINDOW)


def test_a_compaction_that_freed_nothing_is_not_due_again_until_the_window_has_grown(hud: Hud) -> None:
    conversation = talk(hud)
    conversation.prepare_call(asked(user("a", "Fix it"), answer("b", "ok", used=28_100)))
    conversation.start_compaction("auto")
    entries = [answer("s", "I was fixing it.", summary=True), user("c", "Go on")]
    conversation.prepare_call(asked(*entries))
    conversation.prepare_call(asked(*entries, answer("d", "ok", used=26_900)))
    conversation.report_usage(28_100)
    assert not conversation.is_compaction_due(WINDOW)
    conversation.report_usage(31_800)
    assert conversation.is_compaction_due(WINDOW)


def test_a_compaction_is_recorded_once_and_its_summary_is_told(hud: Hud) -> None:
    conversation = talk(hud)
    conversation.session.call("task.set", {"description": "Port the report"})
    conversation.prepare_call(asked(user("a", "Fix it"), answer("b", "ok", used=28_100)))
    assert "Port the report" in conversation.start_compaction("auto")
    text, why = conversation.usable_summary("I was porting the report.")
    assert (text, why) == ("I was porting the report.", "")
    placing = conversation.prepare_call(asked(answer("s", text, summary=True), user("c", "Go on")))
    assert "Port the report" in placing.base and conversation.used is None
    assert len(payloads(hud, CompactBefore)) == len(payloads(hud, CompactAfter)) == 1
    assert conversation.session.state.compacted.summary == text
    conversation.prepare_call(asked(answer("s", text, summary=True), user("c", "Go on"), answer("d", "done")))
    assert len(payloads(hud, CompactAfter)) == 1


@pytest.mark.parametrize("said", ["", "I'm sorry, I can't help with that."])
def test_a_summary_that_says_nothing_is_replaced_by_the_logs_own(hud: Hud, said: str) -> None:
    conversation = talk(hud)
    conversation.prepare_call(asked(user("a", "Port the report")))
    text, why = conversation.usable_summary(said)
    assert "Port the report" in text and why
    with Hud.in_memory() as empty:
        assert talk(empty).usable_summary(said)[0] == NOTHING_KNOWN


def test_the_tail_of_a_compaction_fits_an_eighth_of_the_window_and_is_never_all(hud: Hud) -> None:
    conversation = talk(hud)
    entries = [user("a", "x" * 100), *(answer(f"b{n}", "y" * 4_000) for n in range(6))]
    assert conversation.tail_start(entries, WINDOW) == 5  # 3,500 tokens are 10,500 characters
    assert conversation.tail_start(entries[:2], WINDOW) == 2, "all would fit: then nothing is kept"
    assert conversation.tail_start([answer("b", "y" * 50_000)], WINDOW) == 1


# -- attached --------------------------------------------------------------------------------------------------


def test_a_log_that_cannot_be_opened_stops_nobody_and_is_used_again_once_it_can(tmp_path: Path) -> None:
    log = tmp_path / "log" / "hud.db"
    log.parent.mkdir(mode=0o700)
    log.write_bytes(b"no log at all" * 500)
    attached = InProcessHud(log, host="here", project=tmp_path)
    placing = attached.prepare_call("s", asked(user("a", "Fix it")))
    assert not placing.base and "hud.db" in placing.why
    said = attached.tool("s", "hud", {"tool": "notes.add", "args": {"content": "x"}})
    assert not said.ok and said.text.startswith("not recorded: ")
    assert attached.resume("s", "ses_1") == "ses_1"
    log.unlink()
    assert attached.prepare_call("s", asked(user("a", "Fix it"))).base
    assert attached.resume("s", "ses_1") == "", "there is no such session: said, and not asked again"
    attached.close()
    attached.close()


def test_an_error_of_ours_stops_nobody(hud: Hud, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = talk(hud)
    monkeypatch.setattr(conversation.session, "frame", lambda **_: 1 / 0)
    assert conversation.prepare_call(asked(user("a", "Fix it"))).why == "ZeroDivisionError: division by zero"


def test_a_hud_that_was_given_stays_open(hud: Hud, tmp_path: Path) -> None:
    attached = InProcessHud(hud, host="here", project=tmp_path)
    attached.prepare_call("s", asked(user("a", "Fix it")))
    attached.close()
    assert hud.sessions()


def test_a_session_that_only_the_log_has_is_listed_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    attached = InProcessHud(tmp_path / "log" / "hud.db", host="here", project=tmp_path)
    assert attached.tool("first", "hud", {"tool": "task.set", "args": {"description": "Port the report"}}).ok
    attached.prepare_call("second", asked(user("a", "Hello")))
    listed = attached.tool("second", "memory", {"tool": "sessions"}).text
    assert "first" in listed and "(open task)" in listed and "second" in listed and "(this one)" in listed
    assert (
        "Port the report"
        in attached.tool("second", "hud", {"tool": "task.resume", "args": {"session": "first"}}).text
    )
    attached.close()


def test_a_server_with_many_conversations_keeps_only_the_newest_in_memory(
    hud: Hud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hudkit.hosts.in_process.MAX_OPEN_SESSIONS", 3)
    attached = InProcessHud(hud, host="here", project=tmp_path)
    attached.tool("s0", "hud", {"tool": "notes.add", "args": {"content": "kept in the log"}})
    first = attached.with_session("s0", lambda one: one.session)
    for n in range(1, 4):
        attached.prepare_call(f"s{n}", asked(user("a", "Hello")))
    again = attached.with_session("s0", lambda one: one.session)
    assert again is not first, "it was let go of"
    assert [note.content for note in again.state.notes] == ["kept in the log"]


# -- beside the call -------------------------------------------------------------------------------------------

TURN = (user("a", "Port it"), answer("b", "", ran("c1", "false", "", 1)), answer("c", "I decided to use Redis."))


def dated(*entries: HostMessage) -> list[HostMessage]:
    return [entry._replace(message=replace(entry.message, created=n)) for n, entry in enumerate(entries, 1)]


def growing(entry: HostMessage) -> Iterator[HostMessage]:
    """A response as it comes: without its words and its end, then whole."""
    calls = tuple(part for part in entry.message.parts if isinstance(part, ToolPart))
    if calls:
        yield entry._replace(message=replace(entry.message, parts=calls, finish=""))
    yield entry


@pytest.mark.parametrize("ahead", [(), (1,), (1, 2)], ids=["nothing", "one", "both"])
def test_a_response_that_was_read_ahead_tells_the_same_once(hud: Hud, ahead: tuple[int, ...]) -> None:
    entries = dated(*TURN)
    session = talk(hud)
    session.prepare_call(asked(entries[0]))
    for number in ahead:
        for entry in growing(entries[number]):
            session.read_ahead(entry)
    known = hud.log.last_seq(session.session.id)
    frame = session.prepare_call(asked(*entries)).frame
    assert frame is not None and "Redis" in frame.text
    events = list(session.session.events(after=known))
    assert [event.seq for event in events] == list(range(known + 1, known + 1 + len(events)))
    told = [type_of(event.payload) for event in events]
    assert told == ["command.ran", "error.encountered", "decision.record", "frame.delta", "context.snapshot"]
    state = session.session.state
    assert (
        len(state.errors.open) == len(state.decisions) == 1 and state == Hud(hud.log).session(state.session_id).state
    )
    session.prepare_call(asked(*entries))
    assert len(session.session.state.decisions) == 1


def test_what_was_read_ahead_is_read_again_where_another_wrote_meanwhile(hud: Hud) -> None:
    entries = dated(*TURN)
    session = talk(hud)
    session.prepare_call(asked(*entries[:2]))
    session.read_ahead(entries[2])
    Hud(hud.log).session(session.session.id).call("decisions.record", {"summary": "use Postgres"})
    session.prepare_call(asked(*entries))
    assert [decision.summary for decision in session.session.state.decisions] == [
        "use Postgres",
        "I decided to use Redis",
    ]
    assert list(hud.verify()) == []


def test_a_call_that_carries_nothing_new_can_be_recorded_once_it_has_gone_out(hud: Hud) -> None:
    session = talk(hud)
    log, id = hud.log, session.session.id
    session.prepare_call(asked(user("a", "Port it"), recorded_later=True))
    seq = log.last_seq(id)
    assert seq and session.session.state.seq == seq, "a base is recorded before"
    later = (user("a", "Port it"), answer("b", "I look."))
    assert session.prepare_call(asked(*later, recorded_later=True)).frame is not None
    assert log.last_seq(id) == seq
    session.write_behind()
    assert log.last_seq(id) > seq and session.session.frame_at(log.last_seq(id)).base
    session.prepare_call(asked(*later, answer("c", "And on."), recorded_later=True))
    assert session.session.state.seq == log.last_seq(id), "whoever looks at the session has it recorded"
    seq = log.last_seq(id)
    session.prepare_call(
        asked(*later, answer("c", "And on."), answer("d", "", ran("c1", "false", "", 1)), recorded_later=True)
    )
    assert len(session.session.state.errors.open) == 1 and payloads(hud, ErrorEncountered)


def test_what_the_log_refuses_behind_a_call_is_told_with_the_next(hud: Hud, monkeypatch: pytest.MonkeyPatch) -> None:
    session = talk(hud)
    session.prepare_call(asked(user("a", "Port it")))
    told = answer("b", "", ToolPart("c1", "todowrite", "c1", "completed", {"todos": [{"content": "look"}]}, "ok"))
    assert session.prepare_call(asked(user("a", "Port it"), told, recorded_later=True)).frame is not None
    other = Hud(hud.log).session(session.session.id)
    other.call("notes.add", {"text": "first"})  # behind this call, before it is recorded
    session.write_behind()
    assert [note.content for note in session.session.state.notes] == ["first"] and not payloads(hud, TodoSync)
    session.prepare_call(asked(user("a", "Port it"), told))
    assert len(payloads(hud, TodoSync)) == 1 and list(hud.verify()) == []


def test_what_is_made_before_frames_is_looked_for_once_and_anew_where_more_was_said(hud: Hud) -> None:
    again = (answer("d", "done"), user("e", "And now?"), answer("f", "done"), user("g", "And now?"))
    entries = dated(*TURN, *again)
    session, project = talk(hud), hud.project("/tmp")
    session.prepare_call(asked(*entries[:2]))
    session.read_ahead(entries[2])
    project.call("project.set", {"notes": ["Ask Ada"]})
    session.prepare_call(asked(*entries[:3]))
    assert session.session.state.project.notes == (), "it was looked for when the response came"
    session.read_ahead(entries[3])
    session.prepare_call(asked(*entries[:5]))
    assert session.session.state.project.notes == ("Ask Ada",)
    session.read_ahead(entries[5])  # tells nothing, and no more does the next prompt
    project.call("project.set", {"notes": ["Ask Bob"]})
    session.prepare_call(asked(*entries))
    assert session.session.state.project.notes == ("Ask Bob",)


def test_what_is_made_before_frames_is_not_looked_for_again_where_a_response_only_ended(hud: Hud) -> None:
    session, project = talk(hud), hud.project("/tmp")
    begin = dated(*TURN)
    session.prepare_call(asked(*begin))
    *_, whole, again = dated(*TURN, answer("d", "", ran("c2", "true", ""), used=1_000), user("e", "And now?"))
    session.read_ahead(whole._replace(message=replace(whole.message, finish="")))
    project.call("project.set", {"notes": ["Ask Ada"]})
    session.read_ahead(whole)
    session.prepare_call(asked(*begin, whole))
    assert session.session.state.project.notes == () and session.session.state.window.used_tokens == 1_000
    session.prepare_call(asked(*begin, whole, again))
    assert session.session.state.project.notes == ("Ask Ada",)


def test_the_words_of_a_response_are_read_before_its_calls_have_ended(
    hud: Hud, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noted(text: str, *args: Any, **more: Any) -> Any:
        read.append(text)
        return extract(text, *args, **more)

    monkeypatch.setattr("hudkit.ingest.message_facts.extract", noted)
    session = talk(hud)
    session.prepare_call(asked(user("a", "Go")))
    read.clear()
    whole = answer("b", "I decided to use Valkey for it.", ran("c1", "true", ""))
    call = ToolPart("c1", "bash", "c1", "pending", {"command": "true"})
    session.read_ahead(
        whole._replace(message=replace(whole.message, finish="", parts=(whole.message.parts[0], call)))
    )
    assert read == ["I decided to use Valkey for it."] and not session.session.state.decisions
    session.read_ahead(whole)
    session.prepare_call(asked(user("a", "Go"), whole))
    assert len(read) == 1 and len(session.session.state.decisions) == 1


def test_a_process_that_is_killed_before_a_call_is_recorded_has_lost_nothing_that_was_said(hud: Hud) -> None:
    entries = dated(*TURN)
    session = talk(hud)
    first = session.prepare_call(asked(entries[0], recorded_later=True)).frame
    session.read_ahead(entries[1])
    waiting = session.prepare_call(asked(*entries[:2], recorded_later=True)).frame
    assert first is not None and waiting is not None
    assert waiting.base == first.base and not any(delta.text for delta in waiting.deltas), "it carries nothing new"
    resumed = talk(Hud(hud.log))  # another process: it knows nothing but the log
    assert not resumed.session.state.errors.open
    after = resumed.prepare_call(asked(*entries)).frame
    assert after is not None and after.base == first.base, "the prefix is as it was"
    assert len(resumed.session.state.errors.open) == len(resumed.session.state.decisions) == 1
    assert list(hud.verify()) == []
