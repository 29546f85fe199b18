"""A bar on the error stream that says how far long work is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from hudkit.compose import visible

Progress: TypeAlias = Callable[[int, int, str], None]
"""Is told what is done, of how much, and at what the work is."""


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A bar where the error stream is a terminal, else `None`; it is gone when the work is done."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def show(done: int, total: int, title: str) -> None:
            bar.update(task, completed=done, total=total, description=visible(title[:40]))

        yield show
