"""The port on loopback: nothing without the token, nothing for another site, the token nowhere (B1 to B8)."""

from __future__ import annotations

import http.client
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from hudkit.daemon.handlers import HANDLERS
from hudkit.errors import ConfigError
from hudkit.hosts.wire import PROTOCOL
from hudkit.web.page_guard import loopback_address

pytestmark = pytest.mark.slow

PATHS = (
    "/",
    "/health",
    "/v1/hello",
    "/v1/frame",
    "/v1/tool",
    "/v1/stop",
    "/openapi.json",
    "/static/x.js",
    "/nowhere",
)


@pytest.fixture
def port(daemon: Any) -> int:
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    number = int(free.getsockname()[1])
    free.close()
    daemon.start("--port", str(number))
    return number


@pytest.fixture
def token(daemon: Any, port: int) -> str:
    path: Path = daemon.db.with_name("token")
    assert path.stat().st_mode & 0o777 == 0o600
    return path.read_text().strip()


def test_the_address_and_the_tokens_file_are_told(daemon: Any) -> None:
    process = daemon.start("--port", "0")
    process.terminate()
    said = process.communicate(timeout=20)[0].decode()
    found = re.search(r"and on http://127\.0\.0\.1:(\d+), for requests with the token in (\S+)", said)
    assert found is not None, said
    assert int(found[1]) and Path(found[2]) == daemon.db.with_name("token")


def ask(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, str(answer.headers)


def test_without_a_token_nothing_is_said(daemon: Any, port: int) -> None:
    for method in ("GET", "POST", "OPTIONS", "PUT", "DELETE"):
        for path in PATHS:
            status, text, headers = ask(port, method, path, b"{}" if method != "GET" else None)
            assert status == 401, (method, path, text)
            assert "0.1" not in text and "/" not in text.replace("application/json", "")
            assert "hudkit" not in headers and "Access-Control" not in headers
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Key": "x",
        "Sec_WebSocket_Version": "13",
    }
    assert ask(port, "GET", "/ws", **upgrade)[0] == 401


def test_every_route_is_closed_without_the_token_and_answers_what_is_documented_with_it(
    port: int, token: str
) -> None:
    """B12. No route is answered that is not in the tables, and no body makes an error of the daemon's own."""
    routes = {"/health": "GET", "/v1/hello": "POST", **dict.fromkeys(HANDLERS, "POST")}
    known = {"Authorization": f"Bearer {token}", "hudkit_protocol": str(PROTOCOL), "Content_Type": "application/json"}
    bodies = [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"{",
        b'{"session": 5}',
        b'{"host": "opencode", "session": "s"}',
        b"\xff" * 9,
    ]
    for path in (*routes, "/v1", "/v1/", "/v1/frame/", "/v2/frame", "/metrics", "/openapi.json", "//health"):
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"):
            assert ask(port, method, path, b"{}")[0] == 401, (method, path)
            answered = routes.get(path) == method or (path == "/health" and method == "HEAD")
            for body in bodies if answered else (b"{}",):
                status, text, _ = ask(port, method, path, body, **known)
                if not answered:
                    assert status in (404, 405) or (status == 415 and method == "POST"), (method, path, status)
                else:
                    assert status in (200, 400, 409, 422), (method, path, body, text)
                assert "Traceback" not in text


def test_with_the_token_it_answers(port: int, token: str) -> None:
    told = {"Authorization": f"Bearer {token}", "hudkit_protocol": str(PROTOCOL)}
    assert ask(port, "GET", "/health", **told)[0] == 200
    body = b'{"host":"opencode","session":"s","directory":""}'
    status, text, headers = ask(port, "POST", "/v1/frame", body, Content_Type="application/json", **told)
    assert status == 200 and "Access-Control" not in headers, text


def test_another_site_another_name_another_body(daemon: Any, port: int, token: str) -> None:
    told = {"Authorization": f"Bearer {token}", "hudkit_protocol": str(PROTOCOL)}
    for origin in ("https://evil.com", "null", f"http://localhost:{port + 1}", f"https://127.0.0.1:{port}", ""):
        status, _, headers = ask(port, "GET", "/health", Origin=origin, Cookie=f"token={token}", **told)
        assert status == 403, origin
        assert "Access-Control" not in headers
    assert ask(port, "GET", "/health", Origin=f"http://127.0.0.1:{port}", **told)[0] == 200
    assert ask(port, "GET", "/health", Sec_Fetch_Site="cross-site", **told)[0] == 403
    ws = {"Connection": "Upgrade", "Upgrade": "websocket", "Origin": "https://evil.com"}
    assert ask(port, "GET", "/ws", **ws, **told)[0] == 403
    for host in ("evil.com", f"evil.com:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil.com", ""):
        assert ask(port, "GET", "/health", Host=host, **told)[0] == 421, host
    assert ask(port, "GET", "/health", Host=f"localhost:{port}", **told)[0] == 200
    said = b'{"host":"opencode","session":"s","directory":"","router":"hud","arguments":'
    said += b'{"tool":"task.set","args":{"description":"forged"}}}'
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert ask(port, "POST", "/v1/tool", said, Content_Type=media, **told)[0] == 415, media
    assert ask(port, "GET", "/v1/tool", **told)[0] == 405
    assert ask(port, "GET", "/v1/stop", **told)[0] == 405
    assert "forged" not in daemon.ask("/v1/frame", session="s", directory="")["base"]


def test_the_token_is_taken_from_the_header_only_and_is_nowhere_else(daemon: Any, port: int, token: str) -> None:
    for wrong in ("", token[:-1], token + "x", "é"):
        assert ask(port, "GET", "/health", Authorization=f"Bearer {wrong}".encode().decode("latin-1"))[0] == 401
    assert ask(port, "GET", f"/health?token={token}&access_token={token}")[0] == 401
    assert ask(port, "GET", "/health", Cookie=f"token={token}")[0] == 401
    assert ask(port, "GET", "/health", Authorization=f"Basic {token}")[0] == 401
    log = daemon.db.with_name("daemon.log").read_text()
    pid = daemon.processes[0].pid
    cmdline = Path(f"/proc/{pid}/cmdline")
    seen = log + (cmdline.read_bytes().decode() if cmdline.exists() else "")
    assert token not in seen and re.search(r"listens on", log)


def test_the_token_file_must_be_ones_own(daemon: Any) -> None:
    daemon.db.parent.mkdir(parents=True, mode=0o700)
    path = daemon.db.with_name("token")
    path.write_text("a" * 50)
    path.chmod(0o644)
    with pytest.raises(AssertionError, match="only its user can read"):
        daemon.start("--port", "0")


def test_which_addresses_are_this_machines_own() -> None:
    assert [loopback_address(host) for host in ("localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]")] == [
        "127.0.0.1",
        "127.0.0.1",
        "127.1.2.3",
        "::1",
        "::1",
    ]
    for host in ("0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1", "localhost.evil.com", ""):
        with pytest.raises(ConfigError):
            loopback_address(host)
