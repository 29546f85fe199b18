"""What a language server (a real one: ruff) says of a file comes with the result of the call that changed it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from loops import opened

from hudkit.agent import LanguageServer, LoopOptions
from hudkit.agent.language_servers import LanguageServers
from hudkit.errors import ConfigError
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel

RUFF = shutil.which("ruff", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

needs_ruff = pytest.mark.skipif(RUFF is None and not os.environ.get("CI"), reason="ruff is not installed")


def ruff(**more: Any) -> LanguageServer:
    given = {"command": RUFF or "ruff", "args": ("server", "--isolated"), "files": ("**/*.py",), "seconds": 60.0}
    return LanguageServer(**(given | more))


def outputs(loop: Any) -> list[str]:
    return [part.output for message in loop.messages for part in message.parts if hasattr(part, "call_id")]


async def gone(pid: int) -> bool:
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        await asyncio.sleep(0.01)
    return False


@needs_ruff
async def test_what_is_wrong_comes_with_the_change_and_is_gone_once_it_is_mended(tmp_path: Path) -> None:
    model = InProcessModel(
        [
            uses(
                ScriptedCall(
                    "write",
                    {"path": "shop/glaze.py", "content": "import os\n\n\ndef mix() -> str:\n    return cone\n"},
                )
            ),
            uses(
                ScriptedCall("edit", {"path": "shop/glaze.py", "old": "import os\n\n\n", "new": "cone = '6'\n\n\n"})
            ),
            uses(ScriptedCall("write", {"path": "notes.md", "content": "import os\n"})),
            says("done"),
        ]
    )
    async with opened(tmp_path, model, language_servers={"ruff": ruff()}) as loop:
        assert (await loop.prompt("go")).text == "done"
        written, edited, notes = outputs(loop)
        assert "ruff says of shop/glaze.py:" in written
        assert "line 1: warning: `os` imported but unused" in written
        assert "line 5: error: Undefined name `cone` [F821]" in written
        assert written.index("F821") < written.index("F401"), "errors come first"
        assert "ruff" not in edited and "ruff" not in notes
        servers = loop.setup.language_servers
        assert servers is not None
        pids = servers.pids
        assert len(pids) == 1
    assert await gone(pids[0]), "it ends with the session"


@needs_ruff
async def test_a_syntax_error_and_many_lines_are_bounded(tmp_path: Path) -> None:
    many = "".join(f"print(name_{n})\n" for n in range(50))
    model = InProcessModel([uses(ScriptedCall("write", {"path": "a.py", "content": many})), says("done")])
    async with opened(tmp_path, model, language_servers={"ruff": ruff(severity="error")}) as loop:
        await loop.prompt("go")
        (written,) = outputs(loop)
        assert written.count("F821") == 20 and "+30 more" in written


@needs_ruff
async def test_a_server_that_is_killed_is_started_again_by_the_next_change(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(cone)\n")
    servers = LanguageServers({"ruff": ruff()}, tmp_path)
    try:
        assert "F821" in await servers.diagnostics(["a.py"])
        (pid,) = servers.pids
        os.killpg(pid, signal.SIGKILL)
        while servers.pids:
            await asyncio.sleep(0.01)
        assert "F821" in await servers.diagnostics(["a.py"])
    finally:
        await servers.close()


async def test_a_server_that_is_too_late_holds_nothing_up_and_says_so(tmp_path: Path) -> None:
    mute = LanguageServer(command="sleep", args=("600",), files=("**/*.py",), seconds=0.2)
    model = InProcessModel([uses(ScriptedCall("write", {"path": "a.py", "content": "x = 1\n"})), says("done")])
    async with opened(tmp_path, model, language_servers={"mute": mute}) as loop:
        assert (await loop.prompt("go")).text == "done"
        (written,) = outputs(loop)
        assert "[mute has not answered within 0.2 s about a.py]" in written
        (call,) = [part for message in loop.messages for part in message.parts if hasattr(part, "call_id")]
        assert call.status == "completed" and (tmp_path / "project" / "a.py").read_text() == "x = 1\n"
        assert loop.setup.language_servers is not None
        pids = loop.setup.language_servers.pids
    assert await gone(pids[0])


@pytest.mark.parametrize("command", ["no-such-program-here", "true", "echo"])
async def test_a_server_that_is_none_makes_no_call_fail(tmp_path: Path, command: str) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    broken = LanguageServer(command=command, args=("Content-Length: x",), files=("**/*.py",), seconds=60)
    servers = LanguageServers({"broken": broken}, tmp_path)
    try:
        for _ in range(5):
            assert (await servers.diagnostics(["a.py"])).startswith("[broken ")
    finally:
        await servers.close()


async def test_a_server_without_a_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs a command and files"):
        LanguageServers({"empty": LanguageServer()}, tmp_path)
    assert LoopOptions().language_servers == {}
