"""Telling pages that the world went on: server-sent events, a few a second at most."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from hudkit.rooms.page.desk import Desk

EVERY = 0.3
"""Seconds between two tellings."""
QUIET = 15.0
"""Seconds after which a comment is sent, so that a lost connection is noticed."""
MOST = 32
"""Pages that are told at a time."""


class Live:
    """Who is told. `ended` says whether the server is about to end, and its streams with it."""

    def __init__(self, desk: Desk, ended: Callable[[], bool]) -> None:
        self._desk = desk
        self._ended = ended
        self.listening = 0

    async def events(self, after: int, holds: Callable[[], bool]) -> AsyncIterator[bytes]:
        """The stream of one page, which shows event `after`: a line whenever there is a newer one, until `holds` is
        false. A page from before a restart is told at once."""
        self.listening += 1
        try:
            silent = 0.0
            yield b"retry: 1000\n\n"
            while holds() and not self._ended():
                self._desk.world_log.refresh()
                seq = self._desk.world_log.world.seq
                if seq != after:
                    after, silent = seq, 0.0
                    yield b"event: world\ndata: %d\n\n" % seq
                elif silent >= QUIET:
                    silent = 0.0
                    yield b": still here\n\n"
                await asyncio.sleep(EVERY)
                silent += EVERY
        finally:
            self.listening -= 1
