"""A pattern that ignores case finds what Python's own finds, in any text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.ingest.extraction import any_case

PATTERNS = [
    r"\b(?:never|don't|Do Not|no (?!One\b)\w+)\b",
    r"^(?P<Who>[A-Z]\w+) (?:said|SAYS)\b",
    r"(?<!Not )\bdone\W",
    r"\bcall me (?-i:[A-Z])\w+",
    r"[^A-F\s]\d{2,}|ä(?=ÖL)",
]
WORDS = ["Never", "DON'T", "do not", "no ONE", "No cat", "Ann SAID", "ann says ", "not done.", "Done!", "call me Ann"]
TEXTS = st.lists(
    st.sampled_from([*WORDS, "call me ann", "x22", "ÄÖl", "İ", " ", ", ", "\n"]) | st.text(max_size=6), max_size=8
).map("".join)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXTS)
def test_it_finds_what_the_plain_pattern_finds(pattern: str, text: str) -> None:
    plain, found = re.compile(pattern, re.IGNORECASE), any_case(pattern)
    for method in ("search", "match", "fullmatch"):
        theirs, ours = getattr(plain, method)(text), getattr(found, method)(text)
        assert (theirs and (theirs.span(), theirs.groupdict())) == (ours and (ours.span(), ours.groupdict()))
    assert [each.span() for each in plain.finditer(text)] == [each.span() for each in found.finditer(text)]
    assert plain.findall(text) == found.findall(text)
    assert plain.sub("_", text) == found.sub("_", text)
    assert plain.split(text) == found.split(text)


def test_bounds_are_those_of_the_text() -> None:
    pattern = any_case("two")
    assert pattern.search("Two two", 1).span() == (4, 7)  # type: ignore[union-attr]
    assert pattern.search("Two two", 1, 5) is None
    assert [each.start() for each in pattern.finditer("TWO Two two", 1)] == [4, 8]


def test_a_text_that_grows_in_lower_case_is_read_as_it_is() -> None:
    assert len("İ".lower()) == 2
    match = any_case("x+").search("İXX")
    assert match is not None and match.span() == (1, 3)
