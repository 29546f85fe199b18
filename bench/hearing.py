"""What it costs to hear a message of a person's: 80 to 120 characters, each heard once, in processes of their own.

The messages are those of the development sessions (`bench/recorder/development`); longer ones are heard before, so
that patterns are compiled. Of each message counts the least of its times in the processes: what else the machine does
is no part of the figure.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from bench import shapes
from bench.figures import Figure
from hudkit import Hud
from hudkit.config import ExtractionSettings, Settings
from hudkit.ingest.extraction import KnownStatements, extract
from hudkit.ingest.extraction.sentence_judge import SentenceJudge
from hudkit.ingest.sentence_model import installed_model

TITLE = "hearing: a message of 100 characters, in ms of processor time, and its ingest with plain words ÷ without"

_PROCESSES, _STANDING, _MOST = 5, 30, 1.5


def run() -> list[Figure]:
    """Three figures: nothing stands, thirty statements stand, and the ingest of a message with hearing ÷ without."""
    command = [sys.executable, "-m", "bench.hearing"]
    measured = [json.loads(subprocess.check_output(command, text=True)) for _ in range(_PROCESSES)]
    none, thirty, heard, unheard = (
        [min(times) for times in zip(*each, strict=True)] for each in zip(*measured, strict=True)
    )
    figures = [
        _figure("nothing stands, ms", none),
        _figure(f"{_STANDING} statements stand, ms", thirty),
        Figure("ingest with plain words ÷ without", statistics.median(heard) / statistics.median(unheard)),
    ]
    model = installed_model()
    if model is not None:
        figures.append(_figure("with the model of the extra hearing, ms", _judged(model), most=None))
    return figures


def _judged(model: SentenceJudge) -> list[float]:
    """Seconds of the processor for each message that the model is asked of, too; on all threads."""
    texts = [text for text in dict.fromkeys(_messages()) if 80 <= len(text) <= 120][:40]
    times = []
    for text in texts:
        before = time.process_time()
        extract(text, KnownStatements(), judge=model)
        times.append(time.process_time() - before)
    return times


def _figure(name: str, seconds: list[float], most: float | None = _MOST) -> Figure:
    in_ms = sorted(1000 * each for each in seconds)
    note = f"mean {statistics.mean(in_ms):.2f}, one of twenty over {in_ms[int(0.95 * len(in_ms))]:.2f}"
    return Figure(name, statistics.median(in_ms), most, note)


def _measure() -> list[list[float]]:
    """Seconds of each message where nothing stands, where thirty statements do, ingested with hearing, without."""
    texts = list(dict.fromkeys(_messages()))
    longer, short = [t for t in texts if len(t) > 120], [t for t in texts if 80 <= len(t) <= 120]
    standing = KnownStatements()
    for text in longer:
        _, heard = extract(text, standing)
        standing = heard if len(heard.statements()) <= _STANDING else standing
        extract(text, KnownStatements())
    halves = short[::2], short[1::2]
    none = [_seconds(text, KnownStatements()) for text in halves[0]]
    thirty = [_seconds(text, standing) for text in halves[1]]
    settings = (Settings(), Settings(extraction=ExtractionSettings(plain_words=False)))
    return [none, thirty, *(list(_ingested(longer, each)) for each in settings)]


def _messages() -> Iterator[str]:
    for blocks in shapes.shapes("development").values():
        yield from (block.text.strip() for block in blocks if block.head == "user")


def _seconds(text: str, standing: KnownStatements) -> float:
    begin = time.thread_time()
    extract(text, standing)
    return time.thread_time() - begin


def _ingested(texts: list[str], settings: Settings) -> Iterator[float]:
    clock = itertools.count(1_795_000_000_000, 1_000)
    with Hud.in_memory(settings=settings, clock=lambda: next(clock)) as hud:
        for number, text in enumerate(texts[:200]):
            session = hud.session(f"s{number}", project="/work/hearing")
            begin = time.thread_time()
            session.ingest([{"id": f"m{number}", "role": "user", "text": text, "time": next(clock)}])
            yield time.thread_time() - begin


if __name__ == "__main__":
    print(json.dumps(_measure()))
