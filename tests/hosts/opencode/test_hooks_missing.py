"""A version of OpenCode that does not call a hook any more: the user, the agent and `hudkit doctor` are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hud_plugin import written
from hud_seen import hud
from opencode_host import Hosts, OpenCode

from hudkit.cli.checks.host_checks import missing_hooks
from hudkit.models.scripted_answers import says, uses
from hudkit.testing.assertions import hud_base
from hudkit.testing.model_server import ScriptedModel
from waiting import until

pytestmark = pytest.mark.slow

COMPACTING = "experimental.session.compacting"
HOOKS = ("experimental.chat.messages.transform", "experimental.chat.system.transform")


def own_log(host: OpenCode) -> str:
    """What OpenCode has written into its log so far: it writes some time after the event."""
    return "".join(file.read_text("utf-8") for file in (host.place / "data" / "opencode" / "log").glob("*.log"))


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_is_not_called_any_more_is_told_once(
    opencode: Hosts, model: ScriptedModel, place: Path, hook: str
) -> None:
    plugin = written(place)
    text = plugin.read_text()
    assert text.count(f'"{hook}": quietly') == 1
    plugin.write_text(text.replace(f'"{hook}": quietly', f'"{hook}.renamed": quietly'))
    host = opencode(own=True, plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("notes.add", content="one")), uses(hud("notes.add", content="two")), says("done"))
    host.prompt(session, "begin")
    host.prompt(session, "go on")
    assert not any("Your HUD" in text for text in model.chats[-1].system)
    told = f"OpenCode does not call {hook}, so the HUD does not reach the agent."
    answers = [text for role, text in model.chats[-1].messages if role == "tool"]
    assert [told in text for text in answers] == [True, False], "the agent, once"
    until(lambda: told in own_log(host), "the user")
    socket = place / "run" / "d.sock"
    assert missing_hooks(str(socket), "opencode") == (hook,), "and doctor"
    assert json.loads(socket.with_name("d.sock.opencode.hooks").read_text())["missing"] == [hook]
    host.stop()
    assert own_log(host).count(told) == 1, "once"

    plugin.write_text(text)
    host.serve()
    model.play(says("again"))
    host.prompt(session, "and now?")
    assert hud_base(model.chats[-1]) and missing_hooks(str(socket), "opencode") == (), (
        "a version that calls it is fine again"
    )


def test_a_compaction_without_its_hook_is_told_and_the_hud_is_there_after_it(
    opencode: Hosts, model: ScriptedModel, place: Path
) -> None:
    plugin = written(place)
    text = plugin.read_text()
    assert text.count(f'"{COMPACTING}": quietly') == 1
    plugin.write_text(text.replace(f'"{COMPACTING}": quietly', f'"{COMPACTING}.renamed": quietly'))
    host = opencode(own=True, plugins=[plugin])
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("notes.add", content="a fact")), says("done"))
    host.prompt(session, "begin")
    assert host.summarize(session)
    model.play(uses(hud("notes.add", content="two")), uses(hud("notes.add", content="three")), says("done"))
    host.prompt(session, "go on")
    told = f"OpenCode does not call {COMPACTING}, so summaries are made without the HUD."
    answers = [text for role, text in model.chats[-1].messages if role == "tool"]
    assert [told in text for text in answers] == [True, False], "the agent, once"
    until(lambda: told in own_log(host), "the user")
    socket = str(place / "run" / "d.sock")
    assert missing_hooks(socket, "opencode") == (COMPACTING,), "and doctor"
    assert "a fact" in hud_base(model.chats[-1])
    host.stop()
    assert own_log(host).count(told) == 1, "once"

    plugin.write_text(text)
    host.serve()
    model.play(says("again"))
    host.prompt(session, "and now?")
    assert missing_hooks(socket, "opencode") == (COMPACTING,), "a call that is no compaction says nothing of it"
    assert host.summarize(session)
    until(lambda: missing_hooks(socket, "opencode") == (), "a version that calls it is fine again")
