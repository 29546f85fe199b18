"""Messages as OpenCode hands them to a plugin, and what it makes of them for a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SESSION = "ses_1"
Message = dict[str, Any]


def user(n: int, text: str = "do it", *more: dict[str, Any]) -> Message:
    model = {"providerID": "fake", "modelID": "m"}
    info = {"id": f"msg_{n}", "sessionID": SESSION, "role": "user", "time": {"created": n}, "model": model}
    return {"info": info, "parts": [{"id": f"prt_{n}", "type": "text", "text": text}, *more]}


def assistant(n: int, *parts: dict[str, Any], **info: Any) -> Message:
    told = {"id": f"msg_{n}", "sessionID": SESSION, "role": "assistant", "time": {"created": n, "completed": n}}
    edges = [{"id": f"prt_{n}s", "type": "step-start"}], [{"id": f"prt_{n}f", "type": "step-finish"}]
    known = {"providerID": "fake", "modelID": "m"}
    return {"info": {**told, **known, **info}, "parts": [*edges[0], *parts, *edges[1]]}


def text(said: str) -> dict[str, Any]:
    return {"id": "prt_t", "type": "text", "text": said}


def tool(call: str, output: str = "done", **state: Any) -> dict[str, Any]:
    told = {"status": "completed", "input": {"command": "make"}, "output": output, "time": {"start": 1, "end": 2}}
    return {"id": f"prt_{call}", "type": "tool", "tool": "bash", "callID": call, "state": told | state}


def failed(call: str, error: str = "no such file", **state: Any) -> dict[str, Any]:
    return tool(call, status="error", error=error, **state)


def transform(*messages: Message) -> dict[str, Any]:
    return {"hook": "experimental.chat.messages.transform", "input": {}, "output": {"messages": list(messages)}}


def system(*said: str, session: str | None = SESSION, npm: str = "", name: str = "m") -> dict[str, Any]:
    api = {"id": name, "npm": npm or "@ai-sdk/openai-compatible", "url": ""}
    model = {"id": name, "providerID": "fake", "api": api, "limit": {"context": 40_000, "output": 4_000}}
    told = {"model": model} | ({"sessionID": session} if session else {})
    return {"hook": "experimental.chat.system.transform", "input": told, "output": {"system": list(said or ("You",))}}


def compacting() -> dict[str, Any]:
    return {
        "hook": "experimental.session.compacting",
        "input": {"sessionID": SESSION},
        "output": {"context": [], "prompt": None},
    }


def event(kind: str, **properties: Any) -> dict[str, Any]:
    return {"hook": "event", "input": {"event": {"type": kind, "properties": properties}}, "output": None}


def wait(ms: int) -> dict[str, Any]:
    """Some time, for timers, and then until every question of the plugin's is answered or given up."""
    return {"wait": ms}


def there(file: Path) -> dict[str, Any]:
    """Until there is such a file."""
    return {"there": str(file)}


def gone(file: Path) -> dict[str, Any]:
    """Until there is no such file."""
    return {"gone": str(file)}


def touch(file: Path) -> dict[str, Any]:
    return {"touch": str(file)}


def remove(file: Path) -> dict[str, Any]:
    return {"remove": str(file)}


def sent(messages: list[Message], *, tail: bool = True) -> str:
    """What reaches a model of messages, in order, as one text; without `tail`, but for the tail."""
    said = []
    for message in messages:
        said.append(f"<{message['info']['role']}>")
        for part in message["parts"]:
            if part["type"] == "text" and (tail or part["id"] != "prt_hudkit_tail"):
                said.append(part["text"])
            elif part["type"] == "tool":
                state = part["state"]
                said.append(state["output"] if state["status"] == "completed" else state["error"])
    return "\n".join(said)
