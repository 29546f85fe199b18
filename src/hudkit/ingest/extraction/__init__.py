"""What plain words and outputs tell: rules, decisions, test results, commits and plan files, found by rule."""

from hudkit.ingest.extraction.extractor import Extracted, KnownStatements, extract
from hudkit.ingest.extraction.tool_outputs import (
    FoundCommit,
    FoundPoint,
    RunCounts,
    count_tests,
    find_commits,
    is_plan_file,
    plan_points,
    update_points,
)

__all__ = [
    "Extracted",
    "FoundCommit",
    "FoundPoint",
    "KnownStatements",
    "RunCounts",
    "count_tests",
    "extract",
    "find_commits",
    "is_plan_file",
    "plan_points",
    "update_points",
]
