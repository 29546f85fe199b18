"""A page that is really served, in a thread of its own, and a visitor who speaks plain HTTP to it."""

from __future__ import annotations

import asyncio
import http.client
import re
import threading
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any, TypeVar
from urllib.parse import urlencode

from hudkit.rooms.page.page_context import PageContext
from hudkit.rooms.page.served_worlds import WorldDirectory
from hudkit.rooms.page.server import cookie_name, serve_page

TOKEN = "a-token-that-nobody-guesses-0123456789"

V = TypeVar("V")


class Served:
    """The page of a context; `port` is its."""

    def __init__(self, context: PageContext, directory: WorldDirectory | None = None) -> None:
        self.context = context
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        ready = threading.Event()
        self.url = self.link = ""

        def say(url: str) -> None:
            self.url = url

        def say_link(link: str) -> None:
            self.link = link
            ready.set()

        async def serve() -> None:
            await serve_page(context, TOKEN, directory=directory, end=self._end.wait(), say=say, say_link=say_link)

        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(serve()), daemon=True)
        self._thread.start()
        assert ready.wait(20)
        self.port = int(self.url.rpartition(":")[2].strip("/"))

    def do(self, act: Callable[[], V]) -> V:
        """Run something in the thread that owns the world."""

        async def call() -> V:
            return act()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(20)

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(20)
            self._loop.close()


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.cookies = [value for name, value in response.getheaders() if name.lower() == "set-cookie"]
        self.text = response.read().decode()


class Visitor:
    """One browser's worth of cookies."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.cookie = ""
        self.csrf = ""

    def ask(self, method: str, path: str, body: str | Iterator[bytes] | None = None, **headers: str) -> Answer:
        given = {"host": f"127.0.0.1:{self.served.port}"}
        if self.cookie:
            given["cookie"] = f"{cookie_name(self.served.port)}={self.cookie}"
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=20)
        try:
            connection.request(method, path, body, given)
            answer = Answer(connection.getresponse())
        finally:
            connection.close()
        for one in answer.cookies:
            name, _, value = one.partition(";")[0].partition("=")
            if name == cookie_name(self.served.port):
                self.cookie = value.strip('"')
        return answer

    def get(self, path: str = "/", **headers: str) -> Answer:
        answer = self.ask("GET", path, **headers)
        if found := re.search(r'name="csrf" value="([^"]+)"', answer.text):
            self.csrf = found[1]
        return answer

    def post(self, path: str, fields: dict[str, Any], **headers: str) -> Answer:
        form = {"content_type": "application/x-www-form-urlencoded", **headers}
        return self.ask("POST", path, urlencode(fields), **form)

    def login(self, token: str = TOKEN) -> Answer:
        return self.post("/login", {"token": token})

    def do(self, action: str, **fields: Any) -> Answer:
        """Send a form, and look at the page that follows."""
        look = fields.pop("look", "")
        answer = self.post(f"/do/{action}", {"csrf": self.csrf, "look": look, **fields})
        assert answer.status == 303, (answer.status, answer.text)
        return self.get(answer.headers["location"])


class Outline(HTMLParser):
    """What a page is made of, without its words: tags with the names of their attributes; and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.values: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.values += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def words_of(answer: Answer) -> str:
    """The words of a page as a person reads them."""
    return "".join(Outline(answer.text).words)
