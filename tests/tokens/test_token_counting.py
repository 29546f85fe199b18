"""Counting: exact, alike in both packages, bounded in memory, and an upper bound where nothing is installed."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hudkit.tokens
from hudkit.errors import ConfigError
from hudkit.tokens import counting
from hudkit.tokens.counting import (
    ENCODINGS,
    LONG_TEXT,
    TOKENIZER_PACKAGES,
    CountMemo,
    ExactCounter,
    Utf8Counter,
    count_tokens,
    encodable,
    load_tokenizer,
    shared_counter,
)

pytestmark = pytest.mark.slow

TEXT = st.text(st.characters(codec="utf-8"), max_size=200)
ANY_TEXT = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"])), max_size=50)


@pytest.mark.parametrize(
    ("encoding", "text", "tokens"),
    [
        ("o200k_base", "", 0),
        ("o200k_base", "hello world", 2),
        ("o200k_base", "tiktoken is great!", 6),
        ("cl100k_base", "tiktoken is great!", 6),
        ("o200k_base", "antidisestablishmentarianism", 6),
        ("cl100k_base", "antidisestablishmentarianism", 6),
        ("o200k_base", "お誕生日おめでとう", 8),
        ("cl100k_base", "お誕生日おめでとう", 9),
        ("o200k_base", "2 + 2 = 4", 7),
        ("o200k_base", "<|endoftext|>", 7),
    ],
)
def test_known_counts(encoding, text, tokens):
    """The sentences of OpenAI's token counting guide, and a special token as ordinary text."""
    assert count_tokens(text, encoding) == tokens


def tallies(encoding: str):
    """The counting functions of the packages that are installed here."""
    found = []
    for package in TOKENIZER_PACKAGES:
        try:
            found.append(load_tokenizer(encoding, (package,))[1])
        except ConfigError:
            continue
    return found


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXT)
@settings(deadline=None, max_examples=200)
def test_both_packages_count_alike(encoding, text):
    installed = tallies(encoding)
    assert installed, "a tokenizer package is a dependency"
    assert len({tally(text) for tally in installed}) == 1


def test_the_memo_does_not_change_a_count():
    fresh, text = load_tokenizer("o200k_base")[1], "- a finding: the tokenizer\n"
    exact = ExactCounter()
    assert [exact.count(text), exact.count(text), exact.count(text * 4_000)] == [fresh(text)] * 2 + [
        fresh(text * 4_000)
    ]


@given(text=ANY_TEXT)
@settings(deadline=None)
def test_any_string_is_counted(text):
    assert count_tokens(text) == count_tokens(encodable(text)) <= Utf8Counter().count(text)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("x\udbff", "x\ufffd"),
        ("ok", "ok"),
    ],
)
def test_sendable(text, sent):
    assert encodable(text) == sent
    assert Utf8Counter().count(text) == len(sent.encode())


def test_the_name_says_what_was_counted_with():
    assert shared_counter().name == "o200k_base"
    assert shared_counter("cl100k_base").name == "cl100k_base"
    assert shared_counter().package in {package for package, _ in TOKENIZER_PACKAGES}


def test_unknown_encoding():
    with pytest.raises(ConfigError, match=r"'p50k'.*o200k_base"):
        count_tokens("a", "p50k")


def broken(encoding):
    raise ImportError("no such file")


def lying(encoding):
    return len


def test_a_broken_package_gives_way_to_the_next():
    package, tally = load_tokenizer("o200k_base", (("broken", broken), *TOKENIZER_PACKAGES))
    assert package in {"rs-bpe", "bpe-openai"}
    assert tally("hello world") == 2


def test_without_a_package_the_error_names_each():
    with pytest.raises(ConfigError) as caught:
        load_tokenizer("o200k_base", (("one", broken), ("two", lying)))
    assert caught.value.details["reasons"] == {
        "one": "ImportError: no such file",
        "two": "it counts 'a b' as 3 tokens, not 2",
    }


def test_without_a_package_counting_goes_on_and_says_so(monkeypatch):
    def none_left(encoding):
        return load_tokenizer(encoding, (("rs-bpe", broken),))

    monkeypatch.setattr(counting, "load_tokenizer", none_left)
    shared_counter.cache_clear()
    try:
        stand_in = shared_counter()
        assert stand_in.name == "approx-utf8"
        assert "rs-bpe (ImportError: no such file)" in stand_in.reason
        assert count_tokens("héllo") == 6
        with pytest.raises(ConfigError):
            shared_counter("p50k")
    finally:
        shared_counter.cache_clear()


@given(text=TEXT, encoding=st.sampled_from(ENCODINGS))
@settings(deadline=None)
def test_the_approximate_counter_is_an_upper_bound(text, encoding):
    assert Utf8Counter().count(text) >= count_tokens(text, encoding)


