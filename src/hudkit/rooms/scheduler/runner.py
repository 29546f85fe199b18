"""The runner plays a world: it gives due agents their beats, waits for players' replies, and stops when it has to.

A round (`WorldRunner._play`) is one transaction of up to 32 beats, because making events durable costs more than
composing a HUD. In it each due claim is skipped (nothing is new), answered at once (quick players), or put into its
model's queue; then the queues begin as many beats as their quotas admit. Players that take their time run as tasks,
and their replies are settled, many in a transaction, at the start of a later round.

Whatever fails must leave memory as it was before the transaction. So what a round changes outside of the log (queues,
rate limits, metrics, counts of errors) is restored with it, and the round is tried again: another writer may have
come first. A beat that fails through a fault of ours ends as an error of its agent, and the others of its round are
tried again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import NoneType
from typing import NamedTuple, TypeGuard, TypeVar, cast

import msgspec

from hudkit.errors import SequenceConflict, StoreBusy, StoreError
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import AgentHud, CachedRenderer, build_hud, resolve_beat
from hudkit.rooms.players.closing import CLOSING_REVISION, closing_words
from hudkit.rooms.players.player import BeatPrompt, BeatReply, Player, PlayerRegistry, QuickPlayer
from hudkit.rooms.scheduler import heartbeat
from hudkit.rooms.scheduler.clocks import Clock, RealClock, WorldTime
from hudkit.rooms.scheduler.heartbeat import SECOND, Beat, BeatFailed, failing_beat, seeded_fraction
from hudkit.rooms.scheduler.model_queues import ModelQueue, ModelQueues, ModelQuota
from hudkit.rooms.scheduler.outbox import Outbox
from hudkit.rooms.scheduler.protocol import BeatLeases, HeapScheduler, JobClaim
from hudkit.rooms.world import AgentState, World
from hudkit.rooms.world_log import Transaction, WorldLog

# -- metrics -------------------------------------------------------------------------------------------------------

_LATENESS_SAMPLES = 10_000
_MINUTE = 60.0


class RunnerMetrics(msgspec.Struct, frozen=True):
    """How a world runs, since the runner was made.

    `late_*` are seconds of the world's time, of the last 10,000 beats. `thinking` wait for their players; `waiting`
    are due, and held up by a model's quota. `hudkit rooms run --json` has these names.
    """

    beats: int = 0
    skipped: int = 0
    failed: int = 0
    fenced: int = 0
    lost: int = 0
    per_minute: int = 0
    thinking: int = 0
    waiting: int = 0
    late_median: float = 0.0
    late_99: float = 0.0
    late_most: float = 0.0


class _MetricsCollector:
    """Counts beats as they come; `savepoint` and `restore` take back what a transaction that failed had counted."""

    def __init__(self) -> None:
        self.beats = self.skipped = self.failed = self.fenced = self.lost = 0
        self._lateness: deque[int] = deque(maxlen=_LATENESS_SAMPLES)
        self._times: deque[float] = deque()

    def count_beat(self, now: float, lateness: int) -> None:
        """Count a beat that began at `now` (seconds of the clock), so many ms after it was due."""
        self.beats += 1
        self._lateness.append(max(0, lateness))
        self._times.append(now)
        self._in_last_minute(now)

    def savepoint(self) -> tuple[int, ...]:
        """Return what `restore` goes back to."""
        return self.beats, self.skipped, self.failed, self.fenced, self.lost

    def restore(self, savepoint: tuple[int, ...]) -> None:
        """Forget what was counted since the savepoint."""
        for _ in range(min(self.beats - savepoint[0], len(self._lateness), len(self._times))):
            self._lateness.pop()
            self._times.pop()
        self.beats, self.skipped, self.failed, self.fenced, self.lost = savepoint

    def metrics(self, now: float, thinking: int, waiting: int) -> RunnerMetrics:
        """Return the figures at `now`."""
        lateness = sorted(self._lateness) or [0]
        return RunnerMetrics(
            self.beats,
            self.skipped,
            self.failed,
            self.fenced,
            self.lost,
            self._in_last_minute(now),
            thinking,
            waiting,
            lateness[len(lateness) // 2] / 1000,
            lateness[len(lateness) * 99 // 100] / 1000,
            lateness[-1] / 1000,
        )

    def _in_last_minute(self, now: float) -> int:
        while self._times and self._times[0] <= now - _MINUTE:
            self._times.popleft()
        return len(self._times)


# -- replies that take their time ----------------------------------------------------------------------------------


class _PlayerCall(NamedTuple):
    """A beat that has begun, and is to be asked of its player."""

    beat: Beat
    prompt: BeatPrompt


class _PendingReplies:
    """The calls under way in one process: tasks that run while the world goes on, and what they came to.

    `on_reply` is called when one is over.
    """

    def __init__(self, on_reply: Callable[[Beat, BeatReply], None]) -> None:
        self.finished: list[tuple[Beat, BeatReply]] = []
        """Replies that nothing was done with yet, in the order in which they came."""
        self._on_reply = on_reply
        self._tasks: dict[asyncio.Task[BeatReply], Beat] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def agents(self) -> set[int]:
        """Return whose beats are under way here, or answered and not settled yet."""
        beats = [*self._tasks.values(), *(beat for beat, _ in self.finished)]
        return {beat.claim.job for beat in beats}

    def start(self, call: _PlayerCall) -> asyncio.Task[BeatReply]:
        """Ask a player, and return the task."""
        task = asyncio.create_task(_reply_of(cast(Player, call.beat.player), call.prompt))
        self._tasks[task] = call.beat
        task.add_done_callback(self._on_done)
        return task

    async def cancel_all(self, drop: Callable[[list[Beat]], None]) -> None:
        """Give up all that is under way; `drop` is told at once what that was."""
        tasks, beats = list(self._tasks), [*self._tasks.values(), *(beat for beat, _ in self.finished)]
        self._tasks, self.finished = {}, []
        for task in tasks:
            task.cancel()
        # Before anything is awaited: a process that is being killed may have no time left after that.
        drop(beats)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_done(self, task: asyncio.Task[BeatReply]) -> None:
        beat = self._tasks.pop(task, None)
        if beat is not None and not task.cancelled():
            self.finished.append((beat, task.result()))
            self._on_reply(beat, task.result())


async def _reply_of(player: Player, prompt: BeatPrompt) -> BeatReply:
    try:
        return await player.reply(prompt)
    except Exception as error:  # a player that breaks its word costs one beat, not the world
        return BeatReply(error=f"{type(error).__name__}: {error}")


# -- the runner ----------------------------------------------------------------------------------------------------

MAX_BEATS_PER_COMMIT = 32
"""Beats that share a transaction at most."""
_MAX_BUSY = 3
"""Commits in a row that found the log locked for as long as the store waits (5 s), after which a runner gives up."""

_LOOK_SECONDS = 0.5
"""Seconds that a runner rests at most where several processes play: beats may be in nobody's hands."""

