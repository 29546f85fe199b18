"""The scripted model over HTTP: what it does to a connection."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

from hudkit.models.scripted_answers import Refusal, says
from hudkit.testing.model_server import ScriptedModel

ASK = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello."}]})


def test_a_refusal_says_that_it_closes_the_connection() -> None:
    with ScriptedModel([Refusal(429), says("Hello.")]) as model:
        connection = http.client.HTTPConnection(urlsplit(model.url).netloc)
        for status, closed in ((429, "close"), (200, None)):
            connection.request("POST", "/v1/chat/completions", ASK, {"content-type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert (answer.status, answer.getheader("connection")) == (status, closed)
        connection.close()


def test_a_summary_that_claude_code_asks_for_uses_no_line_of_the_script() -> None:
    """Its system text is that of every call; how the last text of the user begins tells it."""
    ask = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."
    said = [[{"role": "user", "content": text}] for text in (ask, f"Say: {ask}")]
    with ScriptedModel([says("Hello.")]) as model:
        connection = http.client.HTTPConnection(urlsplit(model.url).netloc)
        for messages in said:
            body = json.dumps({"model": "m", "max_tokens": 9, "messages": messages})
            connection.request("POST", "/v1/messages", body, {"content-type": "application/json"})
            connection.getresponse().read()
        connection.close()
        assert [request.kind for request in model.requests] == ["compaction", "chat"]
