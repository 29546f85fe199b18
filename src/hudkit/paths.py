"""Where a user's files are: the log, the index beside it, the settings, custom sections."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from hudkit.config import PROJECT_FILE


class SectionPaths(msgspec.Struct, frozen=True):
    """The user's folder of custom sections, and the file that says which bytes of projects are trusted."""

    user: Path
    trusted: Path


def data_directory() -> Path:
    """The user's data: `HUDKIT_DATA`, else the platform's directory."""
    named = os.environ.get("HUDKIT_DATA")
    if named:
        return Path(named).absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("hudkit", appauthor=False))


def log_path() -> Path:
    """The user's log: `HUDKIT_DB`, else `hudkit.db` among the data."""
    named = os.environ.get("HUDKIT_DB")
    return Path(named).absolute() if named else data_directory() / "hudkit.db"


def index_path(log: Path) -> Path:
    """The index for search that goes with a log."""
    return log.absolute().with_name(f"{log.stem}.search.db")


def user_config() -> Path:
    """Where the user's settings would be: `HUDKIT_CONFIG`, else `config.toml` in the platform's directory."""
    named = os.environ.get("HUDKIT_CONFIG")
    if named:
        return Path(named).absolute()
    import platformdirs

    return Path(platformdirs.user_config_dir("hudkit", appauthor=False)) / "config.toml"


def section_paths() -> SectionPaths:
    """Return the places of custom sections: the user's are beside the settings, what is trusted is among the data."""
    return SectionPaths(user_config().parent / "sections", data_directory() / "trusted-sections")


def project_config(start: Path) -> Path | None:
    """The settings of the project that a directory is in: at its git root, or in the directory itself."""
    place = start.absolute()
    root = next((one for one in (place, *place.parents) if os.path.lexists(one / ".git")), place)
    path = root / PROJECT_FILE
    return path if os.path.lexists(path) else None


def config_path() -> Path | None:
    """The user's settings where there are any; a file that `HUDKIT_CONFIG` names should be there."""
    path = user_config()
    return path if os.environ.get("HUDKIT_CONFIG") or os.path.lexists(path) else None
