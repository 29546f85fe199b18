"""One request to one answer, on the log: no sockets here, and no section logic. Runs on a single thread."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hudkit.api import Hud, Session
from hudkit.caching import Piece, compare
from hudkit.daemon.carried import outputs_of, parts_of
from hudkit.daemon.journal import journal, where
from hudkit.errors import HudkitError, StoreError
from hudkit.events import Draft, Origin
from hudkit.events.payloads import CompactBefore, ContextSnapshot
from hudkit.hosts.opencode.continuity import prompt
from hudkit.hosts.opencode.live import Live, Staged, Upload
from hudkit.projections.state import HudState, dump
from hudkit.tokens import window_of
from hudkit.tools import reply
from hudkit.wire import (
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
    Taken,
    ToolAsk,
    Wrong,
    decode,
    encode,
)

MAX_LIVE = 256
"""Conversations that are remembered; an older one is taken up from the log again."""

LEAST_PERCENT = 50
"""Percent of the window in use below which a compaction is refused (features, E4)."""

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
        self._live: OrderedDict[tuple[str, str], Live] = OrderedDict()

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
        staged = Staged(0)
        pieces = tuple(Piece(one.anchor, one.role, one.size) for one in ask.transcript)

        def news() -> Sequence[Draft]:
            nonlocal staged
            staged = live.stage(upload)
            return (*staged.drafts, *_limits(live.session, ask.model))

        frame = live.session.frame(
            used_tokens=ask.used,
            limit_tokens=ask.model.limit or None,
            transcript=[(one.anchor, one.role) for one in pieces if one.role != "cleared"] if pieces else None,
            model=ask.model.id,
            have=ask.have or "",
            first=news,
            sent=compare(live.pieces, pieces) if pieces else None,
            parts=parts_of(ask.transcript, ask.fixed) if pieces else None,
            outputs=outputs_of(ask.transcript),
        )
        live.pieces = pieces
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
            _before(session, "host", ask.used)
        except StoreError as error:  # the prompt is worth more than the record of it
            journal.warning("compact.before is not recorded: %s", error.code)
        return Compacting(prompt(_shown(session), session.state.compacted.summary))

    def compact(self, ask: CompactAsk) -> Said:
        session = self._conversation(ask).session
        said = refusal(session.state, ask.used, self._hud.settings.window)
        if said:
            return Said(said, False)
        _before(session, "agent", ask.used)
        return Said("A compaction starts when this turn ends. What the HUD holds survives it as it is.", True)

    def _conversation(self, ask: Identity) -> Live:
        key = (ask.session, ask.directory)
        live = self._live.get(key)
        if live is None:
            session = self._hud.session(ask.session, project=ask.directory or None, host=ask.host)
            live = self._live[key] = Live(session, ask.session, ask.directory)
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


def refusal(state: HudState, used: int | None, user_window: int | None) -> str:
    """Why a compaction is not started now; empty where it may."""
    window = window_of(state.window.model or state.session.model, host=state.window.limit_tokens, user=user_window)
    used = used if used is not None else state.window.used_tokens
    if used is None:
        return "Not compacted: it is not known how much of the window is in use; it is after the next response."
    percent = 100 * used / window.limit_tokens
    if percent >= LEAST_PERCENT:
        return ""
    share = f"{percent:.0f} % of {window.limit_tokens:,} tokens"
    return f"Not compacted: {share} are in use, and a compaction below {LEAST_PERCENT} % loses more than it gains."


def failed(error: HudkitError) -> tuple[int, bytes]:
    """Status and body that tell of a typed error."""
    given = error.details.get("status")
    status = given if isinstance(given, int) else STATUS.get(error.code, 503)
    return wrong(status, error.code, error.message, error.hint)


def wrong(status: int, code: str, message: str, hint: str = "") -> tuple[int, bytes]:
    """Status and body of a refusal."""
    return status, encode(Errors(Wrong(code, message, hint)))


DONE = encode(Done())


def _upload(ask: FrameAsk | EventsAsk, limit: int | None, todos: tuple[dict[str, Any], ...] | None = None) -> Upload:
    facts = ask.facts
    return Upload(
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


def _ack(live: Live, seen: str | None) -> str:
    """How far the log has come. Empty where a host was told that it had come further: it lost its end."""
    before = seen.rpartition(".")[2] if seen else ""
    return "" if before.isdecimal() and int(before[:18]) > live.seq else f"a.{live.seq}"


def _before(session: Session, trigger: str, used: int | None) -> None:
    state = session.state
    taken = used if used is not None else state.window.used_tokens
    session.append(CompactBefore(trigger, taken, dump(state).decode()), origin=Origin.HOST)


def _shown(session: Session) -> str:
    """The whole state as text, without the volatile tail."""
    state = session.state
    if not state.seq:
        return ""
    try:
        return session.whole().base
    except HudkitError as error:
        journal.warning("a compaction goes without the HUD: %s", error.code)
        return ""
