"""Reading of a shell command: its statements, and the words by which two runs count as the same command.

An error that a command opened is settled when the same command passes. Agents spell one command in many ways, so both
spellings are brought to the same words. `cd web && python3 -m pytest -q tests 2>&1 | tail -5` and
`pytest tests` (run in `web`) are both the statement `(web) pytest tests`. The first one is *masked*: behind the pipe,
the exit status is that of `tail`.

This is not a shell: it expands nothing and reads no nesting. Where a command is stranger than this reader, two runs
of it only look less equal than they are, and an error stays open until the agent closes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import dropwhile, takewhile

import msgspec

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
        """The words as one line, with the directory where it is another than the session's."""
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
        last = program(_normalized(stages[-1]))
        statements.append(ShellStatement(_joined_by_pipes(shown), masked, operator, last, directory))
    return tuple(statements)


def program(words: Sequence[str]) -> str:
    """Return the program that the words run, without its directory; assignments in front are passed over."""
    name = next((word for word in words if not _ASSIGNMENT.match(word)), "")
    return name.rsplit("/", 1)[-1]


def assignments(words: Sequence[str]) -> tuple[str, ...]:
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
    settings = assignments(words)
    rest = words[len(settings) :]
    for wrapper in _WRAPPERS:
        if rest[: len(wrapper)] == wrapper:
            rest = rest[len(wrapper) :]
    if re.fullmatch(r"(?:\S*/)?python[\d.]*", rest[0] if rest else ""):
        options = tuple(dropwhile(_PYTHON_FLAGS.fullmatch, rest[1:]))
        runs_module = options[:1] == ("-m",) and options[1:2] and options[1] in _MODULES
        rest = options[1:] if runs_module else ("python", *rest[1:])
    if rest and program(rest) in _MODULES:
        rest = (program(rest), *(word for word in rest[1:] if word not in _LOUDNESS and not _LOUD_SHORT.match(word)))
    return (*settings, *rest)


def _joined_by_pipes(stages: list[tuple[str, ...]]) -> tuple[str, ...]:
    words = list(stages[0])
    for stage in stages[1:]:
        words += ["|", *stage]
    return tuple(words)
