"""Which errors a finished tool call opens and which it settles.

An error is opened under a key and settled by a later success under the same key: `edit: ` or `read: ` and the path,
`bash: ` and the normalized statement, else the tool's name and its main argument. An edit also settles a failed read.

The hard part is the shell, because one call runs several statements and reports one exit status. The status belongs
to the last chain of `&&` only, and behind a pipe to the last program: `tests | tail` is 0 whatever the tests did. So
for known runners of tests and linters the last lines of the output are asked instead. A passing run also settles
narrower runs of the same runner: all tests cover those of one file. What cannot be told opens and settles nothing,
because an error that is asserted wrongly is worse than one that is missing.

For example, in order:

    pytest tests/test_a.py | tail -3   status 0, "1 failed"  opens `bash: pytest tests/test_a.py`: the output decides
    make build && pytest               status 2, "2 failed"  opens `bash: pytest`: its own verdict, not the chain
    pytest; echo done                  status 0, "9 passed"  settles both: the run without arguments covers the file
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import dropwhile, takewhile

import msgspec

from hudkit.ingest.tool_calls import FinishedCall, one_line, patched_files, relative_path

MAX_ERROR = 200
"""Characters of an error's line."""
_MAX_SHOWN_COMMAND = 90  # of the command in that line, so that what went wrong still fits
_MAX_KEY = 300
_MAX_OUTPUT_LINES = 300  # verdicts stand at the end
_MAX_LINE = 400

_SHELL_KEY = "bash: "  # stored in every log: the name that OpenCode gives its shell

_REFUSED = (
    "The user rejected permission",
    "The user has specified a rule which prevents",
    "The user dismissed",
    "Tool execution aborted",
    "The operation was aborted",
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "[Request interrupted by user",
    "[Tool call interrupted",
)
"""Beginnings of errors that are no failure: somebody's decision, or an end behind which nobody knows whether the call
worked (OpenCode 1.18, Claude Code 2.1); our own agent's name the tool."""

_ANSWERING_PROGRAMS = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "which", "pgrep", "command"}
)
"""Programs whose exit status 1 is an answer ("no match", "differs"), not a failure."""

_STOP_STATUSES = frozenset({130, 143})
"""Exit statuses of a command that somebody ended on purpose (128 + SIGINT, 128 + SIGTERM)."""

