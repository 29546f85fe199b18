"""A summary beside the sections of the HUD: what they say already is not said twice."""

from __future__ import annotations

import re
from collections.abc import Collection

_MARK = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|^>\s*")
_LABEL = re.compile(
    r"^(?:task|goal|decision|decided|constraint|rule|blocker|step|next step|todo|note|error)s?:\s+", re.I
)
_HEADING = re.compile(r"^#{1,6}\s")


def unrepeated(summary: str, said: Collection[str]) -> str:
    """The summary without the lines that say nothing but one of the texts in `said`, and without headings that are
    left with nothing under them."""
    if not said:
        return summary
    known = {plain(text) for text in said}
    lines = summary.splitlines()
    kept = [line for line in lines if plain(line) not in known]
    if len(kept) == len(lines):
        return summary
    return "\n".join(line for place, line in enumerate(kept) if not _HEADING.match(line) or _followed(kept, place))


def plain(line: str) -> str:
    """A line without its list mark, label, emphasis, case, and the punctuation at its end."""
    text = " ".join(line.split())
    text = _LABEL.sub("", _MARK.sub("", text).strip("*_`\"' "))
    return text.strip("*_`\"' ").rstrip(".;,!").casefold()


def _followed(lines: list[str], place: int) -> bool:
    """Whether a heading has a text under it, before the next heading."""
    for line in lines[place + 1 :]:
        if line.strip():
            return not _HEADING.match(line)
    return False
