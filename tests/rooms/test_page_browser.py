"""The page in a real browser: live, by keyboard, on a phone, without scripts, and without a word to anybody else."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from page_served import TOKEN, Served

from hudkit.rooms.architect import Architect
from hudkit.rooms.beats import Runner
from hudkit.rooms.book import Book
from hudkit.rooms.minds import open_minds
from hudkit.rooms.page.desk import Desk
from hudkit.rooms.prompts import load_prompts

pytestmark = pytest.mark.slow

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


def _missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"CI needs {what}")
    pytest.skip(f"{what} is not here")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        _missing("Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


class Town:
    """A served world of three improvisers, paused until a test plays it."""

    def __init__(self) -> None:
        self.book = Book.in_memory(name="Town", seed=7, prompts=load_prompts())
        self.runner = Runner(self.book, open_minds())
        self.architect = Architect(self.book, self.runner.now)
        for name, rooms in (("Ada", ()), ("Bruno", (1,)), ("Cleo", (1,))):
            self.architect.make_agent("persona", name, "Collects old maps.", "improviser", rooms=rooms)
        self.architect.pause()
        self.served = Served(Desk(self.book, player=self.runner, models=("improviser",)))

    def say(self, room: int, text: str) -> int:
        return self.served.do(lambda: self.architect.say(room, text))

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + 20
        while not holds():
            assert time.monotonic() < end, "it did not come about"
            time.sleep(0.05)


@pytest.fixture
def town() -> Iterator[Town]:
    made = Town()
    yield made
    made.served.close()
    made.book.close()


@pytest.fixture
def visit(browser: Any, town: Town) -> Iterator[Callable[..., Any]]:
    """A page, logged in. What the browser complains of, and what it asks of others, fails the test."""
    contexts: list[Any] = []
    faults: list[str] = []

    def heard(message: Any) -> None:
        if message.type == "error" and "401" not in message.text:  # the login's own answer
            faults.append(message.text)

    def open_page(path: str = "/?room=1&agent=1", **given: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **given})
        contexts.append(context)
        page = context.new_page()
        page.on("console", heard)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda asked: asked.url.startswith(town.served.url) or faults.append(asked.url))
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


def test_a_message_appears_by_itself_and_nothing_moves(visit: Callable[..., Any], town: Town) -> None:
    for number in range(40):
        town.say(1, f"Line {number} of what was said before.")
    page = visit()
    page.wait_for_selector("text=Line 39")
    page.evaluate(
        """() => { window.moved = 0; new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) window.moved += entry.value;
        }).observe({ type: "layout-shift", buffered: false }); }"""
    )
    page.fill("#text", "half a thou")
    page.focus("#text")
    said = town.say(1, "Something new.")
    page.wait_for_selector("text=Something new.")
    assert page.input_value("#text") == "half a thou"
    assert page.evaluate("document.activeElement.id") == "text"
    page.wait_for_timeout(300)
    assert page.evaluate(f"document.querySelector('#m{said}').getBoundingClientRect().bottom <= innerHeight")
    assert page.evaluate("window.moved") == 0


def test_who_reads_older_messages_is_not_pulled_away(visit: Callable[..., Any], town: Town) -> None:
    for number in range(40):
        town.say(1, f"Line {number} of what was said before.")
    page = visit()
    page.evaluate("document.querySelector('#messages').scrollTop = 100")
    page.wait_for_timeout(100)
    said = town.say(1, "Something new.")
    page.wait_for_selector(f"#m{said}", state="attached")
    assert page.evaluate("document.querySelector('#messages').scrollTop") == 100


def test_speaking_by_keyboard_alone(visit: Callable[..., Any], town: Town) -> None:
    page = visit()
    page.keyboard.press("c")
    page.keyboard.type("First line")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("second <b>line</b>")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=second <b>line</b>")
    assert page.input_value("#text") == "" and page.evaluate("document.activeElement.id") == "text"
    last = town.book.world.messages[town.book.world.rooms[1].messages[-1]]
    assert (last.sender, last.content) == (0, "First line\r\nsecond <b>line</b>".replace("\r", ""))
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.wait_for_selector("#talk h2:has-text('Bruno’s room')")
    page.keyboard.press("k")
    page.wait_for_selector("#talk h2:has-text('Ada’s room')")


def test_playing_stepping_and_stopping(visit: Callable[..., Any], town: Town) -> None:
    page = visit()
    page.wait_for_selector("text=Paused: the Architect")
    before = town.book.world.beats
    page.click("#step")
    town.until(lambda: town.book.world.beats == before + 1)
    town.until(lambda: not any(agent.beating for agent in town.book.world.agents.values()))
    page.click("#play")
    page.wait_for_selector("#play:has-text('Pause')")
    town.until(lambda: town.book.world.beats > before + 2)
    page.click("button:has-text('Stop')")
    page.wait_for_selector("text=Stopped")
    held = town.book.world.beats
    page.wait_for_timeout(1500)
    assert town.book.world.beats == held and not town.served.desk.playing
    page.click("#play")
    town.until(lambda: town.book.world.beats > held)


def test_the_hud_of_the_last_beat_is_the_one_that_was_recorded(visit: Callable[..., Any], town: Town) -> None:
    page = visit("/?room=1&agent=2")
    page.click("#right button:has-text('Step')")
    town.until(lambda: town.book.world.agents[2].beats == 1)
    town.say(1, "Said after the beat.")
    page.click("text=Last beat")
    page.wait_for_selector("text=the same bytes as the log recorded")
    assert "Said after the beat." not in page.inner_text("#sees")


def test_the_slider_goes_back_and_live_comes_back(visit: Callable[..., Any], town: Town) -> None:
    town.say(1, "Early.")
    then = town.book.world.seq
    town.say(1, "Late.")
    page = visit()
    page.wait_for_selector("text=Late.")
    page.evaluate(
        f"() => {{ const at = document.querySelector('#at'); at.value = {then};"
        " at.dispatchEvent(new Event('change', {bubbles: true})); }"
    )
    page.wait_for_selector("text=nothing can be said")
    assert page.locator("#list >> text=Late.").count() == 0 and page.locator("#list >> text=Early.").count() == 1
    assert f"at={then}" in page.url
    page.keyboard.press("l")
    page.wait_for_selector("#list >> text=Late.")


def test_an_agent_is_made_in_a_form(visit: Callable[..., Any], town: Town) -> None:
    page = visit()
    page.click("text=New agent")
    page.fill("#right [name=name]", "Dov <i>")
    page.fill("#right [name=background]", "Mends clocks.")
    page.click("text=Make it")
    page.wait_for_selector("#right h2:has-text('Dov <i>')")
    assert town.book.world.agents[4].name == "Dov <i>" and 4 in town.book.world.rooms[1].members


def test_hostile_text_does_nothing_in_a_browser(visit: Callable[..., Any], town: Town) -> None:
    """Any script, dialog, request to elsewhere or breach of the policy would fail `visit`."""
    for text in (
        "<script>alert(1)</script><img src=https://evil.example/x onerror=alert(2)>",
        "\"><svg onload=alert(3)> ' onfocus=alert(4) autofocus x='",
        "![x](https://evil.example/?q=1) <a href=javascript:alert(5)>x</a> <hx-partial hx-target=body>",
        "<div hx-get=/do/stop hx-trigger=load hx-on:load=alert(6)></div>",
    ):
        town.say(1, text)
        town.served.do(lambda text=text: town.architect.billboard(1, text))
    page = visit()
    page.wait_for_selector("#list >> text=hx-partial")
    page.wait_for_timeout(500)
    assert page.locator("#list img, #list script, #list svg, #list [hx-get], #list a[href^=java]").count() == 0


@pytest.mark.parametrize("view", ["rooms", "talk", "agent"])
def test_a_phone_shows_one_part_whole(visit: Callable[..., Any], town: Town, view: str) -> None:
    town.say(1, "w" * 300)
    page = visit(f"/?room=1&agent=1&view={view}", viewport={"width": 360, "height": 740}, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    shown = [name for name in ("left", "talk", "right") if page.is_visible(f"#{name}")]
    assert shown == [{"rooms": "left", "talk": "talk", "agent": "right"}[view]]
    page.click("nav.narrow >> text=Agent")
    page.wait_for_selector("#right", state="visible")


def test_it_works_without_scripts(visit: Callable[..., Any], town: Town) -> None:
    page = visit(java_script_enabled=False)
    page.fill("#text", "No scripts here.")
    page.click("text=Say")
    assert page.locator("#list >> text=No scripts here.").count() == 1
    page.click("text=Bruno’s room")
    assert page.locator("#talk h2").inner_text() == "Bruno’s room"
    page.click("#play")
    assert town.served.desk.book.world.paused is None