_RUNNER_COMMANDS: tuple[tuple[str, ...], ...] = (
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


class OpenError(msgspec.Struct, frozen=True):
    """A failure that nothing has settled yet; `statement` where it was a shell command."""

    key: str
    message: str
    statement: ShellStatement | None = None


class CallVerdict(msgspec.Struct, frozen=True):
    """What a call says of one thing it did: an `error` that it opens, else the `keys` that its success settles."""

    error: OpenError | None = None
    keys: tuple[str, ...] = ()
    passed: ShellStatement | None = None
    """A shell statement that passed, which settles narrower ones too."""

    def settles(self, error: OpenError) -> bool:
        """Return whether an open error is over with this."""
        if error.key in self.keys:
            return True
        return self.passed is not None and error.statement is not None and covers(self.passed, error.statement)


class CommandOutcome(msgspec.Struct, frozen=True):
    """One statement, or one `&&` chain, and whether it passed; `line` is the line of the output that says why not."""

    statement: ShellStatement
    passed: bool
    line: str = ""


def judge_call(call: FinishedCall, directory: str) -> tuple[CallVerdict, ...]:
    """Return what a finished call says about failures; nothing where it cannot be told or somebody refused it."""
    if call.failed and call.error.startswith((*_REFUSED, f"{call.tool} is not permitted: ")):
        return ()
    if call.kind == "shell":
        return tuple(_judge_shell(call, directory))
    keys = _keys(call, directory)
    if not call.failed:
        return (CallVerdict(keys=keys),)
    subject = keys[0].partition(": ")[2]
    line = f"{f'{call.tool} {subject}'.strip()}: {_first_line(call.error)}"
    return (CallVerdict(OpenError(keys[0], one_line(line, MAX_ERROR))),)


def command_outcomes(
    command: str, exit_status: int | None, output: str, *, cwd: str = ""
) -> tuple[CommandOutcome, ...]:
    """Return what one finished shell call tells. `exit_status` is `None` where the host does not know it."""
    statements = parse_statements(command, cwd=cwd)
    if not statements or exit_status in _STOP_STATUSES:
        return ()
    lines = _meaningful_lines(output)
    chain, all_ran = _last_chain(statements)
    verdict = _output_verdict(statements, lines)
    certain = (verdict,) if verdict else ()
    if exit_status is None:
        timed_out = any(_TIMEOUT.search(line) for line in lines[-5:])
        return (*certain, CommandOutcome(_as_one(chain), False, "timed out")) if timed_out else certain
    if exit_status == 0:
        return _passes(chain, verdict, lines) if all_ran else certain
    if verdict and not verdict.passed:
        return certain
    if exit_status == 1 and any(_may_answer(statement) for statement in chain):
        return certain
    only_runner = verdict is not None and chain == (verdict.statement,)
    if only_runner and chain[0].masked:
        return certain
    failed = CommandOutcome(_as_one(chain), False, lines[-1] if lines else f"exit status {exit_status}")
    return (failed,) if only_runner else (*certain, failed)


def covers(passed: ShellStatement, failed: ShellStatement) -> bool:
    """Return whether a pass of one settles a failure of the other: the same words, or a wider run of that runner."""
    if passed.directory != failed.directory:
        return False
    if passed.words == failed.words:
        return True
    wide, narrow = _run_scope(passed), _run_scope(failed)
    if wide is None or narrow is None or wide.runner != narrow.runner or not wide.flags <= narrow.flags:
        return False
    if not _same_settings(_assignments(passed.words), _assignments(failed.words)):
        return False
    if not wide.targets - _EVERYTHING:
        return bool(wide.targets) or wide.runner not in _NARROW_BY_DEFAULT
    inner = narrow.targets - _EVERYTHING
    return bool(inner) and all(any(_inside(path, target) for target in wide.targets) for path in inner)


# -- calls of other tools --------------------------------------------------------------------------------------


def _keys(call: FinishedCall, directory: str) -> tuple[str, ...]:
    """The key under which this call fails, first, then others that its success settles: an edit settles a read."""
    if call.kind in ("todos", "task", "other"):
        return (one_line(f"{call.tool}: {call.main_argument}", _MAX_KEY),)
    paths: Sequence[str] = ()
    if call.path is not None:
        paths = [call.path]
    elif call.patch is not None:
        paths = patched_files(call.patch)
    shown = [relative_path(path, directory) for path in paths] or [""]
    families = ("read",) if call.kind == "read" else ("edit", "read")
    return tuple(one_line(f"{family}: {path}", _MAX_KEY) for family in families for path in shown)


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text[:4_000].splitlines())
    return next((line for line in lines if line), "failed")


# -- shell calls -----------------------------------------------------------------------------------------------


def _judge_shell(call: FinishedCall, directory: str) -> Iterator[CallVerdict]:
    if call.command is None:
        return
    workdir = call.workdir if call.workdir != directory else ""
    if call.failed:  # the host could not run it, so that there is no status: all of it failed
        statements = parse_statements(call.command, cwd=directory)
        words = tuple(word for statement in statements for word in statement.words)
        whole = ShellStatement(words or (call.command,), directory=workdir)
        yield _failure(call.command, CommandOutcome(whole, False, _first_line(call.error)))
        return
    for outcome in command_outcomes(call.command, call.exit_status, call.output, cwd=directory):
        if workdir:
            inner = f"{workdir} {outcome.statement.directory}".strip()
            moved = msgspec.structs.replace(outcome.statement, directory=inner)
            outcome = msgspec.structs.replace(outcome, statement=moved)
        if outcome.passed:
            yield CallVerdict(keys=(_shell_key(outcome.statement),), passed=outcome.statement)
        else:
            yield _failure(call.command, outcome)


def _failure(command: str, outcome: CommandOutcome) -> CallVerdict:
    line = f"{one_line(command, _MAX_SHOWN_COMMAND)}: {outcome.line}"
    return CallVerdict(OpenError(_shell_key(outcome.statement), one_line(line, MAX_ERROR), outcome.statement))


