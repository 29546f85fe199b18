"""What the installer writes, as real OpenCode takes it: the entry, the loader file of both generations."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hud_seen import hud
from opencode_host import Hosts

from hudkit.errors import ConfigError
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


def test_the_line_that_is_told_where_nothing_can_be_written_is_the_one_that_works(
    opencode: Hosts, model: ScriptedModel, place: Path
) -> None:
    host = opencode(own=True)
    store = place / "store" / ("x" * 250)  # no room in the folder for a file beside it
    store.parent.mkdir()
    store.write_text("{}")
    config = Path(host.env["XDG_CONFIG_HOME"]) / "opencode" / "opencode.json"
    config.unlink(missing_ok=True)
    config.symlink_to(store)
    target = PluginTarget(
        python=sys.executable,
        prefix=None,
        data=place,
        db=place / "hudkit.db",
        socket=place / "run" / "d.sock",
        env=host.env,
        generations=frozenset({1}),
    )
    before = sorted(place.rglob("*"))
    with pytest.raises(ConfigError, match="cannot be written") as told:
        install(target)
    assert sorted(place.rglob("*")) == before, "nothing is left"
    line = re.search(r'Add ("[^"]+") to its list "plugin"', told.value.hint)
    assert line, told.value.hint
    store.write_text(f'{{"plugin": [{line[1]}]}}')  # the user did so
    install(target)
    host.serve()
    model.play(says("done"))
    host.prompt(host.create("a title"), "begin")
    assert hud_base(model.chats[0])
