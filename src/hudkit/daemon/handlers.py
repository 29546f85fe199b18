"""What the daemon answers to each request, on the log. No sockets, no section logic; all of it runs on one thread.

A conversation of a host is taken up from the log at its first request and remembered, so that the next request costs
only what is new in it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from hudkit.api import Hud, HudSession, PendingEvents, TranscriptIngester
from hudkit.context.caching import Segment, common_prefix
from hudkit.context.compaction.request_parts import CallOutput
from hudkit.daemon.known_transcripts import KnownTranscript, KnownTranscripts
from hudkit.daemon.logfile import LOGGER
from hudkit.errors import HudkitError, StoreError
from hudkit.hosts.compaction_records import record_start, request_compaction, summary_request, undone_drafts
from hudkit.hosts.hook_session import HookSessions, HookWishes, find_session
from hudkit.hosts.hook_wire import HOOK_HOSTS
from hudkit.hosts.wire import (
    Acknowledgement,
    CompactingRequestBody,
    CompactingResponse,
    CompactRequestBody,
    DeltaLayer,
    ErrorBody,
    ErrorResponse,
    EventsAccepted,
    EventsRequestBody,
    FrameRequestBody,
    FrameResponse,
    ModelInfo,
    OutputStub,
    RequestRefused,
    SessionIdentity,
    ToolReply,
    ToolRequestBody,
    decode,
    encode,
)
from hudkit.ingest import IngestBatch, read_messages
from hudkit.log import EventDraft, Origin
from hudkit.log.payloads import ContextSnapshot, LearnedCalibration
from hudkit.tools import reply
from hudkit.transcripts.opencode_json import parse_todos
from hudkit.web.http_listener import error_location

MAX_CONVERSATIONS = 256
"""Conversations that are remembered; one that fell out is taken up from the log again."""

MAX_SEED_SESSIONS = 4
"""Sessions that a calibration seed is looked for in, the newest first."""

MAX_SEED_EVENTS = 20_000
"""Events of such a session at most; a longer one would let the first call of a new session wait."""

STATUS: Mapping[str, int] = {
    "request": 400,
    "config": 400,
    "operation": 400,
    "budget": 422,
    "conflict": 409,
    "internal": 500,
}
"""HTTP status by the code of an error. Every other code, such as those of a store that refuses, is status 503."""


_TOOL_BURST = 1_000
"""Calls of the tools that a session may make at once; an agent that loops is told so, and others wait no longer."""

_TOOL_RATE = 100.0
"""Calls a second that a session may go on with."""


class _Conversation:
    """What is remembered of a host's conversation from one request to the next."""

    def __init__(self, ingester: TranscriptIngester, now: float) -> None:
        self.ingester = ingester
        self._calls_left = float(_TOOL_BURST)
        self._filled_at = now
        self.mark = ""
        """Of the last frame."""
        self.order = -1
        """Of the last request for a frame, as the plugin numbers them."""
        self.transcripts = KnownTranscripts()
        self.pieces: tuple[Segment, ...] | None = None
        """The transcript of the last call; `None` before the first of this process."""

    def take_call(self, now: float) -> bool:
        """Return whether the session may call a tool now (seconds of a clock that never goes back), and count it."""
        self._calls_left = min(_TOOL_BURST, self._calls_left + (now - self._filled_at) * _TOOL_RATE)
        self._filled_at = now
        if self._calls_left < 1:
            return False
        self._calls_left -= 1
        return True


