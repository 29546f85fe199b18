"""What a base left out comes back as a delta, as soon as there is room for it."""

from __future__ import annotations

import pytest

from hudkit.api import Hud, HudSession
from hudkit.log import Origin
from hudkit.log import payloads as p

NOTES = [f"note {n}: the staging system answers 429 after {n}0 requests" for n in range(12)]
RULES = [f"rule {n}: never touch part {n} of the report by hand" for n in range(12)]


@pytest.fixture
def session(hud: Hud) -> HudSession:
    session = hud.session("s")
    session.append(p.TaskSet("Port the report"), *map(p.ConstraintAdd, RULES), origin=Origin.USER)
    session.append(*map(p.NoteAdd, NOTES))
    return session


def told(texts: list[str], where: str) -> list[str]:
    return [text for text in texts if text in where]


@pytest.mark.slow
def test_a_larger_budget_brings_items_back_as_a_delta_and_the_base_stays(session: HudSession) -> None:
    small = session.frame(1_000, 200_000, budget=300, transcript=["a"])
    assert told(RULES, small.base) and not told(NOTES, small.base) and small.omitted
    large = session.frame(1_000, 200_000, budget=1_500, transcript=["a", "b"])
    assert large.base == small.base and large.epoch == small.epoch
    (delta,) = large.deltas
    assert delta.anchor == "b" and told(NOTES, delta.text) == NOTES
    assert told(RULES, delta.text) == [rule for rule in RULES if rule not in small.base]
    assert delta.text.index("constraint: ") < delta.text.index("note: ")
    assert large.omitted == () and large.tokens <= large.budget
    again = session.frame(1_000, 200_000, budget=1_500, transcript=["a", "b", "c"])
    assert again.deltas == large.deltas and again.omitted == ()
    assert session.frame_at(session.state.seq) == again


def test_only_what_has_room_comes_back_the_most_important_first(session: HudSession) -> None:
    small = session.frame(1_000, 200_000, budget=300, transcript=["a"])
    middle = session.frame(1_000, 200_000, budget=480, transcript=["a", "b"])
    assert middle.epoch == small.epoch and len(middle.omitted) < len(small.omitted)
    assert told(RULES, middle.text) == RULES and not told(NOTES, middle.base) and middle.omitted
    missing = [note for note in NOTES if note not in middle.text]
    assert [left.text for left in middle.omitted if "/notes/" in left.path] == missing


def test_a_decision_comes_back_with_its_reason_but_a_reason_alone_does_not(hud: Hud) -> None:
    session = hud.session("s")
    decided = [f"decision {n}: keep column {n} of the report where it is" for n in range(16)]
    session.append(p.TaskSet("Port the report"), *(p.DecisionRecord(one, f"reader {one[9:11]}") for one in decided))
    small = session.frame(1_000, 200_000, budget=240, transcript=["a"])
    shown, missing = told(decided, small.base), [one for one in decided if one not in small.base]
    assert shown and missing and "because" not in small.base
    (delta,) = session.frame(1_000, 200_000, budget=1_500, transcript=["a", "b"]).deltas
    assert told(decided, delta.text) == missing and delta.text.count("(because: reader ") == len(missing)
    again = session.frame(1_000, 200_000, budget=1_500, transcript=["a", "b", "c"])
    assert again.deltas == (delta,), "what is shown already is not told again for its reason"


def test_a_reason_that_has_no_room_keeps_no_item_away(hud: Hud) -> None:
    session = hud.session("s")
    reason = "finance reads the columns by their positions, and the importer of the bank does, too"
    decided = [f"decision {n}: keep column {n} of the report where it is" for n in range(16)]
    session.append(p.TaskSet("Port the report"), *(p.DecisionRecord(one, reason) for one in decided))
    session.frame(1_000, 200_000, budget=240, transcript=["a"])
    large = session.frame(1_000, 200_000, budget=600, transcript=["a", "b"])
    assert told(decided, large.text) == decided and large.tokens <= large.budget
    lines = [line for line in large.deltas[0].text.splitlines() if "decision: " in line]
    with_reason = [line for line in lines if line.endswith(f" (because: {reason})")]
    assert with_reason and len(with_reason) < len(lines)
    assert all(line.endswith(" …") for line in lines if line not in with_reason)


def test_items_that_are_over_or_were_told_since_do_not_come_back(session: HudSession) -> None:
    session.frame(1_000, 200_000, budget=300, transcript=["a"])
    session.append(p.NoteRemove("n1"), p.NoteUpdate("n2", "note 1 says something else now"))
    session.frame(1_000, 200_000, budget=300, transcript=["a", "b"])
    large = session.frame(1_000, 200_000, budget=1_500, transcript=["a", "b", "c"], model="claude-sonnet-4-5")
    assert told(NOTES, large.deltas[-1].text) == NOTES[2:]
    assert large.text.count("note 1 says something else now") == 1


def test_what_is_in_a_message_that_is_gone_comes_back_once_more(session: HudSession) -> None:
    session.frame(1_000, 200_000, budget=300, transcript=["a"])
    first = session.frame(1_000, 200_000, budget=1_500, transcript=["a", "b"])
    second = session.frame(1_000, 200_000, budget=1_500, transcript=["a", "c"])
    assert [delta.anchor for delta in second.deltas] == ["c"] and told(NOTES, second.text) == NOTES
    assert first.epoch == second.epoch and second.omitted == ()


def test_a_window_that_was_relieved_brings_items_back(hud: Hud) -> None:
    session = hud.session("s")
    session.append(p.TaskSet("Port the report"), *(p.NoteAdd(f"{note}, {n}") for n, note in enumerate(NOTES * 5)))
    pressed = session.frame(190_000, 200_000, transcript=["a"])
    assert pressed.band == "critical" and pressed.omitted
    relieved = session.frame(60_000, 200_000, transcript=["a", "b"])
    assert relieved.band == "green" and relieved.base == pressed.base
    assert 0 < len(relieved.omitted) < len(pressed.omitted) and relieved.deltas


def test_nothing_comes_back_where_the_room_is_the_same(session: HudSession) -> None:
    first = session.frame(1_000, 200_000, budget=300, transcript=["a"])
    for n in range(6):
        frame = session.frame(1_000, 200_000, budget=300, transcript=["a", *"bcdefg"[: n + 1]])
        assert frame.deltas == () and frame.omitted == first.omitted


def test_what_a_limit_hides_does_not_come_back(hud: Hud) -> None:
    session = hud.session("s")
    session.append(*map(p.NoteAdd, NOTES))
    session.frame(1_000, 200_000, budget=300, density="minimal", transcript=["a"])
    frame = session.frame(1_000, 200_000, budget=1_500, density="minimal", transcript=["a", "b"])
    assert frame.deltas == () and len(frame.omitted) == len(NOTES)
