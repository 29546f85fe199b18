"""The process that looks for a regular expression: it is ended by its parent when the expression runs away.

It gets one JSON object on its input (root, pattern, paths, ignore_case, most, line) and writes one JSON list per line
found: path, line number, text. It imports nothing of hudkit.
"""

from __future__ import annotations

import json
import os
import re
import resource
import stat
import sys

_MOST_LINE = 64 * 1024
_MOST_FILE = 64 * 1024 * 1024


def main() -> None:
    """Search as the request on the input says, and write what was found; return nothing."""
    request = json.load(sys.stdin)
    seconds = int(request["seconds"]) + 1
    # should the parent die, the child still ends
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    flags = re.IGNORECASE if request["ignore_case"] else 0
    try:
        pattern = re.compile(request["pattern"], flags)
    except (re.error, OverflowError, RecursionError) as error:
        print(json.dumps({"wrong": str(error)}), flush=True)
        return
    count = 0
    root = os.open(request["root"], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for path in request["paths"]:
        fd = _opened(root, path)
        if fd < 0:
            continue
        with os.fdopen(fd, "rb") as file:
            # binary, as git and ripgrep judge it
            if b"\0" in file.read(8192):
                continue
            file.seek(0)
            number = 0
            for raw in file.read(_MOST_FILE).splitlines():
                number += 1
                text = raw[:_MOST_LINE].decode("utf-8", "surrogateescape")
                match = pattern.search(text)
                if match is None:
                    continue
                # the part of a long line around the match
                start = max(match.start() - request["line"] // 2, 0)
                # the first lines at once, so that they are there when the time is over; flushing each would be slow
                print(json.dumps([path, number, text[start : start + request["line"]]]), flush=count < 50)
                count += 1
                if count >= request["most"]:
                    return


def _opened(root: int, path: str) -> int:
    """Return a descriptor of an ordinary file below the root, no link followed on the way; -1 where there is none."""
    fd, flags = os.dup(root), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    parts = path.split("/")
    try:
        for part in parts[:-1]:
            below = os.open(part, flags | os.O_DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
        file = os.open(parts[-1], flags, dir_fd=fd)
    except (OSError, ValueError):
        return -1
    finally:
        os.close(fd)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return -1


if __name__ == "__main__":
    main()
