"""The HUD in the calls that go through a gateway, and the answers to calls of its tools.

Everything here fails open: what cannot be read, found, recorded or composed within its time leaves the call as it
came, or as the calls of its conversation were before.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from msgspec.structs import replace

from hudkit.api import Hud
from hudkit.clock import unix_ms
from hudkit.context.caching import CallCost
from hudkit.errors import HudkitError
from hudkit.hosts.gateway.answers import READERS, AnswerReader
from hudkit.hosts.gateway.body_spans import BodyUnknown
from hudkit.hosts.gateway.call_shapes import SHAPES, ProviderCall, WireCall, dated
from hudkit.hosts.gateway.conversations import CallSigns, Conversation, ConversationBook
from hudkit.hosts.gateway.http_framing import MessageHead
from hudkit.hosts.gateway.relay import AnswerMode, NextRound, with_length
from hudkit.hosts.hook_deadlines import hook_patience
from hudkit.hosts.host_session import HostCall, HostMessage, Injection
from hudkit.hosts.in_process import InProcessHud
from hudkit.ingest.first_seen import entry_key
from hudkit.tokens import Window, count_tokens, window_of
from hudkit.tools import DEFINITIONS
from hudkit.transcripts import ReportedUsage, ToolPart

_LOG = logging.getLogger("hudkit.hosts.gateway")

T = TypeVar("T")

HOST = "gateway"
"""What the gateway is called in a log."""

_SWITCH_HEADER = b"hudkit"
"""A request that has it with the value `off` gets no HUD."""

_STEP_SECONDS, _BEGIN_SECONDS, _TOOL_SECONDS = 0.2, 2.0, 5.0
"""How long a call waits for its HUD, the first one of a conversation, and a model for the answer of a tool."""

_INLINE = 256 * 1024
"""Bytes of a body that is read at once; a longer one is read in a thread, so that streams go on meanwhile."""

_MAX_ROUNDS = 20
"""How often a model is asked again within one call, at most."""

_MAX_STANDING = 500

_PLAIN_WORDS = "Fix the build. Never touch legacy/. I prefer tabs over spaces. The key is in .env. We use uv."
"""A message whose reading compiles the patterns that most messages need: that takes half a second."""

_HINT_HEADERS = (b"x-claude-code-session-id", b"session_id", b"session-id", b"conversation_id", b"x-session-id",
                 b"x-session-affinity")  # fmt: skip

_CLIENTS: Mapping[bytes, str] = {b"claude-cli": "claude-code", b"codex": "codex"}
"""By what the user agent of a client begins with: the host whose tools it has."""

_UNIQUE = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)[A-Za-z0-9]{8,}")

_OWN_TOOLS = frozenset(str(definition["name"]) for definition in DEFINITIONS)


class _Standing(NamedTuple):
    """What the last call of a conversation carried: the base, and the blocks behind messages, by their keys."""

    base: str
    behind: Mapping[str, tuple[str, ...]]
    tokens: int


class HudCalls:
    """Puts the HUD into the calls of agents. A `hudkit.hosts.gateway.relay.ModelCalls`."""

    def __init__(
        self,
        attached: InProcessHud | None,
        book: ConversationBook,
        *,
        switch: Callable[[], bool] = lambda: True,
        window: Window | None = None,
        clock: Callable[[], int] = unix_ms,
    ) -> None:
        """Without `attached`, only receipts are taken. `switch` says whether the HUD is on, and is asked with each
        call; `window` is the user's, of all models."""
        self.attached = attached
        self.book = book
        self._switch = switch
        self._window = window
        self._clock = clock
        self._readers = ThreadPoolExecutor(2, "gateway-read")
        self._hud = ThreadPoolExecutor(1, "gateway-hud")
        self._behind = ThreadPoolExecutor(1, "gateway-behind")
        self._keeping: Future[None] | None = None
        self._standing: dict[str, _Standing] = {}
        self._busy: dict[str, Future[Any]] = {}
        self._answered: dict[str, tuple[int, CallCost | None]] = {}

    def warm_up(self) -> None:
        """Open the log and load what composes frames, so that the first call need not wait for it. Never raises."""
        if self.attached is None:
            return
        try:
            with Hud.in_memory() as hud:
                session = hud.session("warm")
                session.ingest([{"role": "user", "text": _PLAIN_WORDS}])
                session.frame(limit_tokens=200_000)
            self.attached.hud.sessions()
            self.attached.past_sessions()
        except (HudkitError, OSError) as error:
            _LOG.warning("calls go without the HUD: %s", error)

    def close(self) -> None:
        """End the threads; what is under way there is waited for."""
        self._readers.shutdown()
        self._hud.shutdown()
        self._behind.shutdown()

    # -- what the relay asks -----------------------------------------------------------------------------------

    def wants(self, head: MessageHead) -> bool:
        """Return whether a request may be an agent's call."""
        try:
            return (
                head.method == b"POST"
                and _shape_of(head) is not None
                and not head.get(b"content-encoding").replace(b"identity", b"")
                and head.get(b"content-type").lower().startswith((b"application/json", b"application/vnd.api+json"))
                and _is_from_here(head.get(b"origin"))
                and head.get(_SWITCH_HEADER).lower() != b"off"
                and self._switch()
            )
        except Exception:
            _LOG.exception("a call goes as it came")
            return False

    async def prepare(self, head: MessageHead, body: bytes) -> CallInFlight | None:
        """Return the call with the HUD; `None`: it goes as it came. Never raises."""
        try:
            return await self._prepare(head, body)
        except BodyUnknown:
            return None
        except Exception:
            _LOG.exception("a call goes as it came")
            return None

    # -- inside ------------------------------------------------------------------------------------------------

    async def _prepare(self, head: MessageHead, body: bytes) -> CallInFlight | None:
        read = partial(self._read, head, body)
        loop = asyncio.get_running_loop()
        call = read() if len(body) < _INLINE else await loop.run_in_executor(self._readers, read)
        if call is None:
            return None
        conversation, times = self._conversation(call, head)
        session = conversation.session
        if not conversation.hud or self.attached is None:
            return CallInFlight(self, call, head.raw, body, conversation, hud=False)
        entries = [dated(place, time) for place, time in zip(call.entries, times, strict=True)]
        self._with_usage(entries, session)
        injection, tokens = await self._injection(call, entries, conversation)
        if not injection.base:
            return None
        rounds = self.book.rounds(session)
        put = partial(call.with_hud, injection, rounds, DEFINITIONS)
        changed = put() if len(body) < _INLINE else await loop.run_in_executor(self._readers, put)
        lines = head.with_lines(
            drop=(b"accept-encoding", _SWITCH_HEADER), add=(b"Accept-Encoding: identity",)
        )  # else nobody could see in a compressed answer whether it calls a tool of ours
        flight = CallInFlight(self, call, with_length(lines, len(changed)), changed, conversation, hud=True)
        # The tail is for one request: where the model is asked again, as in the next call, it is not there.
        flight.kept_body = partial(call.with_hud, replace(injection, tail=""), rounds, DEFINITIONS)
        flight.own_tokens = tokens + _tools_tokens(call.shape)
        return flight

    def _read(self, head: MessageHead, body: bytes) -> ProviderCall | None:
        shape = _shape_of(head)
        assert shape is not None
        agent = head.get(b"user-agent").lower()
        client = next((host for begins, host in _CLIENTS.items() if agent.startswith(begins)), "")
        call = shape(body, client)
        return None if call.why_untouched else call

    def _conversation(self, call: ProviderCall, head: MessageHead) -> tuple[Conversation, list[int]]:
        keys = [place.entry.key for place in call.entries]
        roles = [place.entry.role for place in call.entries]
        hint = _hint(call, head)
        signs = CallSigns(
            keys=keys,
            calls=lambda: [place.entry.key for place in call.entries if _has_call_of_its_own(place.entry)],
            prompts=next((n for n, role in enumerate(roles) if role != "user"), len(roles)),
            hint=hint,
            prompt=call.prompt,
            is_summary=call.begins_with_summary,
        )
        conversation = self.book.find(signs)
        return conversation, self.book.remember(conversation, keys, self._clock(), hint)

    def _with_usage(self, entries: list[HostMessage], session: str) -> None:
        """Say what the last answer cost, in the message that it became: the one behind those of its request."""
        place, cost = self._answered.pop(session, (0, None))
        if cost is None or place >= len(entries) or entries[place].message.role != "assistant":
            return
        usage = ReportedUsage(cost.total + cost.output, cost.fresh, cost.output, 0, cost.read, cost.written)
        entries[place] = entries[place]._replace(message=replace(entries[place].message, usage=usage))

    async def _injection(
        self, call: ProviderCall, entries: Sequence[HostMessage], conversation: Conversation
    ) -> tuple[Injection, int]:
        """Return what a call carries, and its tokens: what the log says, within its time; else what stood before."""
        assert self.attached is not None
        session, standing = conversation.session, self._standing.get(conversation.session)
        asked = HostCall(
            entries=entries,
            window=self._window or window_of(call.model.rpartition("/")[2]),
            model=call.model,
            system=sum(map(len, call.system_texts)),
            tools=call.tools_size,
            kept_later=True,
        )
        seconds = (_STEP_SECONDS if standing else _BEGIN_SECONDS) * hook_patience()
        prepare = partial(self.attached.prepare_call, session, asked, parent=conversation.parent)
        injection = await self._within(seconds, session, prepare)
        if injection is not None and injection.base:
            behind = {entries[index].key: blocks for index, blocks in injection.behind.items()}
            tokens = injection.frame.tokens if injection.frame is not None else 0
            self._keeping = self._behind.submit(self._keep, session, asked, conversation.parent)
            self._standing.pop(session, None)
            self._standing[session] = _Standing(injection.base, behind, tokens)
            while len(self._standing) > _MAX_STANDING:
                del self._standing[next(iter(self._standing))]
            return injection, tokens
        if standing is None:
            return Injection(), 0
        places = {entry.key: index for index, entry in enumerate(entries)}
        again = {places[key]: blocks for key, blocks in standing.behind.items() if key in places}
        return Injection(standing.base, again), standing.tokens

    def _keep(self, session: str, asked: HostCall, parent: str) -> None:
        """Keep what was said, behind the call: neither this one nor the next one waits for the disk."""
        assert self.attached is not None
        try:
            self.attached.with_session(session, lambda own: own, parent=parent).keep_conversation(asked)
        except Exception:
            _LOG.exception("what was said is kept with the next call")

    async def _within(self, seconds: float, session: str, work: Callable[[], T]) -> T | None:
        """Return what the HUD's thread answers in time; `None` where it does not, or is late with another call."""
        before = self._busy.get(session)
        if before is not None and not before.done():
            return None
        future = self._busy[session] = self._hud.submit(work)
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), seconds)
        except TimeoutError:
            _LOG.warning("the HUD was late: a call goes with what stood before")
            return None
        finally:
            if future.done():
                self._busy.pop(session, None)

    async def answer_tools(self, conversation: Conversation, calls: Sequence[WireCall]) -> list[str]:
        """Return the answers to a model's calls of our tools."""
        attached = self.attached
        assert attached is not None

        def answer() -> list[str]:
            if self._keeping is not None:
                wait((self._keeping,), _TOOL_SECONDS)  # what is asked for may be what was said in this call
            return [
                attached.tool(conversation.session, call.name, call.text or "{}", parent=conversation.parent).text
                for call in calls
            ]

        late = ["not recorded: the log does not answer"] * len(calls)
        try:
            future = self._hud.submit(answer)
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), _TOOL_SECONDS)
        except TimeoutError:
            return late
        except Exception:
            _LOG.exception("a tool is not answered")
            return late

    def answered(self, flight: CallInFlight) -> None:
        """Take up what a model asked of the client's tools, before the client knows it."""
        asked = (text for call in flight.reader.client_calls for text in _long_texts(call.arguments))
        self.book.asks(flight.conversation.session, asked)

    def used(self, flight: CallInFlight, cost: CallCost) -> None:
        """Take up how full the window is after an answer."""
        if flight.hud and self.attached is not None:
            own = flight.conversation
            tokens = cost.total + cost.output
            self._answered[own.session] = (len(flight.call.entries), cost)
            while len(self._answered) > _MAX_STANDING:
                del self._answered[next(iter(self._answered))]
            self._hud.submit(self.attached.report_usage, own.session, tokens, parent=own.parent)

    def ended(self, flight: CallInFlight) -> None:
        """Take up what a call cost."""
        session = flight.conversation.session
        self.book.add_call(
            session, flight.call.model, self._clock(), flight.costs, hud=flight.hud, own=flight.own_cost
        )
        if self.book.is_checkpoint_due:
            self._behind.submit(self.book.checkpoint)


