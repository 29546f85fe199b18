"""Anchors as tables: where a call stands, and which recorded deltas are where they were sent."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hudkit.errors import ConfigError
from hudkit.hud.frame_request import TranscriptMessage, TranscriptPosition, anchored_ids, transcript_position

SEEN = frozenset
PLACES: dict[str, tuple[object, TranscriptPosition]] = {
    "no transcript": (None, TranscriptPosition(None, "end", "user", True)),
    "an empty transcript": ([], TranscriptPosition(SEEN(), "start", "user", True)),
    "an anchor alone is the user's": (["a"], TranscriptPosition(SEEN("a"), "a", "user", True)),
    "a pair": ([("a", "user"), ("b", "tool")], TranscriptPosition(SEEN("ab"), "b", "tool", False)),
    "the last message decides": ([("b", "tool"), ("a", "user")], TranscriptPosition(SEEN("ab"), "a", "user", True)),
    "the assistant's last": (["a", ("b", "assistant")], TranscriptPosition(SEEN("ab"), "b", "user", False)),
    "a message": ([TranscriptMessage("a", "tool")], TranscriptPosition(SEEN("a"), "a", "tool", False)),
    "an unknown role is carried like a user's, within the turn": (
        [("a", "developer")],
        TranscriptPosition(SEEN("a"), "a", "user", False),
    ),
    "an anchor twice": (["a", "a"], TranscriptPosition(SEEN("a"), "a", "user", True)),
    "a tuple of entries": (("a", ("b", "tool")), TranscriptPosition(SEEN("ab"), "b", "tool", False)),
}


@pytest.mark.parametrize("name", PLACES)
def test_place(name: str) -> None:
    transcript, expected = PLACES[name]
    position = transcript_position(transcript)  # type: ignore[arg-type]
    assert replace(position, order=(), users=frozenset()) == expected


def test_messages_are_in_order_and_an_anchor_alone_may_be_anybodys() -> None:
    position = transcript_position(["a", ("b", "user"), ("c", "tool"), TranscriptMessage("d")])
    assert position.order == ("a", "b", "c", "d") and position.users == {"b", "d"}


@pytest.mark.parametrize(
    ("transcript", "where"),
    [
        ([3], "transcript[0] is 3"),
        (["a", None], "transcript[1] is None"),
        ([("a",)], "transcript[0]"),
        ([("a", "user", "x")], "transcript[0]"),
        ([("a", 1)], "transcript[0]"),
        ([{"anchor": "a"}], "transcript[0]"),
        ([b"a"], "transcript[0]"),
    ],
)
def test_a_bad_entry_is_named(transcript: list[object], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        transcript_position(transcript)  # type: ignore[arg-type]
    assert where in str(caught.value) and "anchor" in caught.value.hint


RECORDED = (("1", "a"), ("2", "b"), ("3", "c"))
SHOWN: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "no transcript: nothing is missing": (None, ("1", "2", "3")),
    "all there": ("abcd", ("1", "2", "3")),
    "their order in the transcript does not matter": ("cba", ("1", "2", "3")),
    "a revert takes the last": ("ab", ("1", "2")),
    "unrevert brings it back": ("abc", ("1", "2", "3")),
    "the middle is pruned": ("ac", ("1", "3")),
    "the first is pruned": ("bc", ("2", "3")),
    "a fork before the first": ("x", ()),
    "an empty transcript": ("", ()),
}


@pytest.mark.parametrize("name", SHOWN)
def test_shown(name: str) -> None:
    anchors, ids = SHOWN[name]
    where = transcript_position(None if anchors is None else list(anchors))
    assert anchored_ids(RECORDED, where) == ids


def test_several_deltas_on_one_anchor() -> None:
    twice = (("1", "a"), ("2", "a"), ("3", "b"))
    assert anchored_ids(twice, transcript_position(["a"])) == ("1", "2")
    assert anchored_ids(twice, transcript_position(["b"])) == ("3",)
    assert anchored_ids((), transcript_position(["a"])) == ()
