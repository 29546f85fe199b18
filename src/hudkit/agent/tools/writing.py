"""The tools `write` and `edit`: files replaced in one step, with the encoding and the line ends that they had."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, NamedTuple

from msgspec import Meta

from hudkit.agent.area import Place, Sign, echo
from hudkit.agent.changes import Change, digest_of
from hudkit.agent.text import Plain, difference, occurrences, plain
from hudkit.agent.tools.reading import names_of
from hudkit.agent.tools.tool import Arguments, Context, Need, Result, Tool, in_thread
from hudkit.errors import ToolError

Path = Annotated[str, Meta(description="The file, relative to the project or absolute.")]


class Write(Arguments, frozen=True):
    path: Path
    content: Annotated[str, Meta(description="The whole new content.")]


class Edit(Arguments, frozen=True):
    path: Path
    old: Annotated[str, Meta(min_length=1, description="The text to replace, exactly as it is in the file.")]
    new: Annotated[str, Meta(description="What to put in its place.")]
    all: Annotated[bool, Meta(description="Replace every place; otherwise there must be exactly one.")] = False


def _needs(arguments: Write | Edit, context: Context) -> Sequence[Need]:
    return names_of(arguments.path, context, "edit", writing=True)


async def _write(arguments: Write, context: Context) -> Result:
    place = context.area.place(arguments.path)

    def work(stopped: Callable[[], bool]) -> Result:
        before = context.area.sign(place)
        if before is None:
            return _put(context, place, None, None, arguments.content, stopped)
        _known(context, place, before, needed=True)
        old = _whole(context, place)
        text = arguments.content
        if old.text is not None and old.text.line_end == "\r\n" and "\r" not in text:
            text = text.replace("\n", "\r\n")
        return _put(context, place, before, old, text, stopped)

    return await in_thread(work)


async def _edit(arguments: Edit, context: Context) -> Result:
    place = context.area.place(arguments.path)

    def work(stopped: Callable[[], bool]) -> Result:
        before = context.area.sign(place)
        if before is None:
            raise ToolError(f"there is no file {echo(place.shown)}", hint="`write` makes a new file")
        _known(context, place, before, needed=False)
        old = _whole(context, place)
        if old.text is None:
            raise ToolError(f"{echo(place.shown)} is no text file", hint="A program can change it")
        return _put(context, place, before, old, _replaced(arguments, place, old.text), stopped)

    return await in_thread(work)


def _replaced(arguments: Edit, place: Place, old: Plain) -> str:
    text = old.text
    places = occurrences(text, arguments.old)
    if not places:
        raise ToolError(f"the text is not in {echo(place.shown)}", hint=_nearest(text, arguments.old))
    if len(places) > 1 and not arguments.all:
        lines = ", ".join(str(text.count("\n", 0, start) + 1) for start, _ in places[:10])
        raise ToolError(
            f"the text is in {echo(place.shown)} {len(places)} times (lines {lines})",
            hint='Give more of the lines around it, or "all": true',
        )
    new = arguments.new.replace("\r\n", "\n")
    pieces, at = [], 0
    for start, end in places:
        there = text[start:end]
        line_end = ("\r\n" if "\r\n" in there else "\n") if "\n" in there else old.line_end
        pieces += [text[at:start], new.replace("\n", line_end)]
        at = end
    changed = "".join([*pieces, text[at:]])
    if changed == text:
        raise ToolError("old and new text are the same; nothing was changed")
    return changed


def _nearest(text: str, old: str) -> str:
    """Where the text would be but for white space, or its first line is."""
    wanted = [line.strip() for line in old.strip().splitlines()]
    lines = [line.strip() for line in text.splitlines()[:50_000]]
    if wanted and wanted[0]:
        for at, line in enumerate(lines):
            if line == wanted[0]:
                if lines[at : at + len(wanted)] == wanted:
                    return f"From line {at + 1} on it differs in white space only. Read it again"
                return f"Its first line is line {at + 1}, what follows differs. Read it again"
    return "Read it again, and copy the text without the line numbers"


def _known(context: Context, place: Place, now: Sign, *, needed: bool) -> None:
    """Refuse to change what is not as the model saw it."""
    seen = context.seen.get(str(place.real))
    if seen is None and needed:
        raise ToolError(
            f"{echo(place.shown)} is there already", hint="Read it before it is written over, or use `edit`"
        )
    if seen is not None and seen != now:
        raise ToolError(f"{echo(place.shown)} has changed since it was read", hint="Read it again")


class _Old(NamedTuple):
    """A file as it is before it is changed; `text` is `None` where it is none."""

    raw: bytes
    mode: int
    text: Plain | None


def _whole(context: Context, place: Place) -> _Old:
    """All of a file. Raises `ToolError` where it is too long."""
    most = context.limits.edit
    with context.area.opened(place) as fd:
        found = os.fstat(fd)
        size = found.st_size
        if size > most:
            raise ToolError(f"{echo(place.shown)} has {size:,} bytes; the limit of this tool is {most:,}")
        raw = b""
        while len(raw) <= most and (piece := os.read(fd, most + 1 - len(raw))):
            raw += piece
    return _Old(raw, stat.S_IMODE(found.st_mode), plain(raw))


def _put(
    context: Context, place: Place, before: Sign | None, old: _Old | None, text: str, stopped: Callable[[], bool]
) -> Result:
    known = (old.text if old else None) or Plain("")
    try:
        raw = known.raw(text)
    except UnicodeEncodeError as error:
        raise ToolError(f"character {error.start} of the text cannot be written as {error.encoding}") from None
    if len(raw) > context.limits.edit:
        raise ToolError(f"{len(raw):,} bytes are more than this tool writes ({context.limits.edit:,})")
    with _noted(context, place, old, raw):
        context.seen[str(place.real)] = context.area.replace(place, raw, before, stopped)
    diff, added, removed = difference(known.text, text, place.shown)
    what = "made" if before is None else "written"
    return Result(
        f"{echo(place.shown)} is {what}: {added} lines added, {removed} removed",
        place.shown,
        (place.shown,),
        diff,
        added,
        removed,
    )


@contextmanager
def _noted(context: Context, place: Place, old: _Old | None, raw: bytes) -> Iterator[None]:
    """Note a change before it is made, so that it can be taken back; forget it where it was not made."""
    if context.store is None or not context.message_id:
        yield
        return
    before, mode = (digest_of(old.raw), old.mode) if old else ("", 0)
    ids = (context.session_id, context.message_id, context.call_id)
    number = context.store.changes.begin(
        Change(*ids, place.shown, before, digest_of(raw), mode), old.raw if old else None
    )
    try:
        yield
    except BaseException:
        context.store.changes.drop(context.session_id, number)
        raise


WRITE = Tool(
    "write",
    "Write a whole file, in one step. A file that exists must have been read before; directories are made.",
    Write,
    _write,
    _needs,
)
EDIT = Tool(
    "edit",
    "Replace a text in a file. It must be in the file exactly once (or say all). Line ends and encoding stay.",
    Edit,
    _edit,
    _needs,
)
