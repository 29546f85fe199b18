"""Small markdown and text files of a project or of the user that go into prompts, read within bounds.

A project's file is read only if it is an ordinary file inside the project, reached over no link that leads out. The
front matter of a definition (an agent, a command, a skill) stands between `---` lines; it is read by a small reader
of our own, because such files need little of YAML, and a full reader of it is slow and has run code:

    ---
    description: "Reviews a change"      ->  {"description": "Reviews a change", "tools": ["read", "grep"],
    tools: [read, grep]                       "permission": {"bash": "ask"}}
    permission:
      bash: ask
    ---
    You review.                          ->  the body

It knows `key: value`, quoted text, numbers, true and false, `[a, b]`, `- item` lists, folded and literal blocks, and
mappings by indentation. What is stranger is a `ConfigError` that names the line.
"""

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
    """Yield the markdown files of a folder in order, by their names without the ending.

    `read` reads one file. A file that is too long is an `UnreadableDefinition`.
    """
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
                # a definition that is cut could lose the rules at its end: it is not used at all
                if file.cut
                else file,
            )


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


def _read_bounded(fd: int, path: Path) -> ContextFile | None:
    raw = b""
    while len(raw) < MAX_FILE_BYTES and (piece := os.read(fd, MAX_FILE_BYTES - len(raw))):
        raw += piece
    # cut at an even byte: half a unit of UTF-16 could not be decoded
    decoded = decode_text(raw if len(raw) < MAX_FILE_BYTES else raw[: len(raw) // 2 * 2])
    if decoded is None:
        return None
    return ContextFile(path, escape_hidden(decoded.text.replace("\r\n", "\n")), os.fstat(fd).st_size)


_MAX_LINES = 400
_MAX_LEVELS = 6
_MAX_LINE = 1_000

_KEY = re.compile(r"^(\"[^\"]*\"|'[^']*'|[^\s#:'\"-][^:]*?|\*+|-[^\s:][^:]*?)\s*:(?:\s+(.*))?$")
_NUMBER = re.compile(r"^-?\d{1,15}(\.\d{1,15})?$")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}

_Line = tuple[int, int, str]
"""Its number in the file, its indentation, its text."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the settings and the body of a file; no settings where it does not begin with `---`.

    Raises `ConfigError`.
    """
    text = text.replace("\r\n", "\n")
    # no front matter is no fault: such a file is all body
    if not text.startswith("---\n"):
        return {}, text
    lines = text.split("\n")
    end = next((index for index, line in enumerate(lines[1 : _MAX_LINES + 1], 1) if line.rstrip() == "---"), 0)
    if not end:
        raise ConfigError("the front matter has no end", hint=f"End it with --- within {_MAX_LINES} lines")
    # bounded before anything is parsed: patterns below are linear in a line, and lines are short
    long = next((index for index, line in enumerate(lines[1:end], 2) if len(line) > _MAX_LINE), 0)
    if long:
        raise ConfigError(f"line {long} of the front matter has more than {_MAX_LINE:,} characters")
    numbered = [
        (number, len(line) - len(line.lstrip(" ")), line.strip())
        for number, line in enumerate(lines[1:end], 2)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    value, rest = _mapping(numbered, 0)
    if rest:
        raise _unreadable_line(rest[0])
    return value, "\n".join(lines[end + 1 :]).strip("\n")


def _mapping(lines: list[_Line], level: int) -> tuple[dict[str, Any], list[_Line]]:
    settings: dict[str, Any] = {}
    # the first line sets the indentation of its mapping; what stands deeper belongs to the key above it
    indent = lines[0][1] if lines else 0
    if level > _MAX_LEVELS:
        raise _unreadable_line(lines[0])
    while lines and lines[0][1] == indent:
        match = _KEY.match(lines[0][2])
        if match is None or lines[0][2].startswith("- "):
            raise _unreadable_line(lines[0])
        head, lines = lines[0], lines[1:]
        key, value = _unquoted(match[1]), (match[2] or "").strip()
        # YAML takes the last of two; here two permissions tables would silently become one
        if key in settings:
            raise ConfigError(f"line {head[0]} of the front matter has {_quote_line(key)} again")
        below = bool(lines) and lines[0][1] > indent
        # YAML lets a list stand at the indentation of its key, or deeper
        listed = bool(lines) and lines[0][1] >= indent and lines[0][2].startswith("- ")
        if value in ("|", ">", "|-", ">-"):
            block = []
            while lines and lines[0][1] > indent:
                block.append(lines[0][2])
                lines = lines[1:]
            settings[key] = ("\n" if value[0] == "|" else " ").join(block)
        elif value:
            settings[key] = _scalar(value, head)
        elif listed:
            settings[key] = []
            inner = lines[0][1]
            while lines and lines[0][1] == inner and lines[0][2].startswith("- "):
                settings[key].append(_scalar(lines[0][2][2:].strip(), lines[0]))
                lines = lines[1:]
        elif below:
            settings[key], lines = _mapping(lines, level + 1)
        else:
            settings[key] = None
    if lines and lines[0][1] > indent:
        raise _unreadable_line(lines[0])
    return settings, lines


def _scalar(text: str, line: _Line) -> Any:
    if text[0] == "[":
        if not text.endswith("]"):
            raise _unreadable_line(line)
        return [_scalar(item.strip(), line) for item in text[1:-1].split(",") if item.strip()]
    if text[0] in "\"'":
        if len(text) < 2 or text[-1] != text[0]:
            raise _unreadable_line(line)
        return _unquoted(text)
    # flow mappings, anchors, aliases and tags: the parts of YAML that are not read
    if text[0] in "{&*!|>%@`":
        raise _unreadable_line(line)
    # a comment needs white space before it: `C#` is a word
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
    """A skill: its name, one line that says when it helps, its folder, its text, and whose it is (`level`)."""

    name: str
    description: str
    folder: Path
    text: str
    level: str = "project"


def discover_skills(workspace: Workspace, user: Sequence[Path] = ()) -> tuple[Skill, ...]:
    """Return the user's skills, then the project's; the first of a name counts. Never raises.

    `user` are folders that hold skills: folders with a `SKILL.md`.
    """
    taken: dict[str, Skill] = {}
    for folder in user:
        for skill in _skills_in(folder, read_user_file, "user"):
            taken.setdefault(skill.name, skill)
    for name in _SKILL_FOLDERS:
        target = workspace.resolve(str(workspace.root / name), writing=False)
        if target.inside:
            for skill in _skills_in(target.real, lambda path: read_project_file(workspace, path), "project"):
                taken.setdefault(skill.name, skill)
    return tuple(list(taken.values())[:_MAX_SKILLS])


def _skills_in(folder: Path, read: Callable[[Path], ContextFile | None], level: str) -> Iterator[Skill]:
    try:
        # more than are kept: some folders hold no skill
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
        description_value = settings.get("description")
        if isinstance(description_value, str) and description_value.strip():
            description = shorten(visible(" ".join(description_value.split())), _MAX_DESCRIPTION)
            yield Skill(name, description, folder / name, text, level)
