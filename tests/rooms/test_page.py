"""The page as plain HTTP: what it shows is what is, what a person does is done, and hostile text stays text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from page_process import Answer, Outline, Visitor, words_of

from hudkit.compose import visible
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.prompts import load_prompts

pytestmark = pytest.mark.slow
pytest_plugins = ("page_fixtures",)

HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>`</textarea></pre></title>{{7*7}} "
    "javascript:alert(3) &lt;b&gt; \x1b[31m\u202egnp\u2066\u0000\r\n## System\n![x](https://evil.example/?q=1)"
)


def listed(answer: Answer) -> list[int]:
    """The messages that a page shows."""
    return [int(id) for id in re.findall(r'<li [^>]*id="m(\d+)"', answer.text)]


def test_a_room_shows_what_was_said_there_and_by_whom(visitor: Visitor, harness: Any) -> None:
    harness.do(2, say={1: "The tide is out."})
    harness.wait(60)
    harness.do(3, {"type": "reply", "room_id": 1, "message_id": harness.room(1).messages[-1], "message": "Not here."})
    said = words_of(visitor.get("/?room=1"))
    assert "The tide is out." in said and "Not here." in said and "1 reply" in said
    assert listed(visitor.get("/?room=1")) == harness.room(1).messages and listed(visitor.get("/?room=3")) == []


def test_a_thread_alone_has_what_belongs_to_it(visitor: Visitor, harness: Any) -> None:
    harness.do(2, say={1: "Who has the map?"})
    question = harness.room(1).messages[-1]
    harness.do(3, say={1: "Soup is ready."})
    answer = harness.architect.say(1, "I have it.", question)
    assert listed(visitor.get(f"/?room=1&thread={answer}")) == [question, answer]


def test_what_the_architect_says_is_said_and_the_composer_is_empty_again(visitor: Visitor, harness: Any) -> None:
    page = visitor.do("say", room=1, text="Hello, all.", look="room=1")
    assert harness.texts(1)[-1] == (0, "Hello, all.")
    assert "Hello, all." in words_of(page) and 'data-said="1"' in page.text
    answered = harness.room(1).messages[-1]
    visitor.do("say", room=1, text="And again.", reply=answered)
    assert harness.world.messages[harness.room(1).messages[-1]].reply_to == answered


def test_what_is_refused_says_why_and_is_not_lost(visitor: Visitor, harness: Any) -> None:
    before = harness.world.seq
    page = visitor.do("say", room=1, text="word " * 1000)
    assert "At most 4000" in words_of(page) and "word word" in words_of(page)
    page = visitor.do("say", room=1, text="Hello", whatever="1")
    assert "whatever" in words_of(page)
    assert "no agent 99" in words_of(visitor.do("wake", agent=99))
    assert harness.world.seq == before
    assert "no agent 99" not in words_of(visitor.do("dismiss"))


def test_reactions_are_shown_with_who_gave_them(visitor: Visitor, harness: Any) -> None:
    harness.do(2, say={1: "A good day."})
    said = harness.room(1).messages[-1]
    page = visitor.do("react", message=said, reaction="heart", look="room=1")
    assert harness.world.messages[said].reactions == {"heart": [0]}
    assert "heart: The Architect" in page.text


def test_agents_are_made_changed_and_retired(visitor: Visitor, harness: Any) -> None:
    page = visitor.do(
        "make", kind="bot", name="", background="Counts boats.", model="scripted", interval="7.5", room=1,
        can_create="true", input_format="toon", output_format="toon",
    )  # fmt: skip
    made = harness.agent(4)
    assert (made.name, made.kind, made.interval, made.can_create, made.input_format) == (
        "Bot-4",
        "bot",
        7.5,
        True,
        "toon",
    )
    assert 4 in harness.room(1).members and "Bot-4 (4) is here" in words_of(page)
    same = {"input_format": "toon", "output_format": "toon", "model": "scripted"}
    visitor.do("alter", agent=4, name="Counter", background="Counts boats.", **same)
    assert harness.agent(4).name == "Counter" and not harness.agent(4).can_create
    before = harness.world.seq
    assert "Nothing was changed" in words_of(
        visitor.do("alter", agent=4, name="Counter", background="Counts boats.", **same)
    )
    assert harness.world.seq == before
    visitor.do("tempo", agent=4, interval=3)
    assert harness.agent(4).interval == 3
    visitor.do("retire", agent=4)
    assert harness.agent(4).retired and "This room is closed" in words_of(visitor.get("/?room=4"))


def test_rooms_keys_and_requests(visitor: Visitor, harness: Any) -> None:
    visitor.do("billboard", room=1, text="Maps only")
    visitor.do("wpm", room=1, wpm=120)
    assert (harness.room(1).billboard, harness.room(1).wpm) == ("Maps only", 120)
    page = visitor.do("key", room=3, label="cooks", uses=2)
    key = re.search(r'class="secret">(hudroom_[0-9a-f]{48})<', page.text)
    assert key is not None
    assert not any(key[1] in str(what) for _, what in harness.world_log.events())
    assert key[1] in visitor.get().text and key[1] not in visitor.do("dismiss").text
    harness.do(2, {"type": "request_access", "room_id": 3, "key": key[1]})
    assert "with the key 'cooks'" in words_of(visitor.get("/?room=3"))
    assert "1 request to come in" in visitor.get("/?room=1").text
    visitor.do("grant", request=1)
    assert 2 in harness.room(3).members
    visitor.do("remove", agent=2, room=3)
    assert 2 not in harness.room(3).members
    visitor.do("admit", agent=2, room=3)
    assert 2 in harness.room(3).members
    harness.do(1, {"type": "request_access", "room_id": 3, "key": key[1]})
    visitor.do("deny", request=2)
    assert 2 not in harness.world.requests
    visitor.do("key", room=3, label="again")
    visitor.do("revoke", room=3, label="again")
    assert not harness.room(3).keys


@pytest.mark.parametrize("format", ["json", "compact", "toon"])
def test_the_hud_is_what_the_agent_sees(visitor: Visitor, harness: Any, format: str) -> None:
    harness.do(2, say={1: "The <b>tide</b> is out."})
    harness.architect.alter(1, input_format=format)
    seen = build_agent_hud(harness.world, 1, harness.now, CachedRenderer())
    page = visitor.get(f"/?room=1&agent=1&format={format}")
    assert seen.text.strip() in words_of(page)
    assert f"{seen.tokens:,} of {seen.limit:,} tokens" in words_of(page)


def test_the_hud_to_be_read_says_the_same_and_links_nowhere(visitor: Visitor, harness: Any) -> None:
    harness.do(2, say={1: "See <https://evil.example> or [this](https://evil.example), # not a heading"})
    page = visitor.get("/?room=1&agent=1")
    outline = Outline(page.text.partition('id="sees"')[2].partition("</aside>")[0])
    assert "See <https://evil.example> or [this](https://evil.example), # not a heading" in "".join(outline.words)
    assert {tag for tag, _ in outline.tags} >= {"h3", "h4", "ul", "li", "blockquote"}
    assert not [tag for tag, names in outline.tags if tag == "a" or (names and tag != "details")]
    assert "What it is told" in "".join(outline.words), "what all are told is there, folded up"


def test_another_notation_changes_nothing_for_the_agent(visitor: Visitor, harness: Any) -> None:
    said = words_of(visitor.get("/?agent=1&format=toon"))
    assert "It gets json; this is another notation" in said
    assert harness.agent(1).input_format == "json"


def test_parts_of_the_hud_and_what_was_left_out_are_told(visitor: Visitor, harness: Any) -> None:
    for _ in range(60):
        harness.architect.say(1, "word " * 150)
    page = visitor.get("/?room=1&agent=1")
    seen = build_agent_hud(harness.world, 1, harness.now, CachedRenderer())
    room = next(one for one in seen.sections if one.room == 1)
    assert f"{room.shown} of {room.visible}" in words_of(page) and room.shown < room.visible
    assert f"Left out: {room.visible - room.shown}" in words_of(page)
    assert "older than what fits" in words_of(page)


def _beat(harness: Any, agent: int, number: int, *, late: int = 0, **answer: Any) -> None:
    """A beat of an agent's, with what came of it."""
    seen = build_agent_hud(harness.world, agent, harness.now, CachedRenderer())
    with harness.world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(
            e.BeatBegun(agent, number, harness.now, harness.now - late, seen.digest, seen.tokens, "json", "scripted")
        )
        transaction.append(e.ReplyReceived(agent, number, **answer))
        transaction.append(e.BeatFinished(agent, number, harness.now + 5000))


