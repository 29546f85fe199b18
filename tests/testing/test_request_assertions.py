"""What tests of hosts read in a request: where the tail ends a text, and where it only looks so."""

from __future__ import annotations

import pytest

from hudkit.testing.assertions import without_tail

DIGEST = "\nNow:\n\n- task: Ship it\n- step: Write *the* test\n"


@pytest.mark.parametrize(
    "tail",
    [
        "Context: 9% (18k/200k)\n",
        "Context: 9% (18k/200k), yellow; growing\n" + DIGEST,
        "Context: usage unknown until the next report, window 200k\n\nHUD: state: read-only (full)\n",
        "Context: 9% (18k/200k)\n" + DIGEST + "\nHUD: state: read-only (full)\n",
        "HUD: as of its last answer\n",
    ],
)
def test_a_tail_is_cut_whole(tail: str) -> None:
    assert without_tail(f"Go on.\n\n[hud 000001] note: a\n\n{tail}") == "Go on.\n\n[hud 000001] note: a"


@pytest.mark.parametrize("text", ["Context: 9%\n\nand more\n", "Now:\n\n- task: Ship it\n", "my Context: 9%\n", ""])
def test_what_only_looks_like_a_tail_stays(text: str) -> None:
    assert without_tail(text) == text
