"""`hudkit sessions`: what a person does with the sessions of our own agent."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from hudkit.agent.records import StoredCall, StoredMessage, StoredSession, StoredText
from hudkit.agent.session_store import SessionStore
from terminal_harness import Desk, Run

SECRET = "sk-ant-api03-" + "Zk9" * 31 + "AA"
BASH = {"calls": [{"name": "bash", "arguments": {"command": "echo kiln && seq 1 3"}}]}
DONE = {"text": "The **kiln** is free.\n\n- cone 6\n- cone 10"}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An empty home and an empty project."""
    made = Desk(tmp_path)
    monkeypatch.chdir(made.project)
    for name in ("HOME", "HUDKIT_DATA", "HUDKIT_CONFIG"):
        monkeypatch.setenv(name, made.env[name])
    return made


def worked(desk: Desk, hudkit: Run, prompt: str, *more: object) -> str:
    """Let the agent answer a prompt, and return the id of its session."""
    code, out, err = hudkit("run", "--json", "--yes", "--script", desk.script(BASH, DONE), prompt, *more)
    assert code == 0, err
    return str(json.loads(out.splitlines()[0])["session"])


def test_without_any_sessions_it_says_how_to_begin(desk: Desk, hudkit: Run) -> None:
    for words in ((), ("search", "kiln"), ("export",)):
        code, out, err = hudkit("sessions", *words)
        assert (code, out) == (2, "") and "there are no sessions" in err and "hudkit run" in err
    assert not desk.data.exists() or not list(desk.data.iterdir())


@pytest.mark.slow
def test_sessions_are_listed_with_what_a_person_knows_them_by(desk: Desk, hudkit: Run) -> None:
    first = worked(desk, hudkit, "Find a free kiln")
    second = worked(desk, hudkit, "Order some clay")
    code, out, err = hudkit("sessions")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == [second, first], "the newest first"
    assert "3 messages" in out and "Find a free kiln" in out
    code, out, _ = hudkit("sessions", "--json")
    rows = json.loads(out)["sessions"]
    assert [row["title"] for row in rows] == ["Order some clay", "Find a free kiln"]
    assert rows[1] | {"messages": 3, "model": "script:script.jsonl", "directory": str(desk.project)} == rows[1]
    short = rows[1]["short_id"]
    assert len(short) < len(first) and first.endswith(short)
    titles = [json.loads(hudkit("sessions", *words, "--json")[1])["total"] for words in FILTERS]
    assert titles == [1, 2, 0, 2, 0, 2, 0, 0]
    code, out, _ = hudkit("sessions", "export", short)
    assert code == 0 and out.startswith("# Find a free kiln\n"), "the short id names it"


FILTERS = (
    ("list", "clay", "ORDER"),
    ("--project", "."),
    ("--project", "elsewhere"),
    ("--model", "script"),
    ("--model", "claude"),
    ("--since", "1h"),
    ("--until", "1h"),
    ("--since", "2999-01-01"),
)


@pytest.mark.slow
def test_words_are_found_in_our_own_sessions_only(desk: Desk, hudkit: Run) -> None:
    session = worked(desk, hudkit, "Find a free kiln")
    worked(desk, hudkit, "Order some clay", "--no-hud")
    code, out, err = hudkit("sessions", "search", "free", "kiln", "--json")
    hits = json.loads(out)["hits"]
    assert (code, err) == (0, "") and session in [hit["session"] for hit in hits]
    assert all("hudkit/" not in hit["session"] and hit["session"].startswith("ses_") for hit in hits)
    code, out, _ = hudkit("sessions", "search", "find")
    assert "Find a free kiln" in out and out.split()[0] in session
    assert hudkit("sessions", "search", "zeppelin")[1] == "Nothing found.\n"
    code, _, err = hudkit("sessions", "search")
    assert code == 2 and "needs words" in err


