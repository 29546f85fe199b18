"""Ends what a test run has started, once the run itself is over, however it ended.

Every process that a run starts inherits its mark, a variable of the environment (`HUDKIT_TEST_RUN`), as do the
processes that those start, detached or not. This one waits for the end of its standard input, which is the end of the
run that holds the other side of the pipe, and kills whoever has the mark. It needs /proc; elsewhere it does nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

MARK = "HUDKIT_TEST_RUN"


def start() -> subprocess.Popen[bytes]:
    """Marks this process's environment, and starts the one that waits for its end. To end it: close its `stdin`."""
    os.environ.pop(MARK, None)  # a run within a run has a mark of its own, and ends its own alone
    mark = uuid.uuid4().hex
    waiting = subprocess.Popen(
        [sys.executable, "-S", "-E", __file__, mark], stdin=subprocess.PIPE, start_new_session=True, close_fds=True
    )
    os.environ[MARK] = mark
    return waiting


def marked(mark: str) -> list[int]:
    """The processes that have a mark; those that have ended and are not waited for are not among them."""
    needle, found = f"{MARK}={mark}\0".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if needle in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def main(mark: str) -> None:
    while os.read(0, 4096):
        pass
    for _ in range(200):  # who was just being started is seen at the next look
        there = marked(mark)
        for pid in there:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not there:
            break
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1])
