"""The tools of a session on real files and processes: what they give, what they keep, and what they refuse."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.agent.context_files import discover_skills
from hudkit.agent.file_text import decode_text, diff_texts, find_occurrences
from hudkit.agent.records import StoredSession
from hudkit.agent.session_store import SessionStore
from hudkit.agent.tools import TOOLS, ToolContext, ToolLimits, ToolOutcome, grant_permitted, run_tool
from hudkit.agent.tools.shell_tool import scrubbed_environment
from hudkit.agent.wildcard import matches_path, matches_wildcard, wildcards_overlap
from hudkit.agent.workspace import Workspace
from hudkit.errors import ToolError, ToolRefused


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("def f():\n    return 1\n")
    return root


@pytest.fixture
def context(project: Path, tmp_path: Path) -> ToolContext:
    spill = tmp_path / "spill"
    return ToolContext(
        Workspace(project, readable=[spill]), spill_folder=spill, limits=ToolLimits(search_seconds=2.0)
    )


def use(context: ToolContext, tool: str, **arguments: Any) -> ToolOutcome:
    found = TOOLS[tool]
    return asyncio.run(run_tool(found, found.parse(arguments), context))


TRICKS = [
    "../outside/secret", "a/../../outside/secret", "/etc/passwd", "~/.ssh/id_rsa", "link/secret", "x\0y",
    "link/../outside/secret", "file_link", "deep/link2/secret", "\uff0e\uff0e/outside/secret", "n" * 5_000,
    "d/" + "n" * 300, "", "./link/./secret", "//etc/passwd", "\ud800", "\u2025/outside/secret",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("path", TRICKS)
@pytest.mark.parametrize("tool", ["read", "write", "edit", "glob", "grep", "bash"])
def test_d3_no_path_leads_out(context: ToolContext, project: Path, tmp_path: Path, tool: str, path: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("top secret old")
    (project / "link").symlink_to(outside)
    (project / "file_link").symlink_to(outside / "secret")
    (project / "deep").mkdir()
    (project / "deep" / "link2").symlink_to("../../outside")
    rest = {
        "write": {"content": "x"}, "edit": {"old": "old", "new": "new"}, "glob": {"pattern": "*"},
        "grep": {"pattern": "secret"}, "bash": {"command": "cat secret"},
    }.get(tool, {})  # fmt: skip
    before = sorted(str(one) for one in tmp_path.rglob("*"))
    with pytest.raises(ToolError) as raised:
        use(context, tool, path=path, **rest)
    assert "top secret" not in str(raised.value)
    assert (outside / "secret").read_text() == "top secret old"
    assert sorted(str(one) for one in tmp_path.rglob("*")) == before


def test_d3_a_refusal_does_not_tell_whether_there_is_something(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x")
    said = []
    for name in ("there", "not_there"):
        with pytest.raises(ToolRefused) as raised:
            use(context, "read", path=f"../{name}")
        said.append(str(raised.value).replace(name, "NAME"))
    assert said[0] == said[1]


def test_what_is_permitted_outside_is_let_in(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("one\n")
    tool = TOOLS["edit"]
    arguments = tool.parse({"path": "../outside/a.txt", "old": "one", "new": "two"})
    needs = tool.needs(arguments, context)
    assert [need.kind for need in needs] == ["edit", "outside"]
    grant_permitted(needs, context.workspace)
    asyncio.run(run_tool(tool, arguments, context))
    assert (tmp_path / "outside" / "a.txt").read_text() == "two\n"
    with pytest.raises(ToolRefused):
        use(context, "read", path="../outside")


@pytest.mark.slow
def test_a_directory_that_becomes_a_link_while_it_is_written_is_not_followed(project: Path, tmp_path: Path) -> None:
    """The swap of a directory for a link between check and use (D3): thousands of tries, none gets out."""
    outside = tmp_path / "outside"
    outside.mkdir()
    real, link = project / "d", project / "l"
    real.mkdir()
    link.symlink_to(outside)
    stop = threading.Event()

    def move(one: str, other: str) -> None:
        while not stop.is_set():
            try:
                (project / one).rename(project / other)
                return
            except OSError:  # a write has made the directory that was away
                shutil.rmtree(project / other, ignore_errors=True)

    def swap() -> None:
        while not stop.is_set():
            for one, other in (("d", "t"), ("l", "d"), ("d", "l"), ("t", "d")):
                move(one, other)

    thread = threading.Thread(target=swap)
    thread.start()
    written = refused = 0
    try:
        context = ToolContext(Workspace(project))
        until = time.monotonic() + 4
        while time.monotonic() < until:
            try:
                use(context, "write", path=f"d/{written}-{refused}.txt", content="x")
                written += 1
            except ToolError:
                refused += 1
    finally:
        stop.set()
        thread.join()
    assert list(outside.iterdir()) == []
    assert written and refused, "both sides of the swap were met"


def test_no_fifo_device_or_directory_is_read_or_written(context: ToolContext, project: Path) -> None:
    os.mkfifo(project / "pipe")
    (project / "dir").mkdir()
    for tool, rest in (
        ("read", {}),
        ("write", {"content": "x"}),
        ("edit", {"old": "a", "new": "b"}),
        ("grep", {"pattern": "x"}),
    ):
        if tool == "grep":
            assert use(context, tool, path="pipe", **rest).text == "No line matches."
            continue
        with pytest.raises(ToolError, match="ordinary file"):
            use(context, tool, path="pipe", **rest)
    with pytest.raises(ToolError, match=r"ordinary|directory"):
        use(context, "write", path="dir", content="x")


@pytest.mark.slow
def test_d5_huge_binary_and_odd_files_are_read_within_bounds(context: ToolContext, project: Path) -> None:
    with (project / "sparse").open("wb") as file:
        file.truncate(2 * 1024**3)
    with pytest.raises(ToolError, match="not a text file"):
        use(context, "read", path="sparse")
    with pytest.raises(ToolError, match="limit"):
        use(context, "edit", path="sparse", old="a", new="b")
    (project / "long").write_text("x" * 20_000_000)
    long = use(context, "read", path="long").text
    assert len(long) < 3_000 and "the line goes on" in long
    (project / "many").write_text("line\n" * 1_000_000)
    many = use(context, "read", path="many")
    assert "offset 2001" in many.text and many.text.count("\n") == 2_000
    assert "999999: line" in use(context, "read", path="many", offset=999_999).text
    (project / "odd").write_bytes(b"ok \xff\xfe bytes\x1b[2J \xe2\x80\xae tab\there\n")
    odd = use(context, "read", path="odd").text
    assert odd.endswith("ok \\xff\\xfe bytes\\x1b[2J \\u202e tab\there")
    (project / "wide").write_bytes("héllo\nworld\n".encode("utf-16"))
    assert "     2: world" in use(context, "read", path="wide").text
    (project / "empty").write_text("")
    assert "empty" in use(context, "read", path="empty").text
    with pytest.raises(ToolError, match="has 2 lines"):
        use(context, "read", path="a.py", offset=9)


def test_a_listing_marks_directories_and_links(context: ToolContext, project: Path) -> None:
    (project / "sub").mkdir()
    (project / "to").symlink_to("a.py")
    (project / "new\nline\x1b").write_text("")
    assert use(context, "read", path=".").text.split("\n") == ["a.py", "new\\nline\\x1b", "sub/", "to@"]


@pytest.mark.parametrize(
    ("raw", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc\r\n"),
        (b"a\r\nb\nc\n", "b", "b\nd", b"a\r\nb\nd\nc\n"),
        (b"\xef\xbb\xbfone\n", "one", "two", b"\xef\xbb\xbftwo\n"),
        (b"caf\xe9 one\n", "one", "two", b"caf\xe9 two\n"),
        ("é one\n".encode("utf-16"), "one", "zwei €", "é zwei €\n".encode("utf-16")),
        (b"no end", "end", "end\n", b"no end\n"),
        (b"tab\there\x0c\n", "tab\there", "x", b"x\x0c\n"),
    ],
)
def test_an_edit_keeps_encoding_and_line_ends(
    context: ToolContext, project: Path, raw: bytes, old: str, new: str, after: bytes
) -> None:
    path = project / "file.txt"
    path.write_bytes(raw)
    path.chmod(0o750)
    result = use(context, "edit", path="file.txt", old=old, new=new)
    assert path.read_bytes() == after
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert result.files == ("file.txt",) and result.diff.startswith("--- file.txt")


def test_an_edit_must_be_unique_and_as_the_file_was_read(context: ToolContext, project: Path) -> None:
    path = project / "b.txt"
    path.write_text("one\ntwo\none\n")
    with pytest.raises(ToolError, match=r"2 times \(lines 1, 3\)"):
        use(context, "edit", path="b.txt", old="one", new="1")
    with pytest.raises(ToolError, match="differs in white space only"):
        use(context, "edit", path="b.txt", old="  one\ntwo", new="1")
    with pytest.raises(ToolError, match="same"):
        use(context, "edit", path="b.txt", old="two", new="two")
    assert use(context, "edit", path="b.txt", old="one", new="1", all=True).removed == 2
    assert path.read_text() == "1\ntwo\n1\n"
    use(context, "read", path="b.txt")
    time.sleep(0.02)
    path.write_text("the user's own change\n")
    with pytest.raises(ToolError, match="changed since it was read"):
        use(context, "edit", path="b.txt", old="user", new="agent")
    with pytest.raises(ToolError, match="changed since"):
        use(context, "write", path="b.txt", content="x")
    assert path.read_text() == "the user's own change\n"


def test_a_file_that_was_not_read_is_not_written_over(context: ToolContext, project: Path) -> None:
    with pytest.raises(ToolError, match="there already"):
        use(context, "write", path="a.py", content="gone")
    made = use(context, "write", path="new/dir/c.py", content="x = 1\n")
    assert (project / "new/dir/c.py").read_text() == "x = 1\n"
    assert (made.added, made.removed) == (1, 0)
    use(context, "write", path="new/dir/c.py", content="x = 2\n")
    use(context, "read", path="a.py")
    use(context, "write", path="a.py", content="g = 3\n")
    assert (project / "a.py").read_text() == "g = 3\n"
    assert sorted(one.name for one in project.rglob("*")) == ["a.py", "c.py", "dir", "new"], (
        "no temporary file is left"
    )


def test_a_hard_link_elsewhere_keeps_its_content(context: ToolContext, project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("keep me")
    os.link(tmp_path / "elsewhere", project / "linked")
    use(context, "edit", path="linked", old="keep", new="changed")
    assert (tmp_path / "elsewhere").read_text() == "keep me"


@given(
    text=st.text(alphabet="ab\n\r \t", max_size=60),
    at=st.integers(0, 60),
    size=st.integers(1, 10),
    new=st.text(alphabet="xy\n", max_size=8),
)
def test_all_but_the_place_stays_byte_for_byte(text: str, at: int, size: int, new: str) -> None:
    old = text[at : at + size]
    if not old or (old.startswith("\n") and text[at - 1 : at] == "\r") or old.strip("\r") == "":
        return
    places = find_occurrences(text, old.replace("\r\n", "\n"))
    found = decode_text(text.encode())
    assert found is not None and found.raw(found.text) == text.encode()
    if "\r" not in old.replace("\r\n", ""):
        assert any(text[start:end].replace("\r\n", "\n") == old.replace("\r\n", "\n") for start, end in places)


@pytest.mark.slow
@given(before=st.lists(st.sampled_from("abc"), max_size=12), after=st.lists(st.sampled_from("abc"), max_size=12))
def test_a_diff_applies(tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str]) -> None:
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    diff, added, removed = diff_texts(old, new, "f")
    assert len(after) - len(before) == added - removed
    if diff and shutil.which("patch"):
        folder = tmp_path_factory.mktemp("patch")
        (folder / "f").write_text(old)
        subprocess.run(["patch", "-s", "f"], cwd=folder, input=diff.encode(), check=True)
        assert ((folder / "f").read_text() if (folder / "f").exists() else "") == new


@pytest.mark.slow
def test_glob_and_grep_leave_out_what_git_ignores(context: ToolContext, project: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".gitignore").write_text("built/\n")
    for name in ("built/x.py", "src/b.py", "src/c.ts", "src/.hidden.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("def needle(): ...\n")
    assert sorted(use(context, "glob", pattern="*.py").text.split("\n")) == ["a.py", "src/.hidden.py", "src/b.py"]
    assert sorted(use(context, "glob", pattern="src/*.{py,ts}").text.split("\n")) == [
        "src/.hidden.py",
        "src/b.py",
        "src/c.ts",
    ]
    told = use(context, "grep", pattern=r"def \w+\(", include="*.py").text
    assert "built" not in told and "src/b.py:\n     1: def needle(): ..." in told
    assert use(context, "grep", pattern="needle", path="src/c.ts").text == "src/c.ts:\n     1: def needle(): ..."
    assert use(context, "grep", pattern="NEEDLE", path="src", ignore_case=True).text.count("needle") == 3
    assert use(context, "glob", pattern="nothing*").text == "No file matches."


def test_a_repository_cannot_make_a_search_run_programs(context: ToolContext, project: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    witness = project / "ran"
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand"):
        subprocess.run(["git", "-C", str(project), "config", key, f"touch {witness}"], check=True)
    use(context, "glob", pattern="*")
    use(context, "grep", pattern="x")
    assert not witness.exists()


@pytest.mark.slow
def test_e3_an_expression_that_runs_away_is_ended(context: ToolContext, project: Path) -> None:
    context.limits = ToolLimits(search_seconds=0.5)
    (project / "trap.txt").write_text("a" * 50_000 + "!\n")
    told = use(context, "grep", pattern="(a+)+$", path="trap.txt").text
    assert "stopped after 0.5 s" in told
    with pytest.raises(ToolError, match="not a regular expression"):
        use(context, "grep", pattern="(")


@pytest.mark.slow
def test_e3_no_pattern_for_paths_or_words_runs_away() -> None:
    started = time.process_time()
    assert not matches_wildcard("*a" * 200 + "b", "a" * 2_000)
    assert not matches_path("**/" * 200 + "b", "a/" * 200)
    assert not matches_path("*a" * 200 + "b", "a" * 2_000)
    assert matches_path("{a,b}" * 150, "ab" * 75) in (True, False)
    assert time.process_time() - started < 20


GLOBS = st.text(alphabet="ab*?", max_size=6)


@pytest.mark.slow
@settings(max_examples=300)
@given(one=GLOBS, two=GLOBS, text=st.text(alphabet="ab", max_size=6))
def test_patterns_that_match_one_text_meet(one: str, two: str, text: str) -> None:
    assert wildcards_overlap(one, two) == wildcards_overlap(two, one)
    assert wildcards_overlap(one, text) == matches_wildcard(one, text)
    if matches_wildcard(one, text) and matches_wildcard(two, text):
        assert wildcards_overlap(one, two)


@pytest.mark.parametrize(
    ("pattern", "path", "right"),
    [
        ("*.py", "a.py", True), ("*.py", "x/y/a.py", True), ("src/*.py", "src/a.py", True), ("src/**", "src", True),
        ("src/*.py", "src/x/a.py", False), ("src/**/*.py", "src/x/y/a.py", True), ("src/**/*.py", "src/a.py", True),
        ("**", "a/b", True), ("[a-c].txt", "b.txt", True), ("[!a-c].txt", "b.txt", False), ("a?c", "abc", True),
        ("*.{ts,tsx}", "q/a.tsx", True), ("src/**/x", "src/ax", False), ("**/.git/**", "a/.git/b/c", True),
        ("a[", "a[", True), ("", "a", False),
    ],
)  # fmt: skip
def test_path_patterns(pattern: str, path: str, right: bool) -> None:
    assert matches_path(pattern, path) is right


@pytest.mark.slow
def test_bash_tells_output_status_and_bounds(context: ToolContext, project: Path) -> None:
    assert use(context, "bash", command="echo out; echo err >&2; exit 3").text == "out\nerr\n[exit code 3]"
    assert use(context, "bash", command="pwd").text == str(project)
    assert use(context, "bash", command="cat").text == "[no output]", "there is no input to wait for"
    long = use(context, "bash", command="seq 1 200000")
    assert len(long.text) < 31_000 and long.text.startswith("1\n2\n") and long.text.endswith("\n200000")
    assert stat.S_IMODE(Path(long.full_output).stat().st_mode) == 0o600
    assert "100000: 100000" in use(context, "read", path=long.full_output, offset=100_000, limit=1).text
    with pytest.raises(ToolRefused):
        use(context, "write", path=long.full_output, content="x")
    assert "\x1b" not in use(context, "bash", command="printf '\\033[31mred\\007'").text


def test_bash_names_the_files_that_it_changed(context: ToolContext, project: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".gitignore").write_text("*.log\n")
    (project / "gone.txt").write_text("x")
    result = use(
        context, "bash", command="echo x >> a.py; echo y > new.txt; rm gone.txt; echo z > a.log; cat .gitignore"
    )
    assert result.files == ("a.py", "gone.txt", "new.txt")
    assert use(context, "bash", command="cat a.py").files == ()


def alive(mark: str) -> bool:
    return subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).stdout != b""


@pytest.mark.parametrize(
    "command",
    [
        "sleep 98765.N",
        "trap '' TERM; sleep 98765.N; sleep 98765.N",
        "setsid sleep 98765.N & wait",
        "(sleep 98765.N &) ; sleep 98765.N",
    ],
)
@pytest.mark.parametrize("how", ["time-out", "cancelled"])
@pytest.mark.slow
def test_nothing_is_left_running(context: ToolContext, command: str, how: str) -> None:
    number = f"{os.getpid()}{abs(hash((command, how))) % 10**6}"
    command = command.replace("N", number)
    tool = TOOLS["bash"]

    async def play() -> None:
        seconds = 0.4 if how == "time-out" else 60
        task = asyncio.create_task(run_tool(tool, tool.parse({"command": command, "seconds": seconds}), context))
        if how == "cancelled":
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            assert "ended after 0.4 s" in (await task).text

    asyncio.run(play())
    assert not alive(f"98765.{number}")


@pytest.mark.slow
def test_what_a_command_leaves_running_ends_with_it(context: ToolContext) -> None:
    number = f"{os.getpid()}7"
    started = time.monotonic()
    told = use(context, "bash", command=f"sleep 87654.{number} & echo started").text
    assert told.startswith("started") and "ended with it" in told
    assert time.monotonic() - started < 30, "it does not wait for what holds its output"
    assert not alive(f"87654.{number}")


def test_no_secret_of_the_environment_reaches_a_command(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = {
        "ANTHROPIC_API_KEY": "x1", "MY_TOKEN": "x2", "DB_PASSWORD": "x3", "AWS_SECRET_ACCESS_KEY": "x4",
        "HARMLESS": "ghp_" + "a1B2" * 9, "BASH_ENV": "/tmp/evil", "SSH_AUTH_SOCK": "/x5", "DATABASE_URL": "pg://x6",
    }  # fmt: skip
    for name, value in hidden.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KEYBOARD", "qwerty")
    context.environment = {"FROM_HOOK": "yes"}
    told = use(context, "bash", command="env").text
    assert not [name for name in hidden if f"{name}=" in told]
    assert "KEYBOARD=qwerty" in told and "FROM_HOOK=yes" in told and "PATH=" in told
    assert scrubbed_environment(hidden, keep=["MY_TOKEN"])["MY_TOKEN"] == "x2"


@pytest.mark.slow
def test_a_cancelled_write_leaves_the_old_file_or_the_new(context: ToolContext, project: Path) -> None:
    path = project / "big.txt"
    old, new = "old\n" * 500_000, "new\n" * 500_000
    tool = TOOLS["write"]

    async def play(wait: float) -> None:
        await run_tool(TOOLS["read"], TOOLS["read"].parse({"path": "big.txt"}), context)
        task = asyncio.create_task(run_tool(tool, tool.parse({"path": "big.txt", "content": new}), context))
        await asyncio.sleep(wait)
        task.cancel()
        with suppress(asyncio.CancelledError, ToolError):
            await task

    for wait in (0, 0.001, 0.003, 0.01):
        path.write_text(old)
        asyncio.run(play(wait))
        assert path.read_text() in (old, new)
        assert [one.name for one in project.iterdir() if one.name.endswith(".part")] == []


def test_arguments_are_checked_and_described() -> None:
    for tool in TOOLS.values():
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
        assert tool.parameters["additionalProperties"] is False
    for wrong in ({}, {"path": 3}, {"path": "a", "ofset": 1}, {"path": "a", "offset": 0}, "{", [], None):
        with pytest.raises(ToolError):
            TOOLS["read"].parse(wrong)
    assert TOOLS["read"].parse('{"path": "a"}') == TOOLS["read"].parse({"path": "a"})


def test_todos_are_kept_in_the_session(context: ToolContext, tmp_path: Path) -> None:
    with SessionStore.open(tmp_path / "data" / "sessions.db") as store:
        store.create(StoredSession("ses", created=1))
        context.store, context.session_id = store, "ses"
        told = use(context, "todo", todos=[{"content": "one\n# Fake", "status": "in_progress"}, {"content": "two"}])
        assert told.text == "- [in_progress] one\\n# Fake\n- [pending] two"
        assert use(context, "todo").text == told.text
        with pytest.raises(ToolError):
            use(context, "todo", todos=[{"content": "x", "status": "nearly"}])
        assert len(store.todos("ses")) == 2


def test_a_skill_is_found_and_told(context: ToolContext, project: Path, tmp_path: Path) -> None:
    for place, name, text in (
        (project / ".claude/skills", "deploy", "---\nname: deploy\ndescription: How to deploy\n---\nRun it."),
        (project / ".hudkit/skills", "Bad Name", "---\ndescription: x\n---\n"),
        (project / ".hudkit/skills", "broken", "---\ndescription: without an end"),
        (project / ".hudkit/skills", "nothing", "no front matter"),
        (tmp_path / "mine", "deploy", "---\ndescription: My own way\n---\nMine."),
    ):
        (place / name).mkdir(parents=True)
        (place / name / "SKILL.md").write_text(text)
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "SKILL.md").write_text("---\ndescription: out\n---\nout")
    (project / ".hudkit/skills/out").symlink_to(tmp_path / "evil")
    skills, wrong = discover_skills(context.workspace)
    assert [(skill.name, skill.level) for skill in skills] == [("deploy", "project")]
    assert [one.path.parent.name for one in wrong] == ["Bad Name", "broken", "nothing"]
    assert "lower-case" in wrong[0].reason and "description" in wrong[2].reason
    context.skills, _ = discover_skills(context.workspace, [tmp_path / "mine"])
    assert [(skill.name, skill.level) for skill in context.skills] == [("deploy", "user")]
    assert "Mine." in use(context, "skill", name="deploy").text
    with pytest.raises(ToolError, match="There are: deploy"):
        use(context, "skill", name="deplo")


def test_a_directory_that_only_looks_like_a_repository_runs_nothing(tmp_path: Path) -> None:
    hidden = tmp_path / "sub"
    for name in ("objects", "refs"):
        (hidden / name).mkdir(parents=True)
    (hidden / "HEAD").write_text("ref: refs/heads/main\n")
    settings_of_git = f'bare = false\n\tworktree = ..\n\tfsmonitor = "touch {tmp_path}/RAN"\n'
    (hidden / "config").write_text(f"[core]\n\trepositoryformatversion = 0\n\t{settings_of_git}")
    context = ToolContext(
        Workspace(tmp_path),
        environment={"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"},
    )
    command = "git -C sub status; cd sub && git status; git config a.b; git init -q ../new && git -C ../new status -s"
    arguments = TOOLS["bash"].parse({"command": command})
    text = asyncio.run(run_tool(TOOLS["bash"], arguments, context)).text
    assert "RAN" not in {entry.name for entry in tmp_path.iterdir()}
    assert text.count("safe.bareRepository") == 2 and text.endswith("c"), "other settings and repositories work"
