"""`hudkit review`: what was heard in your sessions, and whether it is right."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Rules, preferences, decisions and facts are read from what you and the agent say ([what is heard](what-is-heard.md)).
This command shows those of the newest session (or of SESSION, or with `--all` of every session of the project), each
with the sentence that it was read in, who said that and when, and what was said against it since.

At a terminal it asks about one after the other, and one key answers: **k**eep it, **e**dit its words, **d**rop it,
**s**kip it; **u** takes the last answer back, **q** ends and keeps what was answered, **?** explains the keys.
Elsewhere it prints the list, and the options answer: an item is named by its id, its text, or words of its own.
Every answer is an event of yours in the session's log, which its agent has from its next call on. What you drop is
not heard again from the same words.

**p** (`--for-project`) and **m** (`--for-me`) make an item hold beyond the session: in all sessions of its project
that begin from then on, or in all of yours, in every host. They are kept in `always.toml` beside your settings, which
you may edit; `--always` lists them, `--forget` takes one out. No agent can do this: it has no operation for it, and
the shell of an agent is refused."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", nargs="?", help="a session's id, a part of it, or words of its title (default: the newest)"
    )
    parser.add_argument("--all", action="store_true", help="review every session of the project, the newest first")
    parser.add_argument("--project", type=Path, metavar="DIR", help="the project (default: this directory's)")
    for option, what in (
        ("--keep", "say that it is right; it is not marked as derived any more"),
        ("--drop", "withdraw it; the same words are not heard again"),
        ("--for-project", "say that it holds in all sessions of its project, in every host"),
        ("--for-me", "say that it holds in all of your sessions, in every host"),
    ):
        parser.add_argument(option, dest="answers", action=_Answer, const=option[2:], metavar="ID", help=what)
    parser.add_argument(
        "--edit",
        dest="answers",
        action=_Answer,
        const="edit",
        nargs=2,
        metavar=("ID", "TEXT"),
        help="word it otherwise",
    )
    parser.set_defaults(answers=[])
    parser.add_argument("--always", action="store_true", help="list what holds beyond one session")
    parser.add_argument(
        "--forget", action="append", default=[], metavar="WORDS", help="let it hold no longer (words of its own)"
    )
    log_arguments(parser)


class _Answer(argparse.Action):
    """Answers in the order in which they were given: what is answered, the item's name, and the new words."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        words = [values] if isinstance(values, str) else list(values or ())
        namespace.answers = [*namespace.answers, (self.const, *words)]


COMMAND = CliCommand(
    example="hudkit review",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.review:run",
)
