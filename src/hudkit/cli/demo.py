"""`hudkit demo`: the recorded day that ships with hudkit, replayed and explained."""

from __future__ import annotations

import argparse
import lzma
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from hudkit.cli.common import progress_bar
from hudkit.cli.replay import as_json, found_wrong
from hudkit.cli.replays import Options, replay
from hudkit.cli.replays.report_text import TerminalStyle
from hudkit.cli.replays.story import story_lines
from hudkit.cli.styles import STORY_STYLES, print_lines
from hudkit.transcripts import OpenCodeTranscript

_PACKED = "data/orchard.db.xz"

ORCHARD_WINDOW = 44_000
"""Tokens of the window of the model that was recorded; the database does not say it."""


def unpack_orchard(directory: str | Path) -> Path:
    """Unpack the day of work on an invented watering scheduler into `directory`, and return the file.

    The directory is made (0700) if absent. The file is readable by its owner only and complete, or not there. A file
    of that name is replaced. Raises `OSError` where the directory cannot be written.
    """
    folder = Path(directory)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = lzma.decompress(files("hudkit.cli.replays").joinpath(_PACKED).read_bytes())
    descriptor, name = tempfile.mkstemp(prefix=".orchard-", dir=folder)  # mkstemp makes 0600
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return unfinished.replace(folder / "orchard.db")
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    with TemporaryDirectory(prefix="hudkit-") as folder, progress_bar() as progress:
        transcript = OpenCodeTranscript.open(unpack_orchard(folder))
        report = replay(transcript, Options(window=ORCHARD_WINDOW, frames=True), progress=progress)
    if args.json:
        print(as_json(report))
    else:
        print_lines(story_lines(report, TerminalStyle(), tuple(_next())), STORY_STYLES)
    return 1 if found_wrong(report) else 0


def _next() -> Iterator[tuple[str, str]]:
    """Commands that work from here: `make demo` leaves `hudkit` in a folder that is not on the path."""
    own = Path(sys.argv[0])
    beside = own.name == "hudkit" and which("hudkit") is None
    hudkit = os.path.relpath(own) if beside else "hudkit"
    yield f"{hudkit} inspect --demo", "the same day in the browser, call by call"
    yield f"{hudkit} replay ~/.local/share/opencode/opencode.db", "the same for your own history"
    example = Path("examples") / "01_ten_lines.py"
    if example.exists():
        python = os.path.relpath(own.with_name("python")) if beside else "python3"
        yield f"{python} {example}", "the HUD in your own program"
    else:
        yield f"{hudkit} --help", "all commands"
