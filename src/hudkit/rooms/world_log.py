"""A world and its log: commits that are whole or nothing, snapshots, the world as it was, and forks of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Any

import msgspec
import uuid_utils

from hudkit.errors import ConfigError, StoreError
from hudkit.log import Draft, Event, EventLog, Origin, Snapshot
from hudkit.log.codec import seal_draft
from hudkit.log.stores import open_log
from hudkit.rooms.fold_log import apply_event, fold_logged_event, fork_history
from hudkit.rooms.prompts import check_prompts, load_prompts
from hudkit.rooms.world import World, WorldRules
from hudkit.rooms.world_events import WorldCreated, WorldEvent, decode_world_event

FOLDING = 2
"""Counts the changes of `folding.apply`: what was saved by another one is passed over."""

GROWTH = 1.25
"""How many times as many events there are at one snapshot as at the one before."""

_fields = blake2b(msgspec.json.encode(msgspec.json.schema(World)), digest_size=4).hexdigest()
VERSION = f"world.{FOLDING}.{_fields}"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(World).decode


class WorldSnapshots:
    """The snapshots of one world. Each step of the distances has a version of its own in the log, for a log keeps
    only a few of each."""

    def __init__(self, log: EventLog, session: str, every: int) -> None:
        """`every`: events before the first snapshot."""
        self._log = log
        self._session = session
        self._every = every
        self._step = -1

    def offer(self, world: World) -> None:
        """Save the world where it is time to; a log that refuses is passed over: the events are what counts."""
        if world.seq >= self._every and self._step_of(world.seq) > self._step:
            with suppress(StoreError):
                self.put(world)

    def put(self, world: World) -> None:
        """Save the world; one of fewer events than the first snapshot is not worth it. Raises a `StoreError`."""
        if world.seq >= self._every:
            self._step = self._step_of(world.seq)
            self._log.put_snapshot(Snapshot(self._session, world.seq, self._version(self._step), _encode(world)))

    def get(self, upto: int) -> World | None:
        """The newest saved world of no more than `upto` events; `None` where none can be read."""
        for step in range(self._step_of(upto), -1, -1):
            saved = self._log.get_snapshot(self._session, self._version(step), upto=upto)
            if saved is not None:
                with suppress(msgspec.MsgspecError):
                    found = _decode(saved.body)
                    self._step = max(self._step, step)
                    return found
        return None

    def _step_of(self, seq: int) -> int:
        return int(math.log(seq / self._every, GROWTH)) if seq >= self._every else -1

    def _version(self, step: int) -> str:
        return f"{VERSION}/{step}"


WORLD_SESSION = "world"
"""The session of a world's events in its log."""

Clock = Callable[[], int]
Ids = Callable[[], str]


class Transaction:
    """What happens in one `with book.commit(...)`: folded in at once, durable all together when the block ends."""

    def __init__(self, book: WorldLog, origin: Origin, at: int) -> None:
        self.world = book.world
        self.origin = origin
        self.at = at
        self._book = book
        self._drafts: list[Draft] = []
        self._whispers: list[tuple[int, str]] = []

    def tell(self, what: WorldEvent, *, at: int | None = None, origin: Origin | None = None) -> None:
        """Fold in what happened, without the secrets in it; `at` (Unix ms) and `origin` are the commit's where they
        are not given. Raises `TypeError` or `ValueError` where a field is not what its type says: the block should
        let it through."""
        when = self.at if at is None else at
        draft = seal_draft(self._book.ids(), when, 0, origin or self.origin, what)
        clean = draft.payload
        assert isinstance(clean, WorldEvent)
        self._drafts.append(draft)
        apply_event(self.world, self.world.seq + 1, when, clean)
        self._book._watched(clean)

    def whisper(self, agent: int, text: str) -> None:
        """Say something to one agent in its next HUD, once, and in no log; see `Book.whispers`."""
        self._whispers.append((agent, text))

    def secret(self) -> str:
        """192 new random bits, in hexadecimal digits."""
        return self._book.secret()


