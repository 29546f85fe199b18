"""A hook as a command: what a host says on standard input goes to the daemon, and its answer to standard output.

The host waits for each hook, so this process imports next to nothing and gives up in time. It never fails: without
an answer it prints nothing, and the host goes on. Where no daemon runs, one is started; what it would have said comes
with the next hook. `mcp_bridge` asks in the same way.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from hudkit.hosts.hook_deadlines import hook_seconds

TYPE_CHECKING = False  # importing typing takes longer than connecting
if TYPE_CHECKING:
    from socket import socket
    from typing import Any

_GRACE_SECONDS = 0.5
"""Seconds behind its deadline after which the process ends whatever it is doing."""

_STDIN_SECONDS = 5.0
"""Seconds within which the host must have said everything."""

_MOST_SILENT = 2
"""Hooks in a row without an answer after which the daemon is not asked, but where a window begins."""

_SILENT_SECONDS = 30.0
"""Seconds after which it is asked again."""

_BEGINS_WINDOW = ("SessionStart", "PreCompact")

_MAX_BYTES = 1024 * 1024
"""Most bytes of an answer that are read."""

_LARGE = ("tool_response", "tool_input", "last_assistant_message", "compact_summary")
"""Fields that can be large. The daemon reads what was said from the session's file."""

_TAKES_PLAIN_TEXT = ("claude-code", "PreCompact")
"""Of this host's hook, plain text on standard output goes into the prompt of the summary; where a person wrote
`/compact`, into the new window as well."""


def main(host: str) -> int:
    """Answer the hook on standard input for a host; return 0, whatever happens."""
    try:
        signal.signal(signal.SIGALRM, _end)
        signal.setitimer(signal.ITIMER_REAL, _STDIN_SECONDS)
        payload = json.loads(sys.stdin.buffer.read())
        event = str(payload["hook_event_name"])
        signal.setitimer(signal.ITIMER_REAL, hook_seconds(event) + _GRACE_SECONDS)
        text = answer_hook(host, payload)
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
    except Exception as error:
        if os.environ.get("HUDKIT_DEBUG"):
            print(f"hudkit hook: {type(error).__name__}: {error}", file=sys.stderr)
    return 0


def answer_hook(host: str, payload: dict[str, Any]) -> str:
    """Return what a host is told for a hook, in its words; empty where there is nothing to tell.

    Raises `OSError`, `ValueError`, `KeyError` or `TypeError` where there is no answer in time, or none that is one.
    """
    event = str(payload["hook_event_name"])
    until = time.monotonic() + hook_seconds(event)
    plain = (host, event) == _TAKES_PLAIN_TEXT
    request = {name: value for name, value in payload.items() if name not in _LARGE}
    if plain:
        request["hud"] = {"v": 1, "echoes": True}
    body = json.dumps(request).encode()
    if _is_silent() and event not in _BEGINS_WINDOW:
        return ""
    status, content = ask_daemon(f"/v1/hook/{host}", body, until)
    if status != 200:
        message = f"the daemon answers with status {status}"
        raise ValueError(message)
    answer = json.loads(content)
    return _instructions(answer) if plain else _words_of_host(event, answer)


def _end(number: int, frame: object) -> None:  # noqa: ARG001
    os._exit(0)


def _instructions(answer: dict[str, Any]) -> str:
    return str(answer.get("hud", {}).get("instructions", ""))


def _words_of_host(event: str, answer: dict[str, Any]) -> str:
    """Return what the host is told: what it knows, and nothing else that something on the socket may have said."""
    words: dict[str, Any] = {}
    output = answer.get("hookSpecificOutput", {})
    if output.get("hookEventName") == event and isinstance(output.get("additionalContext"), str):
        words["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": output["additionalContext"]}
    if isinstance(answer.get("systemMessage"), str):
        words["systemMessage"] = answer["systemMessage"]
    return json.dumps(words) if words else ""


