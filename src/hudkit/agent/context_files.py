"""Small markdown and text files of a project or of the user that go into prompts, read within bounds.

A project's file is read only if it is an ordinary file inside the project, reached over no link that leads out.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from hudkit.agent.file_text import decode_text, escape_hidden
from hudkit.agent.workspace import Workspace
from hudkit.compose import shorten, visible
from hudkit.compose.formats.front_matter import split_front_matter
from hudkit.errors import ConfigError, ToolError

MAX_FILE_BYTES = 32 * 1024
"""Bytes of one file that are read."""

_MAX_DEFINITIONS = 256
"""Files of one folder, and of those in it, that are looked at: the largest public collections have about 200."""

_MAX_DEPTH = 4
"""How deep folders are looked into: collections sort their files by departments."""

_DEFINITION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

_NOT_DEFINITIONS = frozenset({"readme", "changelog", "contributing", "license", "claude", "agents"})
"""Markdown files that stand beside definitions and are none."""

_FILE_KINDS = (".agent", ".chatmode", ".prompt")
"""What other tools put between a name and `.md`."""


class ContextFile(msgspec.Struct, frozen=True):
    """A file's text without hidden characters, at most `MAX_FILE_BYTES` of it; `size` is all that the file has."""

    path: Path
    text: str
    size: int

    @property
    def cut(self) -> bool:
        """Return whether the file has more than was read."""
        return self.size > MAX_FILE_BYTES


class UnreadableDefinition(msgspec.Struct, frozen=True):
    """A definition that cannot be used, and why."""

    path: Path
    reason: str


def read_definitions(
    folder: Path, read: Callable[[Path], ContextFile | None]
) -> Iterator[tuple[str, ContextFile | UnreadableDefinition]]:
    """Yield the markdown files of a folder and of those in it, in order, by their names without the ending.

    A file in a folder of its own has that in its name: `sc/task.md` is `sc:task`. `read` reads one file. A file that
    is too long, or whose name cannot be called, is an `UnreadableDefinition`.
    """
    paths = list(islice(_markdown_files(folder, 1), _MAX_DEFINITIONS + 1))
    for path in paths[:_MAX_DEFINITIONS]:
        stem = path.name.removesuffix(".md")
        if stem.lower() in _NOT_DEFINITIONS or (file := read(path)) is None:
            continue
        for kind in _FILE_KINDS:
            stem = stem.removesuffix(kind)
        name = ":".join((*path.relative_to(folder).parts[:-1], stem))
        if not _DEFINITION_NAME.fullmatch(stem):
            yield name, UnreadableDefinition(path, "its name may have letters, digits, `-`, `_` and dots")
        elif file.cut:
            # a definition that is cut could lose the rules at its end: it is not used at all
            yield name, UnreadableDefinition(path, f"it has more than {MAX_FILE_BYTES:,} bytes")
        else:
            yield name, file
    if len(paths) > _MAX_DEFINITIONS:
        rest = f"the folder has more than {_MAX_DEFINITIONS} files: this one and those behind it are not read"
        yield "", UnreadableDefinition(paths[-1], rest)


def _markdown_files(folder: Path, depth: int) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 (names only)
    except OSError:
        return
    folders = []
    for name in names:
        if name.endswith(".md"):
            yield folder / name
        elif "." not in name and depth < _MAX_DEPTH:
            folders.append(folder / name)
    for below in folders:  # no link is followed: it may lead back here
        if not below.is_symlink():
            yield from _markdown_files(below, depth + 1)


def read_project_file(workspace: Workspace, path: Path) -> ContextFile | None:
    """Return a file within a workspace; `None` where there is none, where it leads out, or where it is not text."""
    try:
        # opened segment by segment and without links: the path may be swapped after it was judged
        with workspace.open_file(workspace.resolve_inside(str(path), writing=False)) as fd:
            return _read_bounded(fd, path)
    except (ToolError, OSError):
        return None


def read_user_file(path: Path) -> ContextFile | None:
    """Return a file of the user's own, links followed; `None` where there is none or where it is not text."""
    try:
        # `O_NONBLOCK`: opening a pipe that nobody writes would wait for ever
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        return _read_bounded(fd, path) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(fd)


