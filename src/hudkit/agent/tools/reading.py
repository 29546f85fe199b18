"""The tool `read`: lines of a text file with their numbers, or the names in a directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.agent.area import Area, Place, echo, sign_of
from hudkit.agent.text import is_binary, plain, shown
from hudkit.agent.tools.tool import Arguments, Context, Need, Result, Tool, in_thread
from hudkit.compose import visible
from hudkit.errors import ToolError

_CHUNK = 64 * 1024
_NAMES = 1_000


class Read(Arguments, frozen=True):
    path: Annotated[str, Meta(description="A file or a directory, relative to the project or absolute.")]
    offset: Annotated[int, Meta(ge=1, le=10**9, description="The first line, counted from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=10_000, description="Lines at most; 0 lines are never given.")] = 2_000


def names_of(path: str, context: Context, kind: str, *, writing: bool) -> tuple[Need, ...]:
    """What a call on a path must be permitted: its kind, and `outside` where it leads out of the project.

    A place outside that a call was let into is asked about again at the next.
    """
    place = context.area.locate(path, writing=writing)
    names = tuple(dict.fromkeys(name for name in (place.shown, place.named) if name))
    needs = [Need(kind, names, f"{kind} {visible(place.shown)}")]
    if not place.own:
        needs.append(Need("outside", (str(place.real),), f"{kind} {visible(place.shown)}, outside of the project"))
    return tuple(needs)


def _needs(arguments: Read, context: Context) -> Sequence[Need]:
    return names_of(arguments.path, context, "read", writing=False)


async def _read(arguments: Read, context: Context) -> Result:
    place = context.area.place(arguments.path, writing=False)

    def work(stopped: Callable[[], bool]) -> Result:
        if place.real.is_dir():
            return _listed(context.area, place)
        return _lines(arguments, context, place, stopped)

    return await in_thread(work)


def _lines(arguments: Read, context: Context, place: Place, stopped: Callable[[], bool]) -> Result:
    limits = context.limits
    most = min(arguments.limit, limits.lines)
    out: list[str] = []
    room, number, more = limits.output, 0, False
    with context.area.opened(place) as fd:
        before = os.fstat(fd)
        for line, cut_off in _split(fd, place, limits.line * 4, limits.scan, stopped):
            number += 1
            if number < arguments.offset:
                continue
            text = shown(line)
            left = len(text) - limits.line
            if left > 0 or cut_off:
                text = f"{text[: limits.line]} [the line goes on]"
            if len(out) >= most or (out and room < len(text)):
                more = True
                break
            room -= len(text) + 8
            out.append(f"{number:>6}: {text}")
    context.seen[str(place.real)] = sign_of(before)
    if not out and number:
        raise ToolError(f"{echo(place.shown)} has {number} lines", hint=f"There is no line {arguments.offset}")
    if more:
        out.append(f"[there are more lines: offset {arguments.offset + len(out)}]")
    elif not number:
        out.append("[the file is empty]")
    return Result("\n".join(out), f"{place.shown} ({len(out)} lines)")


def _split(fd: int, place: Place, most: int, scan: int, stopped: Callable[[], bool]) -> Iterator[tuple[str, bool]]:
    """The lines of a file without their ends, each at most `most` bytes, and whether it has more."""
    head = os.read(fd, _CHUNK)
    if is_binary(head[:8192]):
        size = os.fstat(fd).st_size
        raise ToolError(f"{echo(place.shown)} is no text file ({size:,} bytes)", hint="A program can look into it")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        while len(head) < scan and (piece := os.read(fd, _CHUNK)):
            head += piece
        found = plain(head)
        if found is None:
            raise ToolError(f"{echo(place.shown)} begins as UTF-16, but is not")
        for text in found.text.replace("\r\n", "\n").removesuffix("\n").split("\n"):
            yield text[:most], len(text) > most
        return
    begin, cut_off, taken = head.removeprefix(b"\xef\xbb\xbf"), False, len(head)
    while begin:
        *whole, rest = begin.split(b"\n")
        for line in whole:
            yield _decoded(line.removesuffix(b"\r")[:most]), cut_off or len(line) > most + 1
            cut_off = False
        cut_off = cut_off or len(rest) > most
        begin = rest[:most]
        if stopped():
            raise ToolError("the call was cancelled")
        if taken >= scan:
            raise ToolError(
                f"what is wanted is not in the first {scan:,} bytes of {echo(place.shown)}",
                hint="`grep` finds lines, and `bash` with sed or tail reads far in",
            )
        piece = os.read(fd, _CHUNK)
        taken += len(piece)
        if not piece:
            if begin:
                yield _decoded(begin), cut_off
            return
        begin += piece


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _listed(area: Area, place: Place) -> Result:
    with area.folder(place.real) as fd:
        names = sorted(os.listdir(fd))  # noqa: PTH208 (of a descriptor)
        told = []
        for name in names[:_NAMES]:
            mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            mark = "/" if stat.S_ISDIR(mode) else "@" if stat.S_ISLNK(mode) else ""
            told.append(shown(name).replace("\n", "\\n").replace("\t", "\\t") + mark)
    if len(names) > _NAMES:
        told.append(f"[{len(names) - _NAMES:,} more names]")
    return Result("\n".join(told) or "[the directory is empty]", f"{place.shown}/ ({len(names)} names)")


READ = Tool(
    "read",
    "Read a text file (lines with numbers) or list a directory. Long lines and long files are cut and say so; "
    "use offset and limit for more. Hidden characters are written as escapes.",
    Read,
    _read,
    _needs,
)
