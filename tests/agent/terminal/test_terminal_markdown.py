"""Markdown on a terminal: any text, in any pieces, comes out whole, within its width, and with nothing hidden."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hudkit.agent.terminal.markdown import markdown_lines, split_finished_blocks
from hudkit.agent.terminal.screen import clip, printable
from hudkit.compose import visible

LINES = st.sampled_from([
    "# Head", "words and *more* `words`", "- item", "  - inner", "1. one", "> quoted", "```py", "    x = 1", "```",
    "| a | b |", "|---|--:|", "| 1 | 日本語のテキスト |", "", "", "---", "<b>html</b>", "[a](http://x.y)", "***",
    "w" * 90, "日本語" * 30, "\tx\ty", "&#x202e;&#27;", "**open", "![i](s)", "~~no~~", "\x1b[31m", "a\rb", "👨‍👩‍👧 ⚠️",
])  # fmt: skip
TEXTS = st.lists(LINES, max_size=14).map("\n".join) | st.text(max_size=200)


def plain(text: str, width: int = 60) -> list[str]:
    return [line.plain for line in markdown_lines(text, width)]


@pytest.mark.slow
@given(TEXTS, st.integers(20, 90))
def test_lines_are_within_their_width_and_hide_nothing(text: str, width: int) -> None:
    for line in markdown_lines(text, width):
        assert cell_len(line.plain) <= width
        assert "\n" not in line.plain


@pytest.mark.slow
@given(TEXTS, st.lists(st.integers(0, 300), max_size=6))
def test_pieces_give_the_blocks_of_the_whole(text: str, cuts: list[int]) -> None:
    text = text.replace("\r", "")
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    rest, said = "", ""
    for start, end in pairwise(places):
        finished, rest = split_finished_blocks(rest + text[start:end])
        said += finished
    assert said + rest == text


def test_a_finished_block_is_not_waited_for() -> None:
    assert split_finished_blocks("One.\n\nTwo") == ("One.\n\n", "Two")
    assert split_finished_blocks("One") == ("", "One")
    assert split_finished_blocks("```py\na = 1\n\nb = 2\n") == ("", "```py\na = 1\n\nb = 2\n")
    assert split_finished_blocks("- a\n- b\n\n- c") == ("", "- a\n- b\n\n- c")
    assert split_finished_blocks("a\x0cb\n\nc") == ("a\x0cb\n\n", "c")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# A *b*", ["# A b"]),
        ("A\n===", ["# A"]),
        ("- a\n- b\n  - c", ["• a", "• b", "  • c"]),
        ("9. a\n10. b", [" 9. a", "10. b"]),
        ("> a\n> b", ["│ a b"]),
        ("```\na\n  b\n```", ["  a", "    b"]),
        ("[here](http://x.y/z)", ["here (http://x.y/z)"]),
        ("<http://x.y>", ["http://x.y"]),
        ("![cat](c.png)", ["[image: cat] (c.png)"]),
        ("a <b>c</b> Vec<T>", ["a <b>c</b> Vec<T>"]),
        ("<div>\nx\n</div>", ["<div> x </div>"]),
        ("a\n\nb", ["a", "", "b"]),
        ("| a | b |\n|---|--:|\n| 1 | 22 |", ["a    b", "──────", "1   22"]),
        ("\x1b[2J\x07", ["\\e[2J\\x07"]),
        ("a\tb", ["a   b"]),
        ("⚠️ 👨‍👩‍👧", ["⚠ 👨👩👧"]),
        ("zero\u200bwidth", ["zero\\u200bwidth"]),
    ],
)
def test_blocks_as_lines(text: str, lines: list[str]) -> None:
    assert plain(text) == lines


@pytest.mark.slow
def test_what_is_nested_beyond_reason_is_still_shown() -> None:
    assert "end" in plain("*a " * 5_000 + "end")[-1]
    assert "end" in "".join(plain("> " * 300 + "end"))
    assert "end" in "".join(plain("> " * 15 + "end", 20)) and "end" in "".join(plain("999999999. " * 5 + "end", 30))
    assert max(map(cell_len, plain("> " * 15 + "words " * 20, 20))) <= 20
    assert "end" in "".join(plain("[" * 3_000 + "end"))


@pytest.mark.slow
@given(st.text(max_size=60), st.integers(0, 40))
def test_one_line_is_clipped_by_cells(text: str, cells: int) -> None:
    line = clip(text, cells)
    assert cell_len(line) <= cells and line == visible(line)


@given(st.text())
def test_what_is_shown_can_be_printed(text: str) -> None:
    assert printable(text) == visible(printable(text), breaks=True)
