"""The daemon is dead, hangs, lies, is of another version, or the plugin itself fails: Claude Code's call goes out."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from claude_host import ClaudeCode, Data, bash, hud, uses

from daemon_stand_in import BROKEN, http, late, sends, silent, stand_in
from hudkit import Hud
from hudkit.daemon import client
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, says
from hudkit.testing.assertions import prefix_breaks
from hudkit.testing.model_server import ScriptedModel
from waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

Claudes = Callable[..., ClaudeCode]
BASE = "Your HUD outlives compaction."
NEVER = "/bin/false"
"""An interpreter that starts no daemon."""


def three_steps(model: ScriptedModel) -> None:
    model.play(uses(bash("echo 1")), uses(bash("echo 2")), uses(bash("echo 3")), says("done"))


def test_without_a_daemon_the_calls_go_out_and_the_base_comes_with_the_next_chance(
    claude: Claudes, model: ScriptedModel, data: Data
) -> None:
    patient_steps = ("hooks/register.js", "const STEP_MS = 200;", "const STEP_MS = 60_000;")
    session = claude(plugin=data.write_plugin(patient=False, python=NEVER, edits=[patient_steps]))
    three_steps(model)
    assert session.say("Please begin.") == "done"
    assert all(BASE not in chat.text for chat in model.chats)
    model.play(uses(hud("notes.add", content="lost")), says("done"))
    session.say("Note it.")
    (answer,) = [text for role, text in model.chats[-1].messages if role == "tool"][-1:]
    assert "It is not certain that this was recorded" in answer
    client.ensure_running(data.socket, db=data.db)
    model.play(*[says("done")] * 4)
    for number in range(4):  # after silence it is asked again some time later
        session.say(f"Prompt {number}.")
        if BASE in model.chats[-1].text:
            break
    assert model.chats[-1].text.count(BASE) == 1


def test_a_daemon_that_hangs_is_not_waited_for(claude: Claudes, model: ScriptedModel, data: Data) -> None:
    """All is over while each question still waits for its answer; after two the daemon is not asked any more."""
    plugin = data.write_plugin(patient=False, python=NEVER)
    with stand_in(data.socket, silent) as asked:
        session = claude(plugin=plugin)
        three_steps(model)
        assert session.say("Please begin.") == "done"
        three_steps(model)
        assert session.say("And again.") == "done"
        assert 0 < len(asked) <= 4, "two where the window begins, and then no more"
    assert all("[hud " not in chat.text for chat in model.chats)


def test_an_answer_that_comes_too_late_is_none_and_is_given_again(
    claude: Claudes, model: ScriptedModel, data: Data
) -> None:
    slow = data.folder / "slow" / "d.sock"
    client.ensure_running(slow, db=data.db)
    with stand_in(data.socket, late(slow)) as asked:
        session = claude(plugin=data.write_plugin(patient=False, python=NEVER))
        three_steps(model)
        assert session.say("Please begin. Never touch legacy/.") == "done"
        session.close()
        assert asked and all("[hud " not in chat.text for chat in model.chats)
    client.stop(slow)
    client.ensure_running(data.socket, db=data.db)
    model.play(says("on"))
    again = claude(session.session, resume=True, plugin=data.write_plugin())
    assert again.say("Go on.") == "on"
    assert model.chats[-1].text.count(BASE) == 1, "what was never heard does not count as told"
    assert "legacy/" in model.chats[-1].text and prefix_breaks(model.chats) == []


LIES = {
    "no HTTP": b"I am no daemon\n",
    "no JSON": http(b"<html>"),
    "a list": http([1, 2]),
    "other types": http({"hud": {"base": 7, "line": []}, "hookSpecificOutput": "x"}),
    "other fields": http({"hookSpecificOutput": {"additionalContext": {"a": 1}}}),
    "null": http(None),
    "an error": http({"error": {}}, BROKEN),
    "very long": http({"hud": {"base": "x" * 300_000}}),
}


def test_what_is_no_answer_is_none(claude: Claudes, model: ScriptedModel, data: Data) -> None:
    lies = list(LIES.values())
    told: list[int] = []

    def lie(connection: socket.socket, _: bytes) -> None:
        told.append(1)
        connection.sendall(lies[len(told) % len(lies)])

    with stand_in(data.socket, lie):
        session = claude(plugin=data.write_plugin(patient=False, python=NEVER))
        for number in range(3):
            three_steps(model)
            assert session.say(f"Prompt {number}.") == "done"
    assert len(told) > len(lies)
    for chat in model.chats:
        assert not any(words in chat.text for words in ("xxxxx", "[object", "undefined", "<html>"))


@pytest.mark.parametrize(
    ("version", "status", "is_replaced"), [("0.0.1", "200 OK", True), ("99.0.0", "426 X", False)]
)
def test_a_daemon_of_another_version(
    claude: Claudes, model: ScriptedModel, data: Data, tmp_path: Path, version: str, status: str, is_replaced: bool
) -> None:
    """An older one is replaced by a daemon of this version; a newer one that refuses is left, and nothing is told."""
    started = tmp_path / "started"
    starter = tmp_path / "python"
    starter.write_text(f'#!/bin/sh\necho "$@" >> {started}\n')
    starter.chmod(0o755)
    with stand_in(data.socket, sends(http({}, status, version))):
        session = claude(plugin=data.write_plugin(patient=False, python=str(starter)))
        three_steps(model)
        assert session.say("Please begin.") == "done"
        session.close()
    assert started.exists() == is_replaced
    if is_replaced:
        assert "-m hudkit.daemon --detach" in started.read_text()


@pytest.mark.parametrize(
    "hook",
    [
        "withContext",
        "composed",
        "sessionStarts",
        "compacts",
    ],
)
def test_a_hook_of_ours_that_throws_is_as_if_it_were_not_there(
    claude: Claudes, model: ScriptedModel, data: Data, hook: str
) -> None:
    head = f"async function {hook}($, e, next) {{"
    session = claude(
        plugin=data.write_plugin(edits=[("hooks/register.js", head, f"{head}\n  throw new Error('broken');")])
    )
    three_steps(model)
    assert session.say("Please begin.") == "done"
    session.say("/compact")
    model.play(says("on"))
    assert session.say("Go on.") == "on"
    assert len(model.of("compaction")) == 1


def test_where_mods_are_switched_off_hooks_stand_in(claude: Claudes, model: ScriptedModel, data: Data) -> None:
    """As where an organisation allows no mods: each hook is a process, and the base stands among the messages."""
    client.ensure_running(data.socket, db=data.db)
    plugin = data.write_plugin()
    hooks = json.loads((plugin / "hooks" / "hooks.json").read_text())
    del hooks["modules"]
    (plugin / "hooks" / "hooks.json").write_text(json.dumps(hooks))
    session = claude(plugin=plugin)
    three_steps(model)
    assert session.say("Please begin. Never touch legacy/.") == "done"
    session.say("/compact")
    model.play(says("on"))
    session.say("Go on.")
    if any(BASE not in chat.text for chat in (model.chats[0], model.chats[-1])):
        # A busy machine takes longer to start a process than a hook waits: it came with a later one.
        model.play(says("on"))
        session.say("And on.")
    last = model.chats[-1]
    assert last.text.count(BASE) == 1 and BASE not in "\n".join(last.system)
    assert "legacy/" in last.text


def test_mod_and_hooks_do_not_both_answer(claude: Claudes, model: ScriptedModel) -> None:
    session = claude()
    model.play(uses(hud("notes.add", content="a fact"), bash("exit 3")), says("done"))
    session.say("Please begin.")
    texts = [text for _, text in session.contexts()]
    assert len(texts) == len(set(texts))
    assert model.chats[-1].text.count(BASE) == 1, "hooks would have put one among the messages"


def test_the_plugin_taken_away_and_put_back_leaves_one_base(claude: Claudes, model: ScriptedModel) -> None:
    session = claude()
    model.play(uses(hud("notes.add", content="one")), says("done"))
    session.say("Please begin.")
    session.close()
    without = claude(session.session, resume=True, plugin=None)
    model.play(says("done"))
    without.say("Go on without.")
    without.close()
    again = claude(session.session, resume=True)
    model.play(uses(hud("notes.add", content="two")), says("done"))
    again.say("Go on with it.")
    assert [chat.text.count(BASE) for chat in model.chats] == [1] * len(model.chats)
    assert prefix_breaks(model.chats) == []


def test_the_daemon_that_the_plugin_starts_outlives_it(claude: Claudes, model: ScriptedModel, data: Data) -> None:
    assert sys.executable
    session = claude()
    model.play(says("done"))
    session.say("Please begin.")
    session.close()
    assert client.greet(data.socket, timeout=60) is not None


def test_a_command_waits_for_a_daemon_that_has_to_start(claude: Claudes, model: ScriptedModel, data: Data) -> None:
    """The daemon dies before the turn's last answer, soon after the plugin has started it."""

    def dies(_: CapturedRequest) -> Answer:
        there = client.greet(data.socket, timeout=60)
        assert there is not None
        os.kill(there.pid, signal.SIGKILL)
        until(lambda: client.is_gone(data.socket), "the daemon does not end")
        return says("It fails.")

    session = claude()
    model.play(uses(bash("exit 3")), dies)
    assert session.say("Run it.") == "It fails."
    session.say("/hud")
    with Hud.open(data.db) as hud:
        (key,) = hud.sessions()
        assert [error.message for error in hud.session(key).state.errors.open]
