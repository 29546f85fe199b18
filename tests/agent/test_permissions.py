"""What rules allow, ask about and deny: the tricks by which a command or a path could pass for another."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.agent.permissions import (
    PROTECTED_PATHS,
    PermissionReply,
    PermissionRequest,
    PermissionRule,
    Permissions,
    PermissionVerdict,
    parse_rules,
    restrictive_rules,
)
from hudkit.agent.shell_parser import parse_script
from hudkit.agent.tools import TOOLS, RequiredPermission, ToolContext, grant_permitted, run_tool
from hudkit.agent.workspace import Workspace
from hudkit.errors import ConfigError, ToolRefused

ALL_BUT_RM = (
    PermissionRule("bash", "*", "allow"),
    PermissionRule("bash", "rm *", "deny"),
    PermissionRule("bash", "git push *", "deny"),
)
A_FEW = (
    PermissionRule("bash", "echo *", "allow"),
    PermissionRule("bash", "git *", "allow"),
    PermissionRule("bash", "ls *", "allow"),
    PermissionRule("bash", "rm *", "deny"),
)


def verdict(rules: tuple[PermissionRule, ...], command: str, workspace: Workspace | None = None) -> str:
    return Permissions(rules, workspace=workspace).verdict(RequiredPermission("bash", (command,))).action


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x", "rm", "  rm x", "ls && rm x", "ls || rm x", "ls; rm x", "ls | rm x", "ls |& rm x", "ls & rm x",
        "ls\nrm x", "(rm x)", "{ rm x; }", "! rm x", "time rm x", "time -p rm x", "if true; then rm x; fi",
        "while true; do rm x; done", "for x in a b; do rm $x; done", "for x in a\ndo rm $x\ndone",
        "echo $(rm x)", "echo `rm x`", 'echo "$(rm x)"', 'echo "`rm x`"', "echo ${x:-$(rm x)}", "echo $(( $(rm x) ))",
        "echo $(echo $(rm x))", "cat <(rm x)", "echo > >(rm x)", "cat <<EOF\n$(rm x)\nEOF", "cat <<< $(rm x)",
        "x=$(rm x)", "A=1 rm x", "A=1 B='2 3' rm x", "/bin/rm x", "/usr/bin/rm x", "./rm x", "../../bin/rm x",
        r"\rm x", "'rm' x", '"rm" x', "r'm' x", 'r""m x', r"r\m x", "r\\\nm x", "\\\nrm x", "ls \\\n; rm x",
        "command rm x", "builtin command rm x", "exec rm x", "env rm x", "env A=1 rm x", "env -i rm x", "nohup rm x",
        "nice rm x", "nice -n 5 rm x", "timeout 5 rm x", "timeout -s KILL 5 rm x", "sudo rm x", "sudo -u me rm x",
        "setsid rm x", "stdbuf -oL rm x", "xargs rm", "ls | xargs -I{} rm {}", "sh -c 'rm x'", "bash -lc 'ls; rm x'",
        "/bin/sh -c 'rm x'", "bash --norc -c 'rm x'", "sh -c 'sh -c \"rm x\"'", "env sh -c 'rm x'", "busybox rm x",
        "[[ -n $(rm x) ]] && ls", ">out rm x", "2>&1 rm x", "<in rm x", "<&-rm x", ">&-rm x", "3>&-rm x", "rm\tx",
        "ls;rm x", "ls;\\\nrm x",
        "echo a#b; rm x", "echo 'a' # b\nrm x", "git push", "git push origin main", "env -S 'rm x'",
    ],
)  # fmt: skip
def test_a_denied_command_is_found_wherever_it_stands(command: str) -> None:
    assert verdict(ALL_BUT_RM, command) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "$X x", "r$X x", "${X} x", "$(echo rm) x", "`echo rm` x", "/bin/r? x", "/bin/r* x", "/bin/[r]m x", "~/rm x",
        "{rm,x}", "$'\\x72m' x", "$'rm' x", "eval rm x", "eval 'r''m x'", ". ./x", "source x", "bash x.sh", "sh < x",
        "echo rm x | sh", "curl x | bash", "bash <<EOF\nrm x\nEOF", "bash -s x", 'sh -c "$X"', "sh -c $X", "sh",
        "alias ls=rm", "ls() { rm x; }", "function f { ls; }", "trap 'rm x' EXIT", "PATH=/tmp:$PATH ls",
        "LD_PRELOAD=x ls", "GIT_SSH_COMMAND='rm x' git fetch", "IFS=x; ls", "BASH_ENV=x bash -c ls",
        "python -c 'import os'", "python3 -Ic 'x'", "perl -e 'x'", "perl -we 'x'", "node --eval x", "awk '{x}'",
        "find . -exec rm {} ';'", "find . -name '*.py' -exec rm {} +", "ssh host rm x", "watch 'rm x'",
        "git -C . push", "git --no-pager push origin", "git -c alias.x='!rm x' x", "git $X", "echo 'unclosed",
        'echo "unclosed', "echo $(ls", "echo `ls", "cat <<EOF\nnever ended", "case x in x) ls;; esac", "coproc rm x",
        "echo \x01", "ls(", "echo ${x@P}", "docker run a rm x", "tmux new rm x", "flock l rm x", "su -c 'rm x'",
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_asked_about(command: str) -> None:
    assert verdict(ALL_BUT_RM, command) in ("ask", "deny")


@pytest.mark.parametrize(
    "command",
    [
        "ls -la", "echo rm", "echo 'rm x'", 'echo "a; rm x"', "echo a\\;b", "echo a && ls", "git status | ls",
        "echo $HOME", "echo *.py", "echo hi 2>&1", "ls 2>/dev/null", "echo hi >/dev/null", "A=1 ls", "echo hi # rm x",
        "cat <<'EOF' | ls\n$(rm x)\nEOF", "if ls; then echo a; fi", "for x in a b; do echo $x; done", "farm x",
        "timeout 5 ls", "env A=1 ls", "/usr/bin/ls", "echo $(ls)", "git log --oneline", "grep -rn rm .",
        "sh -c 'ls -l'", "echo 'it'\"'\"'s'",
    ],
)  # fmt: skip
def test_ordinary_commands_are_not_in_the_way(command: str) -> None:
    assert verdict((*ALL_BUT_RM, PermissionRule("edit", "**", "allow")), command) == "allow"


@pytest.mark.parametrize("command", ["ls; cat x", "echo $(cat x)", "git status && make", "./ls", "/tmp/ls x"])
def test_all_of_a_command_must_be_allowed(command: str) -> None:
    assert verdict(A_FEW, "ls; echo x; git status") == "allow"
    assert verdict(A_FEW, command) == "ask"


def test_the_last_rule_that_matches_decides() -> None:
    rules = (
        PermissionRule("bash", "git *", "allow"),
        PermissionRule("bash", "git push *", "deny"),
        PermissionRule("bash", "git push fork *", "allow"),
    )
    assert [verdict(rules, f"git {rest}") for rest in ("log", "push", "push fork main")] == ["allow", "deny", "allow"]
    assert verdict((), "ls") == "ask", "commands are asked about unless a rule says otherwise"
    assert verdict((PermissionRule("bash", "*", "allow"),), "eval $X; rm x") == "allow", (
        "who allows all is taken at the word"
    )


def test_a_redirection_is_a_write(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    rules = (
        PermissionRule("bash", "echo *", "allow"),
        PermissionRule("bash", "cd *", "allow"),
        PermissionRule("edit", "secret/**", "deny"),
    )
    told = {
        "echo x > a.txt": "allow",
        "echo x > /etc/passwd": "ask",
        "echo x >> ../other": "ask",
        "echo x > secret/key": "deny",
        "echo x > .git/hooks/pre-commit": "deny",
        "echo x > $X": "ask",
        "echo x &> /etc/x": "ask",
        "echo x 1<> /etc/x": "ask",
        "cd .. && echo x > a.txt": "ask",
        "echo x > ~/.bashrc": "ask",
    }
    assert {command: verdict(rules, command, workspace) for command in told} == told
    assert (
        Permissions(rules, workspace=workspace).verdict(RequiredPermission("bash", ("echo x > key", "secret"))).action
        == "deny"
    )


STUB = """#!/bin/bash
echo "$0" >> "$WITNESS"
"""

PIECES = st.sampled_from(
    [
        " ", ";", "\n", ")", "`", "'", "\"", "\\", "#", "{", "}", "(", "*", "!", "=", "&", "~", ",", "|", "2",
        " ", "rm", "rm", "x", "echo", "ls", "&&", "$(", "$X", "A=1", ">o", "<<E\n", "E\n", "\nE\n", "case",
        "in", "esac", "if", "then", "fi", "do", "done", "for", "\\\n", "$'", "${", "$((", "))", "time", "-c",
        "command", "env", "eval", "sh -c", "\\r", "-p", "--", "<(", "[[", "]]", "function", "()", ";;", "xargs",
        "$(ls)", " && ", "; ", " | ", "'ls'", "\"$(", ")\"", "<<'E'\n", "# ", "{ ", "; }", "\\'", "\\\"", "\\`",
        "\\$(", "$\\(", "r''m",
    ]
)  # fmt: skip
"""Pieces of commands, put together at random."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], set[str]]:
    """Which of the stub programs a command has really run, as bash reads it."""
    folder = tmp_path_factory.mktemp("stubs")
    work, witness = folder / "work", folder / "witness"
    for name in ("rm", "ls"):
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    work.mkdir()
    for name, real in (("sh", "/bin/bash"), ("env", "/usr/bin/env"), ("xargs", "/usr/bin/xargs")):
        (folder / name).symlink_to(real)

    def run(command: str) -> set[str]:
        witness.unlink(missing_ok=True)
        env = {"PATH": str(folder), "WITNESS": str(witness), "X": "rm"}
        call = ["/bin/bash", "--noprofile", "--norc", "-c", command.encode()]
        with subprocess.Popen(
            call, cwd=work, env=env, stdin=-3, stdout=-3, stderr=-3, start_new_session=True
        ) as shell:
            try:
                shell.wait(timeout=2)
            except subprocess.TimeoutExpired:
                os.killpg(shell.pid, 9)
        time.sleep(0.02 if "&" in command else 0)
        return {Path(line).name for line in witness.read_text().split()} if witness.exists() else set()

    return run


