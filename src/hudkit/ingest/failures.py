"""Which error a finished tool call opens or settles, and the key that ties a failure to its later success.

Keys are `bash: ` and the normalised command, `edit: ` or `read: ` and the path, else the tool and its main argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from hudkit.ingest.shell_statements import ShellStatement, assignments, parse_statements, program
from hudkit.ingest.tool_calls import one_line, patched_files, relative_path
from hudkit.transcripts import ToolPart

# -- what a shell call says of its commands -------------------------------------------------------------------


ANSWERING_PROGRAMS = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "which", "pgrep", "command"}
)
"""Programs whose exit status 1 is an answer ("no match", "differs"), not a failure."""

STOP_STATUSES = frozenset({130, 143})
"""Exit statuses of a command that somebody ended on purpose (SIGINT, SIGTERM)."""

RUNNER_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("unittest",), ("pytest",), ("tox",), ("nox",), ("mypy",), ("pyright",), ("ruff", "check"), ("jest",),
    ("vitest",), ("npm", "test"), ("npm", "run", "test"), ("pnpm", "test"), ("yarn", "test"), ("bun", "test"),
    ("cargo", "test"), ("go", "test"), ("make", "test"), ("make", "check"),
)  # fmt: skip
"""Commands that judge a project and say so in their last lines."""

_NARROW_BY_DEFAULT = frozenset({("go", "test")})  # without arguments: one folder only
_VALUED = frozenset({"-k", "-m", "-n", "-p", "-W", "-t", "-run", "--ignore", "--deselect"})  # the next word is theirs
_EVERYTHING = frozenset({".", "./", "./...", "discover"})

_FAILED = re.compile(
    r"(?:^|: )FAILED \(|\b[1-9]\d* failed\b|^test result: FAILED|^--- FAIL|^FAIL\b|^Found [1-9]\d* errors?\b"
    r"|\b[1-9]\d* errors? in \d"
)
_PASSED = re.compile(
    r"(?:^|: )OK(?: \(|$)|\b\d+ passed\b|^test result: ok|^ok\s|^PASS\b|^Success: no issues|^All checks passed"
    r"|^0 errors\b"
)
_SIGNS = re.compile(r"(?i)\b(?:\w*error|\w*exception|failed|failure|traceback|fatal|not found|no such file)\b")
_RAISED = re.compile(r"^(?:E\s+)?[\w.]*(?:Error|Exception)\b:")
_EMPTY = re.compile(r"^[\s\-=_*~.]*$|^(?:real|user|sys)\s+\d+m|^</?\w+>$")
_TIMEOUT = re.compile(r"exceed(?:ed|ing) timeout|timed out after \d")
_LINES = 300


class CommandOutcome(msgspec.Struct, frozen=True):
    """One statement, or one `&&` chain, and whether it passed; `line` is the telling line of the output."""

    statement: ShellStatement
    passed: bool
    line: str = ""


def command_outcomes(
    command: str, exit_status: int | None, output: str, *, cwd: str = ""
) -> tuple[CommandOutcome, ...]:
    """What one finished shell call tells. `exit_status` is `None` where the host does not know it."""
    found = parse_statements(command, cwd=cwd)
    if not found or exit_status in STOP_STATUSES:
        return ()
    lines = _meaningful(output)
    chain, sure = _last_chain(found)
    told = _by_output(found, lines)
    known = (told,) if told else ()
    if exit_status is None:
        late = any(_TIMEOUT.search(line) for line in lines[-5:])
        return (*known, CommandOutcome(_joined(chain), False, "timed out")) if late else known
    if exit_status == 0:
        return _passes(chain, told, lines) if sure else known
    if told and not told.passed:
        return known
    if exit_status == 1 and any(
        part.last in ANSWERING_PROGRAMS or program(part.words) in ANSWERING_PROGRAMS for part in chain
    ):
        return known
    alone = told is not None and chain == (told.statement,)
    if alone and chain[0].masked:
        return known
    failed = CommandOutcome(_joined(chain), False, lines[-1] if lines else f"exit status {exit_status}")
    return (failed,) if alone else (*known, failed)


def covers(passed: ShellStatement, failed: ShellStatement) -> bool:
    """A pass of the one settles a failure of the other: the same words, or a wider run of the same runner."""
    if passed.where != failed.where:
        return False
    if passed.words == failed.words:
        return True
    wide, narrow = _scope(passed), _scope(failed)
    if wide is None or narrow is None or wide.runner != narrow.runner or not wide.flags <= narrow.flags:
        return False
    if not _same_settings(assignments(passed.words), assignments(failed.words)):
        return False
    if not wide.targets - _EVERYTHING:
        return bool(wide.targets) or wide.runner not in _NARROW_BY_DEFAULT
    inner = narrow.targets - _EVERYTHING
    return bool(inner) and all(any(_inside(each, target) for target in wide.targets) for each in inner)


class _Scope(msgspec.Struct, frozen=True):
    runner: tuple[str, ...]
    flags: frozenset[str]
    targets: frozenset[str]


def _scope(statement: ShellStatement) -> _Scope | None:
    words = statement.words[len(assignments(statement.words)) :]
    runner = next((each for each in RUNNER_COMMANDS if words[: len(each)] == each), None)
    if runner is None:
        return None
    flags, targets, valued = set[str](), set[str](), ""
    for word in words[len(runner) :]:
        if valued:
            flags.add(f"{valued} {word}")
            valued = ""
        elif word in _VALUED:
            valued = word
        else:
            (flags if word.startswith("-") else targets).add(word)
    return _Scope(runner, frozenset(flags), frozenset(targets))


def _same_settings(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """A setting from a loop's variable (`SEED=$i`) stands for any value."""
    values = dict(word.split("=", 1) for word in narrow)
    settings = dict(word.split("=", 1) for word in wide)
    return settings.keys() == values.keys() and all("$" in v or v == values[k] for k, v in settings.items())


