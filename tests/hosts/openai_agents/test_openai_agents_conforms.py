"""The Agents SDK with the HUD passes the suite that every host passes."""

from __future__ import annotations

import pytest
from openai_agents_host import AgentsHost

from campaigns import HOST_DAYS
from hudkit.testing.host_conformance import HostConformance

pytestmark = pytest.mark.slow


class TestOpenAIAgents(AgentsHost, HostConformance):
    turns = HOST_DAYS.rounds
