"""A process that works on a session until it is killed.

usage: loop_child.py PLACE SESSION     (PLACE/project is the project; an empty SESSION begins a new one)

It prints the session's id, then a line at each call of its model. Each command that it runs adds a line of its own to
PLACE/project/witness; so do those of its sub-agents, of which one works in the background.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from pathlib import Path

from hudkit.agent.loop import AgentLoop
from hudkit.agent.permissions import PermissionRule
from hudkit.agent.run_context import LoopOptions, LoopSettings
from hudkit.context.caching import CallCost
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Window

OWN_CALLS = itertools.count()
"""The calls of the session itself, without those of its sub-agents."""


def answer(asked: CapturedRequest) -> ScriptedReply:
    """Two commands, two reads and two sub-agents at a time; now and then, a full window."""
    os.write(1, b"asked\n")
    name = f"{os.getpid()}-{asked.number}"
    if any(text.startswith("part ") for role, text in asked.messages if role == "user"):
        return part_answer(asked, name)
    number = next(OWN_CALLS)
    parts = (
        ScriptedCall("task", {"description": "wait for it", "prompt": f"part {name}-t"}, id=f"{name}-t"),
        ScriptedCall(
            "task", {"description": "beside", "prompt": f"part {name}-u", "background": True}, id=f"{name}-u"
        ),
    )
    calls = (
        *(parts if number % 2 == 0 else ()),
        ScriptedCall("bash", {"command": f"echo {name}-a >> witness"}, id=f"{name}-a"),
        ScriptedCall("read", {"path": "a.txt"}, id=f"{name}-r1"),
        ScriptedCall("read", {"path": "a.txt"}, id=f"{name}-r2"),
        ScriptedCall("bash", {"command": f"echo {name}-b >> witness"}, id=f"{name}-b"),
    )
    used = 9_000 if number % 3 == 1 else 1_000
    return ScriptedReply(f"step {name} " + "word " * 200, calls, CallCost(0, 0, used, 10))


def part_answer(asked: CapturedRequest, name: str) -> ScriptedReply:
    """A sub-agent runs one command and says so."""
    if asked.messages[-1][0] != "user":
        return ScriptedReply(f"{name} is done", usage=CallCost(0, 0, 1_000, 10))
    call = ScriptedCall("bash", {"command": f"echo {name}-c >> witness"}, id=f"{name}-c")
    return ScriptedReply("", (call,), CallCost(0, 0, 1_000, 10))


async def main() -> None:
    place, session = Path(sys.argv[1]), sys.argv[2]
    model = InProcessModel(answer, window=Window(10_000, 2_000, None, "host"))
    settings, free = LoopSettings(frees=0), (PermissionRule("bash", "*", "allow"),)
    loop = await AgentLoop.open(
        place / "project",
        model,
        data=place / "data",
        session=session,
        options=LoopOptions(settings=settings, permissions=free),
    )
    os.write(1, f"{loop.id}\n".encode())
    if session:
        await loop.proceed()
    while True:
        await loop.prompt("go on")


if __name__ == "__main__":
    asyncio.run(main())
