"""The real Codex, alone in folders of its own: `codex exec`, and `codex app-server`, which its screens run on."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from hudkit import Hud
from hudkit.daemon.client import greet
from hudkit.hosts.codex import codex_install
from hudkit.hosts.codex.codex_install import CodexTarget
from hudkit.sections.state import HudState
from npm_programs import CODEX, executable
from waiting import is_alive, until

PATIENCE = 180.0
MODEL = "loopback-model"
"""A model that Codex has no facts of, as other providers have: it is offered each tool, and calls them one by one."""

SCRIPTS = "gpt-6-sol"
"""One that calls its tools from scripts, as all newer ones do."""

USER_CONFIG = """\
# How I like it.
model = "{model}"
model_provider = "loopback"   # nothing leaves the machine
approval_policy = "never"
sandbox_mode = "danger-full-access"
{more}
[model_providers.loopback]
name = "Loopback"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOOPBACK_KEY"
request_max_retries = 0
stream_max_retries = 0
"""


class Ran(NamedTuple):
    """A finished `codex exec`: its exit code, its events, its error stream, and how long it took."""

    code: int
    events: list[dict[str, Any]]
    errors: str
    seconds: float

    @property
    def session(self) -> str:
        return next(str(event["thread_id"]) for event in self.events if event["type"] == "thread.started")

    @property
    def words(self) -> str:
        items = [event["item"] for event in self.events if event["type"] == "item.completed"]
        said = [item["text"] for item in items if item["type"] == "agent_message"]
        return str(said[-1]) if said else ""


class Codex:
    """A home with Codex's configuration, and a project. `window` is the model's, in tokens; `compact_at` the use at
    which Codex compacts by itself."""

    def __init__(
        self,
        folder: Path,
        model_url: str,
        *,
        project: Path | None = None,
        window: int = 0,
        compact_at: int = 0,
        model: str = MODEL,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.binary = executable(CODEX)
        self.folder = folder
        self.user = folder / "user"
        self.home = self.user / ".codex"
        self.project = project or folder / "project"
        for each in (self.home, self.project, folder / "tmp"):
            each.mkdir(parents=True, exist_ok=True)
        more = f"model_context_window = {window}\n" if window else ""
        more += f"model_auto_compact_token_limit = {compact_at}\n" if compact_at else ""
        self.config = self.home / "config.toml"
        if not self.config.exists():
            self.config.write_text(USER_CONFIG.format(model=model, url=model_url, more=more))
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user),
            "CODEX_HOME": str(self.home),
            "TMPDIR": str(folder / "tmp"),
            "LANG": "C.UTF-8",
            "LOOPBACK_KEY": "x",
            **{name: os.environ[name] for name in ("HUDKIT_TEST_RUN",) if name in os.environ},
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), model_url),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost,::1"),
            "HUDKIT_DATA": str(folder / "data"),
            "HUDKIT_HOOK_PATIENCE": os.environ.get("HUDKIT_HOOK_PATIENCE", "1"),
            **(env or {}),
        }

    @property
    def log(self) -> Path:
        """The HUD's log."""
        return self.folder / "data" / "hudkit.db"

    @property
    def socket(self) -> Path:
        """Where the daemon is reached."""
        return self.folder / "data" / "run" / "daemon.sock"

    @property
    def target(self) -> CodexTarget:
        """Where hudkit is installed."""
        return CodexTarget(sys.executable, None, self.folder / "data", self.socket, self.env)

    @property
    def is_ready(self) -> bool:
        """Whether hudkit is installed, and its hooks are trusted."""
        return codex_install.is_installed(self.target) and not codex_install.untrusted_hooks(self.target)

    def install(self, *, compact_prompt: bool = False, start: bool = True) -> None:
        """Install hudkit, and trust its hooks as the user does. Its daemon is up, as it is but for the first time."""
        codex_install.install(self.target, compact_prompt=compact_prompt)
        self.trust()
        if start:
            self.start_daemon()

    def uninstall(self) -> None:
        """Take hudkit out again."""
        codex_install.uninstall(self.target)

    def start_daemon(self) -> None:
        """Start the daemon, as a hook of before has."""
        start = "from hudkit.daemon import client; client.ensure_running()"
        subprocess.run([sys.executable, "-P", "-c", start], env=self.env, check=True, timeout=PATIENCE)

    def state(self, session: str) -> HudState:
        """The HUD of a session."""
        with Hud.open(self.log) as hud:
            return hud.session(next(key for key in hud.sessions() if f"/{session}@" in key)).state

    def exec(self, prompt: str, session: str | None = None, *, arguments: Sequence[str] = ()) -> Ran:
        """`codex exec`, or `codex exec resume` with a session."""
        more = ["resume", session] if session else []
        line = [str(self.binary), "exec", *more, "--skip-git-repo-check", "--json", *arguments, prompt]
        started = time.monotonic()
        done = subprocess.run(
            line, cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE,
        )  # fmt: skip
        seconds = time.monotonic() - started
        events = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
        return Ran(done.returncode, events, done.stderr, seconds)

    def trust(self) -> list[str]:
        """Trust every hook, as the user does in `/hooks`; return the keys of those that were not."""
        with self.serve() as server:
            listed = [
                hook
                for entry in server.ask("hooks/list", cwds=[str(self.project)])["data"]
                for hook in entry["hooks"]
            ]
            new = [hook for hook in listed if hook["trustStatus"] in ("untrusted", "modified")]
            edits = [
                {
                    "keyPath": "hooks.state",
                    "mergeStrategy": "upsert",
                    "value": {hook["key"]: {"trusted_hash": hook["currentHash"]}},
                }
                for hook in new
            ]
            if edits:
                server.ask("config/batchWrite", edits=edits)
        return [hook["key"] for hook in new]

    def serve(self) -> AppServer:
        """Start `codex app-server`."""
        return AppServer(self)

    def rollouts(self) -> list[Path]:
        """The sessions' files, oldest first."""
        return sorted((self.home / "sessions").rglob("rollout-*.jsonl"))


