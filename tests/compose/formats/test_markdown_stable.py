"""Writing is idempotent: whatever is written, is written the same again once it was read, by either reader."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from mdast_strategies import roots

from campaigns import Campaign
from hudkit.compose.formats.markdown import parse, write
from hudkit.compose.formats.mdast import Root

ROOTS = Campaign("markdown", quick=600, full=50_000)
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def _check(root: Root) -> None:
    written = write(root)
    again = write(parse(written, gfm=True))
    assert again == written


@ROOTS
@pytest.mark.slow
@settings(deadline=None, max_examples=ROOTS.rounds, suppress_health_check=_SLOW)
@given(root=roots)
def test_what_is_written_is_written_the_same_again(root: Root) -> None:
    _check(root)
