"""A long session of the real Claude Agent SDK: each request begins with the one before, to the byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from sdk_host import ClaudeAgentSdkHost, conversation

from campaigns import Campaign
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import kept_base, kept_bases, prefix_difference
from hudkit.testing.host_conformance import HostWorkspace
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

REQUESTS = Campaign("agent-sdk-prefix", quick=48, full=320)
"""Requests of a session that is resumed twice and compacted once."""

SUITE = ClaudeAgentSdkHost()
_PER_TURN = 4


def turn(number: int) -> Iterator[ScriptedReply]:
    """A turn of four requests: parallel calls of which one fails, notes, files, and an answer."""

    def run(command: str) -> ScriptedCall:
        return ScriptedCall("Bash", {"command": command})

    yield uses(run(f"echo {number}"), run(f"exit {number % 5}"), run("seq 1 40"), text=f"Part {number}.")
    yield uses(
        SUITE.hud_call("decisions.record", summary=f"Column {number} stays"), run(f"echo {number} > out_{number}")
    )
    yield uses(SUITE.hud_call("notes.add", content=f"fact {number}")) if number % 3 else uses(run("true"))
    yield says(f"Part {number} is done. " * 20)


@REQUESTS
def test_each_request_begins_with_the_one_before(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    turns = REQUESTS.rounds // _PER_TURN
    with ScriptedModel(compaction=SUITE.summary("Half of the parts are done.")) as model:
        place = HostWorkspace(tmp_path / "project", tmp_path / "data" / "hudkit.db", tmp_path, model.url)
        numbers, resumed = iter(range(turns)), []
        for process in range(3):
            resumed.append(len(model.chats))
            with conversation(place, "s1") as talk:
                for _ in range(turns // 3 if process < 2 else turns - 2 * (turns // 3)):
                    number = next(numbers)
                    model.play(*turn(number))
                    talk.say(f"Now part {number}, please.")
                    if number == turns // 2:
                        talk.say("/compact")
    chats = model.chats
    assert len(chats) == turns * _PER_TURN and model.left == 0
    breaks = [n for n, (before, after) in enumerate(pairwise(chats)) if prefix_difference(before, after)]
    record_property(
        "figures", f"{len(chats) - 1 - len(breaks)} of {len(chats) - 1} requests begin with the one before"
    )
    compacted = (turns // 2 + 1) * _PER_TURN - 1
    assert breaks == [compacted], "but at the compaction"
    assert all(kept_base(chat) for chat in chats), "of several bases each says that it takes the place of the others"
    for first in resumed[1:]:
        assert kept_bases(chats[first]) == kept_bases(chats[first - 1]), "a new process brings no second base"
