"""Instruction files: found up the tree and in the user's global places, read within bounds, told as quoted data.

Each is told between two lines with a tag made of its content: no file can hold the tag of its own bytes, so none can
end its quotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from hudkit.agent import found
from hudkit.agent.area import Area
from hudkit.agent.patterns import path_matches
from hudkit.agent.tools.candidates import candidates
from hudkit.compose import shorten, visible

NAMES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""In each directory the first of these that is there counts."""

GLOBAL = (".config/hudkit/AGENTS.md", ".config/opencode/AGENTS.md", ".claude/CLAUDE.md", ".codex/AGENTS.md")
"""Below the user's home directory; the first that is there counts."""

MOST_FILES = 32
MOST_BYTES = 96 * 1024
"""Of all files together; those behind are named, not told."""

From: TypeAlias = Literal["user", "project", "configuration"]


class Instructions(msgspec.Struct, frozen=True):
    """A file's text, `told` as far as it goes into the prompt; `left` is why some or all of it does not."""

    path: Path
    source: From
    text: str = ""
    left: str = ""


def collect(
    area: Area, *, home: Path | None = None, extra: Sequence[str] = (), user_extra: Sequence[Path] = ()
) -> tuple[Instructions, ...]:
    """The user's first, then the project's from its root down to the working directory, then the configured ones.

    `extra` are patterns of files inside the project, `user_extra` files of the user's choice anywhere. Never raises.
    """
    return tuple(_within(_found(area, home, extra, user_extra)))


def told(instructions: Iterable[Instructions]) -> tuple[str, ...]:
    """One block per file. A file that is not told, or not all of it, says so."""
    return tuple(_block(one) for one in instructions)


def near(area: Area, path: Path, known: Iterable[Instructions]) -> tuple[Instructions, ...]:
    """Files in directories between the working directory and a file that was just read, which are not yet known."""
    have = {one.path for one in known}
    folders = [folder for folder in path.parents if folder.is_relative_to(area.root)]
    fresh = (_first(area, folder) for folder in reversed(folders))
    return tuple(_within(one for one in fresh if one is not None and one.path not in have))


def _found(area: Area, home: Path | None, extra: Sequence[str], user_extra: Sequence[Path]) -> Iterator[Instructions]:
    if home is not None:
        globally = (found.own(home / name) for name in GLOBAL)
        first = next((file for file in globally if file is not None), None)
        if first is not None:
            yield _read(first, "user")
    for folder in _down(area):
        one = _first(area, folder)
        if one is not None:
            yield one
    for path in user_extra:
        file = found.own(path)
        yield _read(file, "configuration") if file else Instructions(path, "configuration", left="it cannot be read")
    if extra:
        yield from _matching(area, extra)


def _matching(area: Area, patterns: Sequence[str]) -> Iterator[Instructions]:
    for pattern in patterns:
        if "://" in pattern:
            yield Instructions(Path(pattern), "configuration", left="nothing is fetched from the network")
            continue
        try:
            names = sorted(one.path for one in candidates(area, area.root, lambda: False, 5.0))
        except OSError:
            names = []
        for name in [name for name in names if path_matches(pattern, name)][:MOST_FILES]:
            file = found.inside(area, area.root / name)
            if file is not None:
                yield _read(file, "configuration")


def _down(area: Area) -> Iterator[Path]:
    """The directories from the root down to the working directory; the root only, where that is elsewhere."""
    if not area.cwd.is_relative_to(area.root):
        yield area.root
        return
    yield from reversed([folder for folder in (area.cwd, *area.cwd.parents) if folder.is_relative_to(area.root)])


def _first(area: Area, folder: Path) -> Instructions | None:
    files = (found.inside(area, folder / name) for name in NAMES)
    first = next((file for file in files if file is not None), None)
    return None if first is None else _read(first, "project")


def _read(file: found.Read, source: From) -> Instructions:
    left = f"only its first {found.MOST_FILE:,} of {file.size:,} bytes are here" if file.cut else ""
    return Instructions(file.path, source, file.text.strip("\n"), left)


def _within(files: Iterable[Instructions]) -> Iterator[Instructions]:
    """Files as far as all of them stay within the bounds; the same file, or the same text, once."""
    room, count = MOST_BYTES, 0
    paths: set[Path] = set()
    texts: set[str] = set()
    for one in files:
        if one.path in paths or (one.text and one.text in texts):
            continue
        paths.add(one.path)
        texts.add(one.text)
        size = len(one.text.encode())
        if count >= MOST_FILES or size > room:
            yield Instructions(one.path, one.source, left="there is no room for it; it can be read")
            continue
        count, room = count + 1, room - size
        if one.text or one.left:
            yield one


def _block(one: Instructions) -> str:
    name = shorten(visible(str(one.path)), 300)
    left = f" ({one.left})" if one.left else ""
    if not one.text:
        return f"Instructions in {name} are not shown{left}."
    tag = blake2b(one.text.encode(), digest_size=5).hexdigest()
    return f"Instructions from: {name}{left} [{tag}\n{one.text}\n{tag}]"
