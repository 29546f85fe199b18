"""Saved worlds in a log: at growing distances, at a cost that is a fixed share of all writing."""

from __future__ import annotations

import math
from contextlib import suppress
from hashlib import blake2b

import msgspec

from hudkit.errors import StoreError
from hudkit.log import EventLog, Snapshot
from hudkit.rooms.world import World

FOLDING = 2
"""Counts the changes of `folding.apply`: what was saved by another one is passed over."""

GROWTH = 1.25
"""How many times as many events there are at one snapshot as at the one before."""

_fields = blake2b(msgspec.json.encode(msgspec.json.schema(World)), digest_size=4).hexdigest()
VERSION = f"world.{FOLDING}.{_fields}"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(World).decode


class Shelf:
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
