"""A HUD whose times and ids are the same in every run: a model's answers can hang on a digit of the prompt, and a
server computes a prompt that it knows only once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random
from uuid import UUID

from hudkit.api import Hud
from hudkit.log.stores.memory_log import MemoryLog
from hudkit.transcripts.event_log_transcript import OwnTranscript
from hudkit.transcripts.search import PastSessions

_BEGIN_MS = 1_795_000_000_000


def repeatable_clock() -> Callable[[], int]:
    """A clock that goes by a second at each look, in Unix milliseconds."""
    clock = count(_BEGIN_MS, 1_000)
    return lambda: next(clock)


def repeatable_ids(seed: int = 18) -> Callable[[], str]:
    """Ids of one seed, in the form of UUIDv7."""
    chance = Random(seed)
    return lambda: str(UUID(int=chance.getrandbits(128) & ~(0xF << 76) | 7 << 76))


def repeatable_hud() -> Hud:
    """A HUD in memory with a clock that goes by a second at each look, ids from one seed, and its own past sessions,
    as every host gives them."""
    log = MemoryLog()
    past = PastSessions((OwnTranscript(log),))
    return Hud(log, clock=repeatable_clock(), ids=repeatable_ids(), past=past)
