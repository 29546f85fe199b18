"""What a hook is answered, from a transcript file as Claude Code writes it: base, deltas, compactions, losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_file import SESSION, ClaudeFile

from hudkit import Hud
from hudkit.config import BudgetSettings, Settings
from hudkit.hosts.hook_session import HookSession, HookSessions, find_session, with_agent_file
from hudkit.hosts.hook_wire import MAX_CONTEXT_TOKENS, HookAnswer, read_hook, write_answer
from hudkit.tokens import count_tokens

HOST = "claude-code"
RULE = "Never touch the folder legacy/."


class Talk:
    """A session of a host: its file, and the hooks that it calls. What is answered reaches the file, unless lost."""

    def __init__(self, hud: Hud, folder: Path) -> None:
        self.file = ClaudeFile(folder)
        self.folder = folder
        self.hud = hud
        self.hook_session = self._fresh()

    def _fresh(self) -> HookSession:
        session = find_session(self.hud, HOST, SESSION, str(self.folder))
        return HookSession(session, SESSION, str(self.folder), HOST)

    def new_process(self) -> None:
        self.hud.forget(self.hook_session.session)
        self.hook_session = self._fresh()

    def hook(self, event: str, *, lost: bool = False, **fields: Any) -> HookAnswer:
        body = {
            "hook_event_name": event,
            "session_id": SESSION,
            "cwd": str(self.folder),
            "transcript_path": str(self.file.path),
            **fields,
        }
        payload = read_hook(body)
        self.hook_session.follow(payload)
        answer = self.hook_session.answer(payload)
        if answer.context and not lost:
            self.file.context(answer.context, event)
        return answer

    def turn(self, prompt: str, answer: str = "Done.") -> HookAnswer:
        told = self.hook("UserPromptSubmit")
        self.file.prompt(prompt)
        self.file.says(answer)
        self.hook("Stop")
        return told

    def call(self, operation: str, **arguments: Any) -> None:
        self.hook_session.session.call(operation, arguments)

    @property
    def text(self) -> str:
        return self.file.path.read_text()


@pytest.fixture
def talk(hud: Hud, tmp_path: Path) -> Talk:
    return Talk(hud, tmp_path)


def test_a_session_starts_with_the_base_and_goes_on_with_what_is_new(talk: Talk) -> None:
    base = talk.hook("SessionStart", source="startup")
    assert "Your HUD" in base.context
    assert talk.turn("Fix the bug in a.py. " + RULE).context == "", "nothing new: what the user says stands there"
    later = talk.turn("And b.py?")
    assert RULE.rstrip(".") in later.context and "Your HUD" not in later.context
    assert talk.turn("And c.py?").context == ""


def test_a_session_whose_start_was_lost_gets_its_base_with_the_next_hook(talk: Talk) -> None:
    assert "Your HUD" in talk.hook("SessionStart", source="startup", lost=True).context
    assert talk.hook("UserPromptSubmit").context == "", "the model has not answered: it may be on its way"
    talk.file.prompt("hello")
    talk.file.says("Hello.")
    assert "Your HUD" in talk.hook("UserPromptSubmit").context


def test_a_delta_that_was_lost_is_told_again(talk: Talk) -> None:
    talk.hook("SessionStart", source="startup")
    talk.turn("hello")
    talk.call("constraints.add", text="Use tabs")
    lost = talk.hook("UserPromptSubmit", lost=True)
    assert "Use tabs" in lost.context
    talk.file.prompt("go on")
    talk.file.says("Yes.")
    assert "Use tabs" in talk.turn("more").context
    assert talk.turn("more still").context == ""


@pytest.mark.slow
@pytest.mark.parametrize("resumes", [1, 10])
def test_a_resume_adds_nothing(talk: Talk, resumes: int) -> None:
    talk.hook("SessionStart", source="startup")
    talk.turn("hello " + RULE)
    talk.turn("again")
    for _ in range(resumes):
        talk.new_process()
        assert talk.hook("SessionStart", source="resume").context == ""
        talk.turn("go on")
    assert talk.text.count("Your HUD") == 1


@pytest.mark.parametrize("file_first", [False, True])
def test_after_a_compaction_the_base_is_there_once(talk: Talk, *, file_first: bool) -> None:
    """Claude Code calls the hook before it writes the boundary, Codex after it."""
    talk.hook("SessionStart", source="startup")
    talk.turn("hello")
    for number in range(2):
        talk.call("notes.add", content=f"fact {number}")
        talk.turn("go on")
        before = talk.hook("PreCompact", trigger="manual")
        assert "<hud>" in before.instructions and f"fact {number}" in before.instructions
        if file_first:
            talk.file.compacted("what was said")
            base = talk.hook("SessionStart", source="compact")
        else:
            base = talk.hook("SessionStart", source="compact", lost=True)
            talk.file.compacted("what was said")
            talk.file.context(base.context, "SessionStart")
        assert base.context.count("Your HUD") == 1 and f"fact {number}" in base.context
        # Who asks before it writes the boundary may keep the last messages, with the HUD of before among them.
        assert base.context.startswith("This takes the place") is not file_first
        talk.hook("PostCompact")
        talk.turn("after it")
        talk.turn("and on")
        assert talk.text.count("Your HUD") == 2 + number
    assert len(talk.hook_session.session.state.compaction_history.last) == 2


def test_a_compaction_that_no_hook_told_brings_the_base_back(talk: Talk) -> None:
    talk.hook("SessionStart", source="startup")
    talk.turn("hello")
    talk.call("notes.add", content="a fact")
    talk.file.compacted("what was said")
    assert "a fact" in talk.turn("after it").context
    assert talk.text.count("Your HUD") == 2


def test_what_was_superseded_is_not_in_the_window_after_a_compaction(talk: Talk) -> None:
    talk.hook("SessionStart", source="startup")
    talk.call("decisions.record", summary="Use SQLite", reason="small")
    talk.turn("go")
    talk.call("decisions.record", summary="Use PostgreSQL", reason="many writers")
    talk.call("decisions.supersede", id="d1", by="d2")
    talk.turn("on")
    talk.hook("PreCompact", trigger="auto")
    base = talk.hook("SessionStart", source="compact").context
    assert "Use PostgreSQL" in base and "Use SQLite" not in base


@pytest.mark.slow
def test_too_many_changes_bring_a_new_base_that_takes_the_place_of_the_first(talk: Talk) -> None:
    talk.hook("SessionStart", source="startup")
    talk.turn("hello")
    seen = [talk.turn("go on").context]
    for number in range(100):
        talk.call("constraints.add", text=f"Rule {number}: never change the table of customers number {number}")
        seen.append(talk.turn("go on").context)
    again = [text for text in seen if "This takes the place of the HUD above." in text]
    assert len(again) == 2 and all(
        text.startswith("This takes the place") and "all the tool hud" in text for text in again
    )


def test_a_new_band_is_told_once_and_not_where_the_host_tells_its_tokens(talk: Talk) -> None:
    caller = {"window": 10_000}
    talk.hook("SessionStart", source="startup", hud=caller)
    talk.file.prompt("hello")
    talk.file.says("Hi.", used=7_200)
    told = talk.hook("UserPromptSubmit", hud=caller).context
    assert "context now: 72% (7k/10k)" in told and "yellow" in told
    talk.file.says("Hi.", used=7_300)
    assert "context now" not in talk.hook("UserPromptSubmit", hud=caller).context
    talk.file.says("Hi.", used=8_800)
    told = talk.hook("UserPromptSubmit", hud={**caller, "tells_remaining": True}).context
    assert "context now: red" in told and "%" not in told


def test_a_caller_with_a_place_for_the_base_gets_it_apart(talk: Talk) -> None:
    caller = {"base": True, "lacks_base": True}
    started = talk.hook("SessionStart", source="startup", hud=caller)
    assert started.base is not None and "Your HUD" in started.base and not started.context
    assert talk.hook("UserPromptSubmit", hud={"base": True}).base is None
    talk.call("constraints.add", text="Use tabs")
    talk.file.prompt("hello")
    talk.file.says("Hi.")
    told = talk.hook("UserPromptSubmit", hud={"base": True})
    assert told.base is None and "Use tabs" in told.context
    talk.new_process()
    resumed = talk.hook("SessionStart", source="resume", hud=caller)
    assert resumed.base == started.base and not resumed.context, "byte for byte: the prefix stays"


@pytest.mark.parametrize("in_time", [True, False])
def test_a_base_that_came_too_late_for_the_system_prompt_is_told_to_a_process_that_goes_on(
    talk: Talk, *, in_time: bool
) -> None:
    caller = {"base": True, "lacks_base": True}
    base = talk.hook("SessionStart", source="startup", hud=caller).base or ""
    talk.file.prompt("hello")
    talk.file.freezes_prompt(*([base] if in_time else []))
    talk.file.says("Hi.")
    talk.new_process()
    resumed = talk.hook("SessionStart", source="resume", hud=caller)
    assert (resumed.base, "Your HUD" in resumed.context) == ((base, False) if in_time else (None, True))


def test_a_daemon_that_takes_the_place_of_a_killed_one_tells_no_second_base(talk: Talk) -> None:
    """The caller goes on, and has the base in its system prompt: only its process knows nothing of that any more."""
    base = talk.hook("SessionStart", source="startup", hud={"base": True, "lacks_base": True}).base or ""
    talk.file.prompt("hello")
    talk.file.freezes_prompt(base)
    talk.file.says("Hi.")
    talk.call("notes.add", content="the damper sticks")
    talk.new_process()
    told = talk.hook("PostToolBatch", hud={"base": True})
    assert told.base is None and "the damper sticks" in told.context
    assert talk.hook("UserPromptSubmit", hud={"base": True}).base is None


def test_a_sub_agent_has_a_session_of_its_own(hud: Hud, talk: Talk) -> None:
    sessions = HookSessions(HOST, lambda id, directory: find_session(hud, HOST, id, directory))
    common = {"session_id": SESSION, "cwd": str(talk.folder), "transcript_path": str(talk.file.path)}
    end = read_hook({"hook_event_name": "SubagentStop", "agent_id": "a1", **common})
    assert sessions.of(end) is None, "the end of one that was never heard of"
    start = with_agent_file(read_hook({"hook_event_name": "SubagentStart", "agent_id": "a1", **common}))
    assert start.agent_transcript_path == str(talk.folder / SESSION / "subagents" / "agent-a1.jsonl")
    child = sessions.of(start)
    assert child is not None and "agent-a1" in child.session.id
    assert sessions.of(end) is child


def test_answers_are_the_hosts_own_and_say_nothing_where_nothing_is_new(talk: Talk) -> None:
    prompt = read_hook({"hook_event_name": "UserPromptSubmit", "session_id": SESSION})
    assert write_answer(prompt, HookAnswer()) == {}
    assert write_answer(prompt, HookAnswer(context="x")) == {
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "x"}
    }
    stop = read_hook({"hook_event_name": "Stop", "session_id": SESSION})
    assert write_answer(stop, HookAnswer(context="x")) == {}, "no host takes text there"


def test_a_file_that_is_not_there_is_no_reason_to_fail(talk: Talk) -> None:
    talk.file.path.unlink()
    assert "Your HUD" in talk.hook("SessionStart", source="startup", lost=True).context
    talk.call("constraints.add", text="Use tabs")
    assert "Use tabs" in talk.hook("UserPromptSubmit", lost=True).context
    assert talk.hook("UserPromptSubmit", lost=True).context == "", "nobody can tell that it was lost"


def test_the_transcript_says_whether_the_host_tells_the_tokens_that_remain(talk: Talk) -> None:
    caller = {"window": 10_000}
    talk.hook("SessionStart", source="startup", hud=caller)
    talk.file.prompt("hello")
    talk.file.reminds(9_000)
    talk.file.says("Hi.", used=7_200)
    told = talk.hook("UserPromptSubmit", hud=caller).context
    assert "context now: yellow" in told and "%" not in told
    talk.file.prompt("again")
    talk.file.says("Hi.", used=8_800)  # the host has been told to be silent
    assert "context now: 88% (9k/10k), red" in talk.hook("UserPromptSubmit", hud=caller).context


def test_what_a_host_shows_of_the_instructions_repeats_nothing(talk: Talk) -> None:
    talk.hook("SessionStart", source="startup")
    talk.call("decisions.record", summary="Use SQLite", reason="small")
    talk.turn("go")
    talk.call("decisions.record", summary="Use PostgreSQL", reason="many writers")
    talk.call("decisions.supersede", id="d1", by="d2")
    talk.turn("on")
    caller = {"echoes": True}
    silent = talk.hook("PreCompact", trigger="auto", hud=caller).instructions
    assert "Use PostgreSQL" in silent and "Use SQLite" in silent, "nobody but the summary reads it"
    shown = talk.hook("PreCompact", trigger="manual", hud=caller).instructions
    assert "comes back behind your summary" in shown
    assert "PostgreSQL" not in shown and "SQLite" not in shown


def test_a_base_says_so_where_older_blocks_were_kept_by_the_compaction(talk: Talk) -> None:
    talk.hook("SessionStart", source="startup")
    talk.turn("hello")
    talk.call("notes.add", content="a fact")
    delta = talk.hook("UserPromptSubmit", lost=True)
    kept = (talk.file.prompt("go on"), talk.file.context(delta.context))
    talk.file.says("Done.")
    talk.file.compacted("what was said", keeps=kept)
    base = talk.hook("UserPromptSubmit").context
    assert base.startswith("This takes the place of the HUD above.") and "a fact" in base
    assert "Your HUD" not in talk.turn("after it").context


def test_a_turn_is_read_when_its_last_words_stand_in_the_file(talk: Talk) -> None:
    talk.turn("hello", "Done.")
    session = talk.hook_session
    payload = read_hook({"hook_event_name": "UserPromptSubmit", "session_id": SESSION})
    talk.hook("UserPromptSubmit")
    before = session.answered_at
    assert not session.has_read("Done.", before), "these are those of the turn before"
    talk.file.prompt("again")
    talk.file.says("Done.")
    session.follow(payload)
    assert session.has_read("Done.", before) and not session.has_read("Something else.", before)
    talk.hook("UserPromptSubmit")
    assert session.has_read("Done.", before), "also where a hook has answered since"


def test_a_call_of_a_tool_is_answered_and_recorded(talk: Talk) -> None:
    talk.hook("SessionStart", source="startup")
    answer = talk.hook_session.tool("hud", {"operation": "notes.add", "text": "a fact"})
    assert answer.ok and answer.text == "Added note n1."
    assert not talk.hook_session.tool("hud", {"operation": "nonsense"}).ok
    assert [note.content for note in talk.hook_session.session.state.notes] == ["a fact"]


def test_a_host_that_goes_back_and_has_not_written_so_is_believed(talk: Talk) -> None:
    talk.turn(RULE)
    uuid = talk.file.says("One thing more.")
    talk.turn("Never use tabs.")
    assert "tabs" in talk.hook("UserPromptSubmit", lost=True).context
    talk.new_process()
    talk.hook_session.resume_at(uuid)
    assert "tabs" not in talk.hook("UserPromptSubmit").context
    state = talk.hook_session.session.state
    assert [rule.text for rule in state.constraints] == [RULE.rstrip(".")]


@pytest.mark.parametrize("written", ["nothing", "the prompt", "the response"])
def test_what_a_turn_recorded_goes_with_it_however_late_the_host_writes_it_down(talk: Talk, written: str) -> None:
    talk.call("notes.add", content="stays")
    talk.turn("hello", "One thing more.")
    uuid = talk.file.last
    talk.hook("UserPromptSubmit")
    if written != "nothing":
        talk.file.prompt("Rewrite all of it.")
    talk.call("task.set", description="Rewrite it in Rust")
    if written == "the response":
        talk.file.calls("hud", {"operation": "task.set"}, "Set the task.")
    talk.hook("PostToolBatch", lost=True)
    talk.call("notes.add", content="of the turn")
    if written == "nothing":
        talk.file.prompt("Rewrite all of it.")
    if written != "the response":
        talk.file.calls("hud", {"operation": "task.set"}, "Set the task.")
    talk.file.calls("hud", {"operation": "notes.add"}, "Added note n2.")
    talk.file.says("It is Rust now.")
    talk.hook("Stop")
    talk.new_process()
    talk.hook_session.resume_at(uuid)
    talk.hook("UserPromptSubmit")
    state = talk.hook_session.session.state
    assert not state.task.description and [note.content for note in state.notes] == ["stays"]


def test_what_a_turn_recorded_stands_where_only_the_next_one_is_taken_back(talk: Talk) -> None:
    """Of a turn that was killed the host may have written down nothing but its prompt."""
    talk.turn("hello")
    talk.hook("UserPromptSubmit")
    talk.file.prompt("Port it.")
    talk.call("task.set", description="Port it")
    talk.hook("PostToolBatch", lost=True)
    uuid = talk.file.last
    talk.new_process()
    talk.turn("Never mind.")
    talk.new_process()
    talk.hook_session.resume_at(uuid)
    talk.hook("UserPromptSubmit")
    assert talk.hook_session.session.state.task.description == "Port it"


def test_the_person_reads_what_the_hud_cost_when_the_session_ends(talk: Talk) -> None:
    talk.hook("SessionStart", source="startup")
    talk.turn("hello")
    talk.turn("again " + RULE)
    ended = talk.hook("SessionEnd")
    assert ended.message.startswith("HUD: × 1.") and ended.message.endswith("of the cost without it, 2 calls")
    assert not ended.context
    end = read_hook({"hook_event_name": "SessionEnd", "session_id": SESSION})
    assert write_answer(end, ended) == {"systemMessage": ended.message}
    assert all(not talk.hook(event).message for event in ("Stop", "UserPromptSubmit", "PostToolUse"))


def test_a_session_without_a_call_has_no_receipt(talk: Talk) -> None:
    talk.hook("SessionStart", source="startup")
    assert talk.hook("SessionEnd") == HookAnswer()


@pytest.mark.slow
def test_a_text_is_no_longer_than_hosts_take_whatever_the_settings_allow(tmp_path: Path) -> None:
    """Codex puts a longer one into a file."""
    settings = Settings(budget=BudgetSettings(percent=5.0, max_tokens=9_000))
    with Hud.in_memory(settings=settings) as hud:
        talk = Talk(hud, tmp_path)
        for number in range(200):
            talk.call("notes.add", content=f"fact {number}: " + "word " * 20)
        base = talk.hook("SessionStart", source="startup").context
    assert 1_500 < count_tokens(base) <= MAX_CONTEXT_TOKENS
