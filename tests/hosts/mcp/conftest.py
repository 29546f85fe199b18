"""The real command in a process, and the official client before it: on standard input and output, and on HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

COMMAND = [sys.executable, "-P", "-m", "hudkit", "mcp"]


class Place(NamedTuple):
    """Directories of a test, and the variables for a process that uses no others."""

    folder: Path
    project: Path
    env: dict[str, str]

    @property
    def command(self) -> list[str]:
        return COMMAND

    @property
    def log(self) -> Path:
        return self.folder / "data" / "hudkit.db"

    def stdio(self, *args: str, mode: str = "auto", cwd: Path | None = None, **more: Any) -> Client:
        """A client that starts its own server."""
        started = StdioServerParameters(
            command=COMMAND[0], args=[*COMMAND[1:], *args], env=self.env, cwd=cwd or self.project
        )
        return Client(started, mode=mode, **more)


class Served(NamedTuple):
    """A server on HTTP: its address and token."""

    url: str
    token: str

    def client(
        self, *, mode: str = "auto", query: str = "", headers: dict[str, str] | None = None, **more: Any
    ) -> Client:
        given = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        http = httpx2.AsyncClient(headers=given, timeout=30)
        return Client(streamable_http_client(self.url + query, http_client=http), mode=mode, **more)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return made(tmp_path)


def made(folder: Path) -> Place:
    project, home = folder / "project", folder / "home"
    project.mkdir()
    home.mkdir()
    config = folder / "config.toml"
    config.touch()
    names = ("PATH", "LANG", "VIRTUAL_ENV", "HUDKIT_TEST_RUN")
    kept = {name: value for name, value in os.environ.items() if name in names}
    env = {**kept, "HOME": str(home), "HUDKIT_DATA": str(folder / "data"), "HUDKIT_CONFIG": str(config)}
    return Place(folder, project, env)


@contextmanager
def serving(place: Place, *args: str, **env: str) -> Iterator[Served]:
    """`hudkit mcp --http` on a free port."""
    given = [*COMMAND, *(args or ("--http", "0"))]
    process = subprocess.Popen(
        given, cwd=place.project, env={**place.env, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("hudkit serves MCP at "), (line, process.stderr and process.stderr.read())
        token = env.get("HUDKIT_MCP_TOKEN") or (place.folder / "data" / "mcp-token").read_text().strip()
        yield Served(line.split()[-1], token)
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture
def serve(place: Place) -> Callable[..., Any]:
    def start(*args: str, **env: str) -> Any:
        return serving(place, *args, **env)

    return start


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the tests that leave nothing behind which another would see."""
    with serving(made(tmp_path_factory.mktemp("served"))) as one:
        yield one