def _inside(each: str, target: str) -> bool:
    return each == target or each.startswith((target.rstrip("/") + "/", target + ".", target + "::"))


def _last_chain(found: tuple[ShellStatement, ...]) -> tuple[tuple[ShellStatement, ...], bool]:
    """The statements that an exit status speaks of, and whether all of them ran where it is 0."""
    begin = max(i for i, statement in enumerate(found) if i == 0 or statement.joined != "&&")
    return found[begin:], found[begin].joined != "||"


def _joined(chain: tuple[ShellStatement, ...]) -> ShellStatement:
    if len(chain) == 1:
        return chain[0]
    words = [word for part in chain for word in ("&&", *part.words)][1:]
    return msgspec.structs.replace(chain[-1], words=tuple(words), where=chain[0].where)


def _by_output(found: tuple[ShellStatement, ...], lines: list[str]) -> CommandOutcome | None:
    """The verdict in the output, where the call has exactly one runner whose output it can be."""
    runners = [statement for statement in found if _scope(statement)]
    if len(runners) != 1:
        return None
    bad = [line for line in lines if _FAILED.search(line)]
    if bad:
        return CommandOutcome(runners[0], False, _telling(bad[-1], lines))
    return CommandOutcome(runners[0], True) if any(_PASSED.search(line) for line in lines) else None


def _passes(
    chain: tuple[ShellStatement, ...], told: CommandOutcome | None, lines: list[str]
) -> tuple[CommandOutcome, ...]:
    """Status 0: every link of the chain passed, but for those whose status is hidden; there the output decides."""
    clean = not any(_SIGNS.search(line) for line in lines[-5:])
    hidden = told if told and (told.statement.masked or told.statement not in chain) else None
    passed = [
        part
        for part in chain
        if not part.masked or (hidden and part == hidden.statement and hidden.passed) or (clean and not _scope(part))
    ]
    whole = [_joined(chain)] if len(chain) > 1 and len(passed) == len(chain) else []
    extra = (hidden,) if hidden and not (hidden.passed and hidden.statement in chain) else ()
    return (*extra, *(CommandOutcome(part, True) for part in (*passed, *whole)))


