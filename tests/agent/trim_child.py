"""A process that works without summaries until it is killed, by others or in the middle of a trim.

usage: trim_child.py PLACE SESSION WRITES     (PLACE/project is the project; an empty SESSION begins a new one)

It prints the session's id, then `asked` with the digest of the request at each call of its model, and `trimmed` at
each trim. Where WRITES is not 0, it kills itself at a write of its trims: 1 before the first, 2 behind it, 3 before
the second, and so on. Each command adds a line of its own to PLACE/project/witness; each note says its call's id.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from hudkit.agent import AgentLoop, LoopOptions, LoopSettings, hud_plugin
from hudkit.agent.events import AgentEvent, MessagesTrimmed
from hudkit.agent.permissions import PermissionRule
from hudkit.agent.session_store import SessionStore
from hudkit.context.caching import CallCost
from hudkit.models import CompletionRequest
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Window


def request_digest(request: CompletionRequest) -> str:
    """Return what stands for the bytes of a request, but for its headers, which are not kept."""
    bare = replace(request, settings=replace(request.settings, headers={}))
    return blake2b(msgspec.json.encode(bare), digest_size=16).hexdigest()


def answer(request: CapturedRequest) -> ScriptedReply:
    """A note and a command with a long output; now and then the turn ends."""
    os.write(1, f"asked {request_digest(MODEL.port_requests[-1])}\n".encode())
    name = f"{os.getpid()}-{request.number}"
    usage = CallCost(0, 0, sum(map(len, (*request.system, *(text for _, text in request.messages)))) // 4, 10)
    if request.number % 5 == 0:
        return ScriptedReply(f"done {name}", usage=usage)
    calls = (
        ScriptedCall("hud", {"operation": "notes.add", "text": f"note of {name}"}, id=f"{name}-n"),
        ScriptedCall("bash", {"command": f"echo {name}-a >> witness; seq 1 900"}, id=f"{name}-a"),
    )
    return ScriptedReply(f"step {name} " + "word " * 100, calls, usage)


MODEL = InProcessModel(answer, window=Window(16_000, 2_000, None, "host"))


class _TellTrims:
    def add(self, event: AgentEvent | None) -> None:
        if isinstance(event, MessagesTrimmed) and event.messages:  # else only outputs left: there is no note
            os.write(1, b"trimmed\n")


def die_in_a_trim(writes: int) -> None:
    """Have this process killed at a write of a trim."""
    left = [writes]

    def passed() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def killing(method: Callable[..., Any]) -> Callable[..., Any]:
        def write(*args: Any, **more: Any) -> Any:
            in_trim = _is_below("hudkit.agent.trimming")
            if in_trim:
                passed()
            result = method(*args, **more)
            if in_trim:
                passed()
            return result

        return write

    SessionStore.put = killing(SessionStore.put)  # type: ignore[method-assign]
    SessionStore.put_parts = killing(SessionStore.put_parts)  # type: ignore[method-assign]


def _is_below(module: str) -> bool:
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == module:
            return True
    return False


async def main() -> None:
    place, session, writes = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if writes:
        die_in_a_trim(writes)
    options = LoopOptions(
        settings=LoopSettings(summaries=False),
        permissions=(PermissionRule("bash", "*", "allow"),),
        plugins=[("hud", hud_plugin(place / "hud.db"))],
    )
    loop = await AgentLoop.open(place / "project", MODEL, data=place / "data", session=session, options=options)
    loop.setup.events.attach(_TellTrims())
    os.write(1, f"{loop.id}\n".encode())
    if session:
        await loop.proceed()
    number = 0
    while True:
        number += 1
        await loop.prompt(f"go on {os.getpid()}-{number}")


if __name__ == "__main__":
    asyncio.run(main())
