"""Plan files: which files are plans, their points, and which of them an edit ticked."""

from __future__ import annotations

import re

import msgspec

_NAMES = re.compile(
    r"(?i)(?:^|/)(?:(?:[\w-]*[-_])?(?:plan|todos?|tasks?|roadmap|checklist)\.(?:md|markdown|txt|org)|plans?/[^/]+\.(?:md|markdown))$"
)
_POINT = re.compile(r"(?m)^[ \t]*(?:\d+[|:][ \t]*)?(?:[-*+]|\d{1,3}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*?)[ \t]*$")

MOST = 200
"""Points of one plan that are followed."""


class PlanPoint(msgspec.Struct, frozen=True):
    """One point of a plan and whether it is ticked."""

    text: str
    done: bool


def is_plan(path: str) -> bool:
    """Whether a file of this name is a plan."""
    return bool(_NAMES.search(path))


def points(text: str) -> tuple[PlanPoint, ...]:
    """The points with a box to tick, in order, each text once."""
    found = {text: mark != " " for mark, text in _POINT.findall(text)}
    return tuple(PlanPoint(text[:200], done) for text, done in list(found.items())[:MOST])


def ticked(known: tuple[PlanPoint, ...], old: str, new: str) -> tuple[PlanPoint, ...]:
    """The points of a plan after a part of it was replaced."""
    before, after = points(old), points(new)
    gone = {point.text for point in before} - {point.text for point in after}
    told = {point.text: point.done for point in after}
    kept = [PlanPoint(each.text, told.pop(each.text, each.done)) for each in known if each.text not in gone]
    return (*kept, *(PlanPoint(text, done) for text, done in told.items()))[:MOST]
