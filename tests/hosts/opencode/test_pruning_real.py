"""Pruning in real OpenCode: old outputs become one line, stay it, and the agent gets them back in full."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hud_plugin import UNPRUNED
from opencode_host import Hosts, OpenCode

from hudkit.api import Hud
from hudkit.log.payloads import OutputsPrune
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import prefix_difference, without_tail
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

LIMIT = (200_000, 8_000)
FILES = {f"part_{n}.txt": "".join(f"line {n}.{m}: {'x' * 40}\n" for m in range(300)) for n in range(4)}
STUB = re.compile(r'^\[pruned: \w+, [\d,]+ characters; memory output \{"id":"p(\d+)"\} gets it\]', re.M)
STEPS = 8


def reads(host: OpenCode, calls: int, start: int = 0) -> Iterator[ScriptedReply]:
    """One turn that reads files, over and over."""
    for n in range(start, start + calls):
        yield uses(ScriptedCall("read", {"filePath": str(host.project / f"part_{n % 4}.txt")}), text=f"Reading {n}.")
    yield says("Read.")


def numbers(chat: CapturedRequest) -> list[int]:
    """The numbers of the outputs that a request has as stubs, in order."""
    return [int(number) for piece in chat.pieces if piece.role == "tool" for number in STUB.findall(piece.text)]


def results(chat: CapturedRequest) -> list[str]:
    return [piece.text for piece in chat.pieces if piece.role == "tool"]


def prunings(place: Path) -> dict[str, list[OutputsPrune]]:
    with Hud.open(place / "hudkit.db") as hud:
        return {
            name: [e.payload for e in hud.session(name).events() if isinstance(e.payload, OutputsPrune)]
            for name in hud.sessions()
        }


def lived(host: OpenCode, model: ScriptedModel, turns: int = 4) -> tuple[str, list[CapturedRequest]]:
    session = host.create("reading")
    begin = len(model.chats)
    for turn in range(turns):
        model.play(*reads(host, STEPS, turn * STEPS))
        host.prompt(session, f"Read on, part {turn}.")
    return session, model.chats[begin:]


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_stubs_stay_and_the_agent_gets_the_whole_output_back(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path, shape: str
) -> None:
    host = opencode(own=True, shape=shape, plugins=[plugin], files=FILES, limit=LIMIT)
    host.serve()
    session, chats = lived(host, model)
    seen = [numbers(chat) for chat in chats]
    (found,) = prunings(place).values()
    assert found and len(found) <= 8
    assert seen[-1] == list(range(1, sum(len(one.stubs) for one in found) + 1))
    changes = 0
    for before, after, old, new in zip(chats, chats[1:], seen, seen[1:], strict=False):
        assert new[: len(old)] == old  # none comes back
        changes += new != old
        assert bool(prefix_difference(before, after, without_tail)) is (new != old)
    assert changes == len(found)

    full = results(chats[3])[0]  # the first output, as it was before
    assert full.startswith(("<path>", "<file>")) or "line 0.0" in full
    model.play(uses(ScriptedCall("memory", {"tool": "output", "args": {"id": "p1"}})), says("Got it."))
    host.prompt(session, "What was in the first file?")
    answer = next(text for text in results(model.chats[-1]) if "characters\n" in text and "line 0.0" in text)
    told = [line.strip() for line in answer.split("\n") if re.search(r"line 0\.\d+:", line)]
    assert told == [line.strip() for line in full.split("\n") if re.search(r"line 0\.\d+:", line)]
    assert len(told) == 300

    host.stop()
    host.serve()  # a restart changes nothing
    model.play(says("Yes."))
    host.prompt(session, "Still there?")
    assert numbers(model.chats[-1])[: len(seen[-1])] == seen[-1]
    assert not prefix_difference(model.chats[-2], model.chats[-1], without_tail)

    other = host.fork(session)
    model.play(says("Forked."))
    host.prompt(other, "And here?")
    assert numbers(model.chats[-1])[: len(seen[-1])] == seen[-1]

    model.play(says("A summary of it all."), says("On we go."))
    host.summarize(session)
    summary = next(one for one in reversed(model.requests) if one.kind == "compaction")
    assert summary.text.count("[pruned: read, ") >= len(seen[-1]), summary.text[-3000:]
    host.prompt(session, "Go on.")
    assert numbers(model.chats[-1]) == []


def test_switched_off_nothing_is_pruned(opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path) -> None:
    host = opencode(settings=UNPRUNED, plugins=[plugin], files=FILES, limit=LIMIT)
    host.serve()
    _, chats = lived(host, model)
    assert not any(numbers(chat) for chat in chats)
    assert list(prunings(place).values()) == [[]]
