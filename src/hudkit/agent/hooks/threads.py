"""A plugin's own thread and event loop: where its functions run, so that one that blocks holds up nobody else."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["raised", "time-out", "lied", "stuck", "aside"]
"""How a call went wrong. `stuck`: not made, because an earlier one still blocks; `aside`: the plugin is set aside."""

AnyHook: TypeAlias = Callable[[Any, Any], Awaitable[None] | None]


class PluginFault(Exception):
    """A plugin's call that failed; `said` may hold anything that the plugin put there."""

    def __init__(self, kind: Kind, said: str) -> None:
        super().__init__(said)
        self.kind: Kind = kind
        self.said = said


class PluginThread:
    """A plugin's functions and the thread in which they run."""

    def __init__(self, name: str, calls: Mapping[str, AnyHook]) -> None:
        self.name = name
        self.calls = calls
        self._loop: asyncio.AbstractEventLoop | None = None
        self._doubted = False  # a call was given up: its thread may still be blocked

    async def run(self, call: Callable[..., Any], given: tuple[object, ...], seconds: float) -> Any:
        loop = self._running()
        if self._doubted and not await _answers(loop):
            raise PluginFault("stuck", "an earlier call still blocks; this one was not made")
        self._doubted = False
        try:
            future = asyncio.run_coroutine_threadsafe(_guarded(call, given), loop)
            answer, wrong = await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError:
            self._doubted = True
            raise PluginFault("time-out", f"no answer within {seconds:g} s") from None
        except asyncio.CancelledError:
            self._doubted = True
            raise
        if wrong is not None:
            raise PluginFault("raised", wrong)
        return answer

    def close(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = loop = asyncio.new_event_loop()
            threading.Thread(target=_turn, args=(loop,), name=f"plugin {self.name}", daemon=True).start()
        return self._loop


async def _guarded(call: Callable[..., Any], given: tuple[object, ...]) -> tuple[Any, str | None]:
    """What a call returned, or what it raised, in words."""
    try:
        answer = call(*given)
        return (await answer if inspect.isawaitable(answer) else answer), None
    except asyncio.CancelledError:
        return None, "it was cancelled"
    except BaseException as error:  # a plugin's sys.exit() ends no thread of ours
        try:
            said = str(error)
        except Exception:
            said = "(its text cannot be told)"
        return None, f"{type(error).__name__}: {said}"


async def _answers(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a plugin's loop turns."""
    heard: Future[None] = Future()

    def pong() -> None:
        if heard.set_running_or_notify_cancel():
            heard.set_result(None)

    loop.call_soon_threadsafe(pong)
    try:
        await asyncio.wait_for(asyncio.wrap_future(heard), 0.1)
    except TimeoutError:
        return False
    return True


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
