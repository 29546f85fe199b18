"""A project's own defaults from its file: the table `[project]`, taken only where the user trusts these words."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from hudkit.config import PROJECT_DEFAULTS, PROJECT_FILE
from hudkit.config import read as read_toml
from hudkit.errors import ConfigError
from hudkit.hud.defaults import Given
from hudkit.sections.sandboxed.files import Places, root_of, sign_of, trusted, write_trust

Texts = Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=1000, pattern=r"\S")], ...], Meta(max_length=50)]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    notes: Texts = ()
    files: Texts = ()
    conventions: Texts = ()


class ProjectTable(msgspec.Struct, frozen=True):
    """What a project's file gives or what is `wrong` with it; `digest` is the SHA-256 of the words, as JSON."""

    path: Path
    given: Given | None = None
    digest: str = ""
    trusted: bool = False
    wrong: str = ""


class ProjectFile:
    """What the file of one project gives now; read again when it, or what is trusted, changes. Never raises."""

    def __init__(self, places: Places, project: Path) -> None:
        self._places = places
        self._path = root_of(project) / PROJECT_FILE
        self._sign: object = None
        self._given: Given | None = None

    def __call__(self) -> Given | None:
        sign = (sign_of(self._path), sign_of(self._places.trusted))
        if sign != self._sign:
            found = project_table(self._path, self._places)
            self._sign, self._given = sign, found.given if found.trusted else None
        return self._given


def project_table(path: Path, places: Places) -> ProjectTable:
    """The table `[project]` of a file as it is now. Never raises."""
    if not os.path.lexists(path):
        return ProjectTable(path)
    try:
        if path.is_symlink():
            raise ConfigError(f"{path} is a symbolic link", hint="Put the file itself there")
        table = read_toml(path).get(PROJECT_DEFAULTS)
        if table is None:
            return ProjectTable(path)
        read = msgspec.convert(table, _Table)
    except ConfigError as error:
        return ProjectTable(path, wrong=str(error))
    except msgspec.ValidationError as error:
        return ProjectTable(path, wrong=f"{path}: [{PROJECT_DEFAULTS}] {error}")
    given = Given(read.notes, read.files, read.conventions)
    digest = sha256(msgspec.json.encode(given)).hexdigest()
    return ProjectTable(path, given, digest, digest in trusted(places.trusted))


def trust_project(path: Path, places: Places) -> ProjectTable:
    """Trust a project's defaults as they are now; changed ones are others. Raises `ConfigError`."""
    found = project_table(path, places)
    if found.wrong or found.given is None:
        raise ConfigError(found.wrong or f"{path} has no [{PROJECT_DEFAULTS}]", hint="Give notes, files, conventions")
    if not found.trusted:
        write_trust(places, found.digest, path)
    return msgspec.structs.replace(found, trusted=True)
