"""The official client over standard input and output: every tool, in versions with a handshake and without."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import anyio
import pytest

from hudkit import Hud

pytestmark = pytest.mark.slow


def text(result: Any) -> str:
    return str(result.content[0].text)


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_every_tool_resource_and_prompt(place: Any, mode: str, version: str) -> None:
    async def talk() -> None:
        async with place.stdio(mode=mode) as client:
            assert client.protocol_version == version
            assert "Its operation help explains" in (client.instructions or "")
            assert [tool.name for tool in (await client.list_tools()).tools] == ["hud", "memory"]
            done = await client.call_tool("hud", {"tool": "task.set", "args": {"description": "Ship it"}})
            assert (done.is_error, text(done)) == (False, "Set the task.")
            assert done.structured_content["data"] == {"id": "task", "recorded": True}
            found = await client.call_tool("memory", {"tool": "search", "args": {"query": "ship"}})
            assert not found.is_error
            assert "Ship it" in text(found)
            page = (await client.read_resource("hud://current")).contents[0]
            assert page.mime_type == "text/markdown"
            assert "# Task\n\nShip it\n" in page.text
            prompt = await client.get_prompt("hud")
            assert prompt.messages[0].content.text == page.text

    anyio.run(talk)
    with Hud.open(place.log) as hud:
        (key,) = [one for one in hud.sessions() if one.startswith("mcp/")]
        facts = hud.session(key).state.session
        assert (facts.host, facts.directory, facts.agent) == ("mcp", str(place.project), "mcp")


def test_each_process_is_a_session_of_its_own_unless_it_is_named(place: Any) -> None:
    async def note(words: str, *args: str) -> str:
        async with place.stdio(*args) as client:
            await client.call_tool("hud", {"tool": "notes.add", "args": {"content": words}})
            return str((await client.read_resource("hud://current")).contents[0].text)

    assert "- first" in anyio.run(note, "first")
    assert "- first" not in anyio.run(note, "second")
    anyio.run(note, "third", "--session", "work")
    place.env["HUDKIT_SESSION"] = "work"
    said = anyio.run(note, "fourth")
    assert [word for word in ("first", "second", "third", "fourth") if word in said] == ["third", "fourth"]


def test_two_clients_at_once_on_one_session_see_each_other(place: Any) -> None:
    async def talk() -> None:
        async with place.stdio("--session", "s") as one, place.stdio("--session", "s") as two:
            await one.call_tool("hud", {"tool": "task.set", "args": {"description": "Shared"}})
            await two.call_tool("hud", {"tool": "notes.add", "args": {"content": "from two"}})
            for client in (one, two):
                said = text(await client.call_tool("hud", {"tool": "snapshot"}))
                assert "Shared" in said
                assert "from two" in said

    anyio.run(talk)


def test_a_log_that_cannot_be_opened_is_said_and_the_server_lives(place: Any) -> None:
    place.log.parent.mkdir()
    place.log.write_bytes(b"this is no database" * 100)

    async def talk() -> None:
        async with place.stdio() as client:
            refused = await client.call_tool("hud", {"tool": "notes.add", "args": {"content": "x"}})
            assert refused.is_error
            assert text(refused).startswith("not recorded: ")
            assert refused.structured_content["ok"] is False
            with pytest.raises(Exception, match=r"hudkit\.db"):
                await client.read_resource("hud://current")
            place.log.unlink()
            again = await client.call_tool("hud", {"tool": "notes.add", "args": {"content": "x"}})
            assert not again.is_error

    anyio.run(talk)


def test_what_is_printed_by_accident_does_not_reach_the_client(place: Any) -> None:
    ask: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    ask["params"] = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    done = subprocess.run(
        place.command,
        input=json.dumps(ask) + "\n",
        cwd=place.project,
        env=place.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    told = json.loads(line)["result"]
    assert told["protocolVersion"] == "2025-06-18"
    assert told["serverInfo"]["name"] == "hudkit"
    assert told["capabilities"]["resources"]["subscribe"] is True
