"""The tools `glob` and `grep`: files by name, and lines by a regular expression that cannot run away.

`grep` searches in a process of its own (`grep_child`), which is ended when the expression takes too long.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hudkit.agent.file_text import escape_hidden
from hudkit.agent.tools.file_tools import path_permissions
from hudkit.agent.tools.tool import RequiredPermission, Tool, ToolContext, ToolInput, ToolOutcome, run_in_thread
from hudkit.agent.wildcard import MAX_PATTERN, matches_path
from hudkit.agent.workspace import ResolvedPath, Workspace, list_files, quote
from hudkit.errors import ToolError

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
                    raise ToolError(f"the pattern is no regular expression: {row['wrong']}")
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
)
GREP = Tool(
    "grep",
    "Find lines by a regular expression in the files of a directory. What git ignores is left out.",
    _GrepInput,
    _grep,
    _search_permissions,
)
