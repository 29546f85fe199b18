"""Streamable HTTP: the official client, sessions that do not mix, and who is refused."""

from __future__ import annotations

import socket
import stat
import subprocess
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest

from hudkit import Hud
from hudkit.errors import ConfigError
from hudkit.hosts.mcp.transports import ListenAddress, http_app, parse_address, transport_security

pytestmark = pytest.mark.slow

ASK = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def text(result: Any) -> str:
    return str(result.content[0].text)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_every_tool_resource_and_prompt(served: Any, mode: str) -> None:
    async def talk() -> None:
        async with served.client(mode=mode) as client:
            assert client.protocol_version == "2025-11-25", "a client that names no session gets one of MCP's"
            assert [tool.name for tool in (await client.list_tools()).tools] == ["hud", "memory"]
            done = await client.call_tool("hud", {"tool": "task.set", "args": {"description": "Ship it"}})
            assert text(done) == "Set the task."
            assert done.structured_content["session"].startswith("mcp_")
            found = await client.call_tool("memory", {"tool": "search", "args": {"query": "ship"}})
            assert "Ship it" in text(found)
            assert "Ship it" in (await client.read_resource("hud://current")).contents[0].text
            assert "Ship it" in (await client.get_prompt("hud")).messages[0].content.text

    anyio.run(talk)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_two_clients_at_once_do_not_see_each_other(served: Any, mode: str) -> None:
    async def talk() -> None:
        async with served.client(mode=mode) as one, served.client(mode=mode) as two:
            await one.call_tool("hud", {"tool": "task.set", "args": {"description": "Only of one"}})
            seen = [
                text(await two.call_tool("hud", {"tool": "snapshot"})),
                (await two.read_resource("hud://current")).contents[0].text,
                (await two.get_prompt("hud")).messages[0].content.text,
            ]
            assert not [words for words in seen if "Only of one" in words]
            assert "Only of one" in text(await one.call_tool("hud", {"tool": "snapshot"}))

    anyio.run(talk)


def test_clients_that_name_a_session_share_it_in_every_version(served: Any) -> None:
    async def talk() -> None:
        by_header = served.client(headers={"Hudkit-Session": "both"})
        by_query = served.client(query="?session=both", mode="legacy")
        async with by_header as one, by_query as two:
            assert (one.protocol_version, two.protocol_version) == ("2026-07-28", "2025-11-25")
            await one.call_tool("hud", {"tool": "task.set", "args": {"description": "Of both"}})
            assert "Of both" in text(await two.call_tool("hud", {"tool": "snapshot"}))

    anyio.run(talk)


def test_one_session_for_all_where_the_server_names_it(serve: Any) -> None:
    async def talk(served: Any) -> None:
        async with served.client() as one, served.client() as two:
            await one.call_tool("hud", {"tool": "task.set", "args": {"description": "Of all"}})
            assert "Of all" in text(await two.call_tool("hud", {"tool": "snapshot"}))

    with serve("--http", "0", "--session", "all") as served:
        anyio.run(talk, served)


