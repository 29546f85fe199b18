"""Long runs: a test whose strength is in its numbers does a few rounds of them in `make test`, and all of them in
`make campaign NAME`.

    KILLS = Campaign("kills", quick=20, full=200)

    @KILLS
    def test_no_kill_loses_anything(tmp_path):
        for _ in range(KILLS.rounds): ...

`rounds` is known at import, so that it also serves `@settings(max_examples=…)`; `chance` is a test's random numbers:
the same in each run of `make test`, others with another seed of a campaign.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

T = TypeVar("T", bound=Callable[..., Any])

NAME, SEED = "HUDKIT_CAMPAIGN", "HUDKIT_CAMPAIGN_SEED"
"""Variables of the environment: the campaign that runs, and its seed. `--campaign` and `--campaign-seed` set them."""


class Campaign:
    """A part of a campaign: how many rounds it is in `make test`, and how many when the campaign is run."""

    def __init__(self, name: str, *, quick: int, full: int) -> None:
        assert 0 < quick <= full
        self.name = name
        self.quick = quick
        self.full = full

    def __call__(self, test: T) -> T:
        """Marks a test as part of it."""
        marked: T = pytest.mark.campaign(self)(test)
        return marked

    @property
    def rounds(self) -> int:
        """How many rounds this run does."""
        return self.full if os.environ.get(NAME) == self.name else self.quick

    def seed(self, own: int) -> int:
        """The test's own seed, and that of the campaign where it has one."""
        return own + 1_000_003 * int(os.environ.get(SEED) or 0)

    def chance(self, own: int) -> random.Random:
        """Random numbers from that seed."""
        return random.Random(self.seed(own))


HOST_DAYS = Campaign("cost", quick=7, full=20)
"""Turns of the day that each host is priced by (`HostConformance.test_the_hud_costs_little`)."""
