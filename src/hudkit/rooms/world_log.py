"""A world and its log: transactions that are whole or nothing, snapshots, the world as it was, and forks of it.

Snapshots at growing distances. A world of a million events must open fast, and so must the world as it was at any
event; but saving the world often would cost more than playing it. So snapshot n is taken at `interval · 1.25ⁿ`
events. The sizes form a geometric series: all snapshots together are about five times as large as the last one, a
fixed cost for each event. And a world that is opened at any event folds at most a quarter of the events that the
snapshot before it holds. For example, with an interval of 2,000 snapshots stand at 2,000, 2,500, 3,125, 3,906 …
events, and opening the world at event 3,500 reads the one at 3,125 and folds 375 events. A log keeps only a few
snapshots of one version, so each step of the series has a version of its own.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Any

import msgspec

from hudkit.clock import unix_ms, uuid7
from hudkit.errors import ConfigError, StoreError, StoreMissing, StoreReadOnly
from hudkit.log import Batch, Event, EventDraft, EventLog, Origin, Snapshot
from hudkit.log.codec import encode_draft
from hudkit.log.payloads import EventGap
from hudkit.log.stores import open_log
from hudkit.paths import is_server_url, shown_place
from hudkit.rooms import world_events as e
from hudkit.rooms.fold_log import apply_event, fold_logged_event
from hudkit.rooms.partitions.merged_log import MergedLog
from hudkit.rooms.partitions.relay import ENDS_INTEREST, make_relay, received_events, relay_targets
from hudkit.rooms.partitions.split_world import check_partitions, inbox_session, partition_session, split_founding
from hudkit.rooms.prompts import check_prompts, load_prompts
from hudkit.rooms.world import World, WorldRules
from hudkit.rooms.world_events import WorldCreated, WorldEvent, decode_world_event

WORLD_SESSION = partition_session(0)
"""The session of a world's events in its log; of one in partitions, what the Architect did."""

_FOLDING_VERSION = 3
"""Counts the changes of `fold_log.apply_event`: what was saved by another one is passed over."""

SNAPSHOT_GROWTH = 1.25
"""How many times as many events there are at one snapshot as at the one before."""

FIRST_SNAPSHOT = 2_000
"""The events before the first snapshot."""

# A changed field of the state is another version, too, without anybody having to remember it.
_fields_digest = blake2b(msgspec.json.encode(msgspec.json.schema(World)), digest_size=4).hexdigest()
_SNAPSHOT_VERSION = f"world.{_FOLDING_VERSION}.{_fields_digest}"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(World).decode

_Clock = Callable[[], int]
_Ids = Callable[[], str]


class _WorldSnapshots:
    """The snapshots of one world in its log."""

    def __init__(self, log: EventLog, session: str, interval: int) -> None:
        """`interval`: events before the first snapshot."""
        self._log = log
        self._session = session
        self._interval = interval
        self._step = -1

    def save_if_due(self, world: World) -> None:
        """Save the world where it is time to; a log that refuses is passed over, for the events are what counts."""
        if world.seq >= self._interval and self._step_of(world.seq) > self._step:
            with suppress(StoreError):
                self.save(world)

    def save(self, world: World) -> None:
        """Save the world; one of fewer events than the first snapshot is not worth it. Raises a `StoreError`."""
        if world.seq >= self._interval:
            self._step = self._step_of(world.seq)
            self._log.put_snapshot(Snapshot(self._session, world.seq, self._version(self._step), _encode(world)))

    def load(self, upto: int) -> World | None:
        """Return the newest saved world of no more than `upto` events; `None` where none can be read."""
        # From the newest step down: one that was written by other code is not found under this version, or not read.
        for step in range(self._step_of(upto), -1, -1):
            snapshot = self._log.get_snapshot(self._session, self._version(step), upto=upto)
            if snapshot is not None:
                with suppress(msgspec.MsgspecError):
                    world = _decode(snapshot.body)
                    self._step = max(self._step, step)
                    return world
        return None

    def _step_of(self, seq: int) -> int:
        return int(math.log(seq / self._interval, SNAPSHOT_GROWTH)) if seq >= self._interval else -1

    def _version(self, step: int) -> str:
        return f"{_SNAPSHOT_VERSION}/{step}"


