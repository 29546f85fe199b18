"""What is heard of sets that were written apart from the rules (`bench/recorder/fresh`), and what is dead and stands.

Kinds are not judged: a preference that was heard as a rule is found.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.figures import Figure
from hudkit import Hud
from hudkit.sections.state import HudState

TITLE = "A fresh set of single messages and short talks: what is missed, what is wrong, what is dead and stands"

_PLACE = Path(__file__).parent / "recorder" / os.environ.get("FRESH", "fresh_fourth")
_KINDS = {"constraints": "constraint", "preferences": "preference", "decisions": "decision", "notes": "note"}
_MISSED, _FALSE, _DEAD = 0.2, 0.05, 0.05


class Mark(msgspec.Struct, frozen=True):
    """What must be heard, or may be: kinds of which any will do, and words that the item must contain."""

    kinds: tuple[str, ...]
    words: str
    sure: bool


def run() -> list[Figure]:
    """The three shares. With names on standard output: `python -m bench.recorder_fresh`."""
    found, missed, false = judge_messages()
    standing, lost, dead, marked = judge_talks()
    share = len(false) / max(len(false) + len(found), 1)
    over = sum(len(must_not) for *_, must_not in talks(_PLACE))
    note = f"{len(found)} of {len(found) + len(missed)} found, {len(false)} false"
    stands = f"{standing} of {standing + len(lost)} stand; {marked} dead ones are marked as such"
    return [
        Figure("messages: missed", len(missed) / (len(found) + len(missed)), _MISSED, note),
        Figure("messages: false", share, _FALSE),
        Figure("talks: what holds and is missed", len(lost) / (standing + len(lost)), None, stands),
        Figure("talks: dead and stands", len(dead) / over, _DEAD, f"{len(dead)} of {over}"),
    ]


def judge_messages() -> tuple[list[str], list[str], list[str]]:
    """Return what was found, missed and wrongly heard of the single messages."""
    found, missed, false = [], [], []
    for text, marks in messages(_PLACE):
        left = list(marks)
        for kind, item in _live(_state([("user", text)])):
            mark = next((each for each in left if kind in each.kinds and each.words in item.casefold()), None)
            if mark is None and any(each.words in item.casefold() for each in marks):
                continue  # the same said twice, or two marks in one item: judged below
            if mark is None:
                false.append(f"{kind}: {item} <- {text[:80]}")
                continue
            left.remove(mark)
            if mark.sure:
                found.append(item)
        # Two rules of one message may be one item.
        items = [item.casefold() for kind, item in _live(_state([("user", text)]))]
        for mark in left:
            if mark.sure and any(mark.words in item for item in items):
                found.append(mark.words)
            elif mark.sure:
                missed.append(f"{'|'.join(mark.kinds)}: {mark.words} <- {text[:80]}")
    return found, missed, false


def judge_talks() -> tuple[int, list[str], list[str], int]:
    """Return how many statements stand that hold, which do not, which are dead and stand, how many are marked."""
    standing, marked = 0, 0
    lost, dead = [], []
    for name, said, must, must_not in talks(_PLACE):
        state = _state(said)
        live = [item.casefold() for _, item in _live(state)]
        doubted = [item.casefold() for item in _doubted(state)]
        for words in must:
            if any(words in item for item in live):
                standing += 1
            else:
                lost.append(f"{name}: {words}")
        for words in must_not:
            if any(words in item and not any(right in item for right in must) for item in live):
                dead.append(f"{name}: {words}")
            marked += any(words in item for item in doubted)
    return standing, lost, dead, marked


def _state(messages: list[tuple[str, str]]) -> HudState:
    ticks, numbers = itertools.count(1_795_000_000_000, 60_000), itertools.count(1)
    hud = Hud.in_memory(clock=lambda: next(ticks), ids=lambda: f"01a00000-0000-7000-8000-{next(numbers):012x}")
    session = hud.session("ses_1", project="/work/fresh")
    for number, (role, text) in enumerate(messages):
        at = 1_795_000_000_000 + 60_000 * number
        session.ingest([{"id": f"m{number}", "role": role, "text": text, "time": at}])
    return session.state


def _live(state: HudState) -> Iterator[tuple[str, str]]:
    for section, kind in _KINDS.items():
        for item in getattr(state, section, ()):
            if not getattr(item, "doubt", ""):
                yield kind, item.words


def _doubted(state: HudState) -> Iterator[str]:
    for section in _KINDS:
        yield from (item.words for item in getattr(state, section, ()) if getattr(item, "doubt", ""))


def messages(place: Path) -> Iterator[tuple[str, list[Mark]]]:
    """Yield each single message of a set with its marks."""
    for block in (place / "messages.md").read_text().split("\n\n")[2:]:
        lines = block.strip().splitlines()
        text = "\n".join(line[2:] for line in lines if line.startswith("> "))
        marks = [_mark(line) for line in lines if line.startswith(("=>", "?>"))]
        yield text, marks


def _mark(line: str) -> Mark:
    kinds, _, words = line[2:].partition(":")
    return Mark(tuple(kinds.strip().split("|")), words.strip().casefold(), line.startswith("=>"))


def talks(place: Path) -> Iterator[tuple[str, list[tuple[str, str]], list[str], list[str]]]:
    """Yield each talk of a set: name, messages with their roles, words that must stand, words that must not."""
    roles = {"U": "user", "A": "assistant"}
    path = place / "talks.md"
    for chunk in re.split(r"(?m)^== ", path.read_text())[1:] if path.exists() else ():
        name, *lines = chunk.strip().splitlines()
        messages = [(roles[line[0]], line[3:]) for line in lines if line[:3] in ("U: ", "A: ")]
        must = [line[3:].strip().casefold() for line in lines if line.startswith("=+")]
        must_not = [line[3:].strip().casefold() for line in lines if line.startswith("=-")]
        yield name, messages, must, must_not


if __name__ == "__main__":
    for name, texts in zip(("found", "missed", "false"), judge_messages(), strict=True):
        print(f"\n{name}", *texts, sep="\n  ")
    _, not_standing, standing_dead, _ = judge_talks()
    print("\ntalks: missed", *not_standing, sep="\n  ")
    print("\ntalks: dead and stand", *standing_dead, sep="\n  ")
