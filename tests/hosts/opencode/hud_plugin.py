"""Our plugin, written into a folder as it is installed, but patient: a busy machine may need long for a frame, and
the tests here are about what a frame says."""

from __future__ import annotations

import sys
from pathlib import Path

from hudkit.hosts.opencode.plugin import PluginPaths, generate_plugin
from plugin_clock import patient

PRUNED = "[pruning]\nenabled = true\n"
"""Settings with which old outputs leave the window, which they do not by default."""


def written(
    place: Path,
    *,
    python: str = sys.executable,
    late: Path | None = None,
    tools_ms: int | None = None,
) -> Path:
    """The plugin's file; its daemon's log and socket (`run/d.sock`) are in `place` too.

    `python` is what it starts a daemon with. Deadlines pass after a minute, and while the file `late` exists; those
    of the tools after `tools_ms`.
    """
    socket, file = place / "run" / "d.sock", place / "hudkit.js"
    text = patient(
        generate_plugin(PluginPaths(python, str(place), str(place / "hudkit.db"), str(socket), str(file))), late
    )
    if tools_ms is not None:
        text = text.replace("PATIENT_MS = 60_000;", f"PATIENT_MS = {tools_ms};")
    file.write_text(text)
    return file
