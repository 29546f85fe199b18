"""The recording that ships with the package."""

from __future__ import annotations

import stat
from pathlib import Path

from hudkit.cli.demo import unpack_orchard


def test_it_is_unpacked_for_its_owner_only(tmp_path: Path) -> None:
    path = unpack_orchard(tmp_path / "new" / "folder")
    assert path.name == "orchard.db"
    assert path.read_bytes()[:15] == b"SQLite format 3"
    assert path.stat().st_size == 1_576_960
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_it_replaces_what_was_there_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine")
    (tmp_path / "orchard.db").symlink_to(target)
    path = unpack_orchard(tmp_path)
    assert not path.is_symlink()
    assert target.read_text() == "mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["orchard.db", "precious"]
