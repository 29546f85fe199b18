"""What of a long text is searched, and that no secret of it is."""

from __future__ import annotations

import pytest

from hudkit.transcripts import Message, TextPart, ToolPart
from hudkit.transcripts.search.passages import MAX_PASSAGE_CHARACTERS, MAX_PASSAGES, passages

MOST = MAX_PASSAGES * MAX_PASSAGE_CHARACTERS
KEY = "ghp_" + "a1B2" * 9


def texts(text: str) -> list[str]:
    return [passage.text for passage in passages(Message("m", "s", "assistant", 1, 1, parts=(TextPart("t", text),)))]


@pytest.mark.parametrize("text", ["x" * 50_000, "A" * 5_000_000, "ab1 " * 1_250_000])
def test_a_long_text_is_cut_into_bounded_passages(text: str) -> None:
    found = texts(text)
    assert len(found) <= MAX_PASSAGES
    assert all(len(passage) <= MAX_PASSAGE_CHARACTERS for passage in found)
    assert "".join(found).replace(" ", "") in text.replace(" ", "")


def test_what_is_behind_the_last_passage_is_not_read() -> None:
    class Counted(str):
        """A text that counts how much of it is taken."""

        taken = 0

        def __getitem__(self, key: object) -> str:
            piece = str.__getitem__(self, key)  # type: ignore[index]
            Counted.taken += len(piece)
            return piece

        def strip(self, *_: object) -> str:
            return self

    texts(Counted("word " * 1_000_000))
    assert MOST <= Counted.taken < MOST + 10_000


@pytest.mark.slow
@pytest.mark.parametrize("before", [MOST - 20, MOST + 4_096, MOST + 8_192 - 20, MOST + 8_192 - 39, MOST + 8_192])
@pytest.mark.parametrize("filler", ["x y ", "ghp_" + "c3D4" * 9 + " "])
def test_a_secret_that_is_cut_off_is_not_searched(before: int, filler: str) -> None:
    lead = filler * (before // len(filler))
    text = f"{lead}{' ' * (before - len(lead))}{KEY} and more" + " z" * 10_000
    assert not any("a1B2" in passage for passage in texts(text))


@pytest.mark.parametrize("tool", ["memory", "mcp__hudkit__memory", "hudkit_hud__memory"])
def test_what_a_search_said_again_is_not_searched(tool: str) -> None:
    def call(arguments: dict[str, object]) -> list[str]:
        part = ToolPart("t", tool, "t", "completed", arguments, "Said in conversations: the quince")
        return [passage.text for passage in passages(Message("m", "s", "assistant", 1, 1, parts=(part,)))]

    assert call({"operation": "search", "query": "quince"}) == []
    assert call({"tool": "messages", "args": {}}) == []
    assert any("quinces are in" in text for text in call({"operation": "hud_note", "text": "quinces are in"}))
