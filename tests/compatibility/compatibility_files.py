"""Where the stored files are, and how they are copied and written down."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FIXTURES = HERE / "fixtures"
GOLDENS = HERE / "goldens"


def copied(source: Path, target: Path) -> None:
    """A copy that only its user reads, which is how such files lie."""
    target.mkdir(mode=0o700)
    for one in sorted(source.iterdir()):
        if one.is_dir():
            copied(one, target / one.name)
        else:
            (target / one.name).write_bytes(one.read_bytes())
            (target / one.name).chmod(0o600)


def as_text(value: Any) -> str:
    """Plain values as JSON that is read line by line."""
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def without_snapshots(path: Path) -> int:
    """Take the saved states out of a log, as if another version had written them; how many there were."""
    db = sqlite3.connect(path)
    with db:
        count = db.execute("DELETE FROM snapshots").rowcount
    db.close()
    return count


def unreadable_snapshots(path: Path) -> int:
    """Give the saved states the name of a shape that nobody has; how many there were."""
    db = sqlite3.connect(path)
    with db:
        count = db.execute("UPDATE snapshots SET version = 'of another shape'").rowcount
    db.close()
    return count