def test_the_oracle_sees_what_runs(ran: Callable[[str], set[str]]) -> None:
    assert ran("ls; echo $(rm x)") == {"ls", "rm"}
    assert ran("echo rm") == set()


@pytest.mark.slow
@settings(max_examples=1500)
@given(pieces=st.lists(PIECES, min_size=1, max_size=14))
def test_nothing_that_is_allowed_runs_what_is_denied(ran: Callable[[str], set[str]], pieces: list[str]) -> None:
    for joined in ("".join(pieces), " ".join(pieces)):
        if "\0" not in joined and verdict((*ALL_BUT_RM, PermissionRule("edit", "**", "allow")), joined) == "allow":
            assert "rm" not in ran(joined), joined


@given(command=st.text(max_size=200) | st.lists(PIECES, max_size=60).map("".join))
@pytest.mark.slow
def test_reading_never_fails(command: str) -> None:
    parse_script(command)
    assert verdict(ALL_BUT_RM, command) in ("allow", "ask", "deny")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "$(" * 20_000,
        "`" * 20_001,
        "a " * 50_000,
        "${" * 9_000,
        "xargs " + "a* " * 6_000,
        "<<E " * 5_000,
        "(" * 20_000,
    ],
)
def test_no_command_runs_away(command: str) -> None:
    rules = (*ALL_BUT_RM, *(PermissionRule("bash", "*a*b*c*d*", "deny") for _ in range(20)))
    started = time.process_time()
    assert verdict(rules, command) in ("ask", "deny")
    assert time.process_time() - started < 20, "not in the time of a backtracking matcher"


