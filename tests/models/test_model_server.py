"""The scripted model over HTTP: what it does to a connection."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

from hudkit.models.scripted_answers import Refusal, ScriptedCall, says, uses
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


def test_responses_are_streamed_with_the_namespace_and_the_kind_of_each_tool() -> None:
    """As Codex reads them: tools of an MCP server stand in a namespace, free ones take a text."""
    script = uses(ScriptedCall("hud", {"operation": "help"}), ScriptedCall("exec", "text(1)"), text="I look.")
    tools = [{"type": "namespace", "name": "mcp__hudkit", "tools": [{"type": "function", "name": "hud"}]}]
    asked = [
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "exec"}]},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello."}]},
        {"type": "function_call", "name": "hud", "namespace": "mcp__hudkit", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "done"}]},
    ]
    with ScriptedModel([script]) as model:
        connection = http.client.HTTPConnection(urlsplit(model.url).netloc)
        body = json.dumps({"model": "m", "stream": True, "tools": tools, "input": asked})
        connection.request("POST", "/v1/responses", body, {"content-type": "application/json"})
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        (request,) = model.chats
    assert request.tools == ("hud", "exec") and request.system == ("Be brief.",)
    assert request.messages[1:] == [("user", "Hello."), ("assistant", "hud {} #c1"), ("tool", "done")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert [event["type"] for event in events][:1] == ["response.created"]
    message, hud, free = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert message["content"][0]["text"] == "I look."
    assert (hud["type"], hud["namespace"], hud["arguments"]) == (
        "function_call",
        "mcp__hudkit",
        '{"operation":"help"}',
    )
    assert (free["type"], free["input"]) == ("custom_tool_call", "text(1)") and "namespace" not in free
    assert events[-1]["response"]["usage"]["input_tokens"] == request.cost.total


def test_a_summary_that_codex_asks_for_uses_no_line_of_the_script() -> None:
    ask = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary."
    with ScriptedModel([says("Hello.")]) as model:
        connection = http.client.HTTPConnection(urlsplit(model.url).netloc)
        body = json.dumps({"model": "m", "input": [{"role": "user", "content": ask}]})
        connection.request("POST", "/v1/responses", body, {"content-type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        assert [request.kind for request in model.requests] == ["compaction"] and model.left == 1
    assert answer["status"] == "completed"
