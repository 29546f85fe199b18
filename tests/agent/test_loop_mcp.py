"""MCP servers as tools of the loop: real servers by the official SDK, on pipes and on HTTP."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loops import opened

from hudkit.agent import AgentLoop, McpServer, PermissionReply, PermissionRequest, PermissionRule
from hudkit.agent.records import StoredCall
from hudkit.errors import ConfigError
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel
from waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CHILD = Path(__file__).with_name("mcp_child.py")


def kiln(**more: Any) -> McpServer:
    return McpServer(command=sys.executable, args=(str(CHILD),), **more)


def calls(loop: AgentLoop) -> list[StoredCall]:
    return [part for message in loop.messages for part in message.parts if isinstance(part, StoredCall)]


async def test_a_model_calls_the_tools_of_a_server(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = InProcessModel(
        [
            uses(
                ScriptedCall("kiln_temperature", {"kiln": 2}),
                ScriptedCall("kiln_fire", {"cone": 6}),
                ScriptedCall("kiln_fire", {"cone": 40}),
                ScriptedCall("kiln_fire", {"cone": "hot"}),
                ScriptedCall("kiln_read_everything", {"pages": 200}),
            ),
            says("done"),
        ]
    )
    servers = {"kiln": kiln(trust="all", env={"KILN_KEY": "a key"})}
    async with opened(tmp_path, model, mcp_servers=servers) as loop:
        assert loop.problems == [] and (await loop.prompt("go")).text == "done"
        offered = {tool.name: tool for tool in model.port_requests[0].tools}
        assert offered["kiln_fire"].description == "Fire the kiln."
        assert offered["kiln_fire"].parameters["required"] == ["cone"]
        hot, fired, too_hot, no_number, long = calls(loop)
        assert hot.output == "kiln 2: 980 °C, asked with a key"
        assert '"cone": 6' in fired.output
        assert "Error executing tool fire" in too_hot.error and "cone" in no_number.error
        assert len(long.output) < 40_000 and "characters are left out" in long.output
        assert "\x1b" not in long.output
    assert "this is no JSON" not in "".join(capfd.readouterr()), "the terminal is ours"


@pytest.mark.parametrize(
    ("trust", "rules", "asked"),
    [
        ("ask", (), ["kiln_temperature", "kiln_fire"]),
        ("reads", (), ["kiln_fire"]),
        ("all", (), []),
        ("ask", (PermissionRule("kiln_fire", "*", "allow"),), ["kiln_temperature"]),
        ("all", (PermissionRule("kiln_*", "*", "ask"),), ["kiln_temperature", "kiln_fire"]),
    ],
)
async def test_who_is_asked_is_a_matter_of_trust_and_rules(
    tmp_path: Path, trust: str, rules: tuple[PermissionRule, ...], asked: list[str]
) -> None:
    questions: list[str] = []

    async def ask(request: PermissionRequest) -> PermissionReply:
        questions.append(request.tool)
        return PermissionReply("once")

    both = uses(ScriptedCall("kiln_temperature", {"kiln": 2}), ScriptedCall("kiln_fire", {"cone": 6}))
    servers = {"kiln": kiln(trust=trust)}
    model = InProcessModel([both, says("done")])
    async with opened(tmp_path, model, mcp_servers=servers, permissions=rules, ask_user=ask) as loop:
        await loop.prompt("go")
        assert questions == asked


@pytest.fixture
def served() -> Iterator[str]:
    """The address of the server on HTTP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = subprocess.Popen([sys.executable, str(CHILD), str(port)], stderr=subprocess.DEVNULL)

    def listens() -> bool:
        with socket.socket() as asked:
            return asked.connect_ex(("127.0.0.1", port)) == 0

    try:
        until(listens, "the server listens")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(("headers", "key"), [({}, "None"), ({"X-Kiln-Key": "open sesame"}, "open sesame")])
async def test_a_server_on_http_is_reached_with_the_headers_that_it_wants(
    tmp_path: Path, served: str, headers: dict[str, str], key: str
) -> None:
    model = InProcessModel([uses(ScriptedCall("kiln_who_asks", {})), says("done")])
    servers = {"kiln": McpServer(url=served, headers=headers, trust="all")}
    async with opened(tmp_path, model, mcp_servers=servers) as loop:
        assert loop.problems == [] and (await loop.prompt("go")).text == "done"
        assert [call.output for call in calls(loop)] == [key]


async def test_only_the_tools_that_are_wanted_are_offered(tmp_path: Path) -> None:
    model = InProcessModel()
    servers = {"my kiln!": kiln(tools=("temp*",))}
    async with opened(tmp_path, model, mcp_servers=servers) as loop:
        await loop.prompt("go")
        names = [tool.name for tool in model.port_requests[0].tools]
        assert [name for name in names if "kiln" in name] == ["my_kiln__temperature"]


async def test_a_server_that_is_not_there_is_a_problem_and_the_others_work(tmp_path: Path) -> None:
    script = "import sys; print('no licence', file=sys.stderr)"
    servers = {
        "gone": McpServer(command="/nowhere/kiln"),
        "silent": McpServer(command=sys.executable, args=("-c", "import time; time.sleep(60)"), seconds=0.5),
        "broken": McpServer(command=sys.executable, args=("-c", script)),
        "closed": McpServer(url="http://127.0.0.1:9/mcp"),
        "kiln": kiln(),
    }
    model = InProcessModel()
    async with opened(tmp_path, model, mcp_servers=servers) as loop:
        problems = dict(loop.problems)
        assert problems.keys() == {f"the MCP server {name}" for name in ("gone", "silent", "broken", "closed")}
        assert "within 0.5 s" in problems["the MCP server silent"]
        assert "no licence" in problems["the MCP server broken"]
        await loop.prompt("go")
        assert any(tool.name == "kiln_fire" for tool in model.port_requests[0].tools)


async def test_a_server_that_ends_is_started_again_by_the_next_call(tmp_path: Path) -> None:
    model = InProcessModel(
        [
            uses(ScriptedCall("kiln_explode", {})),
            uses(ScriptedCall("kiln_temperature", {"kiln": 1})),
            says("done"),
        ]
    )
    async with opened(tmp_path, model, mcp_servers={"kiln": kiln(trust="all")}) as loop:
        assert (await loop.prompt("go")).text == "done"
        ended, again = calls(loop)
        assert "the MCP server kiln gave no answer" in ended.error and again.output.startswith("kiln 1: 980")


@pytest.mark.parametrize("server", [McpServer(), McpServer(command="x", url="http://x")])
async def test_a_server_has_a_command_or_an_address(tmp_path: Path, server: McpServer) -> None:
    with pytest.raises(ConfigError, match="the MCP server odd has to have a command or a url"):
        async with opened(tmp_path, InProcessModel(), mcp_servers={"odd": server}):
            pass
