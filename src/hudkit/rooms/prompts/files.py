"""Prompts from a folder: one file a prompt, what is not there is hudkit's own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from hudkit.errors import ConfigError
from hudkit.rooms.prompts.faults import fault
from hudkit.rooms.prompts.schema import LONGEST, PROMPTS, check

_FILES = {f"{name.replace('.', '/')}{'.toml' if name == 'actions' else '.md'}": name for name in PROMPTS}


def load_prompts(folder: str | Path | None = None) -> dict[str, str]:
    """All prompts by name: those of `folder`, and hudkit's own for what is not there.

    A file is `directives/rooms.md` for the prompt `directives.rooms`, and `actions.toml`; files whose names begin
    with a dot are passed over. Raises `ConfigError` that names the file, the line, and what would be right.
    """
    own = _own()
    return dict(own) if folder is None else {**own, **read_prompts(folder)}


def read_prompts(folder: str | Path) -> dict[str, str]:
    """The prompts that a folder has, by name. Raises what `load_prompts` does."""
    return _read(Path(folder))


def write_prompts(folder: str | Path, prompts: Mapping[str, str] | None = None) -> list[Path]:
    """Copy prompts, hudkit's own where none are given, into a folder, to be edited; those already there stay. Gives
    what was written. Raises `ConfigError` where that cannot be done."""
    texts = _own() if prompts is None else prompts
    written = []
    try:
        for file, name in _FILES.items():
            path = Path(folder) / file
            if name in texts and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{texts[name]}\n", encoding="utf-8")
                written.append(path)
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}", hint="Name a folder that can be written to") from None
    return written


@cache
def _own() -> dict[str, str]:
    with as_file(files("hudkit.rooms.prompts") / "text") as folder:
        return _read(folder)


def _read(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder", hint="Prompts are files in a folder, such as directives/rooms.md")
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        file = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in file.parts):
            name = _FILES.get(file.as_posix(), ".".join(file.with_suffix("").parts))
            text = _text(path)
            check(name, text, str(path))
            found[name] = text
    return {name: found[name] for name in PROMPTS if name in found}


def _text(path: Path) -> str:
    if path.stat().st_size > 4 * LONGEST:
        raise fault(str(path), 1, f"longer than {LONGEST} characters", "Every agent reads it in every beat: cut it")
    content = path.read_bytes()
    try:
        return content.decode().replace("\r\n", "\n").rstrip("\n")
    except UnicodeDecodeError as error:
        raise fault(str(path), content.count(b"\n", 0, error.start) + 1, "no UTF-8", "Save it as UTF-8") from None
