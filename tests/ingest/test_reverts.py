"""What a host takes back is taken back, and nothing else: by messages that are gone, and by a word of the host's."""

from __future__ import annotations

from typing import Any

import pytest

from hudkit.api import Hud, HudSession
from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.log.payloads import CompactAfter, MessagesRevert, NoteAdd, SectionPrepared
from hudkit.sections.state import HudState, encode_state

START = 1_795_000_000_000


def user(number: int, text: str) -> dict[str, Any]:
    return {"id": f"u{number}", "role": "user", "time": START + 1_000 * number, "text": text}


def answer(number: int, text: str = "Done.", **call: Any) -> dict[str, Any]:
    calls = [{"id": f"c{number}", **call}] if call else []
    time = START + 1_000 * number + 500
    return {
        "id": f"a{number}", "role": "assistant", "time": time, "text": text, "tool_calls": calls,
        "used_tokens": 1_000 + number,
    }  # fmt: skip


def shown(state: HudState) -> str:
    """Everything that a section shows; counters of ids and what calls left behind aside."""
    values = []
    for name in (
        "task",
        "constraints",
        "decisions",
        "notes",
        "steps",
        "todos",
        "errors",
        "files",
        "progress",
        "session",
    ):
        section = getattr(state, name)
        values.append(list(section) if hasattr(section, "__iter__") else section)
    return repr(values)


class Talk:
    """A conversation as a program has it: its messages, and the calls of a model."""

    def __init__(self, session: HudSession) -> None:
        self.session = session
        self.messages: list[dict[str, Any]] = []

    def call(self) -> str:
        self.session.ingest(self.messages)
        frame = self.session.frame(transcript=[(message["id"], message["role"]) for message in self.messages])
        return frame.text

    def turn(self, number: int, text: str, *, note: str = "", **call: Any) -> None:
        self.messages.append(user(number, text))
        self.call()
        if note:
            self.session.tool("hud", {"tool": "notes.add", "args": {"content": note}})
        self.messages.append(answer(number, **call))
        self.session.ingest(self.messages)


@pytest.fixture
def talk(hud: Hud) -> Talk:
    return Talk(hud.session("ses"))


def two_turns(talk: Talk) -> str:
    """A turn that stands, and one that records all kinds of things; what was shown between them."""
    talk.turn(1, "Never touch legacy/", note="prices are cents")
    before = shown(talk.session.state)
    talk.messages.append(user(2, "Always write tests first. Rewrite it in Rust."))
    talk.call()
    talk.session.call("task.set", {"description": "Rewrite everything in Rust"})
    talk.session.call("decisions.record", {"summary": "Store cents as integers"})
    todos = {"todos": [{"content": "migrate", "status": "pending", "priority": "high"}]}
    talk.messages.append(
        answer(2, "Going with Redis for the queue.", tool="write", arguments={"path": "x.rs", "content": "x"})
    )
    talk.messages[-1]["tool_calls"] += [
        {"id": "c2b", "tool": "bash", "arguments": {"command": "pytest"}, "output": "1 failed", "exit_status": 1},
        {"id": "c2c", "tool": "todowrite", "arguments": todos, "output": "ok"},
    ]
    talk.call()
    return before


GONE = ("Rust", "cents as integers", "x.rs", "pytest", "Redis", "tests first", "migrate")


@pytest.mark.slow
def test_a_shorter_history_takes_back_what_its_lost_messages_recorded_and_told(talk: Talk) -> None:
    before = two_turns(talk)
    after, last = shown(talk.session.state), talk.session.state.seq
    frames = {seq: talk.session.frame_at(seq) for seq in range(1, last + 1)}
    states = {seq: encode_state(talk.session.state_at(seq)) for seq in range(1, last + 1)}
    assert after != before and all(word in talk.session.whole_frame().text for word in ("Rust", "x.rs", "Redis"))
    lost = talk.messages[2:]
    del talk.messages[2:]
    talk.messages.append(user(3, "No, stay with Python."))
    request = talk.call()
    assert [word for word in GONE if word in request + talk.session.whole_frame().text] == []
    assert "prices are cents" in talk.session.whole_frame().text
    assert "No, stay with Python." in talk.session.state.session.request
    assert {seq: encode_state(talk.session.state_at(seq)) for seq in states} == states, "the past stays as it was"
    assert {seq: talk.session.frame_at(seq) for seq in frames} == frames
    talk.messages[2:] = lost
    talk.call()
    assert shown(talk.session.state) == after, "what is there again is told again"


