"""Backups in time: while a daemon runs, a database is copied when its newest copy is as old as the settings say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from hudkit.clock import unix_ms
from hudkit.config import BackupSettings
from hudkit.daemon.logfile import LOGGER
from hudkit.errors import HudkitError
from hudkit.log.stores.recovery import DatabaseKind, back_up, backup_paths, backup_time

_LOOK_SECONDS = 600.0  # between two looks whether a backup is due
_HOUR = 3_600_000  # ms


async def back_up_in_time(
    databases: Callable[[], Sequence[tuple[Path, DatabaseKind]]],
    settings: BackupSettings,
    *,
    clock: Callable[[], int] = unix_ms,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Back each database up whenever that is due, for ever; return at once where the settings say 0 hours.

    `databases` names those that are there now, with their kinds. `clock` gives the time (Unix ms), `sleep` waits for
    seconds. A backup that fails is logged and tried again at the next look; the other databases have theirs.
    """
    while settings.every_hours:
        for path, kind in databases():
            try:
                if is_due(path, clock(), settings.every_hours):
                    # On a thread and a connection of its own: no request waits for it.
                    copy, _ = await asyncio.to_thread(back_up, path, clock(), keep=settings.keep, kind=kind)
                    LOGGER.info("backed up to %s", copy.name)
            except (HudkitError, OSError) as error:
                LOGGER.error("no backup of %s: %s", path.name, error)
        await sleep(min(settings.every_hours * 3600, _LOOK_SECONDS))


def is_due(path: Path, now: int, every_hours: float) -> bool:
    """Return whether a database has no backup, or its newest one is `every_hours` old at `now` (Unix ms).

    A backup from the future was made before the clock was set back: it says nothing.
    """
    times = [time for file in backup_paths(path) if (time := backup_time(file)) is not None and time <= now]
    return not times or now - max(times) >= every_hours * _HOUR