class Transaction:
    """What happens in one `with world_log.transaction(...)`: folded in at once, durable all together at the end."""

    def __init__(self, world_log: WorldLog, origin: Origin, timestamp: int) -> None:
        """`origin` and `timestamp` (Unix ms) are those of its events."""
        self.world = world_log.world
        self.origin = origin
        self.timestamp = timestamp
        self.drafts: list[EventDraft] = []
        self.relays: dict[int, list[EventDraft]] = {}
        """What other partitions are sent."""
        self.whispers: list[tuple[int, str]] = []
        self._world_log = world_log

    def append(
        self,
        event: WorldEvent,
        *,
        timestamp: int | None = None,
        origin: Origin | None = None,
        is_copy: bool = False,
    ) -> None:
        """Fold an event in, without the secrets in it; `timestamp` (Unix ms) and `origin` stand in for its own.

        In a world in partitions, others that it concerns are sent it in the same commit, but for a copy of what one
        of them has sent.

        Raises `TypeError` or `ValueError` where a field is not what its type says: the block should let it through.
        """
        if timestamp is None:
            timestamp = self.timestamp
        # Sealing takes secrets out before the event is folded in: the world must not know what its log does not.
        draft = encode_draft(self._world_log.ids(), timestamp, 0, origin or self.origin, event)
        clean = draft.payload
        assert isinstance(clean, WorldEvent)
        self.drafts.append(draft)
        targets: set[int] = set()
        is_relayed = self.world.partitions and not is_copy
        is_asked_before = isinstance(clean, ENDS_INTEREST)
        if is_relayed and is_asked_before:
            targets = relay_targets(self.world, clean)
        # Folded before it is durable, so that the next line of the block sees its effect. Where the append fails, the
        # world is read from the log again.
        apply_event(self.world, self.world.seq + 1, timestamp, clean)
        self._world_log.notify_watchers(clean)
        if is_relayed:
            if not is_asked_before:
                targets = relay_targets(self.world, clean)
            for target in targets:
                relay = make_relay(self.world, clean, target)
                drafts = self.relays.setdefault(target, [])
                drafts.append(encode_draft(self._world_log.ids(), timestamp, 0, Origin.SYSTEM, relay))

    def whisper(self, agent: int, text: str) -> None:
        """Say something to one agent in its next HUD, once, and in no log; see `WorldLog.whispers`."""
        self.whispers.append((agent, text))

    @property
    def use_tool(self) -> Callable[[World, int, str, Mapping[str, Any]], str] | None:
        """Return what carries out the tools of the world's rules; `None`: nobody does."""
        return self._world_log.use_tool

    def secret(self) -> str:
        """Return 192 new random bits, in hexadecimal digits."""
        return self._world_log.secret()


