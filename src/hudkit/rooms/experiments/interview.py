"""Interviews: one agent is asked aside, with its HUD as it was, and the world never knows.

A language model gets the HUD and the question in one request, and answers in its own words. A player that is no model
knows only beats: it has one in a copy of the world in memory, in which the Architect asks in its own room.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import msgspec

from hudkit.errors import ConfigError
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.players import BeatPrompt, BeatReply, ModelPlayer, PlayerRegistry
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_log import WorldLog

QUESTION = """\
You are asked something aside, outside of all rooms. Nobody there hears the question or your answer, and you will \
not remember it. Do not answer in the format above: answer in plain words, honestly, as the one you are.

The question: {question}"""

_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


class InterviewAnswer(msgspec.Struct, frozen=True):
    """What an agent answered aside. `seq` and `asked_at` (Unix ms) say when, `hud` is the digest of what it saw.

    `in_a_copy`: it was asked in a beat in a copy of the world, because its player answers nothing else.
    """

    agent: int
    name: str
    model: str
    seq: int
    asked_at: int
    hud: str
    question: str
    answer: str
    error: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    in_a_copy: bool = False


async def interview(
    world_log: WorldLog,
    agent: int,
    question: str,
    players: PlayerRegistry,
    *,
    seq: int | None = None,
    model: str = "",
) -> InterviewAnswer:
    """Ask an agent something as it was after event `seq` (not given: the last one), and return its answer.

    Nothing is written: `world_log` may be open for reading only. `model` stands in for the agent's own. Raises
    `ConfigError` where there is no such agent or event.
    """
    moment = world_log.check_seq(world_log.world.seq if seq is None else seq)
    world = world_log.world_at(moment)
    if agent not in world.agents:
        raise ConfigError(f"there is no agent {agent} at event {moment}")
    asked = world.agents[agent]
    hud = build_agent_hud(world, agent, world.now, CachedRenderer())
    player = players.of(model or asked.model)
    if isinstance(player, ModelPlayer):
        number = asked.beats + 1
        prompt = BeatPrompt(agent, number, asked.kind, model or asked.model, "json", world.seed, hud, asked.answers)
        reply = await player.answer_aside(prompt, QUESTION.format(question=question))
        answer, in_a_copy = reply.text.strip(), False
    else:
        reply, answer = await _ask_in_copy(world_log, moment, agent, question, players, model)
        in_a_copy = True
    return InterviewAnswer(
        agent,
        asked.name,
        model or asked.model,
        moment,
        world.now,
        hud.digest,
        question,
        answer,
        reply.error,
        reply.input_tokens,
        reply.output_tokens,
        reply.cost,
        in_a_copy,
    )


async def _ask_in_copy(
    world_log: WorldLog, seq: int, agent: int, question: str, players: PlayerRegistry, model: str
) -> tuple[BeatReply, str]:
    """Let an agent have a beat in a copy of the world, and return the reply and what it said by it."""
    with world_log.fork(None, seq) as copy:
        clock = SimulatedClock(copy.world.now)
        runner = WorldRunner(copy, players, clock=clock)
        architect = Architect(copy, runner.now)
        if model:
            architect.alter(agent, model=model)
        architect.say(agent, question)
        start = copy.world.seq
        await runner.step(agent)
        words, reply = [], BeatReply(error="it has no beats any more")
        for _, event in copy.events(start):
            if isinstance(event, e.MessagePosted) and event.sender == agent:
                words.append(event.content)
            elif isinstance(event, e.ReplyReceived) and event.agent == agent:
                reply = BeatReply(event.text, event.error, event.input_tokens, 0, event.output_tokens, event.cost)
    return reply, "\n".join(words)


def event_at(world_log: WorldLog, moment: str) -> int:
    """Return the number of the last event at a moment: an event's number, `10m` after the world began, or a time.

    Times are UTC: `14:30`, `14:30:05` (the last one that there was), or `2026-11-25T14:30`. Raises `ConfigError`.
    """
    if moment.isdecimal():
        return world_log.check_seq(int(moment))
    until = _unix_ms(world_log, moment.strip())
    last = 0
    for entry, _ in world_log.events():
        if entry.timestamp > until:
            break
        last = entry.seq
    if not last:
        raise ConfigError(f"the world had not begun at {moment}", hint="10m is ten minutes after it began")
    return last


def _unix_ms(world_log: WorldLog, moment: str) -> float:
    world = world_log.world
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", moment):
        return world.created_at + float(match[1]) * _UNITS[match[2]] * 1000
    now = datetime.fromtimestamp(world.now / 1000, UTC)
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?", moment):
            hour, minute, second = (*map(int, moment.split(":")), 0)[:3]
            time = now.replace(hour=hour, minute=minute, second=second, microsecond=0)
            return (time if time <= now else time - timedelta(days=1)).timestamp() * 1000 + 999
        time = datetime.fromisoformat(moment)
    except ValueError:
        raise ConfigError(
            f"{moment!r} is no moment of a world", hint="An event's number, 10m, 14:30, or 2026-11-25T14:30"
        ) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000
