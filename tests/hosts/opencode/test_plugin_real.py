"""The generated plugin and a real daemon in real OpenCode: what reaches the model."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hud_seen import hud
from opencode_host import Hosts

from hudkit.daemon import client
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.assertions import hud_base, prefix_difference, without_tail
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


@pytest.fixture
def socket(place: Path) -> Path:
    """Where the daemon will be; the plugin starts it."""
    return place / "run" / "d.sock"


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_the_hud_is_in_every_chat_call_and_in_no_title_call(
    opencode: Hosts, model: ScriptedModel, plugin: Path, shape: str
) -> None:
    host = opencode(shape=shape, plugins=[plugin], files={"a.txt": "alpha\n"})
    host.serve()
    session = host.create()
    model.play(
        uses(hud("task.set", description="Rename the parser")),
        uses(
            ScriptedCall("read", {"filePath": str(host.project / "a.txt")}),
            hud("notes.add", content="tabs are four wide"),
        ),
        says("done"),
        says("again"),
    )
    host.prompt(session, "begin")
    host.prompt(session, "go on")
    chats = model.chats
    assert len(chats) == 4
    (title,) = model.of("title")
    assert "HUD" not in title.text
    assert {hud_base(chat) for chat in chats} == {hud_base(chats[0])}
    role, said = chats[1].messages[-1]
    assert (role, said.partition("\n\n")[0]) == ("tool", "Set the task.")
    assert "task now: Rename the parser" in said, "another one than the base has, at once"
    assert chats[2].messages[-1] == ("tool", "Added note n1."), "in the next request, and once"
    role, said = chats[3].messages[-1]
    assert (role, said.count("note: tabs are four wide"), said.count("a.txt")) == ("user", 1, 0), "its call showed it"
    assert [chat.text.count("Context: ") for chat in chats] == [1, 0, 0, 1]
    assert [
        found for before, after in pairwise(chats) if (found := prefix_difference(before, after, without_tail))
    ] == []
    assert {"hud", "memory", "hud_compact", "memory_compact"} <= set(chats[0].tools)
    parameters = next(found for tool in chats[0].body["tools"] if (found := parameters_of(tool, "hud")))
    assert "required" not in parameters and "notes.add" in parameters["properties"]["operation"]["enum"]
    assert all("description" in one for one in parameters["properties"].values())
    texts = host.rows(
        "select data from part where session_id = ? and json_extract(data, '$.type') != 'tool'", session
    )
    assert [data for (data,) in texts if "HUD" in data or "Context: " in data] == []


def parameters_of(tool: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The schema of a tool in either shape's list."""
    told = tool.get("function", tool)
    return told.get("input_schema") or told["parameters"] if told["name"] == name else None


def test_compactions_get_our_prompt_and_what_the_hud_holds_survives_them(
    opencode: Hosts, model: ScriptedModel, plugin: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("task.set", description="Rename the parser")), says("done"))
    host.prompt(session, "begin")
    assert host.summarize(session)
    (compaction,) = model.of("compaction")
    assert "another agent" not in compaction.text.lower()
    assert "Rename the parser" in compaction.text
    assert sum("HUD" in one for one in compaction.system) == 0
    model.play(says("going on"))
    host.prompt(session, "go on")
    before, after = model.chats[-2:]
    assert "Rename the parser" not in hud_base(before)
    assert "Rename the parser" in hud_base(after)


def test_an_agent_can_ask_for_a_compaction_when_there_is_much_to_compact(
    opencode: Hosts, model: ScriptedModel, plugin: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(uses(ScriptedCall("hud_compact", {})), says("too early"))
    host.prompt(session, "compact")
    assert model.of("compaction") == []
    model.play(says("much", used=25_000), uses(ScriptedCall("memory_compact", {})), says("well"))
    host.prompt(session, "work")
    host.prompt(session, "compact now")
    (compaction,) = model.wait("compaction")
    assert sum("HUD" in one for one in compaction.system) == 0
    assert "Not compacted" in model.chats[1].text
    assert "compaction starts when this turn ends" in model.chats[4].text


def test_a_daemon_that_is_killed_costs_nothing_that_was_acknowledged(
    opencode: Hosts, model: ScriptedModel, plugin: Path, socket: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("task.set", description="Rename the parser")), says("done"))
    host.prompt(session, "begin")
    there = client.greet(socket)
    assert there is not None
    os.kill(there.pid, signal.SIGKILL)
    model.play(says("without"), says("with"))
    host.prompt(session, "go on")
    again = client.ensure_running(socket, db=plugin.parent / "hudkit.db")
    assert again.pid != there.pid
    host.prompt(session, "and on")
    chats = model.chats
    assert {hud_base(chat) for chat in chats} == {hud_base(chats[0])}
    assert [chat.text.count("Set the task.") for chat in chats] == [0, 1, 1, 1]
    assert [chat.text.count("task now: Rename the parser") for chat in chats] == [0, 1, 1, 1]
    assert prefix_difference(chats[1], chats[3], without_tail) == ""
    assert chats[3].messages[-1][1].count("Context: ") == 1
