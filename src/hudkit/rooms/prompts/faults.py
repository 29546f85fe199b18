"""The error of a prompt: which file or name, which line, what would be right."""

from __future__ import annotations

from difflib import get_close_matches

from hudkit.errors import ConfigError


def fault(place: str, line: int, what: str, hint: str = "") -> ConfigError:
    """`place` is a file, or a prompt's name; `line` counts from 1."""
    return ConfigError(f"{place}:{line}: {what}", hint=hint, file=place, line=line)


def one_of(word: str, known: tuple[str, ...]) -> str:
    """A hint: what was probably meant, or all that there is."""
    near = get_close_matches(word, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}"
