"""Using the page for a while, in a real browser: nothing that somebody wrote, reads or looks at is taken away."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from chromium_browser import CONTRAST

if TYPE_CHECKING:
    from page_browser import Town

pytestmark = pytest.mark.slow
pytest_plugins = ("page_browser",)

FOCUS = "document.activeElement"
WIDE = """[...document.querySelectorAll("#left, #talk, #right, .panel")]
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.id || one.className)"""

SHIFTS = """() => { window.moved = 0; new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.moved += entry.value;
}).observe({ type: "layout-shift", buffered: false }); }"""


def seq(page: Any) -> int:
    """The event up to which the page shows the world."""
    return int(page.evaluate("document.querySelector('#app').dataset.seq"))


def at_end(page: Any) -> bool:
    return bool(
        page.evaluate(
            "(() => { const list = document.querySelector('#messages');"
            " return list.scrollHeight - list.scrollTop - list.clientHeight < 60; })()"
        )
    )


def test_a_list_that_has_the_focus_does_not_hold_the_page_up(visit: Callable[..., Any], town: Town) -> None:
    page = visit()
    page.focus(".speed select")
    page.keyboard.press("ArrowDown")
    town.until(lambda: town.world_log.world.speed == 2)
    town.say(1, "While the list has the focus.")
    page.wait_for_selector("text=While the list has the focus.", timeout=15_000)
    assert page.evaluate("document.activeElement.name") == "factor"


def test_what_is_written_into_a_form_stays_until_it_is_sent(visit: Callable[..., Any], town: Town) -> None:
    page = visit("/?room=1&agent=1&tab=edit")
    page.fill("#right [name=background]", "Not saved yet.")
    page.fill("#right [name=interval]", "3")
    page.select_option("#right [name=input_format]", "toon")
    page.evaluate("document.activeElement.blur()")
    town.served.do(lambda: town.architect.set_interval(1, 7.5))
    town.say(1, "The world goes on.")
    page.wait_for_selector("#list >> text=The world goes on.")
    page.wait_for_selector(".facts >> text=7.5 s")
    assert page.input_value("#right [name=interval]") == "3"
    assert page.input_value("#right [name=background]") == "Not saved yet."
    assert page.input_value("#right [name=input_format]") == "toon"
    page.click("form[action='/do/tempo'] button")
    town.until(lambda: town.world_log.world.agents[1].interval == 3)
    town.served.do(lambda: town.architect.set_interval(1, 4.5))
    town.until(lambda: page.input_value("#right [name=interval]") == "4.5")
    page.click("#agents >> text=Bruno")
    page.wait_for_selector("#right h2:has-text('Bruno')")
    assert page.input_value("#right [name=background]") == "Collects old maps."
    assert page.input_value("#right [name=input_format]") == "json"


def test_what_is_refused_is_still_in_its_form_and_what_is_done_is_not(visit: Callable[..., Any], town: Town) -> None:
    page = visit()
    page.click("details.settings > summary")
    page.fill("input[name=label]:visible", "guests")
    page.click("text=Make a key")
    page.wait_for_selector(".notice code.secret")
    assert page.input_value("input[name=label]:visible") == ""
    page.fill("input[name=label]:visible", "guests")
    page.click("text=Make a key")
    page.wait_for_selector(".notice.refused")
    assert page.input_value("input[name=label]:visible") == "guests"
    assert len(town.world_log.world.rooms[1].keys) == 1


def test_a_key_is_revoked_at_a_second_click(visit: Callable[..., Any], town: Town) -> None:
    town.served.do(lambda: town.architect.make_key(1, "guests"))
    page = visit()
    page.click("details.settings > summary")
    page.click("summary:has-text('Revoke')")
    page.wait_for_timeout(300)
    assert town.world_log.world.rooms[1].keys
    page.click("text=Revoke it for good")
    town.until(lambda: not town.world_log.world.rooms[1].keys)


def test_escape_folds_the_settings_up_and_goes_back_to_them(visit: Callable[..., Any]) -> None:
    page = visit()
    page.focus("details.settings > summary")
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel", state="visible")
    page.keyboard.press("Escape")
    page.wait_for_selector(".panel", state="hidden")
    assert page.evaluate("document.activeElement.parentElement.className") == "settings"


def test_who_reads_older_messages_stays_where_they_are(visit: Callable[..., Any], town: Town) -> None:
    """Also when the oldest leave the page because newer ones came."""
    for number in range(158):
        town.say(2, f"Line {number} of what was said before.")
    page = visit("/?room=2&agent=1")
    page.wait_for_selector("text=Line 157")
    assert at_end(page) and not page.is_visible("#newest")
    reads = page.locator("#list li", has_text="Line 120 of").get_attribute("id")
    page.evaluate(f"document.querySelector('#{reads}').scrollIntoView({{block: 'start'}})")
    page.wait_for_selector("#newest", state="visible")
    place = f"Math.round(document.querySelector('#{reads}').getBoundingClientRect().top)"
    before, first = page.evaluate(place), page.locator("#list li").first.get_attribute("id")
    for number in range(4):
        town.say(2, f"Newer {number}.")
    page.wait_for_selector("#list >> text=Newer 3.", state="attached")
    assert page.locator("#list li").first.get_attribute("id") != first, "the oldest left"
    assert abs(page.evaluate(place) - before) <= 1
    page.click("#newest")
    page.wait_for_selector("#newest", state="hidden")
    assert at_end(page)


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_nothing_moves_while_messages_and_reactions_come(
    visit: Callable[..., Any], town: Town, size: tuple[int, int]
) -> None:
    for number in range(30):
        town.say(1, f"Line {number} of what was said before.")
    page = visit("/?room=1&agent=1", viewport={"width": size[0], "height": size[1]})
    page.evaluate(SHIFTS)
    for number in range(6):
        said = town.say(1, f"Streaming {number}: " + "word " * 12 * number)
        page.wait_for_selector(f"#m{said}")
        town.react(2, said - 3)
        page.wait_for_selector(f"#m{said - 3} .given")
    page.evaluate("document.querySelector('#messages').scrollTop = 0")
    page.wait_for_selector("#newest", state="visible")
    first = town.world_log.world.rooms[1].messages[3]
    town.react(2, first)
    page.wait_for_selector(f"#m{first} .given")
    page.wait_for_timeout(300)
    assert page.evaluate("window.moved") < (0.001 if size[0] > 1000 else 0.01)


def test_an_answer_that_failed_is_told_and_leaves_the_page_as_it_was(visit: Callable[..., Any], town: Town) -> None:
    page = visit(refused=403)
    page.evaluate("document.querySelector('#composer [name=csrf]').value = 'x'")
    page.fill("#text", "Not lost.")
    page.keyboard.press("Enter")
    page.wait_for_selector("#fault >> text=Reload the page")
    assert page.input_value("#text") == "Not lost." and page.is_visible("#rooms")


def test_a_server_that_is_gone_is_told(visit: Callable[..., Any], town: Town) -> None:
    page = visit(refused=0)
    town.served.close()
    page.wait_for_selector("#fault >> text=The server does not answer")
    assert page.is_visible("#rooms")


def test_the_keyboard_reaches_every_part_and_shows_where_it_is(visit: Callable[..., Any], town: Town) -> None:
    for number in range(3):
        town.say(1, f"Line {number}")
    page = visit()
    page.evaluate("document.activeElement.blur()")
    reached, unseen = [], []
    for _ in range(80):
        page.keyboard.press("Tab")
        name = page.evaluate(f"({FOCUS}).closest('.column, header, footer')?.className ?? {FOCUS}.className")
        style = page.evaluate(f"getComputedStyle({FOCUS}).outlineStyle + getComputedStyle({FOCUS}).outlineWidth")
        if page.evaluate("document.activeElement === document.body"):
            break
        reached.append(name)
        if style != "solid2px":
            unseen.append(name)
    assert unseen == []
    for part in ("skip", "top", "left", "talk", "right", "timeline"):
        assert any(part in one for one in reached), part


def test_the_first_links_skip_to_the_parts(visit: Callable[..., Any], town: Town) -> None:
    page = visit()
    for label, place in (("To the messages", "messages"), ("To the message box", "text"), ("To the agent", "right")):
        page.focus(f"text={label}")
        assert page.locator(f"text={label}").bounding_box()["x"] >= 0
        page.keyboard.press("Enter")
        town.until(lambda place=place: page.evaluate("document.activeElement.id") == place)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_what_is_behind_it(visit: Callable[..., Any], town: Town, scheme: str) -> None:
    """At 4.5 : 1, as WCAG 2 asks of small text."""
    town.react(2, town.say(1, "A line."))
    page = visit("/?room=1&agent=1", color_scheme=scheme)
    for tab in ("hud", "memory", "activity", "edit"):
        page.goto(f"{town.served.url}?room=1&agent=1&tab={tab}")
        assert page.evaluate(CONTRAST) == []
    page.goto(f"{town.served.url}?room=1&agent=1&at=5")
    assert page.evaluate(CONTRAST) == []


def test_long_names_stay_in_their_columns(visit: Callable[..., Any], town: Town) -> None:
    town.served.do(lambda: town.architect.alter(1, name="W" * 50))
    page = visit("/?room=1&agent=1&new=true")
    assert page.evaluate(WIDE) == []
    page.goto(f"{town.served.url}?room=1&agent=1")
    page.click("details.settings > summary")
    assert page.evaluate(WIDE) == []
