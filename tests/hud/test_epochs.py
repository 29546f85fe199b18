"""Epochs: why a new base begins, what stays frozen within one, and what is recorded."""

from __future__ import annotations

import pytest

from hudkit.api import Hud, HudSession
from hudkit.config import PruningSettings, Settings
from hudkit.context.compaction.request_parts import CallOutput
from hudkit.hud.frame import Frame
from hudkit.log import Origin
from hudkit.log.payloads import (
    CompactAfter,
    ContextSnapshot,
    ErrorEncountered,
    FrameBase,
    FrameDelta,
    NoteAdd,
    NoteRemove,
    RequestParts,
    TaskSet,
    ToolOutputTotal,
)
from hudkit.tokens import count_tokens
from ticking import Ticking

MINUTE = 60_000
LIMIT = 200_000


def bases(session: HudSession) -> list[FrameBase]:
    return [event.payload for event in session.events() if isinstance(event.payload, FrameBase)]


def deltas(session: HudSession) -> list[FrameDelta]:
    return [event.payload for event in session.events() if isinstance(event.payload, FrameDelta)]


def reasons(session: HudSession) -> list[str]:
    return [base.reason for base in bases(session)]


@pytest.fixture
def session(hud: Hud) -> HudSession:
    opened = hud.session("s")
    opened.append(TaskSet("Ship it"))
    return opened


def test_the_first_frame_begins_the_session(session: HudSession) -> None:
    frame = session.frame()
    assert reasons(session) == ["session"] and frame.epoch == 1
    assert "Ship it" in frame.base and frame.deltas == ()
    assert f"[hud {frame.tag}]" in frame.base
    assert bases(session)[0].covers == 1


def test_a_compaction(session: HudSession) -> None:
    session.frame()
    session.append(CompactAfter("so far"), origin=Origin.HOST)
    frame = session.frame()
    assert reasons(session) == ["session", "compaction"] and frame.epoch == 2
    assert "so far" in frame.base and session.state.epoch.over == ""
    session.frame()
    assert len(bases(session)) == 2


def test_a_compaction_begins_an_epoch_though_the_bytes_are_the_same(session: HudSession) -> None:
    first = session.frame(placement="system", density="minimal")
    session.append(CompactAfter(), origin=Origin.HOST)
    second = session.frame(placement="system", density="minimal")
    assert first.base == second.base and reasons(session) == ["session", "compaction"]


@pytest.mark.parametrize("density", ["compact", "minimal"])
def test_an_explicit_density(session: HudSession, density: str) -> None:
    session.frame()
    frame = session.frame(density=density)
    assert reasons(session) == ["session", "density"] and frame.density == density
    session.append(NoteAdd("one"))
    again = session.frame(density=density)
    assert again.base == frame.base and len(again.deltas) == 1
    assert session.frame().base == frame.base, "without a density the epoch stays as it is"
    assert reasons(session) == ["session", "density"]


def test_the_density_of_the_base_asked_for_is_no_reason(session: HudSession) -> None:
    frame = session.frame()
    assert session.frame(density=frame.density).base == frame.base
    assert reasons(session) == ["session"]


@pytest.mark.parametrize("placement", ["anchored", "system"])
@pytest.mark.slow
def test_a_band_shrinks_the_base_of_the_next_epoch_only(session: HudSession, placement: str) -> None:
    session.append(*(NoteAdd(f"note {n}: the staging system answers 429 after {n}0 requests") for n in range(120)))
    first = session.frame(10_000, LIMIT, placement=placement)
    pressed = session.frame(180_000, LIMIT, placement=placement)
    assert pressed.band == "red" and (pressed.base == first.base) is (placement == "anchored")
    sizes = {}
    for used in (10_000, 150_000, 180_000, 190_000):
        session.append(CompactAfter(), origin=Origin.HOST)
        frame = session.frame(used, LIMIT, placement=placement)
        sizes[frame.band] = count_tokens(frame.base) / count_tokens(first.base)
    assert list(sizes) == ["green", "yellow", "red", "critical"]
    assert sizes["green"] > 0.95 and sizes["yellow"] > 0.95
    assert 0.55 < sizes["red"] <= 0.62 and 0.25 < sizes["critical"] <= 0.32


def test_a_placement(session: HudSession) -> None:
    session.frame()
    session.frame(placement="system")
    session.frame(placement="anchored")
    assert reasons(session) == ["session", "placement", "placement"]
    assert [base.placement for base in bases(session)] == ["anchored", "system", "anchored"]


@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_budget_that_deltas_would_exceed(session: HudSession, role: str) -> None:
    session.frame(budget=300)
    for n in range(12):
        session.append(NoteAdd(f"note {n} " + "with rather many more words " * 3))
        frame = session.frame(budget=300, transcript=[(f"m{at}", role) for at in range(n + 1)])
        assert frame.tokens <= 300
    assert reasons(session)[:2] == ["session", "budget"]
    assert frame.epoch == len(bases(session)) > 1