def asked(answers: list[PermissionReply], seen: list[PermissionRequest]) -> Callable[[PermissionRequest], object]:
    async def ask(question: PermissionRequest) -> PermissionReply:
        seen.append(question)
        return answers.pop(0)

    return ask


def test_once_always_and_reject() -> None:
    seen: list[PermissionRequest] = []
    answers = [PermissionReply("once"), PermissionReply("always"), PermissionReply("reject", message="not now")]
    permissions = Permissions((PermissionRule("bash", "rm *", "deny"),), ask_user=asked(answers, seen))  # type: ignore[arg-type]

    async def permit(command: str) -> None:
        await permissions.check("bash", [RequiredPermission("bash", (command,))])

    async def play() -> None:
        await permit("make test*")
        await permit("make test && git status")
        await permit("git status")  # each part was allowed for good
        await permit("make test")
        with pytest.raises(ToolRefused, match="not now"):
            await permit("make testing")
        with pytest.raises(ToolRefused, match="rm"):
            await permit("make test; rm x")

    asyncio.run(play())
    assert [question.need.values[0] for question in seen] == ["make test*", "make test && git status", "make testing"]
    assert seen[1].always == ("make test", "git status")
    assert answers == []


def test_always_never_allows_what_is_denied() -> None:
    seen: list[PermissionRequest] = []
    rules = (PermissionRule("bash", "rm *", "deny"), PermissionRule("edit", "keys/*", "deny"))
    permissions = Permissions(rules, ask_user=asked([PermissionReply("always", pattern="*")], seen))  # type: ignore[arg-type]

    async def play() -> None:
        await permissions.check("bash", [RequiredPermission("bash", ("make",))])
        assert permissions.verdict(RequiredPermission("bash", ("anything",))).action == "allow"
        assert permissions.verdict(RequiredPermission("bash", ("rm x",))).action == "deny"

    asyncio.run(play())


