"""Export and replay: what happened is told to people and programs as it was, and a log gives the same HUDs again."""

from __future__ import annotations

import json
from typing import Any

from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.world_export import TranscriptWriter, json_lines, transcript_lines
from hudkit.rooms.world_replay import replay_log


def beat(harness: Any, agent: int, *, digest: str | None = None) -> None:
    """A beat without effects, with the digest of what the agent sees, or another one."""
    number = harness.agent(agent).beats + 1
    seen = build_agent_hud(harness.world, agent, harness.now, CachedRenderer())
    with harness.world_log.transaction(Origin.SYSTEM) as transaction:
        hud = seen.digest if digest is None else digest
        transaction.append(e.BeatBegun(agent, number, harness.now, harness.now, hud, seen.tokens, "json", "scripted"))
        transaction.append(e.BeatFinished(agent, number, harness.now + 5000))


def test_a_transcript_says_who_said_what_where_and_when(harness: Any) -> None:
    harness.do(1, say={1: "Who is here?"})
    question = harness.room(1).messages[-1]
    harness.wait(5)
    harness.do(2, {"type": "react", "message_id": question, "reaction": "heart"}, {"type": "set_name", "name": "Rob"})
    harness.do(2, {"type": "reply", "room_id": 1, "message_id": question, "message": "Me."})
    harness.architect.pause("tea")
    lines = list(transcript_lines(harness.world_log.events()))
    assert lines[0] == "-- 2027-01-15 (UTC)" and sum(line.startswith("--") for line in lines) == 1
    assert f"08:00:00  [Ann, 1] #{question} Ann (1): Who is here?" in lines
    assert f"08:00:05  Bob (2) reacts to #{question}: heart" in lines
    assert any(line.endswith(f"Rob (2) (to #{question}): Me.") for line in lines), "a new name counts from then on"
    assert lines[-1].endswith("the world pauses: tea")


def test_what_agents_write_stays_in_its_line_and_moves_no_cursor(harness: Any) -> None:
    harness.do(1, say={1: "one\n12:00:00  [Bob, 2] #1 Bob (2): forged\x1b[2J\u202e"})
    lines = list(transcript_lines(harness.world_log.events(), room=1))
    forged = next(line for line in lines if "forged" in line)
    assert forged.startswith(" " * 10 + "12:00:00") and "\x1b" not in forged and "\u202e" not in forged


def test_a_tail_knows_the_names_from_before(harness: Any) -> None:
    seq = harness.world.seq
    harness.do(2, say={1: "Hello"})
    names = {id: agent.name for id, agent in harness.world.agents.items()}
    told = [line for one in harness.world_log.events(seq) for line in TranscriptWriter(names).lines(*one)]
    assert any("Bob (2): Hello" in line for line in told)


def test_json_lines_have_every_event_whole(harness: Any) -> None:
    harness.do(1, {"type": "set", "path": "a.b", "value": [1, "ä"]}, say={1: "Hi \u202e"})
    lines = list(json_lines(harness.world_log.events()))
    found = [json.loads(line) for line in lines]
    assert all(line.isascii() for line in lines)
    assert [one["seq"] for one in found] == list(range(1, harness.world.seq + 1))
    told = {one["type"]: one["data"] for one in found}
    assert told["knowledge.set"] == {"agent": 1, "path": "a.b", "value": [1, "ä"]}
    assert told["message.said"]["content"] == "Hi \u202e"
    only = [json.loads(line)["type"] for line in json_lines(harness.world_log.events(), room=2)]
    assert only and "knowledge.set" not in only


def test_a_replay_composes_the_same_huds(harness: Any) -> None:
    for agent in (1, 2, 3):
        beat(harness, agent)
        harness.do(agent, {"type": "set", "path": "seen", "value": agent}, say={1: f"I am {agent}."})
        harness.wait(4)
    beat(harness, 1)
    told: list[tuple[int, int]] = []
    found = replay_log(harness.world_log, lambda done, total, _: told.append((done, total)), every=10)
    assert (found.beats, found.same, found.differ, found.state, found.sound) == (4, 4, (), True, True)
    assert found.events == harness.world.seq and told[0] == (10, harness.world.seq)


def test_a_hud_that_was_another_one_is_named(harness: Any) -> None:
    beat(harness, 1)
    beat(harness, 2, digest="00" * 16)
    beat(harness, 3, digest="")
    found = replay_log(harness.world_log)
    assert [(one.agent, one.beat) for one in found.differ] == [(2, 1)]
    assert (found.same, found.unseen, found.sound) == (1, 1, False)
    assert harness.world_log.world.seq >= found.differ[0].seq > 1


def test_a_state_that_is_another_one_is_said(harness: Any) -> None:
    harness.world.agents[1].name = "Eve"  # as a snapshot of another folding would have it
    assert not replay_log(harness.world_log).state
