"""When a tool step ends, the plugin asks for the next call's frame at once, and that call waits for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hud_plugin import written
from hud_seen import bash
from opencode_host import Hosts

from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

COUNTED = """
import { appendFileSync as count } from "node:fs";
const untold = exchange;
exchange = (path, body, ms) => {
  const asked = path === "/v1/frame" && (body.transcript ?? body.changes.at(-1).entries).at(-1).anchor;
  if (asked) count("PLACE", `${asked}\\n`);
  return untold(path, body, ms);
};
"""


@pytest.mark.parametrize("git", [False, True])
def test_each_call_is_asked_for_once_and_steps_ahead(
    opencode: Hosts, model: ScriptedModel, place: Path, git: bool
) -> None:
    plugin, asked = written(place), place / "asked.jsonl"
    plugin.write_text(plugin.read_text() + COUNTED.replace("PLACE", str(asked)))
    host = opencode(plugins=[plugin], git=git, files={"a.txt": "one\n"})
    host.serve()
    session = host.create("steps")
    hud = ScriptedCall("hud", {"tool": "notes.add", "args": {"content": "seen"}})
    model.play(
        uses(bash("echo 1")),
        uses(ScriptedCall("read", {"filePath": str(host.project / "a.txt")}), bash("exit 3")),
        uses(ScriptedCall("edit", {"filePath": str(host.project / "a.txt"), "oldString": "one", "newString": "two"})),
        uses(hud),
        says("done"),
        uses(bash("echo 2")),
        says("done again"),
    )
    host.prompt(session, "begin")
    host.prompt(session, "go on")
    assert len(model.chats) == 7
    questions = asked.read_text().splitlines()
    assert len(questions) == len(set(questions)) == 7, "one question a call, each for another place"
