"""The HUD through compactions of real OpenCode: however they come about, the next base says all that is live."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hud_seen import hud
from opencode_host import Hosts, OpenCode

from hudkit.context.caching import CallCost
from hudkit.context.compaction.summaries import SUMMARY_PARTS, summary_prompt
from hudkit.hosts.opencode.plugin.plugin_source import SUMMARIZER_PROMPT
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import CONTEXT_EXCEEDED, ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import hud_base, prefix_breaks
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

both_shapes = pytest.mark.parametrize("shape", ["openai", "anthropic"])

PASSES = 36_500
"""Tokens of a prompt that passes the limit: 40,000 less 4,000 for an answer."""

LIVE = {
    "Task": ["Rename the parser; keep its errors' wording"],
    "Constraints": ["- The public API stays as it is, names included"],
    "⚠ Blockers": ["- No key for the staging database (asked on Monday)"],
    "Next Steps": ["1. Write the tests of the reader", "2. Move the reader, 3 files"],
    "Decisions": ["- Sign with ES256: keys are short"],
    "Notes": ["- Tabs are four wide, not eight"],
}
"""What a base says under each heading after `FIRST`."""

GONE = (
    "Rename everything",
    "Nothing is renamed twice",
    "Sign with RS256",
    "Ask the users",
    "Tabs are eight wide",
    "Colours are off",
    "The build is red",
)
"""What was replaced or removed in `FIRST`."""


FIRST = (
    uses(hud("task.set", description="Rename everything"), hud("blockers.add", description="The build is red")),
    uses(
        hud("constraints.add", text="Nothing is renamed twice"),
        hud("decisions.record", summary="Sign with RS256"),
        hud("notes.add", content="Tabs are eight wide"),
        hud("steps.add", description="Ask the users"),
    ),
    uses(
        hud("steps.add", description="Write the tests of the reader"),
        hud("notes.add", content="Colours are off"),
        hud("constraints.add", text="The public API stays as it is, names included"),
    ),
    uses(
        hud("task.set", description="Rename the parser; keep its errors' wording"),
        hud("constraints.remove", id="Nothing is renamed twice"),
        hud("decisions.record", summary="Sign with ES256: keys are short", supersedes="Sign with RS256"),
        hud("steps.remove", id="Ask the users"),
        hud("steps.add", description="Move the reader, 3 files"),
        hud("notes.update", id="Tabs are eight wide", content="Tabs are four wide, not eight"),
        hud("notes.remove", id="Colours are off"),
        hud("blockers.remove", id="The build is red"),
        hud("blockers.add", description="No key for the staging database (asked on Monday)"),
    ),
)
"""A turn's steps that set every kind of item, and take back or replace one of each."""


DONE = "Done before the compaction, do not repeat without need "


def sections(base: str) -> dict[str, list[str]]:
    """The lines under each heading of a base, without the count that a heading ends in; what was done is a line."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in filter(None, base.splitlines()):
        if line.startswith(DONE):
            found["Done"] = [line.removeprefix(DONE)]
            continue
        if line.startswith("#"):
            title = re.sub(r" \(\d+\)$", "", line.lstrip("# "))
            assert title not in found, base
        found.setdefault(title, []).extend([] if line.startswith("#") else [line])
    return found


def held(base: str, titles: dict[str, list[str]] = LIVE) -> dict[str, list[str]]:
    """What a base says under the given headings."""
    return {title: sections(base).get(title, []) for title in titles}


def is_ours(compaction: CapturedRequest) -> None:
    """A compaction's request has our two prompts, none of the host's, and nothing of a frame besides."""
    assert "another agent" not in compaction.text.lower()
    assert any(text.startswith(SUMMARIZER_PROMPT) for text in compaction.system)
    assert not any("HUD" in text for text in compaction.system)
    assert summary_prompt("").partition("\n")[0] in compaction.text
    assert [title for title, _ in SUMMARY_PARTS if f"\n## {title}\n" not in compaction.text] == []
    assert compaction.text.count("<hud>") == 1
    assert "Context: " not in compaction.text


def told_in(compaction: CapturedRequest) -> str:
    """The HUD that a compaction's prompt shows."""
    return compaction.text.partition("<hud>")[2].partition("</hud>")[0]


Compact = Callable[[OpenCode, str, ScriptedModel], None]
"""Brings a session to a compaction, and to the answer of the chat call after it."""


def full(host: OpenCode, session: str, model: ScriptedModel) -> None:
    """A turn whose answer passes the limit, and the turn that goes on by itself."""
    model.play(says("that was much", used=PASSES), says("going on"))
    host.prompt(session, "much work")


def full_in_a_turn(host: OpenCode, session: str, model: ScriptedModel) -> None:
    """The limit is passed by a tool step in the middle of a turn."""
    call = ScriptedCall("bash", {"command": "seq 1 5", "description": "count"})
    model.play(ScriptedReply(calls=(call,), usage=CallCost(0, 0, PASSES, 10)), says("going on"))
    host.prompt(session, "much work")


