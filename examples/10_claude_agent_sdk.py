"""An agent of the Claude Agent SDK with the HUD: the prompt before a compaction is forgotten, the decision is not.

The SDK's own Claude Code asks a scripted model on this machine, so that nothing is sent anywhere.
"""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from hudkit.hosts.claude_agent_sdk import HudHooks
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing import ScriptedModel


async def say(client: ClaudeSDKClient, text: str) -> str:
    """Send a prompt and return the agent's last words."""
    await client.query(text)
    words = ""
    async for message in client.receive_response():
        if isinstance(message, ResultMessage):
            words = message.result or ""
    return words


def noting(operation: str, text: str) -> ScriptedCall:
    """The model notes something down."""
    return ScriptedCall("mcp__hudkit__hud", {"operation": operation, "text": text})


async def work(folder: Path, model: ScriptedModel) -> None:
    """Let the agent work, and compact its window in between."""
    offline = {
        "HOME": str(folder),
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "sk-none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    hud = HudHooks(folder / "hud.db", project=folder)
    options = ClaudeAgentOptions(cwd=folder, env=offline, model="claude-sonnet-4-5", setting_sources=[])
    async with ClaudeSDKClient(hud.options(options)) as client:
        await say(client, "Port the report. Never change the columns.")
        await say(client, "/compact")
        assert await say(client, "Go on.") == "The report is ported."
    hud.close()


with TemporaryDirectory() as place, ScriptedModel() as model:
    model.compaction = says("<analysis>.</analysis>\n<summary>The mapping is half done.</summary>")
    model.play(
        uses(
            noting("task.set", "Port the report to the new API"), noting("decisions.record", "Amounts are integers")
        ),
        says("Half of it is done."),
        says("The report is ported."),
    )
    asyncio.run(work(Path(os.path.realpath(place)), model))
    last = model.chats[-1].text

base = last[last.index("Your HUD outlives compaction") :]
print(base[: base.index("</system-reminder>")])
assert "Amounts are integers" in base and "Never change the columns" in base