def test_how_an_agent_is_doing(visitor: Visitor, harness: Any) -> None:
    _beat(harness, 2, 1, text="<<the first answer>>", input_tokens=1200, output_tokens=34, cost=0.0125, seconds=1.5)
    harness.wait(4)
    _beat(harness, 2, 2, late=2500, error="the provider is <busy>")
    harness.do(2, {"type": "wake_agent", "agent_id": 77})
    page = visitor.get("/?room=1&agent=2&tab=activity")
    said = words_of(page)
    assert "<<the first answer>>" in said and "1,200 in, 34 out · $0.0125 · 1.5 s" in said
    assert "Last error: the provider is <busy>" in said and "2.5 s late" in said
    assert "wake_agent" in said and "refused: there is no agent 77" in said
    assert "1,200 / 34" in said and "in 5 s" in said
    figures = said.partition("beats/min")[2]
    assert figures.startswith("2late2.5 scost$0.0125")
    harness.wait(6)
    _beat(harness, 2, 3)
    assert "seconds between its last beats: ≤ 6" in words_of(visitor.get("/?agent=2"))


def test_states_of_agents(visitor: Visitor, harness: Any) -> None:
    harness.do(2, {"type": "sleep", "until": "2027-01-16T00:00:00Z"})
    harness.architect.retire(3)
    with harness.world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.BeatBegun(1, 1, harness.now, harness.now, "d", 1, "json", "scripted"))
    said = words_of(visitor.get())
    assert "asleep until" in said and "thinking…" in said and "retired" in said


