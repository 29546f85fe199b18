"""Pruning in real OpenCode: old outputs become one line, stay it, and the agent gets them back in full."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hud_plugin import PRUNED
from opencode_host import Hosts, OpenCode

from hudkit.api import Hud
from hudkit.log.payloads import OutputsPrune
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import prefix_difference, without_tail
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

LIMIT = (150_000, 8_000)
FILES = {f"part_{n}.txt": "".join(f"line {n}.{m}: {'x' * 40}\n" for m in range(300)) for n in range(4)}
STUB = re.compile(r'^\[pruned: \w+, [\d,]+ characters; memory output \{"id":"p(\d+)"\} gets it\]', re.M)
TURNS = [[0, 1, 2, 3] * 3, [0, 1, 2, 3], *([[None]] * 5)]
"""What is done in each turn: a file is read, or (`None`) a small command runs."""
DONE = [(turn, file) for turn, steps in enumerate(TURNS) for file in steps]
"""The turn and the file of each call of a tool, in order."""


def reads(host: OpenCode, turn: int) -> Iterator[ScriptedReply]:
    """One turn."""
    for file in TURNS[turn]:
        if file is None:
            yield uses(ScriptedCall("bash", {"command": f"echo {turn}", "description": "check"}))
        else:
            path = str(host.project / f"part_{file}.txt")
            yield uses(ScriptedCall("read", {"filePath": path}), text=f"Reading {file} in turn {turn}.")
    yield says("Done.")


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


def lived(host: OpenCode, model: ScriptedModel) -> tuple[str, list[CapturedRequest]]:
    session = host.create("reading")
    begin = len(model.chats)
    for turn in range(len(TURNS)):
        model.play(*reads(host, turn))
        host.prompt(session, f"Go on, part {turn}.")
    return session, model.chats[begin:]


def what_is_needed_stays(chats: list[CapturedRequest]) -> None:
    """No request has a stub for an output of its turn or the turn before, nor for the last read of a file; and there
    is none before half of the window was in use."""
    first = next(place for place, chat in enumerate(chats) if numbers(chat))
    assert chats[first - 1].cost.total + 100 >= LIMIT[0] / 2
    for chat in chats:
        sent = results(chat)
        turn = sum(piece.role == "user" and piece.text.startswith("Go on, part ") for piece in chat.pieces) - 1
        for place, text in enumerate(sent):
            if STUB.match(text):
                done_in, file = DONE[place]
                assert turn - done_in >= 2
                assert file in [later for _, later in DONE[place + 1 : len(sent)]]


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_stubs_stay_and_the_agent_gets_the_whole_output_back(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path, shape: str
) -> None:
    (place / "config.toml").write_text(PRUNED)
    env = {"HUDKIT_CONFIG": str(place / "config.toml")}
    host = opencode(own=True, shape=shape, plugins=[plugin], files=FILES, limit=LIMIT, env=env)
    host.serve()
    session, chats = lived(host, model)
    what_is_needed_stays(chats)
    seen = [numbers(chat) for chat in chats]
    (found,) = prunings(place).values()
    assert 1 <= len(found) <= 2
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


def test_nothing_is_pruned_where_the_user_did_not_switch_it_on(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path
) -> None:
    host = opencode(plugins=[plugin], files=FILES, limit=LIMIT)
    host.serve()
    _, chats = lived(host, model)
    assert not any(numbers(chat) for chat in chats)
    assert list(prunings(place).values()) == [[]]