def _telling(verdict: str, lines: list[str]) -> str:
    """The verdict with the last exception before it, which says more than a count."""
    raised = next((line for line in reversed(lines) if _RAISED.match(line)), "")
    return f"{verdict} {raised}" if raised and raised not in verdict else verdict


def _meaningful(output: str) -> list[str]:
    """The output's last lines that say something."""
    return [line.strip()[:400] for line in output.splitlines()[-_LINES:] if not _EMPTY.match(line[:400])]


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
    statement: ShellStatement | None = None


class CallVerdict(msgspec.Struct, frozen=True):
    """Either an error that the call opens, or the test for those that its success settles."""

    error: OpenError | None = None
    settles: Callable[[OpenError], bool] | None = None


def judge_call(part: ToolPart, directory: str) -> tuple[CallVerdict, ...]:
    """What a finished call says about failures; nothing where it cannot be told or somebody refused it."""
    if part.status == "error" and part.error.startswith(_REFUSED):
        return ()
    if part.tool == "bash":
        return tuple(_shell(part, directory))
    keys = _keys(part, directory)
    if part.status == "error":
        shown = keys[0].split(": ", 1)
        line = f"{part.tool} {shown[-1]}: {_first_line(part.error)}"
        return (CallVerdict(OpenError(keys[0], one_line(line, MAX_MESSAGE))),)
    return (CallVerdict(settles=lambda error: error.key in keys),)


def _shell(part: ToolPart, directory: str) -> list[CallVerdict]:
    command = part.input.get("command")
    if not isinstance(command, str):
        return []
    workdir = part.input.get("workdir")
    where = workdir if isinstance(workdir, str) and workdir != directory else ""
    if part.status == "error":
        found = parse_statements(command, cwd=directory)
        whole = ShellStatement(tuple(word for each in found for word in each.words) or (command,), where=where)
        return [_failed(command, CommandOutcome(whole, False, _first_line(part.error)))]
    exit_status = part.metadata.get("exit")
    if isinstance(exit_status, bool) or not isinstance(exit_status, int):
        exit_status = None
    judgements = []
    for outcome in command_outcomes(command, exit_status, part.output, cwd=directory):
        if where:
            moved = msgspec.structs.replace(outcome.statement, where=f"{where} {outcome.statement.where}".strip())
            outcome = msgspec.structs.replace(outcome, statement=moved)
        judgements.append(_passed(outcome.statement) if outcome.passed else _failed(command, outcome))
    return judgements


def _failed(command: str, outcome: CommandOutcome) -> CallVerdict:
    line = f"{one_line(command, _MAX_COMMAND)}: {outcome.line}"
    return CallVerdict(OpenError(_shell_key(outcome.statement), one_line(line, MAX_MESSAGE), outcome.statement))


def _passed(statement: ShellStatement) -> CallVerdict:
    key = _shell_key(statement)
    return CallVerdict(
        settles=lambda error: error.key == key or (error.statement is not None and covers(statement, error.statement))
    )


def _shell_key(statement: ShellStatement) -> str:
    return one_line(f"bash: {statement.text}", _MAX_KEY)


def _keys(part: ToolPart, directory: str) -> tuple[str, ...]:
    """The key under which this call fails, first, then others that its success settles: an edit settles a read."""
    family = _FAMILY.get(part.tool)
    if family is None:
        argument = next((v for name in _MAIN_ARGUMENT if isinstance(v := part.input.get(name), str) and v), "")
        return (one_line(f"{part.tool}: {argument}", _MAX_KEY),)
    path, patch = part.input.get("filePath"), part.input.get("patchText")
    given = [path] if isinstance(path, str) else patched_files(patch) if isinstance(patch, str) else []
    paths = [relative_path(each, directory) for each in given] or [""]
    families = (family, "read") if family == "edit" else (family,)
    return tuple(one_line(f"{name}: {each}", _MAX_KEY) for name in families for each in paths)


def _first_line(text: str) -> str:
    return next((line for line in (raw.strip() for raw in text[:4_000].splitlines()) if line), "failed")
