"""Our plugin, written into a folder as it is installed, but patient: a busy machine may need long for a frame, and
the tests here are about what a frame says."""

from __future__ import annotations

import sys
from pathlib import Path

from hudkit.hosts.opencode.plugin import Baked, generate

DEADLINE = "DEADLINE_MS = 200;"


def written(place: Path) -> Path:
    """The plugin's file; its daemon's log and socket (`run/d.sock`) are in `place` too."""
    socket, file = place / "run" / "d.sock", place / "hudkit.js"
    text = generate(Baked(sys.executable, str(place), str(place / "hudkit.db"), str(socket), str(file)))
    assert DEADLINE in text
    file.write_text(text.replace(DEADLINE, "DEADLINE_MS = 5_000;"))
    return file
