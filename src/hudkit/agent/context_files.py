"""Reading small text files of a project or of the user that go into prompts: bounded, ordinary files, no way out."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hudkit.agent.file_text import decode_text, escape_hidden
from hudkit.agent.workspace import Workspace
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError, ToolError

MAX_FILE_BYTES = 32 * 1024
"""Bytes of one file that are read."""

_MAX_DEFINITIONS = 64
"""Files of one folder that are looked at."""

_DEFINITION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class ContextFile(msgspec.Struct, frozen=True):
    """A file's text without hidden characters, at most `MOST_FILE` bytes of it; `size` is all that it has."""

    path: Path
    text: str
    size: int

    @property
    def cut(self) -> bool:
        return self.size > MAX_FILE_BYTES


class UnreadableDefinition(msgspec.Struct, frozen=True):
    """A definition that could not be read, and why."""

    path: Path
    why: str


def read_definitions(
    folder: Path, read: Callable[[Path], ContextFile | None]
) -> Iterator[tuple[str, ContextFile | UnreadableDefinition]]:
    """The markdown files of a folder by their names without the ending, in order; one that is too long is `Wrong`."""
    try:
        names = sorted(os.listdir(folder))[:_MAX_DEFINITIONS]  # noqa: PTH208 (names only)
    except OSError:
        return
    for name in names:
        stem, ending = os.path.splitext(name)  # noqa: PTH122
        if ending == ".md" and _DEFINITION_NAME.fullmatch(stem) and (file := read(folder / name)) is not None:
            yield (
                stem,
                UnreadableDefinition(folder / name, f"it has more than {MAX_FILE_BYTES:,} bytes")
                if file.cut
                else file,
            )


def read_project_file(area: Workspace, path: Path) -> ContextFile | None:
    """A file within an area; `None` where there is none, where it leads out, or where it is no text."""
    try:
        with area.opened(area.place(str(path), writing=False)) as fd:
            return _read_bounded(fd, path)
    except (ToolError, OSError):
        return None