_MAX_CONFLICTS = 50
"""Transactions in a row that another writer came before, after which a runner gives up."""

V = TypeVar("V")

_NEWS = frozenset(
    (
        e.MessagePosted,
        e.ReactionAdded,
        e.RoomJoined,
        e.RoomLeft,
        e.BillboardSet,
        e.AccessRequested,
        e.AgentCreated,
        e.WorldResumed,
    )
)
_WATCHED = _NEWS | {NoneType, e.SpeedSet, e.BeatBegun, e.ReplyReceived, e.BeatFinished, e.AgentAltered}


class WorldRunner:
    """One process's part in playing a world; not for several threads. Several processes may play the same log: an
    agent is asked by one of them at a time.

    Run `run` in an event loop. Meanwhile others in that loop change the world through its log (with `now` as the
    clock of their `Architect`): pausing, speaking, admitting take effect at once.
    """

    def __init__(
        self,
        world_log: WorldLog,
        players: PlayerRegistry,
        *,
        clock: Clock | None = None,
        quotas: Mapping[str, ModelQuota] | None = None,
        renderer: CachedRenderer | None = None,
        group: int = MAX_BEATS_PER_COMMIT,
        leases: BeatLeases | None = None,
    ) -> None:
        """`quotas` by model, `*` for all others; `group`: beats that share a transaction at most. `leases` say who
        else plays; without them, what was begun and is not under way here counts as lost at the beginning."""
        self.world_log = world_log
        self.players = players
        self.clock = clock or RealClock()
        self.time = WorldTime(self.clock, world_log.world.now, world_log.world.speed)
        self.scheduler = HeapScheduler(world_log, self.now)
        self._outbox = Outbox(world_log)
        self._queues = ModelQueues(quotas or {})
        self._renderer = renderer or CachedRenderer()
        self._group = group
        self._leases = leases
        self._collector = _MetricsCollector()
        self._sign = asyncio.Event()
        self._pending = _PendingReplies(self._on_reply)
        self._errors: dict[int, int] = {}
        """Errors in a row, by agent; `_errors_before` has those from before the transaction that is under way."""
        self._errors_before: dict[int, int] = {}
        self._failures: dict[int, str] = {}
        """Agents whose next beat cannot be given, through a fault of ours, and why."""
        self._whispers_shown: dict[int, int] = {}
        self._conflicts = 0
        self._busy = 0
        self._took_up = False
        self._stood_still = True
        self._stopping = self._finishing = False
        self._last_news = self.now()
        self._beats_with_people = world_log.world.beats
        """The world's beats when the Architect last did something."""
        world_log.watchers.append(self._follow)

    # -- what others ask and tell ----------------------------------------------------------------------------------

    def now(self) -> int:
        """Return the world's time (Unix ms)."""
        return self.time.now(self.world_log.world.now)

    def due(self, agent: int) -> int | None:
        """Return when an agent's next beat is due (Unix ms); `None` while it has one, or waits for its model."""
        return self.scheduler.due(agent)

    def metrics(self) -> RunnerMetrics:
        """Return how it goes."""
        return self._collector.metrics(self.clock.monotonic(), len(self._pending), self._queues.waiting)

    def stop(self) -> None:
        """Let no beat begin any more, and what is under way have no effects; `run` returns soon."""
        self._stopping = True
        self._sign.set()

    def finish(self) -> None:
        """Let no beat begin any more; `run` returns when those under way are over."""
        self._finishing = True
        self._sign.set()

    def look(self) -> None:
        """Look at once whether another process wrote to the log."""
        self._sign.set()

    async def run(self, *, beats: int | None = None) -> None:
        """Play until `stop`; with `beats`, until so many have begun, and those under way are over.

        Beats that are under way in the log and in nobody's hands are lost, and asked for anew. Raises a `StoreError`
        where the log refuses: what was not recorded has not happened.
        """
        end = None if beats is None else self.world_log.world.beats + beats
        try:
            while not self._stopping:
                self._take_up()
                self._settle()
                limit = self._group if end is None else min(self._group, end - self.world_log.world.beats)
                limit = 0 if self._finishing else limit
                if limit <= 0 and not self._pending:
                    break
                # One attempt: what had nothing to do must not make the count of those in vain begin anew.
                # Nothing to do: rest. `None` (tried in vain) and `True` (there may be more): go on at once.
                if self._attempt(lambda limit=limit: self._receive_or_play(limit)) is False:  # type: ignore[misc]
                    await self._rest(may_begin=limit > 0)
                else:
                    await asyncio.sleep(0)
        finally:
            # It may run again; what comes due meanwhile is then spread instead of caught up with.
            self._stopping, self._finishing, self._stood_still = False, False, True
            await self._pending.cancel_all(self._drop)

    def _receive_or_play(self, limit: int) -> bool:
        """Take up what came from other partitions, else play a round; return whether there may be more."""
        return bool(self.world_log.receive(self.now())) or self._play(limit)

    async def step(self, agent: int | None = None) -> int | None:
        """Give one beat, to an agent or to who is due next, also while the world is paused; return whose it was.

        Returns `None` where there is nobody, or it is thinking. Raises a `StoreError`.
        """
        self._take_up()
        begun: list[int] = []
        calls: list[_PlayerCall] = []
        while self._attempt(lambda: self._begin_single(agent, calls, begun)) is None:
            pass
        if calls:
            await asyncio.wait({self._pending.start(call) for call in calls})
            self._settle()
        return begun[0] if begun else None

    # -- a round ---------------------------------------------------------------------------------------------------

    def _play(self, limit: int) -> bool:
        """Begin what is due, `limit` beats at most; return whether there may be more to do."""
        if self.world_log.world.paused is not None:
            self._release_waiting()
            return False
        if (why := self._reason_to_pause()) is not None:
            with self.scheduler.transaction() as transaction:
                transaction.append(e.WorldPaused(why, ending=True))
            return True
        posted = self._post_pending()
        due = self.scheduler.next_due()
        if limit <= 0 or ((due is None or due > self.now()) and not self._queues.ready(self.clock.monotonic())):
            return posted
        calls: list[_PlayerCall] = []
        claims: tuple[JobClaim, ...] = ()
        with (
            self._beginning(calls),
            self._queues.restored_on_error(),
            self.scheduler.transaction() as transaction,
        ):
            if transaction.world.paused is None:  # another process may have paused it just now
                claims = self.scheduler.claim(self.now(), limit)
                quick = sum(self._dispatch(transaction, claim) for claim in claims)
                self._serve_queues(transaction, calls, limit - quick)
        for call in calls:
            self._pending.start(call)
        return bool(claims or calls)

    def _post_pending(self) -> bool:
        """Post the messages that their authors' pace allows by now; return whether there were any."""
        due = self._outbox.next_due()
        if due is None or due > self.now():
            return False
        with self.scheduler.transaction() as transaction:
            # Another process may have paused the world just now.
            return transaction.world.paused is None and self._outbox.post_due(transaction, self.now()) > 0

    def _begin_single(self, agent: int | None, calls: list[_PlayerCall], begun: list[int]) -> bool:
        """Begin one beat, whatever the time is and whether or not there is news; return `True`: it was done."""
        with self._beginning(calls), self.scheduler.transaction() as transaction:
            self._outbox.post_due(transaction, self.now())
            if agent is not None:
                claims = self.scheduler.claim(self.now(), job=agent)
            else:
                due = self.scheduler.next_due()
                claims = () if due is None else self.scheduler.claim(due)
            begun[:] = [claim.job for claim in claims]
            for claim in claims:
                self._begin(transaction, self._resolve(transaction.world.agents[claim.job], claim), calls)
        return True

    def _dispatch(self, transaction: Transaction, claim: JobClaim) -> bool:
        """Skip a claim, answer it at once, or let it wait for its model; return whether it was answered."""
        agent, now = transaction.world.agents[claim.job], self.now()
        # A failure has to reach its agent, and a whisper is in no event that would count as news.
        must_begin = agent.id in self._failures or agent.id in self.world_log.whispers
        if not must_begin and not heartbeat.has_news(transaction.world, agent, now):
            self.scheduler.finish(claim, heartbeat.due_after_skip(transaction.world, agent, now))
            self._collector.skipped += 1
            return False
        beat = self._resolve(agent, claim)
        if beat.failure or _is_quick(beat.player):
            self._begin(transaction, beat, [])
            return True
        # Only the claim waits. The rest may change until its model admits it, and is resolved then.
        self._queues.of(beat.model).waiting.append(claim)
        return False

    def _serve_queues(self, transaction: Transaction, calls: list[_PlayerCall], limit: int) -> None:
        """Begin the beats of those who wait, as far as their models admit them."""
        for model, queue in self._queues.ready(self.clock.monotonic()):
            while limit > 0 and queue.wait_seconds(self.clock.monotonic()) <= 0:
                claim = queue.waiting.popleft()
                if not self.scheduler.holds(claim):
                    continue
                agent = transaction.world.agents[claim.job]
                if agent.model != model:
                    self.scheduler.finish(claim, claim.due)
                elif self._begin(transaction, self._resolve(agent, claim), calls, queue):
                    limit -= 1
                else:
                    queue.waiting.appendleft(claim)
                    break

    def _resolve(self, agent: AgentState, claim: JobClaim) -> Beat:
        """Return the facts of a beat that is about to begin."""
        return Beat(
            claim,
            agent.model,
            self.players.of(agent.model),
            "toon" if agent.output_format == "toon" else "json",
            tuple(self.world_log.whispers.get(agent.id, ())),
            self._failures.get(agent.id, ""),
            self.clock.monotonic(),
        )

    def _begin(
        self, transaction: Transaction, beat: Beat, calls: list[_PlayerCall], queue: ModelQueue | None = None
    ) -> bool:
        """Begin a beat; return whether its model admits it.

        Its end is in the same transaction where its player is quick, else it is among `calls`. Raises `BeatFailed`.
        """
        now, claim = self.now(), beat.claim
        if beat.failure:
            heartbeat.begin_beat(transaction, claim, None, now)
            self._end(transaction, beat, BeatReply(error=beat.failure, hopeless=True), 0.0)
            return True
        with failing_beat(claim.job):
            hud = self._build_hud(transaction.world, beat, now)
        if queue is not None:
            # Only now is it known what the request costs; the queue let it through on the size of the one before.
            queue.expected_tokens = hud.tokens
            beat.reservation = queue.limiter.acquire(beat.started, hud.tokens)
            if beat.reservation is None:
                return False
        closes = getattr(beat.player, "says_closing_words", False) and closing_words(hud.document)
        heartbeat.begin_beat(transaction, claim, hud, now, closing=CLOSING_REVISION if closes else 0)
        prompt = _beat_prompt(transaction.world, transaction.world.agents[claim.job], beat, hud)
        if _is_quick(beat.player):
            with failing_beat(claim.job):
                reply = beat.player.reply_now(prompt)
            self._end(transaction, beat, reply, 0.0)
        else:
            calls.append(_PlayerCall(beat, prompt))
        return True

    def _build_hud(self, world: World, beat: Beat, now: int) -> AgentHud:
        agent = beat.claim.job
        if beat.whispers:
            self._whispers_shown[agent] = len(beat.whispers)
        return build_hud(resolve_beat(world, agent, now, self._renderer, beat.whispers))

    @contextmanager
    def _beginning(self, calls: list[_PlayerCall]) -> Iterator[None]:
        """Where a transaction with beats went well, whispers were heard; where it did not, nobody was admitted."""
        self._whispers_shown.clear()
        try:
            yield
        except BaseException:
            for call in calls:
                self._on_reply(call.beat, BeatReply())
            calls.clear()
            raise
        for agent, count in self._whispers_shown.items():
            self.world_log.take_whispers(agent, count)

    # -- replies ---------------------------------------------------------------------------------------------------

    def _on_reply(self, beat: Beat, reply: BeatReply) -> None:
        """Release the model's reservation, and go on."""
        self._sign.set()
        reservation, beat.reservation = beat.reservation, None
        if reservation is not None:
            tokens = reply.input_tokens + reply.output_tokens
            self._queues.of(beat.model).limiter.release(reservation, self.clock.monotonic(), tokens, reply.rest)

    def _settle(self) -> None:
        """Carry out the replies that came, many in a transaction."""
        finished = self._pending.finished
        while batch := finished[: self._group]:
            if self._attempt(lambda batch=batch: self._settle_all(batch)):  # type: ignore[misc]
                del finished[: len(batch)]
            # A reply that could not be carried out through a fault of ours is an error from now on, and tried again
            # so.
            for index, (beat, _) in enumerate(finished):
                if (failure := self._failures.get(beat.claim.job)) is not None:
                    finished[index] = beat, BeatReply(error=failure, hopeless=True)

    def _settle_all(self, batch: list[tuple[Beat, BeatReply]]) -> bool:
        with self.scheduler.transaction() as transaction:
            for beat, reply in batch:
                self._end(transaction, beat, reply, self.clock.monotonic() - beat.started)
        return True

    def _end(self, transaction: Transaction, beat: Beat, reply: BeatReply, seconds: float) -> None:
        if not heartbeat.settle_beat(transaction, self.scheduler, beat, reply, self.now(), seconds, self._errors):
            self._collector.fenced += 1

    # -- beginnings and ends ---------------------------------------------------------------------------------------

    def _take_up(self) -> None:
        """Where the world stood still: give up beats that were under way, and spread those that were missed."""
        world, now = self.world_log.world, self.now()
        if not self._took_up or (self._leases is not None and self._leases.is_time_to_look()):
            while not self._attempt(self._lose_unheld):
                pass
            self._took_up = True
        if world.paused is not None:
            self._stood_still = True
        elif self._stood_still:
            while not self._attempt(lambda: self._spread_missed(now)):
                pass
            self._stood_still = False

    def _lose_unheld(self) -> bool:
        """Give up the beats that are in nobody's hands; whose hands they are in otherwise, its lease says."""
        mine = self._pending.agents()
        with self.scheduler.transaction() as transaction:
            claims = [claim for claim in self.scheduler.begun() if claim.job not in mine]
            if self._leases is not None:
                self._leases.hold(mine)
                lost = self._leases.lost({claim.job: claim.fence for claim in claims})
                claims = [claim for claim in claims if claim.job in lost]
            for claim in claims:
                heartbeat.lose_beat(transaction, self.scheduler, claim, self.now(), heartbeat.LOST)
                self._collector.lost += 1
        return True

    def _spread_missed(self, now: int) -> bool:
        with self.scheduler.transaction() as transaction:
            for agent in transaction.world.agents.values():
                due = self.scheduler.due(agent.id)
                if due is not None and due + SECOND * agent.interval < now:
                    self.scheduler.schedule(agent.id, _spread_due(transaction.world, agent, now))
        return True

    def _release_waiting(self) -> None:
        """Give back what waits for its model."""
        with self._queues.restored_on_error():
            if claims := self._queues.clear():
                with self.scheduler.transaction():
                    self._give_back(claims)

    def _give_back(self, claims: list[JobClaim]) -> None:
        for claim in claims:
            if self.scheduler.holds(claim):
                self.scheduler.finish(claim, claim.due)

    def _drop(self, beats: list[Beat]) -> None:
        """End beats that are under way without effects."""
        for beat in beats:
            self._on_reply(beat, BeatReply())
        try:
            self._release_waiting()
            with self.scheduler.transaction() as transaction:
                for beat in beats:
                    if self.scheduler.holds(beat.claim):
                        heartbeat.lose_beat(transaction, self.scheduler, beat.claim, self.now(), heartbeat.ENDED)
        except StoreError:
            self._took_up = False  # they are given up as lost when this runs again

    async def _rest(self, *, may_begin: bool) -> None:
        """Wait for whatever comes first; `may_begin`: so may beats."""
        # Cleared before anything is looked up: what happens from here on ends the wait.
        self._sign.clear()
        world, seconds = self.world_log.world, self.clock.poll_seconds
        if may_begin and world.paused is None:
            due = self.scheduler.next_due()
            for next_due in (due, self._outbox.next_due()):
                if next_due is not None:
                    seconds = min(seconds, self.time.until(next_due))
            seconds = min(seconds, self._queues.wait_seconds(self.clock.monotonic()))
            if self._leases is not None:
                seconds = min(seconds, _LOOK_SECONDS)
            if (idle := world.rules.caps.idle_seconds) and not world.partitions:
                seconds = min(seconds, self.time.until(self._last_news + round(idle * SECOND)))
        await self.clock.wait(seconds, self._sign, busy=bool(self._pending))
        self.world_log.refresh()

    def _reason_to_pause(self) -> str | None:
        """Return why the world should pause by itself; `None` where it should not."""
        world = self.world_log.world
        caps = world.rules.caps
        # A partition knows of itself only: it has its part of what all may cost, and silence here says nothing.
        parts = world.partitions or 1
        if caps.cost and world.cost >= caps.cost / parts:
            return f"cost: ${world.cost:.2f} of ${caps.cost / parts:.2f}"
        if caps.idle_seconds and not world.partitions and self.now() - self._last_news >= caps.idle_seconds * 1000:
            return f"idle: nothing new for {caps.idle_seconds:g} s"
        alone = world.beats - self._beats_with_people
        if caps.beats_without_people and alone >= caps.beats_without_people / parts:
            return f"alone: {alone} beats without the Architect"
        return None

    def _attempt(self, do: Callable[[], V]) -> V | None:
        """Return what `do` gives; `None` where it has to be tried again.

        That is, another writer came first, or a beat failed through a fault of ours, which becomes that beat's error.
        """
        savepoint = self._collector.savepoint()
        self._errors_before.clear()
        try:
            result = do()
        except BeatFailed as error:
            self._restore(savepoint)
            self._failures[error.agent] = str(error)
            return None
        except (SequenceConflict, StoreBusy) as error:
            self._restore(savepoint)
            self._conflicts += 1
            self._busy += isinstance(error, StoreBusy)
            if self._conflicts > _MAX_CONFLICTS or self._busy > _MAX_BUSY:
                raise
            return None
        self._conflicts = self._busy = 0
        return result

    def _restore(self, savepoint: tuple[int, ...]) -> None:
        """Forget what was counted since the savepoint: it has not happened."""
        self._collector.restore(savepoint)
        self._errors.update(self._errors_before)

    def _follow(self, event: e.WorldEvent | None) -> None:
        """Follow what happens in the world, whoever brings it about; `None`: it was read again."""
        self._sign.set()
        if (event_type := type(event)) not in _WATCHED:
            return
        world = self.world_log.world
        match event:
            case None | e.SpeedSet():
                self.time.set_speed(world.speed)
            case e.BeatBegun(composed_at=composed_at, due=due):
                self._collector.count_beat(self.clock.monotonic(), composed_at - due)
            case e.ReplyReceived(agent=id, error=error):
                self._errors_before.setdefault(id, self._errors.get(id, 0))
                self._errors[id] = self._errors.get(id, 0) + 1 if error else 0
                self._collector.failed += bool(error)
            case e.BeatFinished(agent=id):
                self._failures.pop(id, None)
            case e.AgentAltered(id=id, model=str()):
                self._give_back(self._queues.remove(id))  # it waits for the model that it had
            case e.MessagePosted(sender=e.ARCHITECT) | e.WorldResumed() | e.AgentCreated(by=e.ARCHITECT):
                self._beats_with_people = world.beats
        if event_type in _NEWS:
            self._last_news = self.now()


def _is_quick(player: Player | QuickPlayer) -> TypeGuard[QuickPlayer]:
    """Return whether a player answers at once."""
    return hasattr(player, "reply_now")


def _spread_due(world: World, agent: AgentState, now: int) -> int:
    """Return when an agent that missed beats has one, instead of all that it missed: within its interval.

    Spread by chance, or all agents of a world that stood still would be due at once.
    """
    fraction = seeded_fraction(world.seed, agent.id, agent.beats, "spread")
    return now + int(SECOND * agent.interval * fraction)


def _beat_prompt(world: World, agent: AgentState, beat: Beat, hud: AgentHud) -> BeatPrompt:
    """Return what a beat asks its player."""
    return BeatPrompt(
        agent.id, beat.claim.fence, agent.kind, beat.model, beat.output_format, world.seed, hud, agent.answers
    )
