"""`hudkit memory`: what was said or done in any session of any host, found, read and compared."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudkit.cli import CliCommand, complain
from hudkit.cli.common import SCHEMA, as_json, log_arguments, pick, user_settings
from hudkit.errors import ConfigError, HudkitError, StoreError
from hudkit.paths import index_path, log_path

if TYPE_CHECKING:
    from hudkit.api import Hud
    from hudkit.transcripts.search import IndexProgress, PastSessions

_DETAILS = """\
`search` finds messages in the transcripts of OpenCode, Claude Code and Codex, in the sessions of `hudkit run` and
`chat`, and in hudkit's own log; transcripts are read where the hosts keep them, and never written. The index is a
file beside the log (`hudkit.search.db`) that can be rebuilt at any time; each search updates it first, and `index`
does only that. `sessions`, `children SESSION`, `messages SESSION`, `message SESSION ID`, `output SESSION ID` (what a
call gave back, by the number in the line that stands for it or by the call's id), `compactions SESSION`, `plans` and
`compare A B` read further from there. `export` writes what a session of hudkit's log recorded to a JSON file (with
`--transcript` what was said, too, and as markdown beside it),
`import NAME SESSION` reads it into a session; so does `import FILE SESSION` for a file elsewhere, also for one of
plain sections (`currentTask`, `keyDecisions`, `notes` …)."""

OPERATIONS = (
    "summary",
    "sessions",
    "children",
    "messages",
    "message",
    "output",
    "search",
    "compactions",
    "context",
    "plans",
    "compare",
    "export",
    "import",
    "index",
)

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


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", choices=OPERATIONS, metavar="OPERATION", help=", ".join(OPERATIONS))
    parser.add_argument("words", nargs="*", metavar="WORD", help="the words to search for, or ids")
    parser.add_argument("--session", metavar="ID", help="only this session (its id, or the beginning of it)")
    parser.add_argument("--project", metavar="PATH", help="only this directory, or those whose path contains this")
    parser.add_argument("--host", metavar="NAME", help="only this host, as `hudkit memory sessions` names it")
    parser.add_argument(
        "--role", metavar="ROLE", help="only messages of this role: user, assistant, tool, reasoning, summary or host"
    )
    parser.add_argument("--tool", metavar="NAME", help="only calls of this tool and their results")
    parser.add_argument("--since", metavar="TIME", help="only since 2026-11-21, 2026-11-21T09:30, or 7d or 12h ago")
    parser.add_argument("--until", metavar="TIME", help="only before this time")
    parser.add_argument("--limit", metavar="N", type=int, help="at most this many")
    parser.add_argument("--skip", metavar="N", type=int, help="skip this many first")
    parser.add_argument("--before", metavar="ID", help="messages before this one")
    parser.add_argument("--after", metavar="ID", help="messages after this one")
    parser.add_argument("--length", metavar="N", type=int, help="at most this many characters of each message")
    parser.add_argument("--offset", metavar="N", type=int, help="begin at this character of a long text")
    parser.add_argument(
        "--tokens", metavar="N", type=int, help="approximate limit of the answer, in tokens (default: 4000)"
    )
    parser.add_argument("--tools", action="store_true", help="include tool results and reasoning")
    parser.add_argument("--all", action="store_true", help="include the sessions of subagents")
    parser.add_argument("--transcript", action="store_true", help="export what was said, too, also as markdown")
    parser.add_argument("--syntax", action="store_true", help="the words are an FTS5 expression")
    parser.add_argument("--stale", action="store_true", help="do not update the index first")
    parser.add_argument(
        "--opencode", type=Path, metavar="FILE", help="OpenCode's database, if it is not in its usual place"
    )
    parser.add_argument("--claude", type=Path, metavar="DIR", help="Claude Code's projects folder, or one transcript")
    parser.add_argument("--codex", type=Path, metavar="DIR", help="Codex's sessions folder, or one transcript")
    parser.add_argument("--index", type=Path, metavar="FILE", help="the search index (default: beside the log)")
    log_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    from hudkit.agent.session_transcript import session_sources
    from hudkit.transcripts import OwnTranscript
    from hudkit.transcripts.search import open_past_sessions

    call = _call(args)
    for option in ("opencode", "claude", "codex"):
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
            also=(*session_sources(log), OwnTranscript(hud.log)),
        )
        try:
            return _answer(hud, past, args, call)
        finally:
            past.close()


COMMAND = CliCommand(
    example='hudkit memory search "why did the import fail" --project orchard --since 7d',
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)


def _answer(hud: Hud, past: PastSessions, args: argparse.Namespace, call: dict[str, Any]) -> int:
    if args.operation in ("search", "summary", "index") and not args.stale:
        read = _update(past)
        if args.operation == "index":
            counts = {"read": read, **past.counts()}
            line = f"{read:,} messages read; {counts['messages']:,} of {counts['sessions']:,} sessions searchable"
            print(as_json({"schema": SCHEMA, **counts}) if args.json else line)
            return _problems(past)
    hud.past = past
    name = call.pop("session", "") if args.operation in ("export", "import") else "hudkit memory"
    if args.operation == "import":
        file = Path(call["name"])
        if file.parent != Path():  # a file of another place; the agent names only what was exported
            past.exports, call["name"] = file.parent, file.name
    if args.operation == "export":
        name = pick(hud.log, name or None)
    answer = hud.session(name).call(args.operation, call)
    print(as_json({"schema": SCHEMA, **answer.data}) if args.json else answer.text)
    return _problems(past)


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
    bar = sys.stderr.isatty()

    def show(progress: IndexProgress) -> None:
        if bar and progress.of:
            done = 24 * progress.sessions // progress.of
            line = f"{progress.sessions}/{progress.of} sessions, {progress.messages:,} messages"
            print(f"\r[{'#' * done}{'.' * (24 - done)}] {line}", end="", file=sys.stderr, flush=True)

    try:
        return past.update(progress=show)
    except HudkitError as error:
        complain("memory", f"the index was not updated: {error}")
        return 0
    finally:
        if bar:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _problems(past: PastSessions) -> int:
    """Say which transcripts could not be read; the exit code then is 1."""
    for host, what in past.problems.items():
        complain("memory", f"{host} is skipped: {what}")
    return 1 if past.problems else 0