def asked_for(host: OpenCode, session: str, model: ScriptedModel) -> None:
    assert host.summarize(session)
    model.play(says("going on"))
    host.prompt(session, "go on")


def refused(host: OpenCode, session: str, model: ScriptedModel) -> None:
    model.play(CONTEXT_EXCEEDED, says("going on"))
    host.prompt(session, "too much")


@both_shapes
@pytest.mark.parametrize("compact", [full, full_in_a_turn, asked_for, refused])
def test_the_base_after_a_compaction_says_all_that_is_live(
    opencode: Hosts, model: ScriptedModel, plugin: Path, compact: Compact, shape: str
) -> None:
    host = opencode(shape=shape, plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(*FIRST, says("noted"))
    host.prompt(session, "begin")
    before = model.chats
    assert prefix_breaks(before) == []

    compact(host, session, model)
    (compaction,) = model.wait("compaction")
    is_ours(compaction)
    lines = [re.sub(r"^(?:-|\d+\.) ", "", line) for said in LIVE.values() for line in said]
    assert [line for line in lines if line not in told_in(compaction)] == []

    model.play(says("and on"))
    host.prompt(session, "and on")
    after = [chat for chat in model.chats if chat.number > compaction.number]
    assert len(after) == 2
    assert held(hud_base(after[0])) == LIVE
    assert sections(hud_base(after[0])).get("Done", []) == ["(1): `seq 1 5` ok"] * (compact is full_in_a_turn)
    assert [text for text in GONE if text in hud_base(after[0])] == []
    assert hud_base(after[0]) != hud_base(before[-1])
    assert prefix_breaks(after) == [], "one epoch begins with a compaction, not two"
    assert model.left == 0


def test_five_compactions_in_a_row_lose_nothing(opencode: Hosts, model: ScriptedModel, plugin: Path) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.compaction = lambda request: says(f"Summary number {len(model.of('compaction'))}, in my own words.")
    model.play(*FIRST, says("noted"))
    host.prompt(session, "begin")
    live = dict(LIVE)
    for n in range(1, 6):
        note = f"Round {n} came to {n * 37} rows"
        model.play(
            uses(hud("notes.add", content=note), hud("decisions.record", summary=f"Column {n} stays")),
            says("that was much", used=PASSES),
            says("going on"),
        )
        host.prompt(session, f"round {n}")
        compactions = model.of("compaction")
        assert len(compactions) == n
        is_ours(compactions[-1])
        assert [m for m in range(1, n + 1) if f"Round {m} came to" not in told_in(compactions[-1])] == []
        if n > 1:
            assert f"Summary number {n - 1}, " in compactions[-1].text
        live["Notes"] = [*live["Notes"], f"- {note}"]
        live["Decisions"] = [*live["Decisions"], f"- Column {n} stays"]
        base = hud_base(model.chats[-1])
        assert {title: sorted(said) for title, said in held(base).items()} == {
            title: sorted(said) for title, said in live.items()
        }
        assert held(base)["Next Steps"] == LIVE["Next Steps"]
        assert [text for text in GONE if text in base] == []
        assert f"Summary number {n}, " not in base and model.chats[-1].text.count(f"Summary number {n}, ") == 1
    assert "5 compactions: memory compactions" in base
    assert model.left == 0


def test_what_is_taken_back_between_compactions_does_not_come_back(
    opencode: Hosts, model: ScriptedModel, plugin: Path
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(*FIRST, says("that was much", used=PASSES), says("going on"))
    host.prompt(session, "begin")
    assert held(hud_base(model.chats[-1])) == LIVE
    model.play(
        uses(
            hud("decisions.record", summary="Sign with EdDSA", supersedes="Sign with ES256: keys are short"),
            hud("steps.complete", id="Write the tests of the reader"),
            hud("blockers.remove", id="No key for the staging database"),
            hud("notes.remove", id="Tabs are four wide"),
            hud("constraints.remove", id="The public API"),
        ),
        says("that was much", used=PASSES),
        says("going on"),
    )
    host.prompt(session, "go on")
    model.play(says("that was much", used=PASSES), says("going on"))
    host.prompt(session, "and on")
    assert len(model.of("compaction")) == 3
    last = hud_base(model.chats[-1])
    expected = {title: [] for title in LIVE} | {"Task": LIVE["Task"], "Decisions": ["- Sign with EdDSA"]}
    steps = sections(last)["Next Steps"]
    assert held(last, expected) | {"Next Steps": []} == expected
    assert steps == ["1. Move the reader, 3 files"]
    assert sections(last)["Done"] == ["(1): step: Write the tests of the reader"]
    assert [text for text in (*GONE, "ES256", "staging", "four wide", "public API") if text in last] == []
