"""Taking a prompt back: the files of the turn as they were before it, and nobody else's work touched."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from loops import QUICK, opened
from msgspec.structs import replace

from hudkit.agent import file_changes, hooks
from hudkit.agent.file_undo import SkippedFile
from hudkit.agent.permissions import PermissionRule
from hudkit.agent.session_store import SESSIONS_SCHEMA, SessionStore
from hudkit.errors import SessionError
from hudkit.log.stores.migrations import migrate
from hudkit.models.scripted_answers import Refusal, ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

REFUSED = Refusal(401, "authentication_error")
FREE = (PermissionRule("bash", "*", "allow"), PermissionRule("outside", "**", "allow"))


def write(path: str, content: str) -> ScriptedCall:
    return ScriptedCall("write", {"path": path, "content": content})


def edit(path: str, old: str, new: str) -> ScriptedCall:
    return ScriptedCall("edit", {"path": path, "old": old, "new": new})


def run(command: str) -> ScriptedCall:
    return ScriptedCall("bash", {"command": command})


def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir(exist_ok=True)
    return place


async def test_undo_takes_a_prompt_back(tmp_path: Path) -> None:
    model = InProcessModel([says("one"), says("two"), says("three")])
    async with opened(tmp_path, model) as loop:
        await loop.prompt("first")
        await loop.prompt("second")
        undone = await loop.undo()
        assert (undone.text, undone.restored, undone.kept_back, undone.not_undone) == ("second", (), (), ())
        await loop.prompt("third")
        assert "second" not in str(model.port_requests[-1].messages) and "first" in str(
            model.port_requests[-1].messages
        )
        await loop.undo()
        await loop.undo()
        with pytest.raises(SessionError, match="no prompt"):
            await loop.undo()


async def test_undo_puts_files_back_byte_for_byte(tmp_path: Path) -> None:
    here = project(tmp_path)
    before = {
        "win.txt": b"\xef\xbb\xbfone\r\ntwo\r\n",
        "odd.txt": b"caf\xe9 and \x80\nold\n",
        "run.sh": b"echo old\n",
        "wide.txt": "\ufeffold\n".encode("utf-16-le"),
    }
    for name, raw in before.items():
        (here / name).write_bytes(raw)
    (here / "run.sh").chmod(0o755)
    steps = [
        uses(*(ScriptedCall("read", {"path": name}) for name in before)),
        uses(edit("win.txt", "two", "three"), edit("odd.txt", "old", "new"), edit("run.sh", "old", "new")),
        uses(write("wide.txt", "text now\n"), edit("run.sh", "new", "newer"), write("deep/er/made.txt", "made\n")),
        uses(edit("deep/er/made.txt", "made", "made twice"), run("rm odd.txt run.sh")),
        says("done"),
    ]
    async with opened(tmp_path, InProcessModel(steps)) as loop:
        await loop.prompt("go")
        assert (here / "deep/er/made.txt").read_text() == "made twice\n" and not (here / "run.sh").exists()
        assert (here / "win.txt").read_bytes() == b"\xef\xbb\xbfone\r\nthree\r\n"
        assert (here / "wide.txt").read_bytes() != before["wide.txt"]
        undone = await loop.undo()
        assert set(undone.restored) == {*before, "deep/er/made.txt"} and undone.kept_back == ()
        assert undone.not_undone == ("rm odd.txt run.sh",)
        assert {name: (here / name).read_bytes() for name in before} == before
        assert (here / "run.sh").stat().st_mode & 0o777 == 0o755, "a file that comes back has its mode"
        assert not (here / "deep/er/made.txt").exists()
        assert not list(here.rglob("*.part"))


async def test_undo_goes_back_one_prompt_at_a_time(tmp_path: Path) -> None:
    here = project(tmp_path)
    (here / "a").write_text("0\n")
    steps = [said for n in (0, 1, 2) for said in (uses(edit("a", str(n), str(n + 1))), says("done"))]
    model = InProcessModel(steps)
    async with opened(tmp_path, model) as loop:
        for _ in range(3):
            await loop.prompt("more")
        for left in ("2\n", "1\n"):
            await loop.undo()
            assert (here / "a").read_text() == left
        model.play(uses(edit("a", "1", "one")), says("done"))
        await loop.prompt("in words")
        assert (here / "a").read_text() == "one\n", "the tools do not take it for a file that changed behind them"
        id = loop.id
    async with opened(tmp_path, InProcessModel([says("new")]), session=id) as loop:
        await loop.undo()
        await loop.undo()
        assert (here / "a").read_text() == "0\n", "also after the session was opened again"
        await loop.prompt("anew")
        with SessionStore.open(tmp_path / "data" / "sessions.db", read_only=True) as store:
            assert store._fetch("SELECT count(*) FROM contents") == [(0,)], "contents go with their changes"


async def test_what_somebody_else_changed_is_left_and_named(tmp_path: Path) -> None:
    here = project(tmp_path)
    for name in ("theirs", "between", "fine"):
        (here / name).write_text("0\n")
    steps = [
        uses(edit("theirs", "0", "1"), edit("between", "0", "1"), edit("fine", "0", "1"), write("made", "x")),
        uses(run("echo sed >> between")),
        uses(ScriptedCall("read", {"path": "between"}), edit("between", "1", "2")),
        says("done"),
    ]
    async with opened(tmp_path, InProcessModel(steps)) as loop:
        await loop.prompt("go")
        (here / "theirs").write_text("mine\n")
        (here / "made").write_text("mine too")
        undone = await loop.undo()
        assert undone.restored == ("fine",) and (here / "fine").read_text() == "0\n"
        why = {one.path: one.why for one in undone.kept_back}
        assert set(why) == {"theirs", "made", "between"}
        assert why["theirs"] == why["made"] == "it has changed since" and "between two calls" in why["between"]
        assert (here / "theirs").read_text() == "mine\n" and (here / "made").read_text() == "mine too"
        assert (here / "between").read_text() == "2\nsed\n"


async def test_undo_leaves_the_area_by_no_link(tmp_path: Path) -> None:
    here = project(tmp_path)
    (here / "sub").mkdir()
    for name in ("a", "sub/b", "c", "e"):
        (here / name).write_text("0\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    steps = [uses(*(edit(name, "0", "1") for name in ("a", "sub/b", "c", "e"))), says("done")]
    async with opened(tmp_path, InProcessModel(steps)) as loop:
        await loop.prompt("go")
        (outside / "a").write_text("1\n")
        (outside / "b").write_text("1\n")
        (here / "a").unlink()
        (here / "a").symlink_to(outside / "a")
        (here / "sub" / "b").unlink()
        (here / "sub").rmdir()
        (here / "sub").symlink_to(outside)
        (here / "c").unlink()
        (here / "c").mkdir()
        (here / "e").rename(here / "f")
        (here / "e").symlink_to("f")
        undone = await loop.undo()
        assert undone.restored == () and {one.path for one in undone.kept_back} == {"a", "sub/b", "c", "e"}
        assert (here / "f").read_text() == "1\n", "nor another file of the project"
        assert (outside / "a").read_text() == (outside / "b").read_text() == "1\n"


async def test_a_file_outside_comes_back_only_while_it_is_let_in(tmp_path: Path) -> None:
    project(tmp_path)
    place = tmp_path / "beside.txt"
    place.write_text("0\n")
    steps = [uses(edit(str(place), "0", "1")), says("done")]
    async with opened(tmp_path, InProcessModel(steps), permissions=FREE) as loop:
        await loop.prompt("go")
        id = loop.id
        assert (await loop.undo()).restored == (str(place),) and place.read_text() == "0\n"
        loop._run.model.play(*steps)  # type: ignore[attr-defined]
        await loop.prompt("go")
    async with opened(tmp_path, InProcessModel(), session=id) as loop:
        (kept,) = (await loop.undo()).kept_back
        assert kept.path == str(place) and "leads out of the project" in kept.why and place.read_text() == "1\n"


async def test_what_a_sub_agent_changed_comes_back_too(tmp_path: Path) -> None:
    here = project(tmp_path)
    (here / "a").write_text("0\n")
    task = ScriptedCall("task", {"description": "x", "prompt": "write", "agent": "general"})
    steps = [
        uses(edit("a", "0", "1")),
        uses(task),
        uses(edit("a", "1", "2"), write("b", "b"), run("true")),
        says("written"),
        uses(ScriptedCall("read", {"path": "a"}), edit("a", "2", "3")),
        says("done"),
    ]
    async with opened(tmp_path, InProcessModel(steps)) as loop:
        await loop.prompt("go")
        assert (here / "a").read_text() == "3\n"
        undone = await loop.undo()
        assert undone.restored == ("a", "b") and undone.not_undone == ("true",)
        assert (here / "a").read_text() == "0\n" and not (here / "b").exists()


async def test_what_sub_agents_of_sub_agents_changed_comes_back_also_where_they_failed(tmp_path: Path) -> None:
    here = project(tmp_path)
    (here / "a").write_text("0\n")
    task = ScriptedCall("task", {"description": "x", "prompt": "write", "agent": "general"})
    model = InProcessModel(
        [uses(task), uses(task), uses(edit("a", "0", "1")), REFUSED, says("it failed"), says("done")]
    )
    async with opened(tmp_path, model, settings=replace(QUICK, depth=2)) as loop:
        await loop.prompt("go")
        assert (here / "a").read_text() == "1\n" and model.left == 0
        assert (await loop.undo()).restored == ("a",) and (here / "a").read_text() == "0\n"


async def test_what_a_formatter_made_of_a_file_counts_as_the_turn_s(tmp_path: Path) -> None:
    here = project(tmp_path)

    def after(given: hooks.ToolExecuteAfter, output: hooks.ToolOutput) -> None:
        if given.tool != "read":
            (here / "a.py").write_text((here / "a.py").read_text().upper())

    steps = [
        uses(write("a.py", "x\n")),
        uses(ScriptedCall("read", {"path": "a.py"}), edit("a.py", "X", "y")),
        says("done"),
    ]
    async with opened(tmp_path, InProcessModel(steps), plugins=[("fmt", {"tool_execute_after": after})]) as loop:
        await loop.prompt("go")
        assert (here / "a.py").read_text() == "Y\n"
        assert (await loop.undo()).restored == ("a.py",) and not (here / "a.py").exists()


async def test_undo_that_was_killed_before_its_end_comes_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = project(tmp_path)
    (here / "a").write_text("0\n")
    async with opened(tmp_path, InProcessModel([uses(edit("a", "0", "1")), says("done")])) as loop:
        await loop.prompt("go")
        with monkeypatch.context() as patched:
            patched.setattr(loop._run.history, "take_back", lambda *given: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await loop.undo()
        assert (here / "a").read_text() == "0\n"
        undone = await loop.undo()
        assert undone.restored == ("a",) and loop.messages == () and (here / "a").read_text() == "0\n"


async def test_a_change_that_was_not_made_leaves_no_note(tmp_path: Path) -> None:
    steps = [uses(write("/proc/there/is/no/such/place", "1")), says("done")]
    async with opened(tmp_path, InProcessModel(steps), permissions=FREE) as loop:
        await loop.prompt("go")
        assert loop.messages[1].parts[0].status == "error"  # type: ignore[union-attr]
        assert loop.setup.store.changes.of_messages(loop.id, [one.id for one in loop.messages]) == ()


async def test_a_file_that_was_too_large_to_be_kept_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_changes, "MAX_CONTENT_BYTES", 3)
    here = project(tmp_path)
    (here / "large").write_text("0000")
    (here / "small").write_text("0")
    steps = [uses(edit("large", "0000", "1"), edit("small", "0", "1"), write("new", "11111")), says("done")]
    async with opened(tmp_path, InProcessModel(steps)) as loop:
        await loop.prompt("go")
        undone = await loop.undo()
        assert undone.kept_back == (SkippedFile("large", "what it was is not kept: it was too large"),)
        assert undone.restored == ("small", "new") and (here / "large").read_text() == "1"


async def test_what_is_not_undone_is_named(tmp_path: Path) -> None:
    def tool(given: object, output: hooks.Tools) -> None:
        parameters: dict[str, Any] = {"type": "object", "properties": {}}
        output.tools["deploy"] = hooks.ToolDefinition("deploy", "d", parameters, lambda *_: "ok")

    steps = uses(
        ScriptedCall("deploy", {"to": "the shop"}), ScriptedCall("glob", {"pattern": "*"}), run("rm -rf /"), run("ls")
    )
    model = InProcessModel([steps, says("done")])
    rules = (PermissionRule("bash", "ls", "allow"),)
    async with opened(tmp_path, model, plugins=[("ops", {"tool": tool})], permissions=rules) as loop:
        await loop.prompt("go")
        assert (await loop.undo()).not_undone == (
            "deploy the shop (a plugin's tool)",
            "ls",
        ), "what was denied did nothing"


def test_sessions_of_the_first_version_are_brought_along(tmp_path: Path) -> None:
    path = tmp_path / "data" / "sessions.db"
    path.parent.mkdir(mode=0o700)
    path.touch(mode=0o600)
    db = sqlite3.connect(path, isolation_level=None)
    migrate(db, path, SESSIONS_SCHEMA._replace(steps=SESSIONS_SCHEMA.steps[:1]))
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()
    with SessionStore.open(path) as store:
        assert store.changes.of_messages("ses_1", ["msg_1"]) == () and store.changes.content("0") is None
