"""Real pi with the extension passes the suite that every host passes."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pi_host import SUMMARIZER, Pi, PiData

from campaigns import HOST_DAYS
from hudkit.models.captured_request import KIND_MARKS
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.assertions import delta_lines
from hudkit.testing.host_conformance import DECISION, PRUNING, TASK, HostConformance, HostWorkspace
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.hosts]


class Talk:
    def __init__(self, host: Pi) -> None:
        self.host = host

    @property
    def id(self) -> str:
        return self.host.session

    def say(self, text: str) -> str:
        return self.host.say(text)


class TestPi(HostConformance):
    host = "pi"
    marks: ClassVar[dict[str, tuple[str, ...]]] = {**KIND_MARKS, "compaction": (SUMMARIZER,)}
    turns = HOST_DAYS.rounds
    most_cost = ((7, 1.04), (20, 1.03))
    settings = ""
    tools_ms: int | None = None

    @pytest.fixture(autouse=True)
    def _installed(self, pi_installed: Path) -> None:
        """pi is there."""

    @contextmanager
    def _at(self, folder: Path, **given: Any) -> Iterator[tuple[HostWorkspace, ScriptedModel]]:
        with super()._at(folder, **given) as (place, model):
            yield place, model
            PiData(place.log.parent).stop()
            shutil.rmtree(place.log.parent, ignore_errors=True)

    def place(self, folder: Path, project: Path, url: str, limit: tuple[int, int]) -> HostWorkspace:
        data = Path(tempfile.mkdtemp(prefix="hk"))  # short, for the socket
        (data / "config.toml").write_text(self.settings)
        return HostWorkspace(project, data / "hudkit.db", folder, url, limit)

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talk]:
        data = PiData(place.log.parent)
        home = place.folder / session  # several at once do not share a home
        installed = home / ".pi" / "agent" / "extensions" / "hudkit.js"
        installed.parent.mkdir(parents=True, exist_ok=True)
        installed.unlink(missing_ok=True)
        if hud:
            # Where it is installed, so that a pi which the agent starts has it, too.
            installed.symlink_to(data.write_extension(tools_ms=self.tools_ms))
        env = {"HUDKIT_CONFIG": str(data.folder / "config.toml")}
        with Pi(home, place.project, place.url, session, limit=place.limit, env=env) as host:
            yield Talk(host)

    def call(self, what: str, **arguments: Any) -> ScriptedCall:
        if what == "run":
            return ScriptedCall("bash", arguments)
        if what == "edit":
            change = {"oldText": arguments.pop("old"), "newText": arguments.pop("new")}
            return ScriptedCall("edit", {**arguments, "edits": [change]})
        return ScriptedCall(what, arguments)

    def take_back(self, talk: Any) -> bool:
        talk.host.take_back()
        return True

    def delegate(self, prompt: str) -> ScriptedCall:
        """pi has no sub-agents: its agent starts another pi."""
        command = f"pi --print --model scripted/test-model {shlex.quote(prompt)} </dev/null"
        return ScriptedCall("bash", {"command": command})

    def _path(self, place: HostWorkspace, name: str) -> str:
        return str(place.project / name)

    def test_what_was_taken_away_comes_back(self, tmp_path: Path) -> None:
        """With pruning, which the rest of the suite is without, as is the default."""
        self.settings = PRUNING
        super().test_what_was_taken_away_comes_back(tmp_path)

    def test_a_log_that_cannot_be_used_stops_nobody(self, tmp_path: Path) -> None:
        self.tools_ms = 2_000  # there will be no daemon
        super().test_a_log_that_cannot_be_used_stops_nobody(tmp_path)

    def test_a_session_of_another_host_is_resumed(self, tmp_path: Path) -> None:
        """By the agent, as the frame of a new session offers it."""
        with self._at(tmp_path) as (place, model):
            self._begun(place)
            with self.open(place, "s1") as talk:
                model.play(uses(self.hud_call("task.resume", session="ses_begun")), says("done"))
                talk.say("Go on, please.")
                state = self._state(place, talk)
            assert "ses_begun" in model.chats[0].text, "the greeting offers it"
            assert TASK in model.chats[-1].text and DECISION in model.chats[-1].text
            assert state.task.description == TASK
            assert delta_lines(model.chats[-1]), "the items are told"
