"""Real OpenCode with the plugin passes the suite that every host passes. What it costs is in `test_hud_cost`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hud_plugin import written
from opencode_host import OpenCode
from opencode_shared import Guest, Shared

from hudkit.daemon import client
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.assertions import delta_lines
from hudkit.testing.host_conformance import DECISION, PRUNING, TASK, HostConformance, HostWorkspace
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow


class Talking:
    def __init__(self, host: OpenCode, session: str) -> None:
        self.id = session
        self._host = host

    def say(self, text: str) -> str:
        parts = self._host.prompt(self.id, text)["parts"]
        return "".join(part["text"] for part in parts if part["type"] == "text" and not part.get("synthetic"))

    def take_back(self) -> None:
        asked = [one["info"]["id"] for one in self._host.messages(self.id) if one["info"]["role"] == "user"]
        self._host.revert(self.id, asked[-1])

    def compact(self) -> None:
        assert self._host.summarize(self.id)


class TestOpenCode(HostConformance):
    host = "opencode"
    test_the_hud_costs_little = None  # `test_hud_cost`, with its longer days
    shared: Shared | None = None
    """The process that conversations are in; `None`: each has one of its own."""

    tools_ms: int | None = None

    settings = ""

    @pytest.fixture(autouse=True)
    def _in_one_process(self, shared_opencode: Callable[[str], Shared]) -> None:
        self.shared = shared_opencode("")

    @contextmanager
    def _at(self, folder: Path, **given: Any) -> Iterator[tuple[HostWorkspace, ScriptedModel]]:
        with super()._at(folder, **given) as (place, model):
            yield place, model
            client.stop(place.log.parent / "run" / "d.sock")
            shutil.rmtree(place.log.parent, ignore_errors=True)

    def place(self, folder: Path, project: Path, url: str, limit: tuple[int, int]) -> HostWorkspace:
        data = Path(tempfile.mkdtemp(prefix="hk"))  # short, for the socket
        (data / "config.toml").write_text(self.settings)
        return HostWorkspace(project, data / "hudkit.db", folder, url, limit)

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talking]:
        plugins = [written(place.log.parent, tools_ms=self.tools_ms)] if hud else []
        home, project = place.folder / session, str(place.project)  # several at once do not start in one home
        given: dict[str, Any] = {"limit": place.limit, "plugins": plugins, "project": project}
        settings = {"HUDKIT_CONFIG": str(place.log.parent / "config.toml")}
        made = (
            Guest(self.shared, home, place.url, **given)
            if self.shared
            else OpenCode(home, place.url, env=settings, **given)
        )
        with made as host:
            host.serve()
            known = place.folder / f"{session}.id"
            if not known.exists():
                known.write_text(host.create(session))
            yield Talking(host, known.read_text())

    def call(self, what: str, **given: Any) -> ScriptedCall:
        names = {"path": "filePath", "old": "oldString", "new": "newString"}
        arguments = {names.get(name, name): value for name, value in given.items()}
        if what == "run":
            return ScriptedCall("bash", {**arguments, "description": "run"})
        return ScriptedCall(what, arguments)

    def take_back(self, talk: Any) -> bool:
        talk.take_back()
        return True

    def delegate(self, prompt: str) -> ScriptedCall:
        return ScriptedCall("task", {"description": "look", "prompt": prompt, "subagent_type": "general"})

    def _path(self, place: HostWorkspace, name: str) -> str:
        return str(place.project / name)

    def test_what_was_taken_away_comes_back(self, tmp_path: Path) -> None:
        """With pruning, which the rest of the suite is without, as is the default."""
        self.shared, self.settings = None, PRUNING
        super().test_what_was_taken_away_comes_back(tmp_path)

    def test_a_conversation_goes_on_in_a_new_process_as_if_nothing_had_been(self, tmp_path: Path) -> None:
        self.shared = None
        super().test_a_conversation_goes_on_in_a_new_process_as_if_nothing_had_been(tmp_path)

    def test_conversations_side_by_side_keep_their_own(self, tmp_path: Path) -> None:
        """In processes of their own that share a daemon."""
        self.shared = None
        super().test_conversations_side_by_side_keep_their_own(tmp_path)

    def test_a_log_that_cannot_be_used_stops_nobody(self, tmp_path: Path) -> None:
        self.tools_ms = 2_000  # there will be no daemon
        super().test_a_log_that_cannot_be_used_stops_nobody(tmp_path)

    def test_a_session_of_another_host_is_resumed(self, tmp_path: Path) -> None:
        """By the agent, as the frame of a new session offers it."""
        with self._at(tmp_path) as (place, model):
            self._begun(place)
            with self.open(place, "s1") as talk:
                model.play(
                    uses(ScriptedCall("hud", {"tool": "task.resume", "args": {"session": "ses_begun"}})), says("done")
                )
                talk.say("Go on, please.")
                state = self._state(place, talk)
            assert "ses_begun" in model.chats[0].text, "the greeting offers it"
            assert TASK in model.chats[-1].text and DECISION in model.chats[-1].text
            assert state.task.description == TASK
            assert delta_lines(model.chats[-1]), "the items are told"
