"""Language servers: what they say of a file comes with the result of the call that changed it.

A server is started by the first change of a file that it is for, keeps running, and ends with the session. It never
holds a call up for longer than its `seconds`, and never makes one fail: the change is done already.

Of the protocol only this is spoken: `initialize`, `didOpen`, `didChange`, `didSave`, `publishDiagnostics`,
`shutdown`; what a server asks is answered with nothing. So there is no library: `pygls` takes 0.7 s of the processor
to load. A message is JSON behind a line with its length:

    us       {"method": "textDocument/didChange", "params": {..., "version": 2}}
    server   {"method": "textDocument/publishDiagnostics", "params": {"version": 2, "diagnostics": [...]}}
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hudkit.agent.wildcard import matches_path
from hudkit.compose import shorten, visible
from hudkit.config import LanguageServer
from hudkit.errors import ConfigError

_SEVERITIES = ("error", "warning", "information", "hint")
"""By the protocol's numbers, from 1 on."""

_MAX_LINES, _MAX_CHARACTERS = 20, 300
"""Diagnostics of a file that are told, and characters of one: more of them have one cause as a rule."""

_MAX_FILE = 2 * 1024 * 1024
_MAX_MESSAGE = 32 * 1024 * 1024
"""Bytes of a file that is shown to a server, and of one message of it."""

_START_SECONDS, _END_SECONDS = 20.0, 2.0
_STARTS = 3
"""How often a server is started in one session: one that ends again and again is left alone."""

_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "SHELL", "VIRTUAL_ENV", "XDG_CACHE_HOME")
"""Variables of the environment that a server is given; no others, since they may hold keys."""

