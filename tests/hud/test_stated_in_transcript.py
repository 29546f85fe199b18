"""What is not told: what an answer in the transcript tells already, and what a frame told that was never sent."""

from __future__ import annotations

import pytest

from hudkit.api import Hud, HudSession
from hudkit.errors import BudgetError
from hudkit.hud.frame import MAX_WAIT, Frame
from hudkit.log import EventDraft, Origin
from hudkit.log.payloads import DecisionRecord, FrameDelta, FrameUnsent, NoteAdd, SessionStart, TaskSet

LIMIT = 200_000


class Talk:
    """A transcript that grows by one message a call, and an agent whose calls are answered in its last message."""

    def __init__(self, session: HudSession) -> None:
        self.session = session
        self.messages: list[tuple[str, str]] = []
        self.have = ""

    def call(self, role: str, *, used: int | None = None, late: bool = False) -> Frame:
        """The frame of one more call; a late one is asked for and not used."""
        self.messages.append((f"m{len(self.messages)}", role))
        frame = self.again(used=used)
        if not late:
            self.have = frame.mark
        return frame

    def again(self, *, used: int | None = None) -> Frame:
        return self.session.frame(used, LIMIT, transcript=list(self.messages), last_mark=self.have)

    def tool(self, operation: str, **args: object) -> None:
        before = self.session.state
        self.session.tool("hud", {"tool": operation, "args": args})
        self.session.note_answered(before)


@pytest.fixture
def talk(hud: Hud) -> Talk:
    session = hud.session("s")
    session.append(TaskSet("Ship it"))
    talk = Talk(session)
    talk.call("user")
    return talk


def recorded(talk: Talk) -> list[FrameDelta]:
    return [event.payload for event in talk.session.events() if isinstance(event.payload, FrameDelta)]


def test_what_the_agent_was_answered_is_told_with_the_next_turn(talk: Talk) -> None:
    talk.tool("notes.add", content="mine")
    assert talk.call("tool").deltas == ()
    assert [(one.text, one.tokens, one.anchor) for one in recorded(talk)] == [("", 0, "m1")]
    frame = talk.call("user")
    assert [(one.text, one.anchor) for one in frame.deltas] == [(f"[hud {frame.tag}] note: mine\n", "m2")]
    assert talk.call("user").deltas == frame.deltas


def test_in_a_long_turn_it_is_told_a_few_messages_later(talk: Talk) -> None:
    talk.tool("notes.add", content="mine")
    told = [len(talk.call("tool").deltas) for _ in range(MAX_WAIT + 2)]
    assert told == [0] * MAX_WAIT + [1, 1]


def test_a_small_share_of_what_is_live_stays_with_its_answers(talk: Talk) -> None:
    """Of more than twenty items one or two are not worth a block of their own."""
    talk.session.append(*(NoteAdd(f"note {number}") for number in range(20)))
    talk.call("user")
    told = []
    for word in ("one", "two", "three"):
        talk.tool("notes.add", content=word)
        talk.call("tool")
        told.append(talk.call("user").deltas[1:])
    assert told[:2] == [(), ()]
    assert told[2][0].text.split("\n")[2:5] == ["- note: one", "- note: two", "- note: three"]


def test_another_task_than_that_of_the_base_is_told_at_once(talk: Talk) -> None:
    talk.tool("task.set", description="Mend it")
    frame = talk.call("tool")
    assert [one.text for one in frame.deltas] == [f"[hud {frame.tag}] task now: Mend it\n"]


def test_a_title_that_came_meanwhile_hides_no_task(hud: Hud) -> None:
    talk = Talk(hud.session("s"))
    talk.session.append(SessionStart(request="Build the thing"))
    assert "Build the thing" in talk.call("user").base
    talk.session.append(SessionStart(title="A title"), origin=Origin.HOST)
    assert talk.call("tool").deltas == (), "a title is no news"
    talk.tool("task.set", description="Mend it")
    frame = talk.call("tool")
    assert [one.text for one in frame.deltas] == [f"[hud {frame.tag}] task now: Mend it\n"]
    talk.tool("task.clear")
    back = "task now: Build the thing (from the first message)"
    assert talk.call("tool").deltas[-1].text == f"[hud {frame.tag}] {back}\n"


def test_what_there_is_no_room_for_stays_with_its_answers(talk: Talk) -> None:
    """The blocks would exceed the budget: no new base in a warm cache for what the transcript tells."""
    frame = talk.session.frame(budget=300, transcript=list(talk.messages))
    for number in range(12):
        talk.tool("notes.add", content=f"note {number} " + "with rather many words " * 3)
        talk.messages += [(f"t{number}", "tool"), (f"u{number}", "user")]
        for end in (-1, None):
            later = talk.session.frame(budget=300, transcript=talk.messages[:end], last_mark=talk.have)
            talk.have = later.mark
            assert later.base == frame.base and later.tokens <= 300
    assert later.text.count("note:") in range(4, 12)


def test_what_others_did_meanwhile_is_told(talk: Talk) -> None:
    talk.tool("steps.add", description="first")
    talk.session.append(NoteAdd("from outside"), origin=Origin.HOST)
    talk.tool("steps.complete", id="first")
    frame = talk.call("tool")
    assert [one.text for one in frame.deltas] == [f"[hud {frame.tag}] note: from outside\n"]


