"""A plugin that runs a formatter over each file that the agent has written, and tells the agent where it changed one.

Options: `command`, a list such as `["ruff", "format"]`, behind which the file's path is put; `endings` of files.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hudkit.agent import PluginInput
from hudkit.agent.hooks import ToolExecuteAfter, ToolOutput

WRITERS = frozenset({"write", "edit"})
SECONDS = 4.0


def plugin(given: PluginInput) -> dict[str, Any]:
    command = [str(word) for word in given.options.get("command", ["ruff", "format", "--quiet"])]
    endings = tuple(given.options.get("endings", [".py"]))

    async def tool_execute_after(call: ToolExecuteAfter, output: ToolOutput) -> None:
        path = Path(given.directory, str(call.arguments.get("path", "")))
        if call.tool not in WRITERS or path.suffix not in endings or not path.is_file():
            return
        before = path.read_bytes()
        child = await asyncio.create_subprocess_exec(*command, str(path), stderr=asyncio.subprocess.DEVNULL)
        try:
            await asyncio.wait_for(child.wait(), SECONDS)
        except TimeoutError:
            child.kill()
            return
        if path.read_bytes() != before:
            output.text += "\nThe project's formatter has changed the file after that: read it before the next edit."

    return {"tool_execute_after": tool_execute_after}
