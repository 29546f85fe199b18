"""A gateway before a model on loopback, for tests of clients that know nothing of it but its URL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hudkit import Hud, paths
from hudkit.hosts.gateway.conversations import ConversationBook
from hudkit.hosts.gateway.hud_calls import HOST, HudCalls
from hudkit.hosts.gateway.relay import GatewayThread
from hudkit.hosts.in_process import InProcessHud
from hudkit.models.captured_request import CapturedRequest
from hudkit.sections.state import HudState
from hudkit.testing.assertions import hud_base, prefix_breaks
from hudkit.tokens import Window


@contextmanager
def running_gateway(
    model_url: str, log: Path, project: Path, *, limit: tuple[int, int] = (400_000, 8_000), hud: bool = True
) -> Iterator[str]:
    """The URL of a gateway to a model, whose HUD is on or off."""
    attached = InProcessHud(log, host=HOST, project=project)
    log.parent.mkdir(parents=True, exist_ok=True)
    book = ConversationBook(paths.gateway_path(log))
    calls = HudCalls(attached, book, window=Window(*limit, None, "user"), switch=lambda: hud)
    calls.warm_up()
    try:
        with GatewayThread(model_url, calls) as running:
            yield running.url
    finally:
        calls.close()
        book.close()
        attached.close()


def gateway_states(log: Path) -> list[HudState]:
    """The HUDs of the gateway's sessions, the oldest first."""
    with Hud.open(log) as board:
        return [board.session(key).state for key in board.sessions() if key.startswith(f"{HOST}/")]


def assert_served(chats: Sequence[CapturedRequest]) -> None:
    """Every call of one conversation has the HUD, the same base, our tools, and begins with the call before it."""
    assert len({hud_base(chat) for chat in chats}) == 1
    assert all({"hud", "memory"} <= set(chat.tools) for chat in chats)
    assert all(len(chat.breakpoints) <= 4 for chat in chats)
    breaks = prefix_breaks(chats)
    assert breaks == [], breaks
