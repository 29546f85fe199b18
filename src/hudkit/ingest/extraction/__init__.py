"""What plain words and outputs say: rules, preferences, decisions, facts; test results, commits and plan files."""

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.extractor import Ended, Extracted, KnownStatements, extract
from hudkit.ingest.extraction.reversals import find_closed_files
from hudkit.ingest.extraction.tool_outputs import (
    count_tests,
    find_commits,
    is_plan_file,
    plan_points,
    update_points,
)

__all__ = [
    "Ended",
    "Extracted",
    "KnownStatements",
    "any_case",
    "count_tests",
    "extract",
    "find_closed_files",
    "find_commits",
    "is_plan_file",
    "plan_points",
    "update_points",
]
