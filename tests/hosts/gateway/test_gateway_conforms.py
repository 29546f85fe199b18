"""What has nothing but a base URL passes the suite that every host passes: the OpenAI and the Anthropic SDK."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from gateway_host import GatewayHost

from campaigns import HOST_DAYS
from hudkit.models.scripted_answers import says, uses

pytestmark = pytest.mark.slow


class _OverGateway(GatewayHost):
    turns = HOST_DAYS.rounds
    most_cost = ((7, 1.04), (20, 1.03))
    cannot: ClassVar[dict[str, str]] = {"compaction tools": "the client compacts, and asks nobody"}
    # A first page of what was said has all of it: the model's calls of the HUD are none of the client's messages.
    named = frozenset({"snapshot", "help", "compactions"})

    @pytest.fixture(autouse=True)
    def _patience(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A busy machine: no call is to go without its HUD here."""
        monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "30")

    def test_what_was_taken_away_comes_back(self, tmp_path: Path) -> None:
        """Nothing is taken away: what was once forwarded stays as it was. So there is nothing to get back."""

    def test_a_log_that_cannot_be_used_stops_nobody(self, tmp_path: Path) -> None:
        """The calls go as the client made them: without a HUD, and without tools that could record nothing."""
        with self._at(tmp_path) as (place, model):
            place.log.parent.mkdir(parents=True, exist_ok=True)
            place.log.write_bytes(b"this is no log" * 1_000)
            with self.open(place, "s1") as talk:
                model.play(uses(self.call("run", command="echo 1")), says("done"))
                assert talk.say("Please begin.") == "done"
            assert all("HUD" not in chat.text and "hud" not in chat.tools for chat in model.chats)
            assert place.log.read_bytes() == b"this is no log" * 1_000


class TestOpenAIChat(_OverGateway):
    shape = "openai"


class TestOpenAIResponses(_OverGateway):
    shape = "responses"


class TestAnthropic(_OverGateway):
    shape = "anthropic"
