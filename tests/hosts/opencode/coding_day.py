"""A scripted day of a coding agent in real OpenCode: what its model answers, and the chat calls that came of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opencode_host import OpenCode

from hudkit.api import Hud
from hudkit.log import Origin, Payload
from hudkit.log.payloads import ContextSnapshot, FrameBase, FrameDelta
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.model_server import ScriptedModel

STEPS = 5
"""Tool steps of a turn; a turn has one call more, the answer."""
LINES = 110
"""Lines of a file that is read: with them a session grows by about 430 tokens a call, as the recorded day does."""
FILES = {f"part_{n}.txt": "".join(f"line {n}.{m}: {'x' * 40}\n" for m in range(LINES)) for n in range(4)}
LIMIT = (400_000, 8_000)
"""The model's context and output: no compaction comes in between."""


def lived(host: OpenCode, model: ScriptedModel, turns: int, with_hud: bool) -> list[CapturedRequest]:
    """The chat calls of a day of so many turns, as they reached the model. The host was made with `FILES` and
    `LIMIT`, and is serving afterwards."""
    host.serve()
    session = host.create("a day")
    model.requests.clear()
    model.play(*day(host.project, turns, with_hud))
    for turn in range(turns):
        host.prompt(session, f"Now part {turn}, please; keep the columns as they are.")
    chats = model.chats
    assert len(chats) == turns * (STEPS + 1)
    assert all("[hud " in chat.text or "HUD" in chat.text for chat in chats) is with_hud
    return chats


def in_system(db: Path) -> list[tuple[str, list[str]]]:
    """For each call of the log's only session: the whole HUD as it would stand in the system prompt, anew at each
    call, and the texts by which it was really told, the longest first."""
    found = []
    with Hud.open(db) as told, Hud.in_memory() as other:
        (name,) = told.sessions()
        there, shadow = told.session(name), other.session(name)
        layers: list[str] = []
        for event in there.events():
            match event.payload:
                case FrameBase(text=text) | FrameDelta(text=text):
                    layers.append(text)
                case ContextSnapshot(call=call) as snapshot if call is not None:
                    frame = shadow.frame(
                        snapshot.used_tokens, snapshot.limit_tokens, placement="system", model=snapshot.model
                    )
                    gone = sorted({*layers, call.tail} - {""}, key=len, reverse=True)
                    found.append((frame.text, gone))
                case Payload() as payload:
                    shadow.append(payload, origin=Origin(event.origin))
    return found


def hud(operation: str, **args: str) -> ScriptedCall:
    return ScriptedCall("hud", {"operation": operation, **args})


def day(project: Path, turns: int, with_hud: bool) -> Iterator[ScriptedReply]:
    """Turns of a coding session: reads, commands that succeed and fail, an edit, and what the agent notes down."""
    for turn in range(turns):
        notes = (
            [hud("task.set", text="Port the report to the new API")]
            if turn == 0
            else [hud("decisions.record", text=f"Column {turn} stays where it is, finance reads it by position")]
        )
        yield uses(
            ScriptedCall("read", {"filePath": str(project / f"part_{turn % 4}.txt")}), text=f"Reading part {turn}."
        )
        yield uses(ScriptedCall("bash", {"command": f"echo checking {turn} && seq 1 60", "description": "check"}))
        if with_hud:
            yield uses(*notes)
        else:
            yield uses(ScriptedCall("bash", {"command": f"echo noted {turn}", "description": "note"}))
        made = project / f"out_{turn}_{with_hud:d}.txt"  # both days may be lived in one folder
        yield uses(ScriptedCall("edit", {"filePath": str(made), "oldString": "", "newString": f"row {turn}\n"}))
        yield uses(
            ScriptedCall("bash", {"command": f"echo test {turn}; exit {turn % 3 == 1:d}", "description": "test"})
        )
        yield says(f"Turn {turn} is done: the part is ported and checked. " * 8)
