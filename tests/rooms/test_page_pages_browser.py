"""The pages beside the main one in a real browser: read without scripts, on a phone, in both schemes, by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from chromium_browser import CONTRAST
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import CachedRenderer, build_agent_hud

if TYPE_CHECKING:
    from page_browser import Town

pytestmark = [pytest.mark.slow, pytest.mark.hosts]
pytest_plugins = ("page_browser",)

PAGES = ("search?q=line", "figures", "diff?agent=1", "worlds")


def talk(town: Town) -> None:
    """Two beats of Ada's, and something said, answered and thought of."""
    first = town.say(1, "A line for Ada and Bruno.")
    town.react(2, first)

    def act() -> None:
        for number in (1, 2):
            seen = build_agent_hud(town.world_log.world, 1, town.runner.now(), CachedRenderer())
            begun = e.BeatBegun(1, number, seen.composed_at, seen.composed_at, seen.digest, seen.tokens, "json", "m")
            with town.world_log.transaction(Origin.SYSTEM) as transaction:
                transaction.append(begun)
                transaction.append(e.ReplyReceived(1, number, text="{}", input_tokens=900, output_tokens=9))
                transaction.append(e.BeatFinished(1, number, seen.composed_at + 5000))
            town.architect.say(1, f"Line {number} for Cleo.", first)

    town.served.do(act)


def test_the_link_logs_in_and_the_first_thing_is_what_this_is(visit: Callable[..., Any], town: Town) -> None:
    page = visit()
    page.click("text=Log out")
    page.wait_for_selector("[name=token]")
    page.goto(town.served.link)
    page.wait_for_selector("#app")
    assert "once=" not in page.url
    assert page.is_visible("text=You are the Architect.")
    page.click("text=Put away")
    page.wait_for_selector(".introduction", state="detached")
    page.reload()
    assert page.locator(".introduction").count() == 0


def test_the_hud_is_read_first_and_its_instructions_are_folded(visit: Callable[..., Any], town: Town) -> None:
    town.say(1, "Only rooms say so.")
    page = visit()
    sees = page.locator("#sees")
    assert "Only rooms say so." in sees.inner_text() and "Collaboration" not in sees.inner_text()
    page.click("#instructions summary")
    page.wait_for_selector("#sees >> text=Collaboration")
    page.click("text=TOON")
    page.wait_for_selector("pre#sees")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_read_on_a_phone_and_stands_out(visit: Callable[..., Any], town: Town, scheme: str) -> None:
    talk(town)
    page = visit(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    for path in PAGES:
        page.goto(town.served.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        assert page.evaluate(CONTRAST) == [], path


def test_every_page_works_without_scripts(visit: Callable[..., Any], town: Town) -> None:
    talk(town)
    page = visit(java_script_enabled=False)
    page.click("text=Figures")
    assert page.locator("svg.people").is_visible() and page.locator(".map tbody tr").count() > 0
    page.fill("#search", "cleo")
    page.press("#search", "Enter")
    page.select_option("[name=kind]", "said")
    page.click("text=Filter")
    assert page.locator(".hits li").count() == 2 and page.locator("mark").first.inner_text() == "Cleo"
    page.click(".hits li >> nth=0 >> text=event")
    assert page.is_visible("text=nothing can be said")
    page.goto(f"{town.served.url}diff?agent=1&a=1&b=2")
    assert "Line 1 for Cleo." in page.locator("#changes .add").all_inner_texts()[-1]
    page.goto(f"{town.served.url}?room=1&agent=1&tab=edit")
    assert page.locator("datalist#models option").count() >= 1


def test_the_map_and_the_plots_say_in_words_what_they_show(visit: Callable[..., Any], town: Town) -> None:
    talk(town)
    page = visit("/?room=1")
    page.click("text=Figures")
    page.wait_for_selector("svg.people")
    pictures = page.locator("svg[role=img]")
    labels = [pictures.nth(n).get_attribute("aria-label") or "" for n in range(pictures.count())]
    assert len(labels) >= 4 and all(len(label) > 20 for label in labels)
    assert page.locator(".plots figcaption b").all_inner_texts()[:2] == ["Messages", "HUDs"]


def test_the_search_and_the_fork_are_reached_by_keyboard(visit: Callable[..., Any], town: Town) -> None:
    page = visit()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    town.until(lambda: page.evaluate("document.activeElement.id") == "search")
    page.focus("#fork summary")
    page.keyboard.press("Enter")
    page.wait_for_selector("#fork [name=name]", state="visible")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
