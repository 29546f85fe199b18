"""Which error a finished tool call opens or settles, and the key that ties a failure to its later success.

Keys are `bash: ` and the normalised command, `edit: ` or `read: ` and the path, else the tool and its main argument.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hudkit.ingest.files import patched, relative
from hudkit.ingest.lines import one_line
from hudkit.ingest.outcomes import Outcome, covers, outcomes
from hudkit.ingest.shell import Statement, statements
from hudkit.transcripts import ToolPart

MAX_MESSAGE = 200
"""Characters of an error's line."""
_MAX_COMMAND = 90
_MAX_KEY = 300

_FAMILY = {
    "read": "read",
    "write": "edit",
    "edit": "edit",
    "multiedit": "edit",
    "patch": "edit",
    "apply_patch": "edit",
}
_MAIN_ARGUMENT = ("url", "path", "filePath", "pattern", "command", "query", "description", "name")

_REFUSED = (
    "The user rejected permission",
    "The user has specified a rule which prevents",
    "The user dismissed",
    "Tool execution aborted",
    "The operation was aborted",
)
"""Beginnings of errors that are somebody's decision, not a failure (OpenCode 1.18)."""


class OpenError(msgspec.Struct, frozen=True):
    """A failure that nothing has settled yet; `statement` where it was a shell command."""

    key: str
    message: str
    statement: Statement | None = None


class Judgement(msgspec.Struct, frozen=True):
    """Either an error that the call opens, or the test for those that its success settles."""

    error: OpenError | None = None
    settles: Callable[[OpenError], bool] | None = None


def judged(part: ToolPart, directory: str) -> tuple[Judgement, ...]:
    """What a finished call says about failures; nothing where it cannot be told or somebody refused it."""
    if part.status == "error" and part.error.startswith(_REFUSED):
        return ()
    if part.tool == "bash":
        return tuple(_shell(part, directory))
    keys = _keys(part, directory)
    if part.status == "error":
        shown = keys[0].split(": ", 1)
        line = f"{part.tool} {shown[-1]}: {_first_line(part.error)}"
        return (Judgement(OpenError(keys[0], one_line(line, MAX_MESSAGE))),)
    return (Judgement(settles=lambda error: error.key in keys),)


def _shell(part: ToolPart, directory: str) -> list[Judgement]:
    command = part.input.get("command")
    if not isinstance(command, str):
        return []
    workdir = part.input.get("workdir")
    where = workdir if isinstance(workdir, str) and workdir != directory else ""
    if part.status == "error":
        found = statements(command, cwd=directory)
        whole = Statement(tuple(word for each in found for word in each.words) or (command,), where=where)
        return [_failed(command, Outcome(whole, False, _first_line(part.error)))]
    exit_status = part.metadata.get("exit")
    if isinstance(exit_status, bool) or not isinstance(exit_status, int):
        exit_status = None
    judgements = []
    for outcome in outcomes(command, exit_status, part.output, cwd=directory):
        if where:
            moved = msgspec.structs.replace(outcome.statement, where=f"{where} {outcome.statement.where}".strip())
            outcome = msgspec.structs.replace(outcome, statement=moved)
        judgements.append(_passed(outcome.statement) if outcome.passed else _failed(command, outcome))
    return judgements


def _failed(command: str, outcome: Outcome) -> Judgement:
    line = f"{one_line(command, _MAX_COMMAND)}: {outcome.line}"
    return Judgement(OpenError(_shell_key(outcome.statement), one_line(line, MAX_MESSAGE), outcome.statement))


def _passed(statement: Statement) -> Judgement:
    key = _shell_key(statement)
    return Judgement(
        settles=lambda error: error.key == key or (error.statement is not None and covers(statement, error.statement))
    )


def _shell_key(statement: Statement) -> str:
    return one_line(f"bash: {statement.text}", _MAX_KEY)


def _keys(part: ToolPart, directory: str) -> tuple[str, ...]:
    """The key under which this call fails, first, then others that its success settles: an edit settles a read."""
    family = _FAMILY.get(part.tool)
    if family is None:
        argument = next((v for name in _MAIN_ARGUMENT if isinstance(v := part.input.get(name), str) and v), "")
        return (one_line(f"{part.tool}: {argument}", _MAX_KEY),)
    path, patch = part.input.get("filePath"), part.input.get("patchText")
    given = [path] if isinstance(path, str) else patched(patch) if isinstance(patch, str) else []
    paths = [relative(each, directory) for each in given] or [""]
    families = (family, "read") if family == "edit" else (family,)
    return tuple(one_line(f"{name}: {each}", _MAX_KEY) for name in families for each in paths)


def _first_line(text: str) -> str:
    return next((line for line in (raw.strip() for raw in text[:4_000].splitlines()) if line), "failed")
