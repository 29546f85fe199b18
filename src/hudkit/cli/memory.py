"""`hudkit memory`: what was said or done in any session of any host, found, read and compared."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudkit.cli import complain
from hudkit.cli.common import SCHEMA, as_json, pick, progress_bar, user_settings
from hudkit.cli.styles import on_terminal, print_lines, print_markdown, print_table
from hudkit.compose import shorten
from hudkit.errors import ConfigError, HudkitError, StoreError
from hudkit.hud.session_lookup import matching_sessions, short_ids
from hudkit.paths import index_path, log_path
from hudkit.tools.transcript_text import utc_minute

if TYPE_CHECKING:
    from hudkit.api import Hud
    from hudkit.transcripts.search import IndexProgress, PastSessions


_WORDS: dict[str, tuple[str, ...]] = {
    "children": ("session",),
    "messages": ("session",),
    "message": ("session", "id"),
    "output": ("session", "id"),
    "compactions": ("session", "read"),
    "context": ("session",),
    "plans": ("read",),
    "compare": ("a", "b"),
}
"""What the words behind an operation are, in order."""

_OPTIONS: dict[str, tuple[str, ...]] = {
    "sessions": ("limit", "skip", "project", "host", "all", "tokens"),
    "messages": ("limit", "before", "after", "role", "tools", "length", "tokens"),
    "message": ("offset", "tokens"),
    "output": ("offset", "tokens"),
    "compactions": ("offset", "tokens"),
    "plans": ("offset", "tokens"),
    "export": ("transcript",),
    "search": ("limit", "session", "project", "host", "role", "tool", "since", "until", "syntax", "tokens"),
}
"""The options that an operation takes."""

_FLAGS = ("all", "tools", "syntax", "transcript")
_NUMBERS = ("limit", "skip", "length", "offset", "tokens")
_NEED = {
    "children": 1,
    "messages": 1,
    "message": 2,
    "output": 2,
    "compactions": 1,
    "context": 1,
    "compare": 2,
    "search": 1,
}


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    from hudkit.agent.session_transcript import session_sources
    from hudkit.transcripts import OwnTranscript
    from hudkit.transcripts.search import open_past_sessions

    call = _call(args)
    for option in ("opencode", "claude", "codex", "pi"):
        named = getattr(args, option)
        if named is not None and not named.exists():
            raise ConfigError(f"there is nothing at {named}", hint=f"Name what --{option} means, or leave it out")
    log = args.db or log_path()
    with _hud(log, write=args.operation == "import") as hud:
        past = open_past_sessions(
            args.index or index_path(log),
            opencode=args.opencode,
            claude=args.claude,
            codex=args.codex,
            pi=args.pi,
            also=(*session_sources(log), OwnTranscript(hud.log)),
        )
        try:
            return _answer(hud, past, args, call)
        finally:
            past.close()


def _answer(hud: Hud, past: PastSessions, args: argparse.Namespace, call: dict[str, Any]) -> int:
    if args.operation in ("search", "summary", "index") and not args.stale:
        read = _update(past)
        if args.operation == "index":
            counts = {"read": read, **past.counts()}
            line = f"{read:,} messages read; {counts['messages']:,} of {counts['sessions']:,} sessions searchable"
            print(as_json({"schema": SCHEMA, **counts}) if args.json else line)
            return _problems(past)
    hud.past = past
    _resolve_sessions(past, args.operation, call)
    name = call.pop("session", "") if args.operation in ("export", "import") else "hudkit memory"
    if args.operation == "import":
        file = Path(call["name"])
        if file.parent != Path():  # a file of another place; the agent names only what was exported
            past.exports, call["name"] = file.parent, file.name
    if args.operation == "export":
        name = pick(hud.log, name or None)
    answer = hud.session(name).call(args.operation, call)
    if args.json:
        print(as_json({"schema": SCHEMA, **answer.data}))
    elif args.operation == "sessions" and on_terminal():
        _print_sessions(answer.data["sessions"], answer.data["total"])
    else:
        print_markdown(answer.text + "\n")
    return _problems(past)


def _print_sessions(rows: Sequence[dict[str, Any]], total: int) -> None:
    """Print sessions as a table: for people, what they can type and recognize them by."""
    short = short_ids([row["id"] for row in rows])
    cells = [
        (
            short[row["id"]],
            utc_minute(row.get("updated", 0)),
            row.get("title", ""),
            row.get("host", ""),
            Path(row.get("root") or row.get("directory") or "").name,
        )
        for row in rows
    ]
    print_table(("id", "updated (UTC)", "title", "host", "project"), cells, 2, ("cyan", "dim"))
    if total > len(rows):
        print_lines((f"{total - len(rows)} more: --limit and --skip show them",), ((".*", "dim"),))


def _resolve_sessions(past: PastSessions, operation: str, call: dict[str, Any]) -> None:
    """Put whole ids in the place of parts of ids and words of titles. Raises `ConfigError` that lists candidates."""
    if operation in ("export", "import"):  # sessions of the log, which `pick` finds
        return
    titles: dict[str, str] = {}
    for name in ("session", "a", "b"):
        asked = call.get(name)
        if not asked:
            continue
        titles = titles or {row.id: row.title for row in past.sessions()}
        alike = matching_sessions(asked, titles, titles.__getitem__)
        if len(alike) > 1:
            some = ", ".join(f'{id} "{shorten(titles[id], 40)}"' for id in alike[:5])
            raise ConfigError(f"{len(alike)} sessions match {asked!r}", hint=f"Sessions: {some}")
        # one that nothing matches is passed on: the reader of transcripts says better what there is
        call[name] = alike[0] if alike else asked


def _call(args: argparse.Namespace) -> dict[str, Any]:
    """The operation's arguments. Raises `ConfigError` for an option that it does not take."""
    name, words = args.operation, list(args.words)
    if len(words) < _NEED.get(name, 0):
        need = "words to look for" if name == "search" else " and ".join(_WORDS[name][: _NEED[name]])
        raise ConfigError(f"`memory {name}` needs {need}", hint="`hudkit memory sessions` lists ids")
    takes = _OPTIONS.get(name, ())
    call: dict[str, Any] = {}
    for option in sorted({option_name for options in _OPTIONS.values() for option_name in options}):
        value = getattr(args, option)
        if value in (None, False):
            continue
        if option not in takes:
            hint = f"It takes: {', '.join(f'--{taken}' for taken in takes) or 'no options'}"
            raise ConfigError(f"`memory {name}` takes no --{option}", hint=hint)
        call[option] = value
    if name == "search":
        call["query"] = " ".join(words)
    elif name in ("export", "import"):
        call |= {"session": words.pop(0)} if name == "export" and words else {}
        call |= {"name": words.pop(0)} if name == "import" and words else {}
        call |= {"session": words.pop(0)} if name == "import" and words else {}
    else:
        places = _WORDS.get(name, ())
        if len(words) > len(places):
            raise ConfigError(f"`memory {name}` takes {len(places)} words", hint='Put one with spaces into "quotes"')
        call |= dict(zip(places, words, strict=False))
        if name == "compactions" and "read" in call:
            if not call["read"].isdecimal():
                raise ConfigError("a compaction is given by its number", hint="Give 1 for the first")
            call["read"] = int(call["read"])
    if "tokens" in takes:
        call.setdefault("tokens", 4_000)
    return call


def _hud(log: Path, *, write: bool) -> Hud:
    from hudkit.api import Hud
    from hudkit.log.stores import open_log

    if write:
        return Hud.open(log, settings=user_settings("memory"))
    if not log.exists():
        return Hud.in_memory()
    try:
        return Hud(open_log(log, read_only=True), settings=user_settings("memory"))
    except StoreError as error:
        complain("memory", f"the log is skipped: {error}")
        return Hud.in_memory()


def _update(past: PastSessions) -> int:
    """Bring the index up to date, with a bar on a terminal; a reader without the right to write asks it as it is."""
    with progress_bar() as bar:

        def show(progress: IndexProgress) -> None:
            if bar is not None and progress.of:
                bar(progress.sessions, progress.of, f"{progress.messages:,} messages read")

        try:
            return past.update(progress=show)
        except HudkitError as error:
            complain("memory", f"the index was not updated: {error}")
            return 0


def _problems(past: PastSessions) -> int:
    """Say which transcripts could not be read; the exit code then is 1."""
    for host, what in past.problems.items():
        complain("memory", f"{host} is skipped: {what}")
    return 1 if past.problems else 0