def test_a_client_tells_where_it_works(place: Any, serve: Any) -> None:
    work = place.folder / "a b"
    work.mkdir()

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=work.as_uri())])

    async def talk(served: Any) -> None:
        async with served.client(list_roots_callback=roots) as client:
            await client.call_tool("hud", {"tool": "task.set", "args": {"description": "x"}})

    with serve() as served:
        anyio.run(talk, served)
    with Hud.open(place.log) as hud:
        (key,) = hud.sessions()
        assert hud.session(key).state.session.directory == str(work)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_who_is_refused(serve: Any, host: str) -> None:
    """On 0.0.0.0 too, where the SDK's own protection is off unless it is told."""
    with serve("--http", f"{host}:0") as served:
        url = served.url.replace("0.0.0.0", "127.0.0.1")
        known = {**ACCEPT, "Authorization": f"Bearer {served.token}"}

        def post(**headers: str) -> int:
            return httpx2.post(url, json=ASK, headers=headers).status_code

        assert post(**ACCEPT) == 401
        assert post(**ACCEPT, Authorization="Bearer " + "x" * 43) == 401
        assert post(**ACCEPT, Authorization=f"Basic {served.token}") == 401
        assert post(**known) == 200
        for version in ({}, {"MCP-Protocol-Version": "2026-07-28", "Hudkit-Session": "s"}):
            assert post(**known, **version, Host="evil.example") == 421
            assert post(**known, **version, Host="evil.example:" + url.split(":")[2].partition("/")[0]) == 421
            assert post(**known, **version, Origin="http://evil.example") == 403
            assert post(**known, **version, Origin="null") == 403
        opened = httpx2.post(url, json=ASK, headers=known).headers["mcp-session-id"]
        for headers, status in (
            (ACCEPT, 401),
            ({**known, "Host": "evil.example"}, 421),
            ({**known, "Origin": "http://evil.example"}, 403),
        ):
            for method in ("GET", "DELETE"):
                asked = {**headers, "mcp-session-id": opened}
                assert httpx2.request(method, url, headers=asked).status_code == status, (method, headers)
        here = url.partition("/mcp")[0]
        assert post(**known, Origin=here) == 200
        refused = httpx2.post(url, json=ASK, headers=ACCEPT)
        assert refused.headers["www-authenticate"].startswith("Bearer ")


def test_a_body_that_is_no_message_is_refused_in_our_own_words(serve: Any) -> None:
    texts = {
        b"{": "The body is not JSON.",
        b"[]": "The body is not one message of JSON-RPC.",
        b'{"jsonrpc": "2.0", "id": 1, "method": 5}': "The body is not one message of JSON-RPC.",
        b'"x"': "The body is not one message of JSON-RPC.",
    }
    with serve("--http", "0") as served:
        known = {**ACCEPT, "Authorization": f"Bearer {served.token}", "Content-Type": "application/json"}
        for body, text in texts.items():
            answer = httpx2.post(served.url, content=body, headers=known)
            assert (answer.status_code, answer.json()["error"]["message"]) == (400, text)
            assert "pydantic" not in answer.text and "server" not in answer.headers
        assert httpx2.post(served.url, json=ASK, headers=known).status_code == 200


def test_a_client_that_goes_away_leaves_no_traceback_on_the_terminal(place: Any) -> None:
    process = subprocess.Popen(
        [*place.command, "--http", "0"], cwd=place.project, env=place.env, stdout=-1, stderr=-1, text=True
    )
    assert process.stdout is not None
    url = process.stdout.readline().split()[-1]
    token = (place.folder / "data" / "mcp-token").read_text().strip()
    host = url.split("/")[2]
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    )
    head += f"Accept: {ACCEPT['Accept']}\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2]))) as connected:
        connected.sendall(head.encode())
        assert b"100 Continue" in connected.recv(1000), "the body is being read"
    known = {**ACCEPT, "Authorization": f"Bearer {token}"}
    assert httpx2.post(url, json=ASK, headers=known).status_code == 200
    process.terminate()
    errors = process.communicate()[1]
    assert "Traceback" not in errors and "ClientDisconnect" not in errors, errors


def test_every_address_without_the_token_is_401_or_nothing_and_none_is_undocumented(served: Any) -> None:
    """B1, B2, B5, B12: /mcp is the one address."""
    here = served.url.partition("/mcp")[0]
    known = {**ACCEPT, "Authorization": f"Bearer {served.token}"}
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Origin": "http://evil.example"}
    for path in (
        "/mcp",
        f"/mcp?token={served.token}",
        "/",
        "/openapi.json",
        "/docs",
        "/sse",
        "/messages",
        "/.well-known/x",
    ):
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
            for headers in (ACCEPT, {**ACCEPT, **upgrade}, {**ACCEPT, "Cookie": f"token={served.token}"}):
                answer = httpx2.request(method, here + path, headers=headers)
                assert answer.status_code == (401 if path.startswith("/mcp") else 404), (method, path)
                assert not [name for name in answer.headers if name.startswith("access-control") or name == "server"]
                assert "hudkit" not in answer.text
            if not path.startswith("/mcp"):
                assert httpx2.request(method, here + path, headers=known).status_code == 404, (method, path)
    raw = (
        f"GET /mcp HTTP/1.1\r\nHost: {here[7:]}\r\nHost: evil.example\r\nAuthorization: Bearer {served.token}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", int(here.rpartition(":")[2]))) as connected:
        connected.sendall(raw.encode())
        assert connected.recv(1000).startswith(b"HTTP/1.1 400")


