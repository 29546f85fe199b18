"""A short block in a project's AGENTS.md that says how the tools `hud` and `memory` are used.

The block stands between two comments. What was changed is in a manifest beside the data (`install/agents-md.json`): a
file that nobody touched since gets back its former bytes, from another one the block is taken out, and nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hudkit.errors import ConfigError
from hudkit.hosts.installing import config_files
from hudkit.hosts.installing.config_files import ConfigChange, FileChangeRecord, InstallStep
from hudkit.hosts.installing.jsonc import TextEdit
from hudkit.hosts.installing.user_environment import project_directory

FILE_NAME = "AGENTS.md"
_MANIFEST_FILE = Path("install", "agents-md.json")
_BEGIN = "<!-- hudkit: begin; `hudkit uninstall --agents-md` takes this block out -->"
_END = "<!-- hudkit: end -->"
_BLOCK = re.compile(r"(?:(?<=\n)\r?\n)?<!-- hudkit: begin[^\n]*-->\r?\n.*?<!-- hudkit: end -->(?:\r?\n)?", re.DOTALL)

BLOCK = f"""\
{_BEGIN}
## hudkit

What you record with the tool `hud` outlives every compaction and is shown to you again.

- Record as you go, not at the end: a decision with its reason (`decisions.record`), a step that is finished
  (`steps.complete`), a rule of the user (`constraints.add`), what blocks you (`blockers.add`), a fact that took work
  to find (`notes.add`).
- Before you do again what may have been done, or ask what may have been said, call the tool `memory`: `search` for
  words, `messages` for what was said around them, `compactions` for what a summary dropped.
- `hud` with the operation `help` lists every operation.
{_END}
"""


class _BlockManifest(msgspec.Struct, frozen=True):
    """The files that have our block."""

    schema: int = 1
    files: tuple[FileChangeRecord, ...] = ()


def install(directory: Path, data: Path, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Write the block into the AGENTS.md of a directory's project, or bring it up to date, and return the steps.

    `data` is hudkit's data directory. Doing it again changes nothing more. Raises `ConfigError` before anything is
    written: the file cannot be read, or is a link that leads out of the project.
    """
    path = project_directory(directory) / FILE_NAME
    _check_inside(path)
    text = config_files.read_text(path)
    manifest = config_files.read_manifest(data / _MANIFEST_FILE, _BlockManifest)
    recorded = next((record for record in manifest.files if record.file == str(path)), None)
    base = _without_block(text, recorded) if text is not None else None
    fresh = _with_block(base)
    change = ConfigChange(text, fresh.after)
    steps = (config_files.describe_change(path, change),)
    if dry_run or change.before == change.after:
        return steps
    record = config_files.record_change(path, fresh, key=False)
    others = tuple(other for other in manifest.files if other.file != str(path))
    config_files.note_data_directory(data)
    # The manifest comes first: what a crash leaves behind in the file can then still be taken out.
    config_files.write_manifest(data / _MANIFEST_FILE, _BlockManifest(files=(*others, record)))
    config_files.apply_change(path, change, mode=0o644)
    return steps


def uninstall(directory: Path | None, data: Path, *, dry_run: bool = False) -> tuple[InstallStep, ...]:
    """Take the block out of the AGENTS.md of a directory's project (`None`: of every project that has it by us), and
    return the steps; none where there is nothing to take out. Raises `ConfigError`."""
    manifest_file = data / _MANIFEST_FILE
    manifest = config_files.read_manifest(manifest_file, _BlockManifest)
    records = {record.file: record for record in manifest.files}
    own = project_directory(directory) / FILE_NAME if directory is not None else None
    paths = [Path(file) for file in records] if own is None else [own]
    changes = dict(_removals(paths, records))
    left = tuple(record for record in manifest.files if Path(record.file) not in paths)
    steps = [config_files.describe_change(path, change) for path, change in changes.items()]
    if manifest.files and not left:
        steps.append(InstallStep(str(manifest_file), "remove"))
    if dry_run:
        return tuple(steps)
    for path, change in changes.items():
        config_files.write_or_remove(path, change.after, mode=0o644)
    if left:
        config_files.write_manifest(manifest_file, _BlockManifest(files=left))
    elif manifest.files:
        config_files.remove_file(manifest_file, upto=data)
        config_files.remove_data_directory(data)
    return tuple(steps)


def _removals(paths: list[Path], records: dict[str, FileChangeRecord]) -> Iterator[tuple[Path, ConfigChange]]:
    for path in paths:
        text = config_files.read_text(path)
        if text is None:
            continue
        _check_inside(path)
        record = records.get(str(path))
        rest = _without_block(text, record)
        # A file that we made and that has nothing else goes.
        if rest == "" and record is not None and record.before is None:
            rest = None
        if rest != text:
            yield path, ConfigChange(text, rest)


def _with_block(text: str | None) -> ConfigChange:
    """Return the change that puts the block behind a text."""
    if not text:
        return ConfigChange(text, BLOCK, (TextEdit(0, "", BLOCK),))
    line_end = "\r\n" if "\r\n" in text else "\n"
    gap = line_end if text.endswith("\n") else line_end * 2
    block = gap + BLOCK.replace("\n", line_end)
    return ConfigChange(text, text + block, (TextEdit(len(text), "", block),))


def _without_block(text: str, recorded: FileChangeRecord | None) -> str | None:
    """Return a file's text without our block: its former bytes where nobody touched it since."""
    if recorded is not None:
        untouched, before = config_files.original_text(text, recorded)
        if untouched:
            return before
    return _BLOCK.sub("", text)


def _check_inside(path: Path) -> None:
    """Raise `ConfigError` where a file is a link out of its project: a repository may come from anybody."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(path.parent)):
        raise ConfigError(f"{path} leads out of the project", hint="Nothing was changed; make it a file of its own")