class AppServer:
    """One process of Codex, asked in JSON lines."""

    def __init__(self, codex: Codex) -> None:
        self._codex = codex
        self._errors = (codex.folder / f"server-{time.monotonic_ns()}.err").open("wb")
        self._process = subprocess.Popen(
            [str(codex.binary), "app-server"],
            cwd=codex.project,
            env=codex.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._ids = iter(range(1, 1_000_000))
        self._lock = threading.Lock()
        self._turns: dict[str, queue.Queue[dict[str, Any]]] = {}
        self.notices: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.ask("initialize", clientInfo={"name": "tests", "version": "1"}, capabilities={"experimentalApi": True})
        self._send({"method": "initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, as a screen that is closed does."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request. Raises `RuntimeError` with Codex's words."""
        number = next(self._ids)
        box: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers[number] = box
        self._send({"id": number, "method": method, "params": params})
        answer = box.get(timeout=PATIENCE)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def begin(self, **more: Any) -> str:
        """The id of a new thread."""
        return str(self.ask("thread/start", cwd=str(self._codex.project), **more)["thread"]["id"])

    def resume(self, thread: str) -> str:
        return str(self.ask("thread/resume", threadId=thread, cwd=str(self._codex.project))["thread"]["id"])

    def say(self, thread: str, text: str) -> str:
        """Send a prompt and return the agent's last words, when the turn is over. Raises `RuntimeError`."""
        box = self._box(thread)
        self.ask("turn/start", threadId=thread, input=[{"type": "text", "text": text}])
        return self._until_over(box)

    def take_back(self, thread: str) -> None:
        """Take back the last turn, as the screens do."""
        turns = self.ask("thread/read", threadId=thread, includeTurns=True)["thread"]["turns"]
        self.ask("thread/revert", threadId=thread, beforeTurnId=turns[-1]["id"])

    def compact(self, thread: str) -> None:
        """`/compact`: returns when it is over."""
        box = self._box(thread)
        self.ask("thread/compact/start", threadId=thread)
        self._until_over(box)

    def _box(self, thread: str) -> queue.Queue[dict[str, Any]]:
        self._turns[thread] = queue.Queue()
        return self._turns[thread]

    def _until_over(self, box: queue.Queue[dict[str, Any]]) -> str:
        words = ""
        while True:
            said = box.get(timeout=PATIENCE)
            method, params = said["method"], said["params"]
            if method == "item/completed" and params["item"]["type"] == "agentMessage":
                words = str(params["item"]["text"])
            if method == "turn/completed":
                error = params["turn"].get("error")
                if error:
                    raise RuntimeError(str(error))
                return words

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "method" not in message:
                self._answers.pop(message["id"]).put(message)
                continue
            if "id" in message:  # asked for an approval: none is needed here
                self._send({"id": message["id"], "error": {"code": -1, "message": "not in tests"}})
                continue
            self.notices.append(message)
            box = self._turns.get(str((message.get("params") or {}).get("threadId", "")))
            if box is not None:
                box.put(message)


def end_daemon(socket: Path) -> None:
    """End the daemon of a socket, if there is one."""
    there = greet(socket, timeout=1) if socket.exists() else None
    if there is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(there.pid, signal.SIGKILL)
        until(lambda: not is_alive(there.pid), "the daemon does not end")
        socket.unlink(missing_ok=True)
