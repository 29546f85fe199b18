"""What the installer writes, as real OpenCode takes it: the entry, the loader file of both generations."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hud_seen import hud
from opencode_host import Hosts

from hudkit.hosts.opencode.plugin_install import PluginTarget, install, uninstall
from hudkit.models.scripted_answers import says, uses
from hudkit.testing.assertions import hud_base
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

COMMENTS = "// what I use\n/* and\n   what I do not */"
"""OpenCode itself refuses this file until there is something in it."""


@pytest.mark.parametrize(
    ("generations", "text"),
    [({1}, COMMENTS), ({1, 2}, f'{{"$schema": "https://opencode.ai/config.json"}} {COMMENTS}')],
    ids=["an entry", "a loader file"],
)
def test_an_installation_is_loaded_and_leaves_nothing(
    opencode: Hosts, model: ScriptedModel, place: Path, generations: set[int], text: str
) -> None:
    host = opencode(own=True)
    config = Path(host.env["XDG_CONFIG_HOME"]) / "opencode"
    (config / "opencode.jsonc").write_text(text)
    before = sorted(config.rglob("*"))
    target = PluginTarget(
        python=sys.executable,
        prefix=None,
        data=place,
        db=place / "hudkit.db",
        socket=place / "run" / "d.sock",
        env=host.env,
        generations=frozenset(generations),
    )
    install(target)
    host.serve()
    session = host.create("a title")
    model.play(uses(hud("notes.add", content="a fact")), says("done"))
    host.prompt(session, "begin")
    assert all(hud_base(chat) for chat in model.chats)
    assert model.chats[0].tools.count("hud") == 1
    host.stop()
    uninstall(target)
    assert (config / "opencode.jsonc").read_text() == text
    left = {path.name for path in config.rglob("*") if path not in before}
    assert left <= {".gitignore"}, "which is OpenCode's own"
