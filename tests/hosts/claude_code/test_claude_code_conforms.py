"""Real Claude Code with the plugin passes the suite that every host passes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID, uuid5

import msgspec
import pytest
from claude_host import TOO_LONG, ClaudeCode, Data

from campaigns import HOST_DAYS
from hudkit.context.caching import CallCost
from hudkit.models.scripted_answers import Answer, ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.host_conformance import DECISION, FULL_WINDOW_TOKENS, TASK, HostConformance, HostWorkspace
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

_NAMES = UUID("5e551000-0000-4000-8000-000000000000")
_TOOLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "read": ("Read", {"path": "file_path"}),
    "write": ("Write", {"path": "file_path"}),
    "edit": ("Edit", {"path": "file_path", "old": "old_string", "new": "new_string"}),
    "run": ("Bash", {}),
}


class Talk:
    def __init__(self, host: ClaudeCode) -> None:
        self.id = host.session
        self.host = host

    def say(self, text: str) -> str:
        return self.host.say(text)


class TestClaudeCode(HostConformance):
    host = "claude-code"
    shape = "anthropic"
    keeps_texts = True
    small_window = large_window = (200_000, 8_000)
    most_cost = ((7, 1.05), (20, 1.03))
    turns = HOST_DAYS.rounds
    cannot: ClassVar[dict[str, str]] = {
        "compaction tools": "Claude Code refuses a compaction while a turn runs; the person has /compact"
    }
    remaining_tokens = "ours"

    @pytest.fixture(autouse=True)
    def _installed(self, claude_code_installed: Path) -> None:
        """Claude Code is there."""

    @contextmanager
    def _at(self, folder: Path, **given: Any) -> Iterator[tuple[HostWorkspace, ScriptedModel]]:
        given.setdefault("compaction", says("done"))
        given["compaction"] = self.summary(given["compaction"].text)
        with super()._at(folder, **given) as (place, model):
            yield place, model
            Data(place.log.parent).stop()
            shutil.rmtree(place.log.parent, ignore_errors=True)

    def place(self, folder: Path, project: Path, url: str, limit: tuple[int, int]) -> HostWorkspace:
        data = Path(tempfile.mkdtemp(prefix="hk"))  # short, for the socket
        (data / "config.toml").write_text(f'[claude_code]\nremaining_tokens = "{self.remaining_tokens}"\n')
        return HostWorkspace(project, data / "hudkit.db", folder, url, limit)

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[Talk]:
        data = Data(place.log.parent)
        id = str(uuid5(_NAMES, f"{place.folder}/{session}"))
        home = place.folder / session  # several at once do not share a home
        begun = bool(list(home.glob(f".claude/projects/*/{id}.jsonl")))
        (place.project / "CLAUDE.md").write_text(place.instructions)
        env = {"HUDKIT_CONFIG": str(data.folder / "config.toml")}
        plugin = data.write_plugin() if hud else None
        with ClaudeCode(home, place.project, place.url, id, plugin=plugin, resume=begun, env=env) as host:
            yield Talk(host)

    def call(self, what: str, **arguments: Any) -> ScriptedCall:
        name, names = _TOOLS[what]
        return ScriptedCall(name, {names.get(key, key): value for key, value in arguments.items()})

    def router_call(self, router: str, arguments: Mapping[str, Any] | str) -> ScriptedCall:
        return ScriptedCall(f"mcp__hudkit__{router}", arguments)

    def fill_window(self, reply: ScriptedReply) -> Sequence[Answer]:
        usage = CallCost(0, 0, self.tokens(FULL_WINDOW_TOKENS), 50)
        return (msgspec.structs.replace(reply, usage=usage), TOO_LONG)

    def summary(self, text: str) -> ScriptedReply:
        return says(f"<analysis>It was long.</analysis><summary>{text}</summary>")

    def settle(self, talk: Any) -> None:
        """The end of a turn is told without waiting; a command of ours reads the session's file first."""
        talk.host.settle()

    def delegate(self, prompt: str) -> ScriptedCall:
        look = {"description": "look", "prompt": prompt, "subagent_type": "general-purpose"}
        return ScriptedCall("Agent", {**look, "run_in_background": False})

    def _path(self, place: HostWorkspace, name: str) -> str:
        return str(place.project / name)

    def test_a_session_of_another_host_is_resumed(self, tmp_path: Path) -> None:
        """By the agent, as the frame of a new session offers it."""
        with self._at(tmp_path) as (place, model):
            self._begun(place)
            with self.open(place, "s1") as talk:
                model.play(uses(self.hud_call("task.resume", session="ses_begun")), says("done"))
                talk.say("Go on, please.")
                model.play(says("done"))
                talk.say("And now?")
                state = self._state(place, talk)
            assert "ses_begun" in model.chats[0].text, "the base offers it"
            assert TASK in model.chats[-1].text and DECISION in model.chats[-1].text
            assert state.task.description == TASK
            assert any(link.relation == "resume" and link.session_id == "ses_begun" for link in state.session.links)
