"""What a host takes back around a compaction: what a summary stands for is not taken back, a lost compaction is."""

from __future__ import annotations

from typing import Any

import pytest

from hudkit.api import Hud
from hudkit.context.compaction.receipts import read_receipts
from hudkit.ingest.reverts import event_message, find_history_change, revert_from
from hudkit.log import Origin
from hudkit.log.payloads import CompactAfter, CompactUndone, NoteAdd
from hudkit.transcripts import CompactionPart, Message, ReportedUsage, TextPart

START = 1_795_000_000_000


def user(number: int) -> Message:
    return Message(
        f"u{number}", "", "user", START + 1_000 * number, parts=(TextPart(f"u{number}.0", f"Do {number}."),)
    )


def answer(number: int, *, reported: bool = True) -> Message:
    time = START + 1_000 * number + 500
    usage = ReportedUsage(total=1_000 + number) if reported else None
    words = (TextPart(f"a{number}.0", "Done."),)
    return Message(f"a{number}", "", "assistant", time, time, finish="stop", usage=usage, parts=words)


def compaction(number: int) -> tuple[Message, Message]:
    """The marker and the summary of a compaction, as hosts store them."""
    time = START + 1_000 * number + 700
    marker = Message(f"m{number}", "", "user", time, parts=(CompactionPart(f"m{number}.0", auto=True),))
    words = (TextPart(f"s{number}.0", f"Summary {number}."),)
    ended: dict[str, Any] = {"parent_id": marker.id, "finish": "stop", "summary": True}
    summary = Message(f"s{number}", "", "assistant", time + 1, time + 1, parts=words, **ended)
    return marker, summary


class Talk:
    """A conversation that is compacted: `all` is what the host stores, `window` what it sends."""

    def __init__(self, hud: Hud) -> None:
        self.session = hud.session("ses")
        self.all: list[Message] = []
        self.window: list[Message] = []

    def call(self) -> None:
        self.session.ingest(self.all)
        self.session.frame(transcript=[(message.id, message.role) for message in self.window])

    def turn(self, number: int, *, reported: bool = True) -> None:
        """A prompt, a call, a note of the agent's and its answer."""
        self.add(user(number))
        self.call()
        self.session.append(NoteAdd(f"note {number}"), origin=Origin.AGENT)
        self.add(answer(number, reported=reported))
        self.session.ingest(self.all)

    def add(self, *messages: Message) -> None:
        self.all += messages
        self.window += messages

    def compact(self, number: int, *kept: Message) -> None:
        """Compact all but the messages that are `kept`, which stand where the host puts them: in front."""
        marker, summary = compaction(number)
        self.all += (marker, summary)
        self.window = [*kept, marker, summary]
        self.session.ingest(self.all)

    @property
    def notes(self) -> list[str]:
        return [note.content for note in self.session.state.notes]

    @property
    def summary(self) -> str:
        return self.session.state.compacted.summary

    def names(self, *messages: Message) -> list[str]:
        return [f"{message.role}:{message.created}" for message in messages]


@pytest.fixture
def talk() -> Talk:
    talk = Talk(Hud.in_memory())
    talk.turn(1)
    talk.turn(2)
    return talk


def test_what_a_summary_stands_for_stays_also_where_an_older_message_stands_before_it(talk: Talk) -> None:
    """A host that keeps the first prompt: the others between it and the summary were not taken back."""
    talk.turn(3)
    talk.compact(3, talk.all[0])
    talk.turn(4)
    talk.call()
    assert talk.notes == ["note 1", "note 2", "note 3", "note 4"] and talk.summary == "Summary 3."


def test_what_came_behind_a_summary_is_taken_back_and_nothing_that_it_stands_for(talk: Talk) -> None:
    talk.compact(2, talk.all[0])
    talk.turn(3)
    talk.turn(4)
    talk.call()
    talk.all, talk.window = talk.all[:-2], talk.window[:-2]
    talk.add(user(5))
    talk.call()
    assert talk.notes == ["note 1", "note 2", "note 3"] and talk.summary == "Summary 2."


