"""A test run that is killed leaves no process behind, detached or not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import watchdog

TESTS = Path(__file__).parent
RUN = """
import os, pathlib, subprocess, sys, time
from hudkit.daemon import client

def test_that_does_not_end():
    place = pathlib.Path({place!r})
    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    subprocess.Popen(sleep)
    subprocess.Popen(["/bin/sh", "-c", '"$@" & exit', "sh", *sleep], start_new_session=True).wait()
    client.ensure_running(place / "run" / "d.sock", db=place / "hudkit.db")
    (place / "mark.part").write_text(os.environ["HUDKIT_TEST_RUN"])
    (place / "mark.part").rename(place / "mark")
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the mark is read in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_ended_leaves_nothing_behind(tmp_path_factory: pytest.TempPathFactory, number: int) -> None:
    place = tmp_path_factory.mktemp("w")
    place.chmod(0o700)
    (place / "test_inner.py").write_text(RUN.format(place=str(place)))
    command = [sys.executable, "-m", "pytest", "-c", str(TESTS.parent / "pyproject.toml"), "-p", "conftest"]
    env = os.environ | {"PYTHONPATH": str(TESTS)}
    run = subprocess.Popen([*command, str(place / "test_inner.py")], env=env, stdout=subprocess.PIPE, cwd=place)
    while not (place / "mark").exists():
        assert run.poll() is None, run.stdout and run.stdout.read()
        time.sleep(0.02)
    mark = (place / "mark").read_text()
    assert len(watchdog.marked(mark)) == 3, "two that sleep, and a daemon"
    run.send_signal(number)
    run.communicate()
    while watchdog.marked(mark):  # a test that fails here does not end
        time.sleep(0.02)
