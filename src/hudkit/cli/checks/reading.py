"""Reading a file of somebody else's: regular files only, so much and no more."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hudkit.errors import ConfigError


def text_of(path: Path, limit: int) -> str | None:
    """The first `limit` bytes of a file as text; `None` where there is none, or something that is no file.

    Raises `ConfigError` where it cannot be read. What is not UTF-8 is replaced.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({error})") from None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return file.read(limit).decode("utf-8", "replace")