class CallInFlight:
    """One call, and its answer. A `hudkit.hosts.gateway.relay.PreparedCall`."""

    def __init__(
        self, calls: HudCalls, call: ProviderCall, head: bytes, body: bytes, conversation: Conversation, *, hud: bool
    ) -> None:
        self._calls = calls
        self.call = call
        self.head = head
        self.body = body
        self.conversation = conversation
        self.hud = hud
        self.kept_body: Callable[[], bytes] = lambda: body
        self.own_tokens = 0
        self.costs: list[CallCost] = []
        self.reader: AnswerReader = READERS[call.shape](_OWN_TOOLS if hud else frozenset())
        self._mode: AnswerMode = "as it is"
        self._is_stream = False
        self._fails = False
        self._parts: list[bytes] = []
        self._inflate: Any = None
        self._noted = False
        self._reported: CallCost | None = None

    @property
    def own_cost(self) -> CallCost:
        """Return what of the first request was the HUD's: from the cache, as far as it can have been there."""
        cost = self.costs[0] if self.costs else CallCost(0, 0, 0)
        own = self.own_tokens if self.hud else 0
        # What the provider's cache did not give is shared in proportion.
        share = own / cost.total if cost.total else 0.0
        if cost.read >= own:
            return CallCost(own, 0, 0)
        return CallCost(cost.read, 0, max(0, min(own, round(cost.total * share)) - cost.read))

    def begin(self, response: MessageHead) -> AnswerMode:
        """Say what becomes of an answer."""
        kind = response.get(b"content-type").lower()
        coding = response.get(b"content-encoding").lower().strip()
        self._is_stream = kind.startswith(b"text/event-stream")
        self._fails = response.status != 200
        self._parts = []
        self._inflate = zlib.decompressobj(47) if coding in (b"gzip", b"deflate") else None
        plain = self._inflate is not None or coding in (b"", b"identity")
        readable = response.status == 200 and plain and (self._is_stream or b"json" in kind)
        self._fails = self._fails or not plain
        self._mode = "as it is"
        if self.hud and readable:
            self._mode = "stream" if self._is_stream else "whole"
        return self._mode

    def feed(self, part: bytes) -> bytes:
        """Take a part of the answer's body, and return what the client gets now."""
        try:
            if self._inflate is not None:
                part = self._inflate.decompress(part)
            if self._fails:
                return b""
            if self._is_stream:
                out = self.reader.feed(part)
                self._note()
                return out if self._mode == "stream" else b""
            self._parts.append(part)
        except Exception:
            _LOG.exception("an answer is not read on")
            self._mode, self._fails = "as it is", True
            return part + self.reader.rest() if self._is_stream else b""
        return b""

    def _note(self) -> None:
        """Take up what is known once the model has said all."""
        reader = self.reader
        if not reader.is_over:
            return
        if not self._noted:
            self._noted = True
            self._calls.answered(self)
        if reader.cost is not None and reader.cost is not self._reported:
            self._reported = reader.cost
            self._calls.used(self, reader.cost)

    async def end(self) -> NextRound:
        """Take the end of the answer."""
        try:
            return await self._end()
        except Exception:
            _LOG.exception("an answer is not read to its end")
            return NextRound(b"")

    async def _end(self) -> NextRound:
        reader, rest = self.reader, self.reader.rest()
        if self._fails:
            return NextRound(rest)
        if not self._is_stream:
            try:
                reader.whole(b"".join(self._parts))
            except BodyUnknown:
                return NextRound(b"")
            reader.is_over = True
        self._note()
        if reader.cost is not None:
            self.costs.append(reader.cost)
        if reader.calls:
            answers = await self._calls.answer_tools(self.conversation, reader.calls)
            items = self.call.answered_call(reader.said(), reader.calls, answers)
            self._calls.book.add_round(self.conversation.session, self.call.entries[-1].entry.key, items)
            if reader.asks_us_only and reader.rounds < _MAX_ROUNDS:
                body = self.kept_body()  # with what was exchanged before, and now
                reader.next_round()
                self._noted = False
                return NextRound(rest, body)
            if reader.asks_us_only and self._is_stream:
                rest += reader.closing()
        self._calls.ended(self)
        return NextRound(rest if self._is_stream else reader.changes_whole or b"")

    def refused(self, response: MessageHead, body: bytes) -> bytes:
        """Return what the client gets where a further request of the same call was refused."""
        self._calls.ended(self)
        try:
            message = str(json.loads(body)["error"]["message"])
        except (ValueError, KeyError, TypeError):
            message = f"the provider answered with status {response.status}"
        return self.reader.closing(message)


