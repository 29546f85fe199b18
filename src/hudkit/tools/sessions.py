"""Operations on the sessions of all hosts: counts, lists, children, and a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.errors import HudkitError, OperationError
from hudkit.hud import SessionCore
from hudkit.hud.session_keys import PROJECT_LOG, host_id_of_key, host_of_key
from hudkit.log.secret_patterns import without_secrets
from hudkit.tools.answer_text import id_text, indented_block, quote
from hudkit.tools.help import call_text
from hudkit.tools.operation import AnyText, EmptyArguments, OperationArguments, OperationResult, reading
from hudkit.tools.resume_task import recorded_states
from hudkit.tools.transcript_text import (
    SessionArguments,
    TokenRoom,
    Tokens,
    host_session_id,
    id_cell,
    markdown_table,
    message_words,
    resolve_session_id,
    table_cell,
    transcripts_of,
    utc_minute,
)
from hudkit.transcripts.event_log_transcript import HOST as OWN
from hudkit.transcripts.transcript import Message, PatchPart, SessionRow, ToolPart

if TYPE_CHECKING:
    from hudkit.transcripts.search import PastSessions

_MAX_MESSAGES = 50_000
"""Of one session that a comparison looks at."""

_MAX_ANSWERS = 10
"""Children whose last answer is told, the newest."""

_ANSWER_CHARS = 1_200

_MAX_RECORDED = 10
"""Decisions and rules that a comparison names of each side."""

_EDITS = ("edit", "write", "multiedit", "patch", "apply_patch", "notebookedit")
_PATHS = ("filePath", "file_path", "path", "notebook_path")


class _SessionsArguments(OperationArguments, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many at most.")] = 20
    skip: Annotated[int, Meta(ge=0, description="How many to pass over first.")] = 0
    project: Annotated[AnyText, Meta(description="Only of this directory, or of one that has this in its path.")] = ""
    projectPath: Annotated[AnyText, Meta(description="The same as project.")] = ""
    host: Annotated[AnyText, Meta(description="Only of this host (opencode, claude-code, codex, pi, hudkit).")] = ""
    all: Annotated[bool, Meta(description="Also those of subagents.")] = False
    tokens: Tokens = 2_000


class _CompareArguments(OperationArguments, frozen=True):
    a: Annotated[AnyText, Meta(description="A session's id.")]
    b: Annotated[AnyText, Meta(description="Another session's id; without it, this session.")] = ""


@reading("summary", EmptyArguments)
def _summary(session: SessionCore, _: EmptyArguments) -> OperationResult:
    """Count what there is: sessions, projects and messages, by host; and the todos of this session."""
    past = transcripts_of(session)
    rows = _without_copies(past.sessions(), "")
    hosts = Counter(map(_host_of, rows))
    projects = len({row.root for row in rows if row.root})
    try:
        counts = past.counts()
    except HudkitError as error:
        # The list is there without the index; it says that the counts are not.
        counts, past.problems["search"] = {}, str(error)
    data: dict[str, Any] = {"sessions": len(rows), "projects": projects, "hosts": dict(hosts), "index": counts}
    lines = markdown_table(("host", "sessions"), [(host, count) for host, count in hosts.most_common()])
    lines.append(
        f"\n{len(rows):,} sessions, {projects:,} projects, {counts.get('messages', 0):,} messages searchable."
    )
    data["todos"] = dict(Counter(todo.status for todo in session.state.todos.items))
    if data["todos"]:
        counted = ", ".join(f"{count} {visible(status)}" for status, count in data["todos"].items())
        lines.append(f"Todos of this session: {counted} (todos.list).")
    lines += [f"- {id_text(host)}: {what}" for host, what in past.problems.items()]
    if past.problems:
        data["problems"] = dict(past.problems)
    return OperationResult("\n".join(lines), data)


@reading("sessions", _SessionsArguments, example={"limit": 10})
def _sessions(session: SessionCore, args: _SessionsArguments) -> OperationResult:
    """List the sessions of all hosts, the newest first, with the ids that the other operations take.

    Where a session has an open task, `task.resume` takes it up in this one.
    """
    wanted = args.project or args.projectPath
    rows = [
        row
        for row in _without_copies(transcripts_of(session).sessions(), args.host)
        if (args.all or not row.parent_id)
        and (not args.host or args.host in (row.host, _host_of(row)))
        and (not wanted or wanted in row.root or wanted in row.directory)
    ]
    return _listing("Sessions", rows, args.skip, args.limit, args.tokens, session)


@reading("children", SessionArguments, example={"session": "ses_1"})
def _children(session: SessionCore, args: SessionArguments) -> OperationResult:
    """List the sessions of a session's subagents, with what each said last and the call that reads all of it."""
    parent = resolve_session_id(session, args)
    past = transcripts_of(session)
    rows = [row for row in past.sessions() if row.parent_id == parent]
    listed = _listing(f"Children of {id_text(parent)}", rows, 0, 200, 2_000, session)
    room, parts = TokenRoom(2_000), [listed.text]
    for row, facts in zip(rows[:_MAX_ANSWERS], listed.data["sessions"], strict=False):
        answer = _last_answer(past, row.id)
        facts["answer"] = answer
        call = call_text("memory", "messages", {"session": row.id})
        words = shorten(answer, _ANSWER_CHARS)
        text = f"{id_cell(row.id)} said last:\n{indented_block(words)}\n\nAll of it: {call}"
        if not answer or not room.take(text):
            text = f"{id_cell(row.id)}: {call}"
        parts.append(text)
    return OperationResult("\n\n".join(parts), listed.data)


