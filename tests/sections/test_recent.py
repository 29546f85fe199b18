"""What was done before a compaction is told after it, as far as it still holds; each thing is in one place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hudkit.api import Hud, HudSession
from hudkit.compose import Density
from hudkit.hud.frame import Frame
from hudkit.log import Origin, Payload
from hudkit.log import payloads as p

HEAD = "Done before the compaction, do not repeat without need"


@pytest.fixture
def session() -> Iterator[HudSession]:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        session.append(p.TaskSet("Port the report"))
        yield session


def heard(session: HudSession, *payloads: Payload, origin: Origin = Origin.TOOL) -> None:
    session.append(*payloads, origin=origin)


def line(session: HudSession, **call: object) -> str:
    frame: Frame = session.frame(1_000, 200_000, placement="system", **call)  # type: ignore[arg-type]
    return next((line for line in frame.text.splitlines() if line.startswith(HEAD)), "")


def test_what_was_done_before_a_compaction_is_told_after_it(session: HudSession) -> None:
    heard(session, p.FileOpen("src/a.py", by_call="c1"), p.FileOpen("src/b.py", by_call="c2", part="x"))
    heard(session, p.CommandRan("npm run build", "failed", 1, "c3"), p.CommandRan("make | tail", "", 0, "c4"))
    heard(session, p.CommandRan("pytest -q", "passed", 0, "c5"), p.TestsRan("pytest -q", 34, 0, 0, "pytest"))
    for words in ("Map the old columns", "Paginate"):
        session.call("steps.add", {"description": words})
    session.call("steps.complete", {"id": "s1"})
    assert line(session) == ""
    heard(session, p.CompactAfter("x"), origin=Origin.HOST)
    assert line(session) == (
        f"{HEAD} (6): `pytest -q` 34 passed · `make | tail` ran · `npm run build` failed (exit 1) · "
        "step: Map the old columns · read: `src/b.py` (in part) · read: `src/a.py`"
    )
    text = session.frame(1_000, 200_000, placement="system").text
    assert all(text.count(words) == 1 for words in ("Map the old columns", "src/a.py", "src/b.py", "pytest -q"))
    assert "## Next Steps (1)" in text and "## Active Files" not in text


def test_what_is_done_since_the_compaction_is_not_told(session: HudSession) -> None:
    heard(session, p.CommandRan("npm ci", "passed", 0, "c1"), p.FileOpen("a.py", by_call="c2"))
    heard(session, p.CompactAfter("x"), origin=Origin.HOST)
    assert "npm ci" in line(session) and "a.py" in line(session)
    heard(session, p.CommandRan("npm ci", "passed", 0, "c3"), p.FileOpen("a.py", by_call="c4"))
    assert line(session) == ""
    assert "- `a.py` (reading)" in session.frame(1_000, 200_000, placement="system").text


def test_a_command_says_where_files_were_edited_after_it_and_an_edited_file_is_not_one_that_was_read(
    session: HudSession,
) -> None:
    heard(session, p.FileOpen("a.py", by_call="c1"), p.CommandRan("npm ci", "passed", 0, "c2"))
    heard(session, p.FileEdit("a.py"), p.CommandRan("make dist", "passed", 0, "c3"))
    heard(session, p.FileEdit("dist/a.whl"), p.CompactAfter("x"), origin=Origin.HOST)
    # What the host saw change may be what the last command made.
    assert line(session) == f"{HEAD} (2): `make dist` ok · `npm ci` ok, before later edits"
    heard(session, p.FileEdit("a.py"))
    assert line(session) == f"{HEAD} (2): `make dist` ok, before later edits · `npm ci` ok, before later edits"


def test_a_failure_that_is_an_open_error_is_told_there_only(session: HudSession) -> None:
    heard(session, p.CommandRan("make", "failed", 2, "c1"))
    heard(session, p.ErrorEncountered("make: no rule", key="bash: make", by_call="c1"))
    heard(session, p.CompactAfter("x"), origin=Origin.HOST)
    assert line(session) == ""
    session.call("errors.resolve", {"id": "e1"})
    assert line(session) == f"{HEAD} (1): `make` failed (exit 2)"


def test_a_compaction_that_is_taken_back_and_messages_that_are_leave_nothing(session: HudSession) -> None:
    heard(session, p.CommandRan("npm ci", "passed", 0, "c1"), p.CommandRan("make", "passed", 0, "c2"))
    heard(session, p.CompactAfter("x"), origin=Origin.HOST)
    compacted = session.state.seq
    heard(session, p.MessagesRevert((compacted - 1,)), origin=Origin.HOST)
    assert line(session) == f"{HEAD} (1): `npm ci` ok"
    heard(session, p.CompactUndone(compacted), origin=Origin.HOST)
    assert line(session) == ""


def test_what_there_is_no_room_for_is_counted_and_its_call_returns_it(session: HudSession) -> None:
    runs = [f"run --part {n} --of the-long-report" for n in range(20)]
    heard(session, *(p.CommandRan(run, "passed", 0, f"c{n}") for n, run in enumerate(runs)))
    heard(session, *(p.FileOpen(f"src/report/part_{n}.py", by_call=f"r{n}") for n in range(20)))
    heard(session, p.CompactAfter("x"), origin=Origin.HOST)
    told = line(session, budget=190)
    assert runs[-1] in told and "recent.list" in told
    answer = session.tool("hud", {"operation": "recent.list"})
    assert all(run in answer for run in runs[-8:]) and runs[11] not in answer
    assert all(f"part_{n}.py" in answer for n in range(12, 20))
    # The files that the line does not have are among the active ones.
    text = session.frame(1_000, 200_000, placement="system").text
    assert all(text.count(f"part_{n}.py`") == 1 for n in range(20))
    assert HEAD not in session.frame(1_000, 200_000, placement="system", density=Density.MINIMAL).text


def test_a_base_stays_as_it_is_when_more_is_done(session: HudSession) -> None:
    heard(session, p.CommandRan("npm ci", "passed", 0, "c1"), p.CompactAfter("x"))
    transcript = [("m1", "user")]
    first = session.frame(1_000, 200_000, transcript=transcript)
    assert HEAD in first.base
    heard(session, p.CommandRan("npm ci", "passed", 0, "c2"), p.FileEdit("a.py"), p.CommandRan("make", "", 0, "c3"))
    second = session.frame(2_000, 200_000, transcript=[*transcript, ("m2", "assistant"), ("m3", "user")])
    assert second.base == first.base and HEAD not in "".join(delta.text for delta in second.deltas)
