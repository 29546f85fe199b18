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
from contextlib import suppress
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

PROCESSES, ROUNDS = 3, 6
"""Processes, one after the other, and turns of each kind in one: bare, with an empty plugin, with the HUD, bare …

One process differs from the next by up to a tenth, where a machine takes long to wake its other processor.
"""

COMMITS = (250, 0, 1_000)
"""Microseconds that a commit waits for the disk: 250 is about what the disk of the machine takes on which the figures
of docs/benchmarks.md were measured; the first of these has the target."""

_LIBRARY = Path(__file__).with_name("fixed_commit.c")
_MEMORY = Path("/dev/shm")


class TurnCost(msgspec.Struct):
    """What the model calls of one turn took, in seconds: `walls` from each request to the next, `processor` is the
    mean over all of them, of all threads of the process."""

    walls: list[float]
    processor: float


def run() -> list[Figure]:
    """Return wall-clock and processor's time of a call with the HUD, as multiples of one without.

    Of each step of the script counts the time that a quarter of its turns stayed below, as what others do on the
    machine only makes a call longer; of these, the median over the steps. Where there is a compiler, each commit
    lasts the same; the disk of this machine is measured beside it.
    """
    figures: list[Figure] = []
    compiler = shutil.which("cc")
    if sys.platform == "linux" and compiler is not None and _MEMORY.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "fixed_commit.so"
            subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, _LIBRARY], check=True)
            for microseconds in COMMITS:
                environment = {"LD_PRELOAD": str(library), "COMMIT_MICROSECONDS": str(microseconds)}
                turns = _in_children(_MEMORY, environment)
                target = 1.3 if microseconds == COMMITS[0] else None
                figures += _ratios(turns, f"each commit {microseconds / 1_000:g} ms", target)
    figures += _ratios(_in_children(Path(tempfile.gettempdir()), {}), "the disk of this machine", None)
    return figures


def _ratios(turns: dict[str, list[TurnCost]], where: str, target: float | None) -> list[Figure]:
    bare, hud, empty = (_wall(turns[kind], 0.25) for kind in ("bare", "hud", "empty"))
    middle = _wall(turns["hud"], 0.5) / _wall(turns["bare"], 0.5)
    spent_bare, spent_hud = (median(turn.processor for turn in turns[kind]) for kind in ("bare", "hud"))
    load = f"load {os.getloadavg()[0]:.0f}"
    return [
        Figure(
            f"a call with the HUD / a call without, wall-clock, {where}",
            hud / bare,
            target,
            f"{1_000 * bare:.2f} and {1_000 * hud:.2f} ms; by the median of the turns {middle:.2f}; {load}",
        ),
        Figure(
            f"the same, processor's time of all threads, {where}",
            spent_hud / spent_bare,
            None,
            f"{1_000 * spent_bare:.2f} and {1_000 * spent_hud:.2f} ms",
        ),
        Figure(f"a call with an empty plugin on five hooks / a call without, wall-clock, {where}", empty / bare),
    ]


def _wall(turns: list[TurnCost], share: float) -> float:
    """Return the seconds of a call: of each step the time that this share of the turns stayed below, the median."""
    by_step: list[list[float]] = [sorted(walls) for walls in zip(*(turn.walls for turn in turns), strict=True)]
    return median(walls[int(share * (len(walls) - 1))] for walls in by_step)


def _in_children(folder: Path, environment: dict[str, str]) -> dict[str, list[TurnCost]]:
    command = [sys.executable, "-m", "bench.session_loop", str(folder), str(ROUNDS)]
    turns: dict[str, list[TurnCost]] = {}
    for _ in range(PROCESSES):
        done = subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE)
        for kind, costs in msgspec.json.decode(done.stdout, type=dict[str, list[TurnCost]]).items():
            turns.setdefault(kind, []).extend(costs)
    return turns


def _play(folder: Path, rounds: int) -> dict[str, list[TurnCost]]:
    """Return what turns of each kind took, which took turns; before all other processes, where that is allowed."""
    with suppress(OSError, AttributeError):  # else a load of four moves the ratio by a tenth
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
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
    walls = [after - before for before, after in pairwise(at[WARM:])]
    return TurnCost(walls, (spent[-1] - spent[WARM]) / (len(spent) - WARM - 1))


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(_play(Path(sys.argv[1]), int(sys.argv[2]))))
