"""A log of recorded sessions, as if the HUD had been there: each recorded call gets the frame that it would have had.

What is written is what a host writes: events that messages tell, frames, reported usage, compactions. So whatever
reads a log (`hudkit show`, `hudkit inspect`) reads a recording.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hudkit.api import Hud
from hudkit.cli.replays.player import ReplayClock, role
from hudkit.hosts.host_session import HostCall, HostMessage, HostSession
from hudkit.tokens import window_of
from hudkit.transcripts import Message, SessionRow, Transcript, llm_calls, prompt_blocks

Progress = Callable[[int, int, str], None]
"""Told after each call: messages read, messages of this session, the session's title."""


def write_recorded_log(
    transcript: Transcript, path: Path, *, window: int | None = None, progress: Progress | None = None
) -> int:
    """Write every session of a transcript to a new log at `path`, and return the number of calls.

    `window` is in tokens (`None`: known from the model). Raises a `StoreError` where the log cannot be written,
    `TranscriptError` where the transcript cannot be read.
    """
    calls = 0
    clock = ReplayClock(str(path.name))
    with Hud.open(path, clock=clock.clock, ids=clock.ids) as hud:
        for row in transcript.sessions():
            calls += _write_session(
                hud, clock, transcript.host, row, tuple(transcript.messages(row.id)), window, progress
            )
    return calls


def _write_session(
    hud: Hud,
    clock: ReplayClock,
    host: str,
    row: SessionRow,
    messages: Sequence[Message],
    window: int | None,
    progress: Progress | None,
) -> int:
    session = hud.session(row.id, project=row.directory or None, host=host)
    recorded = HostSession(session, row.id, row.directory, host, clock=clock.clock, parent=row.parent_id)
    clock.at = row.created
    session.start(host=host, title=row.title, model=row.model, agent=row.agent, directory=row.directory)
    calls = read = 0
    for call in llm_calls(messages):
        read += len(call.fresh)
        clock.at = call.message.created
        if call.message.summary:  # a summary is written without the HUD
            continue
        model = call.message.model or row.model
        entries = [_entry(message) for message in call.window]
        model_window = window_of(model, host=window)
        recorded.prepare_call(
            HostCall(entries=entries, window=model_window, model=model, title=row.title, agent=row.agent)
        )
        calls += 1
        if progress is not None:
            progress(read, len(messages), row.title)
    clock.at = messages[-1].created if messages else row.created
    recorded.ingest([_entry(message) for message in messages[-1:]], title=row.title, agent=row.agent)
    return calls


def _entry(message: Message) -> HostMessage:
    size = sum(len(block.text) for block in prompt_blocks(message))
    return HostMessage(message.id, message, role(message), size)
