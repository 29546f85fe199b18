"""What the tests of the page over plain HTTP start from: a served stage, and somebody who is logged in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from page_process import Served, Visitor

from hudkit.rooms.page.page_context import PageContext


@pytest.fixture
def open_page() -> Iterator[Callable[..., Visitor]]:
    served: list[Served] = []

    def visit(harness: Any, **given: Any) -> Visitor:
        served.append(Served(PageContext(harness.world_log, **given)))
        visitor = Visitor(served[-1])
        visitor.login()
        visitor.get()
        return visitor

    yield visit
    for one in served:
        one.close()


@pytest.fixture
def visitor(harness: Any, open_page: Callable[..., Visitor]) -> Visitor:
    return open_page(harness)