class Counted:
    """Counts characters, and how often it was asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self, text):
        self.asked += 1
        return len(text)


def test_the_memo_asks_once_and_forgets_the_oldest():
    tally = Counted()
    memo = CountMemo(tally, limit=1_000)  # room for three or four short texts
    assert [memo.count(text) for text in ("a", "bb", "a", "bb")] == [1, 2, 1, 2]
    assert tally.asked == 2
    for text in ("c" * 10, "a", "d" * 10, "a", "e" * 10):  # "a" is used in between: it stays
        memo.count(text)
    asked = tally.asked
    memo.count("a")
    assert tally.asked == asked
    memo.count("bb")
    assert tally.asked == asked + 1


def test_the_memo_stays_within_its_memory():
    memo = CountMemo(Counted(), limit=20_000)
    for number in range(2_000):
        assert memo.count("é" * (number % 700)) == number % 700
        assert memo.held <= 20_000


def test_large_texts_are_not_kept():
    tally = Counted()
    memo = CountMemo(tally)
    memo.count("x" * 100_000)
    memo.count("x" * 100_000)
    assert (tally.asked, memo.held) == (2, 0)


def test_threads_share_a_memo():
    memo = CountMemo(len, limit=5_000)
    texts = ["t" * number for number in range(60)] * 20
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(memo.count, texts)) == [len(text) for text in texts]
    assert memo.held <= 5_000


# The block rule (contract 2): each block ends in a line break, and the next starts with neither a space nor a slash.

PIECES = (
    *(
        "task: ",
        "Fix the parser",
        "  nested",
        "\t",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\r\n",
        "12345",
        "1,234.50",
        "I'll",
        "don't",
    ),
    *("HTTPServer", "snake_case", "/src/a.py", "```", "**", "- ", "# ", "|", "…", "é", "e\u0301", "日本語", "Привет"),
    *("🙂", "👩‍👩‍👧", "\u00a0", "\u2028", "\u200b", "\x85", "نص", "नमस्ते", "한국어", "</a>", "!!", ".", "\\", "\x00"),
)
STARTS = (
    *(piece for piece in PIECES if not piece[0].isspace() and piece[0] != "/"),
    "x",
    "-",
    "#",
    "7",
    "¿",
    "語",
    "'",
)


def random_block(rng: random.Random, starts: tuple[str, ...]) -> str:
    """One of `starts`, anything in between, and a line break."""
    inside = "".join(rng.choice(PIECES) for _ in range(rng.randrange(8)))
    if rng.random() < 0.2:
        inside += "".join(
            chr(rng.choice((rng.randrange(32, 0xD800), rng.randrange(0xE000, 0x20000)))) for _ in range(4)
        )
    return rng.choice(starts) + inside + "\n"


def excess(encoding: str, rounds: int, seed: int, starts: tuple[str, ...] = STARTS) -> list[int]:
    """For each block list of which the whole costs more than its blocks do together: by how many tokens, less one
    for each block that starts with a slash."""
    rng = random.Random(seed)
    tally = load_tokenizer(encoding)[1]
    found = []
    for _ in range(rounds):
        blocks = [random_block(rng, starts) for _ in range(rng.randrange(2, 7))]
        more = tally("".join(blocks)) - sum(map(tally, blocks))
        if more > 0:
            found.append(more - sum(block.startswith("/") for block in blocks[1:]))
    return found


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_block_counts_bound_the_whole(encoding):
    assert excess(encoding, 5_000, seed=11) == []


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_block_counts_bound_the_whole_at_length(encoding):
    assert excess(encoding, 100_000, seed=12) == []


def test_a_slash_at_the_start_of_a_block_costs_one_token_at_most():
    """o200k takes punctuation, line breaks and slashes that follow them as one piece: `!\\n/`."""
    found = excess("o200k_base", 5_000, seed=13, starts=("/src/a.py", "//", "/"))
    assert found, "the exception is real"
    assert max(found) <= 0
    assert [count_tokens(text) for text in ("done!\n", "/src/a.py\n", "done!\n/src/a.py\n")] == [2, 4, 7]


def random_document(rng: random.Random) -> str:
    """Blocks with and without blank lines between, some of which start with a space or a slash."""
    breaks = ("", "\n", "\n\n", "\r\n", " \n\n")
    return "".join(random_block(rng, (*PIECES, "/", "//")) + rng.choice(breaks) for _ in range(80))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_long_text_counts_as_the_tokenizer_counts_it(encoding):
    """It is counted by paragraphs, which has to come to the very same number."""
    rng, count, counter = random.Random(14), load_tokenizer(encoding)[1], ExactCounter(encoding)
    texts = [random_document(rng) for _ in range(150)]
    assert min(map(len, texts)) > LONG_TEXT
    assert [counter.count(text) for text in texts] == [count(text) for text in texts]


def test_the_facade():
    assert hudkit.tokens.count_tokens("hello world") == 2
