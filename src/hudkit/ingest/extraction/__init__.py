"""What plain words and outputs tell: rules, decisions, test results, commits and plan files, found by rule."""

from hudkit.ingest.extraction.commits import Commit, commits
from hudkit.ingest.extraction.hearing import Held, News, hear
from hudkit.ingest.extraction.plans import PlanPoint, is_plan, points, ticked
from hudkit.ingest.extraction.testruns import Counts, counts

__all__ = [
    "Commit",
    "Counts",
    "Held",
    "News",
    "PlanPoint",
    "commits",
    "counts",
    "hear",
    "is_plan",
    "points",
    "ticked",
]
