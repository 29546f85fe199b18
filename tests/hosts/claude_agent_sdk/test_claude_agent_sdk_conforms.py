"""The Claude Agent SDK passes the suite that every host passes, with its real command line on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import claude_agent_sdk as sdk
import pytest
from sdk_host import ClaudeAgentSdkHost, SdkTalk, conversation, session_id

from campaigns import HOST_DAYS
from hudkit import Hud
from hudkit.context.caching import ANTHROPIC, simulate_cache, usd_cost
from hudkit.models.captured_request import CapturedRequest
from hudkit.testing.host_conformance import HostWorkspace
from hudkit.tokens import count_tokens, prices_of

pytestmark = [pytest.mark.slow, pytest.mark.hosts]


class TestClaudeAgentSdk(ClaudeAgentSdkHost):
    cannot: ClassVar[dict[str, str]] = {
        "compaction tools": "an agent cannot have its window compacted; its program can, with /compact"
    }
    turns = HOST_DAYS.rounds
    days: dict[str, list[CapturedRequest]]
    is_naive = False

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[SdkTalk]:
        """A conversation; in the naive day, with a hook that prints all of the HUD each time instead of ours."""
        # Claude Code tells the remaining tokens in the days that are compared, with the HUD and without.
        who = "host" if session == "day" else "hud"
        naive = self._naive(place, session)
        with conversation(place, session, hud=hud, resume=resume, remaining_tokens=who, instead=naive) as talk:
            yield talk

    def test_the_hud_costs_little(self, tmp_path: Path) -> None:
        """Also a third at most of what a naive hook adds, which prints the whole HUD with each prompt and result."""
        self.days = {}
        super().test_the_hud_costs_little(tmp_path)
        self.is_naive = True
        self._day(tmp_path / "day-naive", self.turns, with_hud=True)
        spent = {name: self._spent(chats) for name, chats in self.days.items()}
        ours, naive = spent["ours"] / spent["none"], spent["naive"] / spent["none"]
        print(f"claude-agent-sdk, {self.turns * 6} calls: x {ours:.3f}, a naive hook x {naive:.3f}")
        assert ours - 1 < (naive - 1) / 3

    def _day(self, folder: Path, turns: int, *, with_hud: bool) -> list[CapturedRequest]:
        chats = super()._day(folder, turns, with_hud=with_hud)
        self.days["naive" if self.is_naive else "ours" if with_hud else "none"] = chats
        return chats

    def _spent(self, chats: list[CapturedRequest]) -> float:
        requests = [chat.request(count_tokens, timestamp=1000 * n) for n, chat in enumerate(chats)]
        return usd_cost(simulate_cache(requests, ANTHROPIC), prices_of("claude-sonnet-4-5"))

    def _naive(self, place: HostWorkspace, session: str) -> dict[str, Any] | None:
        async def print_all(asked: Any, _call: str | None, _context: Any) -> Any:
            with Hud.open(place.log) as hud:
                state = hud.session(session_id(place, session), project=place.project, host="claude-code")
                text = state.whole_frame().text
            output = {"hookEventName": asked["hook_event_name"], "additionalContext": text}
            return {"hookSpecificOutput": output}

        events = ("UserPromptSubmit", "PostToolBatch")
        return {event: [sdk.HookMatcher(hooks=[print_all])] for event in events} if self.is_naive else None
