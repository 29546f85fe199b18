"""The HUD for any MCP client: the tools, the resource and the prompt of one server, asked by the official client."""

import asyncio

from mcp import Client

from hudkit import Hud
from hudkit.hosts.mcp import server


async def main() -> None:
    with Hud.in_memory() as hud:
        earlier = hud.session("ses_1", project=".", host="opencode")
        earlier.call("task.set", {"description": "Make the uploader retry"})
        earlier.call("constraints.add", {"text": "No new dependencies"})

        async with Client(server(hud, project=".")) as client:
            taken = await client.get_prompt("resume", {"session": "ses_1"})
            print(taken.messages[0].content.model_dump()["text"])

            made = await client.call_tool("hud", {"operation": "steps.add", "text": "Back off, five tries"})
            print(made.structured_content)

            page = await client.read_resource("hud://current")
            print(page.contents[0].model_dump()["text"])


asyncio.run(main())
