"""Undo, redo, compactions and kills in any order: what a prompt recorded and changed goes and comes with it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from loops import QUICK, opened
from msgspec.structs import replace

from campaigns import Campaign
from hudkit.agent.hud_hooks import hud_plugin
from hudkit.agent.loop import AgentLoop
from hudkit.agent.records import StoredMessage
from hudkit.agent.run_context import LoopSettings
from hudkit.agent.session_store import SessionStore
from hudkit.api import Hud
from hudkit.errors import SessionError
from hudkit.models.scripted_answers import Refusal, ScriptedCall, ScriptedReply, says, uses
from hudkit.models.scripted_model import InProcessModel
from hudkit.sections.state import HudState

pytestmark = pytest.mark.slow

UNDO = Campaign("undo", quick=4, full=300)

SECTIONS = ("task", "constraints", "decisions", "notes", "steps", "todos", "errors", "files", "progress", "compacted")
FILES = ("a.txt", "b.txt")

SHORT = replace(QUICK, tail=1)
"""A compaction leaves nothing word for word: the prompts leave the window."""


def hud(tool: str, **args: Any) -> ScriptedCall:
    return ScriptedCall("hud", {"tool": tool, "args": args})


def shown(state: HudState) -> str:
    """What is recorded and derived; counters of ids aside."""
    values = []
    for name in SECTIONS:
        section = getattr(state, name)
        values.append(list(section) if hasattr(section, "__iter__") else section)
    return repr((values, state.session.request))


WORK: dict[str, Callable[[int], ScriptedCall]] = {
    "note": lambda n: hud("notes.add", content=f"note {n}"),
    "task": lambda n: hud("task.set", description=f"task {n}"),
    "decision": lambda n: hud("decisions.record", summary=f"decision {n}"),
    "todo": lambda n: ScriptedCall("todo", {"todos": [{"content": f"todo {n}", "status": "pending"}]}),
    "write": lambda n: ScriptedCall("write", {"path": FILES[n % 2], "content": f"text {n}\n"}),
    "fail": lambda n: ScriptedCall("bash", {"command": f"exit {n % 5 + 1}"}),
}


class Session:
    """A session of the agent with its HUD, over stores that can be opened again."""

    def __init__(self, place: Path, settings: LoopSettings = QUICK) -> None:
        self.place = place
        self.settings = settings
        self.model = InProcessModel([])
        self.id = ""

    def do(self, work: Callable[[AgentLoop], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            plugins = (("hud", hud_plugin(self.place / "hud.db")),)
            async with opened(
                self.place, self.model, session=self.id, plugins=plugins, settings=self.settings
            ) as loop:
                self.id = loop.id
                try:
                    return await work(loop)
                finally:
                    await loop.plugins_notified()

        return asyncio.run(run())

    def looks(self) -> tuple[Any, ...]:
        """All that a prompt may change."""

        async def look(loop: AgentLoop) -> tuple[tuple[StoredMessage, ...], object]:
            return loop.messages, loop.setup.store.todos(loop.id)

        seen = self.do(look)  # opening the session records what is still to be recorded
        with Hud.open(self.place / "hud.db") as log:
            key = next((key for key in log.sessions() if key.startswith("session/")), "")
            state = shown(log.session(key).state) if key else shown(HudState())
        project = self.place / "project"
        files = {name: (project / name).read_bytes() for name in FILES if (project / name).exists()}
        return (state, files, *seen)


class UndoMachine(RuleBasedStateMachine):
    """Prompts, undo, redo, compactions; each step opens the stores anew, as after a kill."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.session = Session(Path(self.folder.name))
        self.number = 0
        self.before: list[tuple[Any, ...]] = []
        self.undone: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
        self.now = self.session.looks()

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(work=st.lists(st.sampled_from(sorted(WORK)), max_size=3), compacts=st.integers(0, 2))
    def prompt(self, work: list[str], compacts: int) -> None:
        self.number += 1
        before = self.now
        replies: list[ScriptedReply] = [uses(WORK[kind](self.number)) for kind in work]
        self.session.model.play(*replies, says(f"Going with plan {self.number}. " + "words " * 50))

        async def run(loop: AgentLoop) -> None:
            ended = await loop.prompt(f"Never touch part_{self.number}/ again. Do part {self.number}.")
            assert ended.reason == "done", ended
            for count in range(compacts):
                self.session.model.play(says(f"Summary {self.number}.{count}: all is well so far."))
                assert await loop.compact()

        self.session.do(run)
        self.before.append(before)
        self.undone.clear()
        self.now = self.session.looks()

    @precondition(lambda self: self.before)
    @rule()
    def undo(self) -> None:
        self.session.do(lambda loop: loop.undo())
        before = self.before.pop()
        self.undone.append((before, self.now))
        self.now = self.session.looks()
        assert self.now == before

    @precondition(lambda self: self.undone)
    @rule()
    def redo(self) -> None:
        self.session.do(lambda loop: loop.redo())
        before, after = self.undone.pop()
        self.before.append(before)
        self.now = self.session.looks()
        assert self.now == after

    @invariant()
    def nothing_to_redo_without_an_undo(self) -> None:
        if not self.undone and self.session.id:
            with pytest.raises(SessionError, match="nothing was taken back"):
                self.session.do(lambda loop: loop.redo())


