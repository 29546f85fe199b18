"""Files: what was read, named or edited, the last touched last; those that are only read give way to edited ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from hudkit.log.event import Event, Origin
from hudkit.log.payloads import CompactAfter, FileClose, FileEdit, FileOpen, SectionClear, SectionReplace
from hudkit.sections.items import MAX_RECENT, Compactions, ItemList, SectionItem, mark_of
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem

_READ_PRIORITY = 40
"""The priority of a file that is only read or named."""

_BEING_EDITED = 8
"""Files, the last touched ones, that pass for being edited; the work has gone on from the others."""

_EDITED_BEFORE_PRIORITY = 61
"""The priority of a file that was edited earlier: behind the notes, whose facts no other place has."""


class TrackedFile(SectionItem, frozen=True, omit_defaults=True):
    """A file; `status` is `editing`, `reading` or `referenced`, and a `closed` one left the view but not the log.

    An edited file stays `editing` when it is read again. The path is its id. Of a `partial` one no call has read the
    whole.
    """

    status: str = "reading"
    closed: bool = False
    partial: bool = False

    @property
    def path(self) -> str:
        """Return the path, as it was told."""
        return self.id

    @property
    def words(self) -> str:
        """Return the path."""
        return self.id


class FilesState(ItemList[TrackedFile], frozen=True, omit_defaults=True):
    """Files in the order in which they were last touched; `compacted` is the event of the last compaction."""

    compacted: int = 0

    @property
    def active(self) -> tuple[TrackedFile, ...]:
        """Return the files that are in view."""
        return tuple(file for file in self.items if not file.closed)


def _reduce(files: FilesState, event: Event) -> FilesState:
    match event.payload:
        case FileOpen(path=path, status=status, part=part):
            file = files.get(path)
            if file is not None and file.status == "editing":
                return _touch(files, event, path, "editing")
            is_known = file is not None and file.status == "reading" and not file.partial
            return _touch(files, event, path, status, partial=bool(part) and not is_known)
        case FileEdit(path=path):
            return _touch(files, event, path, "editing")
        case FileClose(path=path):
            return _close(files, lambda file: file.id == path)
        case CompactAfter():
            # What was only read, and not since the compaction before, is not being worked on.
            before = files.compacted
            files = _close(files, lambda file: file.status != "editing" and file.mark.seq < before)
            return msgspec.structs.replace(files, compacted=event.seq)
        case SectionReplace(section="files", values=values):
            return _replace_paths(files, event, values)
        case SectionClear(section="files" | ""):
            return _close(files, lambda file: not file.closed)
    return files


def _touch(files: FilesState, event: Event, path: str, status: str, *, partial: bool = False) -> FilesState:
    others = tuple(file for file in files.items if file.id != path)
    count = files.count + (len(others) == len(files.items))
    touched = TrackedFile(path, mark_of(event), status, partial=partial)
    return msgspec.structs.replace(files, items=(*others, touched), count=count)


def _replace_paths(files: FilesState, event: Event, paths: Sequence[str]) -> FilesState:
    """Return the files with exactly these in view: those that were not come last, in this order."""
    wanted = set(paths)
    by_path = {file.id: file for file in _close(files, lambda file: file.id not in wanted).items}
    count = files.count
    for path in paths:
        file = by_path.get(path)
        if file is None or file.closed:
            count += file is None
            by_path.pop(path, None)
            by_path[path] = TrackedFile(path, mark_of(event), file.status if file else "referenced")
    return msgspec.structs.replace(files, items=tuple(by_path.values()), count=count)


def _close(files: FilesState, which: Callable[[TrackedFile], bool]) -> FilesState:
    items = tuple(
        msgspec.structs.replace(file, closed=True) if not file.closed and which(file) else file
        for file in files.items
    )
    return msgspec.structs.replace(files, items=items)


def read_before(files: FilesState, seq: int) -> tuple[TrackedFile, ...]:
    """Return the last files in view that were read before event `seq` and not edited, the newest first."""
    read = [file for file in files.active if file.status == "reading" and file.mark.seq < seq]
    return tuple(read[::-1][:MAX_RECENT])


def _items(files: FilesState, recent: Compactions) -> Iterator[ShownItem]:
    # The section `recent` has them.
    elsewhere = read_before(files, recent.compacted)
    edited = [file.path for file in files.active if file.status == "editing"]
    being_edited = set(edited[-_BEING_EDITED:])
    for file in files.active:
        if file in elsewhere:
            continue
        earlier = _EDITED_BEFORE_PRIORITY if file.status == "editing" else _READ_PRIORITY
        priority = None if file.path in being_edited else earlier
        yield ShownItem(file.path, file.path, priority=priority, list_label=f" ({file.status})", is_code=True)


def _rows(files: FilesState, *_others: object) -> tuple[KeyedRow, ...]:
    # What a call of the agent's own read or wrote stands in the transcript, and so does what the user attached.
    return tuple(
        KeyedRow(
            file.path,
            f"{file.path} ({file.status})",
            quiet=file.mark.origin is Origin.TOOL or file.status == "referenced",
        )
        for file in files.active
    )


LOGIC = SectionLogic(
    handles=(FileOpen, FileEdit, FileClose, CompactAfter, SectionReplace, SectionClear),
    reduce=_reduce,
    items=_items,
    rows=_rows,
    reads=("files", "recent"),
)
