"""Search over everything that was said: an index of its own beside the transcripts, and ranked questions to it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hudkit.transcripts.search.question import Filters, Hit, Question

if TYPE_CHECKING:
    from hudkit.transcripts.search.index import Index, Progress
    from hudkit.transcripts.search.past import Past, Source, open_past
    from hudkit.transcripts.search.reader import Reader

__all__ = ["Filters", "Hit", "Index", "Past", "Progress", "Question", "Reader", "Source", "open_past"]

_LATER = {
    "Index": "index",
    "Progress": "index",
    "Past": "past",
    "Source": "past",
    "open_past": "past",
    "Reader": "reader",
}


def __getattr__(name: str) -> Any:  # who asks no question does not pay for SQLite
    if name in _LATER:
        return getattr(import_module(f"hudkit.transcripts.search.{_LATER[name]}"), name)
    raise AttributeError(f"module 'hudkit.transcripts.search' has no attribute {name!r}")
