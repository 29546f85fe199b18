"""Contract 5: a path, a command or code is shown so that copying it gives the source bytes, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from code_corpus import corpus, sentences
from hudkit.api import Hud, HudSession
from hudkit.compose.formats.markdown import render
from hudkit.hud.frame import Frame
from hudkit.log import Origin, Payload
from hudkit.log import payloads as p
from hudkit.sections.document_builder import tail_document

T = TypeVar("T")

PARSER = MarkdownIt("gfm-like", {"linkify": False})

PLACES: dict[str, Callable[[str], Payload]] = {
    "file": p.FileEdit,
    "step": p.StepAdd,
    "note": p.NoteAdd,
    "decision": p.DecisionRecord,
    "error": lambda text: p.ErrorEncountered(text, key=text),
    "constraint": p.ConstraintAdd,
    "blocker": p.BlockerAdd,
}


def batched(values: Iterable[T], size: int) -> list[Sequence[T]]:
    """The values in batches of a size."""
    every = list(values)
    return [every[n : n + size] for n in range(0, len(every), size)]


def told_in(text: str) -> Iterator[str]:
    """What a reader of Markdown reads, block by block: the words of each line, code as its words."""
    for token in PARSER.parse(text):
        if token.type == "inline":
            yield "".join(map(words, token.children or ()))


def words(token: Token) -> str:
    return "\n" if token.type in ("softbreak", "hardbreak") else token.content


def check(text: str, sources: Sequence[str], where: str) -> None:
    """Check that each of the sources stands in the bytes of a text, and in what a reader of Markdown reads."""
    read = "\n".join(told_in(text))
    for source in sources:
        assert source in text, f"{where}: {source!r} differs in its bytes"
        # Spans of its own are read as spans: there the bytes are what counts.
        assert "`" in source or source in read, f"{where}: {source!r} is read as something else"


def frame_of(session: HudSession, density: str, **call: object) -> Frame:
    return session.frame(1_000, 200_000, budget=60_000, density=density, **call)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("density", ["full", "compact"])
def test_nothing_of_the_corpus_differs_in_any_section(density: str) -> None:
    sources = [text for _, text in corpus(2_000)]
    assert len(set(sources)) == 2_000
    for batch in batched(sources, 100):
        for place, make in PLACES.items():
            session = Hud.in_memory().session("s")
            session.append(p.TaskSet(batch[0]), *map(make, batch))
            check(frame_of(session, density).base, batch, f"{place}, {density}")
        session = Hud.in_memory().session("s")
        session.append(p.TodoSync(tuple(map(p.TodoItem, batch))), origin=Origin.HOST)
        check(frame_of(session, density).base, batch, f"todo, {density}")


@pytest.mark.slow
def test_nothing_of_the_corpus_differs_in_a_task_a_title_or_a_digest() -> None:
    for _, source in corpus(2_000):
        session = Hud.in_memory().session("s")
        session.append(p.SessionStart(title=source), p.TaskSet("something else"))
        check(frame_of(session, "full").base, [source], "title")
        session.append(p.TaskUpdate(source))
        for density in ("full", "compact"):
            check(frame_of(session, density, placement="system").base, [source], f"task, {density}")
        check(render(tail_document("10%", "", [f"note: {source}"])), [source], "digest")


@pytest.mark.slow
def test_nothing_of_the_corpus_differs_in_a_delta() -> None:
    sources = [text for _, text in corpus(2_000)]
    for number in (1, 20):
        session = Hud.in_memory().session("s")
        session.append(p.TaskSet("something"))
        anchors = ["m0"]
        frame_of(session, "full", transcript=anchors)
        # Single blocks are another form: a hundred of them will do.
        for n, batch in enumerate(batched(sources[: 100 * number], number), 1):
            make = list(PLACES.values())[n % len(PLACES)]
            session.append(*map(make, batch), origin=Origin.HOST)
            session.append(p.NoteAdd(f"n{n}"))
            anchors.append(f"m{n}")
            frame = frame_of(session, "full", transcript=anchors)
            check(frame.text, batch, f"delta of {number}")


@pytest.mark.slow
def test_what_is_in_a_sentence_differs_neither() -> None:
    for batch in batched(sentences(2_000), 100):
        texts, sources = zip(*batch, strict=True)
        for density in ("full", "compact"):
            session = Hud.in_memory().session("s")
            session.append(*map(p.NoteAdd, texts))
            check(frame_of(session, density).base, sources, f"sentence, {density}")


@pytest.mark.slow
def test_nothing_of_the_corpus_differs_in_a_reason() -> None:
    sources = [text for _, text in corpus(2_000)]
    for batch in batched(sources, 100):
        session = Hud.in_memory().session("s")
        session.append(p.TaskSet("something"))
        first = frame_of(session, "full", transcript=["m0"])
        # The words around it are the HUD's, whatever the decision and its reason are.
        decisions = [p.DecisionRecord(f"{other} {n}", one) for n, (one, other) in enumerate(pairs(batch))]
        session.append(*decisions[:20])
        delta = frame_of(session, "full", transcript=["m0", "m1"]).deltas[-1].text
        session.append(*decisions[20:])
        base = frame_of(session, "full", placement="system").base
        assert first.base and delta
        check(base, batch, "reason")
        check(delta, [text for text in batch[:20] if len(text) <= 60], "reason in a delta")
        assert "(because:" in "".join(told_in(base)).replace("`", "")


def pairs(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each text with the one before it."""
    return zip(texts, [texts[-1], *texts[:-1]], strict=True)


def test_a_few_of_the_corpus_in_all_places() -> None:
    sources = [text for _, text in corpus(28, seed=3)]
    session = Hud.in_memory().session("s")
    makes = list(PLACES.values())
    session.append(*(makes[n % len(makes)](source) for n, source in enumerate(sources)))
    for density in ("full", "compact"):
        check(frame_of(session, density).base, sources, density)