def statement_of_key(key: str) -> ShellStatement | None:
    """Return the shell statement of an error that was read back from the log; `None` where it was another tool's.

    The log has the key only. What it does not tell (`masked`, the operator) is not needed to settle the error.
    """
    if not key.startswith(_SHELL_KEY):
        return None
    text, directory = key.removeprefix(_SHELL_KEY), ""
    if text.startswith("("):
        directory, _, text = text[1:].partition(") ")
    return ShellStatement(tuple(text.split(" ")), directory=directory)


def _shell_key(statement: ShellStatement) -> str:
    return one_line(f"{_SHELL_KEY}{statement.text}", _MAX_KEY)


class _RunScope(msgspec.Struct, frozen=True):
    """What a run of a known runner looks at."""

    runner: tuple[str, ...]
    flags: frozenset[str]
    targets: frozenset[str]


def _run_scope(statement: ShellStatement) -> _RunScope | None:
    words = statement.words[len(_assignments(statement.words)) :]
    runner = next((command for command in _RUNNER_COMMANDS if words[: len(command)] == command), None)
    if runner is None:
        return None
    flags, targets, option = set[str](), set[str](), ""
    for word in words[len(runner) :]:
        if option:
            flags.add(f"{option} {word}")
            option = ""
        elif word in _VALUED:
            option = word
        elif word.startswith("-"):
            flags.add(word)
        else:
            targets.add(word)
    return _RunScope(runner, frozenset(flags), frozenset(targets))


def _same_settings(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """A setting from a loop's variable (`SEED=$i`) stands for any value."""
    settings = dict(word.split("=", 1) for word in wide)
    values = dict(word.split("=", 1) for word in narrow)
    if settings.keys() != values.keys():
        return False
    return all("$" in value or value == values[name] for name, value in settings.items())


def _inside(path: str, target: str) -> bool:
    return path == target or path.startswith((target.rstrip("/") + "/", target + ".", target + "::"))


def _may_answer(statement: ShellStatement) -> bool:
    return statement.last_program in _ANSWERING_PROGRAMS or _program(statement.words) in _ANSWERING_PROGRAMS


def _last_chain(statements: tuple[ShellStatement, ...]) -> tuple[tuple[ShellStatement, ...], bool]:
    """The statements that an exit status speaks of, and whether all of them ran where it is 0."""
    starts = (index for index, statement in enumerate(statements) if index == 0 or statement.operator != "&&")
    begin = max(starts)
    return statements[begin:], statements[begin].operator != "||"


def _as_one(chain: tuple[ShellStatement, ...]) -> ShellStatement:
    if len(chain) == 1:
        return chain[0]
    words = [word for statement in chain for word in ("&&", *statement.words)][1:]
    return msgspec.structs.replace(chain[-1], words=tuple(words), directory=chain[0].directory)


def _output_verdict(statements: tuple[ShellStatement, ...], lines: list[str]) -> CommandOutcome | None:
    """The verdict in the output, where the call has exactly one runner whose output it can be."""
    runners = [statement for statement in statements if _run_scope(statement)]
    if len(runners) != 1:
        return None
    failures = [line for line in lines if _FAILED.search(line)]
    if failures:
        return CommandOutcome(runners[0], False, _with_exception(failures[-1], lines))
    return CommandOutcome(runners[0], True) if any(_PASSED.search(line) for line in lines) else None


def _passes(
    chain: tuple[ShellStatement, ...], verdict: CommandOutcome | None, lines: list[str]
) -> tuple[CommandOutcome, ...]:
    """Status 0: every link of the chain passed, but for those whose status is hidden; there the output decides."""
    clean = not any(_SIGNS.search(line) for line in lines[-5:])
    hidden = verdict if verdict and (verdict.statement.masked or verdict.statement not in chain) else None
    links = [statement for statement in chain if _link_passed(statement, hidden, clean=clean)]
    whole = [_as_one(chain)] if len(chain) > 1 and len(links) == len(chain) else []
    extra = (hidden,) if hidden and not (hidden.passed and hidden.statement in chain) else ()
    return (*extra, *(CommandOutcome(statement, True) for statement in (*links, *whole)))


def _link_passed(statement: ShellStatement, hidden: CommandOutcome | None, *, clean: bool) -> bool:
    if not statement.masked:
        return True
    if hidden and statement == hidden.statement and hidden.passed:
        return True
    return clean and _run_scope(statement) is None  # nothing in the output speaks against it


def _with_exception(verdict: str, lines: list[str]) -> str:
    """The verdict with the last exception before it, which says more than a count."""
    raised = next((line for line in reversed(lines) if _RAISED.match(line)), "")
    return f"{verdict} {raised}" if raised and raised not in verdict else verdict


def _meaningful_lines(output: str) -> list[str]:
    last = output.splitlines()[-_MAX_OUTPUT_LINES:]
    return [line.strip()[:_MAX_LINE] for line in last if not _EMPTY.match(line[:_MAX_LINE])]


# -- reading of a shell command --------------------------------------------------------------------------------
# An error that a command opened is settled when the same command passes. Agents spell one command in many ways, so
# both spellings are brought to the same words: `cd web && python3 -m pytest -q tests 2>&1 | tail -5` and `pytest
# tests` (run in `web`) are both the statement `(web) pytest tests`. The first is *masked*: behind the pipe, the exit
# status is that of `tail`. This is not a shell, it expands nothing and reads no nesting. Where a command is stranger
# than this reader, two runs of it only look less equal than they are, and an error stays open until the agent closes
# it.

_MAX_COMMAND = 8_000
"""Characters of a command that are read (a longer one is generated text); what follows counts by its digest only."""

_FILTERS = frozenset({"tail", "head", "cat", "tee", "less", "more", "column"})
"""Programs behind a pipe that only show another's output: two runs that differ by them are the same command."""

# A here-document is data: a `;` in it separates nothing.
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w{0,40})\1([^\n]*)\n(.*?)(?:^[ \t]*\2[ \t]*$|\Z)", re.S | re.M)
_TOKEN = re.compile(
    r"""(?P<space>[ \t]+|\\\n)
    |(?P<comment>(?<![^\s;&|()])\#[^\n]*)
    |(?P<redirect>\d*(?:&>>?|>>|>\||>&|<&|<<<|>|<))
    |(?P<operator>&&|\|\||\|&|;;|[;&|\n()])
    |(?P<word>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|\$\([^()]*\)|`[^`]*`|[^\s;&|()<>\\'"`]|['"`\\$])+)
    """,
    re.X | re.S,
)
_QUOTED = re.compile(r"^'([^']*)'$|^\"([^\"$`\\]*)\"$")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")