class WorldLog:
    """The world of one log, and the only way to change it. Not for several threads.

    Other processes may write to the same log: what they appended is folded in when a transaction begins (`refresh`).
    """

    def __init__(
        self,
        log: EventLog,
        *,
        clock: _Clock | None = None,
        ids: _Ids | None = None,
        secret: Callable[[], str] | None = None,
        every: int = FIRST_SNAPSHOT,
        session: str = WORLD_SESSION,
    ) -> None:
        """Use `create`, `open` or `in_memory`. `every`: the events before the first snapshot; `session`: that of a
        partition, where it is not the whole world."""
        self.log = log
        self.session = session
        self.clock = clock or unix_ms
        self.ids = ids or uuid7
        self.secret = secret or _random_secret
        self.world = World()
        self.whispers: dict[int, list[str]] = {}
        """What an agent is told in its next HUD and nowhere else, such as a key that was made for it. In memory only:
        after a restart it is gone, and the key has to be made anew."""
        self.use_tool: Callable[[World, int, str, Mapping[str, Any]], str] | None = None
        """Carries out the tools of the world's rules; set by `game_master.attach_game_master`."""
        self.watchers: list[Callable[[WorldEvent | None], None]] = []
        """Called with each event that is appended here, and with `None` where the world changed in another way: it
        was read again, or another process wrote."""
        self._snapshots = _WorldSnapshots(log, session, every)
        self.damaged: list[int] = []
        """Events that were damaged when they were read. The world is folded without them, and without what rests on
        them."""
        self._in_transaction = False
        self._stale = False
        self._load(self.world)

    @classmethod
    def create(
        cls,
        path: str | PathLike[str] | None,
        *,
        name: str,
        seed: int = 0,
        rules: WorldRules | None = None,
        prompts: Mapping[str, str] | None = None,
        **environment: Any,
    ) -> WorldLog:
        """Create a world in a new log at `path` (`None`: in memory) and return it.

        `prompts` are laid over hudkit's own, and all of them are in the log, so that a world replays alike under a
        later version. `environment` takes `clock` (Unix ms), `ids` (UUIDv7), `secret` (for keys), `every`. Raises
        `ConfigError` where a world is there, a `StoreError`.
        """
        check_prompts(prompts or {})
        world_log = cls._opened(path, environment)
        if world_log.world.seq:
            world_log.close()
            raise _world_is_there(path)
        all_prompts = {**load_prompts(), **(prompts or {})}
        plain_rules = msgspec.to_builtins(rules or WorldRules())
        with world_log.transaction(Origin.SYSTEM) as transaction:
            transaction.append(
                WorldCreated(name=name, seed=seed, rules=plain_rules, prompts=all_prompts, revision=e.REVISION)
            )
        return world_log

    @classmethod
    def open(cls, path: str | PathLike[str], *, read_only: bool = False, **environment: Any) -> WorldLog:
        """Open the world in a file or at a server's URL and return it; `read_only` where another process plays it.

        `environment` is that of `create`. Raises `ConfigError` where there is no world, and a `StoreError`.
        """
        if not _may_have_world(path):
            raise _no_world(path)
        world_log = cls._opened(path, environment, read_only=read_only)
        if not world_log.world.seq:
            world_log.close()
            raise _no_world(path)
        return world_log

    @classmethod
    def open_empty(cls, path: str | PathLike[str]) -> WorldLog:
        """Return the log of a world that has no events yet, at a new `path`. Raises `ConfigError` where there are."""
        world_log = cls._opened(path, {})
        if world_log.world.seq:
            world_log.close()
            raise _world_is_there(path)
        return world_log

    @classmethod
    def open_session(
        cls, path: str | PathLike[str], session: str, *, read_only: bool = False, **environment: Any
    ) -> WorldLog:
        """Open one of the sessions that are played by themselves (`played_sessions`), and return its log.

        `environment` is that of `create`. Raises a `StoreError`.
        """
        log = open_log(path, read_only=read_only)
        try:
            return cls(log, session=session, **environment)
        except BaseException:
            log.close()
            raise

    @classmethod
    def in_memory(cls, *, name: str = "world", **options: Any) -> WorldLog:
        """Return a world that ends with the process; `options` are those of `create`."""
        return cls.create(None, name=name, **options)

    @classmethod
    def _opened(
        cls, path: str | PathLike[str] | None, environment: Mapping[str, Any], *, read_only: bool = False
    ) -> WorldLog:
        log = open_log(path, read_only=read_only)
        try:
            partitions = _partitions_of(log)
            return cls(MergedLog(log, partitions) if partitions else log, **environment)
        except BaseException:
            log.close()
            raise

    @contextmanager
    def transaction(self, origin: Origin, *, timestamp: int | None = None) -> Iterator[Transaction]:
        """Yield a transaction, and append what the block puts into it in one durable step when the block ends.

        `timestamp` (Unix ms) is the clock's where it is not given. Where the block or the append raises, nothing has
        happened: the world is read again from the log, in the same `World` object, and the error goes on
        (`SequenceConflict` where another process wrote first).
        """
        # Not nested: a block within another one would make half of that durable.
        if self._in_transaction:
            raise ConfigError("a commit of this world is under way", hint="End it before the next one begins")
        self.refresh()
        before = self.world.seq
        timestamp = self.clock() if timestamp is None else timestamp
        if isinstance(self.log, MergedLog):
            # Logs are merged by their times: what answers to an event must not seem to be before it.
            timestamp = max(timestamp, self.world.now)
        transaction = Transaction(self, origin, timestamp)
        self._in_transaction = True
        try:
            yield transaction
            if transaction.drafts:
                self._commit(transaction, before)
        except BaseException:
            if transaction.drafts:
                self._stale = True
                with suppress(StoreError):  # it cannot be read either: the next transaction tries again
                    self._reload()
            raise
        finally:
            self._in_transaction = False
        # Whispers are handed over only now: a key that was not recorded must not be shown.
        for agent, text in transaction.whispers:
            self.whispers.setdefault(agent, []).append(text)
        self._snapshots.save_if_due(self.world)

    def _commit(self, transaction: Transaction, before: int) -> None:
        # `expected` refuses the append where another process wrote since the refresh.
        if not transaction.relays:
            self.log.append(self.session, transaction.drafts, expected=before)
        else:
            inboxes = [Batch(inbox_session(number), tuple(drafts)) for number, drafts in transaction.relays.items()]
            self.log.append_together([Batch(self.session, tuple(transaction.drafts), before), *inboxes])
        # Those who play what a person changed, and what was sent, look at once; else they do so by themselves soon.
        heard = [inbox_session(number) for number in transaction.relays]
        if transaction.origin is Origin.USER:
            heard.append(self.session)
        if heard and (notify := getattr(self.log, "notify", None)) is not None:
            for session in heard:
                with suppress(StoreError):
                    notify(session)

    @property
    def inbox(self) -> str:
        """Return the session of what other partitions send to this one."""
        return inbox_session(self.world.partition)

    def receive(self, timestamp: int, limit: int = 64) -> int:
        """Take up what other partitions sent to this one, `limit` entries at most; return how many that were.

        Raises what `transaction` raises.
        """
        world = self.world
        if not world.partition or self.log.last_seq(self.inbox) <= world.received:
            return 0
        with self.transaction(Origin.SYSTEM, timestamp=timestamp) as transaction:
            entries = self.log.read(self.inbox, after=world.received, upto=world.received + limit)
            taken_up = 0
            for entry in entries:
                taken_up += 1
                relay = decode_world_event(entry)
                if not isinstance(relay, e.EventRelayed):
                    transaction.append(e.EventReceived(entry.seq, 0, 0), is_copy=True)
                    continue
                ids, events = received_events(world, relay)
                received = e.EventReceived(entry.seq, relay.source, relay.seq, len(events), ids)
                for event in (received, *events):
                    transaction.append(event, is_copy=True)
        return taken_up

    def take_whispers(self, agent: int, count: int | None = None) -> tuple[str, ...]:
        """Forget the first `count` whispers to an agent, or all of them, and return these."""
        texts = self.whispers.pop(agent, [])
        rest = [] if count is None else texts[count:]
        if rest:
            self.whispers[agent] = rest
        return tuple(texts[: len(texts) - len(rest)])

    def refresh(self) -> bool:
        """Fold in what other writers appended; return whether there was anything."""
        last = self.log.last_seq(self.session)
        if self._stale:
            self._reload()
            return True
        if last == self.world.seq:
            return False
        self._fold(self.world, last)
        self.notify_watchers(None)
        return True

    def world_at(self, seq: int) -> World:
        """Return the world as it was after event `seq`, in an object of its own.

        Raises `ConfigError` outside of the log.
        """
        world = World()
        self._load(world, self.check_seq(seq))
        return world

    def check_seq(self, seq: int) -> int:
        """Return `seq`, the number of an event of the log. Raises `ConfigError` outside of it."""
        last = self.log.last_seq(self.session)
        if not 1 <= seq <= last:
            raise ConfigError(f"the world has no event {seq}", hint=f"Its events go from 1 to {last}")
        return seq

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[tuple[Event, WorldEvent]]:
        """Yield the entries `after < seq <= upto` of the log with what each of them says.

        Redacted entries, damaged ones and those of newer versions are left out.
        """
        for entry in self.log.read(self.session, after=after, upto=upto, past_damage=True):
            if (event := decode_world_event(entry)) is not None:
                yield entry, event

    def fork(
        self, path: str | PathLike[str] | None, upto: int | None = None, *, name: str = "", **environment: Any
    ) -> WorldLog:
        """Copy the past up to event `upto` (not given: the last one) into a new log at `path`; return that.

        The fork has the name of this world where no other is given. Entries that were redacted or are damaged, or
        rest on such a one, are left out. Raises what `create` and `world_at` do.
        """
        # Before the file is made: a wrong number must leave none behind.
        end = self.check_seq(self.world.seq if upto is None else upto)
        copy = open_log(path)
        try:
            if copy.last_seq(WORLD_SESSION):
                raise _world_is_there(path)
            for drafts in _fork_history(self.events(upto=end), self.world.name, end, name):
                copy.append(WORLD_SESSION, drafts)
            return type(self)(copy, **{"clock": self.clock, "ids": self.ids, "secret": self.secret, **environment})
        except BaseException:
            copy.close()
            raise

    def found_elsewhere(self, path: str | PathLike[str], partitions: int = 0, **environment: Any) -> WorldLog:
        """Copy the whole world into a new log at `path`, all of it or nothing, and return that; in so many
        `partitions`, where there are any. `environment` is that of `create`.

        Raises `ConfigError` where there is a world, or for a number of partitions that cannot be; a `StoreError`.
        """
        if partitions:
            check_partitions(partitions, len(self.world.agents))
        log = open_log(path)
        try:
            if log.last_seq(WORLD_SESSION):
                raise _world_is_there(path)
            environment = {"clock": self.clock, "ids": self.ids, "secret": self.secret, **environment}
            history = list(self.events())
            if partitions:
                log.append_together(split_founding(history, self.world, partitions))
                return type(self)(MergedLog(log, partitions), **environment)
            drafts = [EventDraft(entry.id, entry.timestamp, 0, entry.origin, event) for entry, event in history]
            log.append(WORLD_SESSION, drafts, expected=0)
            if len(drafts) == self.world.seq:  # nothing was left out: the copy is this world, and need not be folded
                with suppress(StoreError):
                    _WorldSnapshots(log, WORLD_SESSION, environment.get("every", FIRST_SNAPSHOT)).save(self.world)
            return type(self)(log, **environment)
        except BaseException:
            log.close()
            raise

    def close(self) -> None:
        """Save the world's state and close its log; closing twice is harmless."""
        with suppress(StoreError):
            self._snapshots.save(self.world)
        self.log.close()

    def __enter__(self) -> WorldLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def notify_watchers(self, event: WorldEvent | None) -> None:
        """Call all watchers with an event, or with `None` where the world changed in another way."""
        for watch in self.watchers:
            watch(event)

    def _reload(self) -> None:
        """Read the world from the log again."""
        self._load(self.world)
        self._stale = False
        self.notify_watchers(None)

    def _load(self, world: World, upto: int | None = None) -> None:
        """Set `world` to the newest snapshot that fits, and fold in the events since.

        The object stays the same: whoever holds the world goes on seeing it as it is.
        """
        snapshot = self._snapshots.load(self.log.last_seq(self.session) if upto is None else upto)
        world.become(snapshot or World())
        self._fold(world, upto)

    def _fold(self, world: World, upto: int | None) -> None:
        """Fold in what the log has after the world's last event."""
        # Merged from partitions, a thing may be done twice that cannot be (one left who was removed): once is enough.
        is_merged = isinstance(self.log, MergedLog)
        holes = world.holes or is_merged
        for entry in self.log.read(self.session, after=world.seq, upto=upto, past_damage=True):
            if isinstance(entry.payload, EventGap) and entry.payload.damaged and entry.seq not in self.damaged:
                self.damaged.append(entry.seq)
            event = decode_world_event(entry)
            if event is None:
                world.seq, holes = entry.seq, True
            elif not fold_logged_event(world, entry, event, holes=holes):
                world.seq = entry.seq
        world.holes = holes and not is_merged


