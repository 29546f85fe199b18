"""Google ADK passes the suite that every host passes, over Anthropic's client on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from adk_host import AdkHost, GeminiHost

pytestmark = pytest.mark.slow


class TestGoogleAdk(AdkHost):
    cannot: ClassVar[dict[str, str]] = {
        "compaction tools": "ADK compacts when its own threshold is reached, and takes no wish for it"
    }


class TestGemini:
    """The same with Google's own models: what a request has is the same, but for their form."""

    @pytest.mark.parametrize(
        "name",
        [
            "test_nothing_of_the_hud_is_kept_by_the_host",
            "test_a_request_begins_with_the_one_before",
            "test_usage_and_window_are_those_of_the_host",
        ],
    )
    def test_gemini_gets_what_others_get(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-000000")
        getattr(GeminiHost(), name)(tmp_path)