_OPENERS = frozenset({"do", "then", "else", "{", "time", "command", "sudo", "nice", "nohup", "exec"})
_CONTROL_WORDS = frozenset({"for", "while", "until", "if", "elif", "case", "done", "fi", "esac", "}"})
_ALWAYS_PASS = frozenset(
    {"echo", "printf", "true", ":", "set", "export", "sleep", "wait", "unset", "pwd", "date", "cd"}
)
_WRAPPERS: tuple[tuple[str, ...], ...] = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("npx",), ("bunx",), ("pnpm", "exec"),
)  # fmt: skip
_MODULES = frozenset({"pytest", "unittest", "mypy", "ruff", "tox", "nox", "pyright"})
# How much a runner prints does not change what it runs.
_LOUDNESS = frozenset({"--verbose", "--quiet", "--silent", "--no-color", "--color=never", "--color=no", "-v", "-q"})
_LOUD_SHORT = re.compile(r"^-(?:v{2,4}|q{2,3})$")
_PYTHON_FLAGS = re.compile(r"-[bBdEIOPqsSuv]+")
"""Options of Python itself, before `-m`."""


class ShellStatement(msgspec.Struct, frozen=True):
    """One pipeline of a command, in normalized words: without redirections and without filters at its end."""

    words: tuple[str, ...]
    masked: bool = False
    """The exit status is not its own: a pipe, a loop's last round or an `echo` after it decides."""
    operator: str = ";"
    """What stands before it: `;`, `&&` or `||`."""
    last_program: str = ""
    """The program that ends the pipeline."""
    directory: str = ""
    """Where a `cd` before it went to."""

    @property
    def text(self) -> str:
        """Return the words as one line, with the directory where it is another than the session's."""
        line = " ".join(self.words)
        return f"({self.directory}) {line}" if self.directory else line


