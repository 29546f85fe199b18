"""A frame that comes too late for its call, in real OpenCode: it is not sent, and what it told comes at the end."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hud_plugin import written
from hud_seen import bash
from opencode_host import Hosts
from outside import meanwhile, tell
from wrong_daemon import Between, passed_on, too_late_for

from hudkit.api import Hud
from hudkit.log.payloads import BlockerAdd, FrameDelta, FrameUnsent
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import says, uses
from hudkit.testing.assertions import prefix_difference, without_tail
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


def told(request: CapturedRequest) -> list[tuple[int, str, str]]:
    """The blocks of changes in a request: the place of the message, its role, and the block."""
    spoken = [(n, role, text) for n, (role, text) in enumerate(request.messages) if role in ("user", "tool")]
    return [
        (n, role, block)
        for n, role, text in spoken
        for block in re.findall(r"^\[hud \w+\](?: .+\n|\n\n(?:- .*\n)+)", text, flags=re.M)
    ]


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.parametrize("turn", ["a tool step", "a new turn"])
def test_what_came_too_late_is_told_at_the_end_and_never_behind(
    opencode: Hosts, model: ScriptedModel, between: Between, place: Path, turn: str, shape: str
) -> None:
    flag = place / "late"
    host = opencode(plugins=[written(place, python="/nowhere/python", late=flag)], shape=shape)
    host.serve()
    session = host.create("a title")
    model.play(says("hi"))
    host.prompt(session, "begin")

    def held() -> None:
        """There is news; the daemon makes frames of it that come too late."""
        tell(place / "hudkit.db", session, BlockerAdd("No key yet"))
        between.lie = too_late_for(flag)

    def let_go() -> None:
        between.lie = passed_on
        flag.unlink()

    go_on = meanwhile(let_go, uses(bash("echo on")))
    if turn == "a tool step":
        model.play(uses(bash("true")), meanwhile(held, uses(bash("echo held"))), go_on, says("done"))
        host.prompt(session, "go on")
    else:
        model.play(uses(bash("true")), meanwhile(held, says("held")), go_on, says("done"))
        host.prompt(session, "go on")
        host.prompt(session, "and on")
    late, after = model.chats[-2:]
    assert len(model.chats) == 5
    assert told(late) == [], "what came too late was not sent"
    assert "No key yet" not in late.text

    ((at, role, block),) = told(after)
    assert block.endswith("] blocker: No key yet\n") and after.text.count("No key yet") == 1
    assert (at, role) == (len(after.messages) - 1, "tool"), "it is told at the end"

    tell(place / "hudkit.db", session, BlockerAdd("No disk left"))
    model.play(uses(bash("echo on")), says("on it goes"))
    host.prompt(session, "go on as always")
    first, second, third = (told(chat) for chat in (after, *model.chats[-2:]))
    assert [block.partition("] ")[2] for _, _, block in third] == ["blocker: No key yet\n", "blocker: No disk left\n"]
    assert third == second and second[:1] == first and second[1][1] == "user"
    assert [
        found for one, next in pairwise(model.chats) if (found := prefix_difference(one, next, without_tail))
    ] == []

    with Hud.open(place / "hudkit.db") as hud:
        (name,) = hud.sessions()
        events = [event.payload for event in hud.session(name).events()]
    kinds = [type(payload) for payload in events]
    blocks = [n for n, payload in enumerate(events) if isinstance(payload, FrameDelta) and "No key" in payload.text]
    assert FrameUnsent in kinds[blocks[0] : blocks[-1]], "the daemon had made a frame of it, and took it back"
    assert FrameUnsent not in kinds[blocks[-1] :]
