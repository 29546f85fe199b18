"""Files: what was read, named or edited, the last touched last; those that are only read give way to edited ones."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hudkit.compose import Density, Element
from hudkit.log.event import Event
from hudkit.log.payloads import CompactAfter, FileClose, FileEdit, FileOpen, SectionClear, SectionReplace
from hudkit.sections.items import ItemList, SectionItem, mark_of
from hudkit.sections.section import KeyedRow, SectionLogic, SectionView, ShownItem, item_list


class TrackedFile(SectionItem, frozen=True, omit_defaults=True):
    """A file; `status` is `editing`, `reading` or `referenced`, and a `closed` one left the view but not the log.

    An edited file stays `editing` when it is read again. The path is its id.
    """

    status: str = "reading"
    closed: bool = False

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
        case FileOpen(path=path, status=status):
            file = files.get(path)
            return _touch(files, event, path, "editing" if file and file.status == "editing" else status)
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
            files = _close(files, lambda file: file.id not in values)
            for path in values:
                file = files.get(path)
                if file is None or file.closed:
                    files = _touch(files, event, path, file.status if file else "referenced")
            return files
        case SectionClear(section="files" | ""):
            return _close(files, lambda file: not file.closed)
    return files


def _touch(files: FilesState, event: Event, path: str, status: str) -> FilesState:
    others = tuple(file for file in files.items if file.id != path)
    count = files.count + (len(others) == len(files.items))
    return msgspec.structs.replace(files, items=(*others, TrackedFile(path, mark_of(event), status)), count=count)


def _close(files: FilesState, which: Callable[[TrackedFile], bool]) -> FilesState:
    items = tuple(
        msgspec.structs.replace(file, closed=True) if not file.closed and which(file) else file
        for file in files.items
    )
    return msgspec.structs.replace(files, items=items)


def _show(files: FilesState, view: SectionView) -> Element | None:
    return item_list([_shown(file, view) for file in files.active], view)


def _shown(file: TrackedFile, view: SectionView) -> ShownItem:
    status = f" ({file.status})" if view.density is Density.FULL else ""
    return ShownItem(file.path, file.path, label=status, secondary=file.status != "editing")


def _rows(files: FilesState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(file.path, f"{file.path} ({file.status})") for file in files.active)


LOGIC = SectionLogic(
    handles=(FileOpen, FileEdit, FileClose, CompactAfter, SectionReplace, SectionClear),
    reduce=_reduce,
    show=_show,
    rows=_rows,
    live=lambda files: files.active,
)
