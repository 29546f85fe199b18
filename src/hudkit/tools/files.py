"""Operations on files: which are read, named or edited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import FileClose, FileEdit, FileOpen, Payload
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.files import TrackedFile
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, item_row, list_rows, quote
from hudkit.tools.operation import (
    SECTION_LISTINGS,
    AnswerRow,
    OperationArguments,
    OperationCall,
    OperationResult,
    Text,
    alias,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import record, remove_from_section
from hudkit.tools.resolve_item import ItemName, resolve_item


class _FilePage(PageArguments, frozen=True):
    all: Annotated[bool, Meta(description="Show the closed ones too.")] = False


class _Opened(OperationArguments, frozen=True):
    path: Annotated[Text, Meta(description="The file's path.")]
    status: Annotated[Literal["reading", "referenced"], Meta(description="Whether it is read, or only named.")] = (
        "reading"
    )


class _Edited(OperationArguments, frozen=True):
    path: Annotated[Text, Meta(description="The file's path.")]


class _Closed(OperationArguments, frozen=True):
    path: Annotated[ItemName, Meta(description="The file's path, or a part of it that no other active file has.")]


class _HudFile(OperationArguments, frozen=True):
    file: Annotated[Text, Meta(description="The file's path.")]
    action: Annotated[Literal["add", "remove"], Meta(description="What to do with it.")] = "add"


@section_listing("files", "Files", also=("activeFiles",), replaces="texts", clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return _file_rows(state.files.active)


def _file_rows(files: Sequence[TrackedFile]) -> tuple[AnswerRow, ...]:
    return tuple(item_row(file, file.path, "closed" if file.closed else "", label=file.status) for file in files)


@reading("files.list", _FilePage)
def _list(session: SessionCore, args: _FilePage) -> OperationResult:
    """List the active files, the last touched last; on request the closed ones too."""
    files = session.state.files
    return list_rows(
        SECTION_LISTINGS["files"], _file_rows(files.items if args.all else files.active), args, session.state.time
    )


@operation("files.open", _Opened, example={"path": "src/auth.py"})
def _open(session: SessionCore, args: _Opened, origin: Origin) -> OperationResult:
    """Say that a file is read, or only named. An edited file stays an edited one."""
    return _touched(session, origin, args.path, args.status, lambda: FileOpen(args.path, args.status))


@operation("files.edit", _Edited, example={"path": "src/auth.py"})
def _edit(session: SessionCore, args: _Edited, origin: Origin) -> OperationResult:
    """Say that a file is edited; edited files survive compactions."""
    return _touched(session, origin, args.path, "editing", lambda: FileEdit(args.path))


def _touched(
    session: SessionCore, origin: Origin, path: str, status: str, payload: Callable[[], Payload]
) -> OperationResult:
    id = without_secrets(path)

    def decide(state: HudState) -> Sequence[Payload]:
        # Hosts report the same file again and again; only a change of the order is worth an event.
        last = state.files[-1] if len(state.files) else None
        if last is not None and last.id == id and not last.closed and last.status in (status, "editing"):
            return ()  # it is the last touched one, and so already
        return (payload(),)

    change = record(session, origin, decide)
    file = change.after.files.get(id)
    assert file is not None
    text = f"{'File' if change else 'Already there: file'} {quote(id)} ({file.status})."
    return OperationResult(text + change.note, {"id": id, "recorded": bool(change), "status": file.status})


@operation("files.close", _Closed, example={"path": "src/auth.py"})
def _close(session: SessionCore, args: _Closed, origin: Origin) -> OperationResult:
    """Take a file out of view; the log keeps it."""
    return remove_from_section(
        session,
        origin,
        "file",
        lambda state: resolve_item(state.files.active, args.path, "active file", lambda file: file.path),
        FileClose,
        verb="Closed",
    )


@alias("hud_file", _HudFile, writes=True, example={"file": "src/auth.py", "action": "add"})
def _hud_file(args: _HudFile) -> OperationCall:
    """Track a file that is edited (`add`), or stop tracking it (`remove`)."""
    if args.action == "remove":
        return OperationCall("files.close", _Closed(args.file))
    return OperationCall("files.edit", _Edited(args.file))
