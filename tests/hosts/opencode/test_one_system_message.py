"""Where the base stands in real requests: in the one system message, or as a block where a breakpoint is on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hud_seen import hud
from opencode_host import Hosts

from hudkit.api import Hud
from hudkit.log.payloads import ContextSnapshot
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import says, uses
from hudkit.testing.assertions import hud_base, prefix_breaks
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


def system_blocks(request: CapturedRequest) -> list[list[tuple[str, bool]]]:
    """The system messages of a request's body, each as its texts and whether a cache breakpoint is on them."""
    if request.shape == "anthropic":
        return [[(block["text"], "cache_control" in block) for block in request.body["system"]]]
    systems = [
        message["content"] for message in request.body["messages"] if message["role"] in ("system", "developer")
    ]
    return [
        [(text, False)] if isinstance(text, str) else [(part["text"], False) for part in text] for text in systems
    ]


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_the_base_joins_the_one_system_message_or_has_a_breakpoint_of_its_own(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path, shape: str
) -> None:
    host = opencode(shape=shape, plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("notes.add", content="a fact")), says("done"), says("again"))
    host.prompt(session, "Please begin.")
    host.prompt(session, "Please go on.")
    (base,) = {hud_base(chat) for chat in model.chats}
    for chat in model.chats:
        (blocks,) = system_blocks(chat)
        if shape == "openai":
            assert len(blocks) == 1 and blocks[0][0].endswith(base)
        else:
            assert len(blocks) > 1 and blocks[-1][0].strip() == base.strip() and blocks[-1][1]
            assert not any(base.strip() in text for text, _ in blocks[:-1])
    assert prefix_breaks(model.chats) == []
    whole = sum(len(text) for text in model.chats[0].system)
    with Hud.open(place / "hudkit.db") as board:
        events = board.session(session, project=host.project, host="opencode").events()
        payloads = [event.payload for event in events if isinstance(event.payload, ContextSnapshot)]
    accounts = [payload.parts for payload in payloads if payload.parts is not None]
    own = accounts[-1].system
    assert own is not None and 0 <= whole - own - len(base) <= 4, (
        "the account has the host's own text, without the base"
    )
