"""How a test runs the plugin's hooks, and what it gets of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

SCRIPT = Path(__file__).with_name("drive.mjs")


class Ran(msgspec.Struct):
    """What hooks gave: a result for the plugin's start and one for each step; `calls` of the client's summarize;
    `said` to the user, each as `{"log": …}` or `{"toast": …}`."""

    results: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    said: list[dict[str, str]]

    @property
    def logged(self) -> str:
        """What was written to OpenCode's log, a line each."""
        return "\n".join(one["log"] for one in self.said if "log" in one)

    @property
    def toasts(self) -> list[str]:
        """What was shown on OpenCode's screen."""
        return [one["toast"] for one in self.said if "toast" in one]

    def __getitem__(self, step: int) -> Any:
        """The output object of a step, counted from 0."""
        return self.results[step + 1]["output"]


Drive = Callable[..., Ran]
