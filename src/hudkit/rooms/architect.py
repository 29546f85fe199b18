"""What the person does: the same actions as the agents', without their limits, each as a commit of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import msgspec

from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.actions import agent_actions, room_actions
from hudkit.rooms.actions.action import ActionContext, living_agent, open_room
from hudkit.rooms.prompts import check_prompts
from hudkit.rooms.world import WorldRules
from hudkit.rooms.world_log import WorldLog


class Architect:
    """Agent 0 at work in a book. Every method raises `OperationError` for what cannot be, and a `StoreError`; then
    nothing has happened."""

    def __init__(self, book: WorldLog, clock: Callable[[], int] | None = None) -> None:
        """`clock` gives the world's time in Unix ms; the book's where it is not given."""
        self.book = book
        self._clock = clock or book.clock

    def make_agent(
        self,
        kind: e.AgentKind,
        name: str,
        background: str,
        model: str,
        *,
        can_create: bool = False,
        input_format: e.HudFormat = "json",
        output_format: Literal["json", "toon"] = "json",
        interval: float | None = None,
        rooms: tuple[int, ...] = (),
    ) -> int:
        """Make an agent with its own room, and let it into others; its number. `interval`: seconds between beats."""
        with self._turn() as turn:
            id = agent_actions.add_agent(
                turn,
                kind,
                name,
                background,
                model,
                can_create=can_create,
                input_format=input_format,
                output_format=output_format,
                interval=interval,
            )
            for room in rooms:
                open_room(turn.world, room)
                turn.effects.append(e.RoomJoined(room, id))
                turn.say(room, f"{agent_actions.new_agent_name(turn, id)} came in.")
            return id

    def alter(
        self,
        agent: int,
        *,
        name: str | None = None,
        background: str | None = None,
        model: str | None = None,
        can_create: bool | None = None,
        input_format: e.HudFormat | None = None,
        output_format: Literal["json", "toon"] | None = None,
    ) -> None:
        """Change an agent. One whose last beat failed beats at once with another model."""
        with self._turn() as turn:
            rest = any(value is not None for value in (can_create, input_format, output_format))
            if not rest or name is not None or background is not None or model is not None:
                agent_actions.alter_agent(turn, agent_actions.AlterAgentArguments(agent, background, name, model))
            if rest:
                living_agent(turn.world, agent)
                turn.effects.append(
                    e.AgentAltered(
                        agent, can_create=can_create, input_format=input_format, output_format=output_format
                    )
                )
            if model is not None and model != turn.world.agents[agent].model and turn.world.agents[agent].last_error:
                turn.wake(agent, "another model")

    def teach(self, agent: int, path: str, value: Any) -> None:
        """Write plain data at a path of an agent's memory."""
        with self._turn(agent) as turn:
            agent_actions.set_value(turn, agent_actions.SetArguments(path, value))

    def retire(self, agent: int) -> None:
        """Retire an agent: it has no more beats, and its room is closed."""
        with self._turn() as turn:
            agent_actions.retire_from_world(turn, living_agent(turn.world, agent).id)

    def say(self, room: int, content: str, reply_to: int | None = None) -> int:
        """Say something in a room, which the Architect enters by that; the message's number."""
        with self._turn() as turn:
            answered = None if reply_to is None else room_actions.visible_message(turn, reply_to, room)
            if e.ARCHITECT not in open_room(turn.world, room).members:
                room_actions.enter_room(turn, room, e.ARCHITECT)
            return room_actions.post_message(turn, room, content, answered)

    def react(self, message: int, reaction: e.Reaction) -> None:
        """React to a message."""
        with self._turn() as turn:
            room_actions.react(turn, room_actions.ReactArguments(message, reaction))

    def wake(self, agent: int) -> None:
        """Let an agent's next beat come at once."""
        with self._turn() as turn:
            room_actions.wake_agent(turn, room_actions.WakeArguments(agent))

    def admit(self, agent: int, room: int) -> None:
        """Let an agent (0: the Architect) into a room, without a key."""
        with self._turn() as turn:
            if agent != e.ARCHITECT:
                living_agent(turn.world, agent)
            if agent in open_room(turn.world, room).members:
                raise OperationError(f"agent {agent} is in room {room}")
            for one in turn.world.rooms[room].requests:
                if turn.world.requests[one].agent == agent:
                    turn.effects.append(e.AccessGranted(one, e.ARCHITECT))
            room_actions.enter_room(turn, room, agent)
            turn.wake(agent, "admission")

    def remove(self, agent: int, room: int) -> None:
        """Have an agent (0: the Architect) leave a room that is not its own."""
        with self._turn() as turn:
            if agent == room or room not in turn.world.rooms or agent not in turn.world.rooms[room].members:
                raise OperationError(f"agent {agent} cannot be removed from room {room}")
            room_actions.remove_from_room(turn, room, agent)

    def billboard(self, room: int, text: str) -> None:
        """Write on a room's billboard; an empty text takes it down."""
        with self._turn(room) as turn:
            if text.strip():
                room_actions.set_billboard(turn, room_actions.BillboardArguments(text))
            else:
                room_actions.clear_billboard(turn, room_actions.NoArguments())

    def wpm(self, room: int, wpm: int) -> None:
        """Set a room's pace in words a minute."""
        with self._turn(room) as turn:
            room_actions.set_wpm(turn, room_actions.WpmArguments(wpm))

    def make_key(self, room: int, label: str, uses: int = 0) -> str:
        """Make a key for a room; the key, which is kept nowhere. `uses` 0: as often as one likes."""
        with self._turn(room) as turn:
            key = room_actions.make_key(turn, label, uses)
            turn.whispers.clear()
            return key

    def revoke_key(self, room: int, label: str) -> None:
        """Make a room's key useless."""
        with self._turn(room) as turn:
            room_actions.revoke_key(turn, room_actions.RevokeKeyArguments(label))

    def grant(self, request: int) -> None:
        """Let one who asked into a room."""
        with self._turn() as turn:
            room_actions.grant_access(turn, room_actions.AccessDecisionArguments(request))

    def deny(self, request: int) -> None:
        """Do not let one who asked into a room."""
        with self._turn() as turn:
            room_actions.deny_access(turn, room_actions.AccessDecisionArguments(request))

    def tempo(self, agent: int, interval: float) -> None:
        """Set the seconds between an agent's beats, within the world's bounds."""
        with self._turn() as turn:
            tempo = turn.world.rules.tempo
            if not tempo.least <= interval <= tempo.most:
                raise OperationError(f"{interval:g} s between beats", hint=f"{tempo.least:g} to {tempo.most:g}")
            turn.effects.append(e.IntervalSet(living_agent(turn.world, agent).id, interval))

    def pause(self, why: str = "the Architect") -> None:
        """Let no beat begin from now on, and those under way have no effects."""
        with self._turn() as turn:
            beating = any(agent.beating for agent in turn.world.agents.values())  # it may have paused by itself
            if turn.world.paused is None or beating:
                turn.effects.append(e.WorldPaused(why))

    def resume(self) -> None:
        """Let beats begin again."""
        with self._turn() as turn:
            if turn.world.paused is not None:
                turn.effects.append(e.WorldResumed())

    def speed(self, factor: float) -> None:
        """Let the world's time run `factor` times as fast as the clock: 0.01 to 1000."""
        with self._turn() as turn:
            if not 0.01 <= factor <= 1000:
                raise OperationError(f"a speed of {factor:g}", hint="0.01 to 1000")
            turn.effects.append(e.SpeedSet(factor))

    def set_rules(self, rules: WorldRules) -> None:
        """Change the numbers of the world."""
        with self._turn() as turn:
            turn.effects.append(e.RulesChanged(msgspec.to_builtins(rules)))

    def set_prompts(self, prompts: Mapping[str, str]) -> None:
        """Change some of the prompts; the others stay. Raises `ConfigError` where one is none."""
        check_prompts(prompts)
        with self._turn() as turn:
            turn.effects.append(e.PromptsChanged(dict(prompts)))

    @contextmanager
    def _turn(self, place: int = e.ARCHITECT) -> Iterator[ActionContext]:
        """A turn, in the place of a room's agent where one is named; its effects are told when it ends."""
        with self.book.commit(Origin.USER, at=self._clock()) as commit:
            turn = ActionContext(self.book.world, e.ARCHITECT, commit.at, commit.secret, place=place)
            yield turn
            for effect in turn.effects:
                commit.tell(effect)
            for agent, text in turn.whispers:
                commit.whisper(agent, text)
