"""Recorder recall: how many planted facts the rules derive without the agent, and how many that nobody planted.

Facts are planted in `bench/recorder`: `development` is what the rules were tuned on, `held_out` was only measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from tempfile import TemporaryDirectory

from bench.figures import Figure
from bench.shapes import WORDS, Gold, Outcome, judge, shapes, told
from hudkit.cli.demo import unpack_orchard
from hudkit.ingest import KnownFacts, derive_facts
from hudkit.transcripts import OpenCodeTranscript

TITLE = "Recorder recall: planted facts that the rules find without the agent (misses and false alarms)"
MISSED = 0.2
"""The share of planted facts that may be missed on shapes that the rules were not written against."""
FALSE = 0.05
"""The share of derived facts that nobody planted."""

ORCHARD: tuple[Gold, ...] = (
    *(
        Gold("constraint", (words,))
        for words in (
            "signature of plan()",
            "tests first",
            "no dependencies",
            "touch the network",
            "stay utc",
            "diffable",
            "midnight",
            "never raise",
            "no 'fix'",
            "32 columns",
        )
    ),
    *(Gold("decision", (words,)) for words in ("a heap", "adjust the readings", "sqlite", "json lines")),
    *(Gold("replaced", (words,)) for words in ("sorted list", "sqlite")),
    *(Gold("commit", (words,)) for words in ("916b6c7", "affab41", "39d98a8", "d0f8e00")),
    Gold("constraint", ("roof vents",), False),
    Gold("constraint", ("45 minutes",), False),
    Gold("constraint", ("touching plan()",), False),
    Gold("decision", ("busy times",), False),
)
"""What users state and agents decide on the recorded day, by reading it; the unsure are demands on a feature."""


def run() -> list[Figure]:
    """Shares of missed and of false facts, of both halves and by kind."""
    figures = []
    for half, most in (("held_out", (MISSED, FALSE)), ("development", (None, None))):
        outcomes = [one for blocks in shapes(half).values() for one in judge(blocks)]
        figures += _figures(half.replace("_", " "), outcomes, most)
        for kind in dict.fromkeys(one.kind for one in outcomes):
            alike = [one for one in outcomes if one.kind == kind]
            missed, _, note = _shares(alike)
            figures.append(Figure(f"{half.replace('_', ' ')}, {kind}: missed", missed, note=note))
    missed, false, note = _shares(recorded())
    return [
        *figures,
        Figure("the recorded day: missed", missed, MISSED, note),
        Figure("the recorded day: false", false),
    ]


def recorded() -> tuple[Outcome, ...]:
    """What the rules find of `ORCHARD`, forks left out."""
    left, found, false = list(ORCHARD), list[str](), list[str]()
    with TemporaryDirectory() as folder:
        transcript = OpenCodeTranscript.open(unpack_orchard(folder))
        for row in transcript.sessions():
            known = KnownFacts()
            for message in transcript.messages(row.id) if "(fork" not in row.title and not row.parent_id else ():
                known, facts = derive_facts(row, message, known)
                for kind, text in (pair for fact in facts for pair in told(fact.payload)):
                    gold = next((one for one in left if one.fits(kind, text)), None)
                    if gold is not None:
                        left.remove(gold)
                        found += [text] if gold.sure else []
                    elif kind in (*WORDS, "commit"):
                        false.append(text)
        transcript.close()
    missed = tuple(", ".join(one.words) for one in left if one.sure)
    return (Outcome("all", tuple(found), missed, tuple(false)),)


def _figures(half: str, outcomes: Sequence[Outcome], most: tuple[float | None, float | None]) -> list[Figure]:
    worded = [one for one in outcomes if one.kind in WORDS]
    found = []
    for name, some, limits in ((half, outcomes, most), (f"{half}, in plain words", worded, (None, None))):
        missed, false, note = _shares(some)
        found.append(Figure(f"{name}: missed", missed, limits[0], note))
        found.append(Figure(f"{name}: false", false, limits[1]))
    return found


def _shares(outcomes: Sequence[Outcome]) -> tuple[float, float, str]:
    found, missed, false = (sum(len(getattr(one, name)) for one in outcomes) for name in ("found", "missed", "false"))
    note = f"{found} of {found + missed} found, {false} false"
    return missed / max(found + missed, 1), false / max(found + false, 1), note
