"""What soundness costs: the tokens that escapes add to texts of coding sessions (F20)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile import PLACES, texts

from hudkit.compose.formats.markdown import parse, write

TEXTS = (Path(__file__).parent / "hud_texts.txt").read_text().splitlines()
MOST = 0.032


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_escapes_cost_at_most_a_thirtieth(encoding: str) -> None:
    openai = pytest.importorskip("rs_bpe.bpe").openai
    count = getattr(openai, encoding)().count
    raw = sum(count(text) for text in TEXTS)
    written = sum(count(write(PLACES["paragraph"](text))[:-1]) for text in TEXTS)
    assert raw < written <= raw * (1 + MOST)


def test_each_of_the_texts_is_read_back() -> None:
    assert len(TEXTS) >= 30
    for text in TEXTS:
        for place in ("paragraph", "item", "heading"):
            written = write(PLACES[place](text))
            assert texts(parse(written)) == texts(parse(written, gfm=True)) == [text]
