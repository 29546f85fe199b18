"""What plain words and outputs tell: rules, decisions, test results, commits and plan files, found by rule."""

from hudkit.rules.commits import Commit, commits
from hudkit.rules.hearing import Held, News, hear
from hudkit.rules.plans import PlanPoint, is_plan, points, ticked
from hudkit.rules.testruns import Counts, counts

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