_LANGUAGES = {
    ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cs": "csharp", ".go": "go", ".h": "c", ".hpp": "cpp", ".java": "java",
    ".js": "javascript", ".json": "json", ".jsx": "javascriptreact", ".kt": "kotlin", ".lua": "lua",
    ".md": "markdown", ".php": "php", ".py": "python", ".pyi": "python", ".rb": "ruby", ".rs": "rust",
    ".sh": "shellscript", ".swift": "swift", ".toml": "toml", ".ts": "typescript", ".tsx": "typescriptreact",
    ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip
"""What the protocol calls a file's language, where that is not its ending."""


class LanguageServers:
    """The language servers of one loop, from its opening to its end; one without a command is a `ConfigError`."""

    def __init__(self, servers: Mapping[str, LanguageServer], root: Path) -> None:
        for name, server in servers.items():
            if not server.command or not server.files:
                raise ConfigError(
                    f"the language server {visible(name)} needs a command and files",
                    hint='command = "ruff", args = ["server"], files = ["**/*.py"]',
                )
        self._root = root
        self._servers = {name: _Server(name, server, root) for name, server in servers.items()}

    async def diagnostics(self, paths: Sequence[str]) -> str:
        """Return what the servers say of files (paths relative to the root) as they are now; empty where nothing.

        A server that does not answer in time, or cannot be started, is said to be so.
        """
        asked = [
            (server, path)
            for path in paths
            for server in self._servers.values()
            if any(matches_path(pattern, path) for pattern in server.settings.files)
        ]
        texts = await asyncio.gather(*(server.diagnostics(path) for server, path in asked))
        return "\n\n".join(text for text in texts if text)

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the process ids of the servers that run now."""
        processes = [server.process for server in self._servers.values() if server.process is not None]
        return tuple(process.pid for process in processes if process.returncode is None)

    async def close(self) -> None:
        """End all servers; return nothing."""
        await asyncio.gather(*(server.close() for server in self._servers.values()))


class _Server:
    """One server: its process, the files that it has been shown, and what it said of them last."""

    def __init__(self, name: str, settings: LanguageServer, root: Path) -> None:
        self.name = name
        self.settings = settings
        self._root = root
        self.process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._ready: asyncio.Task[str] | None = None
        self._starts = 0
        self._numbers = 0
        self._versions: dict[str, int] = {}
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._published: dict[str, asyncio.Future[Sequence[Any]]] = {}
        self._turn = asyncio.Lock()

    async def diagnostics(self, path: str) -> str:
        try:
            async with asyncio.timeout(self.settings.seconds):
                async with self._turn:  # one file after the other: an answer belongs to the last change
                    return await self._ask(path)
        except TimeoutError:
            return f"[{visible(self.name)} has not answered within {self.settings.seconds:g} s about {visible(path)}]"
        except (OSError, ValueError) as error:
            return f"[{visible(self.name)} says nothing about {visible(path)}: {shorten(visible(str(error)), 200)}]"

    async def close(self) -> None:
        if self._ready is not None:
            self._ready.cancel()
            await asyncio.wait({self._ready})
        process = self.process
        if process is not None and process.returncode is None:
            with suppress(OSError, ValueError, TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await self._request("shutdown", None)
                    self._notify("exit", None)
                    await process.wait()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait({self._reader})

    async def _ask(self, path: str) -> str:
        file = self._root / path
        if problem := await self._started():
            return problem
        text = await asyncio.to_thread(_text_of, file)
        if text is None:
            return ""
        uri = file.as_uri()
        published = self._published[uri] = asyncio.get_running_loop().create_future()
        version = self._versions[uri] = self._versions.get(uri, 0) + 1
        if version == 1:
            language = _LANGUAGES.get(file.suffix, file.suffix.removeprefix("."))
            document = {"uri": uri, "languageId": language, "version": version, "text": text}
            self._notify("textDocument/didOpen", {"textDocument": document})
        else:
            changed = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
            self._notify("textDocument/didChange", changed)
        self._notify("textDocument/didSave", {"textDocument": {"uri": uri}, "text": text})
        return self._told(path, await published)

    def _told(self, path: str, diagnostics: Sequence[Any]) -> str:
        """Return the diagnostics as lines, the worst first; empty where there are none that count."""
        worst = 1 + _SEVERITIES.index(self.settings.severity)
        lines = []
        for each in diagnostics:
            if not isinstance(each, dict) or not isinstance(level := each.get("severity", 1), int) or level > worst:
                continue
            start = each.get("range", {}).get("start", {})
            code = f" [{each['code']}]" if isinstance(each.get("code"), str | int) else ""
            words = shorten(visible(" ".join(str(each.get("message", "")).split())), _MAX_CHARACTERS)
            line = int(start.get("line", 0)) + 1
            lines.append((level, line, f"line {line}: {_SEVERITIES[max(0, level - 1)]}: {words}{visible(code)}"))
        lines.sort()
        if not lines:
            return ""
        shown = [text for _, _, text in lines[:_MAX_LINES]]
        more = [f"+{len(lines) - _MAX_LINES} more"] if len(lines) > _MAX_LINES else []
        return "\n".join([f"{visible(self.name)} says of {visible(path)}:", *shown, *more])

    # -- the process -----------------------------------------------------------------------------------------------

    async def _started(self) -> str:
        """Start the server where it does not run; return why it cannot be had, empty where it can."""
        is_over = self.process is not None and self.process.returncode is not None
        if self._ready is None or (self._ready.done() and is_over and self._starts < _STARTS):
            self._starts += 1
            self._versions.clear()
            # a task of its own: it goes on where a call has no more time to wait for it
            self._ready = asyncio.ensure_future(self._start())
        elif self._ready.done() and is_over:
            return ""
        return await asyncio.shield(self._ready)

    async def _start(self) -> str:
        environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        try:
            self.process = await asyncio.create_subprocess_exec(
                self.settings.command,
                *self.settings.args,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=self._root,
                env={**environment, **self.settings.env},
                start_new_session=True,
            )
        except OSError as error:
            return f"[{visible(self.name)} cannot be started: {visible(str(error.strerror or error))}]"
        self._reader = asyncio.ensure_future(self._read(self.process))
        root = self._root.as_uri()
        ability = {"publishDiagnostics": {"versionSupport": True}, "synchronization": {"didSave": True}}
        asked = {
            "processId": os.getpid(),
            "rootUri": root,
            "workspaceFolders": [{"uri": root, "name": self._root.name}],
            "capabilities": {"textDocument": ability, "workspace": {"workspaceFolders": True, "configuration": True}},
        }
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._request("initialize", asked)
        except (TimeoutError, OSError, ValueError) as error:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            return f"[{visible(self.name)} cannot be started: {shorten(visible(str(error) or 'no answer'), 200)}]"
        self._notify("initialized", {})
        return ""

    async def _request(self, method: str, params: object) -> Any:
        self._numbers += 1
        answer = self._answers[self._numbers] = asyncio.get_running_loop().create_future()
        self._send({"id": self._numbers, "method": method, "params": params})
        return await answer

    def _notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, object]) -> None:
        """Write a message. Raises `OSError` where the server has ended."""
        stdin = self.process.stdin if self.process is not None else None
        if stdin is None or stdin.is_closing() or (self.process is not None and self.process.returncode is not None):
            raise BrokenPipeError("it has ended")
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Take up what the server writes until it ends; return nothing."""
        try:
            assert process.stdout is not None
            while (message := await _read_message(process.stdout)) is not None:
                self._take(message)
        except (OSError, ValueError, asyncio.IncompleteReadError):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        finally:
            waiting = (*self._answers.values(), *self._published.values())
            for future in waiting:
                if not future.done():
                    future.set_exception(BrokenPipeError("it has ended"))
                    future.exception()  # perhaps nobody waits for it any more
            self._answers.clear()
            self._published.clear()

    def _take(self, message: dict[str, Any]) -> None:
        method, id, params = message.get("method"), message.get("id"), message.get("params")
        if method == "textDocument/publishDiagnostics" and isinstance(params, dict):
            uri, version = str(params.get("uri")), params.get("version")
            published, diagnostics = self._published.get(uri), params.get("diagnostics")
            is_old = isinstance(version, int) and version < self._versions.get(uri, 0)
            if published is not None and not published.done() and not is_old and isinstance(diagnostics, list):
                published.set_result(diagnostics)
        elif method and id is not None:
            asks = params.get("items", ()) if isinstance(params, dict) else ()
            answer = [None] * len(asks) if method == "workspace/configuration" else None
            with suppress(OSError):
                self._send({"id": id, "result": answer})
        elif isinstance(id, int) and (future := self._answers.pop(id, None)) is not None and not future.done():
            error = message.get("error")
            if isinstance(error, dict):
                future.set_exception(ValueError(str(error.get("message", "it refused"))))
            else:
                future.set_result(message.get("result"))


async def _read_message(stream: asyncio.StreamReader) -> dict[str, Any] | None:
    """Return the next message; `None` at the end. Raises `ValueError` for what is none."""
    length = 0
    while (line := await stream.readline()).strip():
        name, _, value = line.decode("ascii", "replace").partition(":")
        if name.strip().lower() == "content-length":
            length = int(value)
    if not line:
        return None
    if not 0 < length <= _MAX_MESSAGE:
        raise ValueError(f"a message of {length:,} bytes")
    message = json.loads(await stream.readexactly(length))
    if not isinstance(message, dict):
        raise ValueError("a message that is no object")
    return message


def _text_of(file: Path) -> str | None:
    """Return the text of a file; `None` where it is gone, too long, or no text."""
    try:
        raw = file.read_bytes() if file.stat().st_size <= _MAX_FILE else b""
        return raw.decode() if raw else None
    except (OSError, UnicodeDecodeError):
        return None