def stored(desk: Desk) -> None:
    """A session whose words want to be more than words, with a sub-agent's."""
    desk.data.mkdir(mode=0o700)
    hostile = '<script>alert(1)</script> <img src="http://198.51.100.7/x"> [a](javascript:alert(2))'
    with SessionStore.open(desk.data / "sessions.db") as store:
        store.create(StoredSession("ses_one", directory="/work", title=f"Use {SECRET}", model="m:x", created=10))
        store.put(StoredMessage("msg_1", "ses_one", "user", 11, parts=(StoredText("prt_1", f"key {SECRET}"),)))
        answer = StoredMessage("msg_2", "ses_one", "assistant", 12, parent_id="msg_1", model="m:x")
        call = StoredCall("prt_3", "bash", "call_1", "running", {"command": f"echo {SECRET}"}, started=12)
        store.put(StoredMessage(**{**_fields(answer), "parts": (StoredText("prt_2", hostile), call)}))
        ended = StoredCall("prt_3", "bash", "call_1", "completed", call.arguments, f"{SECRET}\n{hostile}", started=12)
        store.put_parts("ses_one", "msg_2", [replace(ended, metadata={"exit": 3})])
        store.put(StoredMessage(**{**_fields(answer), "finish": "stop", "completed": 13}))
        child = StoredSession("ses_two", parent_id="ses_one", title="Look", created=12, asked_by="msg_2")
        store.create(child)
        store.put(StoredMessage("msg_3", "ses_two", "user", 12, parts=(StoredText("prt_4", "look around"),)))


def _fields(message: StoredMessage) -> dict[str, object]:
    return {name: getattr(message, name) for name in message.__struct_fields__}


@pytest.mark.parametrize("format", ["markdown", "jsonl", "html"])
def test_an_export_is_one_private_file_without_secrets(desk: Desk, hudkit: Run, format: str) -> None:
    stored(desk)
    file = desk.project / "session.out"
    code, out, err = hudkit("sessions", "export", "ses_one", "--format", format, "--output", file)
    assert (code, out, err) == (0, f"ses_one is in {file}\n", "")
    text = file.read_text()
    assert SECRET not in text and "look around" in text and "echo " in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and list(desk.project.iterdir()) == [file]
    code, _, err = hudkit("sessions", "export", "ses_one", "--output", file)
    assert code == 2 and "there is a file" in err and file.read_text() == text
    code, out, _ = hudkit("sessions", "export", "ses_one", "--format", format, "--with-secrets")
    assert code == 0 and SECRET in out


def test_json_lines_hold_every_message_and_part(desk: Desk, hudkit: Run) -> None:
    stored(desk)
    lines = [
        json.loads(line) for line in hudkit("sessions", "export", "ses_one", "--format", "jsonl")[1].splitlines()
    ]
    assert [(line["kind"], line["id"]) for line in lines] == [
        ("session", "ses_one"),
        ("message", "msg_1"),
        ("message", "msg_2"),
        ("session", "ses_two"),
        ("message", "msg_3"),
    ]
    assert lines[0]["schema"] == 1 and lines[2]["parts"][1]["status"] == "completed"


def test_the_page_runs_nothing_and_loads_nothing(desk: Desk, hudkit: Run) -> None:
    stored(desk)
    page = hudkit("sessions", "export", "ses_one", "--format", "html")[1]
    assert page.startswith("<!doctype html>") and "default-src 'none'" in page
    tags = set(re.findall(r"<([a-z0-9]+)", page))
    assert not tags & {"script", "img", "link", "iframe", "form", "object", "a"}
    assert not re.findall(r"<[^>]*(?:\ssrc=|\shref=|\son[a-z]+=|url\()", page)
    assert '<span class="badge error">exit code 3</span>' in page
    assert "&lt;script&gt;" in page and "Sub-agent: Look" in page


