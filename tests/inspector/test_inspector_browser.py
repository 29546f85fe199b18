"""The pages in Chromium: each step that a person takes, by pointer, by keyboard, on a phone, without a script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from served_inspector import ServedInspector

from chromium_browser import CONTRAST, FLAGS, chromium
from hudkit.api import Hud
from hudkit.cli.demo import unpack_orchard
from hudkit.cli.replays.recorded_log import write_recorded_log
from hudkit.inspector.links import call_link, compaction_link, session_link
from hudkit.inspector.session_record import SessionRecord
from hudkit.log import payloads as p
from hudkit.log.stores import open_log
from hudkit.transcripts import OpenCodeTranscript
from hudkit.transcripts.search import PastSessions

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

TITLE = "Orchard planner: overlap, rain, history, frost"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(*FLAGS) as opened:
        yield opened


@pytest.fixture
def visit(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """A page of a new inspector of a log, opened by its link. What the browser complains of, and what it asks of
    others, fails the test."""
    contexts: list[Any] = []
    inspectors: list[ServedInspector] = []
    faults: list[str] = []

    def open_page(hud: Hud, past: Any = None, **given: Any) -> Any:
        served = ServedInspector(hud, past)
        inspectors.append(served)
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **given})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: message.type == "error" and faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith(served.url) or faults.append(asked.url))
        page.goto(served.link)
        page.wait_for_selector("#sessions")
        return page

    yield open_page
    for context in contexts:
        context.close()
    for served in inspectors:
        served.close()
    assert faults == []


@pytest.fixture(scope="module")
def record(orchard: Hud, long_day: str) -> SessionRecord:
    made = SessionRecord(orchard, long_day)
    assert made.refresh(60)
    return made


def call_number(page: Any) -> int:
    found = re.match(r"Call ([\d,]+)", page.inner_text("h1"))
    assert found is not None
    return int(found[1].replace(",", ""))


def base(page: Any) -> str:
    return str(page.url.split("/", 3)[0] + "//" + page.url.split("/")[2])


def go(page: Any, path: str) -> None:
    """Open an address. A page whose log is still being read asks for itself again; that would break off the next."""
    page.goto(base(page) + path)
    page.wait_for_selector(".notice[role=status]", state="detached")


def test_from_the_list_to_a_call_its_budget_its_changes_and_a_receipt(
    visit: Callable[..., Any], orchard: Hud, orchard_past: PastSessions, record: SessionRecord
) -> None:
    page = visit(orchard, orchard_past)
    page.click(f"text={TITLE}")
    assert page.inner_text("h1") == TITLE
    page.locator(".timeline tbody th a").first.click()
    assert call_number(page) == len(record.calls)

    budget = page.locator("#budget")
    before = page.inner_text("#fitted .figures")
    page.locator("#slider").evaluate(
        "(slider) => { slider.value = 200; slider.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    page.wait_for_function(
        "(before) => document.querySelector('#fitted .figures').textContent !== before", arg=before
    )
    fitted = record.frame_within(200, record.calls[-1].seq)
    assert budget.input_value() == "200"
    assert page.inner_text("#fitted .figures").startswith(f"{fitted.tokens:,} of 200 tokens")
    assert page.url.endswith(f"at={record.calls[-1].seq}")

    page.click("#diff-frame")
    assert page.inner_text("h1") == f"Call {len(record.calls) - 1} and call {len(record.calls)}"
    page.click("text=States")
    page.click("text=by word")
    assert page.locator("#changes").count() == 1 or "the same" in page.inner_text("main")

    go(page, session_link(record.id))
    page.click("text=2 compactions")
    assert "To get it back" in page.inner_text("#compaction-1")
    page.click("#dropped-1 summary")
    assert "hudkit memory message" in page.inner_text("#dropped-1")


def test_the_keyboard_goes_through_time_and_sessions(
    visit: Callable[..., Any], orchard: Hud, record: SessionRecord
) -> None:
    page = visit(orchard)
    page.keyboard.press("J")
    page.keyboard.press("J")
    chosen = page.locator("#sessions tr[aria-current] a").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector(".timeline")
    assert page.inner_text("h1") == chosen
    page.keyboard.press("K")
    page.wait_for_function("(title) => document.querySelector('h1').textContent !== title", arg=chosen)

    go(page, call_link(record.id))
    for _ in range(3):
        number = call_number(page)
        page.keyboard.press("[")
        page.wait_for_function(
            "(n) => document.querySelector('h1').textContent.startsWith(`Call ${n} `)", arg=number - 1
        )
    page.keyboard.press("]")
    page.wait_for_function(
        "(n) => document.querySelector('h1').textContent.startsWith(`Call ${n} `)", arg=len(record.calls) - 2
    )
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#keys").is_hidden()
    page.keyboard.press("/")
    page.keyboard.type("greenhouse")
    page.keyboard.press("Enter")
    page.wait_for_selector("#events")
    assert "greenhouse" in page.inner_text("#events").lower()
    page.keyboard.press("u")
    page.wait_for_selector(".timeline")


def test_a_page_follows_the_newest_call_and_leaves_who_looks_back_where_he_is(visit: Callable[..., Any]) -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        session.append(p.TaskSet("Follow me"))
        session.frame(used_tokens=1_000, limit_tokens=200_000)
        page = visit(hud)
        go(page, call_link("s"))
        assert call_number(page) == 1
        page.evaluate("window.marked = true")
        session.append(p.NoteAdd("the second call has this"))
        session.frame(used_tokens=2_000, limit_tokens=200_000)
        page.wait_for_function("() => document.querySelector('h1').textContent.startsWith('Call 2 ')")
        assert "the second call has this" in page.inner_text("#frame")
        assert page.evaluate("window.marked"), "the page was not left"

        page.click("#call-before")
        assert call_number(page) == 1
        session.append(p.NoteAdd("and a third"))
        session.frame(used_tokens=3_000, limit_tokens=200_000)
        page.wait_for_selector("#newest.strong")
        assert call_number(page) == 1
        page.keyboard.press("l")
        page.wait_for_function("() => document.querySelector('h1').textContent.startsWith('Call 3 ')")


def test_a_command_and_an_issue_are_copied(visit: Callable[..., Any], orchard: Hud, record: SessionRecord) -> None:
    page = visit(orchard, permissions=["clipboard-read", "clipboard-write"])
    go(page, call_link(record.id))
    page.click("#issue .copy")
    page.wait_for_selector("text=Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("### hudkit") and f"call {len(record.calls)} of" in copied


def test_everything_can_be_read_and_fitted_without_a_script(
    visit: Callable[..., Any], orchard: Hud, record: SessionRecord
) -> None:
    page = visit(orchard, java_script_enabled=False)
    page.click(f"text={TITLE}")
    page.locator(".timeline tbody th a").first.click()
    assert page.locator("#slider").is_hidden() and page.locator("#issue .copy").is_hidden()
    page.fill("#budget", "200")
    page.click("text=Fit")
    fitted = record.frame_within(200, record.calls[-1].seq)
    assert f"{fitted.tokens:,} of 200 tokens" in page.inner_text("#fitted")
    page.click("#call-before")
    assert "Call" in page.inner_text("h1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_page_is_wider_than_its_screen_and_every_text_has_contrast(
    visit: Callable[..., Any],
    orchard: Hud,
    orchard_past: PastSessions,
    record: SessionRecord,
    width: int,
    scheme: str,
) -> None:
    page = visit(orchard, orchard_past, viewport={"width": width, "height": 800}, color_scheme=scheme)
    paths = ("/", session_link(record.id), call_link(record.id), compaction_link(record.id, 1), "/search?q=plan")
    for path in paths:
        go(page, path)
        room = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert room <= 0, path
        assert page.evaluate(CONTRAST) == [], path


def test_what_is_said_of_a_window_that_nobody_told_has_room(visit: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "hudkit.db"
    write_recorded_log(OpenCodeTranscript.open(unpack_orchard(tmp_path)), path)
    with Hud(open_log(path, read_only=True)) as hud:
        page = visit(hud)
        key = max(hud.log.heads(), key=lambda head: head.seq).session_id
        for width in (768, 360):
            page.set_viewport_size({"width": width, "height": 800})
            go(page, session_link(key))
            assert "of 41k observed" in page.inner_text(".timeline")
            room = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert room <= 0, width
