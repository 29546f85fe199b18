"""A PostgreSQL server for tests: Debian's own programs, in a temporary folder, on a socket and a port of its own."""

from __future__ import annotations

import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import watchdog

PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
USERS = ("postgres", "nobody")
"""Who runs the server where the tests are run by root: it refuses to."""
INHERITED = ("PATH", watchdog.MARK)
_numbers = count(1)


def programs() -> Path | None:
    """The folder of `initdb` and `pg_ctl`, of the newest version that is here."""
    found = [path.parent for pattern in PLACES for path in Path("/").glob(pattern[1:] + "/initdb")]
    on_path = shutil.which("initdb")
    if on_path:
        found.append(Path(on_path).parent)

    def version(folder: Path) -> int:
        number = re.search(r"(\d+)", str(folder))
        return int(number[1]) if number else 0

    return max(found, key=version, default=None)


class Server:
    """A server that is up; `stop` and `start` it, and ask for a new `url` for each log."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="hudkit-pg-"))
        self.user: str | None = None
        if os.geteuid() == 0:
            self.user = next(name for name in USERS if _exists(name))
            shutil.chown(self.folder, self.user)
        self.folder.chmod(0o755)
        self.password = secrets.token_hex(8)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._data = self.folder / "data"

    def run(self, program: str, *args: str) -> None:
        """Run one of the server's programs as its user."""
        done = subprocess.run(
            [self._programs / program, *args],
            user=self.user,
            cwd=self.folder,
            # With the mark of the run, by which the watchdog ends a server whose run was killed.
            env={"LC_ALL": "C", "HOME": str(self.folder), **{k: os.environ[k] for k in INHERITED if k in os.environ}},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stderr}{self.log_text()}"

    def create(self, *, fsync: bool = False) -> None:
        """Make the cluster: from the network with a password, over the socket without."""
        (self.folder / "password").write_text(self.password)
        if self.user:
            shutil.chown(self.folder / "password", self.user)
        auth = ["--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={self.folder / 'password'}"]
        self.run("initdb", "-D", str(self._data), "-U", "hud", "-E", "UTF8", "--locale=C", "-N", *auth)
        settings = {
            "listen_addresses": "'127.0.0.1'",
            "port": str(self.port),
            "unix_socket_directories": f"'{self.folder}'",
            "max_connections": "60",
            # A kill of processes cannot tell; the loss of power is what the server's own tests are for.
            "fsync": "on" if fsync else "off",
            "shared_buffers": "32MB",
            "log_statement": "none",
        }
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())

    def start(self) -> None:
        self.run("pg_ctl", "start", "-w", "-t", "300", "-D", str(self._data), "-l", str(self.folder / "log"))

    def stop(self, mode: str = "fast") -> None:
        """`immediate` kills every process of the server, as if it had crashed."""
        self.run("pg_ctl", "stop", "-w", "-t", "300", "-m", mode, "-D", str(self._data))

    def processor_seconds(self) -> float:
        """What the server's processes that are there now, and those that have ended, have computed so far."""
        postmaster = (self._data / "postmaster.pid").read_text().split()[0]
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            if stat.parent.name == postmaster:
                ticks += sum(map(int, fields[11:15]))  # with those of its children that ended
            elif fields[1] == postmaster:
                ticks += sum(map(int, fields[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def log_text(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    def address(self, database: str = "postgres", *, password: str | None = None, **query: str) -> str:
        """A URL of a database, over TCP and with the password."""
        words = "&".join(f"{name}={value}" for name, value in query.items())
        secret = self.password if password is None else password
        return f"postgresql://hud:{secret}@127.0.0.1:{self.port}/{database}{'?' + words if words else ''}"

    def new_log(self) -> str:
        """The URL of a log that is not there yet: a schema of its own in one database."""
        return self.address(schema=f"log_{os.getpid()}_{next(_numbers)}")

    def sql(self, url: str, *statements: str) -> list[Any]:
        """Run statements by hand in the schema of a log; the rows of the last one, or how many it changed."""
        import psycopg

        base, _, schema = url.partition("?schema=")
        with psycopg.connect(base, autocommit=True) as db:
            if schema:
                db.execute(f"SET search_path = {schema}")
            for statement in statements:
                cursor = db.execute(statement)
            return cursor.fetchall() if cursor.description else [cursor.rowcount]


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@contextmanager
def running_server(*, fsync: bool = False) -> Iterator[Server]:
    """A server until the block ends. Without its programs a test is skipped, and fails in CI."""
    found = programs()
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs PostgreSQL's server")
        pytest.skip("PostgreSQL's server is not here (Debian: apt install postgresql)")
    server = Server(found)
    try:
        server.create(fsync=fsync)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(server.folder, ignore_errors=True)
