"""`!command`: a shell command of the user's own, shown as it runs, and told to the agent with the next prompt."""

from __future__ import annotations

import asyncio
import os
import signal
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_CHUNK = 65_536
_MOST_TOLD = 10_000
"""Characters of the output that the agent is told: half of the beginning, half of the end."""

_MOST_KEPT = 5_000_000
_GRACE = 1.0
"""Seconds between asking a command to end and ending it."""


async def run_user_command(command: str, directory: Path, show: Callable[[str], None]) -> str:
    """Run a command with the user's shell, show its output as it comes, and return what the agent is told of it.

    The command reads nothing. Where this is cancelled, the command and what it started are ended.
    """
    shell = os.environ.get("SHELL") or "/bin/sh"
    process = await asyncio.create_subprocess_exec(
        shell,
        "-c",
        command,
        cwd=directory,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    decoder = getincrementaldecoder("utf-8")("replace")
    output, length = list[str](), 0
    try:
        while raw := await process.stdout.read(_CHUNK):
            text = decoder.decode(raw)
            show(text)
            length += len(text)
            if length <= _MOST_KEPT:
                output.append(text)
        code = await process.wait()
    finally:
        await _end(process)
    return _told(command, "".join(output), code)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End what is still running of a command."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE)


def _told(command: str, output: str, code: int) -> str:
    half = _MOST_TOLD // 2
    if len(output) > _MOST_TOLD:
        output = f"{output[:half]}\n[{len(output) - _MOST_TOLD:,} characters left out]\n{output[-half:]}"
    end = f"\n[exit code {code}]" if code else ""
    return f"The user ran a command in a shell:\n\n$ {command}\n{output.strip() or '[no output]'}{end}\n"
