"""Messages as the plugin sends them."""

from __future__ import annotations

from typing import Any

HERE = "/tmp"
AT = 1_795_187_733_000


def user(n: int, text: str = "Do it", **info: Any) -> dict[str, Any]:
    """A user's message as the plugin sends it, `n` seconds into the day."""
    at = AT + n * 1000
    about = {"id": f"msg_u{n}", "role": "user", "time": {"created": at}, "agent": "build", **info}
    return {"info": about, "parts": [{"id": f"prt_u{n}", "type": "text", "text": text}]}


def response(
    n: int, *tools: dict[str, Any], finish: str = "tool-calls", used: int = 0, **info: Any
) -> dict[str, Any]:
    at = AT + n * 1000
    about = {
        "id": f"msg_a{n}",
        "role": "assistant",
        "time": {"created": at, "completed": at + 900},
        "agent": "build",
        "modelID": "m",
        "finish": finish,
        "tokens": {"total": used or 1000 + n, "input": 10, "output": 5},
        **info,
    }
    return {"info": about, "parts": list(tools)}


def tool(call: str, name: str, given: dict[str, Any], **state: Any) -> dict[str, Any]:
    done = {"status": "completed", "input": given, "output": "x", "time": {"start": AT, "end": AT + 1}, **state}
    return {"id": f"prt_{call}", "type": "tool", "tool": name, "callID": call, "state": done}


def read(call: str, path: str) -> dict[str, Any]:
    return tool(call, "read", {"filePath": f"{HERE}/{path}"})


def bash(call: str, command: str, exit: int, output: str = "") -> dict[str, Any]:
    return tool(call, "bash", {"command": command}, output=output, metadata={"exit": exit})


def anchored(message: dict[str, Any]) -> dict[str, str]:
    """A message's place in a transcript."""
    role = message["info"]["role"]
    calls = [part["callID"] for part in message["parts"] if part["type"] == "tool"]
    anchor = f"{role}:{message['info']['time']['created']}:{calls[0] if calls else ''}"
    return {"anchor": anchor, "role": "tool" if calls else role}
