"""What the HUD says in real OpenCode: each thing once, in words that a reader can use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hud_seen import hud
from opencode_host import Hosts

from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.assertions import delta_lines, hud_base
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

REQUEST = "Our billing service must get multi-currency invoices. Never use floats for money."
STATED = "Never use floats for money; Decimal only"


def test_requests_rules_summaries_and_sub_agents_are_told_once(
    opencode: Hosts, model: ScriptedModel, plugin: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create()
    child = ScriptedCall("task", {"description": "look", "prompt": "Look around.", "subagent_type": "general"})
    model.play(
        uses(hud("constraints.add", text=STATED), hud("decisions.record", summary="Round half up")),
        uses(hud("decisions.record", summary="Round half to even", supersedes="Round half up")),
        says("begun"),
    )
    host.prompt(session, REQUEST)
    first = hud_base(model.chats[0])
    assert f"{REQUEST} (from the first message)" in first, "and not a title of a model's whim"
    assert "- Never use floats for money (derived)" in first and "- Our billing" not in first
    model.play(uses(child), says("nothing there"), says("looked"))
    host.prompt(session, "Let somebody look around, please.")
    assert host.summarize(session)
    model.play(says("done"))
    host.prompt(session, "Go on, please.")
    last = model.chats[-1]
    base = hud_base(last)
    assert [line for line in base.splitlines() if "floats" in line and "from the first" not in line] == [
        f"- {STATED}"
    ]
    assert last.text.count("A scripted summary.") == 1, "where OpenCode has it, and not in the HUD, too"
    assert "one sub-agent" in base and "ses_" not in base
    assert "- Round half to even" in base and "half up" not in base


def test_a_change_names_the_decision_that_it_replaces(opencode: Hosts, model: ScriptedModel, plugin: Path) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(says("yes"), says("yes"))
    host.prompt(session, "Let's go with Redis for the queue.")
    host.prompt(session, "Let's go with Kafka for the queue instead of Redis.")
    kafka, redis = "Let's go with Kafka for the queue instead of Redis", "Let's go with Redis for the queue"
    assert delta_lines(model.chats[-1]) == [f"decision: {kafka} (derived) (replaces: {redis} (derived))"]
