"""Texts as the numbers of their word pieces; what is expected is what `transformers` prints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.ingest.sentence_model.encoder import SentenceReader

CLS, SEP = 101, 102
READER = SentenceReader()


def numbers(text: str) -> list[int]:
    return READER.pair(text, "")[0][1:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My pupils are in year 4.", [2026, 7391, 2024, 1999, 2095, 1018, 1012]),
        (
            "Žemaitė naïve-ly re-uploads 日本語!",
            [27838, 2863, 4221, 15743, 1011, 1048, 2100, 2128, 1011, 2039, 11066, 2015, 1864, 1876, 1950, 999],
        ),
        ("don't", [2123, 1005, 1056]),
        ("x" * 101, [100]),
        ("🔥 ok", [100, 7929]),
        ("\ufffd a\u00a0b", [1037, 1038]),
        ("", []),
    ],
    ids=[
        "words",
        "accents and ideograms",
        "a mark in a word",
        "a word too long",
        "an unknown sign",
        "blanks",
        "empty",
    ],
)
def test_a_text_is_cut_as_the_published_model_cuts_it(text: str, expected: list[int]) -> None:
    assert numbers(text) == expected


@given(st.text(max_size=300))
def test_any_text_can_be_cut(text: str) -> None:
    assert all(0 <= number < 30_522 for number in numbers(text))
    assert len(numbers(text)) <= 64


@given(st.from_regex(r"[a-z]{1,40}", fullmatch=True))
def test_the_pieces_of_a_word_are_the_word(word: str) -> None:
    pieces = [READER.pieces[number] for number in numbers(word)]
    assert "".join(piece.removeprefix("##") for piece in pieces) == word


def test_a_sentence_has_its_message_beside_it_unless_it_is_all_of_it() -> None:
    first, rest = READER.sentence("Use tabs.", "Use tabs.")
    assert (first[0], first[-1], rest) == (CLS, SEP, [])
    first, rest = READER.sentence("Use tabs.", "Hello. Use tabs.")
    assert rest == [*numbers("Hello. Use tabs."), SEP]


def test_of_a_long_message_what_stands_around_the_sentence_is_read() -> None:
    message = "before " * 60 + "Use tabs. " + "behind " * 60
    _, rest = READER.sentence("Use tabs.", message)
    assert numbers("tabs")[0] in rest and numbers("before")[0] in rest and numbers("behind")[0] in rest
