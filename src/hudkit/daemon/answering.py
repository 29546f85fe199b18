"""One request to one answer, on the log: no sockets here, and no section logic. Runs on a single thread."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hudkit.api import Hud, Session
from hudkit.context.caching import compare
from hudkit.daemon.carried import outputs_of, parts_of, pieces_of
from hudkit.daemon.journal import journal, where
from hudkit.daemon.learned import learned
from hudkit.errors import HudkitError, StoreError
from hudkit.hosts.compaction_records import record_start, request_compaction, summary_request, undone_drafts
from hudkit.hosts.wire import (
    CompactAsk,
    Compacting,
    CompactingAsk,
    Done,
    Errors,
    EventsAsk,
    FrameAnswer,
    FrameAsk,
    Identity,
    Layer,
    Model,
    Refused,
    Said,
    Stub,
    Taken,
    ToolAsk,
    Wrong,
    decode,
    encode,
)
from hudkit.ingest.ingester import IngestBatch, PendingEvents, TranscriptIngester
from hudkit.log import Draft, Origin
from hudkit.log.payloads import ContextSnapshot
from hudkit.tools import reply

MAX_LIVE = 256
"""Conversations that are remembered; an older one is taken up from the log again."""

STATUS: Mapping[str, int] = {
    "request": 400,
    "config": 400,
    "operation": 400,
    "budget": 422,
    "conflict": 409,
    "internal": 500,
}
"""HTTP status by the code of an error; a store that refuses, and whatever is not named, is 503."""


class Answering:
    """Answers requests on one `Hud`. No method raises for what a request or the log's medium did wrong."""

    def __init__(self, hud: Hud) -> None:
        self._hud = hud
        self._live: OrderedDict[tuple[str, str], TranscriptIngester] = OrderedDict()

    def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body for a request's path and body; the path is one of `PATHS`."""
        kind, act = PATHS[path]
        try:
            return 200, encode(act(self, decode(body, kind)))
        except HudkitError as error:
            if error.code != "request":
                journal.warning("%s refused: %s", path, error.code)
            return failed(error)
        except Exception as error:
            journal.error("%s failed: %s", path, where(error))
            return wrong(500, "internal", "the daemon met an error of its own", "Its log file tells where")

    def frame(self, ask: FrameAsk) -> FrameAnswer:
        live = self._conversation(ask)
        if ask.order is not None and ask.order <= live.order:
            raise Refused("a later question was answered already", hint="Use the answer to that one", status=409)
        live.order = ask.order if ask.order is not None else live.order
        upload = _upload(ask, ask.model.limit)
        staged = PendingEvents(0)
        messages = ask.transcript
        taught = learned(self._hud, live.session, ask.model.id) if live.pieces is None else ()

        def news() -> Sequence[Draft]:
            nonlocal staged
            staged = live.stage(upload)
            back = undone_drafts(live.session, upload.anchors, staged.drafts)
            return (*staged.drafts, *back, *_limits(live.session, ask.model), *taught)

        frame = live.session.frame(
            used_tokens=ask.used,
            limit_tokens=ask.model.limit or None,
            transcript=[(one.anchor, one.role) for one in messages if one.role != "cleared"] if messages else None,
            model=ask.model.id,
            have=ask.have or "",
            first=news,
            sent=(lambda stubs: compare(live.pieces, pieces_of(messages, stubs))) if messages else None,
            parts=parts_of(messages, ask.fixed) if messages else None,
            outputs=outputs_of(messages),
        )
        live.pieces = pieces_of(messages, {one.call: len(one.text) for one in frame.pruned})
        if not frame.notice:  # what is not recorded is not acknowledged
            live.settle(staged)
        return FrameAnswer(
            base=frame.base,
            deltas=tuple(Layer(one.id, one.anchor, one.form, one.text) for one in frame.deltas),
            tail=frame.tail,
            epoch=frame.epoch,
            tag=frame.tag,
            tokens=frame.tokens,
            budget=frame.budget,
            notice=frame.notice,
            ack="" if frame.notice else _ack(live, ask.seen),
            mark=frame.mark,
            pruned=tuple(Stub(one.call, one.text) for one in frame.pruned),
        )

    def events(self, ask: EventsAsk) -> Taken:
        live = self._conversation(ask)
        live.hear(_upload(ask, None, ask.todos))
        return Taken(_ack(live, ask.seen))

    def tool(self, ask: ToolAsk) -> Said:
        session = self._conversation(ask).session
        before = session.state
        said = reply(session, ask.router, ask.arguments, origin=Origin.AGENT)
        session.said(before)
        return Said(said.text, said.ok)

    def compacting(self, ask: CompactingAsk) -> Compacting:
        session = self._conversation(ask).session
        try:
            record_start(session, "host", ask.used)
        except StoreError as error:  # the prompt is worth more than the record of it
            journal.warning("compact.before is not recorded: %s", error.code)
        return Compacting(summary_request(session))

    def compact(self, ask: CompactAsk) -> Said:
        session = self._conversation(ask).session
        ok, text = request_compaction(session, ask.used, self._hud.settings)
        return Said(text, ok)

    def _conversation(self, ask: Identity) -> TranscriptIngester:
        key = (ask.session, ask.directory)
        live = self._live.get(key)
        if live is None:
            session = self._hud.session(ask.session, project=ask.directory or None, host=ask.host)
            live = self._live[key] = TranscriptIngester(session, ask.session, ask.directory)
            if len(self._live) > MAX_LIVE:
                self._live.popitem(last=False)
        self._live.move_to_end(key)
        return live


