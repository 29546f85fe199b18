"""What the user has set in the configuration file has its effect in our own loop, as it has in other hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudkit import config
from hudkit.agent import AgentLoop, LoopOptions, LoopSettings, PermissionRule, hud_plugin
from hudkit.config import CompactionSettings
from hudkit.context.caching import CallCost
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Window

pytestmark = pytest.mark.anyio


async def played(folder: Path, settings: str, model: InProcessModel, prompts: int = 1) -> list[str]:
    """The types of the events of so many prompts, in a loop with the user's settings (TOML)."""
    user = folder / "config.toml"
    user.write_text(settings)
    options = LoopOptions(
        settings=LoopSettings.from_user_settings(config.load(user).settings),
        permissions=[PermissionRule("bash", "*", "allow")],
        plugins=[("hud", hud_plugin(folder / "data" / "hudkit.db"))],
    )
    project = folder / "project"
    project.mkdir()
    loop = await AgentLoop.open(project, model, data=folder / "data", options=options)
    try:
        events = loop.events()
        for _ in range(prompts):
            ended = await loop.prompt("work through it")
            assert ended.reason == "done", ended.error
        return [type(event).__name__ for event in events.take()]
    finally:
        await loop.close()


def used(tokens: int) -> ScriptedReply:
    """A step of work after which so many tokens of the window are in use."""
    return ScriptedReply("a step", (ScriptedCall("bash", {"command": "true"}),), usage=CallCost(0, 0, tokens, 10))


@pytest.mark.parametrize(
    ("settings", "compactions"),
    [("", 2), ("[compaction]\nmin_freed_percent = 10\n", 2), ("[compaction]\nmin_freed_percent = 40\n", 1)],
)
@pytest.mark.slow
async def test_a_compaction_that_frees_less_than_the_user_wants_is_not_repeated(
    tmp_path: Path, settings: str, compactions: int
) -> None:
    # 95 % of the window, then 70 %: the compaction has freed a quarter, more than the default and less than 40 %
    model = InProcessModel(
        (used(9_500), used(7_000), used(9_500), ScriptedReply("done", usage=CallCost(0, 0, 3_000, 10))),
        window=Window(10_000, 500, None, "host"),
    )
    events = await played(tmp_path, settings, model)
    assert events.count("CompactionFinished") == compactions


def test_the_bound_of_a_useful_compaction_is_defined_once() -> None:
    assert LoopSettings().frees == CompactionSettings().min_freed_percent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "pruned"),
    [
        ("", False),
        ("[pruning]\nenabled = true\n", True),
        ('[pruning]\nenabled = true\ntools = ["grep"]\n', True),
        ('[pruning]\nenabled = true\ntools = ["ba*"]\n', False),
        ("[pruning]\nenabled = true\nprotected_tokens = 40000\n", False),
        ("[pruning]\nenabled = true\nmin_used_percent = 99\n", False),
    ],
)
async def test_old_outputs_leave_the_window_as_the_user_wants(tmp_path: Path, settings: str, pruned: bool) -> None:
    number = 0

    def answer(_: object) -> ScriptedReply:
        nonlocal number
        number += 1
        if number > 8 and number % 2:
            return ScriptedReply("done")
        lines = 2500 if number < 9 else 3
        return ScriptedReply("more", (ScriptedCall("bash", {"command": f"seq {lines}; echo {number}"}),))

    model = InProcessModel(answer, window=Window(40_000, 2_000, None, "host"))
    events = await played(tmp_path, "[overflow]\nauto = false\n" + settings, model, prompts=14)
    assert ("OutputsPruned" in events) is pruned
    assert ("[pruned: bash" in str(model.port_requests[-1].messages)) is pruned
