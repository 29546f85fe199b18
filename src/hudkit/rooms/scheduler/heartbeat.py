"""A heartbeat: when an agent's next one is due, whether it is worth its tokens, and what it leaves in the log.

In the log a beat is `BeatBegun`, `ReplyReceived`, what the reply did, and `BeatFinished`. All that is here happens
within one transaction; chance comes from the world's seed, so that a world plays alike twice. Times are Unix ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import Literal

import msgspec

from hudkit.compose import shorten
from hudkit.errors import HudkitError
from hudkit.rooms import world_events as e
from hudkit.rooms.actions import execute_reply
from hudkit.rooms.allowances import may_speak
from hudkit.rooms.hud import AgentHud
from hudkit.rooms.players.player import BeatReply, Player, QuickPlayer
from hudkit.rooms.reply_parser import parse_reply
from hudkit.rooms.scheduler.loops import throttle_loops
from hudkit.rooms.scheduler.model_queues import Reservation
from hudkit.rooms.scheduler.protocol import JobClaim, Scheduler
from hudkit.rooms.world import AgentState, IntervalRules, World
from hudkit.rooms.world_log import Transaction

SECOND = 1000
_MAX_BACKOFF = 300.0
"""Seconds that an agent rests at most after errors."""
_MAX_DOUBLINGS = 12
"""Errors in a row that count: 2¹² times any interval is more than the longest rest."""
_MAX_PENDING = 2
"""Messages of an agent that wait, from which on even a wake waits: what it would say now would wait longer still."""
_PENDING_POLL = 200
"""Milliseconds that such an agent is left alone at least."""


# -- when a beat is due --------------------------------------------------------------------------------------------


def seeded_fraction(seed: int, agent: int, number: int, purpose: str) -> float:
    """Return a number from 0 to 1 (not 1) that is always the same for the same beat of the same agent."""
    digest = blake2b(f"{seed}/{agent}/{number}/{purpose}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def decayed_interval(interval: float, tempo: IntervalRules) -> float:
    """Return the interval after a beat, in seconds: a little slower, as far as the slowest."""
    return round(min(tempo.max_interval, interval + tempo.decay), 3)


def jittered_interval(interval: float, tempo: IntervalRules, fraction: float) -> float:
    """Return an interval that is earlier (`fraction` 0) or later (1) by at most the jitter, and within the bounds."""
    return min(tempo.max_interval, max(tempo.min_interval, interval * (1 + tempo.jitter * (2 * fraction - 1))))


def due_after(world: World, agent: AgentState, now: int, *, took_place: bool = True) -> int:
    """Return when the beat after one that ends `now` is due; `took_place`: it was not skipped, so the tempo
    decays."""
    tempo = world.rules.tempo
    interval = decayed_interval(agent.interval, tempo) if took_place else agent.interval
    fraction = seeded_fraction(world.seed, agent.id, now, "jitter")
    due = now + round(SECOND * jittered_interval(interval, tempo, fraction))
    # It was woken while it was thinking: the news came too late for this beat.
    if agent.woken:
        due = min(due, max(now, agent.last_beat + round(SECOND * tempo.min_interval)))
    # Last, so that neither a wake nor the jitter ends a sleep.
    return max(due, agent.sleeps_until, agent.throttled_until)


def due_after_error(world: World, agent: AgentState, now: int, errors: int, rest: float | None) -> int:
    """Return when to ask again after `errors` errors in a row; `rest`: the seconds that the model's server asked
    for."""
    doubled = min(_MAX_BACKOFF, agent.interval * 2.0 ** min(errors, _MAX_DOUBLINGS))
    return max(due_after(world, agent, now), now + round(SECOND * max(doubled, rest or 0.0)))


def due_after_skip(world: World, agent: AgentState, now: int) -> int:
    """Return when an agent is looked at again whose beat was skipped."""
    # It was woken while two messages of it wait: it is asked when the first is sent, and not all the time until then.
    if agent.woken and agent.pending:
        return max(now + _PENDING_POLL, world.pending[agent.pending[0]].due, agent.throttled_until)
    return due_after(world, agent, now, took_place=False)


def has_news(world: World, agent: AgentState, now: int) -> bool:
    """Return whether a beat is worth its tokens.

    That is, the agent was woken or its sleep is over, its last beat failed, its HUD has something new that it could
    answer, or nothing happened for so long that it may want to begin something. What was said in a room where its
    pace lets it say nothing now waits; and while two messages of it wait, so do those who wake it.
    """
    if not agent.beats or agent.changed_seq > agent.seen_seq or agent.last_error:
        return True
    if agent.woken and len(agent.pending) < _MAX_PENDING:
        return True
    if agent.last_beat < agent.sleeps_until <= now:
        return True
    for id in agent.rooms:
        room = world.rooms[id]
        seq = room.other_seq if room.last_sender == agent.id else room.last_seq
        if seq > agent.seen_seq and may_speak(world, agent.id, id, now):
            return True
    quiet = world.rules.tempo.quiet
    return bool(quiet and not agent.pending and now - agent.last_beat >= quiet * SECOND)


# -- a beat in the log ---------------------------------------------------------------------------------------------

_MAX_ERROR_CHARACTERS = 500

LOST = "lost: the process ended while the agent was thinking"
ENDED = "stopped: nothing of the answer was waited for"
_STOPPED = "The world was stopped while you were thinking: nothing of your answer was done."


class Beat(msgspec.Struct):
    """What is true of one beat, resolved once when it begins and handed from step to step until it is over.

    The agent's state is not in it: a reply may come minutes later, when the world was read again. `started` is in
    seconds of the clock.
    """

    claim: JobClaim
    model: str
    player: Player | QuickPlayer
    output_format: Literal["json", "toon"]
    whispers: tuple[str, ...]
    failure: str
    """Why it cannot be given, through a fault of ours; `""`: it can."""
    started: float
    reservation: Reservation | None = None
    """That of the model's rate limiter, until it is answered."""


