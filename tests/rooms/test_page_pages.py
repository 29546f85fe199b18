"""The pages beside the main one: search, figures, compared HUDs, other worlds; fork, export and the link."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_process import Outline, Served, Visitor, words_of

from hudkit.errors import ConfigError
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.page.page_context import PageContext
from hudkit.rooms.page.served_worlds import WorldFileEntry
from hudkit.rooms.world_export import transcript_lines
from hudkit.rooms.world_log import WorldLog

pytestmark = pytest.mark.slow
pytest_plugins = ("page_fixtures",)


def beat(harness: Any, agent: int, number: int, **answer: Any) -> None:
    seen = build_agent_hud(harness.world, agent, harness.now, CachedRenderer())
    begun = e.BeatBegun(agent, number, harness.now, harness.now, seen.digest, seen.tokens, "json", "scripted")
    with harness.world_log.transaction(Origin.SYSTEM) as transaction:
        for event in (
            begun,
            e.ReplyReceived(agent, number, **answer),
            e.BeatFinished(agent, number, harness.now + 5000),
        ):
            transaction.append(event)


def hits_of(visitor: Visitor, query: str) -> str:
    page = visitor.get(f"/search?{query}")
    assert page.status == 200
    return "".join(Outline(page.text.partition('class="hits"')[2]).words)


# -- search --------------------------------------------------------------------------------------------------------


def test_the_search_finds_what_was_said_noted_and_refused_and_filters_narrow_it(
    visitor: Visitor, harness: Any
) -> None:
    harness.do(2, {"type": "set", "path": "mood", "value": "a lamp"}, say={1: "The lamp is gone."})
    harness.do(3, say={3: "Which lamp?"})
    harness.architect.say(1, "Find the lamp!")
    everything = hits_of(visitor, "q=LAMP")
    assert all(text in everything for text in ("The lamp is gone.", "Which lamp?", "Find the lamp!", "mood"))
    assert hits_of(visitor, "q=lamp+which").count("event") == 1
    of_one_room = hits_of(visitor, "q=lamp&kind=said&room=3")
    assert "Which lamp?" in of_one_room and "gone" not in of_one_room
    by_one = hits_of(visitor, "q=lamp&by=0")
    assert "Find the lamp!" in by_one and "gone" not in by_one
    noted = hits_of(visitor, "q=lamp&kind=noted")
    assert "mood" in noted and "gone" not in noted
    assert hits_of(visitor, "q=nowhere") == ""


def test_answers_are_found_word_for_word_and_a_hit_leads_to_its_moment(visitor: Visitor, harness: Any) -> None:
    beat(harness, 2, 1, text='{"responses": []} and <nothing>')
    page = visitor.get("/search?q=nothing&kind=answers")
    assert "and <nothing>" in words_of(page) and "<mark>nothing</mark>" in page.text
    (address,) = re.findall(r'class="where"><a href="([^"]+)"', page.text)
    assert visitor.get(address.replace("&amp;", "&")).status == 200
    assert visitor.get("/search?room=x").status == 404


# -- compared HUDs -------------------------------------------------------------------------------------------------


def test_two_beats_huds_are_compared_by_line_and_by_word(visitor: Visitor, harness: Any) -> None:
    assert "no two beats" in words_of(visitor.get("/diff?agent=1"))
    beat(harness, 1, 1)
    harness.do(2, say={1: "Only in the second."})
    beat(harness, 1, 2)
    harness.do(2, say={1: "Only in the third."})
    beat(harness, 1, 3)
    newest = visitor.get("/diff?agent=1").text.partition('id="changes"')[2]
    assert re.search(r'<li class="add">.*?Only in the third\.', newest)
    assert not re.search(r'<li class="add">[^l]*Only in the second\.', newest)
    chosen = visitor.get("/diff?agent=1&a=1&b=2&by=word").text
    assert re.search(r"<ins>[^<]*Only in the second", chosen) and "third" not in chosen.partition('id="changes"')[2]
    assert 'href="/diff?agent=1&amp;b=3"' in visitor.get("/?agent=1&tab=activity").text
    assert visitor.get("/diff?agent=77").status == 404


# -- figures -------------------------------------------------------------------------------------------------------


def test_the_map_counts_answers_names_and_reactions(visitor: Visitor, harness: Any) -> None:
    assert "Nothing has happened yet" in words_of(visitor.get("/figures")) or harness.world.messages
    names = {id: harness.agent(id).name for id in (1, 2, 3)}
    harness.do(2, say={1: f"{names[3]}, where were you? And @1?"})
    asked = max(harness.world.messages)
    harness.do(3, {"type": "reply", "room_id": 1, "message_id": asked, "message": "At home."})
    harness.do(1, {"type": "react", "message_id": asked, "reaction": "brain"})
    beat(harness, 1, 1, input_tokens=1000, cached_tokens=600, output_tokens=50, cost=0.02)
    page = visitor.get("/figures")
    rows = re.findall(
        r'<tr><th scope="row">(.*?)</th><td>(.*?)</td>((?:<td class="number">[^<]*</td>)+)</tr>', page.text
    )
    counted = {(one, other): re.findall(r">([^<]+)<", cells) for one, other, cells in rows}
    assert counted[names[2], names[3]] == ["–", "1", "–"] and counted[names[2], names[1]] == ["–", "1", "–"]
    assert counted[names[3], names[2]] == ["1", "–", "–"] and counted[names[1], names[2]] == ["–", "–", "1"]
    said = words_of(page)
    for title in ("Messages", "HUDs", "Beats", "Lateness", "Tokens", "Cost: $0.0200"):
        assert title in said
    assert "of them cached 600" in said and "<script" not in page.text


# -- fork, export, other worlds ------------------------------------------------------------------------------------


class Directory:
    """Worlds in a folder, as the command line has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def entries(self) -> list[WorldFileEntry]:
        return [WorldFileEntry(path.stem, 1, path.stat().st_size) for path in sorted(self.folder.glob("*.db"))]

    def open(self, name: str) -> PageContext:
        return PageContext(WorldLog.open(self.folder / f"{name}.db"), file_name=name)

    def fork(self, context: PageContext, name: str, seq: int) -> None:
        if (self.folder / f"{name}.db").exists():
            raise ConfigError(f"there is a world {name}")
        context.world_log.fork(self.folder / f"{name}.db", seq, name=name).close()