def _last_answer(past: PastSessions, id: str) -> str:
    """What a session's agent said last, without its calls; empty where it has said nothing yet."""
    answer = ""
    with suppress(HudkitError):
        transcript, _ = past.find(id)
        for message in islice(transcript.messages(id), _MAX_MESSAGES):
            if message.role == "assistant" and (words := message_words(message).strip()):
                answer = words
    return shorten(without_secrets(answer), 20_000)


def _without_copies(rows: Sequence[SessionRow], host: str) -> Sequence[SessionRow]:
    """The sessions without those of our log that a host has, too, unless our log is what is asked for; a host whose
    transcripts nobody can read (those in a process) is in our log alone."""
    if host == OWN:
        return rows
    # A host's own list knows more of its sessions than our log of them.
    theirs = {row.id for row in rows if row.host != OWN}
    return [
        row
        for row in rows
        if row.host != OWN or (host_id_of_key(row.id) not in theirs and not row.id.startswith(f"{PROJECT_LOG}@"))
    ]


def _host_of(row: SessionRow) -> str:
    """The host of a session, which in our log is in its key."""
    return (host_of_key(row.id) if row.host == OWN else "") or row.host


def _listing(
    title: str, rows: Sequence[SessionRow], skip: int, limit: int, tokens: int, session: SessionCore
) -> OperationResult:
    page = rows[skip : skip + limit]
    own, state_of = host_session_id(session), recorded_states(session)
    room = TokenRoom(tokens)
    head = markdown_table(("session", "title", "project", "host", "updated (UTC)"), ())
    shown: list[str] = []
    facts: list[dict[str, Any]] = []
    for row in page:
        state = state_of(row.id)
        task = state.task.description if state else ""
        name = row.title or task or (state.session.first_request if state else "")
        mark = " (this one)" if own in (row.id, host_id_of_key(row.id)) else " (open task)" if task else ""
        cells = (table_cell(name) + mark, table_cell(row.root or row.directory), table_cell(_host_of(row)))
        line = f"| {id_cell(row.id)} | {' | '.join(cells)} | {utc_minute(row.updated)} |"
        # The rest is named with the call that gets it.
        if not room.take(line):
            break
        shown.append(line)
        facts.append(msgspec.to_builtins(row) | {"task": task})
    rest = len(rows) - skip - len(shown)
    parts = [f"{title} ({len(rows)})", "", *head, *shown] if rows else [f"{title}: none"]
    if rest > 0:
        parts.append(f"\n+{rest} older: skip {skip + len(shown)}")
    data = {"total": len(rows), "sessions": facts}
    return OperationResult("\n".join(parts), data)


@reading("compare", _CompareArguments, example={"a": "ses_1", "b": "ses_2"})
def _compare(session: SessionCore, args: _CompareArguments) -> OperationResult:
    """Compare two sessions: what was decided, how long they were, what was called, which files both changed."""
    past = transcripts_of(session)
    ids = [resolve_session_id(session, SessionArguments(session=asked)) for asked in (args.a, args.b)]
    if ids[0] == ids[1]:
        raise OperationError("a session cannot be compared with itself", hint="`sessions` lists the ids.")
    first, second = (_facts(past, id) for id in ids)
    rows = [(name, first[name], second[name]) for name in first if isinstance(first[name], int | str)]
    tools = sorted(first["tools"].keys() | second["tools"].keys())
    rows += [(f"calls of {tool}", first["tools"].get(tool, 0), second["tools"].get(tool, 0)) for tool in tools[:30]]
    both = sorted(first["files"] & second["files"])
    lines = ["", *markdown_table(("", *map(str, ids)), rows), ""]
    lines.append(f"Files that both changed ({len(both)}): {', '.join(map(id_text, both[:20])) or 'none'}")
    for id, this, other in ((ids[0], first, second), (ids[1], second, first)):
        only = sorted(this["files"] - other["files"])
        lines.append(f"- only {id_text(id)} ({len(only)}): {', '.join(map(id_text, only[:20])) or 'none'}")
    lines += _recorded_lines(session, ids, (first, second))
    data = {id: {**facts, "files": sorted(facts["files"])} for id, facts in zip(ids, (first, second), strict=True)}
    return OperationResult("\n".join(lines).lstrip("\n"), data)


def _recorded_lines(session: SessionCore, ids: Sequence[str], facts: Sequence[dict[str, Any]]) -> list[str]:
    """What the HUD holds of both sessions, as lines; what is in force there is added to their facts."""
    state_of = recorded_states(session)
    states = [state_of(id) for id in ids]
    lines: list[str] = []
    for id, state, own in zip(ids, states, facts, strict=True):
        if state is None:
            lines += ["", f"What was decided in {id_text(id)} is not recorded in the HUD."]
            continue
        own["task"] = state.task.description
        own["decisions"] = [decision.summary for decision in state.decisions]
        own["constraints"] = [constraint.text for constraint in state.constraints]
        own["preferences"] = [preference.text for preference in state.preferences]
        own["blockers"] = [blocker.description for blocker in state.blockers]
        lines += ["", f"Task of {id_text(id)}: {quote(state.task.description, 200) if state.task else 'none set'}"]
    if None in states:
        return lines
    for name, title in (
        ("decisions", "Decided"),
        ("constraints", "Rules"),
        ("preferences", "Preferences"),
        ("blockers", "Blockers"),
    ):
        first, second = ([*dict.fromkeys(own[name])] for own in facts)
        if not first and not second:
            continue
        lines += ["", *_side(f"{title} in both", [text for text in first if text in second])]
        lines += _side(f"{title} only in {id_text(ids[0])}", [text for text in first if text not in second])
        lines += _side(f"{title} only in {id_text(ids[1])}", [text for text in second if text not in first])
    return lines


def _side(title: str, texts: Sequence[str]) -> list[str]:
    more = f"- +{len(texts) - _MAX_RECORDED} older" if len(texts) > _MAX_RECORDED else ""
    shown = [f"- {quote(text, 200)}" for text in texts[-_MAX_RECORDED:]]
    return [f"{title} ({len(texts)}){':' if texts else ''}", *filter(None, [more, *shown])]


def _facts(past: PastSessions, id: str) -> dict[str, Any]:
    transcript, row = past.find(id)
    roles: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    files: set[str] = set()
    errors = compactions = 0
    last: Message | None = None
    for message in islice(transcript.messages(id), _MAX_MESSAGES):
        roles[message.role] += 1
        compactions += message.summary
        errors += bool(message.error)
        last = message
        for part in message.parts:
            if isinstance(part, ToolPart):
                tools[part.tool] += 1
                errors += part.status == "error"
                if part.tool.lower() in _EDITS:
                    files.update(str(part.input[key]) for key in _PATHS if part.input.get(key))
            elif isinstance(part, PatchPart):
                files.update(part.files)
    done = [todo.status for todo in transcript.todos(id)]
    return {
        "title": row.title,
        "project": row.root or row.directory,
        "host": row.host,
        "begun (UTC)": utc_minute(row.created),
        "last (UTC)": utc_minute(last.created if last else row.updated),
        "messages of the user": roles["user"],
        "responses": roles["assistant"],
        "errors": errors,
        "compactions": compactions,
        "todos done": f"{done.count('completed')} of {len(done)}",
        "tools": dict(tools),
        "files": files,
    }
