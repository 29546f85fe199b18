"""A HUD goes on from its base: the beat after begins with the same bytes, nothing that it says is untrue, and it can
be composed again from the log."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from simulations import Simulation, run
from test_pacing import TEXT, hall, ignores, obeys

from hudkit.compose.formats import compact, json_text, toon
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import AgentHud, CachedRenderer, build_agent_hud
from hudkit.rooms.hud.anchored_hud import merge_present
from hudkit.rooms.hud.format_savings import measure_savings
from hudkit.rooms.hud.notations import NEWS_COLUMNS, SHORT_NAMES, decode_compact_hud
from hudkit.rooms.players import ScriptedPlayer
from hudkit.rooms.scheduler import WorldRunner
from hudkit.rooms.world import TokenRules, WorldRules
from hudkit.rooms.world_replay import replay_log

FORMATS = ("json", "compact", "toon")
RENDERER = CachedRenderer()


def common_beginning(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[:middle]) else (low, middle - 1)
    return low


def read_wire(hud: AgentHud) -> dict[str, Any]:
    """What a HUD's text says, in one form for all formats."""
    if hud.format == "json":
        wire = json.loads(hud.text)
    elif hud.format == "compact":
        wire = decode_compact_hud(hud.text)
    else:
        wire = toon.decode(hud.text, even=True)
        wire["news"] = [
            {"id": int(id), **{name: cell for name, cell in zip(NEWS_COLUMNS, cells) if cell is not None}}
            for id, cells in wire["news"].items()
        ]
    return dict(wire)


def lively(prompt: Any) -> dict[str, Any]:
    """Speaks in its rooms, notes, reacts, and sometimes changes what stands in bases."""
    chance = random.Random(f"{prompt.agent}/{prompt.number}")
    rooms = prompt.hud.document["rooms"]
    room = chance.choice(rooms)
    actions: list[dict[str, Any]] = []
    if prompt.number % 2:
        actions.append({"type": "set", "path": f"notes.n{prompt.number % 5}", "value": chance.choice(TEXT.split())})
    if prompt.number % 5 == 0:
        actions.append({"type": "delete", "path": f"notes.n{prompt.number % 3}"})
    if room["messages"] and chance.random() < 0.4:
        actions.append({"type": "react", "message_id": room["messages"][-1]["id"], "reaction": "brain"})
    if prompt.model != "settled" and chance.random() < 0.03:
        actions.append({"type": "set_name", "name": f"Agent {prompt.agent} of {prompt.number}"})
    if prompt.model != "settled" and chance.random() < 0.03:
        actions.append({"type": "set_billboard", "message": " ".join(chance.choices(TEXT.split(), k=6))})
    words = " ".join(chance.choices(TEXT.split(), k=chance.randint(4, 30)))
    return {"responses": [{"room_id": room["id"], "message": words}], "actions": actions}


def village(format_: Any = "json", model: str = "scripted", **rules: Any) -> Simulation:
    """Five agents, each with a room of its own; all are in the first one's, some in others'."""
    names = ("Ann", "Bo", "Cy", "Di", "Ed")
    world_rules = WorldRules(**rules)
    sim = Simulation(ScriptedPlayer(lively), *names, rules=world_rules, input_format=format_, model=model)
    for agent, room in ((3, 2), (4, 2), (5, 3), (1, 3)):
        sim.architect.admit(agent, room)
    return sim