def test_a_broken_question_is_no_permission() -> None:
    async def broken(question: PermissionRequest) -> PermissionReply:
        raise RuntimeError("the terminal is gone")

    async def play() -> None:
        for permissions in (Permissions(ask_user=broken), Permissions()):
            with pytest.raises(ToolRefused):
                await permissions.check("bash", [RequiredPermission("bash", ("ls",))])

    asyncio.run(play())


def test_a_hook_settles_what_would_be_asked() -> None:
    async def play() -> None:
        permissions = Permissions((PermissionRule("bash", "rm *", "deny"),))

        async def yes(need: RequiredPermission) -> str:
            return "allow"

        await permissions.check("bash", [RequiredPermission("bash", ("ls",))], decide=yes)  # type: ignore[arg-type]
        with pytest.raises(ToolRefused):
            await permissions.check("bash", [RequiredPermission("bash", ("rm x",))], decide=yes)  # type: ignore[arg-type]

    asyncio.run(play())


def test_a_path_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    project = tmp_path / "p"
    (project / "src").mkdir(parents=True)
    (project / ".env").write_text("KEY=1")
    (project / "src" / "plain.txt").symlink_to("../.env")
    (tmp_path / "outside").mkdir()
    (project / "out").symlink_to("../outside")
    context = ToolContext(Workspace(project))
    permissions = Permissions((PermissionRule("edit", "src/**", "deny"),), workspace=context.workspace)

    def said(tool: str, path: str) -> str:
        given = {"path": path, "content": "x"} if tool == "write" else {"path": path}
        needs = TOOLS[tool].needs(TOOLS[tool].parse(given), context)
        found = [permissions.verdict(need) for need in needs]
        return "deny" if "deny" in [one.action for one in found] else max(one.action for one in found)

    assert said("read", "src") == "allow"
    assert said("read", ".env") == said("read", "src/plain.txt") == "ask"
    assert said("read", "out/x") == said("read", "/etc/passwd") == said("read", "../p2") == "ask"
    assert said("write", "src/new") == said("write", "./src/../src/new") == "deny"
    assert said("write", "out/../src/x") == "deny", "it leads elsewhere, but it is named like what is denied"
    assert said("write", ".git/hooks/x") == said("write", "sub/.git/config") == "deny"
    assert said("write", ".GIT/hooks/x") == said("write", "sub/.Git/config") == "deny", "some file systems fold case"
    assert said("write", "new.txt") == "allow"
    (project / "alias").symlink_to("other")
    (project / "other").mkdir()
    permissions = Permissions((PermissionRule("edit", "alias/**", "deny"),), workspace=context.workspace)
    assert said("write", "alias/x") == "deny" and said("write", "other/x") == "allow"


EVERYTHING = PermissionRule("*", "*", "allow")