class RequestHandlers:
    """Answers requests on one `Hud`.

    `answer` never raises; the methods for single paths raise typed errors, which `answer` turns into responses.
    """

    def __init__(
        self,
        hud: Hud,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        on_upload: Callable[[str, str], None] = lambda _host, _session: None,
        hook_wishes: Mapping[str, HookWishes] = {},
    ) -> None:
        """`hook_wishes` are what holds for hosts that call hooks, by their names.

        `on_upload` is called with host and session after each request that brought messages; it must not wait.
        """
        self._hud = hud
        self._monotonic = monotonic
        self._on_upload = on_upload
        self._conversations: OrderedDict[tuple[str, str, str], _Conversation] = OrderedDict()
        self.hooks = {
            host: HookSessions(host, partial(find_session, hud, host), wishes=hook_wishes.get(host, HookWishes()))
            for host in HOOK_HOSTS
        }
        """The sessions of the hosts that call hooks."""

    def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Return HTTP status and body for the body of a request; `path` is one of `HANDLERS`."""
        kind, handler = HANDLERS[path]
        try:
            ask = decode(body, kind)
            answer = encode(handler(self, ask))
            if isinstance(ask, FrameRequestBody | EventsRequestBody):
                self._on_upload(ask.host, ask.session)
            return 200, answer
        except HudkitError as error:
            # A request that does not fit is the client's mistake; it is told, and a log of it would be a client's to
            # fill.
            if not isinstance(error, RequestRefused):
                LOGGER.warning("%s refused: %s", path, error.code)
            return refusal(error)
        except Exception as error:
            LOGGER.error("%s failed: %s", path, error_location(error))
            return error_response(500, "internal", "the daemon met an error of its own", "Its log file tells where")

    def frame(self, ask: FrameRequestBody) -> FrameResponse:
        """Return the frame of the next call, after recording what the request's messages tell.

        Raises `RequestRefused` where a later request of the conversation was answered already: the plugin has stopped
        waiting for this one, and a frame recorded now would count as sent.
        """
        conversation = self._conversation(ask)
        ingester, session = conversation.ingester, conversation.ingester.session
        if ask.order is not None and ask.order <= conversation.order:
            raise RequestRefused(
                "a later question was answered already", hint="Use the answer to that one", status=409
            )
        transcript = conversation.transcripts.resolve(ask)
        conversation.order = ask.order if ask.order is not None else conversation.order
        batch = _batch(ask, ask.model.limit, anchors=transcript.order)
        # What the messages tell goes into the same commit as the frame that shows it; where another writer was first,
        # `news` is asked again on the state as it is then.
        pending = PendingEvents()
        taught = _calibration_seed(self._hud, session, ask.model.id) if conversation.pieces is None else ()

        summarised = any(message.summary for message in batch.messages)  # what is not there now may be in it
        if ask.whole is not None and transcript.entries and not summarised:
            with suppress(StoreError):  # the frame says that nothing can be recorded
                still_there = [*(entry.anchor for entry in transcript.entries), *transcript.unsent]
                session.follow_transcript(still_there, whole=ask.whole, used_tokens=ask.used)

        def news() -> Sequence[EventDraft]:
            nonlocal pending
            pending = ingester.prepare(batch, looked=True)  # by the frame, which asks
            back = undone_drafts(session, batch.anchors, pending.drafts)
            return (*pending.drafts, *back, *_limits(session, ask.model), *taught)

        frame = session.frame(
            used_tokens=ask.used,
            limit_tokens=ask.model.limit or None,
            transcript=transcript.position,
            model=ask.model.id,
            last_mark=ask.have or "",
            pending_events=news,
            sent_prefix=(lambda stubs: common_prefix(conversation.pieces, transcript.segments(stubs)))
            if transcript.entries
            else None,
            parts=transcript.parts(ask.fixed),
            outputs=self._outputs(session, transcript),
            history=(),
        )
        conversation.pieces = transcript.segments({stub.call: len(stub.text) for stub in frame.pruned})
        # Contract 6: nothing is acknowledged that is not durable. The host sends it again.
        if not frame.notice:
            ingester.settle(pending)
        # Where a frame tells nothing new, what the host has is new enough: that answer is to be the fastest.
        is_news = bool(frame.tail) or frame.mark != conversation.mark
        conversation.mark = frame.mark
        whole = session.next_base() if is_news else ""
        return FrameResponse(
            base=frame.base,
            deltas=tuple(DeltaLayer(delta.id, delta.anchor, delta.form, delta.text) for delta in frame.deltas),
            tail=frame.tail,
            epoch=frame.epoch,
            tag=frame.tag,
            tokens=frame.tokens,
            budget=frame.budget,
            notice=frame.notice,
            ack="" if frame.notice else _ack(ingester, ask.seen),
            mark=frame.mark,
            pruned=tuple(OutputStub(stub.call, stub.text) for stub in frame.pruned),
            whole=whole,
        )

    def _outputs(self, session: HudSession, transcript: KnownTranscript) -> tuple[CallOutput, ...]:
        """The outputs that may leave the window, and of which the cost of a new base is worked out.

        Contract 9: only what the agent can read again leaves its window.
        """
        position = transcript.position
        asked_for = (
            self._hud.settings.pruning.enabled
            or bool(session.state.pruned_outputs.stubs)
            or (position is not None and position.turn_start)
        )
        return transcript.outputs() if asked_for and session.has_transcript else ()

    def events(self, ask: EventsRequestBody) -> EventsAccepted:
        """Record what the request's messages and todos tell; return how far the log has come."""
        ingester = self._conversation(ask).ingester
        ingester.record(_batch(ask, None, ask.todos))
        return EventsAccepted(_ack(ingester, ask.seen), ingester.session.next_base())

    def tool(self, ask: ToolRequestBody) -> ToolReply:
        """Carry out a model's call of a router, and return what the agent is told.

        Raises `RequestRefused` (status 429) for a session that calls faster than any agent works.
        """
        conversation = self._conversation(ask)
        if not conversation.take_call(self._monotonic()):
            message = f"this session called the tools more than {_TOOL_BURST} times at once"
            raise RequestRefused(message, hint=f"Go on with {_TOOL_RATE:.0f} calls a second at most", status=429)
        session = conversation.ingester.session
        before = session.state
        answer = reply(session, ask.router, ask.arguments, origin=Origin.AGENT)
        session.note_answered(before)
        remark = getattr(self._hud.log, "remark", "")
        text = f"{answer.text}\nHUD: {remark}" if remark and answer.ok else answer.text
        return ToolReply(text, answer.ok, session.next_base())

    def compacting(self, ask: CompactingRequestBody) -> CompactingResponse:
        """Record that the host compacts, and return the prompt that replaces the host's own."""
        session = self._conversation(ask).ingester.session
        try:
            record_start(session, "host", ask.used)
        except StoreError as error:
            # The prompt is worth more than the record of it: without the prompt the summary loses what must stay.
            LOGGER.warning("compact.before is not recorded: %s", error.code)
        return CompactingResponse(summary_request(session), session.next_base())

    def compact(self, ask: CompactRequestBody) -> ToolReply:
        """Return whether the compaction that the agent asks for may be, and what the agent is told."""
        session = self._conversation(ask).ingester.session
        ok, text = request_compaction(session, ask.used, self._hud.settings)
        return ToolReply(text, ok)

    def _conversation(self, ask: SessionIdentity) -> _Conversation:
        key = (ask.host, ask.session, ask.directory)
        conversation = self._conversations.get(key)
        if conversation is None:
            if ask.host in self.hooks:
                session = find_session(self._hud, ask.host, ask.session, ask.directory)
            else:
                session = self._hud.session(ask.session, project=ask.directory or None, host=ask.host)
            ingester = TranscriptIngester(session, ask.session, ask.directory, ask.host)
            conversation = _Conversation(ingester, self._monotonic())
            self._conversations[key] = conversation
            # The least recently asked conversation goes; nothing is lost, the log has it all.
            if len(self._conversations) > MAX_CONVERSATIONS:
                self._conversations.popitem(last=False)
        self._conversations.move_to_end(key)
        return conversation


