"""Real Codex with hudkit passes the suite that every host passes."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import pytest
from codex_host import AppServer, Codex, end_daemon

from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.host_conformance import DECISION, TASK, HostConformance, HostWorkspace
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.hosts]


class Talking:
    def __init__(self, server: AppServer, session: str) -> None:
        self.id = session
        self._server = server

    def say(self, text: str) -> str:
        return self._server.say(self.id, text)

    def take_back(self) -> None:
        self._server.take_back(self.id)

    def compact(self) -> None:
        self._server.compact(self.id)


class TestCodex(HostConformance):
    host = "codex"
    shape = "openai"
    keeps_texts = True
    _installing = Lock()
    cannot: ClassVar[dict[str, str]] = {
        "compaction tools": "nothing of ours can start a compaction in Codex",
        "test_what_was_taken_away_comes_back": "nothing is pruned in Codex",
        "test_a_sub_agent_has_a_hud_of_its_own": "sub-agents work in the background: `test_codex_sessions`",
    }
    test_what_was_taken_away_comes_back = None
    test_a_sub_agent_has_a_hud_of_its_own = None
    test_the_hud_costs_little = None  # `test_codex_cost`, with the host's own rules of the cache

    @pytest.fixture(autouse=True)
    def _ready(self, codex_installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert codex_installed.exists()
        monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "30")

    @contextmanager
    def _at(self, folder: Path, **given: Any) -> Iterator[tuple[HostWorkspace, ScriptedModel]]:
        with super()._at(folder, **given) as (place, model):
            yield place, model
            end_daemon(place.log.parent / "run" / "daemon.sock")
            shutil.rmtree(place.folder, ignore_errors=True)

    def place(self, folder: Path, project: Path, url: str, limit: tuple[int, int]) -> HostWorkspace:
        del folder
        home = Path(tempfile.mkdtemp(prefix="hk"))  # short, for the socket
        return HostWorkspace(project, home / "data" / "hudkit.db", home, url, limit)

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talking]:
        # Codex takes 95 % of a window for its use, and compacts by itself from a limit on.
        window, compact_at = -(-place.limit[0] * 100 // 95), place.limit[0] * 7 // 8
        codex = Codex(place.folder, place.url, project=place.project, window=window, compact_at=compact_at)
        with self._installing:
            if not hud:
                codex.uninstall()
            elif not codex.is_ready:
                codex.install(start=not place.log.exists())
        with codex.serve() as server:
            known = place.folder / f"{session}.id"
            if known.exists():
                server.resume(known.read_text())
            else:
                # Codex's own instructions have examples that the suite takes for what was taken back.
                known.write_text(server.begin(baseInstructions=place.instructions))
            yield Talking(server, known.read_text())

    def call(self, what: str, **given: Any) -> ScriptedCall:
        path = shlex.quote(given.get("path", ""))
        if what == "read":
            return ScriptedCall("exec_command", {"cmd": f"cat {path}"})
        if what == "run":
            return ScriptedCall("exec_command", {"cmd": given["command"]})
        if what == "write":
            lines = "".join(f"+{line}\n" for line in given["content"].splitlines())
            body = f"*** Add File: {given['path']}\n{lines}"
        else:
            lead = "    return " if given["old"].startswith("a ") else "    "  # a patch has whole lines
            old, new = (
                "".join(f"{sign}{line}\n" for line in f"{lead}{given[name]}".splitlines())
                for sign, name in (("-", "old"), ("+", "new"))
            )
            body = f"*** Update File: {given['path']}\n@@\n{old}{new}"
        return ScriptedCall(
            "exec_command", {"cmd": f"apply_patch <<'EOF'\n*** Begin Patch\n{body}*** End Patch\nEOF"}
        )

    def take_back(self, talk: Any) -> bool:
        talk.take_back()
        return True

    def delegate(self, prompt: str) -> ScriptedCall:
        return ScriptedCall("spawn_agent", {"message": prompt})

    def test_a_log_that_cannot_be_used_stops_nobody(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[override]
        monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "1")  # there will be no daemon
        super().test_a_log_that_cannot_be_used_stops_nobody(tmp_path)

    def test_a_session_of_another_host_is_resumed(self, tmp_path: Path) -> None:
        """By the agent, as the base of a new session offers it."""
        with self._at(tmp_path) as (place, model):
            self._begun(place)
            with self.open(place, "s1") as talk:
                model.play(
                    uses(ScriptedCall("hud", {"operation": "task.resume", "session": "ses_begun"})), says("done")
                )
                talk.say("Go on, please.")
                state = self._state(place, talk)
            assert "ses_begun" in model.chats[0].text, "the base offers it"
            assert TASK in model.chats[-1].text and DECISION in model.chats[-1].text
            assert state.task.description == TASK
