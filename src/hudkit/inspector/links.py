"""Addresses of the inspector's pages: everything that a page shows is said by its address."""

from __future__ import annotations

from urllib.parse import urlencode


def page_link(path: str, **values: object) -> str:
    """Return the address of a page with these values; empty ones are left out."""
    filled = {name: str(value) for name, value in values.items() if value not in (None, "", 0, False)}
    return f"{path}?{urlencode(filled)}" if filled else path


def session_link(key: str, **values: object) -> str:
    """Return the address of a session's page."""
    return page_link("/session", id=key, **values)


def call_link(key: str, seq: int | None = None, **values: object) -> str:
    """Return the address of the page of a call, by its event; without one, of the newest call as it goes on."""
    return page_link("/call", id=key, at=seq, **values)


def diff_link(key: str, before: int, after: int, **values: object) -> str:
    """Return the address of the comparison of two events' frames or states."""
    return page_link("/diff", id=key, a=before, b=after, **values)


def compaction_link(key: str, number: int = 0) -> str:
    """Return the address of a compaction's receipt; without a number, of all of the session."""
    return page_link("/compactions", id=key, n=number)
