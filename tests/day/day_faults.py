"""The day with faults drawn by a seed: after each step the same must be true as without them.

A process is killed between two responses of the model, and the work goes on from there; the daemon is killed, answers
late, or has no room on the disk; the clock jumps, also back; another process writes into the same log meanwhile.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from day_hosts import has_daemon, hudkit_variables, socket_of
from day_run import SESSION, DayRun
from day_script import DayStep
from msgspec.structs import replace

from hudkit.daemon import client
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, Hang
from waiting import is_alive, until

CLOCK = Path(__file__).parent / "clock"
LATE_SECONDS = 0.4
_DAY_SECONDS = 86_400.0
_WRITER = """
import sys
from hudkit import Hud
with Hud.open(sys.argv[1]) as hud:
    other = hud.session("another", host="elsewhere")
    for number in range(40):
        other.call("notes.add", {"content": f"meanwhile {number}"})
"""


class FaultyDay(DayRun):
    """A day with faults; `faults` are those that came, each with its step."""

    looks_everywhere = False

    def __init__(self, *given: Any, seed: int) -> None:
        super().__init__(*given)
        self._chance = random.Random(seed)
        self.faults: list[tuple[str, str]] = []
        # Also in the next host's step: the day goes on in the first one.
        self._goes_forward = self.suite.orders_by_clock
        self._clock = self.home / "clock"
        self._clock.write_text("0")

    def variables(self) -> dict[str, str]:
        """Variables by which each process of the day has the clock of the day."""
        paths = [str(CLOCK), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {"PYTHONPATH": os.pathsep.join(paths), "HUDKIT_DAY_CLOCK": str(self._clock)}

    def offset(self) -> float:
        """Seconds by which the clock of the day is off."""
        return float(self._clock.read_text() or 0)

    def _say(self, step: DayStep) -> str:
        kinds: list[Callable[[DayStep], str]] = [self._calm, self._restarted, self._with_a_writer, self._clock_jumps]
        if step.kind in ("talk", "kill-daemon") and not step.answers:
            kinds += [self._killed, self._killed]
        if has_daemon(self.name):
            kinds += [self._daemon_killed, self._daemon_late, self._disk_full]
        fault = self._chance.choice(kinds)
        self.faults.append((step.title, fault.__name__.strip("_")))
        return fault(step)

    def _calm(self, step: DayStep) -> str:
        return super()._say(step)

    def _restarted(self, step: DayStep) -> str:
        self._close()
        return super()._say(step)

    def _with_a_writer(self, step: DayStep) -> str:
        """A second process writes into another session of the log."""
        command = [sys.executable, "-P", "-c", _WRITER, str(self.place.log)]
        with subprocess.Popen(command, env={**os.environ, **hudkit_variables(self.place)}) as writer:
            said = super()._say(step)
            self._compare("the second process", writer.wait(120) == 0, "it could not write")
        return said

    def _clock_jumps(self, step: DayStep) -> str:
        days = self._chance.uniform(-3, 3)
        if self._goes_forward or self.suite.orders_by_clock:
            days = abs(days) + self.offset() / _DAY_SECONDS
        self._clock.write_text(str(days * _DAY_SECONDS))
        return super()._say(step)

    def _killed(self, step: DayStep) -> str:
        """The host's process ends while the model has not answered; then the work goes on where it stood."""
        upto = next((n for n, reply in enumerate(step.model) if reply.fill), len(step.model) - 1)
        at = 0 if self.suite.forgets_killed_turns else self._chance.randint(0, upto)
        self._close()
        before = len(self.model.chats)
        self.model.play(*self._played(step.model[:at]), Hang())
        process = self._begun_elsewhere(step.prompt)
        try:
            self.model.wait("chat", before + at + 1, 240)
            asked = self.model.chats[before + at]
            until(lambda: self.suite.has_written(self.place, SESSION, step.prompt, asked), "it is not written down")
        finally:
            self._kill_tree(process)
        prompt = step.prompt if self.suite.forgets_killed_turns else "Go on."
        return super()._say(replace(step, model=step.model[at:], prompt=prompt))

    def _daemon(self) -> int:
        there = client.greet(socket_of(self.place)) if socket_of(self.place).exists() else None
        return there.pid if there is not None else 0

    def _daemon_killed(self, step: DayStep) -> str:
        """It ends between two responses."""
        at = self._chance.randrange(len(step.model))

        def end(_: CapturedRequest) -> None:
            if pid := self._daemon():
                os.kill(pid, signal.SIGKILL)
                until(lambda: not is_alive(pid), "the daemon does not end")

        return self._with(step, at, end)

    def _daemon_late(self, step: DayStep) -> str:
        """It stands still for a moment."""
        at = self._chance.randrange(len(step.model))

        def pause(_: CapturedRequest) -> None:
            if pid := self._daemon():
                os.kill(pid, signal.SIGSTOP)
                threading.Timer(LATE_SECONDS, os.kill, (pid, signal.SIGCONT)).start()

        return self._with(step, at, pause)

    def _disk_full(self, step: DayStep) -> str:
        """While somebody only looks, no file of the daemon can grow; then there is room again."""
        pid = self._daemon()
        if pid:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        try:
            self.model.play(*self._played((step.model[-1],)))
            self._talk().say("Wait a moment.")
        finally:
            if pid and is_alive(pid):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return super()._say(step)

    def _with(self, step: DayStep, at: int, happens: Callable[[CapturedRequest], None]) -> str:
        """The step, with something that happens before its response number `at`."""
        answers = [list(self._played((reply,))) for reply in step.model]
        first, *rest = answers[at]

        def say(request: CapturedRequest) -> Answer:
            happens(request)
            return first

        for number, lines in enumerate(answers):
            self.model.play(*((say, *rest) if number == at else lines))
        return str(self._talk().say(step.prompt))