def test_the_token_is_made_once_and_is_private(place: Any, serve: Any) -> None:
    file = place.folder / "data" / "mcp-token"
    with serve() as first:
        pass
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(first.token) >= 32
    with serve() as second:
        assert second.token == first.token
    with serve(HUDKIT_MCP_TOKEN="t" * 40) as third:
        good = httpx2.post(third.url, json=ASK, headers={**ACCEPT, "Authorization": f"Bearer {'t' * 40}"})
        old = httpx2.post(third.url, json=ASK, headers={**ACCEPT, "Authorization": f"Bearer {first.token}"})
        assert (good.status_code, old.status_code) == (200, 401)


def test_a_token_that_others_can_read_or_that_is_short_is_refused(place: Any) -> None:
    file = place.folder / "token"
    file.write_text("t" * 40)
    file.chmod(0o644)
    given = [*place.command, "--http", "0", "--token-file", str(file)]
    done = subprocess.run(given, cwd=place.project, env=place.env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "only its user can read" in done.stderr) == (2, True), done.stderr
    env = {**place.env, "HUDKIT_MCP_TOKEN": "short"}
    done = subprocess.run([*place.command, "--http", "0"], cwd=place.project, env=env, capture_output=True, text=True)
    assert (done.returncode, "has 5 characters" in done.stderr) == (2, True), done.stderr
    assert "short" not in done.stderr


def test_other_machines_only_with_a_warning(place: Any) -> None:
    assert parse_address("8765") == ListenAddress("127.0.0.1", 8765)
    assert parse_address("localhost:1") == ListenAddress("127.0.0.1", 1)
    assert parse_address("[::1]:2") == ListenAddress("::1", 2)
    for wrong in ("x", "example.org:80", "1.2.3.4:x", "127.0.0.1:70000", ""):
        with pytest.raises(ConfigError, match="--http"):
            parse_address(wrong)
    process = subprocess.Popen(
        [*place.command, "--http", "0.0.0.0:0"], cwd=place.project, env=place.env, stdout=-1, stderr=-1, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("hudkit serves MCP at http://0.0.0.0:")
    process.terminate()
    assert "other machines can reach this" in process.communicate(timeout=20)[1]


def test_names_of_hosts_are_named_exactly() -> None:
    made = transport_security(ListenAddress("0.0.0.0", 80), ["hud.example.org", "other:8443"])
    assert made.enable_dns_rebinding_protection
    own = ["127.0.0.1:80", "localhost:80", "[::1]:80"]
    assert made.allowed_hosts == [*own, "hud.example.org", "hud.example.org:80", "other:8443"]
    assert "https://hud.example.org" in made.allowed_origins
    assert not [one for one in made.allowed_hosts + made.allowed_origins if "*" in one or "0.0.0.0" in one]
    assert transport_security(ListenAddress("10.0.0.5", 80)).allowed_hosts == [*own, "10.0.0.5:80"]


def test_a_port_that_is_taken(place: Any, served: Any) -> None:
    port = served.url.split(":")[2].partition("/")[0]
    done = subprocess.run(
        [*place.command, "--http", port], cwd=place.project, env=place.env, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, "cannot listen on" in done.stderr) == (2, True), done.stderr


def test_an_application_needs_a_token() -> None:
    from hudkit.hosts.mcp import server

    with pytest.raises(ConfigError, match="should have 32 or more"):
        http_app(server("unused.db"), ListenAddress("127.0.0.1", 1), "")
