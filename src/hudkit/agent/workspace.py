"""Where tools may go: the project's directory and what was granted beside it, whatever a path says.

A path is resolved first (its links followed), then judged, then opened from the root downward, segment by segment and
following no link: what is swapped in between is not followed out. Files are replaced by a rename within the directory
that was opened, so a reader sees the old or the new file, and a kill leaves one of both.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import subprocess
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from hudkit.compose import shorten, visible
from hudkit.errors import Refused, ToolError

_MAX_PATH = 4_096
_MAX_NAME_BYTES = 255

FileStamp = tuple[int, int, int, int]
"""What changes when a file's content does: inode, size, times of modification and change (ns)."""


class ResolvedPath(msgspec.Struct, frozen=True):
    """A path that was looked at: `real` without links, and `shown` as it is told (relative inside the project).

    `named` is the path as it was given, relative to the project, where links are not followed (empty outside).
    `inside`: tools may go there now; `own`: without having been let in.
    """

    given: str
    real: Path
    shown: str
    inside: bool
    own: bool
    named: str = ""


class Workspace:
    """A project's root, directories granted beside it, and others that may be read only."""

    def __init__(self, root: Path, *, cwd: Path | None = None, readable: Iterable[Path] = ()) -> None:
        self.root = Path(os.path.realpath(root))
        self.cwd = Path(os.path.realpath(cwd)) if cwd is not None else self.root
        self._roots = [self.root]
        self._readable = [Path(os.path.realpath(path)) for path in readable]

    def grant(self, path: Path) -> None:
        """Let tools into a directory, or to a file, outside of the project."""
        self._roots.append(Path(os.path.realpath(path)))

    def locate(self, path: str, *, writing: bool = True) -> ResolvedPath:
        """Where a path of the model leads, inside or not. Raises `Refused` for what is no path.

        Outside, nothing is told about what is there.
        """
        _check_path(path)
        joined = os.path.join(self.cwd, path)  # noqa: PTH118 (keeps `..` behind links for realpath)
        try:
            real = Path(os.path.realpath(joined))
        except (OSError, ValueError):
            raise Refused(f"{quote(path)} is not a path that can be used") from None
        own = [self.root] if writing else [self.root, *self._readable]
        lexical = Path(os.path.normpath(joined))
        return ResolvedPath(
            path,
            real,
            real.relative_to(self.root).as_posix() if real.is_relative_to(self.root) else str(real),
            any(real.is_relative_to(root) for root in (*own, *self._roots)),
            any(real.is_relative_to(root) for root in own),
            lexical.relative_to(self.root).as_posix() if lexical.is_relative_to(self.root) else "",
        )

    def place(self, path: str, *, writing: bool = True) -> ResolvedPath:
        """Where a path leads. Raises `Refused` where that is outside."""
        place = self.locate(path, writing=writing)
        if not place.inside:
            raise Refused(f"{quote(path)} leads out of the project", hint="Name a path inside of it")
        return place

    @contextmanager
    def folder(self, real: Path, *, make: bool = False) -> Iterator[int]:
        """A descriptor of a directory, reached from its root without following links.

        Raises `ToolError` and `OSError`.
        """
        roots = [root for root in (*self._roots, *self._readable) if real.is_relative_to(root)]
        if not roots:
            raise Refused(f"{quote(str(real))} leads out of the project")
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(roots[0], flags)
        try:
            for part in real.relative_to(roots[0]).parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=fd)
                below = os.open(part, flags, dir_fd=fd)
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def opened(self, place: ResolvedPath) -> Iterator[int]:
        """A descriptor of an ordinary file, for reading. Raises `ToolError`."""
        fd = -1
        try:
            with as_tool_errors(place), self._above(place) as (folder, name):
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                fd = os.open(name, flags, dir_fd=folder)
                _require_ordinary(fd, place)
            yield fd
        finally:
            if fd >= 0:
                os.close(fd)

    def sign(self, place: ResolvedPath) -> FileStamp | None:
        """The sign of a file; `None` where there is none. Raises `ToolError` where it is no ordinary file."""
        try:
            with as_tool_errors(place, absent=True), self._above(place) as (folder, name):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise ToolError(f"{quote(place.shown)} is not an ordinary file")
        return stamp_of(found)

    def replace(
        self,
        place: ResolvedPath,
        raw: bytes,
        before: FileStamp | None,
        stopped: Callable[[], bool],
        *,
        mode: int | None = None,
    ) -> FileStamp:
        """Put a file in the place of the one whose sign was `before` (`None`: of none), in one step; its sign.

        The mode of the old file is kept; a new one gets `mode`, or what is usual. Raises `ToolError`: the file is not
        the one of before, or cannot be written.
        """
        part = f".{secrets.token_hex(8)}.part"
        with as_tool_errors(place), self._above(place, make=before is None) as (folder, name):
            fd = os.open(
                part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder
            )
            try:
                try:
                    view = memoryview(raw)
                    while view:
                        view = view[os.write(fd, view) :]
                    now = _stat_in(name, folder)
                    if now is not None or mode is not None:
                        os.fchmod(fd, (stat.S_IMODE(now.st_mode) if now is not None else mode or 0) & 0o777)
                    os.fsync(fd)
                finally:
                    os.close(fd)
                if (stamp_of(now) if now else None) != before or (now and not stat.S_ISREG(now.st_mode)):
                    raise ToolError(
                        f"{quote(place.shown)} has changed meanwhile", hint="Read it again, then change it"
                    )
                if stopped():
                    raise ToolError("the call was cancelled; nothing was written")
                if before is None:
                    _link_into_place(part, name, folder)
                else:
                    os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(part, dir_fd=folder)
                raise
            os.fsync(folder)
            return stamp_of(os.stat(name, dir_fd=folder, follow_symlinks=False))

    def remove(self, place: ResolvedPath, before: FileStamp) -> None:
        """Delete the file whose sign was `before`. Raises `ToolError`: it is another one now, or cannot be used."""
        with as_tool_errors(place), self._above(place) as (folder, name):
            now = _stat_in(name, folder)
            if now is None or stamp_of(now) != before:
                raise ToolError(f"{quote(place.shown)} has changed meanwhile", hint="Look at it, then delete it")
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)

    @contextmanager
    def _above(self, place: ResolvedPath, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The directory that a file is in, and the file's name there."""
        if any(place.real == root for root in self._roots) and place.real.is_dir():
            raise ToolError(f"{quote(place.shown)} is a directory")
        root = next((root for root in self._roots if place.real == root), None)
        if root is not None:  # a single file that was granted
            fd = os.open(root.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                yield fd, root.name
            finally:
                os.close(fd)
            return
        with self.folder(place.real.parent, make=make) as fd:
            yield fd, place.real.name


@contextmanager
def as_tool_errors(place: ResolvedPath, *, absent: bool = False) -> Iterator[None]:
    """What the system says about a place, as a `ToolError`; with `absent`, `FileNotFoundError` goes through."""
    try:
        yield
    except FileNotFoundError:
        if absent:
            raise
        raise ToolError(f"there is no file {quote(place.shown)}", hint="`glob` finds files by name") from None
    except FileExistsError:
        raise ToolError(f"{quote(place.shown)} has been made meanwhile", hint="Read it, then change it") from None
    except NotADirectoryError:
        raise ToolError(f"a part of {quote(place.shown)} is not a directory") from None
    except IsADirectoryError:
        raise ToolError(f"{quote(place.shown)} is a directory") from None
    except OSError as error:
        said = "it, or a directory above it, became a link" if error.errno == errno.ELOOP else error.strerror
        raise ToolError(f"{quote(place.shown)} cannot be used: {said}") from None


def _link_into_place(part: str, name: str, folder: int) -> None:
    """Give a new file its name, unless there is one of that name now (`FileExistsError`)."""
    try:
        os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        if _stat_in(name, folder) is not None:  # a file system without hard links: as near to one step as it can be
            raise FileExistsError(errno.EEXIST, "there is one") from None
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    os.unlink(part, dir_fd=folder)


def stamp_of(found: os.stat_result) -> FileStamp:
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def quote(text: str, limit: int = 200) -> str:
    """A text of the model's, or a name on disk, as an answer may repeat it."""
    return f'"{shorten(visible(text), limit)}"'


def _stat_in(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _require_ordinary(fd: int, place: ResolvedPath) -> None:
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        raise ToolError(f"{quote(place.shown)} is a directory")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{quote(place.shown)} is not an ordinary file")


def _check_path(path: str) -> None:
    """Refuse what is no path, and names that only look like one after something has rewritten them."""
    if not path or len(path) > _MAX_PATH or "\0" in path or any(0xD800 <= ord(char) <= 0xDFFF for char in path):
        raise Refused(f"{quote(path, 80)} is not a path that can be used")
    if path.startswith("~"):
        raise Refused(f"{quote(path)}: home directories are not expanded", hint="Name a path inside the project")
    for part in path.split("/"):
        if len(part.encode()) > _MAX_NAME_BYTES:
            raise Refused(f"{quote(path, 80)} has a name of more than {_MAX_NAME_BYTES} bytes")
        plain = unicodedata.normalize("NFKC", part)
        if plain != part and (plain in (".", "..") or "/" in plain):
            raise Refused(f"{quote(path)} has a part that only looks like {plain}")


_MAX_LISTED = 200_000

_MAX_SNAPSHOT = 20_000

_SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache"}
    | {".pytest_cache", ".next", ".gradle", ".terraform", ".idea"}
)
"""Folders without git that are not looked into; a search that begins in one of them does look."""

_GIT = (
    "git", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.hooksPath=/dev/null",
    "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate",
)  # fmt: skip
"""A repository's own settings must not run programs here."""


class ListedFile(msgspec.Struct, frozen=True):
    """An ordinary file: its path relative to where the search began, and when it was last changed (ns)."""

    path: str
    changed: int


def list_files(area: Workspace, start: Path, stopped: Callable[[], bool], seconds: float) -> Iterator[ListedFile]:
    """The files below a directory inside the area, links not followed. Raises `ToolError`, `OSError`."""
    with area.folder(start) as fd:
        listed = _git_files(start, seconds)
        if listed is None:
            yield from _walk_files(fd, stopped)
            return
        for name in listed[:_MAX_LISTED]:
            if stopped():
                return
            changed = _changed_at(name, fd)
            if changed is not None and not _through_link(name, fd):
                yield ListedFile(name, changed)


def snapshot_files(area: Workspace, seconds: float = 2.0, most: int = _MAX_SNAPSHOT) -> dict[str, int] | None:
    """The project's files with when each was last changed; `None` where there are too many to look at each time."""
    until = time.monotonic() + seconds
    found: dict[str, int] = {}
    try:
        for file in list_files(area, area.root, lambda: time.monotonic() > until, seconds):
            found[file.path] = file.changed
            if len(found) > most:
                return None
    except (OSError, ToolError):
        return None
    return found if time.monotonic() <= until else None


def changed_files(before: dict[str, int] | None, after: dict[str, int] | None) -> tuple[str, ...]:
    """The files that are new, gone or written since; nothing where that is not known."""
    if before is None or after is None:
        return ()
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def _git_files(start: Path, seconds: float) -> list[str] | None:
    """What git lists below a directory; `None` where it lists nothing (no repository, an ignored directory)."""
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_OPTIONAL_LOCKS": "0",
    }
    try:
        done = subprocess.run(
            _GIT, cwd=start, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode or not done.stdout:
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def _walk_files(top: int, stopped: Callable[[], bool]) -> Iterator[ListedFile]:
    count = 0
    for folder, below, files, fd in os.fwalk(".", dir_fd=top, follow_symlinks=False):
        below[:] = sorted(name for name in below if name not in _SKIPPED_FOLDERS)
        for name in sorted(files):
            if stopped() or count >= _MAX_LISTED:
                return
            changed = _changed_at(name, fd)
            if changed is not None:
                count += 1
                yield ListedFile(f"{folder}/{name}".removeprefix("./"), changed)


def _changed_at(name: str, fd: int) -> int | None:
    """When an ordinary file was changed; `None` for anything else."""
    try:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None


def _through_link(name: str, fd: int) -> bool:
    """Whether a directory on the way is a link (git lists none, but it may have become one)."""
    parts = name.split("/")[:-1]
    try:
        return any(
            stat.S_ISLNK(os.stat("/".join(parts[:count]), dir_fd=fd, follow_symlinks=False).st_mode)
            for count in range(1, len(parts) + 1)
        )
    except OSError:
        return True
