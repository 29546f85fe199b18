"""What the HUD adds to a model call of hudkit's own loop, beside composing its frame."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.figures import Figure
from hudkit.agent.hud_hooks import hud_plugin
from hudkit.agent.loop import AgentLoop
from hudkit.agent.permissions import PermissionRule
from hudkit.agent.run_context import LoopOptions, LoopSettings
from hudkit.api import Hud
from hudkit.hud.frame import build_frame
from hudkit.hud.frame_request import FrameRequest, transcript_position
from hudkit.log import payloads as p
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply
from hudkit.models.scripted_model import InProcessModel

TITLE = "a model call of the session's loop, with the HUD and without it"
CALLS = 60
"""Model calls of a turn; each is one call of a tool, so that the next one follows at once."""


def run() -> list[Figure]:
    """The added time per model call, as a multiple of composing a frame of 60 items; medians of one run."""
    with tempfile.TemporaryDirectory() as folder:
        bare = asyncio.run(_per_call(Path(folder) / "bare", None))
        hooked = asyncio.run(_per_call(Path(folder) / "hooked", _nothing))
        hud = asyncio.run(_per_call(Path(folder) / "hud", hud_plugin(Path(folder) / "log" / "hud.db")))
        frame = _composing(Path(folder) / "frame" / "hud.db")
    note = f"bare call {1_000 * bare:.1f} ms, with the HUD {1_000 * hud:.1f} ms, composing {1_000 * frame:.2f} ms"
    return [
        Figure("the HUD's part of a call / composing the frame", (hud - bare) / frame, None, note),
        Figure("a call with the HUD / a call without", hud / bare, None),
        Figure("a call with an empty plugin on each hook / a call without", hooked / bare, None),
    ]


def _nothing(_: object) -> dict[str, Callable[[object, object], None]]:
    names = ("messages_transform", "system_transform", "chat_params", "chat_headers", "tool_execute_after")
    return dict.fromkeys(names, lambda _given, _output: None)


async def _per_call(place_: Path, plugin: object) -> float:
    """The median time from one request to the next, in seconds."""
    at: list[float] = []

    def answer(asked: CapturedRequest) -> ScriptedReply:
        at.append(perf_counter())
        if len(at) > CALLS:
            return ScriptedReply("done")
        return ScriptedReply("looking", (ScriptedCall("todo", {"todos": [{"content": f"step {asked.number}"}]}),))

    (place_ / "project").mkdir(parents=True)
    loop = await AgentLoop.open(
        place_ / "project",
        InProcessModel(answer),
        data=place_ / "data",
        options=LoopOptions(
            plugins=[("p", plugin)] if plugin is not None else [],
            permissions=(PermissionRule("*", "*", "allow"),),
            settings=LoopSettings(prune=False),
        ),
    )
    try:
        await loop.prompt("go")
    finally:
        await loop.close()
    return median(after - before for before, after in pairwise(at[5:]))


def _composing(path: Path) -> float:
    """Seconds to compose the frame of a state with 60 items."""
    times = []
    with Hud.open(path) as hud:
        session = hud.session("frame")
        session.append(p.TaskSet("Port the report to the new API"))
        session.append(*(p.ConstraintAdd(f"constraint {n}: never change file {n}") for n in range(5)))
        session.append(*(p.DecisionRecord(f"decision {n}: keep column {n} where it is") for n in range(15)))
        session.append(*(p.NoteAdd(f"note {n}: the staging system answers 429") for n in range(40)))
        ask = FrameRequest(90_000, 200_000, 2_600, None, "anchored", transcript_position(None), "123456", now=0)
        for n in range(60):
            session.append(p.NoteUpdate("n1", f"note 1: seen {n} times"))
            state = session.state
            begin = perf_counter()
            build_frame(state, ask, session._context)
            times.append(perf_counter() - begin)
    return median(times[5:])
