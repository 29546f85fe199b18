"""Plays a world: gives due agents their beats, waits for what minds think, and stops when it is told or has to."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import NoneType
from typing import NamedTuple, TypeVar, cast

import msgspec

from hudkit.errors import SequenceConflict, StoreBusy, StoreError
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import AgentHud, CachedRenderer, build_agent_hud
from hudkit.rooms.players.player import BeatPrompt, BeatReply, Player, PlayerRegistry, is_quick
from hudkit.rooms.scheduler import heartbeat
from hudkit.rooms.scheduler.clocks import Clock, RealClock, WorldTime
from hudkit.rooms.scheduler.heap_scheduler import HeapScheduler
from hudkit.rooms.scheduler.heartbeat import BeatFailed, failing_beat
from hudkit.rooms.scheduler.model_queues import ModelQueue, ModelQueues, ModelQuota
from hudkit.rooms.scheduler.protocol import JobClaim
from hudkit.rooms.world_log import Transaction, WorldLog

LATENESS_SAMPLES = 10_000
MINUTE = 60.0


class RunnerMetrics(msgspec.Struct, frozen=True):
    """Since the runner was made; `late_*` are seconds of the world's time, of the last 10,000 beats. `waiting` are
    due, and held up by a model's quota."""

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


class MetricsCollector:
    """Counts as it goes."""

    def __init__(self) -> None:
        self.beats = self.skipped = self.failed = self.fenced = self.lost = 0
        self._late: deque[int] = deque(maxlen=LATENESS_SAMPLES)
        self._times: deque[float] = deque()

    def beat(self, passed: float, late: int) -> None:
        """A beat began, so many ms after it was due."""
        self.beats += 1
        self._late.append(max(0, late))
        self._times.append(passed)
        self._recent(passed)

    def mark(self) -> tuple[int, ...]:
        """Where it stands; see `back_to`."""
        return self.beats, self.skipped, self.failed, self.fenced, self.lost

    def back_to(self, mark: tuple[int, ...]) -> None:
        """Forget what was counted since: the commit of it failed."""
        for _ in range(min(self.beats - mark[0], len(self._late), len(self._times))):
            self._late.pop()
            self._times.pop()
        self.beats, self.skipped, self.failed, self.fenced, self.lost = mark

    def figures(self, passed: float, thinking: int, waiting: int) -> RunnerMetrics:
        late = sorted(self._late) or [0]
        return RunnerMetrics(
            self.beats,
            self.skipped,
            self.failed,
            self.fenced,
            self.lost,
            self._recent(passed),
            thinking,
            waiting,
            late[len(late) // 2] / 1000,
            late[len(late) * 99 // 100] / 1000,
            late[-1] / 1000,
        )

    def _recent(self, passed: float) -> int:
        while self._times and self._times[0] <= passed - MINUTE:
            self._times.popleft()
        return len(self._times)


class PendingBeat(msgspec.Struct):
    """A beat that is under way. `at`: the clock's seconds when it began; `entry`: that of the model's admission."""

    claim: JobClaim
    model: str
    at: float
    entry: list[float] | None = None


class PlayerCall(NamedTuple):
    """A beat that waits for its mind."""

    work: PendingBeat
    mind: Player
    asked: BeatPrompt


class PendingReplies:
    """All of them in one process. `answered` is called when one is over."""

    def __init__(self, answered: Callable[[PendingBeat, BeatReply], None]) -> None:
        self.over: list[tuple[PendingBeat, BeatReply]] = []
        """Thoughts that nothing was done with yet, in the order in which they came."""
        self._answered = answered
        self._tasks: dict[asyncio.Task[BeatReply], PendingBeat] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, start: PlayerCall) -> asyncio.Task[BeatReply]:
        """Let a mind think."""
        task = asyncio.create_task(_think(start.mind, start.asked))
        self._tasks[task] = start.work
        task.add_done_callback(self._done)
        return task

    async def end(self, drop: Callable[[list[PendingBeat]], None]) -> None:
        """Give up all that is under way; `drop` is told at once what that was."""
        tasks, works = list(self._tasks), [*self._tasks.values(), *(work for work, _ in self.over)]
        self._tasks, self.over = {}, []
        for task in tasks:
            task.cancel()
        drop(works)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[BeatReply]) -> None:
        work = self._tasks.pop(task, None)
        if work is not None and not task.cancelled():
            self.over.append((work, task.result()))
            self._answered(work, task.result())


