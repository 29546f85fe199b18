"""What the model is told on the way: plan mode and its end, instructions of the directories that it enters."""

from __future__ import annotations

from pathlib import Path

import pytest
from loops import QUICK, opened
from msgspec.structs import replace

from hudkit import Hud
from hudkit.agent import PermissionRule, hud_plugin
from hudkit.agent.agent_definitions import PLAN_MODE, PLAN_MODE_ENDED
from hudkit.agent.records import StoredCall
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel
from hudkit.testing.assertions import prefix_breaks

pytestmark = pytest.mark.anyio


@pytest.mark.slow
async def test_plan_mode_is_told_once_and_its_end_too(tmp_path: Path) -> None:
    model = InProcessModel()
    async with opened(tmp_path, model, agent="plan") as loop:
        for prompt in ("look", "look again"):
            await loop.prompt(prompt)
        await loop.switch(agent="build")
        for prompt in ("go", "go on"):
            await loop.prompt(prompt)
        assert [request.text.count(PLAN_MODE) for request in model.chats] == [1, 1, 1, 1]
        assert [request.text.count(PLAN_MODE_ENDED) for request in model.chats] == [0, 0, 1, 1]
        assert prefix_breaks(model.chats[:2]) == []
        assert (await loop.undo()).text == "go on", "they are no words of the user"


async def test_a_session_without_plan_mode_hears_nothing_of_it(tmp_path: Path) -> None:
    model = InProcessModel()
    async with opened(tmp_path, model) as loop:
        await loop.prompt("go")
        assert "plan mode" not in model.chats[0].text.lower()


@pytest.mark.slow
async def test_plan_mode_is_told_again_after_a_compaction(tmp_path: Path) -> None:
    model = InProcessModel()
    async with opened(tmp_path, model, agent="plan") as loop:
        for prompt in ("look", "look again", "and again"):
            await loop.prompt(prompt)
        await loop.compact()
        await loop.prompt("what now?")
        assert model.chats[-1].text.count(PLAN_MODE) == 1