def test_it_is_told_again_by_a_process_that_begins_anew(hud: Hud) -> None:
    talk = Talk(hud.session("ses"))
    before = two_turns(talk)
    hud.forget(talk.session)
    again = Talk(hud.session("ses"))
    again.messages = talk.messages[:2]
    again.call()
    assert shown(again.session.state) == before


def test_a_host_can_say_it(talk: Talk) -> None:
    before = two_turns(talk)
    after = shown(talk.session.state)
    (event,) = talk.session.revert("u2")
    assert isinstance(event.payload, MessagesRevert) and event.origin == Origin.HOST
    assert shown(talk.session.state) == before
    (back,) = talk.session.restore()
    assert back.type == "event.undo" and shown(talk.session.state) == after
    assert talk.session.restore() == ()
    talk.session.revert(talk.messages[2])
    assert shown(talk.session.state) == before
    with pytest.raises(OperationError, match="u9"):
        talk.session.revert("u9")


def test_only_the_response_that_is_gone_is_taken_back(talk: Talk) -> None:
    """The answer is made once more: the prompt stands, and what it told."""
    talk.turn(1, "Never touch legacy/", note="from the first answer")
    del talk.messages[-1]
    talk.call()
    assert not talk.session.state.notes and len(talk.session.state.constraints) == 1


def test_an_application_that_keeps_only_last_words_took_nothing_back(talk: Talk) -> None:
    talk.turn(1, "Begin.", note="from the call", tool="bash", arguments={"command": "ls"}, output="a")
    talk.call()
    talk.messages[-1:] = [{**answer(4, "Done."), "time": START + 1_900}, user(5, "More.")]
    talk.call()
    assert talk.session.state.notes


def test_a_prompt_that_is_gone_leaves_the_answer_before_it(talk: Talk) -> None:
    talk.turn(1, "Begin.", note="of the first answer")
    talk.turn(2, "Never touch legacy/")
    talk.call()
    del talk.messages[2:]
    talk.messages.append(user(3, "Go on."))
    talk.call()
    assert [note.content for note in talk.session.state.notes] == ["of the first answer"]
    assert not talk.session.state.constraints


def test_what_a_compaction_or_a_trimmed_history_leaves_out_stands(talk: Talk) -> None:
    two_turns(talk)
    after = shown(talk.session.state)
    whole = talk.messages
    for messages in (whole[2:], whole[3:], [whole[0], whole[3]], [user(5, "A summary: …")], []):
        talk.messages = messages
        talk.session.frame(transcript=[(message["id"], message["role"]) for message in messages])
        assert shown(talk.session.state) == after
    talk.session.append(CompactAfter("What happened so far."), origin=Origin.HOST)
    talk.messages = [
        {"id": "s", "role": "assistant", "time": START + 9_000, "text": "What happened"},
        user(10, "On."),
    ]
    talk.call()
    assert [note.content for note in talk.session.state.notes] == ["prices are cents"]
    assert talk.session.state.task.description == "Rewrite everything in Rust"


def test_a_history_of_which_nothing_is_left_is_believed_where_it_is_whole(talk: Talk) -> None:
    two_turns(talk)
    talk.session.follow_transcript(["u5"])
    assert talk.session.state.notes
    talk.session.frame(transcript=[("u5", "user")], history=["u5"])
    assert not talk.session.state.notes and not talk.session.state.task.description


