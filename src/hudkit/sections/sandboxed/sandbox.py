"""The sandbox: pydantic-monty's interpreter in a process of its own, with limits on time, memory and output.

Its own limits stop most programs; what passes them (a big number that is multiplied without end) is stopped by the
deadline at which the process is killed and replaced. On Linux the process has limits of the system beside.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from hudkit.compose import shorten, visible
from hudkit.errors import HudkitError
from hudkit.installation import install_hint
from hudkit.sections.sandboxed.result_parser import MAX_OUTPUT_CHARS

if TYPE_CHECKING:
    from pydantic_monty import Monty, OSPolicy, ResourceLimits


_GRACE_SECONDS = 0.5
"""Seconds behind its time limit after which a program's process is killed: it may have to wait for a processor."""

_START_SECONDS = 5.0
"""Seconds that the process has to start: its program (30 MB) may have to come from a cold disk."""

_TRIES = 3
"""How often a program runs whose time was over when its process had less than half of it by the processor's clock."""

_DEPTH = 100
"""Calls within calls."""

_SYSTEM_MEMORY = 1 << 29
"""Bytes of address space that the process may have, whatever its own limit misses (Linux). 116 MB are its program."""

_TOO_LONG = "ran too long"
_KILLED = "ran too long, and was killed"
_CRASHED = "ended its process"
RETRIED_ERRORS = frozenset({_TOO_LONG, _KILLED, _CRASHED})
"""Errors that a busy machine can be the reason of: worth another try on the same state."""

_LIMITS = {"T": _TOO_LONG, "M": "used too much memory"}
"""What is said of the interpreter's own limits; its words have figures that differ from run to run."""

MAX_ERROR_CHARS = 160
"""Characters of an error."""

_HELP = """\
def jsx(text, **values):
    return {"jsx": text, "values": values}
"""

_CALL = """
import json as _json
_out = _json.dumps(section(**_given))
_out if len(_out) <= _most else None
"""

_POLICY: OSPolicy = {
    "datetime": datetime(2000, 1, 1, tzinfo=UTC),
    "timezone": "utc",
    "sleep": "zero",
    "random_start": {"seed": 0},
}
"""The same program on the same state gives the same: its clock stands still, its dice are loaded."""


class SandboxError(HudkitError):
    """A program failed, or was stopped; the message is one visible line."""

    code = "sandbox"


class SandboxLimits(msgspec.Struct, frozen=True):
    """What a program may use: `time` in seconds of running, `memory` in bytes of its values."""

    time: float = 0.05
    memory: int = 16 * 1024 * 1024


def sandbox_missing() -> bool:
    """Return whether there is no sandbox here."""
    return find_spec("pydantic_monty") is None


@cache
def sandbox_kind() -> str:
    """Return which sandbox this is: with another one, a text that failed is tried again."""
    from importlib.metadata import PackageNotFoundError, version  # loaded by those who have custom sections

    if sandbox_missing():
        return "none"
    try:
        return f"monty {version('pydantic-monty')}"
    except PackageNotFoundError:
        return "monty"


class _WaitedTooLong(Exception):
    """A program's time was over, but it hardly ran: the machine is busy."""


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has had, in seconds (Linux: the clock of `clock_getcpuclockid`).

    Elsewhere infinity: what cannot be known excuses no program.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2) if sys.platform.startswith("linux") else float("inf")
    except OSError:
        return float("inf")


