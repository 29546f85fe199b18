"""The plugin in a stand-in for OpenCode 2 passes the suite that every host passes.

The stand-in is made from the published documentation and types of OpenCode 2, whose packages cannot be had where
these tests run; what the real one does differently is not seen here.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hud_plugin import written
from mock_host import MockHost

from hudkit.daemon import client
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.host_conformance import DECISION, TASK, HostConformance, HostWorkspace
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("runtime")]


class Talking:
    def __init__(self, host: MockHost, session: str) -> None:
        self.id = session
        self.host = host

    def say(self, text: str) -> str:
        return str(self.host.ask("say", session=self.id, text=text))


class TestOpenCode2(HostConformance):
    host = "opencode"
    test_the_hud_costs_little = None  # what a stand-in's prompt costs says nothing of the real one's
    marks: ClassVar[dict[str, tuple[str, ...]]] = {"compaction": ("Output exactly the Markdown structure",)}
    test_what_was_taken_away_comes_back = None  # nothing is pruned: its transcripts cannot be read again
    named = frozenset({"snapshot"})  # and no messages, for the same reason
    tools_ms: int | None = None

    @contextmanager
    def _at(self, folder: Path, **given: Any) -> Iterator[tuple[HostWorkspace, ScriptedModel]]:
        with super()._at(folder, **given) as (place, model):
            yield place, model
            client.stop(place.log.parent / "run" / "d.sock")
            shutil.rmtree(place.log.parent, ignore_errors=True)

    def place(self, folder: Path, project: Path, url: str, limit: tuple[int, int]) -> HostWorkspace:
        data = Path(tempfile.mkdtemp(prefix="hk"))  # short, for the socket
        return HostWorkspace(project, data / "hudkit.db", folder, url, limit)

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talking]:
        plugin = written(place.log.parent, tools_ms=self.tools_ms) if hud else None
        if plugin is not None:
            plugin = Path(shutil.copy(plugin, plugin.with_suffix(".mjs")))
        store, known = place.folder / f"{session}.json", place.folder / f"{session}.id"
        with MockHost(place.project, store, place.url, place.limit, plugin) as host:
            if not known.exists():
                known.write_text(host.ask("open", title=session))
            yield Talking(host, known.read_text())

    def call(self, what: str, **given: Any) -> ScriptedCall:
        names = {"old": "oldString", "new": "newString"}
        arguments = {names.get(name, name): value for name, value in given.items()}
        return ScriptedCall("shell" if what == "run" else what, arguments)

    def take_back(self, talk: Any) -> bool:
        talk.host.ask("revert", session=talk.id)
        return True

    def delegate(self, prompt: str) -> ScriptedCall:
        return ScriptedCall("subagent", {"prompt": prompt})

    def test_a_log_that_cannot_be_used_stops_nobody(self, tmp_path: Path) -> None:
        self.tools_ms = 2_000  # there will be no daemon
        super().test_a_log_that_cannot_be_used_stops_nobody(tmp_path)

    def test_a_session_of_another_host_is_resumed(self, tmp_path: Path) -> None:
        """By the agent, as the frame of a new session offers it."""
        with self._at(tmp_path) as (place, model):
            self._begun(place)
            with self.open(place, "s1") as talk:
                resume = ScriptedCall("hud", {"tool": "task.resume", "args": {"session": "ses_begun"}})
                model.play(uses(resume), says("done"))
                talk.say("Go on, please.")
                state = self._state(place, talk)
            assert "ses_begun" in model.chats[0].text, "the greeting offers it"
            assert TASK in model.chats[-1].text and DECISION in model.chats[-1].text
            assert state.task.description == TASK
