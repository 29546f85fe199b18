"""Runs commands in a real bash, one after the other, and says which programs they ran: `bash_child.py FOLDER`.

The folder has `bin` (the only directory of the PATH) and `template` (what the working directory looks like before
each command). Commands come as lines of JSON on the input, answers go out as lines of JSON: the programs that ran.
The first line says which walls there are: namespaces where the system has them.
"""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

SECONDS = 2.0


def main() -> None:
    folder = Path(sys.argv[1])
    walls = enclose(folder)
    work, witness = folder / "room" / "work", folder / "room" / "witness"
    witness.touch()
    env = {"PATH": str(folder / "bin"), "HOME": str(folder / "room"), "GIT_CONFIG_NOSYSTEM": "1"}
    for limit, most in ((resource.RLIMIT_FSIZE, 1 << 22), (resource.RLIMIT_NOFILE, 128)):
        resource.setrlimit(limit, (most, most))
    print(json.dumps(walls), flush=True)
    fresh = "not yet"
    for line in sys.stdin:
        if fresh != looks(work):
            os.chdir(folder)
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(folder / "template", work, symlinks=True)
            fresh = looks(work)
        os.chdir(work)
        run(json.loads(line), env, alone=bool(walls))
        ran = witness.read_text(errors="replace").split("\x1e")[:-1]
        if ran:
            os.truncate(witness, 0)
        print(json.dumps(ran), flush=True)


def looks(work: Path) -> str:
    """What tells that the working directory was changed."""
    seen = []
    for top in (work, work / "evil", work / ".git"):
        with suppress(OSError), os.scandir(top) as entries:
            seen += sorted(
                f"{entry.name} {entry.stat(follow_symlinks=False).st_ctime_ns}"
                for entry in entries
                if entry.name not in (".git", "index")
            )
    return "\n".join(seen)


def run(command: str, env: dict[str, str], *, alone: bool) -> None:
    """Run one command, and wait until every process of it has ended, or end it."""
    end, begin = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    # all its processes inherit the pipe: it is at its end when the last of them has ended
    actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)] + [(os.POSIX_SPAWN_DUP2, begin, 60)]
    call = ["/bin/bash", "--noprofile", "--norc", "-c", command]
    try:
        pid = os.posix_spawn(
            "/bin/bash", [os.fsencode(part) for part in call], env, file_actions=actions, setsid=True
        )
    finally:
        os.close(begin)
        os.close(null)
    resource.prlimit(pid, resource.RLIMIT_CPU, (1, 2))
    poll = select.poll()
    poll.register(end, select.POLLIN | select.POLLHUP)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and (events := poll.poll(max(1, int(1000 * (until - time.monotonic()))))):
        if events[0][1] & select.POLLHUP or not os.read(end, 4096):
            break
    os.close(end)
    with suppress(ProcessLookupError, PermissionError):
        os.kill(-1, 9) if alone else os.killpg(pid, 9)
    os.waitpid(pid, 0)
    with suppress(ChildProcessError):
        while alone and os.waitpid(-1, 0)[0]:
            pass


def enclose(folder: Path) -> list[str]:
    """Put walls around what runs: the system is read only, no network, no other processes. Returns which stand."""
    room = folder / "room"
    room.mkdir(exist_ok=True)
    if os.getpid() != 1:  # begun without `unshare`
        return []
    for call in (
        ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(room)],
        ["mount", "-o", "remount,bind,ro", "/"],
    ):
        if subprocess.run(call, capture_output=True, check=False).returncode:
            return ["processes", "network"]
    return ["processes", "network", "files"]


if __name__ == "__main__":
    main()
