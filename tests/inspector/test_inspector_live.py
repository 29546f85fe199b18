"""The stream: a page is told that its session went on, and only then."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest
from served_inspector import PageVisitor, ServedInspector

from hudkit.api import Hud
from hudkit.inspector.server import cookie_name
from hudkit.log.payloads import NoteAdd, TaskSet

pytestmark = pytest.mark.slow


@pytest.fixture
def hud() -> Iterator[Hud]:
    with Hud.in_memory() as made:
        made.session("s").append(TaskSet("Go on"))
        yield made


@pytest.fixture
def served(hud: Hud) -> Iterator[ServedInspector]:
    made = ServedInspector(hud)
    yield made
    made.close()


def open_stream(served: ServedInspector, path: str) -> http.client.HTTPResponse:
    visitor = PageVisitor(served)
    visitor.enter()
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    cookie = f"{cookie_name(served.port)}={visitor.cookie}"
    connection.request("GET", path, headers={"host": f"127.0.0.1:{served.port}", "cookie": cookie})
    response = connection.getresponse()
    assert response.status == 200 and response.headers["content-type"].startswith("text/event-stream")
    return response


def next_news(stream: http.client.HTTPResponse) -> int:
    while not (line := stream.readline()).startswith(b"data:"):
        assert line, "the stream ended"
    return int(line.removeprefix(b"data:"))


def test_a_page_is_told_when_its_session_went_on(hud: Hud, served: ServedInspector) -> None:
    stream = open_stream(served, "/live?id=s&seq=1")
    hud.session("other").append(NoteAdd("of no interest"))
    hud.session("s").append(NoteAdd("news"))
    assert next_news(stream) == 2


def test_a_page_that_is_behind_is_told_at_once(hud: Hud, served: ServedInspector) -> None:
    hud.session("s").append(NoteAdd("one"), NoteAdd("two"))
    assert next_news(open_stream(served, "/live?id=s&seq=1")) == 3


def test_the_list_is_told_of_every_session(hud: Hud, served: ServedInspector) -> None:
    stream = open_stream(served, "/live?seq=1")
    hud.session("new").append(NoteAdd("hello"))
    assert next_news(stream) == 2


def test_a_wrong_place_is_refused(served: ServedInspector) -> None:
    visitor = PageVisitor(served)
    visitor.enter()
    assert visitor.get("/live?seq=x").status == 400
