"""The loop over real clients and loopback servers, in both shapes, with a compaction that keeps a tail."""

from __future__ import annotations

from pathlib import Path

import pytest
from loops import QUICK, opened
from msgspec.structs import replace

from hudkit.context.caching import CallCost
from hudkit.models import open_model
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.model_server import ScriptedModel
from hudkit.tokens import Window

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.parametrize(("name", "path"), [("anthropic:claude-sonnet-4-6", ""), ("openai-chat:gpt-5", "/v1")])
async def test_a_turn_with_tools_and_a_compaction_over_the_wire(tmp_path: Path, name: str, path: str) -> None:
    script = [
        uses(ScriptedCall("bash", {"command": "echo one"}), text="first " + "x" * 4_000),
        replace(uses(ScriptedCall("bash", {"command": "echo two"}), text="second"), usage=CallCost(0, 0, 9_100, 10)),
        uses(ScriptedCall("read", {"path": "a.txt"}), ScriptedCall("read", {"path": "missing.txt"})),
        says("done"),
    ]
    with ScriptedModel(script) as server:
        window = Window(10_000, 1_000, None, "user")
        model = open_model(name, key="sk-test-000000", base_url=server.url + path, window=window)
        async with opened(tmp_path, model, settings=replace(QUICK, tail=300)) as loop:
            (tmp_path / "project" / "a.txt").write_text("a text\n")
            ended = await loop.prompt("go")
            assert (ended.reason, ended.text) == ("done", "done"), ended
            assert len(server.of("compaction")) == 1
            last = server.chats[-1]
            said = str(last.messages)
            assert "second" in said and "two" in said and "x" * 4_000 not in said and "a text" in said
            assert loop.session.usage.output > 0
        await model.close()