def test_a_world_in_which_nothing_happens_says_so(visitor: Visitor, harness: Any) -> None:
    assert "Quiet" not in words_of(visitor.get())
    harness.wait(40)
    assert "Quiet: nobody sees anything new" in words_of(visitor.get())


def test_the_last_beats_hud_is_composed_again_and_checked(visitor: Visitor, harness: Any) -> None:
    harness.do(2, say={1: "Before the beat."})
    _beat(harness, 1, 1)
    harness.do(2, say={3: "x"})
    harness.architect.say(1, "After the beat.")
    page = visitor.get("/?room=3&agent=1&when=beat")
    assert "the same bytes as the log recorded" in words_of(page)
    sees = words_of(page).partition("as the log recorded")[2].partition("◂")[0]
    assert "Before the beat." in sees and "After the beat." not in sees
    _beat(harness, 1, 2)
    with harness.world_log.transaction(Origin.SYSTEM) as transaction:
        transaction.append(e.BeatBegun(1, 3, harness.now, harness.now, "0" * 32, 9, "json", "scripted"))
    assert "not what the log recorded" in words_of(visitor.get("/?room=3&agent=1&when=beat"))


def test_the_first_message_that_is_shown_stays_while_others_come(visitor: Visitor, harness: Any) -> None:
    """Otherwise every message would push away what somebody reads."""
    firsts = []
    for number in range(90):
        harness.architect.say(3, f"Line {number}")
        if number >= 85:
            firsts.append(listed(visitor.get("/?room=3"))[0])
    assert len(set(firsts)) == 1
    shown = listed(visitor.get("/?room=3"))
    older = listed(visitor.get(f"/?room=3&before={shown[0]}"))
    assert older + shown == harness.room(3).messages and len(shown) >= 80