@pytest.fixture
def several(harness: Any, tmp_path: Path) -> Any:
    served = Served(PageContext(harness.world_log), directory=Directory(tmp_path))
    visitor = Visitor(served)
    visitor.login()
    visitor.get()
    yield visitor
    served.close()


def test_a_fork_is_made_opened_and_goes_its_own_way(several: Visitor, harness: Any, tmp_path: Path) -> None:
    harness.do(2, say={1: "Before the fork."})
    seq = harness.world.seq
    harness.do(2, say={1: "After it."})
    page = several.do("fork", name="other", seq=seq)
    assert "other" in words_of(page) and "Before the fork." in words_of(page) and "After it." not in words_of(page)
    several.do("say", room=1, text="Said in the fork alone.")
    assert "Said in the fork alone." not in " ".join(one.content for one in harness.world.messages.values())
    assert "there is a world other" in words_of(several.do("fork", name="other", seq=seq))
    listed = words_of(several.get("/worlds"))
    assert "other" in listed and "this one" in listed
    with WorldLog.open(tmp_path / "other.db", read_only=True) as forked:
        assert forked.world.name == "other" and "Said in the fork alone." in [
            m.content for m in forked.world.messages.values()
        ]


def test_another_world_is_opened_and_what_was_read_here_does_not_count_there(several: Visitor, harness: Any) -> None:
    several.do("fork", name="first", seq=harness.world.seq)
    several.do("fork", name="second", seq=2)
    assert "A world without agents" not in words_of(several.get("/")) or "second" in words_of(several.get("/"))
    page = several.do("open", world="first")
    assert "<h1>first</h1>" in page.text
    assert "there is no" in words_of(several.do("open", world="nowhere")) or "first" in words_of(several.get("/"))


def test_a_page_of_one_world_knows_no_others(visitor: Visitor, harness: Any) -> None:
    assert "one world only" in words_of(visitor.get("/worlds"))
    assert "knows no other worlds" in words_of(visitor.do("fork", name="x", seq=1))


def test_the_log_is_taken_along_as_a_transcript_and_as_events(visitor: Visitor, harness: Any) -> None:
    harness.do(2, say={1: "Line one\nline two"})
    text = visitor.get("/export?format=text")
    assert text.text.splitlines() == [
        line for part in transcript_lines(harness.world_log.events()) for line in part.splitlines()
    ]
    assert 'filename="test.txt"' in text.headers["content-disposition"]
    lines = visitor.get("/export?format=jsonl&at=3").text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3]
    assert [visitor.get(f"/export?{query}").status for query in ("format=exe", "at=x", "at=99999")] == [404, 400, 404]


# -- the first visit -----------------------------------------------------------------------------------------------


def test_what_this_is_is_said_until_it_is_put_away(visitor: Visitor) -> None:
    assert "You are the Architect." in words_of(visitor.get("/"))
    assert "You are the Architect." not in words_of(visitor.do("understood"))
    assert "You are the Architect." not in words_of(visitor.get("/?room=1"))


def test_the_link_logs_in_once_and_the_token_still_does(harness: Any) -> None:
    served = Served(PageContext(harness.world_log))
    try:
        first, second = Visitor(served), Visitor(served)
        path = served.link.removeprefix(served.url.rstrip("/"))
        came_in = first.get(path)
        assert came_in.status == 303 and "HttpOnly" in came_in.cookies[0] and "SameSite=strict" in came_in.cookies[0]
        assert first.get("/").status == 200
        assert first.get(path).status == 303, "who is logged in already is led on"
        refused = second.get(path)
        assert refused.status == 401 and "used already" in words_of(refused) and second.get("/").status == 401
        assert second.get("/?once=guess").status == 401
        second.login()
        assert second.get("/").status == 200
    finally:
        served.close()


@pytest.mark.parametrize("path", ["/search?q=a", "/diff?agent=1", "/figures", "/worlds", "/export"])
def test_nothing_is_told_to_strangers(harness: Any, open_page: Callable[..., Visitor], path: str) -> None:
    visitor = open_page(harness)
    visitor.cookie = ""
    assert visitor.get(path).status == 401


def test_models_are_listed_with_their_prices(harness: Any, open_page: Callable[..., Visitor]) -> None:
    models = [("improviser", "costs nothing"), ("openai:gpt-5", "$1.25 in, $10 out, for a million tokens")]
    page = open_page(harness, models=models).get("/?agent=1&tab=edit")
    assert '<option value="openai:gpt-5">openai:gpt-5 $1.25 in' in page.text
    assert "$10 out, for a million tokens" in words_of(page)
    values = Outline(page.text).values
    assert ("list", "models") in values and ("value", harness.agent(1).model) in values
