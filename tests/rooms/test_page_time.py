"""Time on the page: pausing and stopping, the timeline, the world as it was, and being told when it goes on."""

from __future__ import annotations

import asyncio
import http.client
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from page_process import Visitor, words_of

from hudkit.rooms import world_events as e
from hudkit.rooms.page.event_words import describe_event
from hudkit.rooms.page.server import cookie_name
from hudkit.rooms.players import BeatPrompt, BeatReply, PlayerRegistry
from hudkit.rooms.scheduler import WorldRunner
from waiting import until

pytestmark = pytest.mark.slow
pytest_plugins = ("page_fixtures",)


def test_pausing_and_speed(visitor: Visitor, harness: Any) -> None:
    assert "Paused: the Architect" in words_of(visitor.do("pause"))
    assert "Paused" not in words_of(visitor.do("resume"))
    visitor.do("speed", factor="5")
    assert harness.world.speed == 5
    assert "0.01 to 1000" in words_of(visitor.do("speed", factor="0"))
    assert "nobody plays" in words_of(visitor.do("step"))
    assert "nobody plays" in words_of(visitor.do("stop"))


class Slow:
    """Says something in room 1, once it is let to."""

    def __init__(self) -> None:
        self.prompts = 0
        self.may = threading.Event()

    async def reply(self, prompt: BeatPrompt) -> BeatReply:
        self.prompts += 1
        while not self.may.is_set():
            await asyncio.sleep(0.01)
        return BeatReply(f'{{"responses": [{{"room_id": 1, "message": "Said in beat {prompt.number}."}}]}}')


@pytest.mark.parametrize("deed", ["pause", "stop"])
def test_when_a_pause_is_answered_no_beat_begins_and_none_has_effects(
    make_harness: Callable[..., Any], open_page: Callable[..., Visitor], deed: str
) -> None:
    harness = make_harness(clock=lambda: time.time_ns() // 1_000_000)
    harness.make("Ann", interval=1.0)
    harness.make("Bob", rooms=(1,), interval=1.0)
    slow = Slow()
    visitor = open_page(harness, player=WorldRunner(harness.world_log, PlayerRegistry({"scripted": slow})))
    until(lambda: all(agent.current_beat for agent in harness.world.agents.values()))
    page = visitor.do(deed)
    answered, asked_before = harness.world.seq, slow.prompts
    assert ("Paused: the Architect" if deed == "pause" else "Stopped") in words_of(page)
    slow.may.set()
    time.sleep(2.5)  # more than two intervals
    told = [what for _, what in harness.world_log.events(answered)]
    assert slow.prompts == asked_before == 2
    assert not [what for what in told if isinstance(what, e.BeatBegun | e.MessagePosted | e.ActionApplied)]
    assert not any(sender > 0 for sender, _ in harness.texts(1))
    said = words_of(visitor.get())
    assert ("paused" if deed == "pause" else "stopped") in said.partition("Agents")[2] and "in 0 s" not in said
    visitor.do("resume")
    until(lambda: any(sender > 0 for sender, _ in harness.texts(1)))


def test_every_kind_of_event_has_words_of_its_own() -> None:
    for tag, kind in e.EVENT_TYPES.items():
        given = {field.name: _some(field.type) for field in msgspec.structs.fields(kind) if field.required}
        words = describe_event(kind(**given), str)
        assert words and tag not in words, tag
    assert describe_event(None, str) == "what it was is gone"


def _some(kind: Any) -> Any:
    """A value of a type."""
    for value in (1, "x", {}, "persona", "json", "heart", None):
        with suppress(msgspec.ValidationError):
            return msgspec.convert(value, kind)
    raise AssertionError(kind)


def test_the_timeline_says_what_each_event_was(visitor: Visitor, harness: Any) -> None:
    harness.do(2, say={1: "The tide is out."})
    said = harness.world.seq
    harness.architect.react(harness.room(1).messages[-1], "brain")
    assert "Bob: The tide is out." in words_of(visitor.get(f"/?at={said}")).rpartition(f"{said} of")[2]
    assert "The Architect reacts: brain" in words_of(visitor.get())


def test_going_back_shows_the_world_as_it_was_and_nothing_to_do(visitor: Visitor, harness: Any) -> None:
    harness.do(2, say={1: "Early words."})
    then = harness.world.seq
    harness.wait(60)
    harness.do(2, say={1: "Late words."}, *[{"type": "set", "path": "mood", "value": "gloomy"}])
    page = visitor.get(f"/?room=1&agent=2&at={then}")
    assert "Early words." in words_of(page) and "Late words." not in words_of(page)
    assert not re.search(r'action="/do/(?!react|fork|understood)', page.text) and "nothing can be said" in words_of(
        page
    )
    assert "What it would have seen at that moment" in words_of(page)
    assert "gloomy" not in words_of(visitor.get(f"/?room=1&agent=2&tab=memory&at={then}"))
    assert "gloomy" in words_of(visitor.get("/?room=1&agent=2&tab=memory"))


def test_open_streams_end_with_the_server(visitor: Visitor, harness: Any) -> None:
    served = visitor.served
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    cookie = f"{cookie_name(served.port)}={visitor.cookie}"
    connection.request("GET", f"/live?seq={harness.world.seq}", headers={"cookie": cookie})
    stream = connection.getresponse()
    assert stream.readline() == b"retry: 1000\n"
    served.close()
    assert stream.read() == b"\n"  # whole, not cut off
    connection.close()


def test_a_page_is_told_when_something_happens_and_no_more_after_the_logout(visitor: Visitor, harness: Any) -> None:
    served = visitor.served
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    cookie = f"{cookie_name(served.port)}={visitor.cookie}"
    seq = harness.world.seq
    connection.request("GET", f"/live?seq={seq}", headers={"cookie": cookie})
    stream = connection.getresponse()
    assert stream.getheader("content-type", "").startswith("text/event-stream")
    assert stream.readline() == b"retry: 1000\n"
    served.do(lambda: harness.architect.say(1, "Now."))
    lines = [stream.readline() for _ in range(3)]
    assert lines == [b"\n", b"event: world\n", b"data: %d\n" % harness.world.seq]
    visitor.post("/logout", {"csrf": visitor.csrf})
    assert stream.read() == b"\n"
    connection.close()
