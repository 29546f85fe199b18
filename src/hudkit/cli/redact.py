"""`hudkit redact`: takes a secret that reached the log out of it again, physically."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hudkit.cli import complain
from hudkit.cli.common import SCHEMA, as_json, existing_log, pick, user_settings
from hudkit.compose import visible
from hudkit.errors import ConfigError, HudkitError, StoreError
from hudkit.paths import OwnFile, data_directory, index_path, own_files

if TYPE_CHECKING:
    from hudkit.api import Hud
    from hudkit.hud.redaction import TextHit
    from hudkit.log.redaction import SecretText


_CHUNK = 1 << 20


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
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
    path = existing_log(args.db)
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
            named = _named(hud, names[0], args.seq) if args.seq else ()
            matches = find_text(log, wanted, names)
            done = RedactionResult(tuple(dict.fromkeys((*named, *(hit for hit in matches if hit.type != "redact")))))
            emptied, indexed = True, 0
        else:
            done = redact_texts({name: hud.session(name) for name in names}, wanted, args.seq, args.reason)
            indexed = _index(args.index or index_path(path), wanted)
            emptied = log.rewrite()
    data = data_directory()
    others: dict[str, int] = {}
    if not args.dry_run and not args.seq:
        others = dict(_redact_others(data, path, wanted))
    files = [str(file) for file in _still_holding(data, path, wanted)]
    _tell(args, done.hits, done.unredactable, indexed, others, files)
    if not emptied:
        complain("redact", "another process reads the log: what was removed is still in its -wal file; run it again")
    return 1 if not args.dry_run and (files or done.unredactable or not emptied) else 0


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


def _redact_others(data: Path, log: Path, wanted: Sequence[SecretText]) -> Iterator[tuple[str, int]]:
    """Take the texts out of every other file that the list says they are removed from; yield what held one, and how
    often. A file that cannot be changed is told, and found again by `_still_holding`."""
    from hudkit.agent.request_log import redact_requests
    from hudkit.agent.session_store import redact_sessions
    from hudkit.hosts.gateway.conversations import redact_rounds
    from hudkit.hud.always_file import redact_always
    from hudkit.transcripts.conversation_store import ConversationStore

    for kind, path in own_files(data, log):
        if kind.redaction != "removed" or path.is_symlink():
            continue
        try:
            match kind.pattern:
                case "sessions.db":
                    count = redact_sessions(path, wanted)
                case "hudkit.conversations.db":
                    with closing(ConversationStore(path)) as conversations:
                        count = conversations.redact(wanted)
                case "hudkit.gateway.db":
                    count = redact_rounds(path, wanted)
                case "requests.db":
                    count = redact_requests(path, wanted)
                case "worlds/*.db":
                    count = _redact_world(path, wanted)
                case "exports/*.json":
                    count = _redact_export(path, wanted)
                case "frames/*.json*":
                    count = _drop_frame(path, wanted)
                case "always.toml":
                    count = redact_always(path, wanted)
                case "daemon.log*" | "outputs/*.txt" | "exports/*.md" | "chat-history":
                    count = _redact_lines(path, wanted)
                case _:
                    continue
        except (HudkitError, msgspec.DecodeError, OSError) as error:
            complain("redact", visible(f"{path} is not changed: {error}"))
            continue
        if count:
            yield str(path), count


def _redact_world(path: Path, wanted: Sequence[SecretText]) -> int:
    """Redact the events of a world that hold the texts; what rests on them is passed over from then on."""
    from hudkit.clock import unix_ms, uuid7
    from hudkit.hud.redaction import find_text
    from hudkit.log import EventDraft, Origin
    from hudkit.log.payloads import Redact
    from hudkit.log.stores import SqliteLog

    with SqliteLog.open(path) as log:
        # Without its first event, the founding, there would be no world: it stays, and the file is named.
        hits = [hit for hit in find_text(log, wanted, log.sessions()) if hit.type != "redact" and hit.seq > 1]
        for hit in hits:
            log.append(hit.session, [EventDraft(uuid7(), unix_ms(), 0, Origin.USER, Redact(seq=hit.seq))])
        if hits:
            log.rewrite()
    return len(hits)


def _redact_export(path: Path, wanted: Sequence[SecretText]) -> int:
    from hudkit.log.redaction import remove_from_json

    raw = path.read_bytes()
    clean = remove_from_json(raw, wanted)
    if clean is raw:
        return 0
    _overwrite(path, msgspec.json.format(clean, indent=2) + b"\n")
    return 1


def _drop_frame(path: Path, wanted: Sequence[SecretText]) -> int:
    """Remove the frame of a session that holds the texts: the next answer of the daemon takes its place."""
    from hudkit.log.redaction import contains_secret

    if not contains_secret(path.read_bytes(), wanted):
        return 0
    path.unlink()
    return 1


def _redact_lines(path: Path, wanted: Sequence[SecretText]) -> int:
    """Replace the lines of a text file that hold the texts, and return how many.

    It is changed in place: the daemon has it open. Where a text goes over several lines in another way than it was
    given, nothing of the file is left.
    """
    from hudkit.log.redaction import MASK, contains_secret

    raw = path.read_bytes()
    if not contains_secret(raw, wanted):
        return 0
    count = 0
    for needle in wanted:
        if b"\n" in needle.raw:
            count += raw.count(needle.raw)
            raw = raw.replace(needle.raw, MASK.encode())
    lines = raw.splitlines(keepends=True)
    clean = [MASK.encode() + b"\n" if contains_secret(line, wanted) else line for line in lines]
    count += sum(before != after for before, after in zip(lines, clean, strict=True))
    body = b"".join(clean)
    if contains_secret(body, wanted):
        body = MASK.encode() + b"\n"
    _overwrite(path, body)
    return max(1, count)


def _overwrite(path: Path, body: bytes) -> None:
    with path.open("r+b") as file:
        file.write(body)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _still_holding(data: Path, log: Path, wanted: Sequence[SecretText]) -> Iterator[Path]:
    """Yield the files of hudkit that hold the texts. Copies of logs are read: archived events in them are packed."""
    texts = [form for needle in wanted for form in {needle.raw, json.dumps(needle.text)[1:-1].encode()}]
    for kind, path in own_files(data, log):
        if not path.is_symlink() and path.is_file() and (_has(path, texts) or _copy_has(kind, path, wanted)):
            yield path


def _copy_has(kind: OwnFile, path: Path, wanted: Sequence[SecretText]) -> bool:
    from hudkit.hud.redaction import find_text
    from hudkit.log.stores import open_log

    if (
        kind.redaction != "named"
        or ".db." not in path.name
        or path.name.endswith(("-wal", "-shm", "-journal", ".mark"))
    ):
        return False
    try:
        with closing(open_log(path, read_only=True)) as log:
            return bool(find_text(log, wanted, log.sessions()))
    except (HudkitError, OSError):
        return False  # not a log of this version: its bytes were looked through


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
    args: argparse.Namespace,
    hits: Sequence[TextHit],
    staying: Sequence[TextHit],
    indexed: int,
    others: Mapping[str, int],
    files: Sequence[str],
) -> None:
    if args.json:
        facts = {
            "schema": SCHEMA,
            "dry_run": args.dry_run,
            "events": msgspec.to_builtins(hits),
            "kept": msgspec.to_builtins(staying),
            "index_passages": None if args.dry_run else indexed,
            "others": dict(others),
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
    for file, count in others.items():
        print(visible(f"redacted: {file}: {count} {'entries' if count > 1 else 'entry'}"))
    for hit in staying:
        print(visible(f"stays: {hit.session}, event {hit.seq}: the reason of a redaction holds it"))
    for file in files:
        print(visible(f"{'holds it' if args.dry_run else 'still holds it'}: {file}"))