@pytest.mark.hosts
@pytest.mark.slow
def test_a_browser_shows_the_page(desk: Desk, hudkit: Run) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium")
        pytest.skip("there is no Chromium")
    stored(desk)
    page = desk.project / "session.html"
    assert hudkit("sessions", "export", "ses_one", "--format", "html", "--output", page)[0] == 0
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={desk.folder / 'chromium'}"]
    shown = subprocess.run([*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    assert "Sub-agent: Look" in shown.stdout and "<details" in shown.stdout


def test_what_is_meant_must_be_one_session(desk: Desk, hudkit: Run) -> None:
    stored(desk)
    code, _, err = hudkit("sessions", "export", "ses_")
    assert code == 2 and "2 sessions match" in err and "ses_two" in err and SECRET not in err
    code, _, err = hudkit("sessions", "export", "nothing")
    assert code == 2 and "no sessions match" in err
    code, _, err = hudkit("sessions", "--format", "html")
    assert code == 2 and "takes no --format" in err


@pytest.mark.slow
def test_a_fork_is_made_and_gone_on_with(desk: Desk, hudkit: Run) -> None:
    session = worked(desk, hudkit, "Find a free kiln")
    asked = desk.messages()[1].id
    code, out, err = hudkit("sessions", "fork", session, "--at", asked[-8:], "--json")
    assert (code, err) == (0, "")
    fork = json.loads(out)
    assert fork | {"fork_of": session, "messages": 2, "title": "Find a free kiln (fork)"} == fork
    script = desk.script({"text": "Another end."})
    code, out, err = hudkit("run", "--session", fork["session"], "--script", script, "Go on")
    assert (code, out) == (0, "Another end.\n"), err
    counts = {row["id"]: row["messages"] for row in json.loads(hudkit("sessions", "--json")[1])["sessions"]}
    assert counts == {session: 3, fork["session"]: 4}
    code, _, err = hudkit("sessions", "fork", session, "--at", "nothing")
    assert code == 2 and "no messages match" in err


@pytest.mark.slow
def test_a_session_is_deleted_only_when_it_is_wanted(desk: Desk, hudkit: Run) -> None:
    session, other = worked(desk, hudkit, "Find a free kiln"), worked(desk, hudkit, "Order some clay")
    code, _, err = hudkit("sessions", "delete", session)
    assert code == 2 and "nobody is there to be asked" in err and "--yes" in err
    assert hudkit("sessions", "delete", "--yes")[0] == 2, "it must be named"
    hudkit("sessions", "search", "kiln")
    code, out, err = hudkit("sessions", "delete", session, "--yes")
    assert (code, err) == (0, "") and out.startswith(f'deleted: {session} "Find a free kiln", 3 messages')
    assert [row["id"] for row in json.loads(hudkit("sessions", "--json")[1])["sessions"]] == [other]
    assert json.loads(hudkit("sessions", "search", "find", "--json")[1])["hits"] == []
    assert "Find a free kiln" in hudkit("show", session)[1], "the log of its HUD stays"
    code, out, _ = hudkit("sessions", "delete", other, "--yes", "--hud", "--json")
    assert json.loads(out) == {"schema": 1, "deleted": [other], "hud": True}
    assert "Order some clay" not in hudkit("show", other)[1] and hudkit("verify")[0] == 0


@pytest.mark.slow
def test_a_deletion_that_was_cut_off_goes_on_with_the_next_look(desk: Desk, hudkit: Run) -> None:
    session = worked(desk, hudkit, "Find a free kiln")
    hudkit("sessions", "search", "kiln")
    with SessionStore.open(desk.data / "sessions.db") as store:
        store.begin_deletion(session, hud=True)
    with sqlite3.connect(desk.data / "hudkit.search.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")  # another process writes the index for longer than anybody waits
        code, out, err = hudkit("sessions")
        assert (code, out) == (0, "") and "goes on the next time" in err
    other.close()
    assert hudkit("sessions") == (0, "", "")
    files = [path for path in desk.data.rglob("*") if path.is_file() and b"free kiln" in path.read_bytes()]
    assert files == []


@pytest.mark.slow
def test_old_sessions_go_where_the_settings_say_so(desk: Desk, hudkit: Run) -> None:
    code, _, err = hudkit("sessions", "trim")
    assert code == 2 and "there is no limit" in err
    session = worked(desk, hudkit, "Find a free kiln")
    with sqlite3.connect(desk.data / "sessions.db") as db:
        db.execute("UPDATE sessions SET body = replace(body, json_extract(body, '$.updated'), '1000')")
    db.close()
    assert json.loads(hudkit("sessions", "trim", "--keep-megabytes", "50", "--json")[1])["deleted"] == []
    desk.config.write_text("[session]\nkeep_days = 30\n")
    second = worked(desk, hudkit, "Order some clay")
    assert [row["id"] for row in json.loads(hudkit("sessions", "--json")[1])["sessions"]] == [second] != [session]
    assert hudkit("sessions", "trim")[1] == "0 sessions deleted\n"
