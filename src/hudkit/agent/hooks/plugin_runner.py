"""Runs the plugins of a hook in order, and keeps the faults of each one to itself.

Each plugin has a thread with an event loop of its own: one that blocks holds up nobody else. It works on copies that
are checked while they are made, so that what it leaves can neither be of a wrong type nor change later. Only when a
call has ended in time, without an exception and with a copy that passes, is the copy taken over.

For example, plugin A appends to `output.system`, B puts a number in it, C appends. A's draft is taken over, B's is
dropped with the failure `invalid_output` ("output.system[1] must be str, it is int"), and C goes on from what A left.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from difflib import get_close_matches
from functools import cache, partial
from itertools import repeat
from operator import eq, is_
from time import monotonic
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec

from hudkit.agent.hooks.points import (
    HOOKS,
    ChatMessage,
    Headers,
    HookEvent,
    HookInput,
    HookOutput,
    Messages,
    System,
)
from hudkit.compose.visible_text import shorten, visible
from hudkit.errors import ConfigError

FaultKind: TypeAlias = Literal["raised", "time-out", "invalid_output", "stuck", "aside"]
"""How a call went wrong. `stuck`: not made, because an earlier one still blocks; `aside`: the plugin is set aside."""

_PATIENCE: Mapping[FaultKind, int] = {"time-out": 3, "stuck": 20}
"""Calls without an answer in time after which a plugin is set aside; each costs its limit, or a tenth of a second.

All hooks of a plugin are counted together, and an answer in time clears only what its own hook has cost: a quick hook
does not excuse one that always hangs, and a hook that is slow now and then is forgiven."""

_MAX_FAILURES = 200  # the newest ones that are kept
_MAX_MESSAGE = 200  # characters of a failure's message: a plugin may put anything there
_ALIVE_SECONDS = 0.1  # in which a loop that does not block answers

_Hook: TypeAlias = Callable[[Any, Any], Awaitable[None] | None]
_Output = TypeVar("_Output", bound=HookOutput)
_Value = TypeVar("_Value")


class Failure(msgspec.Struct, frozen=True):
    """A call whose changes were dropped: whose, where, how and, in one line, what was wrong."""

    plugin: str
    hook: str
    kind: FaultKind
    message: str


class PluginFault(Exception):
    """A plugin's call that failed; `reason` may hold anything that the plugin put there."""

    def __init__(self, kind: FaultKind, reason: str) -> None:
        super().__init__(reason)
        self.kind: FaultKind = kind
        self.reason = reason


_EVENT_TYPES = "event_types"
"""The attribute of a hook `event` that says what it wants to hear; it survives where hooks are put into a mapping."""

