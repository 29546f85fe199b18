"""What the reader of commands takes for harmless is harmless to bash: random commands that the rules allow are run by
a real bash, with programs in its PATH that write down that they ran. None may run that the rules do not name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from shell_grammar import HARMLESS, ShellGrammar

from campaigns import Campaign
from hudkit.agent.permissions import PermissionRule, Permissions
from hudkit.agent.tools import RequiredPermission
from hudkit.agent.workspace import Workspace

COMMANDS = Campaign("commands", quick=600, full=25_000)
"""Commands of each of the four parts."""

CANARIES = ("ls", "cat", "rm", "touch", "curl")
REAL = ("bash", "env", "xargs", "nice", "timeout", "find", "sed", "sort", "tar", "git", "nohup", "setsid", "stdbuf")

A_FEW = (
    PermissionRule("bash", "*", "deny"),
    *(PermissionRule("bash", f"{name} *", "allow") for name in HARMLESS),
    PermissionRule("edit", "**", "allow"),
)
ALL_BUT_RM = (
    PermissionRule("bash", "*", "allow"),
    PermissionRule("bash", "rm *", "deny"),
    PermissionRule("edit", "**", "allow"),
)


class Bash(Protocol):
    def __call__(self, command: str) -> list[str]: ...


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bash]:
    """Which programs a command has run, by a real bash in a directory of its own."""
    folder = tmp_path_factory.mktemp("bash")
    _furnish(folder)
    call = [sys.executable, str(Path(__file__).with_name("bash_child.py")), str(folder)]
    walls = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child"]
    if shutil.which("unshare") and not subprocess.run([*walls, "true"], capture_output=True, check=False).returncode:
        call = [*walls, *call]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin and child.stdout
        if missing := {"processes", "network", "files"} - set(json.loads(child.stdout.readline())):
            warnings.warn(f"commands run without a wall around {', '.join(sorted(missing))}", stacklevel=2)

        def run(command: str) -> list[str]:
            assert child.stdin and child.stdout
            child.stdin.write(json.dumps(command) + "\n")
            child.stdin.flush()
            ran: list[str] = json.loads(child.stdout.readline())
            return ran

        yield run
        child.stdin.close()


def _furnish(folder: Path) -> None:
    """Make the programs, and the directory in which the commands run: with programs of the same names, and git."""
    work = folder / "template"
    (work / "evil").mkdir(parents=True)
    (folder / "bin").mkdir()
    (work / "f").write_text("a\nb\n")
    for where, mark in ((folder / "bin", ""), (work / "evil", "evil/")):
        for name in CANARIES:
            program = where / name
            # arguments may have any characters, but hardly this one
            program.write_text(f"#!/bin/sh\nprintf '%s\\036' \"{mark}{name} $*\" >> {folder}/room/witness\n")
            program.chmod(0o755)
    for name in REAL:
        if path := shutil.which(name):
            (folder / "bin" / name).symlink_to(path)
    (folder / "bin" / "sh").symlink_to("/bin/bash")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"], ["commit", "-qm", "b", "--allow-empty"]):
        who = ["-c", "user.name=x", "-c", "user.email=x@x"]
        subprocess.run(["git", *who, *words], cwd=work, check=True)


def verdict(rules: tuple[PermissionRule, ...], command: str, workspace: Workspace) -> str:
    return Permissions(rules, workspace=workspace).verdict(RequiredPermission("bash", (command,))).action


def unnamed(ran: list[str], *, denied_only: bool) -> list[str]:
    """Of the programs that ran, those that the rules do not name, or that they deny."""
    if denied_only:
        return [line for line in ran if line.split()[0] in ("rm", "evil/rm")]
    return [line for line in ran if line.split()[0] not in ("ls", "cat")]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@COMMANDS
def test_no_command_that_is_allowed_runs_what_the_rules_do_not_name(bash: Bash, part: int, tmp_path: Path) -> None:
    grammar = ShellGrammar(COMMANDS.chance(part))
    workspace = Workspace(tmp_path)
    escaped, allowed = [], 0
    for _ in range(COMMANDS.rounds):
        command = grammar.command()
        by_few = verdict(A_FEW, command, workspace) == "allow"
        by_all = verdict(ALL_BUT_RM, command, workspace) == "allow"
        if by_few or by_all:
            allowed += 1
            ran = bash(command)
            if (by_few and unnamed(ran, denied_only=False)) or (by_all and unnamed(ran, denied_only=True)):
                escaped.append((command, ran))
    print(f"{COMMANDS.rounds} commands, {allowed} allowed, {len(escaped)} escaped")
    assert escaped == []
    assert allowed > COMMANDS.rounds // 10, "otherwise it is no test"


def test_the_harness_sees_what_runs(bash: Bash) -> None:
    assert bash("ls; echo $(rm x)") == ["ls ", "rm x"]
    assert bash("echo rm") == []
    assert bash("PATH=./evil; ls a") == ["evil/ls a"]
    assert bash("(sleep 1; true) & exec 3>&-; rm y & ") == ["rm y"]
    assert bash("rm z >o; cat <o; nosuch") == ["rm z", "cat "]
    assert bash("x='a[$(touch q)]'; echo $((x))") == ["touch q"]
    assert bash("git -c alias.z='!rm w' z") == ["rm w"]


@pytest.mark.slow
def test_the_harness_finds_a_reader_that_allows_everything(bash: Bash) -> None:
    grammar = ShellGrammar(COMMANDS.chance(9))
    ran = [unnamed(bash(grammar.command()), denied_only=False) for _ in range(200)]
    assert sum(map(bool, ran)) > 20
