"""Where a log may live: private files whatever the umask, no symbolic links, nobody else's directory."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudkit.errors import HudkitError, StoreBusy, StoreError, StoreFull, StoreReadOnly, StoreUnsafe
from hudkit.log.payloads import NoteAdd, Redact
from hudkit.log.stores import SqliteLog
from hudkit.testing.store_conformance import make_draft, note_drafts

ROOT = os.geteuid() == 0
NOBODY = 65534


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_every_file_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "state" / "of mine" / "log.db"
    with SqliteLog.open(path) as log:
        log.append("s", note_drafts(3))
        assert sorted(file.name for file in path.parent.iterdir()) == [
            "log.db", "log.db-shm", "log.db-wal", "log.db.mark",
        ]  # fmt: skip
        for file in path.parent.iterdir():
            assert mode(file) == 0o600, file.name
    assert mode(tmp_path / "state") == mode(tmp_path / "state" / "of mine") == 0o700


def test_files_that_others_could_read_are_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    SqliteLog.open(path).close()
    for name in ("log.db", "log.db.mark"):
        (tmp_path / name).chmod(0o644)
    SqliteLog.open(path).close()
    assert {mode(tmp_path / name) for name in ("log.db", "log.db.mark")} == {0o600}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal", ".mark"])
@pytest.mark.parametrize("dangling", [False, True])
@pytest.mark.parametrize("read_only", [False, True])
def test_symbolic_links_are_refused(tmp_path: Path, suffix: str, dangling: bool, read_only: bool) -> None:
    path = tmp_path / "log.db"
    SqliteLog.open(path).close()
    victim = tmp_path / "victim"
    if not dangling:
        victim.write_text("precious")
    link = path.with_name(path.name + suffix)
    link.unlink(missing_ok=True)
    link.symlink_to(victim)
    with pytest.raises(StoreUnsafe):
        SqliteLog.open(path, read_only=read_only)
    assert victim.exists() != dangling
    assert dangling or victim.read_text() == "precious"


def test_a_linked_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(StoreUnsafe):
        SqliteLog.open(tmp_path / "link" / "log.db")
    assert list((tmp_path / "real").iterdir()) == []


@pytest.mark.parametrize("bits", [0o777, 0o722, 0o770])
def test_a_directory_that_others_can_write_is_refused(tmp_path: Path, bits: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(bits)
    with pytest.raises(StoreUnsafe):
        SqliteLog.open(folder / "log.db")
    assert list(folder.iterdir()) == []
    assert mode(folder) == bits, "an existing directory is never changed"
    folder.chmod(0o1777)
    SqliteLog.open(folder / "log.db").close()


@pytest.mark.skipif(not ROOT, reason="only root can give a file to somebody else")
def test_what_belongs_to_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, -1)
    with pytest.raises(StoreUnsafe):
        SqliteLog.open(folder / "log.db")
    os.chown(folder, 0, -1)
    SqliteLog.open(folder / "log.db").close()
    for name in ("log.db", "log.db.mark"):
        os.chown(folder / name, NOBODY, -1)
        with pytest.raises(StoreUnsafe):
            SqliteLog.open(folder / "log.db")
        os.chown(folder / name, 0, -1)


def test_paths_that_cannot_be_are_typed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for bad in ("file/log.db", "folder", "fifo", "a\0b", "\ud800", "x" * 300, "", "."):
        with pytest.raises(StoreError):
            SqliteLog.open(tmp_path / bad if bad not in ("", ".") else bad)
        with pytest.raises(StoreError):
            SqliteLog.open(tmp_path / bad if bad not in ("", ".") else bad, read_only=True)


# -- no plaintext ----------------------------------------------------------------------------------------------


def test_no_file_holds_a_secret_after_the_append(tmp_path: Path) -> None:
    secrets = ["gh" + "p_16C7e42F292c6912E7710c838347Ae178B4a", "hunter2-and-more", "AKIA" + "IOSFODNN7EXAMPLE"]
    with SqliteLog.open(tmp_path / "log.db") as log:
        for number, secret in enumerate(secrets):
            log.append("s", [make_draft(NoteAdd(f"line\npassword={secret}\n\tlast"), number)])
        _nowhere(tmp_path, secrets)
    _nowhere(tmp_path, secrets)


def test_no_file_holds_a_payload_after_its_redaction(tmp_path: Path) -> None:
    texts = ["the villa is at 12 Elm Street", "the vault " + "is under the stairs " * 2000]
    with SqliteLog.open(tmp_path / "log.db") as log:
        log.append("s", [make_draft(NoteAdd(text), number) for number, text in enumerate(texts)])
        log.append("s", note_drafts(5, 10))
        with SqliteLog.open(tmp_path / "log.db") as other:
            other.append("s", [make_draft(Redact(1), 20), make_draft(Redact(2), 21)])
        _nowhere(tmp_path, [text[:30] for text in texts])
    _nowhere(tmp_path, [text[:30] for text in texts])


def _nowhere(folder: Path, texts: list[str]) -> None:
    for file in folder.iterdir():
        data = file.read_bytes()
        for text in texts:
            assert text.encode() not in data, file.name


# -- media that refuse -----------------------------------------------------------------------------------------


def run_child(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a test's code in a process of its own, which it may cripple."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


FILL = """
import resource, sys
from hudkit.errors import StoreFull
from hudkit.log import Batch
from hudkit.log.payloads import NoteAdd
from hudkit.log.stores import SqliteLog
from hudkit.testing.store_conformance import make_draft
log = SqliteLog.open(sys.argv[1])
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
acknowledged = 0
try:
    while acknowledged < 5000:
        acknowledged = log.append("s", [make_draft(NoteAdd("x" * 3000), 1)])[-1].seq
