"""Operations on files: which are read, named or edited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import FileClose, FileEdit, FileOpen, Payload
from hudkit.sections.files import TrackedFile
from hudkit.sections.state import HudState
from hudkit.tools.lines import Page, echo, listing, row, stored
from hudkit.tools.naming import Name, named
from hudkit.tools.operation import SHOWN, Answer, Arguments, Call, Row, Text, alias, operation, reading, section
from hudkit.tools.record import record, removed


class FilePage(Page, frozen=True):
    all: Annotated[bool, Meta(description="Show the closed ones too.")] = False


class Opened(Arguments, frozen=True):
    path: Annotated[Text, Meta(description="The file's path.")]
    status: Annotated[Literal["reading", "referenced"], Meta(description="Whether it is read, or only named.")] = (
        "reading"
    )


class Edited(Arguments, frozen=True):
    path: Annotated[Text, Meta(description="The file's path.")]


class Closed(Arguments, frozen=True):
    path: Annotated[Name, Meta(description="The file's path, or a part of it that no other active file has.")]


class HudFile(Arguments, frozen=True):
    file: Annotated[Text, Meta(description="The file's path.")]
    action: Annotated[Literal["add", "remove"], Meta(description="What to do with it.")] = "add"


@section("files", "Files", also=("activeFiles",), replaces="texts", clears=True)
def rows(state: HudState) -> tuple[Row, ...]:
    return _rows(state.files.active)


def _rows(files: Sequence[TrackedFile]) -> tuple[Row, ...]:
    return tuple(row(file, file.path, "closed" if file.closed else "", label=file.status) for file in files)


@reading("files.list", FilePage)
def list_(session: SessionCore, args: FilePage) -> Answer:
    """List the active files, the last touched last; on request the closed ones too."""
    files = session.state.files
    return listing(SHOWN["files"], _rows(files.items if args.all else files.active), args, session.state.time)


@operation("files.open", Opened, example={"path": "src/auth.py"})
def open_(session: SessionCore, args: Opened, origin: Origin) -> Answer:
    """Say that a file is read, or only named. An edited file stays an edited one."""
    return _touched(session, origin, args.path, args.status, lambda: FileOpen(args.path, args.status))


@operation("files.edit", Edited, example={"path": "src/auth.py"})
def edit(session: SessionCore, args: Edited, origin: Origin) -> Answer:
    """Say that a file is edited; edited files survive compactions."""
    return _touched(session, origin, args.path, "editing", lambda: FileEdit(args.path))


def _touched(session: SessionCore, origin: Origin, path: str, status: str, payload: Callable[[], Payload]) -> Answer:
    id = stored(path)

    def decide(state: HudState) -> Sequence[Payload]:
        last = state.files[-1] if len(state.files) else None
        if last is not None and last.id == id and not last.closed and last.status in (status, "editing"):
            return ()  # it is the last touched one, and so already
        return (payload(),)

    change = record(session, origin, decide)
    file = change.after.files.get(id)
    assert file is not None
    text = f"{'File' if change else 'Already there: file'} {echo(id)} ({file.status})."
    return Answer(text + change.note, {"id": id, "recorded": bool(change), "status": file.status})


@operation("files.close", Closed, example={"path": "src/auth.py"})
def close(session: SessionCore, args: Closed, origin: Origin) -> Answer:
    """Take a file out of view; the log keeps it."""
    return removed(
        session,
        origin,
        "file",
        lambda state: named(state.files.active, args.path, "active file", lambda file: file.path),
        FileClose,
        verb="Closed",
    )


@alias("hud_file", HudFile, writes=True, example={"file": "src/auth.py", "action": "add"})
def hud_file(args: HudFile) -> Call:
    """Track a file that is edited (`add`), or stop tracking it (`remove`)."""
    if args.action == "remove":
        return Call("files.close", Closed(args.file))
    return Call("files.edit", Edited(args.file))
