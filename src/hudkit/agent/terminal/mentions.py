"""Files that a prompt names: `@path` of the project, and pictures whose path was pasted or dropped, are attached."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from hudkit.agent.file_text import decode_text
from hudkit.agent.records import Attachment

_MOST_TEXT = 100_000
"""Bytes of a text file that is attached whole; a longer one is read by the agent, in pieces."""

_MOST_MEDIA = 5 * 1024 * 1024
"""Bytes of a picture or document; providers take no larger ones."""

_MOST_FILES = 20

_MEDIA = {"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}
"""What models of several providers take."""

_PROVIDERS = frozenset({"anthropic", "bedrock", "google", "openai", "openrouter"})
"""Providers whose models take pictures. To others, and to a script, a picture goes as its path."""

_WORD = re.compile(r"""(?P<at>@)?(?:"(?P<double>[^"\n]+)"|'(?P<single>[^'\n]+)'|(?P<bare>(?:\\.|[^\s\\])+))""")
_ESCAPED = re.compile(r"\\(.)")


class Mentions(NamedTuple):
    """The files that go with a prompt, and remarks for the user on those that do not."""

    files: tuple[Attachment, ...]
    remarks: tuple[str, ...]


def find_mentions(text: str, directory: Path, root: Path, model: str) -> Mentions:
    """Return the files that a prompt for a model (`provider:name`) names, each once.

    Paths are relative to `directory`; text files are attached from below `root`, where tools may read.

    The text stays as it is. A path that leads to no file is only text.
    """
    files: dict[Path, Attachment] = {}
    remarks: list[str] = []
    for word, is_marked in _words(text):
        path = _path_of(word, directory)
        if path is None or path in files or not _is_file(path):
            continue
        kind = mimetypes.guess_type(path.name)[0] or ""
        if not is_marked and not kind.startswith("image/"):
            continue  # a path in a sentence is no wish to have the file sent
        if len(files) == _MOST_FILES:
            remarks.append(f"Only the first {_MOST_FILES} files are attached.")
            break
        attached = _attach(path, kind, model, root)
        if isinstance(attached, Attachment):
            files[path] = attached
        else:
            remarks.append(attached)
    return Mentions(tuple(files.values()), tuple(remarks))


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """The words that could be paths, as a shell would read them, and whether they have an `@`."""
    for match in _WORD.finditer(text):
        quoted = match["double"] or match["single"]
        bare = match["bare"] or ""
        is_marked = bool(match["at"])
        if not quoted and not is_marked and "." not in bare:
            continue
        yield quoted or _ESCAPED.sub(r"\1", bare), is_marked
        # "look at @a.py, please": the comma is none of the name's
        if bare and bare[-1] in ".,;:!?)":
            yield _ESCAPED.sub(r"\1", bare.rstrip(".,;:!?)")), is_marked


def _path_of(word: str, directory: Path) -> Path | None:
    if word.startswith("file://"):
        word = unquote(urlsplit(word).path)
    try:
        return directory / Path(word).expanduser() if word else None
    except (RuntimeError, ValueError):  # no home, or a NUL
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _attach(path: Path, kind: str, model: str, root: Path) -> Attachment | str:
    """The file, or why it is not attached."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_MEDIA + 1)
    except OSError as error:
        return f"{name} is not attached: {error.strerror}"
    if kind in _MEDIA:
        if model.partition(":")[0] not in _PROVIDERS:
            return f"{name} goes as its path: nobody knows that this model takes pictures."
        if len(raw) > _MOST_MEDIA:
            return f"{name} is not attached: it is larger than {_MOST_MEDIA // 2**20} MB."
        return Attachment("", name, kind, raw)
    if len(raw) > _MOST_TEXT:
        return f"{name} goes as its path: it is long, and the agent reads of it what it needs."
    if decode_text(raw) is None:
        return f"{name} is not attached: it is neither text nor a picture."
    if not path.resolve().is_relative_to(root):
        return f"{name} goes as its path: it is outside of the project."
    # by its path: the loop looks whether tools may read it
    return Attachment("", str(path), kind)
