"""The day with a real small model, played by a scripted one: what is judged, and what must be true."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from bench.real_model.day import DAY, RealDay

from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


def _hud(operation: str, **arguments: object) -> ScriptedReply:
    return uses(ScriptedCall("hud", {"operation": operation, **arguments}))


def test_a_model_that_does_nothing_changes_nothing_of_what_must_be_true(tmp_path: Path) -> None:
    with ScriptedModel() as model:
        model.play(*(says("I see.") for step in DAY if step.words not in ("undo", "compact", "restart")))
        day = RealDay(tmp_path, model.url, "gpt-4.1")
        asyncio.run(day.run())
    assert not day.wrong and not any(day.did)


def test_what_a_model_does_is_seen(tmp_path: Path) -> None:
    with ScriptedModel() as model:
        model.play(
            _hud("task.set", text="Make the total right"), says("Noted."),
            _hud("decisions.record", text="Integers only", details="sums of floats drift"), says("Noted."),
            _hud("steps.add", text=["Mend add()", "Run the test"]), says("Noted."),
            uses(ScriptedCall("read", {"path": "calc.py"})),
            uses(ScriptedCall("edit", {"path": "calc.py", "old": "a - b", "new": "a + b"})), says("Mended."),
            says("It is Rust now."),
            says("test_shop.py."),
            says("Integers, since sums of floats drift."),
        )  # fmt: skip
        day = RealDay(tmp_path, model.url, "gpt-4.1")
        asyncio.run(day.run())
    assert not day.wrong and all(day.did) and len(day.did) == 6