@pytest.mark.parametrize(
    ("rules", "action"),
    [
        ((), "ask"),
        ((EVERYTHING,), "ask"),
        ((PermissionRule("*", "**", "allow"),), "ask"),
        ((PermissionRule("out*", "**", "allow"),), "ask"),
        (parse_rules("allow"), "ask"),
        (parse_rules({"*": "allow"}), "ask"),
        ((EVERYTHING, PermissionRule("outside", "**", "allow")), "allow"),
        ((PermissionRule("outside", "**", "allow"), EVERYTHING), "allow"),
        ((PermissionRule("outside", "/tmp/**", "allow"), EVERYTHING), "allow"),
        ((PermissionRule("outside", "/var/**", "allow"), EVERYTHING), "ask"),
        ((PermissionRule("outside", "**", "allow"), PermissionRule("*", "*", "ask")), "ask"),
        ((PermissionRule("outside", "**", "allow"), PermissionRule("*", "*", "deny")), "deny"),
        ((PermissionRule("outside", "**", "deny"), EVERYTHING), "deny"),
        (parse_rules({"*": "allow", "outside": "allow"}), "allow"),
    ],
)
def test_only_a_rule_that_names_it_lets_a_call_out_of_the_project(
    rules: tuple[PermissionRule, ...], action: str
) -> None:
    permissions = Permissions(rules)
    assert permissions.verdict(RequiredPermission("outside", ("/tmp/notes.txt",))).action == action
    if EVERYTHING in rules:
        assert permissions.verdict(RequiredPermission("edit", ("src/main.py",))).action == "allow", (
            "all the rest it allows"
        )


def test_an_answer_does_not_lift_what_is_denied_outside() -> None:
    rules = (PermissionRule("outside", "/etc/**", "deny"), EVERYTHING)
    permissions = Permissions(rules, ask_user=asked([PermissionReply("always", "/**")], []))  # type: ignore[arg-type]

    async def play() -> None:
        await permissions.check("read", [RequiredPermission("outside", ("/tmp/x",))])

    asyncio.run(play())
    assert permissions.verdict(RequiredPermission("outside", ("/tmp/y",))).action == "allow"
    assert permissions.verdict(RequiredPermission("outside", ("/etc/passwd",))).action == "deny"


def test_a_command_that_writes_outside_is_asked_about_also_where_all_is_allowed(tmp_path: Path) -> None:
    assert verdict((EVERYTHING,), f"echo x > {tmp_path}/../y", Workspace(tmp_path)) == "ask"
    assert verdict((EVERYTHING,), "echo x > y", Workspace(tmp_path)) == "allow"


def test_being_let_out_once_is_asked_again(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    (tmp_path / "notes.txt").write_text("x")
    context = ToolContext(Workspace(project))
    tool = TOOLS["read"]
    arguments = tool.parse({"path": "../notes.txt"})
    seen: list[PermissionRequest] = []
    permissions = Permissions(ask_user=asked([PermissionReply("once"), PermissionReply("always")], seen))  # type: ignore[arg-type]

    async def play() -> None:
        for _ in range(3):
            needs = tool.needs(arguments, context)
            await permissions.check("read", needs)
            grant_permitted(needs, context.workspace)
            await run_tool(tool, arguments, context)

    asyncio.run(play())
    assert [question.need.kind for question in seen] == ["outside", "outside"]


def test_a_search_passes_over_what_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "a.txt").write_text("KEY of the map\n")
    permissions = Permissions()
    context = ToolContext(Workspace(tmp_path), is_hidden=permissions.hides)
    found = asyncio.run(run_tool(TOOLS["grep"], TOOLS["grep"].parse({"pattern": "KEY"}), context)).text
    assert "KEY of the map" in found and "KEY=1" not in found and "1 files were not looked into" in found
    assert (
        "KEY=1"
        not in asyncio.run(
            run_tool(TOOLS["grep"], TOOLS["grep"].parse({"pattern": "KEY", "path": ".env"}), context)
        ).text
    )