_Handler = Callable[[RequestHandlers, Any], object]

HANDLERS: Mapping[str, tuple[type[Any], _Handler]] = {
    "/v1/frame": (FrameRequestBody, RequestHandlers.frame),
    "/v1/events": (EventsRequestBody, RequestHandlers.events),
    "/v1/tool": (ToolRequestBody, RequestHandlers.tool),
    "/v1/compacting": (CompactingRequestBody, RequestHandlers.compacting),
    "/v1/compact": (CompactRequestBody, RequestHandlers.compact),
}
"""The paths that a host may ask: the struct of the request, and the method that answers it."""


def refusal(error: HudkitError) -> tuple[int, bytes]:
    """Return HTTP status and body of the answer to a request that failed."""
    own_status = error.details.get("status")
    status = own_status if isinstance(own_status, int) else STATUS.get(error.code, 503)
    return error_response(status, error.code, error.message, error.hint)


def error_response(status: int, code: str, message: str, hint: str = "") -> tuple[int, bytes]:
    """Return HTTP status and body of a refusal."""
    return status, encode(ErrorResponse(ErrorBody(code, message, hint)))


DONE = encode(Acknowledgement())


def _batch(
    ask: FrameRequestBody | EventsRequestBody,
    limit: int | None,
    todos: tuple[dict[str, Any], ...] | None = None,
    anchors: Sequence[str] = (),
) -> IngestBatch:
    facts = ask.facts
    return IngestBatch(
        messages=read_messages(ask.messages, ask.session),
        todos=None if todos is None else parse_todos(todos),
        title=facts.title or "",
        agent=facts.agent or "",
        parent=facts.parent or "",
        limit=limit or None,
        anchors=anchors,
    )