class SandboxProcess:
    """Runs one program at a time; not for several threads. Its process starts with the first program and is kept.

    Use it as a context manager, or `close` it; it ends with this process in any case. `processor_clock` tells the
    seconds that a process has run, by its number.
    """

    def __init__(
        self, limits: SandboxLimits | None = None, processor_clock: Callable[[int], float] = processor_seconds
    ) -> None:
        self.limits = limits or SandboxLimits()
        self._processor_clock = processor_clock
        self._pool: Monty | None = None

    def start(self) -> None:
        """Start the process, if there is a sandbox here and none runs. What is wrong is told by `run`."""
        if sandbox_missing():
            return
        import pydantic_monty as monty

        try:
            with _no_error_stream(), self._open().checkout():
                pass
        except (monty.MontyError, OSError, ValueError, TypeError, RuntimeError):
            self.close()

    def run(self, source: str, values: dict[str, Any], name: str = "section") -> str:
        """Return, as JSON, what the function `section` of a source returns, called with `values` by name.

        Raises `SandboxError` for whatever the source does wrong, and where there is no sandbox.
        """
        for _ in range(_TRIES):
            try:
                return self._run_once(source, values, name)
            except _WaitedTooLong:
                continue
        raise SandboxError(_TOO_LONG)

    def _run_once(self, source: str, values: dict[str, Any], name: str) -> str:
        if sandbox_missing():
            raise SandboxError(f"pydantic-monty is not installed ({install_hint('custom')})")
        import pydantic_monty as monty

        pid, begin = None, 0.0
        limits: ResourceLimits = {
            "max_feed_duration_secs": self.limits.time,
            "max_memory": self.limits.memory,
            "max_recursion_depth": _DEPTH,
            "max_suspensions": 20,
            "max_total_sleep_secs": 0.0,
        }
        try:
            with ExitStack() as stack:
                with _no_error_stream():
                    checkout = self._open().checkout(script_name=f"{name}.py", limits=limits, os_policy=_POLICY)
                    session = stack.enter_context(checkout)
                pid = session.worker_pid
                _confine(pid)
                session.feed_run(_HELP, print_callback=_unheard)
                begin = self._processor_clock(pid) if pid is not None else 0.0
                inputs = {"_given": values, "_most": MAX_OUTPUT_CHARS}
                out = session.feed_run(source + _CALL, inputs=inputs, print_callback=_unheard)
        except monty.MontyCrashedError as error:
            raise SandboxError(_KILLED if error.timed_out else _CRASHED) from None
        except (monty.MontySyntaxError, monty.MontyRuntimeError) as error:
            text = _worded(error, source)
            if text == _TOO_LONG and pid is not None and self._processor_clock(pid) - begin < self.limits.time / 2:
                raise _WaitedTooLong from None
            raise SandboxError(text) from None
        except (monty.MontyError, OSError, ValueError, TypeError, RuntimeError) as error:
            self.close()
            raise SandboxError(_short(f"the sandbox failed: {error}")) from None
        if (
            isinstance(out, str) and len(out) <= MAX_OUTPUT_CHARS
        ):  # its own count is a courtesy: it can be meddled with
            return out
        raise SandboxError(f"returned too much; at most {MAX_OUTPUT_CHARS:,} characters of JSON are taken")

    def close(self) -> None:
        """End the process."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__(None, None, None)

    def __enter__(self) -> SandboxProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Monty:
        if self._pool is None:
            from pydantic_monty import Monty

            self._pool = Monty(
                # One program at a time: nothing to share, and one process to kill.
                max_processes=1,
                checkout_timeout=_START_SECONDS,
                request_timeout=self.limits.time + _START_SECONDS,
                feed_duration_limit_grace=_GRACE_SECONDS,
                max_checkouts_per_worker=1000,
            ).__enter__()
        return self._pool


def _unheard(_stream: str, _text: str) -> None:
    """What a program prints goes nowhere: by default it would go to our own output."""


@contextmanager
def _no_error_stream() -> Iterator[None]:
    """Let processes that start meanwhile inherit no error stream: the sandbox's own would write on the terminal.

    Ours is only marked, not moved: what other threads write to it meanwhile arrives.
    """
    try:
        was_inherited = os.get_inheritable(2)
        os.set_inheritable(2, False)
    except OSError:  # there is none
        yield
        return
    try:
        yield
    finally:
        os.set_inheritable(2, was_inherited)


def _confine(pid: int | None) -> None:
    if pid is None or not sys.platform.startswith("linux"):
        return
    import resource

    # Files and core dumps: nothing may be written at all.
    for what, most in (("AS", _SYSTEM_MEMORY), ("FSIZE", 0), ("CORE", 0)):
        resource.prlimit(pid, getattr(resource, f"RLIMIT_{what}"), (most, most))


def _worded(error: Any, source: str) -> str:
    """An error in one line, with the line of the source where it is one."""
    text: str = error.display("type-msg")
    if text.startswith(("TimeoutError: feed time limit", "MemoryError: ")):
        return _LIMITS[text[0]]
    # Lines behind the source are our own call: a failure there has no line of the author's.
    within = source.count("\n") + 1
    line = next((frame.line for frame in reversed(error.traceback()) if frame.line <= within), 0)
    has_room = len(text) < MAX_ERROR_CHARS
    return _short(f"{text}, line {line}" if line and has_room else text)


def _short(text: str) -> str:
    return shorten(visible(text), MAX_ERROR_CHARS)
