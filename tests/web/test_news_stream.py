"""The streams that tell pages of news, on their own: what is sent, how many may be open, when they end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from hudkit.web.news_stream import NewsStreams


def live(query: str) -> Request:
    return Request({"type": "http", "method": "GET", "path": "/live", "query_string": query.encode(), "headers": []})


def lines(answer: Any) -> AsyncIterator[str]:
    body: AsyncIterator[str] = answer.body_iterator
    return body


def test_a_stream_tells_of_every_new_number_until_it_may_not_go_on() -> None:
    numbers = [4, 4, 6]

    async def progress() -> int:
        return numbers.pop(0)

    async def read() -> list[str]:
        streams = NewsStreams(1, "news", 2_000, lambda: False)
        answer = streams.answer(live("seq=3"), progress, pause=0, may_go_on=lambda: bool(numbers))
        return [line async for line in lines(answer)]

    assert anyio.run(read) == ["retry: 2000\n\n", "event: news\ndata: 4\n\n", "event: news\ndata: 6\n\n"]


@pytest.mark.parametrize("query", ["seq=x", "seq=-1", "seq=1234567890123456789"])
def test_a_number_that_is_none_is_refused(query: str) -> None:
    async def progress() -> int:
        return 0

    with pytest.raises(HTTPException) as refused:
        NewsStreams(1, "news", 2_000, lambda: False).answer(live(query), progress, pause=0)
    assert refused.value.status_code == 400


def test_a_stream_too_many_is_refused_until_one_ends() -> None:
    async def progress() -> int:
        return 0

    async def open_twice() -> None:
        streams = NewsStreams(1, "news", 2_000, lambda: False)
        first = lines(streams.answer(live(""), progress, pause=0))
        await anext(first)
        with pytest.raises(HTTPException) as refused:
            streams.answer(live(""), progress, pause=0)
        assert refused.value.status_code == 503
        await first.aclose()  # type: ignore[attr-defined]
        streams.answer(live(""), progress, pause=0)

    anyio.run(open_twice)
