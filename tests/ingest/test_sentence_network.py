"""The network that reads the words of a sentence: what it computes, and that it knows what lasts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.ingest.extraction.clause_grammar import word_class
from hudkit.ingest.extraction.sentence_network import (
    NOTHING,
    WIDTHS,
    NetworkTable,
    SentenceNetwork,
    read_words,
    tokens_of,
)

WORDS = ["the", "rule", "never", "'", "0", "we"]
CLASSES = ["noun", "number", "we", "mark"]


@st.composite
def tables(draw: st.DrawFn) -> NetworkTable:
    """A table with two filters of each width."""
    count = 2 * len(WIDTHS)
    row = st.binary(min_size=2 * count, max_size=2 * count)
    rows, class_rows = (b"".join(draw(row) for _ in each) for each in (WORDS, CLASSES))
    biases = draw(st.lists(st.floats(NOTHING, 800), min_size=count, max_size=count))
    outputs = draw(st.lists(st.floats(-0.1, 0.1), min_size=count, max_size=count))
    starts = [draw(st.floats(-2, 2)), 0.0, 0.0, 0.0, 0.0]
    return NetworkTable(WORDS, rows, CLASSES, class_rows, biases, [outputs] * 5, {}, starts)


def by_the_book(table: NetworkTable, text: str) -> float:
    """The same by loops: each filter at each place of the text, what it finds most."""
    count = len(table.biases)
    size = count // len(WIDTHS)
    rows = []
    for token in tokens_of(text):
        if token in table.words:
            place, of = table.words.index(token), table.rows
        else:
            name = word_class(token)
            place, of = table.classes.index(name) if name in table.classes else 0, table.class_rows
        rows.append(of[2 * place * count : 2 * (place + 1) * count])
    parts = [(ago, width) for ago in range(len(WIDTHS)) for width in WIDTHS if width > ago]
    logit = table.starts[0]
    for width in WIDTHS:
        for number in range(size):
            found = []
            for end in range(len(rows) + width - 1):
                bytes_found = [
                    rows[end - ago][parts.index((ago, width)) * size + number]
                    if 0 <= end - ago < len(rows)
                    else NOTHING
                    for ago in range(width)
                ]
                found.append(sum(bytes_found))
            at = (width - 1) * size + number
            logit += max(max(found) - table.biases[at], 0) * table.outputs[0][at]
    return logit


@given(tables(), st.lists(st.sampled_from([*WORDS, "Ökonom", "12", "run", "!", "don't"]), min_size=1, max_size=70))
def test_the_lanes_of_numbers_give_what_the_filters_find(table: NetworkTable, words: list[str]) -> None:
    text = " ".join(words)
    assert SentenceNetwork(table).read(text, ()).logit == pytest.approx(by_the_book(table, text), abs=1e-6)


def test_names_of_the_grammar_count_beside_the_words() -> None:
    count = 2 * len(WIDTHS)
    nothing = bytes(2 * count)
    names, starts = {"x": [0.5, 0, 0, 2, 0]}, [1.0, 0, 1, 0, 0]
    table = NetworkTable(["a"], nothing, ["noun"], nothing, [999.0] * count, [[1.0] * count] * 5, names, starts)
    network = SentenceNetwork(table)
    assert (network.read("a", ["x", "y"]).logit, network.read("", []).logit) == (1.5, 1.0)
    assert (network.read("a", []).section, network.read("a", ["x"]).section) == ("preferences", "decisions")


def test_words_are_read_in_lower_case_and_numbers_as_one() -> None:
    assert tokens_of("We don’t ship 12.5 kg to Zürich!") == [
        "we",
        "don't",
        "ship",
        "0",
        ".",
        "0",
        "kg",
        "to",
        "zürich",
        "!",
    ]
    assert len(tokens_of("word " * 1_000)) == 60


@pytest.mark.parametrize(
    ("lasting", "momentary"),
    [
        ("My pupils are in year 4.", "My printer is broken again."),
        ("Our readers are mostly over seventy.", "Our server was down this morning."),
        ("Every release needs a changelog entry.", "Every release so far had a typo in it."),
        ("I get lost in long answers.", "I got lost on the way to the office."),
        ("The client pays by the word.", "The client asked for the invoice."),
    ],
)
def test_what_lasts_reads_more_so_than_what_resembles_it(lasting: str, momentary: str) -> None:
    first, second = (read_words(text).logit for text in (lasting, momentary))
    assert first > second + 1
