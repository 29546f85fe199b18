"""Load: `python busy.py SECONDS COUNT` keeps COUNT processes busy, and ends by itself: after the time, or with its
parent."""

from __future__ import annotations

import os
import sys
import time


def work(until: float, parent: int) -> None:
    """Compute until the time is over or the parent is gone."""
    number = 1
    while time.monotonic() < until and os.getppid() == parent:
        for _ in range(200_000):
            number = (number * 48_271) % 2_147_483_647


def main(seconds: float, count: int) -> None:
    """Keep so many processes busy, this one among them."""
    until = time.monotonic() + seconds
    owner, parent = os.getppid(), os.getpid()
    for _ in range(count - 1):
        if os.fork() == 0:
            work(until, parent)
            os._exit(0)
    work(until, owner)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
