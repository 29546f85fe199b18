"""A real browser before a served world: what the tests of the page in Chromium start from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from page_process import TOKEN, Served

from chromium_browser import FLAGS, chromium
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.page.page_context import PageContext
from hudkit.rooms.players import open_players
from hudkit.rooms.prompts import load_prompts
from hudkit.rooms.scheduler import WorldRunner
from hudkit.rooms.world_log import WorldLog
from waiting import until


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(*FLAGS) as opened:
        yield opened


class Town:
    """A served world of three improvisers, paused until a test plays it."""

    def __init__(self) -> None:
        self.world_log = WorldLog.in_memory(name="Town", seed=7, prompts=load_prompts())
        self.runner = WorldRunner(self.world_log, open_players())
        self.architect = Architect(self.world_log, self.runner.now)
        for name, rooms in (("Ada", ()), ("Bruno", (1,)), ("Cleo", (1,))):
            self.architect.make_agent("persona", name, "Collects old maps.", "improviser", rooms=rooms)
        self.architect.pause()
        self.served = Served(
            PageContext(self.world_log, player=self.runner, models=(("improviser", "costs nothing"),))
        )

    def say(self, room: int, text: str) -> int:
        return self.served.do(lambda: self.architect.say(room, text))

    def react(self, agent: int, message: int) -> None:
        """Let an agent think that a message is clever."""

        def act() -> None:
            with self.world_log.transaction(Origin.AGENT) as transaction:
                transaction.append(e.ReactionAdded(message, agent, "brain"))

        self.served.do(act)

    def until(self, holds: Callable[[], bool]) -> None:
        until(holds)


@pytest.fixture
def town() -> Iterator[Town]:
    made = Town()
    yield made
    made.served.close()
    made.world_log.close()


@pytest.fixture
def visit(browser: Any, town: Town) -> Iterator[Callable[..., Any]]:
    """A page, logged in. What the browser complains of, and what it asks of others, fails the test."""
    contexts: list[Any] = []
    faults: list[str] = []

    awaited = ["401"]  # the login's own answer

    def heard(message: Any) -> None:
        if message.type == "error" and not any(one in message.text for one in awaited):
            faults.append(message.text)

    def open_page(path: str = "/?room=1&agent=1", *, refused: int | None = None, **given: Any) -> Any:
        """`refused`: the status of answers that the test asks for, 0: none at all."""
        if refused is not None:
            awaited.append(str(refused) if refused else "ERR_")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **given})
        contexts.append(context)
        page = context.new_page()
        page.on("console", heard)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda prompt: prompt.url.startswith(town.served.url) or faults.append(prompt.url))
        page.goto(f"{town.served.url}login")
        page.fill("[name=token]", TOKEN)
        page.click("button")
        page.wait_for_selector("#app")
        page.goto(town.served.url + path[1:])
        page.wait_for_selector("#app")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []
