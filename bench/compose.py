"""Composing a frame beside counting the same bytes, and on a long log beside a short one."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.figures import Figure
from hudkit.api import Hud, HudSession
from hudkit.hud.frame import build_frame
from hudkit.hud.frame_request import FrameRequest, transcript_position
from hudkit.log import payloads as p
from hudkit.tokens.counting import load_tokenizer

TITLE = "composing a frame of 60 items"
PLACEMENTS = ("system", "anchored")
ROUNDS = 300
BUDGET = 2600
"""Tokens: room for all of the items, beside what a base leaves for its deltas."""


def _fill(session: HudSession, events: int) -> None:
    told: list[p.Payload] = [p.TaskSet("Port the report to the new API without a change of its columns")]
    told += [p.ConstraintAdd(f"constraint {n}: never change file number {n} by hand") for n in range(5)]
    told += [p.DecisionRecord(f"decision {n}: keep column {n} where it is, finance reads it") for n in range(10)]
    told += [p.NoteAdd(f"note {n}: the staging system answers 429 after {n}0 requests") for n in range(20)]
    told += [p.StepAdd(f"step {n}: map the old columns of table {n} to new fields") for n in range(10)]
    told += [p.FileEdit(f"src/report/part_{n}.py") for n in range(14)]
    noise = (p.NoteUpdate("n1", f"note 1: seen {n} times") for n in range(events))
    session.append(*told)
    batch: list[p.Payload] = []
    for one in noise:
        batch.append(one)
        if len(batch) == 500:
            session.append(*batch)
            batch.clear()
    session.append(*batch)


def _ask(placement: str) -> FrameRequest:
    return FrameRequest(90_000, 200_000, BUDGET, None, placement, transcript_position(None), "123456", now=0)


def _composer(session: HudSession, placement: str) -> Callable[[], str]:
    """One composition after one changed note, the append left out."""
    desk = session._context
    numbers = iter(range(10**9))
    base = session.state

    def once() -> str:
        return build_frame(states[next(numbers) % len(states)], _ask(placement), desk).frame.text

    states = []
    for n in range(ROUNDS + 8):
        session.append(p.NoteUpdate("n2", f"note 2: {session.id} looked {placement} {n} times at the staging system"))
        states.append(session.state)
    assert base.seq < states[-1].seq
    return once


def _time(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def once() -> list[Figure]:
    """Ratios of medians over interleaved rounds, in this process."""
    figures: list[Figure] = []
    _, tally = load_tokenizer("o200k_base")
    with tempfile.TemporaryDirectory() as folder, Hud.open(Path(folder) / "hud" / "hud.db") as hud:
        short, long = hud.session("short"), hud.session("long")
        _fill(short, 940)
        _fill(long, 99_940)
        for placement in PLACEMENTS:
            for session in (short, long):
                session.frame(used_tokens=90_000, limit_tokens=200_000, budget=BUDGET, placement=placement)
            on_short, on_long = _composer(short, placement), _composer(long, placement)
            times: dict[str, list[float]] = {"count": [], "short": [], "long": []}
            text = on_long()
            gc.collect()
            gc.freeze()  # what the set-up left behind is not collected again within a round
            for n in range(ROUNDS):
                times["count"].append(_time(lambda text=text: tally(text)))  # type: ignore[misc]
                for name in ("short", "long") if n % 2 else ("long", "short"):
                    times[name].append(_time(on_short if name == "short" else on_long))
            base, a, b = (median(times[name]) for name in ("count", "short", "long"))
            figures += [
                Figure("count", b / base),
                Figure("on 1,000", b / a),
            ]
    return figures


PROCESSES = 5


def run() -> list[Figure]:
    """The median of several processes: where a process's memory happens to lie moves its figures by a quarter."""
    code = "import json; from bench.compose import once; print(json.dumps([f.ratio for f in once()]))"
    rows = [
        json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
        for _ in range(PROCESSES)
    ]
    targets = [
        (f"{placement}: compose on 100,000 events ÷ {what}", most)
        for placement in PLACEMENTS
        for what, most in (("count of the same bytes", 3.0), ("on 1,000", 1.2))
    ]
    return [
        Figure(name, median(column), most, f"{min(column):.2f} to {max(column):.2f} in {PROCESSES} processes")
        for (name, most), column in zip(targets, zip(*rows, strict=True), strict=True)
    ]
