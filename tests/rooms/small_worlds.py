"""Worlds of a few agents, made by folding events, for what reads a world."""

from __future__ import annotations

from typing import Any

import msgspec

from hudkit.rooms import world_events as e
from hudkit.rooms.fold_log import apply_event
from hudkit.rooms.world import World, WorldRules

NOON = 1_705_320_000_000
"""2024-01-15T12:00:00Z."""


class Story:
    """Tells events one by one, a second apart from ten o'clock on."""

    def __init__(self, rules: WorldRules | None = None, prompts: dict[str, str] | None = None) -> None:
        self.world = World()
        self.seq = 0
        self.at = NOON - 7_200_000
        plain: dict[str, Any] = msgspec.to_builtins(rules or WorldRules())
        self.tell(e.WorldCreated(name="w", seed=1, rules=plain, prompts=prompts or {}))

    def tell(self, *happenings: e.WorldEvent) -> World:
        for one in happenings:
            self.seq += 1
            self.at += 1_000
            apply_event(self.world, self.seq, self.at, one)
        return self.world

    def agent(
        self, name: str, kind: e.AgentKind = "persona", background: str = "Curious about gardens.", **more: Any
    ) -> int:
        id = self.world.next_agent
        self.tell(
            e.AgentCreated(id=id, kind=kind, name=name, background=background, model="small", **more),
            e.RoomJoined(room=id, agent=id),
        )
        return id

    def say(self, room: int, sender: int, content: str, **more: Any) -> int:
        id = self.world.next_message
        self.tell(
            e.MessagePosted(id=id, room=room, sender=sender, content=content, words=len(content.split()), **more)
        )
        return id


def greenhouse(*, rules: WorldRules | None = None, prompts: dict[str, str] | None = None, **formats: Any) -> Story:
    """Three agents around a greenhouse: 1 and 2 talk in 2's room, 3 asks to come into 1's; `formats` are 1's."""
    story = Story(rules, prompts)
    ada = story.agent("Ada", **formats)
    bo = story.agent("Bo", kind="bot", background="Answers questions about the weather.")
    cy = story.agent("Cy")
    story.tell(
        e.RoomJoined(room=bo, agent=ada),
        e.RoomJoined(room=bo, agent=cy),
        e.BillboardSet(room=bo, text="Weather desk: ask, and say where."),
        e.BillboardSet(room=ada, text="Ada's greenhouse"),
        e.KeyCreated(room=ada, label="visitors", digest="d", salt="s"),
        e.AccessRequested(id=1, room=ada, agent=cy, label="visitors"),
        e.AttentionSet(agent=ada, room=bo, percent=70.0),
    )
    story.say(bo, e.SYSTEM, "Ada (1) joined", kind="system")
    question = story.say(bo, ada, "Will there be frost tonight, in the valley?")
    told = story.say(bo, bo, "Yes: -2 °C at 4 o'clock.", reply_to=question)
    story.say(bo, e.ARCHITECT, "Thank you, both.")
    story.say(ada, ada, "Note to self: cover the seedlings.")
    story.tell(
        e.ReactionAdded(message=told, agent=ada, reaction="brain"),
        e.ReactionAdded(message=told, agent=cy, reaction="brain"),
        e.KnowledgeSet(agent=ada, path="people.Bo.trust", value=0.8, weight=0.9),
        e.KnowledgeSet(agent=ada, path="garden.frost", value=["tonight", "-2 °C"]),
        e.ActionApplied(agent=ada, number=1, action={"type": "react", "message_id": told, "reaction": "brain"}),
        e.ActionRefused(agent=ada, number=1, action={"type": "leave_room", "room_id": 1}, why="Room 1 is your own."),
    )
    return story


SHORT_PROMPTS = {
    "directives.rooms": "A room is a conversation.",
    "directives.collaboration": "Help each other.",
    "directives.communication": "Be brief.",
    "instructions.app": "This is all you know.",
    "instructions.persona": "You play a character.",
    "instructions.bot": "You have a function.",
    "philosophy.identity": "Become.",
    "philosophy.memory": "Write it down.",
    "philosophy.silence": "Silence is fine.",
    "philosophy.topics": "Keep to the topic.",
    "philosophy.own-room": "Your room is yours.",
    "philosophy.time": "Time flows.",
    "layouts.persona": "`ai.goals`",
    "layouts.bot": "`task.progress`",
    "actions": """
[timing]
description = "Rest until then"
[[timing.actions]]
type = "sleep"
until = "a time"

[agent_management]
description = "Make agents"
[[agent_management.actions]]
type = "create_agent"
name = "string"
background_prompt = "string"
""",
}
"""Prompts of a few words, for HUDs that are read by people who test."""
