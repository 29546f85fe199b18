"""A stored session as one file for people or programs: markdown, JSON lines, or a page that needs no network.

Sub-agents' sessions stand behind the session that started them. Known forms of secrets are replaced, unless they are
asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from hudkit.agent.records import (
    Attachment,
    ChangedFiles,
    CompactionMarker,
    StoredCall,
    StoredMessage,
    StoredPart,
    StoredReasoning,
    StoredSession,
    StoredText,
    TrimMarker,
)
from hudkit.agent.session_store import SessionStore
from hudkit.agent.session_transcript import SessionTranscript
from hudkit.compose import shorten, visible
from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.errors import SessionError
from hudkit.log.secret_patterns import without_secrets
from hudkit.tools.transcripts import whole_transcript
from hudkit.web.elements import Child, e, write
from hudkit.web.page_text import count_of, day_and_time, dollars
from hudkit.web.readable_markdown import readable_markdown

ExportFormat: TypeAlias = Literal["markdown", "jsonl", "html"]

EXPORT_FORMATS: tuple[str, ...] = get_args(ExportFormat)
"""The formats of an export."""

_SCHEMA = 1
"""Version of the fields of JSON lines; raised when one changes its meaning or goes away."""

_ALL = 10**9

_Clean: TypeAlias = Callable[[str], str]


def export_session(
    store: SessionStore, session_id: str, format: ExportFormat, *, with_secrets: bool = False
) -> Iterator[str]:
    """Yield the text of an exported session, its sub-agents' behind it, piece by piece.

    Raises `SessionError` where there is no such session.
    """
    session = store.session(session_id)
    if session is None:
        raise SessionError(f"no session {session_id!r:.80}", hint="`hudkit sessions` lists them")
    clean = _as_it_is if with_secrets else without_secrets
    every = [session, *(child for id in store.changes.sub_sessions(session_id) if (child := store.session(id)))]
    match format:
        case "markdown":
            return _markdown(store, every, clean)
        case "jsonl":
            return _json_lines(store, every, clean)
        case "html":
            return iter((_page(store, every, clean),))


def _as_it_is(text: str) -> str:
    return text


def _title(session: StoredSession, clean: _Clean) -> str:
    return visible(shorten(clean(session.title or session.id), 120))


def _markdown(store: SessionStore, sessions: list[StoredSession], clean: _Clean) -> Iterator[str]:
    transcript = SessionTranscript(store)
    for number, session in enumerate(sessions):
        about = f"Session {session.id}, agent {session.agent}, model {session.model}, in {session.directory}"
        head = f"# {'Sub-agent: ' if number else ''}{_title(session, clean)}\n\n{visible(clean(about))}\n\n"
        words, _ = whole_transcript(transcript, session.id, _ALL, clean)
        yield f"{chr(10) if number else ''}{head}{words}\n"


def _json_lines(store: SessionStore, sessions: list[StoredSession], clean: _Clean) -> Iterator[str]:
    for session in sessions:
        yield _line({"kind": "session", "schema": _SCHEMA, **msgspec.to_builtins(session)}, clean)
        for message in store.messages(session.id):
            yield _line({"kind": "message", **msgspec.to_builtins(message)}, clean)


def _line(facts: dict[str, Any], clean: _Clean) -> str:
    return f"{json.dumps(_cleaned(facts, clean))}\n"


def _cleaned(value: Any, clean: _Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _cleaned(item, clean) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item, clean) for item in value]
    return value


# -- the page --------------------------------------------------------------------------------------------------


def _page(store: SessionStore, sessions: list[StoredSession], clean: _Clean) -> str:
    folder = files("hudkit.web") / "static"
    styles = "\n".join((folder / name).read_text(encoding="utf-8") for name in ("base.css", "transcript.css"))
    title = write(e("title", _title(sessions[0], clean)))
    body = write(
        e("body", e("main", *(_session(store, session, clean) for session in sessions), class_="transcript"))
    )
    # Pages load their style from a server. This one has none: its style is our own text, put in here, and the policy
    # keeps a reader from loading or running anything else.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{title}<style>\n{styles}</style></head>{body}</html>\n"
    )


def _session(store: SessionStore, session: StoredSession, clean: _Clean) -> HtmlElement:
    messages = store.messages(session.id)
    facts = [session.agent, session.model, session.directory, count_of(len(messages), "message")]
    facts += [dollars(session.cost)] if session.cost else []
    head = e(
        "header",
        e("h1", f"{'Sub-agent: ' if session.parent_id else ''}{_title(session, clean)}"),
        e("p", day_and_time(session.created), " · ", clean(" · ".join(filter(None, facts))), class_="hint"),
        e("p", e("code", session.id), class_="hint"),
    )
    return e("article", head, *(_message(message, clean) for message in messages))


def _message(message: StoredMessage, clean: _Clean) -> HtmlElement:
    who = "summary" if message.summary else message.role
    head = e(
        "header",
        e("b", who),
        e("span", message.model, class_="hint grow"),
        day_and_time(message.created),
        e("code", message.id, class_="hint"),
    )
    ended = e("p", f"ended by {clean(message.error)}", class_="fault") if message.error else None
    parts = [_part(part, message.role == "user", clean) for part in message.parts]
    return e("section", head, *parts, ended, class_=f"message {who}", id=message.id)


def _part(part: StoredPart, user: bool, clean: _Clean) -> Child:
    match part:
        case StoredText(text=text) if part.synthetic:
            return _folded("put in by the host", clean(text))
        case StoredText(text=text) if user:
            return e("div", clean(text), class_="words")
        case StoredText(text=text) if not part.ignored:
            return e("div", readable_markdown(clean(text)), class_="readable")
        case StoredReasoning(text=text) if text.strip():
            return _folded("thoughts", clean(text))
        case StoredCall():
            return _call(part, clean)
        case Attachment():
            size = f", {len(part.data):,} bytes" if part.data else ""
            return e("p", "attached: ", e("code", clean(part.path or "a file")), f" {part.media_type}{size}")
        case ChangedFiles(files=changed):
            return e("p", "changed: ", e("code", clean(", ".join(changed))), class_="hint")
        case CompactionMarker(auto=auto):
            return e("p", f"compaction ({'automatic' if auto else 'asked for'})", class_="hint")
        case TrimMarker(text=text):
            return e("p", clean(text), class_="hint")
    return None


def _call(call: StoredCall, clean: _Clean) -> HtmlElement:
    about = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    code = call.metadata.get("exit")
    failed = bool(call.status == "error" or code)
    state = f"exit code {code}" if code else call.status
    return e(
        "details",
        e(
            "summary",
            e("b", call.tool),
            e("code", clean(shorten(" ".join(about.split()), 100)), class_="grow"),
            e("span", state, class_="badge error" if failed else "badge"),
        ),
        e("pre", clean(json.dumps(call.arguments, indent=2, ensure_ascii=False))),
        e("pre", clean(call.error or call.output)) if call.error or call.output else None,
        class_="call",
    )


def _folded(what: str, text: str) -> HtmlElement:
    return e("details", e("summary", what), e("div", text, class_="words"))