def _limits(session: HudSession, model: ModelInfo) -> tuple[EventDraft, ...]:
    """Return a draft with the model's output limit where it is new.

    Bands need it: the window is critical, too, when there is no room left for an answer.
    """
    if not model.output or model.output == session.state.window.output_tokens:
        return ()
    snapshot = ContextSnapshot(limit_tokens=model.limit or None, output_tokens=model.output, model=model.id)
    return session.drafts((snapshot,), Origin.HOST, session.state.window.calls)


def _ack(ingester: TranscriptIngester, seen: str | None) -> str:
    """Return how far the log has come, as an opaque text.

    Empty where the host was told before that it had come further: the log lost its end (a disk that lied about a
    sync), and the host has to send everything again.
    """
    before = seen.rpartition(".")[2] if seen else ""
    return "" if before.isdecimal() and int(before[:18]) > ingester.seq else f"a.{ingester.seq}"


def _calibration_seed(hud: Hud, session: HudSession, model: str) -> tuple[EventDraft, ...]:
    """Return a draft with what a recent session of the host learned of how the model counts, for the first call.

    It is an event, so that a replay estimates as the call did. Empty where no recent session had reports of the
    model.
    """
    try:
        if not model or session.state.model_calibration.of(model).reports:
            return ()
        recent = _recent_sessions(hud, session.id)
    except StoreError:
        return ()  # the frame says what is wrong with the log
    for name in recent:
        try:
            calibration = hud.session(name).state.model_calibration.of(model)
        except HudkitError:
            continue  # a damaged session must not keep a new one from starting
        if calibration.reports:
            learned = LearnedCalibration(model, calibration.factors, calibration.doubts, calibration.reports)
            return session.drafts((ContextSnapshot(learned=learned),), Origin.SYSTEM, session.state.window.calls)
    return ()


def _recent_sessions(hud: Hud, but: str) -> Sequence[str]:
    """Return the newest sessions of the host that the session `but` is of, without that one."""
    host = but.partition("/")[0] + "/"
    names: list[str] = []
    for name in reversed(hud.log.sessions()):
        if name != but and name.startswith(host) and hud.log.last_seq(name) <= MAX_SEED_EVENTS:
            names.append(name)
            if len(names) == MAX_SEED_SESSIONS:
                break
    return names
