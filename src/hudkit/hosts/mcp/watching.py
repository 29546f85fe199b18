"""Who wants to know when a HUD changes: clients of versions with a handshake by subscription, others by a bus."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from mcp.server.session import ServerSession
from mcp.server.subscriptions import SubscriptionBus
from mcp.shared.subscriptions import ResourceUpdated

from hudkit.hosts.mcp.offered import AS_JSON, CURRENT, SESSION

MOST = 1000
"""Subscriptions that are kept; the oldest, whose client may be long gone, goes first."""


class Watcher(NamedTuple):
    key: str
    session: ServerSession


class Watching:
    """The subscriptions of one server."""

    def __init__(self, bus: SubscriptionBus) -> None:
        self._bus = bus
        self._watchers: dict[tuple[str, str], Watcher] = {}

    def add(self, connection: str, uri: str, key: str, session: ServerSession) -> None:
        """A client wants to know of changes of the session with this key in the log, which it calls `uri`."""
        self._watchers.pop((connection, uri), None)
        self._watchers[connection, uri] = Watcher(key, session)
        while len(self._watchers) > MOST:
            del self._watchers[next(iter(self._watchers))]

    def remove(self, connection: str, uri: str) -> None:
        self._watchers.pop((connection, uri), None)

    async def changed(self, key: str) -> None:
        """Tell of a change. On the bus all hear of `hud://current`, whosever it is: they read their own again."""
        for (_, uri), watcher in list(self._watchers.items()):
            if watcher.key == key:
                await watcher.session.send_resource_updated(uri)
        for uri in (CURRENT, SESSION + quote(key, safe="")):
            await self._bus.publish(ResourceUpdated(uri))
            await self._bus.publish(ResourceUpdated(uri + AS_JSON))
