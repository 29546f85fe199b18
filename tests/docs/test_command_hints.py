"""Every `hudkit …` that a text of ours names, in errors, hints, docstrings and documents, is a command line.

Commands are found in all strings of the sources and between backticks in the documents, and parsed by the parser of
the command line. Where a hint has a value in it, the value must be quoted for a shell: a path may have a blank.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from hudkit.cli.commands import COMMANDS, build_parser

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
SCRIPTS = sorted(path for path in (ROOT / "src").rglob("*.js") if "vendor" not in path.parts)
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "llms.txt"])

VALUE = "\ue000"
"""Stands in a text for a value that is only known when the program runs."""

SAFE = ("quote", "shlex.quote", "shlex.join")
NAMES = {
    "server.client": "cursor",
    "host": "pi",
    "receipt.number": "7",
    "self.runner.loop.id": "ses_1",
}
"""Values that need no quotes: ids that we make, names of a table of ours; and one of each."""

EXAMPLES = ("hudkit turns", "hudkit install NAME", "hudkit serve | stop", "hudkit install | uninstall opencode")
"""What documents write for a command that is to be added, or for several in one."""

_COMMAND = re.compile(r"\bhudkit ([a-z]+(?:-[a-z]+)?)\b")
_QUOTED = re.compile(r"(`+)(hudkit [^`]+)\1")
_PLACEHOLDERS = {
    "SESSION": "ses_1",
    "ID": "ses_1",
    "HOST": "opencode",
    "FILE": "a.txt",
    "DIR": "folder",
    "TIME": "now",
    "N": "5",
    "BACKUP": "a.db",
    "MODEL": "m",
    "PROMPT": "text",
    "TEXT": "text",
    "CLIENT": "cursor",
    "SEQ": "5",
    "MESSAGE": "m1",
    "…": "",
    "...": "",
}
_PLACEHOLDERS_OF = {"hook": {"HOST": "claude-code"}}
"""The same of one command alone."""


class Hint(NamedTuple):
    """A command line in a text: where, what follows `hudkit`, whether it stands between backticks, its values."""

    place: str
    words: str
    quoted: bool
    values: tuple[str, ...] = ()


def strings_of(path: Path) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Every string of a module, with its line and the expressions that stand in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            values = tuple(ast.unparse(part.value) for part in node.values if isinstance(part, ast.FormattedValue))
            texts = (str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values)
            yield node.lineno, "".join(texts), values
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, node.value, ()


def hints_in(text: str, place: str, values: tuple[str, ...] = ()) -> Iterator[Hint]:
    """The command lines in a text."""

    def hint(start: int, words: str, *, quoted: bool) -> Hint:
        before, count = text[:start].count(VALUE), words.count(VALUE)
        return Hint(place, " ".join(words.split()).removeprefix("hudkit "), quoted, values[before : before + count])

    taken: list[range] = []
    for match in _QUOTED.finditer(text):
        taken.append(range(*match.span()))
        yield hint(match.start(2), match[2], quoted=True)
    for match in _COMMAND.finditer(text):
        if match[1] in COMMANDS and not any(match.start() in span for span in taken):
            yield hint(match.start(), text[match.start() :].partition("\n")[0], quoted=False)


def source_hints() -> list[Hint]:
    found = []
    for path in SOURCES:
        for line, text, values in strings_of(path):
            found += hints_in(text, f"{path.relative_to(ROOT)}:{line}", values)
    for path in SCRIPTS:
        # There, a backtick begins or ends a text of the program.
        text = path.read_text(encoding="utf-8").replace("\\n", "\n").replace("`", "\n")
        found += hints_in(text, str(path.relative_to(ROOT)))
    return found


def parses(words: list[str]) -> bool:
    """Whether the parser takes a command line, or would if its arguments were complete."""
    name, *rest = words
    try:
        build_parser(name).parse_args(rest)
    except SystemExit as ended:
        return not ended.code
    return True


def command_words(hint: Hint) -> tuple[list[str], str]:
    """The words of a hint that are a command line, and what the parser says where they are none.

    Prose may follow where no backtick ends it: then it is the longest beginning that parses.
    """
    line = hint.words if hint.quoted else re.split(r"[;:,.)](?:\s|$)", hint.words, maxsplit=1)[0]
    try:
        words = shlex.split(line)
    except ValueError:  # an apostrophe of the prose
        words = line.split()
    placeholders = _PLACEHOLDERS | _PLACEHOLDERS_OF.get(words[0], {})
    words = [placeholders.get(word, word) for word in words if not (word.startswith("[") or word.endswith("]"))]
    words = [word for word in words if word]
    if words[0] in ("--help", "--version"):
        return words, ""
    if words[0] not in COMMANDS:
        return [], "there is no such command"
    wrong = ""
    for end in range(len(words), 0, -1):
        if (hint.quoted and end < len(words)) or any(word.startswith("--") for word in words[end:]):
            break
        for name in ("opencode", "cursor"):
            wrong = parse(
                [{"NAME": name, VALUE: NAMES.get("".join(hint.values), "7")}.get(word, word) for word in words[:end]]
            )
            if not wrong:
                return words[:end], ""
    return words, wrong


parser_of = cache(build_parser)


def parse(words: list[str]) -> str:
    """What the parser says of a command line; empty where it takes it. What only lacks an argument names a command or
    an option, as `hudkit rooms say` and `hudkit mcp --http` do."""
    said = io.StringIO()
    name, *rest = words
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            parser_of(name).parse_args(rest)
    except SystemExit as ended:
        text = said.getvalue()
        lacks = "are required" in text or f"argument {words[-1]}: expected" in text
        return "" if lacks or not ended.code else text
    return ""


def test_every_command_that_a_text_of_ours_names_is_one() -> None:
    hints = source_hints()
    assert len(hints) > 150 and sum(hint.quoted for hint in hints) > 60
    assert {f"{hint.place}: hudkit {hint.words}": why for hint in hints if (why := command_words(hint)[1])} == {}


def test_a_value_in_a_command_is_quoted_for_the_shell() -> None:
    unquoted = []
    for hint in source_hints():
        count = " ".join(command_words(hint)[0]).count(VALUE)
        values = [value for value in hint.values[:count] if not value.startswith(SAFE) and value not in NAMES]
        unquoted += [f"{hint.place}: {value}" for value in values]
    assert unquoted == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_within_the_text_of_a_document_is_one(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for example in EXAMPLES:
        text = text.replace(f"`{example}`", "")
    hints = [Hint(path.name, " ".join(match[2].split())[7:], True) for match in _QUOTED.finditer(text)]
    assert {hint.words: why for hint in hints if (why := command_words(hint)[1])} == {}
