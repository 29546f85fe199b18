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
