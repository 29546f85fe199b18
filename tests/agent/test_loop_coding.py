"""A real task from a script, with the HUD as a plugin: files changed, tests run, fixed, over three compactions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loops import opened
from msgspec.structs import replace

from hudkit import Hud
from hudkit.agent.hud_hooks import hud_plugin
from hudkit.agent.message_history import is_summary
from hudkit.agent.request_log import RequestLog
from hudkit.context.caching import CallCost
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_answers import ScriptedReply as Said
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Window

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WINDOW = Window(32_000, 4_000, None, "host")
RUN = ScriptedCall("bash", {"command": f"{sys.executable} -B -m unittest -q test_shop 2>&1 | tail -n 20"})
ADD = "def add(a, b):\n    return a - b\n"
TESTS = """import unittest
from shop import total
class Shop(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([(2, 3), (1, 4)]), 10)
"""


def hud(tool: str, **args: Any) -> ScriptedCall:
    return ScriptedCall("hud", {"tool": tool, "args": args})


def filled(reply: Said, used: int = 215_000) -> Said:
    return replace(reply, usage=CallCost(used, 0, 500, 50))


SUM = "s = 0\n    for n, p in rows:\n        s = add(s, n * p)\n    return s"
TODOS = ("fix add", "write total")


def todos(*states: str) -> ScriptedCall:
    return ScriptedCall(
        "todo", {"todos": [{"content": one, "status": now} for one, now in zip(TODOS, states, strict=True)]}
    )


EMPTY_SHOP = "from calc import add\n\ndef total(rows):\n    return 0\n"
SCRIPT = (
    uses(hud("task.set", description="Make the shop's total right"), ScriptedCall("read", {"path": "calc.py"})),
    uses(hud("decisions.record", summary="Integers only, no floats")),
    uses(hud("notes.add", content="prices are in cents")),
    filled(uses(RUN, text="The test fails; " + "thinking " * 300)),
    uses(ScriptedCall("write", {"path": "shop.py", "content": EMPTY_SHOP})),
    uses(todos("in_progress", "pending")),
    filled(uses(RUN, text="Still red. " + "thinking " * 300)),
    uses(ScriptedCall("edit", {"path": "calc.py", "old": "a - b", "new": "a + b"})),
    uses(ScriptedCall("read", {"path": "shop.py"})),
    filled(uses(ScriptedCall("edit", {"path": "shop.py", "old": "return 0", "new": SUM}))),
    uses(RUN),
    uses(todos("completed", "completed")),
    says("The total is right now, and the test passes."),
)  # fmt: skip


async def test_a_task_is_done_over_three_compactions_and_nothing_live_is_lost(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "calc.py").write_text(ADD)
    (project / "test_shop.py").write_text(TESTS)
    model = InProcessModel(SCRIPT, window=WINDOW, compaction=says("I am fixing the shop."))
    with Hud.in_memory() as board:
        async with opened(tmp_path, model, plugins=[("hud", hud_plugin(board))]) as loop:
            ended = await loop.prompt("Please make the shop's total right. Never change test_shop.py.")
            assert (ended.reason, ended.text) == ("done", "The total is right now, and the test passes.")
            assert sum(map(is_summary, loop.messages)) == 3 and model.left == 0
            assert not loop.setup.hooks.failures
            state = board.session(loop.id, project=project, host="session").state
            id = loop.id
            assert loop.session.usage.used > 0
    command = [sys.executable, "-B", "-m", "unittest", "-q", "test_shop"]
    done = subprocess.run(command, cwd=project, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert (project / "test_shop.py").read_text() == TESTS

    assert state.task.description == "Make the shop's total right"
    assert [one.summary for one in state.decisions] == ["Integers only, no floats"]
    assert [one.content for one in state.notes] == ["prices are in cents"]
    assert {one.path for one in state.files.active} >= {"calc.py", "shop.py"}
    assert [one.status for one in state.todos.items or ()] == ["completed", "completed"]
    assert not state.errors.open, "the test that failed has passed"
    assert any("test_shop.py" in one.text for one in state.constraints)

    last = model.port_requests[-1]
    for words in ("Make the shop's total right", "Integers only, no floats", "prices are in cents", "test_shop.py"):
        assert words in "".join(last.system), "what is live is in the base after the last compaction"
    assert [ran.ending for ran in state.recent.commands] == ["1 passed"]
    log = RequestLog(tmp_path / "data" / "requests.db")
    assert [sent.request for sent in log.requests(id)] == model.port_requests
    log.close()


async def test_a_sub_agent_that_came_back_is_in_the_hud_of_its_parent(tmp_path: Path) -> None:
    task = ScriptedCall("task", {"description": "count files", "prompt": "Count the files.", "agent": "general"})
    model = InProcessModel([uses(task), says("there are 2 files"), says("done")], window=WINDOW)
    with Hud.in_memory() as board:
        async with opened(tmp_path, model, plugins=[("hud", hud_plugin(board))]) as loop:
            await loop.prompt("how many?")
            project = tmp_path / "project"
            (run,) = board.session(loop.id, project=project, host="session").state.subagents.runs
            assert run.words == "general: count files (came back): there are 2 files"
            child = board.session(run.session_id, project=project, host="session")
            assert any(link.relation == "parent" for link in child.state.session.links)


async def test_the_hud_keeps_what_was_sent_in_its_place_within_an_epoch(tmp_path: Path) -> None:
    steps = [
        uses(hud("task.set", description="Count")),
        uses(ScriptedCall("bash", {"command": "echo 1"})),
        uses(hud("notes.add", content="one is the first")),
        uses(ScriptedCall("bash", {"command": "exit 3"})),
        uses(ScriptedCall("bash", {"command": "echo 2"})),
        says("done"),
    ]
    model = InProcessModel(steps, window=WINDOW)
    with Hud.in_memory() as board:
        async with opened(tmp_path, model, plugins=[("hud", hud_plugin(board))]) as loop:
            await loop.prompt("count")
            assert not loop.setup.hooks.failures
            stored = str(loop.messages)

    def without_tail(messages: tuple[Any, ...]) -> str:
        return str(messages[1:])  # the first message is the prompt, whose tail is told once

    for before, after in zip(model.port_requests, model.port_requests[1:], strict=False):
        assert after.system == before.system and after.tools == before.tools
        assert without_tail(after.messages).startswith(without_tail(before.messages).rstrip(")").rstrip(","))
    assert "one is the first" in str(model.port_requests[-1].messages)
    assert model.port_requests[0].system[-1] not in stored, "the HUD is in its own log alone"


async def test_the_hud_is_called_for_the_requests_and_not_for_each_thing_that_happens(tmp_path: Path) -> None:
    with Hud.in_memory() as board:
        async with opened(tmp_path, InProcessModel(), plugins=[("hud", hud_plugin(board))]) as loop:
            hooks = loop.setup.hooks
            assert hooks.listens_to("session.reverted")
            assert not [type for type in ("message.part.updated", "tool.finished") if hooks.listens_to(type)]


async def test_the_agent_can_have_its_window_compacted_by_a_tool(tmp_path: Path) -> None:
    steps = [
        uses(ScriptedCall("hud_compact", {})),
        filled(uses(ScriptedCall("bash", {"command": "echo 1"}), text="x" * 15_000), 20_000),
        filled(uses(ScriptedCall("hud_compact", {})), 20_000),
        says("done"),
    ]
    model = InProcessModel(steps, window=WINDOW)
    with Hud.in_memory() as board:
        async with opened(tmp_path, model, plugins=[("hud", hud_plugin(board))]) as loop:
            assert (await loop.prompt("go")).text == "done"
            assert "Not compacted" in str(model.port_requests[1].messages)
            assert len(model.of("compaction")) == 1 and "x" * 15_000 not in str(model.port_requests[-1].messages)


async def test_a_sub_session_has_a_hud_of_its_own(tmp_path: Path) -> None:
    task = ScriptedCall("task", {"description": "look", "prompt": "count the files", "agent": "general"})
    steps = [
        uses(hud("task.set", description="The parent's task"), task),
        uses(hud("task.set", description="Count the files")),
        filled(uses(ScriptedCall("hud_compact", {}), text="x" * 15_000), 20_000),
        says("there are none"),
        says("done"),
    ]
    model = InProcessModel(steps, window=WINDOW)
    with Hud.in_memory() as board:
        async with opened(tmp_path, model, plugins=[("hud", hud_plugin(board))]) as loop:
            assert (await loop.prompt("go")).text == "done"
            assert not loop.setup.hooks.failures
            child = next(one for one in loop.setup.store.sessions() if one.parent_id == loop.id)
            project = tmp_path / "project"
            own, other = (board.session(id, project=project, host="session").state for id in (loop.id, child.id))
    assert own.task.description == "The parent's task"
    assert other.task.description == "Count the files"
    assert len(model.of("compaction")) == 1, "the sub-agent's own"
    assert "Count the files" in "".join(model.port_requests[-2].system)
    assert "Count the files" not in "".join(model.port_requests[-1].system)
