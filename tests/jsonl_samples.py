"""Transcripts of Claude Code and Codex as their versions write them, with invented content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "0a1b2c3d-1111-4222-8333-444455556666"


def lines(*records: Any) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def _claude(kind: str, n: int, message: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"u{n}",
        "parentUuid": f"u{n - 1}" if n > 1 else None,
        "sessionId": SESSION,
        "cwd": "/work/kiln",
        "version": "2.1.12",
        "isSidechain": False,
        "timestamp": f"2026-03-01T10:{n:02d}:00.000Z",
        "message": message,
        **more,
    }


def _response(id: str, block: Any, stop: str | None = None) -> dict[str, Any]:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 50,
        "output_tokens": 20,
    }
    return {
        "id": id,
        "role": "assistant",
        "model": "claude-x-5",
        "content": [block],
        "stop_reason": stop,
        "usage": usage,
    }


def claude_records() -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make fire"}}
    read = {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {"file_path": "/work/kiln/ramp.py"}}
    todo = {
        "type": "tool_use",
        "id": "toolu_3",
        "name": "TodoWrite",
        "input": {"todos": [{"content": "glaze", "status": "in_progress"}, {"content": "fire", "status": "pending"}]},
    }

    def result(id: str, text: Any, failed: bool = False) -> dict[str, Any]:
        return {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}],
        }

    return [
        {"type": "summary", "summary": "Kiln controller ramps", "leafUuid": "u9"},
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        _claude("user", 1, {"role": "user", "content": "The kiln overshoots at 900 degrees."}),
        _claude("assistant", 2, _response("msg_1", {"type": "thinking", "thinking": "Maybe the ramp."})),
        _claude("assistant", 3, _response("msg_1", {"type": "text", "text": "I run it first."})),
        _claude("assistant", 4, _response("msg_1", use, "tool_use")),
        _claude("user", 5, result("toolu_1", "make: *** [fire] Error 2", True), toolUseResult="Error"),
        _claude("assistant", 6, _response("msg_2", read, "tool_use")),
        _claude("assistant", 7, _response("msg_2", todo, "tool_use")),
        _claude("user", 8, result("toolu_2", [{"type": "text", "text": "RAMP = 120"}])),
        _claude("user", 9, result("toolu_3", "ok")),
        _claude("user", 10, {"role": "user", "content": "<command-name>/compact</command-name>"}, isMeta=True),
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "b1",
            "sessionId": SESSION,
            "timestamp": "2026-03-01T10:11:00Z",
            "compactMetadata": {"trigger": "auto", "preTokens": 150000},
        },
        _claude("user", 12, {"role": "user", "content": "Summary: the ramp is 120 per hour."}, isCompactSummary=True),
        _claude("user", 13, {"role": "user", "content": [{"type": "text", "text": "Make it 80."}]}),
        _claude(
            "assistant", 14, _response("msg_3", {"type": "text", "text": "The ramp is 80 per hour now."}, "end_turn")
        ),
    ]


def write_claude(root: Path, extra: str = "") -> Path:
    path = root / "-work-kiln" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines(*claude_records()) + extra)
    child = root / "-work-kiln" / SESSION / "subagents" / "agent-a77.jsonl"
    child.parent.mkdir(parents=True)
    child.write_text(
        lines(_claude("user", 1, {"role": "user", "content": "Look for cracks."}, agentId="a77", isSidechain=True))
    )
    return path


def codex_records() -> list[dict[str, Any]]:
    def item(n: int, payload: Any, kind: str = "response_item") -> dict[str, Any]:
        return {"timestamp": f"2026-04-02T09:{n:02d}:00.000Z", "type": kind, "payload": payload}

    def message(role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    usage = {"input_tokens": 5000, "cached_input_tokens": 4000, "output_tokens": 70, "total_tokens": 5070}
    return [
        item(0, {"id": SESSION, "cwd": "/work/loom", "cli_version": "0.65.0", "source": "cli"}, "session_meta"),
        item(0, message("developer", "Sandbox rules.")),
        item(0, message("user", "<environment_context>cwd</environment_context>")),
        item(1, message("user", "The loom drops a thread.")),
        item(1, {"type": "user_message", "message": "The loom drops a thread."}, "event_msg"),
        item(1, {"cwd": "/work/loom", "model": "gpt-5-codex"}, "turn_context"),
        item(
            2,
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "Check the tension."}],
                "encrypted_content": "x",
            },
        ),
        item(
            2,
            {
                "type": "function_call",
                "name": "shell",
                "arguments": '{"command":["cat","tension.cfg"]}',
                "call_id": "c1",
            },
        ),
        item(
            2,
            {
                "type": "function_call",
                "name": "update_plan",
                "call_id": "c2",
                "arguments": '{"plan":[{"step":"measure","status":"completed"},{"step":"mend","status":"pending"}]}',
            },
        ),
        item(
            3,
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": '{"output":"tension = 3","metadata":{"exit_code":1}}',
            },
        ),
        item(3, {"type": "function_call_output", "call_id": "c2", "output": "Plan updated"}),
        item(3, {"type": "token_count", "info": {"last_token_usage": usage}}, "event_msg"),
        item(
            4,
            {
                "type": "custom_tool_call",
                "name": "apply_patch",
                "input": "*** Begin Patch",
                "call_id": "c3",
                "status": "completed",
            },
        ),
        item(4, {"type": "custom_tool_call_output", "call_id": "c3", "output": "Success"}),
        item(5, message("assistant", "The tension was three, it is five now.")),
        item(6, {"message": "We mended the loom.", "replacement_history": []}, "compacted"),
        item(7, message("user", "Thanks.")),
    ]


def write_codex(root: Path, extra: str = "") -> Path:
    path = root / "2026" / "04" / "02" / f"rollout-2026-04-02T09-00-00-{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines(*codex_records()) + extra)
    return path
