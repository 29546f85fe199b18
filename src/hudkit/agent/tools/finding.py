"""The tools `glob` and `grep`: files by name, and lines by a regular expression that cannot run away."""

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

from hudkit.agent.area import Area, Place, echo
from hudkit.agent.patterns import MOST_PATTERN, path_matches
from hudkit.agent.text import shown
from hudkit.agent.tools.candidates import candidates
from hudkit.agent.tools.reading import names_of
from hudkit.agent.tools.tool import Arguments, Context, Need, Result, Tool, in_thread
from hudkit.errors import ToolError

_CHILD = Path(__file__).with_name("grep_child.py")
_LINE = 300

Where = Annotated[str, Meta(description="The directory to begin in; the project's where it is left out.")]


class Glob(Arguments, frozen=True):
    pattern: Annotated[
        str, Meta(min_length=1, max_length=MOST_PATTERN, description="Such as **/*.py or src/*.{ts,js}.")
    ]
    path: Where = "."


class Grep(Arguments, frozen=True):
    pattern: Annotated[
        str, Meta(min_length=1, max_length=MOST_PATTERN, description="A regular expression of Python's.")
    ]
    path: Annotated[str, Meta(description="The directory, or the one file, to look in.")] = "."
    include: Annotated[str, Meta(max_length=MOST_PATTERN, description="Only files like this: *.py, *.{ts,js}.")] = ""
    ignore_case: Annotated[bool, Meta(description="Capitals do not matter.")] = False


def _needs(arguments: Glob | Grep, context: Context) -> Sequence[Need]:
    kind = "glob" if isinstance(arguments, Glob) else "grep"
    return names_of(arguments.path, context, kind, writing=False)


async def _glob(arguments: Glob, context: Context) -> Result:
    place = context.area.place(arguments.path, writing=False)
    if not place.real.is_dir():
        raise ToolError(f"{echo(arguments.path)} is not a directory")

    def work(stopped: Callable[[], bool]) -> list[tuple[int, str]]:
        files = candidates(context.area, place.real, stopped, context.limits.search_seconds)
        found = ((-file.changed, file.path) for file in files if path_matches(arguments.pattern, file.path))
        return sorted(found)

    found = await in_thread(work)
    most = context.limits.found
    told = [_named(place, path) for _, path in found[:most]]
    if len(found) > most:
        told.append(f"[{len(found) - most:,} more files: use a narrower pattern]")
    return Result("\n".join(told) or "No file matches.", f"{shown(arguments.pattern)} ({len(found)} files)")


async def _grep(arguments: Grep, context: Context) -> Result:
    place = context.area.place(arguments.path, writing=False)

    def work(stopped: Callable[[], bool]) -> tuple[Path, list[str]]:
        return _to_search(context.area, place, arguments.include, stopped, context.limits.search_seconds)

    root, files = await in_thread(work)
    paths = [path for path in files if not _hidden(context, root / path)]
    most = context.limits.found
    asked = {
        "root": str(root),
        "pattern": arguments.pattern,
        "paths": paths,
        "ignore_case": arguments.ignore_case,
        "most": most + 1,
        "line": _LINE,
        "seconds": context.limits.search_seconds,
    }
    rows, late = await _asked(asked, context.limits.search_seconds)
    told, last = [], ""
    below = msgspec.structs.replace(place, shown=place.shown if root == place.real else str(Path(place.shown).parent))
    for path, number, text in rows[:most]:
        if path != last:
            told.append(f"{_named(below, path)}:")
            last = path
        told.append(f"{number:>6}: {shown(text)}")
    if len(rows) > most:
        told.append("[there are more lines: use a narrower pattern]")
    if len(paths) < len(files):
        told.append(f"[{len(files) - len(paths)} files were not looked into: reading them is not permitted]")
    if late:
        told.append(f"[stopped after {context.limits.search_seconds:g} s: use a simpler pattern, or fewer files]")
    count = min(len(rows), most)
    return Result("\n".join(told) or "No line matches.", f"{shown(arguments.pattern)} ({count} lines)")


def _hidden(context: Context, path: Path) -> bool:
    own = path.is_relative_to(context.area.root)
    return own and context.hidden(path.relative_to(context.area.root).as_posix())


def _to_search(
    area: Area, place: Place, include: str, stopped: Callable[[], bool], seconds: float
) -> tuple[Path, list[str]]:
    """A directory and the files below it that are looked into."""
    if not place.real.is_dir():
        return place.real.parent, [place.real.name]
    files = candidates(area, place.real, stopped, seconds)
    return place.real, [file.path for file in files if not include or path_matches(include, file.path)]


async def _asked(asked: dict[str, Any], seconds: float) -> tuple[list[tuple[str, int, str]], bool]:
    """The lines that the child found, and whether it was ended before it had looked at everything."""
    child = await asyncio.create_subprocess_exec(
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
                if isinstance(row, dict):
                    raise ToolError(f"the pattern is no regular expression: {row['wrong']}")
                rows.append((row[0], row[1], row[2]))
            late = await child.wait() != 0
    except TimeoutError:
        late = True
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await asyncio.shield(child.wait())
    return rows, late


def _named(place: Place, path: str) -> str:
    whole = path if place.shown in (".", "") else f"{place.shown}/{path}"
    return shown(whole).replace("\n", "\\n").replace("\t", "\\t")


GLOB = Tool(
    "glob",
    "Find files by a pattern, newest first. What git ignores is left out.",
    Glob,
    _glob,
    _needs,
)
GREP = Tool(
    "grep",
    "Find lines by a regular expression in the files of a directory. What git ignores is left out.",
    Grep,
    _grep,
    _needs,
)
