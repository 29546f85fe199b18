"""A model's server on this machine, asked what llama.cpp's server tells: its window, and the prompt of a request.

Servers of another make have no such routes, and are left alone.
"""

from __future__ import annotations

import http.client
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from hudkit.models.model_errors import RequestRejected

_MAX_ANSWER_BYTES = 8 * 1024 * 1024
_ABSENT = frozenset({401, 403, 404, 405, 501, 503})
"""Statuses that say nothing of a request: no such route, no leave to use it, a model that is still being loaded."""


class LocalServer:
    """A server that listens at `base_url` (with or without its `/v1`), if that is on this machine.

    Nobody else is asked: who is far away gets no request that its user does not know of. `seconds` is the longest
    that one question may take; no proxy is used, and no redirection followed.
    """

    def __init__(self, base_url: str, *, key: str = "", seconds: float = 1.0) -> None:
        try:
            parts = urlsplit(base_url)
        except ValueError:
            parts = urlsplit("")
        self.root = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1')}"
        """The address below which llama.cpp has its own routes."""
        self._key = key
        self._seconds = seconds
        self._is_local = parts.scheme in ("http", "https") and _is_loopback(parts.hostname or "")

    @property
    def is_local(self) -> bool:
        """Return whether the address is on this machine."""
        return self._is_local

    def window(self) -> int | None:
        """Return how many tokens one conversation may have (`n_ctx`); `None` where the server does not say."""
        status, answer = self._ask("GET", "/props", None)
        settings = answer.get("default_generation_settings")
        tokens = settings.get("n_ctx") if status == 200 and isinstance(settings, dict) else None
        return tokens if isinstance(tokens, int) and tokens > 0 else None

    def prompt(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> str | None:
        """Return the prompt that the server's chat template makes of a request; `None` where it cannot be asked.

        Raises `RequestRejected` with the server's words where the template refuses the request.
        """
        request = {"messages": messages, **({"tools": tools} if tools else {})}
        status, answer = self._ask("POST", "/apply-template", request)
        if status == 200:
            prompt = answer.get("prompt")
            return prompt if isinstance(prompt, str) else None
        error = answer.get("error")
        if status is None or status in _ABSENT or not isinstance(error, dict):
            return None
        raise RequestRejected(" ".join(str(error.get("message") or f"status {status}").split())[:300])

    def _ask(self, method: str, route: str, body: object) -> tuple[int | None, dict[str, Any]]:
        """Return the status and the object of an answer; no status where there is no answer."""
        if not self.is_local:
            return None, {}
        parts = urlsplit(self.root)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        headers = {
            "content-type": "application/json",
            **({"authorization": f"Bearer {self._key}"} if self._key else {}),
        }
        try:
            connection = kind(parts.hostname or "", parts.port, timeout=self._seconds)
            try:
                connection.request(
                    method, parts.path + route, None if body is None else msgspec.json.encode(body), headers
                )
                response = connection.getresponse()
                raw = response.read(_MAX_ANSWER_BYTES)
            finally:
                connection.close()
        except (OSError, ValueError, http.client.HTTPException):
            return None, {}
        try:
            answer = msgspec.json.decode(raw)
        except msgspec.DecodeError:
            answer = None
        return response.status, answer if isinstance(answer, dict) else {}


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
