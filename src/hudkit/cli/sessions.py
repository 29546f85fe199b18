"""`hudkit sessions`: the sessions of hudkit's own agent, listed, searched, exported, forked and deleted."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudkit.cli import complain
from hudkit.cli.common import SCHEMA, as_json, progress_bar, user_settings, written_file
from hudkit.cli.styles import on_terminal, print_lines, print_table
from hudkit.clock import unix_ms
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError, HudkitError, StoreError
from hudkit.hud.session_lookup import matching_sessions, short_ids
from hudkit.paths import data_directory, index_path, log_path
from hudkit.tools.transcript_text import utc_minute

if TYPE_CHECKING:
    from hudkit.agent.records import StoredSession
    from hudkit.agent.session_export import ExportFormat
    from hudkit.agent.session_store import SessionStore

_FILTERS = ("project", "since", "until", "limit")
_OPTIONS: dict[str, tuple[str, ...]] = {
    "list": (*_FILTERS, "model", "all"),
    "search": _FILTERS,
    "export": ("format", "output", "with_secrets"),
    "fork": ("at",),
    "delete": ("yes", "hud"),
    "trim": ("keep_days", "keep_megabytes"),
}
"""The options that an operation takes."""

_MOST_LISTED = 50
_MOST_FOUND = 10
_MODEL_CELLS = 18


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    _check_options(args)
    return _RUNS[args.operation](args, _Places(args.data))


class _Places:
    """Where the sessions are, and the log of their HUD."""

    def __init__(self, data: Path | None) -> None:
        from hudkit.agent.session_store import SESSIONS_FILE

        self.data = data.absolute() if data is not None else data_directory()
        self.log = self.data / "hudkit.db" if data is not None else log_path()
        self.sessions = self.data / SESSIONS_FILE

    def open(self, *, write: bool = False) -> SessionStore:
        """Return the store of the sessions. Raises `ConfigError` where there is none."""
        from hudkit.agent.session_store import SessionStore

        if not self.sessions.exists():
            raise ConfigError(f"there are no sessions in {self.data}", hint='Try: hudkit run "Say hello"')
        store = SessionStore.open(self.sessions, read_only=not write)
        if store.pending_deletions():  # one that was killed: it is carried on by whoever comes next
            from hudkit.agent.session_deletion import finish_deletions

            try:
                with SessionStore.open(self.sessions) as writer:
                    finish_deletions(writer, self.log)
            except StoreError as error:
                complain("sessions", f"a deletion is not over yet, and goes on the next time: {error}")
        return store


def _check_options(args: argparse.Namespace) -> None:
    takes = _OPTIONS[args.operation]
    for option in sorted({name for options in _OPTIONS.values() for name in options}):
        if getattr(args, option) not in (None, False) and option not in takes:
            shown = ", ".join(f"--{name.replace('_', '-')}" for name in takes)
            name = option.replace("_", "-")
            raise ConfigError(f"`sessions {args.operation}` takes no --{name}", hint=f"It takes: {shown}")


def _pick(store: SessionStore, words: Sequence[str]) -> StoredSession:
    """Return the session that is meant; without words the one that was worked in last. Raises `ConfigError`."""
    asked = " ".join(words)
    every = {session.id: session for session in store.sessions()}
    if not asked:
        own = [session for session in every.values() if not session.parent_id]
        if not own:
            raise ConfigError("there are no sessions yet", hint='Try: hudkit run "Say hello"')
        return max(own, key=lambda session: session.updated)
    alike = matching_sessions(asked, every, lambda id: every[id].title)
    if len(alike) != 1:
        some = ", ".join(f'{id} "{shorten(every[id].title, 40)}"' for id in alike[:5])
        hint = f"Sessions: {visible(some)}" if some else "`hudkit sessions` lists them"
        raise ConfigError(f"{len(alike) or 'no'} sessions match {asked!r:.80}", hint=hint)
    return every[alike[0]]


# -- list ------------------------------------------------------------------------------------------------------


def _list(args: argparse.Namespace, places: _Places) -> int:
    with places.open() as store:
        every = store.sessions()
        counts = store.message_counts()
        roots = {project.id: project.root for project in store.projects()}
    chosen = [session for session in every if _is_chosen(session, args, roots)]
    chosen.sort(key=lambda session: session.updated, reverse=True)
    shown = chosen[: args.limit or _MOST_LISTED]
    short = short_ids([session.id for session in every])
    children: dict[str, int] = {}
    for session in every:
        children[session.parent_id] = children.get(session.parent_id, 0) + 1
    if args.json:
        rows = []
        for session in shown:
            row = _facts(session, roots)
            row |= {"short_id": short[session.id], "messages": counts.get(session.id, 0)}
            rows.append(row | {"subagents": children.get(session.id, 0)})
        print(as_json({"schema": SCHEMA, "sessions": rows, "total": len(chosen)}))
        return 0
    if on_terminal():
        _print_table(shown, short, counts)
    else:
        for session in shown:
            figures = (
                f"{utc_minute(session.updated)}  {counts.get(session.id, 0):>4} messages  {_dollars(session):>8}"
            )
            print(visible(f"{session.id}  {figures}  {session.title}"))
    if len(chosen) > len(shown):
        print_lines((f"{len(chosen) - len(shown)} more: --limit shows them",), ((".*", "dim"),))
    return 0


def _print_table(shown: Sequence[StoredSession], short: dict[str, str], counts: dict[str, int]) -> None:
    head = ["id", "updated (UTC)", "title", "model", "messages", "cost"]
    # one directory is no news, and its room is the title's
    several = len({session.directory for session in shown}) > 1
    rows = []
    for session in shown:
        model = shorten(session.model.rpartition(":")[2], _MODEL_CELLS)
        row = [short[session.id], utc_minute(session.updated), session.title or "(no prompt yet)", model]
        row += [f"{counts.get(session.id, 0):,}", _dollars(session)]
        rows.append([*row, Path(session.directory).name] if several else row)
    print_table([*head, "directory"] if several else head, rows, 2, ("cyan", "dim"))


def _is_chosen(session: StoredSession, args: argparse.Namespace, roots: dict[str, str]) -> bool:
    since, until = _time(args.since, "since"), _time(args.until, "until")
    words = " ".join(args.words).casefold()
    return (
        (args.all or not session.parent_id)
        and (not args.project or _is_of_project(session, args.project, roots))
        and (not args.model or args.model in session.model)
        and session.updated >= since
        and (not until or session.updated < until)
        and (words in session.id or all(word in session.title.casefold() for word in words.split()))
    )


def _is_of_project(session: StoredSession, project: str, roots: dict[str, str]) -> bool:
    folders = (session.directory, roots.get(session.project_id, ""))
    if project.startswith((".", "/", "~")):
        whole = str(Path(project).expanduser().resolve())
        return any(folder == whole or folder.startswith(f"{whole}/") for folder in folders)
    return any(project in folder for folder in folders)


def _time(text: str | None, name: str) -> int:
    """A time as Unix ms; an age counts from now. 0 where none is named."""
    from hudkit.tools.history import parse_time

    moment = parse_time(text or "", name)
    return moment if moment >= 0 else unix_ms() + moment


def _facts(session: StoredSession, roots: dict[str, str]) -> dict[str, Any]:
    used = session.usage
    return {
        "id": session.id,
        "title": session.title,
        "directory": session.directory,
        "project": roots.get(session.project_id, ""),
        "agent": session.agent,
        "model": session.model,
        "parent": session.parent_id,
        "created": session.created,
        "updated": session.updated,
        "cost": session.cost or None,
        "input_tokens": used.prompt,
        "output_tokens": used.output,
    }


def _dollars(session: StoredSession) -> str:
    from hudkit.web.page_text import dollars

    return dollars(session.cost) if session.cost else "–"


# -- search ----------------------------------------------------------------------------------------------------


def _search(args: argparse.Namespace, places: _Places) -> int:
    from hudkit.agent.session_transcript import HOST, session_sources
    from hudkit.transcripts.search import PastSessions, SearchQuery
    from hudkit.transcripts.search.query import SearchFilters

    if not args.words:
        raise ConfigError("`sessions search` needs words to look for", hint="Try: hudkit sessions search import")
    if not places.sessions.exists():
        places.open()
    sources = [source for source in session_sources(places.log) if source.host == HOST]
    project = args.project or ""
    if project.startswith((".", "~")):
        project = str(Path(project).expanduser().resolve())
    since, until = _time(args.since, "since"), _time(args.until, "until")
    filters = SearchFilters(host=HOST, project=project, since=since, until=until)
    past = PastSessions(sources, index_path(places.log))
    try:
        with progress_bar() as bar:
            try:
                past.update(
                    progress=lambda now: bar(now.sessions, now.of, "reading") if bar is not None and now.of else None
                )
            except HudkitError as error:
                complain("sessions", f"the index was not updated: {error}")
        hits = past.search(SearchQuery(" ".join(args.words), filters, args.limit or _MOST_FOUND))
        short = short_ids([row.id for row in past.sessions()])
    finally:
        past.close()
    if args.json:
        rows = [
            {
                "session": hit.session,
                "short_id": short.get(hit.session, hit.session),
                "message": hit.message,
                "role": hit.role,
                "tool": hit.tool,
                "time": hit.time,
                "title": hit.title,
                "snippet": hit.snippet,
            }
            for hit in hits
        ]
        print(as_json({"schema": SCHEMA, "hits": rows}))
        return 0
    lines: list[str] = []
    for hit in hits:
        who = f"{hit.role} {hit.tool}".strip()
        lines += [
            f"{short.get(hit.session, hit.session)}  {utc_minute(hit.time)}  {who}  {hit.title}",
            f"    {' '.join(hit.snippet.split())}",
        ]
    print_lines([visible(line) for line in lines] or ("Nothing found.",), ((r"^\S+", "cyan"),))
    return 0


# -- export ----------------------------------------------------------------------------------------------------


def _export(args: argparse.Namespace, places: _Places) -> int:
    from hudkit.agent.session_export import export_session

    if args.json and args.output is None:
        raise ConfigError("--json is about a file that was written", hint="Add --output, or use --format jsonl")
    format: ExportFormat = args.format or "markdown"
    with places.open() as store:
        session = _pick(store, args.words)
        pieces = export_session(store, session.id, format, with_secrets=args.with_secrets)
        with written_file(args.output) as file:
            for piece in pieces:
                file.write(piece)
    if args.output is not None:
        facts = {"file": str(args.output), "session": session.id, "format": format}
        words = visible(f"{session.id} is in {args.output}")
        print(as_json({"schema": SCHEMA, **facts}) if args.json else words)
    return 0


# -- fork ------------------------------------------------------------------------------------------------------


def _fork(args: argparse.Namespace, places: _Places) -> int:
    from hudkit.agent.session_fork import fork_session

    with places.open(write=True) as store:
        source = _pick(store, args.words)
        fork = fork_session(store, source.id, upto=_message_id(store, source.id, args.at))
        count = len(store.messages(fork.id))
    if args.json:
        facts = {"session": fork.id, "fork_of": source.id, "messages": count, "title": fork.title}
        print(as_json({"schema": SCHEMA, **facts}))
    else:
        print(visible(f"{fork.id} has {count} messages of {source.id}"))
        print(f"Go on with: hudkit chat --session {shlex.quote(fork.id)}")
    return 0


def _message_id(store: SessionStore, session_id: str, asked: str | None) -> str:
    """The id of a message of a session, of which the end is enough. Raises `ConfigError`."""
    if not asked:
        return ""
    alike = [message.id for message in store.messages(session_id) if message.id.endswith(asked)]
    if len(alike) != 1:
        raise ConfigError(
            f"{len(alike) or 'no'} messages match {asked!r:.80}",
            hint=f"`hudkit sessions export {shlex.quote(session_id)}` has ids",
        )
    return alike[0]


# -- delete ----------------------------------------------------------------------------------------------------


def _delete(args: argparse.Namespace, places: _Places) -> int:
    from hudkit.agent.session_deletion import delete_session

    if not args.words:
        raise ConfigError("`sessions delete` needs a session", hint="`hudkit sessions` lists them")
    with places.open(write=True) as store:
        session = _pick(store, args.words)
        below = len(store.changes.sub_sessions(session.id))
        what = f'{session.id} "{shorten(session.title, 60)}", {len(store.messages(session.id))} messages'
        what += f", {below} sessions of sub-agents" if below else ""
        if not args.yes and not _is_confirmed(visible(what)):
            print("Nothing is deleted.")
            return 1
        ids = delete_session(store, session.id, log=places.log, hud=args.hud)
    if args.json:
        print(as_json({"schema": SCHEMA, "deleted": list(ids), "hud": args.hud}))
    else:
        print(visible(f"deleted: {what}"))
        if not args.hud:
            print("What its HUD recorded is still in the log; `--hud` removes that, too.")
    return 0


def _is_confirmed(what: str) -> bool:
    """Whether the user wants it. Raises `ConfigError` where nobody can be asked."""
    if not sys.stdin.isatty():
        raise ConfigError("nobody is there to be asked", hint="--yes deletes without a question")
    print(f"{what}\nDelete this for good? [y/N] ", end="", flush=True, file=sys.stderr)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _trim(args: argparse.Namespace, places: _Places) -> int:
    from hudkit.agent.session_deletion import trim_sessions

    settings = user_settings("sessions").session
    days = settings.keep_days if args.keep_days is None else args.keep_days
    megabytes = settings.keep_megabytes if args.keep_megabytes is None else args.keep_megabytes
    if days is None and megabytes is None:
        raise ConfigError("there is no limit", hint="Give --keep-days or --keep-megabytes, or set them in [session]")
    with places.open(write=True) as store:
        ids = trim_sessions(store, keep_days=days, keep_megabytes=megabytes, log=places.log)
    words = f"{len(ids)} sessions deleted"
    print(as_json({"schema": SCHEMA, "deleted": list(ids)}) if args.json else words)
    return 0


_RUNS: dict[str, Callable[[argparse.Namespace, _Places], int]] = {
    "list": _list,
    "search": _search,
    "export": _export,
    "fork": _fork,
    "delete": _delete,
    "trim": _trim,
}
