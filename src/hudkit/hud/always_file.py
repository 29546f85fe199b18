"""`always.toml`: what its user made hold beyond one session, in all sessions or in those of one project.

It lies beside the settings, is written by `hudkit review` only, and may be edited by hand. Nothing that a repository
brings along, and no operation of an agent, adds to it.

    [[rule]]
    text = "Never touch legacy/"
    project = "/home/ada/shop"                   # without it: in all sessions
    session = "claude-code/4f2a1c@3f2a90c1d4e5"  # where it was said
    since = 2026-11-25

The tables are `rule`, `preference`, `decision` (with a `reason`) and `note`. A session copies what holds for it as
events when it begins: one that has begun does not change with the file, and can be replayed without it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from hudkit.config import parse, read, toml_literal
from hudkit.errors import ConfigError, StoreError
from hudkit.hud.session_keys import PROJECT_LOG, host_id_of_key, project_key, project_of_key
from hudkit.log.event_log import EventLog
from hudkit.log.payloads import ConstraintAdd, DecisionRecord, Level, NoteAdd, Payload, PreferenceAdd
from hudkit.sections.state import HudState

if TYPE_CHECKING:
    from hudkit.log.redaction import SecretText

Section: TypeAlias = Literal["constraints", "preferences", "decisions", "notes"]

KIND_NAMES: dict[Section, str] = {
    "constraints": "rule",
    "preferences": "preference",
    "decisions": "decision",
    "notes": "note",
}
"""What the items of a section are called by their user, and the tables of the file."""

_HEADER = """\
# What you made hold beyond one session: in all sessions of yours, in every host, or in those of one `project`.
# `hudkit review` writes here; you may edit it. A session has what is here when it begins.
"""

_BLOCK = re.compile(r"^(?=\[\[)", re.MULTILINE)
"""Where an item begins."""

_TAIL = re.compile(r"(?:^[ \t]*(?:#[^\n]*)?\n?)*\Z", re.MULTILINE)
"""Blank lines and comments at the end of an item: they belong to the next one."""

_Text = Annotated[str, Meta(min_length=1, max_length=2_000, pattern=r"\S")]


class AlwaysItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An item that holds in all sessions, or in those of the `project` (a directory) where one is named.

    `session` is the key of the session in which it was said, `since` the day on which it was put here.
    """

    section: Section
    text: str
    reason: str = ""
    project: str = ""
    session: str = ""
    since: date | None = None

    @property
    def level(self) -> Level:
        """Return where it holds."""
        return "project" if self.project else "user"

    def holds_in(self, project: str) -> bool:
        """Return whether it holds in the sessions of a project, by the project's key; empty: of none."""
        return not self.project or project_key(Path(self.project).expanduser()) == project


class _FileEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: _Text
    reason: str = ""
    project: str = ""
    session: str = ""
    since: date | None = None


class _FileTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: tuple[_FileEntry, ...] = ()
    preference: tuple[_FileEntry, ...] = ()
    decision: tuple[_FileEntry, ...] = ()
    note: tuple[_FileEntry, ...] = ()


def read_always(path: Path) -> tuple[AlwaysItem, ...]:
    """Return what is in the file; nothing where there is none. Raises `ConfigError` where it is wrong."""
    if not os.path.lexists(path):
        return ()
    return _items(read(path), str(path))


def _items(table: object, where: str) -> tuple[AlwaysItem, ...]:
    try:
        tables = msgspec.convert(table, _FileTables)
    except msgspec.ValidationError as error:
        hint = "A table is [[rule]], [[preference]], [[decision]] or [[note]], with a text"
        raise ConfigError(f"{where}: {error}", hint=hint) from None
    return tuple(
        AlwaysItem(section, *msgspec.structs.astuple(entry))
        for section, name in KIND_NAMES.items()
        for entry in getattr(tables, name)
    )


def add_always(path: Path, item: AlwaysItem) -> bool:
    """Put an item at the end of the file, and return whether it was not there yet.

    Raises `ConfigError` where what is there cannot be read, an `OSError` where nothing can be written.
    """
    if any(_is_same(item, other) for other in read_always(path)):
        return False
    text = path.read_text(encoding="utf-8-sig") if os.path.lexists(path) else _HEADER
    _write(path, f"{text.rstrip()}\n\n{_block(item)}")
    return True


