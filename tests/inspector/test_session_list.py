"""The list of sessions: the newest first, in pages, with what is searched told honestly."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.inspector.session_list import PAGE_ROWS, SessionList
from hudkit.log import payloads as p


@pytest.fixture
def hud() -> Iterator[Hud]:
    ticks = itertools.count(1_795_000_000_000, 1_000)
    with Hud.in_memory(clock=lambda: next(ticks)) as made:
        for number in range(PAGE_ROWS + 5):
            made.session(f"s{number}", host="codex" if number % 2 else "opencode").append(
                p.SessionStart(host="codex" if number % 2 else "opencode", title=f"Work number {number}")
            )
        yield made


def test_the_session_that_went_on_last_comes_first(hud: Hud) -> None:
    sessions = SessionList(hud)
    assert sessions.page().rows[0].title == f"Work number {PAGE_ROWS + 4}"
    hud.session("s3", host="codex").append(p.TaskSet("More"))
    rows = sessions.page().rows
    assert (rows[0].title, rows[0].seq) == ("Work number 3", 2)


def test_a_page_has_so_many_rows_and_the_last_the_rest(hud: Hud) -> None:
    sessions = SessionList(hud)
    first, last = sessions.page(), sessions.page(number=99)
    assert (len(first.rows), first.pages, first.total) == (PAGE_ROWS, 2, PAGE_ROWS + 5)
    assert (len(last.rows), last.number) == (5, 2)
    assert {row.key for row in first.rows}.isdisjoint(row.key for row in last.rows)


def test_a_search_looks_through_what_was_read_and_says_how_much_that_is(hud: Hud) -> None:
    sessions = SessionList(hud)
    page = sessions.page("number 1")
    assert (page.total, page.read, page.sessions) == (0, 0, PAGE_ROWS + 5)
    sessions.start()
    sessions.wait_until_read()
    page = sessions.page("NUMBER 12 codex")
    assert [row.title for row in page.rows] == []
    page = sessions.page("number 13", "codex")
    assert [row.title for row in page.rows] == ["Work number 13"]
    assert page.read == page.sessions and page.hosts == ("codex", "opencode")
    sessions.close()


def test_logs_of_projects_are_no_sessions(hud: Hud, tmp_path: Path) -> None:
    hud.project(tmp_path).append(p.NoteAdd("a default"))
    assert len(hud.sessions()) == PAGE_ROWS + 6
    assert len(SessionList(hud).heads()) == PAGE_ROWS + 5


def test_neighbours_are_those_of_the_list(hud: Hud) -> None:
    sessions = SessionList(hud)
    keys = [head.session_id for head in sessions.heads()]
    assert sessions.neighbours(keys[1]) == (keys[0], keys[2])
    assert sessions.neighbours(keys[0]) == ("", keys[1])
    assert sessions.neighbours("nothing") == ("", "")
