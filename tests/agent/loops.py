"""What the tests of the loop share: a loop in a temporary project, with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hudkit.agent.loop import AgentLoop
from hudkit.agent.permissions import PermissionRule
from hudkit.agent.records import StoredMessage, find_faults
from hudkit.agent.run_context import LoopOptions, LoopSettings
from hudkit.models.port import order_fault
from hudkit.models.scripted_model import InProcessModel

FREE = (PermissionRule("bash", "*", "allow"),)
"""Commands are not asked about."""

QUICK = LoopSettings(delay=0.001, most_delay=0.01)


@asynccontextmanager
async def opened(place: Path, model: Any, session: str = "", **given: Any) -> AsyncIterator[AgentLoop]:
    """A loop over `place/project`, with its data in `place/data`; what it left behind is checked at the end."""
    project = place / "project"
    project.mkdir(exist_ok=True)
    given.setdefault("settings", QUICK)
    given.setdefault("permissions", FREE)
    data = place / "data"
    loop = await AgentLoop.open(project, model, data=data, session=session, options=LoopOptions(**given))
    try:
        yield loop
        assert find_faults(loop.messages) == (), "the transcript is valid"
        if isinstance(model, InProcessModel):
            assert [order_fault(request) for request in model.port_requests] == [""] * len(model.port_requests)
    finally:
        await loop.close()


def texts(messages: tuple[StoredMessage, ...]) -> list[tuple[str, str]]:
    """Role and words of each message."""
    return [(one.role, "".join(getattr(part, "text", "") for part in one.parts)) for one in messages]
