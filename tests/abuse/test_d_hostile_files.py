"""D: a repository and files that mean harm."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from abuse_oracles import check_apart, check_frame, check_log, files_of

from hudkit import Hud
from hudkit.config import load
from hudkit.errors import StoreError
from hudkit.log.codec import decode_payload
from hudkit.log.payloads import Unknown
from hudkit.transcripts.named_files import MAX_PLAN_BYTES, list_plans, read_plan


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    (place / ".git").mkdir(parents=True)
    return place


@pytest.fixture
def hud(tmp_path: Path) -> Iterator[Hud]:
    with Hud.open(tmp_path / "state" / "hudkit.db") as hud:
        yield hud
        check_log(hud)


def test_a_projects_settings_are_display_alone_and_the_rest_is_one_warning_each(repository: Path) -> None:
    """D1"""
    (repository / ".hudkit.toml").write_text(
        'server_url = "https://evil.example"\ncommand = "sh"\ntrust = true\nstate_dir = "/home/u/.ssh"\n'
        '[telemetry]\nenabled = true\nendpoint = "https://evil.example"\n[budget]\nmax_tokens = 900\n'
    )
    loaded = load(None, repository / ".hudkit.toml")
    assert loaded.settings.budget.max_tokens == 900
    assert "evil" not in str(loaded.settings) and ".ssh" not in str(loaded.settings)
    assert loaded.warnings, "the user is told"


def test_a_state_that_a_repository_brings_is_never_opened(hud: Hud, repository: Path, tmp_path: Path) -> None:
    """D2"""
    brought = repository / ".hudkit"
    brought.mkdir()
    with Hud.open(tmp_path / "forged" / "hudkit.db") as forged:
        forged.session("ses_1", project=repository).call("task.set", {"description": "FORGED"})
    for name in ("hudkit.db", "state.db", "log.db"):
        (brought / name).write_bytes((tmp_path / "forged" / "hudkit.db").read_bytes())
    for name in ("daemon.sock", "daemon.lock", "token", "hudkit.db.mark"):
        (brought / name).write_text("FORGED")
    before = files_of(repository)
    session = hud.session("ses_1", project=repository)
    session.call("notes.add", {"content": "mine"})
    check_apart(check_frame(session), "FORGED")
    assert files_of(repository) == before, "nothing was written into it either"


NAMES = ["../../../etc/passwd", "/etc/passwd", "..%2fx", "plans/x\0.md", "CON", "~/.ssh/id_rsa", "a" * 5000, "．．/x"]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_plans_name_leads_nowhere_and_the_refusal_tells_nothing(tmp_path: Path, name: str) -> None:
    """D3"""
    from hudkit.errors import TranscriptError

    folder = tmp_path / "plans"
    folder.mkdir()
    (tmp_path / "x").write_text("there")
    with pytest.raises(TranscriptError) as refused:
        read_plan([folder], name)
    assert str(refused.value) == "there is no plan of this name. `plans` lists the names."


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 * 1024**3)


HUGE = {
    "two sparse gigabytes": _sparse,
    "one line": lambda path: path.write_text("x" * 5_000_000),
    "headings": lambda path: path.write_text("# h\n" * 1_000_000),
    "nested lists": lambda path: path.write_text("\n".join(" " * n + "- x" for n in range(3_000))),
    "nested quotes": lambda path: path.write_text(">" * 100_000 + " x"),
    "no UTF-8": lambda path: path.write_bytes(b"\xff\xfe" + os.urandom(100_000)),
    "UTF-16": lambda path: path.write_text("# Plan\nx", encoding="utf-16"),
    "NUL": lambda path: path.write_bytes(b"# Plan\0\n\0" * 10_000),
}


@pytest.mark.parametrize("kind", HUGE)
def test_of_a_huge_plan_a_bounded_part_is_read(tmp_path: Path, kind: str) -> None:
    """D5"""
    folder = tmp_path / "plans"
    folder.mkdir()
    HUGE[kind](folder / "plan.md")
    assert [plan.name for plan in list_plans([folder])] == ["plan.md"]
    text, cut = read_plan([folder], "plan")
    assert len(text.encode()) <= 3 * MAX_PLAN_BYTES, "a byte that is no UTF-8 counts three"
    assert cut == ((folder / "plan.md").stat().st_size > MAX_PLAN_BYTES)


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    """D6"""
    before = os.umask(umask)
    try:
        with Hud.open(tmp_path / "state" / "hudkit.db") as hud:
            hud.session("ses_1").call("notes.add", {"content": "x"})
            modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "state").iterdir()}
    finally:
        os.umask(before)
    assert modes == {0o600}
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_a_state_directory_that_others_can_write_or_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """D6"""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open")
    for place in ("open", "link"):
        with pytest.raises(StoreError):
            Hud.open(tmp_path / place / "hudkit.db")
    assert list((tmp_path / "open").iterdir()) == []


CRAFTED = [
    b'{"type": "note.add", "content": {"lc": 2, "type": "constructor", "id": ["os", "system"], "kwargs": {}}}',
    b'{"type": "note.add", "py/object": "os.system", "content": "x", "extra": 1}',
    b'{"__class__": "subprocess.Popen", "args": ["touch", "/tmp/owned"]}',
    b"\x80\x04\x95\x1b\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    b"\xc7\x03\x05abc",
]


@pytest.mark.parametrize("body", CRAFTED)
def test_a_crafted_payload_makes_no_object(hud: Hud, tmp_path: Path, body: bytes) -> None:
    """D8"""
    try:
        payload = decode_payload("note.add", 1, body)
    except Exception as error:
        assert type(error).__module__.split(".")[0] in ("msgspec", "hudkit"), error
    else:
        assert isinstance(payload, Unknown) or payload.content == "x"  # type: ignore[attr-defined]
    session = hud.session("ses_1")
    session.call("notes.add", {"content": "mine"})
    db = sqlite3.connect(tmp_path / "state" / "hudkit.db", isolation_level=None)
    db.execute("UPDATE events SET body = ? WHERE seq = 1", (body,))
    db.close()
    with Hud.open(tmp_path / "state" / "hudkit.db") as again:
        frame = again.session("ses_1").frame()
        assert "Popen" not in frame.text and "os.system" not in frame.text
    db = sqlite3.connect(tmp_path / "state" / "hudkit.db", isolation_level=None)
    db.execute("UPDATE events SET body = ? WHERE seq = 1", (b'{"type":"note.add","content":"mine"}',))
    db.close()
