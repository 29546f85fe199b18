"""Streams of server-sent events that tell a page that what it shows went on: the page then loads itself anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

_KEEP_ALIVE_SECONDS = 15.0
"""Seconds without news after which a comment is sent, so that a lost connection is noticed."""


class NewsStreams:
    """The streams of a server's pages, `max_open` at a time, each until `is_ending` says that the server ends.

    `event` is the name of their events, `retry_ms` how long a browser waits before it connects again.
    """

    def __init__(self, max_open: int, event: str, retry_ms: int, is_ending: Callable[[], bool]) -> None:
        self._max_open = max_open
        self._event = event
        self._retry_ms = retry_ms
        self._is_ending = is_ending
        self._open = 0

    def answer(
        self,
        request: Request,
        progress: Callable[[], Awaitable[int]],
        *,
        pause: float,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> Response:
        """Return the stream of a page that shows event `seq` of its query: a line with the number whenever
        `progress` returns another one, which is asked every `pause` seconds while `may_go_on`.

        A page from before a restart is told at once. Raises `HTTPException`: 400 where `seq` is no number, 503 where
        too many streams are open.
        """
        seq = request.query_params.get("seq", "0")
        if not seq.isdecimal() or len(seq) > 18:
            raise HTTPException(400)
        if self._open >= self._max_open:
            raise HTTPException(503)
        return StreamingResponse(self._lines(int(seq), progress, pause, may_go_on), media_type="text/event-stream")

    async def _lines(
        self, shown: int, progress: Callable[[], Awaitable[int]], pause: float, may_go_on: Callable[[], bool]
    ) -> AsyncIterator[str]:
        self._open += 1
        try:
            silent_seconds = 0.0
            yield f"retry: {self._retry_ms}\n\n"
            while may_go_on() and not self._is_ending():
                seq = await progress()
                if seq != shown:
                    shown, silent_seconds = seq, 0.0
                    yield f"event: {self._event}\ndata: {seq}\n\n"
                elif silent_seconds >= _KEEP_ALIVE_SECONDS:
                    silent_seconds = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(pause)
                silent_seconds += pause
        finally:
            self._open -= 1
