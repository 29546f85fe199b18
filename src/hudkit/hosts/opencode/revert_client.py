"""Asks a running OpenCode to take a compaction back; its database is never written by us."""

from __future__ import annotations

import base64
import json
import os
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote, urlsplit

from hudkit.errors import HostError
from hudkit.hosts.opencode import DEFAULT_SERVER

_TIMEOUT_S = 30.0

# No proxy: the server is on this machine as a rule, and a password may go with the request.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def revert_session(server: str, session: str, message: str) -> None:
    """Hide a user's message of a session and all after it; the next prompt drops them, `unrevert` shows them again.
    OpenCode also puts the files back that were changed since. Raises `HostError`."""
    answer = _ask(server, "POST", f"/session/{quote(session, safe='')}/revert", {"messageID": message})
    if not isinstance(answer, dict) or not isinstance(answer.get("revert"), dict):
        raise HostError(
            "OpenCode did not take the message back", hint="Is the session busy? Try again when it is idle"
        )


def fork_session(server: str, session: str, message: str) -> str:
    """Return the id of a copy of a session with what came before a message; nothing else changes.

    Raises `HostError`.
    """
    answer = _ask(server, "POST", f"/session/{quote(session, safe='')}/fork", {"messageID": message})
    if not isinstance(answer, dict) or not isinstance(answer.get("id"), str):
        raise HostError("OpenCode did not make a copy of the session")
    return str(answer["id"])


def check_session(server: str, session: str) -> None:
    """Check that an OpenCode answers at an address and has the session. Raises `HostError` otherwise."""
    answer = _ask(server, "GET", f"/session/{quote(session, safe='')}", None)
    if not isinstance(answer, dict) or answer.get("id") != session:
        raise HostError(f"what answers at {server} does not have this session")


def _ask(server: str, method: str, path: str, body: object) -> Any:
    try:
        parts = urlsplit(server)
        sound = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        sound = False
    if not sound:
        raise HostError(f"{server!r:.80} is not the address of a server", hint=f"It is like {DEFAULT_SERVER}")
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(server.rstrip("/") + path, data, _headers(), method=method)
    try:
        with _DIRECT.open(asked, timeout=_TIMEOUT_S) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        if error.code == 401:
            hint = "Set OPENCODE_SERVER_PASSWORD to the server's password"
            raise HostError(f"OpenCode at {server} asks for a password", hint=hint) from None
        raise HostError(
            f"OpenCode at {server} answered {error.code}", hint="Is the session one of this server's?"
        ) from None
    except (OSError, ValueError) as error:
        why = str(getattr(error, "reason", error))[:120]
        hint = "Start `opencode serve` in the project, and give its address with --server"
        raise HostError(f"no OpenCode answers at {server}: {why}", hint=hint) from None


def _headers() -> dict[str, str]:
    headers = {"content-type": "application/json"}
    password = os.environ.get("OPENCODE_SERVER_PASSWORD")
    if password:
        pair = f"{os.environ.get('OPENCODE_SERVER_USERNAME') or 'opencode'}:{password}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return headers
