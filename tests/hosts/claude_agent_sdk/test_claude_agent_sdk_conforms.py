"""The Claude Agent SDK passes the suite that every host passes, with its real command line on loopback."""

from __future__ import annotations

from typing import ClassVar

import pytest
from sdk_host import ClaudeAgentSdkHost

from campaigns import HOST_DAYS

pytestmark = [pytest.mark.slow, pytest.mark.hosts]


class TestClaudeAgentSdk(ClaudeAgentSdkHost):
    cannot: ClassVar[dict[str, str]] = {
        "compaction tools": "an agent cannot have its window compacted; its program can, with /compact"
    }
    turns = HOST_DAYS.rounds
