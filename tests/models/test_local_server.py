"""What a server of llama.cpp on this machine says of itself, and what a loop does with its window."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hudkit.agent import AgentLoop, LoopOptions
from hudkit.agent.run_context import LoopSettings
from hudkit.models import RequestRejected, open_model
from hudkit.models.local_server import LocalServer
from hudkit.tokens import Window
from llama_server import PLAIN, STRICT, llama_server

pytestmark = pytest.mark.slow

TALK = [{"role": "system", "content": "one"}, {"role": "user", "content": "two"}]


@pytest.fixture
def url() -> Iterator[str]:
    with llama_server(STRICT) as address:
        yield address


@pytest.mark.parametrize("end", ["/v1", "/v1/", "/", ""])
def test_the_routes_are_beside_v1(end: str, url: str) -> None:
    server = LocalServer(url.removesuffix("/v1") + end)
    assert server.is_local and server.window() == 8192
    assert server.prompt(TALK) == "<|system|>one\n<|user|>two\n"


def test_a_refusal_of_the_template_has_its_words(url: str) -> None:
    with pytest.raises(RequestRejected, match="System message must be at the beginning"):
        LocalServer(url).prompt([*TALK, TALK[0]])


def test_who_does_not_answer_so_is_left_alone() -> None:
    with llama_server(PLAIN, routes=False) as other, closing(socket.create_server(("127.0.0.1", 0))) as silent:
        hung = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for address in (other, hung, "", "nonsense", "http://[::1", "https://api.openai.com/v1", "ftp://127.0.0.1"):
            server = LocalServer(address, seconds=0.1)
            assert (server.window(), server.prompt(TALK)) == (None, None)
        assert not LocalServer("http://10.0.0.7:8080").is_local


def test_the_servers_window_comes_before_the_tables_and_behind_the_users(url: str) -> None:
    for name, windows, window in (
        ("mine", {}, Window(8192, None, None, "host")),
        ("qwen3", {}, Window(8192, None, None, "host")),
        ("mine", {"mine": 4096}, Window(4096, None, None, "user")),
    ):
        model = open_model(f"openai-chat:{name}", key="k", base_url=url, windows=windows, asks_server=True)
        assert model.window == window
    assert open_model("openai-chat:mine", key="k", base_url=url).window.source == "assumed", "nobody is asked unasked"


@pytest.mark.anyio
async def test_a_loop_takes_the_window_of_its_server(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for settings, window in (
        (LoopSettings(), Window(8192, None, None, "host")),
        (LoopSettings(windows={"mine": 4096}), Window(4096, None, None, "user")),
    ):
        options = LoopOptions(settings=settings)
        loop = await AgentLoop.open(tmp_path, "openai-chat:mine", data=tmp_path / "data", options=options)
        assert loop.window == window
        await loop.close()
