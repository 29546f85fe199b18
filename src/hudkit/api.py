"""The facade: open a log, take a session, call operations, compose frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from hudkit.clock import unix_ms, uuid7
from hudkit.config import Settings
from hudkit.errors import HudkitError, OperationError, SequenceConflict, StoreError
from hudkit.hud import ClockAndIds, SessionCore, TokenCounter
from hudkit.hud.cross_session import LinkedSessionSync, ProjectDefaults, ResumeOffer
from hudkit.hud.session_core import APPEND_ATTEMPTS, FrameStep
from hudkit.hud.session_keys import PROJECT_LOG, encode_key_part, host_id_of_key, keys_with_id, project_key
from hudkit.lazy import lazy_function
from hudkit.log.event import Event, EventDraft, Origin
from hudkit.log.event_log import EventLog, Finding
from hudkit.log.payloads import EventUndo, Payload, SessionStart
from hudkit.sections.state import HudState
from hudkit.tokens.counting import DeferredCounter

if TYPE_CHECKING:  # messages and operations cost time to import, and who only reads a log needs neither
    from hudkit.hud.always_file import AlwaysItems
    from hudkit.ingest import IngestBatch, IngestEvent, IngestState
    from hudkit.ingest.ingester import ForkCandidate
    from hudkit.paths import SectionPaths
    from hudkit.sections.sandboxed import (
        PackagePreparation,
        PackageSections,
        ProjectFile,
        Sandbox,
        SectionPreparation,
    )
    from hudkit.tools import OperationResult
    from hudkit.transcripts import Message
    from hudkit.transcripts.search import PastSessions


_NEAR_END = 32
"""Messages at the end of a transcript among which the last one of the call before is, as a rule."""

_CHUNK, _MAX_CHUNKS = 1_000, 5
"""Events that are read at once to find what a host took back, and how often where its history may be cut in front."""


class HudSession(SessionCore):
    """A session of a `Hud`: its facts are appended, its state is read, its frames are composed.

    `call` carries out an operation for a program, `tool` one that a model asked for; `ingest` records what messages
    tell, `frame` gives what the next call carries; `state`, `state_at`, `frame_at` and `events` read what was.

        session = hud.session("ses_1", project="/path/to/project")
        session.call("task.set", {"description": "Implement auth"})
        frame = session.frame(used_tokens=134_000, limit_tokens=200_000)

    Not safe for several threads; several processes may have the same session.
    """

    def call(
        self, operation: str, args: Mapping[str, Any] | None = None, *, origin: Origin = Origin.AGENT
    ) -> OperationResult:
        """Carry out an operation (`task.set`, `hud_note`, …) and return its answer.

        Raises `OperationError` with a text that tells how to call it right, or a `StoreError` where it could not be
        recorded.
        """
        from hudkit.tools import call

        return call(self, operation, args or {}, origin=origin)

    def tool(self, router: str, arguments: Mapping[str, Any] | str, *, origin: Origin = Origin.AGENT) -> str:
        """Return the answer to a model's call of the `hud` or `memory` tool; a mistake is answered, never raised."""
        from hudkit.tools import route

        return route(self, router, arguments, origin=origin)

    @property
    def has_transcript(self) -> bool:
        """Return whether what was said in this session can be read again: only then may something be taken out of
        its window with the word that `memory` gets it back."""
        if self.past is None:
            return False
        if not self._has_transcript:
            from hudkit.tools.transcript_text import host_session_id

            host = self.state.session.host or self.id.partition("@")[0].rpartition("/")[0]
            self._has_transcript = self.past.has(host_session_id(self), host)
        return self._has_transcript

    _has_transcript = False

    project_path: Path | None = None
    """The project's directory, where the session was taken with one."""
    _ingester: TranscriptIngester | None = None

    @cached_property
    def _message_names(self) -> dict[str, str]:
        """Of messages that `ingest` was given, by their ids, the names that their events know them by."""
        return {}

    def ingest(
        self,
        messages: Iterable[Mapping[str, Any] | Message],
        *,
        directory: str | os.PathLike[str] = "",
        limit_tokens: int | None = None,
    ) -> tuple[Event, ...]:
        """Record what messages tell: requests, rules, decisions, files, failures, test results, usage.

        Returns the events as stored; the same messages again add nothing, also in another process. A message is a
        mapping, or a `Message` of `hudkit.transcripts`. It is known by its role and `time` (Unix ms); where it has no
        time, by its `id`, or else by its words, and is dated when it is first seen. `directory` is what paths in tool
        calls are relative to (default: the project's), `limit_tokens` the model's window.

            session.ingest([
                {"id": "m1", "role": "user", "text": "Never touch legacy/", "time": 1_795_000_000_000},
                {"id": "m2", "role": "assistant", "tool_calls": [
                    {"tool": "bash", "arguments": {"command": "pytest"}, "output": "1 failed", "exit_status": 1},
                ]},
            ])

        Raises `MessageError`, which names message and field and says what would be right, before anything is
        recorded; a `StoreError` where it could not be recorded.
        """
        from hudkit.ingest import IngestBatch, read_plain_messages
        from hudkit.ingest.event_ids import fingerprint
        from hudkit.ingest.first_seen import entry_key

        read = read_plain_messages(messages)
        ingester = self._own_ingester(os.fspath(directory))
        undated = [entry_key(message.id) for message in read if not message.created]
        times = iter(ingester.first_seen(undated, self._environment.clock())) if undated else iter(())
        dated = [message if message.created else replace(message, created=next(times)) for message in read]
        self._message_names.update({message.id: fingerprint(message) for message in dated if message.id})
        return ingester.record(IngestBatch(messages=dated, limit=limit_tokens))

    # -- what the host takes back ------------------------------------------------------------------------------

    def follow_transcript(
        self, anchors: Sequence[str], *, whole: bool = False, used_tokens: int | None = None
    ) -> tuple[Event, ...]:
        """Record what the host took back or brought back, as the anchors of its messages tell; return the events.

        What messages recorded or told that were newer than all that are still there is taken back
        (`hudkit.ingest.reverts`); messages that are there again bring back what was theirs. `whole` says that the
        host has no messages but these: then nothing known means that all was taken back. `used_tokens` are those in
        the window now. Every frame with a transcript does this first. Raises a `StoreError`.
        """
        from hudkit.ingest.reverts import find_history_change, message_name

        names = self._message_names
        if self._is_as_it_was(anchors):
            return ()
        transcript = [names.get(anchor) or message_name(anchor) for anchor in anchors]
        present = {*anchors, *transcript}

        def decide(state: HudState) -> Sequence[Payload]:
            events = self._last_events(state.seq, present, whole=whole)
            change = find_history_change(events, transcript, whole=whole, used_tokens=used_tokens, names=names)
            return change.payloads

        return self.decide(decide, origin=Origin.HOST)[0]

    def revert(
        self, message: str | Mapping[str, Any] | Message, *, used_tokens: int | None = None
    ) -> tuple[Event, ...]:
        """Take back what a message and all after it recorded or told, and return the events.

        `message` is one that was ingested, its id or its anchor. Where messages are compared with each call anyway
        (`frame` with a transcript), nobody has to say it. State and frames of before stay as they were. Raises
        `OperationError` where the log knows no such message, or a `StoreError`.
        """
        from hudkit.ingest import read_plain_messages
        from hudkit.ingest.event_ids import fingerprint
        from hudkit.ingest.reverts import revert_from

        if isinstance(message, str):
            name = self._name_of(message)
        else:
            read = read_plain_messages([message])[0]
            name = fingerprint(read) if read.created else self._name_of(read.id)

        def decide(state: HudState) -> Sequence[Payload]:
            payload = revert_from(tuple(self.events(0, state.seq)), name, used_tokens, self._message_names)
            if payload is None:
                raise OperationError(
                    f"no message {name!a:.80} is known", hint="Name one that was ingested, or the anchor of a call"
                )
            return (payload,)

        return self.decide(decide, origin=Origin.HOST)[0]

    def restore(self) -> tuple[Event, ...]:
        """Bring back what was taken back last, with its messages, and return the events: none where nothing was."""

        def decide(state: HudState) -> Sequence[Payload]:
            standing = state.reverts.last
            return (EventUndo(standing[-1].seq, "the messages are there again"),) if standing else ()

        return self.decide(decide, origin=Origin.HOST)[0]

    def _name_of(self, anchor: str) -> str:
        from hudkit.ingest.reverts import message_name

        return self._message_names.get(anchor) or message_name(anchor)

    def _is_as_it_was(self, anchors: Sequence[str]) -> bool:
        """Whether the last call's last message and what was told since are there, and nothing that was taken back:
        as a rule, and then neither the log is read nor every anchor."""
        from hudkit.ingest.reverts import event_message

        state = self.state
        last = state.window.call.anchor if state.window.call is not None else ""
        reverted = {name for revert in state.reverts.last for name in revert.messages}
        told_by = {event_message(event) for event in self.events(state.window.call_seq, state.seq)} - {""}
        is_last_there = not last or last in anchors[-_NEAR_END:] or last in anchors
        if is_last_there and not reverted and not told_by:
            return True
        present = {*anchors, *map(self._name_of, anchors)}
        is_last_there = is_last_there or self._name_of(last) in present
        return is_last_there and reverted.isdisjoint(present) and told_by <= present

    def _last_events(self, last: int, present: Collection[str], *, whole: bool) -> tuple[Event, ...]:
        """The session's last events, back to before a message that is there; all where the history is `whole`."""
        from hudkit.ingest.reverts import event_message

        after, chunks = last, list[tuple[Event, ...]]()
        while after and (whole or len(chunks) < _MAX_CHUNKS):
            upto, after = after, max(after - _CHUNK, 0)
            chunks.append(tuple(self.events(after, upto)))
            if not whole and any(event_message(event) in present for event in chunks[-1]):
                break
        return tuple(event for chunk in reversed(chunks) for event in chunk)

    def _own_ingester(self, directory: str) -> TranscriptIngester:
        if self._ingester is None or (directory and directory != self._ingester.directory):
            recorded = self.state.session
            place = directory or recorded.directory or str(self.project_path or "")
            host = recorded.host or self.id.partition("@")[0].rpartition("/")[0]
            self._ingester = TranscriptIngester(self, host_id_of_key(self.id), place, host)
        return self._ingester

    is_subagent = False
    """Whether another session started it: then what a person hands on is not for it."""
    _has_looked = False

    def take_up_task(self) -> None:
        """Take up the task that a person handed on (`hudkit resume`), where this is the first frame of a session.

        Never raises: the frame goes out in any case.
        """
        if self._has_looked or self.project_log is None:
            return
        self._has_looked = True
        state = self.state
        is_linked = any(link.relation in ("parent", "resume") for link in state.session.links)
        if state.epoch.last or self.is_subagent or is_linked:
            return
        from hudkit.tools.task_handover import handed_on, take_up

        try:
            if handed_on(self.project_log) is not None:
                self.inherit()  # first: what holds in all sessions is not the other session's
                take_up(self, self.project_log)
        except HudkitError as error:
            import logging

            self._has_looked = not isinstance(error, StoreError)  # it is still handed on, and the store may come back
            logging.getLogger(__name__).warning("the task that was handed on is not taken up: %s", error)

    always_items: AlwaysItems | None = None

    def inherit(self) -> bool:
        """Record what the user made hold in all sessions, where this one begins; return whether there was anything.

        Every first frame does so, and messages that come before it are read after it. Raises a `StoreError`.
        """
        if self.always_items is None or self.is_subagent:
            return False
        return bool(self.decide(self.always_items, origin=Origin.SYSTEM)[0])

    def start(
        self, *, host: str = "", title: str = "", model: str = "", agent: str = "", directory: str = ""
    ) -> None:
        """Record what a host knows of the session; recorded again, what is filled wins."""
        facts = SessionStart(
            host=host,
            host_session=host_id_of_key(self.id),
            title=title,
            model=model,
            agent=agent,
            directory=directory,
        )
        self.append(facts, origin=Origin.HOST)