def played_sessions(path: str | PathLike[str]) -> tuple[str, ...]:
    """Return the sessions of a world that are played by themselves: its partitions, or the whole.

    Raises `ConfigError` where there is no world, and a `StoreError`.
    """
    if not _may_have_world(path):
        raise _no_world(path)
    log = open_log(path, read_only=True)
    try:
        if not log.last_seq(WORLD_SESSION):
            raise _no_world(path)
        numbers = range(1, _partitions_of(log) + 1)
        return tuple(map(partition_session, numbers)) or (WORLD_SESSION,)
    finally:
        log.close()


def _partitions_of(log: EventLog) -> int:
    """Return in how many partitions a log has its world; 0: in none, or there is no world."""
    first = next(iter(log.read(WORLD_SESSION, upto=1, past_damage=True)), None)
    event = None if first is None else decode_world_event(first)
    return event.partitions if isinstance(event, WorldCreated) else 0


def _may_have_world(path: str | PathLike[str]) -> bool:
    """Return whether there is a file at `path`, or a log at a server's URL; nothing is made by looking."""
    if not is_server_url(path):
        return Path(path).exists()
    try:
        open_log(path, read_only=True).close()
    except StoreMissing as error:
        # Of a database that is not there, the error says how it is made.
        if error.details.get("schema"):
            return False
        raise
    except StoreReadOnly:  # to be brought to this release first
        return True
    return True


