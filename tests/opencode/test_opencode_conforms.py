"""Real OpenCode with the plugin passes the suite that every host passes. What it costs is in `test_hud_cost`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hud_plugin import written
from opencode_host import OpenCode

from hudkit.daemon import client
from hudkit.testing.host_script import Place
from hudkit.testing.hosts import DECISION, TASK, HostConformance
from hudkit.testing.model import ScriptedModel
from hudkit.testing.replies import Call, says, uses
from hudkit.testing.seen import told

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("opencode_installed")]


class Talking:
    def __init__(self, host: OpenCode, session: str) -> None:
        self.id = session
        self._host = host

    def say(self, text: str) -> str:
        parts = self._host.prompt(self.id, text)["parts"]
        return "".join(part["text"] for part in parts if part["type"] == "text" and not part.get("synthetic"))


class TestOpenCode(HostConformance):
    host = "opencode"
    test_the_hud_costs_little = None  # `test_hud_cost`, with its longer days

    @contextmanager
    def _at(self, folder: Path, **given: Any) -> Iterator[tuple[Place, ScriptedModel]]:
        with super()._at(folder, **given) as (place, model):
            yield place, model
            client.stop(place.log.parent / "run" / "d.sock")
            shutil.rmtree(place.log.parent, ignore_errors=True)

    def place(self, folder: Path, project: Path, url: str, limit: tuple[int, int]) -> Place:
        data = Path(tempfile.mkdtemp(prefix="hk"))  # short, for the socket
        (data / "config.toml").write_text("[pruning]\nenabled = false\n")
        return Place(project, data / "hudkit.db", folder, url, limit)

    @contextmanager
    def open(self, place: Place, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talking]:
        plugins = [written(place.log.parent)] if hud else []
        settings = {"HUDKIT_CONFIG": str(place.log.parent / "config.toml")}
        home, project = place.folder / session, str(place.project)  # several at once do not start in one home
        with OpenCode(home, place.url, limit=place.limit, plugins=plugins, env=settings, project=project) as host:
            host.serve()
            known = place.folder / f"{session}.id"
            if not known.exists():
                known.write_text(host.create(session))
            yield Talking(host, known.read_text())

    def call(self, what: str, **given: Any) -> Call:
        names = {"path": "filePath", "old": "oldString", "new": "newString"}
        arguments = {names.get(name, name): value for name, value in given.items()}
        if what == "run":
            return Call("bash", {**arguments, "description": "run"})
        return Call(what, arguments)

    def delegate(self, prompt: str) -> Call:
        return Call("task", {"description": "look", "prompt": prompt, "subagent_type": "general"})

    def _path(self, place: Place, name: str) -> str:
        return str(place.project / name)

    def test_a_session_of_another_host_is_resumed(self, tmp_path: Path) -> None:
        """By the agent, as the frame of a new session offers it."""
        with self._at(tmp_path) as (place, model):
            self._begun(place)
            with self.open(place, "s1") as talk:
                model.play(uses(Call("hud", {"tool": "task.resume", "args": {"session": "ses_begun"}})), says("done"))
                talk.say("Go on, please.")
                state = self._state(place, talk)
            assert "ses_begun" in model.chats[0].text, "the greeting offers it"
            assert TASK in model.chats[-1].text and DECISION in model.chats[-1].text
            assert state.task.description == TASK
            assert told(model.chats[-1]), "the items are told"
