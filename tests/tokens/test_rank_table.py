"""Small texts counted from the table of ranks: as the tokenizer counts them, or not at all."""

from __future__ import annotations

import random
import sys
from importlib.resources import files
from pathlib import Path
from runpy import run_path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import HOSTILE, hostile
from tests.tokens.test_token_counting import PIECES

from hudkit.tokens import count_tokens, rank_table, shared_counter
from hudkit.tokens.counting import ENCODINGS, DeferredCounter, Utf8Counter
from hudkit.tokens.rank_table import MOST_CHARACTERS, TABLE, TableCounter

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = run_path(str(ROOT / "scripts/write_rank_table.py"))


@pytest.fixture
def patient(monkeypatch):
    """A table that is searched as often as a test wants."""
    monkeypatch.setattr(rank_table, "MOST_SEARCHES", sys.maxsize)
    return TableCounter()


def differences(counter, texts):
    """The texts that the table counts otherwise than the tokenizer, and how many it counted at all."""
    counts = {text: counter.count(text) for text in texts}
    counted = {text: tokens for text, tokens in counts.items() if tokens is not None}
    return {text: tokens for text, tokens in counted.items() if tokens != count_tokens(text)}, len(counted)


def test_the_texts_of_the_documents_are_counted_as_the_tokenizer_counts_them(patient):
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/*/**/goldens/**/*.md")]
    texts = {part for page in pages for part in page.read_text(encoding="utf-8").split("\n\n")}
    lines = {f"{line}\n" for text in texts for line in text.splitlines()}
    assert len(lines) > 10_000
    wrong, counted = differences(patient, texts | lines)
    assert wrong == {} and counted > 0.99 * len(texts | lines)


def test_every_token_is_found(patient):
    """Those that are text: where one is hidden in its length's block, something else comes out."""
    vocabulary = SCRIPT["read_vocabulary"]()
    texts = {token.decode() for token in vocabulary if is_text(token)}
    wrong, counted = differences(patient, texts)
    assert len(vocabulary) == 199_998 and wrong == {} and counted > 190_000


def test_every_character_is_of_the_class_that_the_tokenizer_has_it_in(patient):
    """Alone, among letters and digits, behind an apostrophe: where its class decides. Unusual ones have no count."""
    every_11th = range(0x3400, 0xD800, 11)  # all are letters of east Asia
    characters = [chr(code) for code in (*range(0x3400), *every_11th, *range(0xE000, 0x20000))]
    texts = [f"a{char}b{char}{char}1{char} {char}A{char}\n{char}B's'{char}  {char}" for char in characters]
    wrong, counted = differences(patient, texts)
    assert wrong == {} and counted > 15_000


@given(text=st.one_of(hostile, st.text(st.characters(codec="utf-8"), max_size=300)))
@settings(deadline=None, max_examples=500)
def test_any_text_is_counted_as_the_tokenizer_counts_it(text):
    assert differences(TableCounter(), [text])[0] == {}


def test_mixtures_of_awkward_words_are_counted_as_the_tokenizer_counts_them(patient):
    rng = random.Random(44)
    pieces = [
        *PIECES,
        *HOSTILE,
        "'S",
        "'ll",
        "’s",
        "ÀÉ",
        "ﬀ",
        "ª",
        "Ⅷ",
        "²",
        "ǅ",
        "\u0301",
        "\u3000",
        "\x1c",
        "/",
        "\r\n/",
        "⚠️",
    ]
    texts = ["".join(rng.choice(pieces) for _ in range(rng.randrange(1, 9))) for _ in range(30_000)]
    wrong, counted = differences(patient, texts)
    assert wrong == {} and counted > 20_000


@pytest.mark.parametrize(
    "text",
    ["\ud800", "\u0378", "\ue000", "'\u017f", "\u1c80", "x" * 300, "a b " * MOST_CHARACTERS],
    ids=["surrogate", "undefined", "private", "long s", "newer letter", "long word", "long text"],
)
def test_what_is_not_usual_is_left_to_the_tokenizer(text):
    assert TableCounter().count(text) is None
    assert DeferredCounter(small_first=True).count(f"- {text}\n") == count_tokens(f"- {text}\n")


def test_after_many_searches_the_tokenizer_takes_over():
    counter, rng = TableCounter(), random.Random(1)
    texts = ["".join(rng.choices("etaoinshrdlu", k=9)) for _ in range(5_000)]
    counts = [counter.count(text) for text in texts]
    taken = counts.index(None)
    assert 200 < taken < 4_000 and set(counts[taken:]) == {None}
    deferred = DeferredCounter(small_first=True)
    assert [deferred.count(text) for text in texts] == [count_tokens(text) for text in texts]


class Loading(Exception):
    """The vocabulary is loaded."""


@pytest.fixture
def no_vocabulary(monkeypatch):
    def load():
        raise Loading

    monkeypatch.setattr("hudkit.tokens.counting.shared_counter", load)


def test_small_texts_and_the_name_need_no_vocabulary(no_vocabulary):
    counter = DeferredCounter(small_first=True)
    assert counter.name == ENCODINGS[0]
    texts = ("", "hello world", "antidisestablishmentarianism", "Größe 中\n")
    assert [counter.count(text) for text in texts] == [0, 2, 6, 4]
    with pytest.raises(Loading):
        counter.count("x" * 300)
    with pytest.raises(Loading):
        counter.count("hello world")  # what gave way once does not come back: the vocabulary is loaded by then
    with pytest.raises(Loading):
        DeferredCounter().count("hello world")


def test_where_no_tokenizer_loads_the_name_says_so_from_then_on(monkeypatch):
    monkeypatch.setattr("hudkit.tokens.counting.shared_counter", Utf8Counter)
    counter = DeferredCounter(small_first=True)
    assert (counter.count("hello world"), counter.name) == (2, "o200k_base")
    assert (counter.count("x" * 300), counter.name) == (300, "approx-utf8")


@pytest.mark.parametrize("damage", [lambda table: b"", lambda table: table[:-1], lambda table: bytes(8)])
def test_a_table_that_is_not_whole_is_refused_and_the_tokenizer_counts(damage, tmp_path, monkeypatch):
    path = tmp_path / "o200k_base.ranks"
    path.write_bytes(damage(TABLE.read_bytes()))
    with pytest.raises(ValueError, match="not whole"):
        TableCounter(path)
    monkeypatch.setattr(rank_table, "TableCounter", lambda: TableCounter(path))
    counter = DeferredCounter(small_first=True)
    assert (counter.count("hello world"), counter.name) == (2, shared_counter().name)
    with pytest.raises(OSError, match="missing"):
        TableCounter(tmp_path / "missing")


def test_the_table_is_what_the_script_writes():
    """`python scripts/write_rank_table.py` writes it anew."""
    assert SCRIPT["rank_table"](SCRIPT["read_vocabulary"]()) == TABLE.read_bytes()


def test_the_vocabularys_licence_goes_with_the_table():
    licence = files("hudkit.tokens").joinpath("o200k_base-LICENSE.txt").read_text(encoding="utf-8")
    assert "OpenAI" in licence and "Permission is hereby granted" in licence


def is_text(token):
    """Whether the bytes of a token are UTF-8."""
    try:
        return bool(token.decode())
    except UnicodeDecodeError:
        return False
