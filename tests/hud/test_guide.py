"""Small models are told which operation is for what, where the base has room for that and for all facts."""

from __future__ import annotations

import re

import pytest

from hudkit.api import Hud, HudSession
from hudkit.config import BudgetSettings, Settings
from hudkit.hud.frame import Frame
from hudkit.tools import OPERATIONS

LARGE, SMALL, UNKNOWN = "claude-sonnet-4-5", "qwen2.5-coder-7b-instruct", "our-fine-tune-v3"
BEGINS = "Choose the operation"


def session(settings: Settings | None = None) -> HudSession:
    s = Hud.in_memory(settings=settings).session("s")
    s.call("task.set", {"description": "Port the importer"})
    for n in range(12):
        s.call("constraints.add", {"text": f"rule {n}: never touch table {n}"})
        s.call("decisions.record", {"summary": f"column {n} is text", "details": f"export {n} has letters"})
        s.call("notes.add", {"content": f"file {n} has {n}00 rows"})
    return s


def frame(s: HudSession, model: str, budget: int = 1_500) -> Frame:
    return s.frame(1_000, 200_000, model=model, budget=budget, placement="system")


@pytest.mark.parametrize(
    ("guide", "told"),
    [("auto", {SMALL, "ollama/llama3"}), ("always", {SMALL, "ollama/llama3", LARGE, UNKNOWN}), ("never", set())],
)
def test_who_is_told_is_a_setting(guide: str, told: set[str]) -> None:
    for model in (SMALL, "ollama/llama3", LARGE, UNKNOWN):
        s = session(Settings(budget=BudgetSettings(guide=guide)))
        assert (BEGINS in frame(s, model).base) == (model in told), model


@pytest.mark.parametrize("budget", range(60, 900, 35))
def test_it_takes_the_place_of_nothing(budget: int) -> None:
    with_guide, without = (
        frame(session(Settings(budget=BudgetSettings(guide=guide))), SMALL, budget) for guide in ("always", "never")
    )
    assert [each.path for each in with_guide.omitted] == [each.path for each in without.omitted]
    assert with_guide.tokens <= budget
    assert not (with_guide.omitted and BEGINS in with_guide.base)


def test_half_of_what_is_left_for_changes_is_room_for_it() -> None:
    """22 items in a window of 32k tokens; without the guide most of a 1.5B model's calls were wrong."""
    s = Hud.in_memory().session("s")
    s.call("task.set", {"description": "Port the importer to the new ledger format"})
    for n in range(7):
        s.call("constraints.add", {"text": f"The importer never touches table {n} of the ledger"})
        s.call("decisions.record", {"summary": f"Column {n} of the export stays text"})
        s.call("notes.add", {"content": f"The test file {n} has {n + 1}00 rows of old postings"})
    base = s.frame(1_000, 32_768, model=SMALL)
    assert BEGINS in base.base and not base.omitted


def test_every_operation_that_it_names_can_be_called() -> None:
    base = frame(session(), SMALL).base
    named = set(re.findall(r"\b[a-z]+\.[a-z]+\b", base[base.index(BEGINS) :]))
    assert len(named) == 19 and named <= set(OPERATIONS)
