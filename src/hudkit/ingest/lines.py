"""Text on one line, cut to a length."""

from __future__ import annotations


def one_line(text: str, limit: int) -> str:
    """`text` with every run of white space as one space, at most `limit` characters, an ellipsis where it was cut."""
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
