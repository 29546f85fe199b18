"""Custom sections from files: the user's own, and a project's where the user trusts the very bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

from hudkit.errors import ConfigError
from hudkit.sections.sandboxed.definition import MOST_SOURCE, NAME, Definition, parse

FOLDER = Path(".hudkit") / "sections"
"""Where a project's sections are, below its root."""

ENDING = ".py"

MOST_FILES = 16
"""Files of one folder; those behind them in order of names are not read."""


class Places(msgspec.Struct, frozen=True):
    """The user's folder of sections, and the file that says which bytes of projects are trusted."""

    user: Path
    trusted: Path


class Found(msgspec.Struct, frozen=True):
    """A file: its definition or what is `wrong` with it, the `digest` (SHA-256) of its bytes, whether it runs."""

    path: Path
    level: str  # `user` or `project`
    digest: str = ""
    trusted: bool = False
    definition: Definition | None = None
    wrong: str = ""

    @property
    def name(self) -> str:
        return self.path.stem


class Shelf:
    """The files of a user and of one project. They are read again when one of them, or what is trusted, changes."""

    def __init__(self, places: Places, project: Path | None = None) -> None:
        self.places = places
        self.project = root_of(project) if project is not None else None
        self._sign: object = None
        self._found: tuple[Found, ...] = ()
        self._runs: Mapping[str, Definition] = {}

    def found(self) -> tuple[Found, ...]:
        """Every file, whether it runs or not: the user's first, each folder by name. Never raises."""
        folders = [("user", self.places.user)]
        if self.project is not None:
            folders.append(("project", self.project / FOLDER))
        sign = (*(_sign(folder) for _, folder in folders), sign_of(self.places.trusted))
        if sign != self._sign:
            known = trusted(self.places.trusted)
            self._found = tuple(read(path, level, known) for level, folder in folders for path in _files(folder))
            first: dict[str, Definition] = {}
            for one in self._found:
                if one.trusted and one.definition is not None:
                    first.setdefault(one.definition.name, one.definition)
            self._sign, self._runs = sign, first
        return self._found

    def definitions(self) -> Mapping[str, Definition]:
        """What runs, by name: the user's before the project's; the same object while no file has changed."""
        self.found()
        return self._runs


def read(path: Path, level: str, known: frozenset[str]) -> Found:
    """A file as it is now; the user's own are trusted. Never raises."""
    try:
        raw = _bytes(path)
        digest = sha256(raw).hexdigest()
        found = Found(path, level, digest, level == "user" or digest in known)
        return msgspec.structs.replace(found, definition=parse(path.stem, raw.decode("utf-8-sig")))
    except ConfigError as error:
        return Found(path, level, wrong=str(error))
    except OSError as error:
        return Found(path, level, wrong=f"{path.name} cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        return Found(path, level, wrong=f"{path.name}: byte {error.start} is not UTF-8")


def trusted(path: Path) -> frozenset[str]:
    """The digests of bytes that the user trusts; none where the file cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(line.split(" ", 1)[0] for line in lines if line)


def trust(path: Path, places: Places) -> Found:
    """Trust a file's bytes as they are now, wherever they are: changed bytes are others. Raises `ConfigError`."""
    path = path.absolute()
    found = read(path, "project", trusted(places.trusted))
    if found.wrong:
        raise ConfigError(found.wrong)
    if not found.trusted:
        write_trust(places, found.digest, path)
    return msgspec.structs.replace(found, trusted=True)


def write_trust(places: Places, digest: str, path: Path) -> None:
    """Add a digest to those that the user trusts; `path` is only for who reads the file."""
    places.trusted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    line = f"{digest} {path}".encode("utf-8", "backslashreplace").replace(b"\n", b"?")
    with os.fdopen(os.open(places.trusted, flags, 0o600), "ab") as file:
        file.write(line + b"\n")


def root_of(place: Path) -> Path:
    """The git root that a directory is in, or the directory."""
    real = Path(os.path.realpath(place))
    return next((one for one in (real, *real.parents) if (one / ".git").exists()), real)


def _files(folder: Path) -> Iterator[Path]:
    try:
        found = sorted(one for one in folder.iterdir() if one.suffix == ENDING and NAME.fullmatch(one.stem))
    except OSError:
        return
    yield from found[:MOST_FILES]


def _sign(folder: Path) -> object:
    return tuple((path.name, sign_of(path)) for path in _files(folder))


def sign_of(path: Path) -> object:
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _bytes(path: Path) -> bytes:
    """A file's bytes; a link, a pipe and a device are no files here, and what is too long is not read."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ConfigError(f"{path.name} is not a file")
        raw = file.read(MOST_SOURCE + 1)
    if len(raw) > MOST_SOURCE:
        raise ConfigError(f"{path.name} has more than {MOST_SOURCE} bytes", hint="A section is a few lines")
    return raw
