"""Instructions from the network: fetched once a session, from hosts that the user allows, within bounds.

What was fetched, or why it was not, stays for the session: a system prompt that changed from epoch to epoch with
somebody's server would say other things than before, and would be in no cache.
"""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import Collection, Iterable
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.parse import urlsplit

from hudkit.agent.context_files import MAX_FILE_BYTES, ContextFile, remote_file
from hudkit.agent.wildcard import matches_wildcard
from hudkit.compose import shorten, visible

_SECONDS = 5.0
"""How long one may take: a session waits for it when it is opened."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_AGENT = "hudkit"


def is_url(pattern: str) -> bool:
    """Return whether an entry of `session.instructions` is an address, not a pattern of files."""
    return "://" in pattern


class RemoteInstructions:
    """What was fetched in this session, by address: a file, or the reason why there is none."""

    def __init__(self) -> None:
        self.files: dict[str, ContextFile | str] = {}

    async def fetch(self, patterns: Iterable[str], hosts: Collection[str]) -> None:
        """Fetch what was not asked for yet of these addresses, all at once; return nothing. Never raises.

        `hosts` are patterns of the hosts that may be asked.
        """
        new = [url for url in dict.fromkeys(patterns) if is_url(url) and url not in self.files]
        answers = await asyncio.gather(*(_fetched(url, hosts) for url in new))
        self.files.update(zip(new, answers, strict=True))


async def _fetched(url: str, hosts: Collection[str]) -> ContextFile | str:
    if problem := _refusal(url, hosts):
        return problem
    try:
        # the thread ends by its own clock: what it waits for is bounded, too
        return await asyncio.wait_for(asyncio.to_thread(_read, url, hosts), _SECONDS + 1)
    except TimeoutError:
        return f"it did not come within {_SECONDS:g} s"
    except (OSError, ValueError, HTTPException) as error:
        return f"it could not be fetched: {shorten(visible(str(error)), 120)}"


def _refusal(url: str, hosts: Collection[str]) -> str:
    """Return why an address is not asked; empty where it may be."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
        return "only https is fetched"
    if not any(matches_wildcard(pattern.lower(), host) for pattern in hosts):
        return f"nothing is fetched from {visible(host)}: session.instruction_hosts does not name it"
    return ""


class _AllowedRedirects(urllib.request.HTTPRedirectHandler):
    """Follows an answer that leads elsewhere only to where the user would let it go."""

    def __init__(self, hosts: Collection[str]) -> None:
        self._hosts = hosts

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        """Return the request for the other address. Raises `ValueError` where that may not be asked."""
        if problem := _refusal(newurl, self._hosts):
            raise ValueError(f"it leads elsewhere, and {problem}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _read(url: str, hosts: Collection[str]) -> ContextFile:
    end = time.monotonic() + _SECONDS
    opener = urllib.request.build_opener(_AllowedRedirects(hosts))
    asked = urllib.request.Request(url, headers={"User-Agent": _AGENT, "Accept": "text/*"})
    raw = b""
    with opener.open(asked, timeout=_SECONDS) as answer:
        kind = answer.headers.get_content_type()
        while len(raw) <= MAX_FILE_BYTES and (piece := answer.read1(MAX_FILE_BYTES + 1 - len(raw))):
            raw += piece
            if time.monotonic() > end:
                raise ValueError(f"it did not come within {_SECONDS:g} s")
    if not (kind.startswith("text/") or kind == "application/octet-stream"):
        raise ValueError(f"it is {kind}, not text")
    return remote_file(url, raw)