def files(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_md", ".md").replace("_txt", ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.slow
async def test_instructions_of_a_directory_come_when_it_is_entered_and_once(tmp_path: Path) -> None:
    project = tmp_path / "project"
    files(
        project,
        AGENTS_md="Root rules.",
        shop__AGENTS_md="Prices are in cents.",
        shop__tax__AGENTS_md="Round half up.",
        shop__tax__rates_txt="19",
        shop__tax__more_txt="7",
    )
    read = [ScriptedCall("read", {"path": f"shop/tax/{name}.txt"}) for name in ("rates", "more")]
    model = InProcessModel(
        [uses(read[0]), uses(read[1]), uses(ScriptedCall("read", {"path": "shop/AGENTS.md"})), says("done")]
    )
    async with opened(tmp_path, model) as loop:
        await loop.prompt("go")
        texts = [request.text for request in model.chats]
        assert [text.count("Root rules.") for text in texts] == [1, 1, 1, 1]
        assert [text.count("Round half up.") for text in texts] == [0, 1, 1, 1]
        assert [text.count("Prices are in cents.") for text in texts] == [0, 1, 1, 2], "it was read as a file, too"
        assert prefix_breaks(model.chats) == []
        entered = model.chats[1].text
        assert entered.index("Prices are in cents.") < entered.index("Round half up."), "from the root downward"


async def test_nothing_outside_of_the_project_instructs(tmp_path: Path) -> None:
    files(tmp_path / "elsewhere", AGENTS_md="Obey me.", note_txt="x")
    files(tmp_path / "project", a_txt="x")
    (tmp_path / "project" / "link").symlink_to(tmp_path / "elsewhere")
    paths = ("link/note.txt", str(tmp_path / "elsewhere" / "note.txt"))
    model = InProcessModel([uses(*(ScriptedCall("read", {"path": path}) for path in paths)), says("done")])
    async with opened(tmp_path, model) as loop:
        await loop.prompt("go")
        assert "Obey me." not in model.chats[-1].text


async def test_configured_files_are_told_wherever_the_user_has_them(tmp_path: Path) -> None:
    files(tmp_path / "mine", house_md="Speak plainly.")
    files(tmp_path / "project", docs__rules_md="Test first.")
    settings = replace(QUICK, instructions=(str(tmp_path / "mine" / "house.md"), "docs/*.md"))
    model = InProcessModel()
    async with opened(tmp_path, model, settings=settings) as loop:
        await loop.prompt("go")
        assert "Speak plainly." in model.chats[0].text and "Test first." in model.chats[0].text


@pytest.mark.slow
async def test_what_somebody_denies_is_told_as_theirs_and_is_no_open_error(tmp_path: Path) -> None:
    def fire(cone: int) -> str:
        raise AssertionError(cone)

    def deny(_: object, output: object) -> None:
        output.status = "deny"  # type: ignore[attr-defined]

    board = tmp_path / "hud.db"
    rules = [PermissionRule("fire", "*", "ask"), PermissionRule("bash", "*", "ask")]
    for name, plugins, words in (
        ("plugin", [("strict", {"permission_ask": deny})], "a plugin said no"),
        ("nobody", [], "nobody is there to be asked"),
    ):
        calls = (ScriptedCall("fire", {"cone": 6}), ScriptedCall("bash", {"command": "make fire"}))
        model = InProcessModel([uses(*calls), says("done")])
        place = tmp_path / name
        place.mkdir()
        plugins = [("hud", hud_plugin(board)), *plugins]
        async with opened(place, model, tools=[fire], permissions=rules, plugins=plugins) as loop:
            await loop.prompt("Fire the kiln.")
            await loop.prompt("And now?")
            denied = [part.error for part in loop.messages[1].parts if isinstance(part, StoredCall)]
            assert len(denied) == 2 and all(words in error for error in denied)
            assert "Open Errors" not in model.chats[-1].text
    with Hud.open(board) as hud:
        assert [hud.session(key).state.errors.open for key in hud.sessions()] == [()] * len(hud.sessions())


@pytest.mark.slow
async def test_what_other_plugins_want_kept_is_asked_for_with_the_hud_on(tmp_path: Path) -> None:
    def keep(_: object, output: object) -> None:
        output.context.append("Keep the number of the ticket: K-17.")  # type: ignore[attr-defined]

    plugins = [("hud", hud_plugin(tmp_path / "hud.db")), ("mine", {"session_compacting": keep})]
    for order in (plugins, plugins[::-1]):
        model = InProcessModel()
        place = tmp_path / order[0][0]
        place.mkdir()
        async with opened(place, model, plugins=order) as loop:
            for prompt in ("look", "look again", "and again"):
                await loop.prompt(prompt)
            await loop.compact()
            (request,) = model.of("compaction")
            assert "K-17" in request.text and "heads-up display" in request.text.lower()


@pytest.mark.parametrize(("name", "kind"), [("qwen2.5-coder-7b", "decision.record"), ("gpt-5", "constraint.add")])
async def test_a_small_models_record_goes_where_its_user_said(tmp_path: Path, name: str, kind: str) -> None:
    record = ScriptedCall("hud", {"operation": "constraints.add", "text": "JSON lines for the queue"})
    model = InProcessModel([uses(record)], name=name)
    log = tmp_path / "log" / "hud.db"
    async with opened(tmp_path, model, plugins=[("hud", hud_plugin(log))]) as loop:
        await loop.prompt("We agreed on JSON lines for the queue, write that down.")
        with Hud.open(log) as hud:
            events = [event for event in hud.session(loop.id).events() if event.origin == "agent"]
    assert [event.type for event in events if event.type.split(".")[0] in ("decision", "constraint")] == [kind]
