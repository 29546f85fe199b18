"""`hudkit redact`: takes a secret that reached the log out of it again, physically."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hudkit.cli import CliCommand, complain
from hudkit.cli.common import SCHEMA, as_json, log_arguments, pick, there, user_settings
from hudkit.compose import visible
from hudkit.errors import ConfigError, StoreError
from hudkit.paths import index_path

if TYPE_CHECKING:
    from hudkit.api import Hud
    from hudkit.hud.redaction import TextHit
    from hudkit.log.redaction import SecretText

_DETAILS = """\
Give the secret in a file (`--text-file FILE`) or on standard input, never as an argument: arguments stay in the
shell's history. Or name events of one session by their numbers (`hudkit log` shows them): everything that they say is
removed, wherever the session holds it. Removed: the payloads, the frames that showed the text (also escaped or cut
off), dumps of the state, snapshots, the search index; the files are rewritten. Kept: the events themselves with their
numbers, so that `hudkit verify` still passes, and the rest of each payload with `[redacted]` in it. The next call of
a session that held the text begins a new epoch. A running daemon need not be stopped.

Hosts' own transcripts and exported files are not changed. Files beside the log that still hold the text are listed,
and the exit code is 1. `--dry-run` changes nothing."""

_CHUNK = 1 << 20


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("seq", nargs="*", type=int, metavar="SEQ", help="numbers of the events to remove")
    parser.add_argument(
        "--session", metavar="ID", help="the session that the events belong to (its id, or a part of it)"
    )
    parser.add_argument(
        "--text-file",
        type=Path,
        metavar="FILE",
        help="a file that contains the secret; - reads it from standard input",
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, which stays in the log")
    parser.add_argument("--dry-run", action="store_true", help="list what would be removed, and change nothing")
    parser.add_argument("--index", type=Path, metavar="FILE", help="the search index (default: beside the log)")
    log_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    from hudkit.api import Hud
    from hudkit.hud.redaction import RedactionResult, find_text, needles_of_events, redact_texts
    from hudkit.log.redaction import contains_secret, secret_texts
    from hudkit.log.stores import SqliteLog

    if args.seq and args.text_file is not None:
        raise ConfigError("events and --text-file are two ways", hint="Give one of them")
    if args.session and not args.seq:
        raise ConfigError("--session needs events", hint="A text goes from all sessions; `hudkit log` shows numbers")
    if args.seq and not args.session:
        raise ConfigError("events are named by a session's numbers", hint="Give --session ID, too")
    path = there(args.db)
    log = SqliteLog.open(path, read_only=args.dry_run)
    with Hud(log, settings=user_settings("redact")) as hud:
        if args.seq:
            names: tuple[str, ...] = (pick(log, args.session),)
            wanted = needles_of_events(hud.session(names[0]), args.seq)
        else:
            names, wanted = log.sessions(), secret_texts(_text(args.text_file))
        if contains_secret(args.reason.encode(), wanted):
            raise ConfigError("the reason holds the text itself", hint="It stays in the log: word it otherwise")
        if args.dry_run:
            others = _named(hud, names[0], args.seq) if args.seq else ()
            matches = find_text(log, wanted, names)
            done = RedactionResult(tuple(dict.fromkeys((*others, *(hit for hit in matches if hit.type != "redact")))))
            emptied, indexed = True, 0
        else:
            done = redact_texts({name: hud.session(name) for name in names}, wanted, args.seq, args.reason)
            indexed = _index(args.index or index_path(path), wanted)
            emptied = log.rewrite()
    files = [str(file) for file in _beside(path, wanted)]
    _tell(args, done.hits, done.unredactable, indexed, files)
    if not emptied:
        complain("redact", "another process reads the log: what was removed is still in its -wal file; run it again")
    return 1 if not args.dry_run and (files or done.unredactable or not emptied) else 0


COMMAND = CliCommand(
    example="hudkit redact --text-file secret.txt --dry-run",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)


def _text(file: Path | None) -> str:
    """The secret, from a file or the standard input; on a terminal it is not shown. Raises `ConfigError`."""
    try:
        if file is None or str(file) == "-":
            if sys.stdin.isatty():
                from getpass import getpass

                return getpass("The text to be redacted (not shown): ")
            return sys.stdin.read()
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError("the text is not UTF-8", hint="Give it as UTF-8 text") from error


def _named(hud: Hud, name: str, seqs: Sequence[int]) -> tuple[TextHit, ...]:
    from hudkit.hud.redaction import TextHit

    return tuple(
        TextHit(name, event.seq, event.type)
        for seq in sorted(set(seqs))
        for event in hud.log.read(name, after=seq - 1, upto=seq)
    )


def _index(path: Path, wanted: Sequence[SecretText]) -> int:
    """Take the texts out of the index where there is one; gives the passages that held one."""
    if not path.exists():
        return 0
    from hudkit.transcripts.search import IndexWriter

    try:
        with IndexWriter.open(path) as index:
            return index.redact(*(needle.text for needle in wanted))
    except StoreError as error:
        complain("redact", f"the index is not changed: {error}")
        return 0


def _beside(log: Path, wanted: Sequence[SecretText]) -> Iterator[Path]:
    """Files of the data directory in which the bytes are: the log's own, its copies, the daemon's, exports."""
    folder = log.absolute().parent
    own = (file for file in folder.iterdir() if file.name.startswith(log.stem) or file.name == "daemon.log")
    texts = [form for needle in wanted for form in {needle.raw, json.dumps(needle.text)[1:-1].encode()}]
    for file in sorted((*own, *(folder / "exports").glob("*.json"))):
        if file.is_file() and not file.is_symlink() and _has(file, texts):
            yield file


def _has(file: Path, texts: Sequence[bytes]) -> bool:
    most = max(map(len, texts), default=1)
    with file.open("rb") as stream:
        rest = b""
        while chunk := stream.read(_CHUNK):
            if any(text in rest + chunk for text in texts):
                return True
            rest = chunk[-most:]
    return False


def _tell(
    args: argparse.Namespace, hits: Sequence[TextHit], staying: Sequence[TextHit], indexed: int, files: Sequence[str]
) -> None:
    if args.json:
        facts = {
            "schema": SCHEMA,
            "dry_run": args.dry_run,
            "events": msgspec.to_builtins(hits),
            "kept": msgspec.to_builtins(staying),
            "index_passages": None if args.dry_run else indexed,
            "files": list(files),
        }
        print(as_json(facts))
        return
    for session in dict.fromkeys(hit.session for hit in hits):
        kinds = Counter(hit.type for hit in hits if hit.session == session)
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        print(visible(f"{'would go' if args.dry_run else 'redacted'}: {session}: {counts}"))
    if not hits:
        print("no event holds it")
    if indexed:
        print(f"index for search: {indexed} passages")
    for hit in staying:
        print(visible(f"stays: {hit.session}, event {hit.seq}: the reason of a redaction holds it"))
    for file in files:
        print(visible(f"{'holds it' if args.dry_run else 'still holds it'}: {file}"))