def test_a_smaller_budget_than_the_base(session: HudSession) -> None:
    session.append(*(NoteAdd(f"note {n} " + "word " * 20) for n in range(15)))
    first = session.frame(budget=900)
    frame = session.frame(budget=300)
    assert first.tokens > 300 >= frame.tokens
    assert reasons(session) == ["session", "budget"]
    assert session.frame(budget=900).base == frame.base, "a larger budget is no reason"


def told(session: HudSession, *anchors: str) -> None:
    session.append(NoteAdd(f"note {anchors}"))
    session.frame(transcript=list(anchors))


def test_idle_after_the_cache_went_cold(session: HudSession, ticking: Ticking) -> None:
    session.frame(transcript=["a"])
    told(session, "a", "b")
    ticking.now += 10 * MINUTE
    frame = session.frame(transcript=["a", "b", "c"])
    assert reasons(session) == ["session", "idle"]
    assert frame.deltas == () and "note" in frame.base


def test_a_pause_within_a_turn_makes_the_cache_cold_too(session: HudSession, ticking: Ticking) -> None:
    session.frame(transcript=["a"])
    told(session, "a", "b")
    ticking.now += 10 * MINUTE
    frame = session.frame(transcript=["a", "b", ("c", "tool")])
    assert reasons(session) == ["session", "idle"]
    assert frame.deltas == () and "note" in frame.base


def test_a_pause_folds_in_what_waits(session: HudSession, ticking: Ticking) -> None:
    session.frame(transcript=["a"])
    session.append(ErrorEncountered("broken"))
    assert not session.frame(transcript=["a", ("b", "tool")]).deltas
    ticking.now += 10 * MINUTE
    assert "broken" in session.frame(transcript=["a", ("b", "tool"), ("c", "tool")]).base
    assert reasons(session) == ["session", "idle"]


@pytest.mark.parametrize(("model", "reason"), [("claude-sonnet-4-5", ["idle"]), ("gpt-5", []), ("", [])])
def test_the_sessions_model_counts_where_a_call_names_none(
    session: HudSession, ticking: Ticking, model: str, reason: list[str]
) -> None:
    session.start(model=model)
    session.frame(transcript=["a"])
    told(session, "a", "b")
    ticking.now += 6 * MINUTE
    session.frame(transcript=["a", "b", "c"])
    assert reasons(session) == ["session", *reason], "a cache of Claude holds for five minutes, others for ten"


def test_another_model_has_another_cache(session: HudSession) -> None:
    session.frame(transcript=["a"], model="claude-sonnet-4-5")
    told(session, "a", "b")
    frame = session.frame(transcript=["a", "b", ("c", "tool")], model="gpt-5")
    assert reasons(session) == ["session", "idle"] and "note" in frame.base
    told(session, "a", "b", "c", "d")
    assert session.frame(transcript=["a", "b", "c", "d", "e"], model="gpt-5").base == frame.base


@pytest.mark.parametrize("why", ["nothing to fold in", "too soon"])
def test_not_idle(session: HudSession, ticking: Ticking, why: str) -> None:
    session.frame(transcript=["a"])
    if why != "nothing to fold in":
        told(session, "a", "b")
    ticking.now += 9 * MINUTE if why == "too soon" else 60 * MINUTE
    session.frame(transcript=["a", "b", "c"])
    assert reasons(session) == ["session"]


def test_tags_of_epochs_differ_and_those_of_a_system_frame_are_empty(session: HudSession) -> None:
    tags = [session.frame(density=density).tag for density in ("full", "compact", "full")]
    assert len(set(tags)) == 3 and all(len(tag) == 6 and tag.isdigit() for tag in tags)
    frame = session.frame(placement="system")
    assert frame.tag == "" and "[hud" not in frame.text


def test_a_system_base_is_recorded_where_its_bytes_change(session: HudSession) -> None:
    for used in (1000, 2000, 3000, None):
        session.frame(used, LIMIT, placement="system")
    assert reasons(session) == ["session"]
    session.append(NoteAdd("x"))
    changed = session.frame(4000, LIMIT, placement="system")
    assert reasons(session) == ["session", "placement"] and "x" in changed.base
    session.append(NoteRemove("n1"))
    session.append(NoteAdd("x"))
    session.frame(4000, LIMIT, placement="system")
    assert len(bases(session)) == 2, "the same bytes again"
    assert deltas(session) == []


def test_a_system_frame_has_its_tail_within_a_turn_too(session: HudSession) -> None:
    frame = session.frame(1000, LIMIT, placement="system", transcript=[("a", "tool")])
    assert frame.tail.startswith("Context: 0% (1k/200k)") and frame.deltas == ()


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"used_tokens": 1000, "limit_tokens": LIMIT},
        {"placement": "system"},
        {"density": "minimal"},
        {"transcript": ["a", ("b", "tool")]},
        {"transcript": []},
        {"budget": 400, "model": "gpt-5"},
    ],
)
def test_the_same_call_twice_records_nothing_the_second_time(
    session: HudSession, arguments: dict[str, object]
) -> None:
    first = session.frame(**arguments)  # type: ignore[arg-type]
    seq = session.state.seq
    second = session.frame(**arguments)  # type: ignore[arg-type]
    third = session.frame(**arguments)  # type: ignore[arg-type]
    assert session.state.seq == seq == len(list(session.events()))
    assert first == second == third


