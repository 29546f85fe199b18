"""Real Codex where something of ours is wrong: its calls go out, and the base comes with the next chance."""

from __future__ import annotations

import contextlib
import os
import signal
import socket

import pytest
from codex_host import Codex, end_daemon

from conftest import Codexes
from daemon_stand_in import BROKEN, Answer, http, late, sends, silent, stand_in
from hudkit import __version__
from hudkit.daemon import client
from hudkit.daemon.client import greet
from hudkit.hosts.codex import codex_install
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.assertions import kept_bases, prefix_breaks
from hudkit.testing.model_server import ScriptedModel
from waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.hosts]


@pytest.fixture(autouse=True)
def _in_time(codex: Codexes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines are those of our users."""
    monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "1")


def told(event: object, text: object) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def endless(connection: socket.socket, _: bytes) -> None:
    head, _, _ = http({}).partition(b"content-length")
    connection.sendall(head + b'\r\n{"x": "')
    while True:
        connection.sendall(b"x" * 65_536)


LIES: dict[str, Answer] = {
    "hangs": silent,
    "closes": sends(b""),
    "speaks no HTTP": sends(b"\xff\x00 nonsense\r\n\r\n"),
    "speaks no JSON": sends(http(b'{"hookSpecificOutput": ')),
    "sends a list": sends(http([1])),
    "sends a number": sends(http(told("SessionStart", 7))),
    "means another event": sends(http(told("SomethingElse", "LIE"))),
    "is broken": sends(http({"error": "x"}, BROKEN)),
    "never ends": endless,
    "is newer": sends(http({}, version="99.0.0")),
}


def bases(chats: list[CapturedRequest]) -> list[int]:
    return [len(kept_bases(chat)) for chat in chats]


def patiently(host: Codex, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the HUD is to be there, however busy this machine is."""
    monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "30")
    host.env["HUDKIT_HOOK_PATIENCE"] = "30"
    host.uninstall()
    host.install()


