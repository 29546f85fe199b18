"""One isolated Claude Code: its own home and project, headless, its model a server on loopback.

One process answers many prompts: `claude -p --input-format stream-json` reads them as JSON lines, as the Agent SDK
has it. A compaction by itself comes where the model refuses a request as too long; it has none before.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from hudkit.daemon import client
from hudkit.hosts.claude_code.plugin import MarketplacePaths, generate_plugin
from hudkit.models.scripted_answers import Refusal, ScriptedCall, ScriptedReply, says
from npm_programs import CLAUDE_CODE, executable

PATIENCE = 300.0
"""Seconds after which a wait is given up, however busy the machine is."""

TOO_LONG = Refusal(400, "invalid_request_error", "", "prompt is too long: 210000 tokens > 200000 maximum")
"""What makes Claude Code compact by itself."""

SUMMARY = says("<analysis>It was long.</analysis><summary>What was done so far is done.</summary>")

_DEADLINES = (
    ("STEP_MS = 200;", "STEP_MS = 60_000;"),
    ("START_MS = 1_200;", "START_MS = 60_000;"),
    ("COMPOSE_MS = 800;", "COMPOSE_MS = 60_000;"),
    ("SUMMARY_MS = 5_000;", "SUMMARY_MS = 60_000;"),
    ("TOOL_MS = 5_000;", "TOOL_MS = 60_000;"),
)


class Data(NamedTuple):
    """Where hudkit's data are: a short folder, for the socket."""

    folder: Path

    @property
    def db(self) -> Path:
        return self.folder / "hudkit.db"

    @property
    def socket(self) -> Path:
        return self.folder / "run" / "daemon.sock"

    @property
    def plugin(self) -> Path:
        return self.folder / "market" / "hudkit"

    @property
    def environment(self) -> dict[str, str]:
        return {"HUDKIT_DATA": str(self.folder), "HUDKIT_DB": str(self.db), "HUDKIT_SOCKET": str(self.socket)}

    def write_plugin(
        self, *, patient: bool = True, python: str = sys.executable, edits: Sequence[tuple[str, str, str]] = ()
    ) -> Path:
        """Our plugin as it is installed, but patient: a busy machine may need long for an answer. Each of `edits`
        names a file, what stands there, and what stands there then."""
        files = generate_plugin(MarketplacePaths(python, str(self.folder), str(self.db), str(self.socket)))
        changes = [("hooks/register.js", old, new) for old, new in _DEADLINES] if patient else []
        for name, old, new in (*changes, *edits):
            text = files[f"hudkit/{name}"]
            assert old in text, (name, old)
            files[f"hudkit/{name}"] = text.replace(old, new)
        for name, text in files.items():
            file = self.folder / "market" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return self.plugin

    def stop(self) -> None:
        """End the daemon, and wait until it has gone."""
        if not self.socket.parent.exists():
            return
        client.stop(self.socket)
        until = time.monotonic() + PATIENCE
        while not client.is_gone(self.socket) and time.monotonic() < until:
            time.sleep(0.02)


def be_patient(plugin: Path) -> None:
    """Lengthen the deadlines of an installed plugin."""
    file = plugin / "hooks" / "register.js"
    text = file.read_text()
    for old, new in _DEADLINES:
        assert old in text or new in text, old
        text = text.replace(old, new)
    file.write_text(text)


def environment(home: Path, model_url: str, more: Mapping[str, str] = {}) -> dict[str, str]:
    """Nothing of the caller's but PATH; every way out leads to the model's server, which refuses it."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        **{name: os.environ[name] for name in ("HUDKIT_TEST_RUN",) if name in os.environ},
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), model_url),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost,::1"),
        **more,
    }


class ClaudeCode:
    """A session of Claude Code; a new process where `resume` says so.

    `plugin` is a plugin's folder for this process only (`None`: what is installed in the home). Words of the process
    that are no answer are in `events`.
    """

    def __init__(
        self,
        home: Path,
        project: Path,
        model_url: str,
        session: str = "",
        *,
        plugin: Path | None = None,
        resume: bool = False,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] = {},
    ) -> None:
        self.session = session or str(uuid.uuid4())
        self.home = home
        self.events: list[dict[str, Any]] = []
        self.debug = home.parent / f"{home.name}.debug.log"
        home.mkdir(parents=True, exist_ok=True)
        folder = ("--plugin-dir", str(plugin)) if plugin is not None else ()
        command = [
            str(executable(CLAUDE_CODE)),
            *("-p", *folder, "--permission-mode", "bypassPermissions", "--model", "claude-sonnet-4-5"),
            *("--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
            *("--debug-file", str(self.debug), "--resume" if resume else "--session-id", self.session),
            *arguments,
        ]
        with self.debug.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
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
        """Send a prompt, or a command that begins with a slash; return what the turn ends with."""
        assert self._process.stdin is not None and self._process.stdout is not None
        line = {"type": "user", "message": {"role": "user", "content": text}}
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        watch = threading.Timer(PATIENCE, self._process.kill)
        watch.start()
        try:
            for words in self._process.stdout:
                event = json.loads(words)
                if event["type"] == "result":
                    return str(event.get("result", ""))
                self.events.append(event)
        finally:
            watch.cancel()
        tail = self.debug.read_text("utf-8", "replace")[-2000:]
        message = f"Claude Code ended with {self._process.wait(10)}: {tail}"
        raise AssertionError(message)

    def close(self) -> None:
        """End the process, gently."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()

    def settle(self) -> None:
        """Have what was said recorded: the end of a turn is told to the daemon without waiting, a command waits."""
        if self._process.poll() is None:
            self.say("/hud")

    @property
    def transcript(self) -> Path:
        """The session's file."""
        (file,) = self.home.glob(f".claude/projects/*/{self.session}.jsonl")
        return file

    def contexts(self) -> list[tuple[str, str]]:
        """The texts that hooks have added so far, each with the hook's name."""
        found = []
        for line in self.transcript.read_text().splitlines():
            attachment = json.loads(line).get("attachment") or {}
            if attachment.get("type") == "hook_additional_context":
                found.append((attachment["hookEvent"], "\n".join(attachment["content"])))
        return found


def hud(operation: str, **arguments: Any) -> ScriptedCall:
    """A call of the tool `hud`, by the name that the model knows."""
    return ScriptedCall("mcp__hudkit__hud", {"operation": operation, **arguments})


def memory(operation: str, **arguments: Any) -> ScriptedCall:
    """The same of the tool `memory`."""
    return ScriptedCall("mcp__hudkit__memory", {"operation": operation, **arguments})


def bash(command: str) -> ScriptedCall:
    """A call that runs a command."""
    return ScriptedCall("Bash", {"command": command, "description": "run"})


def read(path: Path) -> ScriptedCall:
    """A call that reads a file."""
    return ScriptedCall("Read", {"file_path": str(path)})


def edit(path: Path, old: str, new: str) -> ScriptedCall:
    """A call that changes a file, which must have been read."""
    return ScriptedCall("Edit", {"file_path": str(path), "old_string": old, "new_string": new})


def uses(*calls: ScriptedCall, text: str = "", **more: Any) -> ScriptedReply:
    """A response with calls."""
    return ScriptedReply(text, calls, **more)
