"""What an agent still needed of what pruning takes away, on the recorded day."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.pruning.recorded import BY_AGE, OURS, QUOTED_CHARACTERS, RULES, recorded, tally

from hudkit.cli.demo import unpack_orchard
from hudkit.context.compaction.pruning import ASKED_AGAIN_SHARE
from hudkit.transcripts import Message, TextPart, ToolPart


def test_what_is_needed_again_is_seen() -> None:
    """The output that is quoted later, or asked for again, counts; one that is still shown elsewhere does not."""
    quoted, shared = "def settle(invoice, rate, *, at):", "the same line in two outputs"
    assert min(len(quoted), len(shared)) >= QUOTED_CHARACTERS
    outputs = [f"1: {quoted}\n", shared, "asked for again " * 9, "never again " * 9]

    def prompt(n: int) -> Message:
        return Message(f"u{n}", "s", "user", n, parts=(TextPart(f"t{n}", "Go on."),))

    def answer(n: int, *calls: ToolPart, text: str = "") -> Message:
        return Message(f"a{n}", "s", "assistant", n, parts=(TextPart(f"t{n}", text), *calls))

    def search(n: int, output: str) -> ToolPart:
        return ToolPart(f"c{n}", "grep", f"c{n}", "completed", {"pattern": f"{n % 10}"}, output)

    old = [answer(n, search(n, text + "\n" + "filler " * 80)) for n, text in enumerate(outputs)]
    again = old[2].parts[1]
    assert isinstance(again, ToolPart)
    messages = [
        *(prompt(0), *old, prompt(10), answer(11, search(11, shared)), prompt(20), prompt(30)),
        *(answer(31, search(12, again.output), text=f"Now {quoted} and {shared}."),),
    ]
    found = tally(messages, "/work", RULES[OURS])
    assert (found.outputs, found.pruned, found.needed) == (6, 3, 2), "the newest one stayed, the shared line is shown"


@pytest.mark.slow
def test_on_the_recorded_day_hardly_anything_is_needed_that_may_go(tmp_path: Path) -> None:
    """Far less than by age alone, and no more than the cost model counts with."""
    found = recorded(unpack_orchard(tmp_path))
    shares = {}
    for name in (BY_AGE, OURS):
        pruned, needed = (sum(getattr(each, field) for each in found[name]) for field in ("pruned", "needed"))
        assert pruned > 40
        shares[name] = needed / pruned
    assert shares[OURS] <= ASKED_AGAIN_SHARE
    assert shares[OURS] <= shares[BY_AGE] / 4