@pytest.mark.parametrize("lie", LIES)
def test_whatever_is_in_the_daemons_place_the_call_goes_out(
    codex: Codexes, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    host = codex(hud=False)
    host.env["HUDKIT_HOOK_PATIENCE"] = "1"
    host.install(start=False)
    model.play(uses(ScriptedCall("hud", {"operation": "notes.add", "text": "x"})), says("done"), says("again"))
    with stand_in(host.socket, LIES[lie]) as requests:
        done = host.exec("Hello.")
    assert (done.code, done.words) == (0, "done") and requests
    assert "LIE" not in model.chats[-1].text and bases(model.chats) == [0, 0]
    answer = next(text for role, text in model.chats[-1].messages if role == "tool")
    assert "Added note" not in answer, "nothing is acknowledged"
    patiently(host, monkeypatch)
    assert host.exec("And now?", done.session).words == "again"
    assert bases(model.chats) == [0, 0, 1]
    assert prefix_breaks(model.chats) == []


def test_an_answer_that_comes_too_late_is_none_and_is_given_again(
    codex: Codexes, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon does what it is asked, and says so when nobody listens: the base still comes, once."""
    host = codex(hud=False)
    host.env["HUDKIT_HOOK_PATIENCE"] = "1"
    host.install(start=False)
    slow = host.folder / "slow" / "d.sock"
    client.ensure_running(slow, db=host.log)
    model.play(
        uses(ScriptedCall("exec_command", {"cmd": "exit 3"})),
        uses(ScriptedCall("hud", {"operation": "notes.add", "text": "cone 6"})),
        says("one"),
        says("two"),
    )
    with stand_in(host.socket, late(slow)) as requests:
        done = host.exec("Hello. Never touch legacy/.")
    client.stop(slow)
    assert done.words == "one" and requests and bases(model.chats) == [0, 0, 0]
    answer = [text for role, text in model.chats[-1].messages if role == "tool"][-1]
    assert "It is not certain that this was recorded" in answer, "it was, and the agent cannot know"
    patiently(host, monkeypatch)
    assert host.exec("And now?", done.session).words == "two"
    assert bases(model.chats) == [0, 0, 0, 1] and prefix_breaks(model.chats) == []
    (base,) = kept_bases(model.chats[-1])
    assert "legacy/" in base and "cone 6" in base, "what was done late was done"


def test_a_daemon_that_is_stopped_costs_no_call_and_tells_the_base_when_it_goes_on(
    codex: Codexes, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = codex(hud=False)
    host.start_daemon()  # which is patient, and its hooks are not
    host.env["HUDKIT_HOOK_PATIENCE"] = "1"
    host.install(start=False)
    model.play(says("one"), says("two"))
    there = greet(host.socket)
    assert there is not None
    os.kill(there.pid, signal.SIGSTOP)
    try:
        done = host.exec("Hello.")
        assert done.words == "one" and bases(model.chats) == [0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(there.pid, signal.SIGCONT)
    patiently(host, monkeypatch)
    assert host.exec("And now?", done.session).words == "two"
    assert bases(model.chats) == [0, 1] and prefix_breaks(model.chats) == []


def test_a_daemon_that_is_killed_is_started_again_and_has_lost_nothing(
    codex: Codexes, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = codex()
    patiently(host, monkeypatch)
    model.play(uses(ScriptedCall("hud", {"operation": "notes.add", "text": "cone 6"})), says("one"), says("two"))
    with host.serve() as server:
        session = server.begin()
        server.say(session, "Hello.")
        end_daemon(host.socket)
        server.say(session, "And now?")
    assert bases(model.chats) == [1, 1, 1] and prefix_breaks(model.chats) == []
    until(lambda: greet(host.socket), "it is started again")
    assert [note.content for note in host.state(session).notes] == ["cone 6"]


def test_without_the_server_the_command_brings_base_and_changes(
    codex: Codexes, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The MCP server cannot be started: no tools, and the rest is there."""
    host = codex()
    patiently(host, monkeypatch)
    text = host.config.read_text()
    host.config.write_text(text.replace('"mcp", "--host", "codex"', '"nonsense"'))
    model.play(uses(ScriptedCall("exec_command", {"cmd": "exit 3"})), says("one"), says("two"))
    with host.serve() as server:
        session = server.begin()
        assert server.say(session, "Hello. Never touch legacy/.") == "one"
        assert server.say(session, "And now?") == "two"
    assert bases(model.chats) == [1, 1, 1] and "hud" not in model.chats[0].tools
    assert "Never touch legacy/" in "".join(text for text in model.chats[-1].system if text.startswith("[hud "))
    assert prefix_breaks(model.chats) == []


def test_hooks_that_are_switched_off_meanwhile_leave_nothing_behind(
    codex: Codexes, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = codex()
    patiently(host, monkeypatch)
    model.play(says("one"), uses(ScriptedCall("exec_command", {"cmd": "exit 3"})), says("two"), says("three"))
    session = host.exec("Hello.").session
    off = ["--disable", "hooks"]
    assert host.exec("And now?", session, arguments=off).words == "two"
    assert host.exec("And on?", session).words == "three"
    assert bases(model.chats) == [1, 1, 1, 1]
    assert "exit 3" in "".join(text for text in model.chats[-1].system if text.startswith("[hud ")), "it is told now"


def test_an_older_daemon_is_replaced(codex: Codexes, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers once more, as it can; the next hook finds this version."""
    host = codex(hud=False)
    host.install(start=False)
    model.play(says("one"), says("two"))
    with stand_in(host.socket, sends(http(told("SessionStart", "an older base"), version="0.0.1"))):
        done = host.exec("Hello.")
    assert done.words == "one" and "an older base" in model.chats[0].text
    patiently(host, monkeypatch)
    assert host.exec("And now?", done.session).words == "two"
    there = greet(host.socket)
    assert there is not None and there.version == __version__ and bases(model.chats) == [0, 1]


def test_hooks_that_nobody_trusts_do_nothing(codex: Codexes, model: ScriptedModel) -> None:
    host = codex(hud=False)
    codex_install.install(host.target)
    assert codex_install.untrusted_hooks(host.target) == 9
    model.play(says("done"))
    assert host.exec("Hello.").words == "done"
    assert bases(model.chats) == [0] and not host.log.exists()
