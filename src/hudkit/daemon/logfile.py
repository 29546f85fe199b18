"""The daemon's own log file: a few lines, rotated, readable by its user only, without secrets and without content."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from hudkit.log.secret_patterns import without_secrets

MAX_BYTES = 512 * 1024
"""Bytes of the log file; then it is rotated."""

OLD_FILES = 2
"""Rotated files that stay."""

LOGGER = logging.getLogger("hudkit.daemon")


class _RedactingFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        # One record is one line, so that no text of a request can write a second one.
        line = super().format(record).replace("\n", "\\n")
        return without_secrets(line.encode("utf-8", "backslashreplace").decode())


def write_to_file(path: Path) -> None:
    """Write the daemon's log records to a file from now on; the file is readable by its user only.

    Where no file can be written, the records are dropped: a daemon on a read-only file system answers all the same.
    """
    file: logging.Handler = RotatingFileHandler(
        path, maxBytes=MAX_BYTES, backupCount=OLD_FILES, encoding="utf-8", delay=True
    )
    file.setFormatter(_RedactingFormatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Before the handler opens it: a file that is there already keeps its mode, whatever the umask is.
        path.touch(0o600)
        path.chmod(0o600)
    except OSError:
        file = logging.NullHandler()
    for name in ("hudkit.daemon", "hudkit.ingest", "hudkit.web", "uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        # Not passed on: the root logger's handler would write to a terminal that nobody has.
        logger.handlers, logger.propagate = [file], False
        logger.setLevel(logging.INFO if name.startswith("hudkit.") else logging.ERROR)
