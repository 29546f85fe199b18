"""Who was not there does not know: whatever happens, a HUD has what was said before its agent, and no more."""

from __future__ import annotations

import re
from copy import deepcopy
from random import Random
from typing import Any

import pytest

from hudkit.log import Origin
from hudkit.rooms.actions import execute_reply
from hudkit.rooms.architect import Architect
from hudkit.rooms.hud import CachedRenderer, as_markdown, build_agent_hud
from hudkit.rooms.reply_parser import ParsedReply
from hudkit.rooms.world import World
from hudkit.rooms.world_log import WorldLog

pytestmark = pytest.mark.slow

RENDERER = CachedRenderer()
FORMATS = ("json", "compact", "toon", "json")
AGENTS = (1, 2, 3, 4)
MARK = re.compile(r"mark\d+x")

KINDS = (
    *("say", "say", "say", "reply", "react", "board", "rename", "admit", "admit", "admit", "key", "ask", "grant"),
    *("leave", "leave", "leave", "remove", "retire"),
)


class Hand:
    """A book in memory, and one line to carry an action out."""

    def __init__(self, *formats: Any) -> None:
        self.now = 1_800_000_000_000
        self.world_log = WorldLog.in_memory(clock=lambda: self.now)
        self.world = self.world_log.world
        self.architect = Architect(self.world_log)
        for name, format_ in zip(("Ann", "Bob", "Cid", "Dee"), formats, strict=False):
            self.architect.make_agent("persona", name, "You are here.", "scripted", input_format=format_)

    def do(self, agent: int, *actions: dict[str, Any], say: dict[int, str] | None = None) -> None:
        responses = tuple({"room_id": room, "message": text} for room, text in (say or {}).items())
        with self.world_log.transaction(Origin.AGENT) as transaction:
            execute_reply(transaction, self.world, agent, 1, ParsedReply(responses, actions), self.now)


class Witness:
    """A world in which every text has a mark of its own, and a plain account of who was there for which."""

    def __init__(self) -> None:
        self.harness = Hand(*FORMATS)
        self.marks = 0
        self.heard: dict[int, dict[int, list[str]]] = {agent: {agent: []} for agent in AGENTS}
        """By agent, and by room in which it is: what was said there since it came, the newest last."""
        self.own: dict[int, set[str]] = {agent: set() for agent in AGENTS}
        """What it wrote itself: that is among its recent actions."""
        self.retired: set[int] = set()
        self.left: set[tuple[int, int]] = set()
        self.again = 0

    def step(self, kind: str, agent: int, room: int) -> None:
        harness, mark = self.harness, f"mark{self.marks}x"
        self.marks += 1
        there = room in self.heard[agent]
        harness.now += 5_000
        last = harness.world.next_message - 1
        if kind in ("say", "reply", "board", "rename"):
            self.own[agent].add(mark)
        if kind == "say":
            harness.do(agent, say={room: mark})
            if self.can(agent, room):
                self.say(room, mark)
        elif kind == "reply":
            harness.do(agent, {"type": "reply", "room_id": room, "message_id": max(1, last), "message": mark})
            if any(message.content == mark for message in harness.world.messages.values()):
                assert self.can(agent, room)
                self.say(room, mark)
        elif kind == "react":
            harness.do(agent, {"type": "react", "message_id": max(1, last), "reaction": "heart"})
        elif kind == "board":
            harness.do(agent, {"type": "set_billboard", "message": mark})
        elif kind == "rename" and agent not in self.retired:
            harness.do(agent, {"type": "set_name", "name": mark})
        elif kind == "admit" and not there and agent not in self.retired and room not in self.retired:
            harness.architect.admit(agent, room)
            self.heard[agent][room] = []
            self.again += (agent, room) in self.left
        elif kind == "key" and agent not in self.retired:
            self.own[agent].add(mark)
            harness.do(agent, {"type": "create_key", "label": mark})
        elif kind == "ask" and agent not in self.retired and room not in self.retired:
            key = harness.architect.make_key(room, mark)
            harness.do(agent, {"type": "request_access", "room_id": room, "key": key})
        elif kind == "grant":
            for request in list(harness.world.rooms[agent].requests):
                asker = harness.world.requests[request].agent
                harness.do(agent, {"type": "grant_access", "request_id": request})
                if agent not in self.retired:
                    self.heard[asker].setdefault(agent, [])
        elif kind == "leave" and there and agent != room and agent not in self.retired:
            harness.do(agent, {"type": "leave_room", "room_id": room})
            del self.heard[agent][room]
            self.left.add((agent, room))
        elif kind == "remove" and there and agent != room:
            harness.architect.remove(agent, room)
            del self.heard[agent][room]
            self.left.add((agent, room))
        elif kind == "retire" and self.marks > 60 and agent not in self.retired:
            harness.architect.retire(agent)
            self.retired.add(agent)
            self.heard[agent] = {agent: self.heard[agent][agent]}

    def can(self, agent: int, room: int) -> bool:
        return room in self.heard[agent] and not self.retired & {agent, room}

    def say(self, room: int, mark: str) -> None:
        for rooms in self.heard.values():
            if room in rooms:
                rooms[room].append(mark)

    def account(self) -> tuple[int, Any, Any]:
        return self.harness.world.seq, deepcopy(self.heard), deepcopy(self.own)


