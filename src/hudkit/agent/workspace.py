"""Where tools may go: the project's directory and what was granted beside it, whatever a path says; and its files.

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
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from hudkit.compose import shorten, visible
from hudkit.errors import ToolError, ToolRefused

_MAX_PATH = 4_096
_MAX_NAME_BYTES = 255

FileStamp = tuple[int, int, int, int]
"""What changes when a file's content does: inode, size, times of modification and change (ns).

The time of change cannot be set back by a program, as that of modification can."""


class ResolvedPath(msgspec.Struct, frozen=True):
    """A path that was looked at: `real` without links, and `display` as it is shown (relative inside the project).

    `requested` is the path as the model gave it, `lexical` the same relative to the project without following links
    (empty outside). `inside`: tools may go there now; `in_project`: without having been let in.
    """

    requested: str
    real: Path
    display: str
    inside: bool
    in_project: bool
    lexical: str = ""


class Workspace:
    """A project's root, the working directory (`cwd`), what was granted beside them, and what may be read only."""

    def __init__(self, root: Path, *, cwd: Path | None = None, readable: Iterable[Path] = ()) -> None:
        self.root = Path(os.path.realpath(root))
        self.cwd = Path(os.path.realpath(cwd)) if cwd is not None else self.root
        self._roots = [self.root]
        self._readable = [Path(os.path.realpath(path)) for path in readable]

    @property
    def roots(self) -> tuple[Path, ...]:
        """Return where tools may write: the project, and what was granted beside it."""
        return tuple(self._roots)

    def grant(self, path: Path) -> None:
        """Let tools into a directory, or to a file, outside of the project; return nothing."""
        self._roots.append(Path(os.path.realpath(path)))

    def resolve(self, path: str, *, writing: bool = True) -> ResolvedPath:
        """Return where a path of the model leads, inside or not. Raises `ToolRefused` for what is not a path.

        `writing=False` counts the directories that may be read as well. Nothing is told about what is outside.
        """
        _check_path(path)
        joined = os.path.join(self.cwd, path)  # noqa: PTH118 (keeps `..` behind links for realpath)
        try:
            real = Path(os.path.realpath(joined))
        except (OSError, ValueError):
            raise ToolRefused(f"{quote(path)} is not a path that can be used") from None
        own = [self.root] if writing else [self.root, *self._readable]
        # both names are judged: a rule may deny the link as well as what it leads to
        lexical = Path(os.path.normpath(joined))
        return ResolvedPath(
            path,
            real,
            real.relative_to(self.root).as_posix() if real.is_relative_to(self.root) else str(real),
            any(real.is_relative_to(root) for root in (*own, *self._roots)),
            any(real.is_relative_to(root) for root in own),
            lexical.relative_to(self.root).as_posix() if lexical.is_relative_to(self.root) else "",
        )

    def resolve_inside(self, path: str, *, writing: bool = True) -> ResolvedPath:
        """Return where a path leads. Raises `ToolRefused` where that is outside."""
        target = self.resolve(path, writing=writing)
        if not target.inside:
            raise ToolRefused(f"{quote(path)} leads out of the project", hint="Name a path inside of it")
        return target

    @contextmanager
    def open_folder(self, real: Path, *, make: bool = False) -> Iterator[int]:
        """Yield a descriptor of a directory to the block, reached from its root without following links.

        `make` makes the directories that are missing. Raises `ToolError` and `OSError`.
        """
        roots = [root for root in (*self._roots, *self._readable) if real.is_relative_to(root)]
        if not roots:
            raise ToolRefused(f"{quote(str(real))} leads out of the project")
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        # the root itself may be reached over links: it is the user's word
        fd = os.open(roots[0], flags)
        try:
            for part in real.relative_to(roots[0]).parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=fd)
                # `O_NOFOLLOW` at each step: a directory that became a link since it was resolved ends here
                below = os.open(part, flags, dir_fd=fd)
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def open_file(self, target: ResolvedPath) -> Iterator[int]:
        """Yield a descriptor of an ordinary file, for reading, to the block. Raises `ToolError`."""
        fd = -1
        try:
            with _as_tool_errors(target), self._above(target) as (folder, name):
                # `O_NONBLOCK`: a pipe in the place of a file would wait for ever
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                fd = os.open(name, flags, dir_fd=folder)
                _require_ordinary(fd, target)
            yield fd
        finally:
            if fd >= 0:
                os.close(fd)

    def stamp(self, target: ResolvedPath) -> FileStamp | None:
        """Return the stamp of a file; `None` where there is none.

        Raises `ToolError` where it is not an ordinary file.
        """
        try:
            with _as_tool_errors(target, absent=True), self._above(target) as (folder, name):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{quote(target.display)} is not an ordinary file")
        return stamp_of(status)

    def replace_file(
        self,
        target: ResolvedPath,
        raw: bytes,
        before: FileStamp | None,
        stopped: Callable[[], bool],
        *,
        mode: int | None = None,
    ) -> FileStamp:
        """Replace the file whose stamp was `before` (`None`: there was none) in one step; return the new stamp.

        The mode of the old file is kept; a new one gets `mode`, or what is usual. `stopped` is asked last before the
        step. Raises `ToolError`: the file is not the one of before, or cannot be written.
        """
        # in the same directory, so that the rename stays within one file system; unguessable, so that nobody waits
        # there
        part = f".{secrets.token_hex(8)}.part"
        with _as_tool_errors(target), self._above(target, make=before is None) as (folder, name):
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
                        # before the rename: the file never appears with other rights than it had
                        os.fchmod(fd, (stat.S_IMODE(now.st_mode) if now is not None else mode or 0) & 0o777)
                    # the bytes before the name: after a power cut the name never stands for half a file
                    os.fsync(fd)
                finally:
                    os.close(fd)
                if (stamp_of(now) if now else None) != before or (now and not stat.S_ISREG(now.st_mode)):
                    raise ToolError(
                        f"{quote(target.display)} has changed meanwhile", hint="Read it again, then change it"
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

    def remove_file(self, target: ResolvedPath, before: FileStamp) -> None:
        """Delete the file whose stamp was `before`; return nothing.

        Raises `ToolError`: it is another one now, or is in use.
        """
        with _as_tool_errors(target), self._above(target) as (folder, name):
            now = _stat_in(name, folder)
            if now is None or stamp_of(now) != before:
                raise ToolError(f"{quote(target.display)} has changed meanwhile", hint="Look at it, then delete it")
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)

    @contextmanager
    def _above(self, target: ResolvedPath, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Give the block the directory that a file is in, and the file's name there."""
        if any(target.real == root for root in self._roots) and target.real.is_dir():
            raise ToolError(f"{quote(target.display)} is a directory")
        root = next((root for root in self._roots if target.real == root), None)
        if root is not None:  # a single file that was granted
            fd = os.open(root.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                yield fd, root.name
            finally:
                os.close(fd)
            return
        with self.open_folder(target.real.parent, make=make) as fd:
            yield fd, target.real.name


@contextmanager
def _as_tool_errors(target: ResolvedPath, *, absent: bool = False) -> Iterator[None]:
    """Turn what the system says about a path into a `ToolError`; with `absent`, `FileNotFoundError` goes through."""
    try:
        yield
    except FileNotFoundError:
        if absent:
            raise
        raise ToolError(f"there is no file {quote(target.display)}", hint="`glob` finds files by name") from None
    except FileExistsError:
        raise ToolError(f"{quote(target.display)} has been made meanwhile", hint="Read it, then change it") from None
    except NotADirectoryError:
        raise ToolError(f"a part of {quote(target.display)} is not a directory") from None
    except IsADirectoryError:
        raise ToolError(f"{quote(target.display)} is a directory") from None
    except OSError as error:
        reason = "it, or a directory above it, became a link" if error.errno == errno.ELOOP else error.strerror
        raise ToolError(f"{quote(target.display)} cannot be used: {reason}") from None


def _link_into_place(part: str, name: str, folder: int) -> None:
    """Give a new file its name, unless there is one of that name now (`FileExistsError`)."""
    try:
        # a link fails where the name is taken; a rename would replace what somebody has just made
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


def stamp_of(status: os.stat_result) -> FileStamp:
    """Return the stamp of a file that was looked at."""
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def quote(text: str, limit: int = 200) -> str:
    """Return a text of the model's as an answer may repeat it: visible, in quotes, of at most `limit` characters."""
    return f'"{shorten(visible(text), limit)}"'


def _stat_in(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _require_ordinary(fd: int, target: ResolvedPath) -> None:
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        raise ToolError(f"{quote(target.display)} is a directory")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{quote(target.display)} is not an ordinary file")


def _check_path(path: str) -> None:
    """Refuse what is not a path, and names that only look like one after something has rewritten them."""
    if not path or len(path) > _MAX_PATH or "\0" in path or any(0xD800 <= ord(char) <= 0xDFFF for char in path):
        raise ToolRefused(f"{quote(path, 80)} is not a path that can be used")
    # the shell of the tool `bash` would expand it: elsewhere it would make a directory of that name
    if path.startswith("~"):
        raise ToolRefused(f"{quote(path)}: home directories are not expanded", hint="Name a path inside the project")
    for part in path.split("/"):
        if len(part.encode()) > _MAX_NAME_BYTES:
            raise ToolRefused(f"{quote(path, 80)} has a name of more than {_MAX_NAME_BYTES} bytes")
        # a full-width `．．` is a name to the file system and two dots to whatever normalises it
        plain = unicodedata.normalize("NFKC", part)
        if plain != part and (plain in (".", "..") or "/" in plain):
            raise ToolRefused(f"{quote(path)} has a part that only looks like {plain}")


_MAX_LISTED = 200_000


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


class _ListedFile(msgspec.Struct, frozen=True):
    """An ordinary file: its path relative to where the search began, and when it was last changed (ns)."""

    path: str
    changed: int


def list_files(
    workspace: Workspace, start: Path, stopped: Callable[[], bool], seconds: float
) -> Iterator[_ListedFile]:
    """Yield the files below a directory inside the workspace, links not followed.

    What git knows or does not ignore; without git, all but well-known folders. `stopped` ends the search early,
    `seconds` is the most that git may take. Raises `ToolError`, `OSError`.
    """
    with workspace.open_folder(start) as fd:
        listed = _git_files(start, seconds)
        if listed is None:
            yield from _walk_files(fd, stopped)
            return
        for name in listed[:_MAX_LISTED]:
            if stopped():
                return
            changed = _changed_at(name, fd)
            # git lists what was there when it indexed
            if changed is not None and not _through_link(name, fd):
                yield _ListedFile(name, changed)


def _git_files(start: Path, seconds: float) -> list[str] | None:
    """Return what git lists below a directory; `None` where that is nothing (no repository, an ignored directory)."""
    # variables of git's own could point it at another repository
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
    # an ignored directory lists nothing: then the walk looks into it
    if done.returncode or not done.stdout:
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def _walk_files(top: int, stopped: Callable[[], bool]) -> Iterator[_ListedFile]:
    count = 0
    for folder, below, files, fd in os.fwalk(".", dir_fd=top, follow_symlinks=False):
        below[:] = sorted(name for name in below if name not in _SKIPPED_FOLDERS)
        for name in sorted(files):
            if stopped() or count >= _MAX_LISTED:
                return
            changed = _changed_at(name, fd)
            if changed is not None:
                count += 1
                yield _ListedFile(f"{folder}/{name}".removeprefix("./"), changed)


def _changed_at(name: str, fd: int) -> int | None:
    """Return when an ordinary file was changed; `None` for anything else."""
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) else None


def _through_link(name: str, fd: int) -> bool:
    """Return whether a directory on the way is a link (git lists none, but it may have become one)."""
    parts = name.split("/")[:-1]
    try:
        return any(
            stat.S_ISLNK(os.stat("/".join(parts[:count]), dir_fd=fd, follow_symlinks=False).st_mode)
            for count in range(1, len(parts) + 1)
        )
    except OSError:
        return True
