"""Instructions from the network: only from allowed hosts, once a session, bounded, and never a reason to fail."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from loops import QUICK, opened
from msgspec.structs import replace

from hudkit.agent.remote_instructions import RemoteInstructions
from hudkit.models.scripted_answers import says
from hudkit.models.scripted_model import InProcessModel

pytestmark = [pytest.mark.anyio]


class Pages(ThreadingHTTPServer):
    """A server on loopback; `asked` are the paths of its requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.asked: list[str] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


class _Page(BaseHTTPRequestHandler):
    server: Pages

    def do_GET(self) -> None:
        path = self.path.strip("/")
        self.server.asked.append(path)
        status = {"moved": 302, "away": 302, "gone": 404}.get(path, 200)
        body = {
            "rules": f"Fire to cone 6. Asked {len(self.server.asked)} times.\u200b".encode(),
            "long": b"again and " * 10_000,
            "picture": b"\x89PNG\0\0",
        }.get(path, b"Moved here.")
        self.send_response(status)
        self.send_header("Content-Type", "image/png" if path == "picture" else "text/markdown; charset=utf-8")
        if path == "moved":
            self.send_header("Location", self.server.url("there"))
        if path == "away":
            self.send_header("Location", "http://localhost:1/secret")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def pages() -> Iterator[Pages]:
    with Pages() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.slow
async def test_they_are_in_the_prompt_and_stay_the_same_for_the_session(tmp_path: Path, pages: Pages) -> None:
    model = InProcessModel([says("one"), says("two")])
    settings = replace(QUICK, instructions=(pages.url("rules"),), instruction_hosts=("127.0.0.*",))
    async with opened(tmp_path, model, settings=settings) as loop:
        await loop.prompt("first")
        await loop.switch(agent="plan")
        await loop.switch(agent="build")
        await loop.prompt("second")
        first, second = ("\n".join(request.system) for request in model.port_requests)
        assert f"Instructions from: {pages.url('rules')} [" in first
        assert "Fire to cone 6. Asked 1 times." in first and first == second
        assert "\u200b" not in first, "what cannot be seen is shown"
        assert pages.asked == ["rules"]


async def test_nothing_is_fetched_from_a_host_that_is_not_allowed(tmp_path: Path, pages: Pages) -> None:
    model = InProcessModel([says("one")])
    async with opened(tmp_path, model, settings=replace(QUICK, instructions=(pages.url("rules"),))) as loop:
        assert (await loop.prompt("first")).text == "one"
        assert "session.instruction_hosts does not name it" in "\n".join(model.port_requests[0].system)
        assert pages.asked == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("gone", "404"),
        ("picture", "it is image/png, not text"),
        ("away", "it leads elsewhere, and nothing is fetched from localhost"),
    ],
)
async def test_what_cannot_be_had_says_why(pages: Pages, path: str, words: str) -> None:
    remote = RemoteInstructions()
    await remote.fetch([pages.url(path)], ["127.0.0.1"])
    reason = remote.files[pages.url(path)]
    assert isinstance(reason, str) and words in reason


async def test_it_leads_on_within_the_allowed_hosts_and_is_bounded(pages: Pages) -> None:
    remote = RemoteInstructions()
    await remote.fetch([pages.url("moved"), pages.url("long"), "docs/*.md"], ["127.0.0.1"])
    moved, long = (remote.files[pages.url(path)] for path in ("moved", "long"))
    assert not isinstance(moved, str) and moved.text == "Moved here."
    assert not isinstance(long, str) and len(long.text) == 32 * 1024 and long.cut
    assert "docs/*.md" not in remote.files


@pytest.mark.parametrize("url", ["http://docs.example.com/a.md", "file:///etc/passwd", "ftp://docs.example.com/a"])
async def test_only_https_leaves_this_machine(url: str) -> None:
    remote = RemoteInstructions()
    await remote.fetch([url], ["*"])
    assert remote.files[url] == "only https is fetched"


async def test_a_server_that_is_not_there_is_no_reason_to_fail(tmp_path: Path) -> None:
    model = InProcessModel([says("one")])
    settings = replace(QUICK, instructions=("http://127.0.0.1:9/a.md",), instruction_hosts=("127.0.0.1",))
    async with opened(tmp_path, model, settings=settings) as loop:
        assert (await loop.prompt("first")).text == "one"
        assert "http://127.0.0.1:9/a.md are not shown (it could not be fetched" in "\n".join(
            model.port_requests[0].system
        )
