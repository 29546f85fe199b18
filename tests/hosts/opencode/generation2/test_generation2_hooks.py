"""The plugin in a stand-in for OpenCode 2 that lacks one thing or another, and in the real one where it is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hud_plugin import written
from mock_host import MockHost
from opencode_workspace import configuration, environment

from hudkit.cli.checks.host_checks import missing_hooks
from hudkit.daemon import client
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.assertions import hud_base
from hudkit.testing.host_conformance import SMALL_WINDOW, hud_call
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("runtime")]

SUMMARY = {"compaction": ("Output exactly the Markdown structure",)}
Start = Callable[..., MockHost]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(marks=SUMMARY) as model:
        yield model


@pytest.fixture
def data() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="hk"))  # short, for the socket
    yield folder
    client.stop(folder / "run" / "d.sock")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def start(tmp_path: Path, model: ScriptedModel, data: Path) -> Start:
    """`start(absent=["session.context"])` gives a stand-in that does not call that hook; `lacking` methods of a
    session are not there."""

    def run(**given: list[str]) -> MockHost:
        plugin = written(data)
        module = Path(shutil.copy(plugin, plugin.with_suffix(".mjs")))
        return MockHost(tmp_path, tmp_path / "store.json", model.url, SMALL_WINDOW, module, **given)

    return run


def test_a_hook_that_is_not_called_is_told_once(start: Start, model: ScriptedModel, data: Path) -> None:
    with start(absent=["session.context"]) as host:
        session = host.ask("open", title="one")
        model.play(uses(hud_call("notes.add", content="a")), uses(hud_call("notes.add", content="b")), says("done"))
        assert host.ask("say", session=session, text="Please begin.") == "done"
        logged = host.ask("seen")["logged"]
    told = "OpenCode does not call session.context, so the HUD does not reach the agent."
    assert [told in line for line in logged] == [True]
    answers = [text for role, text in model.chats[-1].messages if role == "tool"]
    assert [told in text for text in answers] == [True, False]
    assert missing_hooks(str(data / "run" / "d.sock"), "opencode") == ("session.context",)
    with start() as host:
        model.play(says("done"))
        host.ask("say", session=session, text="And now?")
    assert hud_base(model.chats[-1]) and missing_hooks(str(data / "run" / "d.sock"), "opencode") == ()


def test_without_the_session_s_messages_a_call_goes_out_as_it_is(start: Start, model: ScriptedModel) -> None:
    with start(lacking=["context"]) as host:
        session = host.ask("open", title="one")
        model.play(says("done"))
        assert host.ask("say", session=session, text="Please begin.") == "done"
        assert len(host.ask("seen")["logged"]) == 1
    assert "HUD" not in model.chats[0].text


def test_a_host_that_starts_no_compaction_for_plugins_offers_no_tool_for_it(
    start: Start, model: ScriptedModel
) -> None:
    with start(lacking=["compact"]) as host:
        model.play(says("done"))
        host.ask("say", session=host.ask("open", title="one"), text="Please begin.")
    assert {"hud", "memory"} <= set(model.chats[0].tools) and "hud_compact" not in model.chats[0].tools


@pytest.mark.parametrize("absent", [[], ["session.compaction"]], ids=["with its hook", "without it"])
def test_a_compaction_is_told_what_is_on_record_where_its_hook_is_called(
    start: Start, model: ScriptedModel, absent: list[str]
) -> None:
    with start(absent=absent) as host:
        session = host.ask("open", title="one")
        model.play(uses(hud_call("decisions.record", summary="Sign with ES256")), says("done"))
        host.ask("say", session=session, text="Please begin.")
        model.play(uses(ScriptedCall("shell", {"command": "echo 1"})), says("done"))
        host.ask("compact", session=session)
        host.ask("say", session=session, text="Go on, please.")
    (summary,) = model.of("compaction")
    assert ("Sign with ES256" in " ".join(summary.system)) is not bool(absent)
    base = hud_base(model.chats[-1])
    assert "Sign with ES256" in base and "1 compaction: memory compactions" in base, (
        "the next base has it in any case"
    )


def test_the_core_of_opencode_2_inside_opencode_1_is_left_alone(data: Path, runtime: str) -> None:
    """Its context has none of what is needed; OpenCode 1 calls the other entry."""
    module = Path(shutil.copy(written(data), data / "hudkit.mjs"))
    script = f"""
        const {{ default: plugin }} = await import({json.dumps(str(module))});
        console.log(Object.keys(plugin).join(), await plugin.setup({{ agent: {{}}, aisdk: {{ hook() {{}} }} }}));
    """
    done = subprocess.run(
        [runtime, "--input-type=module", "-e", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["id,server,setup", "undefined"]
    assert client.greet(data / "run" / "d.sock") is None, "no daemon was started"


REAL = os.environ.get("HUDKIT_OPENCODE2", "")


@pytest.mark.skipif(not REAL, reason="HUDKIT_OPENCODE2 names no program of OpenCode 2")
def test_the_real_one(tmp_path: Path, model: ScriptedModel, data: Path) -> None:
    """OpenCode 2 itself, as far as its documentation says how: a loader file, one prompt, the HUD in the request."""
    project = tmp_path / "project"
    (project / ".opencode" / "plugins").mkdir(parents=True)
    plugin = written(data)
    loader = f"export {{ default }} from {json.dumps(plugin.as_uri())};\n"
    (project / ".opencode" / "plugins" / "hudkit.js").write_text(loader)
    (project / "opencode.json").write_text(json.dumps(configuration(model.url, "openai", SMALL_WINDOW, [])))
    model.play(uses(hud_call("notes.add", content="a fact")), says("done"))
    env = environment(tmp_path, model.url, str(tmp_path))
    command = [REAL, "run", "Please begin.", "--standalone"]
    subprocess.run(command, cwd=project, env=env, timeout=120, check=True, capture_output=True)
    assert hud_base(model.chats[0]) and "hud" in model.chats[0].tools
    assert any("a fact" in text for role, text in model.chats[-1].messages if role == "tool")
