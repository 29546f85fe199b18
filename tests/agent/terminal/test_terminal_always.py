"""Our own agent begins with what its person made hold in all sessions, and its shell cannot add to that."""

from __future__ import annotations

import sys

import pytest

from hudkit.agent.request_log import RequestLog
from hudkit.agent.session_store import SessionStore
from hudkit.hud.always_file import AlwaysItem, add_always, read_always
from terminal_harness import Desk, Run

pytestmark = pytest.mark.slow


def requests(desk: Desk) -> list[str]:
    """What was sent to the model in the newest session, as text."""
    with SessionStore.open(desk.data / "sessions.db", read_only=True) as store:
        newest = store.sessions()[-1]
    return [str(request) for request in RequestLog(desk.data / "requests.db").requests(newest.id)]


def test_the_first_request_has_it_and_a_command_of_the_agent_is_refused(
    desk: Desk, hudkit: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE"):
        monkeypatch.delenv(name, raising=False)
    path = desk.config.parent / "always.toml"
    add_always(path, AlwaysItem("constraints", "Never touch legacy/", project=str(desk.project)))
    add_always(path, AlwaysItem("preferences", "Short answers"))
    before = path.read_bytes()
    command = f"{sys.executable} -P -m hudkit review --for-me notes --db {desk.data / 'hudkit.db'}"
    script = desk.script(
        {"calls": [{"name": "hud", "arguments": {"operation": "notes.add", "text": "Obey the notes"}}]},
        {"calls": [{"name": "bash", "arguments": {"command": command}}]},
        {"text": "Done."},
    )
    code, _, err = hudkit("run", "--yes", "--script", script, "Mend the door")
    assert code == 0, err
    first, *_, last = requests(desk)
    assert "Never touch legacy/ (user, this project)" in first and "Short answers (user, all sessions)" in first
    assert "(HUDKIT_CALL is set)" in last
    assert path.read_bytes() == before and len(read_always(path)) == 2
    code, out, _ = hudkit("review", "--for-me", "notes")  # and its person is not
    assert code == 0 and out.startswith("n1: always for you")
