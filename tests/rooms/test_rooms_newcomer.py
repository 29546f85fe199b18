"""A newcomer's first minute: one command in an empty home, no network, and a browser that shows a world that goes on:
the recorded one, and, where a model is named, the island."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from page_browser import chromium

from hudkit.rooms.world_log import WorldLog

pytestmark = pytest.mark.slow

PATIENCE = 600.0
"""Seconds; on a machine with nothing else to do it is well within one minute."""
OFFLINE = """\
import sys

def watch(event, given):
    if event == "socket.connect" and isinstance(given[1], tuple) and given[1][0] not in ("127.0.0.1", "::1"):
        raise OSError(f"this test has no network: {given[1]}")
    if event == "socket.getaddrinfo" and given[0] not in (None, "127.0.0.1", "::1", "localhost"):
        raise OSError(f"this test has no network: {given[0]}")

sys.addaudithook(watch)
"""


@pytest.fixture
def browser() -> Iterator[Any]:
    """A browser that finds nobody but this machine."""
    with chromium(
        "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    ) as opened:
        yield opened


@pytest.fixture
def served(browser: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[float, str, str]]:
    """`hudkit rooms serve` in an empty home: when it began, the page's address, the token."""
    (tmp_path / "offline").mkdir()
    (tmp_path / "offline" / "sitecustomize.py").write_text(OFFLINE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HUDKIT", "XDG_"))}
    kept |= {name: os.environ[name] for name in ("HUDKIT_TEST_RUN",) if name in os.environ}
    env = {**kept, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path / "offline")}
    (tmp_path / "home").mkdir()
    began = time.monotonic()
    command = [sys.executable, "-m", "hudkit", "rooms", "serve", *getattr(request, "param", ())]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told: dict[str, str] = {}
            while "token" not in told:
                line = process.stdout.readline()
                assert line, process.communicate()
                name, _, value = line.partition(":")
                told[name] = value.strip()
            yield began, told["page"], told["token"]
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, "stopped from the keyboard"
    assert "Traceback" not in errors and "no network" not in errors, errors


def test_within_a_minute_a_recorded_world_goes_on_in_a_browser(
    served: tuple[float, str, str], browser: Any, tmp_path: Path
) -> None:
    with opened(served, browser) as (page, requests):
        shown = page.inner_text("#app")
        for name in ("Vera", "Bruno", "Odile", "Pip"):
            assert name in shown
        assert "They are recorded. Played by Qwen" in shown, "it is named for what it is"
        waits_for_talk(page, served[0])
        assert all(url.startswith(served[1]) for url in requests)
    (path,) = (tmp_path / "home").rglob("lifeboat.db")
    with WorldLog.open(path, read_only=True) as world_log:
        assert not {agent.model for agent in world_log.world.agents.values()} & {"improviser"}


@pytest.mark.parametrize("served", [("--model", "improviser")], indirect=True, ids=["improviser"])
def test_within_a_minute_five_agents_live_in_a_browser(
    served: tuple[float, str, str], browser: Any, tmp_path: Path
) -> None:
    with opened(served, browser) as (page, requests):
        shown = page.inner_text("#app")
        for name in ("Maren", "Tobiah", "Yun", "Ferrymaster", "Weatherglass"):
            assert name in shown
        assert "improviser" in page.content() and "no language model" in page.content(), "it is named for what it is"
        waits_for_talk(page, served[0])
        assert all(url.startswith(served[1]) for url in requests)
    (path,) = (tmp_path / "home").rglob("island.db")
    with WorldLog.open(path, read_only=True) as world_log:
        speakers = {one.sender for one in world_log.world.messages.values() if one.kind == "text"}
        assert len(world_log.world.agents) == 5 and len(speakers) >= 2
        assert {agent.model for agent in world_log.world.agents.values()} == {"improviser"}


@contextmanager
def opened(served: tuple[float, str, str], browser: Any) -> Iterator[tuple[Any, list[str]]]:
    """The first room of the world that is served, and the addresses that the page asked for."""
    _, address, token = served
    requests: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.fill("[name=token]", token)
    page.click("button")
    page.wait_for_selector("#app")
    page.goto(f"{address}?room=1")
    page.wait_for_selector("#list")
    yield page, requests


def waits_for_talk(page: Any, began: float) -> None:
    """Wait until somebody speaks of itself: nobody reloads the page."""
    spoken = "#list li:not(.system)"
    before = page.locator(spoken).count()
    while page.locator(spoken).count() < max(2, before + 1):
        assert time.monotonic() - began < PATIENCE, page.inner_text("#app")
        time.sleep(0.1)