def _no_world(path: str | PathLike[str]) -> ConfigError:
    place = shown_place(os.fspath(path))
    return ConfigError(f"there is no world in {place}", hint=f"Make one: hudkit rooms new {shlex.quote(place)}")


def _world_is_there(path: str | PathLike[str] | None) -> ConfigError:
    place = "" if path is None else shown_place(os.fspath(path))
    return ConfigError(
        f"there is a world in {place}", hint="Open it, or name another place (`?schema=NAME` on a server)"
    )


def _random_secret() -> str:
    return token_hex(24)


_FORK_PAGE = 1000
"""Events of one append when a log is copied: many, so that the copy is fast; not all, so that it fits in memory."""


def _fork_history(
    history: Iterable[tuple[Event, e.WorldEvent]], name: str, end: int, new_name: str = ""
) -> Iterator[list[EventDraft]]:
    """Yield the past of a fork in pages of drafts: `history` up to event `end` of the world called `name`.

    Events that rest on events that are gone are left out, and what follows is numbered anew. For example, where event
    7 (a message) was redacted, event 9 (a reaction to it) does not fold and is left out; event 8 becomes the
    fork's 7, and event 10 its 8. `new_name` is the fork's own name; without one it keeps the old one.
    """
    world, page = World(), list[EventDraft]()
    for entry, event in history:
        if isinstance(event, e.WorldCreated):
            event = msgspec.structs.replace(
                event, name=new_name or event.name, forked_from=name, forked_at=end, partitions=0
            )
        # A world of the fork's own is folded beside, only to see what still follows.
        if fold_logged_event(world, entry, event, holes=True, seq=world.seq + 1):
            page.append(EventDraft(entry.id, entry.timestamp, entry.turn, entry.origin, event))
        if len(page) == _FORK_PAGE:
            yield page
            page = []
    yield page
