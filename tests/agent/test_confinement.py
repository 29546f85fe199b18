"""A command that nobody was asked about writes only where tools may, by the kernel's own means."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from loops import opened

from hudkit.agent.loop import AgentLoop
from hudkit.agent.permissions import PermissionReply, PermissionRequest, PermissionRule
from hudkit.agent.run_context import LoopOptions
from hudkit.agent.tools import TOOLS, ToolContext, run_tool
from hudkit.agent.tools.confinement import confinement_problem
from hudkit.agent.workspace import Workspace
from hudkit.errors import ConfigError
from hudkit.models import ToolResult
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel

LANDLOCK = pytest.mark.skipif(confinement_problem() != "", reason=confinement_problem() or "-")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that is no temporary one to the system: those may be written to. The checkout may lie in one."""
    cache = Path(__file__).parents[2] / ".cache"
    cache.mkdir(exist_ok=True)
    temporary = (Path(tempfile.gettempdir()).resolve(), Path("/tmp"))
    others = (each for each in (cache, Path("/var/tmp"), Path.home()) if each.is_dir() and os.access(each, os.W_OK))
    base = next((each for each in others if not any(map(each.resolve().is_relative_to, temporary))), None)
    if base is None:
        pytest.skip("there is no directory here that is not below a temporary one")
    folder = Path(tempfile.mkdtemp(dir=base))
    # a project of its own, whatever repository is around it
    (folder / "project" / ".git").mkdir(parents=True)
    yield folder
    shutil.rmtree(folder)


def output(folder: Path, command: str, *, confined: bool = True) -> str:
    context = ToolContext(Workspace(folder / "project"), confined=confined)
    return asyncio.run(run_tool(TOOLS["bash"], TOOLS["bash"].parse({"command": command}), context)).text


@pytest.mark.slow
@LANDLOCK
@pytest.mark.parametrize(
    "command",
    [
        "echo x > ../out",
        "touch ../out",
        "mkdir ../out",
        "ln -s a ../out",
        "mkfifo ../out",
        "echo x >> ../there",
        "rm ../there",
        "mv ../there there",
        "mv ../there ../out",
        "truncate -s 0 ../there",
        "ln ../there ./hard && echo x > hard",
        "ln -s .. up; echo x > up/out",
        "bash -c 'setsid bash -c \"echo x > ../out\"'",
        "(echo x > ../out) & wait",
        "cd / && touch $OLDPWD/../out",
        f'{sys.executable} -c \'open("../out", "w")\'',
    ],
)
def test_a_confined_command_changes_nothing_outside(place: Path, command: str) -> None:
    (place / "there").write_text("as it was")
    text = output(place, command)
    assert (place / "there").read_text() == "as it was"
    assert sorted(entry.name for entry in place.iterdir()) == ["project", "there"], text
    assert "[it could write only in the project and in temporary directories]" in text or "exit code" not in text


@pytest.mark.slow
@LANDLOCK
@pytest.mark.skipif(tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12), reason="Linux 6.12 does this")
def test_a_confined_command_sends_no_signal_to_what_is_outside(place: Path) -> None:
    assert output(place, "kill -0 $PPID && echo reached", confined=False) == "reached"
    assert "not permitted" in output(place, "kill -0 $PPID && echo reached")


@pytest.mark.slow
@LANDLOCK
def test_a_confined_command_works_in_the_project(place: Path) -> None:
    steps = (
        "mkdir -p a/b",
        "echo one > a/x",
        "mv a/x a/b/y",
        "cat a/b/y",
        "echo two > /dev/null",
        "t=$(mktemp)",
        "echo three > $t",
        "cat $t ../project/a/b/y",
        "rm -r a $t",
        "git init -q .",
        "git status --short",
        "ls /etc > /dev/null",
        "echo end",
    )
    assert output(place, " && ".join(steps)) == "one\nthree\none\nend"
    assert output(place, "echo x > ../out; cat ../out", confined=False) == "x"


@pytest.mark.slow
@LANDLOCK
@pytest.mark.parametrize(("confine", "written"), [("off", {"a", "b"}), ("rules", {"b"}), ("all", set())])
def test_what_a_person_looked_at_is_confined_only_where_all_is(place: Path, confine: str, written: set[str]) -> None:
    async def yes(question: PermissionRequest) -> PermissionReply:
        return PermissionReply("once")

    async def play() -> None:
        commands = [ScriptedCall("bash", {"command": command}) for command in ("touch ../a", "cp /etc/hostname ../b")]
        model = InProcessModel([uses(*commands), says("done")])
        rules = [PermissionRule("bash", "touch *", "allow")]
        async with opened(place, model, permissions=rules, ask_user=yes, confine=confine) as loop:
            assert (await loop.prompt("go")).text == "done"
            results = [message for message in model.port_requests[-1].messages if isinstance(message, ToolResult)]
            assert ("Permission denied" in results[0].text) is (confine != "off")

    asyncio.run(play())
    assert {name for name in ("a", "b") if (place / name).exists()} == written


def test_a_loop_is_not_opened_where_the_system_cannot_confine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert confinement_problem() == "darwin has no Landlock"
    options = LoopOptions(confine="rules")
    with pytest.raises(ConfigError, match="cannot be confined: darwin has no Landlock"):
        asyncio.run(AgentLoop.open(tmp_path, InProcessModel([]), data=tmp_path / "data", options=options))