class WorldLog:
    """The world of one log, and the only way to change it. Not for several threads.

    Other processes may write to the same log: what they appended is folded in when a commit begins (`refresh`).
    """

    def __init__(
        self,
        log: EventLog,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        secret: Callable[[], str] | None = None,
        every: int = 2000,
    ) -> None:
        """Use `create`, `open` or `in_memory`. `every`: the events before the first snapshot."""
        self.log = log
        self.clock = clock or _now
        self.ids = ids or _uuid7
        self.secret = secret or _secret
        self.world = World()
        self.whispers: dict[int, list[str]] = {}
        """What an agent is told in its next HUD and nowhere else, such as a key that was made for it. Kept in memory
        only: after a restart it is gone, and the key has to be made anew."""
        self.watchers: list[Callable[[WorldEvent | None], None]] = []
        """Called with each happening that is told here, and with `None` where the world changed in another way: it
        was made again, or another process wrote."""
        self._shelf = WorldSnapshots(log, WORLD_SESSION, every)
        self._committing = False
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
        **outside: Any,
    ) -> WorldLog:
        """Make a world in a new log at `path`; `None`: in memory. `prompts` are laid over hudkit's own, and all of
        them are in the log, so that a world replays alike under a later version. `outside` takes `clock` (Unix ms),
        `ids` (UUIDv7), `secret` (for keys), `every`. Raises `ConfigError` where a world is there, a `StoreError`."""
        check_prompts(prompts or {})
        book = cls._opened(path, outside)
        if book.world.seq:
            book.close()
            raise ConfigError(f"there is a world in {path}", hint="Open it, or name another file")
        spoken = {**load_prompts(), **(prompts or {})}
        made = WorldCreated(name=name, seed=seed, rules=msgspec.to_builtins(rules or WorldRules()), prompts=spoken)
        with book.commit(Origin.SYSTEM) as commit:
            commit.tell(made)
        return book

    @classmethod
    def open(cls, path: str | PathLike[str], *, read_only: bool = False, **outside: Any) -> WorldLog:
        """Open the world at `path`; `read_only` where another process plays it. Raises `ConfigError` where there is
        none, and a `StoreError`."""
        if not Path(path).exists():
            raise _no_world(path)
        book = cls._opened(path, outside, read_only=read_only)
        if not book.world.seq:
            book.close()
            raise _no_world(path)
        return book

    @classmethod
    def in_memory(cls, *, name: str = "world", **given: Any) -> WorldLog:
        """A world that ends with the process; see `create`."""
        return cls.create(None, name=name, **given)

    @classmethod
    def _opened(
        cls, path: str | PathLike[str] | None, outside: Mapping[str, Any], *, read_only: bool = False
    ) -> WorldLog:
        log = open_log(path, read_only=read_only)
        try:
            return cls(log, **outside)
        except BaseException:
            log.close()
            raise

    @contextmanager
    def commit(self, origin: Origin, *, at: int | None = None) -> Iterator[Transaction]:
        """What is told in the block is appended in one durable step when it ends, `at` the clock's time.

        Where the block or the append raises, nothing of it has happened: the world is made again from the log, in
        the same `World` object, and the error goes on (`SequenceConflict` where another process wrote first).
        """
        if self._committing:
            raise ConfigError("a commit of this world is under way", hint="End it before the next one begins")
        self.refresh()
        before = self.world.seq
        commit = Transaction(self, origin, self.clock() if at is None else at)
        self._committing = True
        try:
            yield commit
            if commit._drafts:
                self.log.append(WORLD_SESSION, commit._drafts, expected=before)
        except BaseException:
            if commit._drafts:
                self._stale = True
                with suppress(StoreError):  # it cannot be read either: the next commit tries again
                    self._again()
            raise
        finally:
            self._committing = False
        for agent, text in commit._whispers:
            self.whispers.setdefault(agent, []).append(text)
        self._shelf.offer(self.world)

    def whispered(self, agent: int, count: int | None = None) -> tuple[str, ...]:
        """Forget the first `count` things that were whispered to an agent, or all; these are given."""
        told = self.whispers.pop(agent, [])
        if left := [] if count is None else told[count:]:
            self.whispers[agent] = left
        return tuple(told[: len(told) - len(left)])

    def refresh(self) -> bool:
        """Fold in what other writers appended; whether there was anything."""
        last = self.log.last_seq(WORLD_SESSION)
        if self._stale:
            self._again()
            return True
        if last == self.world.seq:
            return False
        self._fold(self.world, last)
        self._watched(None)
        return True

    def at(self, seq: int) -> World:
        """The world as it was after event `seq`, in an object of its own. Raises `ConfigError` outside of the log."""
        world = World()
        self._load(world, self.checked(seq))
        return world

    def checked(self, seq: int) -> int:
        """The number of an event of the log. Raises `ConfigError` outside of it."""
        last = self.log.last_seq(WORLD_SESSION)
        if not 1 <= seq <= last:
            raise ConfigError(f"the world has no event {seq}", hint=f"Its events go from 1 to {last}")
        return seq

    def happenings(self, after: int = 0, upto: int | None = None) -> Iterator[tuple[Event, WorldEvent]]:
        """What happened in events `after < seq <= upto`; redacted events and those of newer versions are left out."""
        for event in self.log.read(WORLD_SESSION, after=after, upto=upto):
            if (what := decode_world_event(event)) is not None:
                yield event, what

    def fork(
        self, path: str | PathLike[str] | None, at: int | None = None, *, name: str = "", **outside: Any
    ) -> WorldLog:
        """A world in a new log at `path` that has the same past up to event `at` (the last one where it is not
        given), and the same name where no other is. Events that were redacted, or rest on such a one, are left out.
        Raises what `create` and `at` do."""
        end = self.checked(self.world.seq if at is None else at)
        copy = open_log(path)
        try:
            if copy.last_seq(WORLD_SESSION):
                raise ConfigError(f"there is a world in {path}", hint="Fork into another file")
            for drafts in fork_history(self.happenings(upto=end), self.world.name, end, name):
                copy.append(WORLD_SESSION, drafts)
            return type(self)(copy, **{"clock": self.clock, "ids": self.ids, "secret": self.secret, **outside})
        except BaseException:
            copy.close()
            raise

    def close(self) -> None:
        """Save the world's state and close its log; closing twice is harmless."""
        with suppress(StoreError):
            self._shelf.put(self.world)
        self.log.close()

    def __enter__(self) -> WorldLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def _again(self) -> None:
        """Make the world again from the log."""
        self._load(self.world)
        self._stale = False
        self._watched(None)

    def _watched(self, what: WorldEvent | None) -> None:
        for watch in self.watchers:
            watch(what)

    def _load(self, world: World, upto: int | None = None) -> None:
        """Make a world again, from the newest snapshot that fits and the events since."""
        found = self._shelf.get(self.log.last_seq(WORLD_SESSION) if upto is None else upto) or World()
        for name in World.__struct_fields__:
            setattr(world, name, getattr(found, name))
        self._fold(world, upto)

    def _fold(self, world: World, upto: int | None) -> None:
        """Fold in what the log has after the world's last event."""
        holes = world.holes
        for event in self.log.read(WORLD_SESSION, after=world.seq, upto=upto):
            what = decode_world_event(event)
            if what is None:
                world.seq, holes = event.seq, True
            elif not fold_logged_event(world, event, what, holes=holes):
                world.seq = event.seq
        world.holes = holes


def _no_world(path: str | PathLike[str]) -> ConfigError:
    return ConfigError(f"there is no world in {path}", hint=f"Make one: hudkit rooms new {path}")


def _now() -> int:
    return time.time_ns() // 1_000_000


def _uuid7() -> str:
    return str(uuid_utils.uuid7())


def _secret() -> str:
    return token_hex(24)
