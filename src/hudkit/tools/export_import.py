"""Operations that carry a session out as readable JSON, and in again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.errors import HudkitError, OperationError
from hudkit.hud import SessionCore
from hudkit.log.codec import decode_payload
from hudkit.log.event import Event, Origin
from hudkit.log.payloads import (
    BlockerAdd,
    CompactAfter,
    DecisionRecord,
    FileEdit,
    NoteAdd,
    Payload,
    StepAdd,
    TaskSet,
    Unknown,
)
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import id_text
from hudkit.tools.operation import OperationArguments, OperationResult, Text, operation, reading
from hudkit.tools.record import record
from hudkit.tools.state_ops import readable_sections
from hudkit.tools.transcript_text import SessionArguments, host_session_id, resolve_session_id, transcripts_of
from hudkit.tools.transcripts import whole_transcript
from hudkit.transcripts.event_log_transcript import BOOKKEEPING_EVENTS
from hudkit.transcripts.named_files import read_export, write_export, write_transcript

_SCHEMA = 1
"""Version of exported sessions."""

_MAX_MESSAGES = 50_000
"""Messages of an exported transcript."""

_APART = BOOKKEEPING_EVENTS | {"compact.after", "event.undo", "file.open", "file.close"}
"""Types that make sense in their own session only: they name its frames, its compactions, its event numbers."""


_PLAIN: dict[str, Callable[[str], Payload]] = {
    "currentTask": TaskSet,
    "keyDecisions": DecisionRecord,
    "activeFiles": FileEdit,
    "notes": NoteAdd,
    "blockers": BlockerAdd,
    "nextSteps": StepAdd,
    "compactedContext": lambda summary: CompactAfter(summary=summary),
}
"""The event for each text of a session file of plain sections."""


class _ImportArguments(OperationArguments, frozen=True):
    name: Annotated[Text, Meta(description="The file's name, as `export` told it.")]


class _ExportArguments(OperationArguments, frozen=True):
    transcript: Annotated[bool, Meta(description="Also what was said, and as markdown beside it.")] = False


@reading("export", _ExportArguments, example={"transcript": True})
def _export(session: SessionCore, args: _ExportArguments) -> OperationResult:
    """Write this session's HUD as a JSON file that a person can read, and tell its name.

    With `transcript`, the messages are in it, too, and in a markdown file beside it; secrets of known forms are not.
    """
    state = session.state
    folder = _folder(session)
    facts = {
        "kind": "hudkit-session",
        "schema": _SCHEMA,
        "session": msgspec.to_builtins(state.session) | {"id": session.id, "events": state.seq},
        "sections": {section.name: [row.data for row in section.rows(state)] for section in readable_sections()},
        # The events carry the import, the sections are for people who read the file.
        "events": [_event(event) for event in session.events() if event.type not in _APART and event.payload],
    }
    name = host_session_id(session)
    data: dict[str, Any] = {"events": len(facts["events"])}
    note = ""
    if args.transcript:
        transcript, row = transcripts_of(session).find(resolve_session_id(session, SessionArguments()))
        words, messages = whole_transcript(transcript, row.id, _MAX_MESSAGES)
        facts["transcript"] = messages
        title = visible(shorten(without_secrets(row.title or row.id), 120))
        markdown = write_transcript(folder, name, f"# {title}\n\n{words}\n")
        data |= {"messages": len(messages), "markdown": str(markdown)}
        note = f" The transcript, {len(messages)} messages, is in it and in {id_text(markdown.name)}."
    path = write_export(folder, name, facts)
    text = f"Exported {state.seq} events' state to {id_text(path.name)} in {id_text(str(folder))}.{note}"
    return OperationResult(text, {"name": path.name, "path": str(path), **data})


@operation("import", _ImportArguments, example={"name": "ses_1.json"})
def _import(session: SessionCore, args: _ImportArguments, origin: Origin) -> OperationResult:
    """Take over what an exported session had recorded: its items, decided and done as they were.

    A session file of plain sections (`currentTask`, `keyDecisions`, `notes` …) is taken over as well. Texts that are
    here already are not added again. Who is named as the author is who imports.
    """
    facts = read_export(_folder(session), args.name)
    payloads = list(_plain_payloads(facts) if "kind" not in facts else _exported_payloads(facts))

    def decide(state: HudState) -> Sequence[Payload]:
        # Ids of two sessions would collide, and one could not be told from the other.
        if any(section.rows(state) for section in readable_sections() if section.replaces):
            raise OperationError(
                "this session has items of its own", hint="Import into a new session, or `clear` this one first."
            )
        return tuple(payloads)

    change = record(session, origin, decide)
    text = f"Imported {len(change.events)} events from {id_text(args.name)}." if change else "Nothing to import."
    return OperationResult(text + change.note, {"recorded": bool(change), "events": len(change.events)})


def _exported_payloads(facts: Mapping[str, Any]) -> Iterator[Payload]:
    """What an export of ours holds. Raises `OperationError` for one of another version."""
    if facts.get("schema") != _SCHEMA:
        raise OperationError("the export was written by another version of hudkit", hint=f"This one reads {_SCHEMA}.")
    recorded = facts.get("events")
    for exported in recorded if isinstance(recorded, list) else []:
        if (payload := _payload(exported)) is not None:
            yield payload


def _plain_payloads(facts: Mapping[str, Any]) -> Iterator[Payload]:
    """What a session file of plain sections holds (`PLAIN_SECTIONS`); what is no text is left out."""
    for section, make in _PLAIN.items():
        told_texts = facts.get(section)
        texts = [
            text for text in (told_texts if isinstance(told_texts, list) else [told_texts]) if isinstance(text, str)
        ]
        yield from map(make, dict.fromkeys(text for text in texts if text.strip()))


def _event(event: Event) -> dict[str, Any]:
    payload = event.payload
    body = {"unknown": True} if isinstance(payload, Unknown) else msgspec.to_builtins(payload)
    return {"seq": event.seq, "at": event.timestamp, "origin": str(event.origin), "v": event.v, **body}


def _payload(exported: object) -> Payload | None:
    """A payload of an export; what this version does not know is left out, and so is what is not about work."""
    if not isinstance(exported, dict) or exported.get("type") in _APART or exported.get("unknown"):
        return None
    # The file may have been edited by hand: nothing in it is taken on trust, and one bad event spoils no other.
    version = exported.get("v")
    body = {key: value for key, value in exported.items() if key not in ("seq", "at", "origin", "v")}
    try:
        payload = decode_payload(
            str(exported.get("type")), version if isinstance(version, int) else 1, msgspec.json.encode(body)
        )
    except (msgspec.DecodeError, HudkitError):
        return None
    return None if isinstance(payload, Unknown) else payload


def _folder(session: SessionCore) -> Path:
    folder = transcripts_of(session).exports
    if folder is None:
        raise OperationError("this host has no folder for exports", hint="`snapshot` tells the state.")
    return folder