_REPLACES_MESSAGES = "replaces_messages"
"""The attribute of a hook `messages_transform` that says that it changes no message itself."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def on_events(*types: str) -> Callable[[_Function], _Function]:
    """Return a decorator for a hook `event` that wants events of these types alone: it is not called for others."""

    def decorate(function: _Function) -> _Function:
        setattr(function, _EVENT_TYPES, frozenset(types))
        return function

    return decorate


def replaces_messages(function: _Function) -> _Function:
    """Return a hook `messages_transform` that changes no message, but puts others in the place of some.

    It is given the session's own messages in a list of its own, so that nothing is copied for it, and those that are
    as in the request before are the very same objects. What it puts there it does not change later.
    """
    setattr(function, _REPLACES_MESSAGES, True)
    return function


class Hooks:
    """The registered plugins of one host. `on_failure` is called with each failure, besides `failures`.

    `seconds` is the most that a call may take in place of what each hook says.
    """

    def __init__(self, *, on_failure: Callable[[Failure], None] | None = None, seconds: float | None = None) -> None:
        self._plugins: list[_PluginThread] = []
        self._on_failure = on_failure
        self._seconds = seconds
        self._late: dict[str, list[tuple[str, FaultKind]]] = {}
        self._aside: set[str] = set()
        self.failures: deque[Failure] = deque(maxlen=_MAX_FAILURES)

    def add(self, name: str, plugin: object) -> tuple[str, ...]:
        """Register a plugin behind the others; return the names of its hooks.

        Raises `ConfigError`: no hook, a misspelt one, or the name of another plugin.
        """
        if any(registered.name == name for registered in self._plugins):
            raise ConfigError(f"a plugin named {_quoted(name)} is registered already")
        calls = _hooks_of(name, plugin)
        self._plugins.append(_PluginThread(name, calls))
        return tuple(calls)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the plugins, in the order in which they run."""
        return tuple(plugin.name for plugin in self._plugins)

    def using(self, hook: str) -> tuple[str, ...]:
        """Return the plugins that have this hook, in the order in which they run."""
        return tuple(plugin.name for plugin in self._plugins if hook in plugin.calls)

    def listens_to(self, type: str) -> bool:
        """Return whether some plugin wants to hear events of this type."""
        return any(plugin.listens_to(type) for plugin in self._plugins)

    @property
    def aside(self) -> frozenset[str]:
        """Return the plugins that answered too late too often: no hook of theirs is run any more."""
        return frozenset(self._aside)

    async def run(self, hook: str, context: HookInput, output: _Output) -> _Output:
        """Run a hook; return `output` as the plugins left it (the same object, changed).

        No plugin's fault is raised. Raises `TypeError` where the structs are not those of the hook.
        """
        await self.run_all(((hook, context, output),))
        return output

    async def run_all(self, calls: Sequence[tuple[str, HookInput, HookOutput]]) -> None:
        """Run several hooks, each over the output that is given with it, which is changed; return nothing.

        A plugin has all of its hooks in this order, before the next plugin has any, and its thread is entered once:
        that costs more than a hook. Otherwise as `run`.
        """
        for hook, context, output in calls:
            spec = HOOKS[hook]
            if not isinstance(context, spec.input) or not isinstance(output, spec.output):
                raise TypeError(f"{hook} takes a {spec.input.__name__} and a {spec.output.__name__}")
        for plugin in tuple(self._plugins):
            await self._run_own(plugin, deque(call for call in calls if plugin.wants(*call[:2])))

    async def _run_own(self, plugin: _PluginThread, waiting: deque[tuple[str, HookInput, HookOutput]]) -> None:
        """Run a plugin's own hooks. Behind one that is too late, the others are tried anew."""
        while waiting and plugin.name not in self._aside:
            drafts, planned = [], []
            for hook, context, output in waiting:
                spec = HOOKS[hook]
                draft = plugin.draft_of(output)
                drafts.append(draft)
                arguments = (_copy_of_input(context), draft)
                planned.append(_PlannedCall(plugin.calls[hook], arguments, self._seconds or spec.seconds))
            for answer, draft in zip(await plugin.run(planned), drafts, strict=False):
                hook, _, output = waiting.popleft()
                try:
                    if isinstance(answer, PluginFault):
                        raise answer
                    # a copy again: the plugin may still hold the draft, and change it later
                    accepted = plugin.accepted(draft, output)
                except PluginFault as fault:
                    self._count_fault(plugin.name, hook, fault)
                    continue
                self._forgive(plugin.name, hook)
                if accepted is not output:
                    for field in output.__struct_fields__:
                        setattr(output, field, getattr(accepted, field))

    async def within(self, name: str, call: Callable[..., Any], *arguments: object, seconds: float) -> Any:
        """Return what a function of the plugin `name` returns, run where its hooks run: tools of plugins go here.

        Raises `PluginFault` for whatever the function does wrong, and where the plugin is set aside.
        """
        if name in self._aside:
            raise PluginFault("aside", f"the plugin {_quoted(name)} is set aside: it was too often too late")
        plugin = next(plugin for plugin in self._plugins if plugin.name == name)
        try:
            answer = await plugin.run_one(call, arguments, seconds)
        except PluginFault as fault:
            self._count_fault(name, "tool", fault)
            raise
        self._forgive(name, "tool")
        return answer

    async def end(self, name: str, call: Callable[[], object], *, seconds: float) -> None:
        """Call a plugin's last function where its hooks ran, also where it is set aside; return nothing.

        A fault is only reported.
        """
        plugin = next(plugin for plugin in self._plugins if plugin.name == name)
        try:
            await plugin.run_one(call, (), seconds)
        except PluginFault as fault:
            self._report(_failure(name, "close", fault))

    def close(self) -> None:
        """Let go of the plugins' threads, and return nothing; what still runs in them is left alone."""
        for plugin in self._plugins:
            plugin.close()
        self._plugins.clear()

    def _count_fault(self, name: str, hook: str, fault: PluginFault) -> None:
        """Report a fault, and set the plugin aside where it has cost too much time."""
        self._report(_failure(name, hook, fault))
        if fault.kind not in _PATIENCE:
            self._forgive(name, hook)  # it answered in time, though with an error
            return
        if name in self._aside:
            return
        late = self._late.setdefault(name, [])
        late.append((hook, fault.kind))
        count = sum(kind == fault.kind for _, kind in late)
        if count >= _PATIENCE[fault.kind]:
            self._aside.add(name)
            reason = f"set aside for the rest of the session after {count} calls without an answer in time"
            self._report(
                Failure(name, hook, "aside", f"{reason}: its hooks are skipped, its tools answer with an error")
            )

    def _forgive(self, name: str, hook: str) -> None:
        if late := self._late.get(name):
            self._late[name] = [(late_hook, kind) for late_hook, kind in late if late_hook != hook]

    def _report(self, failure: Failure) -> None:
        self.failures.append(failure)
        if self._on_failure is not None:
            self._on_failure(failure)


