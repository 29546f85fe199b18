"""The tools on files: `read`, `write` and `edit`, and `glob` and `grep` to find them.

`read` gives lines with numbers; `write` and `edit` replace a file in one step, and only as the model last saw it;
encoding and line ends stay. `glob` finds files by name, `grep` lines by a regular expression that cannot run away: it
searches in a process of its own (`grep_child`), which is ended when the expression takes too long.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from hudkit.agent.file_changes import FileChange, content_digest
from hudkit.agent.file_text import TextFile, decode_text, diff_texts, escape_hidden, find_occurrences
from hudkit.agent.records import Attachment
from hudkit.agent.tools.tool import RequiredPermission, Tool, ToolContext, ToolInput, ToolOutcome, run_in_thread
from hudkit.agent.wildcard import MAX_PATTERN, matches_path
from hudkit.agent.workspace import FileStamp, ResolvedPath, Workspace, list_files, quote, stamp_of
from hudkit.compose import visible
from hudkit.errors import ToolError

_MAX_MEDIA_BYTES = 5 * 1024 * 1024
"""Bytes of a picture or document that is given to a model, as of a file that is attached to a prompt."""

_CHUNK = 64 * 1024
_MAX_NAMES = 1_000


class _ReadInput(ToolInput, frozen=True):
    path: Annotated[str, Meta(description="A file or a directory, relative to the project or absolute.")]
    offset: Annotated[int, Meta(ge=1, le=10**9, description="The first line, counted from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=10_000, description="Lines at most; 0 lines are never given.")] = 2_000


def path_permissions(path: str, context: ToolContext, kind: str, *, writing: bool) -> tuple[RequiredPermission, ...]:
    """Return what a call on a path must be permitted: its kind, and `outside` where it leads out of the project.

    A place outside that a call was let into is asked about again at the next.
    """
    target = context.workspace.resolve(path, writing=writing)
    names = tuple(dict.fromkeys(name for name in (target.display, target.lexical) if name))
    needs = [RequiredPermission(kind, names, f"{kind} {visible(target.display)}")]
    if not target.in_project:
        needs.append(
            RequiredPermission(
                "outside", (str(target.real),), f"{kind} {visible(target.display)}, outside of the project"
            )
        )
    return tuple(needs)


def _read_permissions(arguments: _ReadInput, context: ToolContext) -> Sequence[RequiredPermission]:
    return path_permissions(arguments.path, context, "read", writing=False)


async def _read(arguments: _ReadInput, context: ToolContext) -> ToolOutcome:
    target = context.workspace.resolve_inside(arguments.path, writing=False)

    def work(stopped: Callable[[], bool]) -> ToolOutcome:
        if target.real.is_dir():
            return _list_folder(context.workspace, target)
        return _media(context, target) or _lines(arguments, context, target, stopped)

    return await run_in_thread(work)


_MEDIA_TYPES: tuple[tuple[bytes, bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", b"", "image/png"),
    (b"\xff\xd8\xff", b"", "image/jpeg"),
    (b"GIF87a", b"", "image/gif"),
    (b"GIF89a", b"", "image/gif"),
    (b"RIFF", b"WEBP", "image/webp"),
    (b"%PDF-", b"", "application/pdf"),
)
"""How pictures and documents begin, what stands behind the eighth byte, and their media type."""


def _media(context: ToolContext, target: ResolvedPath) -> ToolOutcome | None:
    """Return a picture or document as it is; `None` for another file. Raises `ToolError` where none can be taken."""
    with context.workspace.open_file(target) as fd:
        head = os.pread(fd, 12, 0)
        size = os.fstat(fd).st_size
        media_type = next(
            (kind for begin, behind, kind in _MEDIA_TYPES if head.startswith(begin) and head[8:].startswith(behind)),
            "",
        )
        if not media_type:
            return None
        kind = "pdf" if media_type == "application/pdf" else "image"
        about = f"{quote(target.display)} is {media_type} ({size:,} bytes)"
        if kind not in context.media:
            raise ToolError(
                f"{about}, and {context.model or 'this model'} is not known to take such files",
                hint="A program can look into it",
            )
        if size > _MAX_MEDIA_BYTES:
            raise ToolError(f"{about}: more than {_MAX_MEDIA_BYTES:,}", hint="A program can make it smaller")
        data = os.pread(fd, size, 0)
    attached = Attachment("", target.display, media_type, data)
    return ToolOutcome(
        f"[{media_type}, {size:,} bytes: see the file itself]", target.display, attachments=(attached,)
    )


def _lines(
    arguments: _ReadInput, context: ToolContext, target: ResolvedPath, stopped: Callable[[], bool]
) -> ToolOutcome:
    limits = context.limits
    most = min(arguments.limit, limits.lines)
    out: list[str] = []
    room, number, more = limits.output_characters, 0, False
    with context.workspace.open_file(target) as fd:
        before = os.fstat(fd)
        for line, cut_off in _split_lines(fd, target, limits.line_characters * 4, limits.scan_bytes, stopped):
            number += 1
            if number < arguments.offset:
                continue
            text = escape_hidden(line)
            left = len(text) - limits.line_characters
            if left > 0 or cut_off:
                text = f"{text[: limits.line_characters]} [the line goes on]"
            # the first line is always given, however long
            if len(out) >= most or (out and room < len(text)):
                more = True
                break
            room -= len(text) + 8
            out.append(f"{number:>6}: {text}")
    # of the moment before reading: a change during it is noticed at the next edit
    context.seen_stamps[str(target.real)] = stamp_of(before)
    if not out and number:
        raise ToolError(f"{quote(target.display)} has {number} lines", hint=f"There is no line {arguments.offset}")
    if more:
        out.append(f"[there are more lines: offset {arguments.offset + len(out)}]")
    elif not number:
        out.append("[the file is empty]")
    return ToolOutcome("\n".join(out), f"{target.display} ({len(out)} lines)")


def _split_lines(
    fd: int, target: ResolvedPath, most: int, scan: int, stopped: Callable[[], bool]
) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a file without their ends, each at most `most` bytes, and whether it has more."""
    head = os.read(fd, _CHUNK)
    if _is_binary(head[:8192]):
        size = os.fstat(fd).st_size
        raise ToolError(
            f"{quote(target.display)} is not a text file ({size:,} bytes)", hint="A program can look into it"
        )
    # UTF-16 cannot be cut at line feeds byte by byte: read whole, within the bound
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        while len(head) < scan and (piece := os.read(fd, _CHUNK)):
            head += piece
        decoded = decode_text(head)
        if decoded is None:
            raise ToolError(f"{quote(target.display)} begins as UTF-16, but is not")
        for text in decoded.text.replace("\r\n", "\n").removesuffix("\n").split("\n"):
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
        # a bound on time, not on memory: what was passed over is not kept
        if taken >= scan:
            raise ToolError(
                f"what is wanted is not in the first {scan:,} bytes of {quote(target.display)}",
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


def _list_folder(workspace: Workspace, target: ResolvedPath) -> ToolOutcome:
    with workspace.open_folder(target.real) as fd:
        names = sorted(os.listdir(fd))  # noqa: PTH208 (of a descriptor)
        entries = []
        for name in names[:_MAX_NAMES]:
            mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            mark = "/" if stat.S_ISDIR(mode) else "@" if stat.S_ISLNK(mode) else ""
            entries.append(escape_hidden(name).replace("\n", "\\n").replace("\t", "\\t") + mark)
    if len(names) > _MAX_NAMES:
        entries.append(f"[{len(names) - _MAX_NAMES:,} more names]")
    return ToolOutcome("\n".join(entries) or "[the directory is empty]", f"{target.display}/ ({len(names)} names)")


READ = Tool(
    "read",
    "Read a text file (lines with numbers), a picture or a PDF, or list a directory. Long lines and long files are "
    "cut and say so; use offset and limit for more. Hidden characters are written as escapes.",
    _ReadInput,
    _read,
    _read_permissions,
    reads_only=True,
)


_PathArgument = Annotated[str, Meta(description="The file, relative to the project or absolute.")]


class _WriteInput(ToolInput, frozen=True):
    path: _PathArgument
    content: Annotated[str, Meta(description="The whole new content.")]


class _EditInput(ToolInput, frozen=True):
    path: _PathArgument
    old: Annotated[str, Meta(min_length=1, description="The text to replace, exactly as it is in the file.")]
    new: Annotated[str, Meta(description="What to put in its place.")]
    all: Annotated[bool, Meta(description="Replace every place; otherwise there must be exactly one.")] = False


def _write_permissions(arguments: _WriteInput | _EditInput, context: ToolContext) -> Sequence[RequiredPermission]:
    return path_permissions(arguments.path, context, "edit", writing=True)


async def _write(arguments: _WriteInput, context: ToolContext) -> ToolOutcome:
    target = context.workspace.resolve_inside(arguments.path)

    def work(stopped: Callable[[], bool]) -> ToolOutcome:
        before = context.workspace.stamp(target)
        if before is None:
            return _store_file(context, target, None, None, arguments.content, stopped)
        # writing over a file that was never read loses what nobody has looked at
        _check_seen(context, target, before, needed=True)
        old = _read_whole(context, target)
        text = arguments.content
        # models write line feeds; a file keeps the ends that it has
        if old.text is not None and old.text.line_end == "\r\n" and "\r" not in text:
            text = text.replace("\n", "\r\n")
        return _store_file(context, target, before, old, text, stopped)

    return await run_in_thread(work)


async def _edit(arguments: _EditInput, context: ToolContext) -> ToolOutcome:
    target = context.workspace.resolve_inside(arguments.path)

    def work(stopped: Callable[[], bool]) -> ToolOutcome:
        before = context.workspace.stamp(target)
        if before is None:
            raise ToolError(f"there is no file {quote(target.display)}", hint="`write` makes a new file")
        # an edit names its old text, so it may be made unread; but not on a file that has changed since it was read
        _check_seen(context, target, before, needed=False)
        old = _read_whole(context, target)
        if old.text is None:
            raise ToolError(f"{quote(target.display)} is not a text file", hint="A program can change it")
        return _store_file(context, target, before, old, _apply_edit(arguments, target, old.text), stopped)

    return await run_in_thread(work)


def _apply_edit(arguments: _EditInput, target: ResolvedPath, old: TextFile) -> str:
    text = old.text
    places = find_occurrences(text, arguments.old)
    if not places:
        raise ToolError(f"the text is not in {quote(target.display)}", hint=_nearest(text, arguments.old))
    # which one was meant cannot be guessed
    if len(places) > 1 and not arguments.all:
        lines = ", ".join(str(text.count("\n", 0, start) + 1) for start, _ in places[:10])
        raise ToolError(
            f"the text is in {quote(target.display)} {len(places)} times (lines {lines})",
            hint='Give more of the lines around it, or "all": true',
        )
    new = arguments.new.replace("\r\n", "\n")
    pieces, end_of_last = [], 0
    for start, end in places:
        there = text[start:end]
        line_end = ("\r\n" if "\r\n" in there else "\n") if "\n" in there else old.line_end
        pieces += [text[end_of_last:start], new.replace("\n", line_end)]
        end_of_last = end
    changed = "".join([*pieces, text[end_of_last:]])
    if changed == text:
        raise ToolError("old and new text are the same; nothing was changed")
    return changed


def _nearest(text: str, old: str) -> str:
    """Return a hint: where the text would be but for white space, or where its first line is."""
    wanted = [line.strip() for line in old.strip().splitlines()]
    lines = [line.strip() for line in text.splitlines()[:50_000]]
    if wanted and wanted[0]:
        for index, line in enumerate(lines):
            if line == wanted[0]:
                if lines[index : index + len(wanted)] == wanted:
                    return f"From line {index + 1} on it differs in white space only. Read it again"
                return f"Its first line is line {index + 1}, what follows differs. Read it again"
    return "Read it again, and copy the text without the line numbers"


def _check_seen(context: ToolContext, target: ResolvedPath, now: FileStamp, *, needed: bool) -> None:
    """Refuse to change what is not as the model saw it."""
    seen = context.seen_stamps.get(str(target.real))
    if seen is None and needed:
        raise ToolError(
            f"{quote(target.display)} is there already", hint="Read it before it is written over, or use `edit`"
        )
    if seen is not None and seen != now:
        raise ToolError(f"{quote(target.display)} has changed since it was read", hint="Read it again")


class _FileBefore(NamedTuple):
    """A file as it is before it is changed; `text` is `None` where it is not text."""

    raw: bytes
    mode: int
    text: TextFile | None


def _read_whole(context: ToolContext, target: ResolvedPath) -> _FileBefore:
    """Return all of a file. Raises `ToolError` where it is too long."""
    most = context.limits.edit_bytes
    with context.workspace.open_file(target) as fd:
        status = os.fstat(fd)
        size = status.st_size
        if size > most:
            raise ToolError(f"{quote(target.display)} has {size:,} bytes; the limit of this tool is {most:,}")
        raw = b""
        while len(raw) <= most and (piece := os.read(fd, most + 1 - len(raw))):
            raw += piece
    return _FileBefore(raw, stat.S_IMODE(status.st_mode), decode_text(raw))


def _store_file(
    context: ToolContext,
    target: ResolvedPath,
    before: FileStamp | None,
    old: _FileBefore | None,
    text: str,
    stopped: Callable[[], bool],
) -> ToolOutcome:
    text_file = (old.text if old else None) or TextFile("")
    try:
        raw = text_file.raw(text)
    except UnicodeEncodeError as error:
        raise ToolError(f"character {error.start} of the text cannot be written as {error.encoding}") from None
    if len(raw) > context.limits.edit_bytes:
        raise ToolError(f"{len(raw):,} bytes are more than this tool writes ({context.limits.edit_bytes:,})")
    with _recorded_change(context, target, old, raw):
        context.seen_stamps[str(target.real)] = context.workspace.replace_file(target, raw, before, stopped)
    diff, added, removed = diff_texts(text_file.text, text, target.display)
    what = "made" if before is None else "written"
    return ToolOutcome(
        f"{quote(target.display)} is {what}: {added} lines added, {removed} removed",
        target.display,
        (target.display,),
        diff,
        added,
        removed,
    )


@contextmanager
def _recorded_change(
    context: ToolContext, target: ResolvedPath, old: _FileBefore | None, raw: bytes
) -> Iterator[None]:
    """Note a change before it is made, so that it can be taken back; forget it where the block did not make it."""
    if context.store is None or not context.message_id:
        yield
        return
    before, mode = (content_digest(old.raw), old.mode) if old else ("", 0)
    ids = (context.session_id, context.message_id, context.call_id)
    # before the file changes: after a kill in between the undo finds the old bytes and has nothing to do
    number = context.store.changes.begin(
        FileChange(*ids, target.display, before, content_digest(raw), mode), old.raw if old else None
    )
    try:
        yield
    except BaseException:
        context.store.changes.drop(context.session_id, number)
        raise


WRITE = Tool(
    "write",
    "Write a whole file, in one step. A file that exists must have been read before; directories are made.",
    _WriteInput,
    _write,
    _write_permissions,
)
EDIT = Tool(
    "edit",
    "Replace a text in a file. It must be in the file exactly once (or say all). Line ends and encoding stay.",
    _EditInput,
    _edit,
    _write_permissions,
)


def _is_binary(head: bytes) -> bool:
    """Return whether a file that begins so is not text."""
    return b"\0" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


_CHILD = Path(__file__).with_name("grep_child.py")
_LINE_CHARACTERS = 300

_StartFolder = Annotated[str, Meta(description="The directory to begin in; the project's where it is left out.")]


class _GlobInput(ToolInput, frozen=True):
    pattern: Annotated[
        str, Meta(min_length=1, max_length=MAX_PATTERN, description="Such as **/*.py or src/*.{ts,js}.")
    ]
    path: _StartFolder = "."


class _GrepInput(ToolInput, frozen=True):
    pattern: Annotated[
        str, Meta(min_length=1, max_length=MAX_PATTERN, description="A regular expression of Python's.")
    ]
    path: Annotated[str, Meta(description="The directory, or the one file, to look in.")] = "."
    include: Annotated[str, Meta(max_length=MAX_PATTERN, description="Only files like this: *.py, *.{ts,js}.")] = ""
    ignore_case: Annotated[bool, Meta(description="Capitals do not matter.")] = False


def _search_permissions(arguments: _GlobInput | _GrepInput, context: ToolContext) -> Sequence[RequiredPermission]:
    kind = "glob" if isinstance(arguments, _GlobInput) else "grep"
    return path_permissions(arguments.path, context, kind, writing=False)


async def _glob(arguments: _GlobInput, context: ToolContext) -> ToolOutcome:
    target = context.workspace.resolve_inside(arguments.path, writing=False)
    if not target.real.is_dir():
        raise ToolError(f"{quote(arguments.path)} is not a directory")

    def work(stopped: Callable[[], bool]) -> list[tuple[int, str]]:
        files = list_files(context.workspace, target.real, stopped, context.limits.search_seconds)
        # newest first: what was worked on last is what is looked for, as a rule
        matches = ((-file.changed, file.path) for file in files if matches_path(arguments.pattern, file.path))
        return sorted(matches)

    matches = await run_in_thread(work)
    most = context.limits.results
    lines = [_display_path(target, path) for _, path in matches[:most]]
    if len(matches) > most:
        lines.append(f"[{len(matches) - most:,} more files: use a narrower pattern]")
    return ToolOutcome(
        "\n".join(lines) or "No file matches.", f"{escape_hidden(arguments.pattern)} ({len(matches)} files)"
    )


async def _grep(arguments: _GrepInput, context: ToolContext) -> ToolOutcome:
    target = context.workspace.resolve_inside(arguments.path, writing=False)

    def work(stopped: Callable[[], bool]) -> tuple[Path, list[str]]:
        return _to_search(context.workspace, target, arguments.include, stopped, context.limits.search_seconds)

    root, files = await run_in_thread(work)
    # the rules on reading hold for searching, too
    paths = [path for path in files if not _is_hidden(context, root / path)]
    most = context.limits.results
    asked = {
        "root": str(root),
        "pattern": arguments.pattern,
        "paths": paths,
        "ignore_case": arguments.ignore_case,
        "most": most + 1,
        "line": _LINE_CHARACTERS,
        "seconds": context.limits.search_seconds,
    }
    rows, late = await _run_child(asked, context.limits.search_seconds)
    lines, last = [], ""
    below = msgspec.structs.replace(
        target, display=target.display if root == target.real else str(Path(target.display).parent)
    )
    for path, number, text in rows[:most]:
        if path != last:
            lines.append(f"{_display_path(below, path)}:")
            last = path
        lines.append(f"{number:>6}: {escape_hidden(text)}")
    if len(rows) > most:
        lines.append("[there are more lines: use a narrower pattern]")
    if len(paths) < len(files):
        lines.append(f"[{len(files) - len(paths)} files were not looked into: reading them is not permitted]")
    if late:
        lines.append(f"[stopped after {context.limits.search_seconds:g} s: use a simpler pattern, or fewer files]")
    count = min(len(rows), most)
    return ToolOutcome("\n".join(lines) or "No line matches.", f"{escape_hidden(arguments.pattern)} ({count} lines)")


def _is_hidden(context: ToolContext, path: Path) -> bool:
    own = path.is_relative_to(context.workspace.root)
    return own and context.is_hidden(path.relative_to(context.workspace.root).as_posix())


def _to_search(
    workspace: Workspace, target: ResolvedPath, include: str, stopped: Callable[[], bool], seconds: float
) -> tuple[Path, list[str]]:
    """Return a directory and the files below it that are looked into."""
    if not target.real.is_dir():
        return target.real.parent, [target.real.name]
    files = list_files(workspace, target.real, stopped, seconds)
    return target.real, [file.path for file in files if not include or matches_path(include, file.path)]


async def _run_child(asked: dict[str, Any], seconds: float) -> tuple[list[tuple[str, int, str]], bool]:
    """Return the lines that the child found, and whether it was ended before it had looked at everything."""
    child = await asyncio.create_subprocess_exec(
        # isolated and without site packages: it starts fast and loads nothing of the project
        sys.executable, "-I", "-S", str(_CHILD), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env={"PATH": os.defpath}, limit=4 * 1024 * 1024,
    )  # fmt: skip
    assert child.stdin is not None and child.stdout is not None
    rows: list[tuple[str, int, str]] = []
    late = False
    try:
        async with asyncio.timeout(seconds):
            with suppress(BrokenPipeError, ConnectionResetError):
                child.stdin.write(json.dumps(asked).encode())
                await child.stdin.drain()
            child.stdin.close()
            async for line in child.stdout:
                row = json.loads(line)
                # the one message that is not a line: the pattern cannot be compiled
                if isinstance(row, dict):
                    raise ToolError(f"the pattern is not a regular expression: {row['wrong']}")
                rows.append((row[0], row[1], row[2]))
            # it ends itself by its CPU limit
            late = await child.wait() != 0
    except TimeoutError:
        late = True
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            # reaped in any case: no zombie stays
            await asyncio.shield(child.wait())
    return rows, late


def _display_path(target: ResolvedPath, path: str) -> str:
    whole = path if target.display in (".", "") else f"{target.display}/{path}"
    return escape_hidden(whole).replace("\n", "\\n").replace("\t", "\\t")


GLOB = Tool(
    "glob",
    "Find files by a pattern, newest first. What git ignores is left out.",
    _GlobInput,
    _glob,
    _search_permissions,
    reads_only=True,
)
GREP = Tool(
    "grep",
    "Find lines by a regular expression in the files of a directory. What git ignores is left out.",
    _GrepInput,
    _grep,
    _search_permissions,
    reads_only=True,
)
