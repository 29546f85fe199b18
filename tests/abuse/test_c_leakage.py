"""C: secrets in what is stored, and what one session learns of another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from abuse_oracles import check_apart, check_frame, check_log, check_refusal, fill

from hudkit import Hud
from hudkit.compose import visible
from hudkit.log.stores import open_log
from hudkit.transcripts import OwnTranscript
from hudkit.transcripts.search import open_past_sessions

# Built here, so that no file of the repository looks as if it held one.
SECRETS = {
    "aws": "AKIA" + "Q3EXAMPLE7ABCDEF"[:16],
    "openai": "sk-proj-" + "a1B2c3D4" * 6,
    "github": "ghp_" + "a1B2" * 9,
    "pem": "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA" * 4 + "\n-----END RSA PRIVATE KEY-----",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "password": "password=" + "Tr0ub4dor-and-3",
}


@pytest.fixture
def state_directory(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def hud(tmp_path: Path, state_directory: Path) -> Iterator[Hud]:
    nowhere = tmp_path / "nowhere"
    log = state_directory / "hudkit.db"
    with Hud.open(log) as made:
        made.session("ses_first").call("notes.add", {"content": "the log is there"})
    reader = open_log(log, read_only=True)
    index = state_directory / "hudkit.search.db"
    past = open_past_sessions(index, opencode=nowhere, claude=nowhere, codex=nowhere, also=(OwnTranscript(reader),))
    with Hud.open(log, past=past) as hud:
        yield hud
        check_log(hud)
    past.close()
    reader.close()


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.slow
def test_a_secret_is_in_no_file_whichever_way_it_came(hud: Hud, state_directory: Path, name: str) -> None:
    """C1"""
    secret = SECRETS[name]
    probe = secret.splitlines()[len(secret.splitlines()) // 2].removeprefix("password=")
    session = hud.session("ses_1")
    fill(session, f"use {secret} here")
    run = {"tool": "bash", "arguments": {"command": f"curl -H {secret}"}, "output": secret, "exit_status": 1}
    session.ingest(
        [
            {"id": "m1", "role": "user", "text": f"The key is {secret}. Never log it.", "time": 1_795_000_000_000},
            {"id": "m2", "role": "assistant", "text": secret, "time": 1_795_000_001_000, "tool_calls": [run]},
        ]
    )
    frame = check_frame(session)
    check_apart(frame, probe)
    session.tool("memory", {"tool": "search", "args": {"query": "key"}})
    session.tool("memory", {"tool": "export"})
    files = {path: path.read_bytes() for path in state_directory.rglob("*") if path.is_file()}
    assert len(files) >= 4, "the log, its write-ahead log, the mark and the index"
    assert not [path for path, body in files.items() if probe.encode() in body]


OTHER_IDS = ["*", "%", "_", "ses_%", "session:*", "ses_a*", "' OR 1=1 --", "ses_alph_", "../ses_a", "ses_a\0"]


@pytest.mark.slow
@pytest.mark.parametrize("asked", OTHER_IDS)
@pytest.mark.parametrize("operation", ["messages", "message", "compactions", "children", "output"])
def test_no_pattern_names_a_session(hud: Hud, asked: str, operation: str) -> None:
    """C3: a user's own sessions can be read by their ids; nothing else finds them."""
    hud.session("ses_alpha").call("notes.add", {"content": "the harvest is on Monday"})
    session = hud.session("ses_beta")
    session.call("notes.add", {"content": "mine"})
    answers = []
    for id in (asked, "ses_unknown"):
        arguments = {"session": id, "id": "x"} if operation in ("message", "output") else {"session": id}
        text = session.tool("memory", {"tool": operation, "args": arguments})
        check_refusal(text)
        assert "harvest" not in text and "ses_alpha" not in text
        answers.append(re.sub(r"[^a-z ]+", "", text.split(". ")[-1].replace(id, "").replace(visible(id), "")))
    assert answers[0] == answers[1], "as of a session that nobody has: nothing tells that there is one like it"
    check_apart(check_frame(session), "harvest")


@pytest.mark.slow
def test_what_is_of_another_session_is_in_no_page_of_ones_own(hud: Hud) -> None:
    """C3: a cursor, an event's number and a message's id of another session, and the numbers beside ones own."""
    other = hud.session("ses_alpha")
    for n in range(30):
        other.call("notes.add", {"content": f"the harvest is on Monday {n}"})
    other.ingest([{"id": "m_alpha", "role": "user", "text": "harvest it", "time": 1_795_000_000_000}])
    session = hud.session("ses_beta")
    session.call("notes.add", {"content": "mine"})
    session.ingest([{"id": "m_beta", "role": "user", "text": "hello", "time": 1_795_000_000_000}])
    for arguments in (
        *({"tool": "history", "args": {"before": n}} for n in (2, 5, 30, 31)),
        *({"tool": "message", "args": {"id": id}} for id in ("m_alpha", "1", "2", "m_beta2")),
        *({"tool": "messages", "args": {edge: "m_alpha"}} for edge in ("before", "after")),
        *({"tool": "hud", "args": {"operation": "notes.list", "skip": n}} for n in (0, 1, 29)),
    ):
        assert "harvest" not in session.tool("memory", arguments), arguments


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["*", "%", "session:*", "harv*", "har%", '"', "NEAR(a b)", "text:harvest"])
def test_a_search_takes_no_pattern(hud: Hud, asked: str) -> None:
    """C3"""
    hud.session("ses_alpha").call("notes.add", {"content": "the harvest is on Monday"})
    session = hud.session("ses_beta")

    def found(text: str, of: str) -> str:
        return session.tool("memory", {"tool": "search", "args": {"query": text, "session": of}})

    assert "Monday" in found("harvest", "ses_alpha"), "by its id, it is found"
    assert "Monday" not in found("harvest", asked)
    assert asked == "text:harvest" or "Monday" not in found(asked, "ses_beta")


def test_sessions_of_two_directories_of_one_name_are_apart(hud: Hud, tmp_path: Path) -> None:
    """C4"""
    sessions = []
    for parent in ("one", "two"):
        (tmp_path / parent / "app").mkdir(parents=True)
        session = hud.session("ses_1", project=tmp_path / parent / "app")
        session.call("notes.add", {"content": f"of {parent}"})
        sessions.append(session)
    (tmp_path / "link").symlink_to(tmp_path / "one" / "app")
    assert hud.session("ses_1", project=tmp_path / "link").id == sessions[0].id != sessions[1].id
    check_apart(check_frame(sessions[0]), "of two")
    check_apart(check_frame(sessions[1]), "of one")


def test_an_export_is_private_redacted_and_knows_nothing_of_the_environment(
    hud: Hud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C5"""
    monkeypatch.setenv("HUDKIT_ABUSE_CASE", "from-the-environment")
    session = hud.session("ses_1")
    fill(session, f"use {SECRETS['github']}")
    path = Path(json.loads(json.dumps(session.call("export").data))["path"])
    assert path.stat().st_mode & 0o777 == 0o600
    body = path.read_text()
    assert "a1B2a1B2" not in body and "from-the-environment" not in body and "[redacted:" in body