@UNDO
def test_what_a_prompt_did_goes_and_comes_with_it() -> None:
    run_state_machine_as_test(
        UndoMachine,
        settings=settings(
            max_examples=UNDO.rounds,
            stateful_step_count=8,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            phases=(Phase.generate,),
        ),
    )


def test_undo_behind_a_compaction_takes_files_todos_and_the_hud_back(tmp_path: Path) -> None:
    session = Session(tmp_path, SHORT)
    session.model.play(uses(WORK["note"](1)), says("First."))
    session.do(lambda loop: loop.prompt("Begin."))
    before = session.looks()
    work = [uses(WORK[kind](2)) for kind in ("task", "decision", "todo", "write", "fail")]
    session.model.play(*work, says("Second. " + "words " * 50))

    async def turn(loop: AgentLoop) -> None:
        await loop.prompt("Go on.")
        session.model.play(says("Summary: all is well so far."))
        assert await loop.compact()

    session.do(turn)
    after = session.looks()
    undone = session.do(lambda loop: loop.undo())
    assert undone.text == "Go on." and undone.restored == (FILES[0],)
    assert session.looks() == before
    assert session.do(lambda loop: loop.redo()).restored == (FILES[0],)
    assert session.looks() == after
    session.do(lambda loop: loop.undo())
    session.model.play(says("ok"))
    session.do(lambda loop: loop.prompt("No, otherwise."))
    request = str(session.model.port_requests[-1])
    assert [words for words in ("task 2", "decision 2", "todo 2", FILES[0], "Summary") if words in request] == []
    assert "note 1" in request
    with pytest.raises(SessionError, match="nothing was taken back"):
        session.do(lambda loop: loop.redo())


def test_an_undo_of_the_first_prompt_takes_the_title_that_it_gave_the_session(tmp_path: Path) -> None:
    session = Session(tmp_path)

    def titles() -> tuple[str, str]:
        async def look(loop: AgentLoop) -> str:
            stored = loop.setup.store.session(loop.id)
            return stored.title if stored is not None else ""

        kept = session.do(look)
        with Hud.open(tmp_path / "hud.db") as log:
            key = next(key for key in log.sessions() if key.startswith("session/"))
            return kept, log.session(key).state.session.title

    session.model.play(uses(WORK["note"](1)), says("First."))
    session.do(lambda loop: loop.prompt("Use floats only in the shop."))
    assert titles() == ("Use floats only in the shop.",) * 2
    undone = session.do(lambda loop: loop.undo())
    assert undone.not_undone == (), "the note is taken back, too"
    assert titles() == ("", "")
    session.do(lambda loop: loop.redo())
    assert titles() == ("Use floats only in the shop.",) * 2
    session.do(lambda loop: loop.undo())
    session.model.play(says("Second."))
    session.do(lambda loop: loop.prompt("Now what?"))
    assert titles() == ("Now what?",) * 2
    assert "floats" not in str(session.model.port_requests[-1])


def test_an_undo_that_was_cut_off_before_it_was_told_is_told_when_the_session_is_opened(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.model.play(says("First."))
    session.do(lambda loop: loop.prompt("Begin."))
    before = session.looks()
    session.model.play(uses(WORK["todo"](2)), uses(WORK["decision"](2)), says("Second."))
    session.do(lambda loop: loop.prompt("Go on."))
    session.looks()
    with SessionStore.open(tmp_path / "data" / "sessions.db") as store:
        store.resume(session.id, 0)
        prompt = [message.id for message in store.messages(session.id) if message.role == "user"][-1]
        store.take_back(session.id, prompt, 0)  # the first step of an undo, and no more
    assert session.looks() == before


def test_a_prompt_that_is_repeated_after_a_compaction_is_taken_back_with_the_first(tmp_path: Path) -> None:
    async def run() -> None:
        model = InProcessModel([says("one"), Refusal(400, "invalid_request_error", "context_length_exceeded")])
        async with opened(tmp_path, model) as loop:
            await loop.prompt("first")
            model.play(says("Summary: all is well so far."), says("two"))
            await loop.prompt("second")
            said = [message for message in loop.messages if message.role == "user" and message.repeats]
            assert len(said) == 1, "the prompt is said once more"
            assert (await loop.undo()).text == "second"
            assert [message.role for message in loop.messages] == ["user", "assistant"]

    asyncio.run(run())
