"""The worlds that one page can show: the one that is served, and others, which are opened when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hudkit.errors import OperationError
from hudkit.rooms.page.page_context import PageContext


class WorldFileEntry(msgspec.Struct, frozen=True):
    """A world that there is: its name, when it last changed (Unix ms), and the bytes of its file."""

    name: str
    changed_at: int
    size: int


class WorldDirectory(Protocol):
    """Where the user's worlds are; the command line has it."""

    def entries(self) -> Sequence[WorldFileEntry]:
        """Return all worlds, the one that changed last first."""
        ...

    def open(self, name: str) -> PageContext:
        """Open a world, with who can play it. Raises `ConfigError` where there is none, and a `StoreError`."""
        ...

    def fork(self, context: PageContext, name: str, seq: int) -> None:
        """Make a world of a name with the past of another one up to event `seq`. Raises `ConfigError`."""
        ...


class ServedWorlds:
    """The contexts of one page, by the names of their worlds; the first has none, and is there from the beginning."""

    def __init__(self, context: PageContext, directory: WorldDirectory | None = None) -> None:
        self.first = context
        self.directory = directory
        self._opened: dict[str, PageContext] = {}

    def context(self, name: str) -> PageContext:
        """Return an open world; the first one where there is none of this name."""
        return self._opened.get(name, self.first)

    def entries(self) -> Sequence[WorldFileEntry]:
        """Return the worlds that can be opened here."""
        return self.directory.entries() if self.directory is not None else ()

    def open(self, name: str) -> str:
        """Open a world where it is not open, and return the name that a session has it by; empty for the first."""
        if name == self.first.file_name:
            return ""
        if name not in self._opened:
            self._opened[name] = self._required_directory().open(name)
        return name

    def fork(self, context: PageContext, name: str, seq: int) -> str:
        """Make a fork of a world up to event `seq`, open it, and return its name."""
        self._required_directory().fork(context, name, seq)
        return self.open(name)

    async def stop(self) -> None:
        """Have no world played any more, and close those that were opened here."""
        for context in (self.first, *self._opened.values()):
            if context.playing:
                await context.stop()
        for context in self._opened.values():
            context.world_log.close()
        self._opened.clear()

    def _required_directory(self) -> WorldDirectory:
        if self.directory is None:
            raise OperationError("this page knows no other worlds", hint="`hudkit rooms serve` does")
        return self.directory