PROTECTED = [name.replace("*", "x") for names in PROTECTED_PATHS.values() for name in names]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", ["allow", {"edit": "allow"}, {"*": "allow"}, {"edit": {"**": "allow", "*/**": "allow"}}, {}]
)
def test_what_runs_by_itself_later_is_asked_about_unless_a_rule_names_it(rules: object) -> None:
    permissions = Permissions(parse_rules(rules))
    for name in PROTECTED:
        for path in (name, f"{name}/x/y.json", f"sub/{name}", f"sub/{name}/x", name.upper(), f"/home/me/{name}"):
            action = permissions.verdict(RequiredPermission("edit", (path,))).action
            assert action == ("deny" if rules == {} and ".git" in path.lower().split("/") else "ask"), path
    for path in ("src/main.py", "package.json", "Makefile", ".github/FUNDING.yml", "git/hooks", "docs/claude.md.txt"):
        assert permissions.verdict(RequiredPermission("edit", (path,))).action == "allow", path


@pytest.mark.slow
def test_a_rule_that_names_what_is_protected_allows_it(tmp_path: Path) -> None:
    for name in PROTECTED:
        for pattern in (f"{name}/**", f"**/{name}/**"):
            rules = parse_rules({"edit": {"**": "allow", pattern: "allow"}})
            assert Permissions(rules).verdict(RequiredPermission("edit", (f"{name}/a",))).action == "allow", name
    rules = parse_rules({"edit": {"**": "allow", ".github/**": "allow", "*.code-workspace": "allow"}})
    paths = {".github/workflows/x.yml": "allow", "a.code-workspace": "allow", ".github/.claude/x": "ask"}
    assert {path: Permissions(rules).verdict(RequiredPermission("edit", (path,))).action for path in paths} == paths
    workspace = Workspace(tmp_path)
    few = (*A_FEW, PermissionRule("edit", "**", "allow"))
    assert verdict(few, "echo x > .vscode/tasks.json", workspace) == "ask", "a redirection is a write as well"
    assert verdict((*few, PermissionRule("edit", ".vscode/**", "allow")), "echo x > .vscode/x", workspace) == "allow"


def test_a_refusal_says_who_refused(tmp_path: Path) -> None:
    def refusal(rules: object, command: str, reply: PermissionReply | None = None, plugin: str = "ask") -> str:
        async def decide(need: RequiredPermission) -> str:
            return plugin

        ask = {} if reply is None else {"ask_user": asked([reply], [])}
        permissions = Permissions(parse_rules(rules), **ask)  # type: ignore[arg-type]
        with pytest.raises(ToolRefused) as refused:
            asyncio.run(permissions.check("bash", [RequiredPermission("bash", (command,))], decide=decide))  # type: ignore[arg-type]
        return f"{refused.value.message} | {refused.value.hint}"

    assert refusal({}, "make") == (
        "bash is not permitted: every command is asked about (rule: bash * ask), and nobody is there to be asked"
        " | Do it in another way that is permitted"
    )
    assert refusal({}, "make", plugin="deny") == (
        "bash is not permitted: a plugin said no | Do it in another way that is permitted, or ask the user"
    )
    assert refusal({}, "make", PermissionReply("reject", message="later")).startswith(
        "bash is not permitted: the user said no: later"
    )
    assert refusal({"bash": {"*": "allow", "rm *": "deny"}}, "ls; rm x").startswith(
        'bash is not permitted: "rm x" is denied (rule: bash rm * deny)'
    )
    assert refusal({"bash": "deny"}, "make").startswith(
        "bash is not permitted: every command is denied (rule: bash * deny)"
    )
    assert "the user said" not in refusal({"bash": {"git *": "allow"}}, "git submodule foreach ls")
    assert refusal({}, "make", True).startswith(  # type: ignore[arg-type]
        "bash is not permitted: the question failed (ValidationError)"
    )
    assert refusal({"bash": {"git push *": "deny"}}, "git push origin").startswith(
        'bash is not permitted: "git push origin" is denied (rule: bash git push * deny)'
    )


async def _fails(ask: object) -> PermissionReply:
    raise ValueError("no answer")


@pytest.mark.anyio
async def test_a_question_that_fails_is_not_the_users_no() -> None:
    permissions = Permissions(ask_user=_fails)
    with pytest.raises(ToolRefused) as refused:
        await permissions.check("bash", [RequiredPermission("bash", ("make",))])
    assert refused.value.message == "bash is not permitted: the question failed (ValueError)"


def test_rules_from_settings_and_what_a_project_may_bring() -> None:
    rules = parse_rules({"bash": {"*": "ask", "git *": "allow"}, "edit": "deny", "read": {"secret/**": "deny"}})
    assert rules == (
        PermissionRule("bash", "*", "ask"),
        PermissionRule("bash", "git *", "allow"),
        PermissionRule("edit", "**", "deny"),
        PermissionRule("read", "secret/**", "deny"),
    )
    assert restrictive_rules(rules) == (rules[0], rules[2], rules[3])
    for wrong in ({"bash": "maybe"}, [], {"bash": {"x": None}}):
        with pytest.raises(ConfigError):
            parse_rules(wrong)
    assert Permissions(parse_rules("deny")).verdict(RequiredPermission("todo", ("*",))).action == "deny"
    assert isinstance(Permissions().verdict(RequiredPermission("todo", ("*",))), PermissionVerdict)