except StoreFull as error:
    refused = type(error).__name__
else:
    sys.exit("never full")
try:
    log.append("s", [make_draft(NoteAdd("y" * 900_000), 1)])
except StoreFull:
    pass
else:
    sys.exit("a big one fits")
assert [event.seq for event in log.read("s")] == list(range(1, acknowledged + 1)), "reading goes on"
assert list(log.verify()) == []
answers = log.append_many([Batch("s", (make_draft(NoteAdd("z" * 900_000), 1),)), Batch("t", ())])
assert type(answers[0]) is StoreFull and answers[1] == (), answers
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert log.append("s", [make_draft(NoteAdd("room again"), 1)])[0].seq == acknowledged + 1
log.close()
print(acknowledged, refused)
"""


@pytest.mark.slow
def test_a_limit_on_file_sizes_is_a_full_medium(tmp_path: Path) -> None:
    done = run_child(FILL, tmp_path / "log.db", "limit")
    assert done.returncode == 0, done.stderr
    acknowledged = int(done.stdout.split()[0])
    with SqliteLog.open(tmp_path / "log.db") as log:
        assert log.last_seq("s") == acknowledged + 1
        assert list(log.verify()) == []


NAMESPACE = ["unshare", "--mount", "--map-root-user"] if not ROOT else ["unshare", "--mount"]


def unavailable(reason: str) -> None:
    """Skip a test that this machine cannot run; where the whole suite must run, that is a failure."""
    if os.environ.get("CI") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def in_namespace(shell: str, code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python code after mounting something that nobody else sees; `$1` is the place."""
    unshare = shutil.which("unshare")
    if unshare is None:
        unavailable("no unshare here")
    script = f'{shell} && exec "$0" -c "$CODE" "$@"'
    command = [*NAMESPACE, "sh", "-c", script, sys.executable, *map(str, arguments)]
    probe = subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False)
    if probe.returncode:
        unavailable("no mount namespace can be made here")
    environment = {**os.environ, "CODE": code}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir(mode=0o700)
    mount = f'mount -t tmpfs -o size=1m,mode=0700 tmpfs "{folder}"'
    done = in_namespace(mount, FILL, folder / "log.db", "disk")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1] == "StoreFull"


