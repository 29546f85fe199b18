"""Learns how a sentence that is meant to last reads, and says how well it does on hands that it has not read.

`python -m bench.recorder_weights` reads of `bench/recorder` the development sessions, the fresh sets that have
been read, and `wordings`, of which `talk.txt` is ordinary talk: nothing in it is said for more than the moment. The
third and the sixth fresh set, the held-out sessions and BEAM are not read. A logistic regression by gradient descent;
`--write` puts its weights into `hudkit.ingest.extraction.clause_weights`.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import recorder_fresh, shapes
from hudkit.ingest.extraction.clause_grammar import features
from hudkit.ingest.extraction.prose import split_sentences

_PLACE = Path(__file__).parent / "recorder"
_MODULE = Path(__file__).parent.parent / "src/hudkit/ingest/extraction/clause_weights.py"
SETS = ("fresh", "fresh_second", "fresh_fourth", "fresh_fifth")
"""The fresh sets that may be learned from."""

_COUNTS = {"development": 0.9}
"""How much a sentence of a set counts; 1 where nothing stands here."""
_LEAST, _RIDGE, _ROUNDS, _SMALLEST = 8, 3.0, 250, 0.08
_FROM = 0.9
"""The logit from which on a sentence is kept."""


class Row(NamedTuple):
    """A labelled sentence: its set, what it has, and whether it is meant to last."""

    place: str
    names: tuple[str, ...]
    label: int


def rows() -> Iterator[Row]:
    """Yield every labelled sentence of the sets that may be learned from."""
    for place in SETS:
        for text, marks in recorder_fresh.messages(_PLACE / place):
            sure = [mark.words for mark in marks if mark.sure]
            yield from _labelled(place, text, sure, [mark.words for mark in marks if not mark.sure])
        for _, messages, must, must_not in recorder_fresh.talks(_PLACE / place):
            users = [text for role, text in messages if role == "user"]
            if not users:
                continue
            yield from _labelled(place, users[0], [*must, *must_not], must_not, others=False)
            for text in users[1:]:
                yield from _labelled(place, text, must, [])
    wordings = _PLACE / "wordings"
    for label, name in ((1, "lasting"), (0, "momentary")):
        for line in (wordings / f"{name}.txt").read_text().splitlines():
            yield from (Row("wordings", tuple(features(each.bare)), label) for each in split_sentences(line))
    for line in (wordings / "messages.txt").read_text().splitlines():
        text, _, notes = line.rpartition("||")
        words = [note.partition(":") for note in notes.split(";") if ":" in note]
        sure = [said.strip().casefold() for kind, _, said in words if not kind.strip().endswith("?")]
        maybe = [said.strip().casefold() for kind, _, said in words if kind.strip().endswith("?")]
        yield from _labelled("wordings", text.replace("\\n", "\n"), sure, maybe)
    for blocks in shapes.shapes("development").values():
        for block in blocks:
            if block.head == "user":
                yield from _of_session(block)
    for line in (wordings / "talk.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            yield from (Row("talk", tuple(features(each.bare)), 0) for each in split_sentences(line))


def _labelled(
    place: str, text: str, sure: Sequence[str], maybe: Sequence[str], *, others: bool = True
) -> Iterator[Row]:
    for sentence in split_sentences(text):
        folded = sentence.text.casefold()
        if any(words in folded for words in sure):
            yield Row(place, tuple(features(sentence.bare)), 1)
        elif others and not any(words in folded for words in maybe):
            yield Row(place, tuple(features(sentence.bare)), 0)


def _of_session(block: shapes.Block) -> Iterator[Row]:
    for sentence in split_sentences(block.text):
        folded = sentence.text.casefold()
        golds = [gold for gold in block.gold if all(word in folded for word in gold.words)]
        lasts = any(gold.sure and gold.kind in ("constraint", "decision") for gold in golds)
        if lasts or not golds or any(gold.kind == "lifted" for gold in golds):
            yield Row("development", tuple(features(sentence.bare)), int(lasts))


def learn(cases: Sequence[Row]) -> dict[str, float]:
    """Return the weight of each thing that enough sentences have, and under the empty name the start."""
    counts = Counter(name for row in cases for name in row.names)
    weights = dict.fromkeys(("", *(name for name, count in counts.items() if count >= _LEAST)), 0.0)
    known = [(tuple(name for name in row.names if name in weights), row) for row in cases]
    steps = dict.fromkeys(weights, 1e-6)
    for _ in range(_ROUNDS):
        slope = {name: _RIDGE * weight if name else 0.0 for name, weight in weights.items()}
        for names, row in known:
            error = _likely(weights, names) - row.label
            share = _COUNTS.get(row.place, 1.0) * error
            slope[""] += share
            for name in names:
                slope[name] += share
        for name, value in slope.items():
            steps[name] += value * value
            weights[name] -= 0.5 * value / math.sqrt(steps[name])
    return weights


def _likely(weights: dict[str, float], names: Sequence[str]) -> float:
    logit = weights[""] + sum(weights[name] for name in names if name in weights)
    return 1 / (1 + math.exp(-max(min(logit, 30.0), -30.0)))


def _report(cases: Sequence[Row], place: str) -> str:
    weights = learn([row for row in cases if row.place != place])
    least = 1 / (1 + math.exp(-_FROM))
    kept = [row for row in cases if row.place == place and _likely(weights, row.names) >= least]
    lasting = sum(row.label for row in cases if row.place == place)
    right = sum(row.label for row in kept)
    return (
        f"{place}: recall {right / lasting:.2f}, precision {right / max(len(kept), 1):.2f}, learned from the others"
    )


def _write(weights: dict[str, float]) -> None:
    groups: dict[str, list[str]] = {}
    for name, weight in sorted(weights.items()):
        group, _, rest = name.partition(" ")
        if name and abs(weight) >= _SMALLEST:
            groups.setdefault(group, []).append(f"{rest or '-'} {round(100 * weight)}")
    table = "\n".join(f"{group}: {', '.join(entries)}" for group, entries in groups.items())
    source = _MODULE.read_text()
    source = re.sub(r"(?m)^_START = .*$", f"_START = {round(100 * weights[''])}", source)
    source = re.sub(r'(?s)\n_TABLE = """\n.*?\n"""', lambda _: f'\n_TABLE = """\n{table}\n"""', source)
    _MODULE.write_text(source)


if __name__ == "__main__":
    everything = list(rows())
    if "--write" in sys.argv:
        _write(learn(everything))
    else:
        print(*(_report(everything, place) for place in (*SETS, "wordings")), sep="\n")