def remote_file(name: str, raw: bytes) -> ContextFile:
    """Return what was fetched as a file of this name, with the bounds and the cleaning of all others.

    Raises `ValueError` where it is no text.
    """
    decoded = decode_text(raw[: MAX_FILE_BYTES // 2 * 2])
    if decoded is None:
        raise ValueError("it is no text")
    return ContextFile(Path(name), escape_hidden(decoded.text.replace("\r\n", "\n")), len(raw))


def _read_bounded(fd: int, path: Path) -> ContextFile | None:
    raw = b""
    while len(raw) < MAX_FILE_BYTES and (piece := os.read(fd, MAX_FILE_BYTES - len(raw))):
        raw += piece
    # cut at an even byte: half a unit of UTF-16 could not be decoded
    decoded = decode_text(raw if len(raw) < MAX_FILE_BYTES else raw[: len(raw) // 2 * 2])
    if decoded is None:
        return None
    return ContextFile(path, escape_hidden(decoded.text.replace("\r\n", "\n")), os.fstat(fd).st_size)


_SKILL_FILE = "SKILL.md"
_SKILL_FOLDERS = (".hudkit/skills", ".claude/skills", ".opencode/skill", ".opencode/skills", ".agents/skills")
"""Where a project keeps skills, below its root."""

_MAX_SKILLS = 128
"""Skills whose names and descriptions are in the prompt."""
_MAX_DESCRIPTION = 300

_SKILL_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Skill(msgspec.Struct, frozen=True):
    """A skill: its name, one line that says when it helps, its folder, its text, and whose it is (`level`)."""

    name: str
    description: str
    folder: Path
    text: str
    level: str = "project"


def discover_skills(
    workspace: Workspace, user: Sequence[Path] = ()
) -> tuple[tuple[Skill, ...], tuple[UnreadableDefinition, ...]]:
    """Return the user's skills, then the project's, the first of a name counts; and those that cannot be used.

    `user` are folders that hold skills: folders with a `SKILL.md`. Never raises.
    """
    places = [(folder, read_user_file, "user") for folder in user]
    for name in _SKILL_FOLDERS:
        target = workspace.resolve(str(workspace.root / name), writing=False)
        if target.inside:
            places.append((target.real, lambda path: read_project_file(workspace, path), "project"))
    taken: dict[str, Skill] = {}
    wrong: list[UnreadableDefinition] = []
    for folder, read, level in places:
        for skill in _skills_in(folder, read, level):
            if isinstance(skill, UnreadableDefinition):
                wrong.append(skill)
            else:
                taken.setdefault(skill.name, skill)
    skills = list(taken.values())
    reason = f"there are more than {_MAX_SKILLS} skills"
    wrong += [UnreadableDefinition(skill.folder / _SKILL_FILE, reason) for skill in skills[_MAX_SKILLS:]]
    return tuple(skills[:_MAX_SKILLS]), tuple(wrong)


def _skills_in(
    folder: Path, read: Callable[[Path], ContextFile | None], level: str, depth: int = 1
) -> Iterator[Skill | UnreadableDefinition]:
    """Yield the skills of a folder; a folder in it that is none is looked into, for collections sort by kinds."""
    try:
        # more than are kept: some folders hold no skill
        names = sorted(os.listdir(folder))[: _MAX_SKILLS * 4]  # noqa: PTH208 (names only)
    except OSError:
        return
    for name in names:
        file = read(folder / name / _SKILL_FILE)
        if file is None:
            below = folder / name
            if depth < _MAX_DEPTH and below.is_dir() and not below.is_symlink():
                yield from _skills_in(below, read, level, depth + 1)
            continue
        try:
            yield _parse_skill(folder / name, file.text, level)
        except ConfigError as error:
            yield UnreadableDefinition(file.path, str(error))


def _parse_skill(folder: Path, source: str, level: str) -> Skill:
    """Return a skill by the text of its file. Raises `ConfigError` where it cannot be offered."""
    if not _SKILL_NAME.fullmatch(folder.name):
        raise ConfigError("the name of a skill's folder has lower-case letters, digits, - and _")
    settings, text = split_front_matter(source)
    description = settings.get("description")
    if not isinstance(description, str) or not description.strip():
        raise ConfigError("a skill needs a `description` in its front matter")
    shown = shorten(visible(" ".join(description.split())), _MAX_DESCRIPTION)
    return Skill(folder.name, shown, folder, text, level)
