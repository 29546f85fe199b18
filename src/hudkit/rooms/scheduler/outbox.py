"""Messages that wait for their authors' pace, by the time at which they are due, and posting them then.

The world knows what waits; the outbox is an index of that in one process, as `HeapScheduler` is one of beats. Several
processes may play a world: a message is posted once, for the second transaction that tries it is refused by the log,
and finds it gone.
"""

from __future__ import annotations

import heapq
from types import NoneType

from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.actions.action import ActionContext
from hudkit.rooms.actions.room_actions import post_pending
from hudkit.rooms.allowances import room_words_left
from hudkit.rooms.scheduler.loops import throttle_loops
from hudkit.rooms.world_log import Transaction, WorldLog

_ROOM_IS_FULL = 1000
"""Milliseconds after which a message is tried again in a room that hears no more words in this minute."""
_WATCHED = frozenset((NoneType, e.MessageDelayed))


class Outbox:
    """The messages of one world that wait."""

    def __init__(self, world_log: WorldLog) -> None:
        """It follows `world_log` from here on."""
        self._world_log = world_log
        self._heap: list[tuple[int, int]] = []
        world_log.watchers.append(self._follow)
        self._rebuild()

    def next_due(self) -> int | None:
        """Return when the first message is due (Unix ms); `None` where none waits."""
        while self._heap and self._heap[0][1] not in self._world_log.world.pending:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def post_due(self, transaction: Transaction, now: int) -> int:
        """Post what is due; return how many messages that were."""
        posted = 0
        while (due := self.next_due()) is not None and due <= now:
            _, id = heapq.heappop(self._heap)
            if self._post(transaction, id, now):
                posted += 1
            else:
                heapq.heappush(self._heap, (now + _ROOM_IS_FULL, id))
        return posted

    def _post(self, transaction: Transaction, id: int, now: int) -> bool:
        """Post or withdraw a message; return `False` where its room hears no more words now."""
        world = transaction.world
        message = world.pending[id]
        rules = world.rules.words
        # More words than a room ever hears in a minute wait until it is silent.
        if room_words_left(world, message.room, now) < min(message.words, rules.room_wpm):
            return False
        context = ActionContext(world, message.sender, now, transaction.secret)
        post_pending(context, message)
        next_message = world.next_message
        for effect in context.effects:
            transaction.append(effect, timestamp=now, origin=Origin.AGENT)
        throttle_loops(transaction, world.agents[message.sender], next_message, now)
        return True

    def _follow(self, event: e.WorldEvent | None) -> None:
        """Follow what was folded in; `None`: the world was read again."""
        if type(event) not in _WATCHED:
            return
        if isinstance(event, e.MessageDelayed):
            heapq.heappush(self._heap, (event.due, event.id))
        else:
            self._rebuild()

    def _rebuild(self) -> None:
        pending = self._world_log.world.pending.values()
        self._heap = [(message.due, message.id) for message in pending]
        heapq.heapify(self._heap)
