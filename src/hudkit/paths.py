"""Where a user's files are: the log, the search index beside it, the settings, custom sections."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

PROJECT_FILE = ".hudkit.toml"
"""A project's own settings, at its root."""


class SectionPaths(msgspec.Struct, frozen=True):
    """The user's folder of custom sections, and the file that says which bytes of projects are trusted."""

    user: Path
    trusted: Path


def data_directory() -> Path:
    """Return the user's data directory: `HUDKIT_DATA`, else the platform's."""
    override = os.environ.get("HUDKIT_DATA")
    if override:
        return Path(override).absolute()
    # Imported late: a short-lived hook process whose paths are all named does not load it.
    import platformdirs

    return Path(platformdirs.user_data_dir("hudkit", appauthor=False))


def log_path() -> Path:
    """Return the user's log: `HUDKIT_DB`, else `hudkit.db` in the data directory."""
    override = os.environ.get("HUDKIT_DB")
    return Path(override).absolute() if override else data_directory() / "hudkit.db"


def index_path(log: Path) -> Path:
    """Return the search index that goes with a log: `hudkit.search.db` beside `hudkit.db`."""
    return log.absolute().with_name(f"{log.stem}.search.db")


def user_config() -> Path:
    """Return where the user's settings would be: `HUDKIT_CONFIG`, else `config.toml` in the platform's directory."""
    override = os.environ.get("HUDKIT_CONFIG")
    if override:
        return Path(override).absolute()
    import platformdirs

    return Path(platformdirs.user_config_dir("hudkit", appauthor=False)) / "config.toml"


def section_paths() -> SectionPaths:
    """Return the places of custom sections: the user's are beside the settings, what is trusted is among the data."""
    return SectionPaths(user_config().parent / "sections", data_directory() / "trusted-sections")


def project_config(start: Path) -> Path | None:
    """Return the settings file of the project that a directory is in; `None` where the project has none.

    It is looked for at the project's git root, or in the directory itself where there is no git root.
    """
    directory = start.absolute()
    candidates = (directory, *directory.parents)
    root = next((candidate for candidate in candidates if os.path.lexists(candidate / ".git")), directory)
    path = root / PROJECT_FILE
    # `lexists`: a broken link is reported when it is opened, not silently passed over.
    return path if os.path.lexists(path) else None


def config_path() -> Path | None:
    """Return the user's settings file where there is one, else `None`.

    A file that `HUDKIT_CONFIG` names is returned even where it is missing: the user expects it to be read.
    """
    path = user_config()
    return path if os.environ.get("HUDKIT_CONFIG") or os.path.lexists(path) else None
