"""The HUD waits longer for itself: a busy machine may need long for a frame, and tests are not about that."""

from __future__ import annotations

import pytest
import sdk_host  # noqa: F401  (a missing SDK skips what is here, or fails in CI)

from hudkit.hosts.claude_agent_sdk import program_hooks

_SECONDS = 60.0


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_hooks, "hook_seconds", lambda _event: _SECONDS)