def test_an_answer_that_a_revert_takes_away_tells_nothing_any_more(talk: Talk) -> None:
    talk.tool("notes.add", content="mine")
    talk.call("tool")
    talk.messages = [("m0", "user"), ("m9", "user")]
    assert talk.again().deltas == () and not talk.session.state.notes
    talk.messages.append(("m10", "tool"))
    assert talk.again().deltas == ()


def test_an_answer_that_only_left_the_window_is_told_again(talk: Talk) -> None:
    talk.tool("notes.add", content="mine")
    talk.call("tool")
    talk.call("tool")
    talk.messages = [("m0", "user"), ("m2", "tool")]
    frame = talk.again()
    assert [one.text for one in frame.deltas] == [f"[hud {frame.tag}] note: mine\n"]
    talk.have = frame.mark
    talk.messages.append(("m10", "tool"))
    assert talk.again().deltas == frame.deltas


def test_what_the_agent_changes_of_what_others_said(talk: Talk) -> None:
    talk.session.append(NoteAdd("theirs"), origin=Origin.HOST)
    talk.call("tool")
    talk.tool("notes.remove", id="theirs")
    talk.tool("decisions.record", summary="ours")
    frame = talk.call("tool")
    assert [one.text for one in frame.deltas] == [f"[hud {frame.tag}] note: theirs\n"]
    assert "theirs" not in talk.session.frame_at(talk.session.state.seq).base


def test_ids_that_came_in_between_mislead_nobody(talk: Talk) -> None:
    """Heard alone, the agent's decision would be d1; it is d2, and the other one is d1."""
    talk.session.append(DecisionRecord("theirs", ""), origin=Origin.HOST)
    talk.tool("decisions.record", summary="ours")
    frame = talk.call("tool")
    assert [one.text for one in frame.deltas] == [f"[hud {frame.tag}]\n\n- decision: theirs\n- decision: ours\n"]


def test_without_a_transcript_everything_is_told(talk: Talk) -> None:
    talk.tool("notes.add", content="mine")
    frame = talk.session.frame(None, LIMIT)
    assert [one.text for one in frame.deltas] == [f"[hud {frame.tag}] note: mine\n"]


def test_a_frame_that_was_not_sent_tells_nothing(talk: Talk) -> None:
    talk.session.append(NoteAdd("early"), origin=Origin.HOST)
    talk.call("tool")
    talk.session.append(NoteAdd("late"), origin=Origin.HOST)
    late = talk.call("tool", late=True)
    assert [one.anchor for one in late.deltas] == ["m1", "m2"]
    frame = talk.call("tool")
    assert [(one.id, one.anchor) for one in frame.deltas] == [("1.1", "m1"), ("1.2", "m3")]
    assert frame.deltas[1].text == f"[hud {frame.tag}] note: late\n"
    assert [event.payload for event in talk.session.events() if isinstance(event.payload, FrameUnsent)] == [
        FrameUnsent(1, 1)
    ]
    assert talk.call("tool").deltas == frame.deltas
    assert talk.session.frame_at(talk.session.state.seq).deltas == frame.deltas


def test_a_change_that_was_undone_before_it_was_sent_is_never_told(talk: Talk) -> None:
    talk.session.append(NoteAdd("oops"), origin=Origin.HOST)
    talk.call("tool", late=True)
    talk.session.call("notes.remove", {"id": "oops"})
    assert talk.call("tool").deltas == ()
    talk.have = ""  # as after a restart of the host
    assert talk.call("user").deltas == ()


def test_what_was_hidden_by_a_revert_was_sent_all_the_same(talk: Talk) -> None:
    talk.session.append(NoteAdd("x"), origin=Origin.HOST)
    talk.call("tool")
    messages = list(talk.messages)
    talk.messages = [("m0", "user")]
    talk.call("user")
    talk.messages = [*messages, ("m5", "tool")]
    assert [one.anchor for one in talk.again().deltas] == ["m1"]


def test_a_band_that_was_told_too_late_is_told_again(talk: Talk) -> None:
    late = talk.call("tool", used=150_000, late=True)
    assert "yellow" in late.deltas[0].text
    frame = talk.call("tool", used=150_000)
    assert [one.anchor for one in frame.deltas] == ["m2"] and "yellow" in frame.deltas[0].text


def test_a_mark_of_an_older_epoch_says_nothing_of_this_one(talk: Talk) -> None:
    have = talk.have
    talk.session.frame(None, LIMIT, density="minimal", transcript=talk.messages)
    talk.session.append(NoteAdd("x"), origin=Origin.HOST)
    first = talk.call("tool")
    talk.have = have
    assert talk.call("tool").deltas == first.deltas


def test_what_comes_with_a_frame_is_in_it(talk: Talk) -> None:
    session = talk.session

    def first() -> tuple[EventDraft, ...]:
        return session.drafts((NoteAdd("brought"),), Origin.HOST, 0)

    before = session.state.seq
    frame = session.frame(None, LIMIT, transcript=[("m0", "user"), ("m1", "tool")], pending_events=first)
    assert [one.text for one in frame.deltas] == [f"[hud {frame.tag}] note: brought\n"]
    assert [event.type for event in session.events(before)] == ["note.add", "frame.delta", "context.snapshot"]
    assert session.frame_at(session.state.seq) == frame


def test_what_comes_with_a_frame_that_does_not_fit_is_recorded(talk: Talk) -> None:
    session = talk.session

    def first() -> tuple[EventDraft, ...]:
        return session.drafts((NoteAdd("brought"),), Origin.HOST, 0)

    with pytest.raises(BudgetError):
        session.frame(budget=1, pending_events=first)
    assert [note.content for note in session.state.notes] == ["brought"]
