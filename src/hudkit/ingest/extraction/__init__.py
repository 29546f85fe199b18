"""What plain words and outputs say: rules, decisions, test results, commits and plan files, found by patterns."""

from hudkit.ingest.extraction.extractor import Extracted, KnownStatements, extract
from hudkit.ingest.extraction.tool_outputs import (
    count_tests,
    find_commits,
    is_plan_file,
    plan_points,
    update_points,
)

__all__ = [
    "Extracted",
    "KnownStatements",
    "count_tests",
    "extract",
    "find_commits",
    "is_plan_file",
    "plan_points",
    "update_points",
]
