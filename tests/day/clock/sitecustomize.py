"""A clock that jumps: in a process that finds this module first, the time is off by what a file says, in seconds."""

from __future__ import annotations

import os
import time
from pathlib import Path

_FILE = Path(os.environ.get("HUDKIT_DAY_CLOCK", "/nowhere"))
_time, _time_ns = time.time, time.time_ns


def _offset() -> float:
    try:
        return float(_FILE.read_text() or 0)
    except (OSError, ValueError):
        return 0.0


time.time = lambda: _time() + _offset()
time.time_ns = lambda: _time_ns() + int(_offset() * 1e9)
