"""Commands that read a log read one on a server, and say what is wrong with the way to it in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.api import Hud
from postgres_server import Server

pytestmark = pytest.mark.slow
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def server_log(postgres: Server) -> str:
    url = postgres.new_log()
    with Hud.open(url) as hud:
        session = hud.session("ses_1")
        session.call("task.set", {"description": "Ship it"})
        session.frame(used_tokens=50_000, limit_tokens=200_000)
    return url


def test_show_log_and_verify_read_it(
    hudkit: Run, server_log: str, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Ship it" in hudkit("show", "--db", server_log)[1]
    assert "task.set" in hudkit("log", "ses_1", "--db", server_log)[1]
    code, out, err = hudkit("verify", "--db", server_log, "--json")
    assert (code, err, json.loads(out)["sessions"], json.loads(out)["findings"]) == (0, "", 1, [])
    monkeypatch.setenv("HUDKIT_DB", server_log)
    assert "ses_1" in hudkit("show", "--sessions")[1]
    postgres.sql(server_log, "UPDATE events SET turn = turn + 1 WHERE seq = 1")
    code, out, _ = hudkit("verify", "--db", server_log)
    assert code == 1 and "BAD   chain" in out and "session ses_1, event 1" in out


def test_what_is_wrong_is_one_line_without_the_password(hudkit: Run, postgres: Server, server_log: str) -> None:
    wrong = server_log.replace(postgres.password, "wrong-and-secret")
    for url, words in (
        (wrong, "took no password"),
        (wrong.replace(str(postgres.port), "1"), "no answer"),
        (postgres.address("nowhere"), "createdb nowhere"),
        (postgres.address(schema="empty"), "there is no log"),
        ("postgresql://a:wrong-and-secret@[", "cannot be read"),
    ):
        code, out, err = hudkit("log", "--db", url)
        assert (code, out, err.count("\n")) == (2, "", 1) and words in err, err
        assert "secret" not in err and postgres.password not in err


def test_commands_that_work_on_a_file_say_so(
    hudkit: Run, server_log: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, postgres: Server
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (("backup",), ("repair",), ("restore",), ("pin", "x"), ("mcp",), ("compactions",), ("watch",)):
        code, _, err = hudkit(*words, "--db", server_log)
        assert code == 2 and "works on a file" in err and postgres.password not in err, words
    monkeypatch.setenv("HUDKIT_DB", server_log)
    for words in (("backup",), ("repair",), ("pin", "x"), ("archive",), ("serve",)):
        code, _, err = hudkit(*words)
        assert code == 2 and "works on a file" in err and postgres.password not in err, words
    assert list(tmp_path.rglob("*")) == [], "no file has the URL in its name"
