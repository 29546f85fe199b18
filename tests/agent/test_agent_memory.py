"""What left the window of our own agent is had again: by `memory`, by the command line, after a restart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from loops import QUICK, opened
from msgspec.structs import replace

from hudkit.agent import AgentLoop, hud_plugin
from hudkit.agent.records import StoredCall
from hudkit.cli import main
from hudkit.context.caching import CallCost
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.models.scripted_model import InProcessModel
from hudkit.testing.assertions import recovered_output
from hudkit.tokens import Window

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

STUB = re.compile(r'\[pruned: bash, ([\d,]+) characters; memory output \{"id":"([^"]+)"\} gets it\]')
ROOMY = Window(60_000, 8_000, None, "host")


def memory(tool: str, **args: object) -> ScriptedCall:
    return ScriptedCall("memory", {"tool": tool, "args": args})


def hud_of(place: Path) -> list[tuple[str, object]]:
    return [("hud", hud_plugin(place / "data" / "hudkit.db"))]


def outputs(loop: AgentLoop, tool: str) -> dict[str, str]:
    parts = (part for message in loop.messages for part in message.parts if isinstance(part, StoredCall))
    return {part.call_id: part.output for part in parts if part.tool == tool}


def commands(count: int) -> list[ScriptedReply]:
    """Steps of work with outputs that are worth pruning: tabs, trailing blanks, colours, one very long line."""
    lines = r"printf 'a\tb \r\n\n\033[31mred\033[0m\n'; seq {0} $(({0} + 5400))"
    long = r"head -c 29000 /dev/zero | tr '\0' {0}"
    texts = [(long if n % 3 == 2 else lines).replace("{0}", str(n)) for n in range(count)]
    return [uses(ScriptedCall("bash", {"command": text})) for text in texts]


async def pruned_session(place: Path) -> tuple[str, list[str], dict[str, str]]:
    """The id of a session with pruned outputs, its stubs, and all outputs by call."""
    turns = [commands(12), *([uses(ScriptedCall("bash", {"command": "true"}))] for _ in range(8))]
    model = InProcessModel([reply for turn in turns for reply in (*turn, says("done"))], window=ROOMY)
    async with opened(
        place, model, settings=replace(QUICK, compact=False, prune=True), plugins=hud_of(place)
    ) as loop:
        for _ in turns:
            await loop.prompt("go")
        stubs = [match[0] for match in STUB.finditer(str(model.port_requests[-1].messages))]
        return loop.id, stubs, outputs(loop, "bash")


async def test_the_call_in_each_stub_gets_the_exact_output_also_after_a_restart(tmp_path: Path) -> None:
    session, stubs, before = await pruned_session(tmp_path)
    assert len(stubs) >= 3 and any("	" in text for text in before.values())
    for stub in stubs:
        (match,) = STUB.finditer(stub)
        text, following = "", {"id": match[2]}
        while following:
            model = InProcessModel([uses(memory("output", **following)), says("read")], window=ROOMY)
            async with opened(tmp_path, model, session=session, plugins=hud_of(tmp_path)) as loop:
                await loop.prompt("read it")
                answers = list(outputs(loop, "memory").values())
            page, following = recovered_output(answers[-1])
            text += page
        assert text == before[match[2]] and len(text) == int(match[1].replace(",", ""))


async def test_an_operation_called_as_a_tool_is_carried_out(tmp_path: Path) -> None:
    calls = [
        ScriptedCall("notes.add", {"text": "Tokens live 7 days"}),
        ScriptedCall("add_step", {"step": "Write the tests"}),
        ScriptedCall("decisions.record", {"operation": "decisions.record", "text": "Use JWT"}),
    ]
    model = InProcessModel([uses(*calls), uses(ScriptedCall("write_file", {"path": "a"})), says("done")])
    async with opened(tmp_path, model, plugins=hud_of(tmp_path)) as loop:
        await loop.prompt("Keep it.")
        answers = {name: next(iter(outputs(loop, name).values())) for name in ("notes.add", "add_step")}
        (refused,) = [part.error for part in loop.messages[2].parts if isinstance(part, StoredCall)]
    assert answers["notes.add"].startswith("Added note n1") and answers["add_step"].startswith("Added step s1")
    assert "there is no tool 'write_file' here" in refused, "a name that other hosts have for a tool"


async def test_nothing_is_pruned_where_the_agent_could_not_get_it_back(tmp_path: Path) -> None:
    session, _, before = await pruned_session(tmp_path)
    model = InProcessModel([*commands(12), says("done")], window=Window(200_000, 8_000, None, "host"))
    async with opened(tmp_path, model, session=session, settings=replace(QUICK, compact=False)) as loop:
        await loop.prompt("without the HUD")
        request = str(model.port_requests[-1].messages)
        assert "[pruned" not in request and "memory output" not in request
        assert repr(next(iter(before.values())))[1:-1] in request, "what was pruned with the HUD is sent again"


async def test_without_the_hud_nothing_leaves_the_window(tmp_path: Path) -> None:
    model = InProcessModel([*commands(12), says("done")], window=ROOMY)
    async with opened(tmp_path, model, settings=replace(QUICK, compact=False)) as loop:
        await loop.prompt("go")
        parts = (part for message in loop.messages for part in message.parts if isinstance(part, StoredCall))
        assert not any(part.compacted for part in parts)


async def test_what_a_compaction_took_is_read_and_searched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = CallCost(0, 0, 8_500, 10)
    script = [
        ScriptedReply("the culprit is a stale ferret cache", (ScriptedCall("bash", {"command": "echo old"}),), full),
        uses(memory("search", query="stale ferret")),
        uses(memory("messages")),
        uses(memory("compactions", read=1)),
        says("found it"),
    ]
    model = InProcessModel(script, window=Window(10_000, 2_000, None, "host"), compaction=says("The goal is known."))
    async with opened(tmp_path, model, plugins=hud_of(tmp_path)) as loop:
        await loop.prompt("find the culprit " + "x" * 4_000)
        found, messages, receipt = outputs(loop, "memory").values()
        id = loop.id
    assert "ferret" in found.partition("| role")[2] or "ferret" in found, found
    assert "the culprit is a stale ferret cache" in messages
    assert "The goal is known." in receipt and "- dropped" in receipt
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HUDKIT_CONFIG", "")
    text = printed(capsys, "compactions", "show", "--session", id)
    assert "undone by" not in text, "only OpenCode takes a compaction back this way"
    (line,) = re.findall(r"^found again by: (.+)$", text, re.M)
    for command in line.split("; "):
        assert "ferret" in printed(capsys, *command.replace("WORDS", "ferret").split()[1:]), command


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What a command line prints; it ends well and complains of nothing."""
    capsys.readouterr()
    code = main([*argv])
    out, problems = capsys.readouterr()
    assert (code, problems) == (0, ""), argv
    return out