def test_two_conversations_under_one_name_take_nothing_from_each_other(hud: Hud) -> None:
    """A graph may ask two models in turn, each with messages of its own: none of them was taken back."""
    session = hud.session("ses")
    lines = {name: [(f"{name}0", "user")] for name in "ab"}
    for number in range(1, 4):
        for name, messages in lines.items():
            session.frame(transcript=messages)
            session.append(NoteAdd(f"{name}{number}"))
            messages.append((f"{name}{number}", "tool"))
    assert len(session.state.notes) == 6


def test_what_the_user_recorded_beside_the_conversation_stands(talk: Talk) -> None:
    talk.turn(1, "Begin.")
    talk.messages.append(user(2, "More."))
    talk.call()
    talk.session.call("constraints.add", {"text": "by hand"}, origin=Origin.USER)
    talk.session.append(NoteAdd("by the agent"))
    talk.session.append(SectionPrepared("x", "d", "i"), origin=Origin.SYSTEM)
    talk.messages.append(answer(2))
    talk.call()
    del talk.messages[2:]
    talk.messages.append(user(3, "Other."))
    talk.call()
    assert [rule.text for rule in talk.session.state.constraints] == ["by hand"] and not talk.session.state.notes


def test_an_undo_of_the_agents_in_a_lost_message_is_over_too(talk: Talk) -> None:
    talk.turn(1, "Begin.", note="stands")
    number = talk.session.state.notes[0].mark.seq
    talk.turn(2, "More.")
    talk.messages.append(user(3, "Even more."))
    talk.call()
    talk.session.call("undo", {"seq": number})
    assert not talk.session.state.notes
    talk.messages.append(answer(3))
    talk.call()
    del talk.messages[4:]
    talk.messages.append(user(5, "Other."))
    talk.call()
    assert [note.content for note in talk.session.state.notes] == ["stands"]


def test_the_prefix_stays_where_nothing_in_it_tells_what_was_taken_back(talk: Talk) -> None:
    talk.turn(1, "Begin.")
    first = talk.session.frame(transcript=["u1"])
    talk.messages.append(user(2, "More."))
    talk.call()
    talk.session.append(NoteAdd("gone"), origin=Origin.AGENT)
    talk.messages.append(answer(2))
    talk.call()
    talk.messages[2:] = [user(3, "Other.")]
    talk.session.append(NoteAdd("kept"), origin=Origin.USER)
    talk.call()
    frame = talk.session.frame_at(talk.session.state.seq)
    assert frame.base == first.base and frame.epoch == first.epoch
    assert [delta.anchor for delta in frame.deltas] == ["u3"] and "gone" not in frame.text
    talk.messages.append(answer(3))
    talk.call()
    later = talk.session.frame_at(talk.session.state.seq)
    assert (later.base, later.deltas) == (frame.base, frame.deltas), "what was sent since tells nothing of it"


def test_a_base_that_tells_what_was_taken_back_is_written_anew(talk: Talk) -> None:
    talk.turn(1, "Begin.")
    talk.messages.append(user(2, "More."))
    talk.call()
    talk.session.call("decisions.record", {"summary": "Store cents as integers"})
    talk.messages.append(answer(2))
    talk.session.frame(transcript=[(one["id"], one["role"]) for one in talk.messages], density="compact")
    assert talk.session.state.epoch.base is not None and "cents" in talk.session.state.epoch.base.text
    talk.messages[2:] = [user(3, "Other.")]
    assert "cents" not in talk.call()
    assert talk.session.state.epoch.base is not None and talk.session.state.epoch.base.reason == "revert"


@pytest.mark.parametrize("rounds", [3])
def test_back_and_forth_ends_where_it_was(talk: Talk, rounds: int) -> None:
    two_turns(talk)
    whole, after = list(talk.messages), shown(talk.session.state)
    talk.messages = whole[:2]
    talk.call()
    before = shown(talk.session.state)
    for _ in range(rounds):
        talk.messages = list(whole)
        talk.call()
        assert shown(talk.session.state) == after
        talk.messages = whole[:2]
        talk.call()
        assert shown(talk.session.state) == before
    assert len(talk.session.state.reverts.last) == 1
