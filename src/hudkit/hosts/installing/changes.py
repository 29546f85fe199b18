"""A change of a configuration file: what it was, what it becomes, what is kept of that, and how it is taken back."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import msgspec

from hudkit.errors import ConfigError
from hudkit.hosts.installing.jsonc import Edit, apply, inverse
from hudkit.hosts.installing.writing import contents, digest, remove, write


class Change(msgspec.Struct, frozen=True):
    """A configuration's text before and after (`None`: no file), and the edits that lead from one to the other."""

    before: str | None
    after: str | None
    edits: tuple[Edit, ...] = ()


class Touched(msgspec.Struct, frozen=True):
    """A configuration that was changed: digests (SHA-256) of the bytes before (`None`: there was no file) and after,
    and the edits that led from one to the other."""

    file: str
    before: str | None
    after: str
    edits: tuple[Edit, ...] = ()
    key: bool = False
    """Whether what holds our entry (a list, an object) is ours too."""
    made: str = ""
    """The uppermost directory that was made for it."""


class Step(msgspec.Struct, frozen=True):
    """What happens to a file: `create`, `change`, `remove` or `keep`, and the difference for a reader."""

    path: str
    what: str
    diff: str = ""


def text_of(path: Path) -> str | None:
    """A configuration's text; `None` where there is none. Raises `ConfigError` where it cannot be read."""
    body = contents(path)
    return None if body is None else decoded(body, path)


def decoded(body: bytes, where: Path) -> str:
    """A file's text. Raises `ConfigError` where it is not UTF-8."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{where} cannot be read: byte {error.start} is not UTF-8", hint="It was left as it is"
        ) from None


def touched(path: Path, change: Change, *, key: bool) -> Touched:
    """What is kept of a change that is about to be made; `key`: also what holds our entry is new."""
    before, after = change.before, change.after or ""
    made = next((each for each in reversed((path, *path.parents)) if not each.exists()), path)
    return Touched(
        file=str(path),
        before=None if before is None else digest(before.encode("utf-8")),
        after=digest(after.encode("utf-8")),
        edits=change.edits,
        key=before is None or key,
        made="" if made == path else str(made),
    )


def former(text: str, recorded: Touched) -> tuple[bool, str | None]:
    """Whether nobody touched a configuration since, and then its text before (`None`: there was no file)."""
    if digest(text.encode("utf-8")) != recorded.after:
        return False, None
    if recorded.before is None:
        return True, None
    try:
        before = undone(text, recorded.edits)
    except ValueError:
        return False, None
    return digest(before.encode("utf-8")) == recorded.before, before


def undone(text: str, edits: tuple[Edit, ...]) -> str:
    """The text before `edits`. Raises `ValueError` where it is not the text that they made."""
    return apply(text, inverse(edits))


def make(path: Path, change: Change, *, mode: int = 0o600) -> None:
    """Write a change that was decided on. Raises `ConfigError` where somebody else changed the file meanwhile."""
    if text_of(path) != change.before:
        raise ConfigError(f"{path} was changed by somebody else at this moment", hint="Try again")
    put(path, change.after, mode=mode)


def put(path: Path, text: str | None, *, mode: int = 0o600, made: Path | None = None) -> None:
    """Make a file hold `text`; `None` removes it, with the empty directories up to `made`. Raises `ConfigError`."""
    if text is None:
        remove(path, upto=made)
    else:
        write(path, text.encode("utf-8"), mode=mode)


def step(path: Path, change: Change) -> Step:
    """A change as its reader sees it."""
    before, after = change.before, change.after
    if before == after:
        return Step(str(path), "keep")
    what = "create" if before is None else "remove" if after is None else "change"
    old, new = ((text or "").splitlines(keepends=True) for text in (before, after))
    names = [str(path) if text is not None else os.devnull for text in (before, after)]
    found = difflib.unified_diff(old, new, names[0], names[1])
    diff = (line if line.endswith("\n") else f"{line}\n" for line in found)
    return Step(str(path), what, "".join(diff))
