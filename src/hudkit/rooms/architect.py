"""What the person does: the same actions as the agents', without their limits, each as a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import msgspec

from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.actions import ACTIONS, agent_actions, room_actions
from hudkit.rooms.actions.action import ActionContext, living_agent, open_room
from hudkit.rooms.prompts import check_prompts
from hudkit.rooms.world import WorldRules
from hudkit.rooms.world_log import WorldLog


class Architect:
    """Agent 0 at work in a world.

    Every method raises `OperationError` for what cannot be, and a `StoreError`; then nothing has happened.
    """

    def __init__(
        self, world_log: WorldLog, clock: Callable[[], int] | None = None, *, reason: e.WorldEvent | None = None
    ) -> None:
        """`clock` gives the world's time in Unix ms; the log's where it is not given. `reason` stands before the
        effects of each method, in the same transaction."""
        self.world_log = world_log
        self._reason = reason
        self._clock = clock or world_log.clock

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
        answers: e.AnswerSettings = e.PLAYER_SETTINGS,
        rooms: tuple[int, ...] = (),
    ) -> int:
        """Make an agent with its own room, let it into others, and return its number.

        `interval` is in seconds between beats.
        """
        with self._acting() as context:
            id = agent_actions.add_agent(
                context,
                kind,
                name,
                background,
                model,
                can_create=can_create,
                input_format=input_format,
                output_format=output_format,
                interval=interval,
                answers=answers,
            )
            for room in rooms:
                open_room(context.world, room)
                context.effects.append(e.RoomJoined(room, id))
                context.post(room, f"{agent_actions.new_agent_name(context, id)} came in.")
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
        answers: e.AnswerSettings | None = None,
    ) -> None:
        """Change an agent. One whose last beat failed beats at once with another model."""
        with self._acting() as context:
            # What agents may alter in each other goes through their action; the rest is the Architect's alone.
            rest = any(value is not None for value in (can_create, input_format, output_format, answers))
            if not rest or name is not None or background is not None or model is not None:
                _run_action(
                    context, "alter_agent", agent_id=agent, background_prompt=background, name=name, model=model
                )
            if rest:
                living_agent(context.world, agent)
                context.effects.append(
                    e.AgentAltered(
                        agent,
                        can_create=can_create,
                        input_format=input_format,
                        output_format=output_format,
                        answers=answers,
                    )
                )
            if (
                model is not None
                and model != context.world.agents[agent].model
                and context.world.agents[agent].last_error
            ):
                context.wake(agent, "another model")

    def teach(self, agent: int, path: str, value: Any) -> None:
        """Write plain data at a path of an agent's memory."""
        with self._acting(agent) as context:
            _run_action(context, "set", path=path, value=value)

    def retire(self, agent: int) -> None:
        """Retire an agent: it has no more beats, and its room is closed."""
        with self._acting() as context:
            agent_actions.retire_from_world(context, living_agent(context.world, agent).id)

    def say(self, room: int, content: str, reply_to: int | None = None) -> int:
        """Say something in a room, which the Architect enters by that; return the message's number."""
        with self._acting() as context:
            answered = None if reply_to is None else room_actions.visible_message(context, reply_to, room)
            # Agents see who is there: the person does not speak out of nowhere.
            if e.ARCHITECT not in open_room(context.world, room).members:
                room_actions.enter_room(context, room, e.ARCHITECT)
            return room_actions.post_message(context, room, content, answered)

    def react(self, message: int, reaction: e.Reaction) -> None:
        """React to a message."""
        with self._acting() as context:
            _run_action(context, "react", message_id=message, reaction=reaction)

    def wake(self, agent: int) -> None:
        """Let an agent's next beat come at once."""
        with self._acting() as context:
            _run_action(context, "wake_agent", agent_id=agent)

    def admit(self, agent: int, room: int) -> None:
        """Let an agent (0: the Architect) into a room, without a key."""
        with self._acting() as context:
            if agent != e.ARCHITECT:
                living_agent(context.world, agent)
            if agent in open_room(context.world, room).members:
                raise OperationError(f"agent {agent} is in room {room}")
            # A request that is open would let it in a second time.
            for request in context.world.rooms[room].requests:
                if context.world.requests[request].agent == agent:
                    context.effects.append(e.AccessGranted(request, e.ARCHITECT))
            room_actions.enter_room(context, room, agent)
            context.wake(agent, "admission")

    def remove(self, agent: int, room: int) -> None:
        """Have an agent (0: the Architect) leave a room that is not its own."""
        with self._acting() as context:
            if agent == room or room not in context.world.rooms or agent not in context.world.rooms[room].members:
                raise OperationError(f"agent {agent} cannot be removed from room {room}")
            room_actions.remove_from_room(context, room, agent)

    def set_billboard(self, room: int, text: str) -> None:
        """Write on a room's billboard; an empty text takes it down."""
        with self._acting(room) as context:
            if text.strip():
                _run_action(context, "set_billboard", message=text)
            else:
                _run_action(context, "clear_billboard")

    def set_wpm(self, room: int, wpm: int) -> None:
        """Set a room's pace in words a minute."""
        with self._acting(room) as context:
            _run_action(context, "set_wpm", wpm=wpm)

    def make_key(self, room: int, label: str, uses: int = 0) -> str:
        """Make a key for a room and return it; it is kept nowhere. `uses` 0: without limit."""
        with self._acting(room) as context:
            key = room_actions.make_key(context, label, uses)
            context.whispers.clear()  # the person reads it here, and the agent need not
            return key

    def revoke_key(self, room: int, label: str) -> None:
        """Make a room's key useless."""
        with self._acting(room) as context:
            _run_action(context, "revoke_key", label=label)

    def grant(self, request: int) -> None:
        """Let one who asked into a room."""
        with self._acting() as context:
            _run_action(context, "grant_access", request_id=request)

    def deny(self, request: int) -> None:
        """Do not let one who asked into a room."""
        with self._acting() as context:
            _run_action(context, "deny_access", request_id=request)

    def set_interval(self, agent: int, interval: float) -> None:
        """Set the seconds between an agent's beats, within the world's bounds."""
        with self._acting() as context:
            tempo = context.world.rules.tempo
            if not tempo.min_interval <= interval <= tempo.max_interval:
                bounds = f"{tempo.min_interval:g} to {tempo.max_interval:g}"
                raise OperationError(f"{interval:g} s between beats", hint=bounds)
            context.effects.append(e.IntervalSet(living_agent(context.world, agent).id, interval))

    def pause(self, why: str = "the Architect") -> None:
        """Let no beat begin from now on, and those under way have no effects."""
        with self._acting() as context:
            # A world that paused by itself lets beats under way end; a pause by hand stops these, too.
            beating = any(agent.current_beat for agent in context.world.agents.values())
            if context.world.paused is None or beating:
                context.effects.append(e.WorldPaused(why))

    def resume(self) -> None:
        """Let beats begin again."""
        with self._acting() as context:
            if context.world.paused is not None:
                context.effects.append(e.WorldResumed())

    def set_speed(self, factor: float) -> None:
        """Let the world's time run `factor` times as fast as the clock: 0.01 to 1000."""
        with self._acting() as context:
            if not 0.01 <= factor <= 1000:
                raise OperationError(f"a speed of {factor:g}", hint="0.01 to 1000")
            context.effects.append(e.SpeedSet(factor))

    def set_rules(self, rules: WorldRules) -> None:
        """Change the numbers of the world."""
        with self._acting() as context:
            context.effects.append(e.RulesChanged(msgspec.to_builtins(rules)))

    def set_prompts(self, prompts: Mapping[str, str]) -> None:
        """Change some of the prompts; the others stay. Raises `ConfigError` where one is none."""
        check_prompts(prompts)
        with self._acting() as context:
            context.effects.append(e.PromptsChanged(dict(prompts)))

    @contextmanager
    def _acting(self, acting_as: int = e.ARCHITECT) -> Iterator[ActionContext]:
        """Give a context, in the place of a room's agent where one is named; append its effects when the block
        ends."""
        world = self.world_log.world
        with self.world_log.transaction(Origin.USER, timestamp=self._clock()) as transaction:
            context = ActionContext(
                world, e.ARCHITECT, transaction.timestamp, transaction.secret, acting_as=acting_as
            )
            yield context
            if self._reason is not None:
                transaction.append(self._reason)
            for effect in context.effects:
                transaction.append(effect)
            for agent, text in context.whispers:
                transaction.whisper(agent, text)


def _run_action(context: ActionContext, action_name: str, /, **arguments: object) -> None:
    """Do what an agent does with the action of this name; `arguments` are the fields of its struct."""
    action = ACTIONS[action_name]
    # Made, not converted: what limits the fields of a reply (lengths, whole numbers) is for agents.
    action.run(context, action.arguments(**arguments))
