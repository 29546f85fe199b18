"""The daemon's answers without a socket: what a plugin asks, as JSON and back."""

from __future__ import annotations

from typing import Any

import msgspec

from hudkit.daemon.handlers import RequestHandlers


def post(answering: RequestHandlers, path: str, **body: Any) -> dict[str, Any]:
    asked = {"host": "opencode", "session": "ses_1", "directory": "/tmp", **body}
    status, said = answering.answer(path, msgspec.json.encode(asked))
    assert status == 200, said
    return dict(msgspec.json.decode(said))


def frame(answering: RequestHandlers, *transcript: dict[str, Any], **more: Any) -> dict[str, Any]:
    return post(answering, "/v1/frame", transcript=transcript, **more)
