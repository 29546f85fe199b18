"""BEAM, chats 1 to 10: are instructions and preferences that a user states once still in the state at the end?

The data are public but have no licence, so that they are not shipped: `BEAM` names the file, xz-compressed JSON of
`{chat: {"messages": [[id, role, text], ...], "questions": {kind: [{...}]}}}`.
Run it with `BEAM=/path/to/beam.json.xz python -m bench beam`; `BEAM_ITEMS=1` prints every item for a labelled sample.
"""

from __future__ import annotations

import itertools
import json
import lzma
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.figures import Figure, Skipped
from hudkit import Hud
from hudkit.sections.state import HudState

TITLE = "BEAM, chats 1 to 10: what a user stated once and the state lacks at the end"

_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the a an of in on at to for and or with i me my you your when ask about always that is be this it if please"
        " prefer should",
    )
)
_KINDS = (
    ("instruction_following", "instruction_being_tested", "standing instructions", 1 / 20),
    ("preference_following", "preference_being_tested", "stated preferences", 4 / 20),
)
_MAX_ITEMS = 6
_MIN_SHARE = 0.6
"""The share of a statement's words that one item must have."""


def run() -> list[Figure]:
    """The shares that are missing, and derived items in a hundred messages as a share of what is allowed."""
    path = os.environ.get("BEAM", "")
    if not path:
        raise Skipped("BEAM names no file")
    chats = json.loads(lzma.decompress(Path(path).read_bytes()))
    tally: Counter[str] = Counter()
    for chat in chats.values():
        items = [text for _, text in derived_items(_state(chat["messages"]))]
        tally["messages"] += len(chat["messages"])
        tally["items"] += len(items)
        for kind, key, _, _ in _KINDS:
            for question in chat["questions"].get(kind, []):
                tally[kind] += 1
                tally[f"{kind} kept"] += any(_says(item, question[key]) for item in items)
    figures = []
    for kind, _, name, most in _KINDS:
        kept = tally[f"{kind} kept"]
        figures.append(Figure(f"{name}: lost", 1 - kept / tally[kind], most, f"{kept} of {tally[kind]} kept"))
    rate = 100 * tally["items"] / tally["messages"]
    note = f"{tally['items']} items of {tally['messages']} messages"
    return [*figures, Figure("derived items in 100 messages", rate, _MAX_ITEMS, note)]


def _state(messages: list[list[Any]]) -> HudState:
    """Return the state after a chat was told, message by message."""
    ticks, numbers = itertools.count(1_795_000_000_000, 60_000), itertools.count(1)
    hud = Hud.in_memory(clock=lambda: next(ticks), ids=lambda: f"01a00000-0000-7000-8000-{next(numbers):012x}")
    session = hud.session("ses_1", project="/work/beam")
    for number, (_, role, text) in enumerate(messages):
        at = 1_795_000_000_000 + 60_000 * number
        before = dict(derived_items(session.state)) if os.environ.get("BEAM_ITEMS") else {}
        session.ingest([{"id": f"m{number}", "role": role, "text": text, "time": at}])
        for key, item in derived_items(session.state) if os.environ.get("BEAM_ITEMS") else ():
            if key not in before:
                print(f"{key}\t{item}")
    return session.state


def derived_items(state: HudState) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of every item that was read from plain words and stands."""
    for name in ("constraints", "preferences", "decisions", "notes"):
        for item in getattr(state, name, ()):
            if getattr(item, "derived", False):
                yield item.id, item.words


def _says(item: str, statement: str) -> bool:
    words = _words(statement)
    return len(words & _words(item)) >= _MIN_SHARE * len(words)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower())) - _COMMON
