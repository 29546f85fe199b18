"""Every file that hudkit makes is in one list, by which redaction, the purge, doctor and a page go."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.hosts.gateway.conversations import ConversationBook
from hudkit.log import payloads as p
from hudkit.paths import OWN_FILES, own_files

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]

SECRET = "plum_dumpling_42"
SCRIPT = f"""
[[answer]]
calls = [{{ name = "bash", arguments = {{ command = "cat a.txt; seq 40000; printf 'plum_dump%s\\n' ling_42" }} }}]
[[answer]]
text = "I saw {SECRET}."
calls = [{{ name = "read", arguments = {{ path = "a.txt" }} }}]
[[answer]]
calls = [{{ name = "write", arguments = {{ path = "a.txt", content = "now {SECRET}" }} }},
  {{ name = "hud", arguments = {{ operation = "notes.add", text = "it is {SECRET}" }} }},
  {{ name = "memory", arguments = {{ operation = "export" }} }}]
[[answer]]
text = "Done."
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hudkit: Run) -> Path:
    """A home in which everything was used, with the secret wherever it can be."""
    for name in ("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HUDKIT_DB", "HUDKIT_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    data = tmp_path / "data"
    monkeypatch.setenv("HUDKIT_DATA", str(data))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (project / "a.txt").write_text(f"old {SECRET}")
    (tmp_path / "script.toml").write_text(SCRIPT)
    code, _, err = hudkit("run", "--yes", "--script", tmp_path / "script.toml", f"Use {SECRET}")
    assert (code, (project / "a.txt").read_text()) == (0, f"now {SECRET}"), err
    assert hudkit("memory", "search", "plum")[0] == 0
    assert hudkit("rooms", "new", "hall")[0] == 0
    code, _, err = hudkit("rooms", "say", "Maren", f"The word is {SECRET}", "--world", "hall")
    assert code == 0, err
    with Hud.open(data / "hudkit.db") as hud:
        hud.session("ses_1").append(p.NoteAdd(f"again {SECRET}"))
    (data / "hudkit.db.v1.bak.123").write_bytes(b"old: " + SECRET.encode())
    (data / "hudkit.db.backup-20261123T010203Z").write_bytes((data / "hudkit.db").read_bytes())
    (data / "daemon.log").write_text(f"one\n{SECRET}\nthree\n")
    book = ConversationBook(data / "hudkit.gateway.db")
    book.add_round("g1", "m1", [json.dumps({"role": "tool", "content": f"Added note {SECRET}."}).encode()])
    book.close()
    (data / "exports").mkdir(exist_ok=True)
    (data / "exports/ses_9.json").write_text(json.dumps({"notes": [f"x {SECRET} y"], "n": 1}))
    (data / "exports/ses_9.md").write_text(f"# Words\n\n      {SECRET} said\n")
    (data / "frames").mkdir()
    (data / "frames/ses_1.json").write_text(json.dumps({"base": f"- again {SECRET}"}))
    (data / "frames/ses_2.json").write_text(json.dumps({"base": "- nothing of it"}))
    for name in ("token", "mcp-token", "worlds/page-token", "trusted-plugins", "trusted-sections"):
        (data / name).write_text("x")
    return tmp_path


def holders(data: Path) -> list[str]:
    return sorted(
        str(path.relative_to(data))
        for path in data.rglob("*")
        if path.is_file() and SECRET.encode() in path.read_bytes()
    )


def secret_file(home: Path) -> Path:
    file = home / "secret.txt"
    file.write_text(SECRET)
    return file


def test_redaction_reaches_every_file_or_names_it_and_exits_with_one(home: Path, hudkit: Run) -> None:
    data = home / "data"
    before = holders(data)
    assert {
        "hudkit.db",
        "hudkit.search.db",
        "sessions.db",
        "requests.db",
        "hudkit.gateway.db",
        "worlds/hall.db",
        "daemon.log",
        "exports/ses_9.json",
        "exports/ses_9.md",
        "frames/ses_1.json",
    } <= {name.removesuffix("-wal") for name in before}
    code, out, err = hudkit("redact", "--text-file", secret_file(home), "--json")
    facts = json.loads(out)
    copies = ["hudkit.db.backup-20261123T010203Z", "hudkit.db.v1.bak.123"]
    assert (code, err, [Path(file).name for file in facts["files"]]) == (1, "", copies)
    assert holders(data) == copies
    assert {Path(file).name for file in facts["others"]} >= {
        *("sessions.db", "requests.db", "hudkit.gateway.db", "hall.db", "daemon.log")
    }
    assert [path.name for path in (data / "frames").iterdir()] == ["ses_2.json"]
    for name in copies:
        (data / name).unlink()
    assert hudkit("redact", "--text-file", secret_file(home))[0] == 0
    assert json.loads((data / "exports/ses_9.json").read_text()) == {"notes": ["x [redacted] y"], "n": 1}
    assert (data / "daemon.log").read_text() == "one\n[redacted]\nthree\n"
    assert (data / "exports/ses_9.md").read_text() == "# Words\n\n[redacted]\n"


def test_what_was_redacted_is_still_read(home: Path, hudkit: Run) -> None:
    from hudkit.agent.request_log import RequestLog
    from hudkit.agent.session_store import SessionStore

    data = home / "data"
    for copy in ("hudkit.db.backup-20261123T010203Z", "hudkit.db.v1.bak.123"):
        (data / copy).unlink()
    (output,) = (data / "outputs").iterdir()
    before = output.read_text().splitlines()
    assert hudkit("redact", "--text-file", secret_file(home))[0] == 0
    with SessionStore.open(data / "sessions.db", read_only=True) as store:
        (session,) = store.sessions()
    requests = list(RequestLog(data / "requests.db").requests(session.id))
    lines = output.read_text().splitlines()
    assert (lines[0], lines[1:-1], lines[-1]) == ("[redacted]", before[1:-1], "[redacted]") and len(lines) == 40_001
    assert len(requests) == 4 and "[redacted]" in str(requests) and SECRET not in str(requests)
    assert hudkit("verify")[0] == 0
    assert hudkit("rooms", "show", "--world", "hall")[0] == 0


def test_contents_of_changed_files_are_forgotten_where_they_held_it(home: Path, hudkit: Run) -> None:
    import sqlite3

    database = home / "data/sessions.db"

    def contents() -> list[bytes]:
        with sqlite3.connect(database) as db:
            return [zlib.decompress(raw) for (raw,) in db.execute("SELECT raw FROM contents")]

    assert contents() == [f"old {SECRET}".encode()]
    hudkit("redact", "--text-file", secret_file(home))
    assert contents() == []


def test_a_purged_home_is_empty(home: Path, hudkit: Run) -> None:
    data = home / "data"
    hudkit("install", "opencode", "--anyway")
    unlisted = {path for path in data.rglob("*") if path.is_file()} - {
        path for _, path in own_files(data, data / "hudkit.db")
    }
    assert unlisted == set(), "a file that hudkit made is not in the list"
    code, out, _ = hudkit("uninstall", "opencode", "--purge")
    assert (code, data.exists()) == (0, False), (out, list(data.rglob("*")))


@pytest.mark.parametrize("existing", ["", ".config"])
def test_a_purge_takes_the_settings_that_nobody_changed(
    tmp_path: Path, hudkit: Run, monkeypatch: pytest.MonkeyPatch, existing: str
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "HUDKIT_DATA", "HUDKIT_DB", "HUDKIT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    home, project = tmp_path / "home", tmp_path / "project"
    (home / existing).mkdir(parents=True)
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(home))
    before = set(home.rglob("*"))
    assert hudkit("config", "init")[0] == 0
    (settings,) = home.rglob("config.toml")
    code, out, _ = hudkit("uninstall", "opencode", "--purge", "--dry-run")
    assert (code, f"# remove {settings}" in out, settings.exists()) == (0, True, True)
    assert hudkit("uninstall", "opencode", "--purge")[0] == 0
    assert set(home.rglob("*")) == before


def test_a_purge_leaves_and_names_settings_of_the_user(
    home: Path, hudkit: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = home / "settings/config.toml"
    monkeypatch.setenv("HUDKIT_CONFIG", str(settings))
    assert hudkit("config", "init")[0] == 0
    text = settings.read_text() + "window = 50000\n"
    settings.write_text(text)
    code, out, _ = hudkit("uninstall", "opencode", "--purge")
    assert (code, settings.read_text()) == (0, text)
    assert f"as it was  {settings}" in out


def test_a_purge_leaves_what_is_not_ours(home: Path, hudkit: Run) -> None:
    data = home / "data"
    theirs = [data / "exports/mine.txt", data / "hudkit.database", data / "worlds/notes.md"]
    for path in theirs:
        path.write_text("mine")
    hudkit("uninstall", "opencode", "--purge")
    assert sorted(path for path in data.rglob("*") if path.is_file()) == sorted(theirs)


def test_doctor_sees_a_file_that_others_can_read(home: Path, hudkit: Run) -> None:
    (home / "data/sessions.db").chmod(0o644)
    assert "sessions.db" in hudkit("doctor")[1]


def test_the_page_tells_every_file_and_what_redaction_does_with_it() -> None:
    page = Path(__file__).parents[2].joinpath("SECURITY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \| (\w+) \|$", page, re.MULTILINE)
    assert rows == [(kind.pattern, kind.content, kind.redaction) for kind in OWN_FILES]