def _failure(name: str, hook: str, fault: PluginFault) -> Failure:
    return Failure(name, hook, fault.kind, shorten(visible(fault.reason), _MAX_MESSAGE))


def _hooks_of(name: str, plugin: object) -> dict[str, _Hook]:
    """Return a plugin's functions by the names of their hooks; a name that is close to a hook's is an error."""
    if isinstance(plugin, Mapping):
        functions = dict(plugin)
    else:
        public = (word for word in dir(plugin) if not word.startswith("_"))
        functions = {word: getattr(plugin, word) for word in public if callable(getattr(plugin, word, None))}
    calls = {word: functions[word] for word in HOOKS if callable(functions.get(word))}
    for word in functions:
        # an object may have methods of its own: only what looks misspelt is refused; a mapping has hooks alone
        near = get_close_matches(str(word), HOOKS, 1, 1.0 if isinstance(plugin, Mapping) else 0.85)
        if word not in calls and (near or isinstance(plugin, Mapping)):
            close = near or get_close_matches(str(word), HOOKS, 1)
            hint = f"Did you mean {close[0]}?" if close else f"The hooks are {', '.join(HOOKS)}"
            raise ConfigError(f"plugin {_quoted(name)} has {_quoted(word)}, which is not a hook", hint=hint)
    if not calls:
        raise ConfigError(f"plugin {_quoted(name)} has no hook", hint=f"The hooks are {', '.join(HOOKS)}")
    return calls


def _quoted(word: object) -> str:
    return repr(shorten(visible(str(word)), 80))


# -- a plugin's thread -----------------------------------------------------------------------------------------


