"""Files: what was read, named or edited, the last touched last."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import CompactAfter, FileClose, FileEdit, FileOpen, SectionClear, SectionReplace
from hudkit.sections.items import Item, Items, mark


class File(Item, frozen=True, omit_defaults=True):
    """`status` is `editing`, `reading` or `referenced`; a `closed` file left the view and stays in the log.

    An edited file stays `editing` when it is read again. The path is its id.
    """

    status: str = "reading"
    closed: bool = False

    @property
    def path(self) -> str:
        return self.id

    @property
    def words(self) -> str:
        return self.id


class Files(Items[File], frozen=True, omit_defaults=True):
    """Files in the order in which they were last touched; `compacted` is where the last compaction was."""

    compacted: int = 0

    @property
    def active(self) -> tuple[File, ...]:
        """The files that are in view."""
        return tuple(file for file in self.items if not file.closed)


HANDLES = (FileOpen, FileEdit, FileClose, CompactAfter, SectionReplace, SectionClear)


def reduce(files: Files, event: Event) -> Files:
    match event.payload:
        case FileOpen(path=path, status=status):
            known = files.get(path)
            return _touch(files, event, path, "editing" if known and known.status == "editing" else status)
        case FileEdit(path=path):
            return _touch(files, event, path, "editing")
        case FileClose(path=path):
            return _close(files, lambda file: file.id == path)
        case CompactAfter():  # what was only read, and not since the compaction before, is not being worked on
            before = files.compacted
            files = _close(files, lambda file: file.status != "editing" and file.mark.seq < before)
            return msgspec.structs.replace(files, compacted=event.seq)
        case SectionReplace(section="files", values=values):
            files = _close(files, lambda file: file.id not in values)
            for path in values:
                known = files.get(path)
                if known is None or known.closed:
                    files = _touch(files, event, path, known.status if known else "referenced")
            return files
        case SectionClear(section="files" | ""):
            return _close(files, lambda file: not file.closed)
    return files


def _touch(files: Files, event: Event, path: str, status: str) -> Files:
    rest = tuple(file for file in files.items if file.id != path)
    count = files.count + (len(rest) == len(files.items))
    return msgspec.structs.replace(files, items=(*rest, File(path, mark(event), status)), count=count)


def _close(files: Files, which: Callable[[File], bool]) -> Files:
    items = tuple(
        msgspec.structs.replace(file, closed=True) if not file.closed and which(file) else file
        for file in files.items
    )
    return msgspec.structs.replace(files, items=items)
