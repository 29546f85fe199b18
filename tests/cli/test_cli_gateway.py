"""`hudkit gateway`: started, turned off and on while it runs, and what it prints of costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hudkit.models.scripted_answers import says
from hudkit.testing.model_server import ScriptedModel

TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}


@contextmanager
def started(folder: Path, *words: str) -> Iterator[str]:
    """The URL of a gateway in a process of its own."""
    env = {**os.environ, "HUDKIT_DATA": str(folder), "HUDKIT_DB": str(folder / "hudkit.db")}
    env["HUDKIT_HOOK_PATIENCE"] = "30"
    command = [sys.executable, "-P", "-m", "hudkit", "gateway", "--port", "0", "--json", *words]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, cwd=folder)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, "Ctrl-C is how it is stopped"


def ask(url: str) -> None:
    system = {"role": "system", "content": "Work. " * 3_000}
    messages: list[Any] = [system, {"role": "user", "content": "Fix it."}]
    body = json.dumps({"model": "gpt-5", "messages": messages, "tools": [TOOL]}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", body, headers)
    with urllib.request.urlopen(request) as response:
        assert response.status == 200


@pytest.mark.slow
def test_it_runs_is_turned_off_and_on_and_tells_what_it_cost(
    hudkit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path))
    with ScriptedModel(lambda _: says("done")) as model, started(tmp_path, "--upstream", model.url) as url:
        ask(url)
        assert "Your HUD" in model.chats[-1].text and "hud" in model.chats[-1].tools
        assert hudkit("gateway", "off")[0] == 0
        ask(url)
        assert "Your HUD" not in model.chats[-1].text and "hud" not in model.chats[-1].tools
        assert hudkit("gateway", "on")[0] == 0
        ask(url)
        assert "Your HUD" in model.chats[-1].text
    code, out, _ = hudkit("gateway", "receipts", "--db", str(tmp_path / "hudkit.db"), "--json")
    told = json.loads(out)
    assert code == 0 and told["with"]["calls"] == 2 and told["sessions"][0]["times"] > 1
    code, out, _ = hudkit("gateway", "receipts", "--db", str(tmp_path / "hudkit.db"))
    assert code == 0 and "with the HUD: 2 calls" in out and "x " in out


@pytest.mark.slow
def test_doctor_says_which_gateways_run_what_they_cost_and_what_is_wrong(
    hudkit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path))
    monkeypatch.setenv("HUDKIT_DB", str(tmp_path / "hudkit.db"))

    def look() -> tuple[str, str]:
        checks = json.loads(hudkit("doctor", "--json")[1])["checks"]
        return next((check["verdict"], check["words"]) for check in checks if check["name"] == "gateway")

    assert look() == ("pass", "none has run with this log")
    with ScriptedModel(lambda _: says("done")) as model, started(tmp_path, "--upstream", model.url) as url:
        ask(url)
        verdict, words = look()
        assert verdict == "pass" and f"{url} goes to {model.url}; 1 calls with the HUD cost × 1." in words
        assert hudkit("gateway", "off")[0] == 0
        assert look() == ("warn", "the HUD of gateways is off")
        assert hudkit("gateway", "on")[0] == 0
        model.close()
        assert look() == ("fail", f"{url} goes to {model.url}, which cannot be reached")
    verdict, words = look()
    assert verdict == "pass" and words.startswith("none runs; 1 calls")


def test_what_is_wrong_is_said_in_a_line(hudkit: Any, tmp_path: Path) -> None:
    for words in (("gateway",), ("gateway", "--upstream", "api.example.com"), ("gateway", "--upstream", "ftp://x")):
        code, _, err = hudkit(*words)
        assert code == 2 and "upstream" in err
    assert hudkit("gateway", "receipts", "--db", str(tmp_path / "hudkit.db"))[0] == 1
