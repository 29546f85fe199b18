"""User text is words, never syntax; what cannot be read is said in one line; no question stops a reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.errors import OperationError
from hudkit.transcripts.search import SearchFilters, SearchQuery

SYNTAX = [
    '"', '""', '"unclosed', "NEAR(", "a AND", "OR", "NOT x", "text : ferry", "parts:x", "session:*", "*", "%",
    "ferry*", "^ferry", "(ferry", "ferry)", "a + b", "{text} : x", "-ferry", "'; DROP TABLE entries; --", "\0",
    "C++ ::", "🛥", "ferry\nOR\nbirds", "text:", "rank", "words", "\ud800", "x" * 400, "a " * 3_000, "København",
    "日本語の検索",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", SYNTAX, ids=ascii)
def test_syntax_is_text(reader, text):
    for hit in reader.search(SearchQuery(text)):
        assert hit.session and hit.message


@given(
    text=st.text(max_size=60), filters=st.builds(SearchFilters, session=st.text(max_size=5), tool=st.text(max_size=5))
)
def test_no_question_raises(reader, text, filters):
    reader.search(SearchQuery(text))
    reader.search(SearchQuery(text, filters))


@given(text=st.text(max_size=60))
def test_a_syntax_question_is_answered_or_refused(reader, text):
    try:
        reader.search(SearchQuery(text, syntax=True))
    except OperationError as error:
        assert len(str(error)) < 400


def test_syntax_where_it_is_asked_for(reader, talks):
    hits = reader.search(SearchQuery('"idempotency" NOT kiosk', syntax=True))
    assert talks.labels["double-charge"] in [hit.message for hit in hits]
    with pytest.raises(OperationError, match="cannot be read"):
        reader.search(SearchQuery("a AND (", syntax=True))
    assert reader.search(SearchQuery("qqqzzz", syntax=True)) == ()


def test_signs_alone_are_looked_for_as_they_stand(reader):
    assert any("#595959" in hit.snippet for hit in reader.search(SearchQuery("#595959")))
    assert reader.search(SearchQuery("->"))
    assert reader.search(SearchQuery("   ")) == ()


def test_the_limit_is_kept(reader):
    for limit in (-5, 0, 1, 3, 10**9):
        assert len(reader.search(SearchQuery("the test", limit=limit))) <= max(1, min(limit, 200))
