"""One isolated pi: its own home and project, headless, its model a server on loopback.

One process answers many prompts: `pi --mode rpc` reads commands as JSON lines and writes what happens as such.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from hudkit.daemon import client
from hudkit.hosts.node_plugin import PluginPaths
from hudkit.hosts.pi.plugin import generate_extension
from npm_programs import PI, executable
from plugin_clock import patient

PATIENCE = 120.0
"""Seconds after which a wait is given up, however busy the machine is."""

MODEL = "scripted/test-model"
SUMMARIZER = "You are a context summarization assistant."
"""How pi's requests for summaries begin."""

KEPT_TOKENS = 100
"""What pi leaves word for word in a compaction, in its own estimate of tokens."""


class PiData(NamedTuple):
    """Where hudkit's data are: a short folder, for the socket."""

    folder: Path

    @property
    def db(self) -> Path:
        return self.folder / "hudkit.db"

    @property
    def socket(self) -> Path:
        return self.folder / "run" / "d.sock"

    def write_extension(
        self, *, python: str = sys.executable, by_the_clock: bool = False, tools_ms: int | None = None
    ) -> Path:
        """Our extension as it is installed, but patient: a busy machine may need long for an answer."""
        file = self.folder / "hudkit.js"
        text = generate_extension(PluginPaths(python, str(self.folder), str(self.db), str(self.socket), str(file)))
        if not by_the_clock:
            text = patient(text)
        if tools_ms is not None:
            text = text.replace("PATIENT_MS = 60_000;", f"PATIENT_MS = {tools_ms};")
        file.write_text(text)
        return file

    def stop(self) -> None:
        """End the daemon, and wait until it has gone."""
        if not self.socket.parent.exists():
            return
        client.stop(self.socket)
        until = time.monotonic() + PATIENCE
        while not client.is_gone(self.socket) and time.monotonic() < until:
            time.sleep(0.02)


def lay_out(home: Path, model_url: str, limit: tuple[int, int], *, api: str = "openai-completions") -> None:
    """Write pi's own settings and its model into a home."""
    agent = home / ".pi" / "agent"
    agent.mkdir(parents=True, exist_ok=True)
    base = model_url if api == "anthropic-messages" else f"{model_url}/v1"
    model = {"id": "test-model", "contextWindow": limit[0], "maxTokens": limit[1]}
    provider = {"baseUrl": base, "api": api, "apiKey": "x", "models": [model]}
    (agent / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
    compaction = {"reserveTokens": limit[1], "keepRecentTokens": KEPT_TOKENS}
    settings = {"compaction": compaction, "retry": {"enabled": False}, "enableInstallTelemetry": False}
    (agent / "settings.json").write_text(json.dumps(settings))


def environment(home: Path, model_url: str, more: Mapping[str, str] = {}) -> dict[str, str]:
    """Nothing of the caller's but PATH, which has pi; every way out leads to the model's server, which refuses it."""
    return {
        "HOME": str(home),
        "PATH": f"{executable(PI).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        **{name: os.environ[name] for name in ("HUDKIT_TEST_RUN",) if name in os.environ},
        **dict(PI.environment),
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), model_url),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost,::1"),
        **more,
    }


class Pi:
    """A process of pi with one session, which it goes on with where there is one of that id.

    `extensions` are loaded beside those that are installed in the home. What pi says of itself is in `events`.
    """

    def __init__(
        self,
        home: Path,
        project: Path,
        model_url: str,
        session: str,
        *,
        limit: tuple[int, int] = (32_000, 4_000),
        api: str = "openai-completions",
        extensions: Sequence[Path] = (),
        arguments: Sequence[str] = (),
        env: Mapping[str, str] = {},
    ) -> None:
        self.session = session
        self.home = home
        self.events: list[dict[str, Any]] = []
        self.errors = home.parent / f"{home.name}.stderr"
        lay_out(home, model_url, limit, api=api)
        loaded = [word for file in extensions for word in ("--extension", str(file))]
        command = [str(executable(PI)), "--mode", "rpc", "--model", MODEL, "--session-id", session, *loaded]
        self._numbers = itertools.count()
        with self.errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [*command, *arguments],
                env=environment(home, model_url, env),
                cwd=project,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def say(self, text: str) -> str:
        """Send a prompt, and return the last words of the turn."""
        self.ask("prompt", message=text)
        self._read_until(lambda event: event["type"] == "agent_settled")
        return str(self.ask("get_last_assistant_text")["text"] or "")

    def run_command(self, text: str) -> None:
        """Run a command that begins with a slash, which no model is asked about."""
        self.ask("prompt", message=text)

    @property
    def notices(self) -> list[str]:
        """What was shown to the person."""
        return [str(event["message"]) for event in self.events if event.get("method") == "notify"]

    def wait_for(self, kind: str) -> dict[str, Any]:
        """Wait until pi says that something has happened, and return what it says."""
        said = next((event for event in self.events if event["type"] == kind), None)
        return said or self._read_until(lambda event: event["type"] == kind)

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a command, and return the data of its response. Raises `AssertionError` where pi refuses it."""
        assert self._process.stdin is not None
        id = f"ask-{next(self._numbers)}"
        self._process.stdin.write(json.dumps({"id": id, "type": kind, **fields}) + "\n")
        self._process.stdin.flush()
        response = self._read_until(lambda event: event["type"] == "response" and event.get("id") == id)
        assert response["success"], response
        return dict(response.get("data") or {})

    def take_back(self) -> None:
        """Go back behind the last prompt, as `/fork` does: the session goes on in a new file, under a new id."""
        entry = self.ask("get_fork_messages")["messages"][-1]["entryId"]
        self.ask("fork", entryId=entry)
        self.session = str(self.ask("get_state")["sessionId"])

    def close(self) -> None:
        """End the process, gently."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()

    @property
    def transcript(self) -> Path:
        """The session's file."""
        (file,) = self.home.glob(f".pi/agent/sessions/*/*_{self.session}.jsonl")
        return file

    def _read_until(self, is_it: Any) -> dict[str, Any]:
        assert self._process.stdout is not None
        watch = threading.Timer(PATIENCE, self._process.kill)
        watch.start()
        try:
            for line in self._process.stdout:
                event: dict[str, Any] = json.loads(line)
                if is_it(event):
                    return event
                if event["type"] != "message_update":
                    self.events.append(event)
        finally:
            watch.cancel()
        tail = self.errors.read_text("utf-8", "replace")[-2000:]
        message = f"pi ended with {self._process.wait(10)}: {tail}"
        raise AssertionError(message)