def check(world: World, now: int, heard: dict[int, dict[int, list[str]]], own: dict[int, set[str]]) -> None:
    for agent in AGENTS:
        seen = build_agent_hud(world, agent, now, RENDERER)
        said = {
            one["id"]: [row["content"] for row in one["messages"] if row["type"] == "text"]
            for one in seen.document["rooms"]
        }
        assert said == heard[agent], agent
        boards = {one["billboard"] for one in seen.document["rooms"] if "billboard" in one}
        assert boards == {world.rooms[room].billboard for room in heard[agent]} - {""}
        labels = {key.label for key in world.rooms[agent].keys}
        told = set(
            MARK.findall(" ".join(one["content"] for room in seen.document["rooms"] for one in room["messages"]))
        )
        known = {mark for marks in heard[agent].values() for mark in marks} | own[agent] | boards | labels
        named = set(MARK.findall(" ".join(one.name for one in world.agents.values()))) | told
        for text in (seen.text, as_markdown(seen)):
            assert set(MARK.findall(text)) <= known | named
        visible = {row["id"] for room in seen.document["rooms"] for row in room["messages"]}
        for room in seen.document["rooms"]:
            joined = world.rooms[room["id"]].joined_after[agent]
            assert all(row["id"] > joined for row in room["messages"])
        assert visible <= {id for room in heard[agent] for id in world.rooms[room].messages}


@pytest.mark.parametrize("seed", range(6))
def test_a_hud_has_what_was_said_before_its_agent_and_no_more(seed: int) -> None:
    chance, again = Random(seed), 0
    for _ in range(3):
        witness = Witness()
        accounts = [witness.account()]
        for _ in range(80):
            witness.step(chance.choice(KINDS), chance.choice((2, 2, *AGENTS)), chance.choice((1, 1, 1, *AGENTS)))
            accounts.append(witness.account())
        world_log, now = witness.harness.world_log, witness.harness.now
        check(world_log.world, now, witness.heard, witness.own)
        for seq, heard, own in chance.sample(accounts, 3):
            check(world_log.world_at(seq), now, heard, own)
            with world_log.fork(None, seq) as fork:
                check(fork.world, now, heard, own)
        again += witness.again
        world_log.close()
    assert again, "somebody left and came back"


@pytest.mark.parametrize("format_", ["json", "compact", "toon"])
def test_a_reply_and_a_reaction_to_what_one_did_not_hear_say_no_more_than_its_number(format_: str) -> None:
    harness = Hand(format_, format_, format_)
    harness.architect.admit(2, 1)
    harness.do(1, {"type": "set_billboard", "message": "mark1x"}, say={1: "mark2x"})
    secret = harness.world.next_message - 1
    harness.architect.admit(3, 1)
    harness.do(2, {"type": "react", "message_id": secret, "reaction": "heart"})
    harness.do(2, {"type": "reply", "room_id": 1, "message_id": secret, "message": "mark3x"})
    seen = build_agent_hud(harness.world, 3, harness.now, RENDERER)
    room = seen.document["rooms"][1]
    assert [row["content"] for row in room["messages"]] == ["Cid (3) came in.", "mark3x"]
    assert room["messages"][1]["reply_to"] == secret and "reactions" not in str(room["messages"])
    assert set(MARK.findall(seen.text)) == {"mark1x", "mark3x"}
    harness.do(3, {"type": "leave_room", "room_id": 1})
    assert not MARK.findall(build_agent_hud(harness.world, 3, harness.now, RENDERER).text)
    harness.world_log.close()
