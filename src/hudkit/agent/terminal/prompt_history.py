"""What a person typed in chats, kept in a private file: the arrow key finds it in the next one, too.

Each line of the file is one prompt as JSON text. A line that is none (it was redacted, or cut off) is passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from hudkit.paths import CHAT_HISTORY

_MOST = 1_000
"""Prompts that are kept; the oldest go when the file has twice as many."""

_LONGEST = 10_000
"""Characters of a prompt that is kept: longer ones are pasted files."""


class HistoryFile:
    """The prompts in a file in the data directory. Trouble with the file keeps nobody from working."""

    def __init__(self, data: Path) -> None:
        self._path = data / CHAT_HISTORY

    def read(self) -> Sequence[str]:
        """Return the newest prompts, oldest first; none where the file cannot be read."""
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return ()
        texts = []
        for line in lines:
            with suppress(ValueError):
                text = json.loads(line)
                if isinstance(text, str):
                    texts.append(text)
        if len(lines) > 2 * _MOST:
            self._write(texts[-_MOST:], os.O_TRUNC)
        return texts[-_MOST:]

    def append(self, text: str) -> None:
        """Add a prompt, unless it is very long; return nothing."""
        if len(text) <= _LONGEST:
            self._write((text,), os.O_APPEND)

    def _write(self, texts: Iterable[str], how: int) -> None:
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # no link is followed: it could lead to a file that others read
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | how, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                os.fchmod(fd, 0o600)
                file.writelines(f"{json.dumps(text)}\n" for text in texts)
