"""The page in a real browser: live, by keyboard, on a phone, without scripts, and without a word to anybody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from page_browser import Town

pytestmark = pytest.mark.slow
pytest_plugins = ("page_browser",)


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
    last = town.world_log.world.messages[town.world_log.world.rooms[1].messages[-1]]
    assert (last.sender, last.content) == (0, "First line\r\nsecond <b>line</b>".replace("\r", ""))
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.wait_for_selector("#talk h2:has-text('Bruno’s room')")
    page.keyboard.press("k")
    page.wait_for_selector("#talk h2:has-text('Ada’s room')")


def test_playing_stepping_and_stopping(visit: Callable[..., Any], town: Town) -> None:
    page = visit()
    page.wait_for_selector("text=Paused: the Architect")
    before = town.world_log.world.beats
    page.click("#step")
    town.until(lambda: town.world_log.world.beats == before + 1)
    town.until(lambda: not any(agent.current_beat for agent in town.world_log.world.agents.values()))
    page.click("#play")
    page.wait_for_selector("#play:has-text('Pause')")
    town.until(lambda: town.world_log.world.beats > before + 2)
    page.click("button:has-text('Stop')")
    page.wait_for_selector("text=Stopped")
    held = town.world_log.world.beats
    page.wait_for_timeout(1500)
    assert town.world_log.world.beats == held and not town.served.context.playing
    page.click("#play")
    town.until(lambda: town.world_log.world.beats > held)


def test_the_hud_of_the_last_beat_is_the_one_that_was_recorded(visit: Callable[..., Any], town: Town) -> None:
    page = visit("/?room=1&agent=2")
    page.click("#right button:has-text('Step')")
    town.until(lambda: town.world_log.world.agents[2].beats == 1)
    town.say(1, "Said after the beat.")
    page.click("text=Last beat")
    page.wait_for_selector("text=the same bytes as the log recorded")
    assert "Said after the beat." not in page.inner_text("#sees")


def test_an_answer_that_comes_too_late_does_not_lead_back(visit: Callable[..., Any], town: Town) -> None:
    page = visit("/?room=1&agent=2")
    page.click("#right button:has-text('Step')")
    town.until(lambda: town.world_log.world.agents[2].beats == 1)
    page.wait_for_selector("text=What it would see at this moment")
    held: list[Any] = []

    def hold(route: Any) -> None:
        if held or "live" in route.request.url:
            route.continue_()
        else:
            held.append(route)

    page.route("**/*", hold)
    town.say(1, "Something new.")  # the page looks again by itself, never while another look is under way
    town.until(lambda: page.wait_for_timeout(20) or bool(held))
    page.click("text=Last beat")
    page.wait_for_selector("text=the same bytes as the log recorded")
    page.evaluate(
        """() => {
            const told = () => document.querySelector("#right .hint").innerText;
            const led = () => { window.ledBack ||= told().includes("at this moment"); };
            new MutationObserver(led).observe(document.body, { subtree: true, childList: true });
        }"""
    )
    held[0].continue_()
    page.wait_for_timeout(1000)
    assert not page.evaluate("window.ledBack")
    assert page.is_visible("text=the same bytes as the log recorded")


def test_the_slider_goes_back_and_live_comes_back(visit: Callable[..., Any], town: Town) -> None:
    town.say(1, "Early.")
    then = town.world_log.world.seq
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
    page.fill("#right [name=name]", "Dov &amp; Co")
    page.fill("#right [name=background]", "Mends clocks.")
    page.click("text=Make it")
    page.wait_for_selector("#right h2:has-text('Dov &amp; Co')")
    assert town.world_log.world.agents[4].name == "Dov &amp; Co" and 4 in town.world_log.world.rooms[1].members


def test_hostile_text_does_nothing_in_a_browser(visit: Callable[..., Any], town: Town) -> None:
    """Any script, dialog, request to elsewhere or breach of the policy would fail `visit`."""
    for text in (
        "<script>alert(1)</script><img src=https://evil.example/x onerror=alert(2)>",
        "\"><svg onload=alert(3)> ' onfocus=alert(4) autofocus x='",
        "![x](https://evil.example/?q=1) <a href=javascript:alert(5)>x</a> <hx-partial hx-target=body>",
        "<div hx-get=/do/stop hx-trigger=load hx-on:load=alert(6)></div>",
    ):
        town.say(1, text)
        town.served.do(lambda text=text: town.architect.set_billboard(1, text))
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
    page.click("#composer button")
    assert page.locator("#list >> text=No scripts here.").count() == 1
    page.click("text=Bruno’s room")
    assert page.locator("#talk h2").inner_text() == "Bruno’s room"
    page.click("#play")
    assert town.served.context.world_log.world.paused is None
