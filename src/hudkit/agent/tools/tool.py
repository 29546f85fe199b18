"""What a tool is: its arguments, what it needs to be permitted, how it runs, and what it gives back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hudkit.agent.context_files import Skill
from hudkit.agent.records import Attachment
from hudkit.agent.session_store import SessionStore
from hudkit.agent.workspace import FileStamp, Workspace, quote
from hudkit.errors import HudkitError, ToolError
from hudkit.tools.arguments import struct_schema

_Answer = TypeVar("_Answer")


class ToolInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a tool."""


class ToolOutcome(msgspec.Struct, frozen=True):
    """What a tool gives back: `text` for the model, and `title`, one line for people.

    `files` are the paths that changed, `diff` how. `full_output` is where all of an output is, of which `text` has
    beginning and end. `attachments` are pictures and documents, with their bytes.
    """

    text: str
    title: str = ""
    files: tuple[str, ...] = ()
    diff: str = ""
    added: int = 0
    removed: int = 0
    full_output: str = ""
    attachments: tuple[Attachment, ...] = ()
    metadata: dict[str, Any] = {}


class RequiredPermission(msgspec.Struct, frozen=True):
    """What a call must be permitted: `kind` is the tool's name for rules, `values` are a command or paths.

    Several values of a path (as given, without links) are names of one thing.
    """

    kind: str
    values: tuple[str, ...]
    title: str = ""


class ToolLimits(msgspec.Struct, frozen=True):
    """Bounds of what tools take and give.

    `output_characters` of an output, `lines` of a file and `line_characters` of each, `edit_bytes` of a file that is
    changed, `scan_bytes` that `read` goes into a file, `results` of a search, `spill_bytes` of a long output that are
    kept, `fetch_bytes` of a page of the web, and times in seconds.
    """

    output_characters: int = 30_000
    lines: int = 2_000
    line_characters: int = 2_000
    edit_bytes: int = 10 * 1024 * 1024
    scan_bytes: int = 64 * 1024 * 1024
    results: int = 200
    spill_bytes: int = 10 * 1024 * 1024
    shell_seconds: float = 120.0
    max_shell_seconds: float = 600.0
    search_seconds: float = 20.0
    fetch_bytes: int = 2 * 1024 * 1024
    fetch_seconds: float = 30.0


def _hide_nothing(path: str) -> bool:  # noqa: ARG001
    """Hide no file from searches."""
    return False


class ToolContext(msgspec.Struct):
    """What the tools of one session share; `message_id` and `call_id` are those of the call that runs.

    `seen_stamps` has the stamp of each file as the model last saw it; `is_hidden` says of a path (relative to the
    project) that a search must pass it over; `spill_folder` is a private directory for outputs that are too long.
    `confined`: a command may write only where tools may, by the system's own means. `media` are the kinds of files
    that the model takes as they are (`image`, `pdf`), `model` is its name.
    """

    workspace: Workspace
    session_id: str = ""
    message_id: str = ""
    call_id: str = ""
    limits: ToolLimits = ToolLimits()
    environment: Mapping[str, str] = {}
    spill_folder: Path | None = None
    store: SessionStore | None = None
    skills: Sequence[Skill] = ()
    seen_stamps: dict[str, FileStamp] = {}
    is_hidden: Callable[[str], bool] = _hide_nothing
    confined: bool = False
    media: frozenset[str] = frozenset()
    model: str = ""


class Tool(msgspec.Struct, frozen=True):
    """A tool. `needs` is asked before `run`; both may raise `ToolError`, whose text is the model's answer.

    `reads_only`: it changes nothing, so that it may run beside its neighbours of this kind.
    """

    name: str
    description: str
    arguments: type[ToolInput]
    run: Callable[[Any, ToolContext], Awaitable[ToolOutcome]]
    needs: Callable[[Any, ToolContext], Sequence[RequiredPermission]]
    reads_only: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, without references."""
        return struct_schema(self.arguments)

    def decode(self, arguments: object) -> object:
        """Return arguments that some models send as a text of JSON within JSON. Raises `ToolError`."""
        if not isinstance(arguments, str):
            return arguments
        try:
            return msgspec.json.decode(arguments)
        except msgspec.DecodeError as error:
            raise ToolError(f"the arguments of {self.name} are not JSON: {error}") from None

    def parse(self, arguments: object) -> ToolInput:
        """Return the arguments of a call. Raises `ToolError` that says which is wrong and what would be right."""
        try:
            return msgspec.convert(self.decode(arguments), self.arguments)
        except msgspec.ValidationError as error:
            names = ", ".join(_signature(self.arguments))
            raise ToolError(f"{self.name} cannot be called so: {error}", hint=f"It takes {names}") from None


async def run_tool(tool: Tool, arguments: ToolInput, context: ToolContext) -> ToolOutcome:
    """Run a tool and return its outcome.

    Raises `ToolError` for whatever goes wrong in it; a cancellation goes through.
    """
    try:
        return await tool.run(arguments, context)
    except ToolError:
        raise
    except HudkitError as error:
        raise ToolError(error.message, hint=error.hint) from error
    except OSError as error:
        raise ToolError(f"{tool.name} failed: {error.strerror or type(error).__name__}") from error
    # what a hostile file or argument can provoke; anything else is a fault of ours and is seen as one
    except (ValueError, MemoryError, RecursionError) as error:
        raise ToolError(f"{tool.name} failed: {type(error).__name__} {quote(str(error))}") from error


async def run_in_thread(work: Callable[[Callable[[], bool]], _Answer], *, grace: float = 2.0) -> _Answer:
    """Run `work(stopped)` beside the loop and return its answer.

    When cancelled, `stopped()` turns true, and the work has `grace` seconds to end.
    """
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop.is_set))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        # a thread cannot be ended: it is asked to stop and given a moment
        await asyncio.wait({task}, timeout=grace)
        if task.done() and not task.cancelled():
            task.exception()  # looked at: a cancelled call's error is nobody's any more
        raise


def _signature(kind: type[ToolInput]) -> list[str]:
    return [field.name if field.required else f"[{field.name}]" for field in msgspec.structs.fields(kind)]
