"""What stands before the page: nothing without a session, for other sites, or by anything but a form (B1-B7, F10)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from page_process import TOKEN, Served, Visitor

from hudkit.errors import ConfigError
from hudkit.rooms.page.page_context import PageContext
from hudkit.rooms.page.server import MAX_FORM
from hudkit.web.http_listener import listen_tcp
from hudkit.web.page_guard import loopback_address

pytestmark = pytest.mark.slow

PATHS = (
    "/",
    "/?room=1",
    "/live",
    "/do/pause",
    "/logout",
    "/static/page.js",
    "/static/vendor/htmx-4.0.1.min.js",
    "/static/../app.py",
    "/openapi.json",
    "/nowhere",
)


@pytest.fixture
def served(harness: Any) -> Iterator[Served]:
    made = Served(PageContext(harness.world_log))
    yield made
    made.close()


@pytest.fixture
def visitor(served: Served) -> Visitor:
    made = Visitor(served)
    made.login()
    made.get()
    return made


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "HEAD", "PUT"])
def test_nothing_is_told_without_a_session(served: Served, method: str) -> None:
    for path in PATHS:
        answer = Visitor(served).ask(method, path)
        assert answer.status == 401, path
        assert not re.search(r"Ann|Bob|test|0\.1|/work|hudkit/", answer.text), path
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_style_of_the_login_is_all_that_strangers_get(served: Served) -> None:
    stranger = Visitor(served)
    assert stranger.get("/login").status == 200
    for style in ("base.css", "page.css"):
        assert stranger.get(f"/static/{style}").status == 200
    assert stranger.ask("POST", "/static/page.css").status == 401


def test_a_wrong_token_and_a_made_up_cookie_open_nothing(served: Served) -> None:
    stranger = Visitor(served)
    for token in ("", "x", TOKEN[:-1], TOKEN + "0", "é" * 40):
        answer = stranger.login(token)
        assert answer.status == 401 and not answer.cookies
    stranger.cookie = "0" * 43
    assert stranger.get().status == 401
    assert stranger.get(f"/?token={TOKEN}").status == 401
    assert stranger.get("/", authorization=f"Bearer {TOKEN}").status == 401


def test_the_cookie_is_strict_and_new_at_each_login_and_the_old_one_ends(served: Served) -> None:
    visitor = Visitor(served)
    made = visitor.login()
    assert made.status == 303 and made.headers["location"] == "/"
    assert re.search("httponly", made.cookies[0], re.I) and re.search("samesite=strict", made.cookies[0], re.I)
    first = visitor.cookie
    visitor.login()
    assert visitor.cookie != first and visitor.get().status == 200
    visitor.cookie = first
    assert visitor.get().status == 401


def test_a_session_that_was_there_before_the_login_is_not_taken_over(served: Served) -> None:
    visitor = Visitor(served)
    visitor.cookie = "fixed-by-somebody-else"
    visitor.login()
    assert visitor.cookie != "fixed-by-somebody-else"


def test_logging_out_ends_the_session(visitor: Visitor) -> None:
    before = visitor.cookie
    assert visitor.post("/logout", {"csrf": "wrong"}).status == 403
    assert visitor.post("/logout", {"csrf": visitor.csrf}).status == 303
    visitor.cookie = before
    assert visitor.get().status == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "http://127.0.0.1"])
def test_another_origin_does_nothing(visitor: Visitor, harness: Any, origin: str) -> None:
    before = harness.world.seq
    answer = visitor.post("/do/pause", {"csrf": visitor.csrf}, origin=origin)
    assert answer.status == 403 and harness.world.seq == before
    assert visitor.get("/live", origin=origin).status == 403
    assert visitor.post("/login", {"token": TOKEN}, origin=origin).status == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", ""])
def test_another_host_is_refused(visitor: Visitor, host: str) -> None:
    assert visitor.get("/", host=host.format(port=visitor.served.port)).status in (400, 421)


def test_a_socket_is_opened_for_nobody(visitor: Visitor) -> None:
    headers = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec_websocket_version": "13",
        "sec_websocket_key": "x" * 24,
    }
    assert visitor.get("/live", origin="https://evil.example", **headers).status == 403
    assert visitor.get("/", **headers).status == 200, "no 101: it is a page, and no socket"


def test_what_a_browser_says_of_a_foreign_page_is_heard(visitor: Visitor) -> None:
    for said in ("cross-site", "same-site"):
        assert visitor.get("/", sec_fetch_site=said).status == 403
    assert visitor.get("/", sec_fetch_site="same-origin").status == 200


def test_only_forms_with_the_sessions_token_do_anything(visitor: Visitor, harness: Any) -> None:
    before = harness.world.seq
    for csrf in ("", "x", visitor.csrf[:-1], "ö"):
        assert visitor.post("/do/pause", {"csrf": csrf}).status == 403
    body = f"csrf={visitor.csrf}"
    for kind in ("text/plain", "application/json", "multipart/form-data; boundary=x", ""):
        assert visitor.ask("POST", "/do/pause", body, content_type=kind).status == 415
    for method in ("GET", "HEAD", "PUT", "DELETE"):
        assert visitor.ask(method, f"/do/pause?csrf={visitor.csrf}").status == 405
    assert harness.world.seq == before
    assert visitor.post("/do/pause", {"csrf": visitor.csrf}).status == 303
    assert harness.world.paused is not None


def test_the_token_of_another_session_is_no_use(visitor: Visitor, served: Served) -> None:
    other = Visitor(served)
    other.login()
    other.get()
    assert other.post("/do/pause", {"csrf": visitor.csrf}).status == 403


def test_a_long_form_is_refused(visitor: Visitor) -> None:
    answer = visitor.post("/do/say", {"csrf": visitor.csrf, "room": 1, "text": "x" * MAX_FORM})
    assert answer.status == 413
    form = {"content_type": "application/x-www-form-urlencoded"}
    assert visitor.ask("POST", "/do/say", f"csrf={visitor.csrf}", content_length="-1", **form).status in (400, 413)
    unsaid = visitor.ask("POST", "/do/say", iter([b"csrf="]), **form)
    assert unsaid.status == 413


def test_every_answer_says_what_a_page_may_do(visitor: Visitor, served: Served) -> None:
    answers = [visitor.get(path) for path in ("/", "/nowhere", "/static/page.js", "/?at=x", "/?at=99999")]
    answers += [Visitor(served).get("/"), visitor.post("/do/pause", {})]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "server" not in answer.headers
    assert [answer.status for answer in answers] == [200, 404, 200, 404, 404, 401, 403]


def test_the_token_is_in_no_page_and_no_log(
    visitor: Visitor, harness: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    pages = visitor.get("/").text + visitor.get("/login").text + visitor.get("/nowhere").text
    out, err = capfd.readouterr()
    told = "".join(str(what) for _, what in harness.world_log.events())
    assert TOKEN not in pages + out + err + told
    assert visitor.cookie not in pages + out + err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_a_port_for_other_machines_is_refused(host: str) -> None:
    with pytest.raises(ConfigError):
        loopback_address(host)


def test_a_port_that_is_taken_says_so(served: Served) -> None:
    with pytest.raises(ConfigError, match=str(served.port)):
        listen_tcp("127.0.0.1", served.port)
