"""Compaction by the HUD: in the run, in the host's session, and where the provider or the session does it itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import ModelSettings, RunConfig, SQLiteSession, function_tool
from agents.testing import ModelStep
from scripted import NOTE, agent, calls, notes, orphans, says, state, system, text

from hudkit.context.compaction.summaries import SUMMARY_SYSTEM_PROMPT
from hudkit.hosts.openai_agents import HudRunner

pytestmark = pytest.mark.slow

FULL = 29_500
HALF = 20_000
LONG = "words " * 4_000


def is_writer(call: Any) -> bool:
    return system(call) == SUMMARY_SYSTEM_PROMPT


def kept(session: SQLiteSession) -> list[Any]:
    return asyncio.run(session.get_items())


@pytest.mark.parametrize("streamed", [False, True])
def test_a_full_window_is_compacted_in_the_run_and_in_the_session(
    hud: HudRunner, tmp_path: Path, streamed: bool
) -> None:
    coder, model = agent(
        notes(NOTE, "c1"),
        calls("work", {"part": LONG}, "c2"),
        calls("work", {"part": "y"}, "c3", used=FULL),
        says("I was at part y."),
        calls("work", {"part": "z"}, "c4"),
        says("done"),
        says("again"),
    )
    session = SQLiteSession("s1", tmp_path / "agents.db")

    async def run(said: str) -> str:
        if not streamed:
            return str((await hud.run(coder, said, session=session)).final_output)
        ended = hud.run_streamed(coder, said, session=session)
        _ = [event async for event in ended.stream_events()]
        return str(ended.final_output)

    assert asyncio.run(run("Do x, y and z.")) == "done"
    writer, after = model.calls[3], model.calls[4]
    assert is_writer(writer) and not writer.tools and LONG in text(writer.input)
    assert "I was at part y." in text(after.input) and LONG not in text(after.input)
    assert "Do x, y and z." in text(after.input), "the user's last message is never lost"
    assert "y is done" in text(after.input) and NOTE in system(after)
    assert not any(map(orphans, (call.input for call in model.calls)))
    there = kept(session)
    assert not orphans(there) and LONG not in text(there) and "[hud " not in text(there)
    assert [item.get("role") or item["type"] for item in there] == [
        "user", "assistant", "user", "function_call", "function_call_output", "function_call",
        "function_call_output", "assistant",
    ]  # fmt: skip
    asyncio.run(run("Go on."))
    last = model.calls[-1]
    assert text(last.input).count("I was at part y.") == 1 and text(last.input).count("Do x, y and z.") == 1
    assert system(last) == system(model.calls[5]), "no new epoch"
    assert state(tmp_path / "hud.db", tmp_path, "s1").compacted.summary == "I was at part y."


@pytest.mark.parametrize("said", ["And now?", f"And this? {LONG}"], ids=["short", "larger than what is kept"])
def test_at_the_beginning_of_a_turn(hud: HudRunner, tmp_path: Path, said: str) -> None:
    coder, model = agent(says(LONG.upper(), used=FULL), says("There was an answer."), says("done"))
    session = SQLiteSession("s1", tmp_path / "agents.db")

    async def run(text: str) -> None:
        ended = hud.run_streamed(coder, text, session=session)  # the SDK adds the message after the call is made
        _ = [event async for event in ended.stream_events()]

    asyncio.run(run("Tell me."))
    asyncio.run(run(said))
    assert is_writer(model.calls[1])
    sent, there = model.calls[2].input, kept(session)
    assert [item["role"] for item in sent] == ["user", "assistant", "user"] and said in text(sent[-1])
    assert [item["role"] for item in there] == ["user", "assistant", "user", "assistant"]
    assert there[2]["content"] == said and LONG.upper() not in text(there)


def test_what_was_compacted_without_a_session_stays_so_while_it_is_said_again(hud: HudRunner) -> None:
    coder, model = agent(
        calls("work", {"part": LONG}, "c1"),
        calls("work", {"part": "y"}, "c2", used=FULL),
        says("I was at part y."),
        says("one"),
        says("two"),
    )
    thread = RunConfig(group_id="thread-1")
    ended = hud.run_sync(coder, "Begin.", run_config=thread)
    again = [*ended.to_input_list(), {"role": "user", "content": "Go on."}]
    hud.run_sync(coder, again, run_config=thread)
    last = model.calls[-1]
    assert LONG in text(again) and LONG not in text(last.input)
    assert "I was at part y." in text(last.input) and "Go on." in text(last.input)
    assert not orphans(last.input)


def test_several_compactions_in_one_run_without_a_session(hud: HudRunner) -> None:
    parts = [calls("work", {"part": f"part {n}" + (LONG if n % 2 else "")}, f"c{n}") for n in range(8)]
    for n in (3, 6):
        parts[n].usage = says("", used=FULL).usage
    coder, model = agent(*parts[:4], says("First."), *parts[4:7], says("Second."), parts[7], says("done"))
    hud.run_sync(coder, "Begin.", max_turns=12)
    chats = [call.input for call in model.calls if not is_writer(call)]
    assert not any(map(orphans, chats))
    calls_in = [[item["call_id"] for item in chat if item.get("type") == "function_call"] for chat in chats]
    assert calls_in[3:] == [["c0", "c1", "c2"], [], ["c4"], ["c4", "c5"], ["c6"], ["c6", "c7"]]
    assert [text(chats[-1]).count(word) for word in ("First.", "Second.", "Begin.")] == [0, 1, 1]


def test_the_writer_is_told_what_the_last_step_brought(hud: HudRunner) -> None:
    @function_tool
    def read_file(path: str) -> str:
        return f"text of {path}"

    coder, model = agent(
        calls("read_file", {"path": "a.txt"}, "c1", used=FULL), says("So far."), says("done"), tools=[read_file]
    )
    hud.run_sync(coder, "Begin.")
    assert is_writer(model.calls[1]) and "a.txt" in text(model.calls[1].input[-1])


def test_the_agent_asks_for_it(hud: HudRunner) -> None:
    coder, model = agent(
        calls("hud_compact", {}, "c1", used=2_000),
        calls("hud_compact", {}, "c2", used=HALF),
        says("What I know."),
        says("done"),
    )
    hud.run_sync(coder, "Begin.", session="s1")
    assert "Not compacted: " in text(model.calls[1].input)
    assert is_writer(model.calls[2]) and "What I know." in text(model.calls[3].input)


@pytest.mark.parametrize(
    "fails", [ModelStep.raise_error(RuntimeError("away")), says(""), says("I cannot help with that.")]
)
def test_where_the_model_writes_none_the_log_does(hud: HudRunner, fails: ModelStep, tmp_path: Path) -> None:
    coder, model = agent(
        calls("hud", {"tool": "steps.add", "args": {"description": "write total"}}, "c1"),
        calls("hud", {"tool": "steps.complete", "args": {"id": "s1"}}, "c2", used=FULL),
        fails,
        says("done"),
    )
    assert hud.run_sync(coder, "Begin.", session="s1").final_output == "done"
    assert is_writer(model.calls[2])
    summary = next(item for item in model.calls[3].input if item.get("role") == "assistant")
    assert "write total" in text(summary)


def test_a_summary_is_asked_of_the_agents_model_as_it_is_set(hud: HudRunner) -> None:
    settings = ModelSettings(temperature=0.2, tool_choice="required", parallel_tool_calls=True)
    coder, model = agent(
        calls("work", {"part": "x"}, "c1", used=FULL), says("So far."), says("done"), model_settings=settings
    )
    hud.run_sync(
        coder, [{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}]
    )
    writer = model.calls[1]
    assert is_writer(writer) and writer.model_settings.temperature == 0.2
    assert writer.model_settings.tool_choice is None and writer.model_settings.parallel_tool_calls is None
    assert "[image]" in text(writer.input) and "base64" not in str(writer.input)


def test_compactions_are_off_where_the_user_says_so(tmp_path: Path) -> None:
    coder, model = agent(calls("work", {"part": "x"}, "c1", used=FULL), says("done"))
    with HudRunner(tmp_path / "hud.db", project=tmp_path, window=32_000, compact=False) as hud:
        hud.run_sync(coder, "Begin.", session="s1")
    assert len(model.calls) == 2
    assert {tool.name for tool in model.calls[0].tools} == {"work", "hud", "memory"}


def test_a_window_of_the_users_holds_for_models_that_the_table_knows(hud: HudRunner) -> None:
    coder, model = agent(calls("work", {"part": "x"}, "c1", used=6_400), says("done"))
    model.model = "openai/gpt-5"  # type: ignore[attr-defined]
    hud.run_sync(coder, "Begin.", session="s1")
    assert [is_writer(call) for call in model.calls] == [False, False]


def test_a_window_that_nobody_knows_is_never_taken_for_full(tmp_path: Path) -> None:
    coder, model = agent(
        calls("work", {"part": "x"}, "c1", used=199_000),
        calls("hud_compact", {}, "c2", used=199_000),
        says("So far."),
        says("done"),
    )
    with HudRunner(tmp_path / "hud.db", project=tmp_path) as hud:
        hud.run_sync(coder, "Begin.", session="s1")
    assert [is_writer(call) for call in model.calls] == [False, False, True, False], "but the agent may ask"


class Compacting(SQLiteSession):
    """A session that compacts by itself, as the SDK asks it to."""

    async def run_compaction(self, args: Any = None) -> None:
        items = await self.get_items()
        if len(items) > 2:
            await self.clear_session()
            await self.add_items([{"type": "compaction", "id": "cmp_1", "encrypted_content": "..."}, *items[-1:]])  # type: ignore[list-item]


def test_a_session_that_compacts_by_itself_does(hud: HudRunner, tmp_path: Path) -> None:
    coder, model = agent(
        calls("hud_compact", {}, "c1", used=FULL, response="r1"), says("done", used=FULL, response="r2"), says("on")
    )
    session = Compacting("s1")
    hud.run_sync(coder, "Begin.", session=session)
    assert "kept and compacted elsewhere" in text(model.calls[1].input)
    hud.run_sync(coder, "Go on.", session=session)
    assert len(model.calls) == 3, "nobody was asked for a summary"
    assert system(model.calls[2]) != system(model.calls[1]), "its compaction begins an epoch"
    assert model.calls[2].input[0]["type"] == "compaction"


class Failing(SQLiteSession):
    """A session that loses its connection when something is written into it for the first time after a clearing."""

    broken = False

    async def clear_session(self) -> None:
        await super().clear_session()
        self.broken = True

    async def add_items(self, items: Any) -> None:
        if self.broken:
            self.broken = False
            raise OSError("gone")
        await super().add_items(items)


def test_a_session_that_cannot_be_written_is_as_it_was(hud: HudRunner) -> None:
    coder, model = agent(
        calls("work", {"part": LONG}, "c1"),
        calls("work", {"part": "x"}, "c2", used=FULL),
        says("So far."),
        says("done"),
    )
    session = Failing("s1")
    assert hud.run_sync(coder, "Begin.", session=session).final_output == "done"
    assert LONG in text(kept(session)) and not orphans(kept(session))
    assert LONG not in text(model.calls[-1].input)


def test_a_conversation_at_the_provider(hud: HudRunner, tmp_path: Path) -> None:
    """Only what is new is sent, as it is; blocks are messages of their own, and nothing is compacted."""
    coder, model = agent(
        calls("work", {"part": "x"}, "c1", response="r1"),
        notes(NOTE, "c2"),
        calls("work", {"part": "y"}, "c3", used=FULL, response="r3"),
        says("done", response="r4"),
        says("on", response="r5"),
    )
    hud.run_sync(coder, "Change a.py. Never touch b.py.", auto_previous_response_id=True)
    assert model.calls[0].input == [{"role": "user", "content": "Change a.py. Never touch b.py."}]
    assert [item.get("call_id") for item in model.calls[1].input if "call_id" in item] == ["c1"]
    assert len({system(call) for call in model.calls[:4]}) == 1 and "HUD" in system(model.calls[0])
    assert not any(map(is_writer, model.calls))
    hud.run_sync(coder, "Go on.", previous_response_id="r4")
    last = model.calls[-1]
    assert last.previous_response_id == "r4" and system(last) == system(model.calls[0]), "the same conversation"
    assert last.input[0] == {"role": "user", "content": "Go on."} and "Context: " not in text(last.input)
    assert all(text(item).startswith("[hud ") for item in last.input[1:])
