"""One isolated OpenCode: its own home, project, database and logs; headless through `run` and `serve`.

REST calls that were seen to work on 1.18.33 (all JSON; the directory is the server's working directory):

| call | body | answer |
|---|---|---|
| POST /session | `{"title"?, "parentID"?}` | the session; a title given here suppresses the title request |
| POST /session/ID/message | `{"parts": [{"type": "text", "text"}], "agent"?}` | `{info, parts}` at the turn's end |
| POST /session/ID/prompt_async | the same | 204 at once |
| GET /session/ID/message | – | `[{info, parts}]`, oldest first |
| POST /session/ID/summarize | `{"providerID", "modelID", "auto"?}` | `true` when the compaction is over |
| POST /session/ID/revert | `{"messageID"}`: a user message | the session, with `revert` |
| POST /session/ID/unrevert | `{}` | the session |
| POST /session/ID/fork | `{"messageID"?}`: the first message left out | the new session |

Scripts do well without the tools glob and grep: OpenCode downloads ripgrep for them where `rg` is not on PATH.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from opencode_workspace import (
    MODEL,
    PROVIDER,
    configuration,
    end,
    environment,
    free_port,
    kill_strays,
    lay_out,
    merged,
)

from npm_programs import OPENCODE, executable

PATIENCE = 600.0
"""Seconds after which a wait is given up, however busy the machine is."""

_NUMBERS = itertools.count()
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Ran(NamedTuple):
    """A finished `opencode run`."""

    code: int
    out: str
    err: str
    seconds: float


class Refused(Exception):
    """The server answered with an error status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:500]}")
        self.status = status
        self.text = text


