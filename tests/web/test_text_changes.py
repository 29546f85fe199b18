"""Comparing two texts: what was cut, what is new, and what is left out because it stayed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudkit.web.text_changes import MAX_WORDS, TextChange, compare_lines, compare_words


def test_lines_that_stayed_are_shown_around_a_change_and_counted_elsewhere() -> None:
    before = [f"line {n}" for n in range(12)]
    after = [*before[:-1], "new"]
    changes = compare_lines("\n".join(before), "\n".join(after))
    assert changes[:3] == [TextChange("same", f"line {n}") for n in range(3)]
    assert changes[3] == TextChange("skip", "5 unchanged lines")
    assert changes[-2:] == [TextChange("cut", "line 11"), TextChange("add", "new")]


def test_a_word_is_told_within_its_line() -> None:
    changes = compare_words("Use a heap, not a list", "Use a tree, not a list")
    assert [change for change in changes if change.kind != "same"] == [("cut", "heap"), ("add", "tree")]


def test_a_very_long_text_is_compared_by_line() -> None:
    text = "word " * MAX_WORDS
    assert compare_words(f"{text}\na b", f"{text}\na c")[-2:] == [("cut", "a b"), ("add", "a c")]


@given(st.text("ab c\n", max_size=60), st.text("ab c\n", max_size=60))
def test_both_texts_can_be_read_from_a_comparison_by_word(before: str, after: str) -> None:
    changes = compare_words(before, after)
    assert "".join(change.text for change in changes if change.kind != "add") == before
    assert "".join(change.text for change in changes if change.kind != "cut") == after
