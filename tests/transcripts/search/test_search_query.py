"""User text is words, never syntax; what cannot be read is said in one line; no question stops a reader."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.errors import OperationError
from hudkit.transcripts.search import SearchFilters, SearchQuery
from hudkit.transcripts.search.passages import identifier_words

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


@pytest.mark.slow
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


def least_cpu_time(work: Callable[[], object]) -> float:
    """The processor time of the quickest of five runs, in seconds: for ratios only."""
    times = []
    for _ in range(5):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return min(times)


@pytest.mark.parametrize("word", ["a" * 4096, "abcdefgh" * 512, "tokens" * 680])
def test_one_long_word_costs_no_more_than_as_many_letters_in_words(reader, word):
    """E1: the only thread was held for a second by one word of 4,096 letters."""
    words = " ".join(word[place : place + 40] for place in range(0, len(word), 40))
    assert reader.search(SearchQuery(word)) == ()
    long = least_cpu_time(lambda: reader.search(SearchQuery(word)))
    short = least_cpu_time(lambda: reader.search(SearchQuery(words)))
    assert long < 10 * short, "it was 50 to 400 times as much"


@pytest.mark.parametrize("word", ["a" * 4000, "B" * 4000, "aB3" * 1300])
def test_one_long_word_is_looked_into_as_quickly_as_many_short_ones(word):
    """Passages are looked into in the same way when they are indexed, up to 64 of one output."""
    words = " ".join(word[place : place + 40] for place in range(0, len(word), 40))
    assert identifier_words(word) == ""
    long, short = (least_cpu_time(lambda text=text: identifier_words(text)) for text in (word, words))
    assert long < 10 * short, "it was 1,000 times as much"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("refreshToken2 x", "refresh Token 2"),
        ("HTTPServer_name", "HTTP Server"),
        ("2ndTry éfooBar plain", "nd Try foo Bar"),
    ],
)
def test_the_words_within_identifiers(text, words):
    assert identifier_words(text) == words
