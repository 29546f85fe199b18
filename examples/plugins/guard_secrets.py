"""A plugin that keeps secrets out of the window: what looks like a key in a tool's output is covered, and files that
hold them are not read without being asked for.

Options: `words`, further texts that are never to be seen.
"""

from __future__ import annotations

import json
from typing import Any

from hudkit.agent import PluginInput
from hudkit.agent.hooks import (
    PermissionAsk,
    PermissionStatus,
    ToolArguments,
    ToolExecuteAfter,
    ToolExecuteBefore,
    ToolOutput,
)
from hudkit.log.secret_patterns import replace_secrets

FILES = (".env", "id_rsa", "id_ed25519", ".pem", ".p12", "credentials.json")


def plugin(given: PluginInput) -> dict[str, Any]:
    words = [str(word) for word in given.options.get("words", []) if word]

    def covered(text: str) -> str:
        for word in words:
            text = text.replace(word, "[covered]")
        lines = (json.loads(replace_secrets(json.dumps(line).encode())) for line in text.split("\n"))
        return "\n".join(lines)

    def tool_execute_before(call: ToolExecuteBefore, output: ToolArguments) -> None:
        if call.tool == "bash" and any(
            word in str(output.arguments.get("command", "")) for word in ("printenv", "/environ")
        ):
            output.arguments["command"] = "echo 'the environment is not shown here'; false"

    def permission_ask(ask: PermissionAsk, output: PermissionStatus) -> None:
        if ask.tool == "read" and any(name.endswith(FILES) for name in ask.patterns):
            output.status = "deny"

    def tool_execute_after(_: ToolExecuteAfter, output: ToolOutput) -> None:
        output.text = covered(output.text)
        output.title = covered(output.title)

    return {
        "tool_execute_before": tool_execute_before,
        "permission_ask": permission_ask,
        "tool_execute_after": tool_execute_after,
    }
