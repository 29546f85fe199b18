"""The HUD in pydantic-ai: one line for the agent; over a compaction it knows its task. Offline, on a fake model."""

from pydantic_ai import Agent
from pydantic_ai.messages import CompactionPart, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RequestUsage

from hudkit import Hud
from hudkit.hosts.pydantic_ai import HudCapability

seen: list[str] = []
script: list[ToolCallPart | TextPart] = [
    ToolCallPart("hud", {"operation": "task.set", "text": "Make the uploader retry"}),
    ToolCallPart("hud", {"operation": "decisions.record", "text": "Back off exponentially, five tries"}),
    ToolCallPart("read_file", {"path": "upload.py"}),
    TextPart("The uploader retries now."),
]


def model(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Plays the script; with its third answer the window is full."""
    if not info.function_tools:
        return ModelResponse([TextPart("I have read upload.py; the loop is still missing.")])
    seen.append(info.instructions or "")
    used = 31_000 if len(seen) == 3 else 1_000
    return ModelResponse([script[len(seen) - 1]], usage=RequestUsage(input_tokens=used, output_tokens=20))


with Hud.in_memory() as hud:  # HudCapability() alone takes the log that you share with your other agents
    agent = Agent(
        FunctionModel(model, profile=ModelProfile(context_window=32_000)),
        instructions="You are a coding agent.",
        capabilities=[HudCapability(hud)],
    )

    @agent.tool_plain
    def read_file(path: str) -> str:
        """Reads a file."""
        return f"def {path.partition('.')[0]}(): ..."

    result = agent.run_sync("Make the uploader retry, please. Never change the API.")
    print(seen[-1])
    history = result.all_messages()
    summaries = [part.content for message in history for part in message.parts if isinstance(part, CompactionPart)]
    print(f"[{len(history)} messages are left] {summaries[0]}")
    assert seen[0] == seen[1] == seen[2] != seen[3]
