"""The file that says what was installed, so that the same, and nothing else, is taken out again."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from hudkit.errors import ConfigError
from hudkit.hosts.installing.writing import contents, write

Kept = TypeVar("Kept", bound=msgspec.Struct)


def read(path: Path, kind: type[Kept]) -> Kept:
    """The manifest at `path`, an empty one where there is none. Raises `ConfigError` where it cannot be read."""
    body = contents(path)
    if body is None:
        return kind()
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path} cannot be read ({error})", hint="Move it away and try again") from None


def keep(path: Path, manifest: msgspec.Struct) -> None:
    """Write the manifest, whole or not at all."""
    write(path, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
