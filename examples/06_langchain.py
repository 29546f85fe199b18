"""LangChain's agent with the HUD: what the model is sent after a compaction, with LangChain's own fake model."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langgraph.checkpoint.memory import InMemorySaver

from hudkit.hosts.langchain import HudMiddleware

SENT: list[list[BaseMessage]] = []


class Fake(FakeMessagesListChatModel):
    """Answers from a list, and keeps what it was sent."""

    def bind_tools(self, *_: Any, **__: Any) -> "Fake":
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **named: Any) -> Any:
        SENT.append(messages)
        return super()._generate(messages, *given, **named)


def noting(operation: str, number: int, used: int, **args: str) -> AIMessage:
    """The model notes something down; so many tokens of its window are in use then."""
    call = {"name": "hud", "args": {"operation": operation, **args}, "id": f"call_{number}", "type": "tool_call"}
    usage = UsageMetadata(input_tokens=used, output_tokens=0, total_tokens=used)
    return AIMessage("", tool_calls=[call], usage_metadata=usage)


model = Fake(
    profile={"max_input_tokens": 32_000, "max_output_tokens": 4_000},
    responses=[
        noting("task.set", 1, 2_000, text="Port the report to the new API"),
        noting("decisions.record", 2, 30_000, text="Amounts are integers in cents"),
        AIMessage("## Accomplished\nThe mapping is half done."),  # what it writes when its window is full
        AIMessage("The report is ported."),
    ],
)

with TemporaryDirectory() as folder:
    hud = HudMiddleware(Path(folder) / "hud.db", project=folder)
    agent = create_agent(model, [], system_prompt="Be brief.", middleware=[hud], checkpointer=InMemorySaver())
    asked: Any = {"messages": [{"role": "user", "content": "Port the report. Never change the columns."}]}
    done = agent.invoke(asked, {"configurable": {"thread_id": "report"}})
    hud.close()

for message in SENT[-1]:
    print(f"[{message.type}]\n{message.text}")
assert done["messages"][-1].text == "The report is ported."
assert "Amounts are integers in cents" in SENT[-1][0].text and "Never change the columns" in SENT[-1][0].text
