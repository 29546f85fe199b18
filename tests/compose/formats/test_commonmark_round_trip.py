"""CommonMark 0.31.2: each example keeps its HTML when parsed and written, and is then written the same again."""

from __future__ import annotations

import pytest
from commonmark_spec import examples
from markdown_it import MarkdownIt

from hudkit.compose.formats.markdown import parse, write

_READER = MarkdownIt("commonmark")


def test_the_specification_has_652_examples_and_the_parser_reads_them() -> None:
    found = examples()
    assert len(found) == 652
    # but for the line feed in an empty quote
    empty = ("<blockquote>\n</blockquote>", "<blockquote></blockquote>")
    wrong = [one.number for one in found if _READER.render(one.markdown) != one.html.replace(*empty)]
    assert wrong == []


@pytest.mark.slow
def test_every_example_keeps_its_html() -> None:
    changed = {}
    for one in examples():
        written = write(parse(one.markdown))
        if _READER.render(written) != _READER.render(one.markdown):
            changed[one.number] = (one.markdown, written)
    assert changed == {}


@pytest.mark.slow
def test_writing_is_idempotent_on_every_example() -> None:
    unstable = {}
    for gfm in (False, True):
        for one in examples():
            written = write(parse(one.markdown, gfm=gfm))
            again = write(parse(written, gfm=gfm))
            if again != written:
                unstable[one.number, gfm] = (one.markdown, written, again)
    assert unstable == {}