class _PluginThread:
    """A plugin's functions, and the thread with an event loop in which they run."""

    def __init__(self, name: str, calls: Mapping[str, _Hook]) -> None:
        self.name = name
        self.calls = calls
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event_types: frozenset[str] | None = getattr(calls.get("event"), _EVENT_TYPES, None)
        self._replaces_messages = getattr(calls.get("messages_transform"), _REPLACES_MESSAGES, False)
        self._put: dict[str, tuple[object, ChatMessage]] = {}  # messages that it put last, and what was accepted
        self._copies: dict[str, ChatMessage] = {}  # of messages, as it had them last
        self._changed: dict[str, ChatMessage] = {}  # of those that it changed, as it left them last
        self._maybe_blocked = False  # a call was given up: what it ran may still hold the thread

    def listens_to(self, type: str) -> bool:
        """Return whether its hook `event`, if it has one, wants events of this type."""
        return "event" in self.calls and (self._event_types is None or type in self._event_types)

    def wants(self, hook: str, context: HookInput) -> bool:
        """Return whether it has a hook, and wants this call of it."""
        return hook in self.calls and (not isinstance(context, HookEvent) or self.listens_to(context.type))

    def draft_of(self, output: HookOutput) -> Any:
        """Return a deep copy of an output for the plugin to change.

        Of a request's messages nearly all are those of the request before: the plugin has its copies of them again,
        where it left them as they were.
        """
        if not isinstance(output, Messages):
            return _draft_of(output)
        if self._replaces_messages:
            return Messages(output.messages.copy())
        ids = [message.id for message in output.messages]
        copies: list[Any] = list(map(self._copies.pop, ids, repeat(None)))
        for index in _unequal(output.messages, copies):
            copies[index] = _draft_of_message(output.messages[index])
        self._copies = dict(zip(ids, copies, strict=True))
        return Messages(copies)

    def accepted(self, draft: Any, output: HookOutput) -> HookOutput:
        """Return a deep copy of a draft, which was made of `output`; `output` itself where nothing was changed in it.

        Raises `PluginFault` where it is not sound. Of the messages of a request most plugins change the last one, or
        some as in the request before: those that are equal to what they were stand for themselves, and are neither
        checked nor copied.
        """
        if not isinstance(output, Messages) or type(draft) is not Messages or type(draft.messages) is not list:
            return validated_copy(draft, type(output)) if _unequal((output,), (draft,)) else output
        drafted = tuple(draft.messages)
        if self._replaces_messages:
            return self._with_replaced(drafted, output)
        changed = _unequal(output.messages, drafted)  # as a rule each stands where it stood
        if not changed and len(drafted) == len(output.messages):
            return output
        messages = [*output.messages[: len(drafted)], *drafted[len(output.messages) :]]
        originals: dict[str, ChatMessage] = {}
        if len(drafted) != len(output.messages):  # else what differs stands where its original stands
            originals = {message.id: message for message in output.messages}
        before, self._changed = self._changed, {}
        for index in (*changed, *range(len(output.messages), len(drafted))):
            message = drafted[index]
            original = _unchanged(message, originals)
            if original is None:
                original = _unchanged(message, before) or _message_copy(message, index)
                self._changed[original.id] = original
            messages[index] = original
        return Messages(messages)

    def _with_replaced(self, drafted: Sequence[Any], output: Messages) -> Messages:
        """Return what a hook left that changes no message: those that are not the session's own are copied once."""
        messages = output.messages
        if len(drafted) == len(messages):
            replaced = [place for place, is_same in enumerate(map(is_, drafted, messages)) if not is_same]
            if not replaced:
                return output
        else:
            own = {id(message) for message in messages}
            replaced = [place for place, message in enumerate(drafted) if id(message) not in own]
        before, self._put = self._put, {}
        accepted = list(drafted)
        for place in replaced:
            message = drafted[place]
            name = str(getattr(message, "id", ""))
            put, copy = before.get(name, (None, None))
            if copy is None or put is not message:
                copy = _message_copy(message, place)
            self._put[name] = (message, copy)
            accepted[place] = copy
        return Messages(accepted)

    async def run_one(self, call: Callable[..., Any], arguments: tuple[object, ...], seconds: float) -> Any:
        """Return what a function returns. Raises `PluginFault`, and lets a cancellation through."""
        answer = (await self.run((_PlannedCall(call, arguments, seconds),)))[0]
        if isinstance(answer, PluginFault):
            raise answer
        return answer

    async def run(self, calls: Sequence[_PlannedCall]) -> list[Any]:
        """Return what functions return that are called one after the other, and a `PluginFault` for each that failed.

        The list ends with the first that was not made, or that had no answer in time. A cancellation goes through.
        """
        loop = self._started_loop()
        if self._maybe_blocked and not await _is_turning(loop):
            return [PluginFault("stuck", "an earlier call still blocks; this one was not made")]
        self._maybe_blocked = False
        own = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = own.create_future()

        is_over = False

        def wake() -> None:
            if not waiter.done():
                waiter.set_result(None)

        def end() -> None:
            nonlocal is_over
            is_over = True
            wake()

        # by hand: futures chained from loop to loop, and a task for what awaits nothing, cost more than a hook
        visit = _Visit(calls, partial(own.call_soon_threadsafe, end))
        loop.call_soon_threadsafe(visit.start)
        try:
            # not `visit.ended`: what the calls asked of this loop stands before their end in its queue
            while not is_over:
                index, began = visit.current
                left = began + calls[index].seconds - monotonic()
                if left <= 0 and len(visit.answers) == index:
                    break
                timer = own.call_later(max(left, 0.001), wake)
                await waiter
                timer.cancel()
                waiter = own.create_future()
        finally:
            if not visit.ended:
                visit.given_up = self._maybe_blocked = True
                loop.call_soon_threadsafe(visit.cancel)
        if visit.given_up:
            late = PluginFault("time-out", f"no answer within {calls[index].seconds:g} s")
            return [*visit.answers[:index], late]
        return visit.answers

    def close(self) -> None:
        """Have the loop stopped as soon as nothing blocks it; return nothing."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = loop = asyncio.new_event_loop()
            # a daemon: a plugin that blocks for good must not keep the program from ending
            threading.Thread(target=_turn, args=(loop,), name=f"plugin {self.name}", daemon=True).start()
        return self._loop


class _PlannedCall(NamedTuple):
    """A function of a plugin, its arguments, and the most seconds that it may take."""

    function: Callable[..., Any]
    arguments: tuple[object, ...]
    seconds: float


class _Visit:
    """Calls that are made in a plugin's thread one after the other, and how far they have come.

    `answers` are those of the calls that ended; `current` is the index of the one under way, and when it began. Once
    it is `given_up`, no further one begins.
    """

    def __init__(self, calls: Sequence[_PlannedCall], report_end: Callable[[], object]) -> None:
        self.calls = calls
        self.answers: list[Any] = []
        self.current = (0, monotonic())
        self.given_up = self.ended = False
        self._report_end = report_end
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Make the calls; the first that awaits something is gone on with in a task, with all behind it."""
        for index in range(len(self.calls)):
            answer = self._make_call(index)
            if inspect.isawaitable(answer):
                self._task = asyncio.ensure_future(self._go_on(answer, index))
                return
            self.answers.append(answer)
            if self.given_up:
                break
        self._end()

    def cancel(self) -> None:
        """Cancel what is awaited."""
        if self._task is not None:
            self._task.cancel()

    async def _go_on(self, awaitable: Awaitable[Any], index: int) -> None:
        answer: Any = awaitable
        while True:
            if inspect.isawaitable(answer):
                answer = await _answer_or_fault(answer)
            self.answers.append(answer)
            index += 1
            if self.given_up or index == len(self.calls):
                break
            answer = self._make_call(index)
        self._end()

    def _make_call(self, index: int) -> Any:
        if index:
            self.current = (index, monotonic())
        function, arguments, _ = self.calls[index]
        try:
            return function(*arguments)
        except BaseException as error:  # a plugin's sys.exit() ends no thread of ours
            return _fault_of(error)

    def _end(self) -> None:
        self.ended = True
        with suppress(RuntimeError):  # the loop that waited is closed
            self._report_end()