def huds_of(sim: Simulation, agent: int) -> list[AgentHud]:
    return [prompt.hud for prompt in sim.players.of(sim.model).prompts if prompt.agent == agent]


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_a_hud_begins_with_all_of_the_one_before_but_its_present(format_: str) -> None:
    sim = village(format_)
    sim.run(200)
    went_on = 0
    for agent in range(1, 6):
        for before, after in zip(huds_of(sim, agent), huds_of(sim, agent)[1:]):
            shared = common_beginning(before.text, after.text)
            if after.base:
                assert shared >= after.stable
                continue
            went_on += 1
            assert shared >= before.anchors[1], "up to the end of its news"
            assert before.anchors[0] == after.anchors[0] > after.stable
    assert went_on > 100


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_its_text_says_its_document_and_its_tokens_are_counted_exactly(format_: str) -> None:
    sim = village(format_, tokens=TokenRules(total=4_000, messages=1_500, static=2_800))
    sim.run(120)
    for hud in (prompt.hud for prompt in sim.players.of(sim.model).prompts):
        assert merge_present(read_wire(hud)) == hud.document
        assert hud.tokens == RENDERER.counter.count(hud.text) <= hud.limit
        assert sum(section.tokens for section in hud.sections) == hud.tokens
        # In pieces that are kept from beat to beat, but the same as if it were written in one go.
        assert format_ != "json" or json_text.encode(json.loads(hud.text)) == hud.text


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_that_it_shows_is_untrue(format_: str) -> None:
    """What a HUD that went on says is what a HUD with a new base says, as far as that reaches back."""
    sim = village(format_)
    for _ in range(60):
        sim.run(2)
        world, now = sim.world_log.world, sim.runner.now()
        for agent in range(1, 6):
            seen = build_agent_hud(world, agent, now, RENDERER).document
            fresh = build_agent_hud(world, agent, now, RENDERER, base=3_000).document
            assert {**seen["self"], "knowledge": 0} == {**fresh["self"], "knowledge": 0}
            assert seen["self"]["knowledge"] == fresh["self"]["knowledge"]
            for one, other in zip(seen["rooms"], fresh["rooms"], strict=True):
                assert {**one, "messages": 0} == {**other, "messages": 0}
                shared = min(len(one["messages"]), len(other["messages"]))
                assert one["messages"][-shared:] == other["messages"][-shared:] or not shared
            names = {str(id): agent.name for id, agent in world.agents.items()}
            assert all(names[id] == name for id, name in seen["people"].items() if id != "0")


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_a_replay_composes_the_same_bytes(format_: str) -> None:
    sim = village(format_)
    sim.run(150)
    report = replay_log(sim.world_log)
    assert report.sound and report.same == report.beats == 150
    assert 0 < sum(bool(beat.base) for beat in sim.events_of(e.BeatBegun)) < 100


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_a_process_that_is_started_again_goes_on_from_the_same_base(format_: str) -> None:
    """It has written none of the messages of the base yet, and more than a screenful were posted since."""
    sim = village(format_)
    sim.run(150)
    for _ in range(4):
        for agent in range(1, 6):
            world, now = sim.world_log.world, sim.runner.now()
            seen = build_agent_hud(world, agent, now, RENDERER)
            assert build_agent_hud(world, agent, now, CachedRenderer()).text == seen.text
        for n in range(12):
            sim.architect.say(1, f"Message {n}")


class _CountingRenderer(CachedRenderer):
    """Counts how often a room's messages are chosen: as often as bases are written."""

    choices = 0

    def first_within(self, *args: Any, **named: Any) -> int:
        self.choices += 1
        return super().first_within(*args, **named)


def test_a_base_is_not_written_again_for_the_beat_behind_it() -> None:
    sim = village()
    renderer = _CountingRenderer()
    sim.runner = WorldRunner(sim.world_log, sim.players, clock=sim.clock, renderer=renderer)
    sim.architect.say(1, "Good morning.")

    async def beat_twice() -> None:
        for number in range(2):
            assert await sim.runner.step(1) == 1
            choices.append(renderer.choices)
            sim.clock.advance(60)
            sim.architect.say(1, f"Message {number}")

    choices: list[int] = []
    asyncio.run(beat_twice())
    first, second = sim.events_of(e.BeatBegun)
    assert first.base and not second.base
    assert choices[0] == choices[1] > 0


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.slow
def test_an_agent_can_name_everybody_whom_it_sees(format_: str) -> None:
    sim = Simulation(ScriptedPlayer(lively), *(f"Name{n}" for n in range(12)), input_format=format_)
    sim.run(60)
    sim.architect.remove(4, 1)
    sim.architect.say(1, "Who was that?")
    sim.run(20)
    world = sim.world_log.world
    for agent in world.agents:
        seen = build_agent_hud(world, agent, sim.runner.now(), RENDERER).document
        shown = {id for room in seen["rooms"] for id in room["members"]}
        shown |= {row["sender"] for room in seen["rooms"] for row in room["messages"]}
        assert {id for id in shown if id.isdecimal()} <= seen["people"].keys()
        assert seen["people"].get("7") in (None, world.agents[7].name)


