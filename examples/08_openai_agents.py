"""An agent of the OpenAI Agents SDK with the HUD: one line, here with the SDK's own fake model (no network)."""

import asyncio
import tempfile
from pathlib import Path

from agents import Agent, RunConfig, function_tool
from agents.items import TResponseOutputItem
from agents.testing import ScriptedModel, assistant_message, function_call

from hudkit.hosts.openai_agents import HudRunner


@function_tool
def read_file(path: str) -> str:
    """Reads a text file of the project."""
    return f"(the text of {path})"


def noted(operation: str, id: str, **args: str) -> list[TResponseOutputItem]:
    return [function_call("hud", {"operation": operation, **args}, call_id=id)]


model = ScriptedModel(
    [
        noted("task.set", "c1", text="Make the uploader retry"),
        [function_call("read_file", {"path": "uploader.py"}, call_id="c2")],
        noted("decisions.record", "c3", text="Back off exponentially, five tries"),
        [assistant_message("I know what to do.")],
        [assistant_message("Done.")],
    ]
)
agent = Agent("coder", instructions="You are a coding agent.", tools=[read_file], model=model)


async def main(folder: Path) -> None:
    quiet = RunConfig(tracing_disabled=True)
    with HudRunner(folder / "hud.db", project=folder) as hud:
        await hud.run(agent, "Make the uploader retry. Never touch the tests.", session="s1", run_config=quiet)

    # A new process, a session of its own, the same task:
    with HudRunner(folder / "hud.db", project=folder, resume="s1") as hud:
        ended = await hud.run(agent, "Go on, please.", session="s2", run_config=quiet)

    print(model.calls[-1].system_instructions)
    print(f"The agent: {ended.final_output}")
    assert "[hud " not in str(ended.to_input_list()), "nothing of the HUD is in the conversation"


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))