class Hud:
    """A log of sessions and what is made of it. Use it as a context manager, or `close` it.

    with Hud.open("hud.db") as hud:
        session = hud.session("ses_1")
    """

    def __init__(
        self,
        log: EventLog,
        *,
        clock: Callable[[], int] | None = None,
        ids: Callable[[], str] | None = None,
        counter: TokenCounter | None = None,
        settings: Settings | None = None,
        sections: SectionPaths | None = None,
        past: PastSessions | None = None,
    ) -> None:
        self.log = log
        self.settings = settings or Settings()
        self._environment = ClockAndIds(clock or unix_ms, ids or uuid7)
        self._counter = counter or DeferredCounter()
        self._sessions: dict[str, HudSession] = {}
        self._others: dict[str, HudSession] = {}  # only read
        self._section_paths = sections
        self._sandbox: Sandbox | None = None
        self._packages: PackageSections | None = None
        self.past = past

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        clock: Callable[[], int] | None = None,
        ids: Callable[[], str] | None = None,
        counter: TokenCounter | None = None,
        settings: Settings | None = None,
        sections: SectionPaths | None = None,
        past: PastSessions | None = None,
    ) -> Hud:
        """Open (or make) a SQLite log at `path`, or one on the server of a `postgresql://` URL; return its `Hud`.

        `clock` gives Unix ms and `ids` UUIDv7 as text (not given: those of this machine), `counter` counts tokens
        (not given: the process's), `settings` are the defaults where they are not given. `sections` tells where files
        with custom sections, and of what holds in all sessions, are (not given: none are looked for). `past` is what
        was said in all sessions (not given: operations that read history say so); closing it stays the giver's.
        Raises a `StoreError` that names the path and what is wrong with it.
        """
        from hudkit.log.stores import open_log

        log = open_log(path)
        return cls(log, clock=clock, ids=ids, counter=counter, settings=settings, sections=sections, past=past)

    @classmethod
    def in_memory(
        cls,
        *,
        clock: Callable[[], int] | None = None,
        ids: Callable[[], str] | None = None,
        counter: TokenCounter | None = None,
        settings: Settings | None = None,
        sections: SectionPaths | None = None,
        past: PastSessions | None = None,
    ) -> Hud:
        """Return a `Hud` on a log that ends with the process; the parameters are those of `open`."""
        from hudkit.log.stores.memory_log import MemoryLog

        log = MemoryLog()
        return cls(log, clock=clock, ids=ids, counter=counter, settings=settings, sections=sections, past=past)

    def session(
        self, session_id: str, *, project: str | os.PathLike[str] | None = None, host: str = ""
    ) -> HudSession:
        """Return the session with a host's id, in a project; it is made by its first event.

        Sessions of two projects (by git root or real path, device and inode) or hosts are never the same one. With
        the id alone, it is the one session that has it, if there is just one.
        """
        key = self._key(session_id, project, host)
        if key in self._sessions:
            return self._sessions[key]
        path = Path(project) if project is not None else None
        project_log = self._project_log(key)
        always = self._always_items(key)
        session = self._make_session(key, self._steps(key, path, project_log, always))
        session.project_log = project_log
        session.always_items = always
        session.project_path = path.absolute() if path is not None else None
        session.past = self.past
        self._sessions[key] = session
        return session

    def _always_items(self, key: str) -> AlwaysItems | None:
        """What a session has where it begins, as it holds in all sessions; `None` where that is not looked for."""
        path = self._section_paths.always if self._section_paths is not None else None
        if path is None or not self.settings.always.inherit:
            return None
        from hudkit.hud.always_file import AlwaysItems

        return AlwaysItems(key, self.log, path)

    def _steps(
        self, key: str, path: Path | None, project_log: HudSession | None, always: AlwaysItems | None
    ) -> list[FrameStep]:
        """What is done before the frames of a session, in order: a custom section may show what is inherited."""
        steps: list[FrameStep] = [FrameStep(always)] if always is not None else []
        if project_log is not None:
            steps.append(FrameStep(ProjectDefaults(project_log, self._project_file(path))))
        has_files = self._section_paths is not None
        sections = lazy_function(partial(self._section_preparation, path))
        # Files are looked at before every frame: one may be new.
        steps.append(FrameStep(sections, needs=None if has_files else attrgetter("custom.sections")))
        if self.settings.custom.plugins or has_files:
            packages = lazy_function(partial(self._package_preparation, key))
            has_some = self.settings.custom.plugins
            # Where the settings name none, there is only to take away what an earlier start of hudkit showed.
            steps.append(FrameStep(packages, needs=None if has_some else attrgetter("custom.sections")))
        linked = LinkedSessionSync(key, self.log, self._state_of)
        steps.append(FrameStep(linked, needs=attrgetter("session.links")))
        steps.append(FrameStep(ResumeOffer(key, self.log, self._state_of)))
        return steps

    def _project_file(self, path: Path | None) -> ProjectFile | None:
        if self._section_paths is None or path is None:
            return None
        from hudkit.sections.sandboxed import ProjectFile

        return ProjectFile(self._section_paths, path)

    def _section_preparation(self, path: Path | None) -> SectionPreparation:
        from hudkit.sections.sandboxed import SectionFiles, SectionPreparation

        files = SectionFiles(self._section_paths, path) if self._section_paths else None
        return SectionPreparation(self.settings.custom, self.sandbox, files)

    def _package_preparation(self, key: str) -> PackagePreparation:
        from hudkit.sections.sandboxed import PackagePreparation

        return PackagePreparation(self.settings.custom, self.packages, partial(self._events_of, key))

    def forget(self, session: HudSession) -> None:
        """Let go of what is remembered of a session; taken again, it is read from the log."""
        session.write_behind()
        self._sessions.pop(session.id, None)

    def project(self, path: str | os.PathLike[str]) -> HudSession:
        """Return the log of a project's own, which keeps its defaults for all its sessions."""
        project_log = self._project_log(f"@{project_key(path)}")
        assert project_log is not None
        return project_log

    def sandbox(self) -> Sandbox:
        """Return where custom sections run; its process starts with the first of them."""
        if self._sandbox is None:
            from hudkit.sections.sandboxed import Sandbox, SandboxLimits

            limits = self.settings.custom
            self._sandbox = Sandbox(SandboxLimits(limits.timeout_ms / 1000, limits.memory_mib * 1024 * 1024))
        return self._sandbox

    def packages(self) -> PackageSections:
        """Return the sections of installed packages, as far as they were loaded; none is before a frame asks."""
        if self._packages is None:
            from hudkit.sections.sandboxed import PackageSections

            self._packages = PackageSections()
        return self._packages

    @property
    def counter(self) -> TokenCounter:
        """Return the token counter; its vocabulary is loaded when something is first counted."""
        return self._counter

    def sessions(self) -> tuple[str, ...]:
        """Return the keys of the sessions in the log, in order of their first event."""
        return self.log.sessions()

    def verify(self) -> Iterator[Finding]:
        """Return what is wrong with the log: the first bad event of each session. Nothing where all is well."""
        return self.log.verify()

    def close(self) -> None:
        """Record what is not yet, sync and close the log; end the sandbox of custom sections."""
        for session in self._sessions.values():
            session.write_behind()
        if self._sandbox is not None:
            self._sandbox.close()
        self.log.close()

    def __enter__(self) -> Hud:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _make_session(self, key: str, steps: Sequence[FrameStep] = ()) -> HudSession:
        return HudSession(self.log, key, self._environment, self.counter, self.settings, steps)

    def _state_of(self, key: str) -> HudState:
        """The state of another session of the log, as of now."""
        if key not in self._sessions and key not in self._others:
            self._others[key] = self._make_session(key)
        return (self._sessions.get(key) or self._others[key]).state

    def _events_of(self, key: str, after: int) -> Iterator[Event]:
        """The events of a session behind one."""
        return self._sessions[key].events(after) if key in self._sessions else iter(())

    def _project_log(self, key: str) -> HudSession | None:
        """The log of the project that a session's key names; `None` where it names none, or is that log's own."""
        name, separator, project = key.rpartition("@")
        if not separator or name == PROJECT_LOG:
            return None
        project_log = f"{PROJECT_LOG}@{project}"
        if project_log not in self._sessions:
            self._sessions[project_log] = self._make_session(project_log)
        return self._sessions[project_log]

    def _key(self, session_id: str, project: str | os.PathLike[str] | None, host: str) -> str:
        name = encode_key_part(session_id)
        if host or project is not None:
            lead = f"{encode_key_part(host)}/" if host else ""
            return f"{lead}{name}@{project_key(project)}" if project is not None else f"{lead}{name}"
        keys = self.log.sessions()
        if session_id in keys:  # a key, as `sessions()` lists it
            return session_id
        if name in keys:
            return name
        alike = keys_with_id(keys, session_id)
        return alike[0] if len(alike) == 1 else name