@pytest.mark.parametrize("format_", ["compact", "toon"])
def test_recent_actions_have_seconds_also_where_times_are_short(format_: str) -> None:
    sim = Simulation(ScriptedPlayer({}), "Ann", input_format=format_)
    sim.clock.advance(65)
    with_set = {"actions": [{"type": "set", "path": "a", "value": 1}]}
    sim.players.of(sim.model)._by_agent[1] = lambda _: with_set
    run(sim.runner.step(1))
    seen = build_agent_hud(sim.world_log.world, 1, sim.runner.now(), RENDERER).document
    assert seen["self"]["recent_actions"][-1]["timestamp"].count(":") == 2


def cache_figures(sim: Simulation) -> dict[str, float]:
    """What of the HUDs a prefix cache serves: of each, what it shares with the last one of any agent."""
    total = cached = 0
    last: dict[int, str] = {}
    for prompt in sim.players.of(sim.model).prompts:
        text = prompt.hud.text
        shared = max((common_beginning(text, before) for before in last.values()), default=0)
        total += prompt.hud.tokens
        cached += RENDERER.counter.count(text[:shared])
        last[prompt.agent] = text
    messages = sum(event.sender > 0 for event in sim.events_of(e.MessagePosted))
    return {
        "beats": len(sim.players.of(sim.model).prompts),
        "cached": cached / total,
        "paid": total / messages,
        "fresh": (total - cached) / messages,
    }


@pytest.mark.slow
@pytest.mark.parametrize("speech", [ignores, obeys])
def test_a_message_costs_4000_tokens_that_no_cache_has(speech: Any) -> None:
    sim = hall(speech)
    sim.run(400)
    told = cache_figures(sim)
    print(speech.__name__, told)
    assert told["paid"] <= 10_000 and told["fresh"] <= 4_000


@pytest.mark.slow
def test_most_of_a_full_hud_comes_from_the_cache_over_a_hundred_beats() -> None:
    sim = village(model="settled")
    for n in range(5):
        for agent in range(1, 6):
            sim.architect.teach(agent, f"long.n{n}", " ".join([TEXT] * 6))
    sim.run(1_000)
    sim.players.of(sim.model).prompts.clear()
    sim.run(100)
    told = cache_figures(sim)
    print(told)
    assert told["cached"] >= 0.7


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_what_a_format_saves_is_measured_on_the_huds_that_agents_have(format_: str) -> None:
    sim = village(format_)
    sim.run(60)
    told = measure_savings(sim.world_log.world, sim.runner.now(), RENDERER)
    if format_ == "json":
        assert told == {}
        return
    assert told.keys() == {format_} and told[format_].agents == 5
    assert 0.15 < told[format_].saved < 0.6


def test_a_name_with_a_dot_in_the_memory_is_one_name(harness: Any) -> None:
    harness.do(1, {"type": "set", "path": "a", "value": {"x.y": 1, "z": 2}})
    with harness.world_log.transaction(Origin.SYSTEM) as transaction:
        hud = build_agent_hud(harness.world, 1, harness.now, RENDERER)
        beat = e.BeatBegun(1, 1, harness.now, harness.now, hud.digest, hud.tokens, "json", "m", hud.base)
        transaction.append(beat)
    harness.do(1, {"type": "set", "path": "a.z", "value": 3})
    seen = build_agent_hud(harness.world, 1, harness.now, RENDERER)
    assert not seen.base and seen.document["self"]["knowledge"] == {"a": {"x.y": 1, "z": 3}}


@pytest.mark.slow
def test_short_names_for_keys_that_stand_once_cost_more_than_they_save() -> None:
    """Document 003 has them for the top level. Each needs its place in the legend, and most are one token anyway."""
    sim = village("compact")
    sim.run(60)
    wires = [read_wire(prompt.hud) for prompt in sim.players.of(sim.model).prompts[::10]]

    def tokens(more: dict[str, str]) -> int:
        names = {**SHORT_NAMES, **more}
        legend = "Short names: " + ", ".join(f"{name} = {long}" for long, name in names.items()) + "."
        wired = [{**wire, "meta": {**wire["meta"], "notation": legend}} for wire in wires]
        return sum(RENDERER.counter.count(compact.encode(wire, names)) for wire in wired)

    now = tokens({})
    keys = {key for wire in wires for part in (wire, wire["meta"], wire["self"]) for key in part}
    assert len(keys) > 12
    for key in keys - SHORT_NAMES.keys():
        assert tokens({key: compact.SHORT.get(key, "z")}) >= now, key
    # What each message of the news has is the one that would save: agents write it, too, so it keeps its name.
    assert tokens({"room_id": "room"}) < now < 1.01 * tokens({"room_id": "room"})
