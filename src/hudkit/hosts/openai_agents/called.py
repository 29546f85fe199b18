"""One call of a tool in the Agents SDK's items, with its result, in the words that are heard. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from hudkit.transcripts import ToolPart

FAILED = "An error occurred while running the tool"
"""How the SDK's own answer for a tool that raised begins."""

_LOCAL = ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call")
"""Calls whose results come as items of their own; the others are the provider's, and carry theirs."""

_EDITS = {"create_file": "write", "update_file": "edit", "delete_file": "delete_file"}


def tool_of(id: str, call: Mapping[str, Any], result: Mapping[str, Any] | None) -> ToolPart:
    """A call and its result, which is `None` where there is none (yet)."""
    kind = str(call.get("type"))
    name, given = _named(kind, call)
    output, failed, metadata = _outcome(call if result is None else result)
    waits = result is None and kind in _LOCAL
    return ToolPart(
        id,
        name,
        str(call.get("call_id") or call.get("id") or ""),
        "running" if waits else "error" if failed else "completed",
        given,
        "" if failed or waits else output,
        output if failed and not waits else "",
        metadata=metadata,
    )


def output_of(value: object) -> str:
    """The text of a result; what is no text in it, in a word."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(output_of(part) for part in value)
    if isinstance(value, dict):
        text = value.get("text")
        if isinstance(text, str):
            return text
        if "stdout" in value:
            return "\n".join(str(value[name]) for name in ("stdout", "stderr") if value.get(name))
        return f"[{str(value.get('type', 'output')).removeprefix('input_')}]"
    return ""


def _named(kind: str, call: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    action = call.get("action")
    action = action if isinstance(action, dict) else {}
    if kind == "custom_tool_call":
        return str(call.get("name", "")), {"input": call.get("input", "")}
    if kind == "local_shell_call":
        words = action.get("command")
        where = {"workdir": action["working_directory"]} if action.get("working_directory") else {}
        return "bash", {"command": shlex.join(map(str, words)) if isinstance(words, list) else "", **where}
    if kind == "shell_call":
        return "bash", {"command": "\n".join(map(str, action.get("commands") or ()))}
    if kind == "apply_patch_call":
        done = call.get("operation")
        done = done if isinstance(done, dict) else {}
        return _EDITS.get(str(done.get("type")), "edit"), {"path": str(done.get("path", ""))}
    if "name" in call:
        return str(call["name"]), _arguments(call.get("arguments"))
    return kind.removesuffix("_call"), {}


def _arguments(text: object) -> dict[str, Any]:
    """What a model wrote as arguments; nothing where that is no object."""
    try:
        found = msgspec.json.decode(text) if isinstance(text, str) and text else {}
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _outcome(told: Mapping[str, Any]) -> tuple[str, bool, dict[str, Any]]:
    """What came out, whether the call failed, and what else is known of it."""
    error = told.get("error")
    if error:
        return error if isinstance(error, str) else output_of(error), True, {}
    output = told.get("output")
    text = output_of(output)
    codes = [
        part["outcome"].get("exit_code")
        for part in (output if isinstance(output, list) else ())
        if isinstance(part, dict) and isinstance(part.get("outcome"), dict)
    ]
    metadata = {"exit": next((code for code in codes if code), 0)} if codes else {}
    return text, text.startswith(FAILED) or told.get("status") == "failed", metadata
