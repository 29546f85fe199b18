"""Search over everything that was said: an index of its own beside the transcripts, and ranked questions to it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hudkit.transcripts.search.query import SearchFilters, SearchHit, SearchQuery

if TYPE_CHECKING:
    from hudkit.transcripts.search.index_database import IndexProgress, IndexWriter
    from hudkit.transcripts.search.index_reader import IndexReader
    from hudkit.transcripts.search.past_sessions import (
        PastSessions,
        TranscriptSource,
        claude_projects,
        open_past_sessions,
    )

__all__ = [
    "IndexProgress",
    "IndexReader",
    "IndexWriter",
    "PastSessions",
    "SearchFilters",
    "SearchHit",
    "SearchQuery",
    "TranscriptSource",
    "claude_projects",
    "open_past_sessions",
]

_LAZY = {
    "IndexProgress": "index_database",
    "IndexReader": "index_reader",
    "IndexWriter": "index_database",
    "PastSessions": "past_sessions",
    "TranscriptSource": "past_sessions",
    "claude_projects": "past_sessions",
    "open_past_sessions": "past_sessions",
}
"""The module that holds each public name that needs SQLite."""


def __getattr__(name: str) -> Any:
    # Who searches nothing (a hook, `hudkit --version`) does not pay for SQLite and the hosts' readers.
    if name in _LAZY:
        return getattr(import_module(f"hudkit.transcripts.search.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'hudkit.transcripts.search' has no attribute {name!r}")
