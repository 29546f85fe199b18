"""A project's own defaults from its file: the table `[project]`, taken only where the user trusts these words."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from hudkit.config import PROJECT_DEFAULTS
from hudkit.config import read as read_toml
from hudkit.errors import ConfigError
from hudkit.paths import PROJECT_FILE, SectionPaths, git_root
from hudkit.sections.project import ProjectFileDefaults
from hudkit.sections.sandboxed.definitions import add_trust, file_signature, trusted_digests

_Texts = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=1000, pattern=r"\S")], ...], Meta(max_length=50)
]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    notes: _Texts = ()
    files: _Texts = ()
    conventions: _Texts = ()


class ProjectTable(msgspec.Struct, frozen=True):
    """What a project's file gives or what is `wrong` with it; `digest` is the SHA-256 of the words, as JSON."""

    path: Path
    defaults: ProjectFileDefaults | None = None
    digest: str = ""
    trusted: bool = False
    wrong: str = ""


class ProjectFile:
    """What the file of one project gives now; read again when it, or what is trusted, changes. Never raises."""

    def __init__(self, paths: SectionPaths, project: Path) -> None:
        self._paths = paths
        self._path = git_root(project) / PROJECT_FILE
        # as texts, put together once: they are looked at before every frame
        self._places = (str(self._path), str(paths.trusted))
        self._signature: object = None
        self._defaults: ProjectFileDefaults | None = None

    def __call__(self) -> ProjectFileDefaults | None:
        """Return the defaults, or `None` where the file gives none that is trusted."""
        own, trusted = self._places
        file = file_signature(own)
        # where there is no file, it is all one what is trusted
        signature = (file, file_signature(trusted) if file is not None else None)
        if signature != self._signature:
            table = read_project_table(self._path, self._paths)
            self._signature, self._defaults = signature, table.defaults if table.trusted else None
        return self._defaults


def read_project_table(path: Path, paths: SectionPaths) -> ProjectTable:
    """Return the table `[project]` of a file as it is now. Never raises."""
    if not os.path.lexists(path):
        return ProjectTable(path)
    try:
        # A link could lead to a file that somebody else changes after it was trusted.
        if path.is_symlink():
            raise ConfigError(f"{path} is a symbolic link", hint="Put the file itself there")
        content = read_toml(path).get(PROJECT_DEFAULTS)
        if content is None:
            return ProjectTable(path)
        table = msgspec.convert(content, _Table)
    except ConfigError as error:
        return ProjectTable(path, wrong=str(error))
    except msgspec.ValidationError as error:
        return ProjectTable(path, wrong=f"{path}: [{PROJECT_DEFAULTS}] {error}")
    defaults = ProjectFileDefaults(table.notes, table.files, table.conventions)
    # Of the words, not of the file: other settings in it may change without a question.
    digest = sha256(msgspec.json.encode(defaults)).hexdigest()
    return ProjectTable(path, defaults, digest, digest in trusted_digests(paths.trusted))


def trust_project(path: Path, paths: SectionPaths) -> ProjectTable:
    """Trust a project's defaults as they are now, and return them; changed ones are others. Raises `ConfigError`."""
    table = read_project_table(path, paths)
    if table.wrong or table.defaults is None:
        raise ConfigError(table.wrong or f"{path} has no [{PROJECT_DEFAULTS}]", hint="Give notes, files, conventions")
    if not table.trusted:
        add_trust(paths, table.digest, path)
    return msgspec.structs.replace(table, trusted=True)
