"""How many of the items that were read from plain words are wrong: samples of 100 from BEAM, labelled by a reader.

BEAM has no licence, so its sentences are not shipped: `bench/recorder/labels.jsonl` has for each item where it was
read (chat and message), a digest of its words, and why it is wrong, empty where it is right. An item is right where
its user would want it kept: it was said so, holds for more than the moment, and can be read alone.

`BEAM=/path/to/beam.json.xz python -m bench wrong_rules` draws a sample of what the rules derive now and judges it by
the labels. `SEED=2` names another sample; `ITEMS=1` prints it, with a line for each item that has no label yet.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import lzma
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.figures import Figure, Skipped
from hudkit import Hud

TITLE = "BEAM, chats 1 to 10: what is wrong of a labelled sample of 100 derived items"

_LABELS = Path(__file__).parent / "recorder" / "labels.jsonl"
_SECTIONS = ("constraints", "preferences", "decisions", "notes")
_SIZE = 100
_MOST_WRONG = 0.05


class _Derived(msgspec.Struct, frozen=True):
    """An item as it was read: where, as what, and its words."""

    chat: str
    message: int
    section: str
    words: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.words.encode()).hexdigest()[:12]


def run() -> list[Figure]:
    """The share of the sample that is wrong; items without a label count as wrong."""
    path = os.environ.get("BEAM", "")
    if not path:
        raise Skipped("BEAM names no file")
    items = list(_derived(json.loads(lzma.decompress(Path(path).read_bytes()))))
    sample = random.Random(int(os.environ.get("SEED", "2"))).sample(items, min(_SIZE, len(items)))
    labels = {
        (label["chat"], label["message"], label["digest"]): label["wrong"]
        for label in map(json.loads, _LABELS.read_text().splitlines())
    }
    wrong: Counter[str] = Counter()
    for item in sample:
        why = labels.get((item.chat, item.message, item.digest))
        if os.environ.get("ITEMS"):
            print(f"  {item.chat} {item.message} {item.section} {item.digest} {why!r} {item.words}")
        if why or why is None:
            wrong["no label" if why is None else why] += 1
    share = sum(wrong.values()) / len(sample)
    reasons = ", ".join(f"{why}: {count}" for why, count in wrong.most_common())
    return [Figure("wrong", share, _MOST_WRONG, f"of {len(sample)} drawn from {len(items)}; {reasons or 'none'}")]


def _derived(chats: dict[str, Any]) -> Iterator[_Derived]:
    """Yield every item that is derived while a chat is told, also those that leave later."""
    for chat, conversation in chats.items():
        ticks, numbers = itertools.count(1_795_000_000_000, 60_000), itertools.count(1)
        ids = (f"01a00000-0000-7000-8000-{number:012x}" for number in numbers)
        hud = Hud.in_memory(clock=ticks.__next__, ids=ids.__next__)
        session = hud.session("ses_1", project="/work/beam")
        seen: set[tuple[str, str]] = set()
        for number, (_, role, text) in enumerate(conversation["messages"]):
            at = 1_795_000_000_000 + 60_000 * number
            session.ingest([{"id": f"m{number}", "role": role, "text": text, "time": at}])
            for section in _SECTIONS:
                for item in getattr(session.state, section, ()):
                    if getattr(item, "derived", False) and (section, item.id) not in seen:
                        seen.add((section, item.id))
                        yield _Derived(chat, number, section, item.words)
