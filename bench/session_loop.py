"""What the HUD adds to a model call of hudkit's own loop: with it and without it in turns, commits of a fixed length.

`python -m bench.session_loop FOLDER ROUNDS` plays the turns in one process and prints what they took as JSON.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import msgspec

from bench.figures import Figure
from hudkit.agent.hud_hooks import hud_plugin
from hudkit.agent.loop import AgentLoop
from hudkit.agent.permissions import PermissionRule
from hudkit.agent.run_context import LoopOptions, LoopSettings
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply
from hudkit.models.scripted_model import InProcessModel

TITLE = "a model call of the session's loop, with the HUD and without it, in turns"
CALLS = 60
"""Model calls of a turn; each is one call of a tool, so that the next one follows at once."""

WARM = 5
"""Calls at the begin of a turn that are not counted: files are made, and code is met for the first time."""

ROUNDS = 15
"""Turns of each kind in one process, one after the other: bare, with an empty plugin, with the HUD, bare …"""

COMMITS = (250, 0, 1_000)
"""Microseconds that a commit waits for the disk: 250 is about what the disk of the machine takes on which the figures
of docs/benchmarks.md were measured; the first of these has the target."""

_LIBRARY = Path(__file__).with_name("fixed_commit.c")
_MEMORY = Path("/dev/shm")


class TurnCost(msgspec.Struct):
    """What a model call of one turn took, in seconds: `wall` is the median from one request to the next, `processor`
    the mean over all threads of the process."""

    wall: float
    processor: float


def run() -> list[Figure]:
    """Return wall-clock and processor's time of a call with the HUD, as multiples of one without.

    Each ratio is that of two turns that followed each other; what is returned is their median. Where there is a
    compiler, each commit lasts the same; the disk of this machine is measured beside it.
    """
    figures: list[Figure] = []
    compiler = shutil.which("cc")
    if sys.platform == "linux" and compiler is not None and _MEMORY.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "fixed_commit.so"
            subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, _LIBRARY], check=True)
            for microseconds in COMMITS:
                environment = {"LD_PRELOAD": str(library), "COMMIT_MICROSECONDS": str(microseconds)}
                turns = _in_child(_MEMORY, environment)
                target = 1.3 if microseconds == COMMITS[0] else None
                figures += _ratios(turns, f"each commit {microseconds / 1_000:g} ms", target)
    figures += _ratios(_in_child(Path(tempfile.gettempdir()), {}), "the disk of this machine", None)
    return figures


def _ratios(turns: dict[str, list[TurnCost]], where: str, target: float | None) -> list[Figure]:
    bare, hud, empty = turns["bare"], turns["hud"], turns["empty"]
    wall = [with_hud.wall / without.wall for with_hud, without in zip(hud, bare, strict=True)]
    processor = [with_hud.processor / without.processor for with_hud, without in zip(hud, bare, strict=True)]
    plugin = [with_plugin.wall / without.wall for with_plugin, without in zip(empty, bare, strict=True)]
    return [
        Figure(
            f"a call with the HUD / a call without, wall-clock, {where}",
            median(wall),
            target,
            f"{_ms(bare, 'wall')} and {_ms(hud, 'wall')} ms, rounds from {min(wall):.2f} to {max(wall):.2f}",
        ),
        Figure(
            f"the same, processor's time of all threads, {where}",
            median(processor),
            None,
            f"{_ms(bare, 'processor')} and {_ms(hud, 'processor')} ms",
        ),
        Figure(f"a call with an empty plugin on five hooks / a call without, wall-clock, {where}", median(plugin)),
    ]


def _ms(turns: list[TurnCost], field: str) -> str:
    return f"{1_000 * median(getattr(turn, field) for turn in turns):.2f}"


def _in_child(folder: Path, environment: dict[str, str]) -> dict[str, list[TurnCost]]:
    command = [sys.executable, "-m", "bench.session_loop", str(folder), str(ROUNDS)]
    done = subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE)
    return msgspec.json.decode(done.stdout, type=dict[str, list[TurnCost]])


def _play(folder: Path, rounds: int) -> dict[str, list[TurnCost]]:
    """Return what turns of each kind took, which took turns."""
    turns: dict[str, list[TurnCost]] = {"bare": [], "empty": [], "hud": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=folder) as name:
            place = Path(name)
            plugins = {"bare": None, "empty": _nothing, "hud": hud_plugin(place / "log" / "hud.db")}
            for kind, plugin in plugins.items():
                turns[kind].append(asyncio.run(_turn(place / kind, plugin)))
    return turns


def _nothing(_: object) -> dict[str, Callable[[object, object], None]]:
    names = ("messages_transform", "system_transform", "chat_params", "chat_headers", "tool_execute_after")
    return dict.fromkeys(names, lambda _given, _output: None)


async def _turn(place: Path, plugin: object) -> TurnCost:
    """Play a turn of a script and return what its calls took."""
    at: list[float] = []
    spent: list[float] = []

    def answer(asked: CapturedRequest) -> ScriptedReply:
        at.append(perf_counter())
        spent.append(process_time())
        if len(at) > CALLS:
            return ScriptedReply("done")
        return ScriptedReply("looking", (ScriptedCall("todo", {"todos": [{"content": f"step {asked.number}"}]}),))

    (place / "project").mkdir(parents=True)
    loop = await AgentLoop.open(
        place / "project",
        InProcessModel(answer),
        data=place / "data",
        options=LoopOptions(
            plugins=[("p", plugin)] if plugin is not None else [],
            permissions=(PermissionRule("*", "*", "allow"),),
            settings=LoopSettings(prune=False),
        ),
    )
    try:
        await loop.prompt("go")
    finally:
        await loop.close()
    wall = median(after - before for before, after in pairwise(at[WARM:]))
    return TurnCost(wall, (spent[-1] - spent[WARM]) / (len(spent) - WARM - 1))


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(_play(Path(sys.argv[1]), int(sys.argv[2]))))
