"""Questions of permission: asked with one key on a terminal, and denied with advice where nobody is there."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import termios
import tty
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext, suppress
from typing import Literal, Protocol, TypeAlias

from rich.text import Text

from hudkit.agent.permissions import PATH_KINDS, PermissionReply, PermissionRequest
from hudkit.agent.terminal.changed_lines import proposed_changes
from hudkit.agent.terminal.screen import Screen, one_line, printable, wrap_text
from hudkit.compose import visible

_Answer: TypeAlias = Literal["once", "always", "reject", "nobody"]

_ANSWERS: Mapping[str, _Answer] = {
    "o": "once",
    "y": "once",
    "a": "always",
    "d": "reject",
    "n": "reject",
    "\x1b": "reject",
}


_REMARKS: Mapping[_Answer, str] = {
    "once": "allowed once",
    "always": "allowed for this session",
    "reject": "denied",
    "nobody": "denied: the terminal is gone, and nobody can be asked",
}


ShowBefore: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""Shows what led to a question, and leaves the keys to it."""


def nothing_before() -> AbstractAsyncContextManager[None]:
    """Return a context that does nothing: there is nothing to show first, and nobody else reads keys."""
    return nullcontext()


class PermissionAnswerer(Protocol):
    """Answers questions of permission."""

    aside: ShowBefore

    async def __call__(self, ask: PermissionRequest) -> PermissionReply: ...


class _Pausing(Protocol):
    """Who draws, and makes room for a question."""

    def paused(self) -> AbstractContextManager[Screen]:
        """The screen alone, until the question is answered."""

    def put(self, kind: Literal["note"], lines: Sequence[Text]) -> None:
        """Lines that stay."""


class PermissionPrompt:
    """Asks a person. Keys that were pressed before a question was there do not answer it, nor does a line that is
    half typed when it comes; `aside` shows first what led to the question."""

    def __init__(self, view: _Pausing) -> None:
        self._view = view
        self.aside: ShowBefore = nothing_before

    async def __call__(self, ask: PermissionRequest) -> PermissionReply:
        async with self.aside():
            return PermissionReply(await self._answer(ask))

    async def _answer(self, ask: PermissionRequest) -> _Answer:
        with self._view.paused() as screen:
            self._view.put("note", _question(ask, screen.columns))
            keys = "[o]nce, [a]lways, [d]eny" if ask.always else "[o]nce, [d]eny"
            asked = Text(f"  Allow? {keys} ", "bold")
            if screen.terminal:
                screen.hold([asked])
            else:
                screen.put(asked)
            try:
                answer = await _key(_ANSWERS if ask.always else {k: v for k, v in _ANSWERS.items() if k != "a"})
            finally:
                screen.hold()
            self._view.put("note", [Text(f"  {_REMARKS[answer]}", "dim")])
        return answer


class DenyAll:
    """Denies, and says once for each kind of call how it can be allowed."""

    def __init__(self, problem: Callable[[str], None]) -> None:
        self._problem = problem
        self._said: set[str] = set()
        self.aside: ShowBefore = nothing_before

    async def __call__(self, ask: PermissionRequest) -> PermissionReply:
        async with self.aside():
            self._tell(ask)
        return PermissionReply("nobody")

    def _tell(self, ask: PermissionRequest) -> None:
        kind = ask.need.kind
        if kind not in self._said:
            self._said.add(kind)
            # a pattern for all is the tool alone
            rules = [shlex.quote(f"{kind} {visible(pattern)}".removesuffix(" *")) for pattern in ask.always] or [kind]
            what = one_line(ask.need.values[0] if kind == "bash" or kind in PATH_KINDS else ask.need.title)
            how = " ".join(f"--allow {rule}" for rule in rules)
            self._problem(f"Denied, because nobody is there to be asked: {kind} {what}\nTo allow it: {how}, or --yes")


class AllowAll:
    """Allows what would be asked about (`--yes`); what the rules deny does not come here."""

    def __init__(self) -> None:
        self.aside: ShowBefore = nothing_before

    async def __call__(self, ask: PermissionRequest) -> PermissionReply:  # noqa: ARG002 (all alike)
        return PermissionReply("once")


def _question(ask: PermissionRequest, columns: int) -> list[Text]:
    """All of what would be done, why it is asked, and what `always` would allow."""
    lines = [Text(f"? {one_line(ask.tool)} needs your permission", "bold yellow")]
    kind, values = ask.need.kind, ask.need.values
    if kind == "bash":
        values = values[:1]
    elif kind not in PATH_KINDS:
        values = (ask.need.title, json.dumps(ask.arguments, ensure_ascii=False, default=str))
    for value in values:
        lines += wrap_text(printable(value), columns, indent="    ")
    if ask.need.kind == "bash" and len(ask.need.values) > 1 and ask.need.values[1] not in ("", "."):
        lines += wrap_text(f"in {one_line(ask.need.values[1])}", columns, indent="    ", style="dim")
    lines += proposed_changes(ask.tool, ask.arguments, columns)
    if ask.reason and not ask.reason.startswith("every command is"):  # that commands are asked about is no news
        lines += wrap_text(one_line(ask.reason), columns, indent="  ", style="dim")
    if ask.always:
        patterns = ", ".join(f"{one_line(kind)} {visible(pattern)}" for pattern in ask.always)
        lines += wrap_text(f"always allows: {patterns}", columns, indent="  ", style="dim")
    return lines


async def _key(answers: Mapping[str, _Answer]) -> _Answer:
    """The answer that a key means; other keys mean nothing."""
    fd = sys.stdin.fileno()
    loop = asyncio.get_running_loop()
    pressed: asyncio.Future[_Answer] = loop.create_future()

    def read() -> None:
        try:
            key = os.read(fd, 1).decode("latin-1").lower()
        except OSError:  # the terminal is gone
            key = ""
        answer = answers.get(key) if key else "nobody"
        if answer and not pressed.done():
            pressed.set_result(answer)

    before = termios.tcgetattr(fd)
    tty.setcbreak(fd, termios.TCSAFLUSH)
    loop.add_reader(fd, read)
    try:
        return await pressed
    finally:
        loop.remove_reader(fd)
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(fd, termios.TCSAFLUSH, before)
