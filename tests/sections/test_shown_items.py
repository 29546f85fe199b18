"""Which items of a section come first where there is not room for all, and how what is too long is cut."""

from __future__ import annotations

import pytest

from hudkit.api import Hud
from hudkit.log import payloads as p
from hudkit.sections.section import shorten_failure


def test_of_a_series_of_notes_the_newest_are_shown_and_the_notes_that_stand_alone_before_the_others() -> None:
    session = Hud.in_memory().session("s")
    session.append(p.NoteAdd("The sewer was rebuilt in 2009, council minutes p. 3"))
    session.append(*(p.NoteAdd(f"Well {n}: readings are complete, file {n}.csv was read") for n in range(80)))
    text = session.frame(1_000, 200_000, budget=420).base
    assert "sewer was rebuilt" in text
    assert all(f"Well {n}: " in text for n in (77, 78, 79)) and "Well 1: " not in text
    shown = [n for n in range(80) if f"Well {n}: " in text]
    assert len(shown) > 5 and shown == list(range(shown[0], 80))


def test_files_edited_long_ago_give_way_to_notes_and_those_being_edited_do_not() -> None:
    session = Hud.in_memory().session("s")
    session.append(*(p.FileEdit(f"src/module_{n}/table.py") for n in range(30)))
    session.append(*(p.NoteAdd(f"fact {word} took an hour to find") for word in "abcdefgh"))
    text = session.frame(1_000, 200_000, budget=400).base
    assert all(f"fact {word} took" in text for word in "abcdefgh")
    assert all(f"src/module_{n}/" in text for n in range(22, 30)) and "src/module_3/" not in text


def test_a_long_task_is_whole_before_any_list_is_and_its_beginning_is_there_in_any_case() -> None:
    session = Hud.in_memory().session("s")
    task = " ".join(f"part {n} of the report is moved over," for n in range(9)) + " and then it is shipped"
    session.append(p.TaskSet(task), *(p.NoteAdd(f"fact {word} took an hour to find") for word in "abcdefghijklmnop"))
    assert 200 < len(task) < 600
    frame = session.frame(1_000, 200_000, budget=360)
    assert task in frame.base and any(omission.path.startswith("/notes/") for omission in frame.omitted)
    assert task[:180] in session.frame(1_000, 200_000, budget=150).base


def test_of_derived_decisions_the_older_ones_give_way_to_notes() -> None:
    session = Hud.in_memory().session("s")
    session.append(*(p.DecisionRecord(f"I'll use table {n} for the report", derived=True) for n in range(20)))
    session.append(*(p.NoteAdd(f"fact {word} took an hour to find") for word in "abcdefgh"))
    text = session.frame(1_000, 200_000, budget=400).base
    assert all(f"fact {word} took" in text for word in "abcdefgh")
    assert all(f"table {n} for" in text for n in range(15, 20)) and "table 0 for" not in text


LONG = "x" * 200


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short: KeyError: 7", "short: KeyError: 7"),
        (f"pytest tests: {LONG} KeyError: 7", "KeyError: 7"),
        (f"node run.js: {'at a.js ' * 9} TypeError: x is not a function {LONG}", "…TypeError: x is not a function…"),
        (f"make: {'cc -O2 ' * 12} error: no such file 'a.h' {LONG}", "…error: no such file 'a.h'…"),
        (f"ValueError: no column 'id' {LONG}", "ValueError: no column 'id'"),
        (f"java: AError: first {LONG} BException: the cause {LONG}", "…BException: the cause"),
        (f"a long {LONG} and 3 failed", "and 3 failed"),
    ],
)
def test_of_a_failure_what_failed_and_what_went_wrong_are_shown(text: str, shown: str) -> None:
    cut = shorten_failure(text, 60)
    assert shown in cut and len(cut) <= 60 and cut[:4] == text[:4]