def read_user_file(path: Path) -> ContextFile | None:
    """A file of the user's own, links followed; `None` where there is none or where it is no text."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        return _read_bounded(fd, path) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(fd)


def _read_bounded(fd: int, path: Path) -> ContextFile | None:
    raw = b""
    while len(raw) < MAX_FILE_BYTES and (piece := os.read(fd, MAX_FILE_BYTES - len(raw))):
        raw += piece
    found = decode_text(raw if len(raw) < MAX_FILE_BYTES else raw[: len(raw) // 2 * 2])
    if found is None:
        return None
    return ContextFile(path, escape_hidden(found.text.replace("\r\n", "\n")), os.fstat(fd).st_size)


_MAX_LINES = 400
_MAX_LEVELS = 6
_MAX_LINE = 1_000

_KEY = re.compile(r"^(\"[^\"]*\"|'[^']*'|[^\s#:'\"-][^:]*?|\*+|-[^\s:][^:]*?)\s*:(?:\s+(.*))?$")
_NUMBER = re.compile(r"^-?\d{1,15}(\.\d{1,15})?$")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}

_Line = tuple[int, int, str]
"""Its number in the file, its indentation, its text."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The settings and the body of a file; no settings where it does not begin with `---`. Raises `ConfigError`."""
    text = text.replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return {}, text
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines[1 : _MAX_LINES + 1], 1) if line.rstrip() == "---"), 0)
    if not end:
        raise ConfigError("the front matter has no end", hint=f"End it with --- within {_MAX_LINES} lines")
    long = next((at for at, line in enumerate(lines[1:end], 2) if len(line) > _MAX_LINE), 0)
    if long:
        raise ConfigError(f"line {long} of the front matter has more than {_MAX_LINE:,} characters")
    found = [
        (number, len(line) - len(line.lstrip(" ")), line.strip())
        for number, line in enumerate(lines[1:end], 2)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    value, rest = _mapping(found, 0)
    if rest:
        raise _unreadable_line(rest[0])
    return value, "\n".join(lines[end + 1 :]).strip("\n")


def _mapping(lines: list[_Line], level: int) -> tuple[dict[str, Any], list[_Line]]:
    found: dict[str, Any] = {}
    indent = lines[0][1] if lines else 0
    if level > _MAX_LEVELS:
        raise _unreadable_line(lines[0])
    while lines and lines[0][1] == indent:
        match = _KEY.match(lines[0][2])
        if match is None or lines[0][2].startswith("- "):
            raise _unreadable_line(lines[0])
        head, lines = lines[0], lines[1:]
        key, value = _unquoted(match[1]), (match[2] or "").strip()
        if key in found:
            raise ConfigError(f"line {head[0]} of the front matter has {_quote_line(key)} again")
        below = bool(lines) and lines[0][1] > indent
        listed = bool(lines) and lines[0][1] >= indent and lines[0][2].startswith("- ")
        if value in ("|", ">", "|-", ">-"):
            block = []
            while lines and lines[0][1] > indent:
                block.append(lines[0][2])
                lines = lines[1:]
            found[key] = ("\n" if value[0] == "|" else " ").join(block)
        elif value:
            found[key] = _scalar(value, head)
        elif listed:
            found[key] = []
            inner = lines[0][1]
            while lines and lines[0][1] == inner and lines[0][2].startswith("- "):
                found[key].append(_scalar(lines[0][2][2:].strip(), lines[0]))
                lines = lines[1:]
        elif below:
            found[key], lines = _mapping(lines, level + 1)
        else:
            found[key] = None
    if lines and lines[0][1] > indent:
        raise _unreadable_line(lines[0])
    return found, lines


def _scalar(text: str, line: _Line) -> Any:
    if text[0] == "[":
        if not text.endswith("]"):
            raise _unreadable_line(line)
        return [_scalar(one.strip(), line) for one in text[1:-1].split(",") if one.strip()]
    if text[0] in "\"'":
        if len(text) < 2 or text[-1] != text[0]:
            raise _unreadable_line(line)
        return _unquoted(text)
    if text[0] in "{&*!|>%@`":
        raise _unreadable_line(line)
    text = re.sub(r"\s+#.*$", "", text)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _NUMBER.match(text):
        return float(text) if "." in text else int(text)
    return text


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _unreadable_line(line: _Line) -> ConfigError:
    return ConfigError(
        f"line {line[0]} of the front matter cannot be read: {_quote_line(line[2])}", hint='Write `key: "value"`'
    )


def _quote_line(text: str) -> str:
    return f'"{shorten(visible(text), 80)}"'


_SKILL_FILE = "SKILL.md"
_SKILL_FOLDERS = (".hudkit/skills", ".claude/skills", ".opencode/skill", ".opencode/skills", ".agents/skills")
"""Where a project keeps skills, below its root."""

_MAX_SKILLS = 64
_MAX_DESCRIPTION = 300

_SKILL_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Skill(msgspec.Struct, frozen=True):
    """A skill: its name, one line that says when it helps, its folder, its text, and whether the user's or the
    project's it is (`level`)."""

    name: str
    description: str
    folder: Path
    text: str
    level: str = "project"


def discover_skills(area: Workspace, user: Sequence[Path] = ()) -> tuple[Skill, ...]:
    """The user's skills (folders that hold skills), then the project's; the first of a name counts. Never raises."""
    taken: dict[str, Skill] = {}
    for folder in user:
        for skill in _skills_in(folder, read_user_file, "user"):
            taken.setdefault(skill.name, skill)
    for name in _SKILL_FOLDERS:
        place = area.locate(str(area.root / name), writing=False)
        if place.inside:
            for skill in _skills_in(place.real, lambda path: read_project_file(area, path), "project"):
                taken.setdefault(skill.name, skill)
    return tuple(list(taken.values())[:_MAX_SKILLS])


def skills_block(skills: Sequence[Skill]) -> str:
    """The block of the prompt that names the skills; nothing where there are none."""
    if not skills:
        return ""
    lines = (f"- {skill.name}: {skill.description}" for skill in skills)
    return "\n".join(["Skills (the tool `skill` gives their text):", *lines])


def _skills_in(folder: Path, read: Callable[[Path], ContextFile | None], level: str) -> Iterator[Skill]:
    try:
        names = sorted(os.listdir(folder))[: _MAX_SKILLS * 4]  # noqa: PTH208 (names only)
    except OSError:
        return
    for name in names:
        if not _SKILL_NAME.fullmatch(name):
            continue
        file = read(folder / name / _SKILL_FILE)
        if file is None:
            continue
        try:
            settings, text = split_front_matter(file.text)
        except ConfigError:
            continue
        said = settings.get("description")
        if isinstance(said, str) and said.strip():
            description = shorten(visible(" ".join(said.split())), _MAX_DESCRIPTION)
            yield Skill(name, description, folder / name, text, level)
