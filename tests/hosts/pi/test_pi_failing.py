"""pi's agent works on, whatever is in the daemon's place: it is dead, hangs, answers too late, or lies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pi_host import Pi, PiData

from daemon_stand_in import BROKEN, Answer, http, late, sends, silent, stand_in
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.assertions import hud_base
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

LIES = {
    "hangs": silent,
    "is broken": sends(http({"error": {"code": "internal", "message": "x"}}, BROKEN)),
    "says nothing of use": sends(http({})),
    "speaks no JSON": sends(http(b"<html>")),
    "hangs up": lambda connection, _request: connection.close(),
}
NOTE = ScriptedCall("hud", {"operation": "notes.add", "text": "prices are in cents"})


def extension(data: PiData, python: str) -> Path:
    """Our extension with its own deadlines, and what it starts a daemon with."""
    return data.write_extension(python=python, by_the_clock=True)


@pytest.mark.parametrize("answer", LIES.values(), ids=list(LIES))
def test_a_daemon_that_does_not_do_its_work_stops_nobody(
    answer: Answer, model: ScriptedModel, data: PiData, project: Path, tmp_path: Path
) -> None:
    with (
        stand_in(data.socket, answer) as asked,
        Pi(tmp_path / "home", project, model.url, "s1", extensions=[extension(data, "/nowhere/python")]) as host,
    ):
        model.play(uses(NOTE, ScriptedCall("bash", {"command": "echo hello"})), says("done"))
        assert host.say("Please begin.") == "done"
        model.play(says("done"))
        assert host.say("And now?") == "done"
    assert asked, "it was asked"
    tools = [text for role, text in model.chats[1].messages if role == "tool"]
    assert any("hudkit:" in text and "recorded" in text for text in tools), "the agent is told the truth"
    assert any("hello" in text for text in tools), "its own work goes on"
    assert not [event for event in host.events if event["type"] == "extension_error"]


def test_without_a_daemon_the_agent_works_and_is_told(
    model: ScriptedModel, data: PiData, project: Path, tmp_path: Path
) -> None:
    with Pi(tmp_path / "home", project, model.url, "s1", extensions=[extension(data, "/nowhere/python")]) as host:
        model.play(uses(NOTE), says("done"))
        assert host.say("Please begin.") == "done"
    assert "no HUD" in model.chats[0].text and "hudkit doctor" in model.chats[0].text
    assert "Nothing was recorded" in model.chats[1].text
    notices = [event for event in host.events if event.get("method") == "notify"]
    assert any("hudkit doctor" in event["message"] for event in notices), "the person is told, too"


def test_answers_that_come_too_late_lose_nothing(
    model: ScriptedModel, data: PiData, project: Path, tmp_path: Path
) -> None:
    """The last good frame goes on, byte for byte, and what a late daemon recorded is told once it is there again."""
    file = data.write_extension()
    with Pi(tmp_path / "home", project, model.url, "s1", extensions=[file]) as host:
        model.play(uses(NOTE), says("done"))
        host.say("Please begin.")
    base = hud_base(model.chats[-1])
    real = data.socket.with_name("real.sock")
    data.socket.rename(real)  # the daemon listens on
    data.socket.with_name("d.sock.lock").unlink(missing_ok=True)
    with (
        stand_in(data.socket, late(real)),
        Pi(tmp_path / "home", project, model.url, "s1", extensions=[extension(data, "/nowhere/python")]) as host,
    ):
        model.play(uses(ScriptedCall("bash", {"command": "exit 3"})), says("done"))
        assert host.say("Go on.") == "done"
    assert hud_base(model.chats[-1]) == base, "the base of the last good frame"
    data.socket.unlink(missing_ok=True)
    real.rename(data.socket)
    with Pi(tmp_path / "home", project, model.url, "s1", extensions=[data.write_extension()]) as host:
        model.play(says("done"))
        assert host.say("And now?") == "done"
    assert hud_base(model.chats[-1]) == base
    assert "exit 3" in model.chats[-1].text


def test_where_the_extension_is_gone_nothing_is_left_in_the_session(
    model: ScriptedModel, data: PiData, project: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with Pi(home, project, model.url, "s1", extensions=[data.write_extension()]) as host:
        model.play(uses(NOTE), says("done"))
        host.say("Please begin.")
    lines = [json.loads(line) for line in host.transcript.read_text().splitlines()]
    assert not any("[hud " in json.dumps(line) for line in lines)
    assert not any("hudkit" in line.get("customType", "") for line in lines)
