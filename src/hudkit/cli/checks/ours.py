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
from contextlib import closing
from pathlib import Path

import hudkit
from hudkit.cli.checks import privacy
from hudkit.cli.checks.check import Finding, fail, good, gravest, warn
from hudkit.cli.checks.surroundings import Surroundings
from hudkit.config import load
from hudkit.daemon.client import greet
from hudkit.errors import StoreBusy, StoreError, StoreReadOnly
from hudkit.hosts.wire import PROTOCOL, newer
from hudkit.log.stores import open_log, verify_file
from hudkit.log.stores.log_tables import LOG_MIGRATIONS
from hudkit.log.stores.sqlite_files import companion_path
from hudkit.tokens.counting import APPROXIMATE, shared_counter

MIB = 1024 * 1024
VERIFIED_BYTES = 256 * MIB
"""A larger log is not read here; `hudkit verify` does."""
LEAST_FREE = 64 * MIB
GREET_SECONDS = 2.0
DAEMON_NEEDS = ("httptools", "starlette", "uvicorn", "uvloop")
_OLDEST_PYTHON = (3, 11)
_FIX = "hudkit doctor --fix"


def versions(_: Surroundings) -> Finding:
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


def data(here: Surroundings) -> Finding:
    findings = [privacy.directory(here.data)]
    if here.db.parent != here.data:
        findings.append(privacy.directory(here.db.parent))
    there = next(path for path in (here.data, *here.data.parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < LEAST_FREE:
        findings.append(
            warn(f"{free // MIB} MiB are left where the data is", "Make room: a full disk takes no events")
        )
    return gravest(findings, findings[0].words)


def files(here: Surroundings) -> Finding:
    there = [privacy.file(path) for path in privacy.files(here)]
    return gravest(there, f"{len(there)} files are private" if there else "there are none yet")


def log(here: Surroundings) -> Finding:
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


def whole(here: Surroundings) -> Finding:
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
    return fail(f"{len(findings)} findings ({codes})", "`hudkit verify` names them; what is before them can be read")


def socket(here: Surroundings) -> Finding:
    if here.socket is None:
        return fail(here.no_socket, "Name a shorter one with HUDKIT_SOCKET")
    way = privacy.directory(here.socket.parent, entered=True)
    findings = [way]
    try:
        mode = here.socket.lstat().st_mode
    except OSError:
        return gravest(findings, way.words)
    if not stat.S_ISSOCK(mode):
        findings.append(fail(f"{here.socket} is not a socket", "Move it away"))
    elif stat.S_IMODE(mode) & privacy.OTHERS:
        findings.append(warn(f"{here.socket} can be used by others", f"chmod 600 {here.socket}, or {_FIX}"))
    return gravest(findings, f"{here.socket} is yours alone")


def daemon(here: Surroundings) -> Finding:
    if here.socket is None or not os.path.lexists(here.socket):
        return good("none runs; a host starts it when it is needed")
    if not stat.S_ISSOCK(here.socket.lstat().st_mode):
        return fail(f"none can run: {here.socket} is not a socket", "Move it away")
    if not listened_to(here.socket):
        return warn(f"{here.socket} was left behind: nobody listens", f"{_FIX}, or go on: the next daemon clears it")
    there = greet(here.socket, timeout=GREET_SECONDS)
    if there is None:
        hint = "It hangs, or is not a daemon: end the process that has the socket, the next daemon clears it"
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


def listened_to(path: Path) -> bool:
    """Whether a process listens on a socket; it need not answer. Only a refusal says that nobody does."""
    with closing(sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)) as connection:
        connection.settimeout(GREET_SECONDS)
        try:
            connection.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True


def tokens(_: Surroundings) -> Finding:
    counter = shared_counter()
    if counter.name == APPROXIMATE:
        hint = f"Install hudkit again: its tokenizer is missing or broken ({counter.reason[:200]})"
        return warn("counts are upper bounds: about a quarter of what fits is shown", hint)
    return good(f"exact, {counter.name} by {counter.package}")


def settings(here: Surroundings) -> Finding:
    warnings = load(here.settings, here.project_settings).warnings
    if warnings:
        return warn("; ".join(warnings), "What is wrong is left out; `hudkit config check` says the same")
    files_in_force = [str(path) for path in (here.settings, here.project_settings) if path is not None]
    return good(" and ".join(files_in_force) or "none are given, the defaults hold")


def extras(here: Surroundings) -> Finding:
    missing = missing_for_daemon()
    if missing:
        used = here.install.manifest.exists()
        words = f"hudkit[daemon] is not complete: {', '.join(missing)}"
        return (fail if used else warn)(words, "pip install 'hudkit[daemon]', or uv tool install 'hudkit[daemon]'")
    if importlib.util.find_spec("genai_prices") is None:
        return good("daemon; without prices, which know the costs of more models", "pip install 'hudkit[prices]'")
    return good("daemon and prices")


def missing_for_daemon() -> list[str]:
    """The packages that a daemon of this interpreter would lack."""
    return [name for name in DAEMON_NEEDS if importlib.util.find_spec(name) is None]


def _span(ms: int) -> str:
    minutes = ms // 60_000
    return f"{ms // 1000} s" if minutes < 1 else f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