def test_other_arguments_are_recorded(session: HudSession) -> None:
    first = session.frame(2000, LIMIT)
    seq = session.state.seq
    assert session.frame(2001, LIMIT).text == first.text, "rounded, they read the same"
    assert session.state.seq == seq + 1 and session.state.window.used_tokens == 2001
    session.frame(2001, 100_000)
    assert session.state.seq == seq + 2 and session.state.window.limit_tokens == 100_000


def test_what_a_call_leaves_in_the_log(session: HudSession) -> None:
    frame = session.frame(1000, LIMIT, budget=500, density="compact", model="m")
    *_, base, taken = session.events()
    assert base.origin is taken.origin is Origin.SYSTEM
    assert (base.turn, taken.turn) == (1, 1)
    snapshot = taken.payload
    assert isinstance(snapshot, ContextSnapshot) and snapshot.call is not None
    assert (snapshot.used_tokens, snapshot.limit_tokens, snapshot.model) == (1000, LIMIT, "m")
    call = snapshot.call
    assert (call.budget, call.density, call.placement, call.epoch) == (500, "compact", "anchored", 1)
    assert (call.tail, call.tokens, call.band, call.turn_start) == (frame.tail, frame.tokens, "green", True)
    assert call.renderer and call.counter


@pytest.mark.parametrize(
    ("limit", "budget"),
    [
        (1_000, 300), (15_000, 300), (15_050, 301), (20_000, 400), (50_000, 1000), (74_999, 1499), (75_000, 1500),
        (200_000, 1500), (1_000_000, 1500), (None, 1500),
    ],
)  # fmt: skip
def test_the_default_budget_is_two_percent_of_the_window(session: HudSession, limit: int | None, budget: int) -> None:
    frame = session.frame(limit_tokens=limit)
    assert frame.budget == budget
    assert session.frame(limit_tokens=limit, budget=333).budget == 333


def test_the_last_window_that_was_told_holds(session: HudSession) -> None:
    assert session.frame(limit_tokens=20_000).budget == 400
    assert session.frame().budget == 400


def long_call(session: HudSession, outputs: int, *, front: int = 0, model: str = "claude-sonnet-4-5") -> Frame:
    """A call in the middle of a turn, behind `front` tokens of words and so many outputs of 5,000 tokens."""
    behind = [20_000 * (outputs - 1 - number) for number in range(outputs)]
    found = [CallOutput(f"c{n}", "bash", 20_000, behind[n], 2 * n, prompts=9) for n in range(outputs)]
    return session.frame(
        used_tokens=10_000 + front + 5_000 * outputs,
        limit_tokens=LIMIT,
        model=model,
        transcript=["a", *((f"m{number}", "tool") for number in range(outputs))],
        outputs=found,
        parts=RequestParts(20_000, 20_000, 4 * front, (ToolOutputTotal("bash", 20_000 * outputs),)),
    )


def first_pruning(session: HudSession, *, front: int = 0, model: str = "claude-sonnet-4-5") -> tuple[Frame, int]:
    """The frame of the first call that prunes, as outputs come in one by one, and how many there are by then."""
    for outputs in range(2, 36):
        frame = long_call(session, outputs, front=front, model=model)
        if frame.pruned:
            return frame, outputs
    raise AssertionError("nothing was pruned")


@pytest.fixture
def pruned_session(ticking: Ticking) -> HudSession:
    settings = Settings(pruning=PruningSettings(enabled=True, min_used_percent=1))
    session = Hud.in_memory(clock=ticking.clock, ids=ticking.ids, settings=settings).session("s")
    session.append(TaskSet("Ship it"))
    return session


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-5"])
def test_a_pruning_that_breaks_the_prefix_brings_a_new_base(pruned_session: HudSession, model: str) -> None:
    long_call(pruned_session, 1, model=model)
    pruned_session.append(NoteAdd("told since"))
    frame, outputs = first_pruning(pruned_session, model=model)
    assert reasons(pruned_session) == ["session", "pruning"]
    assert "told since" in frame.base and frame.deltas == ()
    epochs = len(bases(pruned_session))
    assert long_call(pruned_session, outputs + 1, model=model).base == frame.base and epochs == 2


def test_a_pruning_with_nothing_to_fold_in_leaves_the_base(pruned_session: HudSession) -> None:
    frame, _ = first_pruning(pruned_session)
    assert reasons(pruned_session) == ["session"] and frame.epoch == 1


def test_a_pruning_far_behind_the_base_leaves_it(pruned_session: HudSession) -> None:
    """An automatic cache goes on giving what stands in front of the outputs, and that is much."""
    long_call(pruned_session, 1, model="gpt-5")
    pruned_session.append(NoteAdd("told since"))
    frame, _ = first_pruning(pruned_session, front=60_000, model="gpt-5")
    assert reasons(pruned_session) == ["session"] and len(frame.deltas) == 1
