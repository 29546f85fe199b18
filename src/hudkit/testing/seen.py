"""What of the HUD stands in a request: base, blocks of changes, answers of its tools, and where a prefix broke."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from hudkit.testing.captured import Captured, departs


def base_of(request: Captured) -> str:
    """The HUD in a request's system prompt; raises `AssertionError` where there is none, or more than one."""
    found = [text for text in request.system if re.search(r"\bHUD\b", text)]
    assert len(found) == 1, request.system
    return found[0]


def tag_of(request: Captured) -> str:
    """The tag of the epoch that a request belongs to."""
    (tag,) = set(re.findall(r"\[hud (\w+)\]", base_of(request)))
    return str(tag)


def told(request: Captured) -> list[str]:
    """The lines of all blocks of changes in a request, in order; each block has the tag of the request's base."""
    lines: list[str] = []
    for piece in request.pieces:
        if piece.role in ("user", "tool"):
            assert piece.text.count("[hud ") == len(BLOCK.findall(piece.text)), piece.text
            for tag, line, block in BLOCK.findall(piece.text):
                assert tag == tag_of(request)
                lines += [line] if line else [each.removeprefix("- ") for each in block.splitlines()]
    return lines


BLOCK = re.compile(r"^\[hud (\w+)\](?: (.+)\n|\n\n((?:- .*\n)+))", re.M)
"""A block of changes: its tag, and its only line or the list of its lines."""


def heard(request: Captured) -> list[str]:
    """What the agent's calls of `hud` that changed something were answered, in order, as a request has it."""
    found = r"^(?:Set the task|Recorded decision|Added note|Added step|Reported|Took up)\b.*"
    return [said for piece in request.pieces if piece.role == "tool" for said in re.findall(found, piece.text, re.M)]


def carriers(request: Captured) -> list[str]:
    """The roles of the messages that carry blocks of changes, in order."""
    return [piece.role for piece in request.pieces if piece.role in ("user", "tool") and BLOCK.search(piece.text)]


def holds(request: Captured, noun: str, title: str, text: str) -> tuple[int, int, int]:
    """How often a request says an item: in its base, in blocks of changes, and in answers of tools."""
    answers = sum(f'"{text}"' in answer for answer in heard(request))
    return under(request, title).count(f"- {text}"), told(request).count(f"{noun}: {text}"), answers


def under(request: Captured, title: str) -> list[str]:
    """The lines under a heading of the base, empty where it has none."""
    found = re.search(rf"^#+ {re.escape(title)}(?: \(\d+\))?\n\n((?:[^#\n].*\n)+)", base_of(request), flags=re.M)
    return found[1].splitlines() if found else []


def kept(text: str) -> str:
    """A text without the tail, the line that is never kept: the window in use, or why the HUD is old."""
    return re.sub(r"^(?:Context|HUD): .*\n\Z", "", text, flags=re.M)


def breaks(chats: Sequence[Captured]) -> list[str]:
    """Where a request is not the beginning of the next one, but for the tail."""
    return [found for before, after in pairwise(chats) if (found := departs(before, after, kept))]
