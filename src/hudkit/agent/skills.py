"""Skills: folders with a `SKILL.md` whose name and description are told in the prompt, and whose text on demand."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from hudkit.agent import found
from hudkit.agent.area import Area
from hudkit.agent.frontmatter import split
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError

FILE = "SKILL.md"
FOLDERS = (".hudkit/skills", ".claude/skills", ".opencode/skill", ".opencode/skills", ".agents/skills")
"""Where a project keeps skills, below its root."""

MOST_SKILLS = 64
MOST_DESCRIPTION = 300

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Skill(msgspec.Struct, frozen=True):
    """A skill: its name, one line that says when it helps, its folder, its text, and whether the user's or the
    project's it is (`level`)."""

    name: str
    description: str
    folder: Path
    text: str
    level: str = "project"


def discover(area: Area, user: Sequence[Path] = ()) -> tuple[Skill, ...]:
    """The user's skills (folders that hold skills), then the project's; the first of a name counts. Never raises."""
    taken: dict[str, Skill] = {}
    for folder in user:
        for skill in _in(folder, found.own, "user"):
            taken.setdefault(skill.name, skill)
    for name in FOLDERS:
        place = area.locate(str(area.root / name), writing=False)
        if place.inside:
            for skill in _in(place.real, lambda path: found.inside(area, path), "project"):
                taken.setdefault(skill.name, skill)
    return tuple(list(taken.values())[:MOST_SKILLS])


def told(skills: Sequence[Skill]) -> str:
    """The block of the prompt that names the skills; nothing where there are none."""
    if not skills:
        return ""
    lines = (f"- {skill.name}: {skill.description}" for skill in skills)
    return "\n".join(["Skills (the tool `skill` gives their text):", *lines])


def _in(folder: Path, read: Callable[[Path], found.Read | None], level: str) -> Iterator[Skill]:
    try:
        names = sorted(os.listdir(folder))[: MOST_SKILLS * 4]  # noqa: PTH208 (names only)
    except OSError:
        return
    for name in names:
        if not _NAME.fullmatch(name):
            continue
        file = read(folder / name / FILE)
        if file is None:
            continue
        try:
            settings, text = split(file.text)
        except ConfigError:
            continue
        said = settings.get("description")
        if isinstance(said, str) and said.strip():
            description = shorten(visible(" ".join(said.split())), MOST_DESCRIPTION)
            yield Skill(name, description, folder / name, text, level)