def remove_always(path: Path, item: AlwaysItem) -> bool:
    """Take an item out of the file, and return whether it was there; what else is in the file stays as it is.

    Raises as `add_always`.
    """
    remaining = [other for other in read_always(path) if not _is_same(item, other)]
    if len(remaining) == len(read_always(path)):
        return False
    text = path.read_text(encoding="utf-8-sig")
    head, *blocks = _BLOCK.split(text)
    left = [head]
    for block in blocks:
        gone = _is_block_of(item, block)
        left.append(_TAIL.search(block)[0].lstrip("\n") if gone else block)  # type: ignore[index]  # it matches ""
    changed = "".join(left)
    try:
        is_right = sorted(map(repr, _items(parse(changed), ""))) == sorted(map(repr, remaining))
    except ConfigError:
        is_right = False
    # Where the text cannot be cut (a value of several lines may look like a table), it is written anew.
    _write(path, changed if is_right else _whole(remaining))
    if not remaining and changed.strip() == _HEADER.strip():
        path.unlink()
    return True


def redact_always(path: Path, wanted: Sequence[SecretText]) -> int:
    """Take texts that must go out of the file, and return how many items held one. Raises as `add_always`."""
    from hudkit.log.redaction import remove_from_json

    items = read_always(path)
    raw = [msgspec.json.encode(item) for item in items]
    clean = [remove_from_json(body, wanted) for body in raw]
    count = sum(before is not after for before, after in zip(raw, clean, strict=True))
    if count:
        _write(path, _whole(msgspec.json.decode(body, type=AlwaysItem) for body in clean))
    return count


def _is_same(item: AlwaysItem, other: AlwaysItem) -> bool:
    return (item.section, item.text, item.project) == (other.section, other.text, other.project)


def _is_block_of(item: AlwaysItem, block: str) -> bool:
    try:
        return any(_is_same(item, other) for other in _items(parse(block), ""))
    except ConfigError:
        return False


def _whole(items: Iterable[AlwaysItem]) -> str:
    return "\n".join((_HEADER, *map(_block, items)))


def _block(item: AlwaysItem) -> str:
    """An item as a table of the file."""
    lines = [f"[[{KIND_NAMES[item.section]}]]"]
    values = {name: getattr(item, name) for name in ("text", "reason", "project", "session")}
    # JSON's strings are TOML's, but for one character.
    lines += [f"{name} = {toml_literal(value)}".replace("\x7f", "\\u007f") for name, value in values.items() if value]
    if item.since is not None:
        lines.append(f"since = {item.since.isoformat()}")
    return "\n".join(lines) + "\n"


def _write(path: Path, text: str) -> None:
    """Write the file whole or not at all, for its user alone; where it is a link, what it leads to."""
    import tempfile  # few processes write

    real = Path(os.path.realpath(path))
    real.parent.mkdir(parents=True, exist_ok=True)
    mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
    fd, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# -- a session that begins ---------------------------------------------------------------------------------------


class AlwaysItems:
    """The step before a session's first frame: what its user made hold in all sessions, or in those of its project.

    It gives the events by which the session has it. A session that has begun, a sub-agent's, which has its parent's
    rules, and a fork, which goes on from where its source was, get nothing.
    """

    def __init__(self, key: str, log: EventLog, path: Path) -> None:
        self._key = key
        self._log = log
        self._path = path

    def __call__(self, state: HudState) -> Sequence[Payload]:
        """Return what has to be recorded; nothing where the session has begun, or the file cannot be read."""
        if state.window.calls or state.epoch.last or self._key.startswith(f"{PROJECT_LOG}@"):
            return ()
        if any(link.relation in ("parent", "fork") for link in state.session.links):
            return ()
        try:
            items = [item for item in read_always(self._path) if item.holds_in(project_of_key(self._key))]
            # What was taken up, and then ended, does not come back before the first call.
            if not items or any(getattr(event.payload, "level", "") for event in self._log.read(self._key)):
                return ()
        except (ConfigError, StoreError):
            return ()
        return [_payload(item) for item in items if getattr(state, item.section).find(item.text) is None]


def _payload(item: AlwaysItem) -> Payload:
    taken_from, level = host_id_of_key(item.session), item.level
    match item.section:
        case "constraints":
            return ConstraintAdd(item.text, taken_from=taken_from, level=level)
        case "preferences":
            return PreferenceAdd(item.text, taken_from=taken_from, level=level)
        case "decisions":
            return DecisionRecord(item.text, item.reason, taken_from=taken_from, level=level)
        case "notes":
            return NoteAdd(item.text, taken_from=taken_from, level=level)
