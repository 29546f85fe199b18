"""An inspector that is really served, in a thread of its own, and a visitor who speaks plain HTTP to it."""

from __future__ import annotations

import asyncio
import http.client
import threading
from html.parser import HTMLParser
from urllib.parse import urlsplit

from hudkit.api import Hud
from hudkit.inspector.inspected_log import InspectedLog
from hudkit.inspector.server import cookie_name, serve_inspector
from hudkit.transcripts.search import PastSessions


class ServedInspector:
    """The pages of a log; `link` is the one-time link that was printed."""

    def __init__(self, hud: Hud, past: PastSessions | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self.inspected = InspectedLog(hud, past)
        self.link = ""
        ready = threading.Event()

        def say(link: str) -> None:
            self.link = link
            ready.set()

        async def serve() -> None:
            await serve_inspector(self.inspected, end=self._end.wait(), say=say)

        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(serve()), daemon=True)
        self._thread.start()
        assert ready.wait(20)
        self.url = self.link.partition("?")[0].rstrip("/")
        self.port = urlsplit(self.link).port or 0

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(20)
        self._loop.close()
        self.inspected.close()


class PageAnswer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode()

    @property
    def words(self) -> str:
        """The page as a person reads it, with single spaces."""
        return " ".join("".join(_Words(self.text).words).split())

    @property
    def links(self) -> list[str]:
        """Where the page's links lead."""
        return _Words(self.text).links


class _Words(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.words.append(" ")
        self.links += [value or "" for name, value in attrs if tag == "a" and name == "href"]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


class PageVisitor:
    """One browser's worth of cookies."""

    def __init__(self, served: ServedInspector) -> None:
        self.served = served
        self.cookie = ""

    def ask(self, method: str, path: str, **headers: str) -> PageAnswer:
        given = {"host": f"127.0.0.1:{self.served.port}"}
        if self.cookie:
            given["cookie"] = f"{cookie_name(self.served.port)}={self.cookie}"
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=20)
        try:
            connection.request(method, path, headers=given)
            answer = PageAnswer(connection.getresponse())
        finally:
            connection.close()
        name, _, value = answer.headers.get("set-cookie", "").partition(";")[0].partition("=")
        if name == cookie_name(self.served.port):
            self.cookie = value.strip('"')
        return answer

    def get(self, path: str = "/", **headers: str) -> PageAnswer:
        """Ask for a page, and again where it says that the log is still being read, as a browser does."""
        while (answer := self.ask("GET", path, **headers)).headers.get("refresh"):
            pass
        return answer

    def enter(self) -> PageAnswer:
        """Open the one-time link."""
        return self.get(self.served.link.removeprefix(self.served.url))
