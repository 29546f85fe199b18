"""LangChain passes the suite that every host passes, over OpenAI's and Anthropic's clients on loopback."""

from __future__ import annotations

import pytest
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from lc_driver import LangChainHost

pytestmark = pytest.mark.slow


class TestLangChain(LangChainHost):
    pass


class TestLangChainWithAnthropic(LangChainHost):
    """With the middleware that LangChain names cache breakpoints by."""

    shape = "anthropic"
    middleware = (AnthropicPromptCachingMiddleware(),)
