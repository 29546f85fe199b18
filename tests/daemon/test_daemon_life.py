"""A daemon is the only one on its socket, starts on demand, gives way to a newer one, and ends when it should."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hudkit
from hudkit import paths
from hudkit.api import Hud
from hudkit.cli import main
from hudkit.cli.commands import build_parser
from hudkit.daemon import socket_path
from hudkit.daemon.client import DaemonConnection, ensure_running, greet, stop
from hudkit.errors import ConfigError, StoreUnsafe
from hudkit.hosts.wire import PROTOCOL, PROTOCOL_HEADER
from hudkit.log.stores import open_log
from waiting import PATIENCE, until

pytestmark = pytest.mark.slow


def gone(daemon: Any) -> bool:
    until(lambda: not daemon.socket.exists())
    return greet(daemon.socket) is None


def test_eight_clients_at_once_start_one_daemon(daemon: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: ensure_running(daemon.socket, db=daemon.db, idle=1), range(8)))
    assert len({there.pid for there in found}) == 1
    assert found[0].version == hudkit.__version__
    assert stop(daemon.socket) and gone(daemon)


def test_kill_9_in_mid_request_loses_nothing_that_was_acknowledged(daemon: Any) -> None:
    process = daemon.start()
    acknowledged: list[int] = []

    def write(first: int) -> None:
        connection = DaemonConnection(daemon.socket, 5)
        for n in range(first, 100_000, 4):
            body = (
                f'{{"host":"opencode","session":"s{first}","directory":"","router":"hud","arguments":'
                f'{{"tool":"notes.add","args":{{"content":"note {n}"}}}}}}'
            )
            try:
                status, _ = connection.exchange("/v1/tool", body.encode())
            except Exception:
                return
            assert status == 200
            acknowledged.append(n)

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(write, n) for n in range(4)]
        while len(acknowledged) < 60:
            time.sleep(0.005)
        process.kill()
        for each in running:
            each.result()
    with Hud.open(daemon.db) as hud:
        notes = {note.content for name in hud.sessions() for note in hud.session(name).state.notes}
        assert not list(hud.verify())
    assert {f"note {n}" for n in acknowledged} <= notes
    daemon.start()  # over the dead one's socket and lock


def test_it_ends_when_idle(daemon: Any) -> None:
    process = daemon.start("--idle", "0.01")
    assert process.wait(10) == 0
    assert not daemon.socket.exists()


@pytest.mark.parametrize("how", ["term", "request"])
def test_it_ends_gracefully(daemon: Any, how: str) -> None:
    process = daemon.start()
    daemon.ask("/v1/tool", router="hud", arguments={"tool": "task.set", "args": {"description": "Keep me"}})
    if how == "term":
        process.send_signal(signal.SIGTERM)
    else:
        assert daemon.sent("/v1/stop", b"{}") == (200, {"ok": True})
    assert process.wait(10) == 0
    assert not daemon.socket.exists()
    assert not daemon.db.with_name("hudkit.db-wal").exists()  # closed, not abandoned
    with Hud.open(daemon.db) as hud:
        assert hud.session(hud.sessions()[0]).state.task.description == "Keep me"
    log = daemon.db.with_name("daemon.log")
    assert log.stat().st_mode & 0o777 == 0o600
    assert "Keep me" not in log.read_text() and "ended" in log.read_text()


def test_what_is_under_way_is_answered_before_it_ends(daemon: Any) -> None:
    process = daemon.start()
    connection = DaemonConnection(daemon.socket, 10)
    body = b'{"host":"opencode","session":"s","directory":"","router":"hud","arguments":{"tool":"help"}}'
    connection.connect()
    head = f"POST /v1/tool HTTP/1.1\r\nhost: x\r\n{PROTOCOL_HEADER}: {PROTOCOL}\r\n"
    head += f"content-length: {len(body)}\r\n\r\n"
    connection.sock.sendall(head.encode() + body[:20])
    time.sleep(0.2)
    assert stop(daemon.socket)
    time.sleep(0.3)
    connection.sock.sendall(body[20:])
    got = b""
    while chunk := connection.sock.recv(65536):
        got += chunk
    assert got.startswith(b"HTTP/1.1 200") and b'"ok":true' in got
    assert process.wait(10) == 0


def test_a_stale_socket_is_replaced_and_a_file_is_not(daemon: Any) -> None:
    socket_path.prepare_directory(daemon.socket)
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(daemon.socket))
    dead.close()
    assert daemon.socket.exists() and greet(daemon.socket) is None
    process = daemon.start()
    assert daemon.socket.stat().st_mode & 0o777 == 0o600
    assert daemon.socket.parent.stat().st_mode & 0o777 == 0o700
    process.kill()
    process.wait()
    daemon.socket.unlink()
    daemon.socket.write_text("somebody's")
    with pytest.raises(ConfigError, match=r"did not start.*not a socket"):
        ensure_running(daemon.socket, db=daemon.db)
    assert daemon.socket.read_text() == "somebody's"


def test_a_place_that_is_not_ones_own_is_refused(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(real)
    with pytest.raises(StoreUnsafe, match="symbolic link"):
        ensure_running(tmp_path / "link" / "d.sock", db=tmp_path / "h.db")
    real.chmod(0o750)
    with pytest.raises(StoreUnsafe, match="entered by others"):
        ensure_running(real / "d.sock", db=tmp_path / "h.db")
    with pytest.raises(ConfigError, match="too long"):
        ensure_running(tmp_path / ("x" * 120) / "d.sock", db=tmp_path / "h.db")
    assert not list(real.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's directory")
def test_another_users_directory_and_connection_are_refused(daemon: Any, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o700)
    os.chown(foreign, 65534, 65534)
    with pytest.raises(StoreUnsafe, match="belongs to user 65534"):
        ensure_running(foreign / "d.sock", db=tmp_path / "h.db")
    daemon.start()
    code = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.settimeout(5)\n"
        "try:\n"
        "    s.connect(sys.argv[1]); s.sendall(b'GET /health HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n'); print(s.recv(99))\n"
        "except OSError as error:\n"
        "    print(type(error).__name__)"
    )

    def other() -> str:
        command = [sys.executable, "-c", code, str(daemon.socket)]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    assert other() == "PermissionError"  # the directory
    for path in (daemon.socket.parent.parent, daemon.socket.parent, daemon.socket):
        path.chmod(0o777)
    assert other() in ("ConnectionResetError", "BrokenPipeError", "b''")  # the credentials
    assert greet(daemon.socket) is not None


def test_an_older_daemon_gives_way_and_a_newer_one_serves(daemon: Any) -> None:
    older = daemon.start(version="0.0.9")
    daemon.ask("/v1/tool", router="hud", arguments={"tool": "task.set", "args": {"description": "Carried over"}})
    there = ensure_running(daemon.socket, db=daemon.db, idle=1)
    assert older.wait(10) == 0 and there.pid != older.pid and there.version == hudkit.__version__
    assert "Carried over" in daemon.ask("/v1/frame")["base"]
    assert ensure_running(daemon.socket, db=daemon.db).pid == there.pid
    newer = daemon.start(version="9.0.0")
    assert ensure_running(daemon.socket, db=daemon.db).pid == newer.pid  # an older client is served
    assert "Carried over" in daemon.ask("/v1/frame")["base"]
    second = [sys.executable, "-m", "hudkit.daemon", "--socket", str(daemon.socket), "--db", str(daemon.db)]
    said = subprocess.run(second, capture_output=True, text=True, timeout=20)
    assert said.returncode == 0 and f"process {newer.pid}" in said.stdout


def test_a_hung_daemon_is_named_and_not_shared(daemon: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from hudkit.daemon import lifecycle

    process = daemon.start()
    process.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(lifecycle, "WAIT_SECONDS", 0.5)
    with pytest.raises(ConfigError, match="does not answer"):
        lifecycle.serve(lifecycle.DaemonOptions(daemon.socket, daemon.db))
    process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_a_port_for_other_machines_is_refused(daemon: Any, host: str) -> None:
    command = [sys.executable, "-m", "hudkit.daemon", "--socket", str(daemon.socket), "--db", str(daemon.db)]
    said = subprocess.run([*command, "--port", "0", "--host", host], capture_output=True, text=True, timeout=20)
    assert said.returncode == 2
    assert "other machines" in said.stderr or "is not an address" in said.stderr
    assert not daemon.socket.exists() and not daemon.db.exists()


def test_where_the_socket_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HUDKIT_SOCKET", "HUDKIT_DATA", "XDG_RUNTIME_DIR", "HUDKIT_DB"):
        monkeypatch.delenv(name, raising=False)
    runtime = tmp_path / "r"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert socket_path.socket_path() == runtime / "hudkit" / "daemon.sock"
    runtime.chmod(0o755)
    assert socket_path.socket_path() != runtime / "hudkit" / "daemon.sock"
    monkeypatch.setenv("HUDKIT_DATA", "/x/y")
    assert socket_path.socket_path() == Path("/x/y/run/daemon.sock")
    assert paths.log_path() == Path("/x/y/hudkit.db")
    monkeypatch.setenv("HUDKIT_DATA", "/x/" + "y" * 100)
    short = socket_path.socket_path()
    assert short.parent.name == f"hudkit-{os.geteuid()}" and len(str(short)) < 100
    # Neither a long `TMPDIR` nor a long `XDG_RUNTIME_DIR` is in the way.
    monkeypatch.setattr(tempfile, "tempdir", "/t/" + "z" * 100)
    assert socket_path.socket_path() == Path("/tmp", f"hudkit-{os.geteuid()}", short.name)
    monkeypatch.delenv("HUDKIT_DATA")
    monkeypatch.setenv("HOME", "/x/" + "y" * 100)
    long = tmp_path / ("r" * 100)
    long.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    assert socket_path.socket_path().parent == Path("/tmp", f"hudkit-{os.geteuid()}")
    monkeypatch.setenv("HUDKIT_SOCKET", "/z/d.sock")
    assert socket_path.socket_path() == Path("/z/d.sock")


def test_the_stop_command(daemon: Any, capsys: pytest.CaptureFixture[str]) -> None:
    process = daemon.start()
    stop = ["stop", "--socket", str(daemon.socket)]
    assert main(stop) == 0 and f"stopped process {process.pid}" in capsys.readouterr().out
    assert process.wait(10) == 0
    assert main(stop) == 0 and "no daemon" in capsys.readouterr().out


def test_the_command_has_the_options_of_the_daemon() -> None:
    given = build_parser("serve").parse_args(["--idle", "60", "--port", "8000"])
    assert (given.idle, given.port, given.host, given.socket) == (60.0, 8000, "127.0.0.1", None)


def test_why_a_daemon_does_not_start_is_left_beside_its_socket(daemon: Any) -> None:
    daemon.db.parent.mkdir(parents=True, mode=0o700)
    daemon.db.write_bytes(b"not a database " * 1000)
    with pytest.raises(ConfigError, match="not a database"):
        ensure_running(daemon.socket, db=daemon.db)
    reason = daemon.socket.with_name("d.sock.failed")
    assert "not a database" in reason.read_text() and reason.read_text().count("\n") == 1
    assert reason.stat().st_mode & 0o777 == 0o600


FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))"
"""No file can grow in this process: a full disk, for one process alone."""


def read_only_frame(daemon: Any) -> dict[str, Any]:
    said = daemon.ask(
        "/v1/frame",
        model={"id": "m", "provider": "p", "limit": 40_000, "output": 4_000, "input": 0},
        transcript=[],
        messages=[],
        facts={"title": "Report", "agent": "build", "parent": None},
        seen=None,
        used=None,
    )
    assert said["notice"] == "state: read-only (full); changes are not recorded"
    assert said["tail"].endswith(f"HUD: {said['notice']}\n")
    assert said["ack"] == "", "nothing is acknowledged"
    return said


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="a limit of another process is raised")
def test_a_daemon_that_starts_on_a_full_disk_has_a_hud_from_memory_and_writes_when_it_can(daemon: Any) -> None:
    process = daemon.start(before=FULL)
    first = read_only_frame(daemon)
    assert first["base"] == read_only_frame(daemon)["base"]
    arguments = {"tool": "notes.add", "args": {"content": "kept"}}
    said = daemon.ask("/v1/tool", router="hud", arguments=arguments)
    assert not said["ok"]
    assert said["text"].startswith("not recorded: ")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    said = daemon.ask("/v1/tool", router="hud", arguments=arguments)
    assert (said["text"], said["ok"]) == ("Added note n1.", True)
    log = open_log(daemon.db, read_only=True)
    assert [event.type for event in log.read(log.sessions()[0])] == ["note.add"]
    log.close()


def test_a_daemon_that_starts_on_a_full_disk_shows_what_was_recorded(daemon: Any) -> None:
    process = daemon.start()
    daemon.ask("/v1/tool", router="hud", arguments={"tool": "notes.add", "args": {"content": "from before"}})
    process.terminate()
    process.wait(PATIENCE)
    daemon.start(before=FULL)
    assert "from before" in read_only_frame(daemon)["base"]
