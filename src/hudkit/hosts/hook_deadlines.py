"""How long a host waits for a hook of ours, at most; without an answer by then it goes on."""

from __future__ import annotations

import os

_SECONDS = {"SessionStart": 2.0, "SubagentStart": 2.0, "PreCompact": 5.0, "PostCompact": 5.0, "SessionEnd": 1.0}
"""Seconds by the hook's name (contract 6: 2 s where an epoch starts, 5 s before a summary)."""

_SECONDS_OF_STEP = 0.2
"""The same for every other hook."""


def hook_seconds(event: str) -> float:
    """Return the seconds within which a hook of this name is answered, if at all.

    `HUDKIT_HOOK_PATIENCE` is a factor for a machine that is always slow or busy; what is no number counts as 1.
    """
    return _SECONDS.get(event, _SECONDS_OF_STEP) * hook_patience()


def hook_patience() -> float:
    """Return the factor that the user's environment names."""
    try:
        return max(1.0, min(100.0, float(os.environ.get("HUDKIT_HOOK_PATIENCE", "1"))))
    except ValueError:
        return 1.0
