"""`hudkit run --json-input`: a program at the other end: lines of JSON come in, events go out.

`docs/terminal.md` has the lines. A prompt waits for those before it; the end of the input ends the session once the
last of them is answered. A line that is not understood is answered with `problem`, and nothing else happens.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.agent.events import TurnEnded
from hudkit.agent.permissions import PermissionReply, PermissionRequest
from hudkit.agent.terminal.permission_prompt import ShowBefore, nothing_before
from hudkit.agent.terminal.session_runner import SessionRunner
from hudkit.agent.terminal.view import JsonView
from hudkit.errors import HudkitError

_MAX_LINE_BYTES = 32 * 1024 * 1024
"""Bytes of a line: a prompt may hold files, but a stream without line ends is no input."""


class _InputLine(msgspec.Struct, frozen=True, kw_only=True):
    schema: Literal[1] = 1


class _PromptLine(_InputLine, frozen=True, tag="prompt"):
    text: str
    answer_schema: dict[str, Any] | None = None


class _SteerLine(_InputLine, frozen=True, tag="steer"):
    text: str


class _CancelLine(_InputLine, frozen=True, tag="cancel"):
    pass


class _PermissionLine(_InputLine, frozen=True, tag="permission"):
    id: str
    answer: Literal["once", "always", "reject"]
    pattern: str = ""
    message: str = ""


_Line: TypeAlias = _PromptLine | _SteerLine | _CancelLine | _PermissionLine


class JsonPermissions:
    """Asks the program at the other end, by an event with an id, and waits for the line with the same id."""

    def __init__(self, view: JsonView) -> None:
        self._view = view
        self._waiting: dict[str, asyncio.Future[PermissionReply]] = {}
        self._count = 0
        self._over = False
        self.aside: ShowBefore = nothing_before

    async def __call__(self, ask: PermissionRequest) -> PermissionReply:
        if self._over:
            return PermissionReply("nobody")
        self._count += 1
        id = f"q{self._count}"
        reply: asyncio.Future[PermissionReply] = asyncio.get_running_loop().create_future()
        self._waiting[id] = reply
        try:
            async with self.aside():
                self._view.write("permission", ask.session_id, id=id, **_question_fields(ask))
            return await reply
        finally:
            del self._waiting[id]

    def answer(self, id: str, reply: PermissionReply) -> bool:
        """Answer a question; return whether one of this id was waiting."""
        waiting = self._waiting.get(id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(reply)
        return True

    def end(self) -> None:
        """Answer all questions from now on with nobody's being there; return nothing."""
        self._over = True
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_result(PermissionReply("nobody"))


def _question_fields(ask: PermissionRequest) -> dict[str, Any]:
    need = ask.need
    about = {"tool": ask.tool, "call": ask.call_id, "arguments": ask.arguments}
    return {**about, "kind": need.kind, "values": list(need.values), "reason": ask.reason, "always": list(ask.always)}


class JsonSession:
    """A session that lines of JSON drive; `run` is all of it."""

    def __init__(self, runner: SessionRunner, view: JsonView, permissions: JsonPermissions | None) -> None:
        """`permissions` is who asks; `None` where nobody is asked."""
        self._runner = runner
        self._view = view
        self._permissions = permissions
        self._prompts: asyncio.Queue[_PromptLine | None] = asyncio.Queue()
        self._steering: set[asyncio.Task[None]] = set()

    async def run(self, fd: int, first: str = "", answer_schema: dict[str, Any] | None = None) -> TurnEnded | None:
        """Answer prompts until the input `fd` is at its end; return how the last turn ended (`None`: there was none).

        `first` is a prompt before all others, whose answer has to fit the `answer_schema`. Raises `UserLeft`.
        """
        if first:
            self._prompts.put_nowait(_PromptLine(text=first, answer_schema=answer_schema))
        threading.Thread(target=self._read, args=(fd, asyncio.get_running_loop()), daemon=True).start()
        ended: TurnEnded | None = None
        while (line := await self._prompts.get()) is not None:
            try:
                ended = await self._runner.display.prompt(line.text, answer_type=line.answer_schema)
            except HudkitError as error:
                self._problem(str(error))
            self._runner.display.show()
        return ended

    def _read(self, fd: int, loop: asyncio.AbstractEventLoop) -> None:
        """Read lines, in a thread: a file and a pipe alike, and by no object whose lock would outlive the program."""
        rest, number = b"", 0
        with suppress(RuntimeError):  # the session is over, and its loop closed
            while piece := _read_piece(fd):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    number += 1
                    loop.call_soon_threadsafe(self._take, line, number)
                if len(rest) > _MAX_LINE_BYTES:
                    loop.call_soon_threadsafe(self._problem, f"line {number + 1} is too long; no more is read")
                    rest = b""
                    break
            loop.call_soon_threadsafe(self._take, rest, number + 1)
            loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self._permissions is not None:
            self._permissions.end()
        self._prompts.put_nowait(None)

    def _take(self, raw: bytes, number: int) -> None:
        if not raw.strip():
            return
        try:
            line = msgspec.json.decode(raw, type=_Line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._problem(f"line {number} is not understood: {error}")
            return
        match line:
            case _PromptLine():
                self._prompts.put_nowait(line)
            case _SteerLine(text=text):
                self._start(self._steer(text))
            case _CancelLine():
                if not self._runner.loop.cancel():
                    self._problem("there is no turn to be cancelled")
            case _PermissionLine():
                reply = PermissionReply(line.answer, line.pattern, line.message)
                if self._permissions is None or not self._permissions.answer(line.id, reply):
                    self._problem(f"no question {line.id!r:.80} waits for an answer")

    async def _steer(self, text: str) -> None:
        try:
            message = await self._runner.loop.steer(text)
        except HudkitError as error:
            self._problem(str(error))
            return
        self._runner.display.show()
        self._view.write("steered", self._runner.loop.id, taken=message is not None, text=text)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        # the set keeps the task alive: asyncio itself holds tasks only weakly
        task = asyncio.ensure_future(work)
        self._steering.add(task)
        task.add_done_callback(self._steering.discard)

    def _problem(self, text: str) -> None:
        self._view.write("problem", self._runner.loop.id, error=text)


def _read_piece(fd: int) -> bytes:
    try:
        return os.read(fd, 65_536)
    except OSError:  # the other end is gone
        return b""
