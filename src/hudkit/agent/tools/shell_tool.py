"""The tool `bash`: a command in a process group of its own, which ends with the call, however that ends.

Its environment is the user's, without secrets and without what makes a shell run something unasked.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hudkit.agent.file_text import escape_hidden, omission_line
from hudkit.agent.tools.confinement import confined_to
from hudkit.agent.tools.tool import RequiredPermission, Tool, ToolContext, ToolInput, ToolOutcome, run_in_thread
from hudkit.agent.workspace import Workspace, list_files, quote
from hudkit.compose import shorten, visible
from hudkit.errors import ToolError
from hudkit.log.secret_patterns import without_secrets
from hudkit.log.stores.sqlite_files import create_private_file

_MAX_SNAPSHOT = 20_000

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|KEYS|TOKEN|TOKENS|SECRET|SECRETS|PASSWORD|PASSWD|PASS|PWD_HASH|PASSPHRASE|CREDENTIALS?"
    r"|AUTH|COOKIE|SESSION_?ID|PRIVATE|DSN|CONNECTION_STRING|WEBHOOK)(?:_|$)",
    re.I,
)

_SECRET_PREFIX = re.compile(
    r"^(?:AWS_|AZURE_|GOOGLE_APPLICATION_|GCP_|GCLOUD_|ANTHROPIC_|OPENAI_|GH_|GITHUB_TOKEN|HF_|DATABASE_URL|PG|MYSQL_|"
    r"REDIS_URL|MONGO|SSH_|GPG_|KRB5|DOCKER_AUTH|NPM_CONFIG__|TWINE_|VAULT_|SENTRY_)",
    re.I,
)

_SHELL_CONTROL = re.compile(
    # a shell runs or loads what these name before the command itself
    r"^(?:BASH_ENV|ENV|BASHOPTS|SHELLOPTS|PROMPT_COMMAND|PS4|BASH_FUNC_.*|LD_.*|DYLD_.*|HUDKIT_.*)$"
)

_QUIET_VARIABLES = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb", "NO_COLOR": "1"}
"""Set in every command: nothing waits for a key, and nothing paints."""


def scrubbed_environment(
    environment: Mapping[str, str], *, keep: Iterable[str] = (), add: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return an environment without names or values that mean a secret.

    Those in `keep` stay; `add` is set last.
    """
    wanted = frozenset(keep)
    clean = {
        name: value
        for name, value in environment.items()
        if name in wanted or not (_SHELL_CONTROL.match(name) or _is_secret(name, value))
    }
    return _without_hidden_repositories({**clean, **_QUIET_VARIABLES, **(add or {})})


