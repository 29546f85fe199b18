"""Options that several commands share, and the types of their values. Imports argparse and nothing heavier."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def log_arguments(parser: argparse.ArgumentParser, *, server: bool = False) -> None:
    """Add the options of every command that reads a log to a parser; with `server`, it may be on PostgreSQL."""
    db_argument(parser, server=server)
    parser.add_argument("--json", action="store_true", help="print facts as JSON")


def db_argument(
    parser: argparse.ArgumentParser, *, server: bool = False, what: str = "the log", default: str = "the user's own"
) -> None:
    """Add the option that names a log to a parser; with `server`, it may be on PostgreSQL."""
    kind, of = (_log_place, ", or the postgresql:// URL of one") if server else (_log_file, "")
    parser.add_argument("--db", type=kind, metavar="FILE", help=f"{what}{of} (default: $HUDKIT_DB, else {default})")


def session_arguments(parser: argparse.ArgumentParser, *, picks: bool = True) -> None:
    """Add the options of every command that works in a session to a parser; with `picks` those that choose one."""
    parser.add_argument("--model", default="", metavar="NAME", help="the model to use, as provider:name")
    parser.add_argument(
        "--script", type=Path, metavar="FILE", help="a scripted model, from a TOML or JSON lines file"
    )
    if picks:
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--session",
            default="",
            metavar="ID",
            help="continue this session (a part of its id, or words of its title)",
        )
        which.add_argument(
            "--continue", dest="last", action="store_true", help="continue the last session of this directory"
        )
    parser.add_argument("--agent", default="", metavar="NAME", help="the agent to use (default: build)")
    for action in ("allow", "deny"):
        help = (
            f'{action} a tool, or only its calls that match, as in "bash pytest *"; repeatable, the last match counts'
        )
        parser.add_argument(f"--{action}", dest="rules", action=_Rule, const=action, metavar="RULE", help=help)
    parser.add_argument(
        "--yes",
        action="store_true",
        help="allow everything that you would be asked about; what is denied stays denied",
    )
    parser.add_argument(
        "--confine",
        action="store_true",
        help="let commands that you are not asked about write only in the project and in temporary directories",
    )
    parser.add_argument(
        "--no-summaries",
        dest="summaries",
        action="store_false",
        help="let the oldest messages leave a full window, where memory reads them; no model summarises them",
    )
    parser.add_argument("--no-hud", dest="hud", action="store_false", help="let the agent work without a HUD")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="where sessions and their HUD are stored (default: the user's data directory)",
    )
    parser.set_defaults(rules=[])
    if not picks:
        parser.set_defaults(session="", last=False)


class _Rule(argparse.Action):
    """Rules in the order in which they were given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        namespace.rules = [*namespace.rules, (self.const, str(values))]


def world_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option of every operation on an existing world."""
    parser.add_argument(
        "--world", metavar="NAME", help="the world's name or file (default: the one that changed last)"
    )
    parser.add_argument("--db", dest="world", type=server_url, metavar="URL", help=WORLD_ON_SERVER)


def file_argument(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    """Add an option that names a file."""
    parser.add_argument(name, type=Path, metavar="FILE", help=help)


def play_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of every operation that plays a world to a parser."""
    parser.add_argument("--model", metavar="NAME", help="the model for all agents from now on, as provider:name")
    quota_arguments(parser)
    parser.add_argument("--resume", action="store_true", help="resume a paused world")
    world_argument(parser)


def quota_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what each model may be asked for."""
    for name, what in (("requests", "requests"), ("tokens", "tokens (input and output)")):
        words = f"how many {what} each model may use per minute (default: [rooms] of the settings)"
        parser.add_argument(f"--{name}-a-minute", type=at_least_one, default=0, metavar="N", help=words)


def _log_place(text: str) -> Path | str:
    """Read the place of a log that an option takes and return it: a file, or a server's URL."""
    from hudkit.paths import is_server_url  # not for `--help`

    return text if is_server_url(text) else Path(text)


def _log_file(text: str) -> Path:
    """Read the file of a log that an option takes and return it. Raises `ArgumentTypeError` for a server's URL."""
    from hudkit.paths import FILE_ONLY, is_server_url

    if is_server_url(text):
        raise argparse.ArgumentTypeError(f"that is a log on a server. {FILE_ONLY}")
    return Path(text)


WORLD_ON_SERVER = "the world on a PostgreSQL server: postgresql://…"
"""What `--db` is for in every operation of `hudkit rooms`."""


def server_url(text: str) -> str:
    """Read the URL that an option takes and return it. Raises `ArgumentTypeError` for what is none."""
    from hudkit.paths import is_server_url

    if not is_server_url(text):
        raise argparse.ArgumentTypeError(
            "that is no postgresql:// URL; a file is named in the place of a world's name"
        )
    return text


def whole_number(text: str) -> int:
    """Read the number that an option takes and return it. Raises `ArgumentTypeError`."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; give a whole number from 0")
    return int(text)


def at_least_one(text: str) -> int:
    """Read the limit that an option takes and return it. Raises `ArgumentTypeError`."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a limit; give a whole number from 1")
    return int(text)
