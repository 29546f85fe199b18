"""A server that speaks OpenAI's responses, as Codex needs it: each request is answered by a function."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

Items = list[dict[str, Any]]


class ResponsesServer:
    """Listens on a free port; `answer` gives the output items for the body of a request."""

    def __init__(self, answer: Callable[[dict[str, Any]], Items]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answer = answer
        self._sent: list[str] = []
        self._ids = count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def provider(self) -> str:
        """The lines of Codex's configuration that name this server."""
        table = (
            f'[model_providers.x]\nname = "x"\nbase_url = "{self.url}"\nwire_api = "responses"\nenv_key = "XKEY"\n'
        )
        return f'model_provider = "x"\n{table}'

    def next_id(self) -> int:
        """A number that was not given before."""
        return next(self._ids)

    def says(self, text: str) -> dict[str, Any]:
        """Words of the model."""
        content = [{"type": "output_text", "text": text}]
        return {"type": "message", "id": f"msg_{self.next_id()}", "role": "assistant", "content": content}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._send(b'{"data": [], "models": []}', "application/json")

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                self._send(b"".join(server._events(json.loads(raw), len(raw) // 4)), "text/event-stream")

            def _send(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler

    def _cached(self, body: dict[str, Any]) -> int:
        """The tokens of a request that an earlier one began with too."""
        text = json.dumps([body.get("model"), body.get("tools"), body["input"]])
        shared = max((_shared(text, earlier) for earlier in self._sent), default=0)
        self._sent.append(text)
        return shared // 4 // 128 * 128

    def _events(self, body: dict[str, Any], tokens: int) -> Iterator[bytes]:
        self.requests.append(body)
        cached, items, name = self._cached(body), self._answer(body), f"resp_{self.next_id()}"
        usage = {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": min(cached, tokens)},
            "output_tokens": 30,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + 30,
        }
        events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": name}}]
        for index, item in enumerate(items):
            events += [
                {"type": f"response.output_item.{edge}", "output_index": index, "item": item}
                for edge in ("added", "done")
            ]
        events.append({"type": "response.completed", "response": {"id": name, "usage": usage}})
        for event in events:
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _shared(text: str, other: str) -> int:
    """How many characters two texts begin with both."""
    return next((n for n, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
