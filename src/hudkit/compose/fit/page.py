"""A trace as one HTML page: a slider over the budgets, what is in and what is not, and the text as it would be sent.

The page holds every fit that differs as data, and loads nothing. What a tree says is set as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from hudkit.compose.fit.page_parts import PAGE
from hudkit.compose.fit.trace import Entry, Trace
from hudkit.compose.nodes import Element

LONGEST = 2000
"""Characters of one node that are shown."""

ROOM = 4_000_000
"""Characters of written texts that a page may hold; beyond, it shows the nodes alone."""


def page(trace: Trace, write: Callable[[Element], str] | None = None, *, title: str = "Prompt fit") -> str:
    """The page of a trace; with `write`, the text of each fit is on it too."""
    states = trace.states() or (trace,)
    nodes = [_node(entry) for entry in states[-1].entries]
    said: list[dict[str, Any]] = []
    room = ROOM
    for state in states:
        one: dict[str, Any] = {"b": state.budget, "n": state.fitted.tokens, "r": state.fitted.reserved}
        one["s"] = "".join(_mark(entry) for entry in state.entries)
        one["v"] = {str(n): _variant(entry) for n, entry in enumerate(state.entries) if _varies(entry)}
        one["w"] = {str(n): entry.reason for n, entry in enumerate(state.entries) if _worth_saying(entry)}
        if write is not None and room > 0:
            one["t"] = write(state.fitted.tree)
            room -= len(one["t"])
        said.append(one)
    data = {"title": title, "budget": trace.budget, "nodes": nodes, "states": said}
    return PAGE.replace("{{title}}", _escaped(title)).replace("{{data}}", _data(data))


def _node(entry: Entry) -> dict[str, Any]:
    return {
        "l": entry.path,
        "d": entry.depth,
        "k": entry.kind,
        "c": entry.tokens,
        "p": entry.priority,
        "t": entry.text[:LONGEST],
    }


def _mark(entry: Entry) -> str:
    """`1` in, `2` in part, `0` left out."""
    return ("2" if entry.reason else "1") if entry.kept else "0"


def _varies(entry: Entry) -> bool:
    return entry.kept and entry.kind in ("choice", "flexible", "grow")


def _variant(entry: Entry) -> list[str]:
    return [entry.density, entry.text[:LONGEST]]


def _worth_saying(entry: Entry) -> bool:
    """The usual reason, that there was no room, is said by the page itself."""
    return bool(entry.reason) and "more important nodes left less" not in entry.reason


def _data(data: object) -> str:
    """JSON that cannot end its script element, whatever is in it."""
    text = msgspec.json.encode(data).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