class OpenCode:
    """An isolated OpenCode at `place`, whose model is at `model_url` (see `hudkit.testing.model_server`).

    Two at the same `place` share home and database; `project` names another project folder. `limit` is the
    model's context and output in tokens. `plugins` are absolute paths for the configuration's list, `files` are
    written into the project (path → text), `config` is laid over the configuration (nested objects are merged),
    `env` over the environment. With `git` the project is a git repository. The model's server is also the HTTP
    proxy: what OpenCode wants from elsewhere is refused and captured as a request of the kind `other`.
    """

    def __init__(
        self,
        place: Path,
        model_url: str,
        *,
        shape: str = "openai",
        limit: tuple[int, int] = (40_000, 4_000),
        plugins: Sequence[Path | str] = (),
        files: Mapping[str, str] = {},
        config: Mapping[str, Any] = {},
        env: Mapping[str, str] = {},
        project: str = "project",
        git: bool = False,
    ) -> None:
        self.binary = executable(OPENCODE)
        self.place = place
        self.project = place / project
        self.logs = place / "logs"
        self.url = ""
        self.mark = f"{place}#{next(_NUMBERS)}"
        self._processes: list[subprocess.Popen[bytes]] = []
        lay_out(place, self.project)
        settings = merged(configuration(model_url, shape, limit, plugins), config)
        self.write("opencode.json", json.dumps(settings, indent=1))
        for path, text in files.items():
            self.write(path, text)
        self.env = environment(place, model_url, self.mark) | dict(env)
        if git:
            subprocess.run(["git", "init", "-q"], cwd=self.project, env=self.env, check=True, timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends every process that was started here and whatever those left behind, detached or not."""
        while self._processes:
            end(self._processes.pop())
        self.settled(lambda: not kill_strays(self.mark), seconds=5)
        self.url = ""

    def write(self, path: str, text: str) -> Path:
        """Writes a file of the project and gives its path."""
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    # -- opencode run ----------------------------------------------------------------------------------------------

    def run(
        self, prompt: str, session: str | None = None, *, timeout: float = PATIENCE, arguments: Sequence[str] = ()
    ) -> Ran:
        """`opencode run PROMPT`. Raises `TimeoutError`. A prompt with spaces reaches the model in quotes."""
        started = time.monotonic()
        more = ["--session", session] if session else []
        with self._log("run", "out") as out, self._log("run", "err") as err:
            process = self._start(["run", *more, *arguments, prompt], out, err)
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                raise TimeoutError(f"opencode run took more than {timeout} s; {self.tail_of_logs()}") from None
            finally:
                self._processes.remove(process)
                end(process)
        seconds = time.monotonic() - started
        return Ran(code, Path(out.name).read_text("utf-8"), Path(err.name).read_text("utf-8"), seconds)

    # -- opencode serve --------------------------------------------------------------------------------------------

    def serve(self, *, timeout: float = PATIENCE) -> str:
        """Starts `opencode serve` and gives its address. A request before the line that is waited for can hang."""
        with self._log("serve", "out") as out:
            process = self._start(["serve", "--port", str(free_port()), "--hostname", "127.0.0.1"], out, out)
            until = time.monotonic() + timeout
            while "listening on" not in (said := Path(out.name).read_text("utf-8")):
                if process.poll() is not None or time.monotonic() > until:
                    raise TimeoutError(f"opencode serve does not listen (code {process.poll()}): {said[-2000:]}")
                time.sleep(0.02)
        self.url = said.partition("listening on")[2].split()[0]
        return self.url

    @property
    def alive(self) -> bool:
        """Whether the process that was started last still runs."""
        return bool(self._processes) and self._processes[-1].poll() is None

    def stop(self, *, kill: bool = False) -> None:
        """Ends the server, gently or with SIGKILL, and no more: what it started and detached goes on."""
        process = self._processes.pop()
        if kill:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        end(process)
        self.url = ""

    def request(self, method: str, path: str, body: object = None, *, timeout: float = PATIENCE) -> Any:
        """The parsed answer of the server. Raises `Refused` for an error status, `TimeoutError`."""
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.url + path, data, self.headers(), method=method)
        try:
            with _DIRECT.open(asked, timeout=timeout) as answer:
                said = answer.read()
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode("utf-8", "replace")) from None
        return json.loads(said) if said else None

    def headers(self) -> dict[str, str]:
        """What each request to the server carries."""
        return {"content-type": "application/json"}

    def get(self, path: str, *, timeout: float = PATIENCE) -> Any:
        """GET."""
        return self.request("GET", path, timeout=timeout)

    def post(self, path: str, body: object = None, *, timeout: float = PATIENCE) -> Any:
        """POST with a JSON body (an empty object where there is none)."""
        return self.request("POST", path, {} if body is None else body, timeout=timeout)

    def create(self, title: str | None = None) -> str:
        """The id of a new session. With a title, OpenCode asks the model for none."""
        return str(self.post("/session", {} if title is None else {"title": title})["id"])

    def prompt(self, session: str, text: str, *, timeout: float = PATIENCE, **more: object) -> dict[str, Any]:
        """Sends a user message and waits for the end of the turn: `{info, parts}` of the last answer."""
        body = {"parts": [{"type": "text", "text": text}], **more}
        return dict(self.post(f"/session/{session}/message", body, timeout=timeout))

    def messages(self, session: str) -> list[dict[str, Any]]:
        """The session's messages as `{info, parts}`, oldest first."""
        return list(self.get(f"/session/{session}/message"))

    def summarize(self, session: str, *, timeout: float = PATIENCE) -> bool:
        """A compaction that the user asked for; returns when it is over."""
        body = {"providerID": PROVIDER, "modelID": MODEL}
        return bool(self.post(f"/session/{session}/summarize", body, timeout=timeout))

    def revert(self, session: str, message: str) -> dict[str, Any]:
        """Takes a user message and everything after it back; the next prompt makes it final."""
        return dict(self.post(f"/session/{session}/revert", {"messageID": message}))

    def unrevert(self, session: str) -> dict[str, Any]:
        """Undoes `revert`, as long as no prompt followed."""
        return dict(self.post(f"/session/{session}/unrevert"))

    def fork(self, session: str, before: str | None = None) -> str:
        """The id of a copy of the session, up to (and without) a message."""
        return str(self.post(f"/session/{session}/fork", {"messageID": before} if before else {})["id"])

    def settled(self, reached: Callable[[], bool], *, seconds: float = PATIENCE) -> bool:
        """Whether something that OpenCode does in the background (titles, events) came about in time."""
        until = time.monotonic() + seconds
        while not (done := reached()) and time.monotonic() < until:
            time.sleep(0.05)
        return done

    # -- what it leaves --------------------------------------------------------------------------------------------

    @property
    def db(self) -> Path:
        """OpenCode's database."""
        return self.place / "data" / "opencode" / "opencode.db"

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of OpenCode's database, read-only; it may be running."""
        with contextlib.closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True, timeout=10)) as database:
            return database.execute(sql, values).fetchall()

    def sessions(self) -> list[str]:
        """The ids of all sessions, oldest first (subagents' too)."""
        return [row[0] for row in self.rows("select id from session order by time_created, id")]

    def tail_of_logs(self, characters: int = 1500) -> str:
        """The ends of the newest logs, for a failure's report."""
        own = self.place / "data" / "opencode" / "log"
        newest = sorted([*self.logs.glob("*"), *own.glob("*.log")], key=lambda path: path.stat().st_mtime)[-4:]
        return "\n".join(f"--- {file}\n{file.read_text('utf-8', 'replace')[-characters:]}" for file in newest)

    # -- inside ---------------------------------------------------------------------------------------------------

    def _log(self, name: str, kind: str) -> IO[bytes]:
        number = len(list(self.logs.glob(f"{name}-*.{kind}")))
        return (self.logs / f"{name}-{number:02d}-{self.project.name}.{kind}").open("wb")

    def _start(self, arguments: Sequence[str], out: IO[bytes], err: IO[bytes]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [str(self.binary), *arguments],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        self._processes.append(process)
        return process


Hosts = Callable[..., OpenCode]
"""The fixture `opencode`: makes OpenCodes with the options of the class."""