async def _answer_or_fault(awaitable: Awaitable[Any]) -> Any:
    """Return what is awaited, or a `PluginFault` for what it raised."""
    try:
        return await awaitable
    except BaseException as error:
        return _fault_of(error)


def _fault_of(error: BaseException) -> PluginFault:
    if isinstance(error, asyncio.CancelledError):
        return PluginFault("raised", "it was cancelled")
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be told)"
    return PluginFault("raised", f"{type(error).__name__}: {text}")


async def _is_turning(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether a plugin's loop turns: it answers within a tenth of a second."""
    pong: Future[None] = Future()

    def answer() -> None:
        if pong.set_running_or_notify_cancel():
            pong.set_result(None)

    loop.call_soon_threadsafe(answer)
    try:
        await asyncio.wait_for(asyncio.wrap_future(pong), _ALIVE_SECONDS)
    except TimeoutError:
        return False
    return True


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


# -- copies that are checked while they are made ---------------------------------------------------------------

_MAX_DEPTH = 64  # deeper than any schema; a list that holds itself ends here

_Check: TypeAlias = Callable[[Any, int], Any]
"""Copies a value at a depth; raises `_WrongType`."""


class _WrongType(Exception):
    def __init__(self, reason: str, *path: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def below(self, step: str) -> _WrongType:
        return _WrongType(self.reason, step, *self.path)


def validated_copy(value: _Value, kind: Any) -> _Value:
    """Return a deep copy of `value`, made while checking that it is of the type `kind` all through.

    Raises `PluginFault` (`invalid_output`) that names the first place that is not, such as `output.system[1]`.
    """
    try:
        copied: _Value = _check(kind)(value, 0)
    except _WrongType as wrong:
        raise PluginFault("invalid_output", f"output{''.join(wrong.path)} {wrong.reason}") from None
    return copied


_pack = msgspec.msgpack.Encoder().encode
_unpack_message = msgspec.msgpack.Decoder(ChatMessage).decode
_UNPACKABLE = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError, AttributeError)
"""What is raised for a value that cannot be packed, or is none of its type: the check then finds what is wrong."""


_UNPACK: Mapping[type[HookOutput], Callable[[bytes], HookOutput]] = {
    kind: msgspec.msgpack.Decoder(kind).decode for kind in (System, Headers)
}
"""Outputs of texts: they are packed and unpacked, which copies them in C."""


def _copy_of_input(context: HookInput) -> HookInput:
    """Return what a hook is given: a copy, where there is anything in it that could be changed."""
    return context if _is_unchangeable(type(context)) else validated_copy(context, type(context))


@cache
def _is_unchangeable(kind: type[HookInput]) -> bool:
    return all(field.type in (str, int, bool) for field in msgspec.structs.fields(kind))


def _draft_of(output: HookOutput) -> Any:
    """Return a deep copy of an output for a plugin to change."""
    unpack = _UNPACK.get(type(output))
    if unpack is not None:
        with suppress(*_UNPACKABLE):
            return unpack(_pack(output))
    return validated_copy(output, type(output))


def _draft_of_message(message: ChatMessage) -> ChatMessage:
    try:
        return _unpack_message(_pack(message))
    except _UNPACKABLE:
        return validated_copy(message, ChatMessage)


def _unequal(originals: Sequence[Any], drafted: Sequence[Any]) -> list[int]:
    """Return the places, of those that both have, where a value is not equal to the original; all of them where they
    cannot be compared."""
    count = min(len(originals), len(drafted))
    try:
        equal = list(map(is_, map(eq, originals, drafted), repeat(True)))
    except Exception:  # whatever a plugin may have put there
        return list(range(count))
    return [] if all(equal) else [place for place in range(count) if not equal[place]]


def _message_copy(message: Any, index: int) -> ChatMessage:
    """Return a checked copy of the message that a plugin left at this place. Raises `PluginFault`."""
    if type(message) is ChatMessage:
        with suppress(*_UNPACKABLE):
            return _unpack_message(_pack(message))
    try:
        copied: ChatMessage = _check(ChatMessage)(message, 2)
    except _WrongType as wrong:
        path = "".join(wrong.below(f"[{index}]").below(".messages").path)
        raise PluginFault("invalid_output", f"output{path} {wrong.reason}") from None
    return copied


def _unchanged(message: Any, before: Mapping[str, ChatMessage]) -> ChatMessage | None:
    """Return the message that stands for a plugin's, where it is still the same; else `None`."""
    try:
        original = before.get(message.id)
        return original if original == message else None
    except Exception:  # whatever a plugin may have put there
        return None


@cache
def _check(kind: Any) -> _Check:
    """Return the check of one type, made once. It covers what the structs of `points` are made of."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if kind is Any:
        return _plain
    if origin in (Union, UnionType):
        return _any_of(kind, tuple(map(_check, inner)))
    if origin is Literal:
        return _literal(inner)
    if origin is list or origin is tuple:
        return _items(origin, _check(inner[0]))
    if origin is dict:
        return _entries(_check(inner[1]))
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return _fields(origin)
    if origin is float:
        return _number
    return _exactly(kind, origin) if origin in (str, int, bool, NoneType) else _callable


def _exactly(kind: Any, wanted: type) -> _Check:
    def check(value: Any, depth: int) -> Any:  # noqa: ARG001 (all checks are called alike)
        if type(value) is not wanted:
            raise _WrongType(f"must be {kind.__name__}, it is {type(value).__name__}")
        return value

    return check


def _number(value: Any, depth: int) -> Any:  # noqa: ARG001
    if type(value) not in (float, int):
        raise _WrongType(f"must be a number, it is {type(value).__name__}")
    return float(value)


def _callable(value: Any, depth: int) -> Any:  # noqa: ARG001
    if not callable(value):
        raise _WrongType(f"must be a function, it is {type(value).__name__}")
    return value


def _literal(words: tuple[Any, ...]) -> _Check:
    def check(value: Any, depth: int) -> Any:  # noqa: ARG001
        if type(value) is not str or value not in words:
            raise _WrongType(f"must be one of {', '.join(words)}")
        return value

    return check


def _any_of(kind: Any, checks: tuple[_Check, ...]) -> _Check:
    def check(value: Any, depth: int) -> Any:
        for check_kind in checks:
            try:
                return check_kind(value, depth)
            except _WrongType:
                continue
        raise _WrongType(f"must be {kind}, it is {type(value).__name__}")

    return check


def _items(kind: Any, check_item: _Check) -> _Check:
    def check(value: Any, depth: int) -> Any:
        if type(value) is not kind:
            raise _WrongType(f"must be a {kind.__name__}, it is {type(value).__name__}")
        deeper = _deeper(depth)
        copied = []
        try:
            # a tuple first: the plugin's thread may change the list meanwhile
            for item in tuple(value):
                copied.append(check_item(item, deeper))  # noqa: PERF401 (its length is the place of a fault)
        except _WrongType as wrong:
            raise wrong.below(f"[{len(copied)}]") from None
        return copied if kind is list else kind(copied)

    return check


def _entries(check_item: _Check) -> _Check:
    def check(value: Any, depth: int) -> Any:
        if type(value) is not dict:
            raise _WrongType(f"must be an object, it is {type(value).__name__}")
        deeper = _deeper(depth)
        copied = {}
        key: Any = ""
        try:
            for key, item in tuple(value.items()):
                if type(key) is not str:
                    raise _WrongType("must have text for its name")
                copied[key] = check_item(item, deeper)
        except _WrongType as wrong:
            raise wrong.below(f"[{shorten(repr(key), 40)}]") from None
        return copied

    return check


def _fields(kind: type[msgspec.Struct]) -> _Check:
    steps: list[tuple[str, _Check]] = []  # filled at the first use: a struct may hold itself

    def check(value: Any, depth: int) -> Any:
        if type(value) is not kind:
            raise _WrongType(f"must be a {kind.__name__}, it is {type(value).__name__}")
        if not steps:
            steps.extend((field.name, _check(field.type)) for field in msgspec.structs.fields(kind))
        deeper = _deeper(depth)
        name = ""
        try:
            copied = []
            for name, check_field in steps:
                copied.append(check_field(getattr(value, name), deeper))
        except _WrongType as wrong:
            raise wrong.below(f".{name}") from None
        except AttributeError:
            raise _WrongType(f"has no {name} any more") from None
        return kind(*copied)

    return check


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is bool or kind is int or kind is NoneType or kind is float:
        return value
    if kind is dict or kind is list:
        return _check(dict[str, Any] if kind is dict else list[Any])(value, depth)
    if kind is tuple:
        return _check(tuple[Any, ...])(value, depth)
    raise _WrongType(f"must be plain data, it is {kind.__name__}")


def _deeper(depth: int) -> int:
    if depth >= _MAX_DEPTH:
        raise _WrongType(f"is nested more than {_MAX_DEPTH} deep")
    return depth + 1
