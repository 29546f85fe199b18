"""Whatever a model answers: each action is applied or refused alone, and what is refused is told and not lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import Simulation, run

from hudkit.compose.formats import toon
from hudkit.errors import FormatError
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.actions import ACTIONS, execute_reply
from hudkit.rooms.architect import Architect
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.players import ScriptedPlayer
from hudkit.rooms.players.player import BeatReply
from hudkit.rooms.reply_parser import parse_reply
from hudkit.rooms.world_log import WorldLog
from strategies import texts

NOW = 1_800_000_000_000
FIELDS = {name: one.arguments.__struct_fields__ for name, one in ACTIONS.items()} | {
    "send_message": ("room_id", "message", "content", "reply_to")
}
RENDERER = CachedRenderer()

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts.filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
PLAUSIBLE: list[Any] = [
    *(
        0,
        1,
        2,
        3,
        4,
        "1",
        "2",
        -1,
        80,
        "80",
        0.5,
        1.0,
        2**63,
        "",
        None,
        True,
        [],
        {},
        "30%",
        "%*",
        "@Bob",
        "x" * 5000,
    ),
    *(
        "goals",
        "goals.0",
        "people.Bob",
        "a..b",
        "thumbs_up",
        "persona",
        "bot",
        "Ann",
        "Dora",
        "[no response]",
        "friends",
    ),
    *(
        "2090-01-01T00:00:00",
        "2000-01-01T00:00:00Z",
        {"v": 1, "w": 0.5},
        {"v": 1, "w": 2},
        "hudroom_" + "0" * 48,
        "\n",
    ),
]
values = st.sampled_from(PLAUSIBLE) | anything


@st.composite
def actions(draw: st.DrawFn) -> dict[str, Any]:
    """An action with most of its fields, likely and unlikely ones."""
    name = draw(st.sampled_from(sorted(FIELDS)))
    some = {field: draw(values) for field in FIELDS[name] if draw(st.integers(0, 9))}
    odd = draw(
        st.dictionaries(st.sampled_from(["as_user", "origin", "agent", "timestamp", "refused"]), values, max_size=1)
    )
    kind: Any = name if draw(st.integers(0, 19)) else draw(values)
    return {"type": kind, **some, **odd}


def busy() -> WorldLog:
    """Two agents in both of their rooms, who know something, with a key and a request."""
    world_log = WorldLog.in_memory(clock=lambda: NOW, secret=lambda: "0" * 48)
    architect = Architect(world_log)
    for name in ("Ann", "Bob", "Cid"):
        architect.make_agent("persona", name, "x", "m", can_create=True)
    architect.admit(2, 1)
    architect.admit(1, 2)
    architect.say(1, "Hello")
    architect.teach(1, "goals", ["rest"])
    key = architect.make_key(1, "friends")
    with world_log.transaction(Origin.AGENT) as transaction:
        ask = {"type": "request_access", "room_id": 1, "key": key}
        execute_reply(transaction, world_log.world, 3, 1, parse_reply(json.dumps({"actions": [ask]})), NOW)
    return world_log


@pytest.mark.slow
@given(st.lists(actions(), min_size=1, max_size=4))
def test_any_arguments_are_applied_or_refused_with_a_reason_and_the_others_unaffected(
    given_: list[dict[str, Any]],
) -> None:
    world_log = busy()
    before = world_log.world.seq
    batch = [one for n, it in enumerate(given_) for one in ({"type": "set", "path": f"n{n}", "value": n}, it)]
    reply = parse_reply(json.dumps({"actions": [*batch, {"type": "set", "path": "end", "value": True}]}))
    with world_log.transaction(Origin.AGENT) as transaction:
        execute_reply(transaction, world_log.world, 1, 1, reply, NOW)
    told = [what for _, what in world_log.events(before)]
    knowledge = world_log.world.agents[1].knowledge
    assert knowledge["end"] is True and all(knowledge[f"n{n}"] == n for n in range(len(given_)))
    for what in told:
        if isinstance(what, e.ActionRefused):
            assert len(what.why) > 10 and "Traceback" not in what.why and "hudroom_" not in what.why
    judged = sum(isinstance(what, e.ActionApplied | e.ActionRefused) for what in told)
    silent = sum(it["type"] == "send_message" for it in given_)
    assert judged >= len(batch) + 1 - silent
    assert world_log.world == WorldLog(world_log.log).world
    for agent in world_log.world.agents.values():
        seen = build_agent_hud(world_log.world, agent.id, NOW, RENDERER)
        assert seen.tokens <= seen.limit


@pytest.mark.slow
@given(actions())
def test_the_same_in_toon(action: dict[str, Any]) -> None:
    world_log = busy()
    try:
        text = toon.encode({"actions": [action]})
    except FormatError:  # there are values that TOON has no words for
        return
    reply = parse_reply(text, "toon")
    before = world_log.world.seq
    with world_log.transaction(Origin.AGENT) as transaction:
        execute_reply(transaction, world_log.world, 1, 1, reply, NOW)
    told = [what for _, what in world_log.events(before)]
    assert told or action["type"] == "send_message"
    assert world_log.world == WorldLog(world_log.log).world


# -- bad replies, through a real beat --------------------------------------------------------------------------

GOOD = {"type": "set", "path": "a", "value": 1}
BAD = {
    "talk": ("I would rather not say.", "no {...}"),
    "cut off": (json.dumps({"actions": [GOOD, GOOD]})[:-9], "JSON"),
    "not a number": ('{"actions": [{"type": "set", "path": "a", "value": NaN}]}', "NaN"),
    "infinity": ('{"actions": [{"type": "set", "path": "a", "value": -Infinity}]}', "Infinity"),
    "a key twice": ('{"actions": [], "actions": []}', "twice"),
    "nested deeply": ('{"actions": ' + "[" * 40_000 + "]" * 40_000 + "}", "nested"),
    "huge": ("x" * 2_000_000, "2000000 characters"),
    "a list": ("[1, 2, 3]", "no {...}"),
    "a bare action": (json.dumps(GOOD), 'neither "responses" nor "actions"'),
    "control characters": ("\x00\x1b[2J\x07\u202e", "no {...}"),
    "the wrong types": ('{"actions": [{"type": "set", "path": 5, "value": 1}]}', "Expected `str`, got `int`"),
    "a number that is too large": (
        '{"actions": [{"type": "set", "path": "a", "value": 99999999999999999999}]}',
        "too large",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("output_format", ["json", "toon"])
def test_a_bad_reply_is_in_the_log_and_refused_in_the_next_hud(
    text: str, said: str, output_format: str, tmp_path: Path
) -> None:
    player = ScriptedPlayer({1: [text]})
    sim = Simulation(player, "Ann", path=tmp_path / "world.db", output_format=output_format)
    assert run(sim.runner.step(1)) == 1
    assert [what.text for what in sim.events_of(e.ReplyReceived)] == [text]
    assert sim.world_log.world.agents[1].knowledge == {}
    assert run(sim.runner.step(1)) == 1
    shown = player.prompts[-1].hud.document["self"]["recent_actions"][-1]["refused"]
    assert said in shown or (output_format == "toon" and "not readable as TOON" in shown)
    assert shown in player.prompts[-1].hud.text or "\\" in player.prompts[-1].hud.text
    sim.world_log.close()


def test_toon_that_miscounts_is_told_to_its_agent() -> None:
    player = ScriptedPlayer({1: ["actions[2]{type,path,value}:\n  set,a,1"]})
    sim = Simulation(player, "Ann", output_format="toon")
    run(sim.runner.step(1))
    run(sim.runner.step(1))
    refused = player.prompts[-1].hud.document["self"]["recent_actions"][-1]["refused"]
    assert "Declared length 2 but found 1" in refused and sim.world_log.world.agents[1].knowledge == {}


def test_an_answer_that_was_cut_off_is_logged_and_its_agent_is_told_that_nothing_was_done() -> None:
    text = json.dumps({"actions": [GOOD]})
    player = ScriptedPlayer({1: [BeatReply(text, "the answer was cut off")]})
    sim = Simulation(player, "Ann")
    run(sim.runner.step(1))
    run(sim.runner.step(1))
    assert sim.events_of(e.ReplyReceived)[0].text == text
    assert sim.world_log.world.agents[1].knowledge == {}
    refused = player.prompts[-1].hud.document["self"]["recent_actions"][-1]["refused"]
    assert refused == "Nothing of your answer was done: the answer was cut off."


def test_half_a_character_is_the_only_thing_that_a_log_does_not_keep() -> None:
    sim = Simulation(ScriptedPlayer({1: ['{"responses": [{"room_id": 1, "message": "\ud83d"}]}']}), "Ann")
    run(sim.runner.step(1))
    (replied,) = sim.events_of(e.ReplyReceived)
    assert replied.text.startswith('{"responses": [{"room_id": 1, "message": "')
    assert "surrogate" in sim.events_of(e.ActionRefused)[0].why and not sim.world_log.world.rooms[1].messages
