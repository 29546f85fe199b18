"""`hudkit replay`: a recorded history of a host through the HUD: OpenCode's turn by turn, others' by their losses."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator

import msgspec

from hudkit.cli.common import progress_bar
from hudkit.cli.replays import Options, Report, replay
from hudkit.cli.replays.histories import HistorySums, explain_files
from hudkit.cli.replays.history import HistoryOptions, SessionHistory
from hudkit.cli.replays.history_text import history_lines
from hudkit.cli.replays.known_histories import SCHEMA, HistoryFolder, find_history
from hudkit.cli.replays.report_text import TerminalStyle, frame_lines, report_lines
from hudkit.errors import ConfigError
from hudkit.transcripts import OpenCodeTranscript


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    history = find_history(args.file.expanduser())
    if history is not None:
        return _explain(history, args)
    options = Options(args.window, args.budget, args.price_as, args.frames)
    with OpenCodeTranscript.open(args.file) as transcript, progress_bar() as progress:
        report = replay(transcript, options, session=args.session, progress=progress)
    speak((as_json(report),) if args.json else _lines(report, ink()))
    return 1 if found_wrong(report) else 0


def found_wrong(report: Report) -> bool:
    """Return whether records could not be read, or something live did not survive a compaction."""
    return bool(report.skipped) or any(
        compaction.lost for session in report.sessions for compaction in session.compacted
    )


def as_json(report: Report) -> str:
    """Return the report as JSON with its schema version; in ASCII, so that it can be printed anywhere."""
    return json.dumps(msgspec.to_builtins(report), indent=2)


def speak(lines: Iterable[str]) -> None:
    """Print lines."""
    for line in lines:
        print(line)


def ink() -> TerminalStyle:
    """Return the style of the output: bold headings on a terminal.

    Plain where NO_COLOR (no-color.org) or a dumb terminal says so.
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return TerminalStyle(sys.stdout.isatty() and not plain)


def _lines(report: Report, pen: TerminalStyle) -> Iterator[str]:
    if not report.sessions:
        yield "there are no recorded sessions in this file"
        return
    for session in report.sessions:
        for frame in session.frames:
            yield from frame_lines(session, frame, pen)
    yield from report_lines(report, pen)


# -- Claude Code and Codex ---------------------------------------------------------------------------------------


def _explain(history: HistoryFolder, args: argparse.Namespace) -> int:
    sums = HistorySums(history)
    chosen: list[SessionHistory] = []
    stream = _JsonStream() if args.json else None
    with progress_bar() as progress:
        for session in explain_files(
            _narrowed(history, args.session), HistoryOptions(args.window, args.budget), progress
        ):
            if args.session and not (isinstance(session, SessionHistory) and args.session in session.id):
                continue
            sums.take(session)
            if stream is not None:
                stream.write(session)
            elif args.session and isinstance(session, SessionHistory):
                chosen.append(session)
    summary = sums.summary()
    if args.session and not summary.sessions + summary.subagents:
        raise ConfigError(f"no session matches {args.session!r}", hint="Give an id, or a part of one")
    if stream is not None:
        stream.end(msgspec.to_builtins(summary))
        return 0
    sessions = tuple(chosen) or sums.worst()
    whole = bool(chosen) or len(sessions) == summary.sessions + summary.subagents
    speak(history_lines(summary, sessions, ink(), all_sessions=whole))
    return 0


def _narrowed(history: HistoryFolder, session: str | None) -> HistoryFolder:
    """The files that can hold a session: both hosts name a file after its session, so only these are read."""
    named = tuple(file for file in history.files if session and session in file.name)
    return history._replace(files=named) if named else history


class _JsonStream:
    """Prints sessions as they come, so that ten thousand of them are never held: one JSON object in the end."""

    def __init__(self) -> None:
        print(f'{{"schema": {SCHEMA}, "sessions": [', end="")
        self._first = True

    def write(self, session: object) -> None:
        """Print the next session."""
        if isinstance(session, SessionHistory):
            print("" if self._first else ",", json.dumps(msgspec.to_builtins(session)), sep="\n", end="")
            self._first = False

    def end(self, summary: object) -> None:
        """Print the sums."""
        print(f'\n], "summary": {json.dumps(summary)}}}')
