"""The rebuilt requests: in an epoch each continues the one before, and each is the bare one with the HUD in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from hudkit.api import Hud
from hudkit.cli.demo import ORCHARD_WINDOW
from hudkit.cli.replays.player import RecordedCompaction, ReplayClock, TranscriptPlayer, Turn, anchor, role
from hudkit.cli.replays.requests import ANCHORED, IN_SYSTEM, NO_HUD, RequestWriter
from hudkit.cli.replays.survival import compare_compaction as compaction_report
from hudkit.context.caching import CacheRequest
from hudkit.log import payloads as p
from hudkit.tokens import count_tokens, shared_counter
from hudkit.transcripts import Message, OpenCodeTranscript, TextPart, ToolPart

pytestmark = pytest.mark.slow

OPENCODE = Path(__file__).parents[2] / "fixtures" / "opencode.db"

Played = list[tuple[Turn, tuple[CacheRequest, ...]]]


def played(path: Path) -> Iterator[Played]:
    transcript = OpenCodeTranscript.open(path)
    for row in transcript.sessions():
        messages = tuple(transcript.messages(row.id))
        player = TranscriptPlayer(row, shared_counter(), window=ORCHARD_WINDOW, budget=None)
        scribe = RequestWriter(shared_counter(), messages)
        yield [(turn, scribe.requests(turn)) for turn in player.turns(messages)]


@pytest.fixture(scope="module")
def sessions(orchard_db: Path) -> list[Played]:
    return [*played(orchard_db), *played(OPENCODE)]


def content(request: CacheRequest, tail: str = "") -> list[tuple[str, str]]:
    blocks = [(block.role, block.key) for block in request.blocks]
    return blocks[:-1] if tail else blocks


def test_within_an_epoch_each_request_continues_the_one_before(sessions: list[Played]) -> None:
    followed = grown = 0
    for calls in sessions:
        for (before, old), (after, new) in pairwise(calls):
            if before.anchored.epoch != after.anchored.epoch:
                continue
            followed += 1
            assert after.anchored.base == before.anchored.base
            assert after.anchored.deltas[: len(before.anchored.deltas)] == before.anchored.deltas
            grown += len(after.anchored.deltas) - len(before.anchored.deltas)
            sent = content(old[ANCHORED], before.anchored.tail)
            assert content(new[ANCHORED], after.anchored.tail)[: len(sent)] == sent
    epochs = sum(len({turn.anchored.epoch for turn, _ in calls}) for calls in sessions)
    assert sum(map(len, sessions)) == 235
    assert followed == 235 - epochs > 200 and grown > 10


def test_a_request_is_the_bare_one_with_the_frame_in_it(sessions: list[Played]) -> None:
    for calls in sessions:
        for turn, requests in calls:
            layers = [turn.anchored.base, *(delta.text for delta in turn.anchored.deltas), turn.anchored.tail]
            hud = sum(count_tokens(text) for text in layers if text)
            assert requests[ANCHORED].tokens == requests[NO_HUD].tokens + hud
            system = count_tokens(turn.system.base) + count_tokens(turn.system.tail)
            assert requests[IN_SYSTEM].tokens == requests[NO_HUD].tokens + system
            bare = content(requests[NO_HUD])
            assert [block for block in content(requests[ANCHORED]) if block in bare] == bare
            assert {request.timestamp for request in requests} == {turn.call.message.created}


def test_breakpoints_are_where_opencode_puts_them(sessions: list[Played]) -> None:
    for calls in sessions:
        for turn, requests in calls:
            for request, systems in zip(requests, (1, 2, 2), strict=True):
                marks = [n for n, block in enumerate(request.blocks) if block.breakpoint]
                roles = [request.blocks[n].role for n in marks]
                assert roles[:systems] == ["system"] * systems and "system" not in roles[systems:]
                assert len(marks) == min(systems + 2, systems + _messages(turn))
                assert marks[-1] == len(request.blocks) - 1


def _messages(turn: Turn) -> int:
    """Messages of the request: a response with results is two."""
    return sum(2 if role(message) == "tool" else 1 for message in turn.call.window)


def test_the_tail_is_for_the_start_of_a_turn_only(sessions: list[Played]) -> None:
    with_tail = 0
    for calls in sessions:
        for turn, _ in calls:
            starts = turn.call.window[-1].role == "user"
            assert bool(turn.anchored.tail) == starts
            with_tail += starts
    assert with_tail > 30


def test_fingerprints_and_roles() -> None:
    result = ToolPart("p", "read", "call_7", "completed", {})
    step = Message("m1", "s", "assistant", created=5, parts=(TextPart("t", "x"), result))
    assert (anchor(step), role(step)) == ("assistant:5:call_7", "tool")
    assert (anchor(Message("m2", "s", "user", created=6)), role(Message("m2", "s", "user"))) == ("user:6:", "user")
    assert role(Message("m3", "s", "assistant", parts=(TextPart("t", "x"),))) == "assistant"


def test_what_is_lost_is_found() -> None:
    """The comparison must be able to fail: a state that lost its decision, a frame that shows nothing."""
    full, bare = Hud.in_memory().session("full"), Hud.in_memory().session("bare")
    for session in (full, bare):
        session.append(p.TaskSet("Ship it"), p.TodoSync((p.TodoItem("one"), p.TodoItem("two", "completed"))))
    full.append(p.DecisionRecord("JWT over sessions"), p.FileEdit("a.py"), p.FileOpen("b.py"))
    found = compaction_report(RecordedCompaction(full.state, bare.state, "auto", 9, 3), bare.frame(), 12)
    assert found.lost == ("JWT over sessions", "a.py")
    assert found.not_shown == ("JWT over sessions", "a.py")
    assert [(one.kind, len(one.items), one.surviving, one.shown) for one in found.held] == [
        ("task", 1, 1, 1), ("decisions", 1, 0, 0), ("open todos", 1, 1, 1), ("edited files", 1, 0, 0),
    ]  # fmt: skip
    assert (found.items, found.surviving) == (4, 2)


def test_escaped_text_is_recognised_in_a_frame() -> None:
    session = Hud.in_memory().session("s")
    session.append(p.NoteAdd("# not a *heading* [x](y) __init__.py <b>"), p.NoteAdd("- a\n- b\u202e"))
    state = session.state
    assert compaction_report(RecordedCompaction(state, state, "", None, 0), session.frame(), 0).not_shown == ()


def test_the_clockwork_gives_the_same_ids_again() -> None:
    one, two, other = ReplayClock("a"), ReplayClock("a"), ReplayClock("b")
    for clock in (one, two, other):
        clock.at = 1_795_000_000_000
    ids = [one.ids() for _ in range(50)]
    assert ids == [two.ids() for _ in range(50)]
    assert len({*ids, *(other.ids() for _ in range(50))}) == 100
    assert all(UUID(id).version == 7 and int(UUID(id)) >> 80 == 1_795_000_000_000 for id in ids)
    assert one.clock() == 1_795_000_000_000
