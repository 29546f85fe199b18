"""pydantic-ai passes the suite that every host passes, over its OpenAI and Anthropic clients on loopback."""

from __future__ import annotations

import pytest
from pydantic_ai_host import PydanticAIHost

pytestmark = pytest.mark.slow


class TestPydanticAI(PydanticAIHost):
    pass


class TestPydanticAIWithAnthropic(PydanticAIHost):
    shape = "anthropic"