def test_of_two_summaries_the_one_that_is_there_tells_what_is_covered(talk: Talk) -> None:
    """The second compaction was taken back with all behind the first: what came between is gone, too."""
    talk.compact(2, talk.all[0])
    first = list(talk.window)
    talk.turn(3)
    talk.compact(3, talk.all[0])
    talk.turn(4)
    events = tuple(talk.session.events(0))
    names = {message.id: name for message in talk.all for name in talk.names(message)}
    there = talk.names(*first)
    change = find_history_change(events, [*there, "user:1795000009000"], whole=False, names=names)
    assert change.revert is not None
    assert change.revert.messages == tuple(talk.names(user(3), answer(3), *compaction(3), user(4), answer(4)))
    both = talk.names(*first, *compaction(3))
    change = find_history_change(events, [*both, "user:1795000009000"], whole=False, names=names)
    assert change.revert is not None and change.revert.messages == tuple(talk.names(user(4), answer(4)))


def seqs_of(talk: Talk, *kinds: type[Any]) -> list[int]:
    return [event.seq for event in talk.session.events(0) if isinstance(event.payload, kinds)]


def test_a_whole_revert_takes_a_lost_compaction_with_all_that_was_said_of_compactions_since(talk: Talk) -> None:
    """Which summary stands, and for what, rests on the first one: also what no message of the host's tells."""
    talk.compact(2)
    talk.turn(3)
    (first,) = seqs_of(talk, CompactAfter)
    talk.session.append(CompactAfter("By hand."), origin=Origin.HOST)
    talk.session.append(CompactUndone(seqs_of(talk, CompactAfter)[-1], "Summary 2."), origin=Origin.HOST)
    talk.turn(4)
    events = tuple(talk.session.events(0))
    later = [seq for seq in seqs_of(talk, CompactAfter, CompactUndone) if seq > first]
    assert len(later) == 2 and not any(event_message(event) for event in events if event.seq in later)
    (marker, _) = compaction(2)
    revert = revert_from(events, *talk.names(marker))
    assert revert is not None and {first, *later} <= set(revert.seqs)
    behind = revert_from(events, *talk.names(user(4)))
    assert behind is not None and not {first, *later} & set(behind.seqs), "those that stand rest on nothing lost"
    talk.session.revert(marker.id)
    assert talk.summary == "" and talk.notes == ["note 1", "note 2"]
    talk.session.restore()
    assert talk.summary == "Summary 2." and talk.notes == ["note 1", "note 2", "note 3", "note 4"]


def test_a_compaction_that_is_over_already_is_taken_back_no_second_time(talk: Talk) -> None:
    talk.compact(2)
    talk.turn(3)
    (marker, _) = compaction(2)
    talk.session.revert(marker.id)
    events = tuple(talk.session.events(0))
    again = revert_from(events, *talk.names(user(2)))
    assert again is not None and not set(seqs_of(talk, CompactAfter)) & set(again.seqs)


def test_a_window_without_the_summary_alone_takes_no_compaction_back(talk: Talk) -> None:
    """A trimmed request is no word of the host's on its compactions; a whole history is."""
    talk.compact(2)
    talk.turn(3)
    events = tuple(talk.session.events(0))
    names = {message.id: name for message in talk.all for name in talk.names(message)}
    present = talk.names(*talk.all[:3])
    part = find_history_change(events, present, whole=False, names=names)
    assert part.revert is not None and not set(seqs_of(talk, CompactAfter)) & set(part.revert.seqs)
    whole = find_history_change(events, present, whole=True, names=names)
    assert whole.revert is not None and set(seqs_of(talk, CompactAfter)) <= set(whole.revert.seqs)


def test_what_a_response_recorded_stands_where_only_the_compaction_behind_it_is_lost(talk: Talk) -> None:
    """Also a response of which the log knows nothing: the summary behind it is no response to its call."""
    talk.turn(3, reported=False)
    talk.compact(3)
    talk.turn(4)
    (marker, _) = compaction(3)
    talk.session.revert(marker.id)
    assert talk.notes == ["note 1", "note 2", "note 3"]


def test_a_receipt_says_that_its_compaction_was_taken_back_with_its_messages(talk: Talk) -> None:
    """As our own agent's undo does; a compaction that is brought back stands."""

    def undone() -> list[bool]:
        return [bool(one.undone) for one in read_receipts(talk.session.events(), talk.session.state_at)]

    talk.compact(2)
    talk.turn(3)
    talk.compact(3)
    assert undone() == [False, False]
    (event,) = talk.session.revert(compaction(3)[0].id)
    assert undone() == [False, True]
    assert read_receipts(talk.session.events(), talk.session.state_at)[1].undone == event.seq
    talk.session.restore()
    assert undone() == [False, False]
    talk.session.revert(user(2))
    assert undone() == [True, True]
