"""Questions to conversations of others: is a message that answers among the first ten hits?

The data are public but not shipped. `BEAM` names what `bench/beam.py` reads, `LOCOMO` the zip file of LoCoMo's ten
conversations: `BEAM=… LOCOMO=/path/to/locomo10.zip python -m bench retrieval`. Each question is asked of its own
conversation. `KINDS=1` before it prints every kind of question.
"""

from __future__ import annotations

import json
import lzma
import os
import statistics
import tempfile
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.figures import Figure, Skipped
from hudkit.transcripts import Message, SessionRow, TextPart, Todo, UnreadableRecord
from hudkit.transcripts.search import IndexReader, IndexWriter, SearchFilters, SearchQuery

TITLE = "search in conversations of others: questions that have no answer among ten hits"

_HITS = 10
_TARGETS = {"BEAM": (0.20, 0.42)}
"""The most questions without an answer, and the most answers that are not there, as shares."""

_NO_EVIDENCE = 5
"""LoCoMo's kind of questions that nothing answers."""

_Conversations = Mapping[str, Sequence[tuple[str, str, str]]]
"""By name: id, role and text of each message."""


class _LabelledQuestion(NamedTuple):
    kind: str
    conversation: str
    text: str
    gold: frozenset[str]


class _Spoken:
    """Conversations as a `Transcript`; a message's id has its place before it, as ids may occur twice."""

    host = "outside"
    skipped: tuple[UnreadableRecord, ...] = ()

    def __init__(self, conversations: _Conversations) -> None:
        self._conversations = conversations

    def sessions(self) -> tuple[SessionRow, ...]:
        return tuple(SessionRow(name, self.host, title=name, created=1, updated=2) for name in self._conversations)

    def session(self, session_id: str) -> SessionRow | None:
        return next((row for row in self.sessions() if row.id == session_id), None)

    def messages(self, session_id: str, *, after: str = "") -> Iterator[Message]:
        for number, (id, role, text) in enumerate(self._conversations[session_id]):
            name = f"{number:06d} {id}"
            if name > after:
                at = 1_000 + number
                yield Message(name, session_id, role, at, at, finish="stop", parts=(TextPart(name, text),))

    def todos(self, session_id: str) -> tuple[Todo, ...]:  # noqa: ARG002 (of the protocol)
        return ()

    def close(self) -> None:
        pass


def run() -> list[Figure]:
    """The shares of questions and of answers that are missed, by set; the processor's time in the notes."""
    sets = [(name, read(Path(path))) for name, read in _SETS.items() if (path := os.environ.get(name))]
    if not sets:
        raise Skipped("neither BEAM nor LOCOMO names a file")
    figures: list[Figure] = []
    for name, (conversations, questions) in sets:
        with tempfile.TemporaryDirectory() as folder:
            figures += _measure(name, Path(folder) / "search.db", conversations, questions)
    return figures


def _measure(
    name: str, path: Path, conversations: _Conversations, questions: Sequence[_LabelledQuestion]
) -> list[Figure]:
    start = time.process_time()
    with IndexWriter.open(path) as index:
        messages = index.update([_Spoken(conversations)])
    rate = messages / (time.process_time() - start)
    reader = IndexReader.open(path)
    recalls: dict[str, list[float]] = defaultdict(list)
    costs: list[float] = []
    for question in questions:
        start = time.process_time()
        hits = reader.search(SearchQuery(question.text, SearchFilters(session=question.conversation), limit=_HITS))
        costs.append(time.process_time() - start)
        hit_ids = {hit.message.partition(" ")[2] for hit in hits}
        recalls[question.kind].append(len(question.gold & hit_ids) / len(question.gold))
    reader.close()
    if os.environ.get("KINDS"):
        for kind, shares in sorted(recalls.items()):
            print(f"  {name} {kind}: {len(shares)}, any {_any(shares):.3f}, recall {statistics.mean(shares):.3f}")
    every = [share for shares in recalls.values() for share in shares]
    most = _TARGETS.get(name, (None, None))
    spent = f"{1e3 * statistics.median(costs):.1f} ms of the processor a question"
    return [
        Figure(f"{name}: questions without", 1 - _any(every), most[0], f"any@10 {_any(every):.3f}; {spent}"),
        Figure(f"{name}: answers missed", 1 - statistics.mean(every), most[1], f"{messages} messages, {rate:,.0f}/s"),
    ]


def _any(recalls: Sequence[float]) -> float:
    return sum(recall > 0 for recall in recalls) / len(recalls)


def _read_beam(path: Path) -> tuple[_Conversations, list[_LabelledQuestion]]:
    chats = json.loads(lzma.decompress(path.read_bytes()))
    conversations = {}
    for name, chat in chats.items():
        conversations[name] = [(str(id), role, text) for id, role, text in chat["messages"]]
    questions = [
        _LabelledQuestion(kind, name, asked["question"], gold)
        for name, chat in chats.items()
        for kind, of_kind in chat["questions"].items()
        for asked in of_kind
        if (gold := frozenset(map(str, _numbers(asked.get("source_chat_ids")))))
    ]
    return conversations, questions


def _numbers(value: Any) -> Iterator[int]:
    """Yield the numbers within lists and tables."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)


def _read_locomo(path: Path) -> tuple[_Conversations, list[_LabelledQuestion]]:
    conversations: dict[str, list[tuple[str, str, str]]] = {}
    questions = []
    with zipfile.ZipFile(path) as archive:
        for name in sorted(name for name in archive.namelist() if name.endswith(".json")):
            talk = json.loads(archive.read(name))
            messages = conversations[name] = []
            number = 1
            while (session := talk.get(f"session_{number}")) is not None:
                for turn in session:
                    role = "user" if turn["speaker"] == talk["speaker_a"] else "assistant"
                    seen = turn.get("blip_caption", "")
                    messages.append((turn["dia_id"], role, f"{turn['speaker']}: {turn.get('text', '')} {seen}"))
                number += 1
            questions += [
                _LabelledQuestion(str(asked["category"]), name, asked["question"], gold)
                for asked in talk["qa"]
                if asked["category"] != _NO_EVIDENCE and (gold := frozenset(map(str, asked["evidence"])))
            ]
    return conversations, questions


_SETS = {"BEAM": _read_beam, "LOCOMO": _read_locomo}