class PendingEvents(msgspec.Struct, frozen=True):
    """Drafts that are to be appended behind event `seq` of a session, and what is known once they are."""

    seq: int = 0
    drafts: tuple[EventDraft, ...] = ()
    state: IngestState | None = None
    batch: IngestBatch | None = None


class _BatchAhead(NamedTuple):
    """What messages will bring behind event `seq`, worked out before they are told in a batch with these facts."""

    seq: int
    messages: dict[str, Message]
    about: IngestBatch
    state: IngestState
    drafts: tuple[EventDraft, ...]

    def is_of(self, state: HudState, about: IngestBatch, messages: Sequence[Message] | None = None) -> bool:
        """Whether it is what these messages (those that were read, where none are given) bring to this state."""
        if (self.seq, self.about) != (state.seq, about):
            return False
        return messages is None or list(self.messages.values()) == list(messages)


class TranscriptIngester:
    """Ingests one session's messages as they come in: the shell around `hudkit.ingest.ingest`, which is pure.

    It reads the session's log and appends to it. Everything that it remembers can be read from the log again. Not
    safe for several threads.
    """

    def __init__(self, session: HudSession, host_session: str, directory: str, host: str = "opencode") -> None:
        """`host_session` is the host's own id of the session, `directory` what its paths are relative to."""
        from hudkit.ingest import IngestState
        from hudkit.ingest.first_seen import FirstSeenTimes
        from hudkit.ingest.sentence_model import installed_model
        from hudkit.transcripts import SessionRow

        self.session = session
        self.directory = directory
        extraction = session.settings.extraction
        self._known = IngestState(
            row=SessionRow(id=host_session, host=host, directory=directory),
            hud=HudState(),
            plain_words=extraction.plain_words,
            judge=installed_model() if extraction.plain_words and extraction.sentence_model else None,
        )
        self._first_seen = FirstSeenTimes()
        self._appended = 0
        self._last: IngestBatch | None = None
        self._ahead: _BatchAhead | None = None

    @property
    def seq(self) -> int:
        """The number of the last event that the session is known to have."""
        return max(self._known.seq, self._appended)

    def first_seen(self, keys: Sequence[str], now: int) -> list[int]:
        """Return when messages without a time were first seen (Unix ms), by keys that last; `now` for new ones."""
        if self.session.log.last_seq(self.session.id) > self._first_seen.seq:
            self._first_seen.observe(self.session.events(after=self._first_seen.seq))
        return self._first_seen.of(keys, now)

    def other_versions(self, key: str) -> list[int]:
        """Return when the other versions of a message were first seen (Unix ms), by its `version_key`."""
        return self._first_seen.other_versions(key)

    def time_drafts(self) -> tuple[EventDraft, ...]:
        """Return drafts that keep these times, to be appended behind those of the batch."""
        unrecorded = self._first_seen.unrecorded()
        if not unrecorded:
            return ()
        payloads = [payload for payload, _ in unrecorded]
        drafts = self.session.drafts(payloads, Origin.HOST, self.session.known_state.window.calls)
        return tuple(
            replace(draft, timestamp=seen_at) for draft, (_, seen_at) in zip(drafts, unrecorded, strict=True)
        )

    def record(self, batch: IngestBatch) -> tuple[Event, ...]:
        """Append what is new in a batch, all or none; return the events as stored. Raises a `StoreError`."""
        conflict: SequenceConflict | None = None
        for _ in range(APPEND_ATTEMPTS):
            pending = self.prepare(batch)
            drafts, events = (*pending.drafts, *self.time_drafts()), tuple[Event, ...]()
            try:
                if drafts:
                    events = self.session.log.append(self.session.id, drafts, expected=pending.seq)
            except SequenceConflict as error:
                conflict = error
                continue
            self.settle(pending)
            return events
        assert conflict is not None
        raise conflict

    def prepare(self, batch: IngestBatch, *, looked: bool = False) -> PendingEvents:
        """Return what is new in a batch, to be appended behind event `seq` and then settled.

        `looked`: the session has just looked at its log, and need not again. Where another writer came between,
        prepare it again. Where the batch is the first of a fork, the events of its source are appended here, before.
        Raises a `StoreError`.
        """
        from hudkit.ingest import ingest

        about = replace(batch, messages=(), anchors=())
        if about == self._last and not batch.messages:
            return PendingEvents(self._known.seq)
        ahead, self._ahead = self._ahead, None
        if looked and ahead is not None and ahead.is_of(self.session.known_state, about, batch.messages):
            return PendingEvents(ahead.seq, ahead.drafts, ahead.state, about)
        conflict: SequenceConflict | None = None
        for _ in range(APPEND_ATTEMPTS):
            self._catch_up(looked=looked)
            before, looked = self._known, False
            state, events = ingest(before, batch)
            pending = PendingEvents(before.seq, self._drafts(events), state, about)
            if before.recorded or before.hud.epoch.base is not None:
                return pending  # not the first batch, so that it is too late to become a fork
            copied = self._copied_from_source(events, batch)
            if not copied:
                # What holds in all sessions is known before the first words are read: they may speak against it.
                if batch.parent or not self.session.inherit():
                    return pending
                self._known = replace(before, facts=None, seq=0)
                continue
            try:
                self.session.log.append(self.session.id, copied, expected=before.seq)
                self._known = replace(before, facts=None, seq=0)  # take up what they tell
            except SequenceConflict as error:
                conflict = error
        assert conflict is not None
        raise conflict

    def hear_ahead(self, message: Message) -> None:
        """Work out what takes longest of a response whose calls have not ended yet: what it says in plain words, and
        what the tokens of its request teach. It is read quickly then. Nothing is appended."""
        from hudkit.ingest import hear_ahead
        from hudkit.sections.model_calibration import learn_ahead

        if self._known.plain_words and self._known.facts is not None:
            hear_ahead(message, self._known.facts)
        if message.usage is not None:
            learn_ahead(self.session.known_state.model_calibration, message.usage.prompt)

    def look_ahead(self, batch: IngestBatch) -> None:
        """Work out now what messages bring, for the `prepare` that is given them last; nothing is appended.

        A message may be told several times as it grows, and is read on from where it was. What is made before frames
        is looked for, too. Nothing is worked out for the first batch of a session. Raises a `StoreError`.
        """
        from hudkit.ingest import ingest, observe

        session, about = self.session, replace(batch, messages=())
        ahead = self._ahead
        if ahead is None or not ahead.is_of(session.known_state, about):
            self._ahead = None
            self._catch_up(looked=True)
            if not self._known.recorded and self._known.hud.epoch.base is None:
                return
            ahead = _BatchAhead(self._known.seq, {}, about, self._known, ())
        state, new_events = ingest(ahead.state, batch)
        drafts, events, hud = session.foresee((*ahead.drafts, *self._drafts(new_events)))
        state = observe(state, events[len(ahead.drafts) :], hud)
        messages = {**ahead.messages, **{message.id: message for message in batch.messages}}
        self._ahead = _BatchAhead(ahead.seq, messages, about, state, drafts)

    def settle(self, pending: PendingEvents) -> None:
        """Note that what was prepared last is in the log now, the times with it."""
        self._first_seen.settle()
        if pending.state is None:
            return
        self._appended = pending.seq + len(pending.drafts)
        self._known = pending.state
        self._last = pending.batch

    def _catch_up(self, *, looked: bool) -> None:
        from hudkit.ingest import observe, set_back

        if self._known.facts is None and not self._known.seq:
            ingested = self._taken_up()
        else:
            state = self.session.known_state if looked else self.session.state
            ingested = observe(self._known, self.session.events(self._known.seq, state.seq), state)
        self._known = set_back(ingested, self.session.now())

    def _taken_up(self) -> IngestState:
        """What is known of a session that this process meets for the first time: the state of a long log comes from a
        snapshot, and of most events only the ids are read."""
        from hudkit.ingest import COMPACTION_TYPES, take_up

        session = self.session
        state = session.state
        last = session.log.last_seq_of(session.id, COMPACTION_TYPES, upto=state.seq)
        compaction = next(session.events(after=last - 1, upto=last), None) if last else None
        return take_up(self._known, session.log.event_ids(session.id, upto=state.seq), compaction, state)

    def _drafts(self, events: Iterable[IngestEvent]) -> tuple[EventDraft, ...]:
        """The session's own id, time and turn for what an event leaves open."""
        session, drafts = self.session, []
        calls = session.known_state.window.calls
        for event in events:
            turn = calls if event.turn is None else event.turn
            draft = session.drafts((event.payload,), event.origin, turn)[0]
            timestamp = draft.timestamp if event.timestamp is None else event.timestamp
            drafts.append(replace(draft, id=event.id or draft.id, timestamp=timestamp))
        return tuple(drafts)

    def _copied_from_source(self, events: Sequence[IngestEvent], batch: IngestBatch) -> tuple[EventDraft, ...]:
        from hudkit.ingest.ingester import fork_events

        candidates = self._fork_candidates()
        return self._drafts(fork_events(events, batch.messages, batch.anchors, candidates, shift=self._known.seq))

    def _fork_candidates(self) -> Iterator[ForkCandidate]:
        from hudkit.ingest.ingester import MAX_FORK_EVENTS, MAX_SEARCHED_EVENTS, ForkCandidate, related_sessions

        log, searched = self.session.log, 0
        for key in related_sessions(self.session.id, log.sessions()):
            count = log.last_seq(key)
            if count > MAX_FORK_EVENTS:
                continue
            searched += count
            if searched > MAX_SEARCHED_EVENTS:
                return
            yield ForkCandidate(key, tuple(log.read(key, past_damage=True)))
