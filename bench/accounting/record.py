"""Record the benchmark's calls anew: `python -m bench.accounting.record [SHAPE …]` lives the scripted days in real
OpenCode with the HUD, and writes what was told of each request and what a provider would have reported of it.

Needs OpenCode, and the tokenizers that `bench.accounting.counts` names.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.accounting import counts
from bench.accounting.work import SUMMARY, day, files
from bench.opencode import tests_module
from hudkit.api import Hud
from hudkit.context.caching import CallCost
from hudkit.daemon import client
from hudkit.log.payloads import CompactAfter, ContextSnapshot
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedReply
from hudkit.testing.model_server import SHAPES, ScriptedModel

COUNTS: dict[str, tuple[str, Callable[[Mapping[str, Any]], int]]] = {
    "openai": ("openai", counts.openai),
    "openai_older": ("openai", lambda body: counts.openai(body, "cl100k_base")),
    "anthropic": ("anthropic", counts.anthropic),
    "gemini": ("gemini", counts.gemini),
}
"""Name of a recording: the shape on the wire, and what its provider counts."""

KINDS = ("code", "data", "words")
LIMIT = (60_000, 4_000)
COMPACTED = 5
"""The turn before which the user asks for a compaction."""


def record(name: str, kind: str) -> list[dict[str, Any]]:
    """The calls of a day in order; a compaction is a row of its own."""
    shape, counted = COUNTS[name]
    last = 0

    def reported(request: CapturedRequest, reply: ScriptedReply) -> ScriptedReply:
        nonlocal last
        total = counted(request.body)
        read = min(request.cost.read * total // max(request.cost.total, 1), last)
        written = total - read if shape == "anthropic" else 0
        last = total
        output = max(1, len(reply.text + "".join(call.text for call in reply.calls)) // 4)
        return msgspec.structs.replace(reply, usage=CallCost(read, written, total - read - written, output))

    with tempfile.TemporaryDirectory(prefix="hk") as folder, ScriptedModel() as model:
        place = Path(folder)
        plugin = tests_module("hud_plugin").written(place)
        host = tests_module("opencode_host").OpenCode(
            place / "oc", model.url, shape=shape, plugins=[plugin], limit=LIMIT, files=files(kind)
        )
        model.compaction = lambda request: reported(request, ScriptedReply(SUMMARY))
        with host:
            host.serve()
            session = host.create("a day")
            for turn, (said, replies) in enumerate(day(kind, host.project)):
                if turn == COMPACTED:
                    host.summarize(session)
                model.play(*(lambda request, reply=reply: reported(request, reply) for reply in replies))
                host.prompt(session, said, timeout=120)
        client.stop(place / "run" / "d.sock")
        return list(_rows(place / "hudkit.db", shape))


def _rows(db: Path, shape: str) -> Iterator[dict[str, Any]]:
    with Hud.open(db) as hud:
        (name,) = hud.sessions()
        for event in hud.session(name).events():
            match event.payload:
                case CompactAfter():
                    yield {"compacted": True}
                case ContextSnapshot(call=call, parts=parts, spent=spent) as taken:
                    if spent is not None:
                        usage = CallCost(spent.read, spent.written, spent.fresh, spent.output)
                        yield {"at": event.timestamp, "usage": SHAPES[shape].usage(usage)}
                    if call is not None and parts is not None:
                        told = msgspec.to_builtins(parts)
                        sent = taken.sent.messages if taken.sent else 0
                        yield {"at": event.timestamp, "parts": told, "messages": sent, "hud": call.tokens}


def main(names: list[str]) -> None:
    """Writes a file for each recording and kind of day."""
    for name in names or COUNTS:
        for kind in KINDS:
            rows = record(name, kind)
            start = next(row["at"] for row in rows if "at" in row)
            lines = (json.dumps({**row, **({"at": row["at"] - start} if "at" in row else {})}) for row in rows)
            file = Path(__file__).with_name(f"{name}_{kind}.jsonl")
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            print(file.name, len(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
