"""The recorded sessions that ship with hudkit: a real OpenCode database with invented content, packed."""

from __future__ import annotations

import lzma
import os
import tempfile
from importlib.resources import files
from pathlib import Path

_PACKED = "data/orchard.db.xz"

WINDOW = 44_000
"""Tokens of the window of the model that was recorded; the database does not say it."""


def orchard(directory: str | Path) -> Path:
    """Unpack the day of work on an invented watering scheduler into `directory` (made 0700 if absent).

    The file is readable by its owner only and complete, or not there. A file of that name is replaced.
    Raises `OSError` where the directory cannot be written.
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
