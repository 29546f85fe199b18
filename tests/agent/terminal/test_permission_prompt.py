"""A question on a terminal that is gone: nobody could be asked, and that is what the model is told."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.text import Text

from hudkit.agent.permissions import DEFAULT_RULES, Permissions
from hudkit.agent.terminal.permission_prompt import PermissionPrompt
from hudkit.agent.terminal.screen import Screen
from hudkit.agent.tools import RequiredPermission
from hudkit.errors import ToolRefused

pytestmark = [pytest.mark.anyio]


class _Shown:
    """Collects what is drawn, and says when the question is there."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.asked = asyncio.Event()

    @contextmanager
    def paused(self) -> Iterator[Screen]:
        with Path(os.devnull).open("w") as nothing:
            yield Screen(nothing)

    def put(self, kind: str, lines: list[Text]) -> None:
        self.lines += [line.plain for line in lines]
        self.asked.set()


async def test_a_terminal_that_is_gone_is_not_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    shown = _Shown()
    with os.fdopen(slave) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        permissions = Permissions(DEFAULT_RULES, ask_user=PermissionPrompt(shown))
        asking = asyncio.ensure_future(permissions.check("bash", [RequiredPermission("bash", ("make",))]))
        await shown.asked.wait()
        await asyncio.sleep(0)  # the reader of keys is there now
        os.close(master)
        with pytest.raises(ToolRefused) as refused:
            await asyncio.wait_for(asking, 30)
    assert refused.value.message.endswith("and nobody is there to be asked")
    assert shown.lines[-1].strip() == "denied: the terminal is gone, and nobody can be asked"