Act = Callable[[Answering, Any], object]

PATHS: Mapping[str, tuple[type[Any], Act]] = {
    "/v1/frame": (FrameAsk, Answering.frame),
    "/v1/events": (EventsAsk, Answering.events),
    "/v1/tool": (ToolAsk, Answering.tool),
    "/v1/compacting": (CompactingAsk, Answering.compacting),
    "/v1/compact": (CompactAsk, Answering.compact),
}
"""What can be asked of the log: the request's struct and what answers it."""


def failed(error: HudkitError) -> tuple[int, bytes]:
    """Status and body that tell of a typed error."""
    given = error.details.get("status")
    status = given if isinstance(given, int) else STATUS.get(error.code, 503)
    return wrong(status, error.code, error.message, error.hint)


def wrong(status: int, code: str, message: str, hint: str = "") -> tuple[int, bytes]:
    """Status and body of a refusal."""
    return status, encode(Errors(Wrong(code, message, hint)))


DONE = encode(Done())


def _upload(
    ask: FrameAsk | EventsAsk, limit: int | None, todos: tuple[dict[str, Any], ...] | None = None
) -> IngestBatch:
    facts = ask.facts
    return IngestBatch(
        messages=ask.messages,
        todos=todos,
        title=facts.title or "",
        agent=facts.agent or "",
        parent=facts.parent or "",
        limit=limit or None,
        anchors=[one.anchor for one in ask.transcript] if isinstance(ask, FrameAsk) else (),
    )


def _limits(session: Session, model: Model) -> tuple[Draft, ...]:
    """A model's output limit where it is new: bands look at what an answer needs, too."""
    if not model.output or model.output == session.state.window.output_tokens:
        return ()
    told = ContextSnapshot(limit_tokens=model.limit or None, output_tokens=model.output, model=model.id)
    return session.drafts((told,), Origin.HOST, session.state.window.calls)


def _ack(live: TranscriptIngester, seen: str | None) -> str:
    """How far the log has come. Empty where a host was told that it had come further: it lost its end."""
    before = seen.rpartition(".")[2] if seen else ""
    return "" if before.isdecimal() and int(before[:18]) > live.seq else f"a.{live.seq}"