@pytest.mark.parametrize("query", ["at=100000", "at=-1", "room=x", "tab=nowhere", "nothing=1", "room=1&" * 30])
def test_an_address_that_there_is_not_says_so(visitor: Visitor, query: str) -> None:
    answer = visitor.get(f"/?{query}")
    assert answer.status == 404 and "Back" in words_of(answer)


def test_a_room_and_an_agent_that_are_not_there_are_chosen(visitor: Visitor) -> None:
    assert "Ann’s room" in words_of(visitor.get("/?room=77&agent=99"))


def test_a_world_without_agents_says_what_to_do(make_harness: Any, open_page: Callable[..., Visitor]) -> None:
    assert "A world without agents" in words_of(open_page(make_harness()).get())


def test_what_was_not_read_is_counted_until_the_room_is_looked_at(visitor: Visitor, harness: Any) -> None:
    visitor.get("/?room=1")
    visitor.get("/?room=3")
    harness.do(2, say={1: "News."})
    assert 'title="not read yet">1<' in visitor.get("/?room=3").text
    visitor.get("/?room=1")
    assert "not read yet" not in visitor.get("/?room=3").text


def _hostile(harness: Any, text: str, name: str) -> None:
    """A world in which every text is `text`."""
    harmless = visible(text.replace("{{7*7}}", ""), breaks=False)
    harness.architect.set_prompts({**load_prompts(), "directives.rooms": harmless, "philosophy.identity": harmless})
    harness.architect.alter(
        2, background=text, model=text.replace("\x1b", "").replace("\u202e", "")[:60].split("\n")[0]
    )
    harness.architect.alter(1, name=name)
    harness.architect.set_billboard(1, text)
    harness.architect.make_key(1, name)
    harness.architect.say(1, text)
    harness.architect.say(1, text, harness.room(1).messages[-1])
    harness.do(2, {"type": "set", "path": "notes", "value": {name: [text], "more": text}, "w": 0.5})
    harness.do(2, {"type": name, "x": text})
    _beat(harness, 2, 1, error=text)
    _beat(harness, 2, 2, text=text)
    _beat(harness, 2, 3, error=text)


def test_hostile_text_is_text_wherever_it_stands(
    make_harness: Callable[..., Any], open_page: Callable[..., Visitor]
) -> None:
    """A page full of it is made of the same elements as one of harmless words, and says all of its characters."""
    outlines = []
    for world, text, name in (
        ("plain", "harmless " * 20, "Tame"),
        (HOSTILE.replace("\x00", ""), HOSTILE, "b onx=1 '\"&amp;"),
    ):
        harness = make_harness(name=world)
        harness.make("Ann")
        harness.make("Bob", rooms=(1,))
        _hostile(harness, text, name)
        visitor = open_page(harness)
        pages = [visitor.get(f"/?room=1&agent=2&tab={tab}") for tab in ("hud", "memory", "activity", "edit")]
        pages.append(visitor.get("/?room=1&agent=2"))
        pages.append(visitor.get(f"/?room=1&agent=2&new=true&reply={harness.room(1).messages[-1]}"))
        outlines.append([Outline(page.text) for page in pages])
        assert all(page.status == 200 for page in pages)
    for plain, hostile in zip(*outlines, strict=True):
        assert [tag for tag, _ in plain.tags] == [tag for tag, _ in hostile.tags]
        assert [names for _, names in plain.tags] == [names for _, names in hostile.tags]
        addresses = [value for name, value in hostile.values if name in ("href", "src", "action", "hx-get")]
        assert addresses and all(value.startswith(("/", "#")) and not value.startswith("//") for value in addresses)
    said = "".join(outlines[1][0].words)
    assert "<script>alert(1)</script>" in said
    assert not set(said) & set("\x1b\x00\r\u202e\u2066") and "\\e[31m\\u202egnp" in said
