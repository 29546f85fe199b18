"""`hudkit replay`: a recorded history of a host through the HUD, turn by turn."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator

import msgspec

from hudkit.cli.common import progress_bar
from hudkit.cli.replays import Options, Report, replay
from hudkit.cli.replays.report_text import TerminalStyle, frame_lines, report_lines
from hudkit.transcripts import OpenCodeTranscript


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
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