async def _think(mind: Player, asked: BeatPrompt) -> BeatReply:
    try:
        return await mind.think(asked)
    except Exception as error:  # a mind that breaks its word costs one beat, not the world
        return BeatReply(error=f"{type(error).__name__}: {error}")


MAX_BEATS_PER_COMMIT = 32
"""Beats that share a commit at most."""
MAX_CONFLICTS = 50
"""Commits in a row that another writer came before, after which a runner gives up."""

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
_HEARD = _NEWS | {NoneType, e.SpeedSet, e.BeatBegun, e.ReplyReceived, e.BeatFinished, e.AgentAltered}


class WorldRunner:
    """One process's part in playing a world; not for several threads. Several processes may play the same log: an
    agent is asked by one of them at a time.

    Run `run` in an event loop. Meanwhile others in that loop change the world through the book (with `now` as the
    clock of their `Architect`): pausing, speaking, admitting take effect at once.
    """

    def __init__(
        self,
        book: WorldLog,
        minds: PlayerRegistry,
        *,
        clock: Clock | None = None,
        quotas: Mapping[str, ModelQuota] | None = None,
        typeset: CachedRenderer | None = None,
        group: int = MAX_BEATS_PER_COMMIT,
    ) -> None:
        """`quotas` by model, `*` for all others; `group`: beats that share a commit at most."""
        self.book = book
        self.minds = minds
        self.clock = clock or RealClock()
        self.time = WorldTime(self.clock, book.world.now, book.world.speed)
        self.schedule = HeapScheduler(book, self.now)
        self._lanes = ModelQueues(quotas or {})
        self._typeset = typeset or CachedRenderer()
        self._group = group
        self._tally = MetricsCollector()
        self._sign = asyncio.Event()
        self._thinking = PendingReplies(self._answered)
        self._errors: dict[int, int] = {}
        self._errors_before: dict[int, int] = {}
        self._poisoned: dict[int, str] = {}
        self._whispered: dict[int, int] = {}
        self._conflicts = 0
        self._began = False
        self._stood_still = True
        self._stopping = False
        self._news = self.now()
        self._people = book.world.beats
        book.watchers.append(self._hear)

    # -- what others ask and tell ----------------------------------------------------------------------------------

    def now(self) -> int:
        """The world's time (Unix ms)."""
        return self.time.now(self.book.world.now)

    def due(self, agent: int) -> int | None:
        """When an agent's next beat is due (Unix ms); `None` while it has one, or waits for its model."""
        return self.schedule.due(agent)

    def figures(self) -> RunnerMetrics:
        """How it goes."""
        return self._tally.figures(self.clock.passed(), len(self._thinking), self._lanes.waiting)

    def stop(self) -> None:
        """Let no beat begin any more, and what is under way have no effects; `run` returns soon."""
        self._stopping = True
        self._sign.set()

    async def run(self, *, beats: int | None = None) -> None:
        """Play until `stop`; with `beats`, until so many have begun, and those under way are over.

        Beats that are under way in the log when this begins are lost, and asked for anew. Raises a `StoreError` where
        the log refuses: what was not recorded has not happened.
        """
        end = None if beats is None else self.book.world.beats + beats
        try:
            while not self._stopping:
                self._take_up()
                self._settle()
                most = self._group if end is None else min(self._group, end - self.book.world.beats)
                if most <= 0 and not self._thinking:
                    break
                if self._attempt(lambda most=most: self._play(most)) is False:  # type: ignore[misc]
                    await self._rest(more=most > 0)
                else:
                    await asyncio.sleep(0)
        finally:
            self._stopping, self._stood_still = False, True
            await self._thinking.end(self._drop)

    async def step(self, agent: int | None = None) -> int | None:
        """One beat, of an agent or of who is due next, also while the world is paused; whose it was, `None` where
        there is nobody, or it is thinking. Raises a `StoreError`."""
        self._take_up()
        begun: list[int] = []
        starts: list[PlayerCall] = []
        while self._attempt(lambda: self._single(agent, starts, begun)) is None:
            pass
        if starts:
            await asyncio.wait({self._thinking.start(start) for start in starts})
            self._settle()
        return begun[0] if begun else None

    # -- a round ---------------------------------------------------------------------------------------------------

    def _play(self, most: int) -> bool:
        """Begin what is due, `most` beats at most; whether there may be more to do."""
        if self.book.world.paused is not None:
            self._let_go()
            return False
        if (why := self._reason()) is not None:
            with self.schedule.transaction() as commit:
                commit.tell(e.WorldPaused(why, ending=True))
            return True
        due = self.schedule.next_due()
        if most <= 0 or ((due is None or due > self.now()) and not self._lanes.open(self.clock.passed())):
            return False
        starts: list[PlayerCall] = []
        claims: tuple[JobClaim, ...] = ()
        with self._begun(starts), self._lanes.or_as_before(), self.schedule.transaction() as commit:
            if commit.world.paused is None:  # another process may have paused it just now
                claims = self.schedule.claim(self.now(), most)
                quick = sum(self._sort(commit, claim) for claim in claims)
                self._serve(commit, starts, most - quick)
        for start in starts:
            self._thinking.start(start)
        return bool(claims or starts)

    def _single(self, agent: int | None, starts: list[PlayerCall], begun: list[int]) -> bool:
        """Begin one beat, whatever the time is and whether or not there is news."""
        with self._begun(starts), self.schedule.transaction() as commit:
            if agent is not None:
                claims = self.schedule.claim(self.now(), job=agent)
            else:
                due = self.schedule.next_due()
                claims = () if due is None else self.schedule.claim(due)
            begun[:] = [claim.job for claim in claims]
            for claim in claims:
                self._give(commit, claim, starts)
        return True

    def _sort(self, commit: Transaction, claim: JobClaim) -> bool:
        """A claim is skipped, answered at once, or waits for its model; whether it was answered."""
        agent, now = commit.world.agents[claim.job], self.now()
        poisoned = agent.id in self._poisoned
        if not (poisoned or agent.id in self.book.whispers or heartbeat.has_news(commit.world, agent, now)):
            self.schedule.finish(claim, heartbeat.next_due(commit.world, agent, now, done=False))
            self._tally.skipped += 1
        elif poisoned or is_quick(self.minds.of(agent.model)):
            self._give(commit, claim, [])
            return True
        else:
            self._lanes.of(agent.model).waiting.append(claim)
        return False

    def _serve(self, commit: Transaction, starts: list[PlayerCall], most: int) -> None:
        """Begin the beats of those who wait, as far as their models admit them."""
        for model, lane in self._lanes.open(self.clock.passed()):
            while most > 0 and lane.wait(self.clock.passed()) <= 0:
                claim = lane.waiting.popleft()
                if not self.schedule.holds(claim):
                    continue
                if commit.world.agents[claim.job].model != model:
                    self.schedule.finish(claim, claim.due)
                elif self._give(commit, claim, starts, lane):
                    most -= 1
                else:
                    lane.waiting.appendleft(claim)
                    break

    def _give(
        self, commit: Transaction, claim: JobClaim, starts: list[PlayerCall], lane: ModelQueue | None = None
    ) -> bool:
        """A beat begins: its end is in the same commit where its mind is quick, else it is among `starts`. Whether
        its model admits it. Raises `Poisoned`."""
        now, passed = self.now(), self.clock.passed()
        agent = commit.world.agents[claim.job]
        if (poison := self._poisoned.get(agent.id)) is not None:
            heartbeat.begin_beat(commit, claim, None, now)
            self._end(commit, claim, BeatReply(error=poison, hopeless=True), 0.0)
            return True
        with failing_beat(agent.id):
            seen = self._compose(agent.id, now)
        entry = None
        if lane is not None:
            lane.guess = seen.tokens
            if (entry := lane.admission.admit(passed, seen.tokens)) is None:
                return False
        heartbeat.begin_beat(commit, claim, seen, now)
        asked = heartbeat.beat_prompt(commit.world, agent, claim.fence, seen)
        mind = self.minds.of(agent.model)
        if is_quick(mind):
            with failing_beat(agent.id):
                thought = mind.think_now(asked)
            self._end(commit, claim, thought, 0.0)
        else:
            starts.append(PlayerCall(PendingBeat(claim, agent.model, passed, entry), cast(Player, mind), asked))
        return True

    def _compose(self, agent: int, now: int) -> AgentHud:
        whispers = tuple(self.book.whispers.get(agent, ()))
        if whispers:
            self._whispered[agent] = len(whispers)
        return build_agent_hud(self.book.world, agent, now, self._typeset, whispers)

    @contextmanager
    def _begun(self, starts: list[PlayerCall]) -> Iterator[None]:
        """Where a commit with beats went well, whispers were heard; where it did not, nobody was admitted."""
        self._whispered.clear()
        try:
            yield
        except BaseException:
            for start in starts:
                self._answered(start.work, BeatReply())
            starts.clear()
            raise
        for agent, count in self._whispered.items():
            self.book.whispered(agent, count)

    # -- thinking --------------------------------------------------------------------------------------------------

    def _answered(self, work: PendingBeat, thought: BeatReply) -> None:
        """Tell the model's admission, and go on."""
        self._sign.set()
        entry, work.entry = work.entry, None
        if entry is not None:
            tokens = thought.input_tokens + thought.output_tokens
            self._lanes.of(work.model).admission.settle(entry, self.clock.passed(), tokens, thought.rest)

    def _settle(self) -> None:
        """Carry out what was thought, many thoughts in a commit."""
        while batch := self._thinking.over[: self._group]:
            if self._attempt(lambda batch=batch: self._settle_all(batch)):  # type: ignore[misc]
                del self._thinking.over[: len(batch)]
            for place, (work, _) in enumerate(self._thinking.over):
                if (poison := self._poisoned.get(work.claim.job)) is not None:
                    self._thinking.over[place] = work, BeatReply(error=poison, hopeless=True)

    def _settle_all(self, batch: list[tuple[PendingBeat, BeatReply]]) -> bool:
        with self.schedule.transaction() as commit:
            for work, thought in batch:
                self._end(commit, work.claim, thought, self.clock.passed() - work.at)
        return True

    def _end(self, commit: Transaction, claim: JobClaim, thought: BeatReply, seconds: float) -> None:
        if not heartbeat.settle_beat(commit, self.schedule, claim, thought, self.now(), seconds, self._errors):
            self._tally.fenced += 1

    # -- beginnings and ends ---------------------------------------------------------------------------------------

    def _take_up(self) -> None:
        """Where the world stood still: beats that were under way are lost, and those that were missed are spread."""
        world, now = self.book.world, self.now()
        if not self._began:
            while not self._attempt(self._lose_all):
                pass
            self._began = True
        if world.paused is not None:
            self._stood_still = True
        elif self._stood_still:
            while not self._attempt(lambda: self._spread(now)):
                pass
            self._stood_still = False

    def _lose_all(self) -> bool:
        with self.schedule.transaction() as commit:
            for claim in self.schedule.begun():
                heartbeat.lose_beat(commit, self.schedule, claim, self.now(), heartbeat.LOST)
                self._tally.lost += 1
        return True

    def _spread(self, now: int) -> bool:
        with self.schedule.transaction() as commit:
            for agent in commit.world.agents.values():
                due = self.schedule.due(agent.id)
                if due is not None and due + heartbeat.SECOND * agent.interval < now:
                    self.schedule.schedule(agent.id, heartbeat.spread_due(commit.world, agent, now))
        return True

    def _let_go(self) -> None:
        """Give back what waits for its model."""
        with self._lanes.or_as_before():
            if claims := self._lanes.emptied():
                with self.schedule.transaction():
                    self._give_back(claims)

    def _give_back(self, claims: list[JobClaim]) -> None:
        for claim in claims:
            if self.schedule.holds(claim):
                self.schedule.finish(claim, claim.due)

    def _drop(self, works: list[PendingBeat]) -> None:
        """What was under way has no effects."""
        for work in works:
            self._answered(work, BeatReply())
        try:
            self._let_go()
            with self.schedule.transaction() as commit:
                for work in works:
                    if self.schedule.holds(work.claim):
                        heartbeat.lose_beat(commit, self.schedule, work.claim, self.now(), heartbeat.ENDED)
        except StoreError:
            self._began = False  # it is told as lost when this runs again

    async def _rest(self, *, more: bool) -> None:
        """Wait for whatever comes first; `more`: beats may begin."""
        self._sign.clear()
        world, seconds = self.book.world, self.clock.patience
        if more and world.paused is None:
            due = self.schedule.next_due()
            if due is not None:
                seconds = min(seconds, self.time.until(due))
            seconds = min(seconds, self._lanes.wait(self.clock.passed()))
            if idle := world.rules.caps.idle_seconds:
                seconds = min(seconds, self.time.until(self._news + round(idle * heartbeat.SECOND)))
        await self.clock.wait(seconds, self._sign, busy=bool(self._thinking))
        self.book.refresh()

    def _reason(self) -> str | None:
        world = self.book.world
        return heartbeat.reason_to_stop(world, self.now(), self._news, world.beats - self._people)

    def _attempt(self, do: Callable[[], V]) -> V | None:
        """What `do` gives; `None` where it has to be tried again: another writer came first, or a beat failed through
        a fault of ours, which becomes that beat's error."""
        mark = self._tally.mark()
        self._errors_before.clear()
        try:
            found = do()
        except BeatFailed as error:
            self._take_back(mark)
            self._poisoned[error.agent] = str(error)
            return None
        except (SequenceConflict, StoreBusy):
            self._take_back(mark)
            self._conflicts += 1
            if self._conflicts > MAX_CONFLICTS:
                raise
            return None
        self._conflicts = 0
        return found

    def _take_back(self, mark: tuple[int, ...]) -> None:
        """What was counted since `mark` has not happened."""
        self._tally.back_to(mark)
        self._errors.update(self._errors_before)

    def _hear(self, what: e.WorldEvent | None) -> None:
        """Follow what happens in the world, whoever brings it about."""
        self._sign.set()
        if (kind := type(what)) not in _HEARD:
            return
        world = self.book.world
        match what:
            case None | e.SpeedSet():
                self.time.set_speed(world.speed)
            case e.BeatBegun(at=at, due=due):
                self._tally.beat(self.clock.passed(), at - due)
            case e.ReplyReceived(agent=id, error=error):
                self._errors_before.setdefault(id, self._errors.get(id, 0))
                self._errors[id] = self._errors.get(id, 0) + 1 if error else 0
                self._tally.failed += bool(error)
            case e.BeatFinished(agent=id):
                self._poisoned.pop(id, None)
            case e.AgentAltered(id=id, model=str()):
                self._give_back(self._lanes.without(id))  # it waits for the model that it had
            case e.MessagePosted(sender=e.ARCHITECT) | e.WorldResumed() | e.AgentCreated(by=e.ARCHITECT):
                self._people = world.beats
        if kind in _NEWS:
            self._news = self.now()
