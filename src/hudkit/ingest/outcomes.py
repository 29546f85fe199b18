"""What a shell call says about its commands: which failed, which passed, and what cannot be told.

An exit status belongs to the last statement only, and behind a pipe to the last program: `tests | tail` is 0 whatever
the tests did. For known test and lint runners the output is asked instead. What cannot be told opens and closes
nothing. A passing run also settles narrower runs of the same runner: all tests cover those of one file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from hudkit.ingest.shell import Statement, assignments, program, statements

ANSWERS = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "which", "pgrep", "command"}
)
"""Programs whose exit status 1 is an answer ("no match", "differs"), not a failure."""

STOPPED = frozenset({130, 143})
"""Exit statuses of a command that somebody ended on purpose (SIGINT, SIGTERM)."""

RUNNERS: tuple[tuple[str, ...], ...] = (
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


class Outcome(msgspec.Struct, frozen=True):
    """One statement, or one `&&` chain, and whether it passed; `line` is the telling line of the output."""

    statement: Statement
    passed: bool
    line: str = ""


def outcomes(command: str, exit_status: int | None, output: str, *, cwd: str = "") -> tuple[Outcome, ...]:
    """What one finished shell call tells. `exit_status` is `None` where the host does not know it."""
    found = statements(command, cwd=cwd)
    if not found or exit_status in STOPPED:
        return ()
    lines = _meaningful(output)
    chain, sure = _last_chain(found)
    told = _by_output(found, lines)
    known = (told,) if told else ()
    if exit_status is None:
        late = any(_TIMEOUT.search(line) for line in lines[-5:])
        return (*known, Outcome(_joined(chain), False, "timed out")) if late else known
    if exit_status == 0:
        return _passes(chain, told, lines) if sure else known
    if told and not told.passed:
        return known
    if exit_status == 1 and any(part.last in ANSWERS or program(part.words) in ANSWERS for part in chain):
        return known
    alone = told is not None and chain == (told.statement,)
    if alone and chain[0].masked:
        return known
    failed = Outcome(_joined(chain), False, lines[-1] if lines else f"exit status {exit_status}")
    return (failed,) if alone else (*known, failed)


def covers(passed: Statement, failed: Statement) -> bool:
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


def _scope(statement: Statement) -> _Scope | None:
    words = statement.words[len(assignments(statement.words)) :]
    runner = next((each for each in RUNNERS if words[: len(each)] == each), None)
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


def _last_chain(found: tuple[Statement, ...]) -> tuple[tuple[Statement, ...], bool]:
    """The statements that an exit status speaks of, and whether all of them ran where it is 0."""
    begin = max(i for i, statement in enumerate(found) if i == 0 or statement.joined != "&&")
    return found[begin:], found[begin].joined != "||"


def _joined(chain: tuple[Statement, ...]) -> Statement:
    if len(chain) == 1:
        return chain[0]
    words = [word for part in chain for word in ("&&", *part.words)][1:]
    return msgspec.structs.replace(chain[-1], words=tuple(words), where=chain[0].where)


def _by_output(found: tuple[Statement, ...], lines: list[str]) -> Outcome | None:
    """The verdict in the output, where the call has exactly one runner whose output it can be."""
    runners = [statement for statement in found if _scope(statement)]
    if len(runners) != 1:
        return None
    bad = [line for line in lines if _FAILED.search(line)]
    if bad:
        return Outcome(runners[0], False, _telling(bad[-1], lines))
    return Outcome(runners[0], True) if any(_PASSED.search(line) for line in lines) else None


def _passes(chain: tuple[Statement, ...], told: Outcome | None, lines: list[str]) -> tuple[Outcome, ...]:
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
    return (*extra, *(Outcome(part, True) for part in (*passed, *whole)))


def _telling(verdict: str, lines: list[str]) -> str:
    """The verdict with the last exception before it, which says more than a count."""
    raised = next((line for line in reversed(lines) if _RAISED.match(line)), "")
    return f"{verdict} {raised}" if raised and raised not in verdict else verdict


def _meaningful(output: str) -> list[str]:
    """The output's last lines that say something."""
    return [line.strip()[:400] for line in output.splitlines()[-_LINES:] if not _EMPTY.match(line[:400])]