def parse_statements(command: str, *, cwd: str = "") -> tuple[ShellStatement, ...]:
    """Return the statements of a command that can fail in an interesting way, in order.

    `echo` and its kind are left out. `cwd` is the session's directory: a `cd` to it changes nothing.
    """
    statements: list[ShellStatement] = []
    directory, pipefail, open_loops = "", "pipefail" in command, 0
    for operator, stages in _pipelines(_shortened(command)):
        open_loops += (stages[0][:1] == ("do",)) - (stages[0][:1] == ("done",))
        words = _normalized(stages[0])
        if words[:1] == ("cd",):
            directory = "" if len(words) < 2 or words[1] in (".", cwd) else words[1]
        if statements and words and words[0] in _ALWAYS_PASS and operator != "&&":
            # `make; echo done` ends with the status of the echo
            statements[-1] = msgspec.structs.replace(statements[-1], masked=True)
        if not words or words[0] in _ALWAYS_PASS or words[0] in _CONTROL_WORDS:
            continue
        shown = [words, *(stage for stage in stages[1:] if stage and stage[0] not in _FILTERS)]
        masked = open_loops > 0 or (len(stages) > 1 and not pipefail)
        last = _program(_normalized(stages[-1]))
        statements.append(ShellStatement(_joined_by_pipes(shown), masked, operator, last, directory))
    return tuple(statements)


def _program(words: Sequence[str]) -> str:
    """Return the program that the words run, without its directory; assignments in front are passed over."""
    name = next((word for word in words if not _ASSIGNMENT.match(word)), "")
    return name.rsplit("/", 1)[-1]


def _assignments(words: Sequence[str]) -> tuple[str, ...]:
    """Return the `NAME=value` words in front of the program."""
    return tuple(takewhile(_ASSIGNMENT.match, words))


def _shortened(command: str) -> str:
    """The command with each here-document replaced by a digest of its text."""
    if len(command) > _MAX_COMMAND:
        command = f"{command[:_MAX_COMMAND]} {_digest(command[_MAX_COMMAND:])}"
    return _HEREDOC.sub(lambda match: f" {_digest(match[4])}{match[3]}\n", command)


def _digest(text: str) -> str:
    return "@" + blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


def _pipelines(command: str) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Pipelines with the operator before each: a list of stages, each its words."""
    operator_before, redirected = ";", False
    stages: list[tuple[str, ...]] = []
    words: list[str] = []
    for match in _TOKEN.finditer(command):
        kind, text = match.lastgroup, match.group()
        if kind == "redirect":
            redirected = True  # the next word is a file or a descriptor
        elif kind == "word":
            if not redirected:
                words.append(_unquoted(text))
            redirected = False
        elif kind == "operator":
            redirected = False
            if text in ("|", "|&"):
                stages.append(tuple(words))
                words = []
                continue
            if words or stages:
                yield operator_before, [*stages, tuple(words)]
            operator_before = text if text in ("&&", "||") else ";"
            stages, words = [], []
    if words or stages:
        yield operator_before, [*stages, tuple(words)]


def _unquoted(word: str) -> str:
    match = _QUOTED.match(word)
    return (match[1] or match[2] or "") if match else word


def _normalized(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words without what does not change which command it is: openers, wrappers, loudness, the way to Python."""
    while words and words[0] in _OPENERS:
        words = words[1:]
    if words[:1] == ("timeout",):
        words = words[2:]
    settings = _assignments(words)
    rest = words[len(settings) :]
    for wrapper in _WRAPPERS:
        if rest[: len(wrapper)] == wrapper:
            rest = rest[len(wrapper) :]
    if re.fullmatch(r"(?:\S*/)?python[\d.]*", rest[0] if rest else ""):
        options = tuple(dropwhile(_PYTHON_FLAGS.fullmatch, rest[1:]))
        runs_module = options[:1] == ("-m",) and options[1:2] and options[1] in _MODULES
        rest = options[1:] if runs_module else ("python", *rest[1:])
    if rest and _program(rest) in _MODULES:
        rest = (_program(rest), *(word for word in rest[1:] if word not in _LOUDNESS and not _LOUD_SHORT.match(word)))
    return (*settings, *rest)


def _joined_by_pipes(stages: list[tuple[str, ...]]) -> tuple[str, ...]:
    words = list(stages[0])
    for stage in stages[1:]:
        words += ["|", *stage]
    return tuple(words)
