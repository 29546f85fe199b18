"""An experiment is one command: it survives kills, and its tables are the same as of one that nobody disturbed."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from tests.campaigns import Campaign

from hudkit.log.stores import open_log
from hudkit.rooms.world_log import WORLD_SESSION

pytestmark = pytest.mark.slow

EXPERIMENT = Campaign("experiment", quick=3, full=50)
"""Seeds; the full form has three variants of 200 beats."""

VILLAGE = """
name = "village"
seed = 7
[rules.tempo]
quiet = 20
[[agents]]
name = "Ada"
background = "You mend nets, and know every rock in the bay."
rooms = ["Clerk"]
[[agents]]
name = "Ben"
background = "You bake bread and hear everything."
rooms = ["Ada"]
[[agents]]
kind = "bot"
name = "Clerk"
background = "The harbour's register: who came, who left, with what."
"""

VOTE = """
name = "vote"
world = "village.toml"
seeds = {seeds}
beats = {beats}
[[variants]]
name = "as it is"
[[variants]]
name = "quick tongues"
set = {{ "rules.words.wpm" = 160, "agents.Ada.interval" = 2 }}
[[variants.interventions]]
beat = 30
admit = {{ agent = "Ben", room = "Clerk" }}
[[interventions]]
beat = 20
say = {{ room = "Ada", text = "Nets or bread: what does the village need?" }}
[[interventions]]
minute = 0.5
fail = {{ model = "improviser", beats = 3 }}
[[opinions]]
name = "need"
choices = ["nets", "bread"]
"""

THIRD = """
[[variants]]
name = "slow tongues"
set = { "rules.words.wpm" = 40 }
"""


def command(file: Path, output: Path) -> list[str]:
    words = ["rooms", "experiment", str(file), "--output", str(output), "--processes", "2"]
    return [sys.executable, "-m", "hudkit", *words]


def run_records(folder: Path) -> dict[str, bool]:
    """Which runs have begun, and whether each is finished."""
    files = folder.glob("runs/*.json")
    return {file.stem: bool(msgspec.json.decode(file.read_bytes())["ended"]) for file in files}


def half_runs(folder: Path) -> list[Path]:
    """The worlds of runs that began and did not end, some dozen beats long."""
    worlds = [folder / "worlds" / f"{name}.db" for name, ended in run_records(folder).items() if not ended]
    return [path for path in worlds if path.exists() and companion_size(path) > 600_000]


def companion_size(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def kill_in_the_middle(file: Path, output: Path, *, whole_group: bool) -> list[Path]:
    """Start the command, kill it while runs are half done, and give the worlds of these."""
    for _ in range(20):
        child = subprocess.Popen(command(file, output), stderr=subprocess.DEVNULL, start_new_session=True)
        while child.poll() is None and not half_runs(output):
            time.sleep(0.002)
        if whole_group:
            os.killpg(child.pid, signal.SIGKILL)
        else:  # those that play notice that their input ends
            child.kill()
        assert child.wait() == -signal.SIGKILL, "it ended before it could be killed"
        if halves := half_runs(output):
            return halves
    raise AssertionError("no kill met a run in its middle")


def results(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and "worlds" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.name != ".lock"}


@EXPERIMENT
def test_an_experiment_that_was_killed_twice_ends_as_one_that_nobody_disturbed(tmp_path: Path) -> None:
    full = EXPERIMENT.rounds > 3
    text = VOTE.format(seeds=EXPERIMENT.rounds, beats=200)
    (tmp_path / "village.toml").write_text(VILLAGE)
    file = tmp_path / "vote.toml"
    file.write_text(text + THIRD if full else text)
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    subprocess.run(command(file, undisturbed), check=True, capture_output=True)

    for whole_group in (True, False):
        halves = kill_in_the_middle(file, killed, whole_group=whole_group)
        with open_log(halves[0], read_only=True) as log:
            assert log.last_seq(WORLD_SESSION) > 50
    before = [name for name, ended in run_records(killed).items() if ended]
    times = {name: (killed / "runs" / f"{name}.json").stat().st_mtime_ns for name in before}
    last = subprocess.run(command(file, killed), check=True, capture_output=True, text=True)

    assert results(killed) == results(undisturbed)
    assert all((killed / "runs" / f"{name}.json").stat().st_mtime_ns == times[name] for name in before)
    assert last.stdout.splitlines()[:-1] == (killed / "table.txt").read_text().splitlines()
    assert not list(killed.glob("worlds/*interrupted*"))
    with (killed / "runs.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    variants = 3 if full else 2
    assert [(row["variant"], row["beats"]) for row in rows][:1] == [("as it is", "200")]
    assert len(rows) == EXPERIMENT.rounds * variants and len({row["words"] for row in rows}) > len(rows) // 2