class BeatFailed(HudkitError):
    """A beat that cannot be given, through a fault of ours: `agent`, and the error as its cause."""

    code = "poisoned"

    def __init__(self, agent: int, error: Exception) -> None:
        super().__init__(f"the beat of agent {agent} failed: {type(error).__name__}: {error}")
        self.agent = agent


@contextmanager
def failing_beat(agent: int) -> Iterator[None]:
    """Yield to a block, and make what fails in it this beat's error. Raises `BeatFailed`."""
    try:
        yield
    except Exception as error:
        raise BeatFailed(agent, error) from error


def begin_beat(
    transaction: Transaction, claim: JobClaim, hud: AgentHud | None, now: int, *, closing: int = 0
) -> None:
    """Append that an agent is asked; without `hud`, none could be composed. `closing`: see `BeatBegun`."""
    agent = transaction.world.agents[claim.job]
    digest, tokens, base = (hud.digest, hud.tokens, hud.base) if hud is not None else ("", 0, 0)
    transaction.append(
        e.BeatBegun(
            agent.id, claim.fence, now, claim.due, digest, tokens, agent.input_format, agent.model, base, closing
        ),
        timestamp=now,
    )


def settle_beat(
    transaction: Transaction,
    scheduler: Scheduler[Transaction],
    beat: Beat,
    reply: BeatReply,
    now: int,
    seconds: float,
    errors: Mapping[int, int],
) -> bool:
    """Append what came of a beat, and when the next one is due; return whether it is over by this.

    `seconds` is how long the player took; `errors`: those in a row by agent, with this one. Where another process
    took the beat over, nothing is appended. What was stopped meanwhile, and a retired agent, have no effects. Raises
    `BeatFailed`.
    """
    world, claim = transaction.world, beat.claim
    id, number = claim.job, claim.fence
    if not scheduler.holds(claim):
        return False
    agent = world.agents[id]
    transaction.append(_reply_event(claim, reply, seconds), timestamp=now)
    # It was asked before the world was stopped, and must not speak into it after that.
    if agent.seen_seq < world.halted_seq:
        transaction.append(e.ActionRefused(id, number, {}, _STOPPED), timestamp=now)
        scheduler.finish(claim, due_after(world, agent, now))
    elif reply.error:
        if reply.text.strip():
            why = f"Nothing of your answer was done: {shorten(reply.error, _MAX_ERROR_CHARACTERS)}."
            transaction.append(e.ActionRefused(id, number, {}, why), timestamp=now)
        error_count = _MAX_DOUBLINGS if reply.hopeless else errors.get(id, 1)
        scheduler.finish(claim, due_after_error(world, agent, now, error_count, reply.rest))
    else:
        # A fault of ours while it is carried out must cost this beat alone, not the transaction of 32.
        next_message = world.next_message
        with failing_beat(id):
            execute_reply(transaction, world, id, number, parse_reply(reply.text, beat.output_format), now)
        throttle_loops(transaction, agent, next_message, now)
        scheduler.finish(claim, due_after(world, agent, now))
    return True


def lose_beat(
    transaction: Transaction, scheduler: Scheduler[Transaction], claim: JobClaim, due: int, why: str
) -> None:
    """Append that nothing came back of a beat; the agent is asked anew when it is `due`."""
    transaction.append(e.ReplyReceived(claim.job, claim.fence, error=why))
    scheduler.finish(claim, due)


def _reply_event(claim: JobClaim, reply: BeatReply, seconds: float) -> e.ReplyReceived:
    return e.ReplyReceived(
        claim.job,
        claim.fence,
        reply.text,
        shorten(reply.error, _MAX_ERROR_CHARACTERS),
        reply.input_tokens,
        reply.cached_tokens,
        reply.output_tokens,
        reply.cost,
        round(seconds, 3),
    )
