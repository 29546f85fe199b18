"""The daemon's own log file: a few lines, rotated, readable by its user only, without secrets and without content."""

from __future__ import annotations

import logging
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path

from hudkit.log.secret_patterns import replace_secrets

MAX_BYTES = 512 * 1024
"""Bytes of the log file; then it is rotated."""

OLD_FILES = 2
"""Rotated files that stay."""

LOGGER = logging.getLogger("hudkit.daemon")


class _RedactingFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        # One record is one line, so that no text of a request can write a second one.
        line = super().format(record).replace("\n", "\\n")
        return replace_secrets(line.encode("utf-8", "backslashreplace")).decode()


def write_to_file(path: Path) -> None:
    """Write the daemon's log records to a file from now on; the file is readable by its user only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = RotatingFileHandler(path, maxBytes=MAX_BYTES, backupCount=OLD_FILES, encoding="utf-8", delay=True)
    file.setFormatter(_RedactingFormatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    # Before the handler opens it: a file that is there already keeps its mode, whatever the umask is.
    path.touch(0o600)
    path.chmod(0o600)
    for name in ("hudkit.daemon", "hudkit.ingest", "uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        # Not passed on: the root logger's handler would write to a terminal that nobody has.
        logger.handlers, logger.propagate = [file], False
        logger.setLevel(logging.INFO if name.startswith("hudkit.") else logging.ERROR)


def error_location(error: BaseException) -> str:
    """Return an error's type and the places in the code that it came through, without its text.

    The text of an error may hold what somebody wrote, which has no place in a log file.
    """
    places = traceback.extract_tb(error.__traceback__)[-6:]
    return f"{type(error).__name__} at " + " < ".join(f"{Path(p.filename).name}:{p.lineno}" for p in reversed(places))
