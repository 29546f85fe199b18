"""Real OpenCode waits where a frame is all that the agent has, and has its last one after a restart. A daemon that
hangs does not hold it up, and one of the next version answers it."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hud_plugin import written
from hud_seen import bash, hud
from opencode_host import Hosts, OpenCode
from test_hud_failing import answers, bases, notes_in, pid_at, told
from wrong_daemon import Between, Lie, Question, passed_on, silent

from hudkit import __version__
from hudkit.daemon import client
from hudkit.hosts.opencode.plugin import PluginPaths, generate_plugin
from hudkit.hosts.wire import PROTOCOL
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.paths import spare_name
from hudkit.testing.assertions import prefix_breaks
from hudkit.testing.model_server import ScriptedModel
from plugin_clock import patient

pytestmark = pytest.mark.slow

OLD = "HUD: may be a turn old."


def hurried(plugin: Path) -> Path:
    """The plugin, with the short deadline that users have, and all the patience that it needs for the rest."""
    text = plugin.read_text()
    assert text.count("const DEADLINE_MS = 60_000;") == 1
    plugin.write_text(text.replace("const DEADLINE_MS = 60_000;", "const DEADLINE_MS = 200;"))
    return plugin


def delayed(*paths: str) -> Lie:
    """The next answer on each of the paths comes a second after the question; all else is passed on."""
    left = list(paths)

    def lie(question: Question) -> None:
        if question.path in left:
            left.remove(question.path)
            time.sleep(1.0)
        passed_on(question)

    return lie


def log_of(host: OpenCode) -> str:
    logs = sorted((host.place / "data" / "opencode" / "log").glob("*.log"))
    return "\n".join(path.read_text("utf-8", "replace") for path in logs)


# -- patience by what is at stake ----------------------------------------------------------------------------------


def test_the_first_call_of_an_epoch_waits_longer_than_a_step(
    opencode: Hosts, model: ScriptedModel, place: Path, between: Between
) -> None:
    """Session, sub-agent, compaction, fork, restart: an answer that needs a second is not too late for them."""
    host = opencode(plugins=[hurried(written(place, python="/nowhere/python"))], own=True)
    host.serve()
    session = host.create("a title")
    between.lie = delayed("/v1/frame")
    model.play(uses(hud("notes.add", content="the fact to keep")), says("noted"))
    host.prompt(session, "begin")
    assert [len(bases(chat)) for chat in model.chats] == [1, 1], "a session"

    task = ScriptedCall("task", {"description": "look", "prompt": "look around", "subagent_type": "general"})
    between.lie = delayed("/v1/frame")
    model.play(uses(task), says("looked"), says("done"))
    host.prompt(session, "ask another")
    child = next(chat for chat in model.chats if "look around" in chat.messages[0][1])
    assert len(bases(child)) == 1, "a sub-agent"

    between.lie = delayed("/v1/compacting", "/v1/frame")
    assert host.summarize(session)
    assert "the fact to keep" in model.of("compaction")[-1].text, "the prompt of a compaction"
    model.play(says("on it goes"))
    host.prompt(session, "go on")
    (base,) = bases(model.chats[-1])
    assert "the fact to keep" in base, "the call after it"

    fork = str(host.post(f"/session/{session}/fork")["id"])
    between.lie = delayed("/v1/frame")
    model.play(says("forked"))
    host.prompt(fork, "go another way")
    assert "the fact to keep" in bases(model.chats[-1])[0], "a fork"

    host.stop()
    host.serve()
    between.lie = delayed("/v1/frame")
    model.play(says("back"))
    host.prompt(session, "and on")
    assert bases(model.chats[-1]) == [base], "a restart"
    assert not any(OLD in chat.text for chat in (child, *model.chats[-3:]))


def test_after_a_compaction_that_nobody_answers_the_whole_hud_is_there(
    opencode: Hosts, model: ScriptedModel, place: Path, between: Between
) -> None:
    late = place / "late"
    host = opencode(plugins=[written(place, python="/nowhere/python", late=late)])
    host.serve()
    session = host.create("a title")
    model.play(
        uses(hud("task.set", description="Rename the parser"), hud("notes.add", content="the fact to keep")),
        uses(hud("decisions.record", summary="Store cents as integers")),
        says("noted"),
    )
    host.prompt(session, "begin")
    known = ("Rename the parser", "the fact to keep", "Store cents as integers")
    assert not any(word in bases(model.chats[-1])[0] for word in known), "the transcript tells them"
    with between.telling(silent):
        late.touch()
        assert host.summarize(session)
        model.play(says("on it goes"))
        host.prompt(session, "go on")
        late.unlink()
    assert all(word in model.of("compaction")[-1].text for word in known)
    (base,) = bases(model.chats[-1])
    assert [word for word in known if word not in base] == []
    assert told(model.chats[-1]) == []


def test_a_restarted_opencode_has_its_last_frame_without_a_daemon(
    opencode: Hosts, model: ScriptedModel, place: Path, between: Between
) -> None:
    late = place / "late"
    host = opencode(plugins=[written(place, python="/nowhere/python", late=late)], own=True)
    host.serve()
    session = host.create("a title")
    model.play(uses(bash("cat nothing.txt")), says("begun"), says("on"))
    host.prompt(session, "begin")
    host.prompt(session, "go on")
    good = model.chats[-1]
    assert bases(good) and told(good)
    assert host.settled(lambda: (place / "frames" / f"{session}.json").exists())
    host.stop()
    late.touch()
    with between.telling(silent):
        host.serve()
        model.play(says("still there"))
        host.prompt(session, "are you there")
        late.unlink()
    assert (bases(model.chats[-1]), told(model.chats[-1])) == (bases(good), told(good))
    assert OLD in model.chats[-1].text
    assert prefix_breaks([good, model.chats[-1]]) == []


# -- a daemon that hangs or cannot start ---------------------------------------------------------------------------


def test_a_daemon_that_hangs_is_replaced_and_nobody_waits_for_it_twice(
    opencode: Hosts, model: ScriptedModel, place: Path
) -> None:
    late = place / "late"
    host = opencode(plugins=[written(place, late=late)])
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("notes.add", content="before")), says("noted"))
    host.prompt(session, "begin")
    hanging = pid_at(place / "run" / "d.sock")
    os.kill(hanging, signal.SIGSTOP)
    late.touch()
    model.play(
        uses(hud("notes.add", content="meanwhile")), uses(hud("notes.add", content="meanwhile, too")), says("on")
    )
    host.prompt(session, "go on")
    said = answers(model.chats[-1])[-2:]
    assert all(text.startswith("hudkit: ") and "not certain" in text for text in said)
    assert [bases(chat) for chat in model.chats[2:]] == [bases(model.chats[0])] * 3
    late.unlink()
    socket = place / "run" / "d.sock"
    assert host.settled(lambda: (there := client.greet(socket)) is not None and there.pid != hanging)
    assert host.settled(lambda: not (place / "late.silent").exists()), "it was greeted"
    with pytest.raises(ProcessLookupError):
        os.kill(hanging, 0)
    model.play(uses(hud("notes.add", content="after")), says("done"))
    host.prompt(session, "and on")
    assert answers(model.chats[-1])[-1].startswith("Added note")
    assert notes_in(place / "hudkit.db") == ["before", "after"]


def test_why_no_daemon_starts_is_in_the_answer_and_in_the_log_of_opencode(
    opencode: Hosts, model: ScriptedModel, place: Path
) -> None:
    (place / "hudkit.db").mkdir()  # no log can be there
    host = opencode(plugins=[written(place)], own=True)
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("notes.add", content="x")), says("so be it"))
    host.prompt(session, "begin")
    (said,) = answers(model.chats[-1])
    assert said.startswith("hudkit: ") and "hudkit.db" in said and said.endswith("Nothing was recorded.")
    assert host.settled(lambda: "no HUD: " in log_of(host))


@pytest.mark.skipif(sys.platform != "linux", reason="/sys is Linux's")
@pytest.mark.parametrize("folder", ["", "t" * 90], ids=["", "long"])
def test_a_read_only_home_is_served_from_memory(
    folder: str, opencode: Hosts, model: ScriptedModel, tmp_path: Path
) -> None:
    data, file = Path("/sys/hudkit"), tmp_path / "hudkit.js"
    socket = data / "run" / f"{tmp_path.name}.sock"
    file.write_text(
        patient(
            generate_plugin(PluginPaths(sys.executable, str(data), str(data / "hudkit.db"), str(socket), str(file)))
        )
    )
    temporary = tmp_path / folder if folder else Path(tempfile.gettempdir())
    temporary.mkdir(exist_ok=True)
    host = opencode(plugins=[file], own=True, env={"TMPDIR": str(temporary)})
    spare = Path("/tmp" if folder else temporary) / f"hudkit-{os.geteuid()}" / spare_name(socket)
    try:
        host.serve()
        session = host.create("a title")
        model.play(uses(hud("notes.add", content="kept for now")), says("noted"), says("on"))
        host.prompt(session, "begin")
        host.prompt(session, "go on")
    finally:
        client.stop(spare)
        Path(f"{spare}.lock").unlink(missing_ok=True)
    assert "kept in memory only (read-only)" in answers(model.chats[-1])[0]
    assert "HUD: state: kept in memory only (read-only)" in model.chats[-1].text
    assert bases(model.chats[-1])


# -- versions ------------------------------------------------------------------------------------------------------


def aged(plugin: Path, protocol: int) -> Path:
    """The plugin as an older version wrote it."""
    text = plugin.read_text().replace(f'"protocol": {PROTOCOL},', f'"protocol": {protocol},')
    plugin.write_text(text.replace(f'"version": "{__version__}",', '"version": "0.0.1",'))
    return plugin


def test_a_plugin_of_the_version_before_keeps_its_hud_and_the_user_is_told(
    opencode: Hosts, model: ScriptedModel, place: Path
) -> None:
    host = opencode(plugins=[aged(written(place), PROTOCOL - 1)], own=True)
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("notes.add", content="kept")), says("noted"))
    host.prompt(session, "begin")
    assert [len(bases(chat)) for chat in model.chats] == [1, 1]
    assert answers(model.chats[-1])[0].startswith("Added note")
    assert notes_in(place / "hudkit.db") == ["kept"]
    assert host.settled(lambda: f"hudkit {__version__} is installed; start OpenCode again" in log_of(host))


def test_a_plugin_that_is_too_old_says_so_and_that_nothing_was_recorded(
    opencode: Hosts, model: ScriptedModel, place: Path
) -> None:
    host = opencode(plugins=[aged(written(place), PROTOCOL - 2)], own=True)
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("notes.add", content="lost")), says("so be it"))
    host.prompt(session, "begin")
    (said,) = answers(model.chats[-1])
    assert said == f"hudkit: it speaks protocol {PROTOCOL}, not {PROTOCOL - 2}. Nothing was recorded."
    assert host.settled(lambda: "start OpenCode again, or run: hudkit install opencode" in log_of(host))
