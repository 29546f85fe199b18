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
    TextOrTexts,
    alias,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import as_texts, record, recorded_ids, remove_from_section
from hudkit.tools.resolve_item import ItemNames, resolve_items


class _FilePage(PageArguments, frozen=True):
    all: Annotated[bool, Meta(description="Show the closed ones too.")] = False


class _Opened(OperationArguments, frozen=True):
    path: Annotated[TextOrTexts, Meta(description="The file's path, or a list of paths.")]
    status: Annotated[Literal["reading", "referenced"], Meta(description="Whether it is read, or only named.")] = (
        "reading"
    )


class _Edited(OperationArguments, frozen=True):
    path: Annotated[TextOrTexts, Meta(description="The file's path, or a list of paths.")]


class _Closed(OperationArguments, frozen=True):
    path: Annotated[
        ItemNames, Meta(description="The file, or a list of files: the path, or a part of it that no other has.")
    ]


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
    """Say that files are read, or only named. An edited file stays an edited one."""
    return _touched(session, origin, args.path, args.status, lambda path: FileOpen(path, args.status))


@operation("files.edit", _Edited, example={"path": "src/auth.py"})
def _edit(session: SessionCore, args: _Edited, origin: Origin) -> OperationResult:
    """Say that files are edited; edited files survive compactions."""
    return _touched(session, origin, args.path, "editing", FileEdit)


def _touched(
    session: SessionCore,
    origin: Origin,
    path: str | Sequence[str],
    status: str,
    payload: Callable[[str], Payload],
) -> OperationResult:
    paths = as_texts(path)
    ids = list(dict.fromkeys(without_secrets(each) for each in paths))

    def decide(state: HudState) -> Sequence[Payload]:
        # Hosts report the same file again and again; only a change of the order is worth an event.
        last = state.files.items[-len(ids) :]
        touched_last = [file.id for file in last if not file.closed and file.status in (status, "editing")]
        # They are the last touched ones, and so already.
        return () if touched_last == ids else [payload(each) for each in paths]

    change = record(session, origin, decide)
    files = [file for file in map(change.after.files.get, ids) if file is not None]
    named = "; ".join(f"{quote(file.path)} ({file.status})" for file in files)
    noun = "file" if isinstance(path, str) else "files"
    text = f"{noun.capitalize() if change else f'Already there: {noun}'} {named}."
    data = recorded_ids(ids, change, several=not isinstance(path, str))
    return OperationResult(text + change.note, {**data, "status": files[0].status})


@operation("files.close", _Closed, example={"path": "src/auth.py"})
def _close(session: SessionCore, args: _Closed, origin: Origin) -> OperationResult:
    """Take files out of view; the log keeps them."""
    return remove_from_section(
        session,
        origin,
        "file",
        lambda state: resolve_items(state.files.active, args.path, "active file", lambda file: file.path),
        FileClose,
        several=not isinstance(args.path, str),
        verb="Closed",
    )


@alias("hud_file", _HudFile, writes=True, example={"file": "src/auth.py", "action": "add"})
def _hud_file(args: _HudFile) -> OperationCall:
    """Track a file that is edited (`add`), or stop tracking it (`remove`)."""
    if args.action == "remove":
        return OperationCall("files.close", _Closed(args.file))
    return OperationCall("files.edit", _Edited(args.file))
