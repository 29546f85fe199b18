"""`hudkit replay`: a recorded history of a host through the HUD, turn by turn."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from hudkit.cli import CliCommand
from hudkit.cli.common import progress_bar
from hudkit.cli.replays import Options, Report, replay
from hudkit.cli.replays.report_text import TerminalStyle, frame_lines, report_lines
from hudkit.transcripts import OpenCodeTranscript


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="OpenCode's database, opencode.db; it is read, never written"
    )
    parser.add_argument("--session", metavar="ID", help="only the session with this id, or whose id contains it")
    parser.add_argument(
        "--window", type=_count, metavar="N", help="the model's window in tokens, if hudkit does not know the model"
    )
    parser.add_argument(
        "--budget", type=_count, metavar="N", help="token budget of a frame (default: 2 %% of the window)"
    )
    parser.add_argument(
        "--price-as", default="", metavar="MODEL", help="use the prices and the cache rules of this model"
    )
    parser.add_argument("--frames", action="store_true", help="also print the frame of every call")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def _run(args: argparse.Namespace) -> int:
    options = Options(args.window, args.budget, args.price_as, args.frames)
    with OpenCodeTranscript.open(args.file) as transcript, progress_bar() as progress:
        report = replay(transcript, options, session=args.session, progress=progress)
    speak((as_json(report),) if args.json else _lines(report, ink()))
    return 1 if found_wrong(report) else 0


COMMAND = CliCommand(
    example="hudkit replay ~/.local/share/opencode/opencode.db --window 200000",
    arguments=_arguments,
    run=_run,
)


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


def _count(text: str) -> int:
    try:
        number = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens; give a whole number from 1")
    return number
