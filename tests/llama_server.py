"""A server on loopback that behaves as llama.cpp's where a model's template and window are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from chat_templates import ChatTemplate, Refused

PLAIN = """{% for message in messages %}<|{{ message.role }}|>{{ message.content }}
{% endfor %}"""
"""Every message arrives."""

ONE_SYSTEM_MESSAGE = """{% if messages[0].role == 'system' %}<|system|>{{ messages[0].content }}
{% endif %}{% for message in messages if message.role != 'system' %}<|{{ message.role }}|>{{ message.content }}
{% endfor %}"""
"""A second system message is dropped without a word, as by gpt-oss."""

STRICT = """{% for message in messages %}{% if message.role == 'system' and not loop.first %}\
{{ raise_exception('System message must be at the beginning.') }}{% endif %}\
<|{{ message.role }}|>{{ message.content }}
{% endfor %}"""
"""A second system message is refused, as by Qwen3.5."""

TOOLS_OR_SYSTEM = """{% if tools %}<|system|>Tools: {{ tools | tojson }}
{% elif messages[0].role == 'system' %}<|system|>{{ messages[0].content }}
{% endif %}{% for message in messages if message.role != 'system' %}<|{{ message.role }}|>{{ message.content }}
{% endfor %}"""
"""With tools the system message is dropped."""

NO_TOOLS = """{% for message in messages %}{% if message.role == 'tool' %}{{ raise_exception('Unknown role: tool') }}\
{% endif %}<|{{ message.role }}|>{{ message.content }}
{% endfor %}"""
"""Results of tools are refused."""


@contextmanager
def llama_server(template: str, n_ctx: int = 8192, *, routes: bool = True, key: str = "") -> Iterator[str]:
    """Its address, with `/v1`; without `routes` it is a server of another make, with a `key` it asks for that one."""
    chat = ChatTemplate(template)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            settings = {"id": 0, "n_ctx": n_ctx}
            self.answer(200, {"default_generation_settings": settings, "total_slots": 1}, "/props")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            try:
                status, answer = 200, {"prompt": chat.prompt(body)}
            except Refused as error:
                status, answer = 500, {"error": {"code": 500, "message": str(error), "type": "server_error"}}
            self.answer(status, answer, "/apply-template")

        def answer(self, status: int, answer: Any, route: str) -> None:
            if key and self.headers.get("authorization") != f"Bearer {key}":
                status, answer = 401, {"error": {"code": 401, "message": "Invalid API Key"}}
            elif not routes or self.path != route:
                status, answer = 404, {"error": {"code": 404, "message": "File Not Found"}}
            raw = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