READ_ONLY = """
import sys
from hudkit.errors import StoreReadOnly
from hudkit.log import Batch
from hudkit.log.stores import SqliteLog, open_log
from hudkit.testing.store_conformance import note_drafts
for path in sys.argv[1:]:
    try:
        SqliteLog.open(path)
    except StoreReadOnly:
        pass
    else:
        sys.exit(f"{path} was opened for writing")
with SqliteLog.open(sys.argv[1], read_only=True) as log:
    assert [event.seq for event in log.read("s")] == [1, 2, 3], "reading goes on"
    assert list(log.verify()) == []
    try:
        log.append("s", note_drafts(1))
    except StoreReadOnly:
        print("refused")
log = open_log(sys.argv[1], fail_open=True)
assert [event.seq for event in log.read("s")] == [1, 2, 3]
for write in (lambda: log.append("s", note_drafts(1)), lambda: log.append_many([Batch("s", note_drafts(1))])):
    try:
        write()
    except StoreReadOnly:
        continue
    sys.exit("it was acknowledged")
log.close()
for path in sys.argv[2:]:
    log = open_log(path, fail_open=True)
    assert "in memory only" in log.remark, "where there is nothing to read, it lives as long as the process"
    assert [event.seq for event in log.append("s", note_drafts(1))] == [1]
    log.close()
"""


def test_a_read_only_file_system(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with SqliteLog.open(folder / "log.db") as log:
        log.append("s", note_drafts(3))
    mount = f'mount --bind "{folder}" "{folder}" && mount -o remount,ro,bind "{folder}"'
    done = in_namespace(mount, READ_ONLY, folder / "log.db", folder / "new.db", folder / "sub" / "new.db")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "refused\n"


AS_NOBODY = "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"


def test_a_directory_without_write_permission(tmp_path: Path) -> None:
    """Root passes every permission bit, so a root process drops its rights first."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # every ancestor can be passed by any user
        Path(place).chmod(0o755)
        folder = Path(place, "state")
        with SqliteLog.open(folder / "log.db") as log:
            log.append("s", note_drafts(3))
        code = READ_ONLY
        if ROOT:
            code = (
                "import hudkit.log.stores, hudkit.testing.store_conformance, encodings.idna\n" + AS_NOBODY + READ_ONLY
            )
            for file in (folder, *folder.iterdir()):
                os.chown(file, NOBODY, NOBODY)
        folder.chmod(0o500)
        done = run_child(code, folder / "log.db", folder / "new.db", folder / "sub" / "new.db")
        folder.chmod(0o700)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "refused\n"


# -- locks -----------------------------------------------------------------------------------------------------


def test_a_writer_that_waits_too_long_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with SqliteLog.open(path) as log:
        log.append("s", note_drafts(1))
        holder = run_holder(path)
        try:
            with SqliteLog.open(path, read_only=True, busy_timeout=0.05) as reader:
                assert reader.last_seq("s") == 1, "readers do not wait"
            start = time.monotonic()
            with pytest.raises(StoreBusy):
                SqliteLog.open(path, busy_timeout=0.05)
            log._db.execute("PRAGMA busy_timeout = 50")
            with pytest.raises(StoreBusy):
                log.append("s", note_drafts(1))
            assert time.monotonic() - start < 30
        finally:
            holder.communicate(b"\n")
        assert log.append("s", note_drafts(1))[0].seq == 2


def run_holder(path: Path) -> subprocess.Popen[bytes]:
    code = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
        " db.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.readline()"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    return holder


def test_every_error_says_what_would_be_right(tmp_path: Path) -> None:
    caught: list[HudkitError] = []
    for path in (tmp_path, tmp_path / "a\0b"):
        with pytest.raises(StoreError) as error:
            SqliteLog.open(path)
        caught.append(error.value)
    assert all(error.hint and error.message for error in caught)
    assert not any(isinstance(error, StoreFull | StoreReadOnly) for error in caught)
