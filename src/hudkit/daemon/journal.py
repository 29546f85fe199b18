"""The daemon's own log file: a few lines, rotated, readable by its user only, without secrets and without content."""

from __future__ import annotations

import logging
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path

from hudkit.log.redact import redact

MAX_BYTES = 512 * 1024
KEPT = 2

journal = logging.getLogger("hudkit.daemon")


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record).replace("\n", "\\n")
        return redact(line.encode("utf-8", "backslashreplace")).decode()


def keep(path: Path) -> None:
    """Write the journal to a file from now on. The process's umask decides who may read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = RotatingFileHandler(path, maxBytes=MAX_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
    file.setFormatter(_Lines("%(asctime)s %(process)d %(levelname)s %(message)s"))
    path.touch(0o600)
    path.chmod(0o600)
    for name in ("hudkit.daemon", "hudkit.ingest", "uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [file], False
        logger.setLevel(logging.INFO if name.startswith("hudkit.") else logging.ERROR)


def where(error: BaseException) -> str:
    """An error's type and the places in the code that it came through; not its text, which may hold content."""
    places = traceback.extract_tb(error.__traceback__)[-6:]
    return f"{type(error).__name__} at " + " < ".join(f"{Path(p.filename).name}:{p.lineno}" for p in reversed(places))
