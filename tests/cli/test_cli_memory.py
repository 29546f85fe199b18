"""`hudkit memory` on recorded transcripts of three hosts and on a log of ours."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hudkit import Hud
from hudkit.cli.demo import unpack_orchard
from jsonl_samples import SESSION, write_claude, write_codex


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    folder.chmod(0o700)
    unpack_orchard(folder / "opencode")
    write_claude(folder / "claude")
    write_codex(folder / "codex")
    with Hud.open(folder / "hudkit.db") as hud:
        s = hud.session("ses_own")
        s.start(title="Our own")
        s.call("decisions.record", {"summary": "Quarry stone, not brick"})
        hud.session("ses_empty").start(title="Empty")
    return folder


@pytest.fixture
def memory(hudkit, home, monkeypatch):
    monkeypatch.setenv("HUDKIT_DATA", str(home))
    monkeypatch.setenv("HUDKIT_CONFIG", "")
    options = ("--opencode", home / "opencode" / "orchard.db", "--claude", home / "claude", "--codex", home / "codex")
    return lambda *argv: hudkit("memory", *argv, *options, "--db", home / "hudkit.db")


@pytest.mark.slow
def test_every_host_is_searched(memory):
    for words, host in (
        ("frost limit", "opencode"),
        ("kiln overshoots", "claude-code"),
        ("loom thread", "codex"),
        ("quarry brick", "hudkit"),
    ):
        code, out, err = memory("search", words, "--json", "--limit", 3)
        assert (code, err) == (0, "")
        assert json.loads(out)["messages"][0]["host"] == host
    code, out, _ = memory("search", "tension", "--tool", "shell", "--since", "2026-04-01", "--project", "loom")
    assert code == 0 and SESSION in out and "tension = 3" in out


@pytest.mark.slow
def test_lists_transcripts_and_counts(memory):
    code, out, _ = memory("summary", "--json")
    found = json.loads(out)
    assert code == 0 and found["schema"] == 1
    assert found["hosts"] == {"opencode": 5, "claude-code": 2, "codex": 1, "hudkit": 2}
    code, out, _ = memory("sessions", "--host", "codex")
    assert code == 0 and SESSION in out and "orchard" not in out
    code, out, _ = memory("index", "--json")
    assert code == 0 and json.loads(out)["read"] == 0
    assert "orchard/frost.py" in memory("compare", "ses_e06196b1", "ses_e06185e4")[1]
    code, out, _ = memory("messages", "ses_e06196b1", "--limit", 2, "--json")
    (first, second) = json.loads(out)["messages"]
    code, out, _ = memory("message", "ses_e06196b1", second["id"])
    assert code == 0 and second["text"][:40] in out
    assert memory("compactions", "ses_e06196b1", 1)[1].startswith("Compaction 1 of 2")
    assert first["id"] in memory("messages", "ses_e06196b1", "--before", second["id"], "--limit", 1)[1]


def test_a_session_is_exported_with_what_was_said(memory):
    code, out, _ = memory("export", "ses_own", "--transcript", "--json")
    facts = json.loads(out)
    assert code == 0 and Path(facts["markdown"]).read_text().startswith("# ")
    assert facts["messages"] == len(json.loads(Path(facts["path"]).read_text())["transcript"]) > 0


def test_a_session_is_exported_and_imported(memory):
    code, out, _ = memory("export", "ses_own", "--json")
    assert code == 0
    name = json.loads(out)["name"]
    assert memory("import", name, "ses_empty")[0] == 0
    code, _, err = memory("import", name, "ses_own")
    assert code == 2 and "items of its own" in err
    assert memory("import", "../hudkit", "ses_empty")[0] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("messages",), "needs session"),
        (("search",), "needs words"),
        (("compactions", "s", "x"), "given by its number"),
        (("sessions", "--role", "user"), "takes no --role"),
        (("messages", "nope"), "there is no session"),
        (("search", "a AND (", "--syntax"), "cannot be read"),
        (("search", "x", "--since", "soon"), "is not a time"),
        (("compare", "a", "b", "c"), "takes 2 words"),
    ],
)
def test_what_is_wrong_is_said(memory, argv, said):
    code, out, err = memory(*argv)
    assert code == 2 and said in err and not out and len(err) < 500


def test_a_transcript_that_cannot_be_read_is_passed_over(hudkit, home, tmp_path, monkeypatch):
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path))
    torn = tmp_path / "torn.db"
    torn.write_bytes((home / "opencode" / "orchard.db").read_bytes()[:50_000])
    code, out, err = hudkit(
        "memory", "search", "loom", "--opencode", torn, "--codex", home / "codex", "--claude", home / "claude"
    )
    assert code == 1 and "loom" in out and "opencode is skipped" in err
    code, _, err = hudkit("memory", "search", "loom", "--opencode", tmp_path / "absent")
    assert code == 2 and "there is nothing at" in err


@pytest.mark.slow
def test_nothing_of_a_host_is_changed(memory, home):
    before = {
        path: (path.stat().st_mtime_ns, path.stat().st_size) for path in home.rglob("*") if "hudkit" not in path.name
    }
    shutil.rmtree(home / "exports", ignore_errors=True)
    memory("index")
    after = {
        path: (path.stat().st_mtime_ns, path.stat().st_size) for path in home.rglob("*") if "hudkit" not in path.name
    }
    assert {path for path in after if path.is_file()} - set(before) == set()
    assert all(before[path] == state for path, state in after.items() if path.is_file())