def _is_silent() -> bool:
    """Return whether the daemon left the last hooks without an answer."""
    from hudkit.daemon.socket_path import socket_path

    return _times_silent(_silence(socket_path())) >= _MOST_SILENT


def ask_daemon(where: str, body: bytes, until: float, headers: str = "") -> tuple[int, bytes]:
    """Return status and body of the daemon's answer; `until` is a time of `time.monotonic`, `headers` are lines.

    Raises `OSError` or `ValueError` where there is none in time, of which `NotAsked` where nothing was sent.
    """
    from hudkit.daemon.socket_path import socket_path

    path = socket_path()
    silence = _silence(path)
    times = _times_silent(silence)
    try:
        received = _exchange(path, where, headers, body, until)
    except TimeoutError:
        silence.write_text(str(times + 1))
        if times + 1 == _MOST_SILENT:
            _start_daemon(path)
        raise
    if times:
        silence.unlink(missing_ok=True)
    head, _, content = received.partition(b"\r\n\r\n")
    _replace_older(path, head)
    if not head.startswith(b"HTTP/1.1 ") or not head[9:12].isdigit():
        message = f"the daemon answers {head[:40]!r}"
        raise ValueError(message)
    return int(head[9:12]), content


def _silence(path: Path) -> Path:
    """The file that counts questions in a row without an answer."""
    return path.with_name(f"{path.name}.silent")


def _times_silent(file: Path) -> int:
    """Return how many hooks in a row had no answer in time; 0 where that was long ago."""
    try:
        if time.time() - file.stat().st_mtime > _SILENT_SECONDS:
            return 0
        return int(file.read_text())
    except (OSError, ValueError):
        return 0


def _exchange(path: Path, where: str, headers: str, body: bytes, until: float) -> bytes:
    try:
        connection = _connect(path, until)
    except TimeoutError as error:
        raise NotAsked(*error.args) from None
    try:
        head = f"POST {where} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}"
        connection.sendall(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
            if len(received) > _MAX_BYTES:
                message = "the answer is too long"
                raise ValueError(message)
            connection.settimeout(_left(until))
        return received
    finally:
        connection.close()


class NotAsked(TimeoutError):
    """No connection to the daemon in time: it has not heard of what it was to be asked."""


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        message = "no answer in time"
        raise TimeoutError(message)
    return left


def _connect(path: Path, until: float) -> socket:
    """Return a connection to the daemon, which is started where there is none."""
    import socket

    is_started = False
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_left(until))
        try:
            connection.connect(os.fspath(path))
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            if not is_started and not _is_coming_up(path):
                _start_daemon(path)
            is_started = True
            time.sleep(min(0.02, _left(until)))
        else:
            return connection


def _is_coming_up(path: Path) -> bool:
    """Return whether a daemon has the socket's lock and does not listen yet."""
    from hudkit.daemon.socket_path import acquire_lock, prepare_directory

    prepare_directory(path)
    lock = acquire_lock(path)
    if lock is not None:
        os.close(lock)
    return lock is None


def _start_daemon(path: Path) -> None:
    """Start a daemon, and wait for nothing. It takes the place of one that is older or hangs, and else ends."""
    import subprocess

    from hudkit.paths import log_path

    quiet = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, "-P", "-m", "hudkit.daemon", "--socket", str(path), "--db", str(log_path().absolute())],
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
        cwd="/",
        start_new_session=True,
        close_fds=True,
    )


def _replace_older(path: Path, headers: bytes) -> None:
    """Have a daemon of an older version replaced by one of this version, for the next hook."""
    import hudkit

    if f"\r\nhudkit-version: {hudkit.__version__}\r\n".encode() in headers.lower() + b"\r\n":
        return
    from hudkit.hosts.wire import VERSION_HEADER, newer

    fields = (line.partition(":") for line in headers.decode("latin-1").split("\r\n"))
    version = next((value.strip() for name, _, value in fields if name.lower() == VERSION_HEADER), "")
    if version and newer(hudkit.__version__, version):
        _start_daemon(path)
