"""Who comes in: once by the link, then by its cookie; nobody from another site, and nobody who wants to write."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest
from served_inspector import PageVisitor, ServedInspector

from hudkit.api import Hud
from hudkit.errors import ConfigError
from hudkit.inspector.inspected_log import InspectedLog
from hudkit.inspector.server import serve_inspector
from hudkit.log.payloads import TaskSet

pytestmark = pytest.mark.slow

PATHS = ("/", "/session?id=s", "/call?id=s", "/fit?id=s&budget=300", "/live", "/static/inspector.js", "/nowhere")


@pytest.fixture
def own(request: pytest.FixtureRequest) -> Iterator[ServedInspector]:
    """An inspector of its own, since a link works once."""
    with Hud.in_memory() as hud:
        hud.session("s").append(TaskSet("A secret plan"))
        made = ServedInspector(hud)
        yield made
        made.close()


def test_the_link_opens_the_pages_once_and_leaves_a_strict_cookie(own: ServedInspector) -> None:
    visitor = PageVisitor(own)
    answer = visitor.enter()
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert re.search("httponly", answer.headers["set-cookie"], re.I)
    assert re.search("samesite=strict", answer.headers["set-cookie"], re.I)
    assert "A secret plan" in visitor.get().words
    second = PageVisitor(own)
    again = second.enter()
    assert again.status == 401 and not second.cookie
    assert "used already" in again.words and "hudkit inspect" in again.words


def test_nothing_is_told_without_the_cookie(own: ServedInspector) -> None:
    for made_up in ("", "0" * 43):
        stranger = PageVisitor(own)
        stranger.cookie = made_up
        for path in PATHS:
            for method in ("GET", "POST", "HEAD", "PUT", "OPTIONS"):
                answer = stranger.ask(method, path)
                assert answer.status == 401, (method, path)
                assert "secret plan" not in answer.text
    assert stranger.get("/static/base.css").status == stranger.get("/static/inspector.css").status == 200
    PageVisitor(own).enter()
    assert stranger.get("/").status == 401


def test_a_wrong_token_does_not_use_up_the_link(own: ServedInspector) -> None:
    assert PageVisitor(own).get("/?once=wrong").status == 401
    assert PageVisitor(own).enter().status == 303


def test_another_host_or_site_gets_nothing(own: ServedInspector) -> None:
    visitor = PageVisitor(own)
    visitor.enter()
    assert visitor.get("/", host=f"evil.example:{own.port}").status == 421
    assert visitor.get("/", origin="https://evil.example").status == 403
    assert visitor.get("/", sec_fetch_site="cross-site").status == 403
    assert visitor.get("/", sec_fetch_site="same-origin").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_no_route_takes_anything(own: ServedInspector, method: str) -> None:
    visitor = PageVisitor(own)
    visitor.enter()
    for path in PATHS:
        if path != "/nowhere":
            assert visitor.ask(method, path).status in (405, 415), path


def test_every_answer_has_the_strict_policy(own: ServedInspector) -> None:
    visitor = PageVisitor(own)
    visitor.enter()
    for path in ("/", "/nowhere", "/static/inspector.js", "/session?id=nothing"):
        headers = visitor.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
    page = visitor.get("/").text
    assert not re.search(r"<script(?![^>]*src=)|\son[a-z]+=|style=|https?://", page)


def test_only_this_machine_can_reach_it() -> None:
    with Hud.in_memory() as hud, pytest.raises(ConfigError, match="other machines"):
        asyncio.run(serve_inspector(InspectedLog(hud), host="0.0.0.0"))
