"""What is marked "(derived, may be over)" where hardly anything ends: in sessions of a day and in long talks.

With the extra `hearing` installed, its model is asked, too. Every second development session is one that the model
was not taught with (`bench.sentence_model`); the rules' weights were learned with all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import recorder_fresh, shapes
from bench.figures import Figure
from hudkit.ingest.extraction import KnownStatements, extract
from hudkit.ingest.sentence_model import installed_model

TITLE = "Marks in long sessions: how many messages mark something, how many of the marks are on what holds"

_LONG_TALKS = ("hand_n", "fresh_twelfth")


def run() -> list[Figure]:
    """Marks for each message of the user, and how much of what is lifted or replaced is still live."""
    figures = []
    everything = sorted(shapes.shapes("development").items())
    for name, sessions in (
        ("sessions learned from", everything[::2]),
        ("sessions not learned from", everything[1::2]),
    ):
        messages = marks = on_holding = over = live = 0
        for _, blocks in sessions:
            holding = shapes.holding(blocks)
            for ended, left in _played((block.head, block.text, block.gold) for block in blocks):
                messages += 1
                marks += len(ended)
                on_holding += sum(_is_one_of(text, holding) for text in ended)
                over += len(left)
                live += sum(left)
        note = f"{marks} marks in {messages} messages, {on_holding} on what holds by its labels"
        figures.append(Figure(f"{name}: marks", marks / messages, None, note))
        figures.append(Figure(f"{name}: over and live", live / over, 0.05, f"{live} of {over}"))
    return [*figures, *map(_of_long_talks, _LONG_TALKS)]


def _of_long_talks(place: str) -> Figure:
    messages = marks = holding = 0
    for name, turns, must, _ in recorder_fresh.talks(Path(__file__).parent / "recorder" / place):
        if not name.startswith("long"):
            continue
        for ended, _ in _played((role, text, ()) for role, text in turns):
            messages += 1
            marks += len(ended)
            holding += sum(any(words in text for words in must) for text in ended)
    note = f"{marks} marks in {messages} messages, {holding} on what holds"
    return Figure(f"long talks of {place}: marks", marks / messages, None, note)


def _played(
    blocks: Iterator[tuple[str, str, Sequence[shapes.Gold]]],
) -> Iterator[tuple[list[str], list[bool]]]:
    """Yield of each message of the user what it marks, and of each statement that it ends by its labels whether it is
    live then."""
    standing, judge = KnownStatements(), installed_model()
    for head, text, golds in blocks:
        if head not in ("user", "agent", "assistant"):
            continue
        before = standing
        said, standing = extract(text, before, by_agent=head != "user", judge=judge)
        if head != "user":
            continue
        marked = [each.text.casefold() for each in said.ended if each.doubt and not each.suspended]
        ended = {each.text for each in said.ended}
        after = {each.text for each in standing.statements()} - ended
        left = []
        for gold in golds:
            spoken_of = [each for each in before.statements() if _is_one_of(each.text.casefold(), [gold.words])]
            if gold.sure and gold.kind in shapes.OVER and spoken_of:
                left.append(any(each.text in after for each in spoken_of))
        yield marked, left


def _is_one_of(text: str, wordings: Sequence[Sequence[str]]) -> bool:
    return any(all(word in text for word in words) for words in wordings)
