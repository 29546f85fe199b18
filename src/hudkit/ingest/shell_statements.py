"""Reading a shell command: which statements it has, and the words by which two runs of one command are the same.

Not a shell: no expansion, no nesting. Where a command is stranger than this reader, its words are only less equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import dropwhile

import msgspec

MAX_COMMAND = 8_000
"""Characters of a command that are read; what follows counts by its digest only."""

FILTERS = frozenset({"tail", "head", "cat", "tee", "less", "more", "column"})
"""Programs behind a pipe that only show another's output: two runs that differ by them are the same command."""

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
_FRAMES = frozenset({"for", "while", "until", "if", "elif", "case", "done", "fi", "esac", "}"})
_EASY = frozenset({"echo", "printf", "true", ":", "set", "export", "sleep", "wait", "unset", "pwd", "date", "cd"})
_WRAPPERS: tuple[tuple[str, ...], ...] = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("npx",), ("bunx",), ("pnpm", "exec"),
)  # fmt: skip
_MODULES = frozenset({"pytest", "unittest", "mypy", "ruff", "tox", "nox", "pyright"})
_LOUDNESS = frozenset({"--verbose", "--quiet", "--silent", "--no-color", "--color=never", "--color=no", "-v", "-q"})
_LOUD_SHORT = re.compile(r"^-(?:v{2,4}|q{2,3})$")
_PYTHON_FLAGS = re.compile(r"-[bBdEIOPqsSuv]+")
"""Options of Python itself, before `-m`."""


class ShellStatement(msgspec.Struct, frozen=True):
    """One pipeline of a command.

    `words` are normalised (no redirections, no trailing filters), `masked` says that the exit status is not its own
    but that of a program behind a pipe, of a loop's last round or of an `echo` after it, `joined` is the operator
    before it, `last` the program that ends the pipeline, `where` the directory that a `cd` before it went to.
    """

    words: tuple[str, ...]
    masked: bool = False
    joined: str = ";"
    last: str = ""
    where: str = ""

    @property
    def text(self) -> str:
        """The words as one line, with the directory where it is another."""
        line = " ".join(self.words)
        return f"({self.where}) {line}" if self.where else line


def parse_statements(command: str, *, cwd: str = "") -> tuple[ShellStatement, ...]:
    """The statements of a command that can fail in an interesting way, in order; `echo` and its kind are left out."""
    found: list[ShellStatement] = []
    where, pipefail, loops = "", "pipefail" in command, 0
    for joined, stages in _pipelines(_shortened(command)):
        loops += (stages[0][:1] == ("do",)) - (stages[0][:1] == ("done",))
        words = _stripped(stages[0])
        if words[:1] == ("cd",):
            where = "" if len(words) < 2 or words[1] in (".", cwd) else words[1]
        if found and words and words[0] in _EASY and joined != "&&":
            found[-1] = msgspec.structs.replace(found[-1], masked=True)
        if not words or words[0] in _EASY or words[0] in _FRAMES:
            continue
        shown = [words, *(stage for stage in stages[1:] if stage and stage[0] not in FILTERS)]
        flat = tuple(word for stage in _piped(shown) for word in stage)
        last = program(_stripped(stages[-1]))
        masked = loops > 0 or (len(stages) > 1 and not pipefail)
        found.append(ShellStatement(flat, masked, joined, last, where))
    return tuple(found)


def program(words: Sequence[str]) -> str:
    """The program that the words run, without its directory; assignments in front are passed over."""
    name = next((word for word in words if not _ASSIGNMENT.match(word)), "")
    return name.rsplit("/", 1)[-1]


def assignments(words: Sequence[str]) -> tuple[str, ...]:
    """The `NAME=value` words in front of the program."""
    found = []
    for word in words:
        if not _ASSIGNMENT.match(word):
            break
        found.append(word)
    return tuple(found)


def _shortened(command: str) -> str:
    """The command with each here-document replaced by a digest of its text."""
    if len(command) > MAX_COMMAND:
        command = f"{command[:MAX_COMMAND]} {_digest(command[MAX_COMMAND:])}"
    return _HEREDOC.sub(lambda match: f" {_digest(match[4])}{match[3]}\n", command)


def _digest(text: str) -> str:
    return "@" + blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


def _pipelines(command: str) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Pipelines with the operator before each: a list of stages, each its words."""
    joined, skip = ";", False
    stages: list[tuple[str, ...]] = []
    words: list[str] = []
    for match in _TOKEN.finditer(command):
        kind, text = match.lastgroup, match.group()
        if kind == "redirect":
            skip = True  # the next word is a file or a descriptor
        elif kind == "word":
            if not skip:
                words.append(_unquoted(text))
            skip = False
        elif kind == "operator":
            skip = False
            if text in ("|", "|&"):
                stages.append(tuple(words))
                words = []
                continue
            if words or stages:
                yield joined, [*stages, tuple(words)]
            joined = text if text in ("&&", "||") else ";"
            stages, words = [], []
    if words or stages:
        yield joined, [*stages, tuple(words)]


def _unquoted(word: str) -> str:
    match = _QUOTED.match(word)
    return (match[1] or match[2] or "") if match else word


def _stripped(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words without what does not change which command it is: openers, wrappers, loudness, the way to Python."""
    while words and words[0] in _OPENERS:
        words = words[1:]
    if words[:1] == ("timeout",):
        words = words[2:]
    env = assignments(words)
    rest = words[len(env) :]
    for wrapper in _WRAPPERS:
        if rest[: len(wrapper)] == wrapper:
            rest = rest[len(wrapper) :]
    if re.fullmatch(r"(?:\S*/)?python[\d.]*", rest[0] if rest else ""):
        asked = tuple(dropwhile(_PYTHON_FLAGS.fullmatch, rest[1:]))
        rest = asked[1:] if asked[:1] == ("-m",) and asked[1:2] and asked[1] in _MODULES else ("python", *rest[1:])
    if rest and program(rest) in _MODULES:
        rest = (program(rest), *(word for word in rest[1:] if word not in _LOUDNESS and not _LOUD_SHORT.match(word)))
    return (*env, *rest)


def _piped(stages: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    for index, stage in enumerate(stages):
        yield stage if index == 0 else ("|", *stage)