def _shape_of(head: MessageHead) -> type[ProviderCall] | None:
    path = head.target.partition(b"?")[0].decode("latin-1").rstrip("/")
    return next((shape for ending, shape in SHAPES.items() if path.endswith(ending)), None)


def _is_from_here(origin: bytes) -> bool:
    """Return whether a request is no foreign page's: such a page could write into the log."""
    if not origin:
        return True
    return urlsplit(origin.decode("latin-1")).hostname in ("localhost", "127.0.0.1", "::1")


def _hint(call: ProviderCall, head: MessageHead) -> str:
    """Return a digest of the client's own id of its session, where it tells one: the id may name an account."""
    hint = next((value.decode("latin-1") for name in _HINT_HEADERS if (value := head.get(name))), "")
    if not hint:
        key = call.field("prompt_cache_key")
        metadata = call.field("metadata")
        user = metadata.get("user_id") if isinstance(metadata, dict) else None
        hint = next((value for value in (key, user) if isinstance(value, str)), "")
    return entry_key(hint) if hint else ""


def _has_call_of_its_own(entry: HostMessage) -> bool:
    """Return whether a response has a call whose id no other conversation has; some models count them from 0."""
    calls = (part.call_id for part in entry.message.parts if isinstance(part, ToolPart))
    return any(_UNIQUE.search(call) for call in calls)


def _long_texts(value: object) -> Iterator[str]:
    """Yield the texts of a call's arguments that can be what a sub-agent begins with."""
    if isinstance(value, str):
        if len(value) >= 8:
            yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _long_texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _long_texts(each)


@cache
def _tools_tokens(shape: str) -> int:
    """Return the tokens of our tools' definitions, as a shape has them."""
    call = next(each for each in SHAPES.values() if each.shape == shape)
    return count_tokens(json.dumps([call.tool_definition(each) for each in DEFINITIONS]))