def _without_hidden_repositories(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git takes no ordinary directory of the project for a repository.

    A directory with `HEAD`, `objects` and `config` in it would be a bare one, and its settings name programs that
    `git -C directory status` runs; the agent may write such files. Git 2.35 and newer listens.
    """
    count = environment.get("GIT_CONFIG_COUNT", "")
    index = int(count) if count.isdecimal() else 0
    setting = {f"GIT_CONFIG_KEY_{index}": "safe.bareRepository", f"GIT_CONFIG_VALUE_{index}": "explicit"}
    return {**environment, **setting, "GIT_CONFIG_COUNT": str(index + 1)}


def _is_secret(name: str, value: str) -> bool:
    """Return whether a variable is one that a command should not see: by its name, or by the form of its value."""
    if _SECRET_NAME.search(name) or _SECRET_PREFIX.match(name):
        return True
    return without_secrets(value) != value


_MARK = "HUDKIT_CALL"
"""A variable that every process of a call inherits: by it, those that have left its group are found (Linux)."""

_GRACE = 0.5  # seconds between the request to end and the end

_AFTER = 0.3  # seconds that are waited for output after the shell has ended

_CHUNK = 64 * 1024


class _BashInput(ToolInput, frozen=True):
    command: Annotated[str, Meta(min_length=1, max_length=100_000, description="The command.")]
    description: Annotated[str, Meta(max_length=200, description="What it does, in a few words.")] = ""
    seconds: Annotated[float, Meta(ge=0, description="The most it may take; 120 where it is left out.")] = 0
    path: Annotated[str, Meta(description="The directory to run in; the project's where it is left out.")] = "."


def _bash_permissions(arguments: _BashInput, context: ToolContext) -> Sequence[RequiredPermission]:
    if "\0" in arguments.command:
        raise ToolError("a command cannot have a NUL in it")
    needs = [RequiredPermission("bash", (arguments.command, arguments.path), _title(arguments))]
    target = context.workspace.resolve(arguments.path)
    if not target.in_project:
        needs.append(
            RequiredPermission("outside", (str(target.real),), f"run a command in {visible(target.display)}")
        )
    return needs


async def _bash(arguments: _BashInput, context: ToolContext) -> ToolOutcome:
    target = context.workspace.resolve_inside(arguments.path)
    if not target.real.is_dir():
        raise ToolError(f"{quote(arguments.path)} is not a directory")
    limits = context.limits
    seconds = min(arguments.seconds or limits.shell_seconds, limits.max_shell_seconds)
    # what a command changed is seen from outside: it cannot be told from its words
    before = await run_in_thread(lambda _: _snapshot_files(context.workspace))
    output = _Output(limits.output_characters, limits.spill_bytes, context.spill_folder, context.call_id or "bash")
    with ExitStack() as stack:
        confine = stack.enter_context(confined_to(context.workspace.roots)) if context.confined else None
        code, late, left = await _run_command(
            arguments.command, target.real, context.environment, seconds, output, confine
        )
    text, full_output = output.shown()
    after = await run_in_thread(lambda _: _snapshot_files(context.workspace)) if before is not None else None
    notes = []
    if late:
        notes.append(f"[ended after {seconds:g} s, the limit of this call]")
    elif code:
        notes.append(f"[exit code {code}]" if code > 0 else f"[ended by signal {-code}]")
    if code and context.confined:
        notes.append("[it could write only in the project and in temporary directories]")
    if left and not late:
        notes.append("[processes that it left running were ended with it]")
    return ToolOutcome(
        "\n".join([*([text] if text else []), *notes]) or "[no output]",
        _title(arguments),
        _changed_files(before, after),
        full_output=full_output,
        metadata={"exit": code, "late": late},
    )


async def _run_command(
    command: str,
    folder: Path,
    environment: Mapping[str, str],
    seconds: float,
    output: _Output,
    confine: Callable[[], None] | None = None,
) -> tuple[int, bool, bool]:
    """Run a command and end all its processes.

    `confine` is called in the new process before the shell. Returns its exit code (a signal is negative, -1 where
    time was over), whether time was over, and whether it left processes running. Raises `ToolError` where it could
    not be confined: then it was not run.
    """
    mark = secrets.token_hex(16)
    env = {**scrubbed_environment(os.environ, add=environment), _MARK: mark}
    end, begin = os.pipe()  # one of our own: `wait` is to end with the shell, not with the last that holds its output
    try:
        child = await asyncio.create_subprocess_exec(
            *_shell(), "-c", command, cwd=folder, env=env, stdin=asyncio.subprocess.DEVNULL,
            stdout=begin, stderr=begin, start_new_session=True, preexec_fn=confine,
        )  # fmt: skip
    except subprocess.SubprocessError:
        os.close(end)
        raise ToolError("the command could not be confined, and was not run") from None
    except BaseException:
        os.close(end)
        raise
    finally:
        os.close(begin)
    reading = asyncio.ensure_future(_drain(end, output))
    late = False
    try:
        async with asyncio.timeout(seconds):
            await child.wait()
            await asyncio.wait({reading}, timeout=_AFTER)
    except TimeoutError:
        late = True
    finally:
        # not cut short by a cancellation: processes would stay
        left = await asyncio.shield(asyncio.ensure_future(_end_processes(child, mark)))
        reading.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await asyncio.wait({reading}, timeout=_AFTER)
        output.close()
    code = -1 if late or child.returncode is None else child.returncode
    return code, late, left


def _title(arguments: _BashInput) -> str:
    return visible(arguments.description) or shorten(visible(arguments.command), 120)


async def _drain(end: int, output: _Output) -> None:
    stream = asyncio.StreamReader(limit=_CHUNK)
    pipe = open(end, "rb", buffering=0)  # noqa: SIM115 (the transport closes it)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), pipe
    )
    try:
        while piece := await stream.read(_CHUNK):
            output.add(piece)
    finally:
        transport.close()


async def _end_processes(child: asyncio.subprocess.Process, mark: str) -> bool:
    """End all processes of a call; return whether there were any besides the shell."""
    running = child.returncode is None
    others = _marked(mark, child.pid)
    _signal_group(child.pid, signal.SIGTERM)
    for pid in others:
        _signal(pid, signal.SIGTERM)
    left = bool(others)
    if running or left:
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await child.wait()
                    while _marked(mark, 0):
                        await asyncio.sleep(0.02)
        finally:  # also where the whole program ends meanwhile
            _signal_group(child.pid, signal.SIGKILL)
            for pid in _marked(mark, 0):
                _signal(pid, signal.SIGKILL)
        for _ in range(20):  # one may make another while it is being ended
            others = _marked(mark, 0)
            if not others:
                break
            for pid in others:
                _signal(pid, signal.SIGKILL)
            await asyncio.sleep(0.01)
        await child.wait()
    return left


def _marked(mark: str, shell: int) -> list[int]:
    """Return the processes whose environment has the mark, but for the shell; none where the system does not tell."""
    wanted = f"{_MARK}={mark}".encode()
    pids = []
    try:
        # a process may leave its group; its environment it keeps
        names = os.listdir("/proc")  # noqa: PTH208 (names only)
    except OSError:
        return []
    for name in names:
        if name.isdecimal() and int(name) != shell:
            try:
                with Path("/proc", name, "environ").open("rb") as file:
                    if wanted in file.read().split(b"\0"):
                        pids.append(int(name))
            except OSError:
                continue
    return pids


def _signal_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _shell() -> tuple[str, ...]:
    # bash where there is one: models write for it
    for path in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"):
        if Path(path).exists():
            return (path, "--noprofile", "--norc")
    return ("/bin/sh",)


class _Output:
    """Beginning and end of an output in memory, and up to `whole` bytes of it in a private file once it is long."""

    def __init__(self, limit: int, whole: int, spill: Path | None, name: str) -> None:
        self._head_room, self._tail_room = limit * 2 // 3, limit // 3
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = self._size = 0
        self._whole, self._spill, self._name = whole, spill, name
        self._file: int = -1
        self._path = ""

    def add(self, piece: bytes) -> None:
        """Take the next piece of the output; return nothing."""
        if self._spill is not None and self._file < 0 and self._size + len(piece) > self._head_room + self._tail_room:
            self._begin_file()
        # a command may write for ever: the file has a bound as well
        if self._file >= 0 and self._size < self._whole:
            self._write(piece[: self._whole - self._size])
        self._size += len(piece)
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        if piece:
            self._tail.append(piece)
            self._tail_size += len(piece)
            # whole pieces leave, so that at least the tail's room is always there
            while self._tail_size - len(self._tail[0]) >= self._tail_room:
                self._tail_size -= len(self._tail.popleft())

    def shown(self) -> tuple[str, str]:
        """Return the text for the model, and the path of the file with all of it (empty: the text is all)."""
        tail = b"".join(self._tail)
        gone = self._size - len(self._head) - len(tail)
        if gone <= 0 and len(tail) <= self._tail_room:
            return _text(bytes(self._head) + tail), ""
        end = tail[-self._tail_room :]
        gone = self._size - len(self._head) - len(end)
        omission = omission_line(gone, "bytes", self._path)
        if self._path and self._size > self._whole:
            omission = omission[:-1] + f" up to byte {self._whole:,}]"
        return f"{_text(bytes(self._head))}\n{omission}\n{_text(end)}", self._path

    def close(self) -> None:
        """Close the file, if any; return nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _begin_file(self) -> None:
        assert self._spill is not None
        try:
            path = _spill_file(self._spill, self._name)
            self._file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            self._spill = None
            return
        self._path = str(path)
        self._write(bytes(self._head) + b"".join(self._tail))

    def _write(self, piece: bytes) -> None:
        try:
            os.write(self._file, piece)
        except OSError:  # a full disk does not end the call
            self.close()
            self._path, self._spill = "", None


def _text(raw: bytes) -> str:
    return escape_hidden(raw.decode("utf-8", "surrogateescape").replace("\r\n", "\n")).rstrip("\n")


BASH = Tool(
    "bash",
    "Run a shell command in the project. It gets no input and no secrets of the environment; what it leaves running "
    "is ended with it. Of a long output, begin and end are given.",
    _BashInput,
    _bash,
    _bash_permissions,
)


def _spill_file(spill: Path, name: str) -> Path:
    """Return the path of a new, empty, private file."""
    spill.mkdir(mode=0o700, parents=True, exist_ok=True)
    plain_name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60] or "output"
    path = spill / f"{plain_name}-{secrets.token_hex(6)}.txt"
    # 0600 from the beginning: outputs may hold secrets
    create_private_file(path)
    return path


def _snapshot_files(workspace: Workspace, seconds: float = 2.0, most: int = _MAX_SNAPSHOT) -> dict[str, int] | None:
    """Return the project's files with when each was changed (ns); `None` where there are too many to look at."""
    until = time.monotonic() + seconds
    files: dict[str, int] = {}
    try:
        for file in list_files(workspace, workspace.root, lambda: time.monotonic() > until, seconds):
            files[file.path] = file.changed
            if len(files) > most:
                return None
    except (OSError, ToolError):
        return None
    return files if time.monotonic() <= until else None


def _changed_files(before: dict[str, int] | None, after: dict[str, int] | None) -> tuple[str, ...]:
    """Return the files that are new, gone or written between two snapshots; nothing where that is not known."""
    if before is None or after is None:
        return ()
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))
